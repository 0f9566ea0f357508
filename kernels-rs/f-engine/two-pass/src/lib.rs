#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! The F-engine's kernels: samples to quantised, delay-corrected channels in two passes, `columns_b10_m1_r8` and
//! `rows_1024_i8` and their like; of complex samples `columns_f16_m1_r8` and `complex_1024_i8`.
//!
//! | part of the name | means |
//! |---|---|
//! | `b8`, `b10`, `b12` | bits of a packed real sample ([`packed`]) |
//! | `f16`, `tf32` of columns | factors that complex samples become: of f16 and 8 bits ([`half`]), of f32 and 16 bits ([`tf32`]) |
//! | `real_f16`, `real_tf32` | the same of real samples of f16, of f32 and 16 bits |
//! | `strided_b12`, `strided_integers`, `strided_f16`, `strided_floats` | spectra any number of points apart, and samples: of up to 12 bits, up to 16, f16, f32 ([`strided`]) |
//! | `m1`, `m2`, `m4` | up to 16, 32 or 64 taps of the filter ([`columns`]) |
//! | `r2`, `r4`, `r8`, `r16` | points of the first digit of the transform, `R` |
//! | `rows_1024`, `complex_1024` | channels, of real and of complex samples ([`rows`], [`complex`]) |
//! | `i8`, `i4`, `f16`, `f32` | format of the output ([`quantise`](fringes_kernels_common::quantise)) |
//!
//! Between the passes points lie in a workspace. With 32768 channels and more another digit is made there
//! ([`between`]). Samples are read once from device memory, values written once.

pub mod between;
pub mod butterfly;
pub mod columns;
pub mod complex;
pub mod half;
pub mod job;
mod kernels;
pub mod numbers;
pub mod packed;
pub mod post;
pub mod rows;
mod sources;
pub mod strided;
pub mod tensor;
pub mod tf32;
mod twelve;

pub use kernels::*;
