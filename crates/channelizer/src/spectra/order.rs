//! Where the values of a frame lie.

use std::ops::Range;

use fringes_types::{Inputs, TypesError};

use crate::internals::{Place, Shares};

/// Frames `[frame][antenna][channel][spectrum][pol]`, or all of them in the correlator's rows,
/// `[channel][frame x spectrum / R][input][R]`.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    channels: (usize, usize),
    spectra: usize,
    frames: usize,
    pols: usize,
    antennas: usize,
    /// Spectra of a row, of which a frame has whole ones.
    row: Option<usize>,
}

impl Order {
    /// Of frames of so many spectra and a range of channels; in rows of `row` spectra, if it is given.
    pub fn new(inputs: Inputs, channels: &Range<usize>, spectra: usize, frames: usize, row: Option<usize>) -> Self {
        let (pols, antennas) = (inputs.pols(), inputs.antennas());
        Self { channels: (channels.start, channels.len()), spectra, frames, pols, antennas, row }
    }

    /// Elements of a frame, saturating.
    pub(super) fn elements(&self) -> usize {
        [self.antennas, self.channels.1, self.spectra, self.pols].into_iter().fold(1, usize::saturating_mul)
    }

    /// Elements of all frames.
    pub(super) fn all_elements(&self) -> Result<usize, TypesError> {
        let frame = self.elements();
        let too_large = || TypesError::TooLarge { array: "frames", elements: format!("{} x {frame}", self.frames) };
        frame.checked_mul(self.frames).ok_or_else(too_large)
    }

    /// What the launches of all jobs share. No job has spectra of two frames.
    pub(super) fn place(&self) -> Place {
        let inputs = self.antennas * self.pols;
        let (channel_stride, period, period_stride, time_stride) = match self.row {
            None => (self.spectra * self.pols, self.spectra, self.elements(), self.pols),
            Some(row) => (self.frames * self.spectra * inputs, row, row * inputs, 1),
        };
        Place {
            first_channel: self.channels.0 as u32,
            channels: self.channels.1 as u32,
            channel_stride: channel_stride as u64,
            period: u32::try_from(period).unwrap_or(u32::MAX),
            period_stride: period_stride as u64,
            time_stride: time_stride as u32,
            shares: Shares::NONE,
        }
    }

    /// Element of the first channel of spectrum 0 of the period that a frame's spectrum of an input is in, and the
    /// spectrum's number within the period.
    pub(super) fn at(&self, frame: usize, spectrum: usize, input: usize) -> (u64, u32) {
        let (first, time) = match self.row {
            None => {
                let of_antenna = self.channels.1 * self.spectra * self.pols;
                (frame * self.elements() + input / self.pols * of_antenna + input % self.pols, spectrum)
            }
            Some(row) => {
                let number = (frame * self.spectra + spectrum) / row;
                ((number * self.antennas * self.pols + input) * row, spectrum % row)
            }
        };
        (first as u64, time as u32)
    }

    /// The pieces of memory in which the first `filled` spectra of the first frame lie, of rows whole ones: how many
    /// elements each has, from piece to piece, and how many pieces there are.
    pub(super) fn head(&self, filled: usize) -> (usize, usize, usize) {
        match self.row {
            None => (filled * self.pols, self.spectra * self.pols, self.antennas * self.channels.1),
            Some(row) => {
                let (width, inputs) = (filled.next_multiple_of(row), self.antennas * self.pols);
                (width * inputs, self.frames * self.spectra * inputs, self.channels.1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_own_place_in_either_order() {
        let (inputs, frames, spectra) = (Inputs::new(3, 2).unwrap(), 2, 8);
        for row in [None, Some(4), Some(8)] {
            let order = Order::new(inputs, &(2..7), spectra, frames, row);
            let place = order.place();
            let mut all = Vec::new();
            for frame in 0..frames {
                for (channel, spectrum, input) in
                    (0..5).flat_map(|c| (0..spectra).flat_map(move |s| (0..6).map(move |i| (c, s, i))))
                {
                    let expected = match row {
                        None => (((frame * 3 + input / 2) * 5 + channel) * spectra + spectrum) * 2 + input % 2,
                        Some(row) => {
                            let time = frame * spectra + spectrum;
                            let rows = channel * (frames * spectra / row) + time / row;
                            (rows * 6 + input) * row + time % row
                        }
                    };
                    let (first, time) = order.at(frame, spectrum, input);
                    let channel = channel * place.channel_stride as usize;
                    let found = first as usize + channel + time as usize * place.time_stride as usize;
                    assert_eq!(found, expected);
                    all.push(expected);
                }
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..frames * order.elements()));
        }
    }

    #[test]
    fn the_head_of_a_frame_is_where_its_first_spectra_are() {
        let inputs = Inputs::new(3, 2).unwrap();
        for (row, filled) in [(Some(4), 4), (Some(4), 8), (Some(8), 8), (None, 3), (None, 8)] {
            let order = Order::new(inputs, &(2..7), 8, 3, row);
            let (width, pitch, pieces) = order.head(filled);
            let place = order.place();
            let mut seen = 0;
            for (channel, spectrum, input) in
                (0..5).flat_map(|c| (0..filled).flat_map(move |s| (0..6).map(move |i| (c, s, i))))
            {
                let (first, time) = order.at(0, spectrum, input);
                let channel = channel * place.channel_stride as usize;
                let at = first as usize + channel + time as usize * place.time_stride as usize;
                assert!(at / pitch < pieces && at % pitch < width, "{row:?} {filled}");
                seen += 1;
            }
            assert_eq!(seen, width * pieces, "nothing else");
        }
    }
}
