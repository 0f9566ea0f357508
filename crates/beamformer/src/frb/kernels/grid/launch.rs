//! A kernel of a grid on a device, and its launches.

use fringes_backend::{DeviceError, Workspace};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_types::{Complex, f16};

use super::super::launch::{Counts, Layout, check_u32, product};
use super::channels::{Channels, columns};
use super::{GridPrepared, GridShape, texts};
use crate::FrbBeams;

/// Bytes of finer channels that are made at once: they stay in the L2.
const CHANNEL_BYTES: usize = 24 << 20;

/// Blocks of a launch for each that is resident: their ends are then not all at once.
const WAVES: u32 = 4;

/// A kernel of a grid, and its tables on a device.
#[derive(Debug)]
pub(in crate::frb::kernels) struct Grid {
    pub(in crate::frb::kernels) kernel: Kernel,
    shape: GridShape,
    blocks: u32,
    channels: Option<Channels>,
    gains: Buffer<[u32; 4]>,
    phases: Buffer<[u32; 4]>,
    matrix: Buffer<[u32; 4]>,
    factors: Buffer<f32>,
    places: Buffer<u32>,
    outs: usize,
    north_beams: usize,
    group: usize,
    centre: u32,
}

/// What a launch reads, and how much it makes; all has been checked.
#[derive(Debug, Clone, Copy)]
pub(in crate::frb::kernels) struct Launch<'a> {
    pub(in crate::frb::kernels) voltages: BufferView<'a, u8>,
    pub(in crate::frb::kernels) layout: Layout,
    pub(in crate::frb::kernels) good: BufferView<'a, u8>,
    pub(in crate::frb::kernels) counts: Counts,
    pub(in crate::frb::kernels) sums: usize,
}

