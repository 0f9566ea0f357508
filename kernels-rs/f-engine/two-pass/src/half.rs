//! Samples of whole numbers as f16, as the first pass takes them: f16 as they are, 8-bit integers, which f16 has
//! exactly, and for [half precision](crate::tensor) 16-bit integers, which are rounded to 11 bits.
//!
//! A complex sample is a point: both parts have the same weights, which are loaded once. Of real samples two are a
//! point, with weights of their own. Nothing has to be unpacked: a lane loads a point of eight rows, and pairs of rows
//! become words of the one and the other number.
//!
//! Sixteen lanes load the strip's samples of a row, 64 bytes of f16 or 32 of 8 bits, in an order in which eight lanes
//! that store have different banks.
//!
//! # What a point costs
//! Of the samples 4 or 2 bytes, `(64 + 16 M) / 64` times; of the weights, 384 bytes for 128 points with up to 16 taps;
//! products as those of real samples, two numbers a point.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::{fma_rn_f16x2, sub_rn_f16x2};
use fringes_device::matrix::ldmatrix_x4_shared_b16;
use fringes_device::mma::{mma_m16n8k8_f32_f16, mma_m16n8k16_f32_f16};
use fringes_device::{Global, Shared, Value, unroll};

use crate::butterfly::Radix;
use crate::columns::{Filter, GROUP, STRIP, THREADS, group_pieces, job_pieces, pieces};
use crate::packed::half_lane;
use crate::sources::Entry;
use crate::tensor::columns::Samples;

/// Samples of f16, or of 8-bit or 16-bit integers, with `COLUMNS` of the tables of weights to a point: 1 of complex
/// samples, 2 of real ones.
#[derive(Clone, Copy)]
pub struct Half<const COLUMNS: u32> {
    /// Whether they are 8-bit integers.
    pub bytes: bool,
    /// Whether they are 16-bit integers.
    pub shorts: bool,
    /// Whether these are big-endian.
    pub swapped: bool,
}

/// Numbers `n1` whose samples a warp loads together: 16 lanes have one and the next but one.
const TOGETHER: u32 = 4;

/// Low bytes of both halves of a word.
const LOW_BYTES: u32 = 0x00ff_00ff;
/// 1024 in f16, and the sign that is inverted, twice: what is too much as well.
const MAGIC: u32 = 0x6480_6480;
/// 1024 in f16, twice.
const UNSIGNED: u32 = 0x6400_6400;
/// 256 in f16, twice.
const BYTE: u32 = 0x5c00_5c00;
/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Low bytes of the halves of a word, in two's complement, to f16.
#[inline(always)]
fn numbers(bytes: u32) -> u32 {
    sub_rn_f16x2(lop3_b32::<AND_XOR>(bytes, LOW_BYTES, MAGIC), MAGIC)
}

/// 16-bit integers in two's complement to f16, rounded once: upper and lower bytes are exact.
#[inline(always)]
fn rounded(shorts: u32) -> u32 {
    let low = sub_rn_f16x2(lop3_b32::<AND_XOR>(shorts, LOW_BYTES, UNSIGNED), UNSIGNED);
    fma_rn_f16x2(numbers(prmt_b32(shorts, shorts, 0x0301)), BYTE, low)
}

/// A point that begins in the middle of what a load may take: its numbers of `bits` bits, in one word.
///
/// # Safety
/// - Both parts are at `address`, aligned to themselves.
#[inline(always)]
pub(crate) unsafe fn cut<T: Value + Into<u32>>(address: u64, bits: u32) -> u32 {
    let parts = Global::<T>::from_raw_parts(address, 2);
    let [re, im]: [u32; 2] = [parts.load(0).into(), parts.load(1).into()];
    re | im << bits
}

/// A point of 16-bit numbers that begins with any byte, as packed samples may.
///
/// # Safety
/// - Both numbers are at `address`.
#[inline(always)]
pub(crate) unsafe fn of_bytes(address: u64) -> u32 {
    cut::<u8>(address, 8) | cut::<u8>(address.wrapping_add(2), 8) << 16
}

