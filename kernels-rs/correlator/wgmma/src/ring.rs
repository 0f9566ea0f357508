//! The ring of stages in shared memory, and the barriers that tell when one is full, ready or empty.
//!
//! ```text
//! stage    columns' side | rows' side (two groups) | B (where it is made)
//! full     its copies have arrived                 1 arrival, and their bytes
//! ready    B has been made of them                 one arrival of each of the three warps that make it
//! empty    all that the stage holds has been used  one arrival of each warp that multiplies
//! ```

use core::marker::PhantomData;

use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_shared_b64, mbarrier_init_shared_b64,
    mbarrier_try_wait_parity_shared_b64,
};

use crate::source::Source;

/// Up to 64 inputs: one tile, one group that multiplies. Two blocks fit on a multiprocessor of compute capability 9.0.
pub(crate) const SMALL: u32 = 0;

/// Tiles of 128 x 128 inputs, two groups.
pub(crate) const SQUARE: u32 = 1;

/// Up to 160 inputs: one tile, two groups, the second of which has what is left.
pub(crate) const WHOLE: u32 = 2;

/// Sizes of the ring for a source and a shape of tiles.
pub(crate) struct Plan<S, const SHAPE: u32>(PhantomData<S>);

impl<S: Source, const SHAPE: u32> Plan<S, SHAPE> {
    /// Groups of four warps that multiply.
    pub(crate) const GROUPS: u32 = if SHAPE == SMALL { 1 } else { 2 };

    /// Inputs on either side of a tile.
    pub(crate) const INPUTS: u32 = match SHAPE {
        SMALL => 64,
        SQUARE => 128,
        _ => 160,
    };

    /// Whether there are tiles off the diagonal, and so two sides in a stage.
    pub(crate) const SIDES: u32 = if SHAPE == SQUARE { 2 } else { 1 };

    /// Rows of a copy.
    pub(crate) const ROWS: u32 = Self::INPUTS / S::POLS;

    /// Bytes of a copy.
    pub(crate) const BOX: u32 = Self::ROWS * S::INNER;

    /// Bytes of a side.
    pub(crate) const SIDE: u32 = S::BOXES * Self::BOX;

    /// Where `B` is made in a stage.
    pub(crate) const MADE: u32 = Self::SIDES * Self::SIDE;

    /// Bytes of a stage.
    pub(crate) const STAGE: u32 = Self::MADE + if S::EXPANDS { 128 * Self::INPUTS } else { 0 };

    /// Bytes for stages.
    const BUDGET: u32 = match SHAPE {
        SMALL => 110_592,
        SQUARE => 196_608,
        _ => 204_800,
    };

    /// Stages.
    pub(crate) const STAGES: u32 = Self::BUDGET / Self::STAGE;
}

/// One thread's place in the ring.
pub(crate) struct Ring<S, const SHAPE: u32> {
    /// Shared address of the first stage; the barriers follow the last one.
    base: u32,
    /// Stage that is next.
    stage: u32,
    /// Parity of the phase that is waited for.
    parity: u32,
    plan: PhantomData<Plan<S, SHAPE>>,
}

impl<S, const SHAPE: u32> Clone for Ring<S, SHAPE> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, const SHAPE: u32> Copy for Ring<S, SHAPE> {}

impl<S: Source, const SHAPE: u32> Ring<S, SHAPE> {
    /// The ring at a shared address. What fills it begins with stages that nobody has used: it waits for the phase
    /// before the first.
    #[inline(always)]
    pub(crate) fn new(base: u32, fills: bool) -> Self {
        Self { base, stage: 0, parity: fills as u32, plan: PhantomData }
    }

    /// Makes the barriers; by one thread, before the others use them.
    ///
    /// # Safety
    /// - The base is the address of as much shared memory as stages and barriers take, aligned to 1024 bytes, of
    ///   which nothing is used yet.
    /// - One thread calls it; a fence of the initialisation and a barrier of the block are before any other thread
    ///   uses the ring.
    #[inline(always)]
    pub(crate) unsafe fn init(&self) {
        let mut stage = 0;
        while stage < Plan::<S, SHAPE>::STAGES {
            mbarrier_init_shared_b64(self.barrier(0, stage), 1);
            mbarrier_init_shared_b64(self.barrier(1, stage), 3);
            mbarrier_init_shared_b64(self.barrier(2, stage), 4 * Plan::<S, SHAPE>::GROUPS);
            stage += 1;
        }
    }

    #[inline(always)]
    fn barrier(&self, kind: u32, stage: u32) -> u32 {
        let stages = Plan::<S, SHAPE>::STAGES;
        self.base + stages * Plan::<S, SHAPE>::STAGE + 8 * (kind * stages + stage)
    }

    /// Address of the stage that is next.
    #[inline(always)]
    pub(crate) fn address(&self) -> u32 {
        self.base + self.stage * Plan::<S, SHAPE>::STAGE
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

    /// Waits until `B` of the next stage has been made.
    ///
    /// # Safety
    /// - The barriers are made ([`Ring::init`]), the source expands and three warps make `B`: else this waits for
    ///   ever.
    #[inline(always)]
    pub(crate) unsafe fn wait_ready(&self) {
        wait(self.barrier(1, self.stage), self.parity);
    }

    /// Says that this warp has made its part of `B`.
    ///
    /// # Safety
    /// - The barriers are made ([`Ring::init`]).
    /// - One lane of each warp that makes `B` calls it, once a stage, after the warp's stores have been fenced for
    ///   the tensor cores.
    #[inline(always)]
    pub(crate) unsafe fn made(&self) {
        mbarrier_arrive_shared_b64(self.barrier(1, self.stage));
    }

    /// Waits until the next stage is empty, and has it expect so many bytes.
    ///
    /// # Safety
    /// - The barriers are made ([`Ring::init`]), and all warps that multiply give stages back: else this waits for
    ///   ever.
    /// - One thread calls it, once a stage, and starts copies of as many bytes that arrive on [`Ring::full`].
    #[inline(always)]
    pub(crate) unsafe fn wait_empty_and_expect(&self, bytes: u32) {
        wait(self.barrier(2, self.stage), self.parity);
        mbarrier_arrive_expect_tx_shared_b64(self.full(), bytes);
    }

    /// Says that this warp is done with the stage.
    ///
    /// # Safety
    /// - The barriers are made ([`Ring::init`]).
    /// - One lane of each warp that multiplies calls it, once a stage, when the warp uses nothing of the stage any
    ///   more.
    #[inline(always)]
    pub(crate) unsafe fn release(&self) {
        mbarrier_arrive_shared_b64(self.barrier(2, self.stage));
    }

    /// Goes on to the next stage.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.stage += 1;
        if self.stage == Plan::<S, SHAPE>::STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }
}

/// Waits until a phase of a barrier is over.
///
/// # Safety
/// - `barrier` is the shared address of a barrier that is made; the phase of that parity ends, or has ended.
#[inline(always)]
unsafe fn wait(barrier: u32, parity: u32) {
    while !mbarrier_try_wait_parity_shared_b64(barrier, parity) {}
}
