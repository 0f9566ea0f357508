//! The groups of four warps that multiply: 64 times of a tile each.
//!
//! Sums of both halves of a tile's columns are there at a time: while a warp converts and stores those of one, the
//! tensor cores add those of the other, of this tile or of the next one. Products of a half are one group of the tensor
//! cores' pipeline, which is never empty within a strip.

use fringes_device::fence::fence_proxy_async_shared_cta;
use fringes_device::warp::{bar_warp_sync, vote_sync_all_pred};
use fringes_device::wgmma::{Descriptor, Swizzle, wgmma_commit_group, wgmma_fence, wgmma_wait_group};
use fringes_device::{opaque, unroll};

use fringes_kernels_beamformer_core::incoherent::{Incoherent, Powers};
use fringes_kernels_beamformer_core::output::{Lane, Put};
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::sums::Sums;
use fringes_kernels_beamformer_core::work::{Job, Work};

use super::places::{Cycle, Places};
use crate::format::Product;
use crate::strips::anew;
use crate::tied_array::{CHUNK_BYTES, Output};

/// Two k-steps: half of a chunk.
type Half = [[u32; 4]; 2];

/// Operands of a lane, of all inputs: `[chunk][half]`.
#[derive(Clone, Copy)]
struct Operands<const C: usize> {
    /// As products of real parts take them.
    samples: [[Half; 2]; C],
    /// As those of imaginary parts do: `(im, -re)`.
    turned: [[Half; 2]; C],
}

impl<const C: usize> Operands<C> {
    /// None.
    const NONE: Self = Self { samples: [[[[0; 4]; 2]; 2]; C], turned: [[[[0; 4]; 2]; 2]; C] };

    /// Loads the operands of `C` chunks.
    ///
    /// # Safety
    /// - All lanes of the warp call it together; none of its products is under way.
    /// - The chunks are in shared memory from `at` on, which has the lane's place.
    #[inline(always)]
    unsafe fn load<S: Source>(&mut self, at: u32) {
        unroll!(c in 0 1 {
            if c < C {
                unroll!(half in 0 1 {
                    let samples = S::operands(at + S::BYTES * c as u32, half as u32);
                    self.samples[c][half] = samples;
                    self.turned[c][half] = samples.map(|a| a.map(S::turned));
                });
            }
        });
    }

    /// Keeps the registers until here.
    #[inline(always)]
    fn keep(&mut self) {
        unroll!(c in 0 1 {
            if c < C {
                unroll!(half in 0 1 {
                    unroll!(k in 0 1 {
                        unroll!(i in 0 1 2 3 {
                            self.samples[c][half][k][i] = opaque(self.samples[c][half][k][i] as i32) as u32;
                            self.turned[c][half][k][i] = opaque(self.turned[c][half][k][i] as i32) as u32;
                        });
                    });
                });
            }
        });
    }

    /// Powers for an incoherent beam; `quarter` is the lane modulo 4.
    ///
    /// # Safety
    /// As [`Powers::add`].
    #[inline(always)]
    unsafe fn powers<S: Source>(&self, of: &Incoherent, quarter: u32) -> Powers {
        let mut powers = Powers::new();
        unroll!(c in 0 1 {
            if c < C {
                unroll!(half in 0 1 {
                    powers.add::<S>(of, self.samples[c][half], [c as u32, half as u32, quarter]);
                });
            }
        });
        powers
    }

