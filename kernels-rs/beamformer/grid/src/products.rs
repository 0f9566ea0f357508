//! Both products of a step, in the registers of a warp.

use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::index::laneid;
use fringes_device::mma::mma_m16n8k16_f32_f16;
use fringes_device::{Global, Shared};
use fringes_kernels_beamformer_frb::Registers;

use crate::Sizes;
use crate::fragments::TILE_WORDS;
use crate::results::{Results, Work};
use crate::steps::{self, GOOD};

/// Fragments of a table.
type Fragments = Global<[u32; 4]>;

/// How a block makes both products.
pub(crate) trait Products: Sized {
    /// Type of the results.
    type Out: Copy;
    /// Whether beams have places.
    const PLACES: bool;
    /// Tiles of samples that have consecutive steps: step `s` of so many times the steps of a tile is in tile
    /// `s % TOGETHER`.
    const TOGETHER: u32;
    /// How many times as many tiles are loaded at once at most.
    const GROUPS: u32;
    /// Tiles of 8 beams along a line of a warp.
    const BEAMS: u32;
    /// Tiles of 8 outs of a block.
    const OUTS: u32;

    /// Whether the sizes are such as this takes.
    fn fits(sizes: Sizes) -> bool;

    /// Begins a block's work; `beams` is the warp's first tile.
    ///
    /// # Safety
    /// The views hold what the sizes say.
    unsafe fn new(work: Work<'_, Self::Out>, beams: u32) -> Self;

    /// Makes the products of the steps of a list, whose tiles begin at word `samples`.
    ///
    /// # Safety
    /// The views hold what the sizes say; the steps are listed and loaded; all lanes of the warp execute it together.
    unsafe fn add(&mut self, work: Work<'_, Self::Out>, list: u32, samples: u32);
}

/// The fragments of a tile of beams, of the last tile beyond the last.
///
/// # Safety
/// The view holds what the sizes say.
#[inline(always)]
unsafe fn along_a_line<R>(work: Work<'_, R>, beams: u32) -> Fragments {
    let (tiles, feeds) = (work.sizes.beam_tiles(), work.sizes.feed_tiles());
    let tile = beams.min(tiles - 1);
    let first = (work.item.frequency * tiles + tile) as usize * feeds as usize;
    work.given.phases.part(32 * first, 32 * feeds as usize)
}

/// A fragment of the matrix of lines at a time of a tile: of a tile of outs of the item's part, of the last tile beyond
/// the last.
///
/// # Safety
/// The view holds what the sizes say.
#[inline(always)]
unsafe fn of_lines<R>(work: Work<'_, R>, time: u32, outs: u32, lines: u32) -> [u32; 4] {
    let (out_tiles, line_tiles) = (work.sizes.out_tiles(), work.sizes.line_tiles());
    let row = (work.item.frequency * work.sizes.steps_of_tile() + time) * out_tiles + outs.min(out_tiles - 1);
    work.given.matrix.load((row * line_tiles + lines) as usize * 32 + laneid() as usize)
}

/// The lane's samples of 8 feeds of 8 lines, `tiles` tiles after that whose samples of the lane are pair `first` of
/// words of shared memory.
///
/// # Safety
/// They are there.
#[inline(always)]
unsafe fn samples(first: u32, tiles: u32) -> [u32; 2] {
    Shared::<u32>::dynamic().cast::<[u32; 2]>().load((first + tiles * (TILE_WORDS / 2)) as usize)
}

/// What the first product leaves as what the second takes.
///
/// # Precision
/// Rounded to f16.
#[inline(always)]
fn narrow(j: [f32; 4]) -> [u32; 2] {
    [cvt_rn_f16x2_f32(j[1], j[0]), cvt_rn_f16x2_f32(j[3], j[2])]
}

/// Products of up to `8 L` lines of up to `8 F` feeds: `B` tiles of beams of a warp have all their fragments in
/// registers, and `O` tiles of outs.
pub(crate) struct Kept<R, const L: usize, const F: usize, const B: usize, const O: usize> {
    phases: [[[u32; 4]; F]; B],
    matrix: [[[u32; 4]; L]; O],
    results: R,
}

impl<R, const L: usize, const F: usize, const B: usize, const O: usize> Products for Kept<R, L, F, B, O>
where
    R: Results<B, O>,
    [[u32; 4]; F]: Registers<[u32; 4]>,
    [[[u32; 4]; F]; B]: Registers<[[u32; 4]; F]>,
    [[u32; 4]; L]: Registers<[u32; 4]>,
    [[[u32; 4]; L]; O]: Registers<[[u32; 4]; L]>,
    [[u32; 2]; L]: Registers<[u32; 2]>,
    [[f32; 4]; L]: Registers<[f32; 4]>,
    [[[f32; 4]; L]; B]: Registers<[[f32; 4]; L]>,
    [[f32; 4]; O]: Registers<[f32; 4]>,
    [(); F]: Registers<()>,
    [(); L]: Registers<()>,
    [(); B]: Registers<()>,
{
    type Out = R::Out;
    const PLACES: bool = R::PLACES;
    const TOGETHER: u32 = 8;
    const GROUPS: u32 = 1;
    const BEAMS: u32 = B as u32;
    const OUTS: u32 = O as u32;

    #[inline(always)]
    fn fits(sizes: Sizes) -> bool {
        sizes.line_tiles() == L as u32 && sizes.feed_tiles() == F as u32 && sizes.columns == 8
    }

    #[inline(always)]
    unsafe fn new(work: Work<'_, R::Out>, beams: u32) -> Self {
        let lane = laneid() as usize;
        Self {
            phases: <[[[u32; 4]; F]; B]>::each(|tile| {
                let fragments = along_a_line(work, beams + tile as u32);
                <[[u32; 4]; F]>::each(|feeds| fragments.load(32 * feeds + lane))
            }),
            matrix: <[[[u32; 4]; L]; O]>::each(|outs| {
                let outs = work.item.out_part * O as u32 + outs as u32;
                <[[u32; 4]; L]>::each(|lines| of_lines(work, 0, outs, lines as u32))
            }),
            results: R::new(beams),
        }
    }

    #[inline(always)]
    unsafe fn add(&mut self, work: Work<'_, R::Out>, list: u32, first: u32) {
        let mut number = 0;
        while number < Self::TOGETHER {
            let step = steps::step(list, Self::TOGETHER, number);
            self.results.begin(step);
            if step.flags & GOOD != 0 {
                let pair = first / 2 + laneid() + number * (L * F) as u32 * (TILE_WORDS / 2);
                let mut j = <[[[f32; 4]; L]; B]>::each(|_| <[[f32; 4]; L]>::each(|_| [0.0; 4]));
                let _ = <[(); F]>::each(|feeds| {
                    let x = <[[u32; 2]; L]>::each(|lines| samples(pair, (lines * F + feeds) as u32));
                    let _ = <[(); B]>::each(|beams| {
                        let _ = <[(); L]>::each(|lines| {
                            let sum = &mut j[beams][lines];
                            *sum = mma_m16n8k16_f32_f16(self.phases[beams][feeds], x[lines], *sum);
                        });
                    });
                });
                let _ = <[(); B]>::each(|beams| {
                    let narrowed = <[[u32; 2]; L]>::each(|lines| narrow(j[beams][lines]));
                    let k = <[[f32; 4]; O]>::each(|outs| {
                        let mut k = [0.0; 4];
                        let _ = <[(); L]>::each(|lines| {
                            k = mma_m16n8k16_f32_f16(self.matrix[outs][lines], narrowed[lines], k);
                        });
                        k
                    });
                    self.results.take(work, step, beams, k);
                });
            }
            self.results.end(work, step);
            number += 1;
        }
    }
}

/// Products of any number of lines and feeds: fragments of `B` tiles of beams are loaded for some tiles of samples at
/// once.
pub(crate) struct Any<R, const B: usize, const O: usize> {
    beams: u32,
    results: R,
}

/// Tiles of samples that [`Any`] takes at once, and how many times as many are loaded at once at most.
const TOGETHER: usize = 2;
const GROUPS: u32 = 4;

impl<R, const B: usize, const O: usize> Products for Any<R, B, O>
where
    R: Results<B, O>,
    [[f32; 4]; O]: Registers<[f32; 4]>,
    [[[f32; 4]; O]; TOGETHER]: Registers<[[f32; 4]; O]>,
    [[[[f32; 4]; O]; TOGETHER]; B]: Registers<[[[f32; 4]; O]; TOGETHER]>,
    [[f32; 4]; TOGETHER]: Registers<[f32; 4]>,
    [[[f32; 4]; TOGETHER]; B]: Registers<[[f32; 4]; TOGETHER]>,
    [[u32; 2]; TOGETHER]: Registers<[u32; 2]>,
    [[[u32; 2]; TOGETHER]; B]: Registers<[[u32; 2]; TOGETHER]>,
    [[u32; 4]; B]: Registers<[u32; 4]>,
    [Fragments; B]: Registers<Fragments>,
    [(); B]: Registers<()>,
    [(); O]: Registers<()>,
{
    type Out = R::Out;
    const PLACES: bool = R::PLACES;
    const TOGETHER: u32 = TOGETHER as u32;
    const GROUPS: u32 = GROUPS;
    const BEAMS: u32 = B as u32;
    const OUTS: u32 = O as u32;

    #[inline(always)]
    fn fits(_: Sizes) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn new(_: Work<'_, R::Out>, beams: u32) -> Self {
        Self { beams, results: R::new(beams) }
    }

    #[inline(always)]
    unsafe fn add(&mut self, work: Work<'_, R::Out>, list: u32, first: u32) {
        let sizes = work.sizes;
        let (line_tiles, feed_tiles) = (sizes.line_tiles(), sizes.feed_tiles());
        let places = sizes.steps_of_tile();
        let steps = Self::TOGETHER * sizes.groups * places;
        let fragments = <[Fragments; B]>::each(|beams| along_a_line(work, self.beams + beams as u32));
        let first_out = work.item.out_part * O as u32;
        // Tiles beyond the last are not multiplied.
        let outs = sizes.out_tiles() - first_out;
        let tiles = line_tiles * feed_tiles;
        let last = feed_tiles - 1;
        let mut group = 0;
        while group < sizes.groups {
            let first_tile = group * TOGETHER as u32;
            let pair = first / 2 + laneid() + first_tile * tiles * (TILE_WORDS / 2);
            let mut narrowed = <[[[u32; 2]; TOGETHER]; B]>::each(|_| <[[u32; 2]; TOGETHER]>::each(|_| [0; 2]));
            let mut k = <[[[[f32; 4]; O]; TOGETHER]; B]>::each(|_| {
                <[[[f32; 4]; O]; TOGETHER]>::each(|_| <[[f32; 4]; O]>::each(|_| [0.0; 4]))
            });
            let mut lines = 0;
            while lines < line_tiles {
                let mut j = <[[[f32; 4]; TOGETHER]; B]>::each(|_| <[[f32; 4]; TOGETHER]>::each(|_| [0.0; 4]));
                // The fragments of the next tile of feeds are loaded ahead.
                let load = |feeds: u32| {
                    <[[u32; 4]; B]>::each(|beams| fragments[beams].load((32 * feeds.min(last) + laneid()) as usize))
                };
                let mut ahead = load(0);
                let mut feeds = 0;
                while feeds < feed_tiles {
                    let phases = ahead;
                    ahead = load(feeds + 1);
                    let tile = lines * feed_tiles + feeds;
                    let x = <[[u32; 2]; TOGETHER]>::each(|at| samples(pair, tile + at as u32 * tiles));
                    let _ = <[(); B]>::each(|beams| {
                        let _ = <[(); TOGETHER]>::each(|at| {
                            let sum = &mut j[beams][at];
                            *sum = mma_m16n8k16_f32_f16(phases[beams], x[at], *sum);
                        });
                    });
                    feeds += 1;
                }
                narrowed =
                    <[[[u32; 2]; TOGETHER]; B]>::each(|beams| <[[u32; 2]; TOGETHER]>::each(|at| narrow(j[beams][at])));
                let _ = <[(); O]>::each(|out| {
                    if (out as u32) < outs {
                        let matrix = of_lines(work, 0, first_out + out as u32, lines);
                        let _ = <[(); B]>::each(|beams| {
                            let _ = <[(); TOGETHER]>::each(|at| {
                                let sum = &mut k[beams][at][out];
                                *sum = mma_m16n8k16_f32_f16(matrix, narrowed[beams][at], *sum);
                            });
                        });
                    }
                });
                lines += 1;
            }
            let mut place = 0;
            loop {
                let _ = <[(); TOGETHER]>::each(|at| {
                    let number = (group * places + place) * TOGETHER as u32 + at as u32;
                    let step = steps::step(list, steps, number);
                    self.results.begin(step);
                    if step.flags & GOOD != 0 {
                        let _ = <[(); B]>::each(|beams| self.results.take(work, step, beams, k[beams][at]));
                    }
                    self.results.end(work, step);
                });
                place += 1;
                if place >= places {
                    break;
                }
                // The other times of the tiles: there is one tile of lines.
                let _ = <[(); O]>::each(|out| {
                    if (out as u32) < outs {
                        let matrix = of_lines(work, place, first_out + out as u32, 0);
                        let _ = <[(); B]>::each(|beams| {
                            let _ = <[(); TOGETHER]>::each(|at| {
                                k[beams][at][out] = mma_m16n8k16_f32_f16(matrix, narrowed[beams][at], [0.0; 4]);
                            });
                        });
                    }
                });
            }
            group += 1;
        }
    }
}
