//! Where the values of a frame lie.

use fringes_types::Inputs;

use crate::gpu::Place;

/// A frame `[antenna][channel][spectrum][pol]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    channels: (usize, usize),
    spectra: usize,
    pols: usize,
    antennas: usize,
}

impl Order {
    /// Of frames of so many spectra and a range of channels, first one and number.
    pub(super) fn new(inputs: Inputs, channels: &std::ops::Range<usize>, spectra: usize) -> Self {
        let (pols, antennas) = (inputs.pols(), inputs.antennas());
        Self { channels: (channels.start, channels.len()), spectra, pols, antennas }
    }

    /// Elements of a frame, saturating.
    pub(super) fn elements(&self) -> usize {
        [self.antennas, self.channels.1, self.spectra, self.pols].into_iter().fold(1, usize::saturating_mul)
    }

    /// What the launches of all jobs share. No job has spectra of two frames.
    pub(super) fn place(&self) -> Place {
        Place {
            first_channel: self.channels.0 as u32,
            channels: self.channels.1 as u32,
            channel_stride: (self.spectra * self.pols) as u64,
            period: u32::try_from(self.spectra).unwrap_or(u32::MAX),
            period_stride: self.elements() as u64,
            time_stride: self.pols as u32,
        }
    }

    /// Element of the first channel of spectrum 0 of an input.
    pub(super) fn first(&self, frame: usize, input: usize) -> u64 {
        let (antenna, pol) = (input / self.pols, input % self.pols);
        let of_antenna = self.channels.1 * self.spectra * self.pols;
        ((frame * self.antennas + antenna) * of_antenna + pol) as u64
    }
}
