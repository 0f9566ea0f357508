//! Coherence of the baselines of a run: `V_ab / sqrt(V_aa V_bb)`, and what can be said of a baseline in one number.
//!
//! A baseline whose inputs have nothing in common still shows an amplitude, about `1 / sqrt(spectra)` of an integration: the
//! noise level that every mean is to be compared with.

use fringes::Inputs;
use fringes::io::write::VisibilityCube;
use ndarray::Array2;
use num_complex::Complex;

/// Position of the pair `a >= b` in the packed lower triangle.
pub(crate) fn triangle(a: usize, b: usize) -> usize {
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
    /// Amplitude of the correlation coefficient at zero lag: all channels and integrations summed before the amplitude is taken.
    pub(crate) zero_lag: f64,
    /// Largest mean over integrations of the coherence's amplitude, and the channel that has it.
    pub(crate) peak: (f64, usize),
    /// Amplitude of a channel's coherence to be expected of noise alone, `1 / sqrt(spectra)`; infinite without any spectra.
    pub(crate) noise: f64,
}

/// Coherence `[channel]` of a pair in one integration; `None` where data is missing or an input has no power.
pub(crate) fn spectrum(cube: &VisibilityCube, integration: usize, a: usize, b: usize) -> Vec<Option<Complex<f32>>> {
    let visibilities = cube.data();
    let valid = cube.weight()[(integration, triangle(a, b))] > 0.0;
    (0..cube.channels())
        .map(|channel| {
            let at = |a, b| visibilities[(integration, channel, triangle(a, b))];
            let power = at(a, a).re * at(b, b).re;
            (valid && power > 0.0).then(|| at(a, b) / power.sqrt())
        })
        .collect()
}

/// Mean over integrations of the coherence's amplitude, `[channel]`; NaN where no integration has data.
pub(crate) fn amplitude_profile(cube: &VisibilityCube, a: usize, b: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0usize); cube.channels()];
    for integration in 0..cube.integrations() {
        for (sum, value) in sums.iter_mut().zip(spectrum(cube, integration, a, b)) {
            if let Some(value) = value {
                sum.0 += f64::from(value.norm());
                sum.1 += 1;
            }
        }
    }
    sums.iter().map(|&(sum, count)| sum / count as f64).collect()
}

/// Mean autocorrelation `[channel]` of an input over the integrations that have data.
pub(crate) fn autocorrelation(cube: &VisibilityCube, input: usize) -> Vec<f64> {
    let (visibilities, weight, position) = (cube.data(), cube.weight(), triangle(input, input));
    let total: f64 = (0..cube.integrations()).map(|integration| f64::from(weight[(integration, position)])).sum();
    (0..cube.channels())
        .map(|channel| {
            let sum: f64 = (0..cube.integrations())
                .map(|integration| {
                    f64::from(visibilities[(integration, channel, position)].re)
                        * f64::from(weight[(integration, position)])
                })
                .sum();
            sum / total
        })
        .collect()
}

/// Every pair of different inputs, in the order of the packed lower triangle.
pub(crate) fn baselines(cube: &VisibilityCube) -> Vec<Baseline> {
    let inputs = cube.inputs().len();
    (0..inputs).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| baseline(cube, a, b)).collect()
}

fn baseline(cube: &VisibilityCube, a: usize, b: usize) -> Baseline {
    let profile = amplitude_profile(cube, a, b);
    let known: Vec<(usize, f64)> = profile.iter().copied().enumerate().filter(|(_, value)| value.is_finite()).collect();
    let peak =
        known.iter().fold((0.0, 0), |best, &(channel, value)| if value > best.0 { (value, channel) } else { best });
    let mean = known.iter().map(|(_, value)| value).sum::<f64>() / known.len().max(1) as f64;
    let (visibilities, weight) = (cube.data(), cube.weight());
    let (mut sums, mut inverse_spectra, mut filled) = ([Complex::<f64>::default(); 3], 0.0, 0usize);
    for integration in 0..cube.integrations() {
        let spectra = f64::from(weight[(integration, triangle(a, b))]);
        if spectra == 0.0 {
            continue;
        }
        inverse_spectra += spectra.recip().sqrt();
        filled += 1;
        for channel in 0..cube.channels() {
            for (sum, (a, b)) in sums.iter_mut().zip([(a, b), (a, a), (b, b)]) {
                let value = visibilities[(integration, channel, triangle(a, b))];
                *sum += Complex::new(f64::from(value.re), f64::from(value.im)) * spectra;
            }
        }
    }
    let power = (sums[1].re * sums[2].re).sqrt();
    Baseline {
        a,
        b,
        mean,
        zero_lag: if power > 0.0 { sums[0].norm() / power } else { 0.0 },
        peak,
        noise: if filled > 0 { inverse_spectra / filled as f64 } else { f64::INFINITY },
    }
}

/// The baseline that shows the highest coherence in any channel; `None` of a single input.
pub(crate) fn strongest(baselines: &[Baseline]) -> Option<&Baseline> {
    baselines.iter().max_by(|x, y| x.peak.0.total_cmp(&y.peak.0))
}

/// Baselines in falling order of their highest coherence.
pub(crate) fn ranked(baselines: &[Baseline]) -> Vec<&Baseline> {
    let mut ranked: Vec<&Baseline> = baselines.iter().collect();
    ranked.sort_by(|x, y| y.peak.0.total_cmp(&x.peak.0));
    ranked
}

/// Mean amplitudes as a symmetric matrix `[input][input]` with NaN on the diagonal.
pub(crate) fn matrix(inputs: Inputs, baselines: &[Baseline]) -> Array2<f32> {
    let mut matrix = Array2::from_elem((inputs.len(), inputs.len()), f32::NAN);
    for baseline in baselines {
        matrix[(baseline.a, baseline.b)] = baseline.mean as f32;
        matrix[(baseline.b, baseline.a)] = baseline.mean as f32;
    }
    matrix
}
