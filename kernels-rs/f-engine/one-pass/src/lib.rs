#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
// A PTX has one part of the kernels, and uses what that needs.
#![cfg_attr(target_arch = "nvptx64", allow(unused_imports, unused_macros, dead_code))]
//! The F-engine's kernels for any plan: samples to quantised, delay-corrected channels, `channelize_integers_real_i8`
//! and its like; of many channels `columns_integers` and `rows_real_i8` and their like.
//!
//! | part of the name | means |
//! |---|---|
//! | `integers`, `floats` | samples: packed of 2 to 16 bits, i8, i16; or f16, f32 ([`numbers`](fringes_kernels_f_engine_two_pass::numbers)) |
//! | `real`, `complex` | kind of the samples ([`post`]) |
//! | `i8`, `i4`, `f16`, `f32` | format of the output |
//!
//! Channels, taps, bits and stride are arguments: 16 kernels for all of them, those of a kind of samples in a PTX,
//! which a feature of this crate chooses. A spectrum is a transform of `N` complex points, as many as it has channels,
//! `N = 2^a 3^b 5^c`, that fits into shared memory ([`shape`]).
//!
//! Of which one spectrum or a few fit, or none, the passes are cut in two launches, with points in device memory
//! between them: filter and first passes of strips of a spectrum ([`columns`]), and its rows ([`mod@rows`]). 10 kernels
//! for all of them: the first does not know of outputs nor whether samples are complex, the second one not of samples.
//!
//! # A block
//! has one [`Job`](fringes_kernels_f_engine_two_pass::job::Job): some spectra of one input. They are filtered into
//! shared memory ([`filter`]), transformed there in place ([`transform`]), replaced by their values in place
//! ([`post`]), and leave as runs of neighbouring spectra ([`write`](mod@write)). Samples are read once from device
//! memory (and their overlap from L1 and L2), values written once.
//!
//! # Real and complex samples
//! The filter treats a spectrum as `2 N` numbers: real samples, or real and imaginary parts by turns, which have the
//! same weight. `2 N` filtered numbers are `N` complex points either way; only the last step differs.
//!
//! # Cost
//! Operations of a thread for a number, a real sample or a part of a complex one, with `T` taps and `S` spectra of a
//! thread, 12 or 4, addresses left out:
//!
//! | step | operations |
//! |---|---|
//! | filter, stride = step, each 16 taps | 16 multiply-adds, `(S + 15) / S` decodes, `8 / S` loads of weights |
//! | the same of other floats, `S = 4` | `T + 3` multiply-adds, `(T + 3) / 4` decodes, `T / 16` loads of weights |
//! | filter, oversampled, `S = 4` | `T` multiply-adds, `T` decodes, `T / 16` loads of weights |
//! | the same in two launches, `B` steps apart, each 16 taps | 16 multiply-adds, `(16 + B (S - 1)) / S` decodes, `8 / S` loads of weights |
//! | transform, a pass of radix 16 | 6 and 0.13 loads of twiddles (4.6 without twiddles) |
//! | transform, others, with twiddles | 8: 3.3 + 1.8; 5: 4 + 1.6; 4: 2 + 1.5; 3: 2.7 + 1.3; 2: 1 + 1 |
//! | post | a real pair 12, a channel's phase 7, gain and phase 8, dither 14, quantisation 9 |
//!
//! A decode is 6 operations and 0.75 loads (of [`steps`] 3 or 4.5, and one), a load of weights 16 bytes (of `steps`
//! 8); post is 22 a number of real samples, 19 of complex ones. Two launches have the same operations.
//!
//! With addresses (`sm_90a`) a pass takes, by its radix, 25: 14.1, 16: 10.8, 15: 11.3, 12: 10.4, 10: 10.7, 9: 10.3,
//! 8: 11.2, 6: 9.3, 5: 9.6, 4: 10.4, 3: 8.9, 2: 10.8.
//!
//! Bytes a number: in device memory those of the samples and of the values; in shared memory 4 of the filter, 8 a pass,
//! 4 of points and up to 8 of values. In two launches 8 of these of
//! shared memory are of L2, or of device memory.

pub mod apart;
pub mod columns;
pub mod ends;
pub mod entry;
pub mod filter;
mod kernels;
pub mod points;
pub mod post;
pub mod radix;
pub mod rows;
pub mod run;
pub mod shape;
pub mod steps;
pub mod transform;
pub mod write;

pub use kernels::*;
