//! What stands around the correlation kernels: every layout into rows, and parts of sums into every order. Both are
//! bound by bytes.

use bytemuck::Pod;
use fringes::correlator::kernels::{Clamp, PackKernels, ReduceKernels, Reduction};
use fringes::correlator::layout::{HeapShape, Nibbles, TccShape, VoltageShape, row_bytes, row_times, run_times};
use fringes::{BaselineOrder, Complex, Complex4, Inputs, VoltageSample, f16};
use fringes_gpu::{Buffer, Stream};

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Channels and inputs of the layouts' cases; as many times as make a GiB.
const SHAPES: [[usize; 2]; 3] = [[128, 1024], [1024, 128], [512, 160]];

/// Bytes of the voltages of a case, at most.
const BYTES: usize = 1 << 30;

/// Spectra of a heap.
const SPECTRA: usize = 256;

/// Antennas of two polarisations, channels and parts of the sums.
const SUMS: [[usize; 3]; 3] = [[80, 4096, 2], [80, 4096, 4], [512, 128, 2]];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if ["pack", "pack_xgpu", "pack_heaps", "pack_tcc"].iter().any(|name| bench.wants(name)) {
        layouts(bench, ceilings)?;
    }
    if ["reduce", "clamp", "reorder", "add_parts"].iter().any(|name| bench.wants(name)) {
        for [antennas, channels, parts] in SUMS {
            let inputs = Inputs::new(antennas, 2).map_err(End::failed)?;
            for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full] {
                sums(bench, ceilings, Reduction { channels, inputs, parts, order })?;
            }
        }
    }
    Ok(())
}

/// A layout, as a case of this program.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Voltages,
    Xgpu,
    Heaps,
    Tcc,
}

impl Layout {
    fn name(self) -> &'static str {
        ["pack", "pack_xgpu", "pack_heaps", "pack_tcc"][self as usize]
    }
}

fn layouts(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.fits("layouts of voltages", 2 * BYTES + (64 << 20))? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let kernels = PackKernels::load(&bench.device).map_err(End::failed)?;
    let mut buffers = Buffers {
        samples: Source::bytes(&stream)?.buffer(&bench.device, &stream, BYTES)?,
        host: Vec::new(),
        rows: Buffer::alloc(&bench.device, BYTES + (32 << 20))?,
    };
    buffers.host = buffers.samples.to_vec(&stream)?;
    for shape in SHAPES {
        for layout in [Layout::Voltages, Layout::Xgpu, Layout::Heaps, Layout::Tcc] {
            for flagged in [false, true] {
                // Runs with flags are packed sample by sample.
                if flagged && (layout == Layout::Tcc || shape != SHAPES[0]) {
                    continue;
                }
                let case = Case { layout, shape, flagged };
                case.run::<Complex4>(bench, ceilings, &kernels, &mut buffers, "4 bits")?;
                case.run::<Complex<i8>>(bench, ceilings, &kernels, &mut buffers, "8 bits")?;
                case.run::<Complex<f16>>(bench, ceilings, &kernels, &mut buffers, "f16")?;
                case.run::<Complex<f32>>(bench, ceilings, &kernels, &mut buffers, "f32")?;
            }
        }
    }
    // No inputs fill pieces of 16 bytes.
    for layout in [Layout::Voltages, Layout::Xgpu] {
        let case = Case { layout, shape: [256, 131], flagged: false };
        case.run::<Complex4>(bench, ceilings, &kernels, &mut buffers, "4 bits, any inputs")?;
        case.run::<Complex<i8>>(bench, ceilings, &kernels, &mut buffers, "8 bits, any inputs")?;
        case.run::<Complex<f16>>(bench, ceilings, &kernels, &mut buffers, "f16, any inputs")?;
        case.run::<Complex<f32>>(bench, ceilings, &kernels, &mut buffers, "f32, any inputs")?;
    }
    Ok(())
}

