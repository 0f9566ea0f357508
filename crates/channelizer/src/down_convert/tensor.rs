//! The kernels on tensor cores: which one a plan has, its table of weights, and how a launch is cut into segments.

use std::ops::Range;

use fringes_kernel_abi::down_convert::tensor as abi;
use num_complex::Complex;

use super::segments::{Segments, Tiles};

/// Samples of a segment, at most: long enough that the blocks it reads beyond its own cost little, and no power of two,
/// so that neighbouring segments do not lie in the same channels of the memory (sweep in docs/performance).
const SEGMENT_SAMPLES: u64 = 17_500;

/// Bits of the largest weight: high f16 are below 2^14.
const WEIGHT_BITS: i32 = 13;

/// What the kernel knows of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorShape {
    /// Bits of a sample.
    pub bits: u32,
    /// Outputs of a block.
    pub outputs: u32,
    /// Sets of weights.
    pub sets: u32,
    /// Groups of 64 samples of a block.
    pub groups: u32,
    /// Samples from one output to the next.
    pub decimation: u32,
    /// f16 of a weight: high and low, or the high one alone.
    pub terms: u32,
}

/// Where a launch's blocks lie. Bits are modulo 2^64, as blocks may begin before the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Outputs of the first block before the first one that is wanted.
    pub skip: u64,
    /// Blocks of held samples.
    pub held: u64,
    /// Blocks of the chunk.
    pub chunk: u64,
    /// Bit at which the first block of held samples begins.
    pub held_bit: u64,
    /// Bit at which the first block of the chunk begins.
    pub chunk_bit: u64,
    /// Output that the first block of the chunk begins with: that behind the last block of held samples.
    pub output: u64,
}

impl TensorShape {
    /// Where the blocks of `outputs` lie, those before `middle` made of held samples and the others of a chunk:
    /// `held_bit` is where the first window of the range begins, `chunk_bit` that of `middle`.
    pub fn blocks(&self, outputs: &Range<u64>, middle: u64, held_bit: u64, chunk_bit: u64) -> Blocks {
        let (per_block, output_bits) = (u64::from(self.outputs), u64::from(self.decimation * self.bits));
        let skip = outputs.start % per_block;
        let held = if outputs.start < middle {
            (middle.min(outputs.end) - outputs.start + skip).div_ceil(per_block)
        } else {
            0
        };
        let output = outputs.start - skip + held * per_block;
        Blocks {
            skip,
            held,
            chunk: (outputs.end - outputs.start + skip).div_ceil(per_block) - held,
            held_bit: held_bit.wrapping_sub(skip * output_bits),
            chunk_bit: chunk_bit.wrapping_add(output.wrapping_sub(middle).wrapping_mul(output_bits)),
            output,
        }
    }

    /// That of a filter of `taps` taps for a decimation, of real packed samples of `bits` bits; `None` if there is no
    /// kernel, or its table does not fit shared memory.
    ///
    /// Of the kernels with enough sets it is that with the fewest products a sample.
    pub fn new(taps: usize, decimation: usize, bits: u32) -> Option<Self> {
        Self::of(taps, decimation, bits, 2)
    }

    /// The same for weights of one f16.
    pub fn half(taps: usize, decimation: usize, bits: u32) -> Option<Self> {
        Self::of(taps, decimation, bits, 1)
    }

