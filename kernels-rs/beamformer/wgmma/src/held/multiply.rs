//! The groups of four warps that multiply: 64 times of a tile each.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::warp::bar_warp_sync;
use fringes_device::wgmma::{Descriptor, Swizzle, wgmma_commit_group, wgmma_fence, wgmma_wait_group};
use fringes_device::{Shared, opaque, unroll};

use fringes_kernels_beamformer_core::incoherent::{Incoherent, Powers};
use fringes_kernels_beamformer_core::output::{Lane, Put};
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::sums::Sums;
use fringes_kernels_beamformer_core::work::Work;

use super::places::{Cycle, Places};
use crate::format::Product;
use crate::strips::{Strips, anew};
use crate::tied_array::CHUNK_BYTES;

/// Two k-steps: half of a chunk.
type Half = [[u32; 4]; 2];

/// Operands of a lane, of all inputs.
#[derive(Clone, Copy)]
struct Operands<const C: usize> {
    /// As products of real parts take them: `[chunk][half]`.
    samples: [[Half; 2]; C],
    /// Shared address of the lane's real parts negated, four to a word, 16 bytes a half. In registers there is no room
    /// for them, and the compiler would make them again for every tile.
    negated: u32,
}

/// Real parts of four complex 8-bit samples, negated; -128 stays -128.
#[inline(always)]
fn negated([first, second]: [u32; 2]) -> u32 {
    // What a byte lacks is taken from the one above, which is not kept.
    let [first, second] = [first, second].map(|samples| 0x0100_0100u32.wrapping_sub(samples & 0x00ff_00ff));
    prmt_b32(first, second, 0x6420)
}

impl<const C: usize> Operands<C> {
    /// Loads the operands of `C` chunks.
    ///
    /// # Safety
    /// - All lanes of the warp call it together; the chunks are in shared memory from `at` on, which has the lane's
    ///   place.
    /// - `negated` is the shared address of the lane's own 16 bytes of each half, 512 bytes apart, aligned to 16 bytes.
    #[inline(always)]
    unsafe fn load<S: Source>(at: u32, negated: u32) -> Self {
        let mut samples = [[[[0; 4]; 2]; 2]; C];
        unroll!(c in 0 1 {
            if c < C {
                unroll!(half in 0 1 {
                    let [first, second] = S::operands(at + S::BYTES * c as u32, half as u32);
                    samples[c][half] = [first, second];
                    let [[a, b, c0, d], [e, f, g, h]] = [first, second];
                    Self::of_half(negated, c, half).store(0, [[a, b], [c0, d], [e, f], [g, h]].map(self::negated));
                });
            }
        });
        Self { samples, negated }
    }

    /// Where a half's negated parts are.
    ///
    /// # Safety
    /// As [`Operands::load`].
    #[inline(always)]
    unsafe fn of_half(negated: u32, c: usize, half: usize) -> Shared<[u32; 4]> {
        Shared::from_raw_parts(negated + 512 * (2 * c + half) as u32, 1)
    }

    /// A half's negated parts.
    ///
    /// # Safety
    /// By the lane that has loaded the operands.
    #[inline(always)]
    unsafe fn negated(&self, c: usize, half: usize) -> [u32; 4] {
        Self::of_half(self.negated, c, half).load(0)
    }

    /// A half's operands of products of imaginary parts, `(im, -re)`, of its negated parts.
    #[inline(always)]
    fn turned(&self, c: usize, half: usize, negated: [u32; 4]) -> Half {
        let mut turned = self.samples[c][half];
        unroll!(k in 0 1 {
            unroll!(i in 0 1 2 3 {
                let selector = if i % 2 == 0 { 0x5341 } else { 0x7361 };
                turned[k][i] = prmt_b32(turned[k][i], negated[2 * k + i / 2], selector);
            });
        });
        turned
    }
}

/// Keeps registers until here.
#[inline(always)]
fn keep(half: &mut Half) {
    unroll!(k in 0 1 {
        unroll!(i in 0 1 2 3 { half[k][i] = opaque(half[k][i] as i32) as u32; });
    });
}

