//! What the F-engine refuses, and that it is as it was afterwards.

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{Channelizer, ChannelizerError};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_f_engine::{FEngine, FEngineBuilder, f_engine};
use fringes_types::{Complex, Dimension, Gains, Inputs, PackedSamples, Samples, TypesError};
use ndarray::Array2;

use crate::support::{Case, backends};

type Built = Result<FEngine<Complex<i8>>, ChannelizerError>;

fn builder() -> FEngineBuilder {
    FEngineBuilder::new(Channelizer::real(64).taps(4).build().unwrap(), Inputs::new(1, 2).unwrap()).spectra_per_frame(4)
}

#[test]
fn bad_parameters_are_typed_errors() {
    for backend in backends() {
        let error = |built: FEngineBuilder| -> ChannelizerError {
            let built: Built = built.build(&backend);
            built.unwrap_err()
        };
        let zero = ChannelizerError::Zero { quantity: "spectra per frame" };
        assert_eq!(error(builder().spectra_per_frame(0)), zero);
        for (start, end) in [(3, 3), (0, 65), (64, 70), (9, 2), (5, usize::MAX)] {
            let expected = ChannelizerError::ChannelRange { start, end, channels: 64 };
            assert_eq!(error(builder().channels(start..end)), expected);
        }
        for (shape, dimension, expected, actual) in
            [((64, 2), Dimension::Channel, 10, 64), ((10, 3), Dimension::Input, 2, 3)]
        {
            let gains = Gains::per_channel_input(Array2::from_elem(shape, Complex::new(1.0, 0.0))).unwrap();
            let expected = TypesError::Dimension { array: "gains", dimension, expected, actual };
            assert_eq!(error(builder().channels(0..10).gains(gains)), expected.into());
        }
        let dimension = Dimension::Input;
        let expected = TypesError::Dimension { array: "delay models", dimension, expected: 2, actual: 1 };
        assert_eq!(error(builder().delays(vec![DelayModel::zero()])), expected.into());
        let large = error(builder().spectra_per_frame(usize::MAX));
        assert!(matches!(large, ChannelizerError::Types(TypesError::TooLarge { .. })), "{large}");
        // 2^52 and 2^51 samples apart, and an exabyte; on a GPU, more places than kernels count.
        for spectra in [1 << 45, 1 << 44] {
            let large = error(builder().spectra_per_frame(spectra));
            let typed = matches!(
                large,
                ChannelizerError::Types(TypesError::TooLarge { .. })
                    | ChannelizerError::Device(DeviceError::TooLarge { .. })
            );
            assert!(typed, "{large}");
        }
    }
    let not_finite = Gains::uniform(f32::NAN).unwrap_err();
    assert!(matches!(not_finite, TypesError::NotFinite { .. }));
}

#[test]
fn a_memory_limit_below_one_step_is_an_error_and_that_of_the_query_suffices() {
    let need = builder()
        .build::<Complex<i8>>(&Backend::cpu())
        .unwrap()
        .memory(0, fringes_types::ChunkFormat::Packed { bits: 10 });
    let build = |limit| builder().build::<Complex<i8>>(&Backend::cpu().with_memory_limit(limit));
    assert!(build(need.smallest_step_bytes).is_ok());
    let expected = DeviceError::MemoryLimit {
        operation: "f_engine",
        needed: need.smallest_step_bytes,
        limit: need.smallest_step_bytes - 1,
    };
    assert_eq!(build(need.smallest_step_bytes - 1).unwrap_err(), expected.into());
    let full = builder().build::<Complex<i8>>(&Backend::cpu()).unwrap();
    let need = full.memory(100_000, fringes_types::ChunkFormat::Packed { bits: 10 });
    // No size overflows.
    let builder = FEngineBuilder::new(Channelizer::complex(1).taps(1).build().unwrap(), Inputs::single_pol(1).unwrap());
    let smallest = builder.spectra_per_frame(1).build::<Complex<f32>>(&Backend::cpu()).unwrap();
    let huge = smallest.memory(usize::MAX, fringes_types::ChunkFormat::Packed { bits: 16 });
    assert_eq!((huge.total_bytes(), huge.input_bytes), (u64::MAX, u64::MAX / 8 + 1));
    // 781 strides: 195 frames and an open one.
    assert_eq!((need.input_bytes, need.output_bytes), (2 * 125_000, 196 * 64 * 4 * 2 * 2));
}

