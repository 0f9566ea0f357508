//! What the narrowband F-engine refuses, in ADC samples, and that it is as it was afterwards.

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{Channelizer, ChannelizerError, DownConverter};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_f_engine::{Intermediate, NarrowbandFEngine, NarrowbandFEngineBuilder};
use fringes_types::{ChunkFormat, Complex, Dimension, Gains, Inputs, Samples, TypesError};
use ndarray::Array2;

use crate::support::{Case, Format, backends};

type Built = Result<NarrowbandFEngine<Complex<i8>>, ChannelizerError>;

fn with_plan(plan: Channelizer) -> NarrowbandFEngineBuilder {
    let down_converter = DownConverter::new(0.2, 8, vec![0.1; 16]).unwrap();
    NarrowbandFEngineBuilder::new(down_converter, plan, Inputs::new(1, 2).unwrap()).spectra_per_frame(4)
}

fn builder() -> NarrowbandFEngineBuilder {
    with_plan(Channelizer::complex(64).taps(4).build().unwrap()).outer_half_discarded()
}

#[test]
fn bad_parameters_are_typed_errors() {
    for backend in backends() {
        let error = |built: NarrowbandFEngineBuilder| -> ChannelizerError {
            let built: Built = built.build(&backend);
            built.unwrap_err()
        };
        let real = error(with_plan(Channelizer::real(64).taps(4).build().unwrap()));
        assert_eq!(real, ChannelizerError::SampleKind { expected_complex: false });
        let odd = with_plan(Channelizer::complex(27).taps(4).build().unwrap());
        assert_eq!(error(odd.clone().outer_half_discarded()), ChannelizerError::OddChannels { actual: 27 });
        assert!(odd.build::<Complex<i8>>(&backend).is_ok());
        let zero = ChannelizerError::Zero { quantity: "spectra per frame" };
        assert_eq!(error(builder().spectra_per_frame(0)), zero);
        for (start, end) in [(3, 3), (0, 33), (32, 40), (9, 2), (5, usize::MAX)] {
            let expected = ChannelizerError::ChannelRange { start, end, channels: 32 };
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
        // 2^52 / 512 spectra are 2^52 ADC samples.
        for spectra in [usize::MAX, (1 << 43) + 1] {
            let large = error(builder().spectra_per_frame(spectra));
            assert!(matches!(large, ChannelizerError::Types(TypesError::TooLarge { .. })), "{large}");
        }
        assert_eq!(builder().build::<Complex<i8>>(&backend).unwrap().intermediate(), Intermediate::Float32);
    }
}

#[test]
fn memory_of_the_query_suffices_to_the_end_of_the_stream_and_less_is_an_error() {
    for format in [Format::Packed10, Format::Int16, Format::ComplexFloat32] {
        let case = Case {
            format,
            length: 9000,
            delays: vec![(3.3, 0.0, 0.0, 0.0), (-57.9, 0.0, 0.0, 0.0)],
            ..Case::default()
        };
        let samples = case.samples();
        let chunk = case.chunk(&samples, 0, 2500);
        let need = case.builder().memory::<Complex<i8>>(&Backend::cpu(), 2500, chunk.format()).unwrap();
        let built: NarrowbandFEngine<Complex<i8>> = case.engine(&Backend::cpu());
        assert_eq!(built.memory(2500, chunk.format()), need);
        assert!(need.smallest_step_bytes <= need.workspace_bytes);
        // 313 down-converted samples of 8 bytes, of two inputs, are in it.
        assert!(need.smallest_step_bytes > 2 * 312 * 8);
        let whole = case.frames::<Complex<i8>>(&Backend::cpu());
        let limited = |bytes| case.builder().build::<Complex<i8>>(&Backend::cpu().with_memory_limit(bytes)).unwrap();
        let mut engine = limited(need.smallest_step_bytes);
        let mut frames = Vec::new();
        for from in (0..9000).step_by(2500) {
            let to = (from + 2500).min(9000);
            frames.extend(engine.push(&*case.chunk(&samples, from, to)).unwrap().frames);
            let limit = need.smallest_step_bytes;
            assert!(engine.held_bytes() <= limit, "{} of {limit}", engine.held_bytes());
        }
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).unwrap(), whole);

        let (needed, limit) = (need.smallest_step_bytes, need.smallest_step_bytes - 1);
        let error = limited(limit).push(&*chunk).unwrap_err();
        let operation = "narrowband_f_engine";
        assert_eq!(error, DeviceError::MemoryLimit { operation, needed, limit }.into());
        let error = case.builder().build::<Complex<i8>>(&Backend::cpu().with_memory_limit(100)).unwrap_err();
        assert!(matches!(error, ChannelizerError::Device(DeviceError::MemoryLimit { limit: 100, .. })), "{error}");
    }
    let real = with_plan(Channelizer::real(64).build().unwrap());
    let error = real.memory::<Complex<i8>>(&Backend::cpu(), 10, ChunkFormat::Packed { bits: 10 }).unwrap_err();
    assert_eq!(error, ChannelizerError::SampleKind { expected_complex: false });
}

