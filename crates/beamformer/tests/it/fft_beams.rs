//! FFT beams of every output on the CPU: against the reference, with missing data, scales, limits and bad arguments;
//! and what kernels take.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::{Backend, DeviceError};
use fringes_beamformer::internals::gpu_memory;
use fringes_beamformer::{BeamSet, BeamformerError, FftBeamOutput, FftBeams, SCALE_EXPONENTS, beamform};
use fringes_reference::beamformer as reference;
use fringes_types::{Complex, Complex4, Inputs, SampleFormat, VoltageSample, Voltages, f16};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;
const U: f64 = 1.0 / (1 << 24) as f64;

fn wide(value: C32) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

/// Lines of feeds, voltages of at most 7 in each part with flags, and gains.
struct Data<V: VoltageSample> {
    layout: reference::FeedLines,
    voltages: Voltages<V>,
    gains: Array2<C32>,
}

impl<V: VoltageSample> Data<V> {
    fn new(
        [lines, feeds, pols, padded]: [usize; 4],
        [channels, times]: [usize; 2],
        sample: impl Fn(i8, i8) -> V,
    ) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64((channels * 100 + times) as u64);
        let inputs = Inputs::new(lines * feeds, pols).unwrap();
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs.len()), || {
            sample(random.random_range(-7..=7), random.random_range(-7..=7))
        });
        let gains = Array2::from_shape_simple_fn((channels, inputs.len()), || {
            Complex::from_polar(random.random_range(0.1..3.0), random.random_range(0.0..std::f32::consts::TAU))
        });
        let present = Array2::from_shape_simple_fn((times, inputs.len()), || random.random_bool(0.8));
        let voltages = Voltages::new(voltages, inputs).unwrap().with_presence(present).unwrap();
        Self { layout: reference::FeedLines { lines, feeds, pols, padded }, voltages, gains }
    }

    fn expected(&self) -> Array3<C64> {
        let mut voltages = self.voltages.data().mapv(|x| wide(x.to_c32()));
        let present = self.voltages.presence().unwrap();
        for ((_, time, input), value) in voltages.indexed_iter_mut() {
            *value *= f64::from(u8::from(present[(time, input)]));
        }
        reference::fft_beams(voltages.view(), self.gains.mapv(wide).view(), self.layout)
    }

    fn set<O: FftBeamOutput>(&self) -> FftBeams<O> {
        let reference::FeedLines { lines, feeds, padded, .. } = self.layout;
        FftBeams::new(lines, feeds, padded).unwrap().with_gains(self.gains.clone()).unwrap().with_output()
    }

    fn beams<O: FftBeamOutput>(&self, set: &FftBeams<O>, backend: &Backend) -> Array3<O> {
        beamform(backend, &self.voltages, set).unwrap().into_data()
    }
}

/// Bound of a beam of the CPU's transforms, its f32 part.
fn bound<V: VoltageSample>(data: &Data<V>) -> f64 {
    let padded = data.layout.padded as f64;
    // Voltages of 10 at most, gains of 3 at most.
    (7.0 * padded.log2() + 4.0) * U * padded.sqrt() * 30.0 * (data.layout.feeds as f64).sqrt()
}

fn every_output_is_within_its_bound<V: VoltageSample>(data: &Data<V>) {
    let (cpu, expected, bound) = (Backend::cpu(), data.expected(), bound(data));
    let beams = data.beams(&data.set::<C32>(), &cpu);
    assert_eq!(beams.dim(), expected.dim());
    for (beam, expected) in beams.iter().zip(&expected) {
        assert!((wide(*beam) - expected).norm() <= bound, "{beam} {expected}");
    }
    for (beam, expected) in data.beams(&data.set::<Complex<f16>>(), &cpu).iter().zip(&expected) {
        let beam = C64::new(beam.re.into(), beam.im.into());
        assert!(
            (beam - expected).norm() <= bound + expected.norm() * 2f64.powi(-11) + 2f64.powi(-24),
            "{beam} {expected}"
        );
    }
    for (&power, expected) in data.beams(&data.set::<f32>(), &cpu).iter().zip(&expected) {
        let size = expected.norm();
        assert!((f64::from(power).sqrt() - size).abs() <= bound + 2.0 * U * size, "{power} {expected}");
    }
}

#[test]
fn beams_are_those_of_the_reference() {
    for (lines, dim) in
        [([1, 64, 1, 64], [2, 3]), ([3, 50, 2, 128], [2, 5]), ([2, 100, 1, 128], [1, 70]), ([1, 7, 2, 512], [3, 1])]
    {
        every_output_is_within_its_bound(&Data::new(lines, dim, Complex::new));
        every_output_is_within_its_bound(&Data::new(lines, dim, |re, im| Complex4::new(re, im).unwrap()));
    }
}

