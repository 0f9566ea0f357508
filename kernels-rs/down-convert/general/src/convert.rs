//! A warp's outputs.

use fringes_device::arithmetic::{fma_rn_f32, fnma_rn_f32};
use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::warp::{shfl_sync_bfly_b32, vote_sync_ballot_b32};
use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernel_abi::down_convert::general::{BLOCK_OUTPUTS, OUTPUTS, THREADS};
use fringes_kernels_common::decode::{AS_THEY_ARE, BIG_ENDIAN, LITTLE_ENDIAN_HALVES, four, in_order};
use fringes_kernels_common::rotation::{high, unit};

use crate::output::Output;

/// Most taps: their number, rounded up to what all lanes have, is one of 32 bits.
const MOST_TAPS: u32 = u32::MAX - 127;

/// Everything that the kernels get.
pub(crate) struct Arguments<O: Output> {
    pub(crate) samples: Global<u32>,
    pub(crate) weights: Global<[f32; 2]>,
    pub(crate) out: GlobalMut<O::Stored>,
    pub(crate) present: Global<u8>,
    pub(crate) saturated: GlobalMut<u64>,
    pub(crate) first_bit: u64,
    pub(crate) row_bits: u64,
    pub(crate) bits: u32,
    pub(crate) parts: u32,
    pub(crate) little_endian: u32,
    pub(crate) taps: u32,
    pub(crate) decimation: u32,
    pub(crate) inputs: u32,
    pub(crate) outputs: u32,
    pub(crate) out_row: u64,
    pub(crate) present_row: u64,
    pub(crate) turn: u64,
    pub(crate) phase: u64,
    pub(crate) gain: f32,
}

/// A kind of numbers.
pub(crate) trait Numbers {
    /// Whether there are such numbers of so many bits, and they may begin at bits that are multiples of `at`.
    fn has(bits: u32, little_endian: bool, at: u64) -> bool;
    /// Bytes of a word as they are shifted.
    fn order(little_endian: bool) -> u32;
    /// Four numbers from bit `shift` of the words on, divided by [`scale`](Self::scale).
    fn four(words: [u32; 4], shift: u32, bits: u32) -> [f32; 4];
    /// What sums are multiplied by, a power of two.
    fn scale(bits: u32) -> f32;
}

/// Two's complement of 2 to 16 bits.
pub(crate) struct Integers;

impl Numbers for Integers {
    #[inline(always)]
    fn has(bits: u32, little_endian: bool, at: u64) -> bool {
        (2..=16).contains(&bits) && (!little_endian || bits == 16 && at.is_multiple_of(16))
    }

    #[inline(always)]
    fn order(little_endian: bool) -> u32 {
        if little_endian { LITTLE_ENDIAN_HALVES } else { BIG_ENDIAN }
    }

    #[inline(always)]
    fn four([a, b, c, _]: [u32; 4], shift: u32, bits: u32) -> [f32; 4] {
        four::integers([a, b, c], shift, bits)
    }

    #[inline(always)]
    fn scale(bits: u32) -> f32 {
        (1u32 << bits) as f32
    }
}

/// f16 or f32, little-endian.
pub(crate) struct Floats;

impl Numbers for Floats {
    #[inline(always)]
    fn has(bits: u32, _: bool, at: u64) -> bool {
        (bits == 16 || bits == 32) && at & (bits as u64 - 1) == 0
    }

    #[inline(always)]
    fn order(_: bool) -> u32 {
        AS_THEY_ARE
    }

    #[inline(always)]
    fn four([a, b, c, d]: [u32; 4], shift: u32, bits: u32) -> [f32; 4] {
        if bits == 16 { four::halves(a, b, c, shift) } else { [a, b, c, d].map(f32::from_bits) }
    }

    #[inline(always)]
    fn scale(_: u32) -> f32 {
        1.0
    }
}

impl<O: Output> Arguments<O> {
    /// Whether the sizes are those that the kernels take, and the views hold them; also if there is nothing to do.
    #[inline(always)]
    pub(crate) fn fit<N: Numbers>(&self) -> bool {
        let little_endian = self.little_endian != 0;
        if self.inputs == 0 || self.outputs == 0 {
            return true;
        }
        let (rows, steps) = (self.inputs as u64 - 1, self.outputs as u64 - 1);
        let columns = |row: u64| rows.saturating_mul(row).saturating_add(self.outputs as u64);
        let sample_bits = self.bits as u64 * self.parts as u64;
        let window_bits = (steps * self.decimation as u64 + self.taps as u64).saturating_mul(sample_bits);
        let end = rows.saturating_mul(self.row_bits).saturating_add(self.first_bit).saturating_add(window_bits);
        ntid_x() == THREADS
            && N::has(self.bits, little_endian, self.first_bit)
            && N::has(self.bits, little_endian, self.row_bits)
            && (self.parts == 1 || self.parts == 2)
            && self.taps <= MOST_TAPS
            && self.taps as usize <= self.weights.len()
            && columns(self.out_row) <= self.out.len() as u64
            && (self.present.is_empty() || columns(self.present_row) <= self.present.len() as u64)
            && (self.saturated.is_empty() || self.inputs as usize <= self.saturated.len())
            && end <= self.samples.len() as u64 * 32
    }

