//! The same frames however a stream is cut, heaps or rows, and what the stream says of itself.

use fringes_backend::Backend;
use fringes_channelizer::ChannelizerError;
use fringes_delay_model::DelaySegment;
use fringes_f_engine::{FrameSample, Frames, Intermediate, NarrowbandFEngineBuilder, Precision};
use fringes_types::{ChunkFormat, Complex, Gains, Heaps};

use crate::support::{Case, FORMATS, Format, backends};

const LENGTHS: [&[usize]; 4] = [&[1], &[7, 1000, 3], &[511], &[2048, 5000, 0, 129]];

/// The same frames: every bit, but on a GPU with delays, whose phases are on lines, within 2^-28 turns each.
fn check_same<Q: FrameSample>(backend: &Backend, case: &Case, found: &Frames<Heaps<Q>>, expected: &Frames<Heaps<Q>>) {
    if backend.device().is_none() || case.delays.is_empty() {
        assert_eq!(found, expected, "{case:?}");
        return;
    }
    assert_eq!(found.spectra_present, expected.spectra_present, "{case:?}");
    assert_eq!(found.voltages.clock(), expected.voltages.clock());
    let largest = expected.voltages.data().iter().map(|value| value.to_c32().norm()).fold(0f32, f32::max);
    let mut apart = 0;
    for (found, expected) in found.voltages.data().iter().zip(expected.voltages.data()) {
        let difference = (found.to_c32() - expected.to_c32()).norm();
        apart += usize::from(difference > 0.0);
        assert!(difference <= if Q::INTEGER { 1.5 } else { 2f32.powi(-20) * largest }, "{difference} {case:?}");
    }
    assert!(!Q::INTEGER || apart <= 2 + expected.voltages.data().len() / 10_000, "{apart} {case:?}");
}

#[test]
fn chunks_of_any_size_give_the_bits_of_the_whole() {
    for (number, format) in FORMATS.into_iter().enumerate() {
        for delays in [vec![], vec![(3.3, 0.004, 0.1, 1e-4), (-57.9, -0.003, -0.3, 0.0)]] {
            let first = [0, 12_345, 1_000_000_000_000_003][number % 3];
            let case = Case { format, delays, first, dither: Some(3), ..Case::default() };
            for backend in backends() {
                let floats = case.frames::<Complex<f32>>(&backend);
                let integers = case.frames::<Complex<i8>>(&backend);
                for lengths in LENGTHS {
                    check_same(&backend, &case, &case.streamed(&backend, lengths).unwrap(), &floats);
                    check_same(&backend, &case, &case.streamed(&backend, lengths).unwrap(), &integers);
                }
            }
        }
    }
}

#[test]
fn half_precision_between_the_stages_adds_its_rounding_and_no_more() {
    let case = Case { spectra_per_frame: 16, length: 8 * 16 * 80, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let single = case.frames::<Complex<f32>>(&backend);
        let mut engine = case.builder().intermediate(Intermediate::Float16).build::<Complex<f32>>(&backend).unwrap();
        assert_eq!(engine.intermediate(), Intermediate::Float16);
        let half = engine.push(&*case.chunk(&samples, 0, case.length)).unwrap().frames.remove(0);
        // The last frame is not complete yet.
        assert_eq!((half.frames() + 1, half.first_stamp()), (single.frames(), single.first_stamp()));
        assert_eq!(half.voltages.frequencies(), single.voltages.frequencies());
        let (mut errors, mut powers, mut most) = (0.0, 0.0, 0f64);
        for (half, single) in half.voltages.data().iter().zip(single.voltages.data()) {
            let error = f64::from((half - single).norm_sqr());
            (errors, powers, most) = (errors + error, powers + f64::from(single.norm_sqr()), most.max(error));
        }
        // A part is rounded to within 2^-12 of it at most, rms 2^-12 / sqrt(3) of what is next to a power of two; noise
        // is that much below the signal, whatever the gains.
        let relative = (errors / powers).sqrt();
        assert!(relative > 2f64.powi(-15) && relative < 2f64.powi(-12), "{relative} {most}");
        // Memory is told of the format.
        let need = |intermediate| {
            let builder = case.builder().intermediate(intermediate);
            builder.memory::<Complex<i8>>(&backend, 100_000, ChunkFormat::Packed { bits: 10 }).unwrap()
        };
        let (half, single) = (need(Intermediate::Float16), need(Intermediate::Float32));
        assert!(half.smallest_step_bytes < single.smallest_step_bytes || backend.device().is_none());
    }
}

