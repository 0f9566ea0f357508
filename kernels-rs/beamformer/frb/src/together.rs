//! The front of a cluster of four blocks: each decodes a quarter of the times for all four, and has one of the sums.
//!
//! # Layout
//! A lane loads 16 neighbouring feeds of one line, `t0 t1` the line and `t2 t3 t4` bits 4 to 6 of the feed; a warp takes
//! half of the feeds of a time. Voltages times gains are the first operand of `m16n8k8`, with real-or-imaginary bit and
//! line as what is summed, and the E-W matrix the second: the result has its feeds where the voltages had them, and the
//! number of the sum in place of the line. So a lane sends its 16 words to the block whose number its lane bits are.
//!
//! ```text
//! x   b<->ReIm  t0 t1 t2 t3 t4<->line0 line1 n4 n5 n6  r<->n0 n1 n2 n3      times gains
//! H   b<->ReIm  t0 t1 t2 t3 t4<->out0 out1 n4 n5 n6    r<->n0 n1 n2 n3      8 `m16n8k8`, 4 stores of 16 bytes
//! ```
//!
//! In the receiving block a time is a row of 256 words; bit 3 of a word's place is changed by `n5` and bit 4 by `n6`, so
//! that the loads of the transform along the line have all banks.
//!
//! # Order
//! The blocks exchange [`STAGE_TIMES`](frb::STAGE_TIMES) times in a stage, in two places by turns. Stores arrive on a
//! barrier object of the place (`full`), which expects the bytes of a stage. Every warp of the cluster arrives on
//! another one (`empty`) of each block when it has read what it needs of the place; then a block may store into it
//! again. The next stage is sent before the present one is transformed.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::barrier::{barrier_cluster_arrive_release_aligned, barrier_cluster_wait_acquire_aligned};
use fringes_device::cluster::{mapa_shared_cluster_u32, st_async_shared_cluster_v4_b32};
use fringes_device::fence::fence_mbarrier_init_release_cluster;
use fringes_device::half2::add_rn_f16x2;
use fringes_device::index::{cluster_ctarank, cluster_nctaid_x, laneid, tid_x};
use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_release_cluster_shared_cluster_b64, mbarrier_init_shared_b64,
    mbarrier_try_wait_parity_shared_b64,
};
use fringes_device::mma::mma_m16n8k8_f16_f16;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, Shared, opaque, unroll};
use fringes_kernel_abi::frb;
use fringes_kernels_fft_microkernel::generated::Fft256To512;
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::form::{Front, Given, Item};
use crate::registers::Registers;
use crate::{Sizes, lines, upchannelise};

/// Warps of a block.
const WARPS: u32 = frb::CLUSTER_WARPS;

/// Feeds of a line.
const FEEDS: u32 = 256;

/// Registers of gains of a half of the feeds.
const GAINS: usize = 16;

/// Registers of a lane and polarisation: gains of both halves, and the E-W matrix.
const REGISTERS: usize = 2 * GAINS + 1;

/// Stages of a block of times.
const STAGES: u32 = upchannelise::TIMES / frb::STAGE_TIMES;

/// Four lines of 256 feeds of 4+4 bits, four sums.
#[derive(Clone, Copy)]
pub(crate) struct Together {
    lane: u32,
    phases: <Fft256To512 as Transform>::Phases,
    /// Addresses of the words that outputs of the warp's first times go to.
    slots: [u32; 16],
    /// Bit `register`: whether a beam takes the output.
    used: u32,
    gains: [u32; GAINS],
    matrix: u32,
    /// Address of what this block receives.
    received: u32,
}

impl Front for Together {
    const INPUT_BITS: u32 = 8;
    const OUTPUT_REGISTER_BITS: u32 = 4;
    const PHASE_REGISTERS: usize = Fft256To512::PHASE_REGISTERS;
    const VOLTAGE_BYTES: u64 = 1;
    const WARPS: u32 = WARPS;
    const ROW_WORDS: u32 = frb::row_words(upchannelise::TIMES, 1);
    const MORE_BYTES: u32 = frb::stage_bytes(FEEDS);
    const KEPT: bool = false;

    #[inline(always)]
    fn fits(given: Given, sizes: Sizes) -> bool {
        let words = (u64::from(sizes.frequencies) * u64::from(sizes.pols)).saturating_mul(32 * REGISTERS as u64);
        let strides = sizes.strides[0] | sizes.strides[1] | sizes.strides[2] | sizes.strides[3];
        // SAFETY: an address, which is not used.
        let address = unsafe { given.voltages.address(0) };
        words <= given.weights.len() as u64
            && (sizes.lines, sizes.outs, sizes.feeds) == (4, frb::CLUSTER, FEEDS)
            && (address | strides) & 15 == 0
            && cluster_nctaid_x() == frb::CLUSTER
    }

