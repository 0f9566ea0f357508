//! One call: host arrays in, host arrays out, on any backend.

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::beamformer::fft_beams_into;
use fringes_cpu::blocks::parallel_units;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{Dimension, TypesError};
use ndarray::{Array3, ArrayView2, ArrayView3, s};
use num_complex::Complex;
use rayon::prelude::*;

use super::{BeamFft, BeamOutput, BeamSample, FeedLines};
use crate::{FftError, gpu};

type C32 = Complex<f32>;

/// Beams that are converted at once, at most, where the memory limit allows.
const BLOCK_BEAMS: usize = 1 << 20;

impl<V: BeamSample, O: BeamOutput> BeamFft<V, O> {
    /// Forms beams `[channel][time][beam]` from voltages `[channel][time][input]` with presence flags `[time][input]`, all present if `None`.
    ///
    /// # Layout
    /// Any; standard layout is fastest.
    ///
    /// # Precision
    /// As [`BeamFft`]. The backend's memory limit splits the work and does not change the result.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if voltages, flags and gains do not fit; [`TypesError::TooLarge`] if there is no memory for the beams,
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit is below the smallest step, [`DeviceError::NotOnGpu`](fringes_backend::DeviceError::NotOnGpu) if the backend is a GPU and
    /// there is no kernel of this size; [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) if the GPU fails.
    pub fn form(
        &self,
        backend: &Backend,
        voltages: ArrayView3<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<Array3<O>, FftError> {
        self.check(voltages, presence)?;
        let (channels, times, _) = voltages.dim();
        let shape = (channels, times, self.lines().beams());
        let too_large =
            || TypesError::TooLarge { array: "beams", elements: format!("{} x {} x {}", shape.0, shape.1, shape.2) };
        let elements = shape.0.checked_mul(shape.1).and_then(|product| product.checked_mul(shape.2));
        let mut out = elements.and_then(try_zeroed_vec).ok_or_else(too_large)?;
        self.form_into(backend, voltages, presence, &mut out)?;
        Ok(Array3::from_shape_vec(shape, out).map_err(|_| too_large())?)
    }

    /// As [`BeamFft::form`], into a slice in standard layout.
    ///
    /// # Errors
    /// As [`BeamFft::form`], and [`FftError::Shape`] if the slice is not of as many beams, before anything is overwritten. Where the GPU fails, the
    /// beams are partly overwritten.
    pub fn form_into(
        &self,
        backend: &Backend,
        voltages: ArrayView3<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
        out: &mut [O],
    ) -> Result<(), FftError> {
        self.check(voltages, presence)?;
        let (channels, times, _) = voltages.dim();
        let expected = channels.saturating_mul(times).saturating_mul(self.lines().beams());
        if out.len() != expected {
            return Err(FftError::Shape { array: "beams", dimension: "beam", expected, actual: out.len() });
        }
        let size = self.lines().size();
        let _span = tracing::debug_span!("beam_fft", %size, channels, times).entered();
        match backend.gpu_for(&format!("FFT beams, {size}"), gpu::has_beam_kernel(size))? {
            Some(device) => {
                let need = gpu::beam_memory::<V, O>(self.lines(), channels, times);
                backend.check_memory("FFT beams", need.smallest_step_bytes)?;
                gpu::form_beams(self, device, backend.memory_limit(), voltages, presence, out)
            }
            None => {
                backend.check_memory("FFT beams", memory(self, channels, times).smallest_step_bytes)?;
                self.form_on_cpu(backend.memory_limit(), voltages, presence, out);
                Ok(())
            }
        }
    }

    fn check(&self, voltages: ArrayView3<'_, V>, presence: Option<ArrayView2<'_, bool>>) -> Result<(), FftError> {
        let (channels, times, inputs) = voltages.dim();
        let check = |array, dimension, expected, actual| {
            let error = TypesError::Dimension { array, dimension, expected, actual };
            if expected == actual { Ok(()) } else { Err(FftError::from(error)) }
        };
        check("voltages", Dimension::Input, self.lines().inputs(), inputs)?;
        if let Some(presence) = presence {
            check("presence flags", Dimension::Time, times, presence.nrows())?;
            check("presence flags", Dimension::Input, inputs, presence.ncols())?;
        }
        self.check_channels(channels)
    }

    /// Beams on the CPU, of checked shapes.
    fn form_on_cpu(
        &self,
        limit: Option<u64>,
        voltages: ArrayView3<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
        out: &mut [O],
    ) {
        let (lines, unit) = (self.lines(), unit_bytes::<O>(self.lines()));
        let layout = cpu_lines(lines);
        let scale = 2f32.powi(self.scale_exponent());
        if let Some(out) = O::as_c32(out) {
            fft_beams_into(voltages, presence, self.gains(), layout, parallel_units(limit, unit), out);
            if scale != 1.0 {
                out.par_iter_mut().for_each(|beam| *beam *= scale);
            }
            return;
        }
        let (_, times, _) = voltages.dim();
        let row = lines.beams();
        if out.is_empty() {
            return;
        }
        let fft_bytes = fringes_cpu::beamformer::fft_scratch_bytes(lines.padded());
        let block = block_times(limit, lines, fft_bytes, times);
        let mut beams = vec![C32::default(); block * row];
        let left = limit.map(|limit| limit.saturating_sub((beams.len() * size_of::<C32>()) as u64));
        for (channel, out) in out.chunks_mut(times * row).enumerate() {
            for (number, out) in out.chunks_mut(block * row).enumerate() {
                let range = number * block..(number * block + out.len() / row);
                let voltages = voltages.slice(s![channel..channel + 1, range.clone(), ..]);
                let presence = presence.map(|presence| presence.slice_move(s![range, ..]));
                let gains = self.gains().map(|gains| gains.slice_move(s![channel..channel + 1, ..]));
                let beams = &mut beams[..out.len()];
                fft_beams_into(voltages, presence, gains, layout, parallel_units(left, fft_bytes).max(1), beams);
                out.par_iter_mut().zip(beams).for_each(|(out, beam)| *out = O::from_c32(*beam * scale));
            }
        }
    }
}

/// Times of a block whose beams and the scratch of one thread fit, at least 1.
fn block_times(limit: Option<u64>, lines: FeedLines, fft_bytes: u64, times: usize) -> usize {
    let row = (lines.beams() * size_of::<C32>()) as u64;
    let most = (BLOCK_BEAMS / lines.beams()).clamp(1, times.max(1));
    match limit {
        Some(limit) => most.min(usize::try_from(limit.saturating_sub(fft_bytes) / row).unwrap_or(most)).max(1),
        None => most,
    }
}

fn cpu_lines(lines: FeedLines) -> fringes_cpu::beamformer::FeedLines {
    fringes_cpu::beamformer::FeedLines {
        lines: lines.lines(),
        feeds: lines.feeds(),
        pols: lines.pols(),
        padded: lines.padded(),
    }
}

/// Bytes of scratch of the smallest step on the CPU.
fn unit_bytes<O: BeamOutput>(lines: FeedLines) -> u64 {
    let converted = O::as_c32(&mut []).is_none();
    let row = if converted { (lines.beams() * size_of::<C32>()) as u64 } else { 0 };
    fringes_cpu::beamformer::fft_scratch_bytes(lines.padded()) + row
}

/// What forming beams on the CPU needs.
pub(super) fn memory<V: BeamSample, O: BeamOutput>(plan: &BeamFft<V, O>, channels: usize, times: usize) -> MemoryNeed {
    let lines = plan.lines();
    let product = |factors: [usize; 4]| factors.iter().fold(1u64, |p, &n| p.saturating_mul(n as u64));
    let unit = unit_bytes::<O>(lines);
    let fft = fringes_cpu::beamformer::fft_scratch_bytes(lines.padded());
    let block = if unit == fft { 0 } else { block_times(None, lines, fft, times) };
    let rows = (block * lines.beams() * size_of::<C32>()) as u64;
    MemoryNeed {
        input_bytes: product([channels, times, lines.inputs(), size_of::<V>()]),
        output_bytes: product([channels, times, lines.beams(), size_of::<O>()]),
        workspace_bytes: fft.saturating_mul(parallel_units(None, fft) as u64).saturating_add(rows),
        smallest_step_bytes: unit,
    }
}
