//! Checks of what our programs give against Python packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::package::remove;
use super::runner::Runner;

/// Builds the programs that the checks run. The whole workspace is named, as for the tests: packages by themselves have
/// other features, and everything would be compiled again.
pub(crate) fn build(runner: &Runner) -> Result<(), String> {
    runner.cargo(&["build", "--quiet", "--workspace", "--examples", "--bins"], &[])
}

/// The folder of built examples.
pub(crate) fn examples(runner: &Runner) -> PathBuf {
    runner.target().join("debug").join("examples")
}

/// The built tools.
pub(crate) fn tools(runner: &Runner) -> PathBuf {
    runner.target().join("debug").join("fringes-tools")
}

/// Runs a script of tests/python with one argument.
pub(crate) fn script(runner: &Runner, name: &str, argument: &Path) -> Result<(), String> {
    if !argument.exists() {
        return Err(format!("{} is not there; run the step `programs` first", argument.display()));
    }
    runner.python(&Path::new("tests").join("python").join(name), argument)
}

/// Runs ranks of MPI with both libraries, each built for by itself.
pub(crate) fn mpi(runner: &Runner) -> Result<(), String> {
    let programs = ["fringes-instrument", "examples/mpi_suite"];
    for library in ["openmpi", "mpich"] {
        let compiler = format!("mpicc.{library}");
        // What its build script found of the other library is out of date.
        runner.cargo(&["clean", "--quiet", "--package", "mpi-sys"], &[])?;
        let build = ["build", "--quiet", "--workspace", "--features", "fringes-instrument/mpi"];
        let what = ["--bin", "fringes-instrument", "--example", "mpi_suite"];
        runner.cargo(&[&build[..], &what[..]].concat(), &[("MPICC", &compiler)])?;
        let folder = runner.target().join("cross-checks").join(library);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for program in programs.map(Path::new) {
            let from = runner.target().join("debug").join(program);
            let to = folder.join(program.file_name().unwrap_or_default());
            std::fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        }
        script(runner, "check_mpi.py", &folder)?;
    }
    Ok(())
}

/// Writes beams and lets blimpy and baseband read them.
pub(crate) fn beams(runner: &Runner) -> Result<(), String> {
    let folder = runner.target().join("cross-checks").join("beams");
    remove(&folder)?;
    let mut command = Command::new(tools(runner));
    command.arg("write-beams").arg("--out").arg(&folder);
    runner.command(&mut command, "fringes-tools write-beams")?;
    script(runner, "check_beams.py", &folder)
}

/// Writes simulated UVFITS and UVH5 files of several shapes and lets pyuvdata read them.
pub(crate) fn uvfits(runner: &Runner) -> Result<(), String> {
    let folder = runner.target().join("cross-checks").join("uvfits");
    remove(&folder)?;
    let shapes: [(&str, &[&str]); 3] = [
        ("seven", &[]),
        ("one-pol", &["--antennas", "5", "--pols", "1", "--channels", "1"]),
        ("many", &["--antennas", "300", "--channels", "2", "--integrations", "2"]),
    ];
    for (name, arguments) in shapes {
        let folder = folder.join(name);
        let mut command = Command::new(tools(runner));
        command.arg("write-uvfits").arg("--out").arg(&folder).args(arguments);
        runner.command(&mut command, &format!("fringes-tools write-uvfits {}", arguments.join(" ")))?;
        script(runner, "check_uvfits.py", &folder)?;
        script(runner, "check_uvh5.py", &folder)?;
    }
    let folder = folder.join("fx");
    let mut command = Command::new(examples(runner).join("fx"));
    command.args(["--duration", "0.2", "--json", "--out"]).arg(&folder);
    runner.command(&mut command, "fx --duration 0.2")?;
    script(runner, "check_uvfits.py", &folder)
}
