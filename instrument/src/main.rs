//! An FX instrument by a configuration: voltages in, dumps and beams out.
//!
//! ```text
//! fringes-instrument --demo                    eight antennas, simulated, for ten seconds
//! fringes-instrument --config instrument.toml  the real thing
//! fringes-instrument --config instrument.toml --resume
//! fringes-instrument --config instrument.toml --ranks 4            on four threads
//! mpirun -n 4 fringes-instrument --config instrument.toml          on four processes (built with --features mpi)
//! ```
//!
//! `demo.toml` is a configuration with comments; [`config`] has every field. One interrupt (Ctrl-C) ends with the dump
//! under way, a second one at once.
#![allow(clippy::print_stdout, clippy::print_stderr)]

/// Prints a line to stderr; a reader that has gone away ends nothing.
macro_rules! complain {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod build;
mod changes;
mod config;
#[path = "../../examples/fx/failure.rs"]
mod failure;
#[path = "../../examples/fx/plots/heat_map.rs"]
mod heat_map;
#[path = "../../examples/fx/plots/indexed.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod indexed;
mod join;
mod live;
mod pictures;
#[path = "../../examples/fx/plots/plot.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod plot;
mod ranks;
mod run;
#[path = "../../examples/fx/plots/style.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod style;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use config::{By, Carrier, Config, DEMO};
use failure::{Failure, Result};
use fringes::stream::exchange::LocalRanks;
#[cfg(feature = "mpi")]
use fringes::stream::exchange::Ranks;
use ranks::{Connection, Rank};
use run::{Asked, Interrupts};

/// An FX instrument: voltages in, dumps and beams out.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Simulate eight antennas for ten seconds; writes demo.uvh5 and pictures.
    #[arg(long, conflicts_with = "config", required_unless_present = "config")]
    demo: bool,
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Go on behind the last dump of an earlier run, in its files.
    #[arg(long)]
    resume: bool,
    /// Spread the instrument over so many threads. Default: what the configuration says.
    #[arg(long, value_name = "COUNT")]
    ranks: Option<usize>,
    /// Join the UVH5 files of so many ranks, which have ended, to one.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["resume", "ranks"])]
    join: Option<usize>,
    /// Folder that files and pictures go to, if their paths are relative. Default: the one the program is started in.
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        // A reader of warnings that has gone away ends nothing.
        .log_internal_errors(false)
        .with_max_level(if arguments.quiet { tracing::Level::ERROR } else { tracing::Level::WARN })
        .init();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain!("error: {}", failure.line());
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<()> {
    let config = match &arguments.config {
        Some(path) => Config::read(path)?,
        None => Config::parse(DEMO)?,
    };
    let folder = arguments.output.clone().unwrap_or_default();
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(&folder)?;
    }
    if let Some(count) = arguments.join {
        return join::join(&config, count, &folder, arguments.quiet);
    }
    match ranks::started() {
        Some(count) if count > 1 || arguments.ranks.is_none() => of_processes(arguments, &config, folder, count),
        _ => of_threads(arguments, &config, folder),
    }
}

fn asked(arguments: &Arguments, folder: PathBuf) -> Result<Asked> {
    let interrupts = Interrupts::catch()?;
    Ok(Asked { folder, resume: arguments.resume, quiet: arguments.quiet, interrupts })
}

/// Runs all ranks on threads of this process.
fn of_threads(arguments: &Arguments, config: &Config, folder: PathBuf) -> Result<()> {
    let count = ranks::threads(&config.ranks, arguments.ranks)?;
    let asked = asked(arguments, folder)?;
    run::telemetry(config)?;
    if count == 1 {
        return run::run(config, &Rank::alone(), Connection::Alone, &asked);
    }
    if config.ranks.by == By::Time {
        if config.ranks.exchange == Carrier::Nccl {
            return Err(Failure::at("ranks: exchange", "expected default with by = \"time\", found nccl"));
        }
        return run::in_turns(config, count, &asked);
    }
    let ended: Vec<Result<()>> = std::thread::scope(|scope| {
        let start = |(number, local)| {
            let asked = &asked;
            scope.spawn(move || {
                let rank = Rank::new(&config.ranks, number, count)?;
                run::run(config, &rank, Connection::Local(local), asked)
                    .map_err(|failure| Failure::at(format!("rank {number}"), failure.line()))
            })
        };
        let threads: Vec<_> = LocalRanks::new(count).into_iter().enumerate().map(start).collect();
        let panicked = |_| Err(Failure::at("ranks", "a rank's thread panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    // The rank that failed first says more than those that heard of it.
    let mut failures: Vec<_> = ended.into_iter().filter_map(Result::err).collect();
    failures.sort_by_key(|failure| failure.line().matches("rank ").count());
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// Runs the rank that this process is.
#[cfg(feature = "mpi")]
fn of_processes(arguments: &Arguments, config: &Config, folder: PathBuf, _: usize) -> Result<()> {
    let mpi = fringes::stream::exchange::Mpi::start()?;
    let all = mpi.ranks();
    let (number, count) = (all.rank(), all.ranks());
    let asked = asked(arguments, folder)?;
    if count > 1 && config.ranks.by == By::Time {
        let what =
            format!("expected channels with {count} processes, found time, which the ranks of one process divide");
        return Err(Failure::at("ranks: by", what));
    }
    let connection = if count == 1 { Connection::Alone } else { Connection::Mpi(all) };
    let ended = if let Some(expected) = config.ranks.count.or(arguments.ranks).filter(|&expected| expected != count) {
        Err(Failure::at("ranks", format!("expected {expected} processes, found {count}")))
    } else {
        run::telemetry(config)
            .and_then(|()| Rank::new(&config.ranks, number, count))
            .and_then(|rank| run::run(config, &rank, connection, &asked))
    };
    let Err(failure) = ended else { return Ok(()) };
    let failure = Failure::at(format!("rank {number}"), failure.line());
    if !asked.interrupts.any() || failure.line().contains("corner turn: ") {
        // Others wait for this one, or this one for others that do not answer.
        complain!("error: {}", failure.line());
        mpi.abort(1);
    }
    Err(failure)
}

#[cfg(not(feature = "mpi"))]
fn of_processes(arguments: &Arguments, config: &Config, folder: PathBuf, count: usize) -> Result<()> {
    if count > 1 {
        let what =
            format!("expected a program built with --features mpi to run as {count} processes, found one without");
        return Err(Failure::at("ranks", what));
    }
    of_threads(arguments, config, folder)
}
