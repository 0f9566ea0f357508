//! Where the values of a frame lie.

use std::ops::Range;

use fringes_types::Inputs;

use crate::gpu::Place;

/// A frame `[antenna][channel][spectrum][pol]`, or in the correlator's rows `[channel][spectrum / R][input][R]`.
#[derive(Debug, Clone, Copy)]
pub(in crate::f_engine) struct Order {
    channels: (usize, usize),
    spectra: usize,
    pols: usize,
    antennas: usize,
    /// Spectra of a row, of which a frame has whole ones.
    row: Option<usize>,
}

impl Order {
    /// Of frames of so many spectra and a range of channels; in rows of `row` spectra, if it is given.
    pub(in crate::f_engine) fn new(
        inputs: Inputs,
        channels: &Range<usize>,
        spectra: usize,
        row: Option<usize>,
    ) -> Self {
        let (pols, antennas) = (inputs.pols(), inputs.antennas());
        Self { channels: (channels.start, channels.len()), spectra, pols, antennas, row }
    }

    /// Whether it is of rows.
    pub(super) fn is_rows(&self) -> bool {
        self.row.is_some()
    }

    /// Elements of a frame, saturating.
    pub(super) fn elements(&self) -> usize {
        [self.antennas, self.channels.1, self.spectra, self.pols].into_iter().fold(1, usize::saturating_mul)
    }

    /// What the launches of all jobs share. No job has spectra of two frames.
    pub(super) fn place(&self) -> Place {
        let inputs = self.antennas * self.pols;
        let (channel_stride, period, period_stride, time_stride) = match self.row {
            None => (self.spectra * self.pols, self.spectra, self.elements(), self.pols),
            Some(row) => (self.spectra * inputs, row, row * inputs, 1),
        };
        Place {
            first_channel: self.channels.0 as u32,
            channels: self.channels.1 as u32,
            channel_stride: channel_stride as u64,
            period: u32::try_from(period).unwrap_or(u32::MAX),
            period_stride: period_stride as u64,
            time_stride: time_stride as u32,
        }
    }

    /// Element of the first channel of spectrum 0 of the period that a frame's spectrum of an input is in, and the spectrum's number within the period.
    pub(super) fn at(&self, frame: usize, spectrum: usize, input: usize) -> (u64, u32) {
        let frame = frame * self.elements();
        let (first, time) = match self.row {
            None => {
                let of_antenna = self.channels.1 * self.spectra * self.pols;
                (input / self.pols * of_antenna + input % self.pols, spectrum)
            }
            Some(row) => ((spectrum / row * self.antennas * self.pols + input) * row, spectrum % row),
        };
        ((frame + first) as u64, time as u32)
    }

    /// Element of a value.
    pub(super) fn element(&self, frame: usize, channel: usize, spectrum: usize, input: usize) -> usize {
        let ((first, time), place) = (self.at(frame, spectrum, input), self.place());
        first as usize + channel * place.channel_stride as usize + time as usize * place.time_stride as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_own_place_in_either_order() {
        let (inputs, frames, spectra) = (Inputs::new(3, 2).unwrap(), 2, 8);
        for row in [None, Some(4), Some(8)] {
            let order = Order::new(inputs, &(2..7), spectra, row);
            let mut all = Vec::new();
            for frame in 0..frames {
                for (channel, spectrum, input) in
                    (0..5).flat_map(|c| (0..spectra).flat_map(move |s| (0..6).map(move |i| (c, s, i))))
                {
                    let expected = match row {
                        None => (((frame * 3 + input / 2) * 5 + channel) * spectra + spectrum) * 2 + input % 2,
                        Some(row) => {
                            let rows = (frame * 5 + channel) * (spectra / row) + spectrum / row;
                            (rows * 6 + input) * row + spectrum % row
                        }
                    };
                    assert_eq!(order.element(frame, channel, spectrum, input), expected);
                    all.push(expected);
                }
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..frames * order.elements()));
        }
    }
}
