//! The samples that are held between chunks, in device memory, packed as they came.
//!
//! ```text
//! input 0   |pad|held held held|head of the chunk      jobs whose first window begins before the chunk read this
//! input 1   |pad|held held|head of the chunk           (each row begins with its first held sample)
//! chunk                    |chunk chunk chunk chunk    all others read the chunk where it is
//! next                              |  held  |         what the next chunk needs, in the other buffer
//! ```
//!
//! So samples that are in device memory are read from there once, and what is copied is as long as what is held,
//! however long the chunk. What is held ends with a piece of 16 bytes, so that the head of a chunk begins with one, as
//! most chunks do: up to a piece's samples more than needed are held, or as many as fill whole pieces. Those before the
//! first that was there are of no meaning; they come from the pad, which has room for them.

use crate::internals::samples::Span;

/// Which samples of each input are held: row `i` of the buffer begins with sample `first[i]`, and has all up to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seam {
    first: Vec<i64>,
    end: i64,
}

/// A chunk as the seam sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkRows {
    /// First sample.
    pub(crate) first: i64,
    /// Samples.
    pub(crate) times: usize,
    /// Bits of a sample.
    pub(crate) sample_bits: u64,
    /// Bits from row to row.
    pub(crate) row_bits: u64,
}

/// What a chunk makes of what is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Bits that a row of either buffer has to have.
    pub(crate) row_bits: u64,
    /// Samples that are held afterwards.
    pub(crate) next: Seam,
    /// Samples of the chunk that go behind what is held, of each input.
    head: Vec<u64>,
}

/// Samples whose bits are the least whole number of pieces of 16 bytes.
fn samples_of_pieces(sample_bits: u64) -> i64 {
    1 << 7_u32.saturating_sub(sample_bits.trailing_zeros())
}

/// Samples that are held beside those that are needed: no more than these.
pub(crate) const MOST_MORE: u64 = 128;

/// Bits before the first held sample of a row: room for what rounds samples up to pieces.
pub(crate) fn pad_bits(sample_bits: u64) -> u64 {
    samples_of_pieces(sample_bits) as u64 * sample_bits
}

impl ChunkRows {
    /// The sample after the last one.
    fn end(&self) -> i64 {
        self.first + self.times as i64
    }
}

impl Seam {
    /// Nothing of so many inputs.
    pub(crate) fn new(inputs: usize) -> Self {
        Self { first: vec![0; inputs], end: 0 }
    }

    /// Nothing, before sample `first`.
    pub(crate) fn begin(&self, first: i64) -> Self {
        Self { first: vec![first; self.first.len()], end: first }
    }

    /// Bit of a sample of an input in the rows, no more than the pad before the first one that is held.
    pub(crate) fn bit(&self, input: usize, sample: i64, sample_bits: u64, row_bits: u64) -> u64 {
        let ahead = (sample - self.first[input]) * sample_bits as i64;
        (input as u64 * row_bits + pad_bits(sample_bits)).saturating_add_signed(ahead)
    }

    /// First sample of an input that is held.
    #[cfg(test)]
    pub(crate) fn first(&self, input: usize) -> i64 {
        self.first[input]
    }

    /// The sample after the last one that is held.
    #[cfg(test)]
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// Inputs.
    pub(crate) fn rows(&self) -> usize {
        self.first.len()
    }

    /// Samples of all inputs together.
    pub(crate) fn samples(&self) -> u64 {
        self.first.iter().map(|first| (self.end - first) as u64).sum()
    }

    /// What a chunk that follows makes of it: samples from `keep` on are held. Jobs read the rows up to sample `read`,
    /// of each input.
    pub(crate) fn step(&self, chunk: ChunkRows, keep: &[i64], read: &[i64]) -> Step {
        let (end, pieces) = (chunk.end(), samples_of_pieces(chunk.sample_bits));
        let head: Vec<u64> = read.iter().map(|&read| (read.min(end) - chunk.first).max(0) as u64).collect();
        let first: Vec<i64> = self
            .first
            .iter()
            .zip(keep)
            .map(|(&first, &keep)| {
                let samples = (end - keep.clamp(first, end)) as u64;
                end - samples.next_multiple_of(pieces as u64) as i64
            })
            .collect();
        let now = self.first.iter().zip(&head).map(|(first, head)| (chunk.first - first) as u64 + head).max();
        let later = first.iter().map(|first| (end - first) as u64).max();
        let row_bits = pad_bits(chunk.sample_bits) + now.max(later).unwrap_or(0) * chunk.sample_bits;
        Step { row_bits, next: Self { first, end }, head }
    }

    /// What is moved when rows become longer.
    pub(crate) fn moved(&self, sample_bits: u64, from_row_bits: u64, to_row_bits: u64) -> Vec<Span> {
        let of = |(input, first): (usize, &i64)| Span {
            held_bit: self.bit(input, *first, sample_bits, from_row_bits),
            held_bits: (self.end - first) as u64 * sample_bits,
            to_bit: self.bit(input, *first, sample_bits, to_row_bits),
            to_next: true,
            ..Span::default()
        };
        self.first.iter().enumerate().map(of).collect()
    }
}

