//! An FX instrument by a configuration: voltages in, dumps and beams out.
//!
//! ```text
//! fringes-instrument --demo                    eight antennas, simulated, for ten seconds
//! fringes-instrument --config instrument.toml  the real thing
//! fringes-instrument --config instrument.toml --resume
//! ```
//!
//! `demo.toml` is a configuration with comments; [`config`] has every field. One interrupt (Ctrl-C) ends with the dump
//! under way, a second one at once.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod build;
mod config;
#[path = "../../examples/fx/failure.rs"]
mod failure;
#[path = "../../examples/fx/plots/heat_map.rs"]
mod heat_map;
#[path = "../../examples/fx/plots/indexed.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod indexed;
mod live;
mod pictures;
#[path = "../../examples/fx/plots/plot.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod plot;
mod run;
#[path = "../../examples/fx/plots/style.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod style;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use config::{Config, DEMO};
use failure::Result;

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
        .with_max_level(if arguments.quiet { tracing::Level::ERROR } else { tracing::Level::WARN })
        .init();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.line());
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
    run::run(&config, &folder, arguments.resume, arguments.quiet)
}
