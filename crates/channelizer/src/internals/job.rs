//! Jobs, and the memory that jobs of one launch read and write.

use fringes_gpu::{BufferView, BufferViewMut, GpuError};

use super::passes::{JobTable, Place};

pub use fringes_kernel_abi::f_engine::{HELD, JOB_PIECES, JOB_WORDS, Job, NEXT};

/// Samples that jobs of a launch read: packed, as words, with at least
/// [`PADDING_WORDS`](fringes_types::SampleRows::PADDING_WORDS) after the last that a job needs.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The chunk.
    pub chunk: BufferView<'a, u32>,
    /// What is held: of jobs with the flag [`HELD`].
    pub held: BufferView<'a, u32>,
}

impl<'a> Sources<'a> {
    /// One chunk, and nothing that is held.
    ///
    /// # Errors
    /// None.
    pub fn chunk(chunk: BufferView<'a, u32>) -> Result<Self, GpuError> {
        Ok(Self { chunk, held: chunk.slice(..0)? })
    }
}

/// Values, and counts of saturated ones, that jobs of a launch write.
#[derive(Debug)]
pub struct Target<'a, T> {
    /// Values.
    pub values: BufferViewMut<'a, T>,
    /// Counts of saturated values.
    pub saturated: BufferViewMut<'a, u32>,
}

/// Where jobs of a launch write.
#[derive(Debug)]
pub struct Targets<'a, T> {
    /// Frames that are complete.
    pub given: Target<'a, T>,
    /// Frames that come next: of jobs with the flag [`NEXT`].
    pub next: Target<'a, T>,
}

impl<'a, T: bytemuck::Pod> Targets<'a, T> {
    /// Complete frames alone.
    ///
    /// # Errors
    /// None.
    pub fn given(values: BufferViewMut<'a, T>, saturated: BufferViewMut<'a, u32>) -> Result<Self, GpuError> {
        let (length, counts) = (values.len(), saturated.len());
        let (values, no_values) = values.split_at(length)?;
        let (saturated, no_counts) = saturated.split_at(counts)?;
        Ok(Self { given: Target { values, saturated }, next: Target { values: no_values, saturated: no_counts } })
    }
}

/// What a launch of spectra reads and writes, whichever kernels make them.
#[derive(Debug)]
pub struct SpectraLaunch<'a, T> {
    /// Samples.
    pub samples: Sources<'a>,
    /// Jobs; one that does not keep to the buffers ends the launch with an error of the driver.
    pub jobs: JobTable<'a>,
    /// Where values lie.
    pub place: Place,
    /// With a seed, integer formats are dithered.
    pub dither: Option<u64>,
    /// Values, and counts to which those of saturated ones are added.
    pub out: Targets<'a, T>,
}

impl<'a, T: bytemuck::Pod> SpectraLaunch<'a, T> {
    /// That of jobs which read a chunk alone and write complete frames alone.
    ///
    /// # Errors
    /// None.
    pub fn of_chunk(
        chunk: BufferView<'a, u32>,
        (jobs, place): (JobTable<'a>, Place),
        dither: Option<u64>,
        (values, saturated): (BufferViewMut<'a, T>, BufferViewMut<'a, u32>),
    ) -> Result<Self, GpuError> {
        let (samples, out) = (Sources::chunk(chunk)?, Targets::given(values, saturated)?);
        Ok(Self { samples, jobs, place, dither, out })
    }
}
