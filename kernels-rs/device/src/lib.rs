#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features, reason = "see `intrinsic::convergent`"))]
//! One function per PTX instruction, compiled for NVIDIA GPUs and for the emulator.
//!
//! Kernels reach hardware, and every byte of global and shared memory, through this crate only. Compiled for
//! `nvptx64-nvidia-cuda`, an intrinsic is the instruction that it is named after. Compiled for any other target it is
//! its *twin*: the same meaning, executed by `fringes-emulator`.
//!
//! [`kernel!`] declares a kernel. [`Global`], [`GlobalMut`] and [`Shared`] are views of memory that carry their length.

#[macro_use]
mod intrinsic;
pub mod arithmetic;
pub mod atomic;
pub mod barrier;
pub mod bulk;
pub mod clock;
pub mod cluster;
pub mod control;
pub mod convert;
pub mod copy_async;
pub mod fence;
#[cfg(not(target_arch = "nvptx64"))]
mod float;
pub mod fused;
mod global;
pub mod half2;
#[cfg(not(target_arch = "nvptx64"))]
mod host;
pub mod index;
mod kernel;
pub mod matrix;
pub mod mbarrier;
pub mod mma;
mod opaque;
mod shared;
pub mod tensor;
#[cfg(not(target_arch = "nvptx64"))]
pub mod tensor_core;
mod unroll;
mod value;
pub mod warp;
pub mod wgmma;

#[doc(inline)]
pub use fringes_layout_core as layout;
pub use global::{Global, GlobalMut};
#[doc(hidden)]
pub use kernel::position;
pub use kernel::{Kernel, Parameter};
pub use opaque::opaque;
pub use shared::Shared;
pub use tensor::TensorMap;
pub use value::Value;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
