//! Transforms on the CPU: rustfft in f32, on all threads.

use std::sync::Arc;

use fringes_backend::MemoryNeed;
use ndarray::parallel::prelude::*;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use num_complex::Complex;
use rustfft::FftPlanner;

use crate::{Fft, FftOutput, FftSample, Sign, Size};

type C32 = Complex<f32>;

fn planned(size: Size, sign: Sign) -> Arc<dyn rustfft::Fft<f32>> {
    let mut planner = FftPlanner::new();
    match sign {
        Sign::Positive => planner.plan_fft_inverse(size.outputs()),
        Sign::Negative => planner.plan_fft_forward(size.outputs()),
    }
}

/// Bytes of scratch of one thread.
pub(crate) fn unit_bytes(size: Size, sign: Sign) -> u64 {
    let scratch = planned(size, sign).get_inplace_scratch_len();
    ((size.outputs() + scratch) * size_of::<C32>()) as u64
}

/// What transforms on the CPU need.
pub(crate) fn memory<S: FftSample, O: FftOutput>(plan: &Fft<S, O>, transforms: usize) -> MemoryNeed {
    let unit = unit_bytes(plan.size(), plan.sign());
    let parallel = fringes_cpu::blocks::parallel_units(None, unit).min(transforms.max(1));
    MemoryNeed {
        input_bytes: plan.input_bytes(transforms),
        output_bytes: plan.output_bytes(transforms),
        workspace_bytes: unit.saturating_mul(parallel as u64),
        smallest_step_bytes: unit,
    }
}

/// Transforms samples `[transform][n]` to outputs `[transform][q]`, of the plan's shapes, on at most `parallel` threads
/// at a time.
///
/// # Precision
/// Before the output's rounding, over the outputs of a transform, with `u = 2^-24` and norms the roots of sums of
/// squares: `||y - y_reference|| <= 7 log2(outputs) u sqrt(outputs) ||2^k x||` (Higham, Accuracy and Stability of
/// Numerical Algorithms, section 24.1).
pub(crate) fn transform<S: FftSample, O: FftOutput>(
    plan: &Fft<S, O>,
    samples: ArrayView2<'_, S>,
    mut outputs: ArrayViewMut2<'_, O>,
    parallel: usize,
) {
    let fft = planned(plan.size(), plan.sign());
    let scale = 2f32.powi(plan.scale_exponent());
    let share = samples.nrows().div_ceil(parallel.max(1)).max(1);
    let parts = samples.axis_chunks_iter(Axis(0), share).into_par_iter();
    parts.zip(outputs.axis_chunks_iter_mut(Axis(0), share)).for_each(|(samples, mut outputs)| {
        let mut values = vec![C32::default(); plan.outputs()];
        let mut scratch = vec![C32::default(); fft.get_inplace_scratch_len()];
        for (samples, mut outputs) in samples.outer_iter().zip(outputs.outer_iter_mut()) {
            for (value, sample) in values.iter_mut().zip(&samples) {
                *value = sample.to_c32() * scale;
            }
            values[plan.inputs()..].fill(C32::default());
            fft.process_with_scratch(&mut values, &mut scratch);
            for (output, value) in outputs.iter_mut().zip(&values) {
                *output = O::from_c32(*value, plan.overflow());
            }
        }
    });
}
