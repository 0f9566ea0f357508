//! The pack kernels of every layout and format, and the reductions into every order, at ordinary and awkward sizes.
//!
//! Rows are compared with those of the reference, reductions with sums in plain loops. Every output is poisoned before,
//! and must be poisoned still behind its end.

use bytemuck::Pod;
use fringes::correlator::MISSING_MARK;
use fringes::correlator::kernels::{Clamp, DeviceSum, NarrowSum, PackKernels, ReduceKernels, Reduction};
use fringes::correlator::layout::{HeapShape, Nibbles, TccShape, VoltageShape, row_bytes, row_times, run_times};
use fringes::{BaselineOrder, Complex, Complex4, Inputs, VoltageSample, f16};
use fringes_gpu::{Buffer, KernelElement};
use fringes_reference::pack as reference;
use ndarray::{Array2, Array3, Array4, Array5, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::{Params, params};
use crate::validate::session::{Outcome, Session, compare};

/// Names of the cases.
pub(crate) const NAMES: [&str; 8] =
    ["pack", "pack_xgpu", "pack_heaps", "pack_tcc", "reduce", "clamp", "reorder", "add_parts"];

/// Channels, batches, spectra of a batch, antennas, polarisations; times left out at the beginning and at the end.
type Size = ([usize; 5], [usize; 2]);

/// Whole rows; whole pieces with a tail; nothing whole.
const QUICK: [Size; 4] =
    [([2, 2, 128, 8, 2], [0, 0]), ([3, 3, 48, 16, 2], [32, 5]), ([2, 5, 7, 13, 1], [3, 2]), ([1, 1, 1, 1, 1], [0, 0])];

const SIZES: [Size; 6] = [
    ([4, 3, 256, 80, 2], [0, 0]),
    ([17, 2, 48, 12, 2], [16, 3]),
    ([1, 1, 129, 1, 1], [0, 0]),
    ([1, 1, 4096, 64, 2], [32, 1]),
    ([5, 4, 33, 65, 2], [1, 1]),
    ([70_000, 1, 3, 1, 2], [0, 1]),
];

/// Antennas, polarisations, channels and parts of quick runs.
const QUICK_SUMS: [[usize; 4]; 3] = [[1, 1, 1, 1], [3, 2, 2, 2], [17, 2, 3, 4]];

const SUMS: [[usize; 4]; 5] = [[80, 2, 64, 4], [33, 2, 5, 2], [301, 1, 3, 3], [512, 2, 2, 2], [1, 2, 70_000, 2]];

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !NAMES.iter().any(|name| session.wants(name)) {
        return Ok(());
    }
    let pack = PackKernels::load(&session.device).map_err(End::failed)?;
    let sizes: &[Size] = if session.quick { &[] } else { &SIZES };
    for size in QUICK.iter().chain(sizes) {
        layouts::<Complex4>(session, &pack, "4 bits", *size)?;
        layouts::<Complex<i8>>(session, &pack, "8 bits", *size)?;
        layouts::<Complex<f16>>(session, &pack, "f16", *size)?;
        layouts::<Complex<f32>>(session, &pack, "f32", *size)?;
    }
    let reduce = ReduceKernels::load(&session.device).map_err(End::failed)?;
    let sizes: &[[usize; 4]] = if session.quick { &[] } else { &SUMS };
    for [antennas, pols, channels, parts] in QUICK_SUMS.iter().chain(sizes).copied() {
        let inputs = Inputs::new(antennas, pols).map_err(End::failed)?;
        for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full] {
            if order.check(inputs).is_ok() {
                sums(session, &reduce, Reduction { channels, inputs, parts, order })?;
            }
        }
    }
    Ok(())
}

/// A layout of voltages on the device, and the host's view of it.
#[derive(Clone, Copy)]
enum Layout {
    Voltages,
    Xgpu,
    Heaps,
    Tcc,
}

impl Layout {
    const ALL: [Self; 4] = [Self::Voltages, Self::Xgpu, Self::Heaps, Self::Tcc];

    fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// All layouts of a format, present and flagged; and at an address that no wide load can have.
fn layouts<V: VoltageSample + Default>(
    session: &mut Session,
    kernels: &PackKernels,
    format: &str,
    size: Size,
) -> Result<(), End> {
    for layout in Layout::ALL {
        for (flagged, shift) in [(false, 0), (true, 0), (false, 1)] {
            if shift == 1 && size != QUICK[0] {
                continue;
            }
            let variant = match (flagged, shift) {
                (true, _) => format!("{format}, presence flags"),
                (false, 0) => format.to_string(),
                (false, _) => format!("{format}, unaligned"),
            };
            pack::<V>(session, kernels, (layout, variant), size, flagged, shift)?;
        }
    }
    Ok(())
}

/// Samples of any bits, in the layout, and the voltages that they are.
fn samples<V: VoltageSample>(
    layout: Layout,
    [channels, batches, spectra, antennas, pols]: [usize; 5],
) -> (Vec<V>, Array3<V>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(spectra as u64);
    let mut next = || bytemuck::pod_read_unaligned::<V>(&random.random::<[u8; 8]>()[..size_of::<V>()]);
    let (times, inputs) = (batches * spectra, antennas * pols);
    match layout {
        Layout::Voltages => {
            let voltages = Array3::from_shape_simple_fn((channels, times, inputs), next);
            (voltages.iter().copied().collect(), voltages)
        }
        Layout::Xgpu => {
            let spectra = Array4::from_shape_simple_fn((times, channels, antennas, pols), next);
            (spectra.iter().copied().collect(), reference::voltages_of_spectra(spectra.view()))
        }
        Layout::Heaps => {
            let heaps = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), next);
            (heaps.iter().copied().collect(), reference::voltages_of_heaps(heaps.view()))
        }
        Layout::Tcc => {
            let k = run_times::<V>();
            let runs = Array5::from_shape_simple_fn((channels, times.div_ceil(k), antennas, pols, k), &mut next);
            (runs.iter().copied().collect(), reference::voltages_of_runs(runs.view(), times))
        }
    }
}

fn pack<V: VoltageSample + Default>(
    session: &mut Session,
    kernels: &PackKernels,
    (layout, variant): (Layout, String),
    (sizes, cut): Size,
    flagged: bool,
    shift: usize,
) -> Result<(), End> {
    let [channels, batches, spectra, antennas, pols] = sizes;
    let (times, inputs) = (batches * spectra, antennas * pols);
    let range = cut[0]..times - cut[1];
    let named = params([("channels", channels), ("inputs", inputs), ("spectra", spectra), ("times", range.len())]);
    session.case(layout.name(), variant, named, |session| {
        let stream = &session.stream;
        let (mut host, voltages) = samples::<V>(layout, sizes);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let heaps = matches!(layout, Layout::Heaps);
        let shape = if heaps { (batches, antennas) } else { (times, inputs) };
        let present = Array2::from_shape_simple_fn(shape, || random.random_bool(0.7));
        let each = if heaps { reference::presence_of_heaps(present.view(), spectra, pols) } else { present.clone() };
        let each = flagged.then(|| each.slice(s![range.clone(), ..]));
        let of_range = voltages.slice(s![.., range.clone(), ..]);
        let rows = reference::rows(of_range, each, row_times::<V>());
        let mut expected = rows.as_slice().map_or_else(Vec::new, |rows| bytemuck::cast_slice::<V, u8>(rows).to_vec());

        let moved = (of_range.len() + rows.len()) * size_of::<V>();
        host.splice(0..0, vec![V::zeroed(); shift]);
        let host = Buffer::from_slice(stream, &host)?;
        let flags: Vec<u8> = present.iter().map(|&flag| u8::from(flag)).collect();
        let flags = Buffer::from_slice(stream, &flags)?;
        let length = row_bytes::<V>(channels, range.len(), inputs)?;
        let mut rows = Buffer::<u8>::alloc(&session.device, length + 256)?;
        rows.fill(stream, 0x5a)?;
        let time_ms = session.time(|| {
            let (source, present, rows) = (host.slice(shift..)?, flagged.then(|| flags.view()), &mut rows.view_mut());
            let (range, shape) = (range.clone(), VoltageShape { channels, times, inputs });
            match layout {
                Layout::Voltages => kernels.pack(stream, shape, range, source, present, rows),
                Layout::Xgpu => kernels.pack_xgpu(stream, shape, range, source, present, rows),
                Layout::Heaps => {
                    let shape = HeapShape { batches, antennas, channels, spectra, pols };
                    kernels.pack_heaps(stream, shape, range, source, present, rows)
                }
                Layout::Tcc => {
                    let shape = TccShape { channels, times, antennas, pols, nibbles: Nibbles::RealHigh };
                    kernels.pack_tcc(stream, shape, range, source, present, rows)
                }
            }
        })?;
        expected.resize(length + 256, 0x5a);
        Ok(Outcome {
            time_ms,
            value: moved as f64 / time_ms / 1e6,
            unit: "GB/s",
            against: "fringes_reference::pack, and poison beyond the rows' end",
            verdict: compare(&expected, &rows.to_vec(stream)?),
        })
    })
}

