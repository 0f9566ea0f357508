//! The kernels on tensor cores on one device: products of matrices of compute capability 9.0.

use std::ops::Range;

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::down_convert::tensor as abi;

use super::kernels::WindowRows;
use super::phases::Phases;
use super::tensor::TensorShape;
use super::{DownConverter, texts};
use crate::ChannelizerError;

/// Most outputs of an input of a launch, a multiple of all blocks' outputs.
const MOST_OUTPUTS: u64 = 3 << 28;

/// What samples must begin at a multiple of.
const PIECE_BYTES: u64 = 16;

/// A plan's kernels.
#[derive(Debug)]
pub(super) struct TensorKernels {
    shape: TensorShape,
    /// For samples of so many bits, as [`abi::BITS`] has them; not where the table does not fit.
    kernels: Vec<(u32, Kernel)>,
    table: Buffer<[u32; 4]>,
    scale: f32,
    multiprocessors: usize,
    phases: Phases,
}

impl TensorKernels {
    /// Loads the kernels and a plan's table; `None` if the device or the plan has none.
    pub(super) fn load(device: &Device, plan: &DownConverter) -> Result<Option<Self>, ChannelizerError> {
        if device.info().compute_capability != (9, 0) {
            return Ok(None);
        }
        let of_bits = |bits: u32| TensorShape::new(plan.filter.len(), plan.decimation, bits);
        let Some(shape) = abi::BITS.into_iter().find_map(of_bits) else { return Ok(None) };
        let module = device.load(&texts::DOWN_CONVERT_TENSOR)?;
        let mut kernels = Vec::new();
        for bits in abi::BITS {
            if let Some(other) = of_bits(bits).filter(|other| TensorShape { bits: shape.bits, ..*other } == shape) {
                kernels.push((bits, module.kernel(&other.kernel())?));
            }
        }
        let phases = plan.phases();
        let (table, scale) = shape.table(&phases.weights(&plan.filter), |output| phases.over_outputs(output));
        let scale = scale * plan.gain as f32;
        if !scale.is_normal() {
            return Ok(None);
        }
        let table = Buffer::from_slice(&device.new_stream()?, &table)?;
        let multiprocessors = device.info().multiprocessors as usize;
        Ok(Some(Self { shape, kernels, table, scale, multiprocessors, phases }))
    }

    /// The same kernels with the table of another tuning of the plan, which `send` copies.
    pub(super) fn retuned(
        &self,
        plan: &DownConverter,
        send: impl FnOnce(&[[u32; 4]]) -> Result<Buffer<[u32; 4]>, DeviceError>,
    ) -> Result<Option<Self>, ChannelizerError> {
        let phases = plan.phases();
        let (table, scale) = self.shape.table(&phases.weights(&plan.filter), |output| phases.over_outputs(output));
        let scale = scale * plan.gain as f32;
        if !scale.is_normal() {
            return Ok(None);
        }
        let (kernels, table) = (self.kernels.clone(), send(&table)?);
        Ok(Some(Self { kernels, table, scale, phases, ..*self }))
    }

    /// Bytes of device memory of a plan's table, at most.
    pub(super) fn bytes(plan: &DownConverter) -> u64 {
        let of_bits = |bits: u32| TensorShape::new(plan.filter.len(), plan.decimation, bits);
        let pieces = |shape: TensorShape| abi::table_pieces(shape.outputs, shape.sets, shape.groups);
        abi::BITS.into_iter().find_map(of_bits).map_or(0, |shape| 16 * u64::from(pieces(shape)))
    }

    /// Queues outputs, of which `first_bit` is where the first one's window begins, if there is a kernel for the
    /// samples, and says whether there is. Sizes are checked.
    pub(super) fn launch(
        &self,
        stream: &Stream,
        rows: &WindowRows<'_>,
        first_bit: u64,
        outputs: &Range<u64>,
        out: &mut BufferViewMut<'_, [f32; 2]>,
        out_row: usize,
    ) -> Result<bool, ChannelizerError> {
        let numbers = rows.numbers;
        let packed = numbers.parts == 1 && !numbers.floats && !numbers.little_endian;
        let known = self.kernels.iter().find(|(bits, _)| packed && *bits == numbers.bits);
        let Some((bits, kernel)) = known else { return Ok(false) };
        let tiles = u64::from(i32::MAX as u32);
        if !rows.samples.address().is_multiple_of(PIECE_BYTES) || rows.inputs as u64 > tiles / (1 << 10) {
            return Ok(false);
        }
        let shape = TensorShape { bits: *bits, ..self.shape };
        let per_block = u64::from(shape.outputs);
        let output_bits = u64::from(shape.block_bits() / shape.outputs);
        let mut first = outputs.start;
        while first < outputs.end {
            // Launches but the first one begin with a block.
            let skip = first % per_block;
            let count = (outputs.end - first).min(MOST_OUTPUTS - skip);
            let blocks = (count + skip).div_ceil(per_block);
            let segments = shape.segments(blocks, rows.inputs, self.multiprocessors);
            let tiles = rows.inputs as u32 * segments.tiles;
            let grid = tiles.div_ceil(shape.tiles_together()).min(self.multiprocessors as u32).max(1);
            let config =
                LaunchConfig::new([grid, 1, 1], [shape.threads(), 1, 1]).with_shared_bytes(shape.shared_bytes());
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
                self.scale,
            ];
            kernel.launch_safe(stream, &config, arguments)?;
            first += count;
        }
        Ok(true)
    }
}
