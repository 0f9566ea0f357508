//! Measures what may be fastest of an operation at many sizes, and compares with the committed table or rewrites it.
//!
//! ```text
//! cargo run --release -p fringes-tools -- tune              # what is fastest, and what table and rule would choose
//! cargo run --release -p fringes-tools -- tune --check      # status 1 if the table's choice is slower by a tenth
//! cargo run --release -p fringes-tools -- tune --write      # rewrites crates/correlator/tuning/correlate.txt
//! cargo run --release -p fringes-tools -- tune --of f-engine --write    # crates/channelizer/tuning/f_engine.txt
//! fringes-tools tune --write --table copy.txt --within 100  # where there is no cargo: a copy, within 100 seconds
//! ```
//!
//! Exit status: 0, 1 if a check fails or the GPU does, 2 for bad arguments, 3 if there is no GPU.

mod correlator;
mod f_engine;

use std::path::{Path, PathBuf};

use fringes::Precision;
use fringes::channelizer::internals::launches::operation;
use fringes::correlator::internals::OPERATIONS;
use fringes_gpu::Device;
use fringes_gpu::tuning::{Choice, DeviceKey, Entry, Sizes, Table};

use crate::end::End;
use crate::gpu_report::{GpuArguments, Record};

/// How much slower than the fastest the table's choice may be: two measurements of one kernel differ by less.
const TOLERANCE: f64 = 1.10;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Of {
    /// The correlator's kernels, and parts of the time.
    Correlator,
    /// What the F-engine's passes have between them.
    FEngine,
}

impl Of {
    /// The committed table.
    fn table(self) -> &'static str {
        match self {
            Self::Correlator => concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/correlator/tuning/correlate.txt"),
            Self::FEngine => concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/channelizer/tuning/f_engine.txt"),
        }
    }

    /// What its table has.
    fn operations(self) -> Vec<&'static str> {
        match self {
            Self::Correlator => OPERATIONS.to_vec(),
            Self::FEngine => [Precision::Single, Precision::Half].map(operation).to_vec(),
        }
    }
}

/// Measure what is fastest at many sizes. Exit status 0, 1 if a check fails, 3 no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// What is measured.
    #[arg(long, value_enum, default_value_t = Of::Correlator)]
    of: Of,
    /// Fail if the table's choice is slower than the fastest by more than a tenth, or the table has none.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Rewrite the table's section of this device.
    #[arg(long)]
    write: bool,
    /// The table, in place of the committed one.
    #[arg(long, value_name = "PATH")]
    table: Option<PathBuf>,
    /// Few sizes alone.
    #[arg(long)]
    quick: bool,
    /// Begin no size of the correlator later than so many seconds after the start; what was measured by then counts.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    within: u64,
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
    let path = arguments.table.clone().unwrap_or_else(|| arguments.of.table().into());
    let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    let table = Table::parse(&text).map_err(|error| failed(&path, &error))?;
    println!("{}", device.info());
    let (key, record) = (DeviceKey::of(device.info()), Record::new(&device).kept_in(arguments.gpu.json.as_deref())?);
    let mut tuning = Tuning { device, key, table, record, entries: Vec::new(), slow: 0 };
    match arguments.of {
        Of::Correlator => correlator::run(&mut tuning, arguments)?,
        Of::FEngine => f_engine::run(&mut tuning, arguments)?,
    }
    tuning.record.finish()?;
    let Tuning { key, mut table, entries, slow, .. } = tuning;
    if arguments.write {
        let number = entries.len();
        table.replace(&key, &arguments.of.operations(), entries);
        let comments: String =
            text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, format!("{comments}{table}")).map_err(|error| failed(&path, &error))?;
        println!("{number} entries written to {}", path.display());
    }
    if arguments.check && slow > 0 {
        return Err(End::failed(format!(
            "at {slow} sizes the table has no choice, or one slower than the fastest by a tenth"
        )));
    }
    Ok(())
}

impl Tuning {
    /// Notes and prints what was found of an operation at a size: the best, the next, and what the table has, each with
    /// milliseconds. What the table has, in words.
    fn found(
        &mut self,
        (operation, sizes): (&str, &Sizes),
        (choice, best_ms): (&Choice, f64),
        next: Option<(&Choice, f64)>,
        of_table: Option<(&Choice, f64)>,
    ) -> String {
        let note = match next {
            Some((next, next_ms)) => format!("{best_ms:.4} ms; next {next} {next_ms:.4} ms"),
            None => format!("{best_ms:.4} ms"),
        };
        let table = of_table.map_or("none".into(), |(choice, ms)| format!("{choice} {ms:.4} ms"));
        println!("{operation} {sizes} -> {choice} # {note}; table: {table}");
        self.slow += usize::from(of_table.is_none_or(|(_, ms)| ms > TOLERANCE * best_ms));
        let (kernel, sizes, choice) = (operation.to_owned(), sizes.clone(), choice.clone());
        self.entries.push(Entry { kernel, sizes, choice, note });
        table
    }
}
