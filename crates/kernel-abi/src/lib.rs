#![no_std]
//! What the kernels and the programs that launch them both know, once: numbers and structures that lie in device
//! memory, or that a launch has to be made of. No memory is touched here, and nothing is allocated.
//!
//! | module | what | who agrees |
//! |---|---|---|
//! | [`format`] | formats of complex samples: bytes, limits, names | every kernel of voltages |
//! | [`rows`] | the correlator's rows of 128 bytes | F-engine, pack, correlator, rotation |
//! | [`dither`] | the numbers of Philox and of the hash | F-engine, rotation |
//! | [`f_engine`] | jobs, shapes of blocks and launches | the F-engine's kernels |
//! | [`correlator`] | shapes of blocks | the correlator of floats, pack |
//! | [`beamformer`] | shape of a block | FFT beams |
//! | [`frb`] | shape of a block, shared memory | FRB beams |
//! | [`down_convert`] | blocks of outputs, tables of weights | down-conversion |
//! | [`delay`] | tiles and runs | coarse shift, fine rotation |
//! | [`tied_array`] | tiles, tables of weights | tied-array beams |
//!
//! A kernel crate takes its constants from here, and so does the crate that launches it; neither can change alone.
//!
//! Functions are `#[inline(always)]`: so kernels have them before other crates are linked, and become the same machine
//! code as with functions of their own.

pub mod beamformer;
pub mod correlator;
pub mod delay;
pub mod dither;
pub mod down_convert;
pub mod f_engine;
pub mod format;
pub mod frb;
pub mod rows;
pub mod tied_array;
