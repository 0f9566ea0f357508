//! The process that starts the one that works on the GPU, and outlives it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::conformance::record::Outcome;
use crate::conformance::{Arguments, Failure};

/// Starts one process on `jobs` (target and name of the case) and reports outcomes until it ends, all done or not. A
/// case at which it dies or falls silent is reported as failed.
pub(crate) fn one_process(
    jobs: &[(String, String)],
    arguments: &Arguments,
    finished: &mut dyn FnMut(Outcome),
) -> Result<(), Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("conformance").arg("--worker").arg("--rounds").arg(arguments.rounds.to_string());
    if let Some(gpu) = arguments.gpu {
        command.arg("--gpu").arg(gpu.to_string());
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (lines, received) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
        });
    }
    if let Some(mut input) = child.stdin.take() {
        let text: String = jobs.iter().map(|(target, name)| format!("{target} {name}\n")).collect();
        // A child that has died already tells so below.
        std::thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let mut current: Option<(String, String)> = None;
    let end = loop {
        match received.recv_timeout(Duration::from_secs(arguments.patience)) {
            Ok(line) => {
                if let Some(begun) = line.strip_prefix("begin ") {
                    current = begun.split_once(' ').map(|(target, name)| (target.to_owned(), name.to_owned()));
                } else if let Ok(outcome) = serde_json::from_str(&line) {
                    current = None;
                    finished(outcome);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break "the process that ran it died",
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                break "it hangs";
            }
        }
    };
    child.wait()?;
    if let Some((target, case)) = current {
        finished(Outcome { case, target, error: Some(end.into()), ..Outcome::default() });
    }
    Ok(())
}
