//! A kernel, its table of weights, and its launches: what beams of voltages and detected beams share.

use std::ops::Range;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{
    BufferView, BufferViewMut, Kernel, LaunchConfig, Stream, Swizzle, TensorElement, TensorLayout, TensorView, args,
};
use fringes_kernel_abi::tied_array::{Output, TIMES};
use fringes_types::{Inputs, VoltageSample, row_times};
use ndarray::ArrayView1;

use super::plan::{Generation, Plan};
use super::table::Table;
use crate::packing::{Packing, product, row_elements};
use crate::{BeamformerError, TiedArrayBeams, TiedArrayOutput};

/// Most tiles of a strip that a kernel takes.
const MOST_STRIP: usize = 1 << 24;

/// What a launch forms.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Of the channels of the weights.
    pub(crate) channels: Range<usize>,
    pub(crate) times: usize,
    /// Those of them that are formed.
    pub(crate) formed: Range<usize>,
    /// Times that powers are summed over: 1, 2, 4, 8 or 16.
    pub(crate) fold: usize,
}

/// What a launch writes.
pub(crate) struct Out<'a> {
    /// Beams, or sums of powers.
    pub(crate) beams: BufferViewMut<'a, u16>,
    /// Counts of saturated values; none of floats.
    pub(crate) saturated: BufferViewMut<'a, u64>,
    /// Of powers, and of kernels that take some ([`Former::takes_incoherent`]).
    pub(crate) incoherent: Option<Incoherent<'a>>,
}

/// An incoherent beam beside powers, if there are gains.
pub(crate) struct Incoherent<'a> {
    /// As [`paired_gains`] has them.
    pub(crate) gains: BufferView<'a, [f32; 2]>,
    /// `[channel][time / fold]`.
    pub(crate) sums: BufferViewMut<'a, f32>,
}

/// Gains of inputs as kernels of powers read them: of inputs that are padded with zeros to a multiple of 64.
pub(crate) fn paired_gains(gains: ArrayView1<'_, f32>) -> Vec<[f32; 2]> {
    let mut paired = vec![[0.0; 2]; gains.len().div_ceil(64) * 32];
    for (input, &gain) in gains.iter().enumerate() {
        paired[input / 2][input % 2] = gain;
    }
    paired
}

/// A kernel of voltages `V` with weights.
#[derive(Debug)]
pub(crate) struct Former<V> {
    plan: Plan,
    channels: usize,
    kernel: Kernel,
    /// Blocks that the device holds at once.
    places: usize,
    table: Table,
    packing: Packing<V>,
}

impl<V: VoltageSample> Former<V> {
    /// Loads the kernel and makes the table, in the order of the stream.
    pub(crate) fn load<O: TiedArrayOutput>(
        stream: &Stream,
        set: &TiedArrayBeams<O>,
        output: Output,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        let device = stream.device();
        let plan = Self::plan(stream, set, output, inputs);
        let kernel = plan.load(device)?;
        let resident = kernel.blocks_per_multiprocessor(plan.generation.threads(), plan.shared_bytes())?.max(1);
        let places = resident.saturating_mul(device.info().multiprocessors.max(1)) as usize;
        let packing = Packing::load(device, inputs)?;
        let mut table = Table::alloc(device, &plan, channels)?;
        table.make(stream, packing.pool(), &plan, &set.weights, set.scale())?;
        Ok(Self { plan, channels, kernel, places, table, packing })
    }

    fn plan<O: TiedArrayOutput>(stream: &Stream, set: &TiedArrayBeams<O>, output: Output, inputs: Inputs) -> Plan {
        let generation = Generation::of(stream.device(), set.only_mma());
        Plan::new(generation, V::FORMAT, set.precision(), output, inputs.len(), set.weights.beams())
    }

