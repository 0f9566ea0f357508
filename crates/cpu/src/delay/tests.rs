//! Delays against the reference, bit for bit where that is promised.

use fringes_reference::delay as reference;
use fringes_reference::dither::dither;
use fringes_reference::quantiser::{quantise_value, saturates};
use fringes_types::{Complex4, VoltageSample, f16, pack_samples, unpack_samples};
use ndarray::{Array2, Array3};
use num_complex::{Complex, Complex64 as C64};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Layout, Rotation, coarse_shift, coarse_shift_packed, rotate};
use crate::f_engine::FrameValue;

proptest! {
    #[test]
    fn samples_come_late_by_their_delay(
        from_times in 0usize..60, times in 0usize..60, delays in prop::collection::vec(-70i64..70, 1..4), seed: u64,
    ) {
        let value = |(input, time): (usize, usize)| (seed.rotate_left((11 * input + time) as u32 % 64)) as i16;
        let samples = Array2::from_shape_fn((delays.len(), from_times), value);
        let shifted = coarse_shift(samples.view(), &delays, times);
        for (input, &coarse) in delays.iter().enumerate() {
            let mut row = samples.row(input).to_vec();
            row.resize(from_times.max(times), 0);
            let expected = &reference::coarse_shift(&row, coarse)[..times];
            prop_assert_eq!(shifted.row(input).to_vec(), expected);
        }
        prop_assert_eq!(coarse_shift(samples.t().to_owned().t(), &delays, times), shifted);
    }

    #[test]
    fn packed_samples_come_late_by_their_delay(
        bits in 2u32..=16, from_times in 0usize..90, times in 0usize..90, coarse in -100i64..100, seed: u64, fill: u8,
    ) {
        let value = |time: usize| (seed.wrapping_mul(time as u64 + 1).rotate_left(time as u32 % 64) as i16) >> (16 - bits);
        let samples: Vec<i16> = (0..from_times).map(value).collect();
        let mut bytes = pack_samples(&samples, bits).unwrap();
        // What stands behind the last sample does not come in.
        let used = from_times * bits as usize % 8;
        if let Some(last) = bytes.last_mut().filter(|_| used > 0) {
            *last |= 0xff >> used;
        }
        bytes.extend([fill; 3]);
        let rows = Array2::from_shape_vec((1, bytes.len()), bytes).unwrap();
        let shifted = coarse_shift_packed(rows.view(), bits, from_times, &[coarse], times);
        let mut row = samples;
        row.resize(from_times.max(times), 0);
        let expected = pack_samples(&reference::coarse_shift(&row, coarse)[..times], bits).unwrap();
        prop_assert_eq!(shifted.row(0).to_vec(), expected.clone());
        prop_assert_eq!(unpack_samples(&expected, bits, times).unwrap().len(), times);
    }
}

#[test]
fn delays_beyond_all_samples_leave_zeros() {
    let samples = Array2::from_elem((4, 9), 1i8);
    let delays = [9, -9, i64::MAX, i64::MIN];
    assert!(coarse_shift(samples.view(), &delays, 9).iter().all(|&value| value == 0));
    let packed = Array2::from_elem((4, 9), 0xffu8);
    assert!(coarse_shift_packed(packed.view(), 8, 9, &delays, 9).iter().all(|&value| value == 0));
}

/// A value of a format from two random numbers in -1..1.
trait Random: VoltageSample + FrameValue {
    const LIMIT: Option<f64>;

    fn random(re: f64, im: f64) -> Self;
}

macro_rules! random {
    ($($value:ty, $limit:expr;)*) => { $(
        impl Random for $value {
            const LIMIT: Option<f64> = $limit;

            fn random(re: f64, im: f64) -> Self {
                let scale = Self::LIMIT.unwrap_or(1.0);
                Self::from_product(scale * re, scale * im).0
            }
        }
    )* };
}

random! {
    Complex<i8>, Some(127.0);
    Complex4, Some(7.0);
    Complex<f16>, None;
    Complex<f32>, None;
}

