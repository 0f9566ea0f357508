//! Chunks: any cut gives the same bits; presence, delays and formats across seams.

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{ChannelizerStream, Window};
use fringes_f_engine::{FEngineBuilder, FrameSample, f_engine};
use fringes_types::{Complex, Complex4, Inputs, SampleChunk, Samples, f16};
use ndarray::{Array2, s};
use proptest::prelude::*;

use crate::support::{Case, U, backends, check_same, more_units};

fn case() -> impl Strategy<Value = (Case, Vec<usize>)> {
    let shape = (1..=12usize, any::<bool>(), 1..=5usize, 1..=3usize, 1..=2usize, 1..=2usize);
    let more = (1..=9usize, 100..900usize, prop_oneof![0..100u64, Just(100_000_000_000_007)], any::<Option<u64>>());
    let lengths = prop::collection::vec(prop_oneof![0..5usize, 1..200usize], 1..6);
    let delay = (-40.0..40.0f64, -0.02..0.02f64, -1.0..1.0f64, -0.01..0.01f64);
    let rest = (prop::collection::vec(delay, 4), any::<u64>(), prop::option::of(1..40usize), 2u32..=16);
    (shape, more, lengths, rest).prop_map(
        |((channels, complex, taps, oversampling, antennas, pols), more, mut lengths, rest)| {
            let (spectra_per_frame, length, first, dither) = more;
            let (mut delays, seed, block, bits) = rest;
            // Every step divides by 1 and itself.
            let step = if complex { channels } else { 2 * channels };
            let oversampling = (if step % oversampling == 0 { oversampling } else { step }, 1);
            delays.truncate(antennas * pols);
            lengths.push(7);
            if let Some(block) = block {
                lengths.iter_mut().for_each(|length| *length = length.next_multiple_of(block));
            }
            let range = channels / 3..channels;
            let case = Case {
                channels,
                complex,
                taps,
                window: Window::Hamming,
                oversampling,
                antennas,
                pols,
                spectra_per_frame,
                range,
                dither,
                bits,
                first,
                length,
                delays,
                sigma: 60.0,
                block,
                seed: seed >> 1,
            };
            (case, lengths)
        },
    )
}

