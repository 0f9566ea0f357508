//! Kernels on samples as they come: rows put behind rows, jobs of their spectra, statistics.

use fringes_backend::DeviceError;
use std::ops::Range;

use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, PinnedBuffer, Stream, args};
use fringes_kernel_abi::f_engine::samples as abi;
pub use fringes_kernel_abi::f_engine::samples::{SPAN, SPAN_PIECES};

use super::format::Numbers;
use super::run::{JobLength, Periods, RunSizes};
use super::texts;
use crate::ChannelizerError;

/// Threads of a block.
const THREADS: u32 = abi::THREADS;
/// Words that a block of `begin` writes.
const TILE: u64 = abi::APPEND_TILE as u64;
/// Blocks that move rows, about: what is on a large GPU at once.
const MOST_BLOCKS: u64 = 2048;
/// Blocks that read spans over the link, about: 265 of them took 19 to 33 us on an H100, most of it to read.
const MOST_READERS: u64 = 16;
/// Warps that make jobs, about, where runs are fewer.
const MOST_WARPS: u64 = 1024;
/// Warps of a block.
const WARPS: usize = abi::WARPS as usize;
/// Numbers that a block of statistics is to have.
const SLICE: usize = 1 << 16;
/// Most slices of a row where there are many.
const MOST_SLICES: usize = 64;
/// Blocks that few rows of integers are divided into, about: three on each multiprocessor of a large GPU, which is what
/// its registers have room for.
const BLOCKS: usize = 396;
/// The same of floats, whose kernel takes fewer registers: eight.
const FLOAT_BLOCKS: usize = 1056;
/// Most samples of a row of which there are statistics.
const MOST_TIMES: usize = abi::MOST_TIMES as usize;

/// A row of bits that goes somewhere: some of what is held, and behind it some of the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First bit and bits of what is held.
    pub held_bit: u64,
    pub held_bits: u64,
    /// First bit and bits of the chunk.
    pub chunk_bit: u64,
    pub chunk_bits: u64,
    /// First bit in the target, of a word.
    pub to_bit: u64,
    /// Whether the target is what the next chunk finds held, and not what is held now.
    pub to_next: bool,
}

impl Span {
    /// The span as it lies in device memory.
    pub fn words(self) -> [u64; abi::SPAN] {
        let Span { held_bit, held_bits, chunk_bit, chunk_bits, to_bit, to_next } = self;
        [held_bit, held_bits, chunk_bit, chunk_bits, to_bit, u64::from(to_next)]
    }

    /// Bits that are written.
    pub fn bits(self) -> u64 {
        self.held_bits.saturating_add(self.chunk_bits)
    }
}

/// Rows of samples on a device.
#[derive(Debug, Clone, Copy)]
pub struct SampleWords<'a> {
    pub samples: BufferView<'a, u32>,
    pub inputs: usize,
    /// Bits from row to row.
    pub row_bits: u64,
    /// Samples of a row.
    pub times: usize,
    pub numbers: Numbers,
}

/// Flags of samples on a device.
#[derive(Debug, Clone, Copy)]
pub struct Flags<'a> {
    /// `[input][block]`.
    pub flags: BufferView<'a, u8>,
    /// Blocks of an input; 0 if all samples are present.
    pub blocks: usize,
    /// Samples of a block.
    pub length: usize,
}

/// Runs on their way to jobs.
#[derive(Debug)]
pub struct RunTable<'a> {
    /// What is copied as it is, and behind it the runs as [`Run::words`](super::Run::words) gives them.
    pub pieces: RunPieces<'a>,
    /// Pieces of 16 bytes that are copied.
    pub copied: usize,
    /// Runs.
    pub runs: usize,
    /// Jobs of the longest.
    pub most_jobs: usize,
}

/// Where runs lie.
#[derive(Debug)]
pub enum RunPieces<'a> {
    /// In device memory.
    Device(BufferView<'a, [u32; 4]>),
    /// Bytes of pinned memory, which are read over the link.
    Pinned(&'a PinnedBuffer<u8>, Range<usize>),
}

/// The kernels on one device.
#[derive(Debug, Clone)]
pub struct SampleKernels {
    jobs: Kernel,
    begin: Kernel,
    integers: Kernel,
    floats: Kernel,
    sums_integers: Kernel,
    sums_floats: Kernel,
}

/// Stretches of samples of each input.
#[derive(Debug, Clone, Copy)]
pub struct Stretches<'a> {
    pub samples: BufferView<'a, u32>,
    pub numbers: Numbers,
    pub inputs: usize,
    /// First bit and number of samples of each, those of an input after one another.
    pub stretches: BufferView<'a, [u64; 2]>,
    /// The one after the last one of each input.
    pub ends: BufferView<'a, u32>,
}

