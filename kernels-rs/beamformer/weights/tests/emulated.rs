//! Every kernel in the emulator, with all of its detectors: tables read back by the layout's own functions.

use std::f64::consts::TAU;

use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_beamformer_weights as kernels;
use half::f16;
use kernels::tied_array::{CHUNK_BYTES, Weights, byte_f16, column, place, run};
use ndarray::Array3;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C64 = Complex<f64>;

/// A table's sizes.
#[derive(Debug, Clone, Copy)]
struct Shape {
    weights: Weights,
    channels: u32,
    inputs: u32,
    beams: u32,
    columns: u32,
    most_run: u32,
}

impl Shape {
    fn tile_beams(&self) -> u32 {
        self.columns / self.weights.digits()
    }

    fn tiles(&self) -> u32 {
        self.beams.div_ceil(self.tile_beams())
    }

    fn chunks(&self) -> u32 {
        self.inputs.div_ceil(self.weights.chunk_inputs())
    }

    /// Bytes, and scales.
    fn lengths(&self) -> [usize; 2] {
        let tiles = self.channels * self.tiles();
        [tiles * self.chunks() * self.columns * CHUNK_BYTES, tiles * self.tile_beams()].map(|length| length as usize)
    }

    /// The numbers of a place of the table, also those that fill it up: the weight with the scale left out.
    fn weight(&self, table: &[u8], channel: u32, slot: u32, input: u32) -> C64 {
        let (tile, within) = (slot / self.tile_beams(), slot % self.tile_beams());
        let (chunk, inner) = (input / self.weights.chunk_inputs(), input % self.weights.chunk_inputs());
        let start = ((channel * self.tiles() + tile) * self.chunks() + chunk) * self.columns * CHUNK_BYTES;
        let run = run(self.most_run, self.columns, self.weights.digits());
        let digit = |digit: u32, part: u32| {
            let column = column(within, digit, self.weights.digits(), run);
            if self.weights == Weights::Float16 {
                let at = (start + place(column, byte_f16(inner) + 2 * part)) as usize;
                f64::from(f16::from_le_bytes([table[at], table[at + 1]]))
            } else {
                f64::from(table[(start + place(column, 2 * inner + part)) as usize] as i8)
            }
        };
        let part = |part: u32| match self.weights {
            Weights::Int16 => 256.0 * digit(0, part) + digit(1, part),
            _ => digit(0, part),
        };
        C64::new(part(0), -part(1))
    }

    fn scale(&self, scales: &[f32], channel: u32, slot: u32) -> f64 {
        f64::from(scales[(channel * self.tiles() * self.tile_beams() + slot) as usize])
    }