    #[inline(always)]
    unsafe fn begin(sizes: Sizes) {
        if tid_x() == 0 {
            let barriers = Barriers::of(sizes);
            unroll!(place in 0 1 {
                mbarrier_init_shared_b64(barriers.full(place as u32), 1);
                mbarrier_init_shared_b64(barriers.empty(place as u32), WARPS * frb::CLUSTER);
            });
            fence_mbarrier_init_release_cluster();
        }
        // Before it another block's memory may not be there.
        barrier_cluster_arrive_release_aligned();
        barrier_cluster_wait_acquire_aligned();
    }

    #[inline(always)]
    unsafe fn end() {
        // No block ends while others arrive on its barrier objects.
        barrier_cluster_arrive_release_aligned();
        barrier_cluster_wait_acquire_aligned();
    }

    #[inline(always)]
    unsafe fn new(given: Given, sizes: Sizes, item: Item, pol: u32) -> Self {
        let lane = opaque(laneid() as i32) as u32;
        let warp = tid_x() / 32;
        let row = (item.frequency * sizes.parts + item.part) as usize * 16 * 32 + lane as usize;
        let start = Shared::<u32>::dynamic().address(0);
        let shared = start + 8 * warp;
        let mut used = 0;
        let slots = <[u32; 16]>::each(|register| {
            let word = given.slots.load(row + 32 * register);
            used |= u32::from(word != frb::UNUSED) << register;
            opaque((shared + 4 * word) as i32) as u32
        });
        let first = (item.frequency * sizes.pols + pol) as usize * 32 * REGISTERS + lane as usize;
        let half = (warp % 2) as usize * GAINS;
        Self {
            lane,
            phases: Fft256To512::phases(given.phases, lane),
            slots,
            used,
            gains: <[u32; GAINS]>::each(|register| given.weights.load(first + 32 * (half + register))),
            matrix: given.weights.load(first + 32 * 2 * GAINS),
            received: received(sizes),
        }
    }

    #[inline(always)]
    unsafe fn beamform(&self, given: Given, sizes: Sizes, item: Item, pol: u32, block: u32) {
        let warp = tid_x() / 32;
        let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
        let first_time = (item.time * sizes.blocks + block) * upchannelise::TIMES;
        let base = u64::from(first_time) * time_stride
            + u64::from(item.frequency) * frequency_stride
            + u64::from(pol) * pol_stride;
        let voltages = given.voltages.part(base as usize, given.voltages.len() - base as usize);
        let (line, feeds, half) = (self.lane & 3, self.lane >> 2, warp % 2);
        // This warp's time of a stage: one of its block's quarter.
        let of_stage = cluster_ctarank() * (frb::STAGE_TIMES / frb::CLUSTER) + warp / 2;
        let offset = line * line_stride as u32 + 16 * feeds + 128 * half;
        let load = |stage: u32| {
            let time = upchannelise::time_at(stage * frb::STAGE_TIMES + of_stage);
            let at = voltages.address((time * time_stride as u32 + offset) as usize);
            Global::<[u32; 4]>::from_raw_parts(at, 1).load(0)
        };
        // Where the words go: bits 3 and 4 of a place are changed by n5 and n6.
        let place = of_stage * FEEDS + 128 * half + 16 * (feeds ^ (feeds >> 2 & 1));
        let changed = 32 * (feeds >> 1 & 1);
        let to = mapa_shared_cluster_u32(self.received + 4 * place, line);
        let (low, high) = (to + changed, to + 32 - changed);
        // Where the transform's inputs are: n1 n2 n3 n5 n6 of the lane.
        let (t0, t1, rest) = (self.lane & 1, self.lane >> 1 & 1, self.lane >> 2);
        let from = self.received + 4 * (2 * (rest ^ t0 << 2) + 16 * t1 + 32 * t0 + 64 * t1 + 2 * FEEDS * warp);
        let (even, odd) = (from, from ^ 64);

        let barriers = Barriers::of(sizes);
        let send = |stage: u32, words: [u32; 4]| {
            let place = stage % 2;
            let mut sums = [[0; 4]; 4];
            unroll!(four in 0 1 2 3 {
                let of = |at: usize| self.gains[4 * four + at];
                sums[four] = self.summed(words[four], [of(0), of(1), of(2), of(3)], sizes.signs);
            });
            // The uses of a place in a block of times are two: parities are the same in every one.
            while !mbarrier_try_wait_parity_shared_b64(barriers.empty(place), (stage / 2 + 1) % 2) {}
            if tid_x() == 0 {
                let _ = mbarrier_arrive_expect_tx_shared_b64(barriers.full(place), 4 * frb::STAGE_TIMES * FEEDS);
            }
            let turn = place * frb::STAGE_TIMES * FEEDS * 4;
            let full = mapa_shared_cluster_u32(barriers.full(place), line);
            st_async_shared_cluster_v4_b32(low + turn, sums[0], full);
            st_async_shared_cluster_v4_b32(low + turn + 16, sums[1], full);
            st_async_shared_cluster_v4_b32(high + turn, sums[2], full);
            st_async_shared_cluster_v4_b32(high + turn + 16, sums[3], full);
        };
        send(0, load(0));
        let mut words = load(1);
        let mut stage = 0;
        while stage < STAGES {
            let place = stage % 2;
            let turn = place * frb::STAGE_TIMES * FEEDS * 4;
            if stage + 1 < STAGES {
                send(stage + 1, words);
                words = load(if stage + 2 < STAGES { stage + 2 } else { 0 });
            }
            while !mbarrier_try_wait_parity_shared_b64(barriers.full(place), stage / 2) {}
            let input = |time: u32| {
                let pair = |address: u32, n7: u32| {
                    Shared::<[u32; 2]>::from_raw_parts(address + turn + 4 * FEEDS * time + 512 * n7, 1).load(0)
                };
                let [a, b, c, d] = [pair(even, 0), pair(odd, 0), pair(even, 1), pair(odd, 1)];
                [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
            };
            let inputs = [input(0), input(1)];
            bar_warp_sync(u32::MAX);
            if self.lane < frb::CLUSTER {
                mbarrier_arrive_release_cluster_shared_cluster_b64(mapa_shared_cluster_u32(
                    barriers.empty(place),
                    self.lane,
                ));
            }
            // One after the other: there are no registers for both.
            unroll!(time in 0 1 {
                let used = opaque(self.used as i32) as u32;
                let y = Fft256To512::transform::<Half, Half>(inputs[time], &self.phases);
                unroll!(register in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if used >> register & 1 != 0 {
                        let word = self.slots[register] + stage * frb::STAGE_TIMES * 4 + 4 * time as u32;
                        Shared::<u32>::from_raw_parts(word, 1).store(0, y[register]);
                    }
                });
            });
            stage += 1;
        }
    }
}

