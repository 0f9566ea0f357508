//! The groups of four warps that multiply: 64 columns of a tile each.

use fringes_device::unroll;
use fringes_device::wgmma::{Descriptor, Swizzle, wgmma_commit_group, wgmma_fence, wgmma_wait_group};

use crate::format::{Part, Product};
use crate::ring::Ring;
use crate::source::{Place, Source};

/// Sums of 64 columns and `2 H` rows: real and imaginary parts.
pub(crate) struct Sums<P, const H: usize> {
    pub(crate) re: [P; H],
    pub(crate) im: [P; H],
}

/// Where the operands of 64 columns lie in a stage.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    /// What this lane adds to the stage's address for `A`.
    pub(crate) place: Place,
    /// What is added for `B`.
    pub(crate) b: u32,
    /// Bytes of a copy.
    pub(crate) boxed: u32,
}

/// What a group sums over stages, half of a stage at a time. Some products are under way while the next are made ready.
pub(crate) trait Tile<S: Source> {
    /// Starts adding half `half` of a stage, and waits until no earlier half is under way.
    ///
    /// # Safety
    /// - All threads of a group of four warps call it together.
    /// - `stage` is the address of a full stage, whose `B` is ready if the source expands; it is not given back
    ///   before a wait for the products.
    unsafe fn add(&mut self, stage: u32, half: u32, accumulate: bool);

    /// Keeps what uses the sums after it behind a wait before it.
    fn hold(&mut self);
}

/// The sums of one tile, and where its operands are. `FINE`: a k-step under way at a time in place of two, which takes
/// fewer registers.
pub(crate) struct One<P, const H: usize, const FINE: bool> {
    pub(crate) sums: Sums<P, H>,
    operands: Operands,
}

impl<P: Part + Product<H>, const H: usize, const FINE: bool> One<P, H, FINE> {
    /// No sums.
    #[inline(always)]
    pub(crate) fn new(operands: Operands) -> Self {
        Self { sums: Sums { re: <P as Product<H>>::zero(), im: <P as Product<H>>::zero() }, operands }
    }

    /// Starts the products of a k-step.
    ///
    /// # Safety
    /// - As [`Product::product`] for both sums: in a group of four warps, after a fence, with `B` seen by the tensor
    ///   cores.
    #[inline(always)]
    unsafe fn multiply(&mut self, a: [u32; 4], turned: [u32; 4], b: Descriptor, accumulate: bool) {
        P::product(&mut self.sums.re, a, b, accumulate);
        P::product(&mut self.sums.im, turned, b, accumulate);
    }
}

impl<S: Source, const H: usize, const FINE: bool> Tile<S> for One<S::Part, H, FINE>
where
    S::Part: Product<H>,
{
    #[inline(always)]
    unsafe fn add(&mut self, stage: u32, half: u32, accumulate: bool) {
        let Operands { place, b, boxed } = self.operands;
        let b = Descriptor::new(stage + b, 0, 1024, Swizzle::Bytes128).advance(64 * half);
        let a = S::operands(stage, boxed, place, half);
        if FINE {
            unroll!(k in 0 1 {
                let turned = S::turned(a[k]);
                wgmma_fence();
                self.multiply(a[k], turned, b.advance(32 * k as u32), accumulate || k > 0);
                wgmma_commit_group();
                wgmma_wait_group::<1>();
            });
        } else {
            let turned = a.map(S::turned);
            wgmma_fence();
            unroll!(k in 0 1 { self.multiply(a[k], turned[k], b.advance(32 * k as u32), accumulate || k > 0); });
            wgmma_commit_group();
            wgmma_wait_group::<1>();
        }
    }

    #[inline(always)]
    fn hold(&mut self) {
        <S::Part as Product<H>>::hold(&mut self.sums.re);
        <S::Part as Product<H>>::hold(&mut self.sums.im);
    }
}

/// Two tiles of one group.
impl<S: Source, const H: usize, const I: usize> Tile<S> for (One<S::Part, H, true>, One<S::Part, I, true>)
where
    S::Part: Product<H> + Product<I>,
{
    #[inline(always)]
    unsafe fn add(&mut self, stage: u32, half: u32, accumulate: bool) {
        Tile::<S>::add(&mut self.0, stage, half, accumulate);
        Tile::<S>::add(&mut self.1, stage, half, accumulate);
    }

    #[inline(always)]
    fn hold(&mut self) {
        Tile::<S>::hold(&mut self.0);
        Tile::<S>::hold(&mut self.1);
    }
}

/// Sums over `steps` stages, at least one. A stage is given back when the next one's first product is under way, and so
/// all of its own are done.
///
/// # Safety
/// - All threads of a group of four warps call it, with the same `steps`, at least one; one lane of each warp
///   `speaks`.
/// - The ring is at the first stage of the job, and other warps fill as many stages as are summed.
/// - The operands of `tile` lie in a stage.
#[inline(always)]
pub(crate) unsafe fn sum<S: Source, T: Tile<S>, const SHAPE: u32>(
    tile: &mut T,
    ring: &mut Ring<S, SHAPE>,
    steps: u32,
    speaks: bool,
) {
    wait(ring);
    tile.add(ring.address(), 0, false);
    let mut step = 1;
    loop {
        tile.add(ring.address(), 1, true);
        let last = *ring;
        ring.advance();
        if step == steps {
            wgmma_wait_group::<0>();
            release(&last, speaks);
            break;
        }
        wait(ring);
        tile.add(ring.address(), 0, true);
        release(&last, speaks);
        step += 1;
    }
    tile.hold();
}

/// Uses no stage, but gives each back: the part of a group that has nothing to multiply.
///
/// # Safety
/// - All threads of a group of four warps call it, with the same `steps`; one lane of each warp `speaks`.
/// - The ring is at the first stage of the job, and other warps fill as many stages.
#[inline(always)]
pub(crate) unsafe fn pass<S: Source, const SHAPE: u32>(ring: &mut Ring<S, SHAPE>, steps: u32, speaks: bool) {
    let mut step = 0;
    while step < steps {
        wait(ring);
        release(ring, speaks);
        ring.advance();
        step += 1;
    }
}

/// Waits until the next stage is full, and ready if it is made.
///
/// # Safety
/// - The ring's barriers are made, and other warps fill the stage.
#[inline(always)]
unsafe fn wait<S: Source, const SHAPE: u32>(ring: &Ring<S, SHAPE>) {
    ring.wait_full();
    if S::EXPANDS {
        ring.wait_ready();
    }
}

/// One lane of each warp, which `speaks` for it, gives a stage back.
///
/// # Safety
/// - The warp has taken all that it needs of the stage: its products are done.
/// - Every warp that multiplies gives a stage back once; one lane of it `speaks`.
#[inline(always)]
unsafe fn release<S: Source, const SHAPE: u32>(ring: &Ring<S, SHAPE>, speaks: bool) {
    if speaks {
        ring.release();
    }
}
