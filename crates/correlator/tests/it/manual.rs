//! Statements of the katgpucbf manual, page "Correlation", with its own numbers. What its missing data does is in
//! `heaps.rs` and `integrate.rs`.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::Backend;
use fringes_correlator::{Dump32, DumpSchedule, Integrator, MissingData};
use fringes_types::{BaselineOrder, Complex, Heaps, Inputs, SpectrumClock};
use ndarray::Array5;

/// MeerKAT's L band: 1712 MS/s, 4096 channels of a real signal, heaps of 256 spectra, dumps of half a second.
const RATE: f64 = 1712e6;

fn meerkat() -> DumpSchedule {
    DumpSchedule::new(8192, 256, 408).unwrap()
}

#[test]
fn heap_timestamp_step_is_spectra_per_heap_times_samples_between_spectra() {
    assert_eq!(meerkat().heap_timestamp_step(), 256 * 8192);
}

#[test]
fn timestamp_difference_is_the_step_times_the_heap_accumulation_threshold() {
    assert_eq!(meerkat().timestamp_difference(), 256 * 8192 * 408);
}

#[test]
fn accumulation_time_is_the_difference_divided_by_the_sample_rate() {
    // The page multiplies, which gives 1.5e18 "seconds".
    let seconds = meerkat().accumulation_seconds(RATE);
    assert!((seconds - 0.5).abs() < 0.5 * 256.0 * 8192.0 / RATE, "{seconds}"); // half a heap
    assert_eq!(seconds, 855_638_016.0 / 1_712_000_000.0);
    assert_eq!(DumpSchedule::closest_to(0.5, RATE, 8192, 256).unwrap(), meerkat());
}

#[test]
fn output_timestamps_are_whole_multiples_of_the_difference_and_follow_each_other_by_it() {
    // Heaps of 2 spectra, 4 samples apart, 3 of them a dump: 24 samples. The stream starts in the middle of a dump.
    let schedule = DumpSchedule::new(4, 2, 3).unwrap();
    let clock = SpectrumClock { first_sample: 1_000_000_000_016, samples_between_spectra: 4, sample_rate_hz: RATE };
    let chunk = Heaps::new(Array5::from_elem((11, 1, 1, 2, 1), Complex::new(1i8, 0))).unwrap();
    let chunk = chunk.with_clock(clock).unwrap();
    let mut integrator = Integrator::new(&Backend::cpu(), schedule, chunk.inputs(), 1).unwrap();
    let dumps = integrator.push(&chunk).unwrap();
    let stamps: Vec<u64> = dumps.iter().map(|dump| dump.clock().first_sample).collect();
    assert!(stamps.iter().all(|stamp| stamp % 24 == 0));
    assert_eq!(stamps[0], 1_000_000_000_016 / 24 * 24);
    assert!(stamps.windows(2).all(|pair| pair[1] - pair[0] == 24));
    // 1e12 + 16 is 8 samples, one batch, after a whole multiple.
    assert_eq!(1_000_000_000_016u64 % 24, 8);
    assert_eq!(dumps.iter().map(|dump| dump.valid_samples()[0]).collect::<Vec<_>>(), [4, 6, 6, 6]);
}

#[test]
fn sums_saturate_at_32_bits_and_saturated_visibilities_are_counted() {
    // 70000 spectra of (127, 127): 70000 * 2 * 127^2 is past 2^31 - 1; the product with (1, 0) is not.
    let data = Array5::from_shape_fn((70, 2, 2, 1000, 1), |(_, antenna, ..)| {
        if antenna == 0 { Complex::new(127i8, 127) } else { Complex::new(1, 0) }
    });
    let chunk = Heaps::new(data).unwrap();
    let schedule = DumpSchedule::new(1, 1000, 70).unwrap();
    let integrator = Integrator::new(&Backend::cpu(), schedule, chunk.inputs(), 2).unwrap();
    let dumps = integrator.in_32_bits(MissingData::Mark).push(&chunk).unwrap();
    assert_eq!((dumps[0].saturated(), dumps[0].marked_baselines()), (2, 0)); // one in each channel
    let row: Vec<_> = dumps[0].data().row(1).to_vec();
    assert_eq!(row, [Complex::new(i32::MAX, 0), Complex::new(8_890_000, -8_890_000), Complex::new(70_000, 0)]);
}

#[test]
fn the_payload_of_80_antennas_and_128_channels_is_13271040_bytes() {
    let inputs = Inputs::new(80, 2).unwrap();
    assert_eq!(BaselineOrder::AntennaPairs.len(inputs), 12_960);
    let chunk = Heaps::new(Array5::from_elem((1, 80, 128, 1, 2), Complex::new(1i8, 1))).unwrap();
    let schedule = DumpSchedule::new(1, 1, 1).unwrap();
    let integrator = Integrator::new(&Backend::cpu(), schedule, inputs, 128).unwrap();
    let integrator = integrator.with_order(BaselineOrder::AntennaPairs).unwrap();
    let dump: Dump32 = integrator.in_32_bits(MissingData::Mark).push(&chunk).unwrap().remove(0);
    // All baselines of a channel lie together.
    assert_eq!(dump.data().dim(), (128, 12_960));
    assert_eq!(dump.data().strides(), [12_960, 1]);
    assert_eq!(size_of_val(dump.data().as_slice().unwrap()), 13_271_040);
}

#[test]
fn products_of_a_pair_are_in_the_order_aa_ba_ab_bb() {
    // Antenna 0 has polarisations 1 and 10, antenna 1 has 2 and 20: the first letter is antenna 0's.
    let data = Array5::from_shape_fn((1, 2, 1, 1, 2), |(_, antenna, _, _, pol)| {
        Complex::new([[1i8, 10], [2, 20]][antenna][pol], 0)
    });
    let chunk = Heaps::new(data).unwrap();
    let schedule = DumpSchedule::new(1, 1, 1).unwrap();
    let integrator = Integrator::new(&Backend::cpu(), schedule, chunk.inputs(), 1).unwrap();
    let dumps = integrator.with_order(BaselineOrder::AntennaPairs).unwrap().push(&chunk).unwrap();
    let values: Vec<_> = dumps[0].data().iter().map(|value| value.re).collect();
    assert_eq!(values, [1, 10, 10, 100, 2, 20, 20, 200, 4, 40, 40, 400]);
}
