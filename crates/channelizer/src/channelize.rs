//! A filter bank applied to one array, on either backend and wherever the samples lie.
//!
//! ```text
//! samples on the host      CPU: in blocks, where they lie
//!                          GPU: step by step through pinned memory
//! samples on a device      queued there at once
//! ```

use fringes_backend::{Backend, DeviceArray, DeviceSamples, DeviceVoltages, Staging, Workspace};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_cpu::pfb::{ChunkSource, Rotation, SpectrumInput, Split};
use fringes_gpu::Device;
use fringes_types::{Complex, Frequencies, SampleChunk, SamplePresence, SpectrumClock, TypesError, Voltages};
use ndarray::{Array2, Array3, ArrayViewMut3, Axis, s};
use rayon::prelude::*;

use crate::channelizer::{check_counter, new_output};
use crate::internals::chunk;
use crate::presence::MissingSamples;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::spectra::voltages::{ArrayShape, GpuArray, device_for};
use crate::timeline::ChunkAxes;
use crate::{Channelizer, ChannelizerError};

/// Name of the operation.
const OPERATION: &str = "channelize";

/// Channelizes an array: spectrum `m` starts at its sample `m * stride`; see [`Channelizer`] for the formula.
///
/// Takes samples `[input][time]`, typed or packed, in host or device memory; gives voltages `[channel][time][input]`
/// with [`Channelizer::spectra`] spectra where the samples lie. Spectrum `m` is stamped `first_sample + m * stride`, to
/// which its phase is referred. A spectrum with a missing sample in its window is flagged absent for that input; its
/// value is that of whatever the array holds there.
///
/// The work is cut into steps so that the workspace stays within the backend's memory limit; the result is the same
/// bit for bit, whatever the limit and the number of threads.
///
/// # On a GPU
/// Which plans have kernels is said at `fringes_f_engine::FEngine`; [`Backend::auto`] takes the CPU for others. Samples
/// in device memory are channelized there, on the stream that wrote them ([`DeviceArray::written_on`]), or the device's
/// default one. Each call loads the plan's tables and gives their memory back, which waits for the device: a
/// [`ChannelizerStream`](crate::ChannelizerStream) keeps them, and waits for nothing.
///
/// # Layout
/// The output is in standard layout. Samples with contiguous time are read fastest.
///
/// # Precision
/// f32, with weights computed in f64. With `u = 2^-24`, `M = step` and `a[p] = sum_j |w[j M + p] x[t + j M + p]|`, each
/// spectrum is within `u ((taps + 1) + 7 P log2 M) sqrt(M) ||a||` of the exact one in the 2-norm over channels, where
/// `P = 1` for `M` without prime factors above 31 and 10 otherwise ([`Pfb`](fringes_cpu::pfb::Pfb)); over many spectra
/// the rms error is at most `u sqrt((taps + 1) / 3 + log2 M) sqrt(M) ||a||`. On a GPU a value is within the bound of
/// `fringes_f_engine::FEngine`, with a gain of 1.
///
/// # Errors
/// [`ChannelizerError::SampleKind`], [`ChannelizerError::TooShort`] for less than one window,
/// [`ChannelizerError::Counter`], [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if not even
/// one spectrum at a time fits the limit, [`TypesError::TooLarge`] if the output cannot be allocated;
/// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) if the backend is a GPU and nothing else, and has
/// no kernel, [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) for samples on a device that is
/// not the backend's, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
#[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
pub fn channelize<C: SampleInput + ?Sized>(
    backend: &Backend,
    samples: &C,
    plan: &Channelizer,
) -> Result<C::Output<Voltages<Complex<f32>>, DeviceVoltages<'static, Complex<f32>>>, ChannelizerError> {
    samples.give_to(Channelize { backend, plan })
}

/// [`channelize`].
struct Channelize<'a> {
    backend: &'a Backend,
    plan: &'a Channelizer,
}

