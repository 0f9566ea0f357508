//! Power and clipped samples of each input: sums over a slice of the samples, a sum a warp.
//!
//! A block has an input and a slice: groups of four numbers, every so many. Integers are summed in 64 bits, so that
//! sums are exact; floats in f64. What the warps have is added up by the host: `[input][slice][warp][2]`, the sum of
//! squares (bits of f64 for floats) and the number of clipped samples.
//!
//! A sample is clipped if a part has the lowest or the highest value of its bits. Samples of absent blocks do not
//! count.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::warp::shfl_sync_bfly_b32;
use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernels_common::decode::{AS_THEY_ARE, BIG_ENDIAN, LITTLE_ENDIAN_HALVES, four};

use crate::stretch::{Numbers, Runs, Share, Stretch, Total};
use crate::{THREADS, sixteen, squares};

pub use fringes_kernel_abi::f_engine::samples::{MOST_TIMES, WARPS};

/// Samples, their flags, and where the sums go.
#[derive(Clone, Copy)]
pub struct Statistics {
    /// Rows of samples.
    pub samples: Global<u32>,
    /// Flags `[input][block]`; not looked at if there are no blocks.
    pub present: Global<u8>,
    /// Sums `[input][slice][warp][2]`.
    pub out: GlobalMut<u64>,
    /// Inputs.
    pub inputs: u32,
    /// Bits from row to row.
    pub row_bits: u64,
    /// Samples of a row.
    pub times: u32,
    /// Bits of a number: of a sample, or a part of a complex one.
    pub bits: u32,
    /// Numbers of a sample.
    pub parts: u32,
    /// Whether numbers of 16 bits are little-endian.
    pub little_endian: bool,
    /// Samples of a block of flags.
    pub length: u32,
    /// Blocks of flags of an input; 0 if all samples are present.
    pub blocks: u32,
    /// Slices of a row: blocks of the grid.
    pub slices: u32,
}

/// A kind of numbers.
pub trait Source {
    /// Whether they may begin at any bit.
    const SHIFTED: bool;
    /// Words that [`add`](Self::add) looks at.
    const WORDS: usize;
    /// What they are summed in.
    type Sum: Copy;
    /// No sum.
    const ZERO: Self::Sum;
    /// Whether there are such numbers of so many bits.
    fn has(bits: u32) -> bool;
    /// Adds the squares of four numbers of which `counted` says which count; says which are at an end of their range.
    ///
    /// Three words of them are in the order of their bits for integers, as in memory for floats (of which there may be
    /// a fourth), the first number from bit `shift` of the first on.
    fn add(sum: Self::Sum, words: [u32; 4], shift: u32, bits: u32, counted: [bool; 4]) -> (Self::Sum, [bool; 4]);
    /// The same of four that all count; gives how many samples of so many numbers are clipped.
    fn add_whole(sum: Self::Sum, words: [u32; 4], shift: u32, bits: u32, parts: u32) -> (Self::Sum, u32);
    /// Whether numbers of so many bits are added in runs of sixteen.
    fn has_runs(bits: u32) -> bool;
    /// Adds a thread's of such runs, all of whose numbers count.
    ///
    /// # Safety
    /// There [are such runs](Self::has_runs), and the words; all lanes of a warp are here.
    unsafe fn add_runs(numbers: &Numbers, runs: Runs, share: Share, total: Total<Self::Sum>) -> Total<Self::Sum>;
    /// Sum of two.
    fn join(a: Self::Sum, b: u64) -> Self::Sum;
    /// As bits.
    fn bits(sum: Self::Sum) -> u64;
    /// Bytes of a word as they are shifted.
    fn order(little_endian: bool) -> u32;
}

/// Samples of so many numbers of which one at least is at an end.
#[inline(always)]
pub fn samples_of(ends: [bool; 4], parts: u32) -> u32 {
    if parts == 2 {
        (ends[0] | ends[1]) as u32 + (ends[2] | ends[3]) as u32
    } else {
        ends[0] as u32 + ends[1] as u32 + ends[2] as u32 + ends[3] as u32
    }
}

