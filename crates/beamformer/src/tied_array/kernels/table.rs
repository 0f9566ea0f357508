//! The table of weights on a device.

use std::ops::Range;

use fringes_backend::{DeviceError, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, LaunchConfig, Stream, args};
use fringes_kernel_abi::tied_array::{CHUNK_BYTES, Weights};

use super::plan::Plan;
use super::weights_texts;
use crate::BeamformerError;
use crate::tied_array::WeightSource;

/// Weights as the kernels read them, and scales.
#[derive(Debug)]
pub(super) struct Table {
    weights: Buffer<u16>,
    scales: Buffer<f32>,
    staging: Staging,
    channels: usize,
}

/// Lengths of a table: pairs of bytes, and scales, of a channel.
fn lengths(plan: &Plan) -> Option<[usize; 2]> {
    let chunk = (plan.columns * CHUNK_BYTES / 2) as usize;
    Some([plan.tiles().checked_mul(plan.chunks())?.checked_mul(chunk)?, plan.tiles().checked_mul(plan.tile_beams())?])
}

impl Table {
    /// Room for the weights of so many channels.
    pub(super) fn alloc(device: &Device, plan: &Plan, channels: usize) -> Result<Self, BeamformerError> {
        let too_large = DeviceError::TooLarge { what: "beam weights", actual: usize::MAX, limit: usize::MAX - 1 };
        let lengths = lengths(plan).and_then(|of| Some([of[0].checked_mul(channels)?, of[1].checked_mul(channels)?]));
        let [weights, scales] = lengths.ok_or(too_large)?;
        Ok(Self {
            weights: Buffer::alloc(device, weights)?,
            scales: Buffer::alloc(device, scales)?,
            staging: Staging::default(),
            channels,
        })
    }

    /// Makes the table, in the order of the stream: after what was queued there before.
    pub(super) fn make(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        plan: &Plan,
        source: &WeightSource,
        scale: f32,
    ) -> Result<(), BeamformerError> {
        let device = stream.device();
        let kind = match plan.weights {
            Weights::Int8 => "i8",
            Weights::Int16 => "i16",
            Weights::Float16 => "f16",
        };
        let verb = if matches!(source, WeightSource::Given(_)) { "weights" } else { "steer" };
        let kernel = device.load(&weights_texts::TIED_ARRAY_WEIGHTS)?.kernel(&format!("{verb}_{kind}"))?;
        let warps = self.channels.saturating_mul(plan.tiles() * plan.tile_beams());
        let most = 16 * device.info().multiprocessors.max(1) as usize;
        let config = LaunchConfig::new([warps.div_ceil(8).clamp(1, most) as u32, 1, 1], [256, 1, 1]);
        let [channels, inputs, beams] = [self.channels, plan.inputs, plan.beams].map(|size| size as u32);
        // The kernels' 4-bit samples are 16 times what they are.
        let unit = if plan.is_int4() { scale / 16.0 } else { scale };
        let (columns, run) = (plan.columns, plan.output.most_run());
        let Self { weights, scales, staging, .. } = self;
        match source {
            WeightSource::Given(given) => {
                let data = given.data();
                let given = staging.send_with::<[f32; 2]>(stream, pool, data.len(), |to| {
                    for (weight, to) in data.iter().zip(to.chunks_exact_mut(8)) {
                        to[..4].copy_from_slice(&weight.re.to_ne_bytes());
                        to[4..].copy_from_slice(&weight.im.to_ne_bytes());
                    }
                })?;
                let arguments = args![&given, weights, scales, channels, inputs, beams, columns, run, unit];
                Ok(kernel.launch_safe(stream, &config, arguments)?)
            }
            WeightSource::Steered { steering, sample, .. } => {
                let (turns, gains) = steering.turns_at(*sample);
                let phases: Vec<u64> = turns.iter().map(|turns| turns.base).collect();
                let slopes: Vec<u64> = turns.iter().map(|turns| turns.slope).collect();
                let phases = staging.send(stream, pool, &phases)?;
                let slopes = staging.send(stream, pool, &slopes)?;
                let gains = staging.send(stream, pool, &gains)?;
                let arguments =
                    args![&phases, &slopes, &gains, weights, scales, channels, inputs, beams, columns, run, unit];
                Ok(kernel.launch_safe(stream, &config, arguments)?)
            }
        }
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
