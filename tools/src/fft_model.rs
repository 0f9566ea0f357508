//! What the FRB beamformer's first transform costs: the model of its note, equations (30) to (33), three times over.
//!
//! ```text
//! cargo run --release -p fringes-tools -- fft-model
//! cargo run --release -p fringes-tools -- fft-model --records docs/measurements
//! ```
//!
//! First with the note's own numbers for an A40 and L40S; then with the instructions that the note's transform executes
//! here, priced at the rates measured on a GPU; then with what microkernels of this repository were measured to take
//! from registers to registers. Where there is a GPU, both are measured now; otherwise they are read from the newest
//! measurement record that has them, which is named.
//!
//! Load is the part of the GPU that is busy: (SM-cycles a transform) x (transforms a second) / (SM-cycles a second that
//! the GPU has). CHIME needs 4 cylinders x 2 polarisations x 16 channels in 2.56 microseconds, 5e7 transforms a second.
//!
//! Exit status: 0, 1 if a record cannot be read or the GPU fails, 2 for bad arguments.
//!
//! Source: K. Smith, "Note on CHIME FRB beamforming", 2024.

use std::path::{Path, PathBuf};

use crate::end::End;
use crate::sm_cycles::{self, CEILINGS, Cycles, Executed, PRICED, phases, table};
use fringes_gpu::{Device, GpuError};
use fringes_kernels_tools_fft_timed::{TIMED, Timed};
use fringes_layout::plan::{Costs, Rates};

/// The FRB note's model, with its numbers, with measured rates, with measured transforms.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder of measurement records, for where there is no GPU. Without it: docs/measurements of the repository.
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Do not look for a GPU.
    #[arg(long)]
    no_gpu: bool,
}

/// A GPU's SM-cycles a second.
struct Gpu {
    name: String,
    multiprocessors: f64,
    clock_mhz: f64,
}

/// Why the program ends early.
type Failure = Box<dyn std::error::Error>;

/// A failure that names a place.
fn failure(place: impl std::fmt::Display, what: impl std::fmt::Display) -> Failure {
    format!("{place}: {what}").into()
}

/// What was measured of a transform: its name, warps an SM, SM-cycles.
type Measured = (String, u32, f64);

/// What is known of a GPU.
struct Findings {
    gpu: Gpu,
    /// Where from.
    source: String,
    rates: Rates,
    /// The fastest number of warps of each transform.
    transforms: Vec<Measured>,
}

/// Cylinders, polarisations, channels, and microseconds between two transforms of each, (31).
const CHIME: ([f64; 3], f64) = ([4.0, 2.0, 16.0], 2.56);

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    work(arguments).map_err(End::failed)
}

fn work(arguments: &Arguments) -> Result<(), Failure> {
    let rate = CHIME.0.iter().product::<f64>() / (CHIME.1 * 1e-6);
    as_published(rate);
    let findings = match device(arguments.no_gpu)? {
        Some(device) => measured(&device)?,
        None => recorded(&arguments.records.clone().unwrap_or_else(records))?,
    };
    with_rates(&findings, rate)?;
    with_transforms(&findings, rate);
    Ok(())
}

/// The repository's folder of records: that of the package or of one of the folders it lies in.
fn records() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = own.ancestors().map(|folder| folder.join("docs/measurements"));
    folders.into_iter().find(|folder| folder.is_dir()).unwrap_or_else(|| "docs/measurements".into())
}

