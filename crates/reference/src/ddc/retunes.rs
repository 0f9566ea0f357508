//! Retunes: the mixer changes its frequency at a sample, and its phase is continuous there.
//!
//! From sample `a` of a retune to frequency `f'` on, until the next one, the mixer's phase is
//! `phi(n) = phi(a) + f' (n - a)` turns; before the first retune it is `f n + b`. Output `j`, whose window begins at
//! sample `n = n0 + S j`, has the frequency `f'` of the last retune at or before `n`, for its whole window:
//!
//! `y_j = e^(2 pi i phi(n)) sum_k x[S j + k] h_k e^(2 pi i f' k)`.

use std::f64::consts::TAU;

use super::{C64, fraction, mixer_turns, outputs};

/// A change of the mixer's frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retune {
    /// The absolute sample at which the phase is continuous.
    pub at_sample: u64,
    /// The frequency from there on, in cycles per sample.
    pub frequency: f64,
}

/// `f n` as a 128-bit fraction of a turn, exact.
fn product(frequency: f64, samples: u64) -> u128 {
    let (magnitude, negative) = fraction(frequency);
    let product = magnitude.wrapping_mul(u128::from(samples));
    if negative { product.wrapping_neg() } else { product }
}

/// Frequency and phase of the mixer at a sample, the phase in turns without that of the plan, in `[0, 1)`: exact in
/// 128-bit fixed point, then rounded once to `f64`. Retunes are in ascending order of their samples.
pub fn mixer_at(frequency: f64, retunes: &[Retune], sample: u64) -> (f64, f64) {
    let (mut frequency, mut since, mut phase) = (frequency, 0, 0u128);
    for retune in retunes {
        if retune.at_sample > sample {
            break;
        }
        phase = phase.wrapping_add(product(frequency, retune.at_sample - since));
        (frequency, since) = (retune.frequency, retune.at_sample);
    }
    let phase = phase.wrapping_add(product(frequency, sample - since));
    (frequency, (phase >> 75) as f64 * 2f64.powi(-53))
}

/// Down-converts complex samples with retunes in ascending order; see the [module](self) for the formula.
///
/// `frequency` is that before the first retune in cycles per sample, `phase_turns` is `b`, `first_sample` the absolute
/// counter of `x[0]`.
///
/// # Panics
/// If `decimation` is 0 or the filter is empty.
pub fn down_convert_retuned(
    x: &[C64],
    filter: &[f64],
    decimation: usize,
    frequency: f64,
    phase_turns: f64,
    retunes: &[Retune],
    first_sample: u64,
) -> Vec<C64> {
    assert!(!filter.is_empty(), "the filter has no taps");
    let mut y = Vec::new();
    for j in 0..outputs(x.len(), filter.len(), decimation) {
        let (frequency, turns) = mixer_at(frequency, retunes, first_sample + (decimation * j) as u64);
        let mut sum = C64::new(0.0, 0.0);
        for (k, &h) in filter.iter().enumerate() {
            sum += x[decimation * j + k] * h * C64::cis(TAU * mixer_turns(frequency, k as u64));
        }
        y.push(C64::cis(TAU * (turns + phase_turns.fract())) * sum);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::super::down_convert;
    use super::*;

    fn noise(length: usize) -> Vec<C64> {
        (0..length).map(|n| C64::new((n as f64 * 1.7).sin(), (n as f64 * n as f64 * 0.3).cos())).collect()
    }

    #[test]
    fn without_retunes_it_is_the_plain_formula() {
        let (x, h) = (noise(100), [0.3, -1.0, 0.7]);
        for first in [0, 1_000_000_000_000_007] {
            let expected = down_convert(&x, &h, 3, 0.123, 0.4, first);
            assert_eq!(down_convert_retuned(&x, &h, 3, 0.123, 0.4, &[], first), expected);
            // A retune to the same frequency changes nothing.
            let same = [Retune { at_sample: first + 31, frequency: 0.123 }];
            assert_eq!(down_convert_retuned(&x, &h, 3, 0.123, 0.4, &same, first), expected);
        }
    }

    #[test]
    fn a_tone_that_follows_the_retunes_stays_on_dc() {
        // The tone has the phase of the conjugate mixer at every sample, so with one tap outputs are 1.
        let retunes = [(40, -0.3), (41, 0.25), (200, 0.25), (200, -0.9)]
            .map(|(at, frequency)| Retune { at_sample: at, frequency });
        let x: Vec<C64> = (0..400).map(|n| C64::cis(-TAU * mixer_at(0.1, &retunes, n).1)).collect();
        for value in down_convert_retuned(&x, &[1.0], 1, 0.1, 0.0, &retunes, 0) {
            assert!((value - 1.0).norm() < 1e-12, "{value}");
        }
    }

    #[test]
    fn the_phase_is_continuous_at_every_retune_and_moves_with_the_new_frequency() {
        let retunes = [(1_000_000_000_000_000, 0.25), (1_000_000_000_000_400, -0.125)]
            .map(|(at_sample, frequency)| Retune { at_sample, frequency });
        for retune in retunes {
            let before: Vec<Retune> = retunes.into_iter().filter(|other| other.at_sample < retune.at_sample).collect();
            let old = mixer_at(0.1, &before, retune.at_sample).1;
            let (frequency, new) = mixer_at(0.1, &retunes, retune.at_sample);
            assert_eq!((frequency, new), (retune.frequency, old));
            let next = mixer_at(0.1, &retunes, retune.at_sample + 1).1;
            let step = next - new - retune.frequency;
            assert!((step - step.round()).abs() < 1e-15);
        }
    }

    #[test]
    fn a_window_has_the_frequency_of_its_first_sample() {
        // An impulse at the last tap of output 9, behind the retune: it has the old frequency's weight.
        let mut x = vec![C64::new(0.0, 0.0); 20];
        x[12] = C64::new(1.0, 0.0);
        let retunes = [Retune { at_sample: 10, frequency: 0.25 }];
        let y = down_convert_retuned(&x, &[0.0, 0.0, 0.0, 1.0], 1, 0.125, 0.0, &retunes, 0);
        assert!((y[9] - C64::cis(TAU * 0.125 * 12.0)).norm() < 1e-15);
        // From output 10 on the new one: phi(10) + f' (n - 10).
        x[12] = C64::new(0.0, 0.0);
        x[15] = C64::new(1.0, 0.0);
        let y = down_convert_retuned(&x, &[0.0, 0.0, 0.0, 1.0], 1, 0.125, 0.0, &retunes, 0);
        assert!((y[12] - C64::cis(TAU * (1.25 + 0.25 * 5.0))).norm() < 1e-15);
    }
}
