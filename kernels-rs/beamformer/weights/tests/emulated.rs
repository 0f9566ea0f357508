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
    // Pairs of 5 channels and 11 sums of times, over 2 channels and 3 of them, at once and cut.
    let (channels, times, beams, first, row) = (5usize, 11usize, 3usize, 1usize, 5usize);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let all: Vec<f32> = (0..channels * times * beams * 4).map(|_| random.random_range(0..1000) as f32).collect();
    for (products, read, written) in [(0u32, 1, 1), (1, 2, 1), (2, 4, 4), (3, 4, 4)] {
        let number = |c: usize, t: usize, k: usize| all[(c * times + t) * beams * 4 + k];
        for cuts in [vec![11], vec![2, 5, 4], vec![1, 1, 9], vec![3, 0, 1, 7]] {
            let (mut done, mut pending, mut carried) = (0, 0, vec![f32::NAN; 2 * beams * read]);
            for cut in cuts {
                let part = |c: usize| (done..done + cut).flat_map(move |t| (0..beams * read).map(move |k| (c, t, k)));
                let sums: Vec<f32> = (0..channels).flat_map(part).map(|(c, t, k)| number(c, t, k)).collect();
                let (whole, rest) = ((pending + cut) / 3, (pending + cut) % 3);
                let mut memory = GlobalMemory::new();
                let (of_sums, of_carried) = (memory.upload(&sums), memory.upload(&carried));
                let length = 2 * whole * row * written;
                let (out, left) = (memory.upload(&vec![-1.0f32; length + 5]), memory.upload(&carried));
                let numbers = [channels, cut, beams, 2, 3, pending, first, row].map(|number| number as u32);
                let [a, b, c, d, e, f, g, h] = numbers;
                launch(<kernels::sum_detected as Kernel>::DECLARATION, &mut memory, || {
                    let (sums, out, carried, left) = (of_sums.into(), out.into(), of_carried.into(), left.into());
                    kernels::sum_detected(sums, out, carried, left, a, b, c, d, e, f, g, h, products)
                });
                let out = memory.values(out);
                let first_time = (done - pending) / 3;
                for (channel, time, beam) in
                    (0..2).flat_map(|c| (0..whole).flat_map(move |t| (0..row).map(move |b| (c, t, b))))
                {
                    let total = |k: usize| {
                        let times = 3 * (first_time + time)..3 * (first_time + time) + 3;
                        let each = (2 * channel..2 * channel + 2).flat_map(|c| times.clone().map(move |t| (c, t)));
                        each.map(|(c, t)| number(c, t, (beam - first) * read + k)).sum::<f32>()
                    };
                    let expected = match products {
                        _ if beam < first || beam >= first + beams => vec![-1.0; written],
                        0 => vec![total(0)],
                        1 => vec![total(0) + total(1)],
                        2 => vec![total(0) + total(1), total(0) - total(1), 2.0 * total(2), -2.0 * total(3)],
                        _ => (0..4).map(total).collect(),
                    };
                    let at = ((channel * whole + time) * row + beam) * written;
                    assert_eq!(out[at..at + written], expected, "{products} {channel} {time} {beam}");
                }
                assert!(out[length..].iter().all(|&left| left == -1.0));
                if rest > 0 {
                    carried = memory.values(left);
                }
                (done, pending) = (done + cut, rest);
            }
            assert_eq!(pending, 2);
        }
    }
}

