//! The ring of stages in shared memory, and the barriers that tell when one is full or empty.
//!
//! ```text
//! stage    samples of a chunk (tile of times) | weights of a chunk (tile of columns)
//! full     its copies have arrived                 1 arrival, and their bytes
//! empty    all that the stage holds has been used  one arrival of each warp that multiplies
//! ```

use core::marker::PhantomData;

use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_shared_b64, mbarrier_init_shared_b64,
    mbarrier_try_wait_parity_shared_b64,
};

use crate::tied_array::CHUNK_BYTES;
use fringes_kernels_beamformer_core::output::SCALE_BYTES;
use fringes_kernels_beamformer_core::source::Source;

/// Warps that multiply.
pub(crate) const WARPS: u32 = 8;

/// Bytes for stages; with 16 columns a multiprocessor has room for two blocks.
const fn budget(columns: u32) -> u32 {
    if columns == 16 { 110_592 } else { 212_992 }
}

/// Most stages.
const MOST_STAGES: u32 = 12;

/// Bytes of a stage for so many bytes of samples.
pub(crate) const fn stage_bytes(samples: u32, columns: u32) -> u32 {
    samples + CHUNK_BYTES * columns
}

/// Stages for so many bytes of samples each.
pub(crate) const fn stages(samples: u32, columns: u32) -> u32 {
    let fit = budget(columns) / stage_bytes(samples, columns);
    if fit < MOST_STAGES { fit } else { MOST_STAGES }
}

/// Bytes of the ring: stages, and two barriers each.
pub(crate) const fn ring_bytes(samples: u32, columns: u32) -> u32 {
    stages(samples, columns) * (stage_bytes(samples, columns) + 16)
}

/// Shared memory: the ring, and scales of the warps that multiply.
pub(crate) const fn shared_bytes(samples: u32, columns: u32) -> u32 {
    ring_bytes(samples, columns) + WARPS * SCALE_BYTES
}

/// One thread's place in the ring.
pub(crate) struct Ring<S, const N: u32> {
    /// Shared address of the first stage; the barriers follow the last one.
    base: u32,
    /// Stage that is next.
    stage: u32,
    /// Parity of the phase that is waited for.
    parity: u32,
    source: PhantomData<S>,
}

impl<S, const N: u32> Clone for Ring<S, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, const N: u32> Copy for Ring<S, N> {}

impl<S: Source, const N: u32> Ring<S, N> {
    /// Stages.
    pub(crate) const STAGES: u32 = stages(S::BYTES, N);
    const STAGE: u32 = stage_bytes(S::BYTES, N);

    /// The ring at a shared address. What fills it begins with stages that nobody has used: it waits for the phase
    /// before the first.
    #[inline(always)]
    pub(crate) fn new(base: u32, fills: bool) -> Self {
        Self { base, stage: 0, parity: fills as u32, source: PhantomData }
    }

    /// Makes the barriers; by one thread, before the others use them.
    ///
    /// # Safety
    /// - The base is the address of as much shared memory as [`shared_bytes`] says, aligned to 1024 bytes, of which
    ///   nothing is used yet.
    /// - One thread calls it; a fence of the initialisation and a barrier of the block are before any other thread
    ///   uses the ring.
    #[inline(always)]
    pub(crate) unsafe fn init(&self) {
        let mut stage = 0;
        while stage < Self::STAGES {
            mbarrier_init_shared_b64(self.barrier(0, stage), 1);
            mbarrier_init_shared_b64(self.barrier(1, stage), WARPS);
            stage += 1;
        }
    }

    #[inline(always)]
    fn barrier(&self, kind: u32, stage: u32) -> u32 {
        self.base + Self::STAGES * Self::STAGE + 8 * (kind * Self::STAGES + stage)
    }

    /// Address of the stage that is next: its samples. Weights follow them.
    #[inline(always)]
    pub(crate) fn address(&self) -> u32 {
        self.base + self.stage * Self::STAGE
    }

    /// The barrier on which copies into the next stage arrive.
    #[inline(always)]
    pub(crate) fn full(&self) -> u32 {
        self.barrier(0, self.stage)
    }

    /// Waits until the copies into the next stage have arrived.
    ///
    /// # Safety
    /// - The barriers are made ([`Ring::init`]), and a thread fills the stage: else this waits for ever.
    #[inline(always)]
    pub(crate) unsafe fn wait_full(&self) {
        wait(self.full(), self.parity);
    }

    /// Waits until the next stage is empty, and has it expect its bytes.
    ///
    /// # Safety
    /// - The barriers are made ([`Ring::init`]), and all warps that multiply give stages back: else this waits for
    ///   ever.
    /// - One thread calls it, once a stage, and starts copies of as many bytes that arrive on [`Ring::full`].
    #[inline(always)]
    pub(crate) unsafe fn wait_empty_and_expect(&self) {
        wait(self.barrier(1, self.stage), self.parity);
        mbarrier_arrive_expect_tx_shared_b64(self.full(), Self::STAGE);
    }

    /// The barrier that tells when the next stage is empty, for [`release`].
    #[inline(always)]
    pub(crate) fn empty(&self) -> u32 {
        self.barrier(1, self.stage)
    }

    /// Goes on to the next stage.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.stage += 1;
        if self.stage == Self::STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }
}

/// Says that this warp is done with a stage.
///
/// # Safety
/// - `empty` is the stage's barrier ([`Ring::empty`]), and the barriers are made ([`Ring::init`]).
/// - One lane of each warp that multiplies calls it, once a stage, when the warp uses nothing of the stage any more.
#[inline(always)]
pub(crate) unsafe fn release(empty: u32) {
    mbarrier_arrive_shared_b64(empty);
}

/// Waits until a phase of a barrier is over.
///
/// # Safety
/// - `barrier` is the shared address of a barrier that is made; the phase of that parity ends, or has ended.
#[inline(always)]
unsafe fn wait(barrier: u32, parity: u32) {
    while !mbarrier_try_wait_parity_shared_b64(barrier, parity) {}
}
