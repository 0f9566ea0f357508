//! The correlation kernels of 32-bit floats: every kind of edge, parts of the time, and their errors and bias over many
//! times.
//!
//! Rows are made by definition on the host, NaN in all times that do not count. Every output is poisoned before.

use fringes::correlator::internals::float::{FloatJob, FloatKernels, Variant};
use fringes::{Complex, CorrelatorError};
use fringes_gpu::Buffer;
use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::end::End;
use crate::gpu_report::{Params, params};
use crate::validate::session::{Outcome, Session, compare};

/// Channels, times and inputs around sizes of rows, tiles and threads, with a first time and a number of parts.
const SIZES: [([usize; 3], usize, usize); 12] = [
    ([1, 1, 1], 0, 1),
    ([3, 16, 2], 0, 1),
    ([2, 15, 63], 0, 1),
    ([1, 100, 64], 17, 1),
    ([17, 33, 65], 0, 2),
    ([2, 1024, 127], 0, 3),
    ([1, 1030, 128], 5, 1),
    ([3, 2049, 129], 0, 5),
    ([2, 500, 192], 16, 1),
    ([1, 333, 257], 1, 4),
    ([5, 4096, 130], 0, 1),
    ([1, 700, 1024], 3, 2),
];
/// Those of quick runs.
const QUICK: [([usize; 3], usize, usize); 4] =
    [([1, 1, 1], 0, 1), ([2, 33, 65], 3, 1), ([1, 100, 130], 17, 2), ([2, 1100, 3], 0, 1)];
/// Most times, at which the error is held to [`LIMIT`].
const LONG: usize = 65536;
/// Inputs of long sums.
const LONG_INPUTS: usize = 130;
/// Largest error of long sums, relative to `sqrt(V_aa V_bb)`.
const LIMIT: f64 = 1e-6;
/// Allowance for the bias of tensor cores in short sums; see the kernels' documentation.
const BIAS: f64 = 5e-7;
/// Rows of time after which sums of the tensor cores are promoted, where their bias is measured.
const INTERVALS: [u32; 6] = [1, 2, 4, 8, 16, 64];

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let names = Variant::ALL.iter().flat_map(|variant| [variant.kernel(), variant.adding_kernel()]);
    if !names.into_iter().chain(["correlate_f32_bias"]).any(|name| session.wants(name)) {
        return Ok(());
    }
    let kernels = FloatKernels::load(&session.device).map_err(End::failed)?;
    let variants: Vec<_> = Variant::ALL.into_iter().filter(|variant| variant.is_in(kernels.target())).collect();
    let sizes = if session.quick { &QUICK[..] } else { &SIZES };
    for &([channels, times, inputs], first_time, parts) in sizes {
        let job = FloatJob { first_time, times, parts, ..FloatJob::new(channels, first_time + times, inputs) };
        let case = Case::new(job, channels as u64);
        for &variant in &variants {
            let limit =
                |adding| 8.0 * job.deviation(variant, adding) + if variant == Variant::Plain { 0.0 } else { BIAS };
            case.overwrite(session, &kernels, variant, "noise", limit(false))?;
            case.no_output(session, &kernels, variant)?;
            case.add(session, &kernels, variant, "noise", limit(true))?;
        }
    }
    if session.quick {
        return Ok(());
    }
    let case = Case::new(FloatJob::new(1, LONG, LONG_INPUTS), 77);
    for &variant in &variants {
        case.overwrite(session, &kernels, variant, "65536 times, within 1e-6", LIMIT)?;
        case.add(session, &kernels, variant, "65536 times, within 1e-6", LIMIT)?;
    }
    if variants.contains(&Variant::Wgmma) {
        for times in [1024, 8192, LONG] {
            let case = Case::new(FloatJob::new(1, times, LONG_INPUTS), 78);
            for interval in INTERVALS {
                case.bias(session, &kernels, interval)?;
            }
        }
    }
    Ok(())
}

/// Voltages, their rows, and the sums that they have.
struct Case {
    job: FloatJob,
    rows: Vec<f32>,
    /// Sums `[channel][baseline]` in f64.
    expected: Vec<Complex<f64>>,
}

