//! A tile's scales on their way to shared memory, where the lanes of a warp find them.

use fringes_device::Shared;
use fringes_device::warp::bar_warp_sync;

use fringes_kernels_beamformer_core::output::{SCALE_BYTES, scales};
use fringes_kernels_beamformer_core::work::{Job, Work};

/// Scales that are loaded while the warp multiplies.
#[derive(Clone, Copy)]
pub(crate) struct Scales {
    held: [f32; 4],
}

impl Scales {
    /// Loads four of a job's scales.
    ///
    /// # Safety
    /// `work` is what fits ([`Work::fits`]), and has the job.
    #[inline(always)]
    pub(crate) unsafe fn load(work: &Work, job: Job, columns: u32, lane: u32) -> Self {
        let (first, fours) = scales(work, job, columns);
        let mut held = [0.0; 4];
        if lane < fours {
            held = work.scales.cast::<[f32; 4]>().load(first as usize + lane as usize);
        }
        Self { held }
    }

    /// Puts them where the warp's lanes find them.
    ///
    /// # Safety
    /// - All lanes of the warp call it; `address` is that of [`SCALE_BYTES`] of shared memory that no other warp uses,
    ///   a multiple of 16.
    #[inline(always)]
    pub(crate) unsafe fn share(self, address: u32, lane: u32) -> Shared<f32> {
        // What was there has been used.
        bar_warp_sync(u32::MAX);
        Shared::<[f32; 4]>::from_raw_parts(address, 32).store(lane as usize, self.held);
        bar_warp_sync(u32::MAX);
        Shared::from_raw_parts(address, SCALE_BYTES as usize / 4)
    }
}
