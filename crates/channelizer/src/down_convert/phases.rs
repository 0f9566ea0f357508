//! Phases in 64-bit fixed point, `x / 2^64` turns, which wrap as phases do: exact at any sample counter.

use std::f64::consts::TAU;

use num_complex::Complex;

/// 2^64.
const TURN: f64 = 18_446_744_073_709_551_616.0;

/// The nearest multiple of 2^-64 to a frequency of at most one cycle per sample.
///
/// Magnitudes of at least 2^-12 are multiples already: their last bit is worth 2^-64 or more.
pub(super) fn on_grid(cycles_per_sample: f64) -> f64 {
    // Scaling by a power of two is exact.
    (cycles_per_sample * TURN).round() / TURN
}

/// The fraction of so many turns, to the nearest multiple of 2^-64.
pub(super) fn turns(turns: f64) -> u64 {
    // At most 2^64 either way, so it is exact in 128 bits; the lower 64 bits are the value modulo a turn.
    (turns.fract() * TURN).round() as i128 as u64
}

/// `e^(2 pi i t)` of a phase, within some 2^-52.
pub(super) fn cis(phase: u64) -> Complex<f64> {
    // As a number from -1/2 to 1/2, so that small phases of either sign keep their digits.
    Complex::cis(TAU * (phase as i64 as f64 / TURN))
}

/// What mixes a plan's samples down: the turn of a sample, that of an output, and the phase of output 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Phases {
    sample: u64,
    output: u64,
    first: u64,
}

impl Phases {
    /// Those of a centre on the grid ([`on_grid`]), a decimation and a phase.
    pub(super) fn new(centre_cycles_per_sample: f64, decimation: usize, phase_turns: f64) -> Self {
        let sample = turns(-centre_cycles_per_sample);
        Self { sample, output: sample.wrapping_mul(decimation as u64), first: turns(phase_turns) }
    }

    /// With a phase more at every output.
    pub(super) fn advanced(self, phase: u64) -> Self {
        Self { first: self.first.wrapping_add(phase), ..self }
    }

    /// Turn from one output to the next.
    pub(super) fn turn(&self) -> u64 {
        self.output
    }

    /// Phase of an output.
    pub(super) fn of_output(&self, output: u64) -> u64 {
        self.first.wrapping_add(self.output.wrapping_mul(output))
    }

    /// The mixer's rotation over so many outputs.
    pub(super) fn over_outputs(&self, outputs: u32) -> Complex<f64> {
        cis(self.output.wrapping_mul(u64::from(outputs)))
    }

    /// A filter's taps with the mixer folded in: `h_k e^(-2 pi i c k)`.
    pub(super) fn weights(&self, filter: &[f64]) -> Vec<Complex<f64>> {
        let of = |(k, &tap): (usize, &f64)| tap * cis(self.sample.wrapping_mul(k as u64));
        filter.iter().enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use fringes_reference::ddc::mixer_turns;

    use super::*;

    const CENTRES: [f64; 9] = [0.0, 0.1, -0.37, 0.25, 1.0, -1.0, 1.0 / 3.0, 0.123_456_789, -0.000_244_140_625];

    /// Distance of two phases, in turns.
    fn distance(phase: u64, turns: f64) -> f64 {
        let difference = phase as f64 / TURN - turns;
        (difference - difference.round()).abs()
    }

    #[test]
    fn only_tiny_centres_are_rounded() {
        for centre in CENTRES {
            assert_eq!(on_grid(centre), centre);
        }
        for sign in [1.0, -1.0] {
            let least = sign * 2f64.powi(-12);
            let neighbours = [least, f64::from_bits(least.to_bits() + 1), sign * 1f64.next_down()];
            assert_eq!(neighbours.map(on_grid), neighbours);
            // The neighbour below has a bit of 2^-65.
            let below = f64::from_bits(least.to_bits() - 1);
            assert_ne!(on_grid(below), below);
        }
        for tiny in [1e-5, -3.3e-9, 1e-19, 1e-20, -1e-300] {
            let rounded = on_grid(tiny);
            assert!((rounded - tiny).abs() <= 0.5 / TURN);
            assert_eq!((rounded * TURN).fract(), 0.0);
        }
        assert_eq!(on_grid(1e-20), 0.0, "less than half of 2^-64");
    }

    #[test]
    fn turns_are_taken_modulo_one() {
        assert_eq!([turns(0.25), turns(-0.25), turns(7.5)], [1 << 62, 3 << 62, 1 << 63]);
        assert_eq!([turns(0.0), turns(1.0), turns(-1.0), turns(1e300)], [0; 4]);
        // 2^-65 is a tie, away from zero; the largest value below 1 is no multiple of 2^-64 away from 1.
        assert_eq!([turns(2f64.powi(-64)), turns(2f64.powi(-65)), turns(-2f64.powi(-64))], [1, 1, u64::MAX]);
        assert_eq!(turns(1.0f64.next_down()), u64::MAX - (1 << 11) + 1);
    }

    #[test]
    fn phases_are_those_of_exact_arithmetic_at_any_counter() {
        for centre in CENTRES {
            for decimation in [1, 8, 17, 1024] {
                let phases = Phases::new(centre, decimation, 0.0);
                for output in [0u64, 1, 77, 999_999_999_999_989, 1_000_000_000_000_000] {
                    // The sample's number modulo 2^64, as phases in 64 bits take it.
                    let sample = output * decimation as u64;
                    let exact = mixer_turns(-centre, sample);
                    // The reference cuts 128 bits to 53.
                    assert!(distance(phases.of_output(output), exact) <= 2f64.powi(-53), "{centre} {output}");
                    // Exactly, in 128 bits: the centre is `whole` / 2^64.
                    let whole = (centre * TURN) as i128;
                    let product = -whole * i128::from(sample);
                    assert_eq!(phases.of_output(output), product as u64);
                }
            }
        }
    }

    #[test]
    fn the_phase_of_a_plan_is_added() {
        let phases = Phases::new(0.3, 5, -2.125);
        let bare = Phases::new(0.3, 5, 0.0);
        for output in [0, 3, 1_000_000_000_000_007] {
            assert_eq!(phases.of_output(output), bare.of_output(output).wrapping_sub(1 << 61));
            assert_eq!(phases.of_output(output + 1), phases.of_output(output).wrapping_add(phases.turn()));
        }
    }

    #[test]
    fn weights_are_the_filter_times_the_mixer() {
        let filter: Vec<f64> = (0..4096).map(|k| 1.0 / (1.0 + k as f64) - 0.3).collect();
        for centre in CENTRES {
            let weights = Phases::new(centre, 7, 0.4).weights(&filter);
            for (k, (weight, h)) in weights.iter().zip(&filter).enumerate() {
                let expected = h * Complex::cis(TAU * mixer_turns(-centre, k as u64));
                // An angle of up to a turn rounded to 2^-53 of it, here and there, and sine, cosine and product.
                assert!((weight - expected).norm() <= 16.0 * f64::EPSILON * h.abs(), "{centre} {k}");
            }
        }
    }
}
