//! One array on a GPU: samples in host memory go there step by step, those in device memory are there.

use std::ops::Range;

use fringes_backend::{Backend, DeviceArray, DeviceSamples, MemoryNeed, Workspace};
use fringes_gpu::Device;
use fringes_types::{ChunkFormat, Complex, Inputs, SampleChunk, Samples};
use ndarray::{Array1, s};

use super::cpu::zeros;
use super::gpu::absent_flags;
use super::kernels::{DownConvertKernels, Saturated, WindowRows};
use super::output::{self, DeviceRows};
use super::progress::Step;
use super::{DownConverted, DownConvertedSample, DownConverter, OPERATION};
use crate::ChannelizerError;
use crate::internals::chunk;

/// Device memory that a step is to take at most, where no limit is lower: 1 GiB.
const STEP_BYTES: u64 = 1 << 30;

/// An array's sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrayShape<'a> {
    pub(super) plan: &'a DownConverter,
    pub(super) format: ChunkFormat,
    pub(super) inputs: Inputs,
}

impl ArrayShape<'_> {
    /// Memory for `times` samples in host memory.
    pub(super) fn need(&self, times: usize) -> MemoryNeed {
        let outputs = self.plan.conversion.outputs(times);
        let row = |bits: u64| (times as u64).saturating_mul(bits).div_ceil(8);
        let inputs = self.inputs.len() as u64;
        MemoryNeed {
            input_bytes: row(self.format.sample_bits().into()).saturating_mul(inputs),
            output_bytes: (outputs as u64).saturating_mul(inputs * size_of::<Complex<f32>>() as u64),
            workspace_bytes: self.step_bytes(outputs.max(1)),
            smallest_step_bytes: self.step_bytes(1),
        }
    }

    /// Bytes of device memory for so many outputs at once, with their samples.
    fn step_bytes(&self, outputs: usize) -> u64 {
        let samples = outputs.saturating_sub(1).saturating_mul(self.plan.decimation);
        // Packed samples are taken from a whole byte on.
        let samples = samples.saturating_add(self.plan.filter.len()).saturating_add(7);
        let parts = [
            chunk::bytes(self.format, self.inputs, samples),
            DeviceRows::<Complex<f32>>::bytes(self.inputs, outputs as u64),
            DownConvertKernels::<Complex<f32>>::bytes(self.plan),
        ];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Outputs of a step, of `all`: as many as a limit allows, at least one.
    fn outputs_of_step(&self, all: usize, limit: Option<u64>) -> usize {
        let most = limit.unwrap_or(u64::MAX).min(STEP_BYTES);
        // What is below `fits` fits; bytes grow with the outputs.
        let (mut fits, mut ends) = (1, all.max(1).saturating_add(1));
        while ends - fits > 1 {
            let middle = fits + (ends - fits) / 2;
            if self.step_bytes(middle) <= most { fits = middle } else { ends = middle }
        }
        fits
    }

    /// Samples that outputs are made of, counted from the array's first one; `outputs` are counted from the step's.
    fn samples(&self, step: &Step, outputs: &Range<usize>) -> Range<usize> {
        let first = (step.first_output + outputs.start as u64) * self.plan.decimation as u64 - step.first_sample;
        let length = (outputs.len() - 1) * self.plan.decimation + self.plan.filter.len();
        first as usize..first as usize + length
    }
}

/// Outputs of samples in host memory, which has some.
pub(super) fn of_host<T: DownConvertedSample>(
    backend: &Backend,
    device: &Device,
    samples: &dyn SampleChunk,
    plan: &DownConverter,
    step: &Step,
) -> Result<DownConverted<Samples<T>>, ChannelizerError> {
    let inputs = samples.inputs();
    let shape = ArrayShape { plan, format: samples.format(), inputs };
    backend.check_memory(OPERATION, shape.step_bytes(1))?;
    let together = shape.outputs_of_step(step.outputs, backend.memory_limit());
    let mut data = zeros::<T>(inputs, "down-converted samples", step.outputs)?;
    let (stream, pool, mut workspace) = (device.new_stream()?, Workspace::pool(device), Workspace::of(device)?);
    let staging = &mut workspace.staging;
    let kernels = DownConvertKernels::<T>::load(device, plan)?;
    let mut counts = pool.take_zeroed::<u64>(&stream, inputs.len())?;
    for start in (0..step.outputs).step_by(together) {
        let part = start..step.outputs.min(start + together);
        let sent = staging.send_samples(&stream, &pool, samples, shape.samples(step, &part))?;
        let rows = WindowRows::of_chunk(&sent, sent.array().read_on(&stream)?)?;
        let first = step.first_output;
        let mut out = DeviceRows::take(&pool, &stream, inputs, first + part.start as u64, part.len())?;
        let row = out.row();
        let numbers = first + part.start as u64..first + part.end as u64;
        let flags = staging.send(&stream, &pool, &flags_of::<T>(&step.part(&numbers), plan, inputs))?;
        let saturated = Saturated { counts: counts.view_mut(), present: flags.view(), present_row: part.len() };
        kernels.launch_counted(&stream, [None, Some((rows, numbers))], (out.values()?, row), saturated, 1)?;
        out.read(staging, &stream, data.slice_mut(s![.., part]))?;
    }
    let saturated = Array1::from_vec(counts.to_vec(&stream)?);
    Workspace::trim(device);
    Ok(DownConverted { samples: output::on_host(step, plan, data, inputs)?, saturated })
}