/// In half precision samples between the stages are f16 unless another format is asked for; the CPU computes in single
/// precision, and so does a GPU a plan of few channels.
#[test]
fn half_precision_has_f16_between_the_stages() {
    let case = Case::default();
    let samples = case.samples();
    for backend in backends() {
        let built = |builder: NarrowbandFEngineBuilder| builder.build::<Complex<f32>>(&backend).unwrap();
        let mut half = built(case.builder().precision(Precision::Half));
        assert_eq!(half.intermediate(), Intermediate::Float16);
        let asked = case.builder().precision(Precision::Half).intermediate(Intermediate::Float32);
        assert_eq!(built(asked).intermediate(), Intermediate::Float32);
        assert_eq!(built(case.builder()).intermediate(), Intermediate::Float32);
        let chunk = case.chunk(&samples, 0, case.length);
        let frames = half.push(&*chunk).unwrap().frames;
        assert_eq!(half.precision(), Some(Precision::Single), "{}", backend.name());
        let mut single = built(case.builder().intermediate(Intermediate::Float16));
        assert_eq!(frames, single.push(&*chunk).unwrap().frames);
    }
}

#[test]
fn rows_have_the_values_of_heaps() {
    let case = Case { spectra_per_frame: 64, length: 8 * 16 * 140, antennas: 2, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let heaps = case.frames::<Complex<i8>>(&backend);
        let mut engine = case.builder().build_rows::<Complex<i8>>(&backend).unwrap();
        let rows = engine.push(&*case.chunk(&samples, 0, case.length)).unwrap().frames.remove(0);
        assert_eq!((rows.frames(), rows.first_stamp()), (2, 0));
        assert_eq!(rows.voltages.clock(), heaps.voltages.clock());
        assert_eq!(rows.voltages.frequencies(), heaps.voltages.frequencies());
        for ((channel, row, input, time), value) in rows.voltages.data().indexed_iter() {
            let (time, heaps) = (row * 64 + time, heaps.voltages.data());
            assert_eq!(*value, heaps[(time / 64, input / 2, channel, time % 64, input % 2)]);
        }
        let error = case.builder().spectra_per_frame(4).build_rows::<Complex<i8>>(&backend).unwrap_err();
        assert_eq!(error, ChannelizerError::RowSpectra { expected: 64, actual: 4 });
    }
}

#[test]
fn everything_outside_is_in_adc_samples() {
    let case = Case { first: 8 * 16 * 4 * 5 - 3, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        assert_eq!((engine.expected_sample(), engine.next_stamp(), engine.stride()), (None, None, 128));
        assert_eq!((engine.kept_channels(), engine.channels(), engine.plan().channels()), (4..12, 0..8, 16));
        assert_eq!((engine.spectra_per_frame(), engine.inputs()), (4, case.inputs()));
        assert_eq!(engine.down_converter().decimation(), 8);
        assert_eq!(engine.window_samples(), 63 * 8 + 48);
        // No down-converted sample yet.
        engine.push(&*case.chunk(&samples, 0, 40)).unwrap();
        assert_eq!((engine.expected_sample(), engine.next_stamp()), (Some(case.first + 40), None));
        engine.push(&*case.chunk(&samples, 40, 900)).unwrap();
        // 897 samples from the frame's start on: 107 down-converted ones, of which 64 are a window and 2 strides fit.
        assert_eq!(engine.next_stamp(), Some(2560 + 3 * 128));
        let frames = engine.flush().unwrap().unwrap();
        assert_eq!(
            (frames.first_stamp(), frames.spectra_present.column(0).to_vec()),
            (2560, vec![true, true, true, false])
        );
        assert_eq!(engine.next_stamp(), Some(2560 + 4 * 128));
        engine.reset();
        assert_eq!((engine.expected_sample(), engine.next_stamp()), (None, None));
        assert_eq!(engine.flush().unwrap(), None);
        // Anew, as if nothing had been.
        let frames = engine.push(&*case.chunk(&samples, 0, case.length)).unwrap().frames.remove(0);
        let whole = case.frames::<Complex<f32>>(&backend);
        let complete = whole.voltages.data().slice_move(ndarray::s![..frames.frames(), .., .., .., ..]);
        assert_eq!(frames.voltages.data(), complete);
    }
}

