//! Builds GPU kernels written in Rust into PTX, with rustc's own NVPTX backend.
//!
//! The shape is that of rust-cuda's `cuda_builder`; what is behind it is an ordinary rustc that has the target
//! `nvptx64-nvidia-cuda` and the sources of `core` ([`Toolchain`] says where it is looked for). No CUDA installation is
//! needed, and no LLVM beside rustc's.
//!
//! In a build script:
//!
//! ```no_run
//! use fringes_kernel_builder::{Arch, CudaBuilder};
//!
//! # fn main() -> Result<(), fringes_kernel_builder::BuildError> {
//! let built = CudaBuilder::new("kernels").arch(Arch::Sm80).build()?;
//! println!("cargo::rustc-env=KERNELS_PTX={}", built.path.display()); // include_str!(env!("KERNELS_PTX"))
//! # Ok(())
//! # }
//! ```
//!
//! The kernel crate is an ordinary library whose kernels are declared with `fringes_device::kernel!`. The builder reads
//! those declarations from the PTX, writes their launch bounds into the entries' headers as directives, takes out
//! comments, and refuses PTX in which declarations and entries disagree, that can panic, or that names paths of the
//! machine.
//!
//! The same sources and the same compiler give the same PTX, byte for byte, on every machine.
//!
//! [`Assembler`] and [`Disassembler`] run `ptxas` and `nvdisasm` for those who want to know what becomes of the PTX:
//! registers, spills and machine instructions. They are not needed to build.

mod arch;
mod assembler;
mod builder;
mod cargo;
mod directives;
mod error;
mod hygiene;
mod sass;
mod source;
mod tool;
mod toolchain;

pub use arch::{Arch, PtxIsa};
pub use assembler::{Assembler, Assembly, Usage};
pub use builder::{Built, CudaBuilder};
pub use directives::without_comments;
pub use error::BuildError;
pub use fringes_kernel_declaration::{KernelDeclaration, LaunchBounds};
pub use sass::{Disassembler, Instructions};
pub use source::{Sources, sha256};
pub use toolchain::Toolchain;

/// rustc's name of the target.
const TARGET: &str = "nvptx64-nvidia-cuda";
