//! Tied-array beams with a scale, in every format, of weights of f32 or integers.

use fringes_types::{SampleFormat, VoltageSample};
use ndarray::{ArrayView2, ArrayView3, s};
use num_complex::Complex;

use super::finish::{BeamFinish, finish};
use super::integer::{Integers, WeightBits};
use super::product::{Floats, presence_of, unit_times};
use super::{BLOCK_TIMES, tied_array_scratch_bytes};
use crate::blocks::{do_units, time_blocks};
use crate::correlator::InstructionSet;
use crate::f_engine::FrameValue;

type C32 = Complex<f32>;

/// How weights are held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HeldWeights<'a> {
    /// As they are.
    Float,
    /// As integers, of 4-bit and 8-bit voltages; those of other formats take them as they are.
    Integer {
        /// Bits of an integer.
        bits: WeightBits,
        /// Magnitude of each beam's largest part; the largest part of its weights in each channel if `None`.
        largest: Option<&'a [f32]>,
    },
}

impl HeldWeights<'_> {
    /// The integers, of voltages of a format.
    fn integers(&self, format: SampleFormat) -> Option<WeightBits> {
        match self {
            Self::Integer { bits, .. } if matches!(format, SampleFormat::Int4 | SampleFormat::Int8) => Some(*bits),
            _ => None,
        }
    }
}

/// Bytes of scratch of one unit of work of [`tied_array_quantised_into`], of weights of so many bits or, and else, of
/// f32.
pub fn tied_array_quantised_scratch_bytes(inputs: usize, beams: usize, bits: Option<WeightBits>) -> u64 {
    let block = (BLOCK_TIMES * size_of::<C32>()) as u64;
    let floats = tied_array_scratch_bytes(inputs, beams).saturating_add(block.saturating_mul(beams as u64));
    let integers = bits.map_or(0, |bits| Integers::bytes(bits, inputs, beams, BLOCK_TIMES));
    // Counts and scales as well.
    floats.max(integers).saturating_add(16 * beams as u64)
}

/// Writes tied-array beams `[channel][time][beam]` to `out`, of voltages `[channel][time][input]` with weights
/// `[beam][channel][input]`, and gives the number of values that saturate of each beam; `presence` is `[time][input]`.
///
/// The dither is that of spectrum `spectrum + time` of input `channel`, for a channel `beam`
/// ([`fringes_kernel_abi::dither`]).
///
/// At most `parallel` units of work are in progress at a time.
///
/// # Precision
/// Weights of f32: as [`tied_array_into`](super::tied_array_into) before the scale, which is taken in f64, then the
/// format's own rounding.
///
/// Integer weights are `round(w limit / m)`, computed in f32, half to even, with `m` the largest part of the beam in
/// the channel and a limit of 127 or 32639: those of the GPU kernels. Sums are exact, whatever the instructions, and
/// are multiplied by `m / limit`, an f32, and the scale in f64, then rounded by the format. So an f32 is within `2 u`
/// of `abs(scale)` times the sum of rounded weights, `u = 2^-24`.
///
/// # Panics
/// If the shapes do not fit; for integer weights of more than [`MOST_INPUTS`](super::MOST_INPUTS) inputs.
pub fn tied_array_quantised_into<V: VoltageSample, Q: FrameValue>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    weights: ArrayView3<'_, C32>,
    held: HeldWeights<'_>,
    finish: BeamFinish,
    parallel: usize,
    out: &mut [Q],
) -> Vec<u64> {
    let work = Work { voltages, presence, weights, finish, parallel };
    match (held, held.integers(V::FORMAT)) {
        (HeldWeights::Integer { largest, .. }, Some(bits)) => work.integers(InstructionSet::best(), bits, largest, out),
        _ => work.floats(out),
    }
}

/// What beams are made of.
pub(super) struct Work<'a, V> {
    pub(super) voltages: ArrayView3<'a, V>,
    pub(super) presence: Option<ArrayView2<'a, bool>>,
    pub(super) weights: ArrayView3<'a, C32>,
    pub(super) finish: BeamFinish,
    pub(super) parallel: usize,
}

/// A block of times of a channel.
struct Block<'a, V> {
    voltages: ArrayView2<'a, V>,
    presence: Option<ArrayView2<'a, bool>>,
    channel: usize,
    first: usize,
}

