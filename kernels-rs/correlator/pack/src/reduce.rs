//! Sums of parts `[part][channel][baseline]` in a baseline order: adds the parts up, and clamps, marks and counts where
//! 32 bits are wanted.
//!
//! Floor: every part is read once and every position written once: 16 bytes a part and visibility of i64 or f64 pairs,
//! 8 of i32 pairs, and 16 or 8 bytes a position.
//!
//! The orders of the triangle and of antenna pairs are written position by position ([`Reduction::positions`]): a
//! thread has four positions of one channel, so that four loads of each part are in flight. Threads of a warp have
//! neighbouring positions. In the order of pairs these come from two rows of the triangle, two neighbours of each for
//! every pair of antennas:
//!
//! ```text
//! position   4 k     4 k + 1  4 k + 2  4 k + 3        k-th pair: antennas i <= j
//! from       2j,2i   2j,2i+1  2j+1,2i  2j+1,2i+1      conjugated, but for 1,0 of an antenna with itself
//! ```
//!
//! The full order is written tile by tile ([`Reduction::tiles`]): a block reads 32 x 32 values of the lower triangle,
//! 512 bytes of a row at a time, writes them as they are, and writes their conjugates as rows of the upper triangle
//! after a transpose through shared memory. The column of a value there is XORed with its row, which makes both
//! directions free of bank conflicts.

use fringes_device::barrier::bar_sync_0;
use fringes_device::index::{ctaid_x, ctaid_y, nctaid_x, nctaid_y, tid_x};
use fringes_device::warp::redux_sync_add_u32;
use fringes_device::{Global, GlobalMut, Shared, unroll};
use fringes_kernels_correlator_core::baseline::{Product, pairs_product, triangle_len, triangle_position};

use crate::sums::{Form, Sum, Widen};

/// Threads of a block.
pub const THREADS: u32 = fringes_kernel_abi::correlator::PACK_THREADS;

/// Positions of a thread.
pub const POSITIONS: u32 = fringes_kernel_abi::correlator::REDUCE_POSITIONS;

/// Rows and columns of a tile of the full order.
pub const TILE: u32 = fringes_kernel_abi::correlator::REDUCE_TILE;

/// The order of antenna pairs, or that of the triangle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Packed lower triangle.
    Triangle,
    /// Antenna pairs with four products each.
    Pairs,
}

impl Order {
    /// Where the triangle has a position, and whether it is the conjugate.
    #[inline(always)]
    fn source(self, position: u32) -> (u32, bool) {
        match self {
            Self::Triangle => (position, false),
            Self::Pairs => pairs_product(position).triangle(),
        }
    }
}

/// Parts, and where their sum goes.
pub struct Reduction<F: Form> {
    /// `[part][channel][baseline]`, packed lower triangles.
    pub parts: Global<F::Part>,
    /// `[channel][position]`.
    pub out: GlobalMut<F::To>,
    /// `[baseline]`, packed lower triangle: not zero where the baseline is to be marked, or no values if none is.
    pub missing: Global<u8>,
    /// Counts the values that did not fit, in its first element, beside what it holds; or no values where nothing is
    /// counted.
    pub saturated: GlobalMut<u64>,
    /// Number of parts.
    pub number: u32,
    /// Channels.
    pub channels: u32,
    /// Baselines of a channel in the triangle.
    pub baselines: u32,
}

impl<F: Form> Reduction<F> {
    /// Whether the views hold all parts, `positions` positions a channel, and flags.
    #[inline(always)]
    pub fn fit(&self, positions: u64) -> bool {
        let triangle = u64::from(self.channels) * u64::from(self.baselines);
        triangle.saturating_mul(u64::from(self.number)) <= self.parts.len() as u64
            && u64::from(self.channels).saturating_mul(positions) <= self.out.len() as u64
            && (self.missing.is_empty() || u64::from(self.baselines) <= self.missing.len() as u64)
    }

    /// Whether a baseline is to be marked.
    ///
    /// # Safety
    /// - Flags are empty, or `baseline` is one of `baselines`, and they [fit](Self::fit).
    #[inline(always)]
    unsafe fn is_missing(&self, baseline: u32) -> bool {
        !self.missing.is_empty() && self.missing.load(baseline as usize) != 0
    }

    /// Adds this warp's count.
    ///
    /// # Safety
    /// - All lanes of the warp call it together.
    /// - The view of counts is empty or has one.
    #[inline(always)]
    unsafe fn count(&self, saturated: u32) {
        if !self.saturated.is_empty() {
            let sum = redux_sync_add_u32(saturated, u32::MAX);
            if tid_x().is_multiple_of(32) && sum > 0 {
                self.saturated.atomic_add(0, u64::from(sum));
            }
        }
    }

