//! A fast radio burst: a dispersed pulse from somewhere in the sky, and the beam of a grid of feeds that finds it.
//!
//! Two lines of 32 feeds see noise, and in it a pulse that is weaker than a hundredth of a feed's noise. `FrbStream`
//! makes powers of 160 beams in 256 channels of it. A search adds channels up as a pulse of each dispersion would be
//! delayed, for every beam. What it finds is compared with what was simulated.
//!
//! ```text
//! voltages ── FrbStream ──> powers [channel][time][beam] ── dedispersion ──> beam, time and DM of the peak
//! ```
//!
//! `cargo run --release --example frb` takes a few seconds and draws two pictures; `-- --help` lists options.

#[path = "../common/mod.rs"]
mod common;
mod plots;
mod search;
mod sky;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{BackendArguments, Failure, failure};
use fringes::beamformer::{FrbStream, FrbVoltages};
use ndarray::{Array3, Axis, concatenate};
use search::{Found, Search};
use sky::{CHUNK, Sky, TIMES};

/// What is found may be off by so much: sums of times, and pc/cm^3.
const MOST_SUMS: f64 = 2.0;
const MOST_DM: f64 = 2.0;

/// A dispersed pulse in noise, found by the beams of a grid of feeds: two pictures.
#[derive(clap::Parser)]
struct Arguments {
    /// Folder of the pictures, grid.png and waterfall.png.
    #[arg(long, value_name = "DIR", default_value = "frb-output")]
    out: PathBuf,
    /// The pulse's power, as a multiple of a feed's noise.
    #[arg(long, value_name = "POWER", default_value_t = 0.008, value_parser = power)]
    pulse: f64,
    /// Its dispersion measure in pc/cm^3.
    #[arg(long, default_value_t = 50.0, value_parser = dispersion)]
    dm: f64,
    /// Seed of the noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    backend: BackendArguments,
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    // Before the work, so that a file which cannot be written costs no time.
    let pictures = ["grid.png", "waterfall.png"].map(|name| arguments.out.join(name));
    std::fs::create_dir_all(&arguments.out).map_err(|error| failure(arguments.out.display(), error))?;
    for picture in &pictures {
        std::fs::File::create(picture).map_err(|error| failure(picture.display(), error))?;
    }

    let mut sky = Sky::new(arguments.pulse, arguments.dm, arguments.seed);
    let beams = sky.beams()?;
    let mut stream = FrbStream::new(backend, beams.clone());
    let mut parts: Vec<Array3<f32>> = Vec::new();
    for first in (0..TIMES).step_by(CHUNK) {
        let voltages = FrbVoltages::from_checked(sky.voltages(first..TIMES.min(first + CHUNK)));
        let powers = stream.push(&voltages, None)?;
        let detected = powers.into_detected(&beams, &sky.frequencies_hz, sky::WIDTH_HZ, sky.clock(first))?;
        parts.push(detected.data().index_axis(Axis(3), 0).to_owned());
    }
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let search = Search::new(concatenate(Axis(1), &views)?, sky.channels_hz());
    let found = search.best();
    let checks = report(&sky, &search, &found);
    plots::grid(&sky, &search, &found, &pictures[0]).map_err(|error| failure(pictures[0].display(), error))?;
    plots::waterfall(&search, &found, &pictures[1]).map_err(|error| failure(pictures[1].display(), error))?;
    println!("\nFiles");
    pictures.iter().for_each(|picture| println!("  {}", picture.display()));
    checks
}

/// Prints what was simulated and what was found; an error if they differ by more than they may.
fn report(sky: &Sky, search: &Search, found: &Found) -> Result<(), Failure> {
    println!(
        "{} lines of {} feeds, {} channels of {:.1} kHz from {:.2} MHz on, {:.1} ms",
        sky::LINES,
        sky::FEEDS,
        search.channels_hz.len(),
        (search.channels_hz[1] - search.channels_hz[0]) / 1e3,
        search.channels_hz[0] / 1e6,
        1e3 * TIMES as f64 * sky::TIME_S
    );
    let place =
        |[east, north]: [f64; 2]| format!("{:+.1}, {:+.1}", east.asin().to_degrees(), north.asin().to_degrees());
    let nearest = sky.nearest_beam();
    println!("\n{:<38} {:>14} {:>14}", "", "simulated", "found");
    println!("{:<38} {:>14} {:>14}", "beam", nearest, found.beam);
    println!("{:<38} {:>14} {:>14}", "degrees east, north", place(sky.source), place(sky.direction(found.beam)));
    println!("{:<38} {:>14.2} {:>14.2}", "time at the highest frequency (ms)", 1e3 * sky.pulse_s, 1e3 * found.time_s);
    println!("{:<38} {:>14.1} {:>14.1}", "DM (pc/cm^3)", sky.dm, found.dm);
    println!("{:<38} {:>14.0} {:>14.0}", "signal to noise (simulated: at best)", sky.expected_ratio(), found.ratio);
    if found.beam != nearest {
        return Err(failure("beam", format!("expected {nearest}, found {}", found.beam)));
    }
    let off = (found.time_s - sky.pulse_s).abs() / search::SUM_S;
    if off > MOST_SUMS {
        return Err(failure("time", format!("off by {off:.1} sums, {MOST_SUMS} may be")));
    }
    let off = (found.dm - sky.dm).abs();
    if off > MOST_DM {
        return Err(failure("DM", format!("off by {off:.1} pc/cm^3, {MOST_DM} may be")));
    }
    Ok(())
}

fn power(text: &str) -> Result<f64, String> {
    within(text, 1e-3, 1.0)
}

fn dispersion(text: &str) -> Result<f64, String> {
    within(text, 5.0, 75.0)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("expected a number from {least} to {most}, found `{text}`")),
    }
}
