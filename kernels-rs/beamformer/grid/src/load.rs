//! From voltages to samples in shared memory: decoded, times their gains, as complex numbers of f16.

use fringes_device::arithmetic::{lop3_b32, mul_hi_u32, prmt_b32};
use fringes_device::half2::{add_rn_f16x2, fma_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::{laneid, ntid_x, tid_x};
use fringes_device::{Global, Shared};

use crate::Sizes;
use crate::form::{Given, Item};
use crate::fragments::{SIDE, TILE_WORDS};
use crate::steps::{self, GOOD};

/// Voltages of 4+4 bits, the real part in the high half of a byte.
pub const FOUR: u32 = 0;
/// Voltages of two signed bytes, the real part first.
pub const EIGHT: u32 = 1;
/// Voltages of two f16, the real part first; every line begins at a multiple of 16 bytes and has a multiple of four
/// feeds.
pub const HALF: u32 = 2;

/// How a thread finds four neighbouring feeds.
#[derive(Clone, Copy)]
pub(crate) struct Quads {
    /// Of a line.
    of_line: u32,
    /// Of all lines.
    count: u32,
    /// `2^32 / of_line`, rounded up; 0 for 1.
    inverse: u32,
    /// Whether one load has them.
    whole: bool,
}

/// Bytes of a voltage of a format.
#[inline(always)]
pub(crate) fn bytes(format: u32) -> u32 {
    1 << format.min(HALF)
}

impl Quads {
    /// Of these sizes.
    #[inline(always)]
    pub(crate) fn new(given: Given, sizes: Sizes) -> Self {
        let of_line = sizes.quads();
        // SAFETY: an address, which is not used.
        let address = unsafe { given.voltages.address(0) };
        let strides = sizes.strides;
        let all = address | strides[0] | strides[1] | strides[2] | strides[3] | strides[4];
        let whole = all & u64::from(4 * bytes(sizes.format) - 1) == 0 && sizes.feeds.is_multiple_of(4);
        let inverse = if of_line > 1 { (u32::MAX / of_line) + 1 } else { 0 };
        Self { of_line, count: of_line * sizes.lines, inverse, whole }
    }

    /// Whether one load has four neighbours.
    #[inline(always)]
    pub(crate) fn whole(self) -> bool {
        self.whole
    }

    /// Line and number within the line of four feeds.
    #[inline(always)]
    fn place(self, quad: u32) -> (u32, u32) {
        // Exact for products below 2^32 of both numbers.
        let line = if self.inverse == 0 { quad } else { mul_hi_u32(quad, self.inverse) };
        (line, quad - line * self.of_line)
    }

    /// Whether a place is found so for all.
    #[inline(always)]
    pub(crate) fn fits(self) -> bool {
        u64::from(self.count) * u64::from(self.of_line) <= u64::from(u32::MAX)
    }
}

/// The samples of a step in shared memory, tile `tile`, with column `column` for the first line.
///
/// # Safety
/// The views hold what the sizes say; shared memory has the tile from word `samples` on; nobody else uses its columns.
#[inline(always)]
unsafe fn load_step(
    given: Given,
    sizes: Sizes,
    quads: Quads,
    gains: Global<[u32; 4]>,
    at: u64,
    samples: u32,
    column: u32,
) {
    let shared = Shared::<u32>::dynamic().cast::<[u32; 4]>();
    let voltages = given.voltages.part(at as usize, given.voltages.len() - at as usize);
    let line_stride = sizes.strides[4] as u32;
    let feed_tiles = sizes.feed_tiles();
    let mut quad = laneid();
    while quad < quads.count {
        let (line, of_line) = quads.place(quad);
        let first = line * line_stride + 4 * of_line * bytes(sizes.format);
        let left = sizes.feeds - 4 * of_line;
        let x = four(voltages, [sizes.format, sizes.signs], quads.whole, first as usize, left);
        let [low, high] = [gains.load(2 * quad as usize), gains.load(2 * quad as usize + 1)];
        let y = [
            times(x[0], low[0], low[1]),
            times(x[1], low[2], low[3]),
            times(x[2], high[0], high[1]),
            times(x[3], high[2], high[3]),
        ];
        let tile = line / SIDE * feed_tiles + of_line / 2;
        let word = samples + tile * TILE_WORDS + (line % SIDE + column) * SIDE + of_line % 2 * 4;
        shared.store((word / 4) as usize, y);
        quad += 32;
    }
}

/// Four neighbouring voltages as complex numbers of f16; those beyond the `left` ones of a line are finite.
///
/// # Safety
/// They are in the view.
#[inline(always)]
pub(crate) unsafe fn four(
    voltages: Global<u8>,
    [format, signs]: [u32; 2],
    whole: bool,
    first: usize,
    left: u32,
) -> [u32; 4] {
    if format == HALF {
        return voltages.part(first, 16).cast::<[u32; 4]>().load(0);
    }
    if format == FOUR {
        let word = if whole {
            voltages.part(first, 4).cast::<u32>().load(0)
        } else {
            let byte = |at: u32| if at < left { u32::from(voltages.load(first + at as usize)) } else { 0 };
            byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24
        };
        let high = word >> 4;
        let number = |selector: u32| {
            // (x & mask) ^ flips: a nibble that is 8 more than its value, in an f16 of 1024
            let flips = 0x6400_6400 ^ (signs & 0x0008_0008);
            let bits = lop3_b32::<0x6a>(prmt_b32(high, word, selector), 0x000f_000f, flips);
            add_rn_f16x2(bits, 0xe408_e408)
        };
        return [number(0x4400), number(0x5511), number(0x6622), number(0x7733)];
    }
    let [low, high] = if whole {
        voltages.part(first, 8).cast::<[u32; 2]>().load(0)
    } else {
        let pair = |at: u32| match at < left {
            true => u32::from(voltages.part(first + 2 * at as usize, 2).cast::<u16>().load(0)),
            false => 0,
        };
        [pair(0) | pair(1) << 16, pair(2) | pair(3) << 16]
    };
    let number = |word: u32, selector: u32| {
        // A byte with its sign flipped is 128 more than its value, in an f16 of 1024.
        let bits = lop3_b32::<0x6a>(prmt_b32(word, 0, selector), 0x00ff_00ff, 0x6480_6480);
        add_rn_f16x2(bits, 0xe480_e480)
    };
    [number(low, 0x4140), number(low, 0x4342), number(high, 0x4140), number(high, 0x4342)]
}

/// A complex number times a gain `(re, re), (-im, im)`.
///
/// # Precision
/// Each part is rounded twice.
#[inline(always)]
fn times(x: u32, re: u32, im: u32) -> u32 {
    fma_rn_f16x2(prmt_b32(x, 0, 0x1032), im, mul_rn_f16x2(x, re))
}

/// Loads the samples of the steps of list `half` into the tiles from word `samples` on. Step `tile + tiles j` goes to
/// place `j` of tile `tile`.
///
/// # Safety
/// The views hold what the sizes say; the list has been written; nobody else uses the tiles.
#[inline(always)]
pub(crate) unsafe fn load(given: Given, sizes: Sizes, quads: Quads, item: Item, half: u32, tiles: u32, samples: u32) {
    let steps = tiles * sizes.steps_of_tile();
    let warps = ntid_x() / 32;
    let mut number = tid_x() / 32;
    while number < steps {
        let step = steps::step(half, steps, number);
        if step.flags & GOOD != 0 {
            let row = (item.frequency * sizes.pols + step.pol()) as usize * 2 * quads.count as usize;
            let gains = given.gains.part(row, 2 * quads.count as usize);
            let (tile, place) = (number % tiles, number / tiles);
            let first = samples + tile * sizes.sample_words();
            load_step(given, sizes, quads, gains, step.at, first, place * sizes.columns);
        }
        number += warps;
    }
}

/// Fills tiles with zeros: what no feed is stored to stays zero.
///
/// # Safety
/// Shared memory has so many words from word `first` on; nobody else uses them.
#[inline(always)]
pub(crate) unsafe fn clear(first: u32, words: u32) {
    let shared = Shared::<u32>::dynamic();
    let mut word = tid_x();
    while word < words {
        shared.store((first + word) as usize, 0);
        word += ntid_x();
    }
}
