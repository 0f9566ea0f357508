//! Voltages of beams on a device.

use std::marker::PhantomData;

use bytemuck::Pod;
#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::Expect;
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, Stream};
use fringes_types::{VoltageSample, f16};
use num_complex::Complex;

use super::super::formed::Formed;
use super::super::launch::{Counts, FrbLayout, Layout, check_u32, product};
use super::{Grid, GridPrepared, Launch, Out};
use crate::frb::run::check_chosen;
use crate::{BeamformerError, FrbBeams, Offset};

mod sealed {
    pub trait Sealed {}
}

/// A format of voltages of beams: `Complex<f32>` or `Complex<f16>`.
pub trait FrbVoltageOutput: Pod + sealed::Sealed {
    /// Whether it is f16.
    #[doc(hidden)]
    const NARROW: bool;
}

impl sealed::Sealed for Complex<f32> {}
impl sealed::Sealed for Complex<f16> {}

impl FrbVoltageOutput for Complex<f32> {
    const NARROW: bool = false;
}

impl FrbVoltageOutput for Complex<f16> {
    const NARROW: bool = true;
}

/// The kernel of voltages of some of the beams, of voltages `V` of feeds, on one device, with all tables there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued. [`frb_voltages`](crate::frb_voltages) uses it for voltages on the host.
///
/// ```no_run
/// use fringes_beamformer::{FrbBeams, FrbVoltageKernels};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{Complex, Complex4, f16};
/// use ndarray::{Array3, Array4};
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let gains = Array4::from_elem((16, 2, 4, 256), Complex::new(1f32, 0.0));
/// let matrix = Array3::from_elem((16, 4, 4), Complex::new(0.25f32, 0.0));
/// let beams = FrbBeams::builder(gains, matrix, 512).build()?;
/// let kernels = FrbVoltageKernels::<Complex4>::load(&device, &beams, &[17, 900])?; // once
/// let times = 1000;
/// let voltages = Buffer::<Complex4>::zeroed(&stream, times * 16 * 2 * 4 * 256)?;
/// let mut out = Buffer::<Complex<f16>>::alloc(&device, kernels.voltages(times))?;
/// kernels.form(&stream, voltages.view(), times, &mut out.view_mut())?;
/// let out = out.to_vec(&stream)?; // [frequency][time][chosen][pol]
/// # let _ = out;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Kernels
/// Voltages are of 4+4 or 8 bits. Lines and feeds are such that the samples of two times (16 of one line, 8 of two,
/// 4 of three or four) fit into a block's shared memory, of gains and matrix each frequency's largest is 0 or from
/// 2^-60 to below 2^60.
///
/// All beams in their order of four full lines of 256 feeds that are padded to 512, of 4+4 bits at even addresses, as
/// f16, have a kernel of their own, with the transform of [`FrbKernels`](crate::FrbKernels), for weights of which the
/// largest are from 2^-13 to 2^7 or so.
///
/// # Precision
/// Gains, phases and the matrix are f16, and rounded so is the sum along a line; sums are f32. A voltage is off by at
/// most 6.9e-4 of the rms voltage of its beam, rms: six roundings of `2^-11 / sqrt(3)` at most. As f16 by one more, and
/// what exceeds 65504 is infinite. By the transform 9e-4.
#[derive(Debug)]
pub struct FrbVoltageKernels<V> {
    beams: FrbBeams,
    counts: Counts,
    grid: Grid,
    /// Of all beams in their order, as f16.
    all: Option<Formed>,
    chosen: usize,
    voltages: PhantomData<fn(V)>,
}

impl<V: VoltageSample> FrbVoltageKernels<V> {
    /// Loads the kernel for beams that are `chosen`, each any number of times, and sends all tables, and waits for
    /// that.
    ///
    /// # Errors
    /// [`BeamformerError::OutOfRange`] for a beam that is not there, [`BeamformerError::Zero`] for none;
    /// [`DeviceError::NoKernel`] for what [`FrbVoltageKernels`] says that there is no kernel of, [`DeviceError::Gpu`]
    /// with what the driver says.
    pub fn load(device: &Device, beams: &FrbBeams, chosen: &[usize]) -> Result<Self, BeamformerError> {
        check_chosen(beams, chosen)?;
        if chosen.is_empty() {
            return Err(BeamformerError::Zero { quantity: "chosen beams" });
        }
        Self::from_prepared(device, beams, &GridPrepared::voltages(V::FORMAT, beams, chosen)?, chosen)
    }

    /// Loads the kernel and sends tables that have been made of these beams.
    pub(in crate::frb) fn from_prepared(
        device: &Device,
        beams: &FrbBeams,
        prepared: &GridPrepared,
        chosen: &[usize],
    ) -> Result<Self, BeamformerError> {
        check_u32("chosen beams", chosen.len())?;
        let in_order = chosen.len() == beams.beams() && chosen.iter().enumerate().all(|(at, &beam)| at == beam);
        let all = if in_order { Formed::load(device, V::FORMAT, beams)? } else { None };
        let grid = Grid::load(device, beams, prepared, u32::MAX)?;
        let counts = Counts { fine: 1, blocks: 1, sum_times: 1, products: beams.pols(), ..Counts::of(beams) };
        Ok(Self { beams: beams.clone(), counts, grid, all, chosen: chosen.len(), voltages: PhantomData })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.grid.device()
    }