/// Offsets in bytes of the eight rows of an octet from the first row that a job needs.
#[inline(always)]
pub(crate) fn row_offsets(octet: u32, entry: &Entry, row_bytes: u32) -> [u64; 8] {
    let last = entry.rows.wrapping_sub(1);
    let mut offsets = [0; 8];
    unroll!(r in 0 1 2 3 4 5 6 7 {
        // Rows that no spectrum of the job needs are others, which are multiplied by zeros.
        let row = (octet * 8 + r as u32).saturating_sub(entry.lead);
        let row = if row < last { row } else { last };
        offsets[r] = row as u64 * row_bytes as u64;
    });
    offsets
}

/// Sums of both numbers of a point, whose weights are two f16 each: [`Filter::products`] of columns of f16, with
/// `COLUMNS` of the tables to a point.
///
/// # Safety
/// - As there.
#[inline(always)]
pub(crate) unsafe fn products<const M: usize, const COLUMNS: usize>(
    (weights, tails): (Global<[u32; 4]>, Global<[u32; 2]>),
    column: u32,
    entry: u32,
    shared: Shared<[u32; 4]>,
    piece: (u32, u32),
) -> [[f32; 4]; 2] {
    let mut sums = [[0.0f32; 4]; 2];
    let ends = ldmatrix_x4_shared_b16(shared.address(piece.1 as usize));
    // Both parts of complex samples have the same.
    let (mut pairs, mut tail) = ([[0; 4]; 4], [0; 2]);
    unroll!(part in 0 1 {
        let table = 16 * (column + part as u32);
        let piece = piece.0 + part as u32 * pieces(M as u32);
        unroll!(q in 0 1 2 3 {
            if q < M {
                if part < COLUMNS {
                    pairs[q] = weights.load((table * M as u32 + entry) as usize + 16 * q);
                }
                let w = pairs[q];
                let a = ldmatrix_x4_shared_b16(shared.address(piece as usize + 2 * q));
                sums[part] = mma_m16n8k16_f32_f16(a, [w[0], w[1]], sums[part]);
                sums[part] = mma_m16n8k16_f32_f16(a, [w[2], w[3]], sums[part]);
            }
        });
        if part < COLUMNS {
            tail = tails.load((table + entry) as usize);
        }
        let a = [ends[2 * part], ends[2 * part + 1]];
        sums[part] = mma_m16n8k8_f32_f16(a, [tail[0]], sums[part]);
        sums[part] = mma_m16n8k8_f32_f16(a, [tail[1]], sums[part]);
    });
    sums
}

impl<const COLUMNS: u32> Filter for Half<COLUMNS> {
    const STRIP: u32 = STRIP;
    const PLACES: u32 = 2;
    const COLUMNS: u32 = COLUMNS;
    const ENTRIES: usize = 16;
    const MORE: usize = 0;
    const EACH: bool = false;
    const TAILS: usize = 16;

    #[inline(always)]
    fn bits(self) -> u32 {
        if self.bytes { 8 } else { 16 }
    }

