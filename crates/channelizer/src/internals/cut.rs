//! A plan's general kernels on a device where a spectrum is too long for many to be in a block's shared memory: two
//! launches with a workspace between them ([`CutPlan`]).

use std::sync::{Mutex, PoisonError};

use fringes_gpu::{Buffer, Device, Kernel, KernelElement, LaunchConfig, PtxSet, Stream, args};
use fringes_kernel_abi::f_engine::one_pass as abi;
use fringes_types::{ChunkFormat, SampleFormat};
use num_complex::Complex64;

use super::cut_plan::{CutPlan, SPECTRA, Spread};
use super::format::{Numbers, output_name};
use super::gain_table::GainTable;
use super::launches::LaunchBytes;
use super::one_pass::finite;
use super::one_pass_plan::MOST_TAPS;
use super::passes::{LANES, Workspace, no_kernel};
use super::shape::of_lanes;
use super::{JobTable, Sources, SpectraLaunch, Target, Targets, texts};
use crate::{Channelizer, ChannelizerError, Precision};

/// Threads of a block.
const THREADS: u32 = abi::THREADS;
/// Blocks of the second launch that a multiprocessor is to hold.
const RESIDENT: u32 = 3;
/// Shared memory that a block has beside what it asks for.
const RESERVED: u32 = 1 << 10;

/// The cut of a plan, if the kernels take it.
///
/// # Errors
/// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) with what they ask for.
pub fn check(plan: &Channelizer) -> Result<CutPlan, ChannelizerError> {
    let channels = plan.channels();
    let Some(cut) = CutPlan::new(channels, plan.is_complex()) else {
        let expected = "a number of channels of factors 2, 3 and 5, at most 65536";
        return Err(no_kernel(expected, format!("{channels} channels")));
    };
    if plan.taps() > MOST_TAPS {
        return Err(no_kernel("at most 64 taps", format!("{} taps", plan.taps())));
    }
    Ok(cut)
}

/// Kernels of the second launch, with the word for the samples in their names.
fn kernels(complex: bool) -> (&'static str, &'static PtxSet) {
    if complex {
        ("rows_complex", &texts::CHANNELIZER_GENERAL_ROWS_COMPLEX)
    } else {
        ("rows_real", &texts::CHANNELIZER_GENERAL_ROWS_REAL)
    }
}

/// How jobs of a number of channels are cut into launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Launches {
    /// Points of a job in the workspace.
    job: usize,
    bytes: LaunchBytes,
}

impl Launches {
    fn new(channels: usize, bytes: LaunchBytes) -> Self {
        Self { job: channels * SPECTRA, bytes }
    }

    /// Jobs of a launch at most.
    fn jobs(&self) -> usize {
        (self.bytes.workspace / (8 * self.job)).max(1)
    }

    /// Points of the workspace of a lane.
    fn points(&self) -> usize {
        self.jobs() * self.job
    }

    /// First job and number of jobs of each launch.
    fn of(&self, jobs: usize) -> impl ExactSizeIterator<Item = (usize, usize)> + use<> {
        of_lanes(jobs, self.jobs(), self.bytes.full / (8 * self.job))
    }
}

/// A plan's cut general kernels, weights and tables on one device, for all numbers of channels from
/// [`LEAST_POINTS`](super::cut_plan::LEAST_POINTS) on and formats that [`TwoPassKernels`](super::TwoPassKernels) has no
/// kernel for.
///
/// A launch is queued on a stream and returns at once; nothing is allocated. The workspaces belong to the object, as
/// those of `TwoPassKernels`.
#[derive(Debug)]
pub struct CutKernels {
    columns: Kernel,
    rows: Kernel,
    cut: CutPlan,
    numbers: Numbers,
    taps: u32,
    /// Numbers from spectrum to spectrum.
    stride: u32,
    spread: Spread,
    /// Spectra of a block of the second launch.
    part: usize,
    inputs: usize,
    first_twiddles: usize,
    blocks_of_rows: usize,
    launches: Launches,
    weights: Buffer<[f32; 4]>,
    twiddles: Buffer<[f32; 4]>,
    blocks: Buffer<[u32; 4]>,
    pairs: Buffer<[u32; 4]>,
    channel_of: Buffer<u32>,
    gains: Mutex<GainTable>,
    workspace: Mutex<Workspace<[f32; 2]>>,
}

