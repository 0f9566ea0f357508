//! Samples that a stream holds between chunks, as f32 (two a complex sample), and how the filter reads across the seam.
//!
//! ```text
//! absolute sample   first ........ first + n | chunk: first_sample ........
//! position                  -3 -2 -1         | 0 1 2 ...
//! ```
//!
//! Each input has a ring, so that forgetting old samples moves nothing and leaves nothing dead behind:
//!
//! ```text
//! ring   | 7 8 9 . . . 4 5 6 |        samples 4 to 9; the next three go to the dots
//! ```
//!
//! Rings get their room before a chunk is taken ([`Room`]), which is where a limit or the machine's memory may refuse.

use fringes_backend::Backend;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_cpu::pfb::{ChunkSource, SampleSource};
use fringes_types::{SampleChunk, TypesError};

use crate::ChannelizerError;
use crate::timeline::{Advance, Timeline};

/// What is held of one input.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// A whole number of samples long; all of it is memory that is taken.
    ring: Vec<f32>,
    /// Place of the first sample, in f32.
    head: usize,
    /// Held f32.
    length: usize,
}

/// f32 of a sample.
fn width(complex: bool) -> usize {
    1 + usize::from(complex)
}

impl Held {
    /// The samples in two pieces, ending with the last one taken.
    fn samples(&self) -> [&[f32]; 2] {
        let first = self.length.min(self.ring.len() - self.head);
        [&self.ring[self.head..self.head + first], &self.ring[..self.length - first]]
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        bytes(self.ring.capacity())
    }

    /// Forgets all samples. The ring stays.
    pub fn clear(&mut self) {
        (self.head, self.length) = (0, 0);
    }

    /// Makes the ring `floats` long, which is no less than what it holds; `false` if there is no memory.
    fn resize(&mut self, floats: usize) -> bool {
        let Some(mut ring) = try_zeroed_vec(floats) else { return false };
        let [first, second] = self.samples();
        ring[..first.len()].copy_from_slice(first);
        ring[first.len()..self.length].copy_from_slice(second);
        (self.ring, self.head) = (ring, 0);
        true
    }

    /// Takes a chunk in and forgets what lies before absolute sample `keep`. The ring has the room ([`Room`]).
    pub fn take(&mut self, chunk: &dyn SampleChunk, input: usize, keep: i64) {
        let width = width(chunk.format().is_complex());
        let first = chunk.first_sample() as i64;
        let keep = keep.min(first + chunk.times() as i64);
        let alive = ((first - keep).max(0) as usize * width).min(self.length);
        self.head = self.place(self.head + self.length - alive);
        self.length = alive;

        let skip = (keep - first).max(0);
        let new = (chunk.times() - skip as usize) * width;
        let tail = self.place(self.head + self.length);
        let before_end = new.min(self.ring.len() - tail);
        let source = ChunkSource::new(chunk.view());
        source.fill(input, skip, &mut self.ring[tail..tail + before_end]);
        source.fill(input, skip + (before_end / width) as i64, &mut self.ring[..new - before_end]);
        self.length += new;
    }

    /// A place of the ring, of one that may be behind its end.
    fn place(&self, place: usize) -> usize {
        if place >= self.ring.len() { place - self.ring.len() } else { place }
    }
}

/// Bytes of so many f32.
fn bytes(floats: usize) -> u64 {
    (floats as u64).saturating_mul(size_of::<f32>() as u64)
}

/// The rings that a chunk needs, before they are taken.
#[derive(Debug)]
pub struct Room {
    /// f32 of each ring.
    floats: Vec<usize>,
    /// Bytes of all rings, and what one needs beside them while it moves.
    rings: u64,
    moving: u64,
}

impl Room {
    /// Of a stream that takes a chunk.
    pub fn new(held: &[Held], timeline: &Timeline, advance: &Advance) -> Self {
        let width = width(timeline.plan.is_complex());
        let whole = |samples: u64| usize::try_from(samples).unwrap_or(usize::MAX).saturating_mul(width);
        let usual = whole(timeline.least_history());
        let after = timeline.held_after(advance);
        let (mut rings, mut moving) = (0u64, 0);
        let of = |((held, most), after): ((&Held, u64), u64)| {
            let (now, needed) = (held.ring.len(), whole(after).max(held.length));
            // An eighth more than is needed while rings grow to what a stream needs in the end, and no more than that.
            let most = whole(most).max(needed);
            let too_long = now > most || now > 2 * usual.max(needed);
            let floats = if now < needed || too_long { (needed + needed / 16 * 2).min(most) } else { now };
            rings = rings.saturating_add(bytes(floats.max(now)));
            if floats != now {
                moving = moving.max(bytes(floats.min(now)));
            }
            floats
        };
        let floats = held.iter().zip(timeline.history()).zip(after).map(of).collect();
        Self { floats, rings, moving }
    }

