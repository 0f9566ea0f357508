//! The kernels on tensor cores of compute capability 8.0 and higher: which one a plan has, its table of weights, how a
//! launch is cut into segments, and how precise outputs are.

use fringes_kernel_abi::down_convert::mma as abi;
use num_complex::Complex;

use super::segments::{Segments, Tiles};

/// Samples of a segment, at most: as long as those of the kernels of compute capability 9.0.
const SEGMENT_SAMPLES: u64 = 17_500;

/// Bits of the largest weight: high f16 are below 2^14.
const WEIGHT_BITS: i32 = 13;

/// Largest scale of weights, either way, as a power of two: rotations times it are normal numbers.
const MOST_EXPONENT: i32 = 100;

/// What the kernel knows of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MmaShape {
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
    /// Groups of samples of each warp that there is room for.
    pub stages: u32,
}

impl MmaShape {
    /// That of a filter of `taps` taps for a decimation, of real packed samples of `bits` bits, on a device whose
    /// blocks have up to `shared_bytes` bytes of shared memory; `None` if there is no kernel, or its table does not
    /// fit.
    ///
    /// Of the kernels with enough sets it is that with the fewest products a sample.
    pub fn new(taps: usize, decimation: usize, bits: u32, shared_bytes: u32) -> Option<Self> {
        let (taps, decimation) = (u32::try_from(taps).ok()?, u32::try_from(decimation).ok()?);
        if !abi::BITS.contains(&bits) || !(1..=1 << 16).contains(&taps) || !(1..=1 << 12).contains(&decimation) {
            return None;
        }
        let shape = |(outputs, sets): (u32, u32)| {
            let groups = abi::groups(outputs, decimation);
            let known = abi::has_kernel(outputs, bits) && abi::sets(outputs, taps, decimation) <= sets;
            let fits = |stages: &u32| abi::shared_bytes(outputs, sets, groups, bits, *stages) <= shared_bytes;
            let stages = abi::STAGES.into_iter().filter(|_| known && groups <= 1 << 10).find(fits)?;
            Some(Self { bits, outputs, sets, groups, decimation, stages })
        };
        // Columns times samples with those that a block is filled up with, over outputs: products an output.
        let cost = |shape: &Self| (shape.sets * shape.groups, shape.outputs);
        abi::SHAPES.into_iter().filter_map(shape).min_by_key(cost)
    }

