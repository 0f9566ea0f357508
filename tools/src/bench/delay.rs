//! Coarse shifts and fine rotations. Both are bound by bytes: every sample is read once and written once.

use fringes::FrameSample;
use fringes::delay::{ChannelPhase, Factors, RotateKernels, RotationLayout, ShiftKernels, ShiftShape};
use fringes::{Complex, Complex4, f16};
use fringes_gpu::{Buffer, Stream};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Bytes of the samples of a case, at most.
const BYTES: usize = 1 << 30;

/// Bits of a sample, and whether rows are any number of bytes apart.
const SHIFTS: [(u32, bool); 7] =
    [(8, false), (16, false), (32, false), (64, false), (10, false), (12, false), (10, true)];

/// Inputs that are shifted.
const SHIFTED: usize = 128;

/// Channels and inputs of the rotations; as many times as make a GiB.
const SHAPES: [[usize; 2]; 3] = [[1024, 128], [4096, 16], [512, 1024]];

/// Spectra of a heap.
const SPECTRA: usize = 256;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    let wanted = ["shift", "rotate", "rotate_heaps", "rotate_rows"].iter().any(|name| bench.wants(name));
    if !wanted || !bench.fits("delays", 2 * BYTES + (256 << 20))? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let bytes = Source::bytes(&stream)?.buffer(&bench.device, &stream, BYTES)?;
    let mut buffers = Buffers { host: bytes.to_vec(&stream)?, from: bytes, to: Buffer::alloc(&bench.device, BYTES)? };
    if bench.wants("shift") {
        for (bits, any) in SHIFTS {
            shift(bench, ceilings, &mut buffers, bits, any)?;
        }
    }
    rotations::<Complex4>(bench, ceilings, &mut buffers, "4 bits")?;
    rotations::<Complex<i8>>(bench, ceilings, &mut buffers, "8 bits")?;
    rotations::<Complex<f16>>(bench, ceilings, &mut buffers, "f16")?;
    // Random bytes are no samples of f32.
    let source = Source::floats(&stream)?;
    source.fill(&stream, &mut buffers.from.view_mut().cast::<f32>()?)?;
    buffers.host = buffers.from.to_vec(&stream)?;
    rotations::<Complex<f32>>(bench, ceilings, &mut buffers, "f32")
}

/// Random samples, the same on the host, and room for what becomes of them. Each case reads more than the L2 holds.
struct Buffers {
    from: Buffer<u8>,
    host: Vec<u8>,
    to: Buffer<u8>,
}

fn shift(bench: &mut Bench, ceilings: &Ceilings, buffers: &mut Buffers, bits: u32, any: bool) -> Result<(), End> {
    let stream = bench.stream.clone();
    let kernels = ShiftKernels::load(&bench.device).map_err(End::failed)?;
    // Rows of whole pieces of 16 bytes, or a byte less.
    let stride = BYTES / SHIFTED - usize::from(any);
    let times = 8 * stride / bits as usize;
    let shape = ShiftShape { to_stride: stride, from_stride: stride, ..ShiftShape::packed(bits, SHIFTED, times) };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(bits.into());
    let coarse: Vec<i64> = (0..SHIFTED).map(|_| random.random_range(-100_000..100_000)).collect();
    let delays = Buffer::from_slice(&stream, &coarse)?;
    let Buffers { from, host, to } = buffers;
    let mut work = |_| kernels.shift(&stream, shape, delays.view(), from.view(), &mut to.view_mut());
    work(0).map_err(End::failed)?;
    let timing = bench.time(work).map_err(End::failed)?;
    for (input, &coarse) in [(0, &coarse[0]), (SHIFTED - 1, &coarse[SHIFTED - 1])] {
        let (at, row) = (input * stride, (times * bits as usize).div_ceil(8));
        let samples = ndarray::ArrayView2::from_shape((1, row), &host[at..at + row]).map_err(End::failed)?;
        let expected = fringes_cpu::delay::coarse_shift_packed(samples, bits, times, &[coarse], times);
        if to.slice(at..at + row)?.to_vec(&stream)? != expected.row(0).to_vec() {
            return Err(End::failed(format!("shift of {bits} bits: input {input} is not {coarse} samples late")));
        }
    }
    let moved = 2.0 * (SHIFTED * times * bits as usize) as f64 / 8.0;
    bench.add(Measured {
        kernel: "shift",
        variant: format!("{bits} bits{}", if any { ", any rows" } else { "" }),
        params: params([("inputs", SHIFTED), ("times", times)]),
        timing,
        work: moved,
        unit: "GB/s",
        bound: Some(ceilings.bytes(moved)),
        check: "two inputs equal the CPU backend's, error 0".into(),
    });
    Ok(())
}

