//! The kernels on tensor cores of compute capability 8.0 and higher on one device.

use std::ops::Range;

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::down_convert::mma as abi;
use fringes_kernel_abi::down_convert::tensor::MOST_SHARED_BYTES;

use super::kernels::WindowRows;
use super::mma::MmaShape;
use super::phases::Phases;
use super::{DownConverter, texts};
use crate::ChannelizerError;

/// Most outputs of an input of a launch, a multiple of all blocks' outputs.
const MOST_OUTPUTS: u64 = 3 << 28;

/// What samples must begin at a multiple of.
const PIECE_BYTES: u64 = 16;

/// Most inputs of a launch.
const MOST_INPUTS: usize = 1 << 20;

/// A plan's kernels.
#[derive(Debug)]
pub(super) struct MmaKernels {
    kernels: Vec<OfBits>,
    table: Buffer<[u32; 4]>,
    multiprocessors: usize,
    phases: Phases,
}

/// The kernel for samples of so many bits.
#[derive(Debug, Clone)]
struct OfBits {
    shape: MmaShape,
    kernel: Kernel,
    scale: f32,
    /// Blocks that a multiprocessor has at a time.
    blocks: usize,
}

impl MmaKernels {
    /// Loads the kernels and a plan's table; `None` if the plan has none on this device.
    pub(super) fn load(device: &Device, plan: &DownConverter) -> Result<Option<Self>, ChannelizerError> {
        let info = device.info();
        let shapes = MmaShape::all(plan.filter.len(), plan.decimation, info.limits.shared_bytes_per_block);
        let Some(first) = shapes.first() else { return Ok(None) };
        let phases = plan.phases();
        let (weights, step) = (phases.weights(&plan.filter), |output| phases.over_outputs(output));
        let Some((table, _)) = first.table(&weights, step) else { return Ok(None) };
        let module = device.load(&texts::DOWN_CONVERT_MMA)?;
        let mut kernels = Vec::new();
        for &shape in &shapes {
            // The same table, and a scale of its own.
            let Some((_, scale)) = shape.table(&weights, step) else { continue };
            let scale = scale * plan.gain as f32;
            let kernel = module.kernel(&shape.kernel())?;
            let blocks = kernel.blocks_per_multiprocessor(abi::THREADS, shape.shared_bytes())?.max(1) as usize;
            kernels.push(OfBits { shape, kernel, scale, blocks });
        }
        let table = Buffer::from_slice(&device.new_stream()?, &table)?;
        Ok(Some(Self { kernels, table, multiprocessors: info.multiprocessors as usize, phases }))
    }

    /// The same kernels with the table of another tuning of the plan, which `send` copies.
    pub(super) fn retuned(
        &self,
        plan: &DownConverter,
        send: impl FnOnce(&[[u32; 4]]) -> Result<Buffer<[u32; 4]>, DeviceError>,
    ) -> Result<Option<Self>, ChannelizerError> {
        let phases = plan.phases();
        let (weights, step) = (phases.weights(&plan.filter), |output| phases.over_outputs(output));
        let Some((table, _)) = self.kernels.first().and_then(|first| first.shape.table(&weights, step)) else {
            return Ok(None);
        };
        let (kernels, table) = (self.kernels.clone(), send(&table)?);
        Ok(Some(Self { kernels, table, multiprocessors: self.multiprocessors, phases }))
    }

    /// Bytes of device memory of a plan's table, at most.
    pub(super) fn bytes(plan: &DownConverter) -> u64 {
        // No device has more shared memory than that; with less, tables that fit are smaller.
        let shape = |bits: u32| MmaShape::new(plan.filter.len(), plan.decimation, bits, MOST_SHARED_BYTES);
        let bytes = |shape: MmaShape| 16 * u64::from(shape.table_pieces());
        abi::BITS.into_iter().filter_map(shape).map(bytes).max().unwrap_or(0)
    }

    /// Whether there is a kernel for samples of so many bits.
    pub(super) fn has(&self, bits: u32) -> bool {
        self.kernels.iter().any(|kernel| kernel.shape.bits == bits)
    }

    /// Queues outputs on a part of the device, of which `first_bit` is where the first one's window begins, if there is
    /// a kernel for the samples, and says whether there is. Sizes are checked.
    pub(super) fn launch(
        &self,
        stream: &Stream,
        rows: &WindowRows<'_>,
        first_bit: u64,
        outputs: &Range<u64>,
        (mut out, out_row): (BufferViewMut<'_, [f32; 2]>, usize),
        parts_of_device: usize,
    ) -> Result<bool, ChannelizerError> {
        let numbers = rows.numbers;
        let packed = numbers.parts == 1 && !numbers.floats && !numbers.little_endian;
        let known = self.kernels.iter().find(|kernel| packed && kernel.shape.bits == numbers.bits);
        let Some(OfBits { shape, kernel, scale, blocks }) = known else { return Ok(false) };
        if !rows.samples.address().is_multiple_of(PIECE_BYTES) || rows.inputs > MOST_INPUTS {
            return Ok(false);
        }
        let per_block = u64::from(shape.outputs);
        let output_bits = u64::from(shape.block_bits() / shape.outputs);
        let at_a_time = (self.multiprocessors * blocks / parts_of_device.max(1)).max(1);
        let mut first = outputs.start;
        while first < outputs.end {
            // Launches but the first one begin with a block.
            let skip = first % per_block;
            let count = (outputs.end - first).min(MOST_OUTPUTS - skip);
            let segments = shape.segments((count + skip).div_ceil(per_block), rows.inputs, at_a_time);
            let tiles = rows.inputs as u64 * u64::from(segments.tiles);
            let grid = tiles.div_ceil(u64::from(abi::THREADS / 32)).min(at_a_time as u64).max(1) as u32;
            let config = LaunchConfig::new([grid, 1, 1], [abi::THREADS, 1, 1]).with_shared_bytes(shape.shared_bytes());
            let column = (first - outputs.start) as usize;
            // Before the samples, maybe: modulo 2^64.
            let bit = first_bit.wrapping_add((column as u64 * output_bits).wrapping_sub(skip * output_bits));
            let arguments = args![
                rows.samples,
                &self.table,
                out.reborrow().slice(column..)?,
                bit,
                rows.row_bits,
                out_row as u64,
                self.phases.turn().wrapping_mul(per_block),
                self.phases.of_output(first - skip),
                count as u32,
                skip as u32,
                rows.inputs as u32,
                segments.tiles,
                segments.blocks,
                shape.groups,
                shape.block_bits(),
                *scale,
            ];
            kernel.launch_safe(stream, &config, arguments)?;
            first += count;
        }
        Ok(true)
    }
}
