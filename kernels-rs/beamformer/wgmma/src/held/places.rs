//! What lies in shared memory, and the barriers that tell when a place is full or empty.
//!
//! ```text
//! weights   slots of a tile of columns, all chunks, a ring; the beams' scales, and which tile it is
//! samples   stages of a tile of times, all chunks, a ring
//! full      copies have arrived                       1 arrival, and their bytes
//! empty     all that the place holds has been used    one arrival of each warp that multiplies
//! ```

use core::marker::PhantomData;

use fringes_device::Shared;
use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_shared_b64, mbarrier_init_shared_b64,
    mbarrier_try_wait_parity_shared_b64,
};

use fringes_device::warp::vote_sync_all_pred;

use fringes_kernels_beamformer_core::output::SCALE_BYTES;
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::work::Job;

use crate::ring::{WARPS, wait};
use crate::strips::{STEP_BYTES, Tile};
use crate::tied_array::CHUNK_BYTES;

/// Whether a phase of a barrier is over, as all lanes see it.
///
/// Lanes that ask together may be answered differently. What comes next is for all of them at once, and the compiler
/// does not bring them together again where it holds them for equal.
///
/// # Safety
/// All lanes of the warp call it together, with the shared address of a barrier that is made.
#[inline(always)]
unsafe fn is_over(barrier: u32, parity: u32) -> bool {
    vote_sync_all_pred(mbarrier_try_wait_parity_shared_b64(barrier, parity), u32::MAX)
}

/// Waits until a phase of a barrier is over, all lanes together.
///
/// # Safety
/// As [`is_over`]; the phase of that parity ends, or has ended.
#[inline(always)]
unsafe fn wait_together(barrier: u32, parity: u32) {
    while !is_over(barrier, parity) {}
}

/// Written down with a tile that is the first one of a strip, and where no tile is left.
const FIRST: u32 = 1;
const NO_TILE: u32 = 2;

/// What was seen of a slot that may not be full yet.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    full: bool,
    /// The tile, if it was full.
    written: [u32; 4],
}

/// What decides where all lies.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Columns of a tile.
    columns: u32,
    /// Chunks of inputs.
    chunks: u32,
    /// Bytes of a chunk of samples.
    bytes: u32,
}

/// Slots of weights, a power of two.
const SLOTS: u32 = 4;
/// Stages of samples, a power of two.
const STAGES: u32 = 2;

impl Shape {
    /// Of tiles of `columns` columns and `chunks` chunks of a source.
    pub(crate) const fn of<S: Source>(columns: u32, chunks: u32) -> Self {
        Self { columns, chunks, bytes: S::BYTES }
    }

    /// Bytes of a slot.
    pub(crate) const fn slot(self) -> u32 {
        self.chunks * CHUNK_BYTES * self.columns
    }

    /// Bytes of a stage.
    const fn stage(self) -> u32 {
        self.chunks * self.bytes
    }

    /// Where the first stage is: behind the slots.
    const fn stages_at(self) -> u32 {
        SLOTS * self.slot()
    }

    /// Where barriers begin.
    const fn barriers_at(self) -> u32 {
        self.stages_at() + STAGES * self.stage()
    }

    /// Where scales begin, of a slot each.
    const fn scales_at(self) -> u32 {
        self.barriers_at() + 16 * (SLOTS + STAGES)
    }

    /// Where the tiles are written down, of a slot each.
    const fn tiles_at(self) -> u32 {
        self.scales_at() + SLOTS * SCALE_BYTES
    }

    /// Where the step from strip to strip is.
    const fn step_at(self) -> u32 {
        self.tiles_at() + 16 * SLOTS
    }

    /// Shared memory in all.
    pub(crate) const fn shared_bytes(self) -> u32 {
        self.step_at() + STEP_BYTES
    }
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
    /// Places before it.
    count: u32,
}

impl Cycle {
    /// The first place.
    pub(crate) const FIRST: Self = Self { count: 0 };

