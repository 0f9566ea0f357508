//! From voltages to samples in shared memory: decoded, times their gains, as complex numbers of f16.

use fringes_device::arithmetic::{lop3_b32, mul_hi_u32, prmt_b32, shf_r_wrap_b32};
use fringes_device::half2::{add_rn_f16x2, fma_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::{laneid, ntid_x, tid_x};
use fringes_device::{Global, Shared};
use fringes_kernels_beamformer_frb::Registers;

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

/// A format of voltages: what is loaded of four neighbours, and what it becomes.
trait Format {
    /// What is loaded.
    type Raw: Copy;
    /// Nothing.
    const NONE: Self::Raw;

    /// Loads four neighbours from byte `first` on, of which `left` are of their line; all of them at once if `whole`.
    ///
    /// # Safety
    /// Those of the line are in the view.
    unsafe fn load(voltages: Global<u8>, whole: bool, first: usize, left: u32) -> Self::Raw;

    /// Complex numbers of f16; those beyond the line are finite. `low` has the lowest bits of the address.
    fn decode(raw: Self::Raw, whole: bool, low: u32, signs: u32) -> [u32; 4];
}

enum Four {}
enum Eight {}
enum Halves {}

impl Format for Four {
    type Raw = [u32; 2];
    const NONE: [u32; 2] = [0; 2];

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, whole: bool, first: usize, left: u32) -> [u32; 2] {
        if whole {
            return [voltages.part(first, 4).cast::<u32>().load(0), 0];
        }
        let Some(words) = around::<2>(voltages, first) else {
            let byte = |at: u32| if at < left { u32::from(voltages.load(first + at as usize)) } else { 0 };
            let word = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
            // As if it lay in both words around it.
            let bits = 8 * (voltages.address(first) as u32 & 3);
            return [word << bits, if bits == 0 { 0 } else { word >> (32 - bits) }];
        };
        words
    }

    #[inline(always)]
    fn decode([low, high]: [u32; 2], whole: bool, address: u32, signs: u32) -> [u32; 4] {
        let word = if whole { low } else { shf_r_wrap_b32(low, high, 8 * address) };
        let above = word >> 4;
        let number = |selector: u32| {
            // (x & mask) ^ flips: a nibble that is 8 more than its value, in an f16 of 1024
            let flips = 0x6400_6400 ^ (signs & 0x0008_0008);
            let bits = lop3_b32::<0x6a>(prmt_b32(above, word, selector), 0x000f_000f, flips);
            add_rn_f16x2(bits, 0xe408_e408)
        };
        [number(0x4400), number(0x5511), number(0x6622), number(0x7733)]
    }
}

impl Format for Eight {
    type Raw = [u32; 3];
    const NONE: [u32; 3] = [0; 3];

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, whole: bool, first: usize, left: u32) -> [u32; 3] {
        if whole {
            let [low, high] = voltages.part(first, 8).cast::<[u32; 2]>().load(0);
            return [low, high, 0];
        }
        let Some(words) = around::<3>(voltages, first) else {
            let pair = |at: u32| match at < left {
                true => u32::from(voltages.part(first + 2 * at as usize, 2).cast::<u16>().load(0)),
                false => 0,
            };
            let [low, high] = [pair(0) | pair(1) << 16, pair(2) | pair(3) << 16];
            return match voltages.address(first) & 2 {
                0 => [low, high, 0],
                _ => [low << 16, low >> 16 | high << 16, high >> 16],
            };
        };
        words
    }

    #[inline(always)]
    fn decode([a, b, c]: [u32; 3], whole: bool, address: u32, _: u32) -> [u32; 4] {
        let of = |low: u32, high: u32| if whole { low } else { shf_r_wrap_b32(low, high, 8 * address) };
        let (low, high) = (of(a, b), of(b, c));
        let number = |word: u32, selector: u32| {
            // A byte with its sign flipped is 128 more than its value, in an f16 of 1024.
            let bits = lop3_b32::<0x6a>(prmt_b32(word, 0, selector), 0x00ff_00ff, 0x6480_6480);
            add_rn_f16x2(bits, 0xe480_e480)
        };
        [number(low, 0x4140), number(low, 0x4342), number(high, 0x4140), number(high, 0x4342)]
    }
}

impl Format for Halves {
    type Raw = [u32; 4];
    const NONE: [u32; 4] = [0; 4];

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, _: bool, first: usize, _: u32) -> [u32; 4] {
        voltages.part(first, 16).cast::<[u32; 4]>().load(0)
    }

    #[inline(always)]
    fn decode(raw: [u32; 4], _: bool, _: u32, _: u32) -> [u32; 4] {
        raw
    }
}

/// The words of four bytes from that around byte `first` on, if all of them are in the view.
///
/// # Safety
/// Byte `first` is in the view.
#[inline(always)]
unsafe fn around<const N: usize>(voltages: Global<u8>, first: usize) -> Option<[u32; N]>
where
    [u32; N]: Registers<u32>,
{
    let over = voltages.address(first) as usize & 3;
    let begin = first.checked_sub(over)?;
    if begin + 4 * N > voltages.len() {
        return None;
    }
    let words = voltages.part(begin, 4 * N).cast::<u32>();
    Some(<[u32; N]>::each(|at| words.load(at)))
}