#[test]
fn a_limit_on_memory_changes_no_bit_until_one_step_does_not_fit() {
    fn check<O: FftBeamOutput>(data: &Data<Complex<i8>>) {
        let (channels, times, _) = data.voltages.data().dim();
        let (set, cpu, inputs) = (data.set::<O>(), Backend::cpu(), data.voltages.inputs());
        let need = set.memory::<Complex<i8>>(&cpu, channels, times, inputs).unwrap();
        assert_eq!(need.input_bytes, (data.voltages.data().len() * 2) as u64);
        assert_eq!(need.output_bytes, (channels * times * data.layout.beams() * size_of::<O>()) as u64);
        // The line itself at least.
        assert!(need.smallest_step_bytes >= (data.layout.padded * size_of::<C32>()) as u64);
        let expected = data.beams(&set, &cpu);
        for limit in [need.smallest_step_bytes, 3 * need.smallest_step_bytes, need.workspace_bytes] {
            assert!(data.beams(&set, &cpu.clone().with_memory_limit(limit)) == expected);
        }
        let (needed, limit) = (need.smallest_step_bytes, need.smallest_step_bytes - 1);
        let error = beamform(&cpu.with_memory_limit(limit), &data.voltages, &set).unwrap_err();
        assert_eq!(error, DeviceError::MemoryLimit { operation: "beamform", needed, limit }.into());
    }
    let data = Data::new([2, 30, 2, 64], [3, 40], Complex::new);
    check::<C32>(&data);
    check::<Complex<f16>>(&data);
    check::<f32>(&data);
}

#[test]
fn a_scale_multiplies_voltages_by_its_power_of_two_and_powers_by_its_square() {
    let data = Data::new([2, 30, 1, 64], [1, 4], Complex::new);
    fn check<O: FftBeamOutput>(data: &Data<Complex<i8>>, scaled: impl Fn(O) -> O) {
        let set = data.set::<O>();
        let expected = data.beams(&set, &Backend::cpu()).mapv(scaled);
        let set = set.with_scale_exponent(-3).unwrap();
        assert_eq!(set.scale_exponent(), -3);
        assert_eq!(data.beams(&set, &Backend::cpu()), expected);
    }
    check::<C32>(&data, |beam| beam * 0.125);
    check::<f32>(&data, |power| power * 0.015625);
}

#[test]
fn scales_beyond_f32_are_typed_errors() {
    let set = FftBeams::new(1, 64, 64).unwrap();
    for actual in [i32::MIN, SCALE_EXPONENTS.start() - 1, SCALE_EXPONENTS.end() + 1, i32::MAX] {
        assert_eq!(set.clone().with_scale_exponent(actual), Err(BeamformerError::ScaleExponent { actual }));
    }
    let error = set.with_scale_exponent(64).unwrap_err();
    assert_eq!(error.to_string(), "scale 2^64: expected an exponent of -63..=63");
}

/// What kernels answer for beams of one line of 64 feeds, of these gains and scale.
fn kernel_gains<O: FftBeamOutput>(gain: f32, scale: i32) -> Result<Vec<f32>, DeviceError> {
    let gains = Array2::from_elem((1, 64), Complex::new(0.0, gain));
    let set = FftBeams::new(1, 64, 64).unwrap().with_gains(gains).unwrap().with_output::<O>();
    let set = set.with_scale_exponent(scale).unwrap();
    let inputs = Inputs::single_pol(64).unwrap();
    let (words, factors) = set.kernel_gains(1, inputs)?;
    assert_eq!(words.len(), 64);
    Ok(factors)
}

#[test]
fn gains_and_scales_that_an_output_cannot_be_multiplied_by_have_no_kernel() {
    // Gains of 2^12 are divided by 2^15, of 2^13 by 2^16.
    assert_eq!(kernel_gains::<Complex<f16>>(4096.0, 0), Ok(vec![32768.0]));
    let refused = |error: Result<_, _>, expected: &str| {
        assert!(matches!(&error, Err(DeviceError::NoKernel { actual, .. }) if actual == expected), "{error:?}");
    };
    refused(kernel_gains::<Complex<f16>>(8192.0, 0), "2^16 in channel 0, where 2^-24 to 2^15 are");
    assert_eq!(kernel_gains::<Complex<f16>>(8192.0, -3), Ok(vec![8192.0]));
    refused(kernel_gains::<Complex<f16>>(1.0, -28), "2^-25 in channel 0, where 2^-24 to 2^15 are");
    assert_eq!(kernel_gains::<C32>(8192.0, 0), Ok(vec![65536.0]));
    refused(kernel_gains::<f32>(1.0, 61), "2^64 in channel 0, where 2^-63 to 2^63 are");
    refused(kernel_gains::<C32>(1e19, 0), &format!("{:e} in channel 0", f64::from(1e19f32)));
    assert_eq!(kernel_gains::<f32>(0.0, 3), Ok(vec![64.0]));
}

