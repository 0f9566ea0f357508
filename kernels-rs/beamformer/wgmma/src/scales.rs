//! A tile's scales on their way to shared memory, where the lanes of a warp find them.

use fringes_device::Shared;
use fringes_device::copy_async::{cp_async_ca_shared_global_16, cp_async_commit_group, cp_async_wait_group};
use fringes_device::warp::bar_warp_sync;

use fringes_kernels_beamformer_core::output::{SCALE_BYTES, scales};
use fringes_kernels_beamformer_core::work::{Job, Work};

/// Copies that are under way while the warp multiplies.
#[derive(Clone, Copy)]
pub(crate) struct Scales {
    address: u32,
}

impl Scales {
    /// Starts copying a job's scales.
    ///
    /// # Safety
    /// - All lanes of the warp call it; `address` is that of [`SCALE_BYTES`] of shared memory that no other warp uses,
    ///   a multiple of 16.
    /// - `work` is what fits ([`Work::fits`]), and has the job.
    #[inline(always)]
    pub(crate) unsafe fn start(work: &Work, job: Job, columns: u32, address: u32, lane: u32) -> Self {
        let (first, fours) = scales(work, job, columns);
        // What was there has been used.
        bar_warp_sync(u32::MAX);
        if lane < fours {
            let four = work.scales.address(0).wrapping_add(16 * (first + u64::from(lane)));
            cp_async_ca_shared_global_16(address + 16 * lane, four);
        }
        cp_async_commit_group();
        Self { address }
    }

    /// Waits for the scales.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    pub(crate) unsafe fn wait(self) -> Shared<f32> {
        cp_async_wait_group::<0>();
        bar_warp_sync(u32::MAX);
        Shared::from_raw_parts(self.address, SCALE_BYTES as usize / 4)
    }
}