/// The reductions into one order.
fn sums(session: &mut Session, kernels: &ReduceKernels, reduction: Reduction) -> Result<(), End> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(reduction.inputs.len() as u64);
    let order = reduction.order.name();
    reduce::<i64, i64>(
        session,
        kernels,
        reduction,
        "i64",
        || random.random::<i64>() >> 3,
        i64::wrapping_add,
        i64::wrapping_neg,
    )?;
    reduce::<i32, i64>(session, kernels, reduction, "i32", || random.random(), i64::wrapping_add, i64::wrapping_neg)?;
    let number = || random.random_range(-1e9..1e9);
    reduce::<f64, f64>(session, kernels, reduction, "f64", number, |a, b| a + b, |a| -a)?;
    for flagged in [false, true] {
        const LIMIT: i64 = i32::MAX as i64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        let value = || match random.random_range(0..4) {
            0 => random.random_range(-1..=1) + [LIMIT, -LIMIT][random.random_range(0..2)] / reduction.parts as i64,
            1 => random.random_range(-(1i64 << 50)..1 << 50),
            _ => random.random_range(-1000..1000),
        };
        clamp::<i64>(session, kernels, reduction, ("i64", flagged), value)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let value = || match random.random_range(0..4) {
            0 => [i32::MAX, i32::MIN][random.random_range(0..2)],
            1 => random.random(),
            _ => random.random_range(-1000..1000),
        };
        clamp::<i32>(session, kernels, reduction, ("i32", flagged), value)?;
    }
    reorder::<i32>(session, kernels, reduction, format!("i32, {order}"), || random.random(), i32::wrapping_neg)?;
    reorder::<f32>(session, kernels, reduction, format!("f32, {order}"), || random.random_range(-1.0..1.0), |a| -a)?;
    if reduction.order == BaselineOrder::Triangle {
        let wide = |value: i32, sum: i64| sum.wrapping_add(value.into());
        add::<i32>(session, kernels, reduction, "i32", || random.random(), || 1 << 40, wide)?;
        let wide = |value: f32, sum: f64| sum + f64::from(value);
        add::<f32>(session, kernels, reduction, "f32", || random.random_range(-1.0..1.0), || 0.125, wide)?;
    }
    Ok(())
}

fn sizes(reduction: Reduction) -> Params {
    let Reduction { channels, inputs, parts, .. } = reduction;
    params([("channels", channels), ("inputs", inputs.len()), ("parts", parts)])
}

/// Positions of a channel: place in the triangle and whether the value is the conjugate.
fn sources(reduction: Reduction) -> Vec<(usize, bool)> {
    let Reduction { inputs, order, .. } = reduction;
    let products = (0..order.len(inputs)).filter_map(|position| order.product(inputs, position));
    products.map(|product| product.triangle()).collect()
}

/// What a reduction gives, from the sum over the parts at each place `[channel][baseline]`.
fn ordered<T: Copy>(
    reduction: Reduction,
    sum: impl Fn(usize) -> Complex<T>,
    minus: impl Fn(T) -> T,
) -> Vec<Complex<T>> {
    let (sources, baselines) = (sources(reduction), reduction.inputs.triangle_len());
    let of_channel =
        |channel: usize| sources.iter().map(move |&(source, conjugated)| (channel * baselines + source, conjugated));
    (0..reduction.channels)
        .flat_map(of_channel)
        .map(|(place, conjugated)| {
            let Complex { re, im } = sum(place);
            Complex::new(re, if conjugated { minus(im) } else { im })
        })
        .collect()
}

/// A buffer of poison, one element longer than is needed.
fn poisoned<T: Pod>(session: &Session, length: usize) -> Result<Buffer<T>, Box<dyn std::error::Error>> {
    let mut buffer = Buffer::<T>::alloc(&session.device, length + 1)?;
    buffer.view_mut().cast::<u8>()?.fill(&session.stream, 0x5a)?;
    Ok(buffer)
}

