//! Which channels are left out, and when.

use ndarray::{Array2, ArrayView2, Zip, s};

use crate::{Dimension, SpectrumClock, TypesError};

/// Blocks of spectra that are left out of a sum, for each channel, and for all inputs alike: `[channel][block]`, true
/// where masked.
///
/// A block is `spectra_per_block` spectra, and block 0 begins with the spectrum that the clock stamps. So a mask knows
/// its place in time, and is of use for every chunk that it covers, however the stream is cut:
///
/// ```text
/// mask     | block 0     | block 1     | block 2     |
/// chunks         | chunk 0 | chunk 1           |
/// ```
///
/// A mask is a choice, and missing data is not: what did not come is flagged in the chunks, and
/// [`Visibilities`](crate::Visibilities) counts the two apart.
///
/// ```
/// use fringes_types::{ChannelMask, SpectrumClock};
/// use ndarray::array;
///
/// let clock = SpectrumClock { first_sample: 1600, samples_between_spectra: 16, sample_rate_hz: 1e6 };
/// let mask = ChannelMask::new(array![[false, true], [false, false]], 8, clock)?;
/// assert_eq!((mask.times(), mask.masked_share()), (16, 0.25));
/// let chunk = SpectrumClock { first_sample: 1600 + 5 * 16, ..clock };
/// assert_eq!(mask.place(chunk, 11)?, 5);
/// assert!(mask.place(chunk, 12).is_err()); // one spectrum more than the mask covers
/// # Ok::<(), fringes_types::TypesError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelMask {
    masked: Array2<bool>,
    spectra_per_block: usize,
    clock: SpectrumClock,
}

impl ChannelMask {
    /// A mask `[channel][block]` of blocks of so many spectra, the first of which `clock` stamps.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without channels, [`TypesError::NotPositive`] for blocks of no spectra or a bad clock,
    /// [`TypesError::TooLarge`] if the mask's spectra cannot be counted.
    pub fn new(masked: Array2<bool>, spectra_per_block: usize, clock: SpectrumClock) -> Result<Self, TypesError> {
        clock.check()?;
        let (channels, blocks) = masked.dim();
        if channels == 0 {
            return Err(TypesError::Empty { array: "mask", dimension: Dimension::Channel });
        }
        if spectra_per_block == 0 {
            return Err(TypesError::NotPositive { quantity: "spectra of a mask's block", actual: 0.0 });
        }
        if blocks.checked_mul(spectra_per_block).is_none() {
            let elements = format!("{blocks} x {spectra_per_block}");
            return Err(TypesError::TooLarge { array: "mask", elements });
        }
        Ok(Self { masked, spectra_per_block, clock })
    }

