//! Samples that take more than f16 has, as the first pass takes them: f32, and 16-bit integers. A complex sample is a
//! point, of real ones two are.
//!
//! Samples lie in shared memory as f32. For a product each is split into two tf32, `x = hi + lo`: `hi` is `x` rounded
//! to 11 significant bits, `lo` the exact rest, of which the tensor cores take 11 bits as well. Weights are two tf32
//! likewise, and of the four products all but that of both rests are added. tf32 has the exponents of f32, so that
//! samples need no scale and none overflows; 16-bit integers are exact.
//!
//! # Products
//! As those of f16 ([`crate::columns`]), in steps of depth 8: up to `16 M` taps take `2 M + 1` of them, three times.
//! Entry `7 + d` of a step has the weights `w[d], w[d + 4]`, and what is left of both; `d = t - s(g)` in lane `4 g +
//! t`. Rows 0 to 3 of every eight of a column lie behind each other, and rows 4 to 7: a column of numbers takes the
//! place of two columns of f16, and a block has a strip of 8 `n2`.
//!
//! # Precision
//! With `A = X sum_t |w[t][p]|`, `X` the largest magnitude of a sample's part: `hi` is within `2^-11` of the sample,
//! and of `lo`, which has 12 significant bits, at most `2^-23` of the sample is lost; of a weight, `2^-23` at most. The
//! product that is left out is `2^-22` of the whole. Sums are truncated as those of f16: of `T` taps `3 T` terms, and
//! at most `12 M + 6` sums, each by `2^-23 A`. Together `|dz| <= (3 T / 2 + 6 M + 5) 2^-22 A`. That holds for `X` of
//! `2^-90` to `2^100`, as the largest weight is brought to [1/2, 1).
//!
//! # What a point costs
//! 8 or 4 bytes of samples, `(64 + 16 M) / 64` times; of the weights, 768 bytes for 128 points with up to 16 taps,
//! twice that of real samples; 18 products of depth 8 for 128 points, in place of 4 of depth 16 and 4 of depth 8.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::matrix::ldmatrix_x4_shared_b16;
use fringes_device::mma::mma_m16n8k8_f32_tf32;
use fringes_device::{Global, Shared, unroll};

use crate::butterfly::Radix;
use crate::columns::{Filter, GROUP, THREADS, group_pieces, job_pieces, pieces};
use crate::half::{cut, of_bytes, row_offsets};
use crate::sources::Entry;
use fringes_kernel_abi::f_engine::columns::WIDE_STRIP;

/// Samples of f32, or of 16-bit integers, with `COLUMNS` of the tables of weights to a point: 1 of complex samples, 2
/// of real ones.
#[derive(Clone, Copy)]
pub struct Wide<const COLUMNS: u32> {
    /// Whether they are integers.
    pub integers: bool,
    /// Whether these are big-endian.
    pub swapped: bool,
}

/// Adds half of the last place of tf32.
const HALF: u32 = 0x1000;
/// The bits of tf32.
const MASK: u32 = 0xffff_e000;

/// `hi` and `lo` of a number, as the tensor cores take them.
#[inline(always)]
fn split(x: u32) -> (u32, u32) {
    let hi = x.wrapping_add(HALF) & MASK;
    (hi, (f32::from_bits(x) - f32::from_bits(hi)).to_bits())
}

/// 2^23 with a number of 16 bits, whose sign is inverted, in its low ones, to f32.
#[inline(always)]
fn number(bits: u32) -> u32 {
    (f32::from_bits(bits) - 8_421_376.0).to_bits()
}

/// Both numbers of a point of 16-bit integers.
#[inline(always)]
fn parts(word: u32, swapped: bool) -> [u32; 2] {
    let word = word ^ if swapped { 0x0080_0080 } else { 0x8000_8000 };
    let one = |in_order: u32, turned: u32| number(prmt_b32(word, 0x4b00_0000, if swapped { turned } else { in_order }));
    [one(0x7610, 0x7601), one(0x7632, 0x7623)]
}

