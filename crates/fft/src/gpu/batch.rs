//! Host arrays transformed on a device, in parts.

use std::borrow::Cow;

use fringes_backend::MemoryNeed;
use fringes_gpu::{Buffer, Device};
use ndarray::{ArrayView2, ArrayViewMut2, s};

use super::FftKernels;
use super::kernels::MAX_LAUNCH_TRANSFORMS;
use crate::{Fft, FftError, FftOutput, FftSample};

/// Device memory for samples and outputs of one part where the backend sets no limit.
const WORKSPACE_BYTES: u64 = 1 << 30;

/// Device memory that [`Fft::transform`] takes for so many transforms. The workspace is what parts of at most 1 GiB
/// need; a backend's limit makes parts smaller.
pub fn gpu_memory<S: FftSample, O: FftOutput>(plan: &Fft<S, O>, transforms: usize) -> MemoryNeed {
    let part = part(plan, transforms, None);
    MemoryNeed {
        input_bytes: plan.input_bytes(transforms),
        output_bytes: plan.output_bytes(transforms),
        workspace_bytes: plan.input_bytes(part) + plan.output_bytes(part),
        smallest_step_bytes: plan.input_bytes(1) + plan.output_bytes(1),
    }
}

/// Transforms of one part.
fn part<S: FftSample, O: FftOutput>(plan: &Fft<S, O>, transforms: usize, limit: Option<u64>) -> usize {
    let each = plan.input_bytes(1) + plan.output_bytes(1);
    let fit = usize::try_from(limit.unwrap_or(WORKSPACE_BYTES) / each).unwrap_or(usize::MAX);
    transforms.min(fit).clamp(1, MAX_LAUNCH_TRANSFORMS)
}

/// Transforms samples `[transform][n]` to outputs `[transform][q]`, of the plan's shapes.
pub(crate) fn transform<S: FftSample, O: FftOutput>(
    plan: &Fft<S, O>,
    device: &Device,
    limit: Option<u64>,
    samples: ArrayView2<'_, S>,
    mut outputs: ArrayViewMut2<'_, O>,
) -> Result<(), FftError> {
    let transforms = samples.nrows();
    if transforms == 0 {
        return Ok(());
    }
    let kernels = FftKernels::load(device, plan)?;
    let stream = device.new_stream()?;
    let part = part(plan, transforms, limit);
    let mut device_samples = Buffer::<S>::alloc(device, part * plan.inputs())?;
    let mut device_outputs = Buffer::<O>::alloc(device, part * plan.outputs())?;
    for start in (0..transforms).step_by(part) {
        let end = transforms.min(start + part);
        let samples = samples.slice(s![start..end, ..]);
        let samples = samples.as_slice().map_or_else(|| Cow::Owned(samples.iter().copied().collect()), Cow::Borrowed);
        device_samples.slice_mut(..samples.len())?.copy_from_slice(&stream, &samples)?;
        kernels.transform(&stream, device_samples.view(), &mut device_outputs.view_mut(), end - start)?;
        let spectra = device_outputs.slice(..(end - start) * plan.outputs())?;
        let mut outputs = outputs.slice_mut(s![start..end, ..]);
        match outputs.as_slice_mut() {
            Some(outputs) => spectra.copy_to_slice(&stream, outputs)?,
            None => {
                let spectra = spectra.to_vec(&stream)?;
                outputs.iter_mut().zip(spectra).for_each(|(output, value)| *output = value);
            }
        }
    }
    Ok(())
}