    /// What is masked, `[channel][block]`.
    pub fn masked(&self) -> ArrayView2<'_, bool> {
        self.masked.view()
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.masked.nrows()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.masked.ncols()
    }

    /// Spectra of a block.
    pub fn spectra_per_block(&self) -> usize {
        self.spectra_per_block
    }

    /// Number of spectra that the mask covers.
    pub fn times(&self) -> usize {
        self.blocks() * self.spectra_per_block
    }

    /// Time axis: the stamp of block 0's first spectrum, and the spacing of spectra.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }

    /// Masked blocks of all channels together, as a share of all of them; 0 of no blocks.
    pub fn masked_share(&self) -> f64 {
        let masked = self.masked.iter().filter(|&&masked| masked).count();
        masked as f64 / self.masked.len().max(1) as f64
    }

    /// Masks what the other one masks too.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the other one has other channels or blocks, [`TypesError::MaskGrid`] and
    /// [`TypesError::MaskRange`] if its blocks lie elsewhere.
    pub fn or(mut self, other: &Self) -> Result<Self, TypesError> {
        let (array, time) = ("mask", Dimension::Time);
        for (dimension, expected, actual) in [
            (Dimension::Channel, self.channels(), other.channels()),
            (time, self.blocks(), other.blocks()),
            (time, self.spectra_per_block, other.spectra_per_block),
        ] {
            if expected != actual {
                return Err(TypesError::Dimension { array, dimension, expected, actual });
            }
        }
        self.place(other.clock, self.times())?;
        Zip::from(&mut self.masked).and(&other.masked).for_each(|masked, &other| *masked |= other);
        Ok(self)
    }

    /// The blocks that a chunk of so many spectra lies in.
    ///
    /// # Errors
    /// As [`ChannelMask::place`].
    pub fn of_chunk(&self, chunk: SpectrumClock, times: usize) -> Result<Self, TypesError> {
        let (place, block) = (self.place(chunk, times)?, self.spectra_per_block);
        let first = (place / block).min(self.blocks());
        // It covers the chunk.
        let end = place.saturating_add(times).div_ceil(block).clamp(first, self.blocks());
        let clock = SpectrumClock { first_sample: self.clock.sample_of(first * block), ..self.clock };
        Ok(Self { masked: self.masked.slice(s![.., first..end]).to_owned(), spectra_per_block: block, clock })
    }

    /// Where a chunk of so many spectra begins in the mask, in spectra.
    ///
    /// # Errors
    /// [`TypesError::MaskGrid`] if the chunk's spectra are spaced otherwise or lie between the mask's,
    /// [`TypesError::MaskRange`] if the mask does not cover them all.
    pub fn place(&self, chunk: SpectrumClock, times: usize) -> Result<usize, TypesError> {
        let spacing = self.clock.samples_between_spectra;
        let (first, actual) = (self.clock.first_sample, chunk.first_sample);
        let on_grid = first.abs_diff(actual).is_multiple_of(spacing.max(1));
        if chunk.samples_between_spectra != spacing || !on_grid {
            let (expected, actual) = (chunk, self.clock);
            return Err(TypesError::MaskGrid { expected, actual });
        }
        let covered = u64::try_from(self.times()).unwrap_or(u64::MAX);
        let place = actual.checked_sub(first).map(|samples| samples / spacing);
        match place {
            Some(place) if place.checked_add(times as u64).is_some_and(|end| end <= covered) => Ok(place as usize),
            _ => {
                let (expected, actual) = ((actual, times), (first, self.times()));
                Err(TypesError::MaskRange { expected, actual })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    const CLOCK: SpectrumClock = SpectrumClock { first_sample: 805, samples_between_spectra: 10, sample_rate_hz: 1e6 };

    fn mask() -> ChannelMask {
        ChannelMask::new(array![[true, false, false]], 4, CLOCK).unwrap()
    }

    #[test]
    fn a_mask_knows_the_chunks_that_it_covers() {
        let mask = mask();
        let at = |first_sample| SpectrumClock { first_sample, ..CLOCK };
        assert_eq!((mask.place(at(805), 12), mask.place(at(925), 0)), (Ok(0), Ok(12)));
        assert_eq!(mask.place(at(835), 9), Ok(3));
        for (first, times) in [(805, 13), (915, 2), (795, 1), (5, 1), (935, 0), (u64::MAX / 10 * 10 + 5, 1)] {
            let error = mask.place(at(first), times).unwrap_err();
            assert_eq!(error, TypesError::MaskRange { expected: (first, times), actual: (805, 12) });
        }
        assert!(matches!(mask.place(at(836), 1), Err(TypesError::MaskGrid { .. })));
        let other = SpectrumClock { samples_between_spectra: 5, ..CLOCK };
        assert!(matches!(mask.place(other, 1), Err(TypesError::MaskGrid { .. })));
    }

    #[test]
    fn the_blocks_of_a_chunk_are_where_they_were() {
        let mask = ChannelMask::new(Array2::from_shape_fn((2, 5), |(c, b)| (c + b) % 3 == 0), 4, CLOCK).unwrap();
        for start in 0..20 {
            for times in 0..=20 - start {
                let chunk = SpectrumClock { first_sample: CLOCK.sample_of(start), ..CLOCK };
                let part = mask.of_chunk(chunk, times).unwrap();
                let place = part.place(chunk, times).unwrap();
                assert!(place < 4 && part.times() < place + times + 4, "{start} {times}");
                for time in 0..times {
                    let (found, expected) = ((place + time) / 4, (start + time) / 4);
                    assert_eq!(part.masked().column(found), mask.masked().column(expected));
                }
            }
        }
        assert!(matches!(mask.of_chunk(CLOCK, 21), Err(TypesError::MaskRange { .. })));
    }

    #[test]
    fn masks_of_one_grid_add_up_and_others_do_not() {
        let other = ChannelMask::new(array![[false, false, true]], 4, CLOCK).unwrap();
        assert_eq!(mask().or(&other).unwrap().masked(), array![[true, false, true]]);
        let later = SpectrumClock { first_sample: 815, ..CLOCK };
        let error = mask().or(&ChannelMask::new(array![[false, false, true]], 4, later).unwrap()).unwrap_err();
        assert!(matches!(error, TypesError::MaskRange { .. }), "{error}");
        for other in [(array![[true, true]], 4), (array![[true, true, true]], 5), (Array2::default((2, 3)), 4)] {
            let error = mask().or(&ChannelMask::new(other.0, other.1, CLOCK).unwrap()).unwrap_err();
            assert!(matches!(error, TypesError::Dimension { .. }), "{error}");
        }
    }

    #[test]
    fn masks_of_nothing_are_errors() {
        let none = Array2::default((0, 3));
        assert!(matches!(ChannelMask::new(none, 4, CLOCK), Err(TypesError::Empty { .. })));
        assert!(matches!(ChannelMask::new(array![[true]], 0, CLOCK), Err(TypesError::NotPositive { .. })));
        let clock = SpectrumClock { samples_between_spectra: 0, ..CLOCK };
        assert!(ChannelMask::new(array![[true]], 1, clock).is_err());
        let error = ChannelMask::new(array![[true, true]], usize::MAX, CLOCK).unwrap_err();
        assert!(matches!(error, TypesError::TooLarge { .. }));
        assert_eq!(ChannelMask::new(Array2::default((3, 0)), 4, CLOCK).unwrap().masked_share(), 0.0);
    }
}