/// Random samples, the same on the host, and room for the rows. Each case reads more than the L2 holds.
struct Buffers {
    samples: Buffer<u8>,
    host: Vec<u8>,
    rows: Buffer<u8>,
}

#[derive(Clone, Copy)]
struct Case {
    layout: Layout,
    shape: [usize; 2],
    flagged: bool,
}

impl Case {
    fn run<V: VoltageSample>(
        self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        kernels: &PackKernels,
        buffers: &mut Buffers,
        format: &str,
    ) -> Result<(), End> {
        let Self { layout, shape: [channels, inputs], flagged } = self;
        if !bench.wants(layout.name()) {
            return Ok(());
        }
        let times = BYTES / size_of::<V>() / channels / inputs / SPECTRA * SPECTRA;
        let bytes = channels * times * inputs * size_of::<V>();
        let stream = bench.stream.clone();
        // Every seventh flag is zero.
        let heaps = layout == Layout::Heaps;
        let count = if heaps { times / SPECTRA * inputs / 2 } else { times * inputs };
        let flags: Vec<u8> = (0..count).map(|i| u8::from(i % 7 != 0)).collect();
        let on_device = Buffer::from_slice(&stream, &flags)?;
        let Buffers { samples, host, rows } = buffers;
        let length = row_bytes::<V>(channels, times, inputs).map_err(End::failed)?;
        rows.fill(&stream, 0x5a)?;
        let mut work = |_| {
            let (source, present) = (samples.slice(..bytes)?.cast::<V>()?, flagged.then(|| on_device.view()));
            let rows = &mut rows.slice_mut(..length)?;
            let shape = VoltageShape { channels, times, inputs };
            match layout {
                Layout::Voltages => kernels.pack(&stream, shape, 0..times, source, present, rows),
                Layout::Xgpu => kernels.pack_xgpu(&stream, shape, 0..times, source, present, rows),
                Layout::Heaps => {
                    let (batches, antennas) = (times / SPECTRA, inputs / 2);
                    let shape = HeapShape { batches, antennas, channels, spectra: SPECTRA, pols: 2 };
                    kernels.pack_heaps(&stream, shape, 0..times, source, present, rows)
                }
                Layout::Tcc => {
                    let shape = TccShape { channels, times, antennas: inputs / 2, pols: 2, nibbles: Nibbles::RealHigh };
                    kernels.pack_tcc(&stream, shape, 0..times, source, present, rows)
                }
            }
        };
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let check = self.check::<V>(&stream, times, &host[..bytes], &flags, rows)?;
        let moved = (bytes + length + if flagged { count } else { 0 }) as f64;
        bench.add(Measured {
            kernel: layout.name(),
            variant: format!("{format}{}", if flagged { ", presence flags" } else { "" }),
            params: params([("channels", channels), ("inputs", inputs), ("times", times)]),
            timing,
            work: moved,
            unit: "GB/s",
            bound: Some(ceilings.bytes(moved)),
            check,
        });
        Ok(())
    }

    /// Compares the rows of the first and the last channel with their definition.
    fn check<V: VoltageSample>(
        self,
        stream: &Stream,
        times: usize,
        samples: &[u8],
        flags: &[u8],
        rows: &Buffer<u8>,
    ) -> Result<String, End> {
        let [channels, inputs] = self.shape;
        let (bytes, row) = (size_of::<V>(), row_times::<V>());
        let of_channel = times.div_ceil(row) * inputs * 128;
        for channel in [0, channels - 1] {
            let rows = rows.slice(channel * of_channel..(channel + 1) * of_channel)?.to_vec(stream)?;
            for time in 0..times {
                for input in 0..inputs {
                    let (place, flag) = self.place::<V>(times, channel, time, input);
                    let sample = &samples[place * bytes..(place + 1) * bytes];
                    let to = (time / row * inputs + input) * 128 + time % row * bytes;
                    let actual = &rows[to..to + bytes];
                    let here = !self.flagged || flags[flag] != 0;
                    if if here { actual != sample } else { actual.iter().any(|&byte| byte != 0) } {
                        let what = format!("channel {channel}, time {time}, input {input}");
                        return Err(End::failed(format!(
                            "{} of {}: {what}: {actual:?}",
                            self.layout.name(),
                            V::FORMAT
                        )));
                    }
                }
            }
        }
        Ok(format!("{} samples lie where they belong, error 0", 2 * times * inputs))
    }