    /// Starts the sums of all inputs, as one group.
    ///
    /// # Safety
    /// - All threads of a group of four warps call it together.
    /// - The weights of a tile of columns are at the shared address `weights`, all chunks, seen by the tensor cores.
    /// - Until the group is waited for, neither these registers nor the sums are touched.
    #[inline(always)]
    unsafe fn start<S: Source, const N: u32, const H: usize>(&self, sums: &mut Sums<S::Part, H>, weights: u32)
    where
        S::Part: Product<H>,
    {
        let b = Descriptor::new(weights, 0, 1024, Swizzle::Bytes128);
        wgmma_fence();
        unroll!(c in 0 1 {
            if c < C {
                unroll!(half in 0 1 {
                    unroll!(k in 0 1 {
                        let within = 64 * half as u32 + 32 * k as u32;
                        let b = b.advance(CHUNK_BYTES * N * c as u32 + within);
                        let adds = c + half + k > 0;
                        <S::Part as Product<H>>::product(&mut sums.re, self.samples[c][half][k], b, adds);
                        <S::Part as Product<H>>::product(&mut sums.im, self.turned[c][half][k], b, adds);
                    });
                });
            }
        });
        wgmma_commit_group();
    }
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
    incoherent: Option<Incoherent>,
    thread: u32,
) where
    S::Part: Product<H>,
{
    // Made anew wherever they are needed: there are no registers to keep them.
    let of_thread = || {
        let thread = anew(thread);
        [thread / 128, thread / 32 % 4, thread % 32]
    };
    let (mut stage, mut slot) = (Cycle::FIRST, Cycle::FIRST);
    let sums = || Sums { re: S::Part::zero(), im: S::Part::zero() };
    let (mut first, mut second) = (sums(), sums());
    let mut operands = Operands::<C>::NONE;
    macro_rules! hold {
        ($sums:ident) => {
            <S::Part as Product<H>>::hold(&mut $sums.re);
            <S::Part as Product<H>>::hold(&mut $sums.im);
        };
    }
    // Of the dither at the lane's times.
    let mut words = [[0; 2]; 2];
    // The halves of a tile are tiles of half the columns.
    macro_rules! put {
        ($sums:ident, $job:expr, $half:literal, $slot:expr) => {
            let beams = (N / 2) >> u32::from(work.digits == 2);
            let scales = places.scales($slot).part($half * beams as usize, beams as usize);
            let job = Job { column: 2 * anew($job.column) + $half, ..$job };
            let lane = Lane { words, ..Lane::new::<S>(work, job, N / 2, of_thread(), scales) };
            if work.digits == 1 {
                O::put_dithered::<S, H, 1>(&$sums, work, &lane);
            } else {
                O::put_dithered::<S, H, 2>(&$sums, work, &lane);
            }
        };
    }
    // Of the tile before, if there is one.
    let mut before = Job { channel: 0, time: 0, column: 0 };
    // What is next is looked at before there is time to wait for it.
    let mut glance = places.look(slot);
    loop {
        let tile = places.wait_weights(slot, glance);
        // The same for all lanes, which the compiler cannot know.
        if vote_sync_all_pred(tile.is_none(), u32::MAX) {
            break;
        }
        let (job, starts) = tile.unwrap_or((before, false));
        let weights = places.weights(slot);
        if vote_sync_all_pred(starts, u32::MAX) {
            let [group, warp, lane] = of_thread();
            let place = S::place(group, warp, lane);
            operands.load::<S>(places.wait_samples(stage) + place);
            // Loads are done before the copy engine fills the stage again.
            fence_proxy_async_shared_cta();
            bar_warp_sync(u32::MAX);
            if lane == 0 {
                places.release_samples(stage);
            }
            stage.advance();
            // Of one tile of columns.
            if let Some(of) = incoherent.filter(|of| of.is_there() && job.column == 0) {
                let of_times = Lane::new::<S>(work, job, N, of_thread(), places.scales(slot));
                operands.powers::<S>(&of, lane % 4).put::<S>(&of, work, &of_times);
            }
        }
        operands.start::<S, N, H>(&mut first, weights);
        // Both waits for all but one group wait for nothing: with them the compiler knows which sums are done.
        wgmma_wait_group::<1>();
        hold!(second);
        if !slot.is_first() {
            put!(second, before, 1, slot.before());
            // Of the scales.
            bar_warp_sync(u32::MAX);
            if of_thread()[2] == 0 {
                places.release_weights(slot.before());
            }
        }
        if starts && matches!(O::OUTPUT, Output::Int8) {
            words = Lane::new::<S>(work, job, N, of_thread(), places.scales(slot)).dithered(work).words;
        }
        wgmma_wait_group::<0>();
        hold!(first);
        operands.start::<S, N, H>(&mut second, weights + CHUNK_BYTES * N / 2);
        glance = places.look(slot.after());
        wgmma_wait_group::<1>();
        hold!(first);
        put!(first, job, 0, slot);
        wgmma_wait_group::<0>();
        hold!(second);
        operands.keep();
        before = job;
        slot.advance();
    }
    if !slot.is_first() {
        put!(second, before, 1, slot.before());
    }
}