/// What comes out.
#[derive(Debug)]
pub(in crate::frb::kernels) enum Out<'a> {
    /// Powers.
    Powers(BufferViewMut<'a, f32>),
    /// Voltages of so many beams, with elements from a frequency, time, polarisation and beam to the next, as f16 or
    /// not, conjugated or not.
    Voltages { words: BufferViewMut<'a, u32>, strides: [u64; 4], beams: usize, narrow: bool, conjugate: bool },
}

/// How a launch of some sums reads its voltages.
#[derive(Debug, Clone, Copy)]
struct Read {
    /// First sum, and how many.
    first: usize,
    sums: usize,
    signs: u32,
    feeds: usize,
    group: usize,
    strides: [u64; 5],
}

impl Grid {
    /// Loads the kernels and sends the tables.
    pub(in crate::frb::kernels) fn load(
        device: &Device,
        beams: &FrbBeams,
        prepared: &GridPrepared,
        shared_bytes: u32,
    ) -> Result<Self, DeviceError> {
        let most = device.info().limits.shared_bytes_per_block.min(shared_bytes);
        let sizes = [beams.lines(), beams.feeds(), prepared.outs, prepared.north_beams];
        let voltage = if prepared.time.is_some() { size_of::<Complex<f16>>() } else { prepared.voltage };
        let shape = prepared.kind.shape(sizes, voltage, most as usize).ok_or_else(|| DeviceError::NoKernel {
            expected: "lines and feeds whose samples fit into shared memory",
            actual: format!("{} lines of {} feeds and {most} bytes", beams.lines(), beams.feeds()),
        })?;
        let module = device.load(&texts::FRB_GRID)?;
        let kernel = module.kernel(&format!("{}_{}", shape.kind.name, prepared.format_name()))?;
        let resident = kernel.blocks_per_multiprocessor(32 * shape.warps as u32, shape.shared_bytes as u32)?.max(1);
        let stream = device.new_stream()?;
        let fragments = |words: &[u32]| -> Result<Buffer<[u32; 4]>, DeviceError> {
            Ok(Buffer::from_slice(&stream, bytemuck::cast_slice::<u32, [u32; 4]>(words))?)
        };
        let tables = &prepared.tables;
        let time = prepared.time.as_ref();
        Ok(Self {
            kernel,
            blocks: resident.saturating_mul(device.info().multiprocessors),
            channels: time.map(|time| Channels::load(device, &module, &stream, time)).transpose()?,
            gains: fragments(&tables.gains)?,
            phases: fragments(&tables.phases)?,
            matrix: fragments(&tables.matrix)?,
            factors: Buffer::from_slice(&stream, &prepared.factors)?,
            places: Buffer::from_slice(&stream, &prepared.places)?,
            outs: prepared.outs,
            north_beams: prepared.north_beams,
            group: if prepared.places.is_empty() { beams.group() } else { 1 },
            centre: if beams.centre() && prepared.places.is_empty() { beams.fine_channels() as u32 / 2 } else { 0 },
            shape,
        })
    }

    /// The device.
    pub(in crate::frb::kernels) fn device(&self) -> &Device {
        self.gains.device()
    }

    /// Words of finer channels of a sum, and sums that are made at once; none where there are no such channels.
    pub(in crate::frb::kernels) fn channel_words(&self, counts: &Counts, sums: usize) -> (usize, usize) {
        match self.channels {
            None => (0, sums.max(1)),
            Some(_) => {
                let words = product(&[counts.frequencies, columns(counts), counts.sum_times]);
                (words, (CHANNEL_BYTES / 4 / words.max(1)).clamp(1, sums.max(1)))
            }
        }
    }

    /// Queues the kernels.
    pub(in crate::frb::kernels) fn queue(
        &self,
        stream: &Stream,
        launch: &Launch<'_>,
        out: &mut Out<'_>,
    ) -> Result<(), DeviceError> {
        let Launch { voltages, layout, counts, sums, .. } = *launch;
        let Some(channels) = &self.channels else {
            let [time, frequency, pol, line] = layout.strides;
            let read = Read {
                first: 0,
                sums,
                signs: layout.signs,
                feeds: counts.feeds,
                group: 1,
                strides: [time, frequency, 0, pol, line],
            };
            return self.form(stream, launch, read, voltages, out);
        };
        let (words, at_once) = self.channel_words(&counts, sums);
        let mut room = Workspace::pool(stream.device()).take::<u32>(stream, at_once.saturating_mul(words))?;
        let line = 4 * counts.feeds.next_multiple_of(4) as u64;
        let pol = line * counts.lines as u64;
        let fine = pol * counts.pols as u64;
        let frequency = fine * (counts.fine * self.group) as u64;
        let block = frequency * counts.frequencies as u64;
        for first in (0..sums).step_by(at_once) {
            let its_sums = at_once.min(sums - first);
            let from = (first * counts.sum_times) as u64 * layout.strides[0];
            let rest = voltages.slice(usize::try_from(from).unwrap_or(usize::MAX)..)?;
            channels.queue(stream, rest, room.view_mut(), &counts, &layout, its_sums * counts.blocks)?;
            let read = Read {
                first,
                sums: its_sums,
                signs: 0,
                feeds: counts.feeds.next_multiple_of(4),
                group: self.group,
                strides: [block, frequency, fine, pol, line],
            };
            self.form(stream, launch, read, room.view().cast::<u8>()?, out)?;
        }
        Ok(())
    }

    /// Queues the products of some sums.
    fn form(
        &self,
        stream: &Stream,
        launch: &Launch<'_>,
        read: Read,
        voltages: BufferView<'_, u8>,
        out: &mut Out<'_>,
    ) -> Result<(), DeviceError> {
        let Launch { good, counts, sums, .. } = *launch;
        let Self { shape, .. } = self;
        let parts = product(&[counts.frequencies, counts.fine, shape.out_parts, shape.beam_parts]);
        // Blocks take as many sums as there are for all of them to be busy.
        let wanted = (self.blocks.saturating_mul(WAVES) as usize).div_ceil(parts.max(1));
        let splits = wanted.clamp(1, read.sums.max(1));
        let items = check_u32("frequencies x fine channels x parts of a launch", parts.saturating_mul(splits))?;
        check_u32("times of a launch", product(&[sums, counts.sum_times, counts.pols]))?;
        let config = LaunchConfig::new([items.max(1), 1, 1], [32 * shape.warps as u32, 1, 1])
            .with_shared_bytes(shape.shared_bytes as u32);
        let summed = counts.pols / counts.products.max(1);
        let [frequencies, fine, times, first, results, outs, beams] =
            [counts.frequencies, counts.fine, sums, read.first, read.sums, self.outs, self.north_beams]
                .map(|count| count as u32);
        let [lines, feeds, pols, summed, blocks, group] =
            [counts.lines, read.feeds, counts.pols, summed, counts.blocks, read.group].map(|count| count as u32);
        let [columns, groups, buffers, out_parts, beam_parts, splits] =
            [shape.columns, shape.groups, shape.buffers, shape.out_parts, shape.beam_parts, splits]
                .map(|count| count as u32);
        let [block, frequency, channel, pol, line] = read.strides;
        let (strides, places, kind) = match out {
            Out::Powers(_) => ([0; 4], 0, 0),
            Out::Voltages { strides, beams, narrow, conjugate, .. } => {
                (*strides, check_u32("chosen beams", *beams)?, u32::from(*narrow) | u32::from(*conjugate) << 1)
            }
        };
        let [out_frequency, out_time, out_pol, out_beam] = strides;
        macro_rules! launch {
            ($results:expr) => {
                self.kernel.launch_safe(
                    stream,
                    &config,
                    args![
                        voltages,
                        good,
                        &self.gains,
                        &self.phases,
                        &self.matrix,
                        &self.factors,
                        &self.places,
                        $results,
                        frequencies,
                        fine,
                        times,
                        first,
                        results,
                        outs,
                        beams,
                        lines,
                        feeds,
                        pols,
                        summed,
                        blocks,
                        group,
                        self.centre,
                        read.signs,
                        columns,
                        groups,
                        buffers,
                        out_parts,
                        beam_parts,
                        splits,
                        block,
                        frequency,
                        channel,
                        pol,
                        line,
                        out_frequency,
                        out_time,
                        out_pol,
                        out_beam,
                        places,
                        kind
                    ],
                )
            };
        }
        match out {
            Out::Powers(powers) => launch!(powers.reborrow())?,
            Out::Voltages { words, .. } => launch!(words.reborrow())?,
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use fringes_gpu::PtxTarget;
    use fringes_gpu::declaration::KernelDeclaration;

    use super::*;

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_name_is_a_kernel_that_checks_its_views() {
        let texts = texts::FRB_GRID.get(PtxTarget::Sm80).unwrap();
        let declared = KernelDeclaration::all(&texts.read().unwrap()).unwrap();
        let mut names: Vec<String> = (1..=10).map(|bits| format!("channels_{}", 1 << bits)).collect();
        for (lines, feeds, any) in [(6, 43, false), (24, 24, false), (24, 24, true)] {
            let kind = super::super::GridKind::powers(lines, feeds, any).name;
            names.extend(["i4", "i8", "f16"].map(|format| format!("{kind}_{format}")));
        }
        names.extend(["i4", "i8"].map(|format| format!("{}_{format}", super::super::VOLTAGES.name)));
        names.push("interpolate_powers".into());
        assert_eq!(names.len(), declared.len());
        for name in names {
            let kernel = declared.iter().find(|declared| declared.name == name).unwrap();
            assert!(kernel.safe, "{name}");
        }
    }
}