/// The square of an integer of up to 16 bits, 2^30 at most.
#[inline(always)]
pub fn square(value: i32) -> u32 {
    value.wrapping_mul(value) as u32
}

/// How many samples of four integers are clipped.
#[inline(always)]
pub fn clipped_of(v: [i32; 4], bits: u32, parts: u32) -> u32 {
    let most = (u32::MAX >> (33 - bits)) as i32;
    let (high, low) = (v[0].max(v[1]).max(v[2].max(v[3])), v[0].min(v[1]).min(v[2].min(v[3])));
    // Seldom.
    if high == most || low == !most { samples_of(v.map(|v| v == most || v == !most), parts) } else { 0 }
}

/// Two's complement of 2 to 16 bits.
pub struct Integers;

/// Four integers.
#[inline(always)]
fn values(words: [u32; 4], shift: u32, bits: u32) -> [i32; 4] {
    let [a, b, c, _] = words;
    let [low, high] = four::tops([a, b, c], shift, bits);
    [low, low << bits, high, high << bits].map(|top| (top as i32) >> (32 - bits))
}

impl Source for Integers {
    const SHIFTED: bool = true;
    const WORDS: usize = 3;
    type Sum = u64;
    const ZERO: u64 = 0;

    #[inline(always)]
    fn has(bits: u32) -> bool {
        (2..=16).contains(&bits)
    }

    #[inline(always)]
    fn add(mut sum: u64, words: [u32; 4], shift: u32, bits: u32, counted: [bool; 4]) -> (u64, [bool; 4]) {
        let (values, mask) = (values(words, shift, bits), u32::MAX >> (32 - bits));
        let mut clipped = [false; 4];
        unroll!(i in 0 1 2 3 {
            let value = if counted[i] { values[i] } else { 0 };
            let size = value.unsigned_abs();
            sum = sum.wrapping_add((size * size) as u64);
            // The highest value and the lowest, which follows it modulo 2^bits.
            clipped[i] = counted[i] && (value as u32).wrapping_sub((mask >> 1) as i32 as u32) & mask <= 1;
        });
        (sum, clipped)
    }

    #[inline(always)]
    fn add_whole(sum: u64, words: [u32; 4], shift: u32, bits: u32, parts: u32) -> (u64, u32) {
        let v = values(words, shift, bits);
        let two = |a: i32, b: i32| square(a).wrapping_add(square(b)) as u64;
        (sum.wrapping_add(two(v[0], v[1])).wrapping_add(two(v[2], v[3])), clipped_of(v, bits, parts))
    }

    #[inline(always)]
    fn has_runs(bits: u32) -> bool {
        matches!(bits, 8 | 10 | 12 | 16)
    }

    #[inline(always)]
    unsafe fn add_runs(numbers: &Numbers, runs: Runs, share: Share, total: Total<u64>) -> Total<u64> {
        match numbers.bits {
            8 => squares::add::<8>(numbers, runs, share, total),
            10 => squares::add::<10>(numbers, runs, share, total),
            12 => sixteen::add::<12>(numbers, runs, share, total),
            _ => sixteen::add::<16>(numbers, runs, share, total),
        }
    }

    #[inline(always)]
    fn join(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn bits(sum: u64) -> u64 {
        sum
    }

    #[inline(always)]
    fn order(little_endian: bool) -> u32 {
        if little_endian { LITTLE_ENDIAN_HALVES } else { BIG_ENDIAN }
    }
}

/// f16 or f32, little-endian.
pub struct Floats;

impl Source for Floats {
    const SHIFTED: bool = false;
    const WORDS: usize = 4;
    type Sum = f64;
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn has(bits: u32) -> bool {
        bits == 16 || bits == 32
    }

    #[inline(always)]
    fn add(mut sum: f64, words: [u32; 4], shift: u32, bits: u32, counted: [bool; 4]) -> (f64, [bool; 4]) {
        let [a, b, c, d] = words;
        let mut values = [a, b, c, d].map(f32::from_bits);
        if bits == 16 {
            let halves = four::halves(a, b, c, shift);
            unroll!(i in 0 1 2 3 { values[i] = halves[i]; });
        }
        unroll!(i in 0 1 2 3 {
            let value = if counted[i] { values[i] as f64 } else { 0.0 };
            sum += value * value;
        });
        (sum, [false; 4])
    }

