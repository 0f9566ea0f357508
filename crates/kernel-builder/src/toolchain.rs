//! Finds a rustc that can build GPU kernels.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Arch, BuildError};

/// A rustc with the target `nvptx64-nvidia-cuda` and the sources of `core`, and the cargo that goes with it.
///
/// Looked for in this order:
/// 1. `FRINGES_KERNEL_RUSTC`, with `FRINGES_KERNEL_CARGO` or the cargo beside it. If it is set, nothing else is tried.
/// 2. Toolchains of rustup that have the component `rust-src`, nightlies first.
/// 3. `/usr/bin/rustc` and `/usr/bin/cargo`: Debian's packages rustc-web, cargo-web and rust-web-src.
///
/// Any release channel will do: unstable features are opened for kernels alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its cargo.
    pub cargo: PathBuf,
    /// What `rustc --version` says.
    pub version: String,
    /// The version of LLVM, as `rustc -vV` says it.
    pub llvm: String,
    /// Folder that holds `lib/rustlib`.
    pub sysroot: PathBuf,
}

/// Where compilers are looked for.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The compiler that the user named, and the cargo.
    pub(crate) named: Option<(PathBuf, Option<PathBuf>)>,
    /// rustup's folder of toolchains.
    pub(crate) toolchains: Option<PathBuf>,
    /// The system's folder of programs.
    pub(crate) system: PathBuf,
}

impl Places {
    fn from_environment() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            named: variable("FRINGES_KERNEL_RUSTC").map(|rustc| (rustc, variable("FRINGES_KERNEL_CARGO"))),
            toolchains: variable("RUSTUP_HOME")
                .or_else(|| std::env::home_dir().map(|home| home.join(".rustup")))
                .map(|rustup| rustup.join("toolchains")),
            system: "/usr/bin".into(),
        }
    }
}

impl Toolchain {
    /// The first that fits.
    ///
    /// # Errors
    /// [`BuildError::NoCompiler`] with what each compiler lacks and how to install one that does not;
    /// [`BuildError::UnfitCompiler`] if `FRINGES_KERNEL_RUSTC` names one that does not fit.
    pub fn find() -> Result<Self, BuildError> {
        Self::find_in(&Places::from_environment()).map(|mut found| found.remove(0))
    }

    /// All that fit, in order of preference; at least one.
    ///
    /// # Errors
    /// As [`Toolchain::find`].
    pub fn find_all() -> Result<Vec<Self>, BuildError> {
        Self::find_in(&Places::from_environment())
    }

    /// The toolchain of a given compiler. Without `cargo` it is the one beside the compiler.
    ///
    /// # Errors
    /// [`BuildError::UnfitCompiler`] with what it lacks.
    pub fn at(rustc: &Path, cargo: Option<&Path>) -> Result<Self, BuildError> {
        let unfit = |reason: String| BuildError::UnfitCompiler { rustc: rustc.into(), reason };
        let ask = |arguments: &[&str]| -> Result<String, BuildError> {
            let mut command = Command::new(rustc);
            crate::cargo::clean(&mut command);
            let output =
                command.args(arguments).output().map_err(|error| unfit(format!("it did not start: {error}")))?;
            if !output.status.success() {
                let message = String::from_utf8_lossy(&output.stderr);
                return Err(unfit(format!("`rustc {}` failed: {}", arguments.join(" "), message.trim())));
            }
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let versions = ask(&["-vV"])?;
        let version = versions.lines().next().unwrap_or_default().to_owned();
        let llvm =
            versions.lines().find_map(|line| line.strip_prefix("LLVM version: ")).unwrap_or("unknown").to_owned();
        if !ask(&["--print", "target-list"])?.lines().any(|target| target == crate::TARGET) {
            return Err(unfit(format!("{version} has no target {}", crate::TARGET)));
        }
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?);
        let core = sysroot.join("lib/rustlib/src/rust/library/core");
        if !core.is_dir() {
            let name = sysroot.file_name().unwrap_or_default().to_string_lossy();
            let remedy = if sysroot.parent().is_some_and(|parent| parent.ends_with("toolchains")) {
                format!("`rustup component add rust-src --toolchain {name}` adds them")
            } else {
                "on Debian, the package rust-web-src (beside rustc-web) or rust-src (beside rustc) adds them".into()
            };
            return Err(unfit(format!("no sources of `core` in {}; {remedy}", core.display())));
        }
        // The compiler itself, not rustup's stand-in for whichever is chosen.
        let own = sysroot.join("bin/rustc");
        let rustc = if own.is_file() { own } else { rustc.to_path_buf() };
        let beside = rustc.with_file_name("cargo");
        let cargo = cargo.map_or(beside, Path::to_path_buf);
        if cargo.components().count() > 1 && !cargo.is_file() {
            return Err(unfit(format!("no cargo at {}; set FRINGES_KERNEL_CARGO", cargo.display())));
        }
        Ok(Self { rustc, cargo, version, llvm, sysroot })
    }

    /// Refuses an architecture that the compiler does not know.
    ///
    /// # Errors
    /// [`BuildError::UnknownArch`].
    pub fn check_arch(&self, arch: Arch) -> Result<(), BuildError> {
        let mut command = Command::new(&self.rustc);
        crate::cargo::clean(&mut command);
        let output = crate::cargo::output(command.args(["--print", "target-cpus", "--target", crate::TARGET]))?;
        let known = output.lines().any(|line| line.split_whitespace().next() == Some(arch.name()));
        if known { Ok(()) } else { Err(BuildError::UnknownArch { compiler: self.version.clone(), arch }) }
    }