impl SampleKernels {
    pub fn load(device: &Device) -> Result<Self, ChannelizerError> {
        let module = device.load(&texts::SAMPLES)?;
        Ok(Self {
            jobs: module.kernel("make_jobs")?,
            begin: module.kernel("begin")?,
            integers: module.kernel("statistics_integers")?,
            floats: module.kernel("statistics_floats")?,
            sums_integers: module.kernel("sums_integers")?,
            sums_floats: module.kernel("sums_floats")?,
        })
    }

    /// Copies the first pieces of tables to `out`, and makes the jobs of the runs behind them.
    pub fn make_jobs(
        &self,
        stream: &Stream,
        tables: RunTable<'_>,
        sizes: &RunSizes,
        out: BufferViewMut<'_, [u32; 4]>,
    ) -> Result<(), ChannelizerError> {
        let RunTable { pieces, copied, runs, most_jobs } = tables;
        // A warp a run, or more of long ones where there are few: each reads its run over the link.
        let parts = (most_jobs as u64).div_ceil(32).clamp(1, (MOST_WARPS / (runs.max(1) as u64)).max(1));
        let warps = (copied as u64).div_ceil(32) + runs as u64 * parts;
        let [blocks, copied, runs, parts] = counts([warps.div_ceil(WARPS as u64), copied as u64, runs as u64, parts])?;
        if blocks == 0 {
            return Ok(());
        }
        let RunSizes { frame, length: JobLength { most, block }, spectrum_bits, periods, inputs } = *sizes;
        let Periods { period, stride, turns } = periods;
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        let arguments =
            args![out, copied, runs, parts, frame, most, block, spectrum_bits, period, stride, turns, inputs];
        match pieces {
            RunPieces::Device(view) => {
                let mut all = vec![view.into()];
                all.extend_from_slice(arguments);
                self.jobs.launch_safe(stream, &config, &all)?;
            }
            RunPieces::Pinned(pinned, range) => {
                self.jobs.launch_with_pinned::<[u32; 4]>(stream, &config, arguments, 0, pinned, range)?;
            }
        }
        Ok(())
    }

    /// Puts rows of bits somewhere, of at most `most_bits` bits, and zeroes counts. `tables` begin with `rows` spans as
    /// [`Span::words`] gives them. No span writes a word that another one reads.
    pub fn move_rows(
        &self,
        stream: &Stream,
        chunk: BufferView<'_, u32>,
        (held, next): (BufferViewMut<'_, u32>, BufferViewMut<'_, u32>),
        (rows, most_bits): (usize, u64),
        tables: BufferView<'_, [u32; 4]>,
        zeros: BufferViewMut<'_, u32>,
    ) -> Result<(), ChannelizerError> {
        let tiles = tiles(rows, most_bits, MOST_BLOCKS);
        let others = (zeros.len() as u64).div_ceil(THREADS.into());
        let [blocks, rows, tiles] = counts([rows as u64 * tiles + others, rows as u64, tiles])?;
        if blocks == 0 {
            return Ok(());
        }
        let arguments = args![chunk, held, next, tables, rows, tiles, zeros];
        Ok(self.begin.launch_safe(stream, &config(blocks), arguments)?)
    }

    /// As [`SampleKernels::move_rows`], of spans in the bytes `range` of pinned memory, which a few blocks read over
    /// the link.
    pub fn move_rows_of_pinned(
        &self,
        stream: &Stream,
        chunk: BufferView<'_, u32>,
        (held, next): (BufferViewMut<'_, u32>, BufferViewMut<'_, u32>),
        (rows, most_bits): (usize, u64),
        (tables, range): (&PinnedBuffer<u8>, Range<usize>),
    ) -> Result<(), ChannelizerError> {
        let tiles = tiles(rows, most_bits, MOST_READERS);
        let [blocks, rows, tiles] = counts([rows as u64 * tiles, rows as u64, tiles])?;
        if blocks == 0 {
            return Ok(());
        }
        let mut no_zeros = Buffer::<u32>::alloc(stream.device(), 0)?;
        let arguments = args![chunk, held, next, rows, tiles, &mut no_zeros];
        self.begin.launch_with_pinned::<[u32; 4]>(stream, &config(blocks), arguments, 3, tables, range)?;
        Ok(())
    }

    /// Slices of a row in the sums of statistics.
    fn slices(inputs: usize, times: usize, numbers: Numbers) -> usize {
        let blocks = if numbers.floats { FLOAT_BLOCKS } else { BLOCKS };
        let most = MOST_SLICES.max(blocks / inputs.max(1));
        (times.saturating_mul(numbers.parts as usize)).div_ceil(SLICE).clamp(1, most)
    }

