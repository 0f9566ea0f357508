//! Finds and runs CUDA's own programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{BuildError, cargo};

/// Finds a program in the folder of `FRINGES_CUDA_BIN`, in those of `PATH`, and in `extra`, in this order.
pub(crate) fn find(program: &str, extra: &[PathBuf]) -> Result<PathBuf, BuildError> {
    let paths = |name| std::env::var_os(name).map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    let named = paths("FRINGES_CUDA_BIN").unwrap_or_default();
    let folders = named.into_iter().chain(paths("PATH").unwrap_or_default()).chain(extra.iter().cloned());
    let candidates = folders.map(|folder| folder.join(format!("{program}{}", std::env::consts::EXE_SUFFIX)));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| BuildError::NoTool { program: program.into(), extra: extra.to_vec() })
}

/// The version that a program of CUDA states: `13.0.88` of `Cuda compilation tools, release 13.0, V13.0.88`.
pub(crate) fn version(path: &Path) -> Result<String, BuildError> {
    let text = cargo::output(Command::new(path).arg("--version"))?;
    let version = text.lines().find_map(|line| line.split(", V").nth(1).filter(|_| line.contains(", release ")));
    version.map(|version| version.trim().to_owned()).ok_or_else(|| BuildError::Unexpected {
        program: path.display().to_string(),
        reason: format!("no version in `{}`", text.trim()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named_with_what_brings_it() {
        let message = find("no-such-program", &["some/folder".into()]).unwrap_err().to_string();
        for part in ["`no-such-program`", "FRINGES_CUDA_BIN", "some/folder", "pip install nvidia-cuda-nvcc"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