/// Piece of the first four rows of an octet of a column of numbers; the other four are [`pieces`] further on.
#[inline(always)]
fn place(m: u32, radix: u32, which: u32, column: u32, octet: u32) -> u32 {
    let column = 2 * column;
    which * job_pieces(m, radix) + column / GROUP as u32 * group_pieces(m) + column % GROUP as u32 * pieces(m) + octet
}

impl<const COLUMNS: u32> Filter for Wide<COLUMNS> {
    const STRIP: u32 = WIDE_STRIP;
    const PLACES: u32 = 4;
    const COLUMNS: u32 = COLUMNS;
    const ENTRIES: usize = 32;
    const MORE: usize = 16;
    const EACH: bool = false;
    const TAILS: usize = 0;

    #[inline(always)]
    fn bits(self) -> u32 {
        if self.integers { 16 } else { 32 }
    }

    #[inline(always)]
    fn lane<const M: usize, R: Radix>(lane: u32) -> ((u32, u32), u32) {
        let (g, t) = (lane / 4, lane % 4);
        // Row `lane % 8` of matrix `lane / 8`: four samples of eight spectra; of both jobs, and four rows further on.
        let row = lane / 8 % 2 * job_pieces(M as u32, R::POINTS as u32) + lane / 16 * pieces(M as u32) + lane % 8;
        ((row, row), t + 7 - (g / 2 + 4 * (g % 2)))
    }