/// The GPU, if there is one.
fn device(none: bool) -> Result<Option<Device>, Failure> {
    if none {
        return Ok(None);
    }
    match Device::best() {
        Ok(device) => Ok(Some(device)),
        Err(GpuError::NoDriver | GpuError::NoDevice { .. } | GpuError::ComputeCapability { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Gpu {
    /// Prints what (32) and (33) are for transforms of so many SM-cycles.
    fn load(&self, cycles: f64, rate: f64) {
        let available = self.multiprocessors * self.clock_mhz * 1e6;
        println!("(32)  {} SMs x {} MHz = {available:.3e} SM-cycles a second", self.multiprocessors, self.clock_mhz);
        println!(
            "(33)  {cycles:.2} SM-cycles x {rate:.2e} a second / {available:.3e} = load {:.2} %",
            self.percent(cycles, rate)
        );
    }

    fn percent(&self, cycles: f64, rate: f64) -> f64 {
        100.0 * cycles * rate / (self.multiprocessors * self.clock_mhz * 1e6)
    }
}

/// Equations (30) to (33) with the note's numbers. It counts neither selects nor unpacking.
fn as_published(rate: f64) {
    let rates = Costs::NOTE.rates;
    let counts = [
        ("m16n8k8", 8.0, rates.mma_k8),
        ("m16n8k16", 16.0, rates.mma_k16),
        ("half2", 64.0, rates.half2),
        ("shuffles", 16.0, rates.shuffle),
        ("permutes", 32.0, rates.permute),
    ];
    println!("# The note: {}\n", Costs::NOTE.name);
    let terms: Vec<String> = counts.iter().map(|(name, count, price)| format!("{count} {name} x {price}")).collect();
    let cycles = counts.iter().map(|(_, count, price)| count * price).sum();
    println!("(30)  {} = {cycles} SM-cycles", terms.join(" + "));
    let ([cylinders, pols, channels], interval) = CHIME;
    println!(
        "(31)  {cylinders} cylinders x {pols} polarisations x {channels} channels / {interval} us = {rate:.2e} transforms a second"
    );
    let l40s = Gpu { name: "L40S".into(), multiprocessors: 142.0, clock_mhz: 2100.0 };
    l40s.load(cycles, rate);
    // The note rounds the rate to 5e7 and the SM-cycles a second to 3e11.
    println!("      with the note's roundings, 5e7 and 3e11: load {:.2} %", 100.0 * cycles * 5e7 / 3e11);
}

/// The same with measured rates, and with what the note leaves out.
fn with_rates(findings: &Findings, rate: f64) -> Result<(), Failure> {
    let Findings { gpu, source, rates, .. } = findings;
    println!("\n# The note's transform at the rates of: {} ({source})\n", gpu.name);
    let published =
        [(8.0, rates.mma_k8), (16.0, rates.mma_k16), (64.0, rates.half2), (16.0, rates.shuffle), (32.0, rates.permute)];
    let cycles = published.iter().map(|(count, price)| count * price).sum();
    let terms: Vec<String> = published.iter().map(|(count, price)| format!("{count} x {price:.2}")).collect();
    println!("(30)  {} = {cycles:.2} SM-cycles", terms.join(" + "));
    gpu.load(cycles, rate);
    println!("\nPipes that can work at the same time, in SM-cycles, with selects and unpacking:\n");
    println!(
        "{:<32} {:>7} {:>7} {:>7} {:>9} {:>7} {:>8}",
        "transform", "tensor", "half2", "ALU", "exchange", "issue", "sum"
    );
    for timed in TIMED.iter().filter(|timed| timed.size == (256, 512)) {
        let mut executed = Executed::of(timed).map_err(|error| failure(timed.name, error))?;
        executed.around = 0.0; // what goes around is not the transform's
        let pipes = executed.pipes(rates).map(|(_, cycles)| cycles);
        let (sum, _) = executed.predicted(rates);
        let [tensor, half2, alu, exchange, issue] = pipes;
        println!("{:<32} {tensor:>7.2} {half2:>7.2} {alu:>7.2} {exchange:>9.2} {issue:>7.2} {sum:>8.2}", name(timed));
    }
    Ok(())
}

/// The load with what transforms take.
fn with_transforms(findings: &Findings, rate: f64) {
    let Findings { gpu, source, transforms, .. } = findings;
    println!("\n# Transforms as measured, registers to registers: {} ({source})\n", gpu.name);
    if transforms.is_empty() {
        println!("no transform is measured yet: `bench --only fft_cycles --json` makes the record");
        return;
    }
    println!("{:<32} {:>5} {:>10} {:>14} {:>12}", "transform", "warps", "SM-cycles", "transforms/s", "CHIME's load");
    for (name, warps, cycles) in transforms {
        let most = gpu.multiprocessors * gpu.clock_mhz * 1e6 / cycles;
        println!("{name:<32} {warps:>5} {cycles:>10.2} {most:>14.3e} {:>10.2} %", gpu.percent(*cycles, rate));
    }
}

fn name(timed: &Timed) -> &'static str {
    timed.name.trim_start_matches("time_")
}

/// Keeps the fastest of each name.
fn fastest(all: Vec<Measured>) -> Vec<Measured> {
    let mut fastest: Vec<Measured> = Vec::new();
    for measured in all {
        match fastest.iter_mut().find(|(name, ..)| *name == measured.0) {
            Some(best) if best.2 <= measured.2 => {}
            Some(best) => *best = measured,
            None => fastest.push(measured),
        }
    }
    fastest
}

/// Measures this GPU.
fn measured(device: &Device) -> Result<Findings, Failure> {
    const WARM_UP: usize = 10;
    let (info, stream) = (device.info(), device.new_stream()?);
    let module = device.load(&CEILINGS)?;
    let mut prices = [0.0; PRICED.len()];
    for (price, (kernel, _)) in prices.iter_mut().zip(PRICED) {
        *price = sm_cycles::price(&stream, &module.kernel(kernel)?, info.multiprocessors, WARM_UP)?;
    }
    let hopper = info.compute_capability == (9, 0);
    let mut transforms = Vec::new();
    for timed in TIMED.iter().filter(|timed| timed.size == (256, 512) && (hopper || !timed.needs_sm_90)) {
        let table = phases(timed).map_err(|error| failure(timed.name, error))?;
        let mut cycles = Cycles::new(device, &stream, timed, &table)?;
        for warps in [4, 8, 12, 16, 24, 32] {
            if cycles.holds(warps)? {
                for _ in 0..WARM_UP {
                    cycles.launch(&stream, warps)?;
                }
                transforms.push((name(timed).to_owned(), warps, cycles.of_transform(&stream, warps)?));
            }
        }
    }
    Ok(Findings {
        gpu: Gpu {
            name: info.name.clone(),
            multiprocessors: info.multiprocessors.into(),
            clock_mhz: f64::from(info.clock_khz) / 1e3,
        },
        source: "measured now".into(),
        rates: table(prices),
        transforms: fastest(transforms),
    })
}

/// A measurement record, as far as it matters here.
#[derive(Debug, serde::Deserialize)]
struct Record {
    #[serde(default)]
    gpu: String,
    #[serde(default)]
    clock_mhz: f64,
    rows: Vec<RecordRow>,
}

/// A row of it.
#[derive(Debug, serde::Deserialize)]
struct RecordRow {
    kernel: String,
    #[serde(default)]
    variant: String,
    #[serde(default)]
    params: std::collections::BTreeMap<String, serde_json::Value>,
    value: f64,
}

/// The newest record in a folder with rows of a kernel, and its name; records are named by date.
fn newest(folder: &Path, kernel: &str) -> Result<Option<(String, Record)>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| failure(folder.display(), error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    for path in paths.iter().rev() {
        let text = std::fs::read_to_string(path).map_err(|error| failure(path.display(), error))?;
        let Ok(record) = serde_json::from_str::<Record>(&text) else { continue };
        if record.rows.iter().any(|row| row.kernel == kernel) {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            return Ok(Some((name, record)));
        }
    }
    Ok(None)
}

/// What the records say.
fn recorded(folder: &Path) -> Result<Findings, Failure> {
    let lacks = || failure(folder.display(), "no record has the rates of instructions, rows `rate`");
    let (file, record) = newest(folder, "rate")?.ok_or_else(lacks)?;
    let mut prices = [0.0; PRICED.len()];
    for (price, (_, instruction)) in prices.iter_mut().zip(PRICED) {
        let row = record.rows.iter().find(|row| row.kernel == "rate" && row.variant == instruction);
        *price = row.ok_or_else(|| failure(&file, format!("no rate of {instruction}")))?.value;
    }
    let mut source = format!("no GPU here: record {file}");
    let mut transforms = Vec::new();
    if let Some((name, cycles)) = newest(folder, "fft_cycles")?.filter(|(_, cycles)| cycles.gpu == record.gpu) {
        if name != file {
            source += &format!(", transforms {name}");
        }
        let rows = cycles.rows.into_iter().filter(|row| row.kernel == "fft_cycles" && !row.variant.is_empty());
        transforms = rows
            .map(|row| {
                let warps = row.params.get("warps").and_then(serde_json::Value::as_u64).unwrap_or(0);
                (row.variant, u32::try_from(warps).unwrap_or(0), row.value)
            })
            .collect();
    }
    // Records name the GPU and its clock; how many SMs it has is in its data sheet.
    let multiprocessors = [("H200", 132.0), ("L40S", 142.0), ("A40", 84.0)];
    let known = multiprocessors.iter().find(|(name, _)| record.gpu.contains(name));
    let (_, multiprocessors) = *known.ok_or_else(|| failure(&file, format!("unknown GPU `{}`", record.gpu)))?;
    Ok(Findings {
        gpu: Gpu { name: record.gpu, multiprocessors, clock_mhz: record.clock_mhz },
        source,
        rates: table(prices),
        transforms: fastest(transforms),
    })
}
