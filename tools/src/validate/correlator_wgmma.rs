//! The correlation kernels for sm_90a (TMA and `wgmma`) of 4-bit, 8-bit and f16 samples: every tile that takes the
//! inputs, of rows and of heaps, at random sizes, and what they refuse.
//!
//! See [`correlator_samples`](crate::validate::correlator_samples) for what lies around the samples, and for how far
//! sums of f16 may be off.

use fringes::CorrelatorError;
use fringes::backend::DeviceError;
use fringes::correlator::internals::mma::{Format, Order};
use fringes::correlator::internals::wgmma::{WgmmaJob, WgmmaKernel, WgmmaSamples};
use fringes_gpu::{Buffer, KernelElement};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::{Params, params};
use crate::validate::correlator_samples::{Expected, Part, Samples};
use crate::validate::session::{Outcome, Session, compare};

/// Random sizes of each format and order, beside the larger ones.
const SIZES: u64 = 24;

/// More inputs than most: inputs (made even for two polarisations), channels.
const LARGER: [[usize; 2]; 3] = [[1024, 3], [1031, 5], [40, 301]];

/// Orders, their names of 4-bit, 8-bit and f16 samples.
const NAMES: [(Order, [&str; 3]); 3] = [
    (Order::Rows, ["correlate_wgmma_i4", "correlate_wgmma_i8", "correlate_wgmma_f16"]),
    (Order::DualHeaps, HEAPS),
    (Order::SingleHeaps, HEAPS),
];

const HEAPS: [&str; 3] = ["correlate_wgmma_heaps_i4", "correlate_wgmma_heaps_i8", "correlate_wgmma_heaps_f16"];

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !NAMES.iter().flat_map(|(_, names)| names).any(|name| session.wants(name)) {
        return Ok(());
    }
    if !WgmmaKernel::runs_on(&session.device) {
        let (major, minor) = session.device.info().compute_capability;
        println!("correlate_wgmma_*: skipped, compute capability {major}.{minor} has no wgmma, which 9.0 alone has");
        return Ok(());
    }
    for (order, names) in NAMES {
        for (format, name) in Format::ALL.into_iter().zip(names) {
            if !session.wants(name) {
                continue;
            }
            let mut all: Vec<_> = (0..if session.quick { 3 } else { SIZES })
                .map(|seed| random(format, order, seed, session.quick))
                .collect();
            if !session.quick {
                all.extend((SIZES..).zip(LARGER).map(|(seed, sizes)| larger(format, order, seed, sizes)));
            }
            for samples in &all {
                let ready = Ready::new(samples);
                for kernel in WgmmaKernel::all(format, order, samples.inputs()) {
                    if format == Format::F16 {
                        ready.both::<f32, f64>(session, kernel, name)?;
                    } else {
                        ready.both::<i32, i32>(session, kernel, name)?;
                    }
                }
            }
            if format == Format::F16 {
                refusals::<f32>(session, format, order, name)?;
            } else {
                refusals::<i32>(session, format, order, name)?;
            }
        }
    }
    Ok(())
}

fn pols(order: Order) -> usize {
    if order == Order::DualHeaps { 2 } else { 1 }
}

/// Times of a step.
fn step(format: Format) -> usize {
    if format == Format::I4 { 64 } else { format.row_times() }
}

/// Up to 300 inputs, odd times, 1 to 4 parts.
fn random(format: Format, order: Order, seed: u64, quick: bool) -> Samples {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed + 1000 * format.bytes() as u64 + 100 * order as u64);
    let pols = pols(order);
    // So that all tiles get their share.
    let [least, most] = [[1, 64], [65, 160], [1, 300], [161, 300]][seed as usize % 4];
    let inputs: usize = random.random_range(least..=most);
    let channels = random.random_range(1..=if quick { 2 } else { 5 });
    sized(format, order, seed, [inputs.div_ceil(pols), channels], random)
}

fn larger(format: Format, order: Order, seed: u64, [inputs, channels]: [usize; 2]) -> Samples {
    let random = Xoshiro256PlusPlus::seed_from_u64(seed);
    sized(format, order, seed, [inputs.div_ceil(pols(order)), channels], random)
}

/// Random times and parts.
fn sized(
    format: Format,
    order: Order,
    seed: u64,
    [rows, channels]: [usize; 2],
    mut random: Xoshiro256PlusPlus,
) -> Samples {
    let pols = pols(order);
    // What the copy engine asks for.
    let unit = 16 / format.bytes();
    let most = if rows * channels > 2000 { 3 } else { 8 };
    let buffer = random.random_range(1..=most);
    let spectra = random.random_range(1..=if most == 3 { 100 } else { 300 });
    let spectra = usize::next_multiple_of(spectra, (unit / pols).max(1));
    let (first, count) = if order == Order::Rows {
        let times = buffer * format.row_times();
        let first = random.random_range(0..times / unit) * unit;
        (first, random.random_range(1..=times - first))
    } else {
        let first = random.random_range(0..buffer);
        (first, random.random_range(1..=buffer - first))
    };
    let mut samples = Samples { format, order, channels, rows, pols, buffer, spectra, first, count, parts: 1, seed };
    let steps = samples.steps(step(format), false).len() - 1;
    samples.parts = random.random_range(1..=steps.min(4));
    samples
}

