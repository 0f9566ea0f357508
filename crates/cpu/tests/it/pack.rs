//! Layouts on the CPU equal the reference's, in every format, and come back as they were.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use bytemuck::Pod;
use fringes_cpu::pack::{Heaps, Runs, Strided, pack, pack_heaps, pack_runs, row_times, unpack};
use fringes_reference::pack as reference;
use fringes_types::{Complex, Complex4, f16};
use ndarray::{Array2, Array3, Array4, Array5, ArrayView2, ArrayView3, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A sample of any bits: these functions move them and look at none.
fn sample<V: Pod>(random: &mut Xoshiro256PlusPlus) -> V {
    bytemuck::pod_read_unaligned(&random.random::<[u8; 8]>()[..size_of::<V>()])
}

fn bits<V: Pod>(values: &[V]) -> &[u8] {
    bytemuck::cast_slice(values)
}

/// Rows that hold something before.
fn poisoned<V: Pod>(channels: usize, times: usize, inputs: usize) -> Vec<V> {
    let poison = bytemuck::pod_read_unaligned(&[0x5a; 8][..size_of::<V>()]);
    vec![poison; channels * times.div_ceil(row_times::<V>()) * inputs * row_times::<V>()]
}

fn rows<V: Pod + Default>(voltages: ArrayView3<'_, V>, present: Option<ArrayView2<'_, bool>>) -> Vec<V> {
    reference::rows(voltages, present, row_times::<V>()).into_iter().collect()
}

/// All layouts of random voltages of these sizes.
fn check<V: Pod + Default + Send + Sync>(
    seed: u64,
    (channels, batches, spectra): (usize, usize, usize),
    (antennas, pols): (usize, usize),
    part: Option<(usize, usize)>,
) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (times, inputs) = (batches * spectra, antennas * pols);
    let heaps = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), || sample::<V>(&mut random));
    let voltages = reference::voltages_of_heaps(heaps.view());
    let range = part.map_or(0..times, |(first, count)| {
        let first = first % times;
        first..first + count % (times - first) + 1
    });
    let of_range = voltages.slice(s![.., range.clone(), ..]);
    let present = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.7));
    let heap_flags = Array2::from_shape_simple_fn((batches, antennas), || random.random_bool(0.7));
    let each = reference::presence_of_heaps(heap_flags.view(), spectra, pols);
    let time_first = voltages.view().permuted_axes([1, 0, 2]).as_standard_layout().into_owned();
    // Runs, of which the last is partly filled with anything.
    let k = 32 / size_of::<V>();
    let padded = Array3::from_shape_fn((channels, times.div_ceil(k) * k, inputs), |(channel, time, input)| {
        voltages.get((channel, time, input)).copied().unwrap_or_else(|| sample(&mut random))
    });
    let runs = Array4::from_shape_fn((channels, times.div_ceil(k), inputs, k), |(channel, run, input, place)| {
        padded[(channel, run * k + place, input)]
    });
    for flagged in [false, true] {
        let flags = flagged.then(|| present.slice(s![range.clone(), ..]));
        let expected = rows(of_range, flags);
        let whole = flagged.then(|| present.as_slice().unwrap());
        let mut actual = poisoned(channels, range.len(), inputs);
        for (samples, channel_stride, time_stride) in
            [(&voltages, times * inputs, inputs), (&time_first, inputs, channels * inputs)]
        {
            let samples = samples.as_slice().unwrap();
            let voltages = Strided { samples, channels, inputs, channel_stride, time_stride };
            pack(&voltages, range.clone(), whole, &mut actual);
            assert_eq!(bits(&actual), bits(&expected), "strides {channel_stride} and {time_stride}");
            actual.clone_from(&poisoned(channels, range.len(), inputs));
        }
        let source =
            Runs { samples: runs.as_slice().unwrap(), channels, runs: times.div_ceil(k), inputs, run_times: k };
        pack_runs(&source, range.clone(), whole, &mut actual);
        assert_eq!(bits(&actual), bits(&expected), "runs");
        let flags = flagged.then(|| each.slice(s![range.clone(), ..]));
        let expected = rows(of_range, flags);
        let mut actual = poisoned(channels, range.len(), inputs);
        let present = flagged.then(|| heap_flags.as_slice().unwrap());
        let source = Heaps { samples: heaps.as_slice().unwrap(), present, antennas, channels, spectra, pols };
        pack_heaps(&source, range.clone(), &mut actual);
        assert_eq!(bits(&actual), bits(&expected), "heaps");
        if !flagged {
            let mut back: Vec<V> = vec![V::zeroed(); channels * range.len() * inputs];
            unpack(&actual, channels, range.len(), inputs, &mut back);
            let original: Vec<V> = of_range.iter().copied().collect();
            assert_eq!(bits(&back), bits(&original), "back from rows");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_of_every_layout_are_the_references_and_come_back(
        seed in any::<u64>(),
        shape in (1usize..4, 1usize..5, 1usize..90),
        inputs in (1usize..40, 1usize..=2),
        part in proptest::option::of((any::<usize>(), any::<usize>())),
    ) {
        check::<Complex4>(seed, shape, inputs, part);
        check::<Complex<i8>>(seed, shape, inputs, part);
        check::<Complex<f16>>(seed, shape, inputs, part);
        check::<Complex<f32>>(seed, shape, inputs, part);
    }
}

#[test]
fn nothing_is_no_rows() {
    let samples: &[Complex<i8>] = &[];
    let mut rows: Vec<Complex<i8>> = Vec::new();
    for (channels, times, inputs) in [(0, 64, 8), (2, 0, 8), (2, 64, 0)] {
        let voltages = Strided { samples, channels, inputs, channel_stride: times * inputs, time_stride: inputs };
        pack(&voltages, 0..times, None, &mut rows);
        unpack(&[], channels, times, inputs, &mut rows);
    }
    pack_heaps(&Heaps { samples, present: None, antennas: 4, channels: 2, spectra: 0, pols: 2 }, 0..0, &mut rows);
}
