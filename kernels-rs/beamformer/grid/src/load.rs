//! From voltages to samples in shared memory: decoded, times their gains, as complex numbers of f16.

use fringes_device::arithmetic::{lop3_b32, mul_hi_u32, prmt_b32, shf_r_wrap_b32};
use fringes_device::half2::{add_rn_f16x2, fma_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::{ntid_x, tid_x};
use fringes_device::{Global, Shared};
use fringes_kernels_beamformer_frb::{Registers, divided};

use crate::Sizes;
use crate::form::{Given, Item};
use crate::fragments::{SIDE, TILE_WORDS};
use crate::raw::Rows;
use crate::steps::{self, GOOD};

/// Number of 4+4 bits among formats.
pub const FOUR: u32 = 0;
/// Number of two signed bytes among formats.
pub const EIGHT: u32 = 1;

/// Four neighbouring feeds at once, for all lines of a step: a table in shared memory says for each of them at which
/// byte after the step's first voltage they are, and their word in a tile.
#[derive(Clone, Copy)]
pub(crate) struct Quads {
    /// Of a line.
    of_line: u32,
    /// Of all lines.
    count: u32,
    /// `2^32 / count`, rounded up; 0 for 1.
    inverse: u32,
}

/// Bytes of a voltage of a format, by its number.
#[inline(always)]
pub(crate) fn bytes(format: u32) -> u32 {
    1 << format.min(EIGHT)
}

/// `2^32 / n`, rounded up; 0 for 1.
#[inline(always)]
pub(crate) fn inverse(n: u32) -> u32 {
    if n > 1 { u32::MAX / n + 1 } else { 0 }
}

/// `number / n` by its inverse, exact for products of both below 2^32.
#[inline(always)]
pub(crate) fn over(number: u32, inverse: u32) -> u32 {
    if inverse == 0 { number } else { mul_hi_u32(number, inverse) }
}

impl Quads {
    /// Of these sizes.
    #[inline(always)]
    pub(crate) fn new(sizes: Sizes) -> Self {
        let of_line = sizes.quads();
        let count = of_line * sizes.lines;
        Self { of_line, count, inverse: inverse(count) }
    }

    /// Quads of a step.
    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Bytes of the table.
    #[inline(always)]
    pub(crate) fn bytes(self) -> u32 {
        8 * self.count.next_multiple_of(2)
    }

    /// Writes the table to byte `at` of shared memory.
    ///
    /// # Safety
    /// Shared memory has it, and nobody else uses it.
    #[inline(always)]
    pub(crate) unsafe fn write<F: Format>(self, sizes: Sizes, rows: Rows, at: u32) {
        let table = Shared::<u32>::dynamic().cast::<[u32; 2]>();
        let (line_stride, feed_tiles) = (sizes.strides[4] as u32, sizes.feed_tiles());
        let mut quad = tid_x();
        while quad < self.count {
            let (line, of_line) = divided(quad, self.of_line);
            let byte = rows.place(line, line_stride, 4 * of_line * F::BYTES);
            let word = (line / SIDE * feed_tiles + of_line / 2) * TILE_WORDS + line % SIDE * SIDE + of_line % 2 * 4;
            table.store((at / 8 + quad) as usize, [byte, word]);
            quad += ntid_x();
        }
    }

    /// Whether places are found so for all of so many steps.
    #[inline(always)]
    pub(crate) fn fits(self, steps: u32) -> bool {
        u64::from(self.count) * u64::from(self.count) * u64::from(steps) <= u64::from(u32::MAX)
    }
}

/// A format of voltages: what is loaded of four neighbours, and what it becomes.
pub(crate) trait Format {
    /// Bytes of a voltage.
    const BYTES: u32;
    /// Whether every line begins at a multiple of 16 bytes and has a multiple of four feeds.
    const WHOLE: bool;
    /// What is loaded.
    type Raw: Copy;

    /// Loads what is around byte `byte` of shared memory.
    ///
    /// # Safety
    /// It is there.
    unsafe fn shared(byte: u32) -> Self::Raw;

    /// Complex numbers of f16; those beyond the line are finite. `address` has the lowest bits of the address.
    fn decode(raw: Self::Raw, whole: bool, address: u32, signs: u32) -> [u32; 4];
}

/// 4+4 bits, the real part in the high half of a byte.
pub(crate) enum Four {}
/// Two signed bytes, the real part first.
pub(crate) enum Eight {}
/// Two f16, the real part first: every line begins at a multiple of 16 bytes and has a multiple of four feeds.
pub(crate) enum Halves {}

impl Four {
    /// Loads four neighbours from byte `first` on, of which `left` are of their line; all of them at once if `whole`.
    ///
    /// # Safety
    /// Those of the line are in the view.
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
}

impl Format for Four {
    const BYTES: u32 = 1;
    const WHOLE: bool = false;
    type Raw = [u32; 2];

    #[inline(always)]
    unsafe fn shared(byte: u32) -> [u32; 2] {
        let words = Shared::<u32>::dynamic();
        [words.load((byte / 4) as usize), words.load((byte / 4 + 1) as usize)]
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

impl Eight {
    /// Loads four neighbours from byte `first` on, of which `left` are of their line; all of them at once if `whole`.
    ///
    /// # Safety
    /// Those of the line are in the view.
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
}

impl Format for Eight {
    const BYTES: u32 = 2;
    const WHOLE: bool = false;
    type Raw = [u32; 3];

    #[inline(always)]
    unsafe fn shared(byte: u32) -> [u32; 3] {
        let words = Shared::<u32>::dynamic();
        [0, 1, 2].map(|word| words.load((byte / 4 + word) as usize))
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
    const BYTES: u32 = 4;
    const WHOLE: bool = true;
    type Raw = [u32; 4];

    #[inline(always)]
    unsafe fn shared(byte: u32) -> [u32; 4] {
        Shared::<u32>::dynamic().cast::<[u32; 4]>().load((byte / 16) as usize)
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

/// Where samples come from and go to.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// List of the steps, and how many it has.
    pub(crate) list: u32,
    pub(crate) steps: u32,
    /// Bytes of shared memory that the table of quads and the voltages begin with.
    pub(crate) table: u32,
    pub(crate) raw: u32,
    /// Word that the tiles begin with.
    pub(crate) samples: u32,
}

/// Makes samples of the voltages of a list's good steps.
///
/// # Safety
/// The views hold what the sizes say; the list has been written, the voltages are copied; nobody else uses the tiles.
#[inline(always)]
pub(crate) unsafe fn load<F: Format>(given: Given, sizes: Sizes, rows: Rows, quads: Quads, item: Item, places: Places) {
    let shared = Shared::<u32>::dynamic().cast::<[u32; 4]>();
    let table = Shared::<u32>::dynamic().cast::<[u32; 2]>();
    let gains = given.gains.part(
        (item.frequency * sizes.pols) as usize * 2 * quads.count as usize,
        (sizes.pols * 2 * quads.count) as usize,
    );
    let all = places.steps * quads.count;
    let mut number = tid_x();
    while number < all {
        let step = over(number, quads.inverse);
        let quad = number - step * quads.count;
        let loading = steps::loading(places.list, places.steps, step);
        if loading.flags & GOOD != 0 {
            let gain = (loading.gains + 2 * quad) as usize;
            let [g, h] = [gains.load(gain), gains.load(gain + 1)];
            let [byte, word] = table.load((places.table / 8 + quad) as usize);
            let mut from = places.raw + loading.raw + byte;
            if rows.apart() {
                from = from.wrapping_add(rows.more(loading.raw, byte, sizes.strides[4] as u32));
            }
            let x = F::decode(F::shared(from), false, from & 3, sizes.signs);
            let y =
                [times(x[0], g[0], g[1]), times(x[1], g[2], g[3]), times(x[2], h[0], h[1]), times(x[3], h[2], h[3])];
            let to = places.samples + loading.samples + word;
            shared.store((to / 4) as usize, y);
        }
        number += ntid_x();
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
