//! The sizes of the paper's figures, and their measurement.

use std::path::Path;

use fringes_gpu::{Buffer, Device, PinnedBuffer};

use crate::end::End;
use crate::gpu_report::{self, Record, Row};
use crate::xengine::engine::{Engine, engines};
use crate::xengine::integrated::{CHUNKS, Integrated};
use crate::xengine::record::{Size, variant};

/// Integration length of Figures 4 and 5.
const TIMES: usize = 1024;
/// Channels of Figure 4.
const TRANSFER_CHANNELS: usize = 128;
/// Channels of the curves of Figure 5.
const CHANNELS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// Stations of the curves of Figure 6.
const STATIONS: [usize; 4] = [32, 128, 512, 2048];
/// Channels times times of Figure 6.
const VOLUME: usize = 16384;
/// Stations of the whole X-engine, at [`TRANSFER_CHANNELS`] and [`TIMES`] a chunk.
const INTEGRATED: [usize; 5] = [32, 64, 128, 256, 512];
/// Number of its picture, which the paper does not have.
pub(crate) const INTEGRATED_FIGURE: usize = 7;
/// Milliseconds of timed runs of a size, if two runs do not take longer.
const LONGEST_MS: f64 = 250.0;
/// Share of the free memory that a size may take.
const MEMORY: f64 = 0.8;

/// Stations of Figures 4 and 5.
fn stations(quick: bool) -> Vec<usize> {
    if quick { vec![32, 128] } else { (4..=11).map(|power| 1 << power).collect() }
}

/// Measures everything, or the whole X-engine alone, printing a line each.
pub(crate) fn run(device: Device, quick: bool, integrated: bool, path: &Path) -> Result<Record, End> {
    println!("{}\ndriver {}\n", device.info(), gpu_report::driver(device.info().driver_version));
    println!(
        "{:<26} {:<24} {:>6} {:>8} {:>8} {:>6} {:>10} {:>9} {:>9} {:>10}",
        "kernel", "what", "figure", "stations", "channels", "times", "ms", "useful", "raw", "normalised"
    );
    let mut sweep = Sweep { record: Record::new(&device).kept_in(Some(path))?, device, quick };
    for engine in if integrated { Vec::new() } else { engines(&sweep.device)? } {
        sweep.engine(engine.as_ref())?;
    }
    sweep.integrated()?;
    Ok(sweep.record)
}

struct Sweep {
    device: Device,
    record: Record,
    quick: bool,
}

impl Sweep {
    fn engine(&mut self, engine: &dyn Engine) -> Result<(), End> {
        for stations in stations(self.quick) {
            let size = Size { stations, channels: TRANSFER_CHANNELS, times: TIMES };
            if self.fits(engine, size)? {
                self.kernel(engine, 4, size, true)?;
                self.transfer(engine, size)?;
            }
        }
        let channels = if self.quick { &CHANNELS[2..4] } else { &CHANNELS };
        for &channels in channels {
            for stations in stations(self.quick) {
                let size = Size { stations, channels, times: TIMES };
                if self.fits(engine, size)? {
                    self.kernel(engine, 5, size, true)?;
                    if engine.can_leave_out_output() {
                        self.kernel(engine, 5, size, false)?;
                    }
                }
            }
        }
        for stations in if self.quick { &STATIONS[..2] } else { &STATIONS } {
            let mut channels = 1;
            while channels <= VOLUME / 16 {
                let size = Size { stations: *stations, channels, times: VOLUME / channels };
                if self.fits(engine, size)? {
                    self.kernel(engine, 6, size, true)?;
                    if engine.can_leave_out_output() {
                        self.kernel(engine, 6, size, false)?;
                    }
                }
                channels *= if self.quick { 8 } else { 2 };
            }
        }
        Ok(())
    }

    fn fits(&self, engine: &dyn Engine, size: Size) -> Result<bool, End> {
        let needed = engine.row_bytes(size) + engine.sum_bytes(size);
        Ok(needed as f64 <= MEMORY * self.device.memory()?.free_bytes as f64)
    }

    /// Times the kernel.
    fn kernel(&mut self, engine: &dyn Engine, figure: usize, size: Size, output: bool) -> Result<(), End> {
        let mut work = engine.prepare(&self.device, size)?;
        let stream = work.stream().clone();
        let first = fringes_gpu::time(&stream, 1, 1, |_| work.run(output)).map_err(End::failed)?;
        // Long ones differ little from run to run.
        let most = if self.quick { 10 } else { 20 };
        let runs = ((LONGEST_MS / first.median_ms.max(1e-3)) as usize).clamp(2, most);
        let timing = fringes_gpu::time(&stream, 0, runs, |_| work.run(output)).map_err(End::failed)?;
        work.check().map_err(End::failed)?;
        let what = if output { variant::KERNEL } else { variant::NO_OUTPUT };
        let computed = work.computed_pairs();
        self.add(engine, figure, size, what, computed, timing.median_ms);
        Ok(())
    }

