//! `cargo xtask TASK`: the development tasks of the workspace.
//!
//! Every task is run from the workspace's root and stops at the first failure with exit status 1, after one line that
//! says what failed and, where there is one, the command that mends it.

mod ci;
mod conversions;
mod fft;
mod kernels;
mod performance;
mod pictures;
mod rustfmt;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of the Fringes workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that must hold before a change lands, in order.
    Ci {
        /// Run only these steps (see --list).
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// List the steps and stop.
        #[arg(long)]
        list: bool,
        /// Build and assemble every kernel anew, also what hashes prove: what a release runs.
        #[arg(long)]
        full: bool,
        /// Python with tests/python/requirements.txt installed, for the cross-checks.
        #[arg(long, env = "FRINGES_PYTHON", default_value = ".venv/bin/python")]
        python: PathBuf,
    },
    /// House rules that no compiler checks.
    Tidy,
    /// Writes docs/api, the listings of public items, from the pages of `cargo doc --workspace --no-deps`.
    Api {
        /// Only compare; fail if a listing is stale.
        #[arg(long)]
        check: bool,
    },
    /// Checks the pages of docs/ and makes target/book of them.
    Book {
        /// Only check links, headings, and that every page is kept true by something.
        #[arg(long)]
        check: bool,
    },
    /// Builds the kernels into the PTX that the repository carries, with its manifest and its count of machine
    /// instructions.
    Kernels(kernels::Options),
    /// Writes kernels-rs/tools/conversions/src/generated.rs from the list of conversions.
    Conversions {
        /// Only compare; fail if the file is stale.
        #[arg(long)]
        check: bool,
    },
    /// Writes kernels-rs/fft/microkernel/src/generated and crates/fft/src/generated.rs from the solver's assignments.
    Fft {
        /// Only compare; fail if a file is stale.
        #[arg(long)]
        check: bool,
    },
    /// Runs the programs that draw and writes docs/pictures from what they drew.
    Pictures {
        /// Run nothing; fail if the page is stale or a picture is missing, strange or large.
        #[arg(long)]
        check: bool,
    },
    /// Writes docs/performance and docs/pictures/rates.svg from docs/measurements.
    Performance {
        /// Only compare; fail if a file is stale.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    // Where cargo runs us, rather than where we were compiled: clones may share a target folder.
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = own.parent().unwrap_or(Path::new("."));
    let result = match Arguments::parse().task {
        Task::Ci { list: true, .. } => {
            ci::list();
            Ok(())
        }
        Task::Ci { only, python, full, .. } => ci::run(root, &only, &python, full),
        Task::Api { check } => ci::api(root, check),
        Task::Tidy => tidy::run(root),
        Task::Book { check } => book(root, check),
        Task::Kernels(options) => kernels::run(root, &options),
        Task::Conversions { check } => conversions::run(root, check),
        Task::Fft { check } => fft::run(root, check),
        Task::Pictures { check } => pictures::run(root, check),
        Task::Performance { check } => performance::run(root, check),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the program that makes the book. It is a package of its own, so that no other task waits for mdBook to be
/// compiled.
fn book(root: &Path, check: bool) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.current_dir(root).args(["run", "--quiet", "--package", "fringes-book", "--"]);
    let status = command.args(check.then_some("--check")).status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the book is not as it must be".to_owned()) }
}
