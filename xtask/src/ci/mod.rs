//! The steps of CI, each a command line that a developer can run by hand.
//!
//! Steps run one after the other, but the cross-checks against Python packages: those need one processor and nothing
//! that later steps build, so they run beside them, and what they print comes when they end. Each step has a budget of
//! seconds on two processors, from a fresh clone. Budgets are reported and decide nothing.

mod api;
mod cross_checks;
mod package;
mod runner;

use std::path::Path;
use std::time::Instant;

use runner::Runner;

/// One step.
struct Step {
    name: &'static str,
    /// Seconds that it should take at most.
    budget: u64,
    /// Runs beside the steps that follow.
    beside: bool,
    run: fn(&Runner) -> Result<(), String>,
}

/// A step in the order of the list.
const fn step(name: &'static str, budget: u64, run: fn(&Runner) -> Result<(), String>) -> Step {
    Step { name, budget, beside: false, run }
}

/// A step beside those that follow.
const fn beside(name: &'static str, budget: u64, run: fn(&Runner) -> Result<(), String>) -> Step {
    Step { name, budget, beside: true, run }
}

const STEPS: &[Step] = &[
    step("tidy", 5, |runner| crate::tidy::run(&runner.root)),
    step("performance", 5, |runner| crate::performance::run(&runner.root, true)),
    step("conversions", 5, |runner| crate::conversions::run(&runner.root, true)),
    step("fft", 5, |runner| crate::fft::run(&runner.root, true)),
    step("kernels", 10, |runner| crate::kernels::run(&runner.root, &crate::kernels::Options::for_ci(runner.full))),
    step("fmt", 5, |runner| runner.cargo(&["fmt", "--all", "--check"], &[])),
    step("test", 720, |runner| runner.cargo(&["test", "--workspace"], &[])),
    step("programs", 10, cross_checks::build),
    beside("readers", 60, |runner| cross_checks::script(runner, "check_readers.py", &cross_checks::tools(runner))),
    beside("layouts", 60, |runner| cross_checks::script(runner, "check_layout.py", &cross_checks::tools(runner))),
    beside("operations", 60, |runner| {
        cross_checks::script(runner, "check_operations.py", &cross_checks::examples(runner))
    }),
    beside("f_engine", 60, |runner| cross_checks::script(runner, "check_f_engine.py", &cross_checks::tools(runner))),
    beside("designs", 30, |runner| cross_checks::script(runner, "check_designs.py", &cross_checks::tools(runner))),
    beside("uvfits", 80, cross_checks::uvfits),
    beside("uvh5_killed", 30, |runner| {
        cross_checks::script(runner, "check_uvh5.py", &cross_checks::examples(runner).join("append_uvh5"))
    }),
    beside("beams", 30, cross_checks::beams),
    beside("spead", 30, |runner| cross_checks::script(runner, "check_spead.py", &cross_checks::examples(runner))),
    beside("recordings", 60, |runner| cross_checks::script(runner, "check_fx.py", &cross_checks::examples(runner))),
    step("clippy", 100, |runner| {
        runner.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
    }),
    step("doc", 40, |runner| runner.cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])),
    step("book", 30, |runner| runner.cargo(&["run", "--quiet", "--package", "fringes-book"], &[])),
    step("api", 5, |runner| api::run(runner, true)),
    step("mpi", 50, cross_checks::mpi),
    step("without_gpu", 80, |runner| {
        runner.cargo(&["test", "--package", "fringes", "--no-default-features", "--lib", "--tests"], &[])
    }),
    step("package", 110, package::run),
    step("cust", 20, package::cust),
];

/// Prints the names of the steps.
pub(crate) fn list() {
    for step in STEPS {
        println!("{}", step.name);
    }
}

/// Writes the listings of public items, or compares.
pub(crate) fn api(root: &Path, check: bool) -> Result<(), String> {
    api::run(&Runner::new(root, Path::new("python3"), false), check)
}

/// Runs the steps named in `only`, or all of them. With `full`, what hashes prove is done again too.
pub(crate) fn run(root: &Path, only: &[String], python: &Path, full: bool) -> Result<(), String> {
    if let Some(unknown) = only.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        return Err(format!("no step is called `{unknown}`; `cargo xtask ci --list` lists them"));
    }
    let chosen: Vec<&Step> =
        STEPS.iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)).collect();
    let (start, runner) = (Instant::now(), Runner::new(root, python, full));
    let mut seconds = Vec::new();
    std::thread::scope(|scope| {
        let mut others = None;
        for (number, step) in chosen.iter().enumerate() {
            if !step.beside {
                seconds.push((step, timed(step, &runner)?));
            } else if others.is_none() {
                let rest: Vec<&Step> = chosen[number..].iter().copied().filter(|step| step.beside).collect();
                let quiet = runner.with_log()?;
                others = Some(scope.spawn(move || all(&rest, &quiet)));
            }
        }
        if let Some(others) = others {
            let ended = others.join().map_err(|_| "the thread of the cross-checks panicked".to_owned())??;
            seconds.extend(chosen.iter().filter(|step| step.beside).zip(ended));
        }
        Ok::<(), String>(())
    })?;
    eprintln!("\n{:<12} {:>7} {:>7}", "step", "seconds", "budget");
    for (step, seconds) in seconds {
        let over = if seconds > step.budget as f64 { "  over its budget" } else { "" };
        let place = if step.beside { "  beside others" } else { "" };
        eprintln!("{:<12} {seconds:>7.0} {:>7}{over}{place}", step.name, step.budget);
    }
    eprintln!("{:<12} {:>7.0} {:>7}", "all", start.elapsed().as_secs_f64(), 1200);
    Ok(())
}

/// Runs steps one after the other; their seconds.
fn all(steps: &[&Step], runner: &Runner) -> Result<Vec<f64>, String> {
    steps
        .iter()
        .map(|step| {
            let seconds = timed(step, runner);
            runner.print_log();
            seconds
        })
        .collect()
}

/// Runs a step; its seconds.
fn timed(step: &Step, runner: &Runner) -> Result<f64, String> {
    eprintln!("== {}", step.name);
    let start = Instant::now();
    (step.run)(runner).map_err(|message| format!("{}: {message}", step.name))?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("== {} passed in {seconds:.0} s", step.name);
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_not_there_is_named() {
        let error = run(Path::new("."), &["tests".into()], Path::new("python3"), false).unwrap_err();
        assert!(error.contains("`tests`"), "{error}");
    }

    #[test]
    fn names_are_unique_and_budgets_are_those_of_twenty_minutes() {
        let names: std::collections::HashSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        assert!(STEPS.iter().filter(|step| !step.beside).map(|step| step.budget).sum::<u64>() <= 1200);
    }

    #[test]
    fn what_fails_beside_others_fails_the_run() {
        let root = tempfile::tempdir().unwrap();
        let runner = Runner::new(root.path(), Path::new("python3"), false).with_log().unwrap();
        let failing = beside("failing", 1, |_| Err("a reason".into()));
        assert_eq!(all(&[&failing], &runner).unwrap_err(), "failing: a reason");
    }
}