/// Outputs of samples in device memory, queued there; there are some.
pub(super) fn of_device<T: DownConvertedSample>(
    backend: &Backend,
    samples: &DeviceSamples<'_>,
    plan: &DownConverter,
    step: &Step,
) -> Result<DownConverted<DeviceSamples<'static>, DeviceArray<'static, u64>>, ChannelizerError> {
    let device = backend.gpu_with(samples.array().device())?;
    backend.check_memory(OPERATION, DownConvertKernels::<T>::bytes(plan))?;
    let stream = samples.array().writer().cloned().unwrap_or_else(|| device.default_stream());
    let kernels = DownConvertKernels::<T>::load(device, plan)?;
    let (inputs, pool) = (samples.inputs(), Workspace::pool(device));
    let mut out = DeviceRows::take(&pool, &stream, inputs, step.first_output, step.outputs)?;
    let mut counts = pool.take_zeroed::<u64>(&stream, inputs.len())?;
    let flags = Workspace::of(device)?.staging.send(&stream, &pool, &flags_of::<T>(step, plan, inputs))?;
    let row = out.row();
    let rows = WindowRows::of_chunk(samples, samples.array().read_on(&stream)?)?;
    let saturated = Saturated { counts: counts.view_mut(), present: flags.view(), present_row: step.outputs };
    let outputs = step.first_output..step.end_output();
    let queued = kernels.launch_counted(&stream, [None, Some((rows, outputs))], (out.values()?, row), saturated, 1);
    // Part of the work may be queued even if it failed.
    samples.array().reads_queued(&stream)?;
    queued?;
    out.zero_absent(step, plan, &stream)?;
    let saturated = DeviceArray::from(counts).written_on(&stream);
    Ok(DownConverted { samples: out.finish(step, plan, &stream)?, saturated })
}

/// Flags of outputs that may saturate; none if all are there.
fn flags_of<T: DownConvertedSample>(step: &Step, plan: &DownConverter, inputs: Inputs) -> Vec<u8> {
    if T::LIMIT.is_finite() { absent_flags(step, plan, inputs.len()) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::down_convert::progress::Progress;
    use crate::timeline::ChunkAxes;

    #[test]
    fn steps_are_as_large_as_a_limit_allows_and_have_the_samples_of_their_outputs() {
        let plan = DownConverter::new(0.1, 7, vec![1.0; 23]).unwrap();
        let inputs = Inputs::single_pol(3).unwrap();
        let shape = ArrayShape { plan: &plan, format: ChunkFormat::Packed { bits: 10 }, inputs };
        for all in [1, 2, 100, 5000] {
            let limits = [1, 2, 57, 4999].map(|outputs| Some(shape.step_bytes(outputs)));
            for limit in limits.into_iter().chain([None, Some(0), Some(u64::MAX)]) {
                let outputs = shape.outputs_of_step(all, limit);
                let most = limit.unwrap_or(u64::MAX).min(STEP_BYTES);
                assert!((1..=all).contains(&outputs));
                assert!(outputs == 1 || shape.step_bytes(outputs) <= most);
                assert!(outputs == all || shape.step_bytes(outputs + 1) > most);
            }
        }
        let (format, times, first_sample) = (shape.format, 1000, 50);
        let (sample_rate_hz, centre_hz, presence) = (1.0, None, None);
        let axes = ChunkAxes { format, inputs, times, first_sample, sample_rate_hz, centre_hz, presence };
        let step = Progress::new(inputs).step(&plan, &axes).unwrap().unwrap();
        // Output 8 begins at sample 56.
        assert_eq!(shape.samples(&step, &(0..1)), 6..29);
        assert_eq!(shape.samples(&step, &(3..5)), 27..57);
        assert!(shape.samples(&step, &(0..step.outputs)).end <= 1000);
        assert_eq!(shape.need(1000).smallest_step_bytes, shape.step_bytes(1));
    }
}