impl Case {
    /// Noise, of which a part is common to all inputs, so that all sums grow with time.
    fn new(job: FloatJob, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut noise = || Complex::new(random.random_range(-1.0..1.0f32), random.random_range(-1.0..1.0f32));
        let end = job.first_time + job.times;
        let common = Array3::from_shape_simple_fn((job.channels, end, 1), &mut noise);
        let mut voltages = Array3::from_shape_simple_fn((job.channels, end, job.inputs), &mut noise);
        voltages += &common;
        let mut rows = vec![f32::NAN; job.row_bytes() / 4];
        for ((channel, time, input), value) in
            voltages.indexed_iter().filter(|((_, time, _), _)| *time >= job.first_time)
        {
            let place = ((channel * job.blocks + time / 16) * job.inputs + input) * 32 + 2 * (time % 16);
            (rows[place], rows[place + 1]) = (value.re, value.im);
        }
        // Each input's times follow each other.
        let by_input = voltages.permuted_axes([0, 2, 1]).as_standard_layout().mapv(|value: Complex<f32>| {
            let Complex { re, im } = value;
            Complex::new(f64::from(re), f64::from(im))
        });
        let lines = (0..job.channels).flat_map(|channel| (0..job.inputs).map(move |a| (channel, a)));
        let sums = lines.collect::<Vec<_>>().into_par_iter().flat_map_iter(|(channel, a)| {
            let line = |input: usize| by_input.slice(ndarray::s![channel, input, job.first_time..]);
            let sum = |b: usize| line(a).iter().zip(line(b)).map(|(a, b)| a * b.conj()).sum();
            (0..=a).map(sum).collect::<Vec<Complex<f64>>>()
        });
        Self { job, rows, expected: sums.collect() }
    }

    fn sizes(&self) -> Params {
        let Self { job, .. } = self;
        params([
            ("channels", job.channels),
            ("inputs", job.inputs),
            ("times", job.times),
            ("first", job.first_time),
            ("parts", job.parts),
        ])
    }

    /// Greatest error relative to `sqrt(V_aa V_bb)`, where, and the mean signed relative error of autocorrelations.
    fn errors(&self, sums: &[Complex<f64>]) -> (f64, usize, f64) {
        let (baselines, inputs) = (self.job.baselines(), self.job.inputs);
        let (mut worst, mut place, mut bias) = (0.0, 0, 0.0);
        for (channel, expected) in self.expected.chunks(baselines).enumerate() {
            let power = |a: usize| expected[a * (a + 1) / 2 + a].re;
            let mut index = 0;
            for a in 0..inputs {
                for b in 0..=a {
                    let at = channel * baselines + index;
                    let actual: Complex<f64> = sums.iter().skip(at).step_by(self.expected.len()).sum();
                    let error = (actual - expected[index]).norm() / (power(a) * power(b)).sqrt();
                    // A NaN is worst of all.
                    if error.is_nan() || error > worst {
                        (worst, place) = (if error.is_nan() { f64::INFINITY } else { error }, at);
                    }
                    if a == b {
                        bias += actual.re / power(a) - 1.0;
                    }
                    index += 1;
                }
            }
        }
        (worst, place, bias / (self.job.channels * inputs) as f64)
    }

    fn judge(&self, sums: &[Complex<f64>], limit: f64) -> (Result<(), String>, String) {
        let (worst, place, bias) = self.errors(sums);
        let error = format!(
            "|dV| <= {worst:.2e} sqrt(V_aa V_bb) (limit {limit:.1e}), autocorrelations off by {bias:.2e} on average"
        );
        let verdict = if worst <= limit { Ok(()) } else { Err(format!("sum {place} (channel, baseline): {error}")) };
        (verdict, error)
    }

    fn outcome(&self, time_ms: f64, verdict: Result<(), String>) -> Outcome {
        let value = self.job.operations() / time_ms / 1e9;
        Outcome { time_ms, value, unit: "useful TOPS", against: "sums in f64 on the host", verdict }
    }

