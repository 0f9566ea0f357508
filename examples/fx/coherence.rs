//! Coherence of the baselines of a run: `V_ab / sqrt(V_aa V_bb)`, and what can be said of a baseline in one number.
//!
//! A baseline whose inputs have nothing in common still shows an amplitude, about `1 / sqrt(spectra)` of an
//! integration: the noise level that every mean is to be compared with. Channels at 0 Hz of the sampled band are left
//! out: the offset of an ADC is the same in every spectrum, and would look like a strong source.

use fringes::io::write::VisibilityCube;
use ndarray::Array2;
use num_complex::Complex;

/// Position of the pair `a >= b` in the packed lower triangle.
fn triangle(a: usize, b: usize) -> usize {
    a * (a + 1) / 2 + b
}

/// One pair of different inputs over the whole run.
#[derive(Debug, Clone)]
pub(crate) struct Baseline {
    /// The input that is not conjugated, the higher one.
    pub(crate) a: usize,
    /// The input that is conjugated.
    pub(crate) b: usize,
    /// Mean of the coherence's amplitude over channels and integrations.
    pub(crate) mean: f64,
    /// Amplitude of the correlation coefficient at zero lag: all channels and integrations summed before the amplitude
    /// is taken.
    pub(crate) zero_lag: f64,
    /// Largest mean over integrations of the coherence's amplitude, and the channel that has it.
    pub(crate) peak: (f64, usize),
    /// Amplitude of a channel's coherence to be expected of noise alone, `1 / sqrt(spectra)`; infinite without any
    /// spectra.
    pub(crate) noise: f64,
}

/// Visibilities of a run and the channels of it that say something.
pub(crate) struct Coherence<'a> {
    /// The visibilities.
    pub(crate) cube: &'a VisibilityCube,
    /// Whether a channel is left out, `[channel]`.
    pub(crate) left_out: &'a [bool],
}

impl Coherence<'_> {
    /// Coherence `[channel]` of a pair in one integration; `None` where data is missing, an input has no power, or the
    /// channel is left out.
    pub(crate) fn spectrum(&self, integration: usize, a: usize, b: usize) -> Vec<Option<Complex<f32>>> {
        let visibilities = self.cube.data();
        let valid = self.cube.weight()[(integration, triangle(a, b))] > 0.0;
        (0..self.cube.channels())
            .map(|channel| {
                let at = |a, b| visibilities[(integration, channel, triangle(a, b))];
                // Two roots, as the product of two large powers could overflow.
                let power = at(a, a).re.sqrt() * at(b, b).re.sqrt();
                (valid && power > 0.0 && self.holds(channel)).then(|| at(a, b) / power)
            })
            .collect()
    }

    fn holds(&self, channel: usize) -> bool {
        !self.left_out.get(channel).copied().unwrap_or(false)
    }

    /// Mean over integrations of the coherence's amplitude, `[channel]`; NaN where no integration has data.
    pub(crate) fn amplitude_profile(&self, a: usize, b: usize) -> Vec<f64> {
        let mut sums = vec![(0.0, 0usize); self.cube.channels()];
        for integration in 0..self.cube.integrations() {
            for (sum, value) in sums.iter_mut().zip(self.spectrum(integration, a, b)) {
                if let Some(value) = value {
                    sum.0 += f64::from(value.norm());
                    sum.1 += 1;
                }
            }
        }
        sums.iter().map(|&(sum, count)| sum / count as f64).collect()
    }

    /// Mean autocorrelation `[channel]` of an input over the integrations that have data.
    pub(crate) fn autocorrelation(&self, input: usize) -> Vec<f64> {
        let (visibilities, weight, position) = (self.cube.data(), self.cube.weight(), triangle(input, input));
        let integrations = 0..self.cube.integrations();
        let total: f64 = integrations.clone().map(|integration| f64::from(weight[(integration, position)])).sum();
        let power = |integration: usize, channel: usize| {
            f64::from(visibilities[(integration, channel, position)].re) * f64::from(weight[(integration, position)])
        };
        (0..self.cube.channels())
            .map(|channel| integrations.clone().map(|integration| power(integration, channel)).sum::<f64>() / total)
            .collect()
    }

    /// Every pair of different inputs, in the order of the packed lower triangle.
    pub(crate) fn baselines(&self) -> Vec<Baseline> {
        let inputs = self.cube.inputs().len();
        (0..inputs).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| self.baseline(a, b)).collect()
    }

    fn baseline(&self, a: usize, b: usize) -> Baseline {
        let profile = self.amplitude_profile(a, b);
        let known: Vec<(usize, f64)> =
            profile.iter().copied().enumerate().filter(|(_, value)| value.is_finite()).collect();
        let peak =
            known.iter().fold((0.0, 0), |best, &(channel, value)| if value > best.0 { (value, channel) } else { best });
        let mean = known.iter().map(|(_, value)| value).sum::<f64>() / known.len().max(1) as f64;
        let (visibilities, weight) = (self.cube.data(), self.cube.weight());
        let (mut sums, mut inverse_roots, mut filled) = ([Complex::<f64>::default(); 3], 0.0, 0usize);
        for integration in 0..self.cube.integrations() {
            let spectra = f64::from(weight[(integration, triangle(a, b))]);
            if spectra == 0.0 {
                continue;
            }
            inverse_roots += spectra.sqrt().recip();
            filled += 1;
            for channel in (0..self.cube.channels()).filter(|&channel| self.holds(channel)) {
                for (sum, (a, b)) in sums.iter_mut().zip([(a, b), (a, a), (b, b)]) {
                    let value = visibilities[(integration, channel, triangle(a, b))];
                    *sum += Complex::new(f64::from(value.re), f64::from(value.im)) * spectra;
                }
            }
        }
        let power = sums[1].re.sqrt() * sums[2].re.sqrt();
        Baseline {
            a,
            b,
            mean,
            zero_lag: if power > 0.0 { sums[0].norm() / power } else { 0.0 },
            peak,
            noise: if filled > 0 { inverse_roots / filled as f64 } else { f64::INFINITY },
        }
    }

    /// A value of each baseline as a symmetric matrix `[input][input]` with NaN on the diagonal and where there is no
    /// data.
    pub(crate) fn matrix(&self, baselines: &[&Baseline], value: impl Fn(&Baseline) -> f64) -> Array2<f32> {
        let inputs = self.cube.inputs().len();
        let mut matrix = Array2::from_elem((inputs, inputs), f32::NAN);
        for baseline in baselines {
            let value = if baseline.noise.is_finite() { value(baseline) as f32 } else { f32::NAN };
            matrix[(baseline.a, baseline.b)] = value;
            matrix[(baseline.b, baseline.a)] = value;
        }
        matrix
    }
}

/// Name of a pair of inputs, as tables, plots and `--json` have it; the star marks the input that is conjugated.
pub(crate) fn label(names: &[String], baseline: &Baseline) -> String {
    let name = |input: usize| names.get(input).cloned().unwrap_or_else(|| input.to_string());
    format!("{} \u{d7} {}*", name(baseline.a), name(baseline.b))
}

/// Baselines in falling order of their highest coherence; those without data come last.
pub(crate) fn ranked(baselines: &[Baseline]) -> Vec<&Baseline> {
    let mut ranked: Vec<&Baseline> = baselines.iter().collect();
    ranked.sort_by(|x, y| y.peak.0.total_cmp(&x.peak.0));
    ranked
}
