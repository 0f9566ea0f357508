//! The kernels on tensor cores on one device: products of matrices of compute capability 9.0.

use std::ops::Range;

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::down_convert::tensor as abi;
use fringes_types::SampleFormat;

use super::kernels::{Saturated, WindowRows};
use super::phases::Phases;
use super::tensor::TensorShape;
use super::{DownConverter, texts};
use crate::ChannelizerError;

/// Most outputs of an input of a launch, a multiple of all blocks' outputs.
const MOST_OUTPUTS: u64 = 3 << 28;

/// What samples must begin at a multiple of.
const PIECE_BYTES: u64 = 16;

/// Samples of a launch's outputs, and where the first window of theirs begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows<'a> {
    pub(super) rows: WindowRows<'a>,
    pub(super) first_bit: u64,
}

/// Where a launch's samples are.
#[derive(Debug, Clone, Copy)]
pub(super) struct TensorSources<'a> {
    /// Those of the first outputs, and how many these are: whole blocks if others follow. Rows are whole 16 bytes.
    pub(super) held: Option<(Windows<'a>, u64)>,
    /// Those of all others.
    pub(super) chunk: Option<Windows<'a>>,
}

/// Where outputs go.
#[derive(Debug)]
pub(super) struct Target<'a> {
    /// The values, `[input][row]`.
    pub(super) values: BufferViewMut<'a, u16>,
    pub(super) row: usize,
    pub(super) format: SampleFormat,
    pub(super) saturated: Saturated<'a>,
}

impl Target<'_> {
    /// What is behind the first columns, `units` of two bytes each.
    fn behind(&mut self, columns: usize, units: usize) -> Result<Target<'_>, ChannelizerError> {
        let Saturated { counts, present, present_row } = &mut self.saturated;
        let present = if present.is_empty() { *present } else { present.slice(columns..)? };
        let saturated = Saturated { counts: counts.reborrow(), present, present_row: *present_row };
        let values = self.values.reborrow().slice(columns * units..)?;
        Ok(Target { values, row: self.row, format: self.format, saturated })
    }
}

/// Kernels for samples of so many bits.
#[derive(Debug, Clone)]
struct OfBits {
    bits: u32,
    /// For groups of samples that begin anywhere.
    any: Kernel,
    /// For those that begin with pieces of 16 bytes, if there is one.
    aligned: Option<Kernel>,
}

/// A plan's kernels.
#[derive(Debug)]
pub(super) struct TensorKernels {
    shape: TensorShape,
    /// Those of [`abi::BITS`] for which the table fits.
    kernels: Vec<OfBits>,
    table: Buffer<[u32; 4]>,
    scale: f32,
    /// Outputs of samples of 1 have at most this magnitude.
    most: f64,
    multiprocessors: usize,
    /// Bytes of shared memory of a multiprocessor.
    shared_bytes: u32,
    phases: Phases,
    /// Where no samples are.
    nothing: Buffer<u32>,
}

