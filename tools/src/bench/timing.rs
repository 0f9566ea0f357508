//! A run of the program: timing, the table, the record.

use std::path::Path;

use fringes_gpu::{Device, Event, GpuError, Stream, Timing};

use crate::bench::energy::{EnergyCounter, Slices};
use crate::end::End;
use crate::gpu_report::{self, Energy, Params, Record, Row};

/// A run of the program.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    pub(crate) record: Record,
    only: Vec<String>,
    runs: usize,
}

/// What a kernel cannot be faster than.
pub(crate) struct Bound {
    /// Time that it takes at least.
    pub(crate) time_ms: f64,
    /// Why.
    pub(crate) by: String,
}

/// A kernel at a size, timed.
pub(crate) struct Measured {
    pub(crate) kernel: &'static str,
    pub(crate) variant: String,
    pub(crate) params: Params,
    pub(crate) timing: Timing,
    /// Operations or bytes of a run.
    pub(crate) work: f64,
    /// Unit of the rate: `useful TOPS`, `TOPS` or `GB/s`.
    pub(crate) unit: &'static str,
    pub(crate) bound: Option<Bound>,
    pub(crate) check: String,
}

impl Bench {
    pub(crate) fn new(device: Device, only: Vec<String>, runs: usize, json: Option<&Path>) -> Result<Self, End> {
        println!(
            "{:<16} {:<30} {:<36} {:>9} {:>7} {:>9} {:<12} {:>8} {:>5}  bound",
            "kernel", "variant", "size", "ms", "spread", "rate", "", "floor", "of it"
        );
        let (stream, record) = (device.new_stream()?, Record::new(&device).kept_in(json)?);
        Ok(Self { device, stream, record, only, runs })
    }

    /// Whether a kernel is to be timed.
    pub(crate) fn wants(&self, kernel: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == kernel)
    }

    /// Whether so much device memory is free; says so where it is not.
    pub(crate) fn fits(&self, what: &str, bytes: usize) -> Result<bool, End> {
        let free = self.device.memory()?.free_bytes;
        let fits = bytes as u64 + (64 << 20) <= free;
        if !fits {
            println!("{what}: skipped, needs {} MiB and {} are free", bytes >> 20, free >> 20);
        }
        Ok(fits)
    }

    /// Times work, warmed up for a tenth of a second. `work` gets the number of the run to rotate its buffers by.
    pub(crate) fn time<E: From<GpuError>>(&self, mut work: impl FnMut(usize) -> Result<(), E>) -> Result<Timing, E> {
        const WARM_UP_MS: f64 = 100.0;
        let once = fringes_gpu::time(&self.stream, 1, 1, &mut work)?.median_ms;
        let warmup = (WARM_UP_MS / once.max(0.01)).clamp(3.0, 200.0) as usize;
        fringes_gpu::time(&self.stream, warmup, self.runs, work)
    }

    /// Times several kinds of work in turn, one run of each after the other, so that clocks and heat are alike to all
    /// of them. The first of a round is another one each time. Warmed up together for three tenths of a second,
    /// after which the power's limit holds.
    pub(crate) fn time_in_turn<E: From<GpuError>>(
        &self,
        kinds: usize,
        mut work: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<Timing>, E> {
        const WARM_UP_MS: f64 = 300.0;
        let mut round = |first: usize| (0..kinds).try_for_each(|kind| work((first + kind) % kinds));
        let once = fringes_gpu::time(&self.stream, 1, 1, &mut round)?.median_ms;
        for number in 0..(WARM_UP_MS / once.max(0.01)).clamp(3.0, 500.0) as usize {
            round(number)?;
        }
        let mut events = Vec::new();
        for number in 0..self.runs {
            for kind in (0..kinds).map(|kind| (number + kind) % kinds) {
                let (start, end) = (self.device.new_event()?, self.device.new_event()?);
                start.record(&self.stream)?;
                work(kind)?;
                end.record(&self.stream)?;
                events.push((kind, start, end));
            }
        }
        let mut all_ms = vec![Vec::new(); kinds];
        for (kind, start, end) in &events {
            all_ms[*kind].push(end.elapsed_ms(start)?);
        }
        all_ms.into_iter().map(|all_ms| Ok(Timing::new(all_ms)?)).collect()
    }

    /// Joules of a run by the driver's counter, of work that was just timed. It is repeated in a loop of its own, for a
    /// little more than four tenths of a second as a rule. None where the machine has no such counter.
    pub(crate) fn energy<E: From<GpuError>>(
        &self,
        timing: &Timing,
        mut work: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<f64>, E> {
        let Some(counter) = EnergyCounter::of(&self.device) else { return Ok(None) };
        let (slices, mut run, mut before) = (Slices::of(timing.median_ms), 0, None::<Event>);
        let joules = counter.joules(slices, || -> Result<(), E> {
            for _ in 0..slices.runs {
                work(run)?;
                run += 1;
            }
            // Waits for the slice before, so that the device has work while the counter is read.
            let end = self.device.new_event()?;
            end.record(&self.stream)?;
            match before.replace(end) {
                Some(end) => Ok(end.synchronize()?),
                None => Ok(()),
            }
        })?;
        self.stream.synchronize()?;
        Ok(joules)
    }

    /// Prints a line, notes the row and returns the rate.
    pub(crate) fn add(&mut self, measured: Measured) -> f64 {
        self.add_with_energy(measured, None)
    }

    /// [`add`](Self::add) with the joules of a run, as [`energy`](Self::energy) gives them.
    pub(crate) fn add_with_energy(&mut self, measured: Measured, joules: Option<f64>) -> f64 {
        let Measured { kernel, variant, params, timing, work, unit, bound, check } = measured;
        let time_ms = timing.median_ms;
        let longest = timing.all_ms.iter().copied().fold(0.0, f64::max);
        let spread = 100.0 * (longest - timing.min_ms) / time_ms;
        let giga = if unit.ends_with("TOPS") { 1e9 } else { 1e6 };
        let value = work / time_ms / giga;
        let floor = bound.as_ref().map(|bound| work / bound.time_ms / giga);
        let (floor_text, share) = match floor {
            Some(floor) => (format!("{floor:.0}"), format!("{:.0}%", 100.0 * value / floor)),
            None => Default::default(),
        };
        let bound_by = bound.map_or(String::new(), |bound| bound.by);
        println!(
            "{kernel:<16} {variant:<30} {:<36} {time_ms:>9.4} {spread:>6.1}% {value:>9.1} {unit:<12} {floor_text:>8} {share:>5}  {bound_by}",
            gpu_report::line(&params)
        );
        let tera = unit.ends_with("TOPS").then_some(work / 1e12);
        let energy = joules.map(|joules| Energy {
            joules_per_run: joules,
            tops_per_watt: tera.filter(|_| joules > 0.0).map(|tera| tera / joules),
        });
        if let Some(energy) = &energy {
            println!("{:>47} {energy}", "");
        }
        self.record.push(Row { kernel, variant, params, time_ms, value, unit, floor, bound_by, check, energy });
        value
    }
}

/// How many copies of so many bytes are more than the L2 twice, and so come from memory in turn.
pub(crate) fn copies(device: &Device, bytes: usize) -> usize {
    let l2 = device.info().l2_bytes as usize;
    if bytes >= 4 * l2 { 1 } else { (2 * l2).div_ceil(bytes.max(1)) + 1 }
}