    /// Where the layout has a sample, and its flag.
    fn place<V: VoltageSample>(self, times: usize, channel: usize, time: usize, input: usize) -> (usize, usize) {
        let [channels, inputs] = self.shape;
        let each = time * inputs + input;
        match self.layout {
            Layout::Voltages => ((channel * times + time) * inputs + input, each),
            Layout::Xgpu => ((time * channels + channel) * inputs + input, each),
            Layout::Heaps => {
                let heap = time / SPECTRA * (inputs / 2) + input / 2;
                (((heap * channels + channel) * SPECTRA + time % SPECTRA) * 2 + input % 2, heap)
            }
            Layout::Tcc => {
                let k = run_times::<V>();
                (((channel * (times / k) + time / k) * inputs + input) * k + time % k, each)
            }
        }
    }
}

/// The reductions of i64 sums, and what there is for i32.
fn sums(bench: &mut Bench, ceilings: &Ceilings, reduction: Reduction) -> Result<(), End> {
    let stream = bench.stream.clone();
    let kernels = ReduceKernels::load(&bench.device).map_err(End::failed)?;
    let (count, out) = (reduction.sums().map_err(End::failed)?, reduction.visibilities().map_err(End::failed)?);
    let Reduction { channels, inputs, parts, order } = reduction;
    if !bench.fits("sums", 16 * (count + out))? {
        return Ok(());
    }
    // Random in all bits: most are clamped.
    let sums = Source::bytes(&stream)?.buffer(&bench.device, &stream, 16 * count)?;
    let sums = sums.view().cast::<Complex<i64>>()?;
    let narrow = sums.cast::<Complex<i32>>()?;
    let mut target = Buffer::<u8>::alloc(&bench.device, 16 * out)?;
    let mut counter = Buffer::<u64>::zeroed(&stream, 1)?;
    let sizes = || params([("channels", channels), ("inputs", inputs.len()), ("parts", parts)]);
    let add = |bench: &mut Bench, kernel, variant, moved: usize, timing, check| {
        let (work, bound) = (moved as f64, Some(ceilings.bytes(moved as f64)));
        bench.add(Measured { kernel, variant, params: sizes(), timing, work, unit: "GB/s", bound, check });
    };
    if bench.wants("reduce") {
        target.fill(&stream, 0x5a)?;
        let mut work = |_| kernels.reduce(&stream, reduction, sums, &mut target.view_mut().cast()?);
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let check = check(&stream, reduction, sums, target.view().cast()?, |sum| sum, |value| value.conj())?;
        add(bench, "reduce", format!("i64, {}", order.name()), 16 * (count + out), timing, check);
    }
    if bench.wants("clamp") {
        target.fill(&stream, 0x5a)?;
        let mut work = |_| {
            let clamp = Clamp { missing: None, saturated: counter.view_mut() };
            kernels.clamp(&stream, reduction, sums, &mut target.slice_mut(..8 * out)?.cast()?, clamp)
        };
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let fit = |part: i64| part.clamp(-i64::from(i32::MAX), i32::MAX.into()) as i32;
        let fit = |sum: Complex<i64>| Complex::new(fit(sum.re), fit(sum.im));
        let check = check(&stream, reduction, sums, target.slice(..8 * out)?.cast()?, fit, |value| value.conj())?;
        add(bench, "clamp", format!("i64 to i32, {}", order.name()), 16 * count + 8 * out, timing, check);
    }
    let one = Reduction { parts: 1, ..reduction };
    let of_part = count / parts;
    if bench.wants("reorder") && parts == 2 && order != BaselineOrder::Triangle {
        target.fill(&stream, 0x5a)?;
        let triangle = narrow.slice(..of_part)?;
        let mut work = |_| kernels.reorder(&stream, one, triangle, &mut target.slice_mut(..8 * out)?.cast()?);
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let turned = |value: Complex<i32>| Complex::new(value.re, value.im.wrapping_neg());
        let wide = |value: Complex<i32>| value;
        let check = check(&stream, one, triangle, target.slice(..8 * out)?.cast()?, wide, turned)?;
        add(bench, "reorder", format!("i32, {}", order.name()), 8 * (of_part + out), timing, check);
    }
    if bench.wants("add_parts") && order == BaselineOrder::Triangle {
        target.fill(&stream, 0)?;
        let mut work =
            |_| kernels.add_parts(&stream, reduction, narrow.slice(..count)?, &mut target.view_mut().cast()?);
        work(0).map_err(End::failed)?;
        let place = of_part - 1;
        let mut expected = Complex::new(0i64, 0);
        for part in 0..parts {
            let at = part * of_part + place;
            let value = narrow.slice(at..=at)?.to_vec(&stream)?[0];
            expected += Complex::new(i64::from(value.re), i64::from(value.im));
        }
        let wide = target.view().cast::<Complex<i64>>()?;
        if wide.slice(place..=place)?.to_vec(&stream)? != [expected] {
            return Err(End::failed(format!("add_parts: the last sum is not {expected}")));
        }
        let mut work =
            |_| kernels.add_parts(&stream, reduction, narrow.slice(..count)?, &mut target.view_mut().cast()?);
        let timing = bench.time(&mut work).map_err(End::failed)?;
        let check = "the last sum equals that in i64, all of them by validate".into();
        add(bench, "add_parts", "i32 to i64".into(), 8 * count + 32 * of_part, timing, check);
    }
    Ok(())
}