impl CutKernels {
    /// Loads the kernels for samples of a format and voltages of another, as
    /// [`OnePassKernels::load`](super::OnePassKernels::load).
    ///
    /// # Errors
    /// As there.
    pub fn load(
        device: &Device,
        plan: &Channelizer,
        format: ChunkFormat,
        output: SampleFormat,
        inputs: usize,
        gain: impl Fn(usize, usize) -> Complex64,
    ) -> Result<Self, ChannelizerError> {
        plan.check_kind(format.is_complex())?;
        let (cut, numbers) = (check(plan)?, Numbers::of(format)?);
        let channels = plan.channels();
        let limits = &device.info().limits;
        let part = part(&cut, limits.shared_bytes_per_block, limits.shared_bytes_per_multiprocessor)?;
        let kind = if numbers.floats { "floats" } else { "integers" };
        let columns = device.load(&texts::CHANNELIZER_GENERAL_COLUMNS)?.kernel(&format!("columns_{kind}"))?;
        let (name, set) = kernels(plan.is_complex());
        let rows = device.load(set)?.kernel(&format!("{name}_{}", output_name(output)))?;
        let stream = device.new_stream()?;
        let gains = gains(&cut, inputs, gain)?;
        let scale = if numbers.floats { 0 } else { numbers.bits };
        let known = LaunchBytes::of(device, Precision::Single, channels);
        let launches = Launches::new(channels, plan.launch_bytes().unwrap_or(known));
        let blocks = cut.table_of_blocks();
        Ok(Self {
            columns,
            rows,
            numbers,
            taps: plan.taps() as u32,
            stride: plan.stride() as u32 * numbers.parts,
            spread: Spread::new(plan.step(), plan.stride(), SPECTRA),
            part,
            inputs,
            first_twiddles: cut.first_twiddles(),
            blocks_of_rows: blocks.len(),
            launches,
            weights: Buffer::from_slice(&stream, &cut.passes().weights(plan.weights(), scale))?,
            twiddles: Buffer::from_slice(&stream, &cut.passes().twiddles())?,
            blocks: Buffer::from_slice(&stream, &blocks)?,
            pairs: Buffer::from_slice(&stream, &cut.pairs())?,
            channel_of: Buffer::from_slice(&stream, &cut.channels())?,
            gains: Mutex::new(GainTable::new(&stream, gains, inputs)?),
            workspace: Mutex::new(Workspace::new(device, launches.points(), stream.clone())?),
            cut,
        })
    }

    /// Bytes of device memory that an object takes at most for a plan and a number of inputs.
    pub fn memory_bytes(plan: &Channelizer, inputs: usize) -> u64 {
        let channels = plan.channels();
        let launches = Launches::new(channels, LaunchBytes::most(Precision::Single, channels));
        let workspace = (8 * LANES * launches.points()) as u64;
        CutPlan::table_bytes(channels, plan.taps(), inputs).saturating_add(workspace)
    }

    /// Makes the gains others, as [`OnePassKernels::set_gains`](super::OnePassKernels::set_gains).
    ///
    /// # Errors
    /// As there.
    pub fn set_gains(&self, stream: &Stream, gain: impl Fn(usize, usize) -> Complex64) -> Result<(), ChannelizerError> {
        let gains = gains(&self.cut, self.inputs, gain)?;
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner).take_to(stream)?;
        self.gains.lock().unwrap_or_else(PoisonError::into_inner).set(stream, gains)
    }

    /// Most spectra of a job, whichever is its first one.
    pub fn spectra_of_job(&self) -> usize {
        SPECTRA
    }

    /// Inputs that have gains.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Runs jobs, as [`TwoPassKernels::launch`](super::TwoPassKernels::launch).
    ///
    /// # Errors
    /// As there.
    pub fn launch<T: KernelElement>(
        &self,
        stream: &Stream,
        launch: SpectraLaunch<'_, T>,
    ) -> Result<(), ChannelizerError> {
        let SpectraLaunch { samples: Sources { chunk, held }, jobs, place, dither, out } = launch;
        let Targets { given: Target { values: mut out, mut saturated }, next } = out;
        let Target { values: mut next, saturated: mut next_saturated } = next;
        let jobs_of_table = jobs.checked()?;
        let JobTable { words: jobs, count, after } = jobs;
        if count == 0 {
            return Ok(());
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        workspace.take_to(stream)?;
        let gains = self.gains.lock().unwrap_or_else(PoisonError::into_inner);
        let ([first, last], points) = (self.cut.packed_radices(), self.cut.passes().points() as u32);
        let rows_of_all = self.cut.rows() as u32;
        let launches = (self.launches.of(count), 1);
        workspace.run(stream, after, launches, |stream, between, first_job, jobs_of_launch| {
            let strips = self.cut.row() / self.cut.width();
            let grid = [strips, self.spread.blocks(SPECTRA), jobs_of_launch].map(|blocks| blocks as u32);
            let config = LaunchConfig::new(grid, [THREADS, 1, 1]).with_shared_bytes(self.cut.strip_bytes() as u32);
            let columns = args![
                chunk,
                held,
                &self.weights,
                &self.twiddles,
                jobs,
                &mut *between,
                jobs_of_table,
                first_job as u32,
                points,
                first,
                rows_of_all,
                self.cut.width() as u32,
                self.spread.period as u32,
                self.spread.part as u32,
                self.taps,
                self.stride,
                self.numbers.bits,
                u32::from(self.numbers.little_endian),
                SPECTRA as u32,
            ];
            self.columns.launch_safe(stream, &config, columns)?;
            let grid = [SPECTRA.div_ceil(self.part), self.blocks_of_rows, jobs_of_launch].map(|blocks| blocks as u32);
            let shared = self.cut.rows_bytes(self.part) as u32;
            let config = LaunchConfig::new(grid, [THREADS, 1, 1]).with_shared_bytes(shared);
            let rows = args![
                between.view(),
                &self.twiddles,
                &self.blocks,
                &self.pairs,
                &self.channel_of,
                gains.view(),
                jobs,
                out.reborrow(),
                saturated.reborrow(),
                next.reborrow(),
                next_saturated.reborrow(),
                jobs_of_table,
                first_job as u32,
                points,
                last,
                rows_of_all,
                self.first_twiddles as u32,
                self.stride,
                SPECTRA as u32,
                self.part as u32,
                place.first_channel,
                place.channels,
                place.channel_stride,
                place.period,
                place.period_stride,
                place.time_stride,
                dither.unwrap_or(0),
                u32::from(dither.is_some()),
            ];
            self.rows.launch_safe(stream, &config, rows)?;
            Ok(())
        })
    }
}

