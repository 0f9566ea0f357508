//! Sums of powers of chunk after chunk, in host memory.

use fringes_types::{Beams, Detection, InputCounts, TypesError};
use ndarray::{Array2, Array3, Axis};

use crate::counts::SummedCounts;

/// Sums of the powers of incoherent beams over spectra and channels, in f64.
#[derive(Debug, Clone, Default)]
pub(crate) struct PowerSums {
    /// Of the sum under way, `[channel][beam]` of summed channels.
    sums: Option<Array2<f64>>,
    spectra: usize,
    counts: SummedCounts,
}

impl PowerSums {
    /// The sums that a chunk completes, `[channel][sum][beam]`, and how many inputs were there.
    pub(crate) fn push(
        &mut self,
        powers: &Beams<f32>,
        detection: &Detection,
    ) -> Result<(Array3<f32>, Option<InputCounts>), TypesError> {
        let (channels, times, beams) = powers.data().dim();
        let (groups, n) = (detection.channels_of(channels)?, detection.times());
        let whole = (self.spectra + times) / n;
        let counts = self.counts.sum(powers.input_counts(), [self.spectra, times, n])?;
        let mut out = Array3::<f32>::zeros((groups, whole, beams));
        let mut sums = self.sums.take().unwrap_or_else(|| Array2::zeros((groups, beams)));
        let mut done = 0;
        for time in 0..times {
            for (channel, spectra) in powers.data().outer_iter().enumerate() {
                let mut sums = sums.row_mut(channel / detection.channels());
                sums.iter_mut().zip(spectra.row(time)).for_each(|(sum, &power)| *sum += f64::from(power));
            }
            self.spectra += 1;
            if self.spectra == n {
                out.index_axis_mut(Axis(1), done).zip_mut_with(&sums, |out, &sum| *out = sum as f32);
                sums.fill(0.0);
                (self.spectra, done) = (0, done + 1);
            }
        }
        self.sums = Some(sums);
        Ok((out, counts))
    }

    /// Forgets the sum under way.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}
