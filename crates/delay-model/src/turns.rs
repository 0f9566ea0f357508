//! Phases in 64-bit fixed point: a `u64` holds a phase of `bits / 2^64` turns, so that whole turns wrap away exactly.
//!
//! | turns | bits |
//! |---|---|
//! | 0 | `0x0000_0000_0000_0000` |
//! | 0.25 | `0x4000_0000_0000_0000` |
//! | -0.5 or 0.5 | `0x8000_0000_0000_0000` |
//! | -0.25 or 0.75 | `0xc000_0000_0000_0000` |

/// 2^64.
const ONE_TURN: f64 = 18_446_744_073_709_551_616.0;
/// 2^52: from here on f64 has whole numbers alone.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// The phase of a finite number of turns, rounded to the nearest 2^-64 turn (exact where `|turns| >= 2^-12`, whose last
/// bit is worth 2^-64 or more); 0 for a number that is not finite.
pub(crate) fn to_fixed(turns: f64) -> u64 {
    if turns.is_nan() || turns.abs() >= WHOLE {
        return 0;
    }
    // Exact, as is the multiplication by a power of two.
    let part = turns - turns as i64 as f64;
    let size = part.abs() * ONE_TURN;
    // Below 2^52 the sum has no place for a fraction; above there is none.
    let bits = if size < WHOLE { size + WHOLE - WHOLE } else { size } as u64;
    if part < 0.0 { bits.wrapping_neg() } else { bits }
}

/// The phase in turns, reduced to `[-0.5, 0.5)` and rounded to f64.
pub(crate) fn from_fixed(bits: u64) -> f64 {
    let turns = bits as i64 as f64 / ONE_TURN;
    // i64 values just below 2^63 round up to it.
    if turns >= 0.5 { -0.5 } else { turns }
}

/// A number of turns reduced to `[-0.5, 0.5)`.
pub(crate) fn reduce(turns: f64) -> f64 {
    let reduced = turns - turns.round_ties_even();
    if reduced >= 0.5 { -0.5 } else { reduced }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_wraps_whole_turns_and_keeps_fractions() {
        for (turns, reduced) in [(0.0, 0.0), (0.5, -0.5), (-0.5, -0.5), (7.25, 0.25), (-3.75, 0.25), (-1e-20, 0.0)] {
            assert_eq!(from_fixed(to_fixed(turns)), reduced, "{turns}");
            assert!((reduce(turns) - reduced).abs() <= 1e-20, "{turns}");
        }
        assert_eq!(from_fixed(u64::MAX >> 1), -0.5, "the largest i64 rounds to half a turn, which wraps");
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -WHOLE] {
            assert_eq!(to_fixed(none), 0, "{none}");
        }
        assert_eq!(to_fixed(0.3), ((0.3_f64 * 2f64.powi(54)) as u64) << 10, "0.3 is exact in 64 bits");
    }

    #[test]
    fn the_fraction_is_the_remainder_rounded_half_to_even() {
        // All exponents from below 2^-64 turn to 2^60 turns, with mantissas of all lengths, so that some are halfway.
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for exponent in -70..=60 {
            for length in 1..=53 {
                bits = bits.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                let mantissa = ((bits >> 11) >> (53 - length) | 1) as f64 / (1u64 << (length - 1)) as f64;
                for turns in [mantissa, -mantissa].map(|mantissa| mantissa * 2f64.powi(exponent)) {
                    let expected = ((turns % 1.0) * ONE_TURN).round_ties_even() as i128 as u64;
                    assert_eq!(to_fixed(turns), expected, "{turns:e}");
                }
            }
        }
    }
}