    /// Writes the orders of the triangle or of antenna pairs. The grid is (any, any): blocks take positions in steps of
    /// the first dimension and channels in steps of the second.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn positions(&self, order: Order, positions: u32) {
        let mut saturated = 0;
        let mut first = u64::from(ctaid_x()) * u64::from(THREADS * POSITIONS) + u64::from(tid_x());
        while first < u64::from(positions) {
            let mut source = [(0, false, false); POSITIONS as usize];
            let there = |i: usize| first + u64::from(THREADS) * (i as u64) < u64::from(positions);
            unroll!(i in 0 1 2 3 {
                if there(i) {
                    let (baseline, conjugated) = order.source(first as u32 + THREADS * i as u32);
                    source[i] = (baseline, conjugated, self.is_missing(baseline));
                }
            });
            let mut channel = ctaid_y();
            while channel < self.channels {
                let sums = self.sums::<4>(channel, |i| if there(i) { Some(source[i].0) } else { None });
                unroll!(i in 0 1 2 3 {
                    if there(i) {
                        let (_, conjugated, missing) = source[i];
                        let (value, clamped) = F::form(sums[i], missing);
                        saturated += u32::from(clamped);
                        let value = if conjugated { F::conj(value) } else { value };
                        let start = u64::from(channel) * u64::from(positions) + first;
                        self.out.store(start as usize + THREADS as usize * i, value);
                    }
                });
                channel += nctaid_y();
            }
            first += u64::from(nctaid_x()) * u64::from(THREADS * POSITIONS);
        }
        self.count(saturated);
    }

    /// The sums over the parts of up to `N` = 4 baselines of a channel, zero for those that are none.
    ///
    /// # Safety
    /// - The views [fit](Self::fit); `channel` is below the channels and what `baseline` gives below the baselines.
    #[inline(always)]
    unsafe fn sums<const N: usize>(&self, channel: u32, baseline: impl Fn(usize) -> Option<u32>) -> [F::From; N] {
        let mut sums = [F::From::ZERO; N];
        let mut start = channel as usize * self.baselines as usize;
        let mut part = 0;
        while part < self.number {
            let mut values = [F::Part::ZERO; N];
            unroll!(i in 0 1 2 3 {
                if i < N && let Some(baseline) = baseline(i) {
                    values[i] = self.parts.load(start + baseline as usize);
                }
            });
            unroll!(i in 0 1 2 3 { if i < N { sums[i] = sums[i].plus(F::wide(values[i])); } });
            start += self.channels as usize * self.baselines as usize;
            part += 1;
        }
        sums
    }

    /// Writes the full order of `inputs` inputs. The grid is (any, any): blocks take tiles in steps of the first
    /// dimension and channels in steps of the second. Shared memory holds a tile of what is stored.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn tiles(&self, inputs: u32) {
        let shared = Shared::<F::To>::dynamic();
        let tiles = triangle_len(inputs.div_ceil(TILE));
        let (column, row) = (tid_x() % TILE, tid_x() / TILE);
        let step = THREADS / TILE;
        let mut saturated = 0;
        let mut tile = ctaid_x();
        while tile < tiles {
            let (tile_row, tile_column) = triangle_position(tile);
            let (top, left) = (TILE * tile_row, TILE * tile_column);
            let product = |i: usize| Product { a: top + row + step * i as u32, b: left + column };
            let below = |Product { a, b }: Product| a < inputs && b <= a;
            let mut missing = [false; 4];
            unroll!(i in 0 1 2 3 {
                if below(product(i)) {
                    missing[i] = self.is_missing(product(i).triangle().0);
                }
            });
            let mut channel = ctaid_y();
            while channel < self.channels {
                let start = channel as usize * inputs as usize * inputs as usize;
                let place = |Product { a, b }: Product| start + a as usize * inputs as usize + b as usize;
                let sums =
                    self.sums::<4>(channel, |i| if below(product(i)) { Some(product(i).triangle().0) } else { None });
                unroll!(i in 0 1 2 3 {
                    if below(product(i)) {
                        let (value, clamped) = F::form(sums[i], missing[i]);
                        // One for the value and one for its conjugate, which an autocorrelation has not.
                        saturated += u32::from(clamped) * if product(i).a == product(i).b { 1 } else { 2 };
                        self.out.store(place(product(i)), value);
                        let local = row + step * i as u32;
                        shared.store((local * TILE + (column ^ local)) as usize, value);
                    }
                });
                bar_sync_0();
                unroll!(i in 0 1 2 3 {
                    // The other way round: lanes go through a column of the tile.
                    let other = row + step * i as u32;
                    let product = Product { a: top + column, b: left + other };
                    if product.b < product.a && product.a < inputs {
                        let value = F::conj(shared.load((column * TILE + (other ^ column)) as usize));
                        self.out.store(place(Product { a: product.b, b: product.a }), value);
                    }
                });
                bar_sync_0();
                channel += nctaid_y();
            }
            tile += nctaid_x();
        }
        self.count(saturated);
    }
}

/// `sums[i] += sum_p parts[p][i]` in the wide type, for the `len` values of a part. Floor: 8 bytes a part and value,
/// and 32 bytes a value.
///
/// The grid is (any): blocks take values in its steps.
///
/// # Safety
/// `sums` holds `len` values and `parts` `number * len`.
#[inline(always)]
pub unsafe fn add_parts<N: Widen>(parts: Global<N>, sums: GlobalMut<N::Wide>, number: u32, len: u64) {
    let mut first = u64::from(ctaid_x()) * u64::from(THREADS * POSITIONS) + u64::from(tid_x());
    while first < len {
        let place = |i: usize| first + u64::from(THREADS) * i as u64;
        let mut total = [N::Wide::ZERO; 4];
        unroll!(i in 0 1 2 3 {
            if place(i) < len {
                total[i] = sums.load(place(i) as usize);
            }
        });
        let mut start = 0;
        let mut part = 0;
        while part < number {
            let mut values = [N::ZERO; 4];
            unroll!(i in 0 1 2 3 {
                if place(i) < len {
                    values[i] = parts.load((start + place(i)) as usize);
                }
            });
            unroll!(i in 0 1 2 3 { total[i] = total[i].plus(values[i].wide()); });
            start += len;
            part += 1;
        }
        unroll!(i in 0 1 2 3 {
            if place(i) < len {
                sums.store(place(i) as usize, total[i]);
            }
        });
        first += u64::from(nctaid_x()) * u64::from(THREADS * POSITIONS);
    }
}