impl SampleOperation for Channelize<'_> {
    type Host = Voltages<Complex<f32>>;
    type Device = DeviceVoltages<'static, Complex<f32>>;
    type Error = ChannelizerError;

    fn on_host(self, samples: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        let (backend, plan, axes) = (self.backend, self.plan, ChunkAxes::of(samples));
        let spectra = self.spectra(&axes)?;
        let span = tracing::debug_span!("channelize", channels = plan.channels(), spectra, inputs = axes.inputs.len());
        let _guard = span.enter();
        let data = match device_for(backend, plan, Some(axes.format))? {
            Some(device) => on_gpu(backend, device, samples, plan, spectra)?,
            None => on_cpu(backend, samples, plan, spectra)?,
        };
        self.with_axes(Voltages::from_checked(data, axes.inputs)?, &axes)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        let (backend, plan, axes) = (self.backend, self.plan, chunk::axes(samples));
        let device = backend.gpu_with(samples.array().device())?;
        let spectra = self.spectra(&axes)?;
        let span = tracing::debug_span!("channelize", channels = plan.channels(), spectra, inputs = axes.inputs.len());
        let _guard = span.enter();
        let shape = ArrayShape { plan, format: axes.format, inputs: axes.inputs, first_sample: axes.first_sample };
        backend.check_memory(OPERATION, shape.workspace_bytes(spectra))?;
        let stream = samples.array().writer().cloned().unwrap_or_else(|| device.default_stream());
        let kernels = GpuArray::load(shape, &stream, &Workspace::pool(device))?;
        let values = kernels.run(&mut Workspace::of(device)?.staging, samples, 0, &(0..spectra))?;
        let array = DeviceArray::from(values).written_on(&stream);
        self.with_axes(Voltages::from_array(array, plan.channels(), spectra, axes.inputs)?, &axes)
    }
}

impl Channelize<'_> {
    /// Spectra of a chunk that suits the plan.
    fn spectra(&self, axes: &ChunkAxes<'_>) -> Result<usize, ChannelizerError> {
        self.plan.check_kind(axes.format.is_complex())?;
        check_counter(axes.first_sample, axes.times)?;
        match self.plan.spectra(axes.times) {
            0 => Err(ChannelizerError::TooShort { needed: self.plan.window_samples(), actual: axes.times }),
            spectra => Ok(spectra),
        }
    }

    /// Voltages with what the samples' axes say of them.
    fn with_axes<A>(
        &self,
        voltages: Voltages<Complex<f32>, A>,
        axes: &ChunkAxes<'_>,
    ) -> Result<Voltages<Complex<f32>, A>, ChannelizerError> {
        let flags = axes.presence.map(|presence| self.flags(presence, axes, voltages.times()));
        let clock = SpectrumClock {
            first_sample: axes.first_sample,
            samples_between_spectra: self.plan.stride() as u64,
            sample_rate_hz: axes.sample_rate_hz,
        };
        let frequencies = self.plan.frequencies(axes.sample_rate_hz, axes.centre_hz);
        finish(voltages, frequencies, clock, flags)
    }

    /// Flags `[spectrum][input]`.
    fn flags(&self, presence: &SamplePresence, axes: &ChunkAxes<'_>, spectra: usize) -> Array2<bool> {
        let mut flags = Array2::from_elem((spectra, axes.inputs.len()), true);
        for (input, mut flags) in flags.columns_mut().into_iter().enumerate() {
            let mut missing = MissingSamples::default();
            missing.append(Some(presence), input, 0, axes.times);
            for (spectrum, present) in flags.iter_mut().enumerate() {
                let start = (spectrum * self.plan.stride()) as i64;
                *present = !missing.any_in(start..start + self.plan.window_samples() as i64);
            }
        }
        flags
    }
}

/// Spectra of samples in host memory, computed on the CPU.
fn on_cpu(
    backend: &Backend,
    samples: &dyn SampleChunk,
    plan: &Channelizer,
    spectra: usize,
) -> Result<Array3<Complex<f32>>, ChannelizerError> {
    let (pfb, inputs, stride) = (plan.pfb(), samples.inputs().len(), plan.stride());
    backend.check_memory(OPERATION, Split::smallest_bytes(pfb))?;
    let split = Split::choose(pfb, spectra, inputs, backend.memory_limit());
    let mut data = new_output(plan.channels(), spectra, inputs)?;
    let (first, step) = (u128::from(samples.first_sample()), plan.step() as u128);
    let spectrum = |time: usize, _: usize| SpectrumInput {
        start: (time * stride) as i64,
        shift: ((first + (time * stride) as u128) % step) as usize,
        rotation: Rotation::default(),
    };
    pfb.channelize(&ChunkSource::new(samples.view()), &spectrum, data.view_mut(), &split);
    Ok(data)
}

