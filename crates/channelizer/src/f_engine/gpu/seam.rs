//! The samples that are held between chunks, in device memory, packed as they came.
//!
//! ```text
//! input 0   |held held held|head of the chunk          windows that begin before the chunk read this
//! input 1        |held held|head of the chunk          (each row begins with its first held sample)
//! chunk                    |chunk chunk chunk chunk    all others read the chunk where it is
//! next                              |  held  |         what the next chunk needs, in the other buffer
//! ```
//!
//! So samples that are in device memory are read from there once, and what is copied is as long as what is held, however long the chunk.

use crate::gpu::samples::Span;

/// Which samples of each input are held: row `i` of the buffer begins with sample `first[i]`, and has all up to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seam {
    first: Vec<i64>,
    end: i64,
}

/// A chunk as the seam sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkRows {
    /// First sample.
    pub(super) first: i64,
    /// Samples.
    pub(super) times: usize,
    /// Bits of a sample.
    pub(super) sample_bits: u64,
    /// Bits from row to row.
    pub(super) row_bits: u64,
}

/// What a chunk makes of what is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Bits that a row of either buffer has to have.
    pub(super) row_bits: u64,
    /// Samples that are held afterwards.
    pub(super) next: Seam,
    /// Samples of the chunk that go behind what is held.
    head: u64,
}

impl Seam {
    /// Nothing of so many inputs.
    pub(super) fn new(inputs: usize) -> Self {
        Self { first: vec![0; inputs], end: 0 }
    }

    /// Nothing, before sample `first`.
    pub(super) fn begin(&self, first: i64) -> Self {
        Self { first: vec![first; self.first.len()], end: first }
    }

    /// First sample of an input that is held.
    pub(super) fn first(&self, input: usize) -> i64 {
        self.first[input]
    }

    /// Inputs.
    pub(super) fn rows(&self) -> usize {
        self.first.len()
    }

    /// Samples of all inputs together.
    pub(super) fn samples(&self) -> u64 {
        self.first.iter().map(|first| (self.end - first) as u64).sum()
    }

    /// What a chunk that follows makes of it: samples from `keep` on are held. Windows have `window` samples.
    pub(super) fn step(&self, chunk: ChunkRows, keep: &[i64], window: usize) -> Step {
        let end = chunk.first + chunk.times as i64;
        // A window that begins before the chunk ends at the latest one sample before this.
        let head = chunk.times.min(window - 1) as u64;
        let first: Vec<i64> = self.first.iter().zip(keep).map(|(&first, &keep)| keep.clamp(first, end)).collect();
        let now = self.first.iter().map(|first| (chunk.first - first) as u64 + head).max().unwrap_or(0);
        let later = first.iter().map(|first| (end - first) as u64).max().unwrap_or(0);
        Step { row_bits: now.max(later) * chunk.sample_bits, next: Self { first, end }, head }
    }

    /// What is moved when rows become longer.
    pub(super) fn moved(&self, sample_bits: u64, from_row_bits: u64, to_row_bits: u64) -> Vec<Span> {
        let of = |(input, first): (usize, &i64)| Span {
            from_bit: input as u64 * from_row_bits,
            to_bit: input as u64 * to_row_bits,
            bits: (self.end - first) as u64 * sample_bits,
        };
        self.first.iter().enumerate().map(of).collect()
    }
}

impl Step {
    /// The head of the chunk behind what is held.
    pub(super) fn head(&self, seam: &Seam, chunk: ChunkRows, row_bits: u64) -> Vec<Span> {
        let of = |(input, first): (usize, &i64)| Span {
            from_bit: input as u64 * chunk.row_bits,
            to_bit: input as u64 * row_bits + (chunk.first - first) as u64 * chunk.sample_bits,
            bits: self.head * chunk.sample_bits,
        };
        seam.first.iter().enumerate().map(of).collect()
    }

    /// What goes on being held of what was.
    pub(super) fn kept(&self, seam: &Seam, chunk: ChunkRows, row_bits: u64) -> Vec<Span> {
        let of = |(input, (first, next)): (usize, (&i64, &i64))| Span {
            from_bit: input as u64 * row_bits + (next - first) as u64 * chunk.sample_bits,
            to_bit: input as u64 * row_bits,
            bits: (chunk.first - next).max(0) as u64 * chunk.sample_bits,
        };
        let spans = seam.first.iter().zip(&self.next.first).enumerate().map(of);
        // Nothing begins where nothing is.
        spans.map(|span| if span.bits == 0 { Span { from_bit: 0, ..span } } else { span }).collect()
    }

    /// What of the chunk is held from now on, behind that.
    pub(super) fn added(&self, chunk: ChunkRows, row_bits: u64) -> Vec<Span> {
        let of = |(input, &next): (usize, &i64)| {
            let first = next.max(chunk.first);
            Span {
                from_bit: input as u64 * chunk.row_bits + (first - chunk.first) as u64 * chunk.sample_bits,
                to_bit: input as u64 * row_bits + (first - next) as u64 * chunk.sample_bits,
                bits: (self.next.end - first) as u64 * chunk.sample_bits,
            }
        };
        self.next.first.iter().enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts spans of samples (of one bit) somewhere.
    fn copy(from: &[i64], to: &mut [i64], spans: &[Span]) {
        for span in spans {
            for i in 0..span.bits {
                to[(span.to_bit + i) as usize] = from[(span.from_bit + i) as usize];
            }
        }
    }

    #[test]
    fn rows_hold_what_is_kept_and_the_head_of_each_chunk_whatever_their_lengths() {
        let (window, growth, inputs) = (20, 7, 2);
        let mut seam = Seam::new(inputs).begin(100);
        let mut buffer = Vec::new();
        let (mut row, mut first) = (0, 100);
        for times in [1, 5, 0, 50, 3, 19, 20, 21, 2, 100, 1, 1] {
            let chunk = ChunkRows { first, times, sample_bits: 1, row_bits: times as u64 + 3 };
            let end = first + times as i64;
            // A sample is its number; input 1 is 11 samples late.
            let rows: Vec<i64> = (0..inputs as i64).flat_map(|_| (first..end).chain([-1; 3])).collect();
            let keep: Vec<i64> = (0..inputs as i64).map(|input| end - window as i64 - growth - 11 * input).collect();
            let step = seam.step(chunk, &keep, window);
            if step.row_bits > row {
                let mut longer = vec![-1; inputs * step.row_bits as usize];
                copy(&buffer, &mut longer, &seam.moved(1, row, step.row_bits));
                (buffer, row) = (longer, step.row_bits);
            }
            copy(&rows, &mut buffer, &step.head(&seam, chunk, row));
            let head = times.min(window - 1) as i64;
            for input in 0..inputs {
                let held = &buffer[input * row as usize..][..(first + head - seam.first(input)) as usize];
                assert!(held.iter().copied().eq(seam.first(input)..first + head), "{times}");
            }
            let mut next = vec![-1; buffer.len()];
            copy(&buffer, &mut next, &step.kept(&seam, chunk, row));
            copy(&rows, &mut next, &step.added(chunk, row));
            (buffer, seam, first) = (next, step.next, end);
            for (input, keep) in keep.into_iter().enumerate() {
                assert_eq!(seam.first(input), keep.max(100));
                let held = &buffer[input * row as usize..][..(end - seam.first(input)) as usize];
                assert!(held.iter().copied().eq(seam.first(input)..end));
            }
        }
    }
}
