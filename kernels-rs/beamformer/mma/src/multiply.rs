//! A block's tiles: 16 times of each warp, all columns.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::cp_async_wait_group;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::matrix::ldmatrix_x4_shared_b16;
use fringes_device::mma::{mma_m16n8k16_f32_f16, mma_m16n8k32_s32_s8};
use fringes_device::{Global, unroll};
use fringes_kernels_beamformer_core::output::{Lane, Put, SCALE_BYTES};
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::sums::{Part, Sums};
use fringes_kernels_beamformer_core::work::Work;

use crate::load::{Loader, first_stage, next_stage, stage_bytes, stages};
use crate::scales::Scales;

/// Products of 16 times and 8 columns, 32 bytes of each.
pub(crate) trait Product: Part {
    /// No sum.
    const ZERO: Self;

    /// `A B + C`.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    unsafe fn product(a: [u32; 4], b: [u32; 2], c: [Self; 4]) -> [Self; 4];
}

impl Product for i32 {
    const ZERO: Self = 0;

    #[inline(always)]
    unsafe fn product(a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
        mma_m16n8k32_s32_s8(a, b, c)
    }
}

impl Product for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    unsafe fn product(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
        mma_m16n8k16_f32_f16(a, b, c)
    }
}

/// Adds a product to four sums of block `j`.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn add<P: Product, const H: usize>(sums: &mut [P; H], j: usize, a: [u32; 4], b: [u32; 2]) {
    let c = [sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]];
    let [d0, d1, d2, d3] = P::product(a, b, c);
    (sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]) = (d0, d1, d2, d3);
}

/// Adds a chunk.
///
/// # Safety
/// - All lanes of the warp call it; the stage is in shared memory, `stage` being its address.
/// - `place` and `column` are the lane's.
#[inline(always)]
unsafe fn chunk<S: Source<Part: Product>, const H: usize>(
    sums: &mut Sums<S::Part, H>,
    stage: u32,
    place: u32,
    column: u32,
) {
    unroll!(half in 0 1 {
        let a = S::operands(stage + place, half as u32);
        unroll!(k in 0 1 {
            let turned = a[k].map(S::turned);
            // 32 bytes on are two pieces on, of which the swizzle leaves the lowest bit.
            let at = (stage + S::BYTES + column) ^ (64 * half as u32 + 32 * k as u32);
            unroll!(pair in 0 1 2 3 {
                if pair < H / 8 {
                    let [b0, b1, b2, b3] = ldmatrix_x4_shared_b16(at + 2048 * pair as u32);
                    add(&mut sums.re, 2 * pair, a[k], [b0, b1]);
                    add(&mut sums.im, 2 * pair, turned, [b0, b1]);
                    add(&mut sums.re, 2 * pair + 1, a[k], [b2, b3]);
                    add(&mut sums.im, 2 * pair + 1, turned, [b2, b3]);
                }
            });
        });
    });
}

/// Forms beams in tiles of `N = 2 H` columns, after checking the numbers.
#[inline(always)]
pub(crate) fn form<S: Source<Part: Product>, O: Put, const N: u32, const H: usize, const STAGES_BUT_TWO: u32>(
    samples: Global<[u32; 4]>,
    work: Work,
) {
    const { assert!(stages(S::BYTES, N) == STAGES_BUT_TWO + 2) };
    let thread = tid_x();
    // SAFETY: the table, the beams and the rows are there.
    unsafe {
        let (group, warp, lane) = (thread / 128, thread / 32 % 4, thread % 32);
        if !work.fits::<S>(N, O::OUTPUT) {
            trap();
            return;
        }
        let mut loader = Loader::new::<N>(&work, samples);
        if !loader.fits::<S>(&work) {
            trap();
            return;
        }
        let place = S::place(group, warp, lane);
        // Columns 0-7 and 8-15, each at 16 bytes and at the next ones.
        let row = 8 * (lane / 16) + lane % 8;
        let column = 128 * row + 16 * ((lane / 8 % 2) ^ (lane % 8));
        unroll!(i in 0 1 2 { if (i as u32) < STAGES_BUT_TWO + 1 { loader.issue::<S, N>(&work); } });
        let chunks = work.chunks::<S>();
        let mut next = ctaid_x();
        let mut stage = 0;
        let scales_at = first_stage() + stages(S::BYTES, N) * stage_bytes(S::BYTES, N) + SCALE_BYTES * (thread / 32);
        while let Some(job) = work.get(next, N) {
            next += nctaid_x();
            let scales = Scales::load(&work, job, N, lane);
            let mut sums = Sums { re: [S::Part::ZERO; H], im: [S::Part::ZERO; H] };
            let mut number = 0;
            while number < chunks {
                cp_async_wait_group::<STAGES_BUT_TWO>();
                bar_sync_0();
                // The stage that all have left behind.
                loader.issue::<S, N>(&work);
                chunk::<S, H>(&mut sums, first_stage() + stage, place, column);
                stage = next_stage::<S, N>(stage);
                number += 1;
            }
            let lane = Lane::new::<S>(&work, job, N, [group, warp, lane], scales.share(scales_at, lane));
            if work.digits == 1 || S::FLOATS {
                O::put::<S, H, 1>(&sums, &work, &lane);
            } else {
                O::put::<S, H, 2>(&sums, &work, &lane);
            }
        }
    }
}