    /// The same for weights of so many terms.
    pub(super) fn of(taps: usize, decimation: usize, bits: u32, terms: u32) -> Option<Self> {
        let (taps, decimation) = (u32::try_from(taps).ok()?, u32::try_from(decimation).ok()?);
        if !abi::BITS.contains(&bits) || !(1..=1 << 16).contains(&taps) || !(1..=1 << 12).contains(&decimation) {
            return None;
        }
        let fits = |&(outputs, sets): &(u32, u32)| {
            let groups = abi::groups(outputs, decimation);
            abi::sets(outputs, taps, decimation) <= sets
                && groups <= 1 << 10
                && (terms > 1 || abi::has_half(outputs, bits))
                && abi::shared_bytes(outputs, sets, groups, bits, terms) <= abi::MOST_SHARED_BYTES
        };
        let shape = |(outputs, sets)| {
            let groups = abi::groups(outputs, decimation);
            Self { bits, outputs, sets, groups, decimation, terms }
        };
        // Columns times samples with those that a block is filled up with, over outputs: products an output.
        let cost = |shape: &Self| (shape.sets * shape.groups, shape.outputs);
        abi::SHAPES.into_iter().filter(fits).map(shape).min_by_key(cost)
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> String {
        let half = if self.terms == 1 { "_half" } else { "" };
        format!("down_convert_{}_{}_{}{half}", self.bits, self.outputs, self.sets)
    }

    /// Whether there is a kernel for groups of samples that begin with pieces of 16 bytes, of the same name with
    /// `_aligned` behind it.
    pub fn has_aligned(&self) -> bool {
        abi::has_aligned(self.outputs, self.bits) && self.block_bits().is_multiple_of(abi::PIECE_BITS)
    }

    /// Whether the groups of samples of these blocks begin so; `row_bits` are those of the chunk from input to input, 0
    /// of a single one. Held rows are whole pieces.
    pub fn is_aligned(&self, blocks: &Blocks, row_bits: u64) -> bool {
        let chunk = if blocks.chunk > 0 { blocks.chunk_bit | row_bits } else { 0 };
        let held = if blocks.held > 0 { blocks.held_bit } else { 0 };
        (chunk | held | u64::from(self.block_bits())).is_multiple_of(abi::PIECE_BITS.into())
    }

    /// Bits of a block of samples.
    pub fn block_bits(&self) -> u32 {
        self.outputs * self.decimation * self.bits
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        abi::threads(self.outputs, self.bits, self.terms)
    }

    /// Tiles that a block has at a time.
    pub fn tiles_together(&self) -> u32 {
        abi::warpgroups(self.outputs, self.bits, self.groups, self.terms)
    }

    /// Bytes of shared memory of a block of threads.
    pub fn shared_bytes(&self) -> u32 {
        abi::shared_bytes(self.outputs, self.sets, self.groups, self.bits, self.terms)
    }

    /// Blocks of threads of a multiprocessor at a time, where its shared memory is so large.
    pub fn blocks_together(&self, shared_bytes_of_each: u32) -> u32 {
        // The device keeps 1024 bytes for each block.
        (shared_bytes_of_each / (self.shared_bytes() + 1024)).clamp(1, abi::blocks_together(self.terms))
    }

    /// The table of weights, and what sums are to be multiplied by. `weights` are those with the mixer folded in,
    /// `step` is the mixer's turn over a decimation.
    pub fn table(&self, weights: &[Complex<f64>], step: impl Fn(u32) -> Complex<f64>) -> (Vec<[u32; 4]>, f32) {
        let Self { outputs, sets, groups, decimation, terms, .. } = *self;
        let most = weights.iter().map(|weight| weight.norm()).fold(0.0, f64::max);
        let exponent = if most > 0.0 && most.is_finite() { WEIGHT_BITS - most.log2().floor() as i32 } else { 0 };
        let exponent = exponent.clamp(-1000, 1000);
        let scale = 2f64.powi(exponent);
        let turns: Vec<Complex<f64>> = (0..outputs).map(|output| step(output) * scale).collect();
        let columns = abi::columns(outputs, sets);
        let mut table = vec![[0u32; 4]; abi::table_pieces(outputs, sets, groups, terms) as usize];
        for group in 0..groups {
            for column in 0..columns {
                let set = abi::set(sets, column / (2 * outputs));
                let (output, part) = abi::output(outputs, column % (2 * outputs));
                for step in 0..4 {
                    for k in 0..16 {
                        let sample = abi::GROUP * group + abi::sample(step, k);
                        // Samples that a block is filled up with are the next block's.
                        let own = sample < outputs * decimation;
                        let tap = i64::from(set * outputs * decimation + sample) - i64::from(decimation * output);
                        let weight = usize::try_from(tap).ok().filter(|_| own).and_then(|tap| weights.get(tap));
                        let Some(weight) = weight else { continue };
                        let weight = weight * turns[output as usize];
                        let weight = if part == 0 { weight.re } else { weight.im };
                        let high = half::f16::from_f64(weight);
                        let low = half::f16::from_f64(weight - high.to_f64());
                        for (term, value) in (0..terms).zip([high, low]) {
                            let half = 2 * term + k / 8;
                            let piece = ((group * 4 + step) * 2 * terms + half) * columns + column;
                            let word = &mut table[piece as usize][(k % 8 / 2) as usize];
                            *word |= u32::from(value.to_bits()) << (16 * (k % 2));
                        }
                    }
                }
            }
        }
        (table, 2f64.powi(-exponent) as f32)
    }

    /// What sums of samples come out divided by: of 16 bits they are multiplied as multiples of 64.
    pub fn sample_scale(&self) -> f32 {
        if self.bits == 16 { 64.0 } else { 1.0 }
    }

    /// How so many blocks of outputs of each of `inputs` inputs are cut, on a device that has so many blocks of threads
    /// at a time, beside so many tiles of held samples.
    pub fn segments(&self, blocks: u64, inputs: usize, held_tiles: usize, blocks_at_a_time: usize) -> Segments {
        let unit = abi::segment_blocks(self.block_bits());
        let tiles = Tiles {
            rows: abi::ROWS,
            unit,
            most_units: SEGMENT_SAMPLES / u64::from(self.outputs * self.decimation * unit),
            at_a_time: blocks_at_a_time as u64 * u64::from(self.tiles_together()),
            beside: held_tiles as u64,
        };
        tiles.cut(blocks, inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DownConversionFilter;

    #[test]
    fn plans_have_the_kernel_with_the_fewest_products() {
        let kernel = |taps, decimation| TensorShape::new(taps, decimation, 10).map(|shape| shape.kernel());
        assert_eq!(kernel(128, 8).unwrap(), "down_convert_10_8_3");
        assert_eq!(kernel(96, 17).unwrap(), "down_convert_10_8_2");
        assert_eq!(kernel(160, 5).unwrap(), "down_convert_10_12_4");
        assert_eq!(kernel(2048, 128).unwrap(), "down_convert_10_4_5");
        assert!(kernel(4096, 8).is_none() && kernel(1024, 1024).is_none() && kernel(1, 1).is_some());
        assert!(TensorShape::new(128, 8, 11).is_none());
    }

    #[test]
    fn every_weight_is_in_the_table_once_a_place() {
        // Weights are their numbers: the sum over sets, samples and outputs of high and low is that of all taps times
        // the outputs.
        for (taps, decimation) in [(128, 8), (96, 17), (160, 5), (7, 3)] {
            let shape = TensorShape::new(taps, decimation, 8).unwrap();
            let weights: Vec<Complex<f64>> = (0..taps).map(|k| Complex::new(k as f64 + 1.0, -1.0)).collect();
            let (table, scale) = shape.table(&weights, |_| Complex::new(1.0, 0.0));
            let columns = abi::columns(shape.outputs, shape.sets) as usize;
            let once = (shape.sets * 2 * shape.outputs) as usize;
            let mut sums = [0.0; 2];
            for (piece, words) in table.iter().enumerate() {
                let column = piece % columns;
                if column < once {
                    let values = words.iter().flat_map(|word| [*word as u16, (word >> 16) as u16]);
                    let sum: f64 = values.map(|bits| half::f16::from_bits(bits).to_f64()).sum();
                    sums[column % 2] += sum * f64::from(scale);
                }
            }
            let outputs = f64::from(shape.outputs);
            let expected = (taps * (taps + 1) / 2) as f64 * outputs;
            assert!((sums[0] - expected).abs() < 1e-6 * expected, "{sums:?} {expected}");
            assert!((sums[1] + taps as f64 * outputs).abs() < 1e-6 * expected);
        }
    }

    #[test]
    fn weights_of_one_f16_are_the_high_ones() {
        for (taps, decimation) in [(128, 8), (96, 17), (256, 16)] {
            let (two, one) = (TensorShape::new(taps, decimation, 10), TensorShape::half(taps, decimation, 10));
            let (two, one) = (two.unwrap(), one.unwrap());
            assert_eq!((one.kernel(), one.threads()), (two.kernel() + "_half", 256));
            assert_eq!(TensorShape { terms: 2, ..one }, two);
            let weights: Vec<Complex<f64>> = (0..taps).map(|k| Complex::new((k as f64).sin(), 0.3)).collect();
            let [two_of, one_of] = [two, one].map(|shape| shape.table(&weights, |_| Complex::new(1.0, 0.0)));
            assert_eq!(two_of.1.to_bits(), one_of.1.to_bits());
            // Both halves of a step, high ones first.
            let half = 2 * abi::columns(two.outputs, two.sets) as usize;
            let high: Vec<_> = two_of.0.chunks(2 * half).flat_map(|step| &step[..half]).copied().collect();
            assert!(high == one_of.0, "{taps} {decimation}");
        }
        assert!(TensorShape::half(160, 5, 10).is_none_or(|shape| shape.outputs == 8));
        assert_eq!([4, 16].map(|bits| TensorShape::half(128, 8, bits)), [None; 2]);
        // 228 KiB of a multiprocessor have room for two of each.
        assert_eq!(TensorShape::half(128, 8, 10).unwrap().blocks_together(228 << 10), 2);
        assert_eq!(TensorShape::half(128, 8, 10).unwrap().blocks_together(100 << 10), 1);
        assert_eq!(TensorShape::new(128, 8, 10).unwrap().blocks_together(228 << 10), 1);
    }

    /// What rounding a preset's weights to one f16 lets through, relative to the pass band: a filter of its own.
    #[test]
    fn errors_of_weights_of_one_f16_are_74_db_down() {
        for (decimation, taps, limit) in [(8, 128, -74.0), (16, 256, -77.0), (32, 512, -81.0)] {
            let filter = DownConversionFilter::outer_half_discarded(decimation).taps(taps).build().unwrap();
            let sum: f64 = filter.taps().iter().sum();
            let mut most = 0f64;
            for centre in [0.123_456_789, 0.271, 0.062_51, 0.4, 0.25, 0.031_3, 0.333] {
                let at = |turns: f64, k: usize| Complex::cis(-std::f64::consts::TAU * turns * k as f64);
                let rounded = |part: f64| half::f16::from_f64(part * 2f64.powi(16)).to_f64() / 2f64.powi(16);
                let of = |(k, h): (usize, &f64)| {
                    let weight = at(centre, k) * h;
                    weight - Complex::new(rounded(weight.re), rounded(weight.im))
                };
                let errors: Vec<Complex<f64>> = filter.taps().iter().enumerate().map(of).collect();
                for step in 0..1000 {
                    let turned = errors.iter().enumerate().map(|(k, error)| at(f64::from(step) / 1000.0, k) * error);
                    most = most.max(turned.sum::<Complex<f64>>().norm() / sum.abs());
                }
            }
            println!("{taps} taps: {:.1} dB", 20.0 * most.log10());
            assert!(20.0 * most.log10() < limit, "{taps} taps");
        }
    }

    #[test]
    fn segments_are_whole_pieces_and_not_too_long() {
        let shape = TensorShape::new(128, 8, 10).unwrap();
        for (blocks, inputs) in [(1, 1), (1000, 2), (1 << 22, 1), (1 << 26, 1), (1 << 20, 130)] {
            let Segments { blocks: of_segment, tiles } = shape.segments(blocks, inputs, 1, 132);
            assert!((of_segment * shape.block_bits()).is_multiple_of(128) && of_segment <= 273);
            assert!(u64::from(tiles) * 64 * u64::from(of_segment) >= blocks);
        }
        // Eight rounds of 528 groups of warps.
        assert_eq!(shape.segments(1 << 26, 1, 1, 132).blocks, 249);
    }
}
