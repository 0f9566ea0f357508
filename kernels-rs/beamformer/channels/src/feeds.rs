//! Fine channels of feeds, and their sums over lines.
//!
//! A warp takes eight feeds of all lines: two words of four feeds at each time.
//!
//! # Layout
//! The columns of products are `word + 2 line`, the terms of a sum over time are `t' = p + 2 b + 4 t0 + 8 t1 + 16 r`:
//!
//! ```text
//! z   b<->t'1  t0 t1 t2 t3 t4<->t'2 t'3 word l0 l1  r<->ReIm t'0 t'4   for each of the word's feeds
//! Y   b<->word t0 t1 t2 t3 t4<->l0 l1 a0 a1 a2      r<->a3 ReIm a4     8 `m16n8k16`, 4 half2 operations
//! H   b<->ReIm t0 t1 t2 t3 t4<->o0 o1 a0 a1 a2      r<->a3 a4 word     4 `m16n8k16`
//! ```
//!
//! with `f = 4 a + b` of the pass. Of `t'0` and `a4` the phase is 1 or -1: the tensor cores sum `e` over even times,
//! then `e + o` over all, and `e - o` is `2 e - (e + o)`. Data are columns of the first product and rows of the second,
//! so one leaves its results as the other takes them.
//!
//! # Tables
//! Matrices of a pass are fragments `[ReIm][t'0][t'4]` of a lane, rows `a0 a1 a2 a3` of the real or imaginary part of
//! the result, columns `t'1 t'2 t'3` of a real and then of an imaginary part.
//!
//! Weights of a unit are eight words of a lane, `[feed of a word][re, im of the voltage]`: two f16 of both words' feeds,
//! for line `lane % 4` and sum `lane / 8`, its real part in lanes with an even `lane / 4` and its imaginary part else.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::add_rn_f16x2;
use fringes_device::mma::mma_m16n8k16_f16_f16;
use fringes_device::{Global, Shared};
use fringes_kernels_fft_microkernel::{Half, Sums};

use crate::copies::round_at;
use crate::{FEEDS, MATRICES, OUTS, ROUND_FEEDS, SUM_WORDS, WARP_FEEDS};
use fringes_kernels_beamformer_frb::Registers;

/// A nibble of each of four bytes.
const NIBBLES: u32 = 0x0f0f_0f0f;

/// What a pass multiplies voltages by before it sums four of them: powers of `i`.
///
/// A nibble is 8 more than its number; minus the number and 7 is what its complement is.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    /// Whether real and imaginary parts change places in odd quarters.
    odd: bool,
    /// What nibbles of the real parts' sum are changed by, a quarter each.
    re: [u32; 4],
    /// The same of imaginary parts.
    im: [u32; 4],
    /// Two f16 of what is to be added to 1024 and a sum.
    minus: u32,
}

impl Turns {
    /// Of a pass, for nibbles that `signs` makes 8 more than their numbers.
    #[inline(always)]
    pub(crate) fn new(pass: u32, signs: u32) -> Self {
        let (plus, minus) = (signs, !signs);
        let of = |negative: bool| if negative { minus } else { plus };
        // i^(pass j) for j = 1, 2, 3; i x = (-im, re).
        match pass {
            0 => Self { odd: false, re: [plus; 4], im: [plus; 4], minus: 0xe420_e420 },
            2 => {
                let signs = [plus, minus, plus, minus];
                Self { odd: false, re: signs, im: signs, minus: 0xe41e_e41e }
            }
            _ => {
                let one = pass == 1;
                let re = [plus, of(one), minus, of(!one)];
                Self { odd: true, re, im: [plus, of(!one), minus, of(one)], minus: 0xe41e_e41e }
            }
        }
    }
}

/// Nibbles of four feeds, changed.
#[inline(always)]
fn nibbles(word: u32, change: u32) -> u32 {
    // (a ^ b) & c
    lop3_b32::<0x28>(word, change, NIBBLES)
}

/// Real and imaginary parts of `z` of four feeds and a time, of four quarters.
#[inline(always)]
fn summed<const ODD: bool>(x: [u32; 4], turns: &Turns) -> [u32; 2] {
    let high = |j: usize, change: u32| nibbles(x[j] >> 4, change);
    let low = |j: usize, change: u32| nibbles(x[j], change);
    let re = |j: usize| if ODD && j % 2 == 1 { low(j, turns.re[j]) } else { high(j, turns.re[j]) };
    let im = |j: usize| if ODD && j % 2 == 1 { high(j, turns.im[j]) } else { low(j, turns.im[j]) };
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
    /// Word of its sums `[a = lane / 4][out = lane % 4]`.
    row: u32,
    lane: u32,
    warp: u32,
}

/// Bytes from a fine channel's sums to the next.
const CHANNEL_BYTES: u32 = 4 * OUTS * FEEDS;

