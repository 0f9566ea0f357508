//! Layouts of voltages: how each correlator wants them, and how to get from one to the other.
//!
//! | layout | dimensions, slowest first | whose |
//! |---|---|---|
//! | voltages | `[channel][time][input]` | what the operations here take |
//! | rows | `[channel][time / R][input][R]` | this package's kernels; a row of `R` samples is 128 bytes |
//! | heaps | `[batch][antenna][channel][spectrum][pol]` | what F-engines send |
//! | runs | `[channel][time / k][antenna][pol][k]` | the Tensor-Core Correlator (libtcc); a run of `k` samples is 32 bytes |
//! | spectra | `[time][channel][antenna][pol]` | xGPU |
//!
//! with `input = antenna * pols + pol` and `time = batch * spectra + spectrum`. For two inputs, five times, `R` = 4 and
//! one channel, a sample named by its input and time:
//!
//! ```text
//! voltages   0t0 1t0 0t1 1t1 0t2 1t2 0t3 1t3 0t4 1t4
//! rows       0t0 0t1 0t2 0t3 1t0 1t1 1t2 1t3  0t4  0   0   0  1t4  0   0   0
//! ```

use ndarray::{Array2, Array3, Array4, ArrayView2, ArrayView3, ArrayView4, ArrayView5};

/// Rows of voltages: `rows[channel][time / R][input][time % R] = voltages[channel][time][input]`, zero past the last
/// time and where the sample is absent (`present [time][input]`).
pub fn rows<V: Copy + Default>(
    voltages: ArrayView3<'_, V>,
    present: Option<ArrayView2<'_, bool>>,
    row_times: usize,
) -> Array4<V> {
    let (channels, times, inputs) = voltages.dim();
    let mut rows = Array4::from_elem((channels, times.div_ceil(row_times), inputs, row_times), V::default());
    for channel in 0..channels {
        for time in 0..times {
            for input in 0..inputs {
                if present.is_none_or(|present| present[(time, input)]) {
                    rows[(channel, time / row_times, input, time % row_times)] = voltages[(channel, time, input)];
                }
            }
        }
    }
    rows
}

/// The first `times` times of rows, as voltages.
pub fn voltages_of_rows<V: Copy>(rows: ArrayView4<'_, V>, times: usize) -> Array3<V> {
    let (channels, _, inputs, row_times) = rows.dim();
    Array3::from_shape_fn((channels, times, inputs), |(channel, time, input)| {
        rows[(channel, time / row_times, input, time % row_times)]
    })
}

/// Voltages of heaps `[batch][antenna][channel][spectrum][pol]`.
pub fn voltages_of_heaps<V: Copy>(heaps: ArrayView5<'_, V>) -> Array3<V> {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    Array3::from_shape_fn((channels, batches * spectra, antennas * pols), |(channel, time, input)| {
        heaps[(time / spectra, input / pols, channel, time % spectra, input % pols)]
    })
}

/// Flags `[time][input]` of flags of heaps, `[batch][antenna]`.
pub fn presence_of_heaps(present: ArrayView2<'_, bool>, spectra: usize, pols: usize) -> Array2<bool> {
    let (batches, antennas) = present.dim();
    Array2::from_shape_fn((batches * spectra, antennas * pols), |(time, input)| present[(time / spectra, input / pols)])
}

/// The first `times` times of runs `[channel][time / k][antenna][pol][k]`, as voltages.
pub fn voltages_of_runs<V: Copy>(runs: ArrayView5<'_, V>, times: usize) -> Array3<V> {
    let (channels, _, antennas, pols, k) = runs.dim();
    Array3::from_shape_fn((channels, times, antennas * pols), |(channel, time, input)| {
        runs[(channel, time / k, input / pols, input % pols, time % k)]
    })
}

/// Voltages of spectra `[time][channel][antenna][pol]`.
pub fn voltages_of_spectra<V: Copy>(spectra: ArrayView4<'_, V>) -> Array3<V> {
    let (times, channels, antennas, pols) = spectra.dim();
    Array3::from_shape_fn((channels, times, antennas * pols), |(channel, time, input)| {
        spectra[(time, channel, input / pols, input % pols)]
    })
}

#[cfg(test)]
mod tests {
    use ndarray::{Array5, array};

    use super::*;

    /// A sample that tells its place.
    fn voltages() -> Array3<u32> {
        Array3::from_shape_fn((2, 5, 2), |(channel, time, input)| (100 * channel + 10 * input + time + 1) as u32)
    }

    #[test]
    fn rows_are_those_of_the_table() {
        let rows = rows(voltages().view(), None, 4);
        assert_eq!(rows.dim(), (2, 2, 2, 4));
        let flat: Vec<u32> = rows.iter().copied().take(16).collect();
        assert_eq!(flat, [1, 2, 3, 4, 11, 12, 13, 14, 5, 0, 0, 0, 15, 0, 0, 0]);
        assert_eq!(voltages_of_rows(rows.view(), 5), voltages());
    }

    #[test]
    fn absent_samples_are_zero_in_every_channel() {
        let mut present = Array2::from_elem((5, 2), true);
        present[(4, 1)] = false;
        present[(0, 0)] = false;
        let rows = rows(voltages().view(), Some(present.view()), 4);
        let zeros: Vec<_> = rows.indexed_iter().filter(|(_, value)| **value == 0).map(|(place, _)| place).collect();
        let padding = |channel, input| [(channel, 1, input, 1), (channel, 1, input, 2), (channel, 1, input, 3)];
        let mut expected = Vec::new();
        for channel in 0..2 {
            expected.extend([(channel, 0, 0, 0), (channel, 1, 1, 0)]);
            expected.extend((0..2).flat_map(|input| padding(channel, input)));
        }
        expected.sort_unstable();
        assert_eq!(zeros, expected);
    }

    #[test]
    fn every_layout_holds_the_same_voltages() {
        // Written out for 2 channels, 4 times, 1 antenna of 2 polarisations: sample = 100 channel + 10 pol + time.
        let expected =
            Array3::from_shape_fn((2, 4, 2), |(channel, time, input)| (100 * channel + 10 * input + time) as u32);
        let heaps = vec![0, 10, 1, 11, 100, 110, 101, 111, 2, 12, 3, 13, 102, 112, 103, 113]; // 2 batches of 2 spectra
        let heaps = Array5::from_shape_vec((2, 1, 2, 2, 2), heaps).unwrap();
        assert_eq!(voltages_of_heaps(heaps.view()), expected);
        let runs = vec![0, 1, 10, 11, 2, 3, 12, 13, 100, 101, 110, 111, 102, 103, 112, 113]; // k = 2
        let runs = Array5::from_shape_vec((2, 2, 1, 2, 2), runs).unwrap();
        assert_eq!(voltages_of_runs(runs.view(), 4), expected);
        let spectra = vec![0, 10, 100, 110, 1, 11, 101, 111, 2, 12, 102, 112, 3, 13, 103, 113];
        let spectra = Array4::from_shape_vec((4, 2, 1, 2), spectra).unwrap();
        assert_eq!(voltages_of_spectra(spectra.view()), expected);
        let flags = array![[true], [false]];
        let each = presence_of_heaps(flags.view(), 2, 2);
        assert_eq!(each, array![[true, true], [true, true], [false, false], [false, false]]);
    }
}