    /// Makes the table of other weights, in the order of the stream; `false` if they take another kernel.
    pub(crate) fn replace<O: TiedArrayOutput>(
        &mut self,
        stream: &Stream,
        set: &TiedArrayBeams<O>,
    ) -> Result<bool, BeamformerError> {
        if Self::plan(stream, set, self.plan.output, self.inputs()) != self.plan {
            return Ok(false);
        }
        self.table.make(stream, self.packing.pool(), &self.plan, &set.weights, set.scale())?;
        Ok(true)
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(crate) fn output(&self) -> Output {
        self.plan.output
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    pub(crate) fn inputs(&self) -> Inputs {
        self.packing.inputs()
    }

    /// What makes rows of voltages in another order.
    pub(crate) fn packing(&self) -> &Packing<V> {
        &self.packing
    }

    pub(crate) fn weight_bytes(&self) -> u64 {
        self.table.bytes()
    }

    /// Beams of so many channels and times, or sums of them.
    pub(crate) fn length(&self, channels: usize, times: usize, fold: usize) -> Result<usize, DeviceError> {
        product("beams", &[channels, times.div_ceil(fold.max(1)), self.plan.beams])
    }

    /// Whether the kernel makes an incoherent beam beside powers.
    pub(crate) fn takes_incoherent(&self) -> bool {
        self.plan.generation == Generation::Wgmma && self.plan.output == Output::Power
    }

    /// Queues the kernel: beams, or sums of powers, of rows. `dither` is the seed and the number of the first time;
    /// `beams` has the length that they take. A kernel of powers that takes an
    /// incoherent beam ([`Former::takes_incoherent`]) is given one, which may be none.
    pub(crate) fn form(
        &self,
        stream: &Stream,
        part: Part,
        dither: Option<(u64, u64)>,
        rows: BufferView<'_, V>,
        out: Out<'_>,
    ) -> Result<(), BeamformerError> {
        let Out { beams, saturated, incoherent } = out;
        let Plan { generation, inputs, beams: count, .. } = self.plan;
        let Part { channels, times, formed, fold } = part;
        let (row, number) = (row_times(V::FORMAT), channels.len());
        let blocks = times.div_ceil(row);
        let length = row_elements::<V>(number, times, inputs)?;
        rows.expect("rows", length, 16)?;
        if self.length(number, times, fold)? == 0 || formed.is_empty() {
            return Ok(());
        }
        let (table, scales) = self.table.of(&self.plan, channels.clone())?;
        let jobs = product("tiles of beams", &[number, times.div_ceil(TIMES as usize), self.plan.tiles()])?;
        let limit = i32::MAX as usize;
        for (what, actual) in [("tiles of beams", jobs), ("times", times), ("channels", channels.end)] {
            if actual > limit {
                return Err(DeviceError::TooLarge { what, actual, limit }.into());
            }
        }
        let config = LaunchConfig::new([jobs.min(self.places) as u32, 1, 1], [generation.threads(), 1, 1])
            .with_shared_bytes(self.plan.shared_bytes());
        let sizes = [128, inputs, blocks, number].map(|size| size as u64);
        let digits = self.plan.weights.digits();
        let [channels_formed, inputs, count, times, fold, first, from, end] =
            [number, inputs, count, times, fold, channels.start, formed.start, formed.end].map(|size| size as u32);
        let (seed, spectrum) = dither.unwrap_or_default();
        let mut arguments = args![
            table,
            scales,
            beams,
            saturated,
            seed,
            spectrum,
            channels_formed,
            inputs,
            count,
            times,
            from,
            end,
            digits,
            fold,
            first,
            u32::from(dither.is_some())
        ]
        .to_vec();
        if generation == Generation::Mma {
            arguments.insert(0, rows.slice(..length)?.cast::<[u32; 4]>()?.into());
            return Ok(self.kernel.launch_safe(stream, &config, &arguments)?);
        }
        let layout = TensorLayout {
            strides_bytes: vec![128, 128 * sizes[1], 128 * sizes[1] * sizes[2]],
            dimensions: sizes.to_vec(),
            block: vec![128, self.plan.weights.chunk_inputs(), TIMES / row as u32, 1],
            ..TensorLayout::packed(TensorElement::U8, &[16], &[16])
        };
        let strip = self.plan.strip(number, formed.len(), self.places).min(MOST_STRIP);
        arguments.push((strip as u32).into());
        if let Some(Incoherent { gains, sums }) = incoherent {
            arguments.extend_from_slice(args![gains, sums]);
        }
        let map = TensorView::tiled(rows.cast::<u8>()?, &layout.with_swizzle(Swizzle::Bytes128))?;
        arguments.insert(0, (&map).into());
        Ok(self.kernel.launch_safe(stream, &config, &arguments)?)
    }
}