/// Spectra of a block of the second launch: what lets a multiprocessor hold three blocks, or else one, in parts of a
/// job that are about as long as each other; of the shared memory of a block and of a multiprocessor.
fn part(cut: &CutPlan, block: u32, all: u32) -> Result<usize, ChannelizerError> {
    let share = (all / RESIDENT).saturating_sub(RESERVED).min(block) as usize;
    let room = |bytes: usize| (1..=SPECTRA).take_while(|&spectra| cut.rows_bytes(spectra) <= bytes).last();
    let most = room(share).or_else(|| room(block as usize)).filter(|_| cut.strip_bytes() <= block as usize);
    let expected = "rows that fit into the shared memory of a block";
    let most = most.ok_or_else(|| no_kernel(expected, format!("{} channels", cut.passes().points())))?;
    Ok(SPECTRA.div_ceil(SPECTRA.div_ceil(most)))
}

/// Gains as the kernels read them, input by input.
fn gains(
    cut: &CutPlan,
    inputs: usize,
    gain: impl Fn(usize, usize) -> Complex64,
) -> Result<Vec<[f32; 2]>, ChannelizerError> {
    finite((cut.passes().points(), inputs), &gain)?;
    Ok((0..inputs).flat_map(|input| cut.gains(|channel| gain(input, channel))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_as_many_spectra_as_a_third_of_a_multiprocessor() {
        for channels in [1875, 2187, 10_000, 20_000, 30_000, 46_875, 50_000, 59_049, 65_536] {
            let plan = Channelizer::real(channels).taps(4).build().unwrap();
            let cut = check(&plan).unwrap();
            let [low, high] = [99, 227].map(|kib| part(&cut, kib << 10, (kib + 1) << 10).unwrap());
            assert!(low >= 1 && high >= 2 && cut.rows_bytes(high) <= 75 << 10, "{cut:?} {low} {high}");
        }
    }

    #[test]
    fn memory_is_that_of_the_workspace_and_the_tables() {
        let plan = Channelizer::real(50_000).taps(16).build().unwrap();
        let bytes = CutKernels::memory_bytes(&plan, 2);
        // Weights alone are 6.4 MB; a job of 48 spectra takes 19.2 MB.
        let launches = Launches::new(50_000, LaunchBytes::most(Precision::Single, 50_000));
        assert!(bytes > (6_400_000 + 2 * 8 * launches.points()) as u64);
        assert_eq!(launches.of(7).map(|(_, jobs)| jobs).sum::<usize>(), 7);
    }

    #[test]
    fn plans_without_a_kernel_say_why() {
        for (channels, taps, expected) in [(7 * 640, 4, "factors 2, 3 and 5, at most 65536"), (10_000, 65, "64 taps")] {
            let error = check(&Channelizer::real(channels).taps(taps).build().unwrap()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