impl Feeds {
    /// Of a thread.
    ///
    /// # Safety
    /// The block has its shared memory.
    #[inline(always)]
    pub(crate) unsafe fn new(thread: u32) -> Self {
        let (lane, warp) = (thread % 32, thread / 32);
        let shared = Shared::<u8>::dynamic().address(0);
        let (quad, word, line) = (lane & 3, lane >> 2 & 1, lane >> 3);
        Self {
            // Time 4 quad, whose pieces are moved by quad.
            voltages: shared
                + round_at(0)
                + 1024 * quad
                + 64 * line
                + 16 * (warp >> 1 ^ quad)
                + 8 * (warp & 1)
                + 4 * word,
            weights: shared + 4 * SUM_WORDS + 1024 * warp + 16 * lane,
            row: shared + (lane >> 2) * CHANNEL_BYTES + quad * 4 * FEEDS,
            lane,
            warp,
        }
    }

    /// `z` of the words' feeds of a round, `[t'4][t'1][t'0][re, im]`.
    ///
    /// # Safety
    /// The voltages are there.
    #[inline(always)]
    unsafe fn turned<const ODD: bool>(&self, round: u32, turns: &Turns) -> [[u32; 2]; 8] {
        let from = Shared::<u32>::from_raw_parts(self.voltages - round_at(0) + round_at(round), 1);
        <[[u32; 2]; 8]>::each(|number| {
            let time = (number & 1) + 2 * (number >> 1 & 1) + 16 * (number >> 2);
            let at = from.address(0) + 256 * time as u32;
            let x = <[u32; 4]>::each(|j| Shared::<u32>::from_raw_parts(at + 256 * 32 * j as u32, 1).load(0));
            summed::<ODD>(x, turns)
        })
    }

    /// Makes the sums over lines of a round's feeds.
    ///
    /// # Safety
    /// The voltages and weights are there, nobody uses the sums; all 32 lanes of the warp execute it together.
    #[inline(always)]
    pub(crate) unsafe fn round(&self, round: u32, turns: &Turns, matrices: &Matrices) {
        let z = if turns.odd { self.turned::<true>(round, turns) } else { self.turned::<false>(round, turns) };
        // Place of a feed n: n5 n6 n1 n2 n3 n0 n4 n7, of which the lowest five bits are changed by the lane.
        let place = (self.warp >> 2 & 1) | (round & 1) << 1 | (self.warp & 1) << 4;
        let at = self.row + 4 * (64 * (self.warp >> 1 & 1) + 128 * (round >> 1));
        let moved = place ^ self.lane;
        let weights = self.weights + 4 * (ROUND_FEEDS / WARP_FEEDS) * 256 * round;
        let _ = <[(); 2]>::each(|pair| {
            let weights = Shared::<[u32; 4]>::from_raw_parts(weights + 512 * pair as u32, 1).load(0);
            let _ = <[(); 2]>::each(|feed| {
                let byte = 2 * pair + feed;
                let terms = |part: usize, t0: usize, t4: usize| {
                    let of = |t1: usize| z[4 * t4 + 2 * t1 + t0][part];
                    let bytes = prmt_b32(of(0), of(1), (byte | (4 + byte) << 8) as u32);
                    // (a & b) | c
                    add_rn_f16x2(lop3_b32::<0xea>(bytes, 0x00ff_00ff, 0x6400_6400), turns.minus)
                };
                let terms = <[[u32; 2]; 4]>::each(|k| [terms(0, k >> 1, k & 1), terms(1, k >> 1, k & 1)]);
                let product =
                    |part: usize, k: usize, sum: [u32; 2]| mma_m16n8k16_f16_f16(matrices[4 * part + k], terms[k], sum);
                let over_time = |part: usize| {
                    let even = product(part, 1, product(part, 0, [0; 2]));
                    let all = product(part, 3, product(part, 2, even));
                    [all, Half::alternating(even, all)]
                };
                let (re, im) = (over_time(0), over_time(1));
                let _ = <[(); 2]>::each(|word| {
                    let mask = if word == 0 { 0x0000_ffff } else { 0xffff_0000 };
                    let factors = [weights[2 * feed] & mask, weights[2 * feed + 1] & mask];
                    let to = at + 4 * (moved ^ (4 * pair as u32 + 8 * word as u32)) + 128 * feed as u32;
                    let _ = <[(); 2]>::each(|a4| {
                        let rows = [re[a4][0], re[a4][1], im[a4][0], im[a4][1]];
                        let sums = mma_m16n8k16_f16_f16(rows, factors, [0; 2]);
                        let to = Shared::<u32>::from_raw_parts(to + 16 * a4 as u32 * CHANNEL_BYTES, 1);
                        to.store(0, sums[0]);
                        let to = Shared::<u32>::from_raw_parts(to.address(0) + 8 * CHANNEL_BYTES, 1);
                        to.store(0, sums[1]);
                    });
                });
            });
        });
    }
}

/// Fragments of matrices of a pass.
pub(crate) type Matrices = [[u32; 4]; MATRICES / 4];

/// Loads the matrices of a pass.
///
/// # Safety
/// They are in the view, at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn matrices(table: Global<u32>, pass: u32, thread: u32) -> Matrices {
    let lane = thread % 32;
    let table = table.cast::<[u32; 4]>();
    Matrices::each(|fragment| table.load((pass as usize * (MATRICES / 4) + fragment) * 32 + lane as usize))
}