/// Compares the first and the last channel of what came out with sums in plain loops.
fn check<T: Pod + Addable, U: Pod + PartialEq + std::fmt::Debug>(
    stream: &Stream,
    reduction: Reduction,
    sums: fringes_gpu::BufferView<'_, T>,
    out: fringes_gpu::BufferView<'_, U>,
    form: impl Fn(T) -> U,
    conj: impl Fn(U) -> U,
) -> Result<String, End> {
    let Reduction { channels, inputs, parts, order } = reduction;
    let (baselines, positions) = (inputs.triangle_len(), order.len(inputs));
    for channel in [0, channels - 1] {
        let mut total: Vec<T> = vec![T::zeroed(); baselines];
        for part in 0..parts {
            let start = (part * channels + channel) * baselines;
            let values = sums.slice(start..start + baselines)?.to_vec(stream)?;
            total.iter_mut().zip(values).for_each(|(total, value)| *total = total.plus(value));
        }
        let out = out.slice(channel * positions..(channel + 1) * positions)?.to_vec(stream)?;
        for (position, actual) in out.into_iter().enumerate() {
            let Some(product) = order.product(inputs, position) else { continue };
            let (source, conjugated) = product.triangle();
            let value = form(total[source]);
            let expected = if conjugated { conj(value) } else { value };
            if actual != expected {
                let what = format!("channel {channel}, position {position} of {}", order.name());
                return Err(End::failed(format!("sums: {what}: expected {expected:?}, got {actual:?}")));
            }
        }
    }
    Ok(format!("{} visibilities equal sums in plain loops, error 0", 2 * positions))
}

/// Sums that wrap as the kernels' do.
trait Addable {
    fn plus(self, other: Self) -> Self;
}

impl Addable for Complex<i64> {
    fn plus(self, other: Self) -> Self {
        Complex::new(self.re.wrapping_add(other.re), self.im.wrapping_add(other.im))
    }
}

impl Addable for Complex<i32> {
    fn plus(self, other: Self) -> Self {
        Complex::new(self.re.wrapping_add(other.re), self.im.wrapping_add(other.im))
    }
}