    /// Four numbers from bit `bit` on. Words behind the view are zeros: a group of four may reach beyond the taps.
    ///
    /// # Safety
    /// None but that of loads inside the view, which it keeps to.
    #[inline(always)]
    unsafe fn numbers<N: Numbers>(&self, bit: u64) -> [f32; 4] {
        let (at, order) = (bit / 32, N::order(self.little_endian != 0));
        let mut words = [0; 4];
        unroll!(i in 0 1 2 3 {
            let at = at + i as u64;
            // The fourth word is one of f32 alone.
            if at < self.samples.len() as u64 && (i < 3 || self.bits == 32) {
                words[i] = in_order(self.samples.load(at as usize), order);
            }
        });
        N::four(words, bit as u32 % 32, self.bits)
    }

    /// Writes the outputs of a warp.
    ///
    /// # Safety
    /// The views hold what the sizes say ([`fit`](Self::fit)).
    #[inline(always)]
    pub(crate) unsafe fn run<N: Numbers>(&self) {
        let blocks = self.outputs.div_ceil(BLOCK_OUTPUTS).max(1);
        let (input, block) = (ctaid_x() / blocks, ctaid_x() % blocks);
        let (warp, lane) = (tid_x() / 32, tid_x() % 32);
        let first = block as u64 * BLOCK_OUTPUTS as u64 + (warp * OUTPUTS) as u64;
        if input >= self.inputs || first >= self.outputs as u64 {
            return;
        }
        let sample_bits = (self.bits * self.parts) as u64;
        let step = (self.decimation as u64).wrapping_mul(sample_bits);
        let mut bit = self
            .first_bit
            .wrapping_add((input as u64).wrapping_mul(self.row_bits))
            .wrapping_add(first.wrapping_mul(step))
            .wrapping_add((4 * lane * self.bits) as u64);
        // Samples of a lane's four numbers, and of those of all lanes.
        let each = if self.parts == 1 { 4 } else { 2 };
        let mut sums = [[0.0f32; 2]; OUTPUTS as usize];
        let mut tap = each * lane;
        while tap - each * lane < self.taps {
            let mut weights = [[0.0; 2]; 4];
            unroll!(i in 0 1 2 3 {
                if (i as u32) < each && tap + (i as u32) < self.taps {
                    weights[i] = self.weights.load((tap + i as u32) as usize);
                }
            });
            unroll!(o in 0 1 2 3 {
                let mut x = self.numbers::<N>(bit.wrapping_add(step.wrapping_mul(o as u64)));
                // What is beyond the taps may be anything, also no number.
                unroll!(i in 0 1 2 3 {
                    let sample = if self.parts == 1 { i as u32 } else { i as u32 / 2 };
                    if tap + sample >= self.taps {
                        x[i] = 0.0;
                    }
                });
                let [mut re, mut im] = sums[o];
                if self.parts == 1 {
                    unroll!(i in 0 1 2 3 {
                        re = fma_rn_f32(weights[i][0], x[i], re);
                        im = fma_rn_f32(weights[i][1], x[i], im);
                    });
                } else {
                    unroll!(i in 0 1 {
                        let ([a, b], [x, y]) = (weights[i], [x[2 * i], x[2 * i + 1]]);
                        re = fnma_rn_f32(b, y, fma_rn_f32(a, x, re));
                        im = fma_rn_f32(b, x, fma_rn_f32(a, y, im));
                    });
                }
                sums[o] = [re, im];
            });
            tap += 32 * each;
            bit = bit.wrapping_add((128 * self.bits) as u64);
        }
        let scale = N::scale(self.bits) * self.gain;
        let mut saturated = false;
        unroll!(o in 0 1 2 3 {
            let [mut re, mut im] = sums[o];
            unroll!(i in 0 1 2 3 4 {
                re += f32::from_bits(shfl_sync_bfly_b32(re.to_bits(), 16 >> i, 31, u32::MAX));
                im += f32::from_bits(shfl_sync_bfly_b32(im.to_bits(), 16 >> i, 31, u32::MAX));
            });
            let output = first + o as u64;
            if lane == o as u32 && output < self.outputs as u64 {
                let [cosine, sine] = unit(high(self.phase.wrapping_add(self.turn.wrapping_mul(output))));
                let (re, im) = (re * scale, im * scale);
                let (value, beyond) = O::stored([re * cosine - im * sine, re * sine + im * cosine]);
                self.out.store((input as u64 * self.out_row + output) as usize, value);
                saturated = beyond
                    && (self.present.is_empty()
                        || self.present.load((input as u64 * self.present_row + output) as usize) != 0);
            }
        });
        if !self.saturated.is_empty() {
            let lanes = vote_sync_ballot_b32(saturated, u32::MAX);
            if lane == 0 && lanes != 0 {
                self.saturated.atomic_add(input as usize, lanes.count_ones() as u64);
            }
        }
    }
}
