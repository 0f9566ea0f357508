//! `cargo xtask kernels`: kernel crates to the PTX that the repository carries, and the checks of it.
//!
//! Beside the PTX of a crate lie two files. `manifest.json` says what each PTX was made from and by what, and what it
//! needs; `sass.json` what `ptxas` makes of it: registers and machine instructions of every kernel. With `--check`
//! nothing is written, and everything must be as those files say. What the hashes in those files prove is not built or
//! assembled again, unless `--full`.

mod assemble;
mod check;
mod crates;
mod manifest;
mod texts;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fringes_kernel_builder::{Arch, BuildError, Built, CudaBuilder, Sources, Toolchain, sha256};

use assemble::Tools;
use crates::KernelCrate;
use manifest::{Golden, Manifest, Record};

/// What the command line asks for.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Options {
    /// Crates under kernels-rs, or folders of them; all of them unless given.
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Only compare; fail if anything is stale.
    #[arg(long)]
    check: bool,
    /// With --check: build and assemble everything again, also what hashes prove.
    #[arg(long, requires = "check")]
    full: bool,
    /// Only build what hashes do not prove to be made of the sources as they are.
    #[arg(long, conflicts_with = "check")]
    stale: bool,
    /// Only write the sources that embed the PTX (texts.rs of the host crates); nothing is built.
    #[arg(long, conflicts_with_all = ["check", "crates"])]
    texts: bool,
    /// With --check: fail where the kernel compiler, ptxas or nvdisasm is missing (as where the variable CI is set).
    #[arg(long)]
    require_compiler: bool,
}

impl Options {
    /// The options of the step in CI.
    pub(crate) fn for_ci(full: bool) -> Self {
        Self { check: true, full, ..Self::default() }
    }
}

/// Builds or checks.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let context = Context::new(root)?;
    let crates = crates::find(&context.root)?;
    if let Some(unknown) = options.crates.iter().find(|name| !crates.iter().any(|each| each.is_meant_by(name))) {
        let mut known: Vec<&str> = crates.iter().map(|each| each.name.as_str()).collect();
        known.dedup();
        return Err(format!("no kernel crate is called `{unknown}`; there are {}", known.join(", ")));
    }
    let chosen =
        |each: &&KernelCrate| options.crates.is_empty() || options.crates.iter().any(|name| each.is_meant_by(name));
    let required = options.require_compiler || std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let mut faults = Vec::new();
    if options.check {
        let mut proven = check::Proven::default();
        for each in crates.iter().filter(chosen) {
            faults.extend(check::check(&context, each, required, options.full, &mut proven)?);
        }
        println!(
            "{} PTX texts not built again and {} not assembled again: hashes of manifest.json and sass.json prove them",
            proven.built, proven.assembled
        );
        faults.extend(check::left_over(&context.root, &crates));
        faults.extend(texts::check(&context.root, &crates)?);
    } else {
        for each in crates.iter().filter(|each| !options.texts && chosen(each)) {
            if !options.stale || !check::is_proven(&context, each)? {
                write(&context, each)?;
            }
        }
        texts::write(&context.root, &crates)?;
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults\n{}", faults.len(), faults.join("\n"))) }
}

/// What the work needs beside the crate.
struct Context {
    root: PathBuf,
    /// Compilers of kernels that are installed, or why none is.
    toolchains: Result<Vec<Toolchain>, BuildError>,
    /// ptxas and nvdisasm, or why they are not there.
    tools: Result<Tools, BuildError>,
    /// Folder for what compilers leave.
    target: PathBuf,
    /// Hashes of sources, by folder of the crate: its parts have them in common.
    sources: RefCell<HashMap<PathBuf, String>>,
}

impl Context {
    fn new(root: &Path) -> Result<Self, String> {
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let target = target.join("kernels");
        Ok(Self {
            toolchains: Toolchain::find_all(),
            tools: Tools::find(&root),
            target,
            root,
            sources: RefCell::default(),
        })
    }

    /// The installed compiler whose name a manifest has, or else the first.
    fn toolchain(&self, recorded: Option<&str>) -> Result<&Toolchain, &BuildError> {
        let all = self.toolchains.as_ref()?;
        Ok(all.iter().find(|each| Some(compiler(each).as_str()) == recorded).unwrap_or(&all[0]))
    }

    /// What builds a crate for one architecture.
    fn builder(&self, each: &KernelCrate, arch: Arch) -> CudaBuilder {
        let builder = CudaBuilder::new(self.root.join(&each.folder)).arch(arch).target_dir(&self.target);
        match &each.part {
            Some(part) => builder.feature(part),
            None => builder,
        }
    }

    /// Builds a crate for one architecture.
    fn build(&self, each: &KernelCrate, arch: Arch, toolchain: &Toolchain) -> Result<Built, String> {
        let built = self.builder(each, arch).toolchain(toolchain.clone()).build();
        built.map_err(|error| format!("{each} for {arch}: {error}"))
    }

    /// The hash of what a crate's PTX is made from.
    fn source_hash(&self, each: &KernelCrate) -> Result<String, String> {
        if let Some(known) = self.sources.borrow().get(&each.folder) {
            return Ok(known.clone());
        }
        let hash = Sources::of(&self.root.join(&each.folder)).and_then(|sources| sources.hash());
        let hash = hash.map_err(|error| format!("{each}: {error}"))?;
        self.sources.borrow_mut().insert(each.folder.clone(), hash.clone());
        Ok(hash)
    }

    /// The hash of how a crate is built for one architecture.
    fn options_hash(&self, each: &KernelCrate, arch: Arch) -> String {
        sha256(self.builder(each, arch).options().as_bytes())
    }
}

/// A compiler as a manifest names it.
fn compiler(toolchain: &Toolchain) -> String {
    format!("{}, LLVM {}", toolchain.version, toolchain.llvm)
}

/// Builds a crate for its architectures and writes PTX, manifest and golden file.
fn write(context: &Context, each: &KernelCrate) -> Result<(), String> {
    let folder = context.root.join(&each.destination);
    let old = Manifest::read(&folder)?;
    let (mut manifest, mut golden) = (Manifest::default(), Golden::default());
    let mut texts = Vec::new();
    for &arch in &each.archs {
        let file = each.file(arch);
        let recorded = old.files.get(&file).map(|record| record.compiler.as_str());
        let toolchain = context.toolchain(recorded).map_err(ToString::to_string)?;
        if let Some(recorded) = recorded.filter(|recorded| *recorded != compiler(toolchain)) {
            println!("{file}: built with {}, until now with {recorded}", compiler(toolchain));
        }
        let built = context.build(each, arch, toolchain)?;
        match &context.tools {
            Ok(tools) => golden.add(tools, (&file, &built.ptx, arch), tools.assemble(&built.path, arch)?),
            Err(error) => println!("{file}: not assembled, {} not written: {error}", Golden::NAME),
        }
        println!("{}/{file}: {} kernels", each.destination.display(), built.kernels.len());
        manifest.files.insert(file.clone(), Record::of(&built)?);
        texts.push((file, built.ptx));
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (file, ptx) in texts {
        let path = folder.join(file);
        std::fs::write(&path, ptx).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    manifest.write(&folder)?;
    if context.tools.is_ok() { golden.write(&folder) } else { Ok(()) }
}

/// The hash of a PTX.
fn output_hash(ptx: &str) -> String {
    sha256(ptx.as_bytes())
}