    pub(crate) fn find_in(places: &Places) -> Result<Vec<Self>, BuildError> {
        if let Some((rustc, cargo)) = &places.named {
            return Self::at(rustc, cargo.as_deref()).map(|toolchain| vec![toolchain]);
        }
        let mut candidates: Vec<PathBuf> = Vec::new();
        if let Some(entries) = places.toolchains.as_deref().and_then(|folder| std::fs::read_dir(folder).ok()) {
            candidates.extend(entries.flatten().map(|entry| entry.path().join("bin/rustc")));
            let name = |path: &Path| path.to_string_lossy().into_owned();
            candidates.sort_by_key(|path| (!name(path).contains("nightly"), name(path)));
        }
        candidates.push(places.system.join("rustc"));
        let (mut found, mut tried) = (Vec::new(), String::new());
        for candidate in candidates {
            if !candidate.is_file() {
                tried.push_str(&format!("- no {}\n", candidate.display()));
                continue;
            }
            match Self::at(&candidate, None) {
                Ok(toolchain) => found.push(toolchain),
                Err(BuildError::UnfitCompiler { rustc, reason }) => {
                    tried.push_str(&format!("- {}: {reason}\n", rustc.display()));
                }
                Err(other) => return Err(other),
            }
        }
        if found.is_empty() { Err(BuildError::NoCompiler { tried }) } else { Ok(found) }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A toolchain whose rustc is a script.
    fn fake(root: &Path, name: &str, targets: &str, with_core: bool) -> PathBuf {
        let sysroot = root.join("toolchains").join(name);
        std::fs::create_dir_all(sysroot.join("bin")).unwrap();
        if with_core {
            std::fs::create_dir_all(sysroot.join("lib/rustlib/src/rust/library/core")).unwrap();
        }
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n\"-vV\") echo 'rustc 9.9.9 ({name})'; echo 'LLVM version: 22.1';;\n\
             \"--print target-list\") printf '{targets}';;\n\"--print sysroot\") echo '{}';;\n\
             \"--print target-cpus --target nvptx64-nvidia-cuda\") printf 'Available CPUs:\\n  sm_80 \\n  sm_90\\n';;\n*) exit 3;;\nesac\n",
            sysroot.display()
        );
        for program in ["rustc", "cargo"] {
            let path = sysroot.join("bin").join(program);
            std::fs::write(&path, &script).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            // A process that another test forks while the file is written holds it busy for a moment.
            while Command::new(&path)
                .arg("-vV")
                .output()
                .is_err_and(|e| e.kind() == std::io::ErrorKind::ExecutableFileBusy)
            {}
        }
        sysroot.join("bin/rustc")
    }

    const TARGETS: &str = "x86_64-unknown-linux-gnu\\nnvptx64-nvidia-cuda\\n";

    fn places(root: &Path) -> Places {
        Places { named: None, toolchains: Some(root.join("toolchains")), system: root.join("usr/bin") }
    }

    #[test]
    fn first_fitting_toolchain_is_a_nightly_with_sources() {
        let root = tempfile::tempdir().unwrap();
        fake(root.path(), "a-stable", TARGETS, true);
        fake(root.path(), "nightly-bare", TARGETS, false);
        let nightly = fake(root.path(), "nightly-full", TARGETS, true);
        let found = Toolchain::find_in(&places(root.path())).unwrap();
        let versions: Vec<&str> = found.iter().map(|toolchain| toolchain.version.as_str()).collect();
        assert_eq!(versions, ["rustc 9.9.9 (nightly-full)", "rustc 9.9.9 (a-stable)"]);
        assert_eq!(found[0].rustc, nightly);
        assert_eq!(found[0].cargo, nightly.with_file_name("cargo"));
        assert_eq!(found[0].llvm, "22.1");
    }

    #[test]
    fn without_a_fitting_compiler_the_error_says_what_each_lacks_and_what_to_install() {
        let root = tempfile::tempdir().unwrap();
        fake(root.path(), "stable", "x86_64-unknown-linux-gnu\\n", true);
        fake(root.path(), "nightly", TARGETS, false);
        let message = Toolchain::find_in(&places(root.path())).unwrap_err().to_string();
        for part in [
            "(stable) has no target nvptx64-nvidia-cuda",
            "`rustup component add rust-src --toolchain nightly` adds them",
            "usr/bin/rustc",
            "rustup toolchain install nightly --component rust-src",
            "apt-get install rustc-web cargo-web rust-web-src",
            "FRINGES_KERNEL_RUSTC",
        ] {
            assert!(message.contains(part), "`{part}` is missing in\n{message}");
        }
    }

    #[test]
    fn a_named_compiler_is_taken_or_refused_and_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        fake(root.path(), "nightly", TARGETS, true);
        let other = fake(root.path(), "other", TARGETS, false);
        let named = |rustc: PathBuf| Places { named: Some((rustc, None)), ..places(root.path()) };
        let error = Toolchain::find_in(&named(other.clone())).unwrap_err();
        assert!(matches!(&error, BuildError::UnfitCompiler { rustc, .. } if *rustc == other), "{error}");
        let error = Toolchain::find_in(&named(root.path().join("none"))).unwrap_err();
        assert!(error.to_string().contains("did not start"), "{error}");
        let error = Toolchain::at(&root.path().join("toolchains/nightly/bin/rustc"), Some(Path::new("/no/cargo")));
        assert!(error.unwrap_err().to_string().contains("FRINGES_KERNEL_CARGO"));
    }

    #[test]
    fn an_architecture_that_the_compiler_does_not_know_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let toolchain = Toolchain::at(&fake(root.path(), "nightly", TARGETS, true), None).unwrap();
        toolchain.check_arch(Arch::Sm90).unwrap();
        let error = toolchain.check_arch(Arch::Sm90a).unwrap_err();
        assert!(matches!(error, BuildError::UnknownArch { arch: Arch::Sm90a, .. }), "{error}");
    }
}
