//! The correlation kernels for sm_90a (TMA and `wgmma`), every tile that takes the inputs; the one that is taken is
//! marked.
//!
//! Rates are useful: 8 operations for each baseline (`a >= b`) and time. The variant also says
//! - `raw`: what the tensor cores multiply, needed or not ([`Tile::computed_pairs`]);
//! - `norm`: what the xGPU paper calls normalised, the rate of the same time if tiles on the diagonal were computed
//!   whole: useful times `2 (N + RT) / (2 N + 1)` for `N` stations, tiles of `RT` stations a side.

use fringes::correlator::internals::mma::{Format, Order};
use fringes::correlator::internals::wgmma::{Tile, WgmmaJob, WgmmaKernel, WgmmaSamples};
use fringes_gpu::{Buffer, BufferView, KernelElement, Stream};

use crate::bench::ceilings::Ceilings;
use crate::bench::correlator_samples::{Case, Part, SPECTRA, piece};
use crate::bench::timing::{Bench, Bound, Measured, copies};
use crate::end::End;
use crate::gpu_report::params;

/// Stations, channels and times of every format.
const SIZES: [[usize; 3]; 6] =
    [[32, 2048, 4096], [64, 1024, 4096], [128, 512, 4096], [256, 256, 4096], [512, 128, 4096], [1024, 64, 4096]];

/// Of 8-bit samples alone.
const MORE_I8: [[usize; 3]; 1] = [[512, 64, 16384]];

/// Few channels: several numbers of parts are tried, of 8-bit samples.
const FEW_I8: [[usize; 3]; 1] = [[64, 64, 4096]];

/// Stations, channels, and times in heaps of 256 spectra: several numbers of parts are tried of the first.
const HEAP_SIZES: [[usize; 3]; 2] = [[80, 64, 32 * SPECTRA], [512, 128, 16 * SPECTRA]];

/// Parts that are tried.
const PARTS: [usize; 3] = [1, 2, 4];

/// Operations of 8-bit products a cycle and multiprocessor: `wgmma` of 64 x 128 x 32 takes 64 cycles.
const OPERATIONS_PER_CYCLE: f64 = 8192.0;

/// Names of the kernels that overwrite and of those that add: rows, heaps.
fn names(format: Format) -> [[&'static str; 2]; 2] {
    match format {
        Format::I4 => [
            ["correlate_wgmma_i4", "correlate_wgmma_i4_add"],
            ["correlate_wgmma_heaps_i4", "correlate_wgmma_heaps_i4_add"],
        ],
        Format::I8 => [
            ["correlate_wgmma_i8", "correlate_wgmma_i8_add"],
            ["correlate_wgmma_heaps_i8", "correlate_wgmma_heaps_i8_add"],
        ],
        Format::F16 => [
            ["correlate_wgmma_f16", "correlate_wgmma_f16_add"],
            ["correlate_wgmma_heaps_f16", "correlate_wgmma_heaps_f16_add"],
        ],
    }
}

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    for format in Format::ALL {
        let [rows, heaps] = names(format);
        if !rows.iter().chain(&heaps).any(|name| bench.wants(name)) {
            continue;
        }
        if !WgmmaKernel::runs_on(&bench.device) {
            let (major, minor) = bench.device.info().compute_capability;
            println!(
                "correlate_wgmma_*: skipped, compute capability {major}.{minor} has no wgmma, which 9.0 alone has"
            );
            return Ok(());
        }
        let piece = piece(format);
        let (more, few) = if format == Format::I8 { (&MORE_I8[..], &FEW_I8[..]) } else { (&[][..], &[][..]) };
        let sizes =
            SIZES.iter().chain(more).map(|size| (size, &PARTS[..1])).chain(few.iter().map(|size| (size, &PARTS[..])));
        for (&[stations, channels, times], parts) in sizes {
            let case = Case { format, order: Order::Rows, stations, channels, times };
            Sweep { case, ceilings, piece: &piece, parts }.both(bench, rows)?;
        }
        for (index, [stations, channels, times]) in HEAP_SIZES.into_iter().enumerate() {
            let parts = match (index, format) {
                (0, Format::F16) => &PARTS[1..2],
                (0, _) => &PARTS[..],
                _ => &PARTS[..1],
            };
            let case = Case { format, order: Order::DualHeaps, stations, channels, times };
            Sweep { case, ceilings, piece: &piece, parts }.both(bench, heaps)?;
        }
    }
    Ok(())
}

/// A size, and how it is timed.
struct Sweep<'a> {
    case: Case,
    ceilings: &'a Ceilings,
    piece: &'a [u8],
    parts: &'a [usize],
}