    #[inline(always)]
    fn lane<const M: usize, R: Radix>(lane: u32) -> ((u32, u32), u32) {
        half_lane(M as u32, R::POINTS as u32, lane)
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
        // Lanes that follow each other have points whose columns are in different banks.
        let point = lane % 2 + lane / 8 % 2 * 2 + lane / 2 % 4 * 4;
        let parts = radix / TOGETHER;
        let mut item = warp;
        while item < 2 * pieces(m) * parts {
            let (part, rest) = (item % parts, item / parts);
            let (octet, which) = (rest % pieces(m), rest / pieces(m));
            let entry = Entry::load(shared, Entry::piece(m, radix, which, 0));
            // Of a job that is not there, zeros.
            let mut words = [[0; 8]; 2];
            let first = part * TOGETHER + lane / 16;
            if entry.rows > 0 {
                let bytes = if self.bytes { 2 } else { 4 };
                let ahead = (rows * first + strip * STRIP + point) * bytes;
                // Bytes are whole, though a point may begin with any number.
                let address = entry.address.wrapping_add((entry.bit / 8 + ahead) as u64);
                let further = (2 * rows * bytes) as u64;
                let offsets = row_offsets(octet, &entry, row_bytes);
                let at = |n: usize, r: usize| address.wrapping_add(n as u64 * further).wrapping_add(offsets[r]);
                // Which it is, is the same for all samples of a job.
                let whole = address.is_multiple_of(bytes as u64);
                if self.bytes && whole {
                    unroll!(n in 0 1 {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[n][r] = Global::<u16>::from_raw_parts(at(n, r), 1).load(0) as u32;
                        });
                    });
                } else if self.bytes {
                    unroll!(n in 0 1 {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[n][r] = cut::<u8>(at(n, r), 8);
                        });
                    });
                } else if whole {
                    unroll!(n in 0 1 {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[n][r] = Global::<u32>::from_raw_parts(at(n, r), 1).load(0);
                        });
                    });
                } else if self.swapped && !address.is_multiple_of(2) {
                    unroll!(n in 0 1 {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[n][r] = of_bytes(at(n, r));
                        });
                    });
                } else {
                    unroll!(n in 0 1 {
                        unroll!(r in 0 1 2 3 4 5 6 7 {
                            words[n][r] = cut::<u16>(at(n, r), 16);
                        });
                    });
                }
            }
            unroll!(n in 0 1 {
                let (mut re, mut im) = ([0; 4], [0; 4]);
                unroll!(pair in 0 1 2 3 {
                    let (low, high) = (words[n][2 * pair], words[n][2 * pair + 1]);
                    if self.bytes {
                        re[pair] = numbers(prmt_b32(low, high, 0x4400));
                        im[pair] = numbers(prmt_b32(low, high, 0x5511));
                    } else {
                        re[pair] = prmt_b32(low, high, if self.swapped { 0x4501 } else { 0x5410 });
                        im[pair] = prmt_b32(low, high, if self.swapped { 0x6723 } else { 0x7632 });
                        if self.shorts {
                            (re[pair], im[pair]) = (rounded(re[pair]), rounded(im[pair]));
                        }
                    }
                });
                let column = (first + 2 * n as u32) * 2 * STRIP + 2 * point;
                let to = which * job_pieces(m, radix)
                    + column / GROUP as u32 * group_pieces(m)
                    + column % GROUP as u32 * pieces(m)
                    + octet;
                shared.store(to as usize, re);
                shared.store((to + pieces(m)) as usize, im);
            });
            item += THREADS / 32;
        }
    }

    #[inline(always)]
    unsafe fn products<const M: usize>(
        tables: (Global<[u32; 4]>, Global<[u32; 2]>),
        column: u32,
        entry: u32,
        shared: Shared<[u32; 4]>,
        piece: (u32, u32),
    ) -> [[f32; 4]; 2] {
        if COLUMNS == 1 {
            products::<M, 1>(tables, column, entry, shared, piece)
        } else {
            products::<M, 2>(tables, column, entry, shared, piece)
        }
    }
}

impl<const COLUMNS: u32> Samples for Half<COLUMNS> {
    const COLUMNS: usize = COLUMNS as usize;
    const EACH: bool = false;

    #[inline(always)]
    fn bits(self) -> u32 {
        Filter::bits(self)
    }

    #[inline(always)]
    fn multiple(self) -> u32 {
        8
    }

    #[inline(always)]
    fn ahead(self) -> u32 {
        0
    }

    #[inline(always)]
    unsafe fn bring<const M: usize, R: Radix>(
        self,
        thread: u32,
        rows: (u32, u32),
        strip: u32,
        shared: Shared<[u32; 4]>,
    ) {
        Filter::bring::<M, R>(self, thread, rows, strip, shared);
    }
}