    /// Compares a table with weights `[beam][channel][input]` and the largest part that each beam and channel counts.
    fn check(
        &self,
        table: &[u8],
        scales: &[f32],
        scale: f64,
        weights: &Array3<C64>,
        largest: impl Fn(u32, u32) -> f64,
    ) {
        for channel in 0..self.channels {
            for slot in 0..self.tiles() * self.tile_beams() {
                let actual_scale = self.scale(scales, channel, slot);
                for input in 0..self.chunks() * self.weights.chunk_inputs() {
                    let actual = self.weight(table, channel, slot, input);
                    let what = format!("{self:?}: channel {channel}, beam {slot}, input {input}");
                    if slot >= self.beams || input >= self.inputs {
                        assert_eq!(actual, C64::default(), "{what}");
                        continue;
                    }
                    let m = largest(slot, channel);
                    let expected = weights[(slot as usize, channel as usize, input as usize)];
                    let step = match self.weights {
                        Weights::Int8 => m / 127.0,
                        Weights::Int16 => m / 32639.0,
                        Weights::Float16 => 2f64.powi(m.log2().floor() as i32 - 13),
                    };
                    // The scale is the step, to the roundings of f32.
                    assert!((actual_scale / scale / step - 1.0).abs() < 3e-7, "{what}: {actual_scale}, not {step}");
                    for (actual, expected) in [(actual.re, expected.re), (actual.im, expected.im)] {
                        let value = expected / step;
                        let rounding = match self.weights {
                            Weights::Float16 => value.abs() * 2f64.powi(-11) + 2f64.powi(-25),
                            _ => 0.5,
                        };
                        let bound = rounding + 1e-6 * (m / step);
                        assert!((actual - value).abs() <= bound, "{what}: {actual}, not {value}");
                    }
                }
            }
        }
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for weights in [Weights::Int8, Weights::Int16, Weights::Float16] {
        for (columns, most_run) in [(16, 2), (32, 8), (64, 4), (128, 8)] {
            shapes.push(Shape { weights, channels: 2, inputs: 70, beams: 21, columns, most_run });
        }
        shapes.push(Shape { weights, channels: 1, inputs: 1, beams: 1, columns: 16, most_run: 2 });
    }
    shapes
}

fn launch(declaration: &'static str, memory: &mut GlobalMemory, body: impl Fn()) {
    Launch::new(declaration, [3, 1, 1], [256, 1, 1]).run(memory, body).assert_clean();
}

#[test]
fn given_weights_are_rounded_to_the_nearest() {
    for shape in shapes() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(shape.columns.into());
        let dim = [shape.beams, shape.channels, shape.inputs].map(|size| size as usize);
        let mut part = || random.random_range(-3.0f32..3.0);
        let given = Array3::from_shape_simple_fn(dim, || [part(), part()]);
        let mut memory = GlobalMemory::new();
        let weights = memory.upload(&given.iter().copied().collect::<Vec<_>>());
        let [bytes, scales] = shape.lengths();
        let (table, scales) = (memory.allocate::<u16>(bytes / 2), memory.allocate::<f32>(scales));
        let Shape { channels, inputs, beams, columns, most_run, .. } = shape;
        macro_rules! run {
            ($kernel:ident) => {
                launch(<kernels::$kernel as Kernel>::DECLARATION, &mut memory, || {
                    kernels::$kernel(
                        weights.into(),
                        table.into(),
                        scales.into(),
                        channels,
                        inputs,
                        beams,
                        columns,
                        most_run,
                        0.25,
                    )
                })
            };
        }
        match shape.weights {
            Weights::Int8 => run!(weights_i8),
            Weights::Int16 => run!(weights_i16),
            Weights::Float16 => run!(weights_f16),
        }
        let table: Vec<u8> = memory.values(table).into_iter().flat_map(u16::to_le_bytes).collect();
        let expected = given.mapv(|[re, im]| C64::new(re.into(), im.into()));
        let largest = |beam: u32, channel: u32| {
            (0..inputs as usize)
                .map(|input| expected[(beam as usize, channel as usize, input)])
                .map(|weight| weight.re.abs().max(weight.im.abs()))
                .fold(0.0, f64::max)
        };
        shape.check(&table, &memory.values(scales), 0.25, &expected, largest);
    }
}

#[test]
fn steered_weights_turn_with_the_channel() {
    for shape in shapes() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(shape.columns.into());
        let count = (shape.beams * shape.inputs) as usize;
        let phases: Vec<u64> = (0..count).map(|_| random.random()).collect();
        let slopes: Vec<u64> = (0..count).map(|_| random.random()).collect();
        let gains: Vec<f32> =
            (0..count).map(|n| if n % 5 == 3 { 0.0 } else { random.random_range(0.5..2.0) }).collect();
        let mut memory = GlobalMemory::new();
        let [of_phases, of_slopes] = [&phases, &slopes].map(|values| memory.upload(values));
        let of_gains = memory.upload(&gains);
        let [bytes, scales] = shape.lengths();
        let (table, scales) = (memory.allocate::<u16>(bytes / 2), memory.allocate::<f32>(scales));
        let Shape { channels, inputs, beams, columns, most_run, .. } = shape;
        macro_rules! run {
            ($kernel:ident) => {
                launch(<kernels::$kernel as Kernel>::DECLARATION, &mut memory, || {
                    kernels::$kernel(
                        of_phases.into(),
                        of_slopes.into(),
                        of_gains.into(),
                        table.into(),
                        scales.into(),
                        channels,
                        inputs,
                        beams,
                        columns,
                        most_run,
                        3.0,
                    )
                })
            };
        }
        match shape.weights {
            Weights::Int8 => run!(steer_i8),
            Weights::Int16 => run!(steer_i16),
            Weights::Float16 => run!(steer_f16),
        }
        let table: Vec<u8> = memory.values(table).into_iter().flat_map(u16::to_le_bytes).collect();
        let at = |beam: u32, input: usize| beam as usize * inputs as usize + input;
        let dim = [beams, channels, inputs].map(|size| size as usize);
        let expected = Array3::from_shape_fn(dim, |(beam, channel, input)| {
            let at = at(beam as u32, input);
            let turns = phases[at].wrapping_add(slopes[at].wrapping_mul(channel as u64));
            C64::from_polar(gains[at].into(), TAU * (turns as f64 / 2f64.powi(64)))
        });
        let largest =
            |beam: u32, _: u32| (0..inputs as usize).map(|input| f64::from(gains[at(beam, input)])).fold(0.0, f64::max);
        shape.check(&table, &memory.values(scales), 3.0, &expected, largest);
    }
}

