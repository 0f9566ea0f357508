//! Fine channels of feeds, and their sums over lines.
//!
//! A warp takes eight feeds of all lines: two words of four feeds at each time.
//!
//! # Layout
//! The columns of products are `word + 2 line`, with `t'` in bits `t'0` to `t'4`:
//!
//! ```text
//! z   b<->ReIm t0 t1 t2 t3 t4<->t'2 t'3 word l0 l1  r<->t'1 t'0 t'4        for each of the word's feeds
//! S   b<->word t0 t1 t2 t3 t4<->l0 l1 a0 a1 a2      r<->ReIm t'1 t'0       4 `m16n8k16`
//! Y   b<->word t0 t1 t2 t3 t4<->l0 l1 a0 a1 a2      r<->ReIm a3 a4         12 half2 operations
//! H   b<->ReIm t0 t1 t2 t3 t4<->o0 o1 a0 a1 a2      r<->a3 a4 word         4 `m16n8k16`
//! ```
//!
//! with `s f = 4 a + b` of the pass. Of `t'0` and `t'1` the phase with `a3` and `a4` is a power of `i`:
//! `(-1)^(a3 t'1 + a4 t'0) i^(a3 t'0)`. For the step over `t'1` the tensor cores sum `e` over even ones, then `e + o`
//! over all, and `e - o` is `2 e - (e + o)`; the step over `t'0` is sums and differences, of which `i` makes none more.
//! Data are columns of the first product and rows of the second, so one leaves its results as the other takes them.
//!
//! Numbers of a feed are bytes; two of them with zeros between are f16 below the normal ones, which products take as
//! any others. The matrices make up for their unit of `2^-24` with `2^15`, weights with the rest.
//!
//! # Tables
//! Matrices of a pass are fragments `[n3][t'0][t'1]` of a lane, rows `a0 a1 a2 ReIm` of the result, columns
//! `ReIm t'2 t'3 t'4` of the voltage. A warp's feeds have the same `n3`. Where it is 1, `a + 8` is in the place of `a`
//! (modulo 32): the sums of an `a3` of 0 and 1, which are stored side by side, are the other way round.
//!
//! Weights of a unit are eight words of a lane, `[feed of a word][re, im of the voltage]`: two f16 of both words'
//! feeds, for line `lane % 4` and sum `lane / 8`, its real part in lanes with an even `lane / 4` and its imaginary part
//! else.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::{add_rn_f16x2, neg_f16x2};
use fringes_device::index::ctaid_y;
use fringes_device::mma::mma_m16n8k16_f16_f16;
use fringes_device::{Global, Shared};
use fringes_kernels_fft_microkernel::{Half, Sums};

use crate::copies::{WEIGHTS_AT, round_at, shared_at};
use crate::{MATRICES, OUTS, ROUND_BYTES, ROUND_FEEDS, ROW_BYTES, WARP_FEEDS};
use fringes_kernels_beamformer_frb::Registers;

/// A nibble of each of four bytes.
const NIBBLES: u32 = 0x0f0f_0f0f;

/// What a pass multiplies voltages by before it sums four of them: powers of `i`.
///
/// A nibble is 8 more than its number; minus the number and 7 is what its complement is.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    /// What nibbles are changed by: of the first quarter; of passes 1 and 2, 1 and 3, 2 and 3 complements of it.
    first: u32,
    one_two: u32,
    one_three: u32,
    two_three: u32,
    /// Two f16 of what is to be added to a sum, both in units of `2^-24`.
    pub(crate) minus: u32,
}

impl Turns {
    /// Of a pass, for nibbles that `signs` makes 8 more than their numbers.
    #[inline(always)]
    pub(crate) fn new(pass: u32, signs: u32) -> Self {
        let of = |negative: bool| if negative { !signs } else { signs };
        let [one, two, three] = [pass == 1, pass == 2, pass == 3];
        Self {
            first: signs,
            one_two: of(one || two),
            one_three: of(one || three),
            two_three: of(two || three),
            minus: if pass == 0 { 0x8020_8020 } else { 0x801e_801e },
        }
    }

    /// Of real parts, a quarter each: i^(pass j) for j = 0 .. 3, i x = (-im, re). Of an odd pass numbers 1 and 3 are
    /// with im for re.
    #[inline(always)]
    fn re(&self, quarter: usize) -> u32 {
        [self.first, self.one_two, self.one_three, self.two_three][quarter]
    }

    /// Of imaginary parts.
    #[inline(always)]
    fn im(&self, quarter: usize) -> u32 {
        [self.first, self.two_three, self.one_three, self.one_two][quarter]
    }
}

/// Nibbles of four feeds, changed.
#[inline(always)]
fn nibbles(word: u32, change: u32) -> u32 {
    // (a ^ b) & c
    lop3_b32::<0x28>(word, change, NIBBLES)
}