    /// The beams that the chosen ones are of.
    pub fn beams(&self) -> &FrbBeams {
        &self.beams
    }

    /// The kernel of voltages of f32 or f16, for its attributes.
    pub fn kernel<O: FrbVoltageOutput>(&self) -> &Kernel {
        self.all.as_ref().filter(|_| O::NARROW).map_or(&self.grid.kernel, |all| &all.kernel)
    }

    /// Number of voltages that come out of so many times; the largest number where it does not fit.
    pub fn voltages(&self, times: usize) -> usize {
        product(&[self.counts.frequencies, times, self.chosen, self.counts.pols])
    }

    /// Voltages `[frequency][time][chosen][pol]` of voltages `[time][frequency][pol][line][feed]` with nothing between
    /// them. Elements past the last ones are neither read nor written; for no times nothing is queued.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] for sizes beyond what a launch can count; [`DeviceError::Length`] if a buffer is too
    /// short, [`DeviceError::Alignment`] if it does not begin at a multiple of an element; [`DeviceError::Gpu`] with
    /// what the driver says.
    pub fn form<O: FrbVoltageOutput>(
        &self,
        stream: &Stream,
        voltages: BufferView<'_, V>,
        times: usize,
        out: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let layout = FrbLayout::packed::<V>(&self.beams, Offset::TwosComplement);
        self.form_bytes(stream, voltages.cast::<u8>()?, layout, times, out)
    }

    /// As [`form`](Self::form), of the bytes of voltages in any layout. 4+4-bit voltages may be offset by 8, and parts
    /// of -8 count as such.
    ///
    /// # Errors
    /// As [`form`](Self::form); [`DeviceError::Alignment`] as well, with the distance for the address, where a distance
    /// is no multiple of a voltage.
    pub fn form_bytes<O: FrbVoltageOutput>(
        &self,
        stream: &Stream,
        bytes: BufferView<'_, u8>,
        layout: FrbLayout,
        times: usize,
        out: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        if times == 0 {
            return Ok(());
        }
        let (counts, voltage) = (self.counts, size_of::<V>());
        let layout_read = Layout::new(&layout, &counts, voltage, bytes.address())?;
        layout_read.expect_lines(&counts)?;
        bytes.expect("voltages", counts.voltage_bytes(times, voltage, &layout), voltage as u64)?;
        out.expect("voltages of beams", self.voltages(times), size_of::<O>() as u64)?;
        if let Some(all) = self.all.as_ref().filter(|_| O::NARROW && layout_read.in_pairs()) {
            let out = out.reborrow().slice(..self.voltages(times))?.cast::<u32>()?;
            return Ok(all.queue(stream, bytes, &layout_read, &counts, times, out)?);
        }
        let good = bytes.slice(0..0)?;
        let time = (self.chosen * counts.pols) as u64;
        let mut out = Out::Voltages {
            words: out.reborrow().slice(..self.voltages(times))?.cast::<u32>()?,
            strides: [times as u64 * time, time, 1, counts.pols as u64],
            beams: self.chosen,
            narrow: O::NARROW,
            conjugate: self.beams.conjugate(),
        };
        let launch = Launch { voltages: bytes, layout: layout_read, good, counts, sums: times };
        Ok(self.grid.queue(stream, &launch, &mut out)?)
    }

    /// Device memory of so many times: voltages of feeds and of beams.
    pub(in crate::frb) fn bytes<O>(&self, times: usize) -> u64 {
        let counts = &self.counts;
        let feeds = product(&[times, counts.frequencies, counts.pols, counts.lines, counts.feeds]);
        let (feeds, beams) =
            (feeds.saturating_mul(size_of::<V>()), self.voltages(times).saturating_mul(size_of::<O>()));
        feeds.saturating_add(beams) as u64
    }

    /// Fills a host array `[frequency][time][chosen][pol]` of all times, `step` of them at once.
    pub(in crate::frb) fn on_host(
        &self,
        voltages: ndarray::ArrayView5<'_, V>,
        step: usize,
        out: &mut [Complex<f32>],
    ) -> Result<(), BeamformerError> {
        let times = voltages.dim().0;
        let stream = self.device().new_stream()?;
        let time = product(&[self.counts.frequencies, self.counts.pols, self.counts.lines, self.counts.feeds]);
        let mut room = Buffer::<V>::alloc(self.device(), step.saturating_mul(time))?;
        let mut made = Buffer::<Complex<f32>>::alloc(self.device(), self.voltages(step))?;
        let row = self.chosen * self.counts.pols;
        for from in (0..times).step_by(step) {
            let its_times = step.min(times - from);
            let sent = voltages.slice(ndarray::s![from..from + its_times, .., .., .., ..]);
            let sent = sent.as_standard_layout();
            let sent = sent.as_slice().unwrap_or_default();
            room.slice_mut(..sent.len())?.copy_from_slice(&stream, sent)?;
            self.form(&stream, room.view(), its_times, &mut made.view_mut())?;
            let found = made.slice(..self.voltages(its_times))?.to_vec(&stream)?;
            let of_frequencies = found.chunks_exact((its_times * row).max(1));
            for (out, found) in out.chunks_exact_mut((times * row).max(1)).zip(of_frequencies) {
                out[from * row..(from + its_times) * row].copy_from_slice(found);
            }
        }
        Ok(())
    }
}
