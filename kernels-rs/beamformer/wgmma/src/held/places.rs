//! What lies in shared memory, and the barriers that tell when a place is full or empty.
//!
//! ```text
//! weights   slots of a tile of columns, all chunks, a ring; and the beams' scales
//! samples   stages of a tile of times, all chunks, a ring
//! negated   real parts of a warp's samples, of the tile of times that it has
//! full      copies have arrived                       1 arrival, and their bytes
//! empty     all that the place holds has been used    one arrival of each warp that multiplies
//! ```

use core::marker::PhantomData;

use fringes_device::Shared;
use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_shared_b64, mbarrier_init_shared_b64,
};

use fringes_kernels_beamformer_core::output::SCALE_BYTES;
use fringes_kernels_beamformer_core::source::Source;

use crate::ring::{WARPS, wait};
use crate::strips::STEP_BYTES;
use crate::tied_array::CHUNK_BYTES;

/// Slots of weights.
const SLOTS: u32 = 4;

/// Stages of samples.
const STAGES: u32 = 2;

/// Bytes of a slot, and of a stage of samples of `bytes` a chunk.
const fn sizes(columns: u32, chunks: u32, bytes: u32) -> [u32; 2] {
    [chunks * CHUNK_BYTES * columns, chunks * bytes]
}

/// Where barriers begin.
const fn barriers_at(columns: u32, chunks: u32, bytes: u32) -> u32 {
    let [slot, stage] = sizes(columns, chunks, bytes);
    SLOTS * slot + STAGES * stage
}

/// Where scales begin, of a slot each.
const fn scales_at(columns: u32, chunks: u32, bytes: u32) -> u32 {
    barriers_at(columns, chunks, bytes) + 16 * (SLOTS + STAGES)
}

/// Bytes of a warp's negated parts of samples.
const fn negated_bytes(chunks: u32) -> u32 {
    2 * 512 * chunks
}

/// Where the negated parts of the warps that multiply begin.
const fn negated_at(columns: u32, chunks: u32, bytes: u32) -> u32 {
    scales_at(columns, chunks, bytes) + SLOTS * SCALE_BYTES
}

/// Where the step from strip to strip is.
const fn step_at(columns: u32, chunks: u32, bytes: u32) -> u32 {
    negated_at(columns, chunks, bytes) + WARPS * negated_bytes(chunks)
}

/// Shared memory: weights, samples, barriers, scales, negated parts of samples, the step.
pub(crate) const fn shared_bytes(columns: u32, chunks: u32, bytes: u32) -> u32 {
    step_at(columns, chunks, bytes) + STEP_BYTES
}

/// Where all lies, for `C` chunks of tiles of `N` columns.
pub(crate) struct Places<S, const N: u32, const C: usize> {
    base: u32,
    source: PhantomData<S>,
}

impl<S, const N: u32, const C: usize> Clone for Places<S, N, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, const N: u32, const C: usize> Copy for Places<S, N, C> {}

/// A thread's place in a ring.
#[derive(Clone, Copy)]
pub(crate) struct Cycle {
    place: u32,
    /// Parity of the phase that is waited for.
    parity: u32,
}

impl Cycle {
    /// The first place. What fills the ring begins with places that nobody has used: it waits for the phase before the
    /// first.
    #[inline(always)]
    pub(crate) fn new(fills: bool) -> Self {
        Self { place: 0, parity: fills as u32 }
    }

    /// Goes on to the next one of `places`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, places: u32) {
        self.place += 1;
        if self.place == places {
            self.place = 0;
            self.parity ^= 1;
        }
    }
}

impl<S: Source, const N: u32, const C: usize> Places<S, N, C> {
    /// Slots of weights.
    pub(crate) const SLOTS: u32 = SLOTS;
    /// Stages of samples.
    pub(crate) const STAGES: u32 = STAGES;
    /// Bytes of a slot.
    pub(crate) const SLOT: u32 = sizes(N, C as u32, S::BYTES)[0];
    /// Bytes of a stage.
    const STAGE: u32 = sizes(N, C as u32, S::BYTES)[1];

    /// From a shared address on.
    #[inline(always)]
    pub(crate) fn new(base: u32) -> Self {
        Self { base, source: PhantomData }
    }

    /// Makes the barriers; by one thread, before the others use them.
    ///
    /// # Safety
    /// - The base is the address of as much shared memory as [`shared_bytes`] says, aligned to 1024 bytes, of which
    ///   nothing is used yet.
    /// - One thread calls it; a fence of the initialisation and a barrier of the block are before any other thread
    ///   uses the places.
    #[inline(always)]
    pub(crate) unsafe fn init(self) {
        let mut place = 0;
        while place < SLOTS + STAGES {
            mbarrier_init_shared_b64(self.full(place), 1);
            mbarrier_init_shared_b64(self.empty(place), WARPS);
            place += 1;
        }
    }

