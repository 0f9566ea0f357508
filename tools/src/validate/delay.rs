//! Coarse shifts of samples of every width, and fine rotations of every format and layout, at ordinary and awkward
//! sizes.
//!
//! Shifts are compared with the CPU backend's, which are exact; rotations with the reference's formula in f64 within
//! the kernels' bound, integers exactly but for ties within it. Every output is poisoned before, and must be poisoned
//! still behind its end.

use std::error::Error;

use fringes::FrameSample;
use fringes::delay::{ChannelPhase, Factors, RotateKernels, RotationLayout, ShiftKernels, ShiftShape};
use fringes::{Complex, Complex4, SampleFormat, f16};
use fringes_gpu::Buffer;
use fringes_reference::delay::rotate_voltages;
use fringes_reference::dither::dither;
use fringes_reference::quantiser::{quantise_value, saturates};
use ndarray::{Array2, Array3};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session, compare};

/// Names of the cases.
pub(crate) const NAMES: [&str; 4] = ["shift", "rotate", "rotate_heaps", "rotate_rows"];

/// Bits of a sample, inputs, and samples of a row before and after.
const QUICK_SHIFTS: [(u32, usize, [usize; 2]); 5] =
    [(8, 3, [4096, 4096]), (16, 5, [301, 203]), (10, 4, [1000, 1024]), (64, 2, [97, 310]), (2, 1, [1, 1])];

const SHIFTS: [(u32, usize, [usize; 2]); 8] = [
    (8, 64, [1 << 20, 1 << 20]),
    (10, 7, [3_000_001, 3_000_000]),
    (12, 160, [100_003, 100_003]),
    (16, 2, [1 << 24, 1 << 24]),
    (32, 16, [1 << 20, 1 << 19]),
    (64, 3, [1_000_001, 1_000_003]),
    (3, 100_000, [77, 77]),
    (8, 1, [1 << 28, 1 << 28]),
];

/// Channels, batches, spectra of a batch, antennas, polarisations.
const QUICK: [[usize; 5]; 4] = [[33, 2, 16, 4, 2], [70, 1, 24, 8, 1], [3, 2, 7, 3, 1], [1, 1, 1, 1, 1]];

const SIZES: [[usize; 5]; 5] =
    [[1024, 1, 256, 8, 2], [96, 2, 128, 80, 2], [65_536, 1, 8, 2, 2], [17, 3, 33, 65, 2], [5, 1, 4097, 33, 1]];

/// Number of the spectrum at time 0.
const FIRST_SPECTRUM: u64 = (1 << 33) + 5;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if session.wants(NAMES[0]) {
        let kernels = ShiftKernels::load(&session.device).map_err(End::failed)?;
        let sizes: &[_] = if session.quick { &[] } else { &SHIFTS };
        for &(bits, inputs, times) in QUICK_SHIFTS.iter().chain(sizes) {
            for wide in [true, false] {
                shift(session, &kernels, bits, inputs, times, wide)?;
            }
        }
    }
    if NAMES[1..].iter().any(|name| session.wants(name)) {
        rotations::<Complex4>(session, "4 bits")?;
        rotations::<Complex<i8>>(session, "8 bits")?;
        rotations::<Complex<f16>>(session, "f16")?;
        rotations::<Complex<f32>>(session, "f32")?;
    }
    Ok(())
}

