//! What is left out of frames: where there is a masker, they wait until the block they are in is complete.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use fringes_backend::{Backend, batches_of};
use fringes_interference::{Masker, PowerSums, power_sums};
use fringes_types::{ChannelMask, Heaps, TypesError};
use ndarray::s;

use super::chosen_channels::ChosenChannels;
use super::frames::{FrameData, StreamSample};
use super::stages::Shared;
use crate::{BoxError, Stage, StreamError, telemetry};

/// Frames and their mask.
pub(super) struct Masked<V: StreamSample> {
    pub(super) frames: Arc<FrameData<V>>,
    /// `None` if nothing is left out.
    pub(super) mask: Option<Arc<ChannelMask>>,
    /// When the chunk came that completed them.
    pub(super) arrived: Instant,
}

impl<V: StreamSample> Clone for Masked<V> {
    fn clone(&self) -> Self {
        Self { frames: self.frames.clone(), mask: self.mask.clone(), arrived: self.arrived }
    }
}

/// Finds what is left out of frames.
pub(super) struct Masking<V: StreamSample> {
    /// The masker, and spectra of a block, which are a multiple of a frame's. Without one nothing waits.
    masker: Option<(Masker, usize)>,
    chosen: ChosenChannels,
    shared: Arc<Shared>,
    /// What this is part of.
    stage: Stage,
    /// Frames of the block under way, which follow each other.
    open: Vec<(Arc<FrameData<V>>, Instant)>,
}

impl<V: StreamSample> Masking<V> {
    pub(super) fn new(masker: Option<(Masker, usize)>, channels: usize, shared: Arc<Shared>, stage: Stage) -> Self {
        Self { masker, chosen: ChosenChannels::new(channels), shared, stage, open: Vec::new() }
    }

    /// Adds frames; gives those that can be used: all of them, or with a masker those of all blocks that end with
    /// them, and of a block that a gap cut off.
    pub(super) fn push(&mut self, frames: Arc<FrameData<V>>, arrived: Instant) -> Result<Vec<Masked<V>>, StreamError> {
        for (sample, channels) in self.shared.controls.take_masked_channels() {
            self.chosen.leave_out(sample, &channels)?;
        }
        let Some((_, spectra)) = self.masker else {
            let batches = frames.batches();
            let mask = self.chosen.mask(frames.clock(), frames.times() / batches.max(1), batches)?;
            self.count(mask.as_ref(), batches);
            return Ok(vec![Masked { frames, mask: mask.map(Arc::new), arrived }]);
        };
        let clock = frames.clock();
        let next = self.open.last().map(|(last, _)| last.clock().sample_of(last.times()));
        let mut done = if next.is_some_and(|next| next != clock.first_sample) { self.close()? } else { Vec::new() };
        let mut frames = frames;
        loop {
            let clock = frames.clock();
            let block = spectra as u64 * clock.samples_between_spectra;
            let left = block - clock.first_sample % block;
            let left = left.div_ceil(clock.samples_between_spectra.max(1)) as usize;
            if frames.times() < left {
                self.open.push((frames, arrived));
                return Ok(done);
            }
            if frames.times() == left {
                self.open.push((frames, arrived));
                done.extend(self.close()?);
                return Ok(done);
            }
            let [first, rest] = self.split(&frames, left)?;
            self.open.push((Arc::new(first), arrived));
            done.extend(self.close()?);
            frames = Arc::new(rest);
        }
    }

    /// The frames of the block under way, masked by what there is.
    pub(super) fn close(&mut self) -> Result<Vec<Masked<V>>, StreamError> {
        let open = std::mem::take(&mut self.open);
        let Some(mut mask) = self.mask(open.iter().map(|(frames, _)| &**frames))? else { return Ok(Vec::new()) };
        if let Some(chosen) = self.chosen.mask(mask.clock(), mask.spectra_per_block(), mask.blocks())? {
            mask = mask.or(&chosen)?;
        }
        self.count(Some(&mask), mask.blocks());
        let mask = Arc::new(mask);
        let masked = |(frames, arrived)| Masked { frames, mask: Some(mask.clone()), arrived };
        Ok(open.into_iter().map(masked).collect())
    }

