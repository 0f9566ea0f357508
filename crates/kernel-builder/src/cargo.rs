//! Runs cargo and rustc of another toolchain than the one that runs us.

use std::ffi::OsStr;
use std::process::Command;

use crate::BuildError;

/// Variables by which an outer cargo or rustup would steer an inner one.
const STEERING: [&str; 20] = [
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_LINKER",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTUP_TOOLCHAIN",
    "RUSTC_BOOTSTRAP",
    "RUST_RECURSION_COUNT",
    "TARGET",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "DEBUG",
    "PROFILE",
    "OUT_DIR",
    "MAKEFLAGS",
    "MFLAGS",
    "CARGO",
];

/// Settings of cargo that say where crates come from and how it prints; they stay.
const KEPT: [&str; 7] =
    ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_", "CARGO_TERM_"];

/// Whether a variable of the environment must not reach the inner cargo.
fn steers(name: &str) -> bool {
    STEERING.contains(&name) || name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept))
}

/// Takes from a command's environment what an outer cargo or rustup has put there.
pub(crate) fn clean(command: &mut Command) {
    for (name, value) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if steers(text) {
            command.env_remove(&name);
        } else if matches!(text, "LD_LIBRARY_PATH" | "DYLD_FALLBACK_LIBRARY_PATH") {
            // The outer toolchain's libraries have the names of the inner one's.
            let foreign =
                |path: &std::path::Path| path.components().any(|part| part.as_os_str() == OsStr::new("toolchains"));
            let paths = std::env::split_paths(&value).filter(|path| !foreign(path));
            if let Ok(paths) = std::env::join_paths(paths) {
                command.env(&name, paths);
            }
        }
    }
}

/// Runs a command and returns what it wrote to its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| BuildError::Start { program: program.clone(), source })?;
    if !output.status.success() {
        return Err(BuildError::Command {
            command: shown(command),
            status: output.status.to_string(),
            output: [String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout)].concat(),
        });
    }
    String::from_utf8(output.stdout).map_err(|error| BuildError::Unexpected { program, reason: error.to_string() })
}

/// A command line to show.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_cargo_s_settings_go_and_registries_stay() {
        for name in
            ["RUSTC", "CARGO_TARGET_DIR", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO", "CARGO_MAKEFLAGS"]
        {
            assert!(steers(name), "{name}");
        }
        for name in ["PATH", "CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_REGISTRIES_OWN_INDEX", "RUSTUP_HOME"] {
            assert!(!steers(name), "{name}");
        }
    }

    #[test]
    fn failed_command_s_error_has_its_line_and_its_words() {
        let mut command = Command::new("sh");
        let error = output(command.args(["-c", "echo out; echo wrong >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("sh -c") && error.contains("wrong") && error.contains('3'), "{error}");
        let error = output(&mut Command::new("/no/such/program")).unwrap_err();
        assert!(matches!(error, BuildError::Start { program, .. } if program == "/no/such/program"));
    }
}
