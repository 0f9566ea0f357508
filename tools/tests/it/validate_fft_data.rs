//! What `validate` and `bench_gpu` expect of transforms on a GPU: spectra held against the definition, the judge
//! against kernels in the emulator and against outputs that are wrong.

#[allow(dead_code, reason = "the tools use the rest")]
#[path = "../../src/fft_data.rs"]
mod fft_data;

use fft_data::{Error, Output, Sample, impulses, noise, spectra};
use fringes::fft::internals::phase_table;
use fringes::fft::{Fft, FftOutput, Overflow, SIZES, Sign, Size};
use fringes::{Backend, Complex, Complex4, f16};
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_fft_batch::{KERNELS, Run, batch::WARPS};
use fringes_reference::dft::dft;
use ndarray::ArrayView2;
use num_complex::Complex64 as C64;

type Spectrum = Complex<f16>;

#[test]
fn spectra_are_what_the_definition_says() {
    for size in SIZES {
        for sign in [Sign::Positive, Sign::Negative] {
            let plan = Fft::<Complex<i8>, f32>::of(size).with_sign(sign).with_scale_exponent(-3).unwrap();
            let samples = noise::<Complex<i8>>(3, size, 1);
            let spectra = spectra(&plan, &samples);
            for (samples, spectrum) in samples.chunks(size.inputs()).zip(spectra.chunks(size.outputs())) {
                let mut padded: Vec<C64> =
                    samples.iter().map(|x| C64::new(f64::from(x.re), f64::from(x.im)) / 8.0).collect();
                padded.resize(size.outputs(), C64::default());
                for (expected, value) in dft(&padded, sign.value()).iter().zip(spectrum) {
                    // Sums of at most 1024 products of 23 at most, each sum and product with a few roundings.
                    assert!((expected - value).norm() < 1024.0 * 1024.0 * 23.0 * 8.0 * f64::EPSILON, "{size}");
                }
            }
        }
    }
}

#[test]
fn random_integers_reach_both_ends_of_their_range() {
    let bytes = noise::<Complex<i8>>(1000, SIZES[0], 3);
    assert!(bytes.iter().any(|x| x.re == -128) && bytes.iter().any(|x| x.im == 127));
    let nibbles = noise::<Complex4>(10, SIZES[0], 3);
    assert!(nibbles.iter().any(|x| x.number().re == -8.0) && nibbles.iter().any(|x| x.number().im == 7.0));
    assert_eq!(Complex4(0x8f).number(), C64::new(-8.0, -1.0));
    assert_eq!(Complex4::from_parts(-3, 5).number(), C64::new(-3.0, 5.0));
}

/// Outputs of the CPU backend.
fn on_cpu<S: Sample, O: FftOutput>(plan: &Fft<S, O>, samples: &[S]) -> Vec<O> {
    let samples = ArrayView2::from_shape((samples.len() / plan.inputs(), plan.inputs()), samples).unwrap();
    plan.transform(&Backend::cpu(), samples).unwrap().into_iter().collect()
}

#[test]
fn the_judge_passes_rounded_outputs_and_fails_wrong_ones() {
    for size in SIZES {
        let plan = Fft::<Complex4, Spectrum>::of(size);
        let samples = noise::<Complex4>(5, size, 2);
        let expected = spectra(&plan, &samples);
        let judge = |outputs: &[Spectrum]| Error::of(&expected, outputs).within(plan.relative_error());
        let outputs = on_cpu(&plan, &samples);
        assert_eq!(judge(&outputs), Ok(()), "{size}");
        let mut swapped = outputs.clone();
        swapped.swap(1, 2);
        assert!(judge(&swapped).is_err(), "{size}: two outputs swapped");
        assert!(judge(&on_cpu(&plan.with_sign(Sign::Positive), &samples)).is_err(), "{size}: the other sign");
        for bad in [f16::NAN, f16::INFINITY] {
            let mut outputs = outputs.clone();
            outputs[size.outputs()].im = bad;
            assert!(judge(&outputs).is_err(), "{size}: {bad}");
        }
        // Two percent more in one output of each transform, and never nothing.
        let mut off = outputs.clone();
        off.chunks_mut(size.outputs()).for_each(|row| row[0].re = f16::from_f32(row[0].re.to_f32() * 1.02 + 0.02));
        assert!(judge(&off).is_err(), "{size}: two percent off");
        let powers = plan_of_powers(size);
        let mut outputs = on_cpu(&powers, &samples);
        assert_eq!(Error::of(&expected, &outputs).within(plan.relative_error()), Ok(()), "{size}");
        outputs.swap(1, 2);
        assert!(Error::of(&expected, &outputs).within(plan.relative_error()).is_err(), "{size}: two powers swapped");
    }
}