#[test]
fn fft_beams_of_integer_voltages_have_kernels_where_there_is_a_transform() {
    use SampleFormat::{Float16, Float32, Int4, Int8};
    let check = |fan: &FftBeams, antennas, pols, format| fan.check_kernel(format, Inputs::new(antennas, pols).unwrap());
    let fan = FftBeams::new(4, 256, 512).unwrap();
    for pols in [1, 2] {
        assert_eq!((check(&fan, 1024, pols, Int4), check(&fan, 1024, pols, Int8)), (Ok(()), Ok(())));
        for format in [Float16, Float32] {
            let (expected, actual) = ("8-bit or 4+4-bit voltages", format.to_string());
            assert_eq!(check(&fan, 1024, pols, format), Err(DeviceError::NoKernel { expected, actual }));
        }
    }
    // 200 feeds fit 256 -> 512 as well.
    assert_eq!(check(&FftBeams::new(1, 200, 512).unwrap(), 200, 1, Int4), Ok(()));
    for padded in [511, 32, 2048, 1000] {
        let error = check(&FftBeams::new(1, 20, padded).unwrap(), 20, 1, Int8).unwrap_err();
        assert!(error.to_string().ends_with(&format!("found 20 feeds padded to {padded}")), "{error}");
    }
    let (lines, limit) = ((1 << 24) / 128, 1 << 24);
    assert_eq!(check(&FftBeams::new(lines, 1, 64).unwrap(), lines, 2, Int8), Ok(()));
    let error = check(&FftBeams::new(lines + 1, 1, 64).unwrap(), lines + 1, 2, Int8);
    assert_eq!(error, Err(DeviceError::TooLarge { what: "FFT beams", actual: limit + 128, limit }));
}

#[test]
fn gains_beyond_what_kernels_take_are_for_the_cpu() {
    let inputs = Inputs::new(1024, 1).unwrap();
    for (size, takes) in [(1.0f32, true), (0.0, true), (1e18, true), (1e-18, true), (1e19, false), (1e-19, false)] {
        let gains = Array2::from_elem((1, 1024), Complex::new(size, 0.0));
        let fan = FftBeams::new(4, 256, 512).unwrap().with_gains(gains).unwrap();
        assert_eq!(fan.check_kernel(SampleFormat::Int8, inputs).is_ok(), takes, "{size}");
        // The CPU takes them all.
        let voltages = Voltages::new(Array3::from_elem((1, 1, 1024), Complex::new(1i8, 0)), inputs).unwrap();
        assert!(beamform(&Backend::cpu(), &voltages, &fan).is_ok());
    }
}

#[test]
fn memory_on_a_gpu_is_that_of_a_kernel_s_steps() {
    let (fan, inputs) = (FftBeams::new(4, 256, 512).unwrap(), Inputs::new(1024, 2).unwrap());
    // Voltages of a byte, flags, and beams of 8 bytes.
    let need = gpu_memory::<Complex4, _>(&fan, 16, 100, inputs);
    assert_eq!(need.input_bytes, 16 * 100 * 2048);
    assert_eq!(need.output_bytes, 16 * 100 * 4096 * 8);
    assert_eq!(need.smallest_step_bytes, 2048 + 2048 + 4096 * 8);
    assert_eq!(need.workspace_bytes, need.input_bytes + need.output_bytes + 100 * 2048);
    let need = gpu_memory::<Complex<i8>, _>(&fan.with_output::<f32>(), 1, 1, inputs);
    assert_eq!(need.smallest_step_bytes, 2 * 2048 + 2048 + 4096 * 4);
}

#[test]
fn no_times_give_no_beams() {
    let inputs = Inputs::single_pol(64).unwrap();
    let voltages = Voltages::new(Array3::<Complex4>::default((2, 0, 64)), inputs).unwrap();
    let fan = FftBeams::new(1, 64, 64).unwrap().with_output::<f32>();
    assert_eq!(beamform(&Backend::auto(), &voltages, &fan).unwrap().data().dim(), (2, 0, 64));
}
