//! `cargo xtask kernels`: kernel crates to the PTX that the repository carries, and the checks of it.
//!
//! Beside the PTX of a crate lie two files. `manifest.json` says what each PTX was made from and by what, and what it needs;
//! `sass.json` what `ptxas` makes of it: registers and machine instructions of every kernel. With `--check` nothing is written, and
//! everything must be as those files say.

mod assemble;
mod check;
mod manifest;

use std::path::{Path, PathBuf};

use fringes_kernel_builder::{Arch, BuildError, Built, CudaBuilder, Sources, Toolchain, sha256};

use assemble::Tools;
use manifest::{Golden, Manifest, Record};

/// A kernel crate, what it is built for, and where its PTX lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelCrate {
    /// Folder under kernels-rs, and the first part of the PTX's names.
    pub(crate) name: &'static str,
    /// Architectures.
    pub(crate) archs: &'static [Arch],
    /// Folder of the PTX.
    pub(crate) destination: &'static str,
    /// The part of its kernels that the PTX has, which a feature of the crate chooses; all of them if there is none.
    pub(crate) part: Option<&'static str>,
}

/// Every kernel crate. A crate that declares no kernel yet is skipped.
const CRATES: &[KernelCrate] = &[
    KernelCrate { name: "saxpy", archs: &[Arch::Sm80], destination: "kernels-rs/saxpy/ptx", part: None },
    KernelCrate {
        name: "conformance",
        archs: &[Arch::Sm80, Arch::Sm90a],
        destination: "kernels-rs/conformance/ptx",
        part: None,
    },
    KernelCrate {
        name: "ceilings",
        archs: &[Arch::Sm80, Arch::Sm90a],
        destination: "kernels-rs/ceilings/ptx",
        part: None,
    },
    KernelCrate {
        name: "conversions",
        archs: &[Arch::Sm80, Arch::Sm90a],
        destination: "kernels-rs/conversions/ptx",
        part: None,
    },
    KernelCrate {
        name: "fft-timed",
        archs: &[Arch::Sm80, Arch::Sm90a],
        destination: "kernels-rs/fft-timed/ptx",
        part: None,
    },
    correlate("i4", "crates/correlator/ptx/mma/i4"),
    correlate("i8", "crates/correlator/ptx/mma/i8"),
    correlate("f16", "crates/correlator/ptx/mma/f16"),
    correlate("heaps_i4", "crates/correlator/ptx/mma/heaps_i4"),
    correlate("heaps_i8", "crates/correlator/ptx/mma/heaps_i8"),
    correlate("heaps_f16", "crates/correlator/ptx/mma/heaps_f16"),
    wgmma("i4", "crates/correlator/ptx/wgmma/i4"),
    wgmma("i8", "crates/correlator/ptx/wgmma/i8"),
    wgmma("f16", "crates/correlator/ptx/wgmma/f16"),
    wgmma("heaps_i4", "crates/correlator/ptx/wgmma/heaps_i4"),
    wgmma("heaps_i8", "crates/correlator/ptx/wgmma/heaps_i8"),
    wgmma("heaps_f16", "crates/correlator/ptx/wgmma/heaps_f16"),
    KernelCrate {
        name: "correlator-float",
        archs: &[Arch::Sm80, Arch::Sm90a],
        destination: "crates/correlator/ptx/float",
        part: None,
    },
    KernelCrate {
        name: "correlator-data",
        archs: &[Arch::Sm80],
        destination: "crates/correlator/ptx/data",
        part: None,
    },
    channelize("columns", "crates/channelizer/ptx/columns"),
    channelize("rows_256", "crates/channelizer/ptx/rows/256"),
    channelize("rows_512", "crates/channelizer/ptx/rows/512"),
    channelize("rows_1024", "crates/channelizer/ptx/rows/1024"),
    channelize("rows_2048", "crates/channelizer/ptx/rows/2048"),
    channelize("rows_4096", "crates/channelizer/ptx/rows/4096"),
    channelize("rows_8192", "crates/channelizer/ptx/rows/8192"),
    channelize("rows_16384", "crates/channelizer/ptx/rows/16384"),
    channelize("rows_32768", "crates/channelizer/ptx/rows/32768"),
    channelize("rows_65536", "crates/channelizer/ptx/rows/65536"),
    channelize_any("integers_real", "crates/channelizer/ptx/general/integers_real"),
    channelize_any("integers_complex", "crates/channelizer/ptx/general/integers_complex"),
    channelize_any("floats_real", "crates/channelizer/ptx/general/floats_real"),
    channelize_any("floats_complex", "crates/channelizer/ptx/general/floats_complex"),
    KernelCrate {
        name: "channelizer-fir",
        archs: &[Arch::Sm80],
        destination: "crates/channelizer/ptx/filter",
        part: None,
    },
    KernelCrate { name: "samples", archs: &[Arch::Sm80], destination: "crates/channelizer/ptx/samples", part: None },
    delay("shift", "crates/channelizer/ptx/delay/shift"),
    delay("i4", "crates/channelizer/ptx/delay/i4"),
    delay("i8", "crates/channelizer/ptx/delay/i8"),
    delay("f16", "crates/channelizer/ptx/delay/f16"),
    delay("f32", "crates/channelizer/ptx/delay/f32"),
    batch("64_64", "crates/fft/ptx/64_64"),
    batch("64_128", "crates/fft/ptx/64_128"),
    batch("128_128", "crates/fft/ptx/128_128"),
    batch("128_256", "crates/fft/ptx/128_256"),
    batch("256_256", "crates/fft/ptx/256_256"),
    batch("256_512", "crates/fft/ptx/256_512"),
    batch("512_512", "crates/fft/ptx/512_512"),
    batch("512_1024", "crates/fft/ptx/512_1024"),
    batch("1024_1024", "crates/fft/ptx/1024_1024"),
    beams("64_64", "crates/beamformer/ptx/fft/64_64"),
    beams("64_128", "crates/beamformer/ptx/fft/64_128"),
    beams("128_128", "crates/beamformer/ptx/fft/128_128"),
    beams("128_256", "crates/beamformer/ptx/fft/128_256"),
    beams("256_256", "crates/beamformer/ptx/fft/256_256"),
    beams("256_512", "crates/beamformer/ptx/fft/256_512"),
    beams("512_512", "crates/beamformer/ptx/fft/512_512"),
    beams("512_1024", "crates/beamformer/ptx/fft/512_1024"),
    beams("1024_1024", "crates/beamformer/ptx/fft/1024_1024"),
];