    /// Elements of the sums of statistics.
    pub fn sums(inputs: usize, times: usize, numbers: Numbers) -> usize {
        inputs.saturating_mul(Self::slices(inputs, times, numbers) * WARPS * 2)
    }

    /// Sums of squares and clipped samples of each input, in parts: [`SampleKernels::sums`] of them.
    pub fn statistics(
        &self,
        stream: &Stream,
        rows: SampleWords<'_>,
        flags: Flags<'_>,
        sums: BufferViewMut<'_, u64>,
    ) -> Result<(), ChannelizerError> {
        let SampleWords { samples, inputs, row_bits, times, numbers } = rows;
        if times > MOST_TIMES {
            let layout = "samples of a chunk's input";
            return Err(ChannelizerError::Device(DeviceError::TooLarge {
                what: layout,
                actual: times,
                limit: MOST_TIMES,
            }));
        }
        let slices = Self::slices(inputs, times, numbers);
        let length = flags.length.min(MOST_TIMES);
        let [blocks, inputs, times, flag_blocks, length, slices] =
            counts([inputs * slices, inputs, times, flags.blocks, length, slices].map(|size| size as u64))?;
        if blocks == 0 {
            return Ok(());
        }
        let kernel = if numbers.floats { &self.floats } else { &self.integers };
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        let arguments = args![
            samples,
            flags.flags,
            sums,
            inputs,
            row_bits,
            times,
            numbers.bits,
            numbers.parts,
            u32::from(numbers.little_endian),
            length,
            flag_blocks,
            slices,
        ];
        Ok(kernel.launch_safe(stream, &config, arguments)?)
    }

    /// Slices of a stretch in the sums of a run.
    fn run_slices(inputs: usize) -> usize {
        (BLOCKS / inputs.max(1)).clamp(4, BLOCKS)
    }

    /// Elements of the sums of a run.
    pub fn run_sums(inputs: usize) -> usize {
        inputs.saturating_mul(Self::run_slices(inputs) * WARPS * 2)
    }

    /// Adds sums of squares and clipped samples of stretches to those of a run: [`SampleKernels::run_sums`] of them.
    pub fn add(
        &self,
        stream: &Stream,
        stretches: Stretches<'_>,
        sums: BufferViewMut<'_, u64>,
    ) -> Result<(), ChannelizerError> {
        let Stretches { samples, numbers, inputs, stretches, ends } = stretches;
        let slices = Self::run_slices(inputs);
        let [blocks, inputs, slices] = counts([inputs * slices, inputs, slices].map(|size| size as u64))?;
        if blocks == 0 || stretches.is_empty() {
            return Ok(());
        }
        let kernel = if numbers.floats { &self.sums_floats } else { &self.sums_integers };
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        let little_endian = u32::from(numbers.little_endian);
        let arguments =
            args![samples, stretches, ends, sums, inputs, slices, numbers.bits, numbers.parts, little_endian];
        Ok(kernel.launch_safe(stream, &config, arguments)?)
    }

    /// Sum of squares and clipped samples of each input, of sums in parts.
    pub fn total(sums: &[u64], inputs: usize, numbers: Numbers) -> Vec<(f64, u64)> {
        let of_input = |sums: &[u64]| {
            let (pairs, _) = sums.as_chunks::<2>();
            let squares = if numbers.floats {
                pairs.iter().map(|pair| f64::from_bits(pair[0])).sum()
            } else {
                pairs.iter().map(|pair| pair[0]).sum::<u64>() as f64
            };
            (squares, pairs.iter().map(|pair| pair[1]).sum())
        };
        sums.chunks_exact((sums.len() / inputs.max(1)).max(1)).map(of_input).collect()
    }
}

/// Blocks of the kernel that begins a chunk.
fn config(blocks: u32) -> LaunchConfig {
    LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]).with_shared_bytes(SPAN_PIECES as u32 * 16)
}

/// Blocks of a row of `rows`, the longest of which has `most_bits` bits, where there are to be at most `most` in all.
fn tiles(rows: usize, most_bits: u64, most: u64) -> u64 {
    most_bits.div_ceil(32).div_ceil(TILE).min((most / (rows.max(1) as u64)).max(1))
}

/// Sizes as the kernels take them.
fn counts<const N: usize>(sizes: [u64; N]) -> Result<[u32; N], ChannelizerError> {
    let limit = i32::MAX as usize;
    match sizes.iter().find(|&&size| size > limit as u64) {
        Some(&actual) => Err(ChannelizerError::Device(DeviceError::TooLarge {
            what: "rows of samples",
            actual: actual as usize,
            limit,
        })),
        None => Ok(sizes.map(|size| size as u32)),
    }
}
