//! How tools end: with an exit status, and one line on standard error where something is wrong.

use std::fmt::Display;
use std::process::ExitCode;

use fringes_gpu::GpuError;

/// Exit status where a check fails or the GPU does.
const FAILED: u8 = 1;
/// Exit status of bad arguments and files.
pub(crate) const BAD_ARGUMENT: u8 = 2;
/// Exit status where there is no GPU to work on.
const NO_GPU: u8 = 3;

/// Why a tool ends early: an exit status and one line.
#[derive(Debug)]
pub(crate) struct End {
    status: u8,
    line: String,
}

impl End {
    /// A failure.
    pub(crate) fn failed(line: impl Display) -> Self {
        Self { status: FAILED, line: line.to_string() }
    }

    /// Arguments that cannot be.
    pub(crate) fn bad_argument(line: impl Display) -> Self {
        Self { status: BAD_ARGUMENT, line: line.to_string() }
    }

    /// The exit status, after the line on standard error.
    pub(crate) fn exit(self) -> ExitCode {
        eprintln!("error: {}", self.line.replace('\n', " "));
        ExitCode::from(self.status)
    }
}

impl Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line)
    }
}

impl From<GpuError> for End {
    fn from(error: GpuError) -> Self {
        let status = match error {
            GpuError::NoDriver | GpuError::NoDevice { .. } | GpuError::ComputeCapability { .. } => NO_GPU,
            GpuError::Environment { .. } => BAD_ARGUMENT,
            _ => FAILED,
        };
        Self { status, line: error.to_string() }
    }
}

/// Any error of a tool that reads and writes files: files are arguments.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl From<Failure> for End {
    fn from(Failure(line): Failure) -> Self {
        Self { status: BAD_ARGUMENT, line }
    }
}

/// A failure that names a place: a file or an argument.
pub(crate) fn failure(place: impl Display, what: impl Display) -> Failure {
    Failure(format!("{place}: {what}"))
}