/// Real and imaginary parts of `z` of four feeds and a time, of four quarters; of an odd pass real and imaginary parts
/// change places in odd quarters.
#[inline(always)]
fn turned<const ODD: bool>(x: [u32; 4], turns: &Turns) -> [u32; 2] {
    let high = |j: usize, change: u32| nibbles(x[j] >> 4, change);
    let low = |j: usize, change: u32| nibbles(x[j], change);
    let re = |j: usize| if ODD && j % 2 == 1 { low(j, turns.re(j)) } else { high(j, turns.re(j)) };
    let im = |j: usize| if ODD && j % 2 == 1 { high(j, turns.im(j)) } else { low(j, turns.im(j)) };
    let sum = |a: u32, b: u32, c: u32, d: u32| a.wrapping_add(b).wrapping_add(c).wrapping_add(d);
    [sum(re(0), re(1), re(2), re(3)), sum(im(0), im(1), im(2), im(3))]
}

/// Where a lane finds voltages and puts sums.
#[derive(Clone, Copy)]
pub(crate) struct Feeds {
    /// Address of the lane's first voltages of even rounds.
    voltages: u32,
    /// Address of its weights of the first round.
    weights: u32,
    /// Address of its pairs of sums `[a = lane / 4][out = lane % 4]`.
    row: u32,
    lane: u32,
    warp: u32,
    /// Selects the first word of a permutation, by a number that the compiler does not know.
    same: u32,
}

/// Bytes of voltages from a time to the next, and from one that is 16 later.
const TIME_BYTES: u32 = 1024;
const SIXTEEN_BYTES: u32 = 4096;

/// `z` of four feeds at eight times `[t'4][t'1][t'0]`: a byte of each real part, and of each imaginary part.
pub(crate) type Turned = [[u32; 2]; 8];

/// What a round leaves to the next one.
pub(crate) struct Next {
    /// `z` of its feeds.
    pub(crate) z: Turned,
    /// The lane, which is there when the last voltages are loaded.
    pub(crate) lane: u32,
}

impl Feeds {
    /// Of a thread.
    ///
    /// # Safety
    /// The block has its shared memory.
    #[inline(always)]
    pub(crate) unsafe fn new(thread: u32) -> Self {
        let (lane, warp) = (thread % 32, thread / 32);
        let (quad, word, line) = (lane & 3, lane >> 2 & 1, lane >> 3);
        let piece = (warp >> 1) ^ (quad >> 1 | (line & 1) << 1);
        Self {
            // Time 4 quad.
            voltages: shared_at(round_at(0)) + 64 * quad + 256 * line + 16 * piece + 8 * (warp & 1) + 4 * word,
            weights: shared_at(WEIGHTS_AT) + 1024 * warp + 16 * lane,
            row: shared_at(0) + (lane >> 2) * OUTS * ROW_BYTES + quad * ROW_BYTES,
            lane,
            warp,
            same: 0x3210 | ctaid_y(),
        }
    }

    /// The address of the voltages of a round, see `copies`.
    #[inline(always)]
    fn from(&self, round: u32) -> u32 {
        self.voltages + round % 2 * ROUND_BYTES
    }

    /// `z` of the feeds of a round.
    ///
    /// # Safety
    /// The voltages are there.
    #[inline(always)]
    pub(crate) unsafe fn turned<const ODD: bool>(&self, round: u32, turns: &Turns) -> Turned {
        Turned::each(|number| turned::<ODD>(quarters(self.from(round), number), turns))
    }

    /// Makes the sums over lines of the feeds of a pass's round, whose terms have `minus` added, and `z` of the feeds
    /// of the round that follows: what the one waits for the other one fills.
    ///
    /// # Order
    /// Eight parts have four products and sixteen integers each. By itself `ptxas` puts all products first, so that
    /// the integers fill nothing. So the products of a part are made of the integers of the part before, see
    /// [`after`](Self::after). By that the sums that are stored are made of all voltages but the last, and the lane
    /// that this returns is made of those: what `copies::give_back` needs.
    ///
    /// # Safety
    /// The weights and voltages are there, nobody uses the sums; all 32 lanes of the warp execute it together.
    #[inline(always)]
    pub(crate) unsafe fn sum_and_turn<const ODD: bool>(
        &self,
        z: &Turned,
        round: u32,
        minus: u32,
        turns: &Turns,
        matrices: &Matrices,
    ) -> Next {
        let (from, to) = (self.from(round + 1), self.row(round));
        // Two parts; terms of the first one have this added. The next part's voltages are loaded ahead.
        macro_rules! feed {
            ($byte:literal, $even:expr, $minus:expr, $next:expr) => {{
                let odd = quarters(from, 2 * $byte + 1);
                let channels = over_time(z, $byte, $minus, matrices);
                let first = turned::<ODD>($even, turns);
                let next = $next;
                self.over_lines(&channels, to, $byte, self.after(LOW, first[0]));
                (first, turned::<ODD>(odd, turns), next)
            }};
        }
        let next = quarters(from, 0);
        let (a, b, next) = feed!(0, next, minus, quarters(from, 2));
        let (c, d, next) = feed!(1, next, self.after(minus, b[0]), quarters(from, 4));
        let (e, f, next) = feed!(2, next, self.after(minus, d[0]), quarters(from, 6));
        let (g, h, _) = feed!(3, next, self.after(minus, f[0]), ());
        Next { z: [a, b, c, d, e, f, g, h], lane: self.after(self.lane, h[0]) }
    }

