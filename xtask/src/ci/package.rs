//! Packages the published crates, and checks the features that need a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::runner::Runner;

/// Most bytes of a package that crates.io takes.
const MOST_BYTES: u64 = 10 << 20;

/// Packages the published crates and checks what each package holds, in a workspace of their own.
///
/// They are unpacked beside each other and depend on each other, with the profile and the versions of this workspace,
/// so that what was compiled of other packages is used again. `cargo package` would build each of them, and everything
/// that they depend on, by itself.
pub(crate) fn run(runner: &Runner) -> Result<(), String> {
    let packed = runner.target().join("package");
    for old in entries(&packed)?.iter().filter(|path| is_ours(path)) {
        remove(old)?;
    }
    let mut arguments = vec!["package", "--workspace", "--allow-dirty", "--quiet", "--no-verify"];
    for never_published in
        ["fringes-book", "fringes-examples", "fringes-instrument", "fringes-tools", "xtask", "fringes-kernels-*"]
    {
        arguments.extend(["--exclude", never_published]);
    }
    runner.cargo(&arguments, &[])?;
    let folder = runner.target().join("package-verification");
    remove(&folder)?;
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names = Vec::new();
    for package in entries(&packed)?.iter().filter(|path| path.extension().is_some_and(|ending| ending == "crate")) {
        let bytes = std::fs::metadata(package).map_err(|error| format!("{}: {error}", package.display()))?.len();
        check_size(&package.to_string_lossy(), bytes)?;
        let mut command = Command::new("tar");
        // Files are as old as this run, and not as those of every package: Cargo compares ages.
        command.args(["--extract", "--gzip", "--touch", "--file"]).arg(package).arg("--directory").arg(&folder);
        runner.command(&mut command, &format!("tar {}", package.display()))?;
        names.push(package.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    if names.is_empty() {
        return Err(format!("no package in {}", packed.display()));
    }
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let read = |name: &str| {
        let path = runner.root.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("Cargo.toml", &workspace(&mut names, &read("Cargo.toml")?))?;
    write("Cargo.lock", &read("Cargo.lock")?)?;
    let (manifest, target) = (folder.join("Cargo.toml"), runner.target());
    let (manifest, target) = (manifest.to_string_lossy(), target.to_string_lossy());
    // One by one: together they would have each other's features.
    names.iter().map(|folder| package_of(folder)).try_for_each(|name| {
        let arguments = ["check", "--quiet", "--package", name, "--manifest-path", &manifest, "--target-dir", &target];
        runner.cargo(&arguments, &[])
    })
}

/// Whether crates.io takes a package.
fn check_size(package: &str, bytes: u64) -> Result<(), String> {
    if bytes > MOST_BYTES {
        return Err(format!("{package}: {bytes} bytes, more than the {MOST_BYTES} that crates.io takes"));
    }
    Ok(())
}

/// The package of a folder `name-version`.
fn package_of(folder: &str) -> &str {
    // Versions have dots and names have none.
    folder.split_once('.').and_then(|(start, _)| start.rsplit_once('-')).map_or("", |(name, _)| name)
}

/// The manifest of a workspace of packages in folders `name-version`, which depend on each other, with the development
/// profile of another manifest.
fn workspace(folders: &mut [String], manifest: &str) -> String {
    folders.sort();
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n".to_owned();
    for folder in folders.iter() {
        let name = package_of(folder);
        text += &format!("{name} = {{ path = \"{folder}\" }}\n");
    }
    let mut of_profile = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            // Of packages that are not among these Cargo would warn.
            of_profile = line == "[profile.dev]"
                || line.strip_prefix("[profile.dev.package.").is_some_and(|rest| {
                    let name = rest.trim_end_matches(']');
                    !name.starts_with("fringes") || folders.iter().any(|folder| folder.starts_with(name))
                });
        }
        if of_profile {
            text += &format!("{line}\n");
        }
    }
    text
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
    fn packages_that_are_too_large_are_named() {
        assert_eq!(check_size("a.crate", MOST_BYTES), Ok(()));
        assert!(check_size("a.crate", MOST_BYTES + 1).unwrap_err().starts_with("a.crate: 10485761 bytes"));
    }

    #[test]
    fn packages_are_a_workspace_with_the_profile_of_theirs() {
        let manifest = "[workspace]\n[profile.dev]\nopt-level = 1\n\n[profile.dev.package.fringes-fft]\nopt-level = 2\n\
            [profile.dev.package.fringes-tools]\nopt-level = 0\n[profile.dev.package.toml]\nopt-level = 0\n\
            [profile.release]\ndebug = false\n";
        let mut folders = ["fringes-fft-0.1.0".to_owned(), "fringes-0.1.0-beta.1".to_owned()];
        let text = workspace(&mut folders, manifest);
        assert!(text.contains("fringes = { path = \"fringes-0.1.0-beta.1\" }\nfringes-fft = {"), "{text}");
        assert!(text.contains("opt-level = 1") && text.contains("opt-level = 2"), "{text}");
        assert!(text.contains("package.toml]") && !text.contains("tools") && !text.contains("release"), "{text}");
    }

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
