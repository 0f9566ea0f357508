//! Layouts at the typed border: what they hold equals the reference's, and what does not fit is an error.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_correlator::CorrelatorError;
use fringes_correlator::layout::{
    HeapShape, Nibbles, TccShape, VoltageShape, pack, pack_heaps, pack_tcc, pack_xgpu, row_bytes, row_times, run_times,
    unpack,
};
use fringes_reference::pack as reference;
use fringes_types::{Complex, Complex4, Dimension, TypesError, VoltageSample};
use half::f16;
use ndarray::{Array2, Array3, Array4, Array5, s};
use proptest::prelude::*;

/// A sample of any bits.
fn sample<V: VoltageSample>(number: u64) -> V {
    let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(21).to_le_bytes();
    bytemuck::pod_read_unaligned(&bits[..size_of::<V>()])
}

fn bits<V: VoltageSample>(rows: &Array4<V>) -> Vec<u8> {
    rows.iter().flat_map(|value| bytemuck::bytes_of(value).to_vec()).collect()
}

/// Every layout of the same voltages gives the rows of the reference, which come back as the voltages.
fn check<V: VoltageSample + Default>([channels, batches, spectra, antennas, pols]: [usize; 5]) {
    let (times, inputs) = (batches * spectra, antennas * pols);
    let mut count = 0;
    let mut next = || {
        count += 1;
        sample::<V>(count)
    };
    let heaps = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), &mut next);
    let voltages = reference::voltages_of_heaps(heaps.view());
    let present = Array2::from_shape_fn((times, inputs), |(time, input)| (time * 7 + input * 3) % 5 != 0);
    let heap_flags = Array2::from_shape_fn((batches, antennas), |(batch, antenna)| (batch + antenna) % 3 != 1);
    let k = run_times::<V>();
    let runs = Array5::from_shape_fn(
        (channels, times.div_ceil(k), antennas, pols, k),
        |(channel, run, antenna, pol, place)| {
            let place = (channel, run * k + place, antenna * pols + pol);
            voltages.get(place).copied().unwrap_or_else(|| sample(99))
        },
    );
    let time_first = Array4::from_shape_fn((times, channels, antennas, pols), |(time, channel, antenna, pol)| {
        voltages[(channel, time, antenna * pols + pol)]
    });
    // Strides that no layout has.
    let mut wide = Array3::from_elem((channels, times, 2 * inputs), sample::<V>(1));
    wide.slice_mut(s![.., .., ..;2]).assign(&voltages);
    for flagged in [false, true] {
        let flags = || flagged.then(|| present.view());
        let expected = bits(&reference::rows(voltages.view(), flags(), row_times::<V>()));
        assert_eq!(row_bytes::<V>(channels, times, inputs).unwrap(), expected.len());
        assert_eq!(bits(&pack(voltages.view(), flags()).unwrap()), expected);
        assert_eq!(bits(&pack(wide.slice(s![.., .., ..;2]), flags()).unwrap()), expected);
        assert_eq!(bits(&pack_xgpu(time_first.view(), flags()).unwrap()), expected);
        assert_eq!(bits(&pack_tcc(runs.view(), times, Nibbles::RealHigh, flags()).unwrap()), expected);
        let each = reference::presence_of_heaps(heap_flags.view(), spectra, pols);
        let expected = reference::rows(voltages.view(), flagged.then(|| each.view()), row_times::<V>());
        let rows = pack_heaps(heaps.view(), flagged.then(|| heap_flags.view())).unwrap();
        assert_eq!(bits(&rows), bits(&expected));
        if !flagged {
            let back = unpack(rows.view(), times).unwrap();
            let [back, voltages] = [&back, &voltages].map(|array| bits(&array.clone().insert_axis(ndarray::Axis(0))));
            assert_eq!(back, voltages);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_layout_gives_the_same_rows(
        channels in 1usize..3, batches in 1usize..4, spectra in 1usize..80, antennas in 1usize..20, pols in 1usize..=2
    ) {
        let shape = [channels, batches, spectra, antennas, pols];
        check::<Complex4>(shape);
        check::<Complex<i8>>(shape);
        check::<Complex<f16>>(shape);
        check::<Complex<f32>>(shape);
    }
}

#[test]
fn real_parts_in_the_low_nibble_are_turned() {
    let runs = Array5::from_elem((1, 1, 2, 1, 32), Complex4(0x3f)); // libtcc: real -1, imaginary 3
    let rows = pack_tcc(runs.view(), 5, Nibbles::RealLow, None).unwrap();
    assert_eq!((rows[(0, 0, 1, 4)].re(), rows[(0, 0, 1, 4)].im()), (-1, 3));
    assert_eq!(rows[(0, 0, 1, 5)], Complex4(0)); // past the end
    // Other formats have no nibbles.
    let runs = Array5::from_elem((1, 1, 2, 1, 16), Complex::new(0x3f, 0x12));
    assert_eq!(pack_tcc(runs.view(), 5, Nibbles::RealLow, None).unwrap()[(0, 0, 0, 0)], Complex::new(0x3fi8, 0x12));
}

#[test]
fn the_example_of_the_documentation_lies_where_it_says() {
    // Input 3 of 4 at time 70 of 100, of 8 bits.
    let mark = Complex::new(1i8, 2);
    let place = |values: &[Complex<i8>]| values.iter().position(|&value| value == mark);
    let mut voltages = Array3::from_elem((1, 100, 4), Complex::new(0i8, 0));
    voltages[(0, 70, 3)] = mark;
    assert_eq!(place(voltages.as_slice().unwrap()), Some(283));
    let rows = pack(voltages.view(), None).unwrap();
    assert_eq!(place(rows.as_slice().unwrap()), Some(454));
    let mut heaps = vec![Complex::new(0i8, 0); 400];
    heaps[341] = mark;
    let heaps = Array5::from_shape_vec((2, 2, 1, 50, 2), heaps).unwrap();
    assert_eq!(pack_heaps(heaps.view(), None).unwrap(), rows);
    let mut runs = vec![Complex::new(0i8, 0); 7 * 4 * 16];
    runs[310] = mark;
    let runs = Array5::from_shape_vec((1, 7, 2, 2, 16), runs).unwrap();
    assert_eq!(pack_tcc(runs.view(), 100, Nibbles::RealHigh, None).unwrap(), rows);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let voltages = Array3::from_elem((2, 70, 6), Complex::new(1i8, 1));
    let flags = |shape| Array2::from_elem(shape, true);
    let wrong = |dimension, expected, actual| {
        let error = TypesError::Dimension { array: "presence flags", dimension, expected, actual };
        Err::<(), _>(CorrelatorError::from(error))
    };
    assert_eq!(pack(voltages.view(), Some(flags((69, 6)).view())).map(|_| ()), wrong(Dimension::Time, 70, 69));
    assert_eq!(pack(voltages.view(), Some(flags((70, 5)).view())).map(|_| ()), wrong(Dimension::Input, 6, 5));
    let heaps = |pols| Array5::from_elem((2, 3, 1, 4, pols), Complex::new(1i8, 1));
    let pols = Err::<(), _>(CorrelatorError::from(TypesError::Pols { actual: 3 }));
    assert_eq!(pack_heaps(heaps(3).view(), None).map(|_| ()), pols);
    assert_eq!(pack_heaps(heaps(2).view(), Some(flags((2, 6)).view())).map(|_| ()), wrong(Dimension::Antenna, 3, 6));
    let runs = |k| Array5::from_elem((1, 2, 3, 2, k), Complex::new(1i8, 1));
    let error = pack_tcc(runs(8).view(), 10, Nibbles::RealHigh, None).unwrap_err();
    let dimension = TypesError::Dimension { array: "runs", dimension: Dimension::Time, expected: 16, actual: 8 };
    assert_eq!(error, dimension.into());
    let error = pack_tcc(runs(16).view(), 33, Nibbles::RealHigh, None).unwrap_err();
    assert_eq!(error, CorrelatorError::TimeRange { start: 0, end: 33, times: 32 });
    let rows = pack(voltages.view(), None).unwrap();
    assert!(unpack(rows.view(), 64).is_err() && unpack(rows.view(), 129).is_err());
    assert!(unpack(rows.slice(s![.., .., .., ..63]), 70).is_err());
    assert!(row_bytes::<Complex<i8>>(usize::MAX, 64, 2).is_err());
}

#[test]
fn shapes_count_their_samples() {
    assert_eq!(VoltageShape { channels: 3, times: 5, inputs: 7 }.samples(), Ok(105));
    let heaps = HeapShape { batches: 2, antennas: 3, channels: 5, spectra: 7, pols: 2 };
    assert_eq!((heaps.samples(), heaps.times(), heaps.inputs()), (Ok(420), 14, 6));
    let runs = TccShape { channels: 2, times: 33, antennas: 3, pols: 2, nibbles: Nibbles::RealHigh };
    assert_eq!((runs.samples::<Complex<i8>>(), runs.inputs()), (Ok(2 * 3 * 6 * 16), 6));
    assert!(VoltageShape { channels: usize::MAX, times: 2, inputs: 1 }.samples().is_err());
}
