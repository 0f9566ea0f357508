//! What lies in shared memory, and the barriers that tell when a place is full or empty.
//!
//! ```text
//! weights   slots of a chunk (tile of columns)
//! samples   stages of a chunk (tile of times), a ring
//! full      copies have arrived                       1 arrival, and their bytes
//! empty     all that the place holds has been used    one arrival of each warp that multiplies
//! ```
//!
//! Weights stay for a whole strip, if there is room for all chunks beside some stages: chunk `i` is in slot `i`. With
//! strips of one tile they come with the samples: stage `i` has slot `i`.

use core::marker::PhantomData;

use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_shared_b64, mbarrier_init_shared_b64,
    mbarrier_try_wait_parity_shared_b64,
};

use crate::strips::STEP_BYTES;
use crate::tied_array::CHUNK_BYTES;
use fringes_kernels_beamformer_core::output::SCALE_BYTES;
use fringes_kernels_beamformer_core::source::Source;

/// Warps that multiply.
pub(crate) const WARPS: u32 = 8;

/// Bytes of weights and samples; with 16 columns a multiprocessor has room for two blocks.
const fn budget(columns: u32) -> u32 {
    if columns == 16 { 110_592 } else { 212_992 }
}

/// Bytes of samples that there are beside weights that stay, at least.
const LEAST_SAMPLES: u32 = 65_536;

/// Most stages.
const MOST_STAGES: u32 = 12;

/// Most chunks of weights that stay.
pub(crate) const fn most_slots(columns: u32) -> u32 {
    (budget(columns) - LEAST_SAMPLES) / (CHUNK_BYTES * columns)
}

/// Bytes of weights, samples and barriers.
pub(crate) const fn ring_bytes(columns: u32) -> u32 {
    budget(columns) + 16 * (MOST_STAGES + most_slots(columns)).next_multiple_of(2)
}

/// Where the step from strip to strip lies: after that, and scales of the warps that multiply.
pub(crate) const fn step_at(columns: u32) -> u32 {
    ring_bytes(columns) + WARPS * SCALE_BYTES
}

/// Shared memory: all of these.
pub(crate) const fn shared_bytes(columns: u32) -> u32 {
    step_at(columns) + STEP_BYTES
}

/// Where all lies for a number of chunks: little to compute, and dear to keep in registers.
pub(crate) struct Places<S, const N: u32> {
    /// Shared address of the first slot.
    base: u32,
    /// Shared address of the first stage.
    samples: u32,
    /// Stages.
    stages: u32,
    /// Whether weights stay for a strip.
    pub(crate) resident: bool,
    source: PhantomData<S>,
}

impl<S, const N: u32> Clone for Places<S, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, const N: u32> Copy for Places<S, N> {}

/// Full and empty.
const FULL: u32 = 0;
const EMPTY: u32 = 1;

impl<S: Source, const N: u32> Places<S, N> {
    /// Bytes of a slot.
    pub(crate) const SLOT: u32 = CHUNK_BYTES * N;
    /// Stages where weights come with the samples.
    const STAGES: u32 = stages(budget(N), S::BYTES + CHUNK_BYTES * N);

    /// Where `chunks` chunks lie, at a shared address, whose weights stay if they are `resident`: then at most
    /// [`most_slots`].
    #[inline(always)]
    pub(crate) fn new(base: u32, chunks: u32, resident: bool) -> Self {
        let stages = if resident { stages(budget(N) - chunks * Self::SLOT, S::BYTES) } else { Self::STAGES };
        let slots = if resident { chunks } else { Self::STAGES };
        Self { base, samples: base + slots * Self::SLOT, stages, resident, source: PhantomData }
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
        let mut place = 0;
        while place < MOST_STAGES + most_slots(N) {
            mbarrier_init_shared_b64(self.barrier(FULL, place), 1);
            mbarrier_init_shared_b64(self.barrier(EMPTY, place), WARPS);
            place += 1;
        }
    }

    /// The barrier of a stage, or of slot `place - MOST_STAGES`.
    #[inline(always)]
    fn barrier(&self, kind: u32, place: u32) -> u32 {
        self.base + budget(N) + 16 * place + 8 * kind
    }

    /// Stages.
    #[inline(always)]
    pub(crate) fn stages(&self) -> u32 {
        self.stages
    }

    /// The barrier on which copies of the weights of chunk `chunk` arrive that stay.
    #[inline(always)]
    pub(crate) fn full_weights(&self, chunk: u32) -> u32 {
        self.barrier(FULL, MOST_STAGES + chunk)
    }

