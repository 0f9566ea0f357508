//! A run of the program: cases, their verdicts, the table and the record.

use std::error::Error;
use std::path::Path;

use fringes_gpu::{Device, GpuError, Stream};

use crate::end::End;
use crate::gpu_report::{self, Params, Record, Row};

/// What a case found.
pub(crate) struct Outcome {
    /// Time of one run.
    pub(crate) time_ms: f64,
    /// Rate of that run.
    pub(crate) value: f64,
    /// Unit of the rate.
    pub(crate) unit: &'static str,
    /// What it was compared with.
    pub(crate) against: &'static str,
    /// What is wrong, if anything is.
    pub(crate) verdict: Result<(), String>,
}

/// Which cases are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Names of kernels; all without one.
    pub(crate) only: Vec<String>,
    /// Texts that a case's variant and sizes have.
    pub(crate) matching: Vec<String>,
}

impl Wanted {
    /// Whether cases of a kernel are.
    fn kernel(&self, kernel: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == kernel)
    }

    /// Whether a case of such a kernel is.
    fn case(&self, variant: &str, params: &Params) -> bool {
        let line = format!("{variant} {}", gpu_report::line(params));
        self.matching.iter().all(|text| line.contains(text.as_str()))
    }
}

/// A run of the program.
pub(crate) struct Session {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    pub(crate) quick: bool,
    wanted: Wanted,
    record: Record,
    failures: usize,
}

impl Session {
    pub(crate) fn new(device: Device, wanted: Wanted, quick: bool, json: Option<&Path>) -> Result<Self, End> {
        println!("{:<17} {:<31} {:<38} {:<7} {:<10} {:>9}  rate", "kernel", "variant", "size", "result", "error", "ms");
        let (stream, record) = (device.new_stream()?, Record::new(&device).kept_in(json)?);
        Ok(Self { device, stream, quick, wanted, record, failures: 0 })
    }

    /// Whether a kernel is to be run.
    pub(crate) fn wants(&self, kernel: &str) -> bool {
        self.wanted.kernel(kernel)
    }

    /// Median time of work that can be repeated; one run in quick mode.
    pub(crate) fn time<E: From<GpuError>>(&self, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
        let (warmup, runs) = if self.quick { (0, 1) } else { (2, 10) };
        Ok(fringes_gpu::time(&self.stream, warmup, runs, |_| work())?.median_ms)
    }

    /// Runs a case, prints its line and notes its row. Ends the program where the GPU answers no more.
    pub(crate) fn case(
        &mut self,
        kernel: &'static str,
        variant: impl Into<String>,
        params: Params,
        run: impl FnOnce(&Self) -> Result<Outcome, Box<dyn Error>>,
    ) -> Result<(), End> {
        self.case_within(kernel, variant, params, |session| Ok((run(session)?, String::new())))
    }

    /// As [`Session::case`], for results that are within a bound: with the error that they have, as text.
    pub(crate) fn case_within(
        &mut self,
        kernel: &'static str,
        variant: impl Into<String>,
        params: Params,
        run: impl FnOnce(&Self) -> Result<(Outcome, String), Box<dyn Error>>,
    ) -> Result<(), End> {
        let variant = variant.into();
        if !(self.wants(kernel) && self.wanted.case(&variant, &params)) {
            return Ok(());
        }
        let nothing = |fault| Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "", verdict: Err(fault) };
        let (outcome, error) = run(self).unwrap_or_else(|error| (nothing(error.to_string()), String::new()));
        let Outcome { time_ms, value, unit, against, verdict } = outcome;
        let passed = verdict.is_ok();
        println!(
            "{kernel:<17} {variant:<31} {:<38} {:<7} {:<10} {time_ms:>9.4}  {value:.2} {unit}",
            gpu_report::line(&params),
            if passed { "pass" } else { "FAIL" },
            if !passed {
                "see below"
            } else if error.is_empty() {
                "0"
            } else {
                "in bound"
            },
        );
        let check = match &verdict {
            Ok(()) if error.is_empty() => format!("equals {against}, error 0"),
            Ok(()) => format!("within the bound of {against}; {error}"),
            Err(fault) => {
                println!("    {fault}");
                self.failures += 1;
                format!("FAIL against {against}: {fault}")
            }
        };
        let (floor, bound_by, energy) = (None, String::new(), None);
        self.record.push(Row { kernel, variant, params, time_ms, value, unit, floor, bound_by, check, energy });
        if passed {
            return Ok(());
        }
        // After a fault of a kernel every further call fails; a wrong number lets the next case run.
        Ok(self.device.synchronize()?)
    }

    /// The record, also where the cases `ended` early, the last line, and whether all passed.
    pub(crate) fn finish(self, ended: Result<(), End>) -> Result<(), End> {
        self.record.finish()?;
        ended?;
        let cases = self.record.rows.len();
        if cases == 0 {
            return Err(End::bad_argument(format!("no case has all of {:?}", self.wanted.matching)));
        }
        println!();
        if self.failures > 0 {
            return Err(End::failed(format!("{} of {cases} cases failed", self.failures)));
        }
        println!("all {cases} cases pass");
        Ok(())
    }
}

/// What differs between two arrays: the first place, and in how many.
pub(crate) fn compare<T: PartialEq + std::fmt::Debug>(expected: &[T], actual: &[T]) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!("expected {} elements, got {}", expected.len(), actual.len()));
    }
    let mut different = expected.iter().zip(actual).enumerate().filter(|(_, (expected, actual))| expected != actual);
    match different.next() {
        None => Ok(()),
        Some((index, (first, got))) => Err(format!(
            "{} of {} elements differ; the first is {index}: expected {first:?}, got {got:?}",
            different.count() + 1,
            expected.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_kernel_and_by_what_their_line_has() {
        let all = Wanted::default();
        let sizes = gpu_report::params([("beams", 130), ("inputs", 70)]);
        assert!(all.kernel("tied_array") && all.case("8-bit integer to f16", &sizes));
        let only = |matching: &[&str]| Wanted {
            only: vec!["tied_array".into()],
            matching: matching.iter().copied().map(String::from).collect(),
        };
        assert!(only(&[]).kernel("tied_array") && !only(&[]).kernel("frb"));
        assert!(only(&["to f16", "beams=130"]).case("8-bit integer to f16", &sizes));
        assert!(!only(&["to f16", "beams=131"]).case("8-bit integer to f16", &sizes));
    }
}