/// Quads that a lane loads before it decodes the first.
const AT_ONCE: usize = 3;

/// A step's samples in shared memory, from word `samples` on, with column `column` for the first line.
#[derive(Clone, Copy)]
struct Place {
    samples: u32,
    column: u32,
}

/// Loads the samples of a step.
///
/// # Safety
/// The views hold what the sizes say; shared memory has the tile; nobody else uses its columns.
#[inline(always)]
unsafe fn load_step<F: Format>(
    given: Given,
    sizes: Sizes,
    quads: Quads,
    gains: Global<[u32; 4]>,
    at: u64,
    place: Place,
) {
    let shared = Shared::<u32>::dynamic().cast::<[u32; 4]>();
    let voltages = given.voltages.part(at as usize, given.voltages.len() - at as usize);
    let line_stride = sizes.strides[4] as u32;
    let feed_tiles = sizes.feed_tiles();
    let first_of = |line: u32, of_line: u32| line * line_stride + 4 * of_line * bytes(sizes.format);
    let mut first_quad = laneid();
    while first_quad < quads.count {
        let raw = <[F::Raw; AT_ONCE]>::each(|number| {
            let quad = first_quad + 32 * number as u32;
            let (line, of_line) = quads.place(quad);
            match quad < quads.count {
                true => F::load(voltages, quads.whole, first_of(line, of_line) as usize, sizes.feeds - 4 * of_line),
                false => F::NONE,
            }
        });
        let _ = <[(); AT_ONCE]>::each(|number| {
            let quad = first_quad + 32 * number as u32;
            if quad < quads.count {
                let [low, high] = [gains.load(2 * quad as usize), gains.load(2 * quad as usize + 1)];
                let (line, of_line) = quads.place(quad);
                let address = voltages.address(first_of(line, of_line) as usize) as u32;
                let x = F::decode(raw[number], quads.whole, address & 3, sizes.signs);
                let y = [
                    times(x[0], low[0], low[1]),
                    times(x[1], low[2], low[3]),
                    times(x[2], high[0], high[1]),
                    times(x[3], high[2], high[3]),
                ];
                let tile = line / SIDE * feed_tiles + of_line / 2;
                let word = place.samples + tile * TILE_WORDS + (line % SIDE + place.column) * SIDE + of_line % 2 * 4;
                shared.store((word / 4) as usize, y);
            }
        });
        first_quad += 32 * AT_ONCE as u32;
    }
}

/// Four neighbouring voltages as complex numbers of f16; those beyond the `left` ones of a line are finite.
///
/// # Safety
/// They are in the view; the format is not [`HALF`].
#[inline(always)]
pub(crate) unsafe fn four(
    voltages: Global<u8>,
    [format, signs]: [u32; 2],
    whole: bool,
    first: usize,
    left: u32,
) -> [u32; 4] {
    let address = voltages.address(first) as u32 & 3;
    if format == FOUR {
        return Four::decode(Four::load(voltages, whole, first, left), whole, address, signs);
    }
    Eight::decode(Eight::load(voltages, whole, first, left), whole, address, signs)
}

/// A complex number times a gain `(re, re), (-im, im)`.
///
/// # Precision
/// Each part is rounded twice.
#[inline(always)]
fn times(x: u32, re: u32, im: u32) -> u32 {
    fma_rn_f16x2(prmt_b32(x, 0, 0x1032), im, mul_rn_f16x2(x, re))
}

/// Loads the samples of the steps of list `list` into the tiles from word `samples` on. Step `tile + tiles j` goes to
/// place `j` of tile `tile`.
///
/// # Safety
/// The views hold what the sizes say; the list has been written; nobody else uses the tiles.
#[inline(always)]
pub(crate) unsafe fn load(given: Given, sizes: Sizes, quads: Quads, item: Item, list: u32, tiles: u32, samples: u32) {
    let steps = tiles * sizes.steps_of_tile();
    let warps = ntid_x() / 32;
    let mut number = tid_x() / 32;
    while number < steps {
        let step = steps::step(list, steps, number);
        if step.flags & GOOD != 0 {
            let row = (item.frequency * sizes.pols + step.pol()) as usize * 2 * quads.count as usize;
            let gains = given.gains.part(row, 2 * quads.count as usize);
            let (tile, place) = (number % tiles, number / tiles);
            let first = samples + tile * sizes.sample_words();
            let place = Place { samples: first, column: place * sizes.columns };
            match sizes.format {
                FOUR => load_step::<Four>(given, sizes, quads, gains, step.at, place),
                EIGHT => load_step::<Eight>(given, sizes, quads, gains, step.at, place),
                _ => load_step::<Halves>(given, sizes, quads, gains, step.at, place),
            }
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