/// The outcome of a reduction: the bits that came, and the poison behind them.
fn outcome<T: Pod>(
    session: &Session,
    moved: usize,
    time_ms: f64,
    mut expected: Vec<T>,
    out: &Buffer<T>,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    expected.push(bytemuck::pod_read_unaligned(&[0x5a; 16][..size_of::<T>()]));
    let actual = out.to_vec(&session.stream)?;
    let words = |values: &[T]| bytemuck::cast_slice::<T, u8>(values).as_chunks::<8>().0.to_vec();
    Ok(Outcome {
        time_ms,
        value: moved as f64 / time_ms / 1e6,
        unit: "GB/s",
        against: "sums in plain loops, and poison beyond the end",
        verdict: compare(&words(&expected), &words(&actual)),
    })
}

fn reduce<T: DeviceSum<Wide = W> + Into<W>, W: Default + Copy + PartialEq + std::fmt::Debug + Send + Sync>(
    session: &mut Session,
    kernels: &ReduceKernels,
    reduction: Reduction,
    name: &str,
    mut value: impl FnMut() -> T,
    plus: impl Fn(W, W) -> W,
    minus: impl Fn(W) -> W,
) -> Result<(), End>
where
    Complex<T>: Pod,
    [T; 2]: KernelElement + Pod,
    Complex<W>: Pod,
    [W; 2]: KernelElement + Pod,
{
    session.case("reduce", format!("{name}, {}", reduction.order.name()), sizes(reduction), |session| {
        let stream = &session.stream;
        let values: Vec<Complex<T>> = (0..reduction.sums()?).map(|_| Complex::new(value(), value())).collect();
        let of_part = values.len() / reduction.parts;
        let sum = |place: usize| {
            let parts = (0..reduction.parts).map(|part| values[part * of_part + place]);
            let add = |sum: W, value: T| plus(sum, value.into());
            parts.fold(Complex::default(), |sum, value| Complex::new(add(sum.re, value.re), add(sum.im, value.im)))
        };
        let expected = ordered(reduction, sum, &minus);
        let parts = Buffer::from_slice(stream, &values)?;
        let mut out = poisoned::<Complex<W>>(session, expected.len())?;
        let time_ms = session.time(|| kernels.reduce(stream, reduction, parts.view(), &mut out.view_mut()))?;
        let moved = size_of::<Complex<T>>() * values.len() + 16 * expected.len();
        outcome(session, moved, time_ms, expected, &out)
    })
}

fn clamp<T: DeviceSum<Wide = i64> + Into<i64>>(
    session: &mut Session,
    kernels: &ReduceKernels,
    reduction: Reduction,
    (name, flagged): (&str, bool),
    mut value: impl FnMut() -> T,
) -> Result<(), End>
where
    Complex<T>: Pod,
    [T; 2]: KernelElement + Pod,
{
    let flags = if flagged { ", marks" } else { "" };
    session.case("clamp", format!("{name} to i32, {}{flags}", reduction.order.name()), sizes(reduction), |session| {
        const LIMIT: i64 = i32::MAX as i64;
        let stream = &session.stream;
        let values: Vec<Complex<T>> = (0..reduction.sums()?).map(|_| Complex::new(value(), value())).collect();
        let baselines = reduction.inputs.triangle_len();
        let missing: Vec<u8> = (0..baselines).map(|baseline| u8::from(baseline % 3 == 1) * 7).collect();
        let of_part = values.len() / reduction.parts;
        let wide = |value: Complex<T>| Complex::<i64>::new(value.re.into(), value.im.into());
        let sum =
            |place: usize| (0..reduction.parts).map(|part| wide(values[part * of_part + place])).sum::<Complex<i64>>();
        let (sources, mut saturated) = (sources(reduction), 0u64);
        let mut expected = Vec::with_capacity(reduction.visibilities()?);
        for channel in 0..reduction.channels {
            for &(source, conjugated) in &sources {
                if flagged && missing[source] != 0 {
                    expected.push(MISSING_MARK);
                    continue;
                }
                let sum = sum(channel * baselines + source);
                let fitting = Complex::new(sum.re.clamp(-LIMIT, LIMIT), sum.im.clamp(-LIMIT, LIMIT));
                saturated += u64::from(fitting != sum);
                let im = if conjugated { -fitting.im } else { fitting.im };
                expected.push(Complex::new(fitting.re as i32, im as i32));
            }
        }
        let parts = Buffer::from_slice(stream, &values)?;
        let on_device = Buffer::from_slice(stream, &missing)?;
        let mut counter = Buffer::from_slice(stream, &[1_000_000_000_000u64])?;
        let mut out = poisoned::<Complex<i32>>(session, expected.len())?;
        let mut run = || {
            let missing = flagged.then(|| on_device.view());
            let clamp = Clamp { missing, saturated: counter.view_mut() };
            kernels.clamp(stream, reduction, parts.view(), &mut out.view_mut(), clamp)
        };
        run()?;
        let first = counter_of(stream, &counter)? - 1_000_000_000_000;
        let time_ms = session.time(|| {
            let missing = flagged.then(|| on_device.view());
            let clamp = Clamp { missing, saturated: counter.view_mut() };
            kernels.clamp(stream, reduction, parts.view(), &mut out.view_mut(), clamp)
        })?;
        let moved = 16 * values.len() + 8 * expected.len();
        let mut outcome = outcome(session, moved, time_ms, expected, &out)?;
        if first != saturated {
            outcome.verdict = Err(format!("expected {saturated} saturated visibilities, counted {first}"));
        }
        Ok(outcome)
    })
}

