//! Samples that a stream holds between chunks, as f32 (two a complex sample), and how the filter reads across the seam.
//!
//! ```text
//! absolute sample   first ........ first + n | chunk: first_sample ........
//! position                  -3 -2 -1         | 0 1 2 ...
//! ```

use fringes_cpu::pfb::{ChunkSource, SampleSource};
use fringes_types::SampleChunk;

/// What is held of one input.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    /// Samples up to the last one taken; the front may be dead.
    samples: Vec<f32>,
}

/// f32 of a sample.
fn width(complex: bool) -> usize {
    1 + usize::from(complex)
}

impl Held {
    /// The samples, ending with the last one taken.
    pub(crate) fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        self.samples.capacity() as u64 * size_of::<f32>() as u64
    }

    /// Takes a chunk in and forgets what lies before absolute sample `keep`, at the latest when half of what is held is
    /// dead.
    pub(crate) fn take(&mut self, chunk: &dyn SampleChunk, input: usize, keep: i64) {
        let width = width(chunk.format().is_complex());
        let (first, end) = (chunk.first_sample() as i64, chunk.first_sample() as i64 + chunk.times() as i64);
        let keep = keep.min(end);
        if keep >= first {
            // Only the chunk's tail, in a buffer of that size.
            self.samples.clear();
        } else {
            let alive = (first - keep) as usize * width;
            let dead = self.samples.len().saturating_sub(alive);
            if dead >= alive {
                self.samples.drain(..dead);
            }
        }
        let skip = (keep - first).max(0) as usize;
        let (old, new) = (self.samples.len(), (chunk.times() - skip) * width);
        if self.samples.capacity() > 4 * (old + new) {
            self.samples.shrink_to(old + new);
        }
        self.samples.resize(old + new, 0.0);
        ChunkSource::new(chunk.view()).fill(input, skip as i64, &mut self.samples[old..]);
    }
}

/// Held samples followed by a chunk; position 0 is the chunk's first sample. Before what is held there are zeros.
pub(crate) struct HeldAndChunk<'a> {
    /// Samples held of each input.
    held: Vec<&'a [f32]>,
    chunk: ChunkSource<'a>,
    width: usize,
}

impl<'a> HeldAndChunk<'a> {
    /// What is held, nothing of it if the stream begins `anew`, and a chunk.
    pub(crate) fn new(held: &'a [Held], chunk: &'a dyn SampleChunk, anew: bool) -> Self {
        let held = held.iter().map(|held| if anew { &[][..] } else { held.samples() }).collect();
        Self { held, chunk: ChunkSource::new(chunk.view()), width: width(chunk.format().is_complex()) }
    }
}

impl SampleSource for HeldAndChunk<'_> {
    fn fill(&self, input: usize, start: i64, out: &mut [f32]) {
        if start >= 0 {
            return self.chunk.fill(input, start, out);
        }
        let wanted = (out.len() / self.width) as u64;
        let (old, new) = out.split_at_mut(start.unsigned_abs().min(wanted) as usize * self.width);
        // `old` begins at this place of what is held, which is negative where nothing is.
        let held = self.held[input];
        let from = held.len() as i64 + start.saturating_mul(self.width as i64);
        let (zeros, old) = old.split_at_mut(from.saturating_neg().clamp(0, old.len() as i64) as usize);
        zeros.fill(0.0);
        let from = from.max(0) as usize;
        old.copy_from_slice(&held[from..from + old.len()]);
        if !new.is_empty() {
            self.chunk.fill(input, 0, new);
        }
    }
}
