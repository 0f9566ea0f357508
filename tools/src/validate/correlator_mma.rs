//! The correlation kernels for sm_80 (`mma.sync`) of 4-bit, 8-bit and f16 samples: every variant, of rows and of heaps,
//! at random sizes.

use fringes::correlator::internals::mma::{Format, MmaKernel, Order, Variant};
use fringes_gpu::{Argument, Buffer, KernelElement};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::correlator_samples::{Part, Samples};
use crate::validate::session::{Outcome, Session};

/// Random sizes for every kernel.
const SIZES: u64 = 6;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    for (order, name) in [(Order::Rows, "mma_rows"), (Order::DualHeaps, "mma_heaps"), (Order::SingleHeaps, "mma_heaps")]
    {
        if !session.wants(name) {
            continue;
        }
        for format in Format::ALL {
            for kernel in MmaKernel::all(format, order, 1) {
                for seed in 0..if session.quick { 1 } else { SIZES } {
                    let case = Case::random(kernel, seed, session.quick);
                    if format == Format::F16 {
                        case.run::<f32>(session, name, false)?;
                        case.run::<f64>(session, name, true)?;
                    } else {
                        case.run::<i32>(session, name, false)?;
                        case.run::<i32>(session, name, true)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// A kernel, and samples.
struct Case {
    kernel: MmaKernel,
    samples: Samples,
}

impl Case {
    fn random(kernel: MmaKernel, seed: u64, quick: bool) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed + 100 * kernel.format().bytes() as u64);
        let pols = if kernel.order() == Order::DualHeaps { 2 } else { 1 };
        let most = match kernel.variant() {
            Variant::Square | Variant::Narrow => [300, 140][usize::from(quick)] / pols,
            whole => whole.side() / pols,
        };
        let rows = if seed.is_multiple_of(3) { most } else { random.random_range(1..=most) };
        let (buffer, spectra) = (random.random_range(1..=14), random.random_range(1..=400usize));
        let whole = if kernel.order() == Order::Rows { buffer * kernel.format().row_times() } else { buffer };
        let first = random.random_range(0..whole);
        let spectra = if seed.is_multiple_of(2) { 16 * spectra.div_ceil(16) } else { spectra };
        let (count, parts) = (random.random_range(1..=whole - first), random.random_range(1..=4));
        let channels = random.random_range(1..=if quick { 2 } else { 5 });
        let (format, order) = (kernel.format(), kernel.order());
        let samples = Samples { format, order, channels, rows, pols, buffer, spectra, first, count, parts, seed };
        Self { kernel, samples }
    }

    /// Arguments after the two views.
    fn numbers(&self) -> Vec<u32> {
        let Samples { channels, rows, pols, buffer, spectra, first, count, parts, .. } = self.samples;
        let numbers = if self.samples.is_rows() {
            vec![channels, rows, buffer, first, count, parts]
        } else {
            vec![channels, rows, pols, buffer, spectra, first, count, parts]
        };
        numbers.into_iter().map(|number| number as u32).collect()
    }

    fn run<P: Part>(&self, session: &mut Session, name: &'static str, adds: bool) -> Result<(), End>
    where
        [P; 2]: KernelElement,
    {
        let (kernel, baselines) = (self.kernel, self.samples.inputs() * (self.samples.inputs() + 1) / 2);
        let sizes = params([
            ("channels", self.samples.channels),
            ("inputs", self.samples.inputs()),
            ("times", self.samples.range().len()),
            ("parts", self.samples.parts),
        ]);
        session.case_within(name, kernel.name(adds), sizes, |session| {
            let stream = &session.stream;
            let (samples, bytes) = self.samples.samples();
            let on_device = Buffer::from_slice(stream, &bytes)?;
            let count = self.samples.parts * self.samples.channels * baselines;
            // One sum more than there are: it must stay.
            let before = |index| [P::before(index, adds), P::before(index + 1, adds)];
            let before: Vec<[P; 2]> = (0..=count).map(before).collect();
            let mut sums = Buffer::from_slice(stream, &before)?;
            let entry = session.device.load(kernel.ptx())?.kernel(&kernel.name(adds))?;
            let config = kernel.launch(self.samples.channels, self.samples.inputs(), self.samples.parts)?;
            let numbers = self.numbers();
            let launch = |sums: &mut Buffer<[P; 2]>| {
                let mut arguments: Vec<Argument<'_>> = vec![on_device.view().into(), sums.view_mut().into()];
                arguments.extend(numbers.iter().map(|&number| Argument::from(number)));
                entry.launch_safe(stream, &config, &arguments)
            };
            launch(&mut sums)?;
            let actual = sums.to_vec(stream)?;
            let time_ms = session.time(|| launch(&mut sums))?;
            let expected = self.samples.sums(&samples, &self.samples.steps(kernel.format().row_times(), true));
            let (verdict, ratio) = match self.samples.compare(&expected, adds, [&before, &actual]) {
                Ok(ratio) => (Ok(()), ratio),
                Err(fault) => (Err(fault), 0.0),
            };
            let operations = 8.0 * (self.samples.channels * baselines) as f64 * self.samples.range().len() as f64;
            let (against, error) = match kernel.format() {
                Format::F16 => ("the sums of tensor cores in f32", format!("largest {ratio:.3} of it")),
                _ => ("sums on the host", String::new()),
            };
            let outcome = Outcome { time_ms, value: operations / time_ms / 1e9, unit: "useful TOPS", against, verdict };
            Ok((outcome, error))
        })
    }
}
