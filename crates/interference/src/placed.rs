//! Masks, and where chunks lie in them.

use std::ops::Range;

use fringes_types::{ChannelMask, Dimension, SpectrumClock, TypesError, VoltageSample, row_times};
use ndarray::{Array2, ArrayView2};

/// A mask, and where a chunk lies in it.
#[derive(Debug, Clone, Copy)]
pub struct PlacedMask<'a> {
    mask: &'a ChannelMask,
    lead: isize,
}

/// What a mask says of some channels and times of a chunk, of which something is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskPart {
    masked: Array2<bool>,
    spectra_per_block: usize,
    lead: usize,
}

impl<'a> PlacedMask<'a> {
    /// A mask for the spectra `times` of a chunk of so many channels, whose first spectrum the clock stamps.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a mask of other channels, [`TypesError::MaskGrid`] and [`TypesError::MaskRange`]
    /// for one that does not cover these spectra, [`TypesError::TooLarge`] if they cannot be counted.
    pub fn new(
        mask: &'a ChannelMask,
        channels: usize,
        clock: SpectrumClock,
        times: Range<usize>,
    ) -> Result<Self, TypesError> {
        if mask.channels() != channels {
            let (array, dimension, actual) = ("mask", Dimension::Channel, mask.channels());
            return Err(TypesError::Dimension { array, dimension, expected: channels, actual });
        }
        let first_sample = clock.sample_of(times.start);
        let place = mask.place(SpectrumClock { first_sample, ..clock }, times.len())?;
        let too_large = |_| TypesError::TooLarge { array: "mask", elements: format!("{place} spectra") };
        let [place, start] =
            [isize::try_from(place).map_err(too_large)?, isize::try_from(times.start).map_err(too_large)?];
        // Neither is below 0.
        Ok(Self { mask, lead: place - start })
    }

    /// The mask.
    #[must_use]
    pub fn mask(&self) -> &'a ChannelMask {
        self.mask
    }

    /// Spectra of the mask that lie before the chunk's first one; below 0 if it begins later.
    #[must_use]
    pub fn lead(&self) -> isize {
        self.lead
    }

    /// Whether anything of some times is masked, in any channel.
    #[must_use]
    pub fn masks_any(&self, times: Range<usize>) -> bool {
        self.part(0..self.mask.channels(), times).is_some()
    }

    /// As [`PlacedMask::part`], of so many rows of voltages `V` of each input, the first of which begins with a time.
    #[must_use]
    pub fn part_of_rows<V: VoltageSample>(
        &self,
        channels: Range<usize>,
        start: usize,
        rows: usize,
    ) -> Option<MaskPart> {
        let times = rows.saturating_mul(row_times(V::FORMAT));
        self.part(channels, start..start.saturating_add(times))
    }

    /// What is masked of some channels and times of the chunk, false where the mask has none; `None` if nothing is.
    #[must_use]
    pub fn part(&self, channels: Range<usize>, times: Range<usize>) -> Option<MaskPart> {
        let (spectra_per_block, all) = (self.mask.spectra_per_block(), self.mask.masked());
        // Both are of arrays, which have at most isize::MAX elements.
        let start = (times.start as isize).saturating_add(self.lead) as i128;
        let lead = start.rem_euclid(spectra_per_block as i128) as usize;
        let first = start.div_euclid(spectra_per_block as i128) as isize;
        let number = times.len().saturating_add(lead).div_ceil(spectra_per_block);
        let is_masked = |(channel, at): (usize, usize)| {
            let block = first.checked_add_unsigned(at).and_then(|block| usize::try_from(block).ok());
            block.and_then(|block| all.get((channels.start + channel, block))).copied().unwrap_or(false)
        };
        let masked = Array2::from_shape_fn((channels.len(), number), is_masked);
        masked.iter().any(|&masked| masked).then_some(MaskPart { masked, spectra_per_block, lead })
    }
}

