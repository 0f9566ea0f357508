//! Samples that a stream holds between chunks, as f32 (two a complex sample), and how the filter reads across the seam.
//!
//! ```text
//! absolute sample   first ........ first + n | chunk: first_sample ........
//! position                  -3 -2 -1         | 0 1 2 ...
//! ```

use fringes_cpu::pfb::{ArraySource, SampleSource, convert};
use fringes_types::{Sample, Samples};

use crate::presence::MissingSamples;

/// What is held of one input.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    /// Samples up to the last one taken; the front may be dead.
    samples: Vec<f32>,
    pub(crate) missing: MissingSamples,
}

/// f32 of a sample.
fn width<S: Sample>() -> usize {
    1 + usize::from(S::COMPLEX)
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
    /// dead. The chunk's missing samples have been appended already.
    pub(crate) fn take<S: Sample>(&mut self, chunk: &Samples<S>, input: usize, keep: i64) {
        let (first, end) = (chunk.first_sample() as i64, chunk.first_sample() as i64 + chunk.times() as i64);
        let keep = keep.min(end);
        self.missing.discard_before(keep);
        if keep >= first {
            // Only the chunk's tail, in a buffer of that size.
            self.samples.clear();
        } else {
            let alive = (first - keep) as usize * width::<S>();
            let dead = self.samples.len().saturating_sub(alive);
            if dead >= alive {
                self.samples.drain(..dead);
            }
        }
        let skip = (keep - first).max(0) as usize;
        let (old, new) = (self.samples.len(), (chunk.times() - skip) * width::<S>());
        if self.samples.capacity() > 4 * (old + new) {
            self.samples.shrink_to(old + new);
        }
        self.samples.resize(old + new, 0.0);
        match chunk.data().row(input).as_slice() {
            Some(row) => convert(&row[skip..], &mut self.samples[old..]),
            None => ArraySource::new(chunk.data()).fill(input, skip as i64, &mut self.samples[old..]),
        }
    }
}

/// Held samples followed by a chunk; position 0 is the chunk's first sample. Before what is held there are zeros.
pub(crate) struct HeldAndChunk<'a, S: Sample> {
    /// Samples held of each input.
    pub(crate) held: Vec<&'a [f32]>,
    /// The chunk.
    pub(crate) chunk: ArraySource<'a, S>,
}

impl<S: Sample> SampleSource for HeldAndChunk<'_, S> {
    fn fill(&self, input: usize, start: i64, out: &mut [f32]) {
        if start >= 0 {
            return self.chunk.fill(input, start, out);
        }
        let wanted = (out.len() / width::<S>()) as u64;
        let (old, new) = out.split_at_mut(start.unsigned_abs().min(wanted) as usize * width::<S>());
        // `old` begins at this place of what is held, which is negative where nothing is.
        let held = self.held[input];
        let from = held.len() as i64 + start.saturating_mul(width::<S>() as i64);
        let (zeros, old) = old.split_at_mut(from.saturating_neg().clamp(0, old.len() as i64) as usize);
        zeros.fill(0.0);
        let from = from.max(0) as usize;
        old.copy_from_slice(&held[from..from + old.len()]);
        if !new.is_empty() {
            self.chunk.fill(input, 0, new);
        }
    }
}
