//! What an FX correlator needs, printed.
//!
//! ```text
//! fringes-plan --antennas 2000 --bandwidth 1.3e9 --channels 65536 --bits 8
//! fringes-plan --published        published designs beside the model
//! fringes-plan --scaling 10000    the exchange on a fat tree
//! fringes-plan --coefficients     the measured rates that the model is made of
//! ```
//!
//! Exit status: 0; 1 with one line where there is no answer; 2 for bad arguments.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod coefficients;
mod published;
mod report;
mod scaling;
mod units;

use std::process::ExitCode;

use clap::Parser;
use fringes_plan_model::Plan;

use arguments::Arguments;

fn main() -> ExitCode {
    match answer(&Arguments::parse()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is printed.
fn answer(arguments: &Arguments) -> Result<String, Box<dyn std::error::Error>> {
    if arguments.published {
        return published::text(arguments.json);
    }
    if arguments.coefficients {
        return coefficients::text();
    }
    if let Some(ranks) = arguments.scaling {
        return scaling::text(ranks, &arguments.fabric, arguments.json);
    }
    let plan = Plan::new(&arguments.telescope()?, &arguments.machine())?;
    if arguments.json {
        return Ok(serde_json::to_string_pretty(&plan)? + "\n");
    }
    Ok(report::text(&plan))
}
