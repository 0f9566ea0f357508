//! Fine rotation on a device.

use std::marker::PhantomData;

use fringes_cpu::f_engine::FrameSample;
use fringes_delay_model::ChannelPhase;
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Stream};
use fringes_kernel_abi::delay::{self, Runs};
use fringes_kernel_abi::format::Format;
use fringes_types::{Complex, SampleFormat};

use super::kernels::{Stepping, aligned, length, numbers, rotations};
use super::layout::{RotationLayout, product};
use crate::DelayError;

/// The kernels of all layouts, with or without dither.
#[derive(Debug, Clone)]
struct Layouts {
    voltages: Stepping,
    heaps: Stepping,
    rows: Stepping,
    any: Stepping,
}

/// Factors of a rotation on a device, and what belongs to it.
#[derive(Debug)]
pub struct Factors<'a> {
    /// `[time][input]`.
    pub phases: BufferView<'a, ChannelPhase>,
    /// Gains `[channel][input]`, or 1 everywhere. They are not looked at: one that is not finite gives values that
    /// count as saturated.
    pub gains: Option<BufferView<'a, Complex<f32>>>,
    /// Number of the first channel, in the phases and the dither.
    pub first_channel: usize,
    /// Seed of the dither, and number of the spectrum at time 0. Formats of floats take none.
    pub dither: Option<(u64, u64)>,
    /// `[input]`: the number of complex values beyond the limit is added. May be empty: then nothing is counted, as
    /// for floats.
    pub saturated: BufferViewMut<'a, u64>,
}

/// The rotation kernels of a format on one device. Cheap to clone.
///
/// ```text
/// y[channel][time][input] = gain[channel][input] exp(2 pi i (base + k slope)) x[channel][time][input]
/// k = first channel + channel
/// ```
///
/// Integers are then dithered if wanted, clamped to +-127 or +-7 and rounded half to even, as
/// the channelizer's `quantise` does. Every operation is queued on a stream and returns at once; nothing is allocated.
/// Sizes are checked before anything is queued.
///
/// Voltages move several at a time where the inputs are a multiple of 4 (of 2 for f32), heaps where `spectra * pols` is
/// one of 8 (4 for f16, 2 for f32), rows always, and samples and gains lie at multiples of 16 bytes. Others move one by
/// one.
///
/// # Precision
/// A factor is within `(9 + n (3.5 + 7 |d|)) u` of the gain's magnitude, `u = 2^-24`, `d = exp(2 pi i slope) - 1`, `n =
/// 31` for integers and 15 for floats: within 1e-5 for slopes of up to 1/16 turn a channel. Integers are those of the
/// exact product except where it is as close, times its magnitude, to a rounding tie.
#[derive(Debug, Clone)]
pub struct RotateKernels<V> {
    rounded: Layouts,
    dithered: Option<Layouts>,
    format: PhantomData<V>,
}

/// Runs of the wide kernels: samples of a run of voltages and runs of a thread, samples of a run of heaps and rows,
/// channels of a thread.
const fn runs(format: SampleFormat) -> [usize; 4] {
    let format = match format {
        SampleFormat::Int4 => Format::I4,
        SampleFormat::Int8 => Format::I8,
        SampleFormat::Float16 | SampleFormat::Int16 => Format::F16,
        SampleFormat::Float32 => Format::F32,
    };
    let Runs { voltages, times, heaps, channels } = delay::runs(format);
    [voltages, times, heaps, channels as usize]
}

