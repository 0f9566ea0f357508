//! Feeds random streams to the integrators of the correlator for as many dumps as are asked for, and compares every
//! dump with an exact sum of its own.
//!
//! ```text
//! cargo run --release -p fringes-tools -- soak                            # 10000 dumps on the best GPU, or on the CPU
//! cargo run --release -p fringes-tools -- soak --backend cpu --dumps 500
//! cargo run --release -p fringes-tools -- soak --seed 7 --json record.json
//! ```
//!
//! Streams differ in everything that a stream can differ in: format, antennas, polarisations, channels, lengths of
//! heaps and dumps, how many lengths at once, order of baselines, 64 or 32 bits, marked or not, start, chunks of heaps
//! or of voltages, of any size, gaps, absent heaps, absent voltages. Some are loud and long enough to saturate 32 bits.
//! Arrays are small, so that the sum on the host, plain loops over spectra and pairs of inputs that know nothing of
//! chunks, is quick.
//!
//! The seed is printed; the same seed gives the same streams. Exit status: 0 if every dump is as it must be, 1 if not,
//! 2 for bad arguments, 3 if a GPU is asked for and there is none.

mod exact;
mod feed;
mod plan;

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::backend::BackendName;
use crate::end::End;
use crate::gpu_report::{Record, Row, params};
use fringes::Backend;
use fringes_gpu::{Device, GpuError};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use feed::Feeder;
use plan::{Format, Plan};

/// Compare dumps of random streams with exact sums. Exit status 0 all equal, 1 one differs, 3 no GPU though
/// one was asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to correlate. `auto` takes the best GPU, or the CPU if there is none.
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    backend: BackendName,
    /// Index of the GPU. Without it: what the variable FRINGES_GPU says, or else the best one.
    #[arg(long, value_name = "N")]
    gpu: Option<usize>,
    /// How many dumps at least.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    dumps: u64,
    /// Seed of the streams. Without it: the time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Change one value of this dump before it is compared, to see that it is found.
    #[arg(long, value_name = "N")]
    plant_fault: Option<u64>,
    /// Also write a record to this file.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

/// What a soak counts.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) dumps: u64,
    pub(crate) streams: u64,
    /// Visibilities compared.
    pub(crate) values: u64,
    pub(crate) empty_dumps: u64,
    pub(crate) saturated: u64,
    pub(crate) marked: u64,
    pub(crate) spectra: u64,
}

/// The GPU to work on; `None` for the CPU.
fn device(arguments: &Arguments) -> Result<Option<Device>, End> {
    match (arguments.backend, arguments.gpu) {
        (BackendName::Cpu, _) => Ok(None),
        (BackendName::Gpu | BackendName::Auto, Some(index)) => Ok(Some(Device::open(index)?)),
        (BackendName::Gpu, None) => Ok(Some(Device::best()?)),
        (BackendName::Auto, None) => match Device::best() {
            Ok(device) => Ok(Some(device)),
            Err(GpuError::NoDriver | GpuError::NoDevice { .. } | GpuError::ComputeCapability { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        },
    }
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let (backend, record) = match device(arguments)? {
        None => (Backend::cpu(), Record::without_gpu("cpu")),
        Some(device) => {
            let record = Record::new(&device);
            (Backend::on(device), record)
        }
    };
    let mut record = record.kept_in(arguments.json.as_deref())?;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let seed = arguments.seed.unwrap_or_else(now);
    println!("{}, {} dumps or more, --seed {seed}", backend.name(), arguments.dumps);
    let formats: Vec<Format> = Format::ALL.into_iter().filter(|format| format.runs_on(&backend)).collect();
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    println!("formats: {}", names.join(", "));

    let mut counts = Counts::default();
    let start = Instant::now();
    let mut shown = 0;
    let ended = loop {
        if counts.dumps >= arguments.dumps {
            break Ok(());
        }
        // A seed of its own, so that one stream can be run again.
        let stream_seed = seed.wrapping_add(counts.streams);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(stream_seed);
        let plan = Plan::random(&mut random, &formats).map_err(End::failed)?;
        let mut feeder =
            Feeder { backend: &backend, plan: &plan, counts: &mut counts, plant_fault: arguments.plant_fault };
        if let Err(fault) = feeder.run(&mut random) {
            break Err(format!(
                "{fault}\nin stream {} (--seed {stream_seed} begins with it): {plan:?}",
                counts.streams
            ));
        }
        counts.streams += 1;
        if counts.dumps / 1000 > shown {
            shown = counts.dumps / 1000;
            println!("{} dumps, {} streams, {:.0} s", counts.dumps, counts.streams, start.elapsed().as_secs_f64());
        }
    };
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    let Counts { dumps, streams, values, empty_dumps, saturated, marked, spectra } = counts;
    println!(
        "{dumps} dumps of {streams} streams, {spectra} spectra, {values} visibilities: {empty_dumps} dumps without a valid sample, \
         {saturated} visibilities saturated, {marked} baselines marked"
    );
    let check = match &ended {
        Ok(()) => "equals exact sums on the host (i64 loops), error 0".to_owned(),
        Err(fault) => format!("FAIL against exact sums on the host: {fault}"),
    };
    record.push(Row {
        kernel: "soak",
        variant: format!("{}; {}, --seed {seed}", backend.name(), names.join(", ")),
        params: params([
            ("dumps", dumps as usize),
            ("empty_dumps", empty_dumps as usize),
            ("marked", marked as usize),
            ("saturated", saturated as usize),
            ("spectra", spectra as usize),
            ("streams", streams as usize),
            ("values", values as usize),
        ]),
        time_ms,
        value: dumps as f64 / time_ms * 1e3,
        unit: "dumps/s, with the sums on the host",
        floor: None,
        bound_by: String::new(),
        check,
        energy: None,
    });
    record.finish()?;
    ended.map_err(|fault| End::failed(fault.lines().collect::<Vec<_>>().join(" ")))?;
    println!("every dump equals its exact sum");
    Ok(())
}