fn turned<V: Random>(relative: f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    // Channels, batches, spectra, antennas, polarisations; some beyond one worker's share.
    for (channels, batches, spectra, antennas, pols) in [(70, 2, 7, 3, 2), (9, 1, 700, 1, 1), (1, 3, 1, 2, 2)] {
        let (times, inputs) = (batches * spectra, antennas * pols);
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || {
            V::random(random.random_range(-1.0..1.0), random.random_range(-1.0..1.0))
        });
        let phases = Array2::from_shape_simple_fn((times, inputs), || [random.random(), random.random::<u64>()]);
        let gains = Array2::from_shape_simple_fn((channels, inputs), || {
            Complex::new(random.random_range(-1.0..1.0), random.random_range(-1.0f32..1.0))
        });
        let turns = |word: u64| word as i64 as f64 / 18_446_744_073_709_551_616.0;
        for (first_channel, dithered) in [(0, None), (1000, Some((77, 1 << 35)))] {
            let (base, slope) = (phases.mapv(|[base, _]| turns(base)), phases.mapv(|[_, slope]| turns(slope)));
            let wide = voltages.mapv(|value| value.to_c32()).mapv(|value| C64::new(value.re.into(), value.im.into()));
            let wide_gains = gains.mapv(|gain: Complex<f32>| C64::new(gain.re.into(), gain.im.into()));
            let mut expected =
                reference::rotate_voltages(wide.view(), base.view(), slope.view(), wide_gains.view(), first_channel);
            // Phases of up to 2^9 turns as the oracle sums them up, factors of up to 64 products, and products.
            let bound = 2.0 * V::LIMIT.unwrap_or(1.0) * (6.3 * 1100.0 + 300.0) * f64::EPSILON;
            let mut saturated = vec![0; inputs];
            for ((channel, time, input), value) in expected.indexed_iter_mut() {
                if let (Some((seed, spectrum)), true) = (dithered, V::INTEGER) {
                    *value += dither(seed, spectrum + time as u64, input as u32, (first_channel + channel) as u32);
                }
                saturated[input] += u64::from(V::LIMIT.is_some_and(|limit| saturates(*value, limit)));
            }
            let rotation =
                Rotation { phases: phases.view(), gains: Some(gains.view()), first_channel, dither: dithered };
            let row = 128 / size_of::<V>();
            for layout in [Layout::Voltages, Layout::Heaps { spectra, pols }, Layout::Rows { row }] {
                let place = |channel: usize, time: usize, input: usize| match layout {
                    Layout::Voltages => (channel * times + time) * inputs + input,
                    Layout::Heaps { .. } => {
                        let heap = (time / spectra * antennas + input / pols) * channels + channel;
                        (heap * spectra + time % spectra) * pols + input % pols
                    }
                    Layout::Rows { row } => {
                        ((channel * times.div_ceil(row) + time / row) * inputs + input) * row + time % row
                    }
                };
                let all = if let Layout::Rows { row } = layout { times.next_multiple_of(row) } else { times };
                let mut values = vec![V::zeroed(); channels * all * inputs];
                for ((channel, time, input), &value) in voltages.indexed_iter() {
                    values[place(channel, time, input)] = value;
                }
                let counts = rotate(&mut values, layout, channels, &rotation);
                assert_eq!(counts, saturated, "{layout:?}");
                for ((channel, time, input), value) in expected.indexed_iter() {
                    let actual = values[place(channel, time, input)].to_c32();
                    for (actual, value) in [(actual.re, value.re), (actual.im, value.im)] {
                        let right = match V::LIMIT {
                            Some(limit) => [value - bound, value, value + bound]
                                .iter()
                                .any(|&value| quantise_value(value, limit) == f64::from(actual)),
                            None => (f64::from(actual) - value).abs() <= bound + relative * (value.abs() + 6e-5),
                        };
                        assert!(right, "{layout:?} {channel} {time} {input}: {actual} for {value}");
                    }
                }
            }
        }
    }
}

#[test]
fn voltages_of_every_format_and_layout_are_rotated_as_by_the_reference() {
    turned::<Complex4>(0.0);
    turned::<Complex<i8>>(0.0);
    // One rounding to the format.
    turned::<Complex<f16>>(2f64.powi(-11));
    turned::<Complex<f32>>(2f64.powi(-24));
}
