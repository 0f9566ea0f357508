//! Samples, launches and comparisons of the correlation kernels.

use fringes_correlator::internals::mma::{Format, MmaKernel, Order};
use fringes_device::{Global, GlobalMut};
use fringes_emulator::{Buffer, Element, GlobalMemory, Launch, Report};
use fringes_kernels_correlator_mma::{HEAP_KERNELS, ROW_KERNELS, Run};
use half::f16;
use ndarray::{Array3, Array5, ArrayView3, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type C64 = Complex<f64>;

/// A sample of full range, exact in its format.
pub(crate) fn sample(format: Format, random: &mut Xoshiro256PlusPlus) -> C64 {
    let mut part = || match format {
        Format::I4 => f64::from(random.random_range(-7..=7i32)),
        Format::I8 => f64::from(random.random_range(-127..=127i32)),
        Format::F16 => f16::from_f64(random.random_range(-2.0..2.0f64)).to_f64(),
    };
    Complex::new(part(), part())
}

/// Bytes of a sample.
pub(crate) fn encode(format: Format, value: C64) -> Vec<u8> {
    match format {
        Format::I4 => vec![(value.re as i8 as u8) << 4 | (value.im as i8 as u8 & 15)],
        Format::I8 => vec![value.re as i8 as u8, value.im as i8 as u8],
        Format::F16 => [value.re, value.im].iter().flat_map(|&part| f16::from_f64(part).to_le_bytes()).collect(),
    }
}

/// What fills memory that must not count: NaN of f16.
const RUBBISH: [u8; 4] = [0x01, 0x7e, 0xff, 0x7f];

/// `bytes` bytes of rubbish.
fn rubbish(bytes: usize) -> Vec<u8> {
    RUBBISH.iter().copied().cycle().take(bytes).collect()
}

/// Sizes of a correlation of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) channels: usize,
    pub(crate) inputs: usize,
    pub(crate) blocks: usize,
    pub(crate) first: usize,
    pub(crate) times: usize,
    pub(crate) parts: usize,
}

impl Rows {
    /// Random voltages `[channel][time][input]` of the times that count.
    pub(crate) fn voltages(&self, format: Format, seed: u64) -> Array3<C64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Array3::from_shape_simple_fn((self.channels, self.times, self.inputs), || sample(format, &mut random))
    }

    /// The rows by definition; all other times are rubbish.
    pub(crate) fn bytes(&self, format: Format, voltages: &Array3<C64>) -> Vec<u8> {
        let mut rows = rubbish(self.channels * self.blocks * self.inputs * 128);
        for ((channel, time, input), &value) in voltages.indexed_iter() {
            let (row, along) = ((self.first + time) / format.row_times(), (self.first + time) % format.row_times());
            let row = (channel * self.blocks + row) * self.inputs + input;
            let at = row * 128 + along * format.bytes();
            rows[at..at + format.bytes()].copy_from_slice(&encode(format, value));
        }
        rows
    }

    /// Times of each part, counted from the first that counts.
    pub(crate) fn split(&self, format: Format) -> Vec<std::ops::Range<usize>> {
        let row = format.row_times();
        let (from, end) = (self.first / row, (self.first + self.times).div_ceil(row));
        let steps = if self.times == 0 { 0 } else { end - from };
        let bound = |part: usize| ((from + part * steps / self.parts) * row).clamp(self.first, self.first + self.times);
        (0..self.parts).map(|part| bound(part) - self.first..bound(part + 1) - self.first).collect()
    }
}

/// Sizes of a correlation of heaps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heaps {
    pub(crate) channels: usize,
    pub(crate) antennas: usize,
    pub(crate) pols: usize,
    pub(crate) buffer: usize,
    pub(crate) spectra: usize,
    pub(crate) first: usize,
    pub(crate) batches: usize,
    pub(crate) parts: usize,
}

