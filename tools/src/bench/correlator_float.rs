//! The correlation kernels of 32-bit floats at the sizes of arrays of 32 to 1024 dual-polarisation stations.

use fringes::correlator::internals::float::{FloatJob, FloatKernels, Variant};
use fringes::{Complex, CorrelatorError};
use fringes_gpu::{Buffer, BufferView, Stream};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Bound, Measured, copies};
use crate::end::End;
use crate::gpu_report::params;

/// Numbers of stations.
const STATIONS: [usize; 6] = [32, 64, 128, 256, 512, 1024];
/// Channels times stations.
const CHANNELS_STATIONS: usize = 65536;
/// Numbers of times.
const TIMES: [usize; 2] = [1024, 4096];
/// Stations, channels and times where channels and tiles do not fill the GPU.
const FEW: [usize; 3] = [64, 8, 16384];
/// Visibilities that are checked, of each of two channels.
const CHECKED: usize = 64;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    let names = Variant::ALL.iter().flat_map(|variant| [variant.kernel(), variant.adding_kernel()]);
    if !names.into_iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let kernels = FloatKernels::load(&bench.device).map_err(End::failed)?;
    let source = Source::floats(&bench.stream)?;
    let variants: Vec<_> = Variant::ALL.into_iter().filter(|variant| variant.is_in(kernels.target())).collect();
    for variant in variants {
        for times in TIMES {
            for stations in STATIONS {
                let job = FloatJob::new(CHANNELS_STATIONS / stations, times, 2 * stations);
                Case { kernels: &kernels, source: &source, variant, stations, job }.run(bench, ceilings)?;
            }
        }
        let [stations, channels, times] = FEW;
        let parts = variant.parts(bench.device.info().multiprocessors as usize, channels, times, 2 * stations);
        let job = FloatJob { parts, ..FloatJob::new(channels, times, 2 * stations) };
        Case { kernels: &kernels, source: &source, variant, stations, job }.run(bench, ceilings)?;
        let job = FloatJob::new(128, 4096, 1024);
        Case { kernels: &kernels, source: &source, variant, stations: 512, job }.run_adding(bench, ceilings)?;
    }
    Ok(())
}

/// A size and a kernel.
struct Case<'a> {
    kernels: &'a FloatKernels,
    source: &'a Source<f32>,
    variant: Variant,
    stations: usize,
    job: FloatJob,
}

/// Sums that kernels write.
trait Sum: bytemuck::Pod {
    fn wide(self) -> Complex<f64>;
}

impl Sum for Complex<f32> {
    fn wide(self) -> Complex<f64> {
        Complex::new(self.re.into(), self.im.into())
    }
}

impl Sum for Complex<f64> {
    fn wide(self) -> Complex<f64> {
        self
    }
}

