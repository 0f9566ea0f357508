//! Generated sources as rustfmt writes them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The source as rustfmt writes it.
pub(crate) fn format(root: &Path, source: &str) -> Result<String, String> {
    let shown = |error: std::io::Error| format!("rustfmt: {error}");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(shown)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(source.as_bytes()).map_err(shown)?;
    }
    let output = child.wait_with_output().map_err(shown)?;
    if !output.status.success() {
        return Err(format!("rustfmt does not take the generated source: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("rustfmt: {error}"))
}
