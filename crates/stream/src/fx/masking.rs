//! Frames that wait until the block they are in is complete, and can be masked.

use std::sync::Arc;
use std::time::Instant;

use fringes_interference::Masker;
use fringes_types::{ChannelMask, Heaps, TypesError};
use ndarray::s;

use super::frames::{FrameData, StreamSample};
use crate::StreamError;

/// Frames and their mask.
pub(super) struct Masked<V: StreamSample> {
    pub(super) frames: Arc<FrameData<V>>,
    pub(super) mask: ChannelMask,
    /// When the chunk came that completed them.
    pub(super) arrived: Instant,
}

/// Collects frames to whole blocks.
pub(super) struct Masking<V: StreamSample> {
    masker: Masker,
    /// Spectra of a block: a multiple of a frame's.
    spectra: usize,
    /// Frames of the block under way, which follow each other.
    open: Vec<(Arc<FrameData<V>>, Instant)>,
}

impl<V: StreamSample> Masking<V> {
    pub(super) fn new(masker: Masker, spectra: usize) -> Self {
        Self { masker, spectra, open: Vec::new() }
    }

    /// Adds frames; gives those of all blocks that end with them, and of a block that a gap cut off.
    pub(super) fn push(&mut self, frames: Arc<FrameData<V>>, arrived: Instant) -> Result<Vec<Masked<V>>, StreamError> {
        let clock = frames.clock();
        let next = self.open.last().map(|(last, _)| last.clock().sample_of(last.times()));
        let mut done = if next.is_some_and(|next| next != clock.first_sample) { self.close()? } else { Vec::new() };
        let mut frames = frames;
        loop {
            let clock = frames.clock();
            let block = self.spectra as u64 * clock.samples_between_spectra;
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
            let FrameData::Host(heaps) = &*frames else { return Ok(done) };
            let [first, rest] = split(heaps, left / heaps.spectra_per_heap())?;
            self.open.push((Arc::new(FrameData::Host(first)), arrived));
            done.extend(self.close()?);
            frames = Arc::new(FrameData::Host(rest));
        }
    }

    /// The frames of the block under way, masked by what there is.
    pub(super) fn close(&mut self) -> Result<Vec<Masked<V>>, StreamError> {
        let open = std::mem::take(&mut self.open);
        let heaps: Vec<&Heaps<V>> = open
            .iter()
            .filter_map(|(frames, _)| match &**frames {
                FrameData::Host(heaps) => Some(heaps),
                FrameData::Pinned(_) | FrameData::Device(_) => None,
            })
            .collect();
        if heaps.is_empty() {
            return Ok(Vec::new());
        }
        let mask = V::mask(&heaps, &self.masker, self.spectra)?;
        let masked = |(frames, arrived)| Masked { frames, mask: mask.clone(), arrived };
        Ok(open.into_iter().map(masked).collect())
    }
}

/// The first batches and the rest.
fn split<V: StreamSample>(heaps: &Heaps<V>, batches: usize) -> Result<[Heaps<V>; 2], TypesError> {
    let all = heaps.batches();
    let part = |from: usize, to: usize| {
        let mut clock = heaps.clock();
        clock.first_sample = clock.sample_of(from * heaps.spectra_per_heap());
        let part = Heaps::from_checked(heaps.data().slice(s![from..to, .., .., .., ..]).to_owned())?
            .with_clock(clock)?
            .with_frequencies(heaps.frequencies())?;
        match heaps.presence() {
            Some(flags) => part.with_presence(flags.slice(s![from..to, ..]).to_owned()),
            None => Ok(part),
        }
    };
    Ok([part(0, batches)?, part(batches, all)?])
}
