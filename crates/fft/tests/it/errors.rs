//! What plans refuse, with what was expected and what came.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::{Backend, DeviceError};
use fringes_fft::internals::gpu_memory;
use fringes_fft::{Fft, FftError, SCALE_EXPONENTS, SIZES, Sign};
use fringes_types::{Complex4, f16};
use ndarray::Array2;
use num_complex::Complex;

type PlanOf8Bits = Fft<Complex<i8>, Complex<f16>>;

fn samples(transforms: usize, inputs: usize) -> Array2<Complex<i8>> {
    Array2::from_elem((transforms, inputs), Complex::new(1, 0))
}

#[test]
fn other_sizes_are_refused_with_the_list_of_sizes() {
    let sizes = SIZES.map(|size| (size.inputs(), size.outputs()));
    for inputs in [0, 1, 32, 63, 64, 128, 256, 257, 512, 1024, 2048, usize::MAX] {
        for outputs in [0, 1, 64, 100, 128, 256, 512, 1024, 2048, usize::MAX] {
            let plan = PlanOf8Bits::new(inputs, outputs);
            if sizes.contains(&(inputs, outputs)) {
                assert_eq!(plan.map(|plan| (plan.inputs(), plan.outputs())), Ok((inputs, outputs)));
            } else {
                assert_eq!(plan, Err(FftError::Size { inputs, outputs }));
            }
        }
    }
    let message = PlanOf8Bits::new(256, 1024).unwrap_err().to_string();
    let list =
        "64 -> 64, 64 -> 128, 128 -> 128, 128 -> 256, 256 -> 256, 256 -> 512, 512 -> 512, 512 -> 1024, 1024 -> 1024";
    assert_eq!(message, format!("a transform of 256 inputs to 1024 outputs: expected one of {list}"));
}

#[test]
fn scales_outside_the_range_are_refused() {
    let plan = PlanOf8Bits::new(64, 64).unwrap();
    for actual in [i32::MIN, SCALE_EXPONENTS.start() - 1, SCALE_EXPONENTS.end() + 1, i32::MAX] {
        assert_eq!(plan.with_scale_exponent(actual), Err(FftError::ScaleExponent { actual }));
    }
    for exponent in SCALE_EXPONENTS {
        assert_eq!(plan.with_scale_exponent(exponent).unwrap().scale_exponent(), exponent);
    }
    assert_eq!(plan.with_scale_exponent(11).unwrap_err().to_string(), "scale 2^11: expected an exponent of -10..=10");
}

#[test]
fn arrays_of_other_shapes_are_refused_and_nothing_is_written() {
    let plan = PlanOf8Bits::new(64, 128).unwrap();
    let error = |dimension, array, expected, actual| Err(FftError::Shape { array, dimension, expected, actual });
    assert_eq!(plan.transform(&Backend::cpu(), samples(3, 128).view()), error("n", "samples", 64, 128));
    assert_eq!(plan.transform(&Backend::cpu(), samples(3, 0).view()), error("n", "samples", 64, 0));
    let old = Complex::new(f16::ONE, f16::NEG_ONE);
    for (shape, dimension, expected, actual) in
        [((2, 128), "transform", 3, 2), ((3, 64), "q", 128, 64), ((4, 128), "transform", 3, 4)]
    {
        let mut outputs = Array2::from_elem(shape, old);
        let result = plan.transform_into(&Backend::cpu(), samples(3, 64).view(), outputs.view_mut());
        assert_eq!(result, Err(FftError::Shape { array: "spectra", dimension, expected, actual }));
        assert!(outputs.iter().all(|&value| value == old));
    }
    let message = plan.transform(&Backend::cpu(), samples(3, 128).view()).unwrap_err().to_string();
    assert_eq!(message, "dimension `n` of samples: expected 64, found 128");
}

#[test]
fn no_transforms_give_no_outputs() {
    for size in SIZES {
        let plan = PlanOf8Bits::of(size);
        let outputs = plan.transform(&Backend::cpu(), samples(0, size.inputs()).view()).unwrap();
        assert_eq!(outputs.dim(), (0, size.outputs()));
        assert!(plan.transform(&Backend::cpu(), samples(0, 3).view()).is_err(), "the rows' length is still checked");
    }
}

#[test]
fn a_limit_below_the_smallest_step_is_refused() {
    let plan = Fft::<Complex4, f32>::new(256, 512).unwrap();
    let samples = Array2::from_elem((3, 256), Complex4::default());
    let needed = plan.memory(&Backend::cpu(), 3).unwrap().smallest_step_bytes;
    let backend = Backend::cpu().with_memory_limit(needed - 1);
    let expected = DeviceError::MemoryLimit { operation: "FFT", needed, limit: needed - 1 };
    assert_eq!(plan.transform(&backend, samples.view()), Err(expected.into()));
}

#[test]
fn memory_on_a_gpu_is_samples_and_outputs_of_a_part() {
    let plan = Fft::<Complex4, f32>::new(256, 512).unwrap();
    let each = 256 + 512 * 4;
    let need = gpu_memory(&plan, 1000);
    assert_eq!((need.input_bytes, need.output_bytes), (256_000, 2_048_000));
    assert_eq!((need.workspace_bytes, need.smallest_step_bytes), (1000 * each, each));
    let need = gpu_memory(&plan, usize::MAX);
    assert!(need.workspace_bytes <= 1 << 30 && need.workspace_bytes > (1 << 30) - each);
    assert_eq!(gpu_memory(&plan, 0).input_bytes, 0);
}

#[test]
fn a_plan_is_what_it_was_told() {
    let plan = PlanOf8Bits::new(512, 1024).unwrap();
    assert_eq!((plan.sign(), plan.scale_exponent()), (Sign::Negative, 0));
    assert_eq!((plan.input_bytes(10), plan.output_bytes(10)), (10 * 512 * 2, 10 * 1024 * 4));
    assert_eq!(plan.input_bytes(usize::MAX), u64::MAX);
    assert_eq!(plan.with_sign(Sign::Positive).sign(), Sign::Positive);
}