    /// The overwriting kernel.
    fn overwrite(
        &self,
        session: &mut Session,
        kernels: &FloatKernels,
        variant: Variant,
        what: &'static str,
        limit: f64,
    ) -> Result<(), End> {
        session.case_within(variant.kernel(), what, self.sizes(), |session| {
            let (stream, count) = (&session.stream, self.job.visibilities());
            let rows = Buffer::from_slice(stream, &self.rows)?;
            let poison = vec![Complex::new(f32::NAN, 7.5); count + 1];
            let mut sums = Buffer::from_slice(stream, &poison)?;
            let time_ms = session.time(|| {
                kernels.correlate(stream, variant, &self.job, rows.view().cast::<u8>()?, &mut sums.view_mut())
            })?;
            let mut sums = sums.to_vec(stream)?;
            let last = sums.pop();
            let wide: Vec<_> = sums.iter().map(|sum| Complex::new(f64::from(sum.re), f64::from(sum.im))).collect();
            let (mut verdict, error) = self.judge(&wide, limit);
            if last.is_none_or(|last| !last.re.is_nan() || last.im != 7.5) {
                verdict = Err("the sum behind the last one was written".into());
            }
            Ok((self.outcome(time_ms, verdict), error))
        })
    }

    /// Products that are not written leave the sums as they are.
    fn no_output(&self, session: &mut Session, kernels: &FloatKernels, variant: Variant) -> Result<(), End> {
        session.case(variant.kernel(), "noise, no output", self.sizes(), |session| {
            let stream = &session.stream;
            let rows = Buffer::from_slice(stream, &self.rows)?;
            let before = vec![Complex::new(-3.5f32, 7.5); self.job.visibilities() + 1];
            let mut sums = Buffer::from_slice(stream, &before)?;
            let time_ms = session.time(|| {
                kernels.multiply(stream, variant, &self.job, rows.view().cast::<u8>()?, &mut sums.view_mut())
            })?;
            let verdict = compare(&before, &sums.to_vec(stream)?);
            Ok(Outcome { against: "the sums before", ..self.outcome(time_ms, verdict) })
        })
    }

    /// The adding kernel, from sums of one.
    fn add(
        &self,
        session: &mut Session,
        kernels: &FloatKernels,
        variant: Variant,
        what: &'static str,
        limit: f64,
    ) -> Result<(), End> {
        session.case_within(variant.adding_kernel(), what, self.sizes(), |session| {
            let stream = &session.stream;
            let rows = Buffer::from_slice(stream, &self.rows)?;
            let launch = |sums: &mut Buffer<Complex<f64>>| -> Result<(), CorrelatorError> {
                kernels.accumulate(stream, variant, &self.job, rows.view().cast::<u8>()?, &mut sums.view_mut())
            };
            let mut sums = Buffer::from_slice(stream, &vec![Complex::new(1.0, -1.0); self.job.visibilities()])?;
            launch(&mut sums)?;
            launch(&mut sums)?;
            let actual: Vec<_> = sums.to_vec(stream)?.iter().map(|sum| (sum - Complex::new(1.0, -1.0)) / 2.0).collect();
            let time_ms = session.time(|| launch(&mut sums))?;
            let (verdict, error) = self.judge(&actual, limit);
            Ok((self.outcome(time_ms, verdict), error))
        })
    }

    /// What becomes of the tensor cores' bias when their sums are promoted less often.
    fn bias(&self, session: &mut Session, kernels: &FloatKernels, interval: u32) -> Result<(), End> {
        let what = format!("promoted every {} times", 16 * interval);
        session.case_within("correlate_f32_bias", what, self.sizes(), |session| {
            let stream = &session.stream;
            let rows = Buffer::from_slice(stream, &self.rows)?;
            let mut sums = Buffer::<Complex<f64>>::zeroed(stream, self.job.visibilities())?;
            kernels.accumulate_biased(stream, interval, &self.job, rows.view().cast::<u8>()?, &mut sums.view_mut())?;
            let actual = sums.to_vec(stream)?;
            let time_ms = session.time(|| {
                kernels.accumulate_biased(stream, interval, &self.job, rows.view().cast::<u8>()?, &mut sums.view_mut())
            })?;
            // Only what the kernels use is held to the limit; the others cut 80 2^-24 a row at most.
            let most =
                80.0 * f64::from(interval) / (1u64 << 24) as f64 + 8.0 * self.job.deviation(Variant::Wgmma, true);
            let (verdict, error) = self.judge(&actual, if interval == 1 { LIMIT } else { most });
            Ok((self.outcome(time_ms, verdict), error))
        })
    }
}
