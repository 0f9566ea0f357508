//! Kernels on samples as they come: rows put behind rows, statistics.

use fringes_backend::DeviceError;
use fringes_gpu::{BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::f_engine::samples as abi;

use super::format::Numbers;
use super::texts;
use crate::ChannelizerError;

/// Threads of a block.
const THREADS: u32 = abi::THREADS;
/// Words that a block of `append` writes.
const TILE: u64 = abi::APPEND_TILE as u64;
/// Warps of a block.
const WARPS: usize = abi::WARPS as usize;
/// Numbers that a block of statistics is to have.
const SLICE: usize = 1 << 16;
/// Most slices of a row.
const MOST_SLICES: usize = 64;
/// Most samples of a row of which there are statistics.
const MOST_TIMES: usize = abi::MOST_TIMES as usize;

/// A row of bits that goes somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// First bit in the source.
    pub(crate) from_bit: u64,
    /// First bit in the target.
    pub(crate) to_bit: u64,
    /// Bits.
    pub(crate) bits: u64,
}

impl Span {
    /// The span as it lies in device memory.
    pub(crate) fn words(self) -> [u64; abi::SPAN] {
        [self.from_bit, self.to_bit, self.bits]
    }
}

/// Rows of samples on a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) samples: BufferView<'a, u32>,
    pub(crate) inputs: usize,
    /// Bits from row to row.
    pub(crate) row_bits: u64,
    /// Samples of a row.
    pub(crate) times: usize,
    pub(crate) numbers: Numbers,
}

/// Flags of samples on a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags<'a> {
    /// `[input][block]`.
    pub(crate) flags: BufferView<'a, u8>,
    /// Blocks of an input; 0 if all samples are present.
    pub(crate) blocks: usize,
    /// Samples of a block.
    pub(crate) length: usize,
}

/// The kernels on one device.
#[derive(Debug, Clone)]
pub(crate) struct SampleKernels {
    append: Kernel,
    integers: Kernel,
    floats: Kernel,
}

impl SampleKernels {
    pub(crate) fn load(device: &Device) -> Result<Self, ChannelizerError> {
        let module = device.load(&texts::SAMPLES)?;
        Ok(Self {
            append: module.kernel("append")?,
            integers: module.kernel("statistics_integers")?,
            floats: module.kernel("statistics_floats")?,
        })
    }

    /// Puts rows of bits somewhere: `spans` as [`Span::words`] gives them, of at most `most_bits` bits.
    pub(crate) fn append(
        &self,
        stream: &Stream,
        from: BufferView<'_, u32>,
        to: BufferViewMut<'_, u32>,
        spans: BufferView<'_, u64>,
        most_bits: u64,
    ) -> Result<(), ChannelizerError> {
        let rows = spans.len() / abi::SPAN;
        // A span may begin within a word.
        let tiles = (most_bits / 32 + 2).div_ceil(TILE);
        if rows == 0 || most_bits == 0 {
            return Ok(());
        }
        let [blocks, rows, tiles] = counts([rows as u64 * tiles, rows as u64, tiles])?;
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        Ok(self.append.launch_safe(stream, &config, args![from, to, spans, rows, tiles])?)
    }

    /// Slices of a row in the sums of statistics.
    fn slices(times: usize, numbers: Numbers) -> usize {
        (times.saturating_mul(numbers.parts as usize)).div_ceil(SLICE).clamp(1, MOST_SLICES)
    }

    /// Elements of the sums of statistics.
    pub(crate) fn sums(inputs: usize, times: usize, numbers: Numbers) -> usize {
        inputs.saturating_mul(Self::slices(times, numbers) * WARPS * 2)
    }

    /// Sums of squares and clipped samples of each input, in parts: [`SampleKernels::sums`] of them.
    pub(crate) fn statistics(
        &self,
        stream: &Stream,
        rows: Rows<'_>,
        flags: Flags<'_>,
        sums: BufferViewMut<'_, u64>,
    ) -> Result<(), ChannelizerError> {
        let Rows { samples, inputs, row_bits, times, numbers } = rows;
        if times > MOST_TIMES {
            let layout = "samples of a chunk's input";
            return Err(ChannelizerError::Device(DeviceError::TooLarge {
                what: layout,
                actual: times,
                limit: MOST_TIMES,
            }));
        }
        let slices = Self::slices(times, numbers);
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

    /// Sum of squares and clipped samples of each input, of sums in parts.
    pub(crate) fn total(sums: &[u64], inputs: usize, numbers: Numbers) -> Vec<(f64, u64)> {
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
