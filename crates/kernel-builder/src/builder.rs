//! From a kernel crate's folder to PTX.

use std::path::{Path, PathBuf};
use std::process::Command;

use fringes_kernel_declaration::KernelDeclaration;

use crate::{Arch, BuildError, PtxIsa, Sources, TARGET, Toolchain, cargo, directives, hygiene, sha256};

/// Builds one kernel crate for one architecture.
#[derive(Debug, Clone)]
#[must_use = "nothing is built before `build`"]
pub struct CudaBuilder {
    folder: PathBuf,
    arch: Arch,
    isa: Option<PtxIsa>,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    toolchain: Option<Toolchain>,
    cfgs: Vec<String>,
    features: Vec<String>,
    allow_panics: bool,
    rerun_if_changed: bool,
}

/// What was built.
#[derive(Debug, Clone)]
pub struct Built {
    /// The PTX.
    pub ptx: String,
    /// Where it lies: the path of [`CudaBuilder::copy_to`], or a file in the target folder.
    pub path: PathBuf,
    /// The kernels, in the order of their declarations.
    pub kernels: Vec<KernelDeclaration>,
    /// What it was built for.
    pub arch: Arch,
    /// Version of PTX.
    pub isa: PtxIsa,
    /// What `rustc --version` says of the compiler, with its version of LLVM.
    pub compiler: String,
    /// [`CudaBuilder::options`] of the build.
    pub options: String,
    /// What it was made from.
    pub sources: Sources,
}

/// Flags of every crate that is compiled for the device, beside those for the architecture and for paths of the
/// machine.
const FLAGS: [&str; 2] = [
    // The PTX is what the compiler writes; there is nothing to link.
    "-Clinker=true",
    "-Zlocation-detail=none",
];

/// Settings of cargo's release profile.
const PROFILE: [(&str, &str); 9] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
];

/// What cargo is told to build.
const COMMAND: [&str; 8] =
    ["rustc", "--release", "--lib", "--crate-type", "cdylib", "-Zbuild-std=core", "--target", TARGET];

impl CudaBuilder {
    /// A builder for the kernel crate in `folder`, relative to the current folder (in a build script: the package's
    /// own).
    pub fn new(folder: impl AsRef<Path>) -> Self {
        Self {
            folder: folder.as_ref().into(),
            arch: Arch::Sm80,
            isa: None,
            copy_to: None,
            target_dir: None,
            toolchain: None,
            cfgs: Vec::new(),
            features: Vec::new(),
            allow_panics: false,
            rerun_if_changed: std::env::var_os("OUT_DIR").is_some(),
        }
    }

    /// What to build for; [`Arch::Sm80`] unless set. rustc's cfg `fringes_sm_80` (and so on) tells kernels.
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// Version of PTX to write; the architecture's [default](Arch::default_isa) unless set. A newer one needs a newer
    /// driver.
    pub fn isa(mut self, isa: PtxIsa) -> Self {
        self.isa = Some(isa);
        self
    }