    /// Counts what is left out of so many blocks, and what is not.
    fn count(&self, mask: Option<&ChannelMask>, blocks: usize) {
        let cells = (self.chosen.channels() * blocks) as u64;
        let masked = mask.map_or(0, |mask| mask.masked().iter().filter(|&&masked| masked).count() as u64);
        self.shared.counters.mask_cells.add(cells);
        self.shared.counters.masked.add(masked);
        metrics::counter!(telemetry::MASKED, "fate" => "masked").increment(masked);
        metrics::counter!(telemetry::MASKED, "fate" => "kept").increment(cells.saturating_sub(masked));
    }

    /// What the masker finds in frames that follow each other; `None` if there are none. Powers are summed where the
    /// frames lie.
    fn mask<'a>(&self, frames: impl Iterator<Item = &'a FrameData<V>>) -> Result<Option<ChannelMask>, StreamError> {
        let Some((masker, spectra)) = &self.masker else { return Ok(None) };
        let mut sums = None;
        for frames in frames {
            let next = match frames {
                FrameData::Host(heaps) => power_sums(&Backend::cpu(), heaps, *spectra)?,
                FrameData::Pinned(heaps) => power_sums(&Backend::cpu(), &**heaps, *spectra)?,
                FrameData::Device(heaps) => {
                    let backend = Backend::on(heaps.array().device().clone());
                    power_sums(&backend, &**heaps, *spectra)?
                }
            };
            sums = Some(match sums {
                None => next,
                Some(before) => PowerSums::followed_by(before, next)?,
            });
        }
        Ok(match sums {
            None => None,
            Some(sums) => Some(masker.mask(&sums)?.mask),
        })
    }

    /// The first spectra and the rest, both of whole batches: on the host copies, on a device the same memory.
    fn split(&self, frames: &FrameData<V>, spectra: usize) -> Result<[FrameData<V>; 2], StreamError> {
        let per_batch = frames.times() / frames.batches().max(1);
        if per_batch == 0 || !spectra.is_multiple_of(per_batch) {
            // Heaps of a source; an F-engine's frames are on the grid.
            let block = self.masker.as_ref().map_or(0, |(_, spectra)| *spectra);
            let expected = format!("heaps that end where a masker's blocks of {block} spectra do");
            let first = frames.clock().first_sample;
            let actual = format!("heaps of {per_batch} spectra from sample {first} on");
            return Err(StreamError::Input { expected, actual });
        }
        let batches = [0..spectra / per_batch, spectra / per_batch..frames.batches()];
        let at = |error: BoxError| StreamError::at(self.stage.clone(), error);
        let [first, rest] = match frames {
            FrameData::Host(_) | FrameData::Pinned(_) => {
                let heaps = frames.on_host().map_err(at)?;
                batches.map(|range| copied(&heaps, range).map(FrameData::Host).map_err(StreamError::from))
            }
            FrameData::Device(heaps) => batches.map(|range| match batches_of(heaps, range) {
                Ok(part) => Ok(FrameData::Device(Arc::new(part))),
                Err(error) => Err(at(error.into())),
            }),
        };
        Ok([first?, rest?])
    }
}

/// Some batches.
fn copied<V: StreamSample>(heaps: &Heaps<V>, batches: Range<usize>) -> Result<Heaps<V>, TypesError> {
    let mut clock = heaps.clock();
    clock.first_sample = clock.sample_of(batches.start * heaps.spectra_per_heap());
    let part = Heaps::from_checked(heaps.data().slice(s![batches.clone(), .., .., .., ..]).to_owned())?
        .with_clock(clock)?
        .with_frequencies(heaps.frequencies())?;
    match heaps.presence() {
        Some(flags) => part.with_presence(flags.slice(s![batches, ..]).to_owned()),
        None => Ok(part),
    }
}
