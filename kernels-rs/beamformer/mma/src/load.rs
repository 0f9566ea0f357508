//! Samples and weights on their way to shared memory, ahead of their use.

use fringes_device::copy_async::{cp_async_cg_shared_global_16, cp_async_commit_group};
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::{Global, Shared, unroll};
use fringes_kernels_beamformer_core::output::SCALE_BYTES;
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::tied_array::CHUNK_BYTES;
use fringes_kernels_beamformer_core::work::{Job, Work};

use crate::THREADS;

/// Bytes for stages: two blocks fit on a multiprocessor of compute capability 8.0.
const BUDGET: u32 = 77_824;

/// Most stages.
const MOST_STAGES: u32 = 4;

/// Bytes of a stage for so many bytes of samples.
pub(crate) const fn stage_bytes(samples: u32, columns: u32) -> u32 {
    samples + CHUNK_BYTES * columns
}

/// Stages for so many bytes of samples each.
pub(crate) const fn stages(samples: u32, columns: u32) -> u32 {
    let fit = BUDGET / stage_bytes(samples, columns);
    if fit < MOST_STAGES { fit } else { MOST_STAGES }
}

/// Shared memory: stages, and scales of the warps.
pub(crate) const fn shared_bytes(samples: u32, columns: u32) -> u32 {
    stages(samples, columns) * stage_bytes(samples, columns) + THREADS / 32 * SCALE_BYTES
}

/// The stage after another, both as bytes from the first one.
#[inline(always)]
pub(crate) fn next_stage<S: Source, const N: u32>(stage: u32) -> u32 {
    let next = stage + stage_bytes(S::BYTES, N);
    if next == stages(S::BYTES, N) * stage_bytes(S::BYTES, N) { 0 } else { next }
}

/// Rows of samples, and where copies are.
pub(crate) struct Loader {
    samples: Global<[u32; 4]>,
    /// Number of the job, and the job.
    number: u32,
    job: Option<Job>,
    chunk: u32,
    /// Shared address of the stage that is next, from that of the first one.
    stage: u32,
}

/// Shared address of the first stage.
#[inline(always)]
pub(crate) fn first_stage() -> u32 {
    // SAFETY: the address is that of the block's shared memory.
    unsafe { Shared::<u8>::dynamic().address(0) }
}

impl Loader {
    /// Before the first chunk.
    #[inline(always)]
    pub(crate) fn new<const N: u32>(work: &Work, samples: Global<[u32; 4]>) -> Self {
        let number = ctaid_x();
        Self { samples, number, job: work.get(number, N), chunk: 0, stage: 0 }
    }

    /// Whether the rows are there.
    #[inline(always)]
    pub(crate) fn fits<S: Source>(&self, work: &Work) -> bool {
        let blocks = work.times.div_ceil(S::ROW_TIMES);
        let rows = u64::from(work.channels) * u64::from(blocks) * u64::from(work.inputs);
        rows < 1 << 60 && 8 * rows <= self.samples.len() as u64
    }

    /// Starts the copies of the next chunk, if there is one, as a group.
    ///
    /// Inputs and blocks of time that do not exist are the last ones that do: their weights are zero, or their times
    /// not stored.
    ///
    /// # Safety
    /// - All threads of the block call it; nothing of the stage that is next is used any more.
    /// - The rows are there, and the table of `work`.
    #[inline(always)]
    pub(crate) unsafe fn issue<S: Source, const N: u32>(&mut self, work: &Work) {
        if let Some(job) = self.job {
            let (to, thread) = (first_stage() + self.stage, tid_x());
            let blocks = work.times.div_ceil(S::ROW_TIMES);
            let channel = u64::from(job.channel) * u64::from(blocks);
            unroll!(i in 0 1 2 3 {
                let piece = thread + THREADS * i as u32;
                if (i as u32) < S::BYTES / 16 / THREADS {
                    let row = piece / 8;
                    let block = (job.time * S::BLOCKS + row / S::INPUTS).min(blocks - 1);
                    let input = (self.chunk * S::INPUTS + row % S::INPUTS).min(work.inputs - 1);
                    let from = (channel + u64::from(block)) * u64::from(work.inputs) + u64::from(input);
                    let at = to + 128 * row + 16 * ((piece ^ row) % 8);
                    cp_async_cg_shared_global_16(at, self.samples.address((8 * from + u64::from(piece % 8)) as usize));
                }
            });
            let tile = u64::from(job.channel) * u64::from(work.tiles(N)) + u64::from(job.column);
            let weights = (tile * u64::from(work.chunks::<S>()) + u64::from(self.chunk)) * u64::from(8 * N);
            unroll!(i in 0 1 {
                let piece = thread + THREADS * i as u32;
                if (i as u32) * THREADS < 8 * N && piece < 8 * N {
                    let from = work.table.address((weights + u64::from(piece)) as usize);
                    cp_async_cg_shared_global_16(to + S::BYTES + 16 * piece, from);
                }
            });
            self.chunk += 1;
            if self.chunk == work.chunks::<S>() {
                self.chunk = 0;
                self.number += nctaid_x();
                self.job = work.get(self.number, N);
            }
        }
        cp_async_commit_group();
        self.stage = next_stage::<S, N>(self.stage);
    }
}