#[test]
fn what_does_not_follow_is_refused_and_leaves_the_stream_as_it_was() {
    let case = Case { length: 6000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let expected = case.streamed::<Complex<i8>>(&backend, &[3000]).frames;
        let mut engine = case.engine::<Complex<i8>>(&backend);
        let mut frames = engine.push(&*case.chunk(&samples, 0, 3000)).unwrap().frames;
        let mut refuses = |chunk: &dyn fringes_types::SampleChunk| engine.push(chunk).unwrap_err();

        let early = refuses(&*case.chunk(&samples, 2999, 6000));
        assert_eq!(early, ChannelizerError::OutOfOrder { expected: 3000, actual: 2999 });
        let real = samples.mapv(|value| value.re);
        let part = real.slice(ndarray::s![.., 3000..]);
        let inputs = case.inputs();
        let complex = Samples::new(samples.clone(), inputs).unwrap().with_first_sample(3000);
        assert_eq!(refuses(&complex), ChannelizerError::SampleKind { expected_complex: false });
        let other = Inputs::single_pol(2).unwrap();
        let others = PackedSamples::pack(part, 10, other).unwrap().with_first_sample(3000);
        assert_eq!(refuses(&others), ChannelizerError::Inputs { expected: inputs, actual: other });
        let packed = PackedSamples::pack(part, 10, inputs).unwrap().with_first_sample(3000);
        let rate = refuses(&packed.clone().with_sample_rate(2.0).unwrap());
        assert!(matches!(rate, ChannelizerError::Axis { quantity: "sample rate in Hz", .. }));
        let centre = refuses(&packed.clone().with_centre_frequency(2.0).unwrap());
        assert!(matches!(centre, ChannelizerError::Axis { quantity: "centre frequency in Hz", .. }));
        let typed = refuses(&Samples::new(part.to_owned(), inputs).unwrap().with_first_sample(3000));
        let (expected_format, actual) = ("packed 10-bit integer".into(), "real 16-bit integer".into());
        let quantity = "sample format";
        assert_eq!(typed, ChannelizerError::Axis { quantity, expected: expected_format, actual });
        let wide = refuses(&PackedSamples::pack(part, 12, inputs).unwrap().with_first_sample(3000));
        assert!(matches!(wide, ChannelizerError::Axis { quantity: "sample format", .. }));
        let late = refuses(&packed.clone().with_first_sample(u64::MAX - 10));
        assert!(matches!(late, ChannelizerError::Counter { .. }));

        frames.extend(engine.push(&packed).unwrap().frames);
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn delays_beyond_the_limits_are_refused_and_leave_the_stream_as_it_was() {
    let case = Case { length: 6000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let expected = case.streamed::<Complex<i8>>(&backend, &[3000]).frames;
        let mut engine: FEngine<Complex<i8>> = case.builder().delay_limits(1000, 100).build(&backend).unwrap();
        let mut frames = engine.push(&*case.chunk(&samples, 0, 3000)).unwrap().frames;
        let next = engine.next_stamp().unwrap();
        let chunk = case.chunk(&samples, 3000, 6000);
        for (delay, too_large) in [(1001.0, true), (-1001.0, true), (500.0, false)] {
            engine.delays_mut()[1].push(DelaySegment::new(next + 128, vec![delay])).unwrap();
            let error = engine.push(&*chunk).unwrap_err();
            let fits = match error {
                ChannelizerError::DelayTooLarge { input, actual, limit, .. } => {
                    too_large && (input, actual, limit) == (1, delay, 1000)
                }
                ChannelizerError::DelayJump { input, .. } => !too_large && input == 1,
                _ => false,
            };
            assert!(fits, "{error}");
            engine.delays_mut()[1] = DelayModel::zero();
        }
        frames.extend(engine.push(&*chunk).unwrap().frames);
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn one_call_with_too_few_samples_says_how_many_it_needs() {
    let case =
        Case { first: 100, length: 923, delays: vec![(0.0, 0.0, 0.0, 0.0), (3.0, 0.0, 0.0, 0.0)], ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        // The first frame is at 512: the window of input 0 is 512 .. 1024, 412 .. 924 from sample 100 on.
        let error = f_engine::<Complex<i8>>(&backend, &*case.chunk(&samples, 0, 923), case.builder()).unwrap_err();
        assert_eq!(error, ChannelizerError::TooShort { needed: 924, actual: 923 });
        let empty = f_engine::<Complex<i8>>(&backend, &*case.chunk(&samples, 0, 0), case.builder()).unwrap_err();
        assert_eq!(empty, ChannelizerError::TooShort { needed: 512, actual: 0 });
    }
}
