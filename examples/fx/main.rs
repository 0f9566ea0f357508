//! FX correlator: recordings of telescope voltages, or a simulated array, to visibilities, plots and a table.
//!
//! `cargo run --release --example fx` simulates an array and correlates it; `--input FILE...` takes recordings;
//! `--help` lists the options and `docs/fx.md` explains them.
//!
//! ```text
//! simulate | recording -> front_end -> correlation -> cube of visibilities
//!     [input][time]      [channel][time][input]      [integration][channel][baseline]
//! cube of visibilities -> coherence, locate -> plots, report, summary
//! ```

mod args;
mod coherence;
mod correlation;
mod direction;
mod failure;
mod frames;
mod front_end;
mod gains;
mod locate;
mod observation;
mod output;
mod pipeline;
mod plots;
mod recording;
mod report;
mod simulate;
mod simulated;
mod summary;
mod tracking;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use args::{Arguments, BackendName};
use coherence::Coherence;
use failure::{At, Failure, Result};
use fringes::Backend;
use fringes::delay::AntennaArray;
use observation::SampleSource;
use plots::Figure;
use summary::Summary;
use tracking::Tracking;

fn main() -> ExitCode {
    match run(&Arguments::read()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.line());
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let backend = match arguments.backend {
        BackendName::Auto => Backend::auto(),
        BackendName::Cpu => Backend::cpu(),
        BackendName::Gpu => Backend::gpu(0).at("--backend gpu")?,
    };
    let array = arguments.array.as_deref().map(read_array).transpose()?;
    let mut source: Box<dyn SampleSource> = if arguments.input.is_empty() {
        Box::new(simulated::Simulated::new(arguments, array)?)
    } else {
        Box::new(recording::Recording::open(arguments, array)?)
    };
    // Before the work, so that a folder which cannot be written costs no time.
    create_folder(&arguments.out)?;
    let tracking = Tracking::new(source.observation())?;
    if arguments.source.is_some() && tracking.is_none() {
        return Err(Failure::at("--source", "stopping fringes needs antenna positions; give them with --array FILE"));
    }
    let outcome = pipeline::run(arguments, &backend, source.as_mut(), tracking.as_ref())?;
    let observation = source.observation();
    let coherence = Coherence { cube: &outcome.cube, left_out: &outcome.left_out };
    let baselines = coherence.baselines();
    let ranked = coherence::ranked(&baselines);
    let located = locate::locate(&coherence, observation, tracking.as_ref())?;

    let mut files = vec![output::write_npz(&outcome.cube, &arguments.out)?];
    match output::write_uvfits(&outcome, observation, tracking.as_ref(), &arguments.out)? {
        Some(path) => files.push(path),
        None => eprintln!(
            "note: no visibilities.uvfits: it needs antenna positions with their site (--array), a phase centre (--source), sky frequencies and the time"
        ),
    }
    let field = located.as_ref().map(|located| located.field(observation));
    let figure = Figure {
        coherence: &coherence,
        names: &observation.input_names,
        sky: observation.centres.is_some(),
        ranked: &ranked,
        field: field.as_ref(),
        integration_s: outcome.integration_s,
        label: &observation.label,
    };
    files.extend(figure.draw(&arguments.out).map_err(|error| Failure::at("plots", error))?);

    let table = report::report(
        &backend,
        arguments.quantise,
        observation,
        &outcome,
        &ranked,
        located.as_ref(),
        tracking.as_ref(),
    );
    let list: Vec<String> = files.iter().map(|path| format!("  {}", path.display())).collect();
    let text = format!("{table}\nFiles\n{}", list.join("\n"));
    if arguments.json {
        eprintln!("{text}");
        let summary = Summary::new(arguments, &backend, observation, &outcome, &ranked, located.as_ref());
        print_line(&serde_json::to_string(&summary.with_files(files))?)
    } else {
        print_line(&text)
    }
}

/// Prints to standard output; a reader that has gone away is no error.
fn print_line(text: &str) -> Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::at("standard output", error)),
        _ => Ok(()),
    }
}

fn read_array(path: &Path) -> Result<AntennaArray> {
    let text = fs::read_to_string(path).at(format_args!("--array {}", path.display()))?;
    text.parse::<AntennaArray>().at(format_args!("--array {}", path.display()))
}

/// Makes the output folder and checks that files can be made in it.
fn create_folder(folder: &Path) -> Result<()> {
    let place = format!("--out {}", folder.display());
    fs::create_dir_all(folder).at(&place)?;
    let probe = folder.join(".fx-probe");
    fs::File::create(&probe).at(&place)?;
    fs::remove_file(&probe).at(&place)
}
