//! A maser line, too narrow for the channels of a wide band: the band as a whole, and a zoom to channels of 100 Hz.
//!
//! Two antennas are simulated that hear noise of their own and one line; the second hears it later, by a delay that
//! changes, and with a phase of its own. An F-engine makes channels of the whole band, a narrowband F-engine those of a
//! part of it, both take the delay back, and correlators integrate. The line is fitted and compared with the truth.
//!
//! ```text
//! samples ─┬─ FEngine ───────────> frames ── Correlator ──> the band
//!          └─ NarrowbandFEngine ─> frames ── Correlator ──> the line ── fit
//! ```
//!
//! `cargo run --release --example narrowband` takes some seconds and draws one picture; `-- --help` lists options.

mod args;
#[path = "../common/mod.rs"]
mod common;
mod fit;
mod maser;
mod plots;
mod spectra;

use std::process::ExitCode;

use args::{Arguments, Setup};
use common::{Failure, failure};
use fit::Line;
use maser::Maser;
use spectra::{Receiver, Spectra};

/// Samples of an antenna of a chunk.
const CHUNK: usize = 1 << 19;

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (backend, setup) = (arguments.backend.open()?, arguments.setup()?);
    // Before the work, so that a file which cannot be written costs no time.
    let picture = arguments.out.join("narrowband.png");
    std::fs::create_dir_all(&arguments.out).map_err(|error| failure(arguments.out.display(), error))?;
    std::fs::File::create(&picture).map_err(|error| failure(picture.display(), error))?;
    let mut maser = Maser::new(&setup)?;
    let mut receiver = Receiver::new(&backend, &setup)?;
    let samples = (setup.duration_s * setup.sample_rate_hz) as usize;
    for first in (0..samples).step_by(CHUNK) {
        receiver.push(&maser.samples(first as u64, CHUNK.min(samples - first))?)?;
    }
    let (band, zoom) = receiver.finish()?;
    let line = Line::fit(&zoom)
        .ok_or_else(|| failure("the fit", "found no line: make it stronger, wider, or the duration longer"))?;
    report(&setup, &band, &zoom, &line);
    let title = format!(
        "A line of {:.0} Hz in a band of {:.3} MHz, and in channels of {:.0} Hz",
        setup.width_hz,
        setup.sample_rate_hz / 2e6,
        setup.channel_hz
    );
    plots::draw(&setup, &band, &zoom, &line, &title, &picture).map_err(|error| failure(picture.display(), error))?;
    println!("\nFiles\n  {}", picture.display());
    Ok(())
}

/// Prints what was simulated and what was found.
fn report(setup: &Setup, band: &Spectra, zoom: &Spectra, line: &Line) {
    println!("Two antennas, {:.1} s of {:.3} Msamples/s each", setup.duration_s, setup.sample_rate_hz / 1e6);
    for (name, spectra) in [("band", band), ("zoom", zoom)] {
        println!(
            "  {name}  {:>5} channels of {:>7.1} Hz around {:.6} MHz, {} spectra",
            spectra.frequencies_hz.len(),
            spectra.channel_hz,
            spectra.middle_hz() / 1e6,
            spectra.integrated
        );
    }
    println!("\n{:<34} {:>10} {:>10}", "Line", "truth", "found");
    let rows = [
        ("centre, Hz from the zoom's", setup.line_hz - setup.zoom_hz, line.centre_hz - setup.zoom_hz, line.errors[1]),
        ("full width at half maximum, Hz", setup.width_hz, line.width_hz, line.errors[2]),
        ("peak, of the noise", setup.strength, line.peak, line.errors[0]),
        ("phase, degrees", setup.phase_degrees, line.phase_degrees, line.phase_error_degrees),
    ];
    for (name, truth, found, error) in rows {
        println!("{name:<34} {truth:>10.2} {found:>10.2} +- {error:.2}");
    }
}