fn plan_of_powers(size: Size) -> Fft<Complex4, f32> {
    Fft::of(size)
}

/// The outputs of a kernel in the emulator.
fn emulated<S: Sample, O: Output>(plan: &Fft<S, O>, samples: &[S]) -> Vec<O> {
    let transforms = samples.len() / plan.inputs();
    let output = O::kernel(plan.overflow());
    let name = format!("fft_{}_{}_{}_{output}", plan.inputs(), plan.outputs(), S::KERNEL);
    let kernel = KERNELS.iter().find(|kernel| kernel.name() == name).unwrap();
    let mut memory = GlobalMemory::new();
    let samples = memory.upload(bytemuck::cast_slice::<S, u32>(samples));
    let phases = memory.upload(&phase_table(plan.size(), plan.sign(), plan.scale_exponent()));
    let launch = Launch::new(kernel.declaration, [2, 1, 1], [32 * WARPS, 1, 1]);
    let pairs = transforms * plan.outputs() / 2;
    match kernel.run {
        Run::Half(kernel) => {
            let spectra = memory.allocate::<[u32; 2]>(pairs);
            let run = || kernel(samples.into(), phases.into(), spectra.into(), transforms as u32);
            launch.run(&mut memory, run).assert_clean();
            bytemuck::cast_slice(&memory.values(spectra)).to_vec()
        }
        Run::Power(kernel) => {
            let powers = memory.allocate::<[f32; 2]>(pairs);
            let run = || kernel(samples.into(), phases.into(), powers.into(), transforms as u32);
            launch.run(&mut memory, run).assert_clean();
            bytemuck::cast_slice(&memory.values(powers)).to_vec()
        }
    }
}

fn judge_kernels<S: Sample>(size: Size) {
    fn judge<S: Sample, O: Output>(plan: Fft<S, O>, samples: &[S], signal: &str) {
        let error = Error::of(&spectra(&plan, samples), &emulated(&plan, samples));
        assert_eq!(error.within(plan.relative_error()), Ok(()), "{}, {}, {signal}", plan.size(), S::KERNEL);
    }
    for sign in [Sign::Positive, Sign::Negative] {
        let (spectra, powers) = (Fft::<S, Spectrum>::of(size).with_sign(sign), Fft::<S, f32>::of(size).with_sign(sign));
        for transforms in [1, 9] {
            let samples = noise::<S>(transforms, size, 4 + transforms as u64);
            judge(spectra, &samples, "noise");
            judge(spectra.with_overflow(Overflow::Saturate), &samples, "noise, saturating");
            judge(powers, &samples, "noise, powers");
        }
        judge(spectra, &impulses::<S>(size)[..9 * size.inputs()], "impulses");
        judge(powers, &impulses::<S>(size)[..9 * size.inputs()], "impulses, powers");
    }
    for exponent in [-10, -3, 2] {
        let plan = Fft::<S, Spectrum>::of(size).with_scale_exponent(exponent).unwrap();
        judge(plan, &noise::<S>(3, size, 6), &format!("2^{exponent}"));
    }
}

/// Sizes that have kernels.
fn sizes() -> impl Iterator<Item = Size> {
    let has_kernel = |size: &Size| KERNELS.iter().any(|kernel| kernel.size() == Some((size.inputs(), size.outputs())));
    SIZES.into_iter().filter(has_kernel)
}

#[test]
fn the_judge_passes_every_kernel_in_the_emulator() {
    for size in sizes() {
        judge_kernels::<Complex<f16>>(size);
        judge_kernels::<Complex<i8>>(size);
        judge_kernels::<Complex4>(size);
    }
}

#[test]
fn f16_overflows_as_validate_expects_it_to() {
    for size in sizes() {
        let samples = vec![Complex::new(f16::MAX, f16::MAX); size.inputs()];
        let plan = Fft::<Spectrum, Spectrum>::of(size);
        assert!(!emulated(&plan, &samples)[0].re.is_finite());
        let saturated = emulated(&plan.with_overflow(Overflow::Saturate), &samples);
        assert_eq!(saturated[0], Complex::new(f16::MAX, f16::MAX), "{size}");
        assert!(saturated.iter().all(|y| y.re.is_finite() && y.im.is_finite()), "{size}");
    }
}