impl Sweep<'_> {
    fn both(&self, bench: &mut Bench, [over, add]: [&'static str; 2]) -> Result<(), End> {
        if self.case.format == Format::F16 {
            self.run::<f32>(bench, over, false)?;
            self.run::<f64>(bench, add, true)
        } else {
            self.run::<i32>(bench, over, false)?;
            self.run::<i32>(bench, add, true)
        }
    }

    /// Every kernel that takes the inputs.
    fn run<P: Part>(&self, bench: &mut Bench, name: &'static str, adds: bool) -> Result<(), End>
    where
        [P; 2]: KernelElement,
    {
        let case = self.case;
        let (bytes, matrices) = (case.bytes(), case.channels * case.baselines());
        let most = self.parts.iter().copied().max().unwrap_or(1);
        let count = copies(&bench.device, bytes);
        let what = format!("{name}, {} stations", case.stations);
        if !bench.wants(name) || !bench.fits(&what, bytes * count + most * matrices * size_of::<[P; 2]>())? {
            return Ok(());
        }
        let stream = bench.stream.clone();
        let samples = case.samples(bench, self.piece, count)?;
        let host = samples.slice(..bytes)?.to_vec(&stream)?;
        let chosen = WgmmaKernel::choose(case.format, case.order, case.inputs());
        for kernel in WgmmaKernel::all(case.format, case.order, case.inputs()) {
            let entry = kernel.load(&bench.device, adds).map_err(End::failed)?;
            for &parts in self.parts {
                let job = self.job(parts);
                let mut sums = Buffer::<[P; 2]>::zeroed(&stream, parts * matrices)?;
                let launch = |stream: &Stream, samples: BufferView<'_, u8>, sums: &mut Buffer<[P; 2]>| {
                    job.launch(stream, kernel, &entry, samples, sums.view_mut())
                };
                launch(&stream, samples.slice(..bytes)?, &mut sums).map_err(End::failed)?;
                let check = case.check(&stream, &host, &sums, parts)?;
                let timing = bench.time(|run| {
                    let start = run % count * bytes;
                    launch(&stream, samples.slice(start..start + bytes)?, &mut sums)
                });
                let timing = timing.map_err(End::failed)?;
                let [raw, norm] = self.whole(kernel.tile()).map(|operations| operations / timing.median_ms / 1e9);
                let (stations, tile) = (case.stations, kernel.tile().name());
                let mark = if kernel == chosen { " *" } else { "" };
                let moved = if adds { 2 } else { 1 } * size_of::<[P; 2]>();
                let bound = self.bound(bench, kernel.tile(), parts * moved);
                bench.add(Measured {
                    kernel: name,
                    variant: format!("{stations} {tile} parts {parts}{mark} raw {raw:.0} norm {norm:.0}"),
                    params: params([("channels", case.channels), ("inputs", case.inputs()), ("times", case.times)]),
                    timing,
                    work: case.operations(),
                    unit: "useful TOPS",
                    bound: Some(bound),
                    check,
                });
            }
        }
        Ok(())
    }

    fn job(&self, parts: usize) -> WgmmaJob {
        let Case { format, order, channels, times, .. } = self.case;
        let samples = match order {
            Order::Rows => WgmmaSamples::Rows { blocks: times / format.row_times(), times: 0..times },
            _ => {
                let batches = times / SPECTRA;
                WgmmaSamples::Heaps { batches, spectra: SPECTRA, range: 0..batches }
            }
        };
        WgmmaJob { channels, inputs: self.case.inputs(), samples, parts }
    }

    /// Operations that are computed, and those of whole tiles on the diagonal.
    fn whole(&self, tile: Tile) -> [f64; 2] {
        let case = self.case;
        let (stations, side) = (case.stations as f64, (tile.side() / 2) as f64);
        let raw = 8.0 * (tile.computed_pairs(case.inputs()) * case.channels) as f64 * case.times as f64;
        [raw, case.operations() * 2.0 * (stations + side) / (2.0 * stations + 1.0)]
    }

    /// Bytes that must move, or products that are computed at the highest clock; f16 products take twice as long.
    fn bound(&self, bench: &Bench, tile: Tile, moved: usize) -> Bound {
        let (case, info) = (self.case, bench.device.info());
        let bytes = self.ceilings.bytes((case.bytes() + case.channels * case.baselines() * moved) as f64);
        let slow = if case.format == Format::F16 { 2.0 } else { 1.0 };
        let per_ms = OPERATIONS_PER_CYCLE / slow * f64::from(info.multiprocessors) * f64::from(info.clock_khz);
        let [computed, _] = self.whole(tile);
        let by = format!(
            "wgmma at {:.0} TOPS (highest clock), {:.0}% of them useful",
            per_ms / 1e9,
            100.0 * case.operations() / computed
        );
        let products = Bound { time_ms: computed / per_ms, by };
        if bytes.time_ms > products.time_ms { bytes } else { products }
    }
}
