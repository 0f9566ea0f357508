//! The steps of CI, each a command line that a developer can run by hand.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// One step: its name and what it runs.
struct Step {
    name: &'static str,
    run: fn(&Path, &Path) -> Result<(), String>,
}

const STEPS: &[Step] = &[
    Step { name: "tidy", run: |root, _| crate::tidy::run(root) },
    Step { name: "performance", run: |root, _| crate::performance::run(root, true) },
    Step { name: "fmt", run: |root, _| cargo(root, &["fmt", "--all", "--check"], &[]) },
    Step { name: "test", run: |root, _| cargo(root, &["test", "--workspace"], &[]) },
    Step {
        name: "clippy",
        run: |root, _| cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
    },
    Step {
        name: "doc",
        run: |root, _| {
            cargo(
                root,
                &["doc", "--workspace", "--no-deps", "--document-private-items"],
                &[("RUSTDOCFLAGS", "-D warnings")],
            )
        },
    },
    Step {
        name: "package",
        run: |root, _| {
            let arguments = [
                "package",
                "--workspace",
                "--exclude",
                "fringes-workspace",
                "--exclude",
                "xtask",
                "--allow-dirty",
                "--quiet",
            ];
            cargo(root, &arguments, &[])
        },
    },
    Step { name: "readers", run: |root, python| script(root, python, "check_readers.py", Some("dump_samples")) },
    Step { name: "operations", run: |root, python| script(root, python, "check_operations.py", None) },
    Step { name: "uvfits", run: |root, python| script(root, python, "check_uvfits.py", None) },
    Step { name: "recordings", run: |root, python| script(root, python, "check_fx.py", None) },
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

/// Runs cargo in the workspace's root.
fn cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments).envs(environment.iter().copied());
    status(&mut command, &format!("cargo {}", arguments.join(" ")))
}

/// Runs a Python cross-check over the folder of built examples, or over one of them.
fn script(root: &Path, python: &Path, name: &str, example: Option<&str>) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let mut examples = target.join("debug").join("examples");
    cargo(root, &["build", "--quiet", "--examples"], &[])?;
    if let Some(example) = example {
        examples.push(example);
    }
    let python = if python.components().count() > 1 { root.join(python) } else { python.to_path_buf() };
    let mut command = Command::new(&python);
    command.current_dir(root).arg(root.join("tests/python").join(name)).arg(examples);
    status(&mut command, &format!("{} tests/python/{name}", python.display()))
}

fn status(command: &mut Command, shown: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
}