    /// Those of all bits that a plan has kernels for on a device, which have one table: that of the first.
    pub fn all(taps: usize, decimation: usize, shared_bytes: u32) -> Vec<Self> {
        let of_bits = |bits: u32| Self::new(taps, decimation, bits, shared_bytes);
        let mut shapes: Vec<Self> = abi::BITS.into_iter().filter_map(of_bits).collect();
        if let Some(&first) = shapes.first() {
            shapes.retain(|shape| shape.has_table_of(&first));
        }
        shapes
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> String {
        format!("down_convert_mma_{}_{}_{}", self.bits, self.outputs, self.sets)
    }

    /// Bits of a block of samples.
    pub fn block_bits(&self) -> u32 {
        self.outputs * self.decimation * self.bits
    }

    /// Bytes of shared memory of a block of threads.
    pub fn shared_bytes(&self) -> u32 {
        abi::shared_bytes(self.outputs, self.sets, self.groups, self.bits, self.stages)
    }

    /// Pieces of 16 bytes of the table.
    pub fn table_pieces(&self) -> u32 {
        abi::table_pieces(self.outputs, self.sets, self.groups)
    }

    /// Whether the table of another shape of the plan is the same.
    fn has_table_of(&self, other: &Self) -> bool {
        (self.outputs, self.sets, self.decimation) == (other.outputs, other.sets, other.decimation)
    }

    /// Most that an output differs from its exact value by, of full scale `2^(B-1) sum |h|`; below 2e-5 for all shapes.
    ///
    /// | part | of full scale |
    /// |---|---|
    /// | cuts: 4 products of 16 terms with high weights, each 24 `2^-23` of what a group adds | `96 2^-23` |
    /// | the products before them, whose sums are below 2^-8 of that | 1 % of the cuts |
    /// | weights: two f16 | `2^-22`, and `2^-24` for the smallest |
    /// | samples of 16 bits: low terms times low weights, left out | `2^-20` |
    /// | a rounding for each group of each set | `2^-24` |
    /// | the rotation's angle, sine and cosine | `2^-19.9` |
    /// | its products | `3 2^-24` |
    ///
    /// 24 is what `fringes_device::tensor_core` proves for steps of at least 4 products, whichever GPU it is: 4 steps
    /// in which 5 terms and the result lose `2^-23` at most.
    pub fn bound(&self) -> f64 {
        self.bound_with(24.0)
    }

    /// The same for tensor cores of which a product of 16 terms loses at most `loss` times `2^-23`.
    pub fn bound_with(&self, loss: f64) -> f64 {
        let cuts = 1.01 * 4.0 * loss * 2f64.powi(-23);
        let weights = 2f64.powi(-22) + 2f64.powi(-24) + if self.bits > 12 { 2f64.powi(-20) } else { 0.0 };
        let sums = f64::from(self.sets * self.groups) * 2f64.powi(-24);
        cuts + weights + sums + 2f64.powf(-19.9) + 3.0 * 2f64.powi(-24)
    }

    /// The table of weights, and what sums are to be multiplied by; `None` if weights are so large or small that the
    /// kernel's f32 have no room for it. `weights` are those with the mixer folded in, `step` is the mixer's turn over
    /// a number of decimations.
    pub fn table(&self, weights: &[Complex<f64>], step: impl Fn(u32) -> Complex<f64>) -> Option<(Vec<[u32; 4]>, f32)> {
        let Self { outputs, sets, decimation, .. } = *self;
        let most = weights.iter().map(|weight| weight.norm()).fold(0.0, f64::max);
        let exponent = if most > 0.0 { f64::from(WEIGHT_BITS) - most.log2().floor() } else { 0.0 };
        if exponent.is_nan() || exponent.abs() > f64::from(MOST_EXPONENT) {
            return None;
        }
        let exponent = exponent as i32;
        let turns: Vec<Complex<f64>> = (0..outputs).map(|output| step(output) * 2f64.powi(exponent)).collect();
        let (tiles, samples) = (abi::column_tiles(outputs, sets), outputs * decimation);
        let weight = |group, tile, column: u32, half_group, lane, word, half| {
            let (step, k) = abi::place(half_group, lane, word, half);
            let sample = abi::GROUP * group + abi::sample(step, k);
            let (output, part) = abi::output(outputs, column);
            let tap = i64::from(abi::set(outputs, sets, tile) * samples + sample) - i64::from(decimation * output);
            // Samples that a block is filled up with are the next block's.
            let tap = usize::try_from(tap).ok().filter(|_| sample < samples);
            let weight = tap.and_then(|tap| weights.get(tap)).map_or(Complex::ZERO, |tap| tap * turns[output as usize]);
            if part == 0 { weight.re } else { weight.im }
        };
        let table = (0..self.table_pieces()).map(|piece| {
            let (lane, half_group, low) = (piece % 32, piece / 32 % 2, piece / 64 % 2 == 1);
            let (tile, group) = (piece / 128 % tiles, piece / 128 / tiles);
            // A lane has column `lane / 4` of a tile of eight.
            let column = 8 * (tile % (outputs / 4)) + lane / 4;
            std::array::from_fn(|word| {
                let bits = |half: u32| {
                    let weight = weight(group, tile, column, half_group, lane, word as u32, half);
                    let high = half::f16::from_f64(weight);
                    let value = if low { half::f16::from_f64(weight - high.to_f64()) } else { high };
                    u32::from(value.to_bits()) << (16 * half)
                };
                bits(0) | bits(1)
            })
        });
        Some((table.collect(), abi::sample_scale(self.bits) * 2f64.powi(-exponent) as f32))
    }

    /// How so many blocks of outputs of each of `inputs` inputs are cut, for a device that has so many blocks of
    /// threads at a time.
    pub fn segments(&self, blocks: u64, inputs: usize, at_a_time: usize) -> Segments {
        let samples = u64::from(self.outputs * self.decimation);
        let tiles = Tiles {
            rows: abi::ROWS,
            unit: abi::SEGMENT_BLOCKS,
            most_units: SEGMENT_SAMPLES / samples / u64::from(abi::SEGMENT_BLOCKS),
            at_a_time: at_a_time as u64 * u64::from(abi::THREADS / 32),
            beside: 0,
        };
        tiles.cut(blocks, inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of shared memory of a block: compute capability 8.0 and 9.0, and 8.6, 8.9 and 12.0.
    const LARGE: u32 = 163 << 10;
    const SMALL: u32 = 99 << 10;

    #[test]
    fn plans_have_the_kernel_with_the_fewest_products_that_fits() {
        let kernel = |taps, decimation, bits, shared| {
            MmaShape::new(taps, decimation, bits, shared).map(|shape| (shape.kernel(), shape.stages))
        };
        let is = |name: &str, stages| Some((name.to_owned(), stages));
        assert_eq!(kernel(128, 8, 10, SMALL), is("down_convert_mma_10_8_3", 3));
        assert_eq!(kernel(256, 16, 10, SMALL), is("down_convert_mma_10_4_5", 3));
        assert_eq!(kernel(96, 17, 12, LARGE), is("down_convert_mma_12_8_2", 3));
        assert_eq!(kernel(160, 5, 4, LARGE), is("down_convert_mma_4_12_4", 3));
        assert_eq!(kernel(1024, 64, 10, SMALL), is("down_convert_mma_10_4_5", 2));
        assert_eq!(kernel(2048, 128, 10, LARGE), is("down_convert_mma_10_4_5", 2));
        assert_eq!(kernel(128, 8, 16, SMALL), is("down_convert_mma_16_8_3", 2));
        for none in [(2048, 128, 10, SMALL), (4096, 8, 10, LARGE), (160, 5, 16, LARGE), (128, 8, 11, LARGE)] {
            let (taps, decimation, bits, shared) = none;
            assert_eq!(kernel(taps, decimation, bits, shared), None, "{none:?}");
        }
        assert!(MmaShape::new(128, 8, 10, 1000).is_none() && MmaShape::new(0, 8, 10, LARGE).is_none());
    }

    #[test]
    fn every_weight_is_in_the_table_once_an_output() {
        // Of each output and part, the sum over sets and samples of high and low is that of all taps, each with its
        // place, so that neither can be another's.
        for (taps, decimation) in [(128, 8), (96, 17), (160, 5), (7, 3), (512, 32)] {
            let shape = MmaShape::new(taps, decimation, 8, LARGE).unwrap();
            let weights: Vec<Complex<f64>> = (0..taps).map(|k| Complex::new(k as f64 + 1.0, -1.0)).collect();
            let (table, scale) = shape.table(&weights, |_| Complex::new(1.0, 0.0)).unwrap();
            let tiles = abi::column_tiles(shape.outputs, shape.sets);
            let mut found = vec![[vec![0.0; taps], vec![0.0; taps]]; shape.outputs as usize];
            for (piece, words) in table.iter().enumerate() {
                let piece = piece as u32;
                let (lane, tile, group) = (piece % 32, piece / 128 % tiles, piece / 128 / tiles);
                let column = 8 * (tile % (shape.outputs / 4)) + lane / 4;
                let (output, part) = abi::output(shape.outputs, column);
                for (word, bits) in words.iter().enumerate() {
                    for half in 0..2 {
                        let value = half::f16::from_bits((bits >> (16 * half)) as u16).to_f64() * f64::from(scale);
                        let (step, k) = abi::place(piece / 32 % 2, lane, word as u32, half);
                        let sample = abi::GROUP * group + abi::sample(step, k);
                        let set = abi::set(shape.outputs, shape.sets, tile);
                        let tap = (set * shape.outputs * decimation as u32 + sample) as usize;
                        let tap = tap.wrapping_sub(decimation * output as usize);
                        if value != 0.0 {
                            found[output as usize][part as usize][tap] += value;
                        }
                    }
                }
            }
            for [re, im] in found {
                for (k, weight) in weights.iter().enumerate() {
                    assert!((re[k] - weight.re).abs() <= 2f64.powi(-22) * weight.re, "{taps} {decimation} {k}");
                    assert_eq!(im[k], weight.im);
                }
            }
        }
    }

    #[test]
    fn weights_without_room_in_f32_have_no_table() {
        let shape = MmaShape::new(4, 4, 8, LARGE).unwrap();
        let table = |weight| shape.table(&[Complex::new(weight, 0.0); 4], |_| Complex::new(1.0, 0.0));
        assert!(table(1e-40).is_none() && table(1e36).is_none() && table(f64::INFINITY).is_none());
        assert_eq!(table(1.0).unwrap().1, 2f32.powi(-13));
        assert_eq!(table(0.0).unwrap().1, 1.0);
        let wide = MmaShape { bits: 16, ..shape };
        assert_eq!(wide.table(&[Complex::new(1.0, 0.0)], |_| Complex::new(1.0, 0.0)).unwrap().1, 2f32.powi(-7));
    }

    #[test]
    fn segments_are_whole_units_and_not_too_long() {
        let shape = MmaShape::new(128, 8, 10, LARGE).unwrap();
        for (blocks, inputs) in [(1, 1), (1000, 2), (1 << 22, 1), (1 << 26, 1), (1 << 20, 130)] {
            let Segments { blocks: of_segment, tiles } = shape.segments(blocks, inputs, 132);
            assert!(of_segment % abi::SEGMENT_BLOCKS == 0 && of_segment <= 272);
            assert!(u64::from(tiles) * 32 * u64::from(of_segment) >= blocks);
        }
        assert_eq!(shape.segments(1 << 26, 1, 132).blocks, 256);
    }

    #[test]
    fn all_shapes_are_within_what_is_asked() {
        for bits in abi::BITS {
            for (outputs, sets) in abi::SHAPES {
                for decimation in 1..=512 {
                    let taps = ((sets - 1) * outputs * decimation + decimation) as usize;
                    if let Some(shape) = MmaShape::new(taps, decimation as usize, bits, 228 << 10) {
                        assert!(shape.bound() < 2e-5, "{shape:?}: {}", shape.bound());
                    }
                }
            }
        }
    }
}
