//! FFT beams by their public interface, on the CPU: against the reference, with missing data, limits and bad arguments.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::{Backend, DeviceError};
use fringes_fft::{BeamFft, BeamOutput, BeamSample, FeedLines, FftError};
use fringes_reference::beamformer as reference;
use fringes_types::{Complex, Complex4, Dimension, TypesError, f16};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;
const U: f64 = 1.0 / (1 << 24) as f64;

fn wide(value: C32) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

/// Voltages of at most 7 in each part, gains and flags.
struct Data<V> {
    lines: FeedLines,
    voltages: Array3<V>,
    gains: Array2<C32>,
    present: Array2<bool>,
}

impl<V: BeamSample> Data<V> {
    fn new(lines: FeedLines, [channels, times]: [usize; 2], sample: impl Fn(i8, i8) -> V) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64((channels * 100 + times) as u64);
        let inputs = lines.inputs();
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || {
            sample(random.random_range(-7..=7), random.random_range(-7..=7))
        });
        let gains = Array2::from_shape_simple_fn((channels, inputs), || {
            Complex::from_polar(random.random_range(0.1..3.0), random.random_range(0.0..std::f32::consts::TAU))
        });
        let present = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.8));
        Self { lines, voltages, gains, present }
    }

    fn expected(&self) -> Array3<C64> {
        let mut voltages = self.voltages.mapv(|x| wide(x.to_c32()));
        for ((_, time, input), value) in voltages.indexed_iter_mut() {
            *value *= f64::from(u8::from(self.present[(time, input)]));
        }
        let (lines, feeds) = (self.lines.lines(), self.lines.feeds());
        let layout = reference::FeedLines { lines, feeds, pols: self.lines.pols(), padded: self.lines.padded() };
        reference::fft_beams(voltages.view(), self.gains.mapv(wide).view(), layout)
    }

    fn plan<O: BeamOutput>(&self) -> BeamFft<V, O> {
        BeamFft::new(self.lines).with_gains(self.gains.clone()).unwrap()
    }

    fn form<O: BeamOutput>(&self, plan: &BeamFft<V, O>, backend: &Backend) -> Array3<O> {
        plan.form(backend, self.voltages.view(), Some(self.present.view())).unwrap()
    }
}

/// Sum of the bound of the CPU's transforms over a channel and time: its f32 part, relative to the largest beam that there can be.
fn bound<V: BeamSample>(data: &Data<V>) -> f64 {
    let padded = data.lines.padded() as f64;
    // Voltages of 10 at most, gains of 3 at most.
    (7.0 * padded.log2() + 4.0) * U * padded.sqrt() * 30.0 * (data.lines.feeds() as f64).sqrt()
}

fn every_output_is_within_its_bound<V: BeamSample>(data: &Data<V>) {
    let (cpu, expected, bound) = (Backend::cpu(), data.expected(), bound(data));
    let beams = data.form(&data.plan::<C32>(), &cpu);
    assert_eq!(beams.dim(), expected.dim());
    for (beam, expected) in beams.iter().zip(&expected) {
        assert!((wide(*beam) - expected).norm() <= bound, "{beam} {expected}");
    }
    for (beam, expected) in data.form(&data.plan::<Complex<f16>>(), &cpu).iter().zip(&expected) {
        let beam = C64::new(beam.re.into(), beam.im.into());
        assert!(
            (beam - expected).norm() <= bound + expected.norm() * 2f64.powi(-11) + 2f64.powi(-24),
            "{beam} {expected}"
        );
    }
    for (&power, expected) in data.form(&data.plan::<f32>(), &cpu).iter().zip(&expected) {
        let size = expected.norm();
        assert!((f64::from(power).sqrt() - size).abs() <= bound + 2.0 * U * size, "{power} {expected}");
    }
}

#[test]
fn beams_are_those_of_the_reference() {
    for (lines, feeds, pols, padded, dim) in
        [(1, 64, 1, 64, [2, 3]), (3, 50, 2, 128, [2, 5]), (2, 100, 1, 128, [1, 70]), (1, 7, 2, 512, [3, 1])]
    {
        let lines = FeedLines::new(lines, feeds, pols, padded).unwrap();
        every_output_is_within_its_bound(&Data::new(lines, dim, Complex::new));
        every_output_is_within_its_bound(&Data::new(lines, dim, |re, im| Complex4::new(re, im).unwrap()));
    }
}

#[test]
fn a_limit_on_memory_changes_no_bit_until_one_step_does_not_fit() {
    fn check<O: BeamOutput>(data: &Data<Complex<i8>>) {
        let (channels, times, _) = data.voltages.dim();
        let (plan, cpu) = (data.plan::<O>(), Backend::cpu());
        let need = plan.memory(channels, times);
        assert_eq!(need.input_bytes, (data.voltages.len() * 2) as u64);
        assert_eq!(need.output_bytes, (channels * times * data.lines.beams() * size_of::<O>()) as u64);
        let expected = data.form(&plan, &cpu);
        for limit in [need.smallest_step_bytes, 3 * need.smallest_step_bytes, need.workspace_bytes] {
            assert!(data.form(&plan, &cpu.clone().with_memory_limit(limit)) == expected);
        }
        if let Some(limit) = need.smallest_step_bytes.checked_sub(1) {
            let backend = cpu.with_memory_limit(limit);
            let error = plan.form(&backend, data.voltages.view(), None).unwrap_err();
            let needed = need.smallest_step_bytes;
            assert_eq!(error, DeviceError::MemoryLimit { operation: "FFT beams", needed, limit }.into());
        }
    }
    let data = Data::new(FeedLines::new(2, 30, 2, 64).unwrap(), [3, 40], Complex::new);
    check::<C32>(&data);
    check::<Complex<f16>>(&data);
    check::<f32>(&data);
}

