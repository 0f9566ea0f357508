//! The fast versions against the reference.

use fringes_reference::f_engine::statistics as reference_statistics;
use fringes_reference::quantiser::{quantise_value, saturates};
use fringes_types::{Complex4, Inputs, PackedSamples, SamplePresence, Samples, f16};
use ndarray::{Array2, Array5};
use num_complex::Complex64 as C64;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::pfb::{ArraySource, Rotation, Window, pfb_weights, zeroed_output};

/// The number that the dither gives the first input.
const FIRST_INPUT: u32 = 3;

fn noise(shape: (usize, usize), seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || rng.random_range(-1.0..1.0))
}

#[derive(Debug, Clone)]
struct Case {
    channels: usize,
    complex: bool,
    antennas: usize,
    pols: usize,
    times: usize,
    spf: usize,
    range: Range<usize>,
    dither: Option<u64>,
    split: Split,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (1..20usize, any::<bool>(), 1..4usize, 1..3usize, 1..40usize, 1..12usize);
    let split =
        (1..20usize, 1..9usize, 1..4usize).prop_map(|(times, inputs, workers)| Split { times, inputs, workers });
    (shape, (0.0..1.0f64, 0.0..1.0f64), any::<Option<u64>>(), split, any::<u64>()).prop_map(
        |((channels, complex, antennas, pols, times, spf), (from, to), dither, split, seed)| {
            let start = (from * channels as f64) as usize;
            let range = start..start + 1 + (to * (channels - start) as f64) as usize;
            Case { channels, complex, antennas, pols, times, spf, range, dither, split, seed }
        },
    )
}