#[test]
fn beams_without_weights_are_zero() {
    let shape = Shape { weights: Weights::Int8, channels: 1, inputs: 3, beams: 2, columns: 16, most_run: 2 };
    let mut memory = GlobalMemory::new();
    let weights = memory.upload(&[[0.0f32; 2], [1e-38, 0.0], [0.0; 2], [1.0, 0.0], [0.0; 2], [0.0; 2]]);
    let [bytes, scales] = shape.lengths();
    let (table, scales) = (memory.allocate::<u16>(bytes / 2), memory.allocate::<f32>(scales));
    launch(<kernels::weights_i8 as Kernel>::DECLARATION, &mut memory, || {
        kernels::weights_i8(weights.into(), table.into(), scales.into(), 1, 3, 2, 16, 2, 1.0)
    });
    let table: Vec<u8> = memory.values(table).into_iter().flat_map(u16::to_le_bytes).collect();
    let scales = memory.values(scales);
    assert_eq!((scales[0], shape.weight(&table, 0, 0, 1)), (0.0, C64::default()));
    assert_eq!(shape.weight(&table, 0, 1, 0), C64::new(127.0, 0.0));
}

#[test]
fn sums_of_sums_are_those_of_the_products() {
    // Pairs of 5 channels and 7 sums of times, over 2 channels and 3 of them.
    let (channels, times, beams) = (5u32, 7u32, 3u32);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let sums: Vec<f32> = (0..channels * times * beams * 4).map(|_| random.random_range(0..1000) as f32).collect();
    for (products, read, written) in [(0, 1, 1), (1, 2, 1), (2, 4, 4), (3, 4, 4)] {
        let mut memory = GlobalMemory::new();
        let of_sums = memory.upload(&sums);
        let out = memory.upload(&vec![-1.0f32; (2 * 2 * beams * written + 5) as usize]);
        launch(<kernels::sum_detected as Kernel>::DECLARATION, &mut memory, || {
            kernels::sum_detected(of_sums.into(), out.into(), channels, times, beams, 2, 3, products)
        });
        let out = memory.values(out);
        for index in 0..(2 * 2 * beams) as usize {
            let (channel, time, beam) = (index / 6, index / 3 % 2, index % 3);
            let total = |k: usize| {
                let each = (2 * channel..2 * channel + 2).flat_map(|c| (3 * time..3 * time + 3).map(move |t| (c, t)));
                each.map(|(c, t)| sums[((c * 7 + t) * 3 + beam) * read as usize + k]).sum::<f32>()
            };
            let expected = match products {
                0 => vec![total(0)],
                1 => vec![total(0) + total(1)],
                2 => vec![total(0) + total(1), total(0) - total(1), 2.0 * total(2), -2.0 * total(3)],
                _ => (0..4).map(total).collect(),
            };
            assert_eq!(out[index * written as usize..][..written as usize], expected, "{products} {index}");
        }
        assert!(out[(2 * 2 * beams * written) as usize..].iter().all(|&left| left == -1.0));
    }
}
