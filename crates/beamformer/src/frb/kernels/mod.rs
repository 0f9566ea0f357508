//! The kernels of FRB beams: beamforming, upchannelisation and detection in one launch.

mod choice;
mod grid;
mod launch;
mod parts;
mod prepared;
mod tables;
mod texts;

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_types::VoltageSample;

use crate::{BeamformerError, FrbBeams, Offset};
use choice::Choice;
use launch::{Counts, Layout, check_u32};
pub(super) use prepared::Prepared;

pub use grid::{GridKind, GridParts, GridShape, GridTables, VOLTAGES};
pub use launch::FrbLayout;
pub use parts::Parts;
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
/// There are kernels of 4+4-bit and 8-bit voltages for lines of up to 256 feeds that are padded to 256 or 512, an
/// upchannelisation of 128, and weights of which each frequency's largest is 0 or from 2^-60 to below 2^60. Anything
/// else of [`FrbBeams`] may be as it likes.
///
/// # Precision
/// Weights, phases and beams' voltages are f16, sums of powers f32. For noise, the rms error of powers is at most
/// `hypot(sqrt(2) hypot(9e-4, 6e-4) / sqrt(terms), 2.1e-4)` of their mean over the beams, with `terms` powers in a sum:
/// `group` x good blocks x polarisations in it. Their mean over all is off by less than 1e-4.
#[derive(Debug)]
pub struct FrbKernels<V> {
    counts: Counts,
    choice: Choice,
    shared_bytes: u32,
    /// Arguments of a launch that do not change: beams of a part, rows, group, and what changes numbers of channels.
    part_beams: u32,
    slots: u32,
    group_bits: u32,
    centre: u32,
    beams: FrbBeams,
    tables: Tables,
    voltages: PhantomData<fn(V)>,
}

/// What the kernels read beside voltages.
#[derive(Debug)]
struct Tables {
    weights: Buffer<u32>,
    phases: Buffer<u32>,
    slots: Buffer<u32>,
    rows: Buffer<u32>,
    time_phases: Buffer<u32>,
    factors: Buffer<f32>,
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

    /// Loads the kernels and sends tables that have been made of these beams.
    pub(super) fn from_prepared(
        device: &Device,
        beams: &FrbBeams,
        prepared: &Prepared,
        shared_bytes: u32,
    ) -> Result<Self, BeamformerError> {
        let missing = |expected, actual| DeviceError::NoKernel { expected, actual };
        let family = prepared.family;
        let most = device.info().limits.shared_bytes_per_block.min(shared_bytes);
        let parts = Parts::new(beams.map(), family.size, family.row_words(), beams.fine_channels(), most);
        let parts = parts.ok_or_else(|| missing("shared memory for a beam", format!("{most} bytes")))?;
        let counts = Counts::of(beams, parts.parts);
        counts.units(1)?;
        let texts = family.texts().ok_or_else(|| missing("beams with a kernel", family.size.to_string()))?;
        let choice = Choice::new(&family, beams, &device.load(texts)?, parts.shared_bytes)?;
        let stream = device.new_stream()?;
        let tables = Tables {
            weights: Buffer::from_slice(&stream, &prepared.weights.words)?,
            phases: Buffer::from_slice(&stream, &prepared.phases)?,
            slots: Buffer::from_slice(&stream, &parts.slot_table)?,
            rows: Buffer::from_slice(&stream, &parts.row_table)?,
            time_phases: Buffer::from_slice(&stream, &prepared.time_phases)?,
            factors: Buffer::from_slice(&stream, &prepared.factors)?,
        };
        Ok(Self {
            counts,
            choice,
            shared_bytes: parts.shared_bytes,
            part_beams: check_u32("beams of a part", parts.part_beams)?,
            slots: check_u32("rows of a part", parts.slots)?,
            group_bits: beams.group().trailing_zeros(),
            centre: if beams.centre() { beams.fine_channels() as u32 / 2 } else { 0 },
            beams: beams.clone(),
            tables,
            voltages: PhantomData,
        })
    }

    /// The same with the kernel of any lines alone.
    #[doc(hidden)]
    pub fn of_any_lines(self) -> Self {
        Self { choice: self.choice.without_particular(), ..self }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.tables.weights.device()
    }

    /// The beams.
    pub fn beams(&self) -> &FrbBeams {
        &self.beams
    }

    /// The kernel of voltages in a layout that begin at an even address, for its attributes.
    ///
    /// # Errors
    /// As [`detect_bytes`](Self::detect_bytes) of the layout.
    pub fn kernel(&self, layout: FrbLayout) -> Result<&Kernel, BeamformerError> {
        let layout = Layout::new(&layout, &self.counts, size_of::<V>(), 0)?;
        Ok(&self.choice.of(&layout).kernel)
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
    /// else one by one, which takes longer. Four lines of 256 feeds of 4+4 bits take a kernel of their own then.
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
        let units = counts.units(sums)?;
        let read = Layout::new(&layout, counts, voltage, bytes.address())?;
        bytes.expect("voltages", counts.voltage_bytes(sums, voltage, &layout), voltage as u64)?;
        powers.expect("powers", counts.powers(sums), size_of::<f32>() as u64)?;
        let good = match good {
            Some(good) => {
                good.expect("flags of good blocks", counts.flags(sums), 1)?;
                good.slice(..counts.flags(sums))?
            }
            None => bytes.slice(0..0)?,
        };
        let powers = powers.reborrow().slice(..counts.powers(sums))?;
        let loaded = self.choice.of(&read);
        let grid = [units.clamp(1, loaded.blocks), 1, 1];
        let config = LaunchConfig::new(grid, [32 * loaded.warps, 1, 1]).with_shared_bytes(self.shared_bytes);
        let Counts { frequencies, pols, outs, lines, feeds, north_beams, products, blocks, parts, .. } = *counts;
        let Self { part_beams, slots, group_bits, centre, .. } = *self;
        let [times, summed] = [sums, pols / products.max(1)];
        // All of them are factors of numbers that have been checked, or smaller than these.
        let [frequencies, times, outs, parts, beams, lines, feeds, pols, summed, blocks] =
            [frequencies, times, outs, parts, north_beams, lines, feeds, pols, summed, blocks].map(|size| size as u32);
        let [time, frequency, pol, line] = read.strides;
        let tables = &self.tables;
        let arguments = args![
            bytes,
            good,
            &tables.weights,
            &tables.phases,
            &tables.slots,
            &tables.rows,
            &tables.time_phases,
            &tables.factors,
            powers,
            frequencies,
            times,
            outs,
            parts,
            beams,
            part_beams,
            slots,
            lines,
            feeds,
            pols,
            summed,
            blocks,
            group_bits,
            centre,
            read.signs,
            time,
            frequency,
            pol,
            line
        ];
        Ok(loaded.kernel.launch_safe(stream, &config, arguments)?)
    }
}
