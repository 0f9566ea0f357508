//! The table of weights on a device.

use std::ops::Range;

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferView, Device, LaunchConfig, Stream, args};
use fringes_kernel_abi::tied_array::{CHUNK_BYTES, Weights};
use fringes_types::BeamWeights;

use super::plan::Plan;
use super::weights_texts;
use crate::BeamformerError;

/// Weights as the kernels read them, and scales.
#[derive(Debug)]
pub(super) struct Table {
    weights: Buffer<u16>,
    scales: Buffer<f32>,
    channels: usize,
}

/// Lengths of a table: pairs of bytes, and scales, of a channel.
fn lengths(plan: &Plan) -> Option<[usize; 2]> {
    let chunk = (plan.columns * CHUNK_BYTES / 2) as usize;
    Some([plan.tiles().checked_mul(plan.chunks())?.checked_mul(chunk)?, plan.tiles().checked_mul(plan.tile_beams())?])
}

impl Table {
    /// Makes the table of weights `[beam][channel][input]`, in the order of the stream.
    pub(super) fn new(
        device: &Device,
        stream: &Stream,
        plan: &Plan,
        channels: usize,
        weights: &BeamWeights,
        scale: f32,
    ) -> Result<Self, BeamformerError> {
        let name = match plan.weights {
            Weights::Int8 => "weights_i8",
            Weights::Int16 => "weights_i16",
            Weights::Float16 => "weights_f16",
        };
        let kernel = device.load(&weights_texts::TIED_ARRAY_WEIGHTS)?.kernel(name)?;
        let too_large = DeviceError::TooLarge { what: "beam weights", actual: usize::MAX, limit: usize::MAX - 1 };
        let lengths = lengths(plan).and_then(|of| Some([of[0].checked_mul(channels)?, of[1].checked_mul(channels)?]));
        let [length, scales] = lengths.ok_or(too_large)?;
        let mut table =
            Self { weights: Buffer::alloc(device, length)?, scales: Buffer::alloc(device, scales)?, channels };
        let data = weights.data();
        let given: Vec<f32> = data.iter().flat_map(|weight| [weight.re, weight.im]).collect();
        let given = Buffer::from_slice(stream, &given)?;
        let unit = if plan.is_int4() { scale / 16.0 } else { scale };
        let [number, inputs, beams] = [channels, plan.inputs, plan.beams].map(|size| size as u32);
        let warps = channels.saturating_mul(plan.tiles() * plan.tile_beams());
        let most = 16 * device.info().multiprocessors.max(1) as usize;
        let config = LaunchConfig::new([warps.div_ceil(8).clamp(1, most) as u32, 1, 1], [256, 1, 1]);
        let run = plan.output.most_run();
        let pairs = given.view().cast::<[f32; 2]>()?;
        let arguments =
            args![pairs, &mut table.weights, &mut table.scales, number, inputs, beams, plan.columns, run, unit];
        kernel.launch_safe(stream, &config, arguments)?;
        // The weights that were given stay until the kernel is done with them.
        stream.synchronize()?;
        Ok(table)
    }

    /// Bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.weights.bytes() + self.scales.bytes()) as u64
    }

    /// Weights and scales of some of the channels.
    pub(super) fn of(
        &self,
        plan: &Plan,
        channels: Range<usize>,
    ) -> Result<(BufferView<'_, [u32; 4]>, BufferView<'_, f32>), BeamformerError> {
        let [weights, scales] = lengths(plan).unwrap_or_default();
        let (first, end) = (channels.start.min(self.channels), channels.end);
        Ok((
            self.weights.slice(first * weights..end.saturating_mul(weights))?.cast()?,
            self.scales.slice(first * scales..end.saturating_mul(scales))?,
        ))
    }
}
