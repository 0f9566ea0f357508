//! Packages the published crates, and checks the features that need a folder of their own.

use std::path::{Path, PathBuf};

use super::runner::Runner;

/// Packages the published crates and builds them from their packages.
///
/// Cargo keeps what it unpacked of a package, and what it compiled, under the package's name and version, and trusts
/// both for ever: between two releases the sources change and the version does not. So what is ours is put away first;
/// what comes from others stays.
pub(crate) fn run(runner: &Runner) -> Result<(), String> {
    let folder = runner.target().join("package-verification");
    for kept in ["package", "debug/.fingerprint", "debug/build", "debug/deps", "debug/incremental"] {
        for ours in entries(&folder.join(kept))?.iter().filter(|path| is_ours(path)) {
            remove(ours)?;
        }
    }
    for unpacked in unpacked_by_path()? {
        remove(&unpacked)?;
    }
    let folder = folder.to_string_lossy();
    let mut arguments = vec!["package", "--workspace", "--allow-dirty", "--quiet", "--target-dir", &folder];
    for never_published in
        ["fringes-book", "fringes-examples", "fringes-instrument", "fringes-tools", "xtask", "fringes-kernels-*"]
    {
        arguments.extend(["--exclude", never_published]);
    }
    runner.cargo(&arguments, &[("CARGO_PROFILE_DEV_DEBUG", "0")])
}

/// Checks the conversions to and from `cust`, whose build script wants a CUDA installation: a folder that looks like
/// one will do.
pub(crate) fn cust(runner: &Runner) -> Result<(), String> {
    let cuda = runner.target().join("no-cuda");
    let folder = cuda.join("lib64");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let arguments = ["check", "--package", "fringes", "--features", "cust,cudarc"];
    runner.cargo(&arguments, &[("CUDA_LIBRARY_PATH", &cuda.to_string_lossy())])
}

/// The copies of this workspace's packages that Cargo keeps from earlier runs: registries that have a path instead of a
/// host have folders whose names begin with a dash.
fn unpacked_by_path() -> Result<Vec<PathBuf>, String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .ok_or("neither CARGO_HOME nor a home directory is known")?;
    let mut found = Vec::new();
    for registry in entries(&home.join("registry").join("src"))? {
        if name(&registry).starts_with('-') {
            found.extend(entries(&registry)?.into_iter().filter(|package| is_ours(package)));
        }
    }
    Ok(found)
}

/// Whether a file or folder of Cargo's is of a package of this workspace.
fn is_ours(path: &Path) -> bool {
    name(path).trim_start_matches("lib").starts_with("fringes")
}

/// What lies in a folder; nothing, if there is no folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = |error: std::io::Error| format!("{}: {error}", folder.display());
    if !folder.exists() {
        return Ok(Vec::new());
    }
    std::fs::read_dir(folder).map_err(shown)?.map(|entry| entry.map(|entry| entry.path()).map_err(shown)).collect()
}

fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Removes a file or a folder, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), String> {
    let shown = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_dir() {
        std::fs::remove_dir_all(path).map_err(shown)
    } else if path.exists() {
        std::fs::remove_file(path).map_err(shown)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_told_from_others() {
        for ours in ["fringes-0.1.0", "libfringes_types-0123.rlib", "fringes-types-89ab"] {
            assert!(is_ours(Path::new(ours)), "{ours}");
        }
        for others in ["libndarray-0123.rlib", "serde-1", "infringes"] {
            assert!(!is_ours(Path::new(others)), "{others}");
        }
    }
}
