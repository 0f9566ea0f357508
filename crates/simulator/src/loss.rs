//! Which packets are lost.

use crate::config::Loss;
use crate::noise::{Stream, uniform};

/// Lost packets of all inputs.
#[derive(Debug)]
pub(crate) struct Packets {
    pub(crate) samples: u64,
    probability: f64,
    seed: u64,
    /// By input: first and last packet of each lost range, in order, apart from each other.
    ranges: Vec<Vec<(u64, u64)>>,
}

/// Neighbouring samples of one packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) lost: bool,
    /// Whether the packet's first sample is in it.
    pub(crate) begins: bool,
}

impl Packets {
    pub(crate) fn new(loss: &Loss, seed: u64, inputs: usize) -> Self {
        let samples = loss.packet_samples.max(1);
        let mut ranges = vec![Vec::new(); inputs];
        for range in &loss.ranges {
            let packets = (range.start / samples, range.end.saturating_sub(1) / samples);
            for (input, ranges) in ranges.iter_mut().enumerate() {
                if range.inputs.is_empty() || range.inputs.contains(&input) {
                    ranges.push(packets);
                }
            }
        }
        for ranges in &mut ranges {
            ranges.sort_unstable();
            let mut apart: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
            for &(first, last) in ranges.iter() {
                match apart.last_mut() {
                    Some(before) if first <= before.1 => before.1 = before.1.max(last),
                    _ => apart.push((first, last)),
                }
            }
            *ranges = apart;
        }
        Self { samples, probability: loss.probability, seed, ranges }
    }

    pub(crate) fn is_lost(&self, input: usize, packet: u64) -> bool {
        let given = self.ranges.get(input).is_some_and(|ranges| {
            let next = ranges.partition_point(|&(first, _)| first <= packet);
            next.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|&(_, last)| packet <= last)
        });
        given || (self.probability > 0.0 && uniform(self.seed, Stream::Loss(input), packet) < self.probability)
    }

    /// The packets of samples `first .. first + count`, with places relative to `first`.
    pub(crate) fn runs(&self, input: usize, first: u64, count: usize) -> impl Iterator<Item = Run> + '_ {
        let mut start = 0;
        std::iter::from_fn(move || {
            if start >= count {
                return None;
            }
            let sample = first.wrapping_add(start as u64);
            let (packet, within) = (sample / self.samples, sample % self.samples);
            let left = (self.samples - within).min((count - start) as u64) as usize;
            let run = Run { start, end: start + left, lost: self.is_lost(input, packet), begins: within == 0 };
            start = run.end;
            Some(run)
        })
    }

    /// Samples that a presence flag of a chunk covers: a packet if the chunk begins with one, else the most that cuts
    /// no packet in two.
    pub(crate) fn samples_per_flag(&self, first: u64) -> u64 {
        let (mut a, mut b) = (self.samples, first % self.samples);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    }
}