#[test]
fn chunks_that_do_not_follow_are_refused_and_change_nothing() {
    let case = Case { length: 6000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let whole = case.frames::<Complex<f32>>(&backend);
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let mut frames = engine.push(&*case.chunk(&samples, 0, 3000)).unwrap().frames;
        let earlier = engine.push(&*case.chunk(&samples, 2999, 3500)).unwrap_err();
        assert_eq!(earlier, ChannelizerError::OutOfOrder { expected: 3000, actual: 2999 });
        let other = Case { format: Format::Int16, ..case.clone() };
        let axis = engine.push(&*other.chunk(&other.samples(), 3000, 3500)).unwrap_err();
        assert!(matches!(axis, ChannelizerError::Axis { quantity: "sample format", .. }), "{axis}");
        let other = Case { format: Format::ComplexFloat32, ..case.clone() };
        let kind = engine.push(&*other.chunk(&other.samples(), 3000, 3500)).unwrap_err();
        assert_eq!(kind, ChannelizerError::SampleKind { expected_complex: false });
        let other = Case { pols: 1, ..case.clone() };
        let inputs = engine.push(&*other.chunk(&other.samples(), 3000, 3500)).unwrap_err();
        assert!(matches!(inputs, ChannelizerError::Inputs { .. }), "{inputs}");
        let old = Case { first: (1 << 62) - 3000 - 499, ..case.clone() };
        let counter = engine.push(&*old.chunk(&samples, 3000, 3500)).unwrap_err();
        assert_eq!(counter, ChannelizerError::Counter { actual: (1 << 62) + 1, limit: 1 << 62 });
        frames.extend(engine.push(&*case.chunk(&samples, 3000, 6000)).unwrap().frames);
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).unwrap(), whole);
    }
}

#[test]
fn delays_beyond_the_limits_are_named_in_adc_samples_and_nothing_is_taken() {
    let case = Case { length: 8000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        for gap in [0, 300] {
            let mut engine = case.builder().delay_limits(80, 16).build::<Complex<f32>>(&backend).unwrap();
            engine.push(&*case.chunk(&samples, 0, 3200)).unwrap();
            let (expected, next) = (engine.expected_sample(), engine.next_stamp());
            let chunk = case.chunk(&samples, 3200 + gap, 8000);
            let at = 4096;
            let healthy = engine.delays()[1].clone();
            engine.delays_mut()[1].push(DelaySegment::new(at, vec![-1000.25])).unwrap();
            let error = engine.push(&*chunk).unwrap_err();
            assert_eq!(error, ChannelizerError::DelayTooLarge { input: 1, sample: at, actual: -1000.25, limit: 80 });
            assert_eq!((engine.expected_sample(), engine.next_stamp()), (expected, next));
            // From -80 to 80 samples: windows begin 160 samples earlier than those before, less a stride.
            engine.delays_mut()[1] = healthy.clone();
            engine.delays_mut()[1].replace_from(DelaySegment::new(at, vec![-80.0])).unwrap();
            engine.delays_mut()[1].push(DelaySegment::new(at + 256, vec![80.0])).unwrap();
            let error = engine.push(&*chunk).unwrap_err();
            // The window at 4096 + 128 begins with sample 4304, that at 4096 + 256 would with 4272; 24 are held.
            let (start, earliest) = (4096 + 256 - 80, 4096 + 128 + 80 - 24);
            assert_eq!(error, ChannelizerError::DelayJump { input: 1, sample: at + 256, start, earliest });
            assert_eq!((engine.expected_sample(), engine.next_stamp()), (expected, next));
            // The same chunk is taken once the model is mended.
            engine.delays_mut()[1] = healthy;
            let frames = engine.push(&*chunk).unwrap().frames;
            let mut other = case.engine::<Complex<f32>>(&backend);
            other.push(&*case.chunk(&samples, 0, 3200)).unwrap();
            let same = other.push(&*chunk).unwrap().frames;
            assert_eq!(frames.len(), 1 + usize::from(gap > 0));
            assert_eq!(frames, same);
        }
        // Limits that are not whole down-converted samples allow what they say.
        for delay in [-107.0, 107.0] {
            let models = vec![DelayModel::constant(delay, 0.0).unwrap(); 2];
            let mut engine =
                case.builder().delay_limits(107, 0).delays(models).build::<Complex<f32>>(&backend).unwrap();
            assert!(!engine.push(&*case.chunk(&samples, 0, 3000)).unwrap().frames.is_empty());
        }
        assert!(case.builder().delay_limits(u64::MAX, u64::MAX).build::<Complex<f32>>(&backend).is_ok());
    }
}

#[test]
fn a_stream_on_the_cpu_has_no_stream_of_a_device() {
    let mut engine: NarrowbandFEngine<Complex<i8>> = builder().build(&Backend::cpu()).unwrap();
    assert!(engine.stream().is_none());
    let error = engine.flush_on_device().unwrap_err();
    assert!(matches!(error, ChannelizerError::Device(DeviceError::NotOnGpu { .. })), "{error}");
    let empty = Samples::new(Array2::<i8>::zeros((2, 0)), Inputs::new(1, 2).unwrap());
    if let Ok(empty) = empty {
        let given = engine.push(&empty).unwrap();
        assert_eq!((given.frames.len(), given.statistics[0].samples, engine.expected_sample()), (0, 0, None));
    }
}
