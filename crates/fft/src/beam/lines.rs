//! Lines of feeds and the beams that they give.

use fringes_types::TypesError;

use crate::{FftError, Size};

/// Lines of equally spaced feeds, each zero-padded and transformed.
///
/// ```text
/// input = (line * feeds + n) * pols + pol          n from 0 to feeds - 1
/// beam  = (line * pols + pol) * padded + q         q from 0 to padded - 1
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedLines {
    lines: usize,
    feeds: usize,
    pols: usize,
    size: Size,
}

impl FeedLines {
    /// `lines` lines of `feeds` feeds with `pols` polarisations, each line padded to `padded`.
    ///
    /// # Errors
    /// [`FftError::BeamPadding`] unless `padded` is 64, 128, 256, 512 or 1024 and `feeds` is from 1 to `padded`,
    /// [`TypesError::Pols`] unless `pols` is 1 or 2, [`FftError::BeamCount`] unless there are 1 to 2^24 beams.
    pub fn new(lines: usize, feeds: usize, pols: usize, padded: usize) -> Result<Self, FftError> {
        if !(1..=2).contains(&pols) {
            return Err(TypesError::Pols { actual: pols }.into());
        }
        let size = Self::size_of(feeds, padded).ok_or(FftError::BeamPadding { feeds, padded })?;
        let beams = lines.checked_mul(pols * padded);
        if !beams.is_some_and(|beams| (1..=Self::MOST_BEAMS).contains(&beams)) {
            return Err(FftError::BeamCount { lines, pols, padded, limit: Self::MOST_BEAMS });
        }
        Ok(Self { lines, feeds, pols, size })
    }

    /// Most beams of a channel and time.
    pub const MOST_BEAMS: usize = 1 << 24;

    /// The transform of a line of `feeds` feeds padded to `padded`, if there is one: with half as many inputs as outputs where they hold the
    /// feeds and there is such a transform, else with as many.
    pub fn size_of(feeds: usize, padded: usize) -> Option<Size> {
        let size = |inputs: usize| Size::new(inputs, padded).ok().filter(|_| (1..=inputs).contains(&feeds));
        size(padded / 2).or_else(|| size(padded))
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Feeds of each line.
    pub fn feeds(&self) -> usize {
        self.feeds
    }

    /// Polarisations of each feed.
    pub fn pols(&self) -> usize {
        self.pols
    }

    /// Beams of each line and polarisation.
    pub fn padded(&self) -> usize {
        self.size.outputs()
    }

    /// The transform of a line.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.lines * self.feeds * self.pols
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.lines * self.pols * self.padded()
    }

    /// Index of beam `q` of a line and polarisation, `(line * pols + pol) * padded + q`, or `None` if there is no such beam.
    pub fn beam(&self, line: usize, pol: usize, q: usize) -> Option<usize> {
        let exists = line < self.lines && pol < self.pols && q < self.padded();
        exists.then(|| (line * self.pols + pol) * self.padded() + q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_padded_length_is_enough_where_the_feeds_fit() {
        let transform = |feeds, padded| {
            let size = FeedLines::new(1, feeds, 1, padded).map(|lines| lines.size());
            size.map(|size| (size.inputs(), size.outputs()))
        };
        for (feeds, padded, expected) in [
            (200, 512, (256, 512)),
            (256, 512, (256, 512)),
            (257, 512, (512, 512)),
            (1, 64, (64, 64)),
            (64, 64, (64, 64)),
            (64, 128, (64, 128)),
            (65, 128, (128, 128)),
            (1024, 1024, (1024, 1024)),
        ] {
            assert_eq!(transform(feeds, padded), Ok(expected));
        }
    }

    #[test]
    fn lines_that_no_kernel_takes_are_typed_errors() {
        for (feeds, padded) in [(0, 64), (65, 64), (10, 32), (10, 2048), (100, 200), (1, 0), (usize::MAX, 64)] {
            assert_eq!(FeedLines::new(1, feeds, 1, padded), Err(FftError::BeamPadding { feeds, padded }));
            assert_eq!(FeedLines::size_of(feeds, padded), None);
        }
        for pols in [0, 3] {
            assert_eq!(FeedLines::new(1, 10, pols, 64), Err(TypesError::Pols { actual: pols }.into()));
        }
        let limit = FeedLines::MOST_BEAMS;
        for lines in [0, limit / 128 + 1, usize::MAX] {
            let error = FftError::BeamCount { lines, pols: 2, padded: 64, limit };
            assert_eq!(FeedLines::new(lines, 10, 2, 64), Err(error));
        }
        assert_eq!(FeedLines::new(limit / 128, 10, 2, 64).map(|lines| lines.beams()), Ok(limit));
    }

    #[test]
    fn beams_are_counted_by_line_then_polarisation() {
        let lines = FeedLines::new(3, 10, 2, 64);
        let beam = |line, pol, q| lines.as_ref().ok().and_then(|lines| lines.beam(line, pol, q));
        assert_eq!(beam(2, 1, 63), Some(3 * 2 * 64 - 1));
        assert_eq!(beam(1, 0, 5), Some(2 * 64 + 5));
        assert_eq!((beam(3, 0, 0), beam(0, 2, 0), beam(0, 0, 64)), (None, None, None));
    }
}
