//! What `fringes-f-engine` takes of this crate: the timeline of spectra, samples held between chunks, and on a GPU
//! tables of a plan, jobs of a launch, and the kernels. For that crate, tests and measuring programs; not part of the
//! API.
//!
//! | kernels | of |
//! |---|---|
//! | [`TwoPassKernels`] | 64 to 65536 channels (powers of two, and those times 3/2 or 5/4 from 192 to 12288), up to 64 taps, all formats, oversampled or not |
//! | [`TensorKernels`] | [`Precision::Half`](crate::Precision::Half): 256 to 65536 channels (powers of two), critically sampled, with up to 32 taps: packed samples of 8, 10, 12 or 16 bits, i8, i16, f16, real and complex; the transform on tensor cores, f16 between its stages |
//! | [`OnePassKernels`] | any plan of up to 16384 channels of factors 2, 3 and 5, up to 64 taps, all formats |
//! | [`CutKernels`] | the same of more channels, up to 65536: the passes cut in two launches |
//! | [`FilterKernels`] | the filter alone, to f32: multiples of 64 channels, real packed samples of 2 to 11 bits, critically sampled, up to 32 taps |
//!
//! How they work and what they are bound by is said in their crates, `kernels-rs/f-engine/two-pass`,
//! `kernels-rs/f-engine/one-pass` and `kernels-rs/f-engine/filter`.

pub mod chunk;
pub mod cut;
pub mod cut_plan;
pub mod fast_samples;
mod filter;
pub mod first;
pub mod format;
mod gain_table;
mod job;
pub mod launches;
pub mod one_pass;
pub mod one_pass_plan;
mod passes;
mod run;
pub mod samples;
pub mod shape;
pub mod strided;
pub mod tables;
mod tensor;
pub mod tensor_shape;
pub mod tensor_tables;
mod texts;
mod two_pass;

pub use cut::CutKernels;
pub use filter::{FilterKernels, FilterShape};
pub use job::{HELD, JOB_PIECES, JOB_WORDS, Job, NEXT, Sources, SpectraLaunch, Target, Targets};
pub use launches::LaunchBytes;
pub use one_pass::OnePassKernels;
pub use passes::{After, FrameFormat, JobTable, Place, Shares};
pub use run::{JobLength, Periods, RUN_PIECES, RUN_WORDS, Run, RunSizes};
pub use tensor::TensorKernels;
pub use two_pass::TwoPassKernels;

pub use crate::down_convert::Preview;
pub use crate::down_convert::kernels::{DownConvertKernels, TensorCores, WindowRows};
pub use crate::down_convert::mma::MmaShape;
pub use crate::down_convert::order::BandOrder;
pub use crate::down_convert::segments::Segments;
pub use crate::down_convert::tensor::{Blocks, TensorShape};
pub use crate::held::{Held, HeldAndChunk, Room, history_bytes};
pub use crate::spectra::{
    Batch, GpuEngine, Order, Part, Queued, RingOrder, Settings, Work, batch, check, check_format, spectra_together,
};
pub use crate::timeline::{Advance, Axes, ChunkAxes, Timeline, Together};
