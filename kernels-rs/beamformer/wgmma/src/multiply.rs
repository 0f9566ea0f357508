//! The groups of four warps that multiply: 64 times of a tile each.

use fringes_device::unroll;
use fringes_device::wgmma::{Descriptor, Swizzle, wgmma_commit_group, wgmma_fence, wgmma_wait_group};

use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::sums::Sums;

use crate::format::Product;
use crate::ring::{Ring, release};

/// Sums under way.
pub(crate) struct Tile<P, const H: usize> {
    pub(crate) sums: Sums<P, H>,
}

impl<P: Product<H>, const H: usize> Tile<P, H> {
    /// No sums.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { sums: Sums { re: P::zero(), im: P::zero() } }
    }

    /// Starts adding half `half` of a stage, and waits until no earlier half is under way.
    ///
    /// # Safety
    /// - All threads of a group of four warps call it together.
    /// - `stage` is the address of a full stage; it is not given back before its products are done.
    /// - `place` is the lane's ([`Source::place`]).
    #[inline(always)]
    unsafe fn add<S: Source<Part = P>>(&mut self, stage: u32, place: u32, half: u32, accumulate: bool) {
        let b = Descriptor::new(stage + S::BYTES, 0, 1024, Swizzle::Bytes128).advance(64 * half);
        let a = S::operands(stage + place, half);
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

    /// Sums over `chunks` stages, at least one. A stage is given back when the next one's first products are under way,
    /// and so all of its own are done.
    ///
    /// # Safety
    /// - All threads of a group of four warps call it, with the same `chunks`, at least one; one lane of each warp
    ///   `speaks`.
    /// - The ring is at the first stage of the job, and another warp fills as many stages as are summed.
    /// - `place` is the lane's ([`Source::place`]).
    /// - `last` may be called by all of them when the last product is under way.
    #[inline(always)]
    pub(crate) unsafe fn sum<S: Source<Part = P>, const N: u32>(
        &mut self,
        ring: &mut Ring<S, N>,
        place: u32,
        chunks: u32,
        speaks: bool,
        last: impl FnOnce(),
    ) {
        // The first half does not add. As a choice at run time that costs a tenth of short jobs with many columns; with
        // 16 the loop apart from it takes more registers than there are.
        let mut chunk = 0;
        let mut used = ring.empty();
        if N > 16 {
            ring.wait_full();
            self.add::<S>(ring.address(), place, 0, false);
        }
        loop {
            if N == 16 {
                ring.wait_full();
                self.add::<S>(ring.address(), place, 0, chunk > 0);
                if chunk > 0 && speaks {
                    release(used);
                }
            }
            self.add::<S>(ring.address(), place, 1, true);
            used = ring.empty();
            ring.advance();
            chunk += 1;
            if chunk == chunks {
                break;
            }
            if N > 16 {
                ring.wait_full();
                self.add::<S>(ring.address(), place, 0, true);
                if speaks {
                    release(used);
                }
            }
        }
        last();
        wgmma_wait_group::<0>();
        if speaks {
            release(used);
        }
        P::hold(&mut self.sums.re);
        P::hold(&mut self.sums.im);
    }
}