    #[inline(always)]
    unsafe fn bring<const M: usize, R: Radix>(
        self,
        thread: u32,
        (rows, row_bytes): (u32, u32),
        strip: u32,
        shared: Shared<[u32; 4]>,
    ) {
        let (m, radix) = (M as u32, R::POINTS as u32);
        let (warp, lane) = (thread / 32, thread % 32);
        // A warp has an octet of four n1 at once. Lanes that follow each other have columns in different banks.
        let parts_of_radix = radix / 4;
        let mut item = warp;
        while item < 2 * pieces(m) * parts_of_radix {
            let (part, rest) = (item % parts_of_radix, item / parts_of_radix);
            let (octet, which) = (rest % pieces(m), rest / pieces(m));
            let entry = Entry::load(shared, Entry::piece(m, radix, which, 0));
            // Bytes are whole, though a point may begin with any number.
            let address = entry.address.wrapping_add((entry.bit / 8) as u64);
            let there = entry.rows > 0;
            let offsets = row_offsets(octet, &entry, row_bytes);
            if self.integers {
                let (n1, point) = (part * 4 + lane % 2 + lane / 16 * 2, lane / 2 % 4 * 2 + lane / 8 % 2);
                let address = address.wrapping_add((4 * (rows * n1 + strip * WIDE_STRIP + point)) as u64);
                let mut numbers = [[0; 2]; 8];
                if there {
                    let mut words = [0; 8];
                    // Which it is, is the same for all samples of a job.
                    if address.is_multiple_of(4) {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[r] = Global::<u32>::from_raw_parts(address.wrapping_add(offsets[r]), 1).load(0);
                        });
                    } else if self.swapped && !address.is_multiple_of(2) {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[r] = of_bytes(address.wrapping_add(offsets[r]));
                        });
                    } else {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[r] = cut::<u16>(address.wrapping_add(offsets[r]), 16);
                        });
                    }
                    unroll!(r in 0 1 2 3 4 5 6 7 {
                        numbers[r] = parts(words[r], self.swapped);
                    });
                }
                unroll!(i in 0 1 {
                    let to = place(m, radix, which, (n1 * WIDE_STRIP + point) * 2 + i as u32, octet);
                    let four = |r: usize| [numbers[r][i], numbers[r + 1][i], numbers[r + 2][i], numbers[r + 3][i]];
                    shared.store(to as usize, four(0));
                    shared.store((to + pieces(m)) as usize, four(4));
                });
            } else {
                let column = lane % 2 + lane / 8 % 2 * 2 + lane / 2 % 4 * 4;
                unroll!(n in 0 1 {
                    let n1 = part * 4 + lane / 16 + 2 * n as u32;
                    let number = 2 * (rows * n1 + strip * WIDE_STRIP) + column;
                    let address = address.wrapping_add((4 * number) as u64);
                    let mut words = [0; 8];
                    if there {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[r] = Global::<u32>::from_raw_parts(address.wrapping_add(offsets[r]), 1).load(0);
                        });
                    }
                    let to = place(m, radix, which, n1 * 2 * WIDE_STRIP + column, octet);
                    shared.store(to as usize, [words[0], words[1], words[2], words[3]]);
                    shared.store((to + pieces(m)) as usize, [words[4], words[5], words[6], words[7]]);
                });
            }
            item += THREADS / 32;
        }
    }

    #[inline(always)]
    unsafe fn products<const M: usize>(
        (weights, _): (Global<[u32; 4]>, Global<[u32; 2]>),
        column: u32,
        entry: u32,
        shared: Shared<[u32; 4]>,
        (piece, _): (u32, u32),
    ) -> [[f32; 4]; 2] {
        let mut sums = [[0.0f32; 4]; 2];
        unroll!(step in 0 1 2 3 4 {
            if step <= 2 * M {
                // Both parts of complex samples have the same.
                let mut w = [0; 4];
                unroll!(part in 0 1 {
                    if part < COLUMNS as usize {
                        let table = 16 * (column + part as u32) * (2 * M as u32 + 1);
                        w = weights.load((table + entry) as usize + 16 * step);
                    }
                    let piece = piece + 2 * part as u32 * pieces(M as u32);
                    let a = ldmatrix_x4_shared_b16(shared.address(piece as usize + step));
                    let [(h0, l0), (h1, l1), (h2, l2), (h3, l3)] = [split(a[0]), split(a[1]), split(a[2]), split(a[3])];
                    let (hi, lo) = ([h0, h1, h2, h3], [l0, l1, l2, l3]);
                    sums[part] = mma_m16n8k8_f32_tf32(lo, [w[0], w[1]], sums[part]);
                    sums[part] = mma_m16n8k8_f32_tf32(hi, [w[2], w[3]], sums[part]);
                    sums[part] = mma_m16n8k8_f32_tf32(hi, [w[0], w[1]], sums[part]);
                });
            }
        });
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_16_bits_are_the_sum_of_two_tf32() {
        let launch = fringes_emulator::Launch::new("test() threads=1", [1, 1, 1], [1, 1, 1]);
        let body = || {
            for x in i16::MIN..=i16::MAX {
                let y = x.wrapping_mul(31);
                let word = u32::from(x as u16) | u32::from(y as u16) << 16;
                let [re, im] = super::parts(word, false);
                assert_eq!((f32::from_bits(re), f32::from_bits(im)), (f32::from(x), f32::from(y)));
                let turned = u32::from(x.swap_bytes() as u16) | u32::from(y.swap_bytes() as u16) << 16;
                assert_eq!(super::parts(turned, true), [re, im]);
                let (hi, lo) = split(re);
                assert_eq!((hi & !MASK, lo & !MASK), (0, 0));
                assert_eq!(f32::from_bits(hi) + f32::from_bits(lo), f32::from(x));
            }
        };
        launch.run(&mut fringes_emulator::GlobalMemory::new(), body).assert_clean();
    }

    #[test]
    fn floats_are_the_sum_of_two_tf32_within_2_to_the_minus_23() {
        let mut bits = 0x3f80_0000u32;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
            let x = bits & 0xbfff_ffff | 0x2000_0000;
            let (hi, lo) = split(x);
            let [x, hi, cut] = [x, hi, lo & MASK].map(|bits| f64::from(f32::from_bits(bits)));
            assert!((x - hi).abs() <= x.abs() * 2f64.powi(-11));
            assert!((x - hi - cut).abs() <= x.abs() * 2f64.powi(-23), "{x:e}");
        }
    }
}