/// Sums of all inputs, done.
///
/// # Safety
/// - All threads of a group of four warps call it together.
/// - The weights of a tile of columns are at the shared address `weights`, all chunks, and seen by the tensor cores.
#[inline(always)]
#[allow(unused_assignments, reason = "nothing is loaded after the last half")]
unsafe fn sum<S: Source, const N: u32, const H: usize, const C: usize>(
    sums: &mut Sums<S::Part, H>,
    operands: &Operands<C>,
    weights: u32,
) where
    S::Part: Product<H>,
{
    let b = Descriptor::new(weights, 0, 1024, Swizzle::Bytes128);
    let mut before = [[0; 4]; 2];
    let mut negated = [[0; 4]; 5];
    negated[0] = operands.negated(0, 0);
    unroll!(c in 0 1 {
        if c < C {
            unroll!(half in 0 1 {
                let (a, turned) = (operands.samples[c][half], operands.turned(c, half, negated[2 * c + half]));
                let adds = c > 0 || half > 0;
                wgmma_fence();
                unroll!(k in 0 1 {
                    let b = b.advance(CHUNK_BYTES * N * c as u32 + 64 * half as u32 + 32 * k as u32);
                    <S::Part as Product<H>>::product(&mut sums.re, a[k], b, adds || k > 0);
                    <S::Part as Product<H>>::product(&mut sums.im, turned[k], b, adds || k > 0);
                });
                wgmma_commit_group();
                // On their way while products are done.
                let next = 2 * c + half + 1;
                if next < 2 * C {
                    negated[next] = operands.negated(next / 2, next % 2);
                }
                // The turned operands of two halves are there at a time.
                if adds {
                    wgmma_wait_group::<1>();
                    keep(&mut before);
                }
                before = turned;
            });
        }
    });
    wgmma_wait_group::<0>();
    keep(&mut before);
    <S::Part as Product<H>>::hold(&mut sums.re);
    <S::Part as Product<H>>::hold(&mut sums.im);
}

/// What the groups do that multiply.
///
/// # Safety
/// - The barriers are made ([`Places::init`]) and seen by all threads, and other threads fill the places for the work.
/// - All threads of both groups call it together, with their number `thread < 256` in the block.
/// - `work` and `incoherent` are what fits ([`Work::fits`], [`Incoherent::fits`]).
#[inline(always)]
pub(super) unsafe fn multiply<S: Source, O: Put, const N: u32, const H: usize, const C: usize>(
    places: Places<S, N, C>,
    work: &Work,
    mut strips: Strips<true>,
    incoherent: Option<Incoherent>,
    thread: u32,
) where
    S::Part: Product<H>,
{
    let (group, warp, lane) = (thread / 128, thread / 32 % 4, thread % 32);
    let place = S::place(group, warp, lane);
    let negated = places.negated(4 * group + warp) + 16 * lane;
    let (mut stage, mut slot) = (Cycle::new(false), Cycle::new(false));
    let mut sums = Sums { re: S::Part::zero(), im: S::Part::zero() };
    while strips.go_on(work) {
        let mut tiles = strips.next(work, N);
        let operands = Operands::<C>::load::<S>(places.wait_samples(stage) + place, negated);
        bar_warp_sync(u32::MAX);
        if lane == 0 {
            places.release_samples(stage);
        }
        stage.advance(Places::<S, N, C>::STAGES);
        let first = Lane::new::<S>(work, tiles.job(), N, [group, warp, lane], places.scales(slot));
        // Of one tile of columns.
        if let Some(of) = incoherent.filter(|of| of.is_there() && tiles.job().column == 0) {
            let mut powers = Powers::new();
            unroll!(c in 0 1 {
                if c < C {
                    unroll!(half in 0 1 {
                        powers.add::<S>(&of, operands.samples[c][half], [c as u32, half as u32, lane % 4]);
                    });
                }
            });
            powers.put::<S>(&of, work, &first);
        }
        while tiles.go_on() {
            let job = tiles.next().job;
            sum::<S, N, H, C>(&mut sums, &operands, places.wait_weights(slot));
            let of_tile = first.at_column(work, anew(job.column), N, places.scales(slot));
            if work.digits == 1 {
                O::put::<S, H, 1>(&sums, work, &of_tile);
            } else {
                O::put::<S, H, 2>(&sums, work, &of_tile);
            }
            // Of the scales.
            bar_warp_sync(u32::MAX);
            if lane == 0 {
                places.release_weights(slot);
            }
            slot.advance(Places::<S, N, C>::SLOTS);
        }
    }
}