    /// The barrier on which copies into slot `place` arrive, or into stage `place - SLOTS`.
    #[inline(always)]
    fn full(self, place: u32) -> u32 {
        self.base + barriers_at(N, C as u32, S::BYTES) + 16 * place
    }

    /// The barrier that tells when it is empty.
    #[inline(always)]
    fn empty(self, place: u32) -> u32 {
        self.full(place) + 8
    }

    /// Address of a slot.
    #[inline(always)]
    pub(crate) fn weights(self, slot: Cycle) -> u32 {
        self.base + Self::SLOT * slot.place
    }

    /// The barrier on which copies into it arrive.
    #[inline(always)]
    pub(crate) fn weights_full(self, slot: Cycle) -> u32 {
        self.full(slot.place)
    }

    /// Address of a stage.
    #[inline(always)]
    pub(crate) fn samples(self, stage: Cycle) -> u32 {
        self.base + SLOTS * Self::SLOT + Self::STAGE * stage.place
    }

    /// The barrier on which copies into it arrive.
    #[inline(always)]
    pub(crate) fn samples_full(self, stage: Cycle) -> u32 {
        self.full(SLOTS + stage.place)
    }

    /// Waits until a slot is empty, and has it expect its bytes and so many of scales.
    ///
    /// # Safety
    /// - The barriers are made ([`Places::init`]), and all warps that multiply give slots back: else this waits for
    ///   ever.
    /// - One thread calls it, once a slot, and starts copies of as many bytes that arrive on [`Places::weights_full`].
    #[inline(always)]
    pub(crate) unsafe fn weights_wanted(self, slot: Cycle, scales: u32) {
        wait(self.empty(slot.place), slot.parity);
        mbarrier_arrive_expect_tx_shared_b64(self.weights_full(slot), Self::SLOT + scales);
    }

    /// The same of a stage, and [`Places::samples_full`].
    ///
    /// # Safety
    /// As [`Places::weights_wanted`].
    #[inline(always)]
    pub(crate) unsafe fn samples_wanted(self, stage: Cycle) {
        wait(self.empty(SLOTS + stage.place), stage.parity);
        mbarrier_arrive_expect_tx_shared_b64(self.samples_full(stage), Self::STAGE);
    }

    /// Waits until a slot is full: its address.
    ///
    /// # Safety
    /// The barriers are made ([`Places::init`]), and a thread fills the slots: else this waits for ever.
    #[inline(always)]
    pub(crate) unsafe fn wait_weights(self, slot: Cycle) -> u32 {
        wait(self.weights_full(slot), slot.parity);
        self.weights(slot)
    }

    /// Waits until a stage is full: its address.
    ///
    /// # Safety
    /// As [`Places::wait_weights`].
    #[inline(always)]
    pub(crate) unsafe fn wait_samples(self, stage: Cycle) -> u32 {
        wait(self.samples_full(stage), stage.parity);
        self.samples(stage)
    }

    /// Says that this warp is done with a slot.
    ///
    /// # Safety
    /// The barriers are made ([`Places::init`]); one lane of each warp that multiplies calls it, once a slot, when the
    /// warp uses nothing of it any more.
    #[inline(always)]
    pub(crate) unsafe fn release_weights(self, slot: Cycle) {
        mbarrier_arrive_shared_b64(self.empty(slot.place));
    }

    /// The same of a stage.
    ///
    /// # Safety
    /// As [`Places::release_weights`].
    #[inline(always)]
    pub(crate) unsafe fn release_samples(self, stage: Cycle) {
        mbarrier_arrive_shared_b64(self.empty(SLOTS + stage.place));
    }

    /// Address of the scales that belong to a slot.
    #[inline(always)]
    pub(crate) fn scales_to(self, slot: Cycle) -> u32 {
        self.base + scales_at(N, C as u32, S::BYTES) + SCALE_BYTES * slot.place
    }

    /// The scales that belong to a slot.
    #[inline(always)]
    pub(crate) fn scales(self, slot: Cycle) -> Shared<f32> {
        // SAFETY: they are in the block's shared memory, and of a multiple of 16 bytes.
        unsafe { Shared::from_raw_parts(self.scales_to(slot), SCALE_BYTES as usize / 4) }
    }

    /// Shared address of a warp's negated parts of samples: 512 bytes of each half of a chunk.
    #[inline(always)]
    pub(crate) fn negated(self, warp: u32) -> u32 {
        self.base + negated_at(N, C as u32, S::BYTES) + negated_bytes(C as u32) * warp
    }

    /// Shared address of the step from strip to strip.
    #[inline(always)]
    pub(crate) fn step(self) -> u32 {
        self.base + step_at(N, C as u32, S::BYTES)
    }
}
