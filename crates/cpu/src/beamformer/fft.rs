//! FFT beams: the transform of each line of feeds, zero-padded.

use fringes_types::VoltageSample;
use ndarray::{Array3, ArrayView2, ArrayView3};
use num_complex::Complex;
use rustfft::FftPlanner;

use super::BLOCK_TIMES;
use crate::blocks::{do_units, time_blocks};
use crate::memory::zeroed_vec;

type C32 = Complex<f32>;

/// How the antennas of an array form lines of feeds: antenna `= line * feeds + feed`, input `= antenna * pols + pol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedLines {
    /// Number of lines.
    pub lines: usize,
    /// Feeds of each line.
    pub feeds: usize,
    /// Polarisations of each feed.
    pub pols: usize,
    /// Length that a line is zero-padded to: the number of beams of a line and polarisation.
    pub padded: usize,
}

impl FeedLines {
    /// The input of a feed: `(line * feeds + feed) * pols + pol`.
    pub fn input(&self, line: usize, feed: usize, pol: usize) -> usize {
        (line * self.feeds + feed) * self.pols + pol
    }

    /// The index of a beam: `(line * pols + pol) * padded + q`.
    pub fn beam(&self, line: usize, pol: usize, q: usize) -> usize {
        (line * self.pols + pol) * self.padded + q
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.lines * self.feeds * self.pols
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.lines * self.pols * self.padded
    }
}

/// Bytes of scratch of one unit of work of [`fft_beams_into`]: a line, and what its transform takes beside it.
pub fn fft_scratch_bytes(padded: usize) -> u64 {
    let fft = FftPlanner::<f32>::new().plan_fft_inverse(padded);
    ((padded + fft.get_inplace_scratch_len()) * size_of::<C32>()) as u64
}

/// Writes FFT beams `[channel][time][beam]` to `out`, of voltages `[channel][time][input]`, beam
/// `(line * pols + pol) * padded + q`: `finish` of
/// `sum_n e^(2 pi i q n / padded) gains[channel][input] x[channel][time][input]`, gains of 1 if `None`; `presence` is
/// `[time][input]`.
///
/// At most `parallel` units of work are in progress at a time.
///
/// # Precision
/// Before `finish`, over the beams of a line and polarisation, with `u = 2^-24` and norms the roots of sums of squares,
/// `||y - y_reference|| <= (21 (log2(padded) + 3) + 4) u sqrt(padded) ||g x||`: 7 `u` for each of `log2(padded)` stages
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 24.1), at most threefold with 3 stages more where a
/// large prime factor needs a convolution by two transforms of up to four times the length, and the gains' product.
///
/// # Panics
/// If the shapes do not fit, or `padded < feeds`.
pub fn fft_beams_into<V: VoltageSample, O: Send>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    gains: Option<ArrayView2<'_, C32>>,
    layout: FeedLines,
    parallel: usize,
    out: &mut [O],
    finish: impl Fn(C32) -> O + Sync,
) {
    let FeedLines { feeds, pols, padded, .. } = layout;
    let (channels, times, inputs) = voltages.dim();
    assert_eq!(inputs, layout.inputs(), "lines x feeds x pols");
    assert!(gains.is_none_or(|gains| gains.dim() == (channels, inputs)), "gains are [channel][input]");
    assert!(feeds <= padded, "padding cannot cut feeds off");
    let beams = layout.beams();
    let fft = FftPlanner::<f32>::new().plan_fft_inverse(padded);
    assert_eq!(out.len(), channels * times * beams, "a value for each channel, time and beam");
    let blocks = time_blocks(out, times, beams, BLOCK_TIMES);
    let scratch_of = || vec![C32::new(0.0, 0.0); padded + fft.get_inplace_scratch_len()];
    do_units(blocks, parallel, scratch_of, |scratch, block| {
        let (values, scratch) = scratch.split_at_mut(padded);
        for (number, spectrum) in block.out.chunks_mut(beams).enumerate() {
            let time = block.first_time + number;
            for (line_pol, line_beams) in spectrum.chunks_mut(padded).enumerate() {
                let (line, pol) = (line_pol / pols, line_pol % pols);
                values.fill(C32::new(0.0, 0.0));
                for (feed, value) in values.iter_mut().take(feeds).enumerate() {
                    let input = layout.input(line, feed, pol);
                    if presence.is_none_or(|presence| presence[(time, input)]) {
                        let voltage = voltages[(block.channel, time, input)].to_c32();
                        *value = gains.map_or(voltage, |gains| gains[(block.channel, input)] * voltage);
                    }
                }
                fft.process_with_scratch(values, scratch);
                line_beams.iter_mut().zip(values.iter()).for_each(|(beam, value)| *beam = finish(*value));
            }
        }
    });
}

/// As [`fft_beams_into`], with a new output of the beams themselves.
///
/// # Panics
/// As [`fft_beams_into`].
pub fn fft_beams<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    gains: Option<ArrayView2<'_, C32>>,
    layout: FeedLines,
    parallel: usize,
) -> Array3<C32> {
    let (channels, times, _) = voltages.dim();
    let shape = (channels, times, layout.beams());
    let mut out = zeroed_vec(shape.0 * shape.1 * shape.2);
    fft_beams_into(voltages, presence, gains, layout, parallel, &mut out, |beam| beam);
    Array3::from_shape_vec(shape, out).expect("a value for each channel, time and beam")
}