    /// Whether it is the first one of what takes places.
    #[inline(always)]
    pub(crate) fn is_first(self) -> bool {
        self.count == 0
    }

    /// Goes on to the next one.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        *self = self.after();
    }

    /// The one after it.
    #[inline(always)]
    pub(crate) fn after(self) -> Self {
        Self { count: self.count.wrapping_add(1) }
    }

    /// The one before.
    #[inline(always)]
    pub(crate) fn before(self) -> Self {
        Self { count: self.count.wrapping_sub(1) }
    }

    /// Its number in a ring of `places`.
    #[inline(always)]
    fn of(self, places: u32) -> u32 {
        self.count % places
    }

    /// Parity of the phase that is waited for.
    #[inline(always)]
    fn parity(self, places: u32) -> u32 {
        self.count / places % 2
    }
}

impl<S: Source, const N: u32, const C: usize> Places<S, N, C> {
    /// Where all lies.
    const SHAPE: Shape = Shape::of::<S>(N, C as u32);
    /// Bytes of a slot.
    pub(crate) const SLOT: u32 = Self::SHAPE.slot();
    /// The first places for what fills the rings: it begins with places that nobody has used, and waits for the phase
    /// before the first.
    pub(crate) const TO_FILL: [Cycle; 2] = [Cycle { count: SLOTS }, Cycle { count: STAGES }];

    /// From a shared address on.
    #[inline(always)]
    pub(crate) fn new(base: u32) -> Self {
        Self { base, source: PhantomData }
    }