impl TensorKernels {
    /// Loads the kernels with weights of so many terms and a plan's table; `None` if the device or the plan has none.
    pub(super) fn load(device: &Device, plan: &DownConverter, terms: u32) -> Result<Option<Self>, ChannelizerError> {
        if device.info().compute_capability != (9, 0) {
            return Ok(None);
        }
        let of_bits = |bits: u32| TensorShape::of(plan.filter.len(), plan.decimation, bits, terms);
        let Some(shape) = abi::BITS.into_iter().find_map(of_bits) else { return Ok(None) };
        let module = device.load(if terms == 1 {
            &texts::DOWN_CONVERT_TENSOR_HALF
        } else {
            &texts::DOWN_CONVERT_TENSOR_SINGLE
        })?;
        let mut kernels = Vec::new();
        for bits in abi::BITS {
            if let Some(other) = of_bits(bits).filter(|other| TensorShape { bits: shape.bits, ..*other } == shape) {
                let name = other.kernel();
                let aligned = other.has_aligned().then(|| module.kernel(&format!("{name}_aligned"))).transpose()?;
                kernels.push(OfBits { bits, any: module.kernel(&name)?, aligned });
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
        let shared_bytes = device.info().limits.shared_bytes_per_multiprocessor;
        let nothing = Buffer::alloc(device, 0)?;
        // Rounded weights and sums are within a thousandth.
        let most = 1.001 * plan.gain.abs() * plan.filter.iter().map(|h| h.abs()).sum::<f64>();
        Ok(Some(Self { shape, kernels, table, scale, most, multiprocessors, shared_bytes, phases, nothing }))
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
        let nothing = Buffer::alloc(self.nothing.device(), 0)?;
        Ok(Some(Self { kernels, table, scale, phases, nothing, ..*self }))
    }

    /// Bytes of device memory of a plan's table of so many terms, at most.
    pub(super) fn bytes(plan: &DownConverter, terms: u32) -> u64 {
        let of_bits = |bits: u32| TensorShape::of(plan.filter.len(), plan.decimation, bits, terms);
        let pieces = |shape: TensorShape| abi::table_pieces(shape.outputs, shape.sets, shape.groups, shape.terms);
        abi::BITS.into_iter().find_map(of_bits).map_or(0, |shape| 16 * u64::from(pieces(shape)))
    }

    /// The limit of outputs of samples of so many bits, infinite where none is beyond it.
    fn limit(&self, bits: u32, format: u32) -> f32 {
        let limit = abi::output_limit(format);
        if self.most * 2f64.powi(bits as i32 - 1) <= f64::from(limit) { f32::INFINITY } else { limit }
    }

    /// The kernel for samples, if there is one.
    fn kernel(&self, rows: &WindowRows<'_>) -> Option<(TensorShape, &OfBits)> {
        let numbers = rows.numbers;
        let real = numbers.parts == 1 && !numbers.floats;
        let kernel = self.kernels.iter().find(|kernel| real && kernel.bits == numbers.bits)?;
        let few = rows.inputs as u64 <= u64::from(i32::MAX as u32) / (1 << 10);
        (few && rows.samples.address().is_multiple_of(PIECE_BYTES))
            .then_some((TensorShape { bits: kernel.bits, ..self.shape }, kernel))
    }

    /// Queues outputs on a part of the device, if there is a kernel for the samples, and says whether there is. Sizes
    /// were checked.
    pub(super) fn launch(
        &self,
        stream: &Stream,
        sources: &TensorSources<'_>,
        outputs: &Range<u64>,
        to: &mut Target<'_>,
        parts_of_device: usize,
    ) -> Result<bool, ChannelizerError> {
        let (format, units) = match to.format {
            SampleFormat::Float32 => (abi::F32, 4),
            SampleFormat::Float16 => (abi::F16, 2),
            SampleFormat::Int16 => (abi::I16, 2),
            SampleFormat::Int8 => (abi::I8, 1),
            SampleFormat::Int4 => return Ok(false),
        };
        let TensorSources { held, chunk } = *sources;
        let (held, joined) = held.map_or((None, 0), |(windows, joined)| (Some(windows), joined));
        let Some(any) = held.or(chunk) else { return Ok(true) };
        let Some((shape, kernels)) = self.kernel(&any.rows) else { return Ok(false) };
        if let Some(chunk) = chunk
            && (self.kernel(&chunk.rows).is_none() || chunk.rows.numbers != any.rows.numbers)
        {
            return Ok(false);
        }
        let per_block = u64::from(shape.outputs);
        let middle = outputs.start + joined;
        if joined > 0 && middle < outputs.end && !middle.is_multiple_of(per_block) {
            // The block in between is made of both: in two launches, each has its outputs of it.
            let alone = TensorSources { chunk: None, ..*sources };
            let rest = TensorSources { held: None, ..*sources };
            let mut behind = to.behind(joined as usize, units)?;
            return Ok(self.launch(stream, &rest, &(middle..outputs.end), &mut behind, parts_of_device)?
                && self.launch(stream, &alone, &(outputs.start..middle), to, parts_of_device)?);
        }
        let together = shape.blocks_together(self.shared_bytes) as usize;
        let blocks_at_a_time = (self.multiprocessors * together / parts_of_device.max(1)).max(1);
        let inputs = any.rows.inputs;
        let bit = |windows: Option<Windows<'_>>| windows.map_or(0, |windows| windows.first_bit);
        let mut first = outputs.start;
        while first < outputs.end {
            // Launches but the first one begin with a block.
            let count = (outputs.end - first).min(MOST_OUTPUTS - first % per_block);
            let blocks = shape.blocks(&(first..first + count), middle, bit(held), bit(chunk));
            let row_bits = chunk.filter(|_| inputs > 1).map_or(0, |chunk| chunk.rows.row_bits);
            let kernel = kernels.aligned.as_ref().filter(|_| shape.is_aligned(&blocks, row_bits));
            let kernel = kernel.unwrap_or(&kernels.any);
            let held_tiles = if blocks.held > 0 { inputs.div_ceil(abi::ROWS as usize) } else { 0 };
            let segments = shape.segments(blocks.chunk, inputs, held_tiles, blocks_at_a_time);
            let tiles = inputs as u32 * segments.tiles + held_tiles as u32;
            let grid = tiles.div_ceil(shape.tiles_together()).min(blocks_at_a_time as u32).max(1);
            let config =
                LaunchConfig::new([grid, 1, 1], [shape.threads(), 1, 1]).with_shared_bytes(shape.shared_bytes());
            let column = (first - outputs.start) as usize;
            let Target { values, row, saturated: Saturated { counts, present, present_row }, .. } =
                to.behind(column, units)?;
            let arguments = args![
                chunk.map_or(self.nothing.view(), |chunk| chunk.rows.samples),
                held.filter(|_| blocks.held > 0).map_or(self.nothing.view(), |held| held.rows.samples),
                &self.table,
                values,
                counts,
                present,
                blocks.chunk_bit,
                chunk.map_or(0, |chunk| chunk.rows.row_bits),
                blocks.held_bit,
                held.map_or(0, |held| held.rows.row_bits),
                row as u64,
                present_row as u64,
                self.phases.turn().wrapping_mul(per_block),
                self.phases.of_output(blocks.output),
                count as u32,
                blocks.skip as u32,
                inputs as u32,
                blocks.held as u32,
                segments.tiles,
                segments.blocks,
                shape.groups,
                shape.block_bits(),
                u32::from(any.rows.numbers.little_endian),
                format,
                self.scale * shape.sample_scale(),
                self.limit(shape.bits, format),
            ];
            kernel.launch_safe(stream, &config, arguments)?;
            first += count;
        }
        Ok(true)
    }
}