#[test]
fn bytes_of_sums_are_rounded_half_to_even_clamped_and_counted() {
    let (channels, times, beams, products) = (2usize, 9usize, 3usize, 4usize);
    let (row, mut random) = (beams * products, Xoshiro256PlusPlus::seed_from_u64(5));
    let mut sums: Vec<f32> = (0..channels * times * row).map(|_| random.random_range(-60.0..400.0)).collect();
    (sums[3], sums[17], sums[18], sums[40]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2.5);
    let scale: Vec<f32> = (0..channels * row).map(|n| if n % 5 == 4 { 1.0 } else { 0.7 + n as f32 / 50.0 }).collect();
    let offset: Vec<f32> = (0..channels * row).map(|n| (n % 3) as f32 - 1.0).collect();
    let mut memory = GlobalMemory::new();
    let [of_sums, of_scale, of_offset] = [&sums, &scale, &offset].map(|values| memory.upload(values));
    let (out, saturated) = (memory.upload(&vec![7u8; sums.len() + 3]), memory.upload(&vec![1u64; beams]));
    launch(<kernels::bytes_of_sums as Kernel>::DECLARATION, &mut memory, || {
        let (sums, scale, offset) = (of_sums.into(), of_scale.into(), of_offset.into());
        let [channels, times, beams, products] = [channels, times, beams, products].map(|number| number as u32);
        kernels::bytes_of_sums(sums, scale, offset, out.into(), saturated.into(), channels, times, beams, products)
    });
    let (out, mut counts) = (memory.values(out), vec![1u64; beams]);
    for (index, &sum) in sums.iter().enumerate() {
        let at = index / (times * row) * row + index % row;
        let value = (f64::from(offset[at]) + f64::from(scale[at]) * f64::from(sum)).round_ties_even();
        counts[index % row / products] += u64::from(!(0.0..=255.0).contains(&value));
        assert_eq!(out[index], value as u8, "{index}: {sum}");
    }
    assert_eq!(memory.values(saturated), counts);
    assert_eq!(out[sums.len()..], [7; 3]);
}

/// Rows `[channel][block][input][times]` of 128 bytes of samples `[channel][time][input]`; times past the last one are
/// anything.
fn rows(samples: &Array3<C64>, bytes: usize) -> Vec<[u32; 4]> {
    let (channels, times, inputs) = samples.dim();
    let row = 128 / bytes;
    let blocks = times.div_ceil(row);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut rows: Vec<u8> = (0..channels * blocks * inputs * 128).map(|_| random.random()).collect();
    for ((channel, time, input), sample) in samples.indexed_iter() {
        let at = (((channel * blocks + time / row) * inputs + input) * row + time % row) * bytes;
        let parts = [sample.re, sample.im];
        match bytes {
            1 => rows[at] = ((parts[0] as i8) << 4 | (parts[1] as i8 & 15)) as u8,
            2 => rows[at..at + 2].copy_from_slice(&parts.map(|part| part as i8 as u8)),
            _ => rows[at..at + 4].copy_from_slice(parts.map(|part| f16::from_f64(part).to_le_bytes()).as_flattened()),
        }
    }
    let word = |piece: &[u8], i: usize| u32::from_le_bytes(piece[4 * i..4 * i + 4].try_into().unwrap());
    rows.chunks_exact(16).map(|piece| std::array::from_fn(|i| word(piece, i))).collect()
}