fn same<Q: FrameSample>(case: &Case, lengths: &[usize]) -> Result<(), TestCaseError> {
    for backend in backends() {
        let parts = case.streamed::<Q>(&backend, lengths);
        let whole = case.streamed::<Q>(&backend, &[case.length]);
        check_same(&backend, case, &parts.frames, &whole.frames);
        for (part, whole) in parts.statistics.iter().zip(&whole.statistics) {
            prop_assert_eq!((part.samples, part.clipped), (whole.samples, whole.clipped));
            prop_assert_eq!(part.sum_of_squares, whole.sum_of_squares);
        }
        if let Some(frames) = whole.frames.first() {
            check_same(&backend, case, &case.one_call::<Q>(&backend).frames, std::slice::from_ref(frames));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn chunks_of_any_size_give_the_bits_of_one((case, lengths) in case()) {
        same::<Complex<i8>>(&case, &lengths)?;
        same::<Complex<f32>>(&case, &lengths)?;
    }

    #[test]
    fn the_stated_memory_is_enough_for_whole_streams_and_a_byte_less_is_an_error(
        (case, lengths) in case(),
        kind in 0..3,
    ) {
        let builder = match kind {
            // Delays of now, as anything within the default limits, or within narrow ones, which the stream fills.
            0 => case.builder().delays(Case { delays: Vec::new(), ..case.clone() }.models()),
            1 => case.builder(),
            _ => case.builder().delay_limits(100, 30),
        };
        let format = case.chunk(&case.samples(), 0, 0).format();
        for backend in backends() {
            let need = builder.memory::<Complex<i8>>(&backend, case.length, format).unwrap();
            let free = builder.clone().build::<Complex<i8>>(&backend).unwrap();
            prop_assert!(backend.device().is_some() || free.memory(case.length, format) == need);
            let expected = case.streamed_by(free, &lengths).frames;
            for extra in [0, 10_000] {
                let limited = backend.clone().with_memory_limit(need.smallest_step_bytes + extra);
                let engine = builder.clone().build::<Complex<i8>>(&limited).unwrap();
                let found = case.streamed_by(engine, &lengths).frames;
                if kind == 0 || backend.device().is_none() {
                    prop_assert_eq!(&found, &expected);
                } else {
                    check_same(&backend, &case, &found, &expected);
                }
                let samples = case.samples();
                let one_call = |backend| {
                    let chunk = case.chunk(&samples, 0, case.length);
                    f_engine::<Complex<i8>>(backend, &*chunk, builder.clone())
                };
                prop_assert_eq!(one_call(&limited), one_call(&backend));
            }
            if backend.device().is_none() {
                let (needed, limit) = (need.smallest_step_bytes, need.smallest_step_bytes - 1);
                let limited = backend.with_memory_limit(limit);
                let error = builder.clone().build::<Complex<i8>>(&limited).unwrap_err();
                prop_assert_eq!(error, DeviceError::MemoryLimit { operation: "f_engine", needed, limit }.into());
            }
        }
    }
}

#[test]
fn a_limit_that_holds_the_stated_memory_holds_the_stream_to_its_end() {
    // Longer than the growth of delays that is allowed for, 2^16 samples, with frames that are given away on the way.
    let case = Case { channels: 32, range: 0..32, antennas: 1, length: 200_000, ..Case::default() };
    let format = case.chunk(&case.samples(), 0, 0).format();
    for backend in backends() {
        let need = case.builder().memory::<Complex<i8>>(&backend, 1000, format).unwrap();
        let limited = backend.clone().with_memory_limit(need.smallest_step_bytes);
        let found = case.streamed::<Complex<i8>>(&limited, &[1000]).frames;
        assert_eq!(found, case.streamed::<Complex<i8>>(&backend, &[1000]).frames);
    }
}

#[test]
fn a_flushed_stream_holds_no_more_than_is_stated() {
    let case = Case { spectra_per_frame: 64, length: 64 * 128 * 8, ..Case::default() };
    let samples = case.samples();
    let engine = case.builder().delay_limits(10, 10).build::<Complex<i8>>(&Backend::cpu());
    let mut engine = engine.unwrap();
    // A window, a stride, the growth, and delays of 10 samples either way: frames are 8192 samples apart.
    let most = 2 * (4 * 128 + 128 - 1 + 10 + 20) * 4;
    for from in (0..case.length).step_by(300) {
        engine.push(&*case.chunk(&samples, from, (from + 300).min(case.length))).unwrap();
        assert!(engine.held_bytes() <= most, "{} of {most}", engine.held_bytes());
        if from % 4500 == 0 {
            engine.flush().unwrap();
        }
    }
}

#[test]
fn every_format_of_frames_is_cut_alike() {
    let case = Case { delays: vec![(3.3, 0.004, 0.1, 1e-4), (-7.9, -0.003, -0.3, 0.0)], ..Case::default() };
    same::<Complex4>(&case, &[100, 333]).unwrap();
    same::<Complex<f16>>(&case, &[100, 333]).unwrap();
}

#[test]
fn the_same_samples_in_every_format_give_the_same_frames() {
    let case = Case { bits: 8, antennas: 2, ..Case::default() };
    let samples = case.samples().mapv(|value| value.re);
    let inputs = case.inputs();
    let chunks: Vec<Box<dyn SampleChunk>> = vec![
        Box::new(Samples::new(samples.mapv(|value| value as i8), inputs).unwrap()),
        Box::new(Samples::new(samples.clone(), inputs).unwrap()),
        Box::new(Samples::new(samples.mapv(|value| f16::from_f32(value.into())), inputs).unwrap()),
        Box::new(Samples::new(samples.mapv(f32::from), inputs).unwrap()),
        Box::new(Samples::new(samples.t().mapv(f32::from).reversed_axes(), inputs).unwrap()),
    ];
    for backend in backends() {
        let expected = case.one_call::<Complex<i8>>(&backend).frames;
        for chunk in &chunks {
            let found = fringes_f_engine::f_engine(&backend, &**chunk, case.builder()).unwrap();
            assert_eq!(found.frames, expected, "{}", chunk.format());
        }
    }
}

#[test]
fn complex_samples_in_every_format_give_the_same_frames() {
    let case = Case { bits: 8, complex: true, ..Case::default() };
    let samples = case.samples();
    let inputs = case.inputs();
    let parts = |f: fn(i16) -> f32| samples.mapv(|value| Complex::new(f(value.re), f(value.im)));
    let floats = parts(f32::from);
    let chunks: Vec<Box<dyn SampleChunk>> = vec![
        Box::new(Samples::new(samples.mapv(|value| Complex::new(value.re as i8, value.im as i8)), inputs).unwrap()),
        Box::new(
            Samples::new(floats.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im))), inputs).unwrap(),
        ),
        Box::new(Samples::new(floats, inputs).unwrap()),
    ];
    for backend in backends() {
        let expected = case.one_call::<Complex<i8>>(&backend).frames;
        for chunk in &chunks {
            let found = fringes_f_engine::f_engine(&backend, &**chunk, case.builder()).unwrap();
            assert_eq!(found.frames, expected, "{}", chunk.format());
        }
    }
}