/// Shared address of what a block receives.
#[inline(always)]
fn received(sizes: Sizes) -> u32 {
    let fine = sizes.fine(upchannelise::TIME_BITS);
    let rows = frb::row_bytes(sizes.slots, Together::ROW_WORDS, sizes.part_beams, fine);
    // SAFETY: an address; the memory has rows and more.
    unsafe { Shared::<u8>::dynamic().address(rows as usize) }
}

/// Barrier objects of the two places.
#[derive(Clone, Copy)]
struct Barriers(u32);

impl Barriers {
    #[inline(always)]
    fn of(sizes: Sizes) -> Self {
        Self(received(sizes) + frb::stage_bytes(FEEDS) - 32)
    }

    /// That all of a stage has arrived.
    #[inline(always)]
    fn full(self, place: u32) -> u32 {
        self.0 + 8 * place
    }

    /// That all warps of the cluster have read a place.
    #[inline(always)]
    fn empty(self, place: u32) -> u32 {
        self.0 + 16 + 8 * place
    }
}

impl Together {
    /// Sums over lines of four neighbouring feeds, of a word of voltages.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together.
    #[inline(always)]
    unsafe fn summed(&self, word: u32, gains: [u32; 4], signs: u32) -> [u32; 4] {
        // Feeds 0 and 2, feeds 1 and 3.
        let parts = |word: u32| {
            let re = lop3_b32::<0x6a>(word, 0x00f0_00f0, 0x5400_5400 ^ (signs & 0x0080_0080));
            let im = lop3_b32::<0x6a>(word, 0x000f_000f, 0x6400_6400 ^ (signs & 0x0008_0008));
            [add_rn_f16x2(re, 0xd480_d480), add_rn_f16x2(im, 0xe408_e408)]
        };
        let [re, im] = lines::product(parts(word), [gains[0], gains[1]]);
        let (x0, x2) = (prmt_b32(re, im, 0x5410), prmt_b32(re, im, 0x7632));
        let [re, im] = lines::product(parts(word >> 8), [gains[2], gains[3]]);
        let (x1, x3) = (prmt_b32(re, im, 0x5410), prmt_b32(re, im, 0x7632));
        let [h0, h1] = mma_m16n8k8_f16_f16([x0, x1], [self.matrix], [0; 2]);
        let [h2, h3] = mma_m16n8k8_f16_f16([x2, x3], [self.matrix], [0; 2]);
        [h0, h1, h2, h3]
    }
}
