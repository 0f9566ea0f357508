//! What can go wrong between a kernel crate and its PTX.

use std::path::PathBuf;

use fringes_kernel_declaration::DeclarationError;

use crate::{Arch, PtxIsa};

/// Why no PTX was made, or why PTX was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler on this machine can build kernels.
    #[error(
        "no rustc for GPU kernels: it needs the target nvptx64-nvidia-cuda and the sources of `core`\n{tried}\
         install one of:\n\
         - with rustup:     rustup toolchain install nightly --component rust-src\n\
         - on Debian:       apt-get install rustc-web cargo-web rust-web-src\n\
         - any other rustc: set FRINGES_KERNEL_RUSTC to it, and FRINGES_KERNEL_CARGO to a cargo of the same version"
    )]
    NoCompiler {
        /// One line for each compiler that was looked at, with what it lacks.
        tried: String,
    },
    /// The compiler that was named does not fit.
    #[error("{} cannot build GPU kernels: {reason}", rustc.display())]
    UnfitCompiler {
        /// The compiler.
        rustc: PathBuf,
        /// What it lacks, and how to add it.
        reason: String,
    },
    /// The compiler does not know the architecture.
    #[error("{compiler} does not know {arch}; a newer one may")]
    UnknownArch {
        /// Version of the compiler.
        compiler: String,
        /// The architecture asked for.
        arch: Arch,
    },
    /// The version of PTX is older than the architecture.
    #[error("{arch} needs PTX {} or later, asked for {isa}", arch.least_isa())]
    OldIsa {
        /// The architecture asked for.
        arch: Arch,
        /// The version asked for.
        isa: PtxIsa,
    },
    /// A program did not start.
    #[error("`{program}` did not start: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A program failed.
    #[error("`{command}` failed with {status}\n{output}")]
    Command {
        /// Command line.
        command: String,
        /// Exit status.
        status: String,
        /// What it wrote.
        output: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder holds no package.
    #[error("{} is not the folder of a package of its workspace: no Cargo.toml there names one", path.display())]
    NoPackage {
        /// The folder.
        path: PathBuf,
    },
    /// What a program wrote is not what was expected of it.
    #[error("`{program}` wrote something unexpected: {reason}")]
    Unexpected {
        /// The program.
        program: String,
        /// What was expected.
        reason: String,
    },
    /// The compiler wrote no PTX.
    #[error("the build passed, but {} was not written; delete the folder {} and build again", path.display(), target.display())]
    NoOutput {
        /// The file that should be there.
        path: PathBuf,
        /// The target folder.
        target: PathBuf,
    },
    /// A declaration cannot be read.
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    /// The crate has no kernel.
    #[error("{package} declares no kernel; `fringes_device::kernel!` declares one")]
    NoKernels {
        /// The package.
        package: String,
    },
    /// An entry without a declaration.
    #[error("the PTX entry `{name}` has no declaration; declare kernels with `fringes_device::kernel!`")]
    Undeclared {
        /// The entry.
        name: String,
    },
    /// A declaration without an entry.
    #[error(
        "the kernel `{name}` is declared, but the PTX has no such entry; its function is not compiled for this architecture"
    )]
    NoEntry {
        /// The kernel.
        name: String,
    },
    /// Two declarations of one name.
    #[error("the kernel `{name}` is declared twice")]
    Twice {
        /// The kernel.
        name: String,
    },
    /// The entry's parameters are not those of the declaration.
    #[error("the kernel `{name}` declares parameters of {expected:?} bytes, its PTX entry has {actual:?}")]
    Parameters {
        /// The kernel.
        name: String,
        /// Sizes of the declared parameters.
        expected: Vec<usize>,
        /// Sizes of the entry's.
        actual: Vec<usize>,
    },
    /// A launch bound that the kernel cannot have.
    #[error("the kernel `{name}`: {reason}")]
    Bound {
        /// The kernel.
        name: String,
        /// Why.
        reason: String,
    },
    /// A header that is not as LLVM writes it.
    #[error("the PTX entry `{name}` has a header that cannot be read")]
    Header {
        /// The entry.
        name: String,
    },
    /// The code can panic.
    #[error(
        "the PTX can panic (it has `{}`): use checked views, constant indices and wrapping arithmetic, or allow it with `allow_panics(true)`",
        symbols.join("`, `")
    )]
    Panics {
        /// Functions of `core::panicking` and such in the PTX.
        symbols: Vec<String>,
    },
    /// The PTX names a path of this machine.
    #[error("the PTX names a path of this machine, `{path}`, so that it differs between machines")]
    MachinePath {
        /// The path.
        path: String,
    },
    /// A program of CUDA is not there.
    #[error(
        "no `{program}` found: looked in the folders of FRINGES_CUDA_BIN and PATH{}; \
         `pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm` brings it without a CUDA installation",
        extra.iter().map(|folder| format!(", {}", folder.display())).collect::<String>()
    )]
    NoTool {
        /// The program.
        program: String,
        /// Folders that were searched beside FRINGES_CUDA_BIN and PATH.
        extra: Vec<PathBuf>,
    },
}

impl BuildError {
    /// A file's error.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
