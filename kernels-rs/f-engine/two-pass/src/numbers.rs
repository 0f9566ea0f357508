//! Four neighbouring numbers of the samples as f32, from any of them on.
//!
//! Integers are two's complement of 2 to 16 bits without padding: big-endian (packed samples; i8), or little-endian in
//! halves of words (i16). Three words hold four of them, which become `x / 2^B` exactly ([`four::integers`]). The
//! filter's weights are `2^B` times larger.

use fringes_device::Global;
use fringes_kernels_common::decode::{BIG_ENDIAN, LITTLE_ENDIAN_HALVES, four, in_order, two};

pub use fringes_kernel_abi::f_engine::one_pass::PADDING;

/// Numbers of a job.
#[derive(Clone, Copy)]
pub struct Numbers {
    /// Words from that on in which the first number begins.
    words: Global<u32>,
    /// Where the first number begins in the first word.
    bit: u32,
    /// Bits of a number.
    bits: u32,
    /// Bytes of a word in the order of bits, as `prmt` takes it.
    order: u32,
}

impl Numbers {
    /// Numbers of `bits` bits from bit `first_bit` on, `count` of them and at most 2^31 bits. None if the view does not
    /// have them and [`PADDING`] words more.
    #[inline(always)]
    pub fn new(words: Global<u32>, first_bit: u64, bits: u32, little_endian: bool, count: u64) -> Option<Self> {
        let (first, bit) = ((first_bit / 32) as usize, first_bit as u32 % 32);
        let needed = (bit as u64 + count * bits as u64).div_ceil(32) + PADDING;
        if first >= words.len() || needed > (words.len() - first) as u64 {
            return None;
        }
        // SAFETY: `first` is inside.
        let words = unsafe { words.part(first, needed as usize) };
        let order = if little_endian && bits == 16 { LITTLE_ENDIAN_HALVES } else { BIG_ENDIAN };
        Some(Self { words, bit, bits, order })
    }

    /// Bit of number `index`, as [`Source::two`] takes it.
    #[inline(always)]
    pub fn place(&self, index: u32) -> u32 {
        self.bit + index * self.bits
    }

    /// Two words as they lie in memory, from one on.
    ///
    /// # Safety
    /// - The first one is of a number.
    #[inline(always)]
    pub unsafe fn words(&self, first: u32) -> [u32; 2] {
        // One address for both.
        let first = first as usize;
        [self.words.load(first), self.words.load(first + 1)]
    }

    /// Word `index`.
    ///
    /// # Safety
    /// - The view has it: it is one of a number or of the [`PADDING`] behind the last.
    #[inline(always)]
    unsafe fn word(&self, index: u32) -> u32 {
        self.words.load(index as usize)
    }
}

/// A kind of samples.
pub trait Source {
    /// Whether all numbers are finite.
    const FINITE: bool;

    /// Whether there are such numbers of `bits` bits that begin with bit `first_bit`.
    fn has(bits: u32, first_bit: u64) -> bool;

    /// Numbers `index` to `index + 3`. Past the last number they are anything.
    ///
    /// With `FEW_LINES`, words that are not needed are not loaded: better where lanes load from lines of their own, as
    /// L1 takes one at a time; else a branch costs more.
    ///
    /// # Safety
    /// Number `index + 1` is in the view.
    unsafe fn four<const FEW_LINES: bool>(numbers: &Numbers, index: u32) -> [f32; 4];

    /// The two numbers from a number's [place](Numbers::place) on.
    ///
    /// # Safety
    /// - The place is that of a number but the last.
    unsafe fn two(numbers: &Numbers, place: u32) -> [f32; 2];
}

/// Integers of 2 to 16 bits: `x / 2^bits`.
pub struct Integers;

impl Source for Integers {
    const FINITE: bool = true;

    #[inline(always)]
    fn has(bits: u32, _: u64) -> bool {
        (2..=16).contains(&bits)
    }

    #[inline(always)]
    unsafe fn four<const FEW_LINES: bool>(numbers: &Numbers, index: u32) -> [f32; 4] {
        let (bits, order) = (numbers.bits, numbers.order);
        let bit = numbers.bit + index * bits;
        let (word, shift) = (bit / 32, bit % 32);
        let ordered = |index: u32| in_order(numbers.word(index), order);
        let third = if !FEW_LINES || shift + 4 * bits > 64 { ordered(word + 2) } else { 0 };
        four::integers([ordered(word), ordered(word + 1), third], shift, bits)
    }

    #[inline(always)]
    unsafe fn two(numbers: &Numbers, place: u32) -> [f32; 2] {
        let words = numbers.words(place / 32);
        two::integers(words.map(|word| in_order(word, numbers.order)), place, numbers.bits)
    }
}

/// f16, little-endian.
pub struct Halves;

impl Source for Halves {
    const FINITE: bool = false;

    #[inline(always)]
    fn has(bits: u32, first_bit: u64) -> bool {
        bits == 16 && first_bit.is_multiple_of(16)
    }

    #[inline(always)]
    unsafe fn four<const FEW_LINES: bool>(numbers: &Numbers, index: u32) -> [f32; 4] {
        let bit = numbers.bit + index * 16;
        let [a, b] = numbers.words(bit / 32);
        let c = numbers.word(bit / 32 + 2);
        four::halves(a, b, c, bit % 32)
    }

    #[inline(always)]
    unsafe fn two(numbers: &Numbers, place: u32) -> [f32; 2] {
        let [a, b] = numbers.words(place / 32);
        two::halves(a, b, place)
    }
}

/// f32, little-endian.
pub struct Singles;

impl Source for Singles {
    const FINITE: bool = false;

    #[inline(always)]
    fn has(bits: u32, first_bit: u64) -> bool {
        bits == 32 && first_bit.is_multiple_of(32)
    }

    #[inline(always)]
    unsafe fn four<const FEW_LINES: bool>(numbers: &Numbers, index: u32) -> [f32; 4] {
        let word = numbers.bit / 32 + index;
        [0, 1, 2, 3].map(|next| f32::from_bits(numbers.word(word + next)))
    }

    #[inline(always)]
    unsafe fn two(numbers: &Numbers, place: u32) -> [f32; 2] {
        numbers.words(place / 32).map(f32::from_bits)
    }
}

/// f16 or f32, little-endian.
pub struct Floats;

impl Source for Floats {
    const FINITE: bool = false;

    #[inline(always)]
    fn has(bits: u32, first_bit: u64) -> bool {
        (bits == 16 || bits == 32) && first_bit.is_multiple_of(bits as u64)
    }

    #[inline(always)]
    unsafe fn four<const FEW_LINES: bool>(numbers: &Numbers, index: u32) -> [f32; 4] {
        let bit = numbers.bit + index * numbers.bits;
        let word = bit / 32;
        let (a, b, c) = (numbers.word(word), numbers.word(word + 1), numbers.word(word + 2));
        if numbers.bits == 16 {
            four::halves(a, b, c, bit % 32)
        } else {
            [a, b, c, numbers.word(word + 3)].map(f32::from_bits)
        }
    }
    #[inline(always)]
    unsafe fn two(numbers: &Numbers, place: u32) -> [f32; 2] {
        let [a, b] = numbers.words(place / 32);
        if numbers.bits == 16 { two::halves(a, b, place) } else { [a, b].map(f32::from_bits) }
    }
}