#[test]
fn a_scale_multiplies_voltages_by_its_power_of_two_and_powers_by_its_square() {
    let data = Data::new(FeedLines::new(2, 30, 1, 64).unwrap(), [1, 4], Complex::new);
    fn check<O: BeamOutput>(data: &Data<Complex<i8>>, scaled: impl Fn(O) -> O) {
        let plan = data.plan::<O>();
        let expected = data.form(&plan, &Backend::cpu()).mapv(scaled);
        let plan = plan.with_scale_exponent(-3).unwrap();
        assert_eq!(plan.scale_exponent(), -3);
        assert_eq!(data.form(&plan, &Backend::cpu()), expected);
    }
    check::<C32>(&data, |beam| beam * 0.125);
    check::<f32>(&data, |power| power * 0.015625);
}

#[test]
fn arrays_that_do_not_fit_are_typed_errors() {
    let lines = FeedLines::new(2, 30, 2, 64).unwrap();
    let plan = BeamFft::<Complex<i8>, f32>::new(lines);
    let dimension = |array, dimension, expected, actual| {
        FftError::Types(TypesError::Dimension { array, dimension, expected, actual })
    };
    let voltages = |inputs| Array3::from_elem((3, 5, inputs), Complex::new(1i8, 0));
    let cpu = Backend::cpu();
    let error = plan.form(&cpu, voltages(119).view(), None).unwrap_err();
    assert_eq!(error, dimension("voltages", Dimension::Input, 120, 119));
    let flags = Array2::from_elem((4, 120), true);
    let error = plan.form(&cpu, voltages(120).view(), Some(flags.view())).unwrap_err();
    assert_eq!(error, dimension("presence flags", Dimension::Time, 5, 4));
    let flags = Array2::from_elem((5, 60), true);
    let error = plan.form(&cpu, voltages(120).view(), Some(flags.view())).unwrap_err();
    assert_eq!(error, dimension("presence flags", Dimension::Input, 120, 60));
    let mut out = vec![7f32; 3 * 5 * 256 - 1];
    let error = plan.form_into(&cpu, voltages(120).view(), None, &mut out).unwrap_err();
    let (expected, actual) = (3 * 5 * 256, 3 * 5 * 256 - 1);
    assert_eq!(error, FftError::Shape { array: "beams", dimension: "beam", expected, actual });
    assert!(out.iter().all(|&value| value == 7.0));

    let ones = |channels, inputs| Array2::from_elem((channels, inputs), Complex::new(1f32, 0.0));
    let error = plan.clone().with_gains(ones(3, 60)).unwrap_err();
    assert_eq!(error, dimension("feed gains", Dimension::Input, 120, 60));
    let gained = plan.clone().with_gains(ones(2, 120)).unwrap();
    let error = gained.form(&cpu, voltages(120).view(), None).unwrap_err();
    assert_eq!(error, dimension("feed gains", Dimension::Channel, 3, 2));
}

#[test]
fn gains_and_scales_that_the_output_cannot_be_multiplied_by_are_typed_errors() {
    let lines = FeedLines::new(1, 64, 1, 64).unwrap();
    let gains = |size: f32| Array2::from_elem((1, 64), Complex::new(0.0, size));
    let half = BeamFft::<Complex4, Complex<f16>>::new(lines);
    // Gains of 2^12 are divided by 2^15, of 2^13 by 2^16.
    assert!(half.clone().with_gains(gains(4096.0)).is_ok());
    let error = half.clone().with_gains(gains(8192.0)).unwrap_err();
    assert_eq!(error, FftError::BeamScale { channel: 0, actual: 16, least: -24, greatest: 15 });
    assert!(half.clone().with_scale_exponent(-3).unwrap().with_gains(gains(8192.0)).is_ok());
    let error = half.with_scale_exponent(-28).unwrap_err();
    assert_eq!(error, FftError::BeamScale { channel: 0, actual: -25, least: -24, greatest: 15 });
    let error = BeamFft::<Complex4, f32>::new(lines).with_scale_exponent(i32::MAX).unwrap_err();
    assert_eq!(error, FftError::BeamScale { channel: 0, actual: i32::MAX, least: -63, greatest: 63 });
    let error = BeamFft::<Complex4, C32>::new(lines).with_gains(gains(1e19)).unwrap_err();
    assert!(matches!(error, FftError::GainRange { channel: 0, .. }));
    assert!(matches!(
        BeamFft::<Complex4, C32>::new(lines).with_gains(gains(f32::NAN)),
        Err(FftError::Types(TypesError::NotFinite { quantity: "feed gain", .. }))
    ));
}

#[test]
fn no_times_give_no_beams() {
    let lines = FeedLines::new(1, 64, 1, 64).unwrap();
    let voltages = Array3::<Complex4>::default((2, 0, 64));
    let beams = BeamFft::<_, f32>::new(lines).form(&Backend::auto(), voltages.view(), None);
    assert_eq!(beams.unwrap().dim(), (2, 0, 64));
}