/// Rows of any bits; `wide`: at multiples of 16 bytes.
fn shift(
    session: &mut Session,
    kernels: &ShiftKernels,
    bits: u32,
    inputs: usize,
    [from_times, to_times]: [usize; 2],
    wide: bool,
) -> Result<(), End> {
    let variant = format!("{bits} bits{}", if wide { "" } else { ", any rows" });
    let sizes = params([("inputs", inputs), ("from", from_times), ("to", to_times)]);
    session.case(NAMES[0], variant, sizes, |session| {
        let stream = &session.stream;
        let row = |times: usize| (times * bits as usize).div_ceil(8);
        let to_stride = if wide { row(to_times).next_multiple_of(16) } else { row(to_times) + 1 };
        let shape = ShiftShape { inputs, bits, from_times, to_times, from_stride: row(from_times) + 3, to_stride };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(bits.into());
        let samples = Array2::from_shape_simple_fn((inputs, shape.from_stride), || random.random::<u8>());
        let coarse: Vec<i64> = (0..inputs)
            .map(|input| match input % 8 {
                6 => to_times as i64 - 1,
                7 => -(from_times as i64),
                _ => random.random_range(-1000..1000),
            })
            .collect();
        let shifted = fringes_cpu::delay::coarse_shift_packed(samples.view(), bits, from_times, &coarse, to_times);
        let bytes = shape.to_bytes()?;
        let mut expected = vec![0x5a; bytes + 256];
        for (input, row) in shifted.rows().into_iter().enumerate() {
            let at = input * to_stride;
            expected[at..at + row.len()].iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        }

        let from = Buffer::from_slice(stream, samples.as_slice().unwrap_or_default())?;
        let coarse = Buffer::from_slice(stream, &coarse)?;
        let mut to = Buffer::<u8>::alloc(&session.device, bytes + 256)?;
        to.fill(stream, 0x5a)?;
        let time_ms = session.time(|| kernels.shift(stream, shape, coarse.view(), from.view(), &mut to.view_mut()))?;
        let moved = inputs * (row(from_times) + row(to_times));
        Ok(Outcome {
            time_ms,
            value: moved as f64 / time_ms / 1e6,
            unit: "GB/s",
            against: "the CPU backend (exact, held to the reference by its tests), and poison between and behind rows",
            verdict: compare(&expected, &to.to_vec(stream)?),
        })
    })
}

/// How a format is tested.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    size: [usize; 5],
    first_channel: usize,
    in_place: bool,
    gains: bool,
    dither: Option<u64>,
    /// Samples that the buffers begin past a multiple of 256 bytes.
    shift: usize,
}

fn rotations<V: FrameSample>(session: &mut Session, format: &str) -> Result<(), End> {
    let kernels = RotateKernels::<V>::load(&session.device).map_err(End::failed)?;
    let sizes: &[_] = if session.quick { &[] } else { &SIZES };
    for (index, &size) in QUICK.iter().chain(sizes).enumerate() {
        for name in &NAMES[1..] {
            let case = Case {
                name,
                size,
                first_channel: 0,
                in_place: index % 2 == 0,
                gains: index % 3 != 2,
                dither: None,
                shift: 0,
            };
            rotation::<V>(session, &kernels, case, format.to_string())?;
            if V::INTEGER {
                let case = Case { dither: Some(77), first_channel: 1000, ..case };
                rotation::<V>(session, &kernels, case, format!("{format}, dithered"))?;
            }
            if index == 0 && *name != NAMES[3] {
                rotation::<V>(session, &kernels, Case { shift: 1, ..case }, format!("{format}, unaligned"))?;
            }
        }
    }
    Ok(())
}

/// A random voltage of the format.
fn voltage<V: FrameSample>(random: &mut Xoshiro256PlusPlus) -> V {
    let scale = if V::INTEGER { V::FORMAT.limit() } else { 1.0 };
    let mut part = || scale * random.random_range(-1.0..1.0);
    let (re, im) = (part(), part());
    V::from_product(re, im).0
}

fn rotation<V: FrameSample>(
    session: &mut Session,
    kernels: &RotateKernels<V>,
    case: Case,
    variant: String,
) -> Result<(), End> {
    let [channels, batches, spectra, antennas, pols] = case.size;
    let (times, inputs) = (batches * spectra, antennas * pols);
    let layout = match case.name {
        "rotate" => RotationLayout::Voltages { channels, times, inputs },
        "rotate_heaps" => RotationLayout::Heaps { batches, antennas, channels, spectra, pols },
        _ => RotationLayout::Rows { channels, times, inputs },
    };
    let sizes = params([("channels", channels), ("times", times), ("inputs", inputs), ("spectra", spectra)]);
    session.case_within(case.name, variant, sizes, |session| {
        let data = Data::new::<V>(case);
        run::<V>(session, kernels, case, layout, &data)
    })
}

/// Voltages `[channel][time][input]` and their factors.
struct Data<V> {
    voltages: Array3<V>,
    phases: Array2<ChannelPhase>,
    gains: Array2<Complex<f32>>,
}