/// What is varied beside layouts.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Plain,
    InPlace,
    Dithered,
    NoGains,
    /// An odd number of inputs, sample by sample.
    Any,
}

fn rotations<V: FrameSample>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    buffers: &mut Buffers,
    format: &str,
) -> Result<(), End> {
    let kernels = RotateKernels::<V>::load(&bench.device).map_err(End::failed)?;
    for (index, shape) in SHAPES.into_iter().enumerate() {
        for name in ["rotate", "rotate_heaps", "rotate_rows"] {
            for variant in [Variant::Plain, Variant::InPlace, Variant::Dithered, Variant::NoGains, Variant::Any] {
                let useless = match variant {
                    Variant::Dithered => !V::INTEGER,
                    Variant::Any => name != "rotate",
                    _ => false,
                };
                if (index == 0 || variant == Variant::Plain) && !useless && bench.wants(name) {
                    rotation::<V>(bench, ceilings, &kernels, buffers, (name, format), shape, variant)?;
                }
            }
        }
    }
    Ok(())
}

fn rotation<V: FrameSample>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    kernels: &RotateKernels<V>,
    buffers: &mut Buffers,
    (name, format): (&'static str, &str),
    [channels, inputs]: [usize; 2],
    variant: Variant,
) -> Result<(), End> {
    let stream = bench.stream.clone();
    let inputs = if variant == Variant::Any { inputs - 1 } else { inputs };
    let times = BYTES / size_of::<V>() / channels / inputs / SPECTRA * SPECTRA;
    let layout = match name {
        "rotate" => RotationLayout::Voltages { channels, times, inputs },
        "rotate_heaps" => {
            let (batches, antennas) = (times / SPECTRA, inputs / 2);
            RotationLayout::Heaps { batches, antennas, channels, spectra: SPECTRA, pols: 2 }
        }
        _ => RotationLayout::Rows { channels, times, inputs },
    };
    let samples = layout.samples::<V>().map_err(End::failed)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let phases: Vec<ChannelPhase> = (0..times * inputs)
        .map(|_| ChannelPhase { base: random.random(), slope: (random.random::<i64>() >> 10) as u64 })
        .collect();
    // Random samples of all sizes are then within the limit.
    let gain = |place: usize| Complex::new(0.3 + 0.1 * (place % 3) as f32, 0.1);
    let gains: Vec<Complex<f32>> = (0..channels * inputs).map(gain).collect();
    let (on_device, of_inputs) = (Buffer::from_slice(&stream, &phases)?, Buffer::from_slice(&stream, &gains)?);
    let mut saturated = Buffer::<u64>::zeroed(&stream, inputs)?;
    // In place, gains would take the values away.
    let gained = !matches!(variant, Variant::NoGains | Variant::InPlace);
    let Buffers { from, host, to } = buffers;
    let bytes = samples * size_of::<V>();
    if variant == Variant::InPlace {
        to.slice_mut(..bytes)?.copy_from(&stream, from.slice(..bytes)?)?;
    }
    let launch = |saturated: &mut Buffer<u64>, to: &mut Buffer<u8>| {
        let factors = Factors {
            phases: on_device.view(),
            gains: gained.then(|| of_inputs.view()),
            first_channel: 0,
            dither: (variant == Variant::Dithered).then_some((1, 0)),
            saturated: saturated.view_mut(),
        };
        let mut target = to.slice_mut(..bytes)?.cast::<V>()?;
        if variant == Variant::InPlace {
            kernels.rotate_in_place(&stream, layout, factors, &mut target)
        } else {
            kernels.rotate(&stream, layout, factors, from.slice(..bytes)?.cast::<V>()?, &mut target)
        }
    };
    launch(&mut saturated, to).map_err(End::failed)?;
    let place = |channel: usize, time: usize, input: usize| match name {
        "rotate" => (channel * times + time) * inputs + input,
        "rotate_heaps" => {
            let heap = (time / SPECTRA * (inputs / 2) + input / 2) * channels + channel;
            (heap * SPECTRA + time % SPECTRA) * 2 + input % 2
        }
        _ => {
            let row = 128 / size_of::<V>();
            ((channel * times.div_ceil(row) + time / row) * inputs + input) * row + time % row
        }
    };
    let written = read(&stream, to, bytes)?;
    let mut checked = 0;
    for channel in [0, channels / 2, channels - 1] {
        for time in (0..times).step_by(times / 16) {
            for input in 0..inputs {
                let at = place(channel, time, input) * size_of::<V>();
                let sample = |bytes: &[u8]| bytemuck::pod_read_unaligned::<V>(&bytes[at..at + size_of::<V>()]).to_c32();
                let (x, actual) = (sample(host), sample(&written));
                if !x.is_finite() {
                    continue;
                }
                let turns = std::f64::consts::TAU * phases[time * inputs + input].turns(channel);
                let g = if gained { gains[channel * inputs + input] } else { Complex::new(1.0, 0.0) };
                let wide = |z: Complex<f32>| num_complex::Complex64::new(z.re.into(), z.im.into());
                let y = wide(g) * num_complex::Complex64::from_polar(1.0, turns) * wide(x);
                // Half a step and half of dither, or a rounding to the format.
                let limit = V::FORMAT.limit();
                let dither = if variant == Variant::Dithered { 0.5 } else { 0.0 };
                let half = if V::INTEGER { 0.505 + dither } else { 1e-3 * y.norm() + 1e-7 };
                let off = |a: f32, b: f64| (f64::from(a) - b.clamp(-limit, limit)).abs() > half;
                if y.norm() < 6e4 && (off(actual.re, y.re) || off(actual.im, y.im)) {
                    let what = format!("channel {channel}, time {time}, input {input}");
                    return Err(End::failed(format!("{name}, {format}: {what}: {actual} for {y}")));
                }
                checked += 1;
            }
        }
    }
    let timing = bench.time(|_| launch(&mut saturated, to)).map_err(End::failed)?;
    let factors = 16 * phases.len() + if gained { 8 * gains.len() } else { 0 };
    let moved = (2 * bytes + factors) as f64;
    let suffix = match variant {
        Variant::Plain => "",
        Variant::InPlace => ", in place",
        Variant::Dithered => ", dithered",
        Variant::NoGains => ", no gains",
        Variant::Any => ", any inputs",
    };
    bench.add(Measured {
        kernel: name,
        variant: format!("{format}{suffix}"),
        params: params([("channels", channels), ("inputs", inputs), ("times", times)]),
        timing,
        work: moved,
        unit: "GB/s",
        bound: Some(ceilings.bytes(moved)),
        check: format!("{checked} values are those of f64, to half a step or 1e-3"),
    });
    Ok(())
}

fn read(stream: &Stream, buffer: &Buffer<u8>, bytes: usize) -> Result<Vec<u8>, End> {
    Ok(buffer.slice(..bytes)?.to_vec(stream)?)
}
