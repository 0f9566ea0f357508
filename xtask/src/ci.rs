//! The steps of CI, each a command line that a developer can run by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// One step: its name and what it runs.
struct Step {
    name: &'static str,
    run: fn(&Path, &Path) -> Result<(), String>,
}

const STEPS: &[Step] = &[
    Step { name: "tidy", run: |root, _| crate::tidy::run(root) },
    Step { name: "performance", run: |root, _| crate::performance::run(root, true) },
    Step { name: "conversions", run: |root, _| crate::conversions::run(root, true) },
    Step { name: "fft", run: |root, _| crate::fft::run(root, true) },
    Step { name: "kernels", run: |root, _| crate::kernels::run(root, &crate::kernels::Options::for_ci()) },
    Step { name: "fmt", run: |root, _| cargo(root, &["fmt", "--all", "--check"], &[]) },
    Step { name: "test", run: |root, _| cargo(root, &["test", "--workspace"], &[]) },
    Step {
        name: "clippy",
        run: |root, _| cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
    },
    Step {
        name: "doc",
        run: |root, _| cargo(root, &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")]),
    },
    Step {
        name: "without_gpu",
        run: |root, _| cargo(root, &["test", "--package", "fringes", "--no-default-features"], &[]),
    },
    Step { name: "package", run: |root, _| package(root) },
    Step { name: "cust", run: cust },
    Step {
        name: "readers",
        run: |root, python| script(root, python, "check_readers.py", &examples(root).join("dump_samples")),
    },
    Step {
        name: "layouts",
        run: |root, python| script(root, python, "check_layout.py", &examples(root).join("dump_layouts")),
    },
    Step { name: "operations", run: |root, python| script(root, python, "check_operations.py", &examples(root)) },
    Step { name: "f_engine", run: |root, python| script(root, python, "check_f_engine.py", &examples(root)) },
    Step { name: "uvfits", run: uvfits },
    Step { name: "recordings", run: |root, python| script(root, python, "check_fx.py", &examples(root)) },
];

/// Prints the names of the steps.
pub(crate) fn list() {
    for step in STEPS {
        println!("{}", step.name);
    }
}

/// Runs the steps named in `only`, or all of them.
pub(crate) fn run(root: &Path, only: &[String], python: &Path) -> Result<(), String> {
    if let Some(unknown) = only.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        return Err(format!("no step is called `{unknown}`; `cargo xtask ci --list` lists them"));
    }
    for step in STEPS.iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)) {
        eprintln!("== {}", step.name);
        let start = Instant::now();
        (step.run)(root, python).map_err(|message| format!("{}: {message}", step.name))?;
        eprintln!("== {} passed in {:.0} s", step.name, start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Packages the published crates and builds them from their packages.
///
/// Cargo keeps what it unpacked of a package, and what it compiled, under the package's name and version, and trusts
/// both for ever: between two releases the sources change and the version does not. So both are put away first.
fn package(root: &Path) -> Result<(), String> {
    let folder = target(root).join("package-verification");
    remove(&folder)?;
    for unpacked in unpacked_by_path()? {
        remove(&unpacked)?;
    }
    let folder = folder.to_string_lossy();
    let arguments = [
        "package",
        "--workspace",
        "--exclude",
        "fringes-workspace",
        "--exclude",
        "xtask",
        "--exclude",
        "fringes-kernels-*",
        "--allow-dirty",
        "--quiet",
        "--target-dir",
        &folder,
    ];
    cargo(root, &arguments, &[])
}

/// The copies of this workspace's packages that Cargo keeps from earlier runs: registries that have a path instead of a
/// host have folders whose names begin with a dash.
fn unpacked_by_path() -> Result<Vec<PathBuf>, String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .ok_or("neither CARGO_HOME nor a home directory is known")?;
    let sources = home.join("registry").join("src");
    if !sources.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for registry in entries(&sources)? {
        if name(&registry).starts_with('-') {
            found.extend(entries(&registry)?.into_iter().filter(|package| name(package).starts_with("fringes-")));
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::read_dir(folder).map_err(shown)?.map(|entry| entry.map(|entry| entry.path()).map_err(shown)).collect()
}

fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

fn remove(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(())
}

/// Checks the conversions to and from `cust`, whose build script wants a CUDA installation: a folder that looks like
/// one will do.
fn cust(root: &Path, _: &Path) -> Result<(), String> {
    let cuda = target(root).join("no-cuda");
    let folder = cuda.join("lib64");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let cuda = cuda.to_string_lossy();
    cargo(root, &["check", "--package", "fringes", "--features", "cust,cudarc"], &[("CUDA_LIBRARY_PATH", &cuda)])
}

/// Runs cargo in the workspace's root.
fn cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments).envs(environment.iter().copied());
    status(&mut command, &format!("cargo {}", arguments.join(" ")))
}

/// Cargo's target folder.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into)
}

/// The folder of built examples.
fn examples(root: &Path) -> PathBuf {
    target(root).join("debug").join("examples")
}

/// Runs a Python cross-check with one argument, after building the examples.
fn script(root: &Path, python: &Path, name: &str, argument: &Path) -> Result<(), String> {
    cargo(root, &["build", "--quiet", "--examples"], &[])?;
    let python = if python.components().count() > 1 { root.join(python) } else { python.to_path_buf() };
    let mut command = Command::new(&python);
    command.current_dir(root).arg(root.join("tests/python").join(name)).arg(argument);
    status(&mut command, &format!("{} tests/python/{name}", python.display()))
}

/// Writes simulated UVFITS files of several shapes and lets pyuvdata read them.
fn uvfits(root: &Path, python: &Path) -> Result<(), String> {
    cargo(root, &["build", "--quiet", "--examples"], &[])?;
    let folder = target(root).join("cross-checks").join("uvfits");
    remove(&folder)?;
    let shapes: [(&str, &[&str]); 3] = [
        ("seven", &[]),
        ("one-pol", &["--antennas", "5", "--pols", "1", "--channels", "1"]),
        ("many", &["--antennas", "300", "--channels", "2", "--integrations", "2"]),
    ];
    for (name, arguments) in shapes {
        let folder = folder.join(name);
        let mut command = Command::new(examples(root).join("write_uvfits"));
        command.arg("--out").arg(&folder).args(arguments).stdout(Stdio::null());
        status(&mut command, &format!("write_uvfits {}", arguments.join(" ")))?;
        script(root, python, "check_uvfits.py", &folder)?;
    }
    let folder = folder.join("fx");
    let mut command = Command::new(examples(root).join("fx"));
    command.args(["--duration", "0.2", "--json", "--out"]).arg(&folder).stdout(Stdio::null()).stderr(Stdio::null());
    status(&mut command, "fx --duration 0.2")?;
    script(root, python, "check_uvfits.py", &folder)
}

fn status(command: &mut Command, shown: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
}