impl MaskPart {
    /// What is masked, `[channel][block]`.
    #[must_use]
    pub fn masked(&self) -> ArrayView2<'_, bool> {
        self.masked.view()
    }

    /// Spectra of a block.
    #[must_use]
    pub fn spectra_per_block(&self) -> usize {
        self.spectra_per_block
    }

    /// Spectra of the first block that lie before the part's first time.
    #[must_use]
    pub fn lead(&self) -> usize {
        self.lead
    }

    /// The times of a block, counted from the part's first one, of so many times.
    #[must_use]
    pub fn times_of(&self, block: usize, times: usize) -> Range<usize> {
        let edge = |block: usize| block.saturating_mul(self.spectra_per_block).saturating_sub(self.lead).min(times);
        edge(block)..edge(block.saturating_add(1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const CLOCK: SpectrumClock = SpectrumClock { first_sample: 600, samples_between_spectra: 10, sample_rate_hz: 1.0 };

    fn all() -> Array2<bool> {
        Array2::from_shape_fn((4, 5), |(channel, block)| (channel + block) % 3 == 0)
    }

    fn mask() -> ChannelMask {
        ChannelMask::new(all(), 6, CLOCK).unwrap()
    }

    /// What is masked, of a mask that begins so many spectra before the chunk.
    fn expected(channel: usize, time: isize, lead: isize) -> bool {
        let block = usize::try_from((time + lead).div_euclid(6)).ok();
        block.and_then(|block| all().get((channel, block)).copied()).unwrap_or(false)
    }

    #[test]
    fn parts_are_those_of_the_mask_and_false_where_it_has_none() {
        let mask = mask();
        for lead in -7..8 {
            let placed = PlacedMask { mask: &mask, lead };
            for start in 0..40 {
                for length in [1, 5, 6, 17, 64] {
                    let masked =
                        |channel| (0..length as isize).any(|time| expected(channel, start as isize + time, lead));
                    let Some(part) = placed.part(1..4, start..start + length) else {
                        assert!(!(1..4).any(masked));
                        continue;
                    };
                    assert!((1..4).any(masked));
                    assert_eq!(part.masked.dim(), (3, (length + part.lead).div_ceil(6)));
                    for (channel, row) in part.masked.outer_iter().enumerate() {
                        let mut times = 0..0;
                        for (block, &found) in row.iter().enumerate() {
                            let of_block = part.times_of(block, length);
                            assert_eq!(of_block.start, times.end, "blocks follow each other");
                            times = of_block.clone();
                            for time in of_block {
                                let expected = expected(1 + channel, (start + time) as isize, lead);
                                assert_eq!(found, expected, "{lead} {start} {time}");
                            }
                        }
                        assert_eq!(times.end, length);
                    }
                    assert!(placed.masks_any(start..start + length));
                }
            }
        }
    }

    #[test]
    fn a_mask_is_placed_by_its_clock() {
        let mask = mask();
        let at = |spectrum: u64| SpectrumClock { first_sample: 600 + 10 * spectrum, ..CLOCK };
        assert_eq!(PlacedMask::new(&mask, 4, at(7), 0..23).unwrap().lead(), 7);
        let earlier = SpectrumClock { first_sample: 570, ..CLOCK };
        assert_eq!(PlacedMask::new(&mask, 4, earlier, 3..33).unwrap().lead(), -3);
        let error = PlacedMask::new(&mask, 3, at(7), 0..23).unwrap_err();
        assert!(matches!(error, TypesError::Dimension { expected: 3, actual: 4, .. }), "{error}");
        let error = PlacedMask::new(&mask, 4, at(7), 0..24).unwrap_err();
        assert!(matches!(error, TypesError::MaskRange { .. }), "{error}");
        // Further away than is counted.
        let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 1, ..CLOCK };
        let long = ChannelMask::new(Array2::default((1, 1)), usize::MAX, clock).unwrap();
        let far = SpectrumClock { first_sample: u64::MAX - 1, ..clock };
        let error = PlacedMask::new(&long, 1, far, 0..1).unwrap_err();
        assert!(matches!(error, TypesError::TooLarge { .. }), "{error}");
    }
}