impl<V: VoltageSample> Work<'_, V> {
    /// Beams by weights of f32.
    fn floats<Q: FrameValue>(&self, out: &mut [Q]) -> Vec<u64> {
        let scale = f64::from(self.finish.scale);
        let new = || (Floats::default(), Vec::new());
        let pack = |(floats, _): &mut (Floats, Vec<C32>), channel| floats.pack(self.weights.slice(s![.., channel, ..]));
        self.blocks(out, new, pack, |(floats, sums), block, out, lost| {
            let beams = lost.len();
            sums.resize(out.len(), C32::default());
            floats.multiply(block.voltages, block.presence, sums);
            for (time, (out, sums)) in out.chunks_mut(beams).zip(sums.chunks(beams)).enumerate() {
                let dither = self.finish.dither::<Q>(block.channel, block.first + time);
                let values = sums.iter().map(|sum| [sum.re, sum.im].map(|part| f64::from(part) * scale));
                finish(values, dither, out, lost);
            }
        })
    }

    /// Beams by integer weights, with instructions that this machine has.
    pub(super) fn integers<Q: FrameValue>(
        &self,
        instructions: InstructionSet,
        bits: WeightBits,
        largest: Option<&[f32]>,
        out: &mut [Q],
    ) -> Vec<u64> {
        let scale = f64::from(self.finish.scale);
        let new = || (Integers::new(instructions, bits), Vec::new());
        let pack = |(integers, scales): &mut (Integers, Vec<f64>), channel| {
            integers.pack(self.weights.slice(s![.., channel, ..]), largest);
            scales.clear();
            scales.extend(integers.scales().iter().map(|&of_beam| f64::from(of_beam) * scale));
        };
        self.blocks(out, new, pack, |(integers, scales), block, out, lost| {
            integers.multiply(block.voltages, block.presence);
            for (time, (out, (high, low))) in out.chunks_mut(lost.len()).zip(integers.times()).enumerate() {
                let dither = self.finish.dither::<Q>(block.channel, block.first + time);
                let high = high.as_chunks::<2>().0.iter().zip(scales.iter());
                match low {
                    None => finish(high.map(|(sum, scale)| sum.map(|part| f64::from(part) * scale)), dither, out, lost),
                    Some(low) => {
                        let values = high.zip(low.as_chunks::<2>().0).map(|((high, scale), low)| {
                            [0, 1].map(|part| (256.0 * f64::from(high[part]) + f64::from(low[part])) * scale)
                        });
                        finish(values, dither, out, lost);
                    }
                }
            }
        })
    }

    /// Goes through blocks of the output: `pack` readies a worker's state for a channel, and `form` writes a block and
    /// counts.
    fn blocks<Q: FrameValue, S: Send>(
        &self,
        out: &mut [Q],
        new: impl Fn() -> S + Sync,
        pack: impl Fn(&mut S, usize) + Sync,
        form: impl Fn(&mut S, Block<'_, V>, &mut [Q], &mut [u64]) + Sync,
    ) -> Vec<u64> {
        let (channels, times, inputs) = self.voltages.dim();
        let beams = self.weights.dim().0;
        assert_eq!(self.weights.dim(), (beams, channels, inputs), "weights are [beam][channel][input]");
        assert_eq!(out.len(), channels * times * beams, "a value for each channel, time and beam");
        let units = time_blocks(out, times, beams, unit_times(channels, times, self.parallel));
        let new = || (new(), None, vec![0u64; beams]);
        let kept = do_units(units, self.parallel, new, |(state, packed, lost), unit| {
            let channel = unit.channel;
            if *packed != Some(channel) {
                pack(state, channel);
                *packed = Some(channel);
            }
            for (number, out) in unit.out.chunks_mut(BLOCK_TIMES * beams).enumerate() {
                let first = unit.first_time + number * BLOCK_TIMES;
                let span = first..first + out.len() / beams;
                let voltages = self.voltages.slice(s![channel, span.clone(), ..]);
                let presence = presence_of(self.presence, span);
                form(state, Block { voltages, presence, channel, first }, out, lost);
            }
        });
        kept.into_iter().fold(vec![0; beams], |mut all, (_, _, lost)| {
            all.iter_mut().zip(lost).for_each(|(all, lost)| *all += lost);
            all
        })
    }
}
