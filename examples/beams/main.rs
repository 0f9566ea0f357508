//! Tied-array beams: a pulsar, a satellite that drifts through the field, and a transmitter on the horizon.
//!
//! The voltages of a simulated array are formed into beams on a grid of the sky, and into beams that follow the pulsar.
//! Nulls toward the transmitter take it out of both. What comes out is compared with what theory says: the array factor
//! of a plane wave, the beam that has the pulsar, and its signal-to-noise ratio.
//!
//! ```text
//! voltages ─┬─ beamform (grid) ──── detect ──> sky maps
//!           └─ BeamformerStream ─── DetectStream ──> pulse profile, filterbank file
//!                   └─ BeamSteering::weights_at, with_nulls
//! ```
//!
//! `cargo run --release --example beams` takes half a minute and draws one picture; `-- --help` lists options.

mod args;
#[path = "../common/mod.rs"]
mod common;
mod fold;
mod pattern;
mod plots;
mod receiver;
mod sky;
mod theory;
mod voltages;

use std::process::ExitCode;

use args::{Arguments, Setup};
use common::{Failure, failure};
use pattern::Pattern;
use receiver::{Receiver, Seen};
use sky::Sky;
use theory::Theory;

/// Array factors that are measured and computed may differ by so much.
const ARRAY_FACTOR: f64 = 1e-3;
/// So may signal-to-noise ratios, or by four standard deviations where a run is too short for that.
const SIGNAL_TO_NOISE: f64 = 0.03;

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (backend, setup) = (arguments.backend.open()?, arguments.setup()?);
    // Before the work, so that a file which cannot be written costs no time.
    let picture = arguments.out.join("beams.png");
    std::fs::create_dir_all(&arguments.out).map_err(|error| failure(arguments.out.display(), error))?;
    std::fs::File::create(&picture).map_err(|error| failure(picture.display(), error))?;

    let sky = Sky::new(&setup)?;
    let mut receiver = Receiver::new(&backend, &sky, arguments.output.as_deref())?;
    let pattern = Pattern::measure(&backend, &sky, &receiver)?;
    for chunk in 0..setup.chunks {
        receiver.push(&voltages::of_chunk(&sky, chunk)?)?;
    }
    let seen = receiver.finish()?;
    let theory = Theory::new(&sky)?;
    let checks = report(&sky, &pattern, &seen, &theory);
    plots::draw(&sky, &pattern, &seen, &theory, &picture).map_err(|error| failure(picture.display(), error))?;
    println!("\nFiles\n  {}", picture.display());
    if let Some(path) = &arguments.output {
        println!("  {}: {} spectra of the pulsar's beam", path.display(), seen.written);
    }
    checks
}

/// Prints what was simulated and what was found; an error if they differ by more than they may.
fn report(sky: &Sky, pattern: &Pattern, seen: &Seen, theory: &Theory) -> Result<(), Failure> {
    let setup: &Setup = &sky.setup;
    println!(
        "{} antennas of two polarisations within {:.0} m, {} channels of {:.3} kHz at {:.0} MHz, {:.2} s",
        setup.antennas,
        2.0 * setup.radius_m,
        setup.channels,
        setup.channel_hz() / 1e3,
        setup.centre_hz / 1e6,
        setup.duration_s()
    );
    let (found, expected) = (seen.brightest(), sky.pulsar_beam()?);
    let [found_at, expected_at] = [found, expected].map(|beam| sky.grid[beam].map(|part| part.asin().to_degrees()));
    println!("\n{:<44} {:>12} {:>12}", "", "expected", "found");
    println!(
        "{:<44} {:>12} {:>12.1e}",
        "array factor, largest difference",
        format!("< {ARRAY_FACTOR}"),
        pattern.difference
    );
    let place = |[east, north]: [f64; 2]| format!("{east:+.1}, {north:+.1}");
    println!("{:<44} {:>12} {:>12}", "beam with the pulsar, degrees east, north", place(expected_at), place(found_at));
    println!("{:<44} {:>12.1} {:>12.1}", "pulsar, signal to noise, with a null", theory.ratio, seen.nulled.ratio());
    println!("{:<44} {:>12} {:>12.1}", "pulsar, signal to noise, without", "", seen.plain.ratio());
    println!("{:<44} {:>12.4} {:>12.4}", "pulse, in units of the noise", theory.pulse, seen.nulled.pulse());
    let decibels = |power: f64| format!("{:.0} dB", 10.0 * power.log10());
    println!("{:<44} {:>12} {:>12}", "transmitter in that beam, without a null", "", decibels(pattern.toward[0]));
    println!("{:<44} {:>12} {:>12}", "transmitter in that beam, with", "< -120 dB", decibels(pattern.toward[1]));

    if pattern.difference > ARRAY_FACTOR {
        return Err(failure("array factor", format!("differs by {:.1e} from the analytic one", pattern.difference)));
    }
    if pattern.toward[1] > 1e-12 {
        return Err(failure("null", format!("a response of {:.1e} is left", pattern.toward[1].sqrt())));
    }
    if found != expected {
        return Err(failure("pulsar", "it is brightest in another beam than the one that looks at it"));
    }
    let differs = (seen.nulled.ratio() / theory.ratio - 1.0).abs();
    let allowed = SIGNAL_TO_NOISE.max(4.0 * theory.relative_error(&seen.nulled));
    if differs > allowed {
        let text = format!("signal to noise differs by {:.1} % from theory, {:.1} % may", 1e2 * differs, 1e2 * allowed);
        return Err(failure("pulsar", text));
    }
    println!("\nsignal to noise within {:.1} % of theory ({:.1} % allowed)", 1e2 * differs, 1e2 * allowed);
    Ok(())
}
