//! The kernels of FRB beams: beamforming, upchannelisation and detection, in one launch or by products of matrices.

mod channel_phases;
mod channel_tables;
mod channel_texts;
mod channelised;
mod choice;
mod formed;
mod fused;
mod grid;
mod launch;
mod parts;
mod prepared;
mod tables;
mod texts;

use std::marker::PhantomData;

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::Expect;
use fringes_gpu::{BufferView, BufferViewMut, Device, Kernel, Stream};
use fringes_types::VoltageSample;

use crate::{BeamformerError, FrbBeams, Offset};
use fused::Fused;
pub(super) use grid::GridPrepared;
use grid::{Grid, Launch, Out};
use launch::{Counts, Layout};
pub(super) use prepared::Prepared;

pub use channel_phases::{channel_phase_power, channel_phases};
pub use channel_tables::{
    VOLTAGE_BOX, beam_places, channelised_weights, in_fours, matrix_powers, result_order, time_matrices,
    voltage_dimensions,
};
pub use grid::{
    FrbInterpolationKernels, FrbVoltageKernels, FrbVoltageOutput, GridKind, GridParts, GridShape, GridTables, VOLTAGES,
};
pub use launch::FrbLayout;
pub use parts::{Parts, output_words};
pub use tables::{Weights, time_phases, time_powers, time_transform};

/// The kernels of FRB beams of voltages `V` on one device, with all tables there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued. [`frb_beams`](crate::frb_beams) and [`FrbStream`](crate::FrbStream) use it for voltages on the host;
/// software that has device buffers of its own calls it itself:
///
/// ```no_run
/// use fringes_beamformer::{FrbBeams, FrbKernels, FrbLayout, Offset};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{Complex, Complex4};
/// use ndarray::{Array3, Array4};
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// // 16 frequencies, 2 polarisations, 4 lines of 256 feeds; 16 channels of 3 x 128 times.
/// let gains = Array4::from_elem((16, 2, 4, 256), Complex::new(1f32, 0.0));
/// let matrix = Array3::from_elem((16, 4, 4), Complex::new(0.25f32, 0.0));
/// let beams = FrbBeams::builder(gains, matrix, 512).upchannelisation(128).group(8).blocks(3).build()?;
/// let kernels = FrbKernels::<Complex4>::load(&device, &beams)?; // once
/// // Bytes [time][frequency][pol][line][feed], both halves offset by 8.
/// let layout = FrbLayout::packed::<Complex4>(&beams, Offset::Offset8);
/// let times = 100 * beams.sum_times();
/// let bytes = Buffer::<u8>::zeroed(&stream, times * layout.time_bytes)?;
/// let mut powers = Buffer::<f32>::alloc(&device, kernels.powers(times)?)?; // [frequency][fine][time][beam][product]
/// kernels.detect_bytes(&stream, bytes.view(), layout, times, None, &mut powers.view_mut())?;
/// let powers = powers.to_vec(&stream)?; // waits for the stream
/// # let _ = powers;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Kernels
/// Voltages are of 4+4 or 8 bits. One launch does all for lines of up to 256 feeds that are padded to 256 or 512 with
/// an upchannelisation of 128; for CHIME's shape on compute capability 9.0 it transforms over time first. All else is
/// made by products of matrices: the voltages of feeds are upchannelised where they are to be, some sums at a time that
/// stay in the device's L2 (their memory is of the pool that operations share, and allocated once:
/// [`workspace_bytes`](Self::workspace_bytes)), then beams are formed and powers summed in one launch. Lines and feeds
/// are such that the samples of two times (16 of one line, 8 of two, 4 of three or four) fit into a block's shared
/// memory. Of weights, and of gains and matrix, each frequency's largest is 0 or from 2^-60 to below 2^60. Anything
/// else of [`FrbBeams`] may be as it likes.
///
/// # Precision
/// Weights, phases and beams' voltages are f16, sums of powers f32 or f16. For noise, the rms error of powers is at
/// most
/// `hypot(sqrt(2) hypot(9e-4, 6e-4) / sqrt(terms), 2.1e-4)` of their mean over the beams, with `terms` powers in a sum:
/// `group` x good blocks x polarisations in it; by products of matrices, `5.7e-4 / sqrt(lines)` is to be added in the
/// same way, as numbers of the matrix are rounded by themselves; for CHIME's shape on compute capability 9.0 8.0e-4 or
/// less, as powers are summed as f16 there, up to six blocks of times. Their mean over all is off by less than 1e-4.
#[derive(Debug)]
pub struct FrbKernels<V> {
    counts: Counts,
    way: Way,
    beams: FrbBeams,
    voltages: PhantomData<fn(V)>,
}