/// Samples, and their sums.
struct Ready<'a> {
    samples: &'a Samples,
    bytes: Vec<u8>,
    expected: Vec<Expected>,
}

impl<'a> Ready<'a> {
    fn new(samples: &'a Samples) -> Self {
        let (values, bytes) = samples.samples();
        let expected = samples.sums(&values, &samples.steps(step(samples.format), false));
        Self { samples, bytes, expected }
    }

    fn sizes(&self) -> Params {
        let samples = self.samples;
        params([
            ("channels", samples.channels),
            ("inputs", samples.inputs()),
            ("times", samples.range().len()),
            ("parts", samples.parts),
        ])
    }

    /// Sums of `P` overwritten, not written, and sums of `A` added to.
    fn both<P: Part, A: Part>(&self, session: &mut Session, kernel: WgmmaKernel, name: &'static str) -> Result<(), End>
    where
        [P; 2]: KernelElement,
        [A; 2]: KernelElement,
    {
        self.run::<P>(session, (kernel, false), name)?;
        self.no_output::<P>(session, kernel, name)?;
        self.run::<A>(session, (kernel, true), name)
    }

    /// Products that are not written leave the sums as they are.
    fn no_output<P: Part>(&self, session: &mut Session, kernel: WgmmaKernel, name: &'static str) -> Result<(), End>
    where
        [P; 2]: KernelElement,
    {
        session.case(name, format!("{}, no output", kernel.name(false)), self.sizes(), |session| {
            let stream = &session.stream;
            let job = job(self.samples);
            let on_device = Buffer::from_slice(stream, &self.bytes)?;
            let before = before::<P>(self.expected.len(), false);
            let mut sums = Buffer::from_slice(stream, &before)?;
            let entry = kernel.load(&session.device, false)?;
            let time_ms = session.time(|| job.multiply(stream, kernel, &entry, on_device.view(), sums.view_mut()))?;
            let words = |sums: &[[P; 2]]| bytemuck::cast_slice::<_, u8>(sums).to_vec();
            let verdict = compare(&words(&before), &words(&sums.to_vec(stream)?));
            let pairs = self.expected.len() / self.samples.parts;
            let value = 8.0 * pairs as f64 * self.samples.range().len() as f64 / time_ms / 1e9;
            Ok(Outcome { time_ms, value, unit: "useful TOPS", against: "the sums before", verdict })
        })
    }

    fn run<P: Part>(
        &self,
        session: &mut Session,
        (kernel, adds): (WgmmaKernel, bool),
        name: &'static str,
    ) -> Result<(), End>
    where
        [P; 2]: KernelElement,
    {
        let (samples, sizes) = (self.samples, self.sizes());
        session.case_within(name, kernel.name(adds), sizes, |session| {
            let stream = &session.stream;
            let job = job(samples);
            let steps = samples.steps(step(samples.format), false).len() - 1;
            if job.steps(kernel) != steps {
                return Err(format!("{} steps, not {steps}", job.steps(kernel)).into());
            }
            let on_device = Buffer::from_slice(stream, &self.bytes)?;
            let before = before::<P>(self.expected.len(), adds);
            let mut sums = Buffer::from_slice(stream, &before)?;
            let entry = kernel.load(&session.device, adds)?;
            let launch =
                |sums: &mut Buffer<[P; 2]>| job.launch(stream, kernel, &entry, on_device.view(), sums.view_mut());
            launch(&mut sums)?;
            let actual = sums.to_vec(stream)?;
            let time_ms = session.time(|| launch(&mut sums))?;
            let (verdict, ratio) = match samples.compare(&self.expected, adds, [&before, &actual]) {
                Ok(ratio) => (Ok(()), ratio),
                Err(fault) => (Err(fault), 0.0),
            };
            let pairs = self.expected.len() / samples.parts;
            let value = 8.0 * pairs as f64 * samples.range().len() as f64 / time_ms / 1e9;
            let (against, error) = match samples.format {
                Format::F16 => ("the sums of tensor cores in f32", format!("largest {ratio:.4} of it")),
                _ => ("sums on the host", String::new()),
            };
            Ok((Outcome { time_ms, value, unit: "useful TOPS", against, verdict }, error))
        })
    }
}

/// What sums are before, one more than there are: it must stay.
fn before<P: Part>(count: usize, adds: bool) -> Vec<[P; 2]> {
    (0..=count).map(|index| [P::before(index, adds), P::before(index + 1, adds)]).collect()
}

fn job(samples: &Samples) -> WgmmaJob {
    let Samples { channels, buffer, spectra, first, count, parts, .. } = *samples;
    let range = first..first + count;
    let place = match samples.order {
        Order::Rows => WgmmaSamples::Rows { blocks: buffer, times: range },
        _ => WgmmaSamples::Heaps { batches: buffer, spectra, range },
    };
    WgmmaJob { channels, inputs: samples.inputs(), samples: place, parts }
}

/// What cannot be launched is a typed error, and leaves the sums as they are.
fn refusals<P: Part>(session: &mut Session, format: Format, order: Order, name: &'static str) -> Result<(), End>
where
    [P; 2]: KernelElement,
{
    let samples = Samples {
        format,
        order,
        channels: 2,
        rows: 50,
        pols: pols(order),
        buffer: 2,
        spectra: 64,
        first: 0,
        count: 2,
        parts: 1,
        seed: 0,
    };
    let inputs = samples.inputs();
    let sizes = params([("channels", 2), ("inputs", inputs)]);
    session.case(name, "what is refused", sizes, |session| {
        let stream = &session.stream;
        let good = job(&samples);
        let kernel = WgmmaKernel::choose(format, order, inputs);
        let entry = kernel.load(&session.device, false)?;
        let bytes = Buffer::from_slice(stream, &samples.samples().1)?;
        let matrix = samples.channels * inputs * (inputs + 1) / 2;
        let before = before::<P>(2 * matrix, false);
        let mut sums = Buffer::from_slice(stream, &before)?;
        let unit = 16 / format.bytes();
        let (between, past) = match order {
            Order::Rows => (
                WgmmaSamples::Rows { blocks: 2, times: unit / 2..unit + 1 },
                WgmmaSamples::Rows { blocks: 2, times: 0..2 * format.row_times() + 1 },
            ),
            _ => (
                WgmmaSamples::Heaps { batches: 2, spectra: 1, range: 0..2 },
                WgmmaSamples::Heaps { batches: 2, spectra: 64, range: 0..3 },
            ),
        };
        let parts = |parts| WgmmaJob { parts, ..good.clone() };
        let many = WgmmaJob { inputs: kernel.tile().most_inputs() + 2, ..good.clone() };
        let other = match order {
            Order::Rows => WgmmaSamples::Heaps { batches: 2, spectra: 64, range: 0..2 },
            _ => WgmmaSamples::Rows { blocks: 2, times: 0..32 },
        };
        let longer = Buffer::<u8>::zeroed(stream, bytes.len() + 16)?;
        let (view, all) = (bytes.view(), sums.len());
        let (cut, unaligned) = (bytes.slice(..bytes.len() - 16)?, longer.slice(1..)?);
        let of = |samples| WgmmaJob { samples, ..good.clone() };
        let cases = [
            ("times that begin in between", of(between), view, all, "DeviceShape"),
            ("no parts", parts(0), view, all, "DeviceShape"),
            ("more parts than steps", parts(good.steps(kernel) + 1), view, all, "DeviceShape"),
            ("more inputs than it takes", many, view, all, "DeviceShape"),
            ("no channels", WgmmaJob { channels: 0, ..good.clone() }, view, all, "DeviceShape"),
            ("another order", of(other), view, all, "DeviceShape"),
            ("past the end", of(past), view, all, "a range"),
            ("short sums", good.clone(), view, matrix - 1, "sums"),
            ("short samples", good.clone(), cut, all, "samples"),
            ("unaligned samples", good.clone(), unaligned, all, "DeviceAlignment"),
        ];
        let mut verdict = Ok(());
        for (what, job, samples, length, expected) in cases {
            let places = sums.view_mut().slice(..length)?;
            let got = match job.launch(stream, kernel, &entry, samples, places) {
                Ok(()) => "nothing".into(),
                Err(CorrelatorError::DeviceShape { .. }) => "DeviceShape".into(),
                Err(CorrelatorError::TimeRange { .. } | CorrelatorError::BatchRange { .. }) => "a range".into(),
                Err(CorrelatorError::Device(DeviceError::Length { buffer, .. })) => buffer.to_string(),
                Err(CorrelatorError::Device(DeviceError::Alignment { .. })) => "DeviceAlignment".into(),
                Err(error) => error.to_string(),
            };
            if got != expected {
                verdict = Err(format!("{what}: expected {expected}, got {got}"));
            }
        }
        let words = |sums: &[[P; 2]]| bytemuck::cast_slice::<_, u8>(sums).to_vec();
        let stays = compare(&words(&before), &words(&sums.to_vec(stream)?));
        let verdict = verdict.and(stays);
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "the errors that are documented", verdict })
    })
}
