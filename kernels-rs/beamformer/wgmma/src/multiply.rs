//! The groups of four warps that multiply: 64 times of a tile each.

use fringes_device::unroll;
use fringes_device::wgmma::{Descriptor, Swizzle, wgmma_commit_group, wgmma_fence, wgmma_wait_group};

use fringes_kernels_beamformer_core::incoherent::Powers;
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::sums::Sums;

use crate::format::Product;
use crate::ring::{Places, Ring};

/// Sums under way.
pub(crate) struct Tile<P, const H: usize> {
    pub(crate) sums: Sums<P, H>,
    pub(crate) powers: Powers,
}

impl<P: Product<H>, const H: usize> Tile<P, H> {
    /// No sums.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { sums: Sums { re: P::zero(), im: P::zero() }, powers: Powers::new() }
    }

    /// Starts adding half `half` of a chunk, and waits until no earlier half is under way.
    ///
    /// # Safety
    /// - All threads of a group of four warps call it together.
    /// - Samples and weights are at these addresses ([`Ring::chunk`]); they are not given back before their products
    ///   are done.
    /// - `place` is the lane's ([`Source::place`]).
    /// - `beside` may be called by all of them, with their operands.
    #[inline(always)]
    unsafe fn add<S: Source<Part = P>>(
        &mut self,
        [samples, weights]: [u32; 2],
        place: u32,
        half: u32,
        accumulate: bool,
        beside: impl FnOnce(&mut Powers, [[u32; 4]; 2]),
    ) {
        let b = Descriptor::new(weights, 0, 1024, Swizzle::Bytes128).advance(64 * half);
        let a = S::operands(samples + place, half);
        beside(&mut self.powers, a);
        let turned = a.map(|a| a.map(S::turned));
        wgmma_fence();
        unroll!(k in 0 1 {
            let b = b.advance(32 * k as u32);
            P::product(&mut self.sums.re, a[k], b, accumulate || k > 0);
            P::product(&mut self.sums.im, turned[k], b, accumulate || k > 0);
        });
        wgmma_commit_group();
        wgmma_wait_group::<1>();
    }

    /// Sums over `chunks` chunks, at least one. A chunk is given back when the next one's first products are under way,
    /// and so all of its own are done.
    ///
    /// # Safety
    /// - All threads of a group of four warps call it, with the same `chunks`, at least one; one lane of each warp
    ///   `speaks`.
    /// - The ring is at the first stage of the tile, which is the first or last one of a strip as `ends` says, and
    ///   other warps fill as many places as are summed.
    /// - `place` is the lane's ([`Source::place`]).
    /// - `beside` may be called by all of them with their operands of each half of a chunk.
    /// - `last` may be called by all of them when the last product is under way.
    #[inline(always)]
    pub(crate) unsafe fn sum<S: Source<Part = P>, const N: u32>(
        &mut self,
        ring: &mut Ring,
        places: Places<S, N>,
        place: u32,
        chunks: u32,
        ends: [bool; 2],
        speaks: bool,
        beside: impl Fn(&mut Powers, [[u32; 4]; 2], [u32; 2]),
        last: impl FnOnce(),
    ) {
        // The first half does not add. As a choice at run time that costs a tenth of short jobs with many columns; with
        // 16 the loop apart from it takes more registers than there are.
        let mut chunk = 0;
        let mut used = ring.empty(&places);
        if N > 16 {
            ring.wait_full(&places, 0, ends[0]);
            self.add::<S>(ring.chunk(&places, 0), place, 0, false, |powers, a| beside(powers, a, [0, 0]));
        }
        loop {
            if N == 16 {
                ring.wait_full(&places, chunk, ends[0]);
                self.add::<S>(ring.chunk(&places, chunk), place, 0, chunk > 0, |powers, a| {
                    beside(powers, a, [chunk, 0])
                });
                if chunk > 0 && speaks {
                    places.release(used, chunk - 1, ends[1]);
                }
            }
            self.add::<S>(ring.chunk(&places, chunk), place, 1, true, |powers, a| beside(powers, a, [chunk, 1]));
            used = ring.empty(&places);
            ring.advance(&places);
            chunk += 1;
            if chunk == chunks {
                break;
            }
            if N > 16 {
                ring.wait_full(&places, chunk, ends[0]);
                self.add::<S>(ring.chunk(&places, chunk), place, 0, true, |powers, a| beside(powers, a, [chunk, 0]));
                if speaks {
                    places.release(used, chunk - 1, ends[1]);
                }
            }
        }
        last();
        wgmma_wait_group::<0>();
        if speaks {
            places.release(used, chunk - 1, ends[1]);
        }
        P::hold(&mut self.sums.re);
        P::hold(&mut self.sums.im);
    }
}
