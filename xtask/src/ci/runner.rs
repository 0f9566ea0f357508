//! Runs commands for the steps.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where commands run, and where what they print goes.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The workspace's root.
    pub(crate) root: PathBuf,
    /// Python for the cross-checks.
    python: PathBuf,
    /// Do everything again, also what hashes prove.
    pub(crate) full: bool,
    /// What commands print, if it is not shown at once.
    log: Option<File>,
}

impl Runner {
    pub(crate) fn new(root: &Path, python: &Path, full: bool) -> Self {
        // A name alone is looked for in PATH; a path is meant from the root.
        let python = if python.components().count() > 1 { root.join(python) } else { python.to_path_buf() };
        Self { root: root.to_path_buf(), python, full, log: None }
    }

    /// The same, but what commands print is kept.
    pub(crate) fn with_log(&self) -> Result<Self, String> {
        let log = tempfile::tempfile().map_err(|error| format!("no temporary file: {error}"))?;
        Ok(Self { root: self.root.clone(), python: self.python.clone(), full: self.full, log: Some(log) })
    }

    /// Prints what was kept, and forgets it.
    pub(crate) fn print_log(&self) {
        let Some(mut log) = self.log.as_ref() else { return };
        let mut text = Vec::new();
        let read = log.seek(SeekFrom::Start(0)).and_then(|_| log.read_to_end(&mut text));
        if read.is_ok() {
            eprint!("{}", String::from_utf8_lossy(&text));
        }
        let _ = log.set_len(0).and_then(|()| log.seek(SeekFrom::Start(0)));
    }

    /// Runs cargo in the workspace's root.
    pub(crate) fn cargo(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(program);
        command.args(arguments).envs(environment.iter().copied());
        self.command(&mut command, &format!("cargo {}", arguments.join(" ")))
    }

    /// Runs Python in the workspace's root.
    pub(crate) fn python(&self, script: &Path, argument: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.python);
        command.arg(script).arg(argument);
        self.command(&mut command, &format!("{} {}", self.python.display(), script.display()))
    }

    /// Runs a command in the workspace's root; `shown` names it if it fails.
    pub(crate) fn command(&self, command: &mut Command, shown: &str) -> Result<(), String> {
        command.current_dir(&self.root).stdin(Stdio::null());
        if let Some(log) = &self.log {
            let kept = || log.try_clone().map_err(|error| format!("`{shown}`: {error}"));
            command.stdout(kept()?).stderr(kept()?);
        }
        let status = command.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
    }

    /// Cargo's target folder.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), Into::into)
    }
}