    /// Writes the PTX to a file as well, making its folder if need be.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().into());
        self
    }

    /// Folder for what the compiler leaves. Builds for one architecture that share it compile `core` once. Unless set
    /// it is inside `OUT_DIR` in a build script (the outer cargo has locked its own), and otherwise `kernels` in
    /// cargo's target folder.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().into());
        self
    }

    /// The compiler; [`Toolchain::find`] unless set.
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Sets a rustc cfg for the kernel crate and its dependencies.
    pub fn cfg(mut self, cfg: impl Into<String>) -> Self {
        self.cfgs.push(cfg.into());
        self
    }

    /// Turns on a feature of the kernel crate.
    pub fn feature(mut self, feature: impl Into<String>) -> Self {
        self.features.push(feature.into());
        self
    }

    /// Takes PTX that can panic. A panic on the device ends in the kernel crate's panic handler.
    pub fn allow_panics(mut self, allow: bool) -> Self {
        self.allow_panics = allow;
        self
    }

    /// Prints `cargo::rerun-if-changed` for every source and `rerun-if-env-changed` for the variables that choose the
    /// compiler. On in a build script unless set.
    pub fn emit_rerun_if_changed(mut self, emit: bool) -> Self {
        self.rerun_if_changed = emit;
        self
    }

    /// All that the PTX depends on beside its sources and the compiler: architecture, version of PTX, features, cfgs,
    /// and how cargo and rustc are called. Paths of the machine are not in it, as they are not in the PTX.
    #[must_use = "it only says"]
    pub fn options(&self) -> String {
        let mut text = format!("architecture {}\nPTX {}\n", self.arch, self.chosen_isa());
        let mut line = |word: &str, value: &str| {
            text.push_str(word);
            text.push_str(value);
            text.push('\n');
        };
        let mut features = self.features.clone();
        features.sort_unstable();
        features.dedup();
        features.iter().for_each(|feature| line("feature ", feature));
        self.cfgs.iter().for_each(|cfg| line("cfg ", cfg));
        FLAGS.iter().for_each(|flag| line("flag ", flag));
        PROFILE.iter().for_each(|(name, value)| line("profile ", &format!("{name}={value}")));
        line("cargo ", &COMMAND.join(" "));
        line("panics ", if self.allow_panics { "allowed" } else { "refused" });
        text
    }

    /// The version of PTX to write.
    fn chosen_isa(&self) -> PtxIsa {
        self.isa.unwrap_or(self.arch.default_isa())
    }

    /// Builds.
    ///
    /// # Errors
    /// [`BuildError`]: no fitting compiler, the compiler's own errors, or PTX that was refused.
    pub fn build(self) -> Result<Built, BuildError> {
        let (isa, options) = (self.chosen_isa(), self.options());
        if isa < self.arch.least_isa() {
            return Err(BuildError::OldIsa { arch: self.arch, isa });
        }
        let toolchain = self.toolchain.clone().map_or_else(Toolchain::find, Ok)?;
        toolchain.check_arch(self.arch)?;
        let sources = Sources::ask(&mut inner(&toolchain), &self.folder)?;
        if self.rerun_if_changed {
            print_rerun_lines(&sources)?;
        }
        let target = self.target_folder(&sources)?;
        let assembly = self.compile(&toolchain, &sources, &target, isa)?;
        let raw = std::fs::read_to_string(&assembly)
            .map_err(|_| BuildError::NoOutput { path: assembly.clone(), target: target.clone() })?;
        let (ptx, kernels) = directives::write(&raw, self.arch)?;
        if kernels.is_empty() {
            return Err(BuildError::NoKernels { package: sources.package });
        }
        if !self.allow_panics {
            hygiene::check_panics(&ptx)?;
        }
        let home = std::env::home_dir();
        let paths =
            [Some(&sources.workspace), Some(&toolchain.sysroot.join("lib/rustlib")), Some(&target), home.as_ref()];
        let paths: Vec<String> = paths.into_iter().flatten().map(|path| path.to_string_lossy().into_owned()).collect();
        hygiene::check_paths(&ptx, &paths)?;
        let path = self.copy_to.unwrap_or_else(|| assembly.with_extension("ptx"));
        write_if_changed(&path, &ptx)?;
        let compiler = format!("{}, LLVM {}", toolchain.version, toolchain.llvm);
        Ok(Built { ptx, path, kernels, arch: self.arch, isa, compiler, options, sources })
    }

    /// The folder for what the compiler leaves.
    fn target_folder(&self, sources: &Sources) -> Result<PathBuf, BuildError> {
        let folder = match (&self.target_dir, std::env::var_os("OUT_DIR"), std::env::var_os("CARGO_TARGET_DIR")) {
            (Some(folder), _, _) => folder.clone(),
            (None, Some(out), _) => Path::new(&out).join("kernel-builder"),
            (None, None, Some(target)) => Path::new(&target).join("kernels"),
            (None, None, None) => sources.target.join("kernels"),
        };
        std::fs::create_dir_all(&folder).map_err(BuildError::file(&folder))?;
        folder.canonicalize().map_err(BuildError::file(&folder))
    }

    /// Flags of every crate that is compiled for the device.
    fn flags(&self, toolchain: &Toolchain, sources: &Sources, isa: PtxIsa) -> Vec<String> {
        let mut flags = vec![
            format!("-Ctarget-cpu={}", self.arch),
            format!("-Ctarget-feature=+{}", isa.feature()),
            format!("--remap-path-prefix={}=workspace", sources.workspace.display()),
            format!("--remap-path-prefix={}=rust", toolchain.sysroot.join("lib/rustlib/src/rust").display()),
            format!("--cfg=fringes_{}", self.arch),
        ];
        flags.extend(FLAGS.map(String::from));
        if let Some(home) =
            std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".cargo")))
        {
            flags.push(format!("--remap-path-prefix={}=cargo", home.display()));
        }
        flags.extend(self.cfgs.iter().map(|cfg| format!("--cfg={cfg}")));
        flags
    }

    /// Compiles, and returns the file with what LLVM wrote.
    fn compile(
        &self,
        toolchain: &Toolchain,
        sources: &Sources,
        target: &Path,
        isa: PtxIsa,
    ) -> Result<PathBuf, BuildError> {
        let flags = self.flags(toolchain, sources, isa);
        // One file for each way to build, so that cargo's "fresh" is ours.
        let way =
            [&flags[..], &self.features, &[toolchain.version.clone(), toolchain.llvm.clone()]].concat().join("\n");
        let folder = target.join(self.arch.name());
        let output = folder.join("ptx").join(&sha256(way.as_bytes())[..12]).join(format!("{}.s", sources.library));
        let parent = output.parent().unwrap_or(&folder);
        std::fs::create_dir_all(parent).map_err(BuildError::file(parent))?;
        let mut command = inner(toolchain);
        command
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .envs(PROFILE)
            .args(COMMAND)
            .arg("--manifest-path")
            .arg(sources.folders[0].join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&folder);
        if !self.features.is_empty() {
            command.arg("--features").arg(self.features.join(","));
        }
        command.arg("--").arg(format!("--emit=asm={}", output.display()));
        match cargo::output(&mut command) {
            Err(BuildError::Command { command, status, output }) => {
                Err(BuildError::Command { command, status, output: without_feature_notes(&output) })
            }
            Err(other) => Err(other),
            Ok(_) => Ok(output),
        }
    }
}

/// A toolchain's cargo, free of an outer one.
fn inner(toolchain: &Toolchain) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    cargo::clean(&mut command);
    // An empty wrapper also overrides one in a configuration file.
    command.env("RUSTC", &toolchain.rustc).env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

/// A compiler's output without its notes on the choice of the PTX version, which it calls an unstable feature in every
/// build.
fn without_feature_notes(output: &str) -> String {
    let note = |paragraph: &&str| !paragraph.contains("unstable feature specified for `-Ctarget-feature`");
    output.split("\n\n").filter(note).collect::<Vec<_>>().join("\n\n")
}

fn print_rerun_lines(sources: &Sources) -> Result<(), BuildError> {
    for file in sources.files()?.values() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    for name in ["FRINGES_KERNEL_RUSTC", "FRINGES_KERNEL_CARGO", "RUSTUP_HOME"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    Ok(())
}

/// Writes a file unless it holds just that, so that nothing that depends on it is built anew for nothing.
fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
    }
    std::fs::write(path, text).map_err(BuildError::file(path))
}
