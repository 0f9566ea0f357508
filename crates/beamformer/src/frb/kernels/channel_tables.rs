//! Tables of the kernel that takes feeds in finer channels.

use std::f64::consts::TAU;

use fringes_fft::Size;
use fringes_fft::internals::output_places;
use half::f16;
use ndarray::{ArrayView2, ArrayView5, s};
use num_complex::Complex;

use super::Weights;
use super::channel_phases::SMALLER;
use super::tables::{LANES, above, exact, exponent, word};

/// How voltages of four full lines lie for the copy engine: bytes of a time, `t / 4 mod 4`, line, `t mod 4`, `t / 16`,
/// for so many frequencies, polarisations and times and distances of times, frequencies, polarisations and lines.
/// Dimensions and the bytes between them; `None` where they are more than it takes.
pub fn voltage_dimensions([frequencies, pols, times]: [usize; 3], strides: [u64; 4]) -> Option<([u64; 5], [u64; 4])> {
    let [time, frequency, pol, line] = strides;
    let last = |count: usize, stride: u64| (count as u64).saturating_sub(1).checked_mul(stride);
    let bytes = last(frequencies, frequency)?.checked_add(last(pols, pol)?)?.checked_add(FEEDS as u64)?;
    let strides = [time.checked_mul(4)?, line, time, time.checked_mul(16)?];
    let fits = bytes < 1 << 31 && times < 1 << 31 && strides.iter().all(|stride| stride % 16 == 0 && *stride < 1 << 40);
    fits.then_some(([bytes, 4, LINES as u64, 4, times as u64 / 16], strides))
}

/// A box of these dimensions: the voltages of 64 feeds of all lines at all times of a transform.
pub const VOLTAGE_BOX: [u32; 5] = [64, 4, LINES as u32, 4, TIMES as u32 / 16];

/// Lines and sums over them.
pub(super) const LINES: usize = 4;

/// Feeds of a line, and of a unit.
pub(super) const FEEDS: usize = 256;
const UNIT_FEEDS: usize = 8;

/// Times of a transform, and passes that it takes.
pub(super) const TIMES: usize = 128;
const PASSES: usize = 4;

/// Feeds with the same number modulo this are those that a transform sums first.
const CLASSES: usize = 16;

/// The power of two that the kernel's matrices make numbers larger by, and what it takes voltages for: small integers
/// as f16, whose unit is `2^-24`.
const MATRIX_EXPONENT: i32 = 15;
const UNIT_EXPONENT: i32 = -24;

/// The power of two that sums of the absolute values of the weights of a class, over lines and sixteen feeds, are
/// below. A voltage of 4+4 bits is `2^3.5` at most, so sums of 128 times, four lines and sixteen feeds are below
/// `2^(7 + 3.5 - 9 + 14)`, 46341, with `2^-9` of unit and matrices.
const CEILING: i32 = 14;

/// Weights `[frequency][pol][out][line][feed]` as the kernel has them in registers,
/// `[frequency][pol][unit][pair][lane][4]`; `None` where a frequency's largest weight is not 0 or from 2^-60 to below
/// 2^60. The exponents are of voltages of beams, with what the kernel's other tables make them smaller by.
///
/// # Precision
/// Each part is off by `2^-11` of itself, or `2^-32` of the frequency's largest weight if that is more.
pub fn channelised_weights(weights: ArrayView5<'_, Complex<f32>>) -> Option<Weights> {
    let mut exponents = Vec::new();
    let mut words = Vec::with_capacity(weights.len() * 2);
    for frequency in weights.outer_iter() {
        let size = |w: &Complex<f32>| f64::from(w.re).hypot(w.im.into());
        exponent(frequency.iter().map(size))?;
        let sum = |of_out: ArrayView2<'_, Complex<f32>>, class: usize| -> f64 {
            of_out.slice(s![.., class..; CLASSES]).iter().map(size).sum()
        };
        let mut largest = 0f64;
        for pol in frequency.outer_iter() {
            for of_out in pol.outer_iter() {
                largest = (0..CLASSES).map(|class| sum(of_out, class)).fold(largest, f64::max);
            }
        }
        let exponent = above(largest) - CEILING;
        let scale = 2f64.powi(-exponent);
        for pol in frequency.outer_iter() {
            for first in (0..FEEDS).step_by(UNIT_FEEDS) {
                for pair in 0..2 {
                    for lane in 0..LANES {
                        let (line, imaginary, out) = (lane % 4, lane / 4 % 2 == 1, lane / 8);
                        for byte in [2 * pair, 2 * pair + 1] {
                            let parts = [0, 4].map(|of_word| {
                                let weight = pol[(out, line, first + of_word + byte)];
                                let [re, im] = [weight.re, weight.im].map(|part| f64::from(part) * scale);
                                if imaginary { [im, re] } else { [re, -im] }
                            });
                            let [low, high] = parts;
                            words.extend([word(low[0], high[0]), word(low[1], high[1])]);
                        }
                    }
                }
            }
        }
        exponents.push(exponent - MATRIX_EXPONENT - UNIT_EXPONENT + SMALLER);
    }
    Some(Weights { words, exponents })
}