#[test]
fn frequencies_are_on_the_sky_where_the_samples_have_a_centre_and_the_digitisers_where_not() {
    for format in [Format::Int16, Format::ComplexFloat32] {
        let case = Case { format, ..Case::default() };
        let samples = case.samples();
        for backend in backends() {
            let mut engine = case.engine::<Complex<f32>>(&backend);
            let found = engine.push(&*case.chunk(&samples, 0, case.length)).unwrap().frames.remove(0);
            let middle = 0.171 * 1.712e9;
            assert!((found.voltages.frequencies().channel_hz(4) - middle).abs() < 1e-5);
            assert!((found.voltages.frequencies().step_hz - 1.712e9 / 128.0).abs() < 1e-8);
        }
    }
    // 1284 MHz is the middle of a real band from 856 MHz on.
    let case = Case { format: Format::Int16, ..Case::default() };
    let data = case.samples().mapv(|value| value.re as i16);
    let chunk = fringes_types::Samples::new(data, case.inputs()).unwrap();
    let chunk = chunk.with_sample_rate(1712e6).unwrap().with_centre_frequency(1284e6).unwrap();
    let found = case.engine::<Complex<f32>>(&Backend::cpu()).push(&chunk).unwrap().frames.remove(0);
    let expected = 856e6 + 0.171 * 1712e6;
    assert!((found.voltages.frequencies().channel_hz(4) - expected).abs() < 1e-5);
}

#[test]
fn gains_and_delays_that_are_set_count_for_the_spectra_that_are_not_made() {
    let case = Case { length: 8 * 16 * 60, pols: 1, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let cut = 8 * 16 * 30 + 5;
        engine.push(&*case.chunk(&samples, 0, cut)).unwrap();
        let next = engine.next_stamp().unwrap();
        // 20 ADC samples from ADC sample `at` on: 2.5 down-converted ones, 2 and a half.
        let at = next + 5 * 128 + 1;
        engine.delays_mut()[0].push(DelaySegment::new(at, vec![20.0]).with_phase(0.25, 0.0)).unwrap();
        engine.set_gains(&Gains::uniform(1.0).unwrap()).unwrap();
        let mut found = engine.push(&*case.chunk(&samples, cut, case.length)).unwrap().frames;
        found.extend(engine.flush().unwrap());
        let found = crate::support::join(found).unwrap();
        // Segments that nothing needs are gone.
        assert_eq!(engine.delays()[0].segments().len(), 1);
        let expected = {
            let mut models = case.models();
            models[0].push(DelaySegment::new(at, vec![20.0]).with_phase(0.25, 0.0)).unwrap();
            let builder = case.builder().delays(models).gains(Gains::uniform(1.0).unwrap());
            let mut engine = builder.build::<Complex<f32>>(&backend).unwrap();
            let mut frames = engine.push(&*case.chunk(&samples, 0, case.length)).unwrap().frames;
            frames.extend(engine.flush().unwrap());
            crate::support::join(frames).unwrap()
        };
        let largest = expected.voltages.data().iter().map(|value| value.norm()).fold(0f32, f32::max);
        let (mut compared, mut delayed) = (0, 0);
        for time in 0..found.spectra_present.nrows() {
            let stamp = found.voltages.clock().sample_of(time);
            let other = ((stamp - expected.first_stamp()) / 128) as usize;
            if stamp < next || !found.spectra_present[(time, 0)] {
                continue;
            }
            assert!(expected.spectra_present[(other, 0)]);
            for channel in 0..8 {
                let a = found.voltages.data()[(time / 4, 0, channel, time % 4, 0)];
                let b = expected.voltages.data()[(other / 4, 0, channel, other % 4, 0)];
                assert!((a - b).norm() <= 2f32.powi(-20) * largest, "{stamp} {channel}");
            }
            compared += 1;
            delayed += usize::from(stamp >= at);
        }
        assert!(compared >= 20 && delayed >= 10, "{compared} {delayed}");
    }
}