impl<V: FrameSample> RotateKernels<V> {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device) -> Result<Self, DelayError> {
        let (set, format) = rotations(V::FORMAT);
        let module = device.load(set)?;
        let load = |suffix: &str| {
            let kernel = |layout: &str| Stepping::load(&module, &format!("rotate{layout}_{format}{suffix}"));
            let (voltages, heaps) = (kernel("")?, kernel("_heaps")?);
            Ok::<_, DelayError>(Layouts { voltages, heaps, rows: kernel("_rows")?, any: kernel("_any")? })
        };
        let dithered = if V::INTEGER { Some(load("_dithered")?) } else { None };
        Ok(Self { rounded: load("")?, dithered, format: PhantomData })
    }

    /// Rotates voltages from one buffer to another.
    ///
    /// # Errors
    /// [`TypesError::Pols`](fringes_types::TypesError::Pols) unless heaps have 1 or 2 polarisations,
    /// [`DeviceError::Length`](fringes_backend::DeviceError::Length) if a buffer is too short,
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) if samples are not at multiples of their
    /// size, or phases and rows of 16 bytes, [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for
    /// sizes that the kernels cannot count, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the
    /// driver says.
    pub fn rotate(
        &self,
        stream: &Stream,
        layout: RotationLayout,
        factors: Factors<'_>,
        from: BufferView<'_, V>,
        to: &mut BufferViewMut<'_, V>,
    ) -> Result<(), DelayError> {
        layout.check()?;
        length("voltages", layout.samples::<V>()?, from.len())?;
        self.queue(stream, layout, factors, Some(from), to)
    }

    /// Rotates voltages where they are.
    ///
    /// # Errors
    /// As [`RotateKernels::rotate`].
    pub fn rotate_in_place(
        &self,
        stream: &Stream,
        layout: RotationLayout,
        factors: Factors<'_>,
        voltages: &mut BufferViewMut<'_, V>,
    ) -> Result<(), DelayError> {
        layout.check()?;
        self.queue(stream, layout, factors, None, voltages)
    }

    fn queue(
        &self,
        stream: &Stream,
        layout: RotationLayout,
        factors: Factors<'_>,
        from: Option<BufferView<'_, V>>,
        to: &mut BufferViewMut<'_, V>,
    ) -> Result<(), DelayError> {
        let (channels, times, inputs) = (layout.channels(), layout.times(), layout.inputs());
        let samples = layout.samples::<V>()?;
        let Factors { phases, gains, first_channel, dither, saturated } = factors;
        length("rotated voltages", samples, to.len())?;
        length("phases", product("phases", &[times, inputs])?, phases.len())?;
        if let Some(gains) = gains {
            length("gains", product("gains", &[channels, inputs])?, gains.len())?;
        }
        if !saturated.is_empty() {
            length("counts", inputs, saturated.len())?;
        }
        aligned("phases", 16, phases.address())?;
        for address in from.iter().map(BufferView::address).chain([to.address()]) {
            aligned("voltages", size_of::<V>() as u64, address)?;
        }
        if samples == 0 {
            return Ok(());
        }
        let whole = gains.iter().all(|gains| gains.address().is_multiple_of(16))
            && from.iter().all(|from| from.address().is_multiple_of(16))
            && to.address().is_multiple_of(16);
        if let (RotationLayout::Rows { .. }, false) = (layout, whole) {
            aligned("gains", 16, gains.map_or(0, |gains| gains.address()))?;
            aligned("rows", 16, from.map_or(0, |from| from.address()))?;
            aligned("rows", 16, to.address())?;
        }
        let kernels = self.dithered.as_ref().filter(|_| dither.is_some()).unwrap_or(&self.rounded);
        let Plan { kernel, tiles, sizes } = kernels.plan::<V>(layout, whole)?;
        let [first_channel] = numbers("channels", [first_channel])?;
        let (seed, first_spectrum) = dither.unwrap_or_default();
        // No values stand for voltages that are rotated in place and for gains of 1.
        let nothing = phases.slice(0..0)?;
        let from = from.map_or(nothing.cast::<u8>(), |from| from.cast::<u8>())?;
        let gains = gains.map_or(nothing.cast::<[f32; 2]>(), |gains| gains.cast::<[f32; 2]>())?;
        let (phases, to) = (phases.cast::<[u64; 2]>()?, to.reborrow().cast::<u8>()?);
        let mut arguments: Vec<Argument<'_>> =
            vec![from.into(), to.into(), phases.into(), gains.into(), saturated.into()];
        arguments.extend(sizes.into_iter().map(Argument::from));
        arguments.extend([first_channel.into(), seed.into(), first_spectrum.into()]);
        kernel.launch(stream, tiles, &arguments)
    }
}

/// A kernel, its work and the sizes that it takes.
struct Plan<'a> {
    kernel: &'a Stepping,
    tiles: u32,
    sizes: Vec<u32>,
}

impl Layouts {
    /// The kernel for a layout; `whole`: everything lies at multiples of 16 bytes.
    fn plan<V: FrameSample>(&self, layout: RotationLayout, whole: bool) -> Result<Plan<'_>, DelayError> {
        let [of_voltages, later, of_heaps, follows] = runs(V::FORMAT);
        let numbers = |sizes: &[usize]| -> Result<Vec<u32>, DelayError> {
            sizes.iter().map(|&size| Ok(numbers("voltages", [size])?[0])).collect()
        };
        // Threads, and the sizes.
        let (kernel, threads, sizes) = match layout {
            RotationLayout::Voltages { channels, times, inputs } if whole && inputs.is_multiple_of(of_voltages) => {
                let threads = times.div_ceil(later).saturating_mul(inputs / of_voltages);
                (&self.voltages, threads, numbers(&[channels, times, inputs])?)
            }
            // One heap of one antenna whose polarisations are the inputs.
            RotationLayout::Voltages { channels, times, inputs } => {
                (&self.any, times.saturating_mul(inputs), numbers(&[channels, 1, inputs, 1, times])?)
            }
            RotationLayout::Heaps { batches, antennas, channels, spectra, pols } => {
                let wide = whole && spectra.saturating_mul(pols).is_multiple_of(of_heaps);
                let all = layout.times().saturating_mul(layout.inputs());
                let (kernel, threads) = if wide { (&self.heaps, all / of_heaps) } else { (&self.any, all) };
                (kernel, threads, numbers(&[channels, antennas, pols, batches, spectra])?)
            }
            RotationLayout::Rows { channels, times, inputs } => {
                let row = 128 / size_of::<V>();
                let threads = times.div_ceil(row).saturating_mul(inputs).saturating_mul(row / of_heaps);
                (&self.rows, threads, numbers(&[channels, times, inputs])?)
            }
        };
        // What the kernels count: times, inputs, threads, and tiles of 32 threads and some channels.
        let tiles = threads.div_ceil(32).saturating_mul(layout.channels().div_ceil(follows));
        let counted = numbers(&[layout.times(), layout.inputs(), threads, tiles])?;
        Ok(Plan { kernel, tiles: counted[3], sizes })
    }
}
