//! Heaps: voltages `[batch][antenna][channel][spectrum][pol]` as F-engines send them, and what they are as
//! `[channel][time][input]`.
//!
//! Spectrum `s` of batch `b` is time `b * spectra + s`; polarisation `p` of antenna `a` is input `a * pols + p`. A heap
//! is present or absent as a whole, in all of its spectra, channels and polarisations.

use ndarray::{Array2, Array3, ArrayView2, ArrayView5};

/// The voltages `[channel][time][input]` of heaps.
pub fn voltages<T: Copy>(heaps: ArrayView5<'_, T>) -> Array3<T> {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    Array3::from_shape_fn((channels, batches * spectra, antennas * pols), |(channel, time, input)| {
        heaps[(time / spectra, input / pols, channel, time % spectra, input % pols)]
    })
}

/// The presence flags `[time][input]` of heaps with flags `[batch][antenna]`.
pub fn presence(flags: ArrayView2<'_, bool>, spectra: usize, pols: usize) -> Array2<bool> {
    let (batches, antennas) = flags.dim();
    Array2::from_shape_fn((batches * spectra, antennas * pols), |(time, input)| flags[(time / spectra, input / pols)])
}

#[cfg(test)]
mod tests {
    use ndarray::Array5;
    use num_complex::Complex;

    use super::*;
    use crate::correlator::{correlate_f64, correlate_int, triangle_index};

    #[test]
    fn a_tone_in_every_heap_is_one_tone_in_time() {
        // x(t) = exp(i w t) with antenna 1 a quarter turn ahead: V_ab over all batches is T exp(i (p_a - p_b)), which
        // it is not if times or inputs are exchanged.
        let (batches, spectra) = (3, 7);
        let phase = |antenna: usize, pol: usize| [[0.0, 0.4], [1.5, -0.9]][antenna][pol];
        let heaps = Array5::from_shape_fn((batches, 2, 1, spectra, 2), |(batch, antenna, _, spectrum, pol)| {
            let time = (batch * spectra + spectrum) as f64;
            Complex::from_polar(1.0, 0.7 * time + phase(antenna, pol))
        });
        let x = voltages(heaps.view());
        for time in 1..batches * spectra {
            for input in 0..4 {
                let turn = x[(0, time, input)] * x[(0, time - 1, input)].conj();
                assert!((turn.arg() - 0.7).abs() < 1e-12, "{time} {input}");
            }
        }
        let v = correlate_f64(x.view(), None).sums;
        for a in 0..4 {
            for b in 0..=a {
                let expected = Complex::from_polar(21.0, phase(a / 2, a % 2) - phase(b / 2, b % 2));
                assert!((v[(0, triangle_index(a, b))] - expected).norm() < 1e-11, "{a} {b}");
            }
        }
    }

    #[test]
    fn an_absent_heap_counts_for_no_spectrum_of_its_antenna() {
        let heaps = Array5::from_elem((2, 2, 1, 5, 2), Complex::new(1i64, 0));
        let flags = ndarray::array![[true, true], [true, false]];
        let flags = presence(flags.view(), 5, 2);
        let v = correlate_int(voltages(heaps.view()).view(), Some(flags.view()));
        // Inputs 0 and 1 have ten spectra, 2 and 3 five: baselines 00 10 11 20 21 22 30 31 32 33.
        assert_eq!(v.valid.to_vec(), [10, 10, 10, 5, 5, 5, 5, 5, 5, 5]);
        assert!(v.sums.iter().zip(&v.valid).all(|(sum, valid)| *sum == Complex::new(*valid as i64, 0)));
    }
}