impl Heaps {
    /// Random heaps of the batches that count.
    pub(crate) fn heaps(&self, format: Format, seed: u64) -> Array5<C64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let shape = (self.batches, self.antennas, self.channels, self.spectra, self.pols);
        Array5::from_shape_simple_fn(shape, || sample(format, &mut random))
    }

    /// The heaps' bytes; all other batches are rubbish.
    pub(crate) fn bytes(&self, format: Format, heaps: &Array5<C64>) -> Vec<u8> {
        let batch = self.antennas * self.channels * self.spectra * self.pols * format.bytes();
        let mut bytes = rubbish(batch * self.buffer);
        let own: Vec<u8> = heaps.iter().flat_map(|&value| encode(format, value)).collect();
        bytes[batch * self.first..batch * (self.first + self.batches)].copy_from_slice(&own);
        bytes
    }

    /// Times of each part.
    pub(crate) fn split(&self, format: Format) -> Vec<std::ops::Range<usize>> {
        let step = 128 / format.bytes();
        let per_batch = self.spectra.div_ceil(step);
        let bound = |part: usize| {
            let steps = part * self.batches * per_batch / self.parts;
            steps / per_batch * self.spectra + (steps % per_batch * step).min(self.spectra)
        };
        (0..self.parts).map(|part| bound(part)..bound(part + 1)).collect()
    }
}

/// What a kernel gave: sums `[part][channel][baseline]` with what was there before taken off.
pub(crate) struct Answer {
    pub(crate) sums: Vec<C64>,
    pub(crate) report: Report,
}

/// What adding kernels find: large, and different everywhere.
fn initial(index: usize) -> [i64; 2] {
    [(1 << 30) + index as i64, -(1 << 30) - 3 * index as i64]
}

trait Part: Element + Default + Copy {
    fn from_initial(value: i64) -> Self;
    /// What was added to the initial value.
    fn difference(self, initial: i64) -> f64;
    fn value(self) -> f64;
}

macro_rules! part {
    ($($type:ident, |$value:ident| $from:expr, |$own:ident, $old:ident| $difference:expr;)*) => { $(
        impl Part for $type {
            fn from_initial($value: i64) -> Self {
                $from
            }
            fn difference(self, $old: i64) -> f64 {
                let $own = self;
                $difference
            }
            fn value(self) -> f64 {
                f64::from(self)
            }
        }
    )* };
}

part! {
    i32, |value| value as i32, |own, old| (i64::from(own) - old) as f64;
    f32, |value| value as f32, |own, old| f64::from(own) - f64::from(old as f32);
    f64, |value| (value % 1000) as f64, |own, old| own - (old % 1000) as f64;
}

fn run<P: Part>(
    declaration: &'static str,
    config: fringes_gpu::LaunchConfig,
    bytes: &[u8],
    (adds, count): (bool, usize),
    kernel: impl Fn(Global<u8>, GlobalMut<[P; 2]>),
) -> Answer
where
    [P; 2]: Element + fringes_device::Value,
{
    let mut memory = GlobalMemory::new();
    let input = memory.upload(bytes);
    let start: Vec<[P; 2]> = (0..count + 1).map(|i| initial(i).map(P::from_initial)).collect();
    let sums: Buffer<[P; 2]> = memory.upload(&start);
    let launch = Launch::new(declaration, config.grid, config.block).shared_bytes(config.shared_bytes);
    let report = launch.run(&mut memory, || kernel(input.into(), sums.into()));
    report.assert_clean();
    let values = memory.values(sums);
    let sums = values.iter().enumerate().map(|(i, sum)| {
        let [re, im] = initial(i);
        let new = |sum: P, old: i64| if adds { sum.difference(old) } else { sum.value() };
        Complex::new(new(sum[0], re), new(sum[1], im))
    });
    let mut sums: Vec<_> = sums.collect();
    // One sum more than there are: it must stay.
    sums.pop();
    let [re, im] = initial(count);
    assert_eq!(values[count].iter().zip([re, im]).map(|(sum, old)| sum.difference(old)).sum::<f64>(), 0.0);
    Answer { sums, report }
}

macro_rules! dispatch {
    ($table:ident, $kernel:expr, $adds:expr, $config:expr, $bytes:expr, $count:expr, [$($number:expr),*]) => {{
        let name = format!("{}(", $kernel.name($adds));
        let (declaration, function) =
            $table.iter().find(|(declaration, _)| declaration.starts_with(&name)).expect("an entry");
        let config = $config;
        match *function {
            Run::i32(f) => run::<i32>(declaration, config, $bytes, ($adds, $count), |a, b| f(a, b, $($number as u32),*)),
            Run::f32(f) => run::<f32>(declaration, config, $bytes, ($adds, $count), |a, b| f(a, b, $($number as u32),*)),
            Run::f64(f) => run::<f64>(declaration, config, $bytes, ($adds, $count), |a, b| f(a, b, $($number as u32),*)),
        }
    }};
}

