//! Inputs: random words among which the edge values are frequent.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator of words.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

/// Integers and f32 where something may change: ends of ranges, powers of two, ties, subnormals, infinities, NaNs.
const EDGES: [u32; 60] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    129,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0xffff_ff80,
    0xffff_ff7f,
    0xffff_8000,
    0x0000_0fff,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x807f_ffff,
    0x8080_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x42fe_ffff,
    0x42ff_0000,
    0x4300_0000,
    0xc300_8000,
    0x4f00_0000,
    0xcf00_0000,
    0x4eff_ffff,
    0x4f80_0000,
    0x5f00_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0001,
    0x7f80_0001,
];

/// The same for f16: ties of whole numbers, one, the largest, the smallest, subnormals, infinities, NaNs.
const HALF_EDGES: [u16; 24] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0401, 0x3800, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3e00, 0x4100,
    0x57f8, 0x5800, 0xd808, 0x6400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01,
];

impl Random {
    /// The generator of a round of the case of this name.
    pub fn new(name: &str, round: u64) -> Self {
        // FNV-1a.
        let seed = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Any bits, all equally likely.
    pub fn bits(&mut self) -> u32 {
        (self.0.next_u64() >> 32) as u32
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(bound)) >> 32) as u32
    }

    /// One of `values`.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    /// A word for integer instructions: an edge value, a small number, few or many bits set, any bits.
    pub fn word(&mut self) -> u32 {
        match self.below(8) {
            0 | 1 => self.one_of(&EDGES),
            2 => self.below(300).wrapping_sub(150),
            3 => 1 << self.below(32),
            4 => self.bits() & self.bits() & self.bits(),
            5 => self.bits() | self.bits() | self.bits(),
            _ => self.bits(),
        }
    }

    /// The bits of an f32: an edge value, any bits (all exponents, also NaNs), or a number of everyday size.
    pub fn float(&mut self) -> u32 {
        match self.below(4) {
            0 => self.one_of(&EDGES),
            1 => self.bits(),
            _ => self.finite(),
        }
    }

    /// The bits of an f32 between 2^-20 and 2^20 in magnitude.
    pub fn finite(&mut self) -> u32 {
        (self.bits() & 0x807f_ffff) | ((107 + self.below(40)) << 23)
    }

    /// The bits of an f16: an edge value or any bits (all exponents, also NaNs).
    pub fn half(&mut self) -> u32 {
        if self.below(3) == 0 { self.one_of(&HALF_EDGES).into() } else { self.bits() >> 16 }
    }

    /// Two f16.
    pub fn half2(&mut self) -> u32 {
        self.half() | self.half() << 16
    }

    /// The bits of a finite f16 between 2^-8 and 2^8 in magnitude, or zero.
    pub fn half_finite(&mut self) -> u32 {
        let bits = self.bits();
        if bits.is_multiple_of(16) { 0 } else { (bits >> 16) & 0x83ff | (7 + self.below(16)) << 10 }
    }

    /// Two of [`Random::half_finite`].
    pub fn half2_finite(&mut self) -> u32 {
        self.half_finite() | self.half_finite() << 16
    }

    /// The bits of a bf16: the upper half of [`Random::float`].
    pub fn bfloat(&mut self) -> u32 {
        self.float() >> 16
    }

    /// Two bf16.
    pub fn bfloat2(&mut self) -> u32 {
        self.bfloat() | self.bfloat() << 16
    }

    /// Two finite bf16 of everyday size.
    pub fn bfloat2_finite(&mut self) -> u32 {
        self.finite() >> 16 | self.finite() & 0xffff_0000
    }

    /// `count` of [`Random::word`].
    pub fn words(&mut self, count: usize) -> Vec<u32> {
        self.many(count, Self::word)
    }

    /// `count` words.
    pub fn many(&mut self, count: usize, mut word: impl FnMut(&mut Self) -> u32) -> Vec<u32> {
        (0..count).map(|_| word(self)).collect()
    }
}
