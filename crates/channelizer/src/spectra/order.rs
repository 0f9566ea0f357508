//! Where the values of a frame lie.

use std::ops::Range;

use fringes_backend::RingShape;
use fringes_types::{Inputs, TypesError};

use crate::internals::{Periods, Place, Shares};

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
    /// In a ring, and the number of the first frame.
    ring: Option<(RingOrder, u64)>,
}

/// Frames of some antennas in a ring of frames of all, in the memory of several GPUs, each with its share of the
/// channels: `[share][frame mod places][antenna][channel of the share][spectrum][pol]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingOrder {
    /// Antennas, places, and how shares lie.
    pub shape: RingShape,
    /// Number of the first antenna.
    pub first_antenna: usize,
}

impl RingOrder {
    /// Elements of a share's channels of an antenna in a frame.
    fn of_antenna(&self, spectra: usize, pols: usize) -> usize {
        self.shape.channels_of_share * spectra * pols
    }

    /// Element of the first antenna's first channel of a frame, in the first share.
    pub(super) fn frame(&self, number: u64, spectra: usize, pols: usize) -> usize {
        let place = (number % self.shape.frames.max(1) as u64) as usize;
        (place * self.shape.antennas + self.first_antenna) * self.of_antenna(spectra, pols)
    }

    /// Frames that have places.
    fn turns(&self) -> u32 {
        u32::try_from(self.shape.frames.max(1)).unwrap_or(u32::MAX)
    }

    /// Shares of the channels.
    fn shares(&self, spectra: usize, pols: usize) -> Shares {
        let of_share = self.of_antenna(spectra, pols);
        Shares {
            bits: self.shape.channels_of_share.max(1).ilog2(),
            jump: self.shape.spacing.saturating_sub(of_share) as u64,
        }
    }
}

impl Order {
    /// Of frames of so many spectra and a range of channels; in rows of `row` spectra, if it is given.
    pub fn new(inputs: Inputs, channels: &Range<usize>, spectra: usize, frames: usize, row: Option<usize>) -> Self {
        let (pols, antennas) = (inputs.pols(), inputs.antennas());
        Self { channels: (channels.start, channels.len()), spectra, frames, pols, antennas, row, ring: None }
    }

    /// The same in a ring, if one is given.
    pub fn in_ring(mut self, ring: Option<RingOrder>) -> Self {
        self.ring = ring.map(|ring| (ring, 0));
        self
    }

    /// The same with the number of the first frame, which counts in a ring.
    pub(super) fn begins_with(mut self, number: u64) -> Self {
        self.ring = self.ring.map(|(ring, _)| (ring, number));
        self
    }

    /// Elements of a frame, saturating.
    pub(super) fn elements(&self) -> usize {
        [self.antennas, self.channels.1, self.spectra, self.pols].into_iter().fold(1, usize::saturating_mul)
    }

    /// Elements of the memory of all frames: none of those in a ring.
    pub(super) fn all_elements(&self) -> Result<usize, TypesError> {
        if self.ring.is_some() {
            return Ok(0);
        }
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
            shares: self.ring.map_or(Shares::NONE, |(ring, _)| ring.shares(self.spectra, self.pols)),
        }
    }

    /// Element of the first channel of spectrum 0 of the period that a frame's spectrum of an input is in, and the
    /// spectrum's number within the period.
    pub(super) fn at(&self, frame: usize, spectrum: usize, input: usize) -> (u64, u32) {
        if let Some((ring, number)) = &self.ring {
            let of_antenna = ring.of_antenna(self.spectra, self.pols);
            let first = ring.frame(number.wrapping_add(frame as u64), self.spectra, self.pols);
            let first = first + input / self.pols * of_antenna + input % self.pols;
            return (first as u64, spectrum as u32);
        }
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

    /// Periods of all frames.
    pub(super) fn periods(&self) -> Periods {
        let Place { period, period_stride, .. } = self.place();
        match &self.ring {
            None => Periods { period, stride: period_stride, turns: u32::MAX },
            Some((ring, _)) => {
                let stride = ring.shape.antennas.saturating_mul(ring.of_antenna(self.spectra, self.pols));
                Periods { period, stride: stride as u64, turns: ring.turns() }
            }
        }
    }

    /// Which place of a ring a frame has; else 0.
    pub(super) fn turn(&self, frame: usize) -> u32 {
        self.ring.map_or(0, |(ring, number)| (number.wrapping_add(frame as u64) % u64::from(ring.turns())) as u32)
    }

    /// The pieces of memory in which the first `filled` spectra of the first frame lie, of rows whole ones: how many
    /// elements each has, from piece to piece, and how many pieces there are.
    pub(super) fn head(&self, filled: usize) -> (usize, usize, usize) {
        if self.ring.is_some() {
            // It lies where it stays.
            return (0, 0, 0);
        }
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
    fn every_value_has_its_own_place_in_a_ring() {
        // Antennas 1 and 2 of four, 8 channels in four shares; frames 5 to 7 at places 2, 0 and 1 of three.
        let (inputs, spectra) = (Inputs::new(2, 2).unwrap(), 4);
        let share = 3 * 4 * 2 * spectra * 2;
        let shape = RingShape { antennas: 4, channels_of_share: 2, frames: 3, spacing: share + 32 };
        let ring = RingOrder { shape, first_antenna: 1 };
        let order = Order::new(inputs, &(0..8), spectra, 3, None).in_ring(Some(ring)).begins_with(5);
        let place = order.place();
        assert_eq!(order.all_elements(), Ok(0));
        for (frame, place_of_frame) in [(0, 2), (1, 0), (2, 1)] {
            for (channel, spectrum, input) in
                (0..8).flat_map(|c| (0..spectra).flat_map(move |s| (0..4).map(move |i| (c, s, i))))
            {
                let (first, time) = order.at(frame, spectrum, input);
                let apart = (channel >> place.shares.bits) as u64 * place.shares.jump;
                let found = first + channel as u64 * place.channel_stride + u64::from(time * place.time_stride) + apart;
                let antenna = place_of_frame * 4 + 1 + input / 2;
                let expected = ((antenna * 2 + channel % 2) * spectra + spectrum) * 2 + input % 2;
                assert_eq!(found as usize, channel / 2 * (share + 32) + expected);
            }
            // As runs of several frames find it.
            let (Periods { period, stride, turns }, input) = (order.periods(), 3);
            assert_eq!((period, turns, order.turn(frame)), (4, 3, place_of_frame as u32));
            let ahead = u64::from((order.turn(0) + frame as u32) % turns).wrapping_sub(order.turn(0).into());
            let from_first = order.at(0, 0, input).0.wrapping_add(ahead.wrapping_mul(stride));
            assert_eq!(order.at(frame, 0, input).0, from_first);
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