impl Case<'_> {
    fn run(&self, bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
        self.time::<Complex<f32>>(bench, ceilings, self.variant.kernel(), 1, |stream, rows, sums| {
            let rows = rows.cast::<u8>()?;
            self.kernels.correlate(stream, self.variant, &self.job, rows, &mut sums.view_mut())
        })
    }

    fn run_adding(&self, bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
        self.time::<Complex<f64>>(bench, ceilings, self.variant.adding_kernel(), 2, |stream, rows, sums| {
            let rows = rows.cast::<u8>()?;
            self.kernels.accumulate(stream, self.variant, &self.job, rows, &mut sums.view_mut())
        })
    }

    fn time<S: Sum>(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        kernel: &'static str,
        moves: usize,
        launch: impl Fn(&Stream, BufferView<'_, f32>, &mut Buffer<S>) -> Result<(), CorrelatorError>,
    ) -> Result<(), End> {
        let job = self.job;
        let (values, count) = (job.row_bytes() / 4, copies(&bench.device, job.row_bytes()));
        let needed = 4 * values * count + job.visibilities() * size_of::<S>();
        let variant = match job.parts {
            1 => format!("{} dual-pol stations", self.stations),
            parts => format!("{} dual-pol stations, {parts} parts", self.stations),
        };
        if !bench.wants(kernel) || !bench.fits(&format!("{kernel}, {variant}"), needed)? {
            return Ok(());
        }
        let stream = bench.stream.clone();
        let rows = self.source.buffer(&bench.device, &stream, values * count)?;
        let mut sums = Buffer::<S>::zeroed(&stream, job.visibilities())?;
        launch(&stream, rows.slice(..values)?, &mut sums).map_err(End::failed)?;
        let check = self.check(&stream, &rows, &sums, moves == 2)?;
        let timing = bench.time(|run| {
            let start = run % count * values;
            launch(&stream, rows.slice(start..start + values)?, &mut sums)
        });
        let bytes = job.row_bytes() + moves * job.visibilities() * size_of::<S>();
        bench.add(Measured {
            kernel,
            variant,
            params: params([("channels", job.channels), ("inputs", job.inputs), ("times", job.times)]),
            timing: timing.map_err(End::failed)?,
            work: job.operations(),
            unit: "useful TOPS",
            bound: Some(self.bound(bench, ceilings.bytes(bytes as f64))),
            check,
        });
        Ok(())
    }

    /// Bytes that must move, or products that are computed, at what the arithmetic units can do at the highest clock.
    fn bound(&self, bench: &Bench, bytes: Bound) -> Bound {
        let info = bench.device.info();
        let products = match (self.variant, info.compute_capability) {
            (Variant::Plain, (8, 0)) => 64.0,
            (Variant::Plain, _) => 128.0,
            (Variant::Mma, (9, 0)) => 1024.0 / 1.53 / 3.0, // m16n8k8 as measured
            (Variant::Wgmma, _) => 1024.0 / 3.0,
            (_, (8, 0)) => 512.0 / 3.0,
            _ => return bytes,
        };
        let per_ms = 2.0 * products * f64::from(info.multiprocessors) * f64::from(info.clock_khz);
        let computed = self.job.computed(self.variant);
        let time_ms = computed / per_ms;
        let useful = 100.0 * self.job.operations() / computed;
        let by = format!("products at {:.0} TFLOP/s, {useful:.0}% of them useful", per_ms / 1e9);
        if bytes.time_ms > time_ms { bytes } else { Bound { time_ms, by } }
    }

    /// Compares visibilities of the first and the last channel with sums in f64.
    fn check<S: Sum>(
        &self,
        stream: &Stream,
        rows: &Buffer<f32>,
        sums: &Buffer<S>,
        adding: bool,
    ) -> Result<String, End> {
        let job = self.job;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let (values, baselines) = (job.blocks * job.inputs * 32, job.baselines());
        // Sums of noise within eight standard deviations, and the bias of tensor cores.
        let limit = 8.0 * job.deviation(self.variant, adding) + if self.variant == Variant::Plain { 0.0 } else { 5e-7 };
        let mut worst = 0.0f64;
        for channel in [0, job.channels - 1] {
            let rows = rows.slice(channel * values..(channel + 1) * values)?.to_vec(stream)?;
            let mut parts = Vec::new();
            for part in 0..job.parts {
                let first = (part * job.channels + channel) * baselines;
                parts.push(sums.slice(first..first + baselines)?.to_vec(stream)?);
            }
            for index in 0..CHECKED {
                let (a, b) = match index {
                    0 => (0, 0),
                    1 => (job.inputs - 1, 0),
                    2 => (job.inputs - 1, job.inputs - 1),
                    _ => {
                        let a = random.random_range(0..job.inputs);
                        (a, random.random_range(0..=a))
                    }
                };
                let expected = self.sum(&rows, a, b);
                let scale = (self.sum(&rows, a, a).re * self.sum(&rows, b, b).re).sqrt();
                let actual: Complex<f64> = parts.iter().map(|sums| sums[a * (a + 1) / 2 + b].wide()).sum();
                let error = (actual - expected).norm() / scale;
                if error.is_nan() || error > limit {
                    let what = format!("V[{a}][{b}] of channel {channel}: expected {expected}, got {actual}");
                    let line = format!("{} inputs: {what}, {error:.1e} above {limit:.1e}", job.inputs);
                    return Err(End::failed(line));
                }
                worst = worst.max(error);
            }
        }
        Ok(format!("{} visibilities, sums in f64: |dV| <= {worst:.1e} sqrt(V_aa V_bb)", 2 * CHECKED))
    }

    /// One visibility of a channel's rows.
    fn sum(&self, rows: &[f32], a: usize, b: usize) -> Complex<f64> {
        let row = |block: usize, input: usize| {
            let start = (block * self.job.inputs + input) * 32;
            rows[start..start + 32].chunks_exact(2).map(|pair| Complex::new(f64::from(pair[0]), f64::from(pair[1])))
        };
        let products = (0..self.job.blocks).flat_map(|block| row(block, a).zip(row(block, b)));
        products.take(self.job.times).map(|(a, b)| a * b.conj()).sum()
    }
}