fn counter_of(stream: &fringes_gpu::Stream, counter: &Buffer<u64>) -> Result<u64, fringes_gpu::GpuError> {
    Ok(counter.to_vec(stream)?[0])
}

fn reorder<T: NarrowSum + Default>(
    session: &mut Session,
    kernels: &ReduceKernels,
    reduction: Reduction,
    variant: String,
    mut value: impl FnMut() -> T,
    minus: impl Fn(T) -> T,
) -> Result<(), End>
where
    Complex<T>: Pod,
    [T; 2]: KernelElement + Pod,
{
    let reduction = Reduction { parts: 1, ..reduction };
    session.case("reorder", variant, sizes(reduction), |session| {
        let stream = &session.stream;
        let values: Vec<Complex<T>> = (0..reduction.sums()?).map(|_| Complex::new(value(), value())).collect();
        let expected = ordered(reduction, |place| values[place], &minus);
        let triangle = Buffer::from_slice(stream, &values)?;
        let mut out = poisoned::<Complex<T>>(session, expected.len())?;
        let time_ms = session.time(|| kernels.reorder(stream, reduction, triangle.view(), &mut out.view_mut()))?;
        let moved = 8 * (values.len() + expected.len());
        outcome(session, moved, time_ms, expected, &out)
    })
}

fn add<T: NarrowSum>(
    session: &mut Session,
    kernels: &ReduceKernels,
    reduction: Reduction,
    variant: &str,
    mut value: impl FnMut() -> T,
    initial: impl Fn() -> T::Wide,
    plus: impl Fn(T, T::Wide) -> T::Wide,
) -> Result<(), End>
where
    Complex<T>: Pod,
    [T; 2]: KernelElement + Pod,
    Complex<T::Wide>: Pod,
    [T::Wide; 2]: KernelElement + Pod,
{
    session.case("add_parts", variant, sizes(reduction), |session| {
        let stream = &session.stream;
        let values: Vec<Complex<T>> = (0..reduction.sums()?).map(|_| Complex::new(value(), value())).collect();
        let len = values.len() / reduction.parts;
        let start = Complex::new(initial(), initial());
        let added = |place: usize| {
            let parts = (0..reduction.parts).map(|part| values[part * len + place]);
            parts.fold(start, |sum, value| Complex::new(plus(value.re, sum.re), plus(value.im, sum.im)))
        };
        let expected: Vec<Complex<T::Wide>> = (0..len).map(added).collect();
        let parts = Buffer::from_slice(stream, &values)?;
        let mut sums = poisoned::<Complex<T::Wide>>(session, len)?;
        sums.slice_mut(..len)?.copy_from_slice(stream, &vec![start; len])?;
        kernels.add_parts(stream, reduction, parts.view(), &mut sums.view_mut())?;
        let outcome = outcome(session, 8 * values.len() + 32 * len, 1.0, expected, &sums)?;
        let time_ms = session.time(|| kernels.add_parts(stream, reduction, parts.view(), &mut sums.view_mut()))?;
        Ok(Outcome { time_ms, value: outcome.value / time_ms, ..outcome })
    })
}