    /// `Ok` if the rings, `fixed` bytes and a step's `workspace` are within the backend's limit. Gives what of the
    /// limit is left for the workspace.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit).
    pub fn check(
        &self,
        backend: &Backend,
        operation: &'static str,
        fixed: u64,
        workspace: u64,
    ) -> Result<Option<u64>, ChannelizerError> {
        let fixed = fixed.saturating_add(self.rings);
        backend.check_memory(operation, fixed.saturating_add(workspace.max(self.moving)))?;
        Ok(backend.memory_limit().map(|limit| limit.saturating_sub(fixed)))
    }

    /// Takes the room. What is held stays as it is, whether that succeeds or not.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] if there is no memory.
    pub fn take(&self, held: &mut [Held]) -> Result<(), ChannelizerError> {
        for (held, &floats) in held.iter_mut().zip(&self.floats) {
            if floats != held.ring.len() && !held.resize(floats) {
                let elements = format!("{floats} of each input");
                return Err(TypesError::TooLarge { array: "samples held as f32", elements }.into());
            }
        }
        Ok(())
    }
}

/// Bytes of what a stream holds of all inputs at most, and those of the input with the most.
pub fn history_bytes(timeline: &Timeline) -> (u64, u64) {
    let of = |samples: u64| samples.saturating_mul(4 * width(timeline.plan.is_complex()) as u64);
    timeline.history().map(of).fold((0, 0), |(all, most), one| (all.saturating_add(one), most.max(one)))
}

/// Held samples followed by a chunk; position 0 is the chunk's first sample. Before what is held there are zeros.
pub struct HeldAndChunk<'a> {
    /// Samples held of each input, in two pieces.
    held: Vec<[&'a [f32]; 2]>,
    chunk: ChunkSource<'a>,
    width: usize,
}

impl<'a> HeldAndChunk<'a> {
    /// What is held, nothing of it if the stream begins `anew`, and a chunk.
    pub fn new(held: &'a [Held], chunk: &'a dyn SampleChunk, anew: bool) -> Self {
        let held = held.iter().map(|held| if anew { [&[][..]; 2] } else { held.samples() }).collect();
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
        let [first, second] = self.held[input];
        let from = (first.len() + second.len()) as i64 + start.saturating_mul(self.width as i64);
        let (zeros, old) = old.split_at_mut(from.saturating_neg().clamp(0, old.len() as i64) as usize);
        zeros.fill(0.0);
        let from = from.max(0) as usize;
        let split = first.len().saturating_sub(from).min(old.len());
        let (before, after) = old.split_at_mut(split);
        before.copy_from_slice(&first[from.min(first.len())..][..split]);
        let from = from.saturating_sub(first.len());
        after.copy_from_slice(&second[from.min(second.len())..][..after.len()]);
        if !new.is_empty() {
            self.chunk.fill(input, 0, new);
        }
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{Complex, Inputs, Samples};
    use ndarray::Array2;

    use super::*;

    /// Samples are their numbers, from `first` on.
    fn chunk(first: u64, times: usize) -> Samples<Complex<f32>> {
        let data = Array2::from_shape_fn((1, times), |(_, time)| Complex::new((first + time as u64) as f32, 0.5));
        Samples::new(data, Inputs::single_pol(1).unwrap()).unwrap().with_first_sample(first)
    }

    #[test]
    fn a_ring_holds_the_last_samples_whatever_the_chunks_and_reads_across_the_seam() {
        let mut held = Held::default();
        let (mut first, mut origin) = (100, 100);
        for (times, keep_last) in
            [(3, 9), (5, 5), (0, 4), (4, 4), (7, 7), (1, 7), (2, 6), (30, 3), (1, 8), (1, 0), (2, 2), (9, 9)]
        {
            let new = chunk(first, times);
            let end = first + times as u64;
            let keep = end.saturating_sub(keep_last).max(origin);
            // What is read before the chunk is taken: zeros, what is held, the chunk, zeros.
            let seam = HeldAndChunk::new(std::slice::from_ref(&held), &new, false);
            for start in origin as i64 - 3..end as i64 + 3 {
                for length in 0..12i64 {
                    let mut out = vec![9.0; 2 * length as usize];
                    seam.fill(0, start - first as i64, &mut out);
                    for (time, value) in (start..).zip(out.chunks_exact(2)) {
                        let there = (origin as i64..end as i64).contains(&time);
                        assert_eq!(value, if there { [time as f32, 0.5] } else { [0.0; 2] }, "{start} {length}");
                    }
                }
            }
            let needed = 2 * (end - keep) as usize;
            if held.ring.len() < needed.max(held.length) {
                assert!(held.resize(needed.max(held.length)));
            }
            held.take(&new, 0, keep as i64);
            let [a, b] = held.samples();
            let expected = (keep..end).flat_map(|time| [time as f32, 0.5]);
            assert!(a.iter().chain(b).copied().eq(expected));
            (first, origin) = (end, keep);
        }
        // 30 samples came at once, of which three were held: never more than what was needed.
        assert_eq!(held.bytes(), 9 * 8);
        held.clear();
        assert_eq!(held.samples(), [&[][..]; 2]);
    }
}
