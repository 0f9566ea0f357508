//! How many spectra of sums were masked.

use fringes_interference::internals::PlacedMask;
use fringes_types::{ChannelMask, Detection, MaskedSpectra, SpectrumClock, TypesError};
use ndarray::{Array2, s};

/// Counts of sums of spectra and channels, carried from chunk to chunk.
#[derive(Debug, Clone, Default)]
pub(crate) struct MaskedCounts {
    /// Of the sum under way, of each channel of sums; nothing if nothing was masked.
    pending: Vec<u64>,
}

/// A chunk whose spectra are summed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summed {
    pub(crate) channels: usize,
    pub(crate) times: usize,
    /// When the times are.
    pub(crate) clock: SpectrumClock,
    /// Spectra of the first sum that came before.
    pub(crate) pending: usize,
}

impl MaskedCounts {
    /// Counts of the sums that a chunk completes; `None` if nothing of them was masked.
    ///
    /// # Errors
    /// As [`PlacedMask::new`] for a mask that is not the chunk's.
    pub(crate) fn sum(
        &mut self,
        mask: Option<&ChannelMask>,
        chunk: Summed,
        detection: &Detection,
    ) -> Result<Option<MaskedSpectra>, TypesError> {
        let Summed { channels, times, clock, pending } = chunk;
        let (groups, n) = (detection.channels_of(channels)?, detection.times());
        let mask = mask.filter(|_| times > 0).map(|mask| PlacedMask::new(mask, channels, clock, 0..times));
        let part = mask.transpose()?.and_then(|mask| mask.part(0..channels, 0..times));
        if pending == 0 {
            self.pending.clear();
        }
        let sums = (pending + times) / n;
        if part.is_none() && (self.pending.is_empty() || sums == 0) {
            return Ok(None);
        }
        let mut counts = Array2::<u64>::zeros((groups, sums + 1));
        counts.column_mut(0).iter_mut().zip(&self.pending).for_each(|(to, &count)| *to = count);
        if let Some(part) = &part {
            for (block, masked) in part.masked().columns().into_iter().enumerate() {
                let mut rest = part.times_of(block, times);
                while !rest.is_empty() {
                    // Those of one sum.
                    let sum = (pending + rest.start) / n;
                    let end = rest.end.min((sum + 1) * n - pending);
                    let spectra = (end - rest.start) as u64;
                    let of_channels = masked.iter().enumerate().filter(|(_, masked)| **masked);
                    for (channel, _) in of_channels {
                        counts[(channel / detection.channels(), sum)] += spectra;
                    }
                    rest.start = end;
                }
            }
        }
        let left = counts.column(sums);
        self.pending = if left.iter().any(|&count| count > 0) { left.to_vec() } else { Vec::new() };
        let done = counts.slice_move(s![.., ..sums]);
        let summed = (n as u64).saturating_mul(detection.channels() as u64);
        if done.iter().all(|&count| count == 0) { Ok(None) } else { MaskedSpectra::new(summed, done).map(Some) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use fringes_types::DetectedProducts;

    use super::*;

    const CLOCK: SpectrumClock = SpectrumClock { first_sample: 700, samples_between_spectra: 10, sample_rate_hz: 1e6 };

    #[test]
    fn counts_are_those_of_every_spectrum_however_the_stream_is_cut() {
        let masked = Array2::from_shape_fn((6, 9), |(channel, block)| (3 * channel + block) % 5 == 0);
        let begins = SpectrumClock { first_sample: 680, ..CLOCK };
        let mask = ChannelMask::new(masked.clone(), 7, begins).unwrap();
        let detection = Detection::new(DetectedProducts::Power, 8, 2).unwrap();
        let expected = Array2::from_shape_fn((3, 6), |(group, sum)| {
            let of_time = |time: usize| (0..2).filter(|at| masked[(2 * group + at, (time + 2) / 7)]).count() as u64;
            (8 * sum..8 * sum + 8).map(of_time).sum()
        });
        assert!(expected.iter().any(|&count| count > 0) && expected.iter().any(|&count| count == 0));
        for cuts in [vec![48], vec![3, 1, 13, 0, 20, 11], vec![8, 40], vec![47, 1], vec![1; 48]] {
            let (mut counts, mut done, mut found) = (MaskedCounts::default(), 0, Array2::zeros((3, 6)));
            for times in cuts {
                let clock = SpectrumClock { first_sample: CLOCK.sample_of(done), ..CLOCK };
                let chunk = Summed { channels: 6, times, clock, pending: done % 8 };
                let sums = counts.sum(Some(&mask), chunk, &detection).unwrap();
                let columns = done / 8..(done + times) / 8;
                let of = expected.slice(s![.., columns.clone()]);
                assert_eq!(sums.is_some(), of.iter().any(|&count| count > 0), "none of sums without any");
                if let Some(sums) = sums {
                    assert_eq!(sums.summed(), 16);
                    found.slice_mut(s![.., columns]).assign(&sums.masked());
                }
                done += times;
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_was_masked_of_a_sum_under_way_is_counted_with_the_chunk_that_completes_it() {
        let detection = Detection::new(DetectedProducts::Power, 4, 1).unwrap();
        let mask = ChannelMask::new(Array2::from_elem((2, 1), true), 3, CLOCK).unwrap();
        let chunk = |times, first, pending| {
            let clock = SpectrumClock { first_sample: CLOCK.sample_of(first), ..CLOCK };
            Summed { channels: 2, times, clock, pending }
        };
        let mut counts = MaskedCounts::default();
        assert_eq!(counts.sum(Some(&mask), chunk(3, 0, 0), &detection), Ok(None));
        let sums = counts.sum(None, chunk(6, 3, 3), &detection).unwrap().unwrap();
        assert_eq!(sums.masked(), ndarray::array![[3, 0], [3, 0]]);
        assert_eq!(counts.sum(None, chunk(9, 9, 1), &detection), Ok(None));
        let wrong = counts.sum(Some(&mask), chunk(4, 0, 0), &detection).unwrap_err();
        assert!(matches!(wrong, TypesError::MaskRange { .. }), "{wrong}");
    }
}
