//! Faults of a network, made on purpose and counted.

use fringes_types::SamplePresence;
use ndarray::Array2;

use super::{Received, Source, SourceCounts, SourceInfo};
use crate::{BoxError, SampleBlock};

/// How often each fault happens, of 2^32 chunks (or packets, where it says so).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// A chunk is lost.
    pub lost: u32,
    /// A chunk comes twice.
    pub duplicate: u32,
    /// A chunk comes after the one that follows it, which is too late.
    pub late: u32,
    /// A packet of an input is absent: its samples are flagged. One draw a packet.
    pub absent: u32,
    /// Samples of a packet; 0 for whole chunks.
    pub packet: usize,
}

impl Faults {
    /// A probability as the fields have it.
    pub fn of(probability: f64) -> u32 {
        (probability.clamp(0.0, 1.0) * 4_294_967_295.0) as u32
    }
}

/// Faults that have been injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts {
    /// Chunks that were lost.
    pub lost: u64,
    /// Chunks that were given twice.
    pub duplicate: u64,
    /// Chunks that were given after the one behind them.
    pub late: u64,
    /// Packets of an input that were flagged absent.
    pub absent: u64,
}

/// A source with faults, which depend on the seed and the chunk alone.
#[derive(Debug)]
pub struct FaultInjector<S> {
    source: S,
    faults: Faults,
    seed: u64,
    chunk: u64,
    /// What is given before the source is asked again, the last one first.
    ready: Vec<Received>,
    counts: FaultCounts,
}

impl<S: Source> FaultInjector<S> {
    /// A source whose chunks of samples have faults.
    pub fn new(source: S, faults: Faults, seed: u64) -> Self {
        Self { source, faults, seed, chunk: 0, ready: Vec::new(), counts: FaultCounts::default() }
    }

    /// What has been injected so far.
    pub fn injected(&self) -> FaultCounts {
        self.counts
    }

    /// Whether a fault of a kind happens at a place.
    fn happens(&self, chance: u32, kind: u64, place: u64) -> bool {
        chance > 0 && (draw(self.seed, kind, place) >> 32) < u64::from(chance)
    }

    /// Flags packets as absent.
    fn flagged(&mut self, block: SampleBlock) -> Result<SampleBlock, BoxError> {
        if self.faults.absent == 0 {
            return Ok(block);
        }
        let (times, inputs) = (block.times(), block.inputs().len());
        let packet = if self.faults.packet == 0 { times.max(1) } else { self.faults.packet };
        let old = block.as_chunk().presence().cloned();
        let packets = times.div_ceil(packet);
        let mut flags = Array2::from_elem((inputs, packets), true);
        for ((input, at), flag) in flags.indexed_iter_mut() {
            let place = (self.chunk * packets as u64 + at as u64) * inputs as u64 + input as u64;
            if self.happens(self.faults.absent, 3, place) {
                *flag = false;
                self.counts.absent += 1;
            }
        }
        if flags.iter().all(|&flag| flag) {
            return Ok(block);
        }
        if let Some(old) = old {
            for ((input, at), flag) in flags.indexed_iter_mut() {
                let end = ((at + 1) * packet).min(times);
                *flag &= (at * packet..end).all(|time| old.is_present(input, time));
            }
        }
        Ok(block.with_presence(SamplePresence::new(packet, flags)?)?)
    }
}

/// Random bits of a place.
fn draw(seed: u64, kind: u64, place: u64) -> u64 {
    let mut state = seed ^ kind.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ place.wrapping_mul(0xD1B5_4A32_D192_ED03);
    for _ in 0..2 {
        // The finaliser of SplitMix64.
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 31;
    }
    state
}

impl<S: Source> Source for FaultInjector<S> {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        if let Some(received) = self.ready.pop() {
            return Ok(Some(received));
        }
        loop {
            let block = match self.source.next()? {
                Some(Received::Samples(block)) => block,
                other => return Ok(other),
            };
            let chunk = self.chunk;
            let block = self.flagged(block)?;
            self.chunk += 1;
            if self.happens(self.faults.lost, 0, chunk) {
                self.counts.lost += 1;
                continue;
            }
            if self.happens(self.faults.duplicate, 1, chunk) {
                self.counts.duplicate += 1;
                self.ready.push(Received::Samples(block.clone()));
            } else if self.happens(self.faults.late, 2, chunk) {
                // The next one comes first.
                match self.source.next()? {
                    Some(Received::Samples(next)) => {
                        let next = self.flagged(next)?;
                        self.chunk += 1;
                        self.counts.late += 1;
                        self.ready.push(Received::Samples(block));
                        return Ok(Some(Received::Samples(next)));
                    }
                    Some(other) => self.ready.push(other),
                    None => {}
                }
            }
            return Ok(Some(Received::Samples(block)));
        }
    }

    fn counts(&self) -> SourceCounts {
        self.source.counts()
    }

    fn seek(&mut self, sample: u64) -> Result<bool, BoxError> {
        self.ready.clear();
        self.source.seek(sample)
    }

    fn recycle(&mut self, block: SampleBlock) {
        self.source.recycle(block);
    }
}