    /// Says that this warp is done with chunk `chunk`: its stage and, where weights stay and this is the `last` tile of
    /// a strip, its slot.
    ///
    /// # Safety
    /// - `empty` is the stage's barrier ([`Ring::empty`]), and the barriers are made ([`Places::init`]).
    /// - One lane of each warp that multiplies calls it, once a stage, when the warp uses nothing of it any more.
    #[inline(always)]
    pub(crate) unsafe fn release(&self, empty: u32, chunk: u32, last: bool) {
        mbarrier_arrive_shared_b64(empty);
        if self.resident && last {
            mbarrier_arrive_shared_b64(self.barrier(EMPTY, MOST_STAGES + chunk));
        }
    }
}

/// One thread's place in the ring.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    /// Stage that is next.
    stage: u32,
    /// Parity of the phase of stages that is waited for.
    parity: u32,
    /// The same of weights that stay.
    weights: u32,
}

impl Ring {
    /// The first place. What fills it begins with places that nobody has used: it waits for the phase before the first.
    #[inline(always)]
    pub(crate) fn new(fills: bool) -> Self {
        Self { stage: 0, parity: fills as u32, weights: fills as u32 }
    }

    /// Addresses of the samples of the stage that is next, and of the weights of chunk `chunk`.
    #[inline(always)]
    pub(crate) fn chunk<S: Source, const N: u32>(&self, places: &Places<S, N>, chunk: u32) -> [u32; 2] {
        let slot = if places.resident { chunk } else { self.stage };
        [places.samples + self.stage * S::BYTES, places.base + slot * Places::<S, N>::SLOT]
    }

    /// The barrier on which copies into the next stage arrive.
    #[inline(always)]
    pub(crate) fn full<S: Source, const N: u32>(&self, places: &Places<S, N>) -> u32 {
        places.barrier(FULL, self.stage)
    }

    /// Waits until chunk `chunk` is there: in the next stage and, where weights stay and this is the `first` tile of a
    /// strip, in its slot.
    ///
    /// # Safety
    /// - The barriers are made ([`Places::init`]), and threads fill the places: else this waits for ever.
    #[inline(always)]
    pub(crate) unsafe fn wait_full<S: Source, const N: u32>(&self, places: &Places<S, N>, chunk: u32, first: bool) {
        wait(self.full(places), self.parity);
        if places.resident && first {
            wait(places.full_weights(chunk), self.weights);
        }
    }

    /// Waits until the next stage is empty, and has it expect its bytes.
    ///
    /// # Safety
    /// - The barriers are made ([`Places::init`]), and all warps that multiply give stages back: else this waits for
    ///   ever.
    /// - One thread calls it, once a stage, and starts copies of as many bytes that arrive on [`Ring::full`]: samples
    ///   and, unless they stay, weights.
    #[inline(always)]
    pub(crate) unsafe fn wait_empty_and_expect<S: Source, const N: u32>(&self, places: &Places<S, N>) {
        wait(self.empty(places), self.parity);
        let weights = if places.resident { 0 } else { Places::<S, N>::SLOT };
        mbarrier_arrive_expect_tx_shared_b64(self.full(places), S::BYTES + weights);
    }

    /// Waits until the slot of chunk `chunk` is empty, and has it expect its bytes.
    ///
    /// # Safety
    /// - As [`Ring::wait_empty_and_expect`]; the copies are of weights, and arrive on [`Places::full_weights`].
    #[inline(always)]
    pub(crate) unsafe fn wait_empty_weights_and_expect<S: Source, const N: u32>(
        &self,
        places: &Places<S, N>,
        chunk: u32,
    ) {
        wait(places.barrier(EMPTY, MOST_STAGES + chunk), self.weights);
        mbarrier_arrive_expect_tx_shared_b64(places.full_weights(chunk), Places::<S, N>::SLOT);
    }

    /// The barrier that tells when the next stage is empty, for [`Places::release`].
    #[inline(always)]
    pub(crate) fn empty<S: Source, const N: u32>(&self, places: &Places<S, N>) -> u32 {
        places.barrier(EMPTY, self.stage)
    }

    /// Goes on to the next stage.
    #[inline(always)]
    pub(crate) fn advance<S: Source, const N: u32>(&mut self, places: &Places<S, N>) {
        self.stage += 1;
        if self.stage == places.stages {
            self.stage = 0;
            self.parity ^= 1;
        }
    }

    /// Goes on to the next strip.
    #[inline(always)]
    pub(crate) fn advance_strip(&mut self) {
        self.weights ^= 1;
    }
}

/// Stages of so many bytes.
const fn stages(bytes: u32, stage: u32) -> u32 {
    let fit = bytes / stage;
    if fit < MOST_STAGES { fit } else { MOST_STAGES }
}

/// Waits until a phase of a barrier is over.
///
/// # Safety
/// - `barrier` is the shared address of a barrier that is made; the phase of that parity ends, or has ended.
#[inline(always)]
pub(crate) unsafe fn wait(barrier: u32, parity: u32) {
    while !mbarrier_try_wait_parity_shared_b64(barrier, parity) {}
}
