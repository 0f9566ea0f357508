//! What becomes of the voltages of beams: powers that are summed, or voltages.

use fringes_device::arithmetic::fma_rn_f32;
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::index::laneid;
use fringes_device::{Global, GlobalMut};
use fringes_kernels_beamformer_frb::Registers;

use crate::Sizes;
use crate::form::{Given, Item};
use crate::fragments::SIDE;
use crate::steps::{BLOCK, FIRST, GOOD, LAST, Step};

/// Mark of a beam that goes nowhere: no place that there is.
pub const NOWHERE: u32 = u32::MAX;
/// Voltages come out as f16, else as f32.
pub const NARROW: u32 = 1;
/// Voltages come out conjugated.
pub const CONJUGATED: u32 = 2;

/// What a warp does with the voltages of its beams: `B` tiles of 8 beams of `O` tiles of 8 outs.
pub(crate) trait Results<const B: usize, const O: usize>: Copy {
    /// Type of the results.
    type Out: Copy;
    /// Whether beams have places.
    const PLACES: bool;

    /// Nothing yet. `beams` is the warp's first tile.
    fn new(beams: u32) -> Self;

    /// Begins a step.
    fn begin(&mut self, step: Step);

    /// Takes the voltages of one tile of beams: `[tile of outs]`, in the registers that
    /// [`fragments`](crate::fragments) says.
    ///
    /// # Safety
    /// The views hold what the sizes say; the step is good.
    unsafe fn take(&mut self, work: Work<'_, Self::Out>, step: Step, beams: usize, voltages: [[f32; 4]; O]);

    /// Ends a step.
    ///
    /// # Safety
    /// The views hold what the sizes say.
    unsafe fn end(&mut self, work: Work<'_, Self::Out>, step: Step);
}

/// What a launch is of.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a, R> {
    pub(crate) given: &'a Given,
    pub(crate) sizes: &'a Sizes,
    pub(crate) item: &'a Item,
    pub(crate) out: GlobalMut<R>,
}

/// Sums of powers.
#[derive(Clone, Copy)]
pub(crate) struct Powers<const B: usize, const O: usize> {
    beams: u32,
    /// Good blocks.
    good: u32,
    /// `[tile of beams][tile of outs][q0]`
    sums: [[[f32; 2]; O]; B],
}

impl<const B: usize, const O: usize> Results<B, O> for Powers<B, O>
where
    [[f32; 2]; O]: Registers<[f32; 2]>,
    [[[f32; 2]; O]; B]: Registers<[[f32; 2]; O]>,
    [(); B]: Registers<()>,
    [(); O]: Registers<()>,
{
    type Out = f32;
    const PLACES: bool = false;

    #[inline(always)]
    fn new(beams: u32) -> Self {
        Self { beams, good: 0, sums: <[[[f32; 2]; O]; B]>::each(|_| <[[f32; 2]; O]>::each(|_| [0.0; 2])) }
    }

    #[inline(always)]
    fn begin(&mut self, step: Step) {
        if step.flags & FIRST != 0 {
            self.good = 0;
        }
        if step.flags & (GOOD | BLOCK) == GOOD | BLOCK {
            self.good += 1;
        }
    }

    #[inline(always)]
    unsafe fn take(&mut self, _: Work<'_, f32>, _: Step, beams: usize, voltages: [[f32; 4]; O]) {
        let _ = <[(); O]>::each(|out| {
            let ([re0, re1, im0, im1], [sum0, sum1]) = (voltages[out], self.sums[beams][out]);
            self.sums[beams][out] =
                [fma_rn_f32(im0, im0, fma_rn_f32(re0, re0, sum0)), fma_rn_f32(im1, im1, fma_rn_f32(re1, re1, sum1))];
        });
    }

    #[inline(always)]
    unsafe fn end(&mut self, work: Work<'_, f32>, step: Step) {
        if step.flags & LAST == 0 {
            return;
        }
        let Work { given, sizes, item, out } = work;
        let row = item.frequency * sizes.fine + item.fine;
        let scale = given.factors.load(row as usize) * (sizes.blocks as f32 / self.good as f32);
        let products = sizes.products();
        let product = if sizes.summed == 1 { step.pol() } else { 0 };
        let first = (u64::from(row) * u64::from(sizes.times) + u64::from(step.time)) * u64::from(sizes.outs);
        let _ = <[(); B]>::each(|tile| {
            let beam = first_beam(self.beams + tile as u32);
            let _ = <[(); O]>::each(|of_outs| {
                let o = first_out(item, of_outs, O);
                let at = (first + u64::from(o)) * u64::from(sizes.beams) + u64::from(beam);
                let sums = self.sums[tile][of_outs];
                let _ = <[(); 2]>::each(|q0| {
                    let power = if self.good == 0 { 0.0 } else { sums[q0] * scale };
                    if o < sizes.outs && beam + (q0 as u32) < sizes.beams {
                        out.store((at + q0 as u64) as usize * products as usize + product as usize, power);
                    }
                });
                self.sums[tile][of_outs] = [0.0; 2];
            });
        });
    }
}

/// Voltages of beams, f32 or f16.
#[derive(Clone, Copy)]
pub(crate) struct Voltages {
    beams: u32,
}

impl<const B: usize, const O: usize> Results<B, O> for Voltages
where
    [(); O]: Registers<()>,
{
    type Out = u32;
    const PLACES: bool = true;

    #[inline(always)]
    fn new(beams: u32) -> Self {
        Self { beams }
    }

    #[inline(always)]
    fn begin(&mut self, _: Step) {}

    #[inline(always)]
    unsafe fn take(&mut self, work: Work<'_, u32>, step: Step, beams: usize, voltages: [[f32; 4]; O]) {
        let Work { given, sizes, item, out } = work;
        let row = item.frequency * sizes.fine + item.fine;
        let scale = given.factors.load(row as usize);
        let im_scale = if sizes.kind & CONJUGATED != 0 { -scale } else { scale };
        let [frequency, time, pol, place_stride] = sizes.out_strides;
        let first = u64::from(item.frequency) * frequency + u64::from(step.time) * time + u64::from(step.pol()) * pol;
        let beam = first_beam(self.beams + beams as u32);
        let _ = <[(); O]>::each(|of_outs| {
            let o = first_out(item, of_outs, O);
            let _ = <[(); 2]>::each(|q0| {
                let b = beam + q0 as u32;
                if o < sizes.outs && b < sizes.beams {
                    let place = place_of(given.places, o, sizes.beams, b);
                    if place < sizes.places_out {
                        let at = (first + u64::from(place) * place_stride) as usize;
                        let [re, im] = [voltages[of_outs][q0] * scale, voltages[of_outs][2 + q0] * im_scale];
                        match sizes.kind & NARROW != 0 {
                            true => out.store(at, cvt_rn_f16x2_f32(im, re)),
                            false => out.cast::<[f32; 2]>().store(at, [re, im]),
                        }
                    }
                }
            });
        });
    }

    #[inline(always)]
    unsafe fn end(&mut self, _: Work<'_, u32>, _: Step) {}
}

/// Where the voltage of a beam goes.
///
/// # Safety
/// The view has the place.
#[inline(always)]
unsafe fn place_of(places: Global<u32>, out: u32, beams: u32, beam: u32) -> u32 {
    places.load(out as usize * beams as usize + beam as usize)
}

/// The lane's first beam of a tile.
#[inline(always)]
fn first_beam(tile: u32) -> u32 {
    SIDE * tile + 2 * (laneid() & 3)
}

/// The lane's out of tile `of_outs` of a part.
#[inline(always)]
fn first_out(item: &Item, of_outs: usize, tiles: usize) -> u32 {
    SIDE * (item.out_part * tiles as u32 + of_outs as u32) + (laneid() >> 2)
}