#[test]
fn without_gains_float_frames_are_the_channelizer_streams_voltages() {
    let case = Case { antennas: 2, length: 3000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut stream = ChannelizerStream::new(&backend, case.plan(), case.inputs()).unwrap();
        let chunk = case.chunk(&samples, 0, case.length);
        let voltages = stream.push(&*chunk).unwrap().unwrap();
        let builder = FEngineBuilder::new(case.plan(), case.inputs()).spectra_per_frame(5);
        let mut engine = builder.build::<Complex<f32>>(&backend).unwrap();
        let frames = engine.push(&*chunk).unwrap().frames.remove(0);
        let times = frames.voltages.times();
        assert_eq!((times, voltages.times()), (20, 20));
        let (found, expected) = (frames.voltages.to_voltages(), voltages.data().slice(s![.., ..times, ..]).to_owned());
        if backend.device().is_none() {
            assert_eq!(found.data(), expected);
        } else {
            // Of channels of the samples' variance none is larger than this: weights of sum of squares 1 and 512
            // samples.
            let largest = case.half() * 512f64.sqrt();
            let bound = U * (more_units(&backend, case.taps) + 2.0 * (5.0 + 7.0 * 7.0)) * largest;
            assert!(found.data().iter().zip(&expected).all(|(a, b)| f64::from((a - b).norm()) <= bound));
        }
        assert_eq!(
            (frames.voltages.clock(), frames.voltages.frequencies()),
            (voltages.clock(), voltages.frequencies())
        );
    }
}

#[test]
fn a_range_of_channels_has_its_frequencies() {
    let inputs = Inputs::single_pol(1).unwrap();
    let plan = fringes_channelizer::Channelizer::real(16).taps(2).build().unwrap();
    let samples = Samples::new(Array2::from_elem((1, 200), 1i8), inputs).unwrap();
    let samples = samples.with_sample_rate(32e6).unwrap().with_centre_frequency(1e9).unwrap();
    let builder = FEngineBuilder::new(plan, inputs).channels(3..9).spectra_per_frame(2);
    let channelized = fringes_f_engine::f_engine::<Complex<i8>>(&Backend::cpu(), &samples, builder).unwrap();
    let heaps = &channelized.frames[0].voltages;
    // A band of 16 MHz from 992 MHz on, channels of 1 MHz.
    assert_eq!((heaps.channels(), heaps.frequencies().first_hz, heaps.frequencies().step_hz), (6, 995e6, 1e6));
    assert_eq!(heaps.clock().sample_rate_hz, 32e6);
}

#[test]
fn gains_and_delays_change_between_chunks() {
    let case = Case::default();
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let half = case.length / 2;
        let before = engine.push(&*case.chunk(&samples, 0, half)).unwrap();
        engine.set_gains(&fringes_types::Gains::uniform(0.0).unwrap()).unwrap();
        let from = engine.next_stamp().unwrap();
        let mut rest = engine.push(&*case.chunk(&samples, half, case.length)).unwrap().frames;
        rest.extend(engine.flush().unwrap());
        assert!(before.frames[0].voltages.data().iter().all(|value| value.norm() > 0.0));
        for frames in rest {
            for ((frame, _, _, spectrum, _), value) in frames.voltages.data().indexed_iter() {
                let clock = frames.voltages.clock();
                let stamp = clock.sample_of(frame * case.spectra_per_frame + spectrum);
                assert!(stamp < from || value.norm() == 0.0);
            }
        }
    }
}

#[test]
fn memory_that_is_given_back_changes_nothing() {
    for block in [None, Some(100)] {
        let case = Case { length: 20_000, block, ..Case::default() };
        let samples = case.samples();
        let backend = fringes_backend::Backend::cpu();
        let (mut engine, mut other) = (case.engine::<Complex<i8>>(&backend), case.engine::<Complex<i8>>(&backend));
        let mut addresses = Vec::new();
        // Of several lengths, and with a gap.
        for (from, to) in
            [(0, 3000), (3000, 6000), (6000, 10_100), (10_100, 12_000), (13_000, 16_000), (16_000, 20_000)]
        {
            let expected = other.push(&*case.chunk(&samples, from, to)).unwrap();
            let found = engine.push(&*case.chunk(&samples, from, to)).unwrap();
            assert_eq!(found, expected, "{block:?} {from}");
            for frames in found.frames {
                addresses.push(frames.voltages.data().as_ptr());
                let mut values = frames.voltages.into_data();
                values.fill(Complex::new(77, -77));
                engine.recycle(fringes_types::Heaps::new(values).unwrap());
            }
        }
        assert_eq!(engine.flush().unwrap(), other.flush().unwrap());
        assert!(addresses.windows(2).any(|pair| pair[0] == pair[1]), "{addresses:?}");
    }
}