    /// Makes the barriers; by one thread, before the others use them.
    ///
    /// # Safety
    /// - The base is the address of as much shared memory as [`Shape::shared_bytes`] says, aligned to 1024 bytes, of
    ///   which nothing is used yet.
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
        self.base + Self::SHAPE.barriers_at() + 16 * place
    }

    /// The barrier that tells when it is empty.
    #[inline(always)]
    fn empty(self, place: u32) -> u32 {
        self.full(place) + 8
    }

    /// Address of a slot.
    #[inline(always)]
    pub(crate) fn weights(self, slot: Cycle) -> u32 {
        self.base + Self::SLOT * slot.of(SLOTS)
    }

    /// The barrier on which copies into it arrive.
    #[inline(always)]
    pub(crate) fn weights_full(self, slot: Cycle) -> u32 {
        self.full(slot.of(SLOTS))
    }

    /// Address of a stage.
    #[inline(always)]
    pub(crate) fn samples(self, stage: Cycle) -> u32 {
        self.base + Self::SHAPE.stages_at() + Self::SHAPE.stage() * stage.of(STAGES)
    }

    /// The barrier on which copies into it arrive.
    #[inline(always)]
    pub(crate) fn samples_full(self, stage: Cycle) -> u32 {
        self.full(SLOTS + stage.of(STAGES))
    }

    /// Waits until a slot is empty, writes down its tile, and has it expect its bytes and so many of scales; none of
    /// either if there is no tile.
    ///
    /// # Safety
    /// - The barriers are made ([`Places::init`]), and all warps that multiply give slots back: else this waits for
    ///   ever.
    /// - One thread calls it, once a slot, and starts copies of as many bytes that arrive on [`Places::weights_full`].
    #[inline(always)]
    pub(crate) unsafe fn weights_wanted(self, slot: Cycle, tile: Option<Tile>, scales: u32) {
        wait(self.empty(slot.of(SLOTS)), slot.parity(SLOTS));
        let written = match tile {
            Some(Tile { job, first, .. }) => [job.channel, job.time, job.column, if first { FIRST } else { 0 }],
            None => [0, 0, 0, NO_TILE],
        };
        self.tile_at(slot).store(0, written);
        let bytes = if tile.is_some() { Self::SLOT + scales } else { 0 };
        mbarrier_arrive_expect_tx_shared_b64(self.weights_full(slot), bytes);
    }

    /// The same of a stage, and [`Places::samples_full`].
    ///
    /// # Safety
    /// As [`Places::weights_wanted`].
    #[inline(always)]
    pub(crate) unsafe fn samples_wanted(self, stage: Cycle) {
        wait(self.empty(SLOTS + stage.of(STAGES)), stage.parity(STAGES));
        mbarrier_arrive_expect_tx_shared_b64(self.samples_full(stage), Self::SHAPE.stage());
    }

    /// Waits until a stage is full: its address.
    ///
    /// # Safety
    /// The barriers are made ([`Places::init`]), and a thread fills the stages: else this waits for ever.
    #[inline(always)]
    pub(crate) unsafe fn wait_samples(self, stage: Cycle) -> u32 {
        wait_together(self.samples_full(stage), stage.parity(STAGES));
        self.samples(stage)
    }

    /// Says that this warp is done with a slot.
    ///
    /// # Safety
    /// The barriers are made ([`Places::init`]); one lane of each warp that multiplies calls it, once a slot, when the
    /// warp uses nothing of it any more.
    #[inline(always)]
    pub(crate) unsafe fn release_weights(self, slot: Cycle) {
        mbarrier_arrive_shared_b64(self.empty(slot.of(SLOTS)));
    }

    /// The same of a stage.
    ///
    /// # Safety
    /// As [`Places::release_weights`].
    #[inline(always)]
    pub(crate) unsafe fn release_samples(self, stage: Cycle) {
        mbarrier_arrive_shared_b64(self.empty(SLOTS + stage.of(STAGES)));
    }

    /// Address of the scales that belong to a slot.
    #[inline(always)]
    pub(crate) fn scales_to(self, slot: Cycle) -> u32 {
        self.base + Self::SHAPE.scales_at() + SCALE_BYTES * slot.of(SLOTS)
    }

    /// The scales that belong to a slot.
    #[inline(always)]
    pub(crate) fn scales(self, slot: Cycle) -> Shared<f32> {
        // SAFETY: they are in the block's shared memory, and of a multiple of 16 bytes.
        unsafe { Shared::from_raw_parts(self.scales_to(slot), SCALE_BYTES as usize / 4) }
    }

    /// Where the tile of a slot is written down.
    #[inline(always)]
    fn tile_at(self, slot: Cycle) -> Shared<[u32; 4]> {
        let at = self.base + Self::SHAPE.tiles_at() + 16 * slot.of(SLOTS);
        // SAFETY: it is in the block's shared memory, and 16 bytes that are aligned.
        unsafe { Shared::from_raw_parts(at, 1) }
    }

    /// What a slot has, as far as it is known yet.
    ///
    /// # Safety
    /// The barriers are made ([`Places::init`]); all lanes of the warp call it together.
    #[inline(always)]
    pub(crate) unsafe fn look(self, slot: Cycle) -> Glance {
        let full = is_over(self.weights_full(slot), slot.parity(SLOTS));
        Glance { full, written: if full { self.tile_at(slot).load(0) } else { [0; 4] } }
    }

    /// Waits until a slot that was looked at is full: its tile, if there is one, and whether it is the first one of a
    /// strip.
    ///
    /// # Safety
    /// As [`Places::look`], and a thread fills the slots: else this waits for ever.
    #[inline(always)]
    pub(crate) unsafe fn wait_weights(self, slot: Cycle, glance: Glance) -> Option<(Job, bool)> {
        let mut written = glance.written;
        if !glance.full {
            wait_together(self.weights_full(slot), slot.parity(SLOTS));
            written = self.tile_at(slot).load(0);
        }
        let [channel, time, column, kind] = written;
        (kind != NO_TILE).then_some((Job { channel, time, column }, kind == FIRST))
    }

    /// Shared address of the step from strip to strip.
    #[inline(always)]
    pub(crate) fn step(self) -> u32 {
        self.base + Self::SHAPE.step_at()
    }
}