/// The correlator's kernels for sm_80 of one format and order of samples.
const fn correlate(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "correlator", archs: &[Arch::Sm80], destination, part: Some(part) }
}

/// The correlator's kernels of one format and order for sm_90a.
const fn wgmma(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "correlator-wgmma", archs: &[Arch::Sm90a], destination, part: Some(part) }
}

/// The F-engine's kernels of the first pass, or of the second one for one number of channels.
const fn channelize(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "channelizer", archs: &[Arch::Sm80], destination, part: Some(part) }
}

/// The F-engine's kernels of any plan of one kind of samples.
const fn channelize_any(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "channelizer-general", archs: &[Arch::Sm80], destination, part: Some(part) }
}

/// The kernels of coarse shifts, or of fine rotations of one format.
const fn delay(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "delay", archs: &[Arch::Sm80], destination, part: Some(part) }
}

/// The kernels of transforms of one size.
const fn batch(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "fft-batch", archs: &[Arch::Sm80], destination, part: Some(part) }
}

/// The kernels of FFT beams with transforms of one size.
const fn beams(part: &'static str, destination: &'static str) -> KernelCrate {
    KernelCrate { name: "fft-beams", archs: &[Arch::Sm80], destination, part: Some(part) }
}

impl KernelCrate {
    /// The crate's folder.
    fn folder(&self, root: &Path) -> PathBuf {
        root.join("kernels-rs").join(self.name)
    }

    /// Name of the PTX for an architecture.
    fn file(&self, arch: Arch) -> String {
        format!("{}_{arch}.ptx", self.name)
    }

    /// The command that builds it anew.
    fn remedy(&self) -> String {
        format!("cargo xtask kernels {}", self.name)
    }

    /// Whether it declares a kernel.
    fn has_kernels(&self, root: &Path) -> bool {
        fn any(folder: &Path) -> bool {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).any(|path| {
                if path.is_dir() {
                    return any(&path);
                }
                std::fs::read_to_string(&path).is_ok_and(|text| text.contains("kernel! {"))
            })
        }
        any(&self.folder(root).join("src"))
    }
}

