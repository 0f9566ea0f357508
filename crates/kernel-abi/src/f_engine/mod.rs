//! The F-engine's kernels: jobs, and the shapes of blocks and launches.
//!
//! | module | kernels |
//! |---|---|
//! | [`columns`], [`rows`] | the first and the second pass of two |
//! | [`tensor`] | the second pass on tensor cores |
//! | [`one_pass`] | any plan |
//! | [`filter`] | the polyphase filter by itself |
//! | [`samples`] | rows of samples put behind each other, statistics |
//!
//! Sizes are those that the kernels are built for; functions of others give numbers of no meaning, or panic in
//! arithmetic.

pub mod columns;
pub mod filter;
mod job;
pub mod one_pass;
pub mod rows;
pub mod samples;
pub mod tensor;

pub use job::{BLOCK, HELD, JOB_PIECES, JOB_WORDS, Job, NEXT};

/// Jobs of a group, which blocks of the two passes take together.
pub const JOBS: u32 = 2;

/// Most spectra of a job of two passes.
pub const SPECTRA: u32 = 64;

/// Slots of a group: spectra of its jobs.
pub const SLOTS: u32 = JOBS * SPECTRA;

/// Words that follow the last one of packed samples in device memory: kernels load whole pieces of 16 bytes. What they
/// hold does not matter.
pub const PADDING_WORDS: usize = 4;