impl Data<()> {
    fn new<V: FrameSample>(case: Case) -> Data<V> {
        let [channels, batches, spectra, antennas, pols] = case.size;
        let (times, inputs) = (batches * spectra, antennas * pols);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(channels as u64);
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || voltage::<V>(&mut random));
        let phases = Array2::from_shape_simple_fn((times, inputs), || {
            // Slopes of up to 1/32 turn a channel.
            ChannelPhase { base: random.random(), slope: (random.random::<i64>() >> 4) as u64 }
        });
        let gains = Array2::from_shape_simple_fn((channels, inputs), || {
            let (size, turns) = (random.random_range(0.3..1.2f32), random.random_range(0.0..1.0f32));
            Complex::from_polar(size, std::f32::consts::TAU * turns)
        });
        Data { voltages, phases, gains }
    }
}

impl Case {
    /// Where the layout has a sample.
    fn place<V: FrameSample>(&self, channel: usize, time: usize, input: usize) -> usize {
        let [channels, batches, spectra, antennas, pols] = self.size;
        let (times, inputs) = (batches * spectra, antennas * pols);
        match self.name {
            "rotate" => (channel * times + time) * inputs + input,
            "rotate_heaps" => {
                let heap = (time / spectra * antennas + input / pols) * channels + channel;
                (heap * spectra + time % spectra) * pols + input % pols
            }
            _ => {
                let row = 128 / size_of::<V>();
                ((channel * times.div_ceil(row) + time / row) * inputs + input) * row + time % row
            }
        }
    }
}

fn run<V: FrameSample>(
    session: &Session,
    kernels: &RotateKernels<V>,
    case: Case,
    layout: RotationLayout,
    data: &Data<V>,
) -> Result<(Outcome, String), Box<dyn Error>> {
    let stream = &session.stream;
    let samples = layout.samples::<V>()?;
    let mut host = vec![V::zeroed(); case.shift + samples];
    for ((channel, time, input), &value) in data.voltages.indexed_iter() {
        host[case.shift + case.place::<V>(channel, time, input)] = value;
    }
    let from = Buffer::from_slice(stream, &host)?;
    let phases = Buffer::from_slice(stream, data.phases.as_slice().unwrap_or_default())?;
    let gains = Buffer::from_slice(stream, data.gains.as_slice().unwrap_or_default())?;
    let mut saturated = Buffer::<u64>::alloc(&session.device, layout.inputs())?;
    saturated.fill(stream, 5)?;
    let mut to = Buffer::<u8>::alloc(&session.device, (case.shift + samples) * size_of::<V>() + 256)?;
    to.fill(stream, 0x5a)?;
    let bytes = (case.shift + samples) * size_of::<V>();
    if case.in_place {
        to.slice_mut(..bytes)?.cast::<V>()?.copy_from(stream, from.view())?;
    }
    // The first time in place or not, then not, so that values stay what they are.
    let launch = |in_place: bool, saturated: &mut Buffer<u64>, to: &mut Buffer<u8>| {
        let factors = Factors {
            phases: phases.view(),
            gains: case.gains.then(|| gains.view()),
            first_channel: case.first_channel,
            dither: case.dither.map(|seed| (seed, FIRST_SPECTRUM)),
            saturated: saturated.view_mut(),
        };
        let mut target = to.slice_mut(..bytes)?.cast::<V>()?.slice(case.shift..)?;
        if in_place {
            kernels.rotate_in_place(stream, layout, factors, &mut target)
        } else {
            kernels.rotate(stream, layout, factors, from.slice(case.shift..)?, &mut target)
        }
    };
    launch(case.in_place, &mut saturated, &mut to)?;
    let counts: Vec<u64> = saturated.to_vec(stream)?.into_iter().map(|count| count.wrapping_sub(5)).collect();
    let written = to.to_vec(stream)?;
    let time_ms = session.time(|| launch(false, &mut saturated, &mut to))?;
    let values: &[V] = &bytemuck::pod_collect_to_vec::<u8, V>(&written[case.shift * size_of::<V>()..bytes]);
    let mut verdict = check(case, data, values, &counts);
    let mut poison = written[bytes..].iter().chain(&written[..case.shift * size_of::<V>()]);
    if verdict.is_ok() && !case.in_place && poison.any(|&byte| byte != 0x5a) {
        verdict = Err("something was written outside of the voltages".into());
    }
    let (verdict, error) = match verdict {
        Ok(error) => (Ok(()), error),
        Err(fault) => (Err(fault), String::new()),
    };
    let moved = 2 * samples * size_of::<V>();
    let against = "fringes_reference::delay::rotate_voltages, dither and quantiser in f64";
    Ok((Outcome { time_ms, value: moved as f64 / time_ms / 1e6, unit: "GB/s", against, verdict }, error))
}