/// Which kernels do it.
#[derive(Debug)]
enum Way {
    Fused(Fused),
    Grid(Grid),
}

impl<V: VoltageSample> FrbKernels<V> {
    /// Loads the kernels and sends all tables, and waits for that; the first time on a machine the driver compiles the
    /// kernels.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] and [`DeviceError::TooLarge`] for what [`FrbKernels`] says that there is no kernel of,
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device, beams: &FrbBeams) -> Result<Self, BeamformerError> {
        Self::load_within(device, beams, u32::MAX)
    }

    /// As [`load`](Self::load), with so many bytes of shared memory a block at most.
    #[doc(hidden)]
    pub fn load_within(device: &Device, beams: &FrbBeams, shared_bytes: u32) -> Result<Self, BeamformerError> {
        Self::from_prepared(device, beams, &Prepared::new(V::FORMAT, beams)?, shared_bytes)
    }

    /// As [`load_within`](Self::load_within), by products of matrices, of any lines if `any`.
    #[doc(hidden)]
    pub fn load_grid(device: &Device, beams: &FrbBeams, shared_bytes: u32, any: bool) -> Result<Self, BeamformerError> {
        let kind = GridKind::powers(beams.lines(), beams.feeds(), any);
        let prepared = Prepared::Grid(GridPrepared::powers_by(kind, V::FORMAT, beams)?);
        Self::from_prepared(device, beams, &prepared, shared_bytes)
    }

    /// Loads the kernels and sends tables that have been made of these beams.
    pub(super) fn from_prepared(
        device: &Device,
        beams: &FrbBeams,
        prepared: &Prepared,
        shared_bytes: u32,
    ) -> Result<Self, BeamformerError> {
        let way = match prepared {
            Prepared::Fused(prepared) => Way::Fused(Fused::load(device, beams, prepared, shared_bytes)?),
            Prepared::Grid(prepared) => Way::Grid(Grid::load(device, beams, prepared, shared_bytes)?),
        };
        Ok(Self { counts: Counts::of(beams), way, beams: beams.clone(), voltages: PhantomData })
    }

    /// The same with the kernel of any lines alone, of those that are one launch.
    #[doc(hidden)]
    pub fn of_any_lines(self) -> Self {
        let way = match self.way {
            Way::Fused(fused) => Way::Fused(fused.of_any_lines()),
            grid => grid,
        };
        Self { way, ..self }
    }

    /// The same with a block for each sum over lines, of those that are one launch.
    #[doc(hidden)]
    pub fn of_one_out(self) -> Self {
        let way = match self.way {
            Way::Fused(fused) => Way::Fused(fused.of_one_out()),
            grid => grid,
        };
        Self { way, ..self }
    }

    /// Whether beams are made by products of matrices, and not in one launch.
    pub fn by_products(&self) -> bool {
        matches!(self.way, Way::Grid(_))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        match &self.way {
            Way::Fused(fused) => fused.device(),
            Way::Grid(grid) => grid.device(),
        }
    }

    /// The beams.
    pub fn beams(&self) -> &FrbBeams {
        &self.beams
    }

    /// The kernel that makes powers of voltages in a layout that begin at an even address, for its attributes.
    ///
    /// # Errors
    /// As [`detect_bytes`](Self::detect_bytes) of the layout.
    pub fn kernel(&self, layout: FrbLayout) -> Result<&Kernel, BeamformerError> {
        let layout = Layout::new(&layout, &self.counts, size_of::<V>(), 0)?;
        Ok(match &self.way {
            Way::Fused(fused) => fused.kernel(&layout, &self.counts),
            Way::Grid(grid) => &grid.kernel,
        })
    }

    /// Bytes of device memory that are taken beside voltages and powers, for so many times.
    ///
    /// # Errors
    /// As [`powers`](Self::powers).
    pub fn workspace_bytes(&self, times: usize) -> Result<u64, BeamformerError> {
        let sums = self.counts.sums(times)?;
        Ok(match &self.way {
            Way::Fused(_) => 0,
            Way::Grid(grid) => {
                let (words, at_once) = grid.channel_words(&self.counts, sums);
                (words as u64).saturating_mul(at_once as u64).saturating_mul(4)
            }
        })
    }

    /// Powers of so many times.
    ///
    /// # Errors
    /// [`TypesError::Multiple`](fringes_types::TypesError::Multiple) for times that are no whole number of sums.
    pub fn powers(&self, times: usize) -> Result<usize, BeamformerError> {
        Ok(self.counts.powers(self.counts.sums(times)?))
    }

    /// Powers `[frequency][fine][time][beam][product]` of voltages `[time][frequency][pol][line][feed]` with nothing
    /// between them. Blocks whose flag in `good`, `[frequency][block]`, is 0 are left out. Elements of the buffers past
    /// the last ones are neither read nor written; for no times nothing is queued.
    ///
    /// # Layout
    /// Voltages are read in words of two feeds where the address allows it and the feeds of a line are even in number;
    /// else one by one, which takes longer. Four lines of 256 feeds of 4+4 bits take a kernel of their own then; four
    /// outs in groups of 8 of 128 finer channels as well, on compute capability 9.0 where the address is a multiple of
    /// 16.
    ///
    /// # Errors
    /// [`TypesError::Multiple`](fringes_types::TypesError::Multiple) for times that are no whole number of sums;
    /// [`DeviceError::TooLarge`] for sizes beyond what a launch can count, or 2^24 bytes from a time to the next or
    /// more; [`DeviceError::Length`] if a buffer is too short, [`DeviceError::Alignment`] if it does not begin at a
    /// multiple of an element; [`DeviceError::Gpu`] with what the driver says.
    pub fn detect(
        &self,
        stream: &Stream,
        voltages: BufferView<'_, V>,
        times: usize,
        good: Option<BufferView<'_, u8>>,
        powers: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let layout = FrbLayout::packed::<V>(&self.beams, Offset::TwosComplement);
        // In voltages, as the error counts them.
        let sums = self.counts.sums(times)?;
        let bytes = self.counts.voltage_bytes(sums, size_of::<V>(), &layout);
        voltages.expect(
            "voltages",
            if sums == 0 { 0 } else { bytes.div_ceil(size_of::<V>()) },
            size_of::<V>() as u64,
        )?;
        self.detect_bytes(stream, voltages.cast::<u8>()?, layout, times, good, powers)
    }

    /// As [`detect`](Self::detect), of the bytes of voltages in any layout. 4+4-bit voltages may be offset by 8, and
    /// parts of -8 count as such.
    ///
    /// # Errors
    /// As [`detect`](Self::detect); [`DeviceError::Alignment`] as well, with the distance for the address, where a
    /// distance is no multiple of a voltage.
    pub fn detect_bytes(
        &self,
        stream: &Stream,
        bytes: BufferView<'_, u8>,
        layout: FrbLayout,
        times: usize,
        good: Option<BufferView<'_, u8>>,
        powers: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let counts = &self.counts;
        let sums = counts.sums(times)?;
        if sums == 0 {
            return Ok(());
        }
        let voltage = size_of::<V>();
        let read = Layout::new(&layout, counts, voltage, bytes.address())?;
        match &self.way {
            Way::Fused(fused) => fused.check(&read, counts, sums)?,
            Way::Grid(_) => read.expect_lines(counts)?,
        }
        bytes.expect("voltages", counts.voltage_bytes(sums, voltage, &layout), voltage as u64)?;
        powers.expect("powers", counts.powers(sums), size_of::<f32>() as u64)?;
        let good = match good {
            Some(good) => {
                good.expect("flags of good blocks", counts.flags(sums), 1)?;
                good.slice(..counts.flags(sums))?
            }
            None => bytes.slice(0..0)?,
        };
        let launch = Launch { voltages: bytes, layout: read, good, counts: *counts, sums };
        let mut out = Out::Powers(powers.reborrow().slice(..counts.powers(sums))?);
        match &self.way {
            Way::Fused(fused) => fused.queue(stream, &launch, &mut out)?,
            Way::Grid(grid) => grid.queue(stream, &launch, &mut out)?,
        }
        Ok(())
    }
}