    /// A value, which is there when another one is, as far as the compiler can tell.
    #[inline(always)]
    fn after(&self, value: u32, other: u32) -> u32 {
        prmt_b32(value, other, self.same)
    }

    /// Where the sums of a round go: the address of a row, the place in it, and the address of the weights.
    #[inline(always)]
    fn row(&self, round: u32) -> [u32; 3] {
        // Place of a feed n: n5 n6 n1 n2 n3 n0 n4 n7, of which the lowest five bits are changed by the lane.
        let place = (self.warp >> 2 & 1) | (round & 1) << 1 | (self.warp & 1) << 4;
        let at = self.row + 8 * (64 * (self.warp >> 1 & 1) + 128 * (round >> 1));
        [at, place ^ self.lane, self.weights + 4 * (ROUND_FEEDS / WARP_FEEDS) * 256 * round]
    }

    /// Makes the sums over lines of one feed of each word; `low` is the low half of a word.
    ///
    /// # Safety
    /// As [`sum_and_turn`](Self::sum_and_turn).
    #[inline(always)]
    unsafe fn over_lines(&self, channels: &[[u32; 4]; 2], [at, place, weights]: [u32; 3], byte: usize, low: u32) {
        let (pair, feed) = (byte / 2, byte as u32 % 2);
        let weights = Shared::<[u32; 2]>::from_raw_parts(weights + 512 * pair as u32 + 8 * feed, 1).load(0);
        let _ = <[(); 2]>::each(|word| {
            let factors = weights.map(|weight| weight & if word == 0 { low } else { !low });
            let to = at + 8 * (place ^ (4 * pair as u32 + 8 * word as u32)) + 256 * feed;
            let _ = <[(); 2]>::each(|a4| {
                let sums = mma_m16n8k16_f16_f16(channels[a4], factors, [0; 2]);
                Shared::<[u32; 2]>::from_raw_parts(to + 8 * a4 as u32 * OUTS * ROW_BYTES, 1).store(0, sums);
            });
        });
    }
}

/// The voltages of a word and number, a quarter each, from this address on.
///
/// # Safety
/// The voltages are there.
#[inline(always)]
unsafe fn quarters(from: u32, number: usize) -> [u32; 4] {
    let [t0, t1, t4] = [number as u32 & 1, number as u32 >> 1 & 1, number as u32 >> 2];
    let at = from + TIME_BYTES * (t0 + 2 * t1) + SIXTEEN_BYTES * t4;
    <[u32; 4]>::each(|j| Shared::<u32>::from_raw_parts(at + 2 * SIXTEEN_BYTES * j as u32, 1).load(0))
}

/// The low half of a word.
const LOW: u32 = 0xffff;

/// Fine channels of one feed of each word: rows `[a4]` of [`Feeds::over_lines`], `[ReIm][a3]`. Numbers are f16 below
/// the normal ones, and have `minus` added.
///
/// # Safety
/// As [`Feeds::sum_and_turn`].
#[inline(always)]
unsafe fn over_time(z: &Turned, byte: usize, minus: u32, matrices: &Matrices) -> [[u32; 4]; 2] {
    // Two bytes, each before its highest bit, which is 0, eight times.
    let selector = 0xc480 + 0x1111 * byte as u32;
    let term = |t0: usize, t1: usize, t4: usize| {
        let [re, im] = z[4 * t4 + 2 * t1 + t0];
        add_rn_f16x2(prmt_b32(re, im, selector), minus)
    };
    let product = |t0: usize, t1: usize, sum: [u32; 2]| {
        let terms = [term(t0, t1, 0), term(t0, t1, 1)];
        mma_m16n8k16_f16_f16(matrices[2 * t0 + t1], terms, sum)
    };
    let over_t1 = |t0: usize| {
        let even = product(t0, 0, [0; 2]);
        let all = product(t0, 1, even);
        [all, Half::alternating(even, all)]
    };
    let ([p, q], [r, s]) = (over_t1(0), over_t1(1));
    let sum = |a: u32, b: u32| add_rn_f16x2(a, b);
    let difference = |a: u32, b: u32| add_rn_f16x2(a, neg_f16x2(b));
    // Real and imaginary parts of channels with an `a3` of 0, p +- r, and of 1, q +- i s.
    [
        [sum(p[0], r[0]), difference(q[0], s[1]), sum(p[1], r[1]), sum(q[1], s[0])],
        [difference(p[0], r[0]), sum(q[0], s[1]), difference(p[1], r[1]), difference(q[1], s[0])],
    ]
}

/// Fragments of matrices of a pass.
pub(crate) type Matrices = [[u32; 4]; MATRICES / 4];

/// Loads the matrices of a pass.
///
/// # Safety
/// They are in the view, at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn matrices(table: Global<u32>, pass: u32, thread: u32) -> Matrices {
    let (lane, n3) = (thread % 32, thread / 32 % 2);
    let table = table.cast::<[u32; 4]>();
    let first = (2 * pass + n3) as usize * (MATRICES / 4);
    Matrices::each(|fragment| table.load((first + fragment) * 32 + lane as usize))
}