impl Step {
    /// What a chunk moves: its head behind what is held, and what the next chunk finds held.
    pub(crate) fn spans(&self, seam: &Seam, chunk: ChunkRows, row_bits: u64) -> Vec<Span> {
        let head = self.head.iter().enumerate().map(|(input, &head)| Span {
            chunk_bit: input as u64 * chunk.row_bits,
            chunk_bits: head * chunk.sample_bits,
            to_bit: seam.bit(input, chunk.first, chunk.sample_bits, row_bits),
            ..Span::default()
        });
        let next = self.next.first.iter().enumerate().map(|(input, &next)| {
            let new = next.max(chunk.first);
            Span {
                held_bit: seam.bit(input, next.min(chunk.first), chunk.sample_bits, row_bits),
                held_bits: (chunk.first - next).max(0) as u64 * chunk.sample_bits,
                chunk_bit: input as u64 * chunk.row_bits + (new - chunk.first) as u64 * chunk.sample_bits,
                chunk_bits: (self.next.end - new) as u64 * chunk.sample_bits,
                to_bit: self.next.bit(input, next, chunk.sample_bits, row_bits),
                to_next: true,
            }
        });
        head.chain(next).filter(|span| span.bits() > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts spans of samples of `bits` bits somewhere: bits are those of numbers of samples.
    fn copy(chunk: &[i64], held: &mut Vec<i64>, next: &mut [i64], spans: &[Span], bits: u64) {
        let before = held.clone();
        for span in spans {
            assert!(span.to_bit.is_multiple_of(128), "targets begin with a piece");
            let to = if span.to_next { &mut *next } else { &mut *held };
            let samples = |bit: u64| {
                assert!(bit.is_multiple_of(bits));
                (bit / bits) as usize
            };
            let (to_first, kept) = (samples(span.to_bit), samples(span.held_bits));
            for i in 0..samples(span.bits()) {
                to[to_first + i] = if i < kept {
                    before[samples(span.held_bit) + i]
                } else {
                    chunk[samples(span.chunk_bit) + i - kept]
                };
            }
        }
    }

    #[test]
    fn rows_hold_what_is_kept_and_the_head_of_each_chunk_whatever_their_lengths() {
        for bits in [8u64, 10, 16, 12, 64] {
            let (window, growth, inputs) = (20, 7, 2);
            let mut seam = Seam::new(inputs).begin(100);
            let mut buffer = Vec::new();
            let (mut row, mut first) = (0, 100);
            // What each input holds that has a meaning.
            let mut before = [100; 2];
            for times in [1, 5, 0, 50, 3, 19, 20, 21, 2, 100, 1, 1, 0, 333] {
                let chunk = ChunkRows { first, times, sample_bits: bits, row_bits: (times as u64 + 3) * bits };
                let end = first + times as i64;
                // A sample is its number; input 1 is 11 samples late.
                let rows: Vec<i64> = (0..inputs as i64).flat_map(|_| (first..end).chain([-1; 3])).collect();
                let keep: Vec<i64> =
                    (0..inputs as i64).map(|input| end - window as i64 - growth - 11 * input).collect();
                // Beyond the chunk there is nothing to be read.
                let read: Vec<i64> = (0..inputs as i64).map(|input| first + 9 + 30 * input).collect();
                let step = seam.step(chunk, &keep, &read);
                if step.row_bits > row {
                    let longer = step.row_bits.next_multiple_of(128 * bits);
                    let mut next = vec![-1; inputs * (longer / bits) as usize];
                    copy(&[], &mut buffer, &mut next, &seam.moved(bits, row, longer), bits);
                    (buffer, row) = (next, longer);
                }
                let mut next = vec![-1; buffer.len()];
                copy(&rows, &mut buffer, &mut next, &step.spans(&seam, chunk, row), bits);
                for input in 0..inputs {
                    let (from, to) = (before[input].max(seam.first(input)), read[input].min(end));
                    let skip = (seam.bit(input, from, bits, row) / bits) as usize;
                    let held = &buffer[skip..][..(to - from) as usize];
                    assert!(held.iter().copied().eq(from..to), "{bits} {times}");
                }
                (buffer, seam, first) = (next, step.next, end);
                for (input, keep) in keep.into_iter().enumerate() {
                    let from = keep.clamp(before[input].max(100), end);
                    assert!(seam.first(input) <= from);
                    assert!(((seam.end() - seam.first(input)) as u64 * bits).is_multiple_of(128));
                    let skip = (seam.bit(input, from, bits, row) / bits) as usize;
                    let held = &buffer[skip..][..(end - from) as usize];
                    before[input] = from;
                    assert!(held.iter().copied().eq(from..end), "{bits} {times}");
                }
            }
        }
    }
}
