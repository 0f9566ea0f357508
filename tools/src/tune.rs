//! Measures every kernel of the correlator that may be best, and every number of parts that time may be divided in, at
//! many sizes, and compares with the committed table or rewrites it.
//!
//! ```text
//! cargo run --release -p fringes-tools -- tune              # what is fastest, and what table and rule would choose
//! cargo run --release -p fringes-tools -- tune --check      # status 1 if the table's choice is slower by a tenth
//! cargo run --release -p fringes-tools -- tune --write      # rewrites crates/correlator/tuning/correlate.txt
//! fringes-tools tune --write --table copy.txt --within 100  # where there is no cargo: a copy, within 100 seconds
//! ```
//!
//! Exit status: 0, 1 if a check fails or the GPU does, 2 for bad arguments, 3 if there is no GPU.

use fringes::backend::DeviceError;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::end::End;
use crate::gpu_report::{GpuArguments, Record, Row, params};
use fringes::correlator::internals::{Measured, OPERATIONS, sweep};
use fringes::{Complex, Complex4, Inputs, VoltageSample, f16};
use fringes_gpu::tuning::{DeviceKey, Entry, Table};
use fringes_gpu::{Device, GpuError};

/// The committed table.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/correlator/tuning/correlate.txt");

/// How much slower than the fastest the table's choice may be: two measurements of one kernel differ by less.
const TOLERANCE: f64 = 1.10;

/// Measure the correlator's kernels at many sizes. Exit status 0, 1 if a check fails, 3 no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// Fail if the table's choice is slower than the fastest by more than a tenth, or the table has none.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Rewrite the table's section of this device.
    #[arg(long)]
    write: bool,
    /// The table.
    #[arg(long, value_name = "PATH", default_value = TABLE)]
    table: PathBuf,
    /// Few sizes alone.
    #[arg(long)]
    quick: bool,
    /// Begin no size later than so many seconds after the start; what was measured by then counts.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    within: u64,
}

/// A size: antennas, polarisations, channels, times; batches of heaps, or none for rows.
type Size = (usize, usize, usize, usize, Option<usize>);

/// Sizes of telescopes: enough that every other is near one of them.
fn sizes(quick: bool) -> Vec<Size> {
    let mut sizes = Vec::new();
    for antennas in [8, 16, 32, 64, 80, 128, 256, 512, 1024] {
        for channels in [1, 4, 16, 64, 256, 1024, 2048] {
            for times in [1024, 4096, 16384] {
                // What takes a few milliseconds at most, and fits the memory.
                let samples = antennas * 2 * channels * times;
                let products = antennas * antennas * channels * times;
                if samples <= 1 << 29 && products <= 1 << 38 {
                    sizes.push((antennas, 2, channels, times, None));
                    sizes.push((antennas, 2, channels, times, Some(times / 256)));
                    if antennas <= 64 && times == 4096 {
                        sizes.push((antennas, 1, channels, times, Some(times / 256)));
                    }
                }
            }
        }
    }
    if quick { sizes.into_iter().step_by(40).collect() } else { sizes }
}

/// What is measured, and where it goes.
struct Tuning {
    device: Device,
    key: DeviceKey,
    table: Table,
    record: Record,
    entries: Vec<Entry>,
    /// Sizes at which the table has no choice or a slow one.
    slow: usize,
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let device = arguments.gpu.open()?;
    let failed = |path: &Path, error: &dyn std::fmt::Display| End::failed(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(&arguments.table).map_err(|error| failed(&arguments.table, &error))?;
    let table = Table::parse(&text).map_err(|error| failed(&arguments.table, &error))?;
    println!("{}", device.info());
    let (key, record) = (DeviceKey::of(device.info()), Record::new(&device));
    let mut tuning = Tuning { device, key, table, record, entries: Vec::new(), slow: 0 };
    let (start, sizes) = (Instant::now(), sizes(arguments.quick));
    for (number, &size) in sizes.iter().enumerate() {
        if start.elapsed().as_secs() >= arguments.within {
            println!("{} of {} sizes measured within {} s", number, sizes.len(), arguments.within);
            break;
        }
        tuning.size::<Complex4>(size)?;
        tuning.size::<Complex<i8>>(size)?;
        tuning.size::<Complex<f16>>(size)?;
        if size.4.is_none() {
            // Heaps of f32 become rows.
            tuning.size::<Complex<f32>>(size)?;
        }
    }
    tuning.record.write(arguments.gpu.json.as_deref())?;
    let Tuning { key, mut table, entries, slow, .. } = tuning;
    if arguments.write {
        let number = entries.len();
        table.replace(&key, &OPERATIONS, entries);
        let comments: String =
            text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        std::fs::write(&arguments.table, format!("{comments}{table}"))
            .map_err(|error| failed(&arguments.table, &error))?;
        println!("{number} entries written to {}", arguments.table.display());
    }
    if arguments.check && slow > 0 {
        return Err(End::failed(format!(
            "at {slow} sizes the table has no choice, or one slower than the fastest by a tenth"
        )));
    }
    Ok(())
}

impl Tuning {
    fn size<V: VoltageSample>(&mut self, (antennas, pols, channels, times, batches): Size) -> Result<(), End> {
        let inputs = Inputs::new(antennas, pols).map_err(End::failed)?;
        let measured = sweep::<V>(&self.device, inputs, channels, times, batches).map_err(|error| match error {
            fringes::CorrelatorError::Device(DeviceError::Gpu(error)) => End::from(GpuError::clone(&error)),
            error => End::failed(error),
        })?;
        let Some(best) = measured.first() else { return Ok(()) };
        let Measured { operation, sizes, choice, median_ms } = best;
        let known = self.table.find(&self.key, operation, sizes);
        let table = known.and_then(|known| measured.iter().find(|candidate| candidate.choice == *known));
        let note = match measured.get(1) {
            Some(next) => format!("{median_ms:.4} ms; next {} {:.4} ms", next.choice, next.median_ms),
            None => format!("{median_ms:.4} ms"),
        };
        let of_table = table.map_or("none".into(), |table| format!("{} {:.4} ms", table.choice, table.median_ms));
        println!("{operation} {sizes} -> {choice} # {note}; table: {of_table}");
        self.slow += usize::from(table.is_none_or(|table| table.median_ms > TOLERANCE * median_ms));
        let baselines = inputs.triangle_len();
        self.record.rows.push(Row {
            kernel: "tune",
            variant: format!("{operation} {choice}"),
            params: params([("channels", channels), ("inputs", inputs.len()), ("times", times)]),
            time_ms: *median_ms,
            value: 8.0 * (channels * baselines) as f64 * times as f64 / median_ms / 1e9,
            unit: "useful TOPS",
            floor: None,
            bound_by: String::new(),
            check: format!("not compared here; table: {of_table}"),
            energy: None,
        });
        let (kernel, sizes, choice) = (operation.clone(), sizes.clone(), choice.clone());
        self.entries.push(Entry { kernel, sizes, choice, note });
        Ok(())
    }
}
