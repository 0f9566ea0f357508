//! The kernels that do all of the chain in one launch, and their tables on a device.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, Device, Kernel, LaunchConfig, Stream, args};

use super::channelised::Channelised;
use super::choice::Choice;
use super::grid::{Launch, Out};
use super::launch::{Counts, Layout, check_u32};
use super::parts::Parts;
use super::prepared::FusedPrepared;
use crate::FrbBeams;

/// Kernels of one launch.
#[derive(Debug)]
pub(super) struct Fused {
    pub(super) choice: Choice,
    /// The kernel that takes feeds in finer channels.
    channelised: Option<Box<Channelised>>,
    shared_bytes: u32,
    /// Arguments of a launch that do not change: parts, beams of a part, rows, group, and what changes numbers of
    /// channels.
    parts: usize,
    part_beams: u32,
    slots: u32,
    group_bits: u32,
    centre: u32,
    tables: Tables,
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

impl Fused {
    /// Loads the kernels and sends tables that have been made of these beams.
    pub(super) fn load(
        device: &Device,
        beams: &FrbBeams,
        prepared: &FusedPrepared,
        shared_bytes: u32,
    ) -> Result<Self, DeviceError> {
        let missing = |expected, actual| DeviceError::NoKernel { expected, actual };
        let family = prepared.family;
        let most = device.info().limits.shared_bytes_per_block.min(shared_bytes);
        let parts = Parts::new(beams.map(), family.size, family.row_words(), beams.fine_channels(), most);
        let parts = parts.ok_or_else(|| missing("shared memory for a beam", format!("{most} bytes")))?;
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
        let channelised = match &prepared.channelised {
            Some(prepared) => Channelised::load(device, prepared, shared_bytes)?.map(Box::new),
            None => None,
        };
        Ok(Self {
            choice,
            channelised,
            shared_bytes: parts.shared_bytes,
            parts: parts.parts,
            part_beams: check_u32("beams of a part", parts.part_beams)?,
            slots: check_u32("rows of a part", parts.slots)?,
            group_bits: beams.group().trailing_zeros(),
            centre: if beams.centre() { beams.fine_channels() as u32 / 2 } else { 0 },
            tables,
        })
    }

    /// Without kernels of particular lines.
    pub(super) fn of_any_lines(self) -> Self {
        Self { choice: self.choice.without_particular(), channelised: None, ..self }
    }

    /// Without the kernel that makes all sums over lines in a block.
    pub(super) fn of_one_out(self) -> Self {
        Self { channelised: None, ..self }
    }

    /// The kernel of voltages that lie so.
    pub(super) fn kernel(&self, layout: &Layout, counts: &Counts) -> &Kernel {
        let takes = |kernel: &&Channelised| kernel.layout(layout, counts, 1).is_some();
        let channelised = self.channelised.as_deref().filter(takes);
        channelised.map_or(&self.choice.of(layout).kernel, |kernel| &kernel.loaded.kernel)
    }

    /// The device.
    pub(super) fn device(&self) -> &Device {
        self.tables.weights.device()
    }

    /// Checks the sizes of a launch.
    pub(super) fn check(&self, layout: &Layout, counts: &Counts, sums: usize) -> Result<(), DeviceError> {
        layout.expect_block(counts)?;
        counts.units(sums, self.parts).map(|_| ())
    }

    /// Queues the kernel.
    pub(super) fn queue(&self, stream: &Stream, launch: &Launch<'_>, out: &mut Out<'_>) -> Result<(), DeviceError> {
        if let Some(kernel) = &self.channelised
            && let Some(voltages) = kernel.layout(&launch.layout, &launch.counts, launch.sums)
        {
            return kernel.queue(stream, launch, &voltages, out);
        }
        let Out::Powers(powers) = out else { return Ok(()) };
        let Launch { voltages, layout, good, counts, sums } = *launch;
        let units = counts.units(sums, self.parts)?;
        let loaded = self.choice.of(&layout);
        let grid = [units.clamp(1, loaded.blocks), 1, 1];
        let config = LaunchConfig::new(grid, [32 * loaded.warps, 1, 1]).with_shared_bytes(self.shared_bytes);
        let Self { part_beams, slots, group_bits, centre, tables, .. } = self;
        let summed = counts.pols / counts.products.max(1);
        // All of them are factors of numbers that have been checked, or smaller than these.
        let [frequencies, times, outs, parts, beams, lines, feeds, pols, summed, blocks] = [
            counts.frequencies,
            sums,
            counts.outs,
            self.parts,
            counts.north_beams,
            counts.lines,
            counts.feeds,
            counts.pols,
            summed,
            counts.blocks,
        ]
        .map(|size| size as u32);
        let [time, frequency, pol, line] = layout.strides;
        let arguments = args![
            voltages,
            good,
            &tables.weights,
            &tables.phases,
            &tables.slots,
            &tables.rows,
            &tables.time_phases,
            &tables.factors,
            powers.reborrow(),
            frequencies,
            times,
            outs,
            parts,
            beams,
            *part_beams,
            *slots,
            lines,
            feeds,
            pols,
            summed,
            blocks,
            *group_bits,
            *centre,
            layout.signs,
            time,
            frequency,
            pol,
            line
        ];
        Ok(loaded.kernel.launch_safe(stream, &config, arguments)?)
    }
}
