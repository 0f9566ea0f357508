//! The kernel that takes feeds in finer channels, and its tables on a device.

use fringes_backend::DeviceError;
use fringes_gpu::{
    Buffer, Device, LaunchConfig, PtxTarget, Stream, Swizzle, TensorElement, TensorLayout, TensorView, args,
};

use super::channel_phases::{channel_phase_power, channel_phases};
use super::channel_tables::{
    FEEDS, LINES, TIMES, VOLTAGE_BOX, beam_places, channelised_weights, in_fours, matrix_powers, result_order,
    time_matrices, voltage_dimensions,
};
use super::channel_texts::FRB_CHANNELS;
use super::choice::{Family, Loaded};
use super::grid::{Launch, Out};
use super::launch::{Counts, Layout};
use super::prepared::factors;
use super::tables::turned;
use crate::FrbBeams;

/// The kernel's name.
const NAME: &str = "channelised_256_512_128_i4";

/// Warps of a block, and bytes of its shared memory.
const WARPS: u32 = 8;
const SHARED_BYTES: u32 = (224 << 10) + 128;

/// Bytes that a copy of voltages begins at a multiple of.
const ALIGNMENT: u64 = 16;

/// Fine channels of a result.
const GROUP: usize = 8;

/// Tables that are the same on every device.
#[derive(Debug, Clone)]
pub(super) struct ChannelisedPrepared {
    weights: Vec<u32>,
    phases: Vec<u32>,
    matrices: Vec<u32>,
    order: u32,
    places: Vec<u32>,
    /// `[frequency][fine]`, in the order of the results.
    factors: Vec<f32>,
}

impl ChannelisedPrepared {
    /// Tables of these beams, if the kernel makes them: four full lines of 4+4 bits, four sums over them, results of
    /// eight of 128 fine channels. Where a frequency's factors are beyond f32 the kernels of one sum over lines say so.
    pub(super) fn new(family: &Family, beams: &FrbBeams) -> Option<Self> {
        let outs = (beams.outs(), beams.group(), family.times) == (LINES, GROUP, TIMES);
        if !(outs && family.four(beams) && beams.feeds() == FEEDS) {
            return None;
        }
        // As for the other kernels voltages are not conjugated, but all else.
        let weights = match beams.conjugate() {
            true => channelised_weights(beams.weights().mapv(|weight| weight.conj()).view()),
            false => channelised_weights(beams.weights()),
        }?;
        let sign = |sign| turned(sign, beams.conjugate());
        let over_time = sign(beams.time_sign()).value();
        Some(Self {
            factors: factors(&matrix_powers(), channel_phase_power(), beams, &weights.exponents).ok()?,
            weights: weights.words,
            phases: in_fours(&channel_phases(sign(beams.line_sign()))),
            matrices: time_matrices(over_time),
            order: result_order(over_time, beams.centre()),
            places: beam_places(beams.map(), family.size)?,
        })
    }
}

/// The kernel, loaded.
#[derive(Debug)]
pub(super) struct Channelised {
    pub(super) loaded: Loaded,
    order: u32,
    weights: Buffer<u32>,
    phases: Buffer<u32>,
    matrices: Buffer<u32>,
    places: Buffer<u32>,
    factors: Buffer<f32>,
}

impl Channelised {
    /// Loads the kernel and sends its tables, if a block has enough shared memory.
    pub(super) fn load(
        device: &Device,
        prepared: &ChannelisedPrepared,
        shared_bytes: u32,
    ) -> Result<Option<Self>, DeviceError> {
        let most = device.info().limits.shared_bytes_per_block.min(shared_bytes);
        if !PtxTarget::Sm90a.runs_on(device.info().compute_capability) || most < SHARED_BYTES {
            return Ok(None);
        }
        let kernel = device.load(&FRB_CHANNELS)?.kernel(NAME)?;
        let blocks = device.info().multiprocessors.max(1);
        let stream = device.new_stream()?;
        Ok(Some(Self {
            loaded: Loaded { kernel, warps: WARPS, blocks },
            order: prepared.order,
            weights: Buffer::from_slice(&stream, &prepared.weights)?,
            phases: Buffer::from_slice(&stream, &prepared.phases)?,
            matrices: Buffer::from_slice(&stream, &prepared.matrices)?,
            places: Buffer::from_slice(&stream, &prepared.places)?,
            factors: Buffer::from_slice(&stream, &prepared.factors)?,
        }))
    }

    /// How the copy engine takes voltages that lie so, if it does.
    pub(super) fn layout(&self, layout: &Layout, counts: &Counts, sums: usize) -> Option<TensorLayout> {
        let sizes = [counts.frequencies, counts.pols, sums.saturating_mul(counts.sum_times)];
        let (dimensions, strides) =
            voltage_dimensions(sizes, layout.strides).filter(|_| layout.is_aligned(ALIGNMENT))?;
        Some(TensorLayout {
            dimensions: dimensions.to_vec(),
            strides_bytes: strides.to_vec(),
            block: VOLTAGE_BOX.to_vec(),
            ..TensorLayout::packed(TensorElement::U8, &[16], &[16]).with_swizzle(Swizzle::Bytes64)
        })
    }

    /// Queues the kernel, of voltages that the copy engine takes so.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        launch: &Launch<'_>,
        voltages: &TensorLayout,
        out: &mut Out<'_>,
    ) -> Result<(), DeviceError> {
        let Out::Powers(powers) = out else { return Ok(()) };
        let Launch { layout, good, counts, sums, .. } = *launch;
        let map = TensorView::tiled(launch.voltages, voltages)?;
        let units = counts.units(sums, 1)? / LINES as u32;
        let grid = [units.clamp(1, self.loaded.blocks), 1, 1];
        let config = LaunchConfig::new(grid, [32 * WARPS, 1, 1]).with_shared_bytes(SHARED_BYTES);
        // All of them are factors of numbers that have been checked, or smaller than these.
        let summed = counts.pols / counts.products.max(1);
        let [frequencies, times, beams, pols, summed, blocks] =
            [counts.frequencies, sums, counts.north_beams, counts.pols, summed, counts.blocks].map(|size| size as u32);
        // Within the bytes of a time, of which there are less than 2^31.
        let [_, frequency, pol, _] = layout.strides.map(|stride| stride as u32);
        let arguments = args![
            &map,
            good,
            &self.weights,
            &self.phases,
            &self.matrices,
            &self.places,
            &self.factors,
            powers.reborrow(),
            frequencies,
            times,
            beams,
            pols,
            summed,
            blocks,
            self.order,
            layout.signs | layout.signs << 8,
            frequency,
            pol
        ];
        Ok(self.loaded.kernel.launch_safe(stream, &config, arguments)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use fringes_gpu::declaration::KernelDeclaration;

    use super::*;

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn the_kernel_is_declared_as_it_is_launched() {
        let texts = FRB_CHANNELS.get(PtxTarget::Sm90a).unwrap();
        let declared = KernelDeclaration::all(&texts.read().unwrap()).unwrap();
        let kernel = declared.iter().find(|declared| declared.name == NAME).unwrap();
        assert!(kernel.safe);
        assert_eq!(kernel.bounds.threads, Some([32 * WARPS, 1, 1]));
        assert_eq!(kernel.bounds.shared_bytes, Some(SHARED_BYTES));
    }
}
