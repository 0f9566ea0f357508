//! Which of a chunk's spectra go into which frame.
//!
//! ```text
//! frames of 4 spectra, 2 filled; 7 more:   [x x a b] [c d e f] [g . . .]
//!                                           frame 0   frame 1   open
//! ```
//!
//! Frames that become complete are given away; the last one stays open until it is complete or closed.

use std::ops::Range;

use fringes_types::{Complex, Inputs};
use ndarray::{Array2, ArrayView2, s};

use super::order::{Order, RingOrder};
use crate::Precision;
use crate::timeline::{Advance, Timeline};

/// What does not change from chunk to chunk.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Spectra of a frame.
    pub spectra_per_frame: usize,
    /// Channels that come out.
    pub channels: Range<usize>,
    /// Gains `[input][channel that comes out]`, in standard layout.
    pub gains: Array2<Complex<f32>>,
    /// Seed of the dither of integer formats.
    pub dither: Option<u64>,
    /// The number that the dither gives the first input.
    pub first_input: usize,
    /// How exactly a GPU computes, where it has kernels for that.
    pub precision: Precision,
    /// How often the gains were set: what a backend made of them is out of date after that.
    pub generation: u64,
    /// Spectra of a row, if frames in device memory are in the correlator's rows.
    pub row: Option<usize>,
    /// Where frames lie in a ring of several GPUs, if they are written there.
    pub ring: Option<RingOrder>,
}

impl Settings {
    /// Inputs before the first one that a GPU's kernels count, as their dither does; none without dither.
    pub fn inputs_before(&self) -> usize {
        if self.dither.is_some() { self.first_input } else { 0 }
    }

    /// Where the values of so many frames of these inputs lie in device memory.
    pub fn order(&self, inputs: Inputs, frames: usize) -> Order {
        Order::new(inputs, &self.channels, self.spectra_per_frame, frames, self.row).in_ring(self.ring)
    }
}

/// Where the spectra of a chunk go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    spectra_per_frame: usize,
    /// Spectra that the first frame has already.
    pub filled: usize,
    /// Spectra of the chunk.
    pub spectra: usize,
    /// Frames that are given away.
    pub frames: usize,
}

/// Consecutive spectra of a chunk that go into one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// First spectrum of the chunk.
    pub first_time: usize,
    /// Their places in the frame.
    pub places: Range<usize>,
}

impl Batch {
    /// `spectra` spectra behind `filled` ones. With `finish`, the last frame is given away though it is not complete.
    pub fn new(spectra_per_frame: usize, filled: usize, spectra: usize, finish: bool) -> Self {
        let all = filled + spectra;
        let frames = if finish { all.div_ceil(spectra_per_frame) } else { all / spectra_per_frame };
        Self { spectra_per_frame, filled, spectra, frames }
    }

    /// What goes into frame `frame`; that numbered [`Batch::frames`] is the one that stays open. Empty if nothing does.
    pub fn part(&self, frame: usize) -> Part {
        let (start, end) = (frame * self.spectra_per_frame, (frame + 1) * self.spectra_per_frame);
        let from = start.max(self.filled).min(end);
        let to = end.min(self.filled + self.spectra).max(from);
        Part { first_time: from - self.filled.min(from), places: from - start..to - start }
    }
}

/// One chunk's work, for whatever backend.
#[derive(Debug)]
pub struct Work<'a> {
    /// What does not change.
    pub settings: &'a Settings,
    /// Plan, inputs and delays.
    pub timeline: &'a Timeline,
    /// The spectra that the chunk completes.
    pub advance: &'a Advance,
    /// Where they go.
    pub batch: Batch,
}

impl Work<'_> {
    /// Number of the first frame, counted from sample 0.
    pub fn first_frame(&self) -> u64 {
        let first = self.advance.first_stamp / self.timeline.plan.stride() as u64;
        first.saturating_sub(self.batch.filled as u64) / self.settings.spectra_per_frame as u64
    }

    /// Numbers of all frames that get spectra: those that are given away, and the one that stays open.
    pub fn frames(&self) -> Range<u64> {
        let (first, all) = (self.first_frame(), self.batch.filled + self.batch.spectra);
        let open = all > self.batch.frames * self.settings.spectra_per_frame;
        first..first + self.batch.frames as u64 + u64::from(open)
    }
}

/// Flags `[spectrum][input]` of the frames that a batch gives away, and those of the frame that stays open, of which
/// `open` has those of the spectra filled so far. Without `present`, all of the batch are.
pub fn flags(
    batch: &Batch,
    present: Option<ArrayView2<'_, bool>>,
    open: ArrayView2<'_, bool>,
) -> (Array2<bool>, Array2<bool>) {
    let (given, spf, inputs) = (batch.frames * batch.spectra_per_frame, batch.spectra_per_frame, open.ncols());
    let (held, made) = (batch.filled.min(given), batch.spectra.min(given.saturating_sub(batch.filled)));
    let mut flags = Array2::from_elem((given, inputs), present.is_none());
    flags.slice_mut(s![..held, ..]).assign(&open.slice(s![..held, ..]));
    if let Some(present) = present {
        flags.slice_mut(s![held..held + made, ..]).assign(&present.slice(s![..made, ..]));
    }
    flags.slice_mut(s![held + made.., ..]).fill(false);
    let flag = |time: usize, input: usize| match time.checked_sub(batch.filled) {
        None => open[(time, input)],
        Some(time) => time < batch.spectra && present.is_none_or(|present| present[(time, input)]),
    };
    (flags, Array2::from_shape_fn((spf, inputs), |(time, input)| flag(given + time, input)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spectrum_has_one_place_in_order() {
        for spf in 1..5 {
            for filled in 0..spf {
                for spectra in 0..12 {
                    for finish in [false, true] {
                        let batch = Batch::new(spf, filled, spectra, finish);
                        let mut places = Vec::new();
                        for frame in 0..=batch.frames {
                            let Part { first_time, places: range } = batch.part(frame);
                            for (offset, place) in range.enumerate() {
                                places.push((first_time + offset, frame * spf + place));
                            }
                        }
                        let expected: Vec<_> = (0..spectra).map(|time| (time, filled + time)).collect();
                        assert_eq!(places, expected, "{batch:?}");
                        assert_eq!(
                            batch.frames,
                            if finish { (filled + spectra).div_ceil(spf) } else { (filled + spectra) / spf }
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn flags_follow_the_spectra() {
        let open = ndarray::array![[true], [false], [true], [true]];
        let present = ndarray::array![[true], [false], [true], [true], [true]];
        let (given, rest) = flags(&Batch::new(4, 2, 5, false), Some(present.view()), open.view());
        assert_eq!(given.column(0).to_vec(), [true, false, true, false]);
        assert_eq!(rest.column(0).to_vec(), [true, true, true, false]);
        let (given, rest) = flags(&Batch::new(4, 2, 5, true), Some(present.view()), open.view());
        assert_eq!(given.column(0).to_vec(), [true, false, true, false, true, true, true, false]);
        assert_eq!(rest.column(0).to_vec(), [false; 4]);
        // All present are as those that are said to be.
        let all = ndarray::Array2::from_elem((5, 1), true);
        for finish in [false, true] {
            let batch = Batch::new(4, 2, 5, finish);
            assert_eq!(flags(&batch, None, open.view()), flags(&batch, Some(all.view()), open.view()));
        }
    }
}