/// What numbers of results are changed by: with a negative sign the kernel has fine channels, and so results, the other
/// way round; with 0 Hz in the middle the two halves change places.
pub fn result_order(sign: f64, centre: bool) -> u32 {
    const RESULTS: u32 = TIMES as u32 / 8;
    let turned = if sign > 0.0 { 0 } else { RESULTS - 1 };
    turned ^ if centre { RESULTS / 2 } else { 0 }
}

/// The number that a time of a transform with this sign is turned by, for place `a` of a pass: the fine channel is this
/// times the sign, modulo 128. With a negative sign place `a` has the fine channel of place `31 - a` with a positive
/// one, but for what is left modulo 4.
fn turns(pass: usize, a: usize, sign: f64) -> usize {
    PASSES * a + if sign < 0.0 && pass == 0 { PASSES } else { pass }
}

/// The phase of so many turns in 128 times at time `t'`.
fn phase(turns: usize, time: usize) -> [f64; 2] {
    let angle = TAU * ((turns * time % TIMES) as f64) / TIMES as f64;
    [exact(angle.cos()), exact(angle.sin())]
}

/// The matrices over time, `[pass][n3][t'0][t'1][lane][4]`, with this sign, times `2^15`: of feeds with an `n3` of 1
/// the places are eight further.
pub fn time_matrices(sign: f64) -> Vec<u32> {
    let mut table = Vec::new();
    for (pass, n3) in (0..2 * PASSES).map(|number| (number / 2, number % 2)) {
        for (t0, t1) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for lane in 0..LANES {
                for (t4, imaginary) in [(0, false), (0, true), (1, false), (1, true)] {
                    let time = t0 + 2 * t1 + 4 * (lane % 4) + 16 * t4;
                    let scale = 2f64.powi(MATRIX_EXPONENT);
                    let [re, im] = phase(turns(pass, lane / 4 + 8 * n3, sign), time).map(|part| scale * part);
                    table.push(if imaginary { word(im, re) } else { word(re, -im) });
                }
            }
        }
    }
    table
}

/// The mean power of each of 128 fine channels by [`time_matrices`], relative to exact phases.
pub fn matrix_powers() -> Vec<f64> {
    let square = |part: f64| f16::from_f64(part).to_f64().powi(2);
    let power = |f: usize| {
        // Channels 32 apart have the same phases but for powers of i, those of the other sign their conjugates.
        let of = |time: usize| phase(f % (TIMES / PASSES), time).map(square).iter().sum::<f64>();
        (0..TIMES / PASSES).map(of).sum::<f64>() / (TIMES / PASSES) as f64
    };
    (0..TIMES).map(power).collect()
}

/// A table `[register][lane]` as `[register / 4][lane][register % 4]`.
pub fn in_fours(table: &[u32]) -> Vec<u32> {
    let four =
        |registers: &[u32]| -> Vec<u32> { (0..4 * LANES).map(|at| registers[at % 4 * LANES + at / 4]).collect() };
    table.chunks_exact(4 * LANES).flat_map(four).collect()
}

