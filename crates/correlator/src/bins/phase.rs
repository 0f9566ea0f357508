//! Phases that stay exact for ever: polynomials of the spectrum's number, in fixed point.

use fringes_types::TypesError;

use crate::CorrelatorError;

/// A part of a turn, in units of 2^-128: whole turns do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Turns(u128);

impl Turns {
    /// So many turns, whole ones left out; exact down to 2^-128 of a turn, to which it is rounded.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for no number.
    pub fn new(turns: f64) -> Result<Self, CorrelatorError> {
        if !turns.is_finite() {
            let (quantity, actual) = ("turns", turns.to_string());
            return Err(TypesError::NotFinite { quantity, actual, index: Vec::new() }.into());
        }
        let bits = turns.abs().to_bits();
        let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        // turns = mantissa 2^exponent
        let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        let (mantissa, shift) = (u128::from(mantissa), exponent + 128);
        let magnitude = match shift {
            128.. => 0,
            0.. => mantissa << shift,
            -54.. => (mantissa + (1 << (-shift - 1))) >> -shift,
            _ => 0,
        };
        Ok(Self(if turns < 0.0 { magnitude.wrapping_neg() } else { magnitude }))
    }

    /// `numerator / denominator` turns, rounded to 2^-128 of a turn.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] for a denominator of 0.
    pub fn ratio(numerator: i64, denominator: u64) -> Result<Self, CorrelatorError> {
        if denominator == 0 {
            return Err(TypesError::NotPositive { quantity: "denominator of turns", actual: 0.0 }.into());
        }
        let divisor = u128::from(denominator);
        let rest = i128::from(numerator).rem_euclid(i128::from(denominator)) as u128;
        // Two digits of 64 bits.
        let high = (rest << 64) / divisor;
        let rest = (rest << 64) % divisor;
        let low = (rest << 64) / divisor;
        let rest = (rest << 64) % divisor;
        let nearest = u128::from(2 * rest >= divisor);
        Ok(Self(((high << 64) | low).wrapping_add(nearest)))
    }

    /// The turns, from 0 up to 1, rounded.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 * 2f64.powi(-128)
    }
}

/// The phase of a pulse: a polynomial of the number of spectra since a reference, in turns.
///
/// `phase(n) = sum_k c_k (n - reference)^k`, whole turns left out.
///
/// # Precision
/// Exact for these coefficients at every spectrum of the 64-bit counter: products and sums wrap at whole turns. A
/// coefficient is off by at most 2^-129 of a turn by its rounding, so that after `n` spectra a term is off by at most
/// `2^-129 n^k`: a linear one by less than 2^-64 of a turn at the counter's end, a quadratic one by 2^-49 after 2^40
/// spectra. What is left is how well the coefficients are known: an f64 has 53 bits, so a frequency of 0.01 turns a
/// spectrum that is given as one is off by 10^-6 of a turn after 10^12 spectra. [`Turns::ratio`] has more.
///
/// A phase that lies on the edge of a bin falls to either side of it by the rounding of coefficients: a constant of
/// half a spectrum's phase keeps off edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulsePhase {
    reference: u64,
    coefficients: Vec<Turns>,
}

/// Most coefficients of a phase.
const MOST: usize = 32;

impl PulsePhase {
    /// The phase with these coefficients, constant first, of spectra counted from a reference.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] without coefficients, [`TypesError::TooLarge`] for more than 32.
    pub fn new(reference: u64, coefficients: Vec<Turns>) -> Result<Self, CorrelatorError> {
        if coefficients.is_empty() {
            return Err(TypesError::NotPositive { quantity: "number of coefficients", actual: 0.0 }.into());
        }
        if coefficients.len() > MOST {
            let elements = coefficients.len().to_string();
            return Err(TypesError::TooLarge { array: "coefficients of a phase", elements }.into());
        }
        Ok(Self { reference, coefficients })
    }

    /// The phase of a pulsar that has the phase `turns` at the reference, turns `frequency_hz` times a second and
    /// changes that by `derivative_hz_per_s`, in spectra of `spectrum_seconds`.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for no numbers, [`TypesError::NotPositive`] for spectra of no length.
    pub fn of_frequency(
        reference: u64,
        turns: f64,
        frequency_hz: f64,
        derivative_hz_per_s: f64,
        spectrum_seconds: f64,
    ) -> Result<Self, CorrelatorError> {
        if !(spectrum_seconds.is_finite() && spectrum_seconds > 0.0) {
            return Err(TypesError::NotPositive { quantity: "spectrum_seconds", actual: spectrum_seconds }.into());
        }
        let coefficients =
            [turns, frequency_hz * spectrum_seconds, 0.5 * derivative_hz_per_s * spectrum_seconds * spectrum_seconds];
        Self::new(reference, coefficients.into_iter().map(Turns::new).collect::<Result<_, _>>()?)
    }

    /// The phase of a spectrum.
    pub fn at(&self, spectrum: u64) -> Turns {
        // Differences below 0 wrap like everything else.
        let since = (i128::from(spectrum) - i128::from(self.reference)) as u128;
        let sum = self.coefficients.iter().rev().fold(0u128, |sum, c| sum.wrapping_mul(since).wrapping_add(c.0));
        Turns(sum)
    }