#[test]
fn incoherent_beams_are_those_of_the_reference() {
    let declarations = [
        (1, <kernels::incoherent_i4 as Kernel>::DECLARATION, 16_384),
        (2, <kernels::incoherent_i8 as Kernel>::DECLARATION, 8192),
        (4, <kernels::incoherent_f16 as Kernel>::DECLARATION, 4096),
    ];
    for (bytes, declaration, shared) in declarations {
        for (channels, times, inputs, beams, fold) in
            [(1, 1, 1, 1, 1), (2, 150, 70, 5, 1), (3, 128, 32, 4, 16), (1, 135, 33, 9, 8), (2, 64, 100, 2, 2)]
        {
            let mut random = Xoshiro256PlusPlus::seed_from_u64((times + inputs) as u64);
            let samples = Array3::from_shape_simple_fn((channels, times, inputs), || {
                let mut part = || match bytes {
                    1 => f64::from(random.random_range(-8..=7)),
                    2 => f64::from(random.random_range(-128..=127)),
                    _ => f64::from(f16::from_f64(random.random_range(-4.0..4.0))),
                };
                C64::new(part(), part())
            });
            let gains = ndarray::Array2::from_shape_simple_fn((beams, inputs), || random.random_range(-1.0f32..2.0));
            let mut table = vec![[0.0f32; 4]; beams.div_ceil(4) * inputs];
            for ((beam, input), &gain) in gains.indexed_iter() {
                table[beam / 4 * inputs + input][beam % 4] = gain;
            }
            let sums = times.div_ceil(fold);
            let mut memory = GlobalMemory::new();
            let of_rows = memory.upload(&rows(&samples, bytes));
            let of_gains = memory.upload(&table);
            let out = memory.upload(&vec![-1.0f32; channels * sums * beams + 3]);
            let numbers = [channels, inputs, beams, times, fold].map(|number| number as u32);
            let [a, b, c, d, e] = numbers;
            let report = Launch::new(declaration, [2, 1, 1], [256, 1, 1]).shared_bytes(shared).run(&mut memory, || {
                let (rows, gains, out) = (of_rows.into(), of_gains.into(), out.into());
                match bytes {
                    1 => kernels::incoherent_i4(rows, gains, out, a, b, c, d, e),
                    2 => kernels::incoherent_i8(rows, gains, out, a, b, c, d, e),
                    _ => kernels::incoherent_f16(rows, gains, out, a, b, c, d, e),
                }
            });
            report.assert_clean();
            let out = memory.values(out);
            let wide = |gain: f32| f64::from(gain);
            let each = fringes_reference::beamformer::incoherent(samples.view(), gains.mapv(wide).view());
            let sizes = fringes_reference::beamformer::incoherent(samples.view(), gains.mapv(|g| wide(g.abs())).view());
            for channel in 0..channels {
                for (sum, beam) in (0..sums).flat_map(|sum| (0..beams).map(move |beam| (sum, beam))) {
                    let times = sum * fold..((sum + 1) * fold).min(times);
                    let of = |data: &Array3<f64>| times.clone().map(|time| data[(channel, time, beam)]).sum::<f64>();
                    let roundings = (inputs.div_ceil(32) + 2 + 8 + fold.ilog2() as usize + 3) as f64;
                    let bound = roundings * 2f64.powi(-24) * of(&sizes);
                    let actual = f64::from(out[(channel * sums + sum) * beams + beam]);
                    let expected = of(&each);
                    assert!((actual - expected).abs() <= bound, "{bytes} {sum} {beam}: {actual}, not {expected}");
                }
            }
            assert!(out[channels * sums * beams..].iter().all(|&left| left == -1.0));
        }
    }
}

#[test]
fn incoherent_beams_of_wrong_numbers_trap() {
    let mut memory = GlobalMemory::new();
    let of_rows = memory.upload(&vec![[0u32; 4]; 8 * 4]);
    let gains = memory.upload(&[[0.0f32; 4]; 4]);
    let out = memory.upload(&vec![-1.0f32; 64 * 2]);
    for [channels, inputs, beams, times, fold] in
        [[2, 4, 2, 64, 1], [1, 5, 2, 64, 1], [1, 4, 5, 64, 1], [1, 4, 2, 65, 1], [1, 4, 2, 64, 3], [0, 4, 2, 64, 1]]
    {
        let declaration = <kernels::incoherent_i8 as Kernel>::DECLARATION;
        let report = Launch::new(declaration, [1, 1, 1], [256, 1, 1]).shared_bytes(8192).run(&mut memory, || {
            let (rows, gains, out) = (of_rows.into(), gains.into(), out.into());
            kernels::incoherent_i8(rows, gains, out, channels, inputs, beams, times, fold)
        });
        assert!(report.found(fringes_emulator::FaultKind::Operand), "{channels} {inputs} {beams} {times} {fold}");
    }
    assert!(memory.values(out).iter().all(|&left| left == -1.0));
}