    /// Times the transfer of the voltages from pinned memory.
    fn transfer(&mut self, engine: &dyn Engine, size: Size) -> Result<(), End> {
        // More than this changes nothing but the time that it takes.
        const MOST: usize = 1 << 30;
        let bytes = engine.row_bytes(size);
        let copied = bytes.min(MOST);
        let stream = self.device.new_stream()?;
        let host = PinnedBuffer::<u8>::zeroed(&self.device, copied)?;
        let mut target = Buffer::<u8>::alloc(&self.device, copied)?;
        let timing = fringes_gpu::time(&stream, 1, 10, |_| target.view_mut().copy_from_pinned(&stream, &host, ..))?;
        let time_ms = timing.median_ms * bytes as f64 / copied as f64;
        self.add(engine, 4, size, variant::TRANSFER, 0, time_ms);
        Ok(())
    }

    /// Measures the whole X-engine for 8-bit voltages from pinned memory.
    fn integrated(&mut self) -> Result<(), End> {
        let whole = Integrated::new(&self.device)?;
        for &stations in if self.quick { &INTEGRATED[..2] } else { &INTEGRATED[..] } {
            let size = Size { stations, channels: TRANSFER_CHANNELS, times: TIMES };
            if !whole.fits(size)? {
                continue;
            }
            let times = whole.measure(size, if self.quick { 1 } else { 3 })?;
            let rate = |time_ms: f64| size.operations() / time_ms / 1e9;
            let link = Integrated::chunk_bytes(size) as f64 / times.copy_ms / 1e6;
            let (dump, chunk) = (Integrated::dump_bytes(size), Integrated::chunk_bytes(size));
            let link_out = dump as f64 / CHUNKS as f64 / times.out_ms / 1e6;
            // The link has both directions at once.
            let bound_ms = times.copy_ms.max(times.kernel_ms).max(times.out_ms);
            let bound_by = if times.copy_ms == bound_ms {
                format!("copies from the host at {link:.1} GB/s")
            } else if times.out_ms == bound_ms {
                format!("copies to the host at {link_out:.1} GB/s")
            } else {
                "the kernel".into()
            };
            // What goes over the link while all of it runs.
            let (into, out) = (chunk as f64 / times.all_ms / 1e6, dump as f64 / CHUNKS as f64 / times.all_ms / 1e6);
            println!(
                "{:<26} {:<24} {INTEGRATED_FIGURE:>6} {stations:>8} {:>8} {:>6} {:>10.4} {:>9.2}; {:.1} % of {bound_by} ({:.4} ms a copy, {:.4} ms a kernel, {:.4} ms its share of a dump; {into:.1} GB/s in, {out:.1} GB/s out)",
                "correlate_i8_add",
                variant::INTEGRATED,
                size.channels,
                size.times,
                times.all_ms,
                rate(times.all_ms),
                100.0 * bound_ms / times.all_ms,
                times.copy_ms,
                times.kernel_ms,
                times.out_ms,
            );
            let check = "an autocorrelation of every run's last integration equals its sum on the host".to_string();
            let mut row = |variant: &str, time_ms: f64, value, unit, floor, bound_by: &str| {
                self.record.push(Row {
                    kernel: "correlate_i8_add",
                    variant: variant.into(),
                    params: size.params(INTEGRATED_FIGURE, size.baselines(), 64),
                    time_ms,
                    value,
                    unit,
                    floor,
                    bound_by: bound_by.into(),
                    check: check.clone(),
                    energy: None,
                });
            };
            row(variant::KERNEL, times.kernel_ms, rate(times.kernel_ms), "useful TOPS", None, "");
            row(variant::TRANSFER, times.copy_ms, link, "GB/s", None, "");
            row(variant::OUT, times.out_ms, link_out, "GB/s", None, "a chunk's share of a dump");
            let bound_by = format!(
                "{bound_by}; a dump every {CHUNKS} chunks; {into:.1} GB/s from the host and {out:.1} GB/s to it at once"
            );
            row(variant::INTEGRATED, times.all_ms, rate(times.all_ms), "useful TOPS", Some(rate(bound_ms)), &bound_by);
        }
        Ok(())
    }

    fn add(
        &mut self,
        engine: &dyn Engine,
        figure: usize,
        size: Size,
        what: &'static str,
        computed: usize,
        time_ms: f64,
    ) {
        let transfer = what == variant::TRANSFER;
        let value =
            if transfer { engine.row_bytes(size) as f64 / time_ms / 1e6 } else { size.operations() / time_ms / 1e9 };
        let (stations, tile) = (size.stations as f64, engine.tile_stations() as f64);
        let rates = if transfer {
            format!("{value:>9.2} GB/s")
        } else {
            let raw = value * computed as f64 / size.baselines() as f64;
            let normalised = value * 2.0 * (stations + tile) / (2.0 * stations + 1.0);
            format!("{value:>9.2} {raw:>9.2} {normalised:>10.2}")
        };
        let Size { stations, channels, times } = size;
        println!(
            "{:<26} {what:<24} {figure:>6} {stations:>8} {channels:>8} {times:>6} {time_ms:>10.4} {rates}",
            engine.name()
        );
        self.record.push(Row {
            kernel: engine.name(),
            variant: what.into(),
            params: size.params(figure, computed, engine.tile_stations()),
            time_ms,
            value,
            unit: if transfer { "GB/s" } else { "useful TOPS" },
            floor: None,
            bound_by: String::new(),
            check: "sums are finite and not all zero; values are held to their bounds by validate".into(),
            energy: None,
        });
    }
}