/// Frames of a case against the reference's formula on the voltages that the filter bank gives.
fn check<Q: FrameValue + PartialEq + std::fmt::Debug>(
    case: &Case,
    limit: Option<f64>,
    value: impl Fn(C64) -> Q,
) -> Result<(), TestCaseError> {
    let inputs = case.antennas * case.pols;
    let step = if case.complex { case.channels } else { 2 * case.channels };
    let weights = pfb_weights(Window::Hamming, 2, step, 1.0).unwrap();
    let pfb = Pfb::new(case.channels, case.complex, &weights);
    let samples =
        noise((inputs, (case.times + 1) * step * (1 + usize::from(case.complex))), case.seed).mapv(|x| 200.0 * x);
    let describe = |time: usize, input: usize| SpectrumInput {
        start: (time * step + input) as i64,
        shift: (time * 3 + 1) % step,
        rotation: Rotation { turns: 0.1 * input as f64, turns_per_channel: 0.003 },
    };
    let present = Array2::from_shape_fn((case.times, inputs), |(time, input)| (time * 7 + input) % 5 != 0);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(case.seed);
    let gains = Array2::from_shape_simple_fn((inputs, case.range.len()), || {
        Complex::new(rng.random_range(-1.0..1.0f32), rng.random_range(-1.0..1.0))
    });
    let first_spectrum = case.seed % (1 << 40);
    let post = Post {
        channels: case.range.clone(),
        gains: gains.view(),
        dither: case.dither,
        first_input: FIRST_INPUT,
        first_spectrum,
        present: present.view(),
    };

    // The first spectrum is the last of its frame but one.
    let offset = case.spf.saturating_sub(2);
    let frames = (offset + case.times).div_ceil(case.spf);
    let shape = (frames, case.antennas, case.range.len(), case.spf, case.pols);
    let mut out = Array5::from_elem(shape, Q::zeroed());
    let counts: Vec<AtomicU64> = (0..frames * inputs).map(|_| AtomicU64::new(0)).collect();
    let mut parts = Vec::new();
    let mut first_time = 0;
    for (frame, out) in out.outer_iter_mut().enumerate() {
        let (_, out) = out.split_at(Axis(2), if frame == 0 { offset } else { 0 });
        let count = out.len_of(Axis(2)).min(case.times - first_time);
        let (out, _) = out.split_at(Axis(2), count);
        parts.push(FramePart { first_time, out, saturated: &counts[frame * inputs..][..inputs] });
        first_time += count;
    }
    let mut voltages = zeroed_output(case.channels, case.times, inputs).unwrap();
    if case.complex {
        let (complex, _) = samples.as_slice().unwrap().as_chunks::<2>();
        let complex: Vec<_> = complex.iter().map(|&[re, im]| Complex::new(re, im)).collect();
        let complex = Array2::from_shape_vec((inputs, samples.ncols() / 2), complex).unwrap();
        let source = ArraySource::new(complex.view());
        f_engine(&pfb, &source, &describe, &post, parts, &case.split);
        pfb.channelize(&source, &describe, voltages.view_mut(), &case.split);
    } else {
        let source = ArraySource::new(samples.view());
        f_engine(&pfb, &source, &describe, &post, parts, &case.split);
        pfb.channelize(&source, &describe, voltages.view_mut(), &case.split);
    }

    let mut expected = Array5::from_elem(shape, Q::zeroed());
    let mut expected_counts = vec![0; frames * inputs];
    for ((channel, time, input), x) in voltages.indexed_iter() {
        if !case.range.contains(&channel) || !present[(time, input)] {
            continue;
        }
        let place = channel - case.range.start;
        let (x, g) = (C64::new(x.re.into(), x.im.into()), gains[(input, place)]);
        let g = C64::new(g.re.into(), g.im.into());
        let mut product = C64::new(g.re * x.re - g.im * x.im, g.re * x.im + g.im * x.re);
        if let (Some(seed), Some(_)) = (case.dither, limit) {
            let spectrum = first_spectrum + time as u64;
            product += fringes_reference::dither::dither(seed, spectrum, FIRST_INPUT + input as u32, channel as u32);
        }
        let (frame, spectrum) = ((offset + time) / case.spf, (offset + time) % case.spf);
        expected[(frame, input / case.pols, place, spectrum, input % case.pols)] = value(product);
        expected_counts[frame * inputs + input] += u64::from(limit.is_some_and(|limit| saturates(product, limit)));
    }
    prop_assert_eq!(&out, &expected);
    prop_assert_eq!(counts.into_iter().map(AtomicU64::into_inner).collect::<Vec<_>>(), expected_counts);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn frames_are_the_references_of_the_same_voltages_in_every_format(case in case()) {
        let part = |value: f64, limit| quantise_value(value, limit) as i8;
        check(&case, Some(127.0), |value| Complex::new(part(value.re, 127.0), part(value.im, 127.0)))?;
        check(&case, Some(7.0), |value| Complex4::new(part(value.re, 7.0), part(value.im, 7.0)).unwrap())?;
        check(&case, None, |value| Complex::new(value.re as f32, value.im as f32))?;
        check(&case, None, |value| Complex::new(f16::from_f64(value.re), f16::from_f64(value.im)))?;
    }

    #[test]
    fn statistics_are_the_references(
        bits in 2u32..=16, times in 0usize..9000, block in 1usize..5000, seed: u64, flagged in any::<bool>(),
    ) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let inputs = Inputs::single_pol(2).unwrap();
        let values = Array2::from_shape_simple_fn((2, times), || rng.random::<i16>() >> (16 - bits));
        let flags = Array2::from_shape_simple_fn((2, times.div_ceil(block)), || !flagged || rng.random::<bool>());
        let presence = SamplePresence::new(block, flags).unwrap();
        let packed = PackedSamples::pack(values.view(), bits, inputs).unwrap().with_presence(presence.clone()).unwrap();
        let complex = values.mapv(|value| Complex::new((value >> 8) as i8, value as i8));
        let complex = Samples::new(complex, inputs).unwrap().with_presence(presence.clone()).unwrap();
        let floats = Samples::new(values.mapv(f32::from), inputs).unwrap().with_presence(presence.clone()).unwrap();
        let half = f64::from(1u32 << (bits - 1));
        for input in 0..2 {
            let present: Vec<bool> = (0..times).map(|time| presence.is_present(input, time)).collect();
            let check = |found: InputStatistics, samples: Vec<C64>, codes| {
                let (samples, sum_of_squares, clipped) = reference_statistics(&samples, &present, codes);
                assert_eq!(found, InputStatistics { samples, sum_of_squares, clipped });
            };
            let wide: Vec<C64> = values.row(input).iter().map(|&value| C64::new(value.into(), 0.0)).collect();
            check(statistics(&packed)[input], wide.clone(), Some((-half, half - 1.0)));
            check(statistics(&floats)[input], wide, None);
            let wide = complex.data().row(input).iter().map(|value| C64::new(value.re.into(), value.im.into())).collect();
            check(statistics(&complex)[input], wide, Some((-128.0, 127.0)));
        }
    }
}