    /// Which of so many equal parts of a turn a spectrum is in, at most 2^24.
    pub(super) fn part(&self, spectrum: u64, parts: usize) -> usize {
        let (Turns(phase), parts) = (self.at(spectrum), parts as u128);
        let (high, low) = (phase >> 64, phase & u128::from(u64::MAX));
        ((high * parts + ((low * parts) >> 64)) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ratio(numerator: i64, denominator: u64) -> Turns {
        Turns::ratio(numerator, denominator).unwrap()
    }

    #[test]
    fn turns_are_those_that_were_given() {
        assert_eq!(Turns::new(0.25).unwrap(), Turns(1 << 126));
        assert_eq!(Turns::new(-0.25).unwrap(), Turns(3 << 126));
        assert_eq!((Turns::new(5.5).unwrap(), Turns::new(1e300).unwrap()), (Turns(1 << 127), Turns(0)));
        assert_eq!((Turns::new(2f64.powi(-128)).unwrap(), Turns::new(2f64.powi(-129)).unwrap()), (Turns(1), Turns(1)));
        assert_eq!(
            (Turns::new(2f64.powi(-131)).unwrap(), Turns::new(f64::MIN_POSITIVE).unwrap()),
            (Turns(0), Turns(0))
        );
        assert_eq!((ratio(3, 4), ratio(-1, 4), ratio(7, 7)), (Turns(3 << 126), Turns(3 << 126), Turns(0)));
        assert_eq!(ratio(1, 3), Turns(u128::MAX / 3));
        assert!((ratio(2, 7).to_f64() - 2.0 / 7.0).abs() < 1e-16);
        assert!(Turns::new(f64::NAN).is_err() && Turns::ratio(1, 0).is_err());
    }

    #[test]
    fn a_rational_period_has_its_phases_at_the_end_of_the_counter() {
        // 355 turns in 113 x 2^20 spectra, from spectrum 12345 on.
        let period = 113u64 << 20;
        let phase = PulsePhase::new(12_345, vec![ratio(1, 8), ratio(355, period)]).unwrap();
        for spectrum in [0, 12_345, 1 << 40, u64::MAX - 17, u64::MAX] {
            let since = i128::from(spectrum) - 12_345;
            let exact = (since * 355).rem_euclid(i128::from(period)) as f64 / period as f64 + 0.125;
            let error = (phase.at(spectrum).to_f64() - exact).rem_euclid(1.0);
            assert!(error.min(1.0 - error) < 1e-15, "{spectrum}: {error}");
        }
    }

    #[test]
    fn parts_are_exact_at_their_edges() {
        // A period of 1000 spectra in 1000 parts: one spectrum each, at the counter's end as at its start.
        let phase = PulsePhase::new(0, vec![ratio(1, 2000), ratio(1, 1000)]).unwrap();
        for spectrum in (0..2000).chain(u64::MAX - 2000..=u64::MAX) {
            assert_eq!(phase.part(spectrum, 1000) as u64, spectrum % 1000);
        }
        let last = PulsePhase::new(0, vec![Turns(u128::MAX)]).unwrap();
        assert_eq!((last.part(0, 1), last.part(0, 7), last.part(0, 1 << 24)), (0, 6, (1 << 24) - 1));
    }

    #[test]
    fn a_pulsar_that_slows_down_loses_turns() {
        let (f, derivative, seconds) = (29.9, -3.7e-10, 1e-5);
        let phase = PulsePhase::of_frequency(1000, 0.5, f, derivative, seconds).unwrap();
        for spectrum in [1000u64, 0, 4_000_000, 100_000_000_000] {
            let t = (spectrum as f64 - 1000.0) * seconds;
            let expected = 0.5 + f * t + 0.5 * derivative * t * t;
            let error = (phase.at(spectrum).to_f64() - expected).rem_euclid(1.0);
            // f64 turns of 3e7 are off by 2^-28.
            assert!(error.min(1.0 - error) < 1e-7 + 1e-14 * t, "{spectrum}: {error}");
        }
        assert!(PulsePhase::of_frequency(0, 0.0, 1.0, 0.0, 0.0).is_err());
        assert!(PulsePhase::of_frequency(0, 0.0, f64::INFINITY, 0.0, 1.0).is_err());
        assert!(PulsePhase::new(0, vec![]).is_err() && PulsePhase::new(0, vec![Turns(0); 33]).is_err());
    }

    proptest! {
        #[test]
        fn phases_of_sums_of_polynomials_add_up(a: u128, b: u128, c: u128, reference: u64, spectrum: u64) {
            // Each term by itself, in plain modular arithmetic of 2^-128 turns.
            let phase = PulsePhase::new(reference, vec![Turns(a), Turns(b), Turns(c)]).unwrap();
            let n = (i128::from(spectrum) - i128::from(reference)) as u128;
            let expected = a.wrapping_add(b.wrapping_mul(n)).wrapping_add(c.wrapping_mul(n).wrapping_mul(n));
            prop_assert_eq!(phase.at(spectrum), Turns(expected));
        }
    }
}