/// The place `32 register + lane` of the output that a beam is, `[frequency][beam]`; `None` if an output has none.
pub fn beam_places(map: ArrayView2<'_, u32>, size: Size) -> Option<Vec<u32>> {
    let mut of_output = vec![None; size.outputs()];
    for (place, &output) in output_places(size).iter().enumerate() {
        *of_output.get_mut(output as usize)? = Some(place as u32);
    }
    map.iter().map(|&output| of_output.get(output as usize).copied().flatten()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn rounded_phases_change_powers_by_little() {
        for (f, power) in matrix_powers().into_iter().enumerate() {
            assert!((power - 1.0).abs() < 4e-4, "{f}: {power}");
            // Phases of 0 Hz and of half the rate are exact, those of a quarter as well.
            assert!(f % 32 != 0 || power == 1.0, "{f}: {power}");
        }
    }

    #[test]
    fn every_fine_channel_has_a_place_in_the_pass_of_its_sign() {
        // Of a tone at fine channel f each pass but one sums four quarters to nothing.
        for sign in [1.0, -1.0] {
            for f in 0..TIMES {
                let signed = sign as i64 * f as i64;
                let sums = |pass: usize| (0..4).all(|j| ((pass as i64 - signed) * j).rem_euclid(4) == 0);
                let passes: Vec<usize> = (0..PASSES).filter(|&pass| sums(pass)).collect();
                assert_eq!(passes.len(), 1);
                // The place of that pass whose phases turn back what is left.
                let back = |a: usize| (turns(passes[0], a, sign) as i64 - signed).rem_euclid(TIMES as i64) == 0;
                let place = if sign > 0.0 { f / 4 } else { 31 - f / 4 };
                assert_eq!((0..32).filter(|&a| back(a)).collect::<Vec<_>>(), [place]);
                // Two places are a result.
                assert_eq!((place as u32 / 2) ^ result_order(sign, false), f as u32 / 8);
                assert_eq!((place as u32 / 2) ^ result_order(sign, true), (f as u32 / 8) ^ 8);
            }
        }
    }

    #[test]
    fn places_eight_apart_differ_by_powers_of_i() {
        for (a, time) in (0..32).flat_map(|a| (0..32).map(move |time| (a, time))) {
            let [of, first] = [a, a % 8].map(|a| phase_of(turns(3, a, 1.0), time));
            let (a3, a4, t0, t1) = (a / 8 % 2, a / 16, time % 2, time / 2 % 2);
            let turned = first * Complex::i().powu((2 * (a3 * t1 + a4 * t0) + a3 * t0) as u32);
            assert!((of - turned).norm() < 1e-9, "{a} {time}");
        }
    }

    fn phase_of(turns: usize, time: usize) -> Complex<f64> {
        let [re, im] = phase(turns, time);
        Complex::new(re, im)
    }

    #[test]
    fn weights_take_both_parts_of_a_voltage() {
        let weights = ndarray::Array5::from_shape_fn((1, 1, 4, 4, 256), |(_, _, out, line, feed)| {
            Complex::new((1 + out + 4 * line) as f32, feed as f32 / 16.0)
        });
        let table = channelised_weights(weights.view()).unwrap();
        // Those of a class are below 2^10 together, so they are multiplied by 2^4, and others by 2^(15 - 24 - 13).
        assert_eq!((table.exponents[0], table.words.len()), (18, 8192));
        let half =
            |word: u32, high: bool| f16::from_bits((if high { word >> 16 } else { word }) as u16).to_f64() / 16.0;
        // Unit 3, pair 1, lane of line 2, sum 1: feeds 24 + 2 and 24 + 6 of byte 2.
        for (imaginary, of) in
            [(0, [[10.0, -26.0 / 16.0], [10.0, -30.0 / 16.0]]), (1, [[26.0 / 16.0, 10.0], [30.0 / 16.0, 10.0]])]
        {
            let first = ((3 * 2 + 1) * LANES + 2 + 4 * imaginary + 8) * 4;
            for (word, of) in of.into_iter().enumerate() {
                let found = [0, 1].map(|part| half(table.words[first + part], word == 1));
                assert_eq!(found, of);
            }
        }
        let tiny = weights.mapv(|weight| weight * 1e-30);
        assert!(channelised_weights(tiny.view()).is_none());
    }

    #[test]
    fn what_the_copy_engine_does_not_take_has_no_dimensions() {
        let packed = [16 * 2048, 2048, 1024, 256];
        let (dimensions, strides) = voltage_dimensions([16, 2, 384], packed).unwrap();
        assert_eq!(dimensions, [15 * 2048 + 1024 + 256, 4, 4, 4, 24]);
        assert_eq!(strides, [4 << 15, 256, 1 << 15, 16 << 15]);
        assert!(voltage_dimensions([16, 2, 384], [16 * 2048, 2048, 1024, 264]).is_none());
        assert!(voltage_dimensions([16, 2, 384], [1 << 36, 2048, 1024, 256]).is_none());
        assert!(voltage_dimensions([16, 2, 384], [u64::MAX, 2048, 1024, 256]).is_none());
        assert!(voltage_dimensions([16, 2, 1 << 31], packed).is_none());
    }

    #[test]
    fn fours_of_registers_lie_side_by_side() {
        let table: Vec<u32> = (0..8 * LANES as u32).collect();
        let fours = in_fours(&table);
        assert_eq!(fours[..5], [0, 32, 64, 96, 1]);
        assert_eq!(fours[128..132], [128, 160, 192, 224]);
    }

    #[test]
    fn every_output_has_a_place() {
        let size = Size::new(256, 512).unwrap();
        let map = Array2::from_shape_fn((1, 512), |(_, beam)| beam as u32);
        let mut places = beam_places(map.view(), size).unwrap();
        let first = output_places(size)[places[7] as usize];
        assert_eq!(first, 7);
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..512));
    }
}