    #[inline(always)]
    fn add_whole(sum: f64, words: [u32; 4], shift: u32, bits: u32, _: u32) -> (f64, u32) {
        (Self::add(sum, words, shift, bits, [true; 4]).0, 0)
    }

    #[inline(always)]
    fn has_runs(_: u32) -> bool {
        false
    }

    #[inline(always)]
    unsafe fn add_runs(_: &Numbers, _: Runs, _: Share, total: Total<f64>) -> Total<f64> {
        total
    }

    #[inline(always)]
    fn join(a: f64, b: u64) -> f64 {
        a + f64::from_bits(b)
    }

    #[inline(always)]
    fn bits(sum: f64) -> u64 {
        sum.to_bits()
    }

    #[inline(always)]
    fn order(_: bool) -> u32 {
        AS_THEY_ARE
    }
}

impl Statistics {
    /// Whether the views hold what the sizes say.
    #[inline(always)]
    pub fn fit<I: Source>(&self) -> bool {
        let inputs = self.inputs as u64;
        let numbers = self.times as u64 * self.parts as u64;
        let bits = if inputs == 0 {
            0
        } else {
            (inputs - 1).saturating_mul(self.row_bits).saturating_add(numbers * self.bits as u64)
        };
        let sums = inputs.saturating_mul(self.slices as u64).saturating_mul(2 * WARPS as u64);
        ntid_x() == THREADS
            && I::has(self.bits)
            && (self.parts == 1 || self.parts == 2)
            && self.times <= MOST_TIMES
            && bits <= self.samples.len() as u64 * 32
            && (I::order(self.little_endian) == I::order(false) && I::SHIFTED
                || self.row_bits & (self.bits as u64 - 1) == 0)
            && sums <= self.out.len() as u64
            && (self.blocks == 0
                || (inputs * self.blocks as u64 <= self.present.len() as u64
                    && self.length as u64 * self.blocks as u64 >= self.times as u64))
    }

    /// Sums a block's slice.
    ///
    /// # Safety
    /// The views [fit](Self::fit).
    #[inline(always)]
    pub unsafe fn run<I: Source>(&self) {
        let slices = self.slices.max(1);
        let (input, slice) = (ctaid_x() / slices, ctaid_x() % slices);
        if input >= self.inputs {
            return;
        }
        let first_bit = (input as u64).wrapping_mul(self.row_bits);
        let stretch = Stretch { first_bit, numbers: self.times as u64 * self.parts as u64 };
        let order = I::order(self.little_endian);
        let numbers = Numbers { samples: self.samples, bits: self.bits, parts: self.parts, order };
        let share = Share { index: (slice * THREADS + tid_x()) as u64, of: (slices * THREADS) as u64 };
        let nothing = Total { sum: I::ZERO, clipped: 0 };
        let Total { mut sum, clipped } = if self.blocks == 0 {
            numbers.all::<I>(stretch, share, nothing)
        } else {
            let counted = |number: u64| {
                let sample = number as u32 / self.parts;
                let flag = input as usize * self.blocks as usize + (sample / self.length.max(1)) as usize;
                // SAFETY: the view has flags of all samples.
                unsafe { self.present.load(flag) != 0 }
            };
            numbers.few::<I>(first_bit, (4 * share.index, stretch.numbers, 4 * share.of), counted, nothing)
        };
        let mut clipped = clipped as u32;
        unroll!(i in 0 1 2 3 4 {
            let bits = I::bits(sum);
            let other = |half: u32| shfl_sync_bfly_b32(half, 1 << i, 31, u32::MAX) as u64;
            sum = I::join(sum, other(bits as u32) | other((bits >> 32) as u32) << 32);
            clipped += other(clipped) as u32;
        });
        if tid_x().is_multiple_of(32) {
            let place =
                ((input as u64 * slices as u64 + slice as u64) * WARPS as u64 + (tid_x() / 32) as u64) as usize * 2;
            self.out.store(place, I::bits(sum));
            self.out.store(place + 1, clipped as u64);
        }
    }
}