/// What the command line asks for.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Options {
    /// Crates under kernels-rs; all of them unless given.
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Only compare; fail if anything is stale.
    #[arg(long)]
    check: bool,
    /// With --check: fail where the kernel compiler, ptxas or nvdisasm is missing (as where the variable CI is set).
    #[arg(long)]
    require_compiler: bool,
}

impl Options {
    /// The options of the step in CI.
    pub(crate) fn for_ci() -> Self {
        Self { check: true, ..Self::default() }
    }
}

/// Builds or checks.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let known = || CRATES.iter().map(|each| each.name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = options.crates.iter().find(|name| CRATES.iter().all(|each| each.name != **name)) {
        return Err(format!("no kernel crate is called `{unknown}`; there are {}", known()));
    }
    let chosen = |each: &&KernelCrate| options.crates.is_empty() || options.crates.iter().any(|name| name == each.name);
    let required = options.require_compiler || std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let context = Context::new(root)?;
    let mut faults = Vec::new();
    for each in CRATES.iter().filter(chosen) {
        if !each.has_kernels(root) {
            println!("{}: no kernels yet, skipped", each.name);
        } else if options.check {
            faults.extend(check::check(&context, each, required)?);
        } else {
            write(&context, each)?;
        }
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
}

impl Context {
    fn new(root: &Path) -> Result<Self, String> {
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let target = target.join("kernels");
        Ok(Self { toolchains: Toolchain::find_all(), tools: Tools::find(&root), target, root })
    }

    /// The installed compiler whose name a manifest has, or else the first.
    fn toolchain(&self, recorded: Option<&str>) -> Result<&Toolchain, &BuildError> {
        let all = self.toolchains.as_ref()?;
        Ok(all.iter().find(|each| Some(compiler(each).as_str()) == recorded).unwrap_or(&all[0]))
    }

    /// Builds a crate for one architecture.
    fn build(&self, each: &KernelCrate, arch: Arch, toolchain: &Toolchain) -> Result<Built, String> {
        let mut builder = CudaBuilder::new(each.folder(&self.root)).arch(arch).toolchain(toolchain.clone());
        if let Some(part) = each.part {
            builder = builder.feature(part);
        }
        let built = builder.target_dir(&self.target).build();
        built.map_err(|error| format!("{} for {arch}: {error}", each.name))
    }
}

/// A compiler as a manifest names it.
fn compiler(toolchain: &Toolchain) -> String {
    format!("{}, LLVM {}", toolchain.version, toolchain.llvm)
}

/// Builds a crate for its architectures and writes PTX, manifest and golden file.
fn write(context: &Context, each: &KernelCrate) -> Result<(), String> {
    let folder = context.root.join(each.destination);
    let old = Manifest::read(&folder)?;
    let (mut manifest, mut golden) = (Manifest::default(), Golden::default());
    let mut texts = Vec::new();
    for &arch in each.archs {
        let file = each.file(arch);
        let recorded = old.files.get(&file).map(|record| record.compiler.as_str());
        let toolchain = context.toolchain(recorded).map_err(ToString::to_string)?;
        if let Some(recorded) = recorded.filter(|recorded| *recorded != compiler(toolchain)) {
            println!("{file}: built with {}, until now with {recorded}", compiler(toolchain));
        }
        let built = context.build(each, arch, toolchain)?;
        match &context.tools {
            Ok(tools) => golden.add(tools, &file, tools.assemble(&built.path, arch)?),
            Err(error) => println!("{file}: not assembled, {} not written: {error}", Golden::NAME),
        }
        println!("{}/{file}: {} kernels", each.destination, built.kernels.len());
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

/// The hash of what a crate's PTX is made from.
fn source_hash(context: &Context, each: &KernelCrate) -> Result<String, String> {
    let hash = Sources::of(&each.folder(&context.root)).and_then(|sources| sources.hash());
    hash.map_err(|error| format!("{}: {error}", each.name))
}

/// The hash of a PTX.
fn output_hash(ptx: &str) -> String {
    sha256(ptx.as_bytes())
}