/// Runs a kernel of rows.
pub(crate) fn run_rows(kernel: MmaKernel, adds: bool, r: Rows, bytes: &[u8]) -> Answer {
    let config = kernel.launch(r.channels, r.inputs, r.parts).unwrap();
    let count = r.parts * r.channels * r.inputs * (r.inputs + 1) / 2;
    dispatch!(
        ROW_KERNELS,
        kernel,
        adds,
        config,
        bytes,
        count,
        [r.channels, r.inputs, r.blocks, r.first, r.times, r.parts]
    )
}

/// Runs a kernel of heaps.
pub(crate) fn run_heaps(kernel: MmaKernel, adds: bool, h: Heaps, bytes: &[u8]) -> Answer {
    let inputs = h.antennas * h.pols;
    let config = kernel.launch(h.channels, inputs, h.parts).unwrap();
    let count = h.parts * h.channels * inputs * (inputs + 1) / 2;
    dispatch!(
        HEAP_KERNELS,
        kernel,
        adds,
        config,
        bytes,
        count,
        [h.channels, h.antennas, h.pols, h.buffer, h.spectra, h.first, h.batches, h.parts]
    )
}

/// Compares sums with those of the reference: exactly, or to the bound of f16 sums of `runs` runs of times.
pub(crate) fn check(
    format: Format,
    voltages: ArrayView3<'_, C64>,
    split: &[std::ops::Range<usize>],
    runs: usize,
    sums: &[C64],
    what: &str,
) {
    let (channels, _, inputs) = voltages.dim();
    let count = channels * inputs * (inputs + 1) / 2;
    assert_eq!(sums.len(), split.len() * count);
    for (part, times) in split.iter().enumerate() {
        let voltages = voltages.slice(s![.., times.clone(), ..]);
        let sums = &sums[part * count..][..count];
        if format == Format::F16 {
            let expected = fringes_reference::correlator::correlate_f64(voltages, None).sums;
            let sizes = voltages.mapv(|value| Complex::new(value.norm(), 0.0));
            let sizes = fringes_reference::correlator::correlate_f64(sizes.view(), None).sums;
            for ((sum, expected), size) in sums.iter().zip(&expected).zip(&sizes) {
                // The second term: rounding to f64 of an adding kernel's sums below 2000.
                let bound = 6.0 * (times.len() + 16 * runs) as f64 * 2f64.powi(-23) * size.re + 1e-12;
                let error = (sum - expected).re.abs().max((sum - expected).im.abs());
                assert!(error <= bound, "{what}, part {part}: {sum} is not {expected}, bound {bound}");
            }
        } else {
            let whole = voltages.mapv(|value| Complex::new(value.re as i64, value.im as i64));
            let expected = fringes_reference::correlator::correlate_int(whole.view(), None).sums;
            for (index, (sum, expected)) in sums.iter().zip(&expected).enumerate() {
                let expected = Complex::new(expected.re as f64, expected.im as f64);
                assert_eq!(*sum, expected, "{what}, part {part}, sum {index}");
            }
        }
    }
}

/// Runs and checks a kernel of rows.
pub(crate) fn rows(kernel: MmaKernel, adds: bool, sizes: Rows) -> Report {
    assert_eq!(kernel.order(), Order::Rows);
    let format = kernel.format();
    let voltages = sizes.voltages(format, sizes.inputs as u64);
    let answer = run_rows(kernel, adds, sizes, &sizes.bytes(format, &voltages));
    let what = format!("{} of {sizes:?}", kernel.name(adds));
    check(format, voltages.view(), &sizes.split(format), 1, &answer.sums, &what);
    answer.report
}

/// Runs and checks a kernel of heaps.
pub(crate) fn heaps(kernel: MmaKernel, adds: bool, sizes: Heaps) -> Report {
    let format = kernel.format();
    let heaps = sizes.heaps(format, sizes.spectra as u64);
    let answer = run_heaps(kernel, adds, sizes, &sizes.bytes(format, &heaps));
    let voltages = fringes_reference::heaps::voltages(heaps.view());
    let what = format!("{} of {sizes:?}", kernel.name(adds));
    check(format, voltages.view(), &sizes.split(format), sizes.batches, &answer.sums, &what);
    answer.report
}
