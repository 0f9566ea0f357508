//! The launches: argument lists of every kernel, once.

use bytemuck::Pod;
use fringes_gpu::{BufferView, BufferViewMut, GpuError, KernelElement, Stream, args};
use fringes_types::{Complex, SampleFormat, VoltageSample, row_times};

use super::Work;
use super::choose::{Chosen, Kernels, Loaded};
use super::float::FloatJob;
use crate::CorrelatorError;

/// Samples of a launch.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) values: BufferView<'a, u8>,
    /// Which batches of heaps are the first, the second and so on; if `None`, they follow each other.
    pub(super) list: Option<BufferView<'a, u32>>,
}

impl<'a> From<BufferView<'a, u8>> for Samples<'a> {
    fn from(values: BufferView<'a, u8>) -> Self {
        Self { values, list: None }
    }
}

impl Kernels {
    /// Adds products to sums.
    pub(super) fn add<V: VoltageSample>(
        &self,
        stream: &Stream,
        work: &Work,
        chosen: Chosen,
        samples: Samples<'_>,
        sums: BufferViewMut<'_, V::PartialSum>,
    ) -> Result<(), CorrelatorError> {
        match self.format {
            SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16 => {
                self.launch(stream, work, chosen, true, samples, sums.cast::<[i32; 2]>()?)
            }
            SampleFormat::Float16 => self.launch(stream, work, chosen, true, samples, sums.cast::<[f64; 2]>()?),
            SampleFormat::Float32 => {
                let (kernels, variant, job) = self.float_job(work, chosen)?;
                kernels.accumulate(stream, variant, &job, samples.values, &mut sums.cast::<Complex<f64>>()?)
            }
        }
    }

    /// Overwrites sums of 32 bits.
    pub(super) fn overwrite<S: Pod>(
        &self,
        stream: &Stream,
        work: &Work,
        chosen: Chosen,
        samples: BufferView<'_, u8>,
        sums: BufferViewMut<'_, S>,
    ) -> Result<(), CorrelatorError> {
        match self.format {
            SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16 => {
                self.launch(stream, work, chosen, false, samples.into(), sums.cast::<[i32; 2]>()?)
            }
            SampleFormat::Float16 => self.launch(stream, work, chosen, false, samples.into(), sums.cast::<[f32; 2]>()?),
            SampleFormat::Float32 => {
                let (kernels, variant, job) = self.float_job(work, chosen)?;
                kernels.correlate(stream, variant, &job, samples, &mut sums.cast::<Complex<f32>>()?)
            }
        }
    }

    /// Multiplies and writes nothing: what the products alone take.
    pub(super) fn multiply<S: Pod>(
        &self,
        stream: &Stream,
        work: &Work,
        chosen: Chosen,
        samples: BufferView<'_, u8>,
        sums: BufferViewMut<'_, S>,
    ) -> Result<(), CorrelatorError> {
        match self.loaded(work, chosen)? {
            Loaded::Wgmma(kernel, [entry, _]) if self.format == SampleFormat::Float16 => {
                self.job(work, 1).multiply(stream, *kernel, entry, samples, sums.cast::<[f32; 2]>()?)
            }
            Loaded::Wgmma(kernel, [entry, _]) => {
                self.job(work, 1).multiply(stream, *kernel, entry, samples, sums.cast::<[i32; 2]>()?)
            }
            Loaded::Float(_) => {
                let (kernels, variant, job) = self.float_job(work, chosen)?;
                kernels.multiply(stream, variant, &job, samples, &mut sums.cast::<Complex<f32>>()?)
            }
            Loaded::Mma(kernel, _) => Err(CorrelatorError::Adds { kernel: kernel.name(false) }),
        }
    }

    fn loaded(&self, work: &Work, chosen: Chosen) -> Result<&Loaded, CorrelatorError> {
        let none = || GpuError::NoKernel { name: self.operation(work), declared: Vec::new() };
        Ok(self.of(work).get(chosen.kernel).ok_or_else(none)?)
    }

    /// The kernels of 32-bit floats, the one that was chosen, and what it is asked for.
    fn float_job(
        &self,
        work: &Work,
        chosen: Chosen,
    ) -> Result<(&super::float::FloatKernels, super::float::Variant, FloatJob), CorrelatorError> {
        let (Some(kernels), Loaded::Float(variant), Work::Rows { channels, times, range }) =
            (&self.float, self.loaded(work, chosen)?, work)
        else {
            return Err(GpuError::NoKernel { name: self.operation(work), declared: Vec::new() }.into());
        };
        let whole = FloatJob::new(*channels, *times, self.inputs.len());
        let job = FloatJob { first_time: range.start, times: range.len(), parts: chosen.parts, ..whole };
        Ok((kernels, *variant, job))
    }

    /// A kernel of the tensor cores' formats, on sums of its kind.
    fn launch<T: KernelElement>(
        &self,
        stream: &Stream,
        work: &Work,
        chosen: Chosen,
        adds: bool,
        Samples { values: samples, list }: Samples<'_>,
        sums: BufferViewMut<'_, T>,
    ) -> Result<(), CorrelatorError> {
        let (kernel, entries) = match self.loaded(work, chosen)? {
            // These read batches that follow each other.
            Loaded::Mma(kernel, entries) if list.is_none() => (kernel, entries),
            Loaded::Wgmma(kernel, entries) => {
                let (job, entry) = (self.job(work, chosen.parts), &entries[usize::from(adds)]);
                return match list {
                    None => job.launch(stream, *kernel, entry, samples, sums),
                    Some(list) => job.launch_listed(stream, *kernel, entry, (samples, list), sums),
                };
            }
            Loaded::Mma(..) | Loaded::Float(_) => {
                return Err(GpuError::NoKernel { name: self.operation(work), declared: Vec::new() }.into());
            }
        };
        let entry = &entries[usize::from(adds)];
        let config = kernel.launch(work.channels(), self.inputs.len(), chosen.parts)?;
        let number = |size: usize| {
            let (channels, times, inputs) = (work.channels(), work.times(), self.inputs.len());
            u32::try_from(size).map_err(|_| CorrelatorError::DeviceShape { channels, times, inputs })
        };
        let [channels, parts] = [number(work.channels())?, number(chosen.parts)?];
        match work {
            Work::Rows { times, range, .. } => {
                let inputs = number(self.inputs.len())?;
                let blocks = number(times.div_ceil(row_times(self.format)))?;
                number(blocks as usize * row_times(self.format))?;
                let [first, times] = [number(range.start)?, number(range.len())?];
                let arguments = args![samples, sums, channels, inputs, blocks, first, times, parts];
                Ok(entry.launch_safe(stream, &config, arguments)?)
            }
            Work::Heaps { batches, spectra, range, .. } => {
                number(batches.saturating_mul(*spectra))?;
                let [antennas, pols] = [number(self.inputs.antennas())?, number(self.inputs.pols())?];
                let [batches, spectra] = [number(*batches)?, number(*spectra)?];
                let [first, count] = [number(range.start)?, number(range.len())?];
                let arguments = args![samples, sums, channels, antennas, pols, batches, spectra, first, count, parts];
                Ok(entry.launch_safe(stream, &config, arguments)?)
            }
        }
    }
}