/// Spectra of samples in host memory, computed on a GPU step by step.
fn on_gpu(
    backend: &Backend,
    device: &Device,
    samples: &dyn SampleChunk,
    plan: &Channelizer,
    spectra: usize,
) -> Result<Array3<Complex<f32>>, ChannelizerError> {
    let (format, inputs) = (samples.format(), samples.inputs());
    let shape = ArrayShape { plan, format, inputs, first_sample: samples.first_sample() };
    backend.check_memory(OPERATION, shape.step_bytes(1))?;
    let together = shape.spectra_of_step(spectra, backend.memory_limit());
    let mut data = new_output(plan.channels(), spectra, inputs.len())?;
    let (stream, pool, mut workspace) = (device.new_stream()?, Workspace::pool(device), Workspace::of(device)?);
    let staging = &mut workspace.staging;
    let kernels = GpuArray::load(shape, &stream, &pool)?;
    for start in (0..spectra).step_by(together) {
        let step = start..spectra.min(start + together);
        let part = staging.send_samples(&stream, &pool, samples, shape.samples(&step))?;
        let first = (part.first_sample() - samples.first_sample()) as usize;
        let values = kernels.run(staging, &part, first, &step)?;
        let to = data.slice_mut(s![.., step, ..]);
        let view = values.view();
        read(staging, to, |staging, to| Ok(staging.read(&stream, view, to)?))?;
    }
    Workspace::trim(device);
    Ok(data)
}

/// Puts a step's values, which `read` gives one after the other, where they belong: at once if they lie so there as
/// well.
fn read(
    staging: &mut Staging,
    mut to: ArrayViewMut3<'_, Complex<f32>>,
    read: impl FnOnce(&mut Staging, &mut [Complex<f32>]) -> Result<(), ChannelizerError>,
) -> Result<(), ChannelizerError> {
    if let Some(to) = to.as_slice_mut() {
        return read(staging, to);
    }
    let too_large = || TypesError::TooLarge { array: "voltages of a step", elements: to.len().to_string() };
    let mut values = try_zeroed_vec::<Complex<f32>>(to.len()).ok_or_else(too_large)?;
    read(staging, &mut values)?;
    let of_channel = (values.len() / to.dim().0.max(1)).max(1);
    let channels = to.axis_iter_mut(Axis(0)).into_par_iter().zip(values.par_chunks(of_channel));
    channels.for_each(|(mut to, from)| to.iter_mut().zip(from).for_each(|(to, from)| *to = *from));
    Ok(())
}

/// Voltages with their axes; presence flags that are all true are left out.
pub(crate) fn finish<A>(
    voltages: Voltages<Complex<f32>, A>,
    frequencies: Frequencies,
    clock: SpectrumClock,
    presence: Option<Array2<bool>>,
) -> Result<Voltages<Complex<f32>, A>, ChannelizerError> {
    let voltages = voltages.with_frequencies(frequencies)?.with_clock(clock)?;
    Ok(match presence.filter(|presence| presence.iter().any(|present| !present)) {
        Some(presence) => voltages.with_presence(presence)?,
        None => voltages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_step_go_to_their_times() {
        let mut data = Array3::from_elem((3, 7, 2), Complex::new(-1.0f32, 0.0));
        for step in [0..3, 3..4, 4..7, 0..7] {
            let mut number = 0.0;
            let to = data.slice_mut(s![.., step.clone(), ..]);
            let fill = |_: &mut Staging, to: &mut [Complex<f32>]| {
                to.iter_mut().for_each(|value| {
                    number += 1.0;
                    *value = Complex::new(number, 0.5);
                });
                Ok(())
            };
            read(&mut Staging::default(), to, fill).unwrap();
            let expected = (1..).map(|number| Complex::new(number as f32, 0.5));
            assert!(data.slice(s![.., step, ..]).iter().copied().eq(expected.take(number as usize)));
        }
        assert!(data.iter().all(|value| value.im == 0.5));
    }
}