/// The largest error relative to its bound, as text, or what is wrong.
fn check<V: FrameSample>(case: Case, data: &Data<V>, values: &[V], counts: &[u64]) -> Result<String, String> {
    const U: f64 = 1.0 / 16_777_216.0;
    let Data { voltages, phases, gains } = data;
    let wide = |value: Complex<f32>| C64::new(value.re.into(), value.im.into());
    let slope = phases.mapv(|phase| phase.slope as i64 as f64 / 2f64.powi(64));
    let base = phases.mapv(|phase| phase.turns(0));
    let gains = gains.mapv(|gain| if case.gains { wide(gain) } else { C64::new(1.0, 0.0) });
    let exact = voltages.mapv(|value| wide(value.to_c32()));
    let exact = rotate_voltages(exact.view(), base.view(), slope.view(), gains.view(), case.first_channel);
    let limit = V::INTEGER.then(|| V::FORMAT.limit());
    let steps = if V::INTEGER { 31.0 } else { 15.0 };
    let (mut least, mut most, mut worst) = (vec![0; counts.len()], vec![0; counts.len()], 0f64);
    for ((channel, time, input), &value) in exact.indexed_iter() {
        let d = 2.0 * (std::f64::consts::PI * slope[(time, input)]).sin().abs();
        let number = case.first_channel + channel;
        // The bound that `RotateKernels` states, and the oracle's own sum of the phase.
        let factor = (9.0 + steps * (3.5 + 7.0 * d)) * U + 6.3 * number as f64 * f64::EPSILON;
        let bound = factor * gains[(channel, input)].norm() * wide(voltages[(channel, time, input)].to_c32()).norm();
        let added = match (case.dither, limit) {
            (Some(seed), Some(_)) => dither(seed, FIRST_SPECTRUM + time as u64, input as u32, number as u32),
            _ => C64::new(0.0, 0.0),
        };
        let value = value + added;
        let actual = wide(values[case.place::<V>(channel, time, input)].to_c32());
        if let Some(limit) = limit {
            least[input] += u64::from(saturates(value, limit + bound));
            most[input] += u64::from(saturates(value, limit - bound));
        }
        for (actual, value) in [(actual.re, value.re), (actual.im, value.im)] {
            let right = match limit {
                Some(limit) => {
                    [value - bound, value, value + bound].iter().any(|&v| quantise_value(v, limit) == actual)
                }
                None => {
                    // An f16 is rounded once more: 2^-11 of its size, 2^-25 of the least ones.
                    let half = V::FORMAT == SampleFormat::Float16;
                    let allowed = bound + if half { value.abs() / 2048.0 + 3e-8 } else { 0.0 };
                    worst = worst.max((actual - value).abs() / allowed.max(f64::MIN_POSITIVE));
                    (actual - value).abs() <= allowed
                }
            };
            if !right {
                let place = format!("channel {channel}, time {time}, input {input}");
                return Err(format!("{place}: {actual} for {value}, bound {bound:e}"));
            }
        }
    }
    let ranges = least.iter().zip(&most).map(|(&least, &most)| least..=most);
    if let Some(input) = counts.iter().zip(ranges).position(|(count, range)| limit.is_some() && !range.contains(count))
    {
        return Err(format!("input {input}: {} counted, {}..={} are", counts[input], least[input], most[input]));
    }
    if limit.is_some() { Ok("exact but for ties".into()) } else { Ok(format!("{worst:.2} of it at most")) }
}
