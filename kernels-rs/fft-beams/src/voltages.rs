//! Voltages of two neighbouring feeds, all polarisations: how they are loaded, and as f16.
//!
//! | type | in memory, feeds `a` and `b`, polarisations `x` and `y` | bytes |
//! |---|---|---|
//! | [`Single4`] | `a b` | 2 |
//! | [`Dual4`] | `ax ay bx by` | 4 |
//! | [`Single8`] | `a.re a.im b.re b.im` | 4 |
//! | [`Dual8`] | `ax.re ax.im ay.re ay.im  bx.re bx.im by.re by.im` | 8 |

use fringes_device::Global;
use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::{add_rn_f16x2, fma_rn_f16x2};

/// Two f16, -1 and 1.
const CONJUGATE: u32 = 0x3c00_bc00;

/// A format of voltages.
pub trait Voltages {
    /// Polarisations.
    const POLS: usize;
    /// Bytes of a voltage.
    const BYTES: usize;
    /// The voltages of two feeds, in registers; all bits zero is a voltage of zero.
    type Pair: Copy;
    /// No voltage.
    const ZERO: Self::Pair;

    /// Loads two feeds with one instruction.
    ///
    /// # Safety
    /// They are in the view, at a multiple of the bytes of two feeds.
    unsafe fn load(voltages: Global<u8>, byte: usize) -> Self::Pair;

    /// Loads one voltage and puts it into its place in `pair`, which is zero there.
    ///
    /// # Safety
    /// It is in the view, at a multiple of [`BYTES`](Self::BYTES).
    unsafe fn insert(pair: Self::Pair, voltages: Global<u8>, byte: usize, feed: usize, pol: usize) -> Self::Pair;

    /// The voltages whose flags, bytes in the order of memory, are not zero.
    fn present(pair: Self::Pair, flags: u32) -> Self::Pair;

    /// A voltage as f16, the real part in the low half, and it times i.
    ///
    /// # Precision
    /// Exact.
    fn turned(pair: Self::Pair, feed: usize, pol: usize) -> [u32; 2];
}

/// A byte of 4+4 bits of a word, as f16 and times i.
///
/// With its highest bit flipped a nibble is 8 more than its value. In bits 4 to 7 of an f16 of 64, whose bit 4 counts 1, it makes 72 more than
/// its value; in bits 0 to 3 of an f16 of 1024 it makes 1032 more. The byte is copied to both halves, and each masks one nibble.
#[inline(always)]
fn nibbles(word: u32, byte: u32) -> [u32; 2] {
    let both = prmt_b32(word, 0, 0x4040 + 0x0101 * byte);
    // (x & mask) ^ flip: exponents of 1024 and 64, and the highest bits of the nibbles.
    let value = lop3_b32::<0x6a>(both, 0x000f_00f0, 0x6408_5480);
    let swapped = lop3_b32::<0x6a>(both, 0x00f0_000f, 0x5480_6408);
    [add_rn_f16x2(value, 0xe408_d480), fma_rn_f16x2(swapped, CONJUGATE, 0xd480_6408)]
}

/// Two bytes of a word whose bytes have their sign bits flipped, as f16 and times i.
///
/// Such a byte is 128 more than its value; behind the byte 0x64 it is an f16 of 1024 more than that.
#[inline(always)]
fn bytes(flipped: u32, half: u32) -> [u32; 2] {
    const EXPONENT: u32 = 0x6464_6464;
    let value = prmt_b32(flipped, EXPONENT, 0x4140 + 0x0202 * half);
    let swapped = prmt_b32(flipped, EXPONENT, 0x4041 + 0x0202 * half);
    [add_rn_f16x2(value, 0xe480_e480), fma_rn_f16x2(swapped, CONJUGATE, 0xe480_6480)]
}

/// All bits of bytes that are not zero, chosen by `selector` as `prmt` does with the copying of signs.
#[inline(always)]
fn mask(flags: u32, selector: u32) -> u32 {
    let high = ((flags & 0x7f7f_7f7f) + 0x7f7f_7f7f) | flags;
    prmt_b32(high, 0, selector)
}

/// 4+4 bits, one polarisation.
pub enum Single4 {}

impl Voltages for Single4 {
    const POLS: usize = 1;
    const BYTES: usize = 1;
    type Pair = u32;
    const ZERO: u32 = 0;

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, byte: usize) -> u32 {
        u32::from(voltages.cast::<u16>().load(byte / 2))
    }

    #[inline(always)]
    unsafe fn insert(pair: u32, voltages: Global<u8>, byte: usize, feed: usize, _: usize) -> u32 {
        pair | u32::from(voltages.load(byte)) << (8 * feed)
    }

    #[inline(always)]
    fn present(pair: u32, flags: u32) -> u32 {
        pair & mask(flags, 0xba98)
    }

    #[inline(always)]
    fn turned(pair: u32, feed: usize, _: usize) -> [u32; 2] {
        nibbles(pair, feed as u32)
    }
}

/// 4+4 bits, two polarisations.
pub enum Dual4 {}

impl Voltages for Dual4 {
    const POLS: usize = 2;
    const BYTES: usize = 1;
    type Pair = u32;
    const ZERO: u32 = 0;

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.cast::<u32>().load(byte / 4)
    }

    #[inline(always)]
    unsafe fn insert(pair: u32, voltages: Global<u8>, byte: usize, feed: usize, pol: usize) -> u32 {
        pair | u32::from(voltages.load(byte)) << (16 * feed + 8 * pol)
    }

    #[inline(always)]
    fn present(pair: u32, flags: u32) -> u32 {
        pair & mask(flags, 0xba98)
    }

    #[inline(always)]
    fn turned(pair: u32, feed: usize, pol: usize) -> [u32; 2] {
        nibbles(pair, (2 * feed + pol) as u32)
    }
}

/// 8 bits, one polarisation.
pub enum Single8 {}

impl Voltages for Single8 {
    const POLS: usize = 1;
    const BYTES: usize = 2;
    type Pair = u32;
    const ZERO: u32 = 0;

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.cast::<u32>().load(byte / 4)
    }

    #[inline(always)]
    unsafe fn insert(pair: u32, voltages: Global<u8>, byte: usize, feed: usize, _: usize) -> u32 {
        pair | u32::from(voltages.cast::<u16>().load(byte / 2)) << (16 * feed)
    }

    #[inline(always)]
    fn present(pair: u32, flags: u32) -> u32 {
        pair & mask(flags, 0x9988)
    }

    #[inline(always)]
    fn turned(pair: u32, feed: usize, _: usize) -> [u32; 2] {
        bytes(pair ^ 0x8080_8080, feed as u32)
    }
}

/// 8 bits, two polarisations.
pub enum Dual8 {}

impl Voltages for Dual8 {
    const POLS: usize = 2;
    const BYTES: usize = 2;
    type Pair = [u32; 2];
    const ZERO: [u32; 2] = [0; 2];

    #[inline(always)]
    unsafe fn load(voltages: Global<u8>, byte: usize) -> [u32; 2] {
        voltages.cast::<[u32; 2]>().load(byte / 8)
    }

    #[inline(always)]
    unsafe fn insert(mut pair: [u32; 2], voltages: Global<u8>, byte: usize, feed: usize, pol: usize) -> [u32; 2] {
        pair[feed] |= u32::from(voltages.cast::<u16>().load(byte / 2)) << (16 * pol);
        pair
    }

    #[inline(always)]
    fn present(pair: [u32; 2], flags: u32) -> [u32; 2] {
        [pair[0] & mask(flags, 0x9988), pair[1] & mask(flags, 0xbbaa)]
    }

    #[inline(always)]
    fn turned(pair: [u32; 2], feed: usize, pol: usize) -> [u32; 2] {
        bytes(pair[feed] ^ 0x8080_8080, pol as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn halves(word: u32) -> [f64; 2] {
        [word as u16, (word >> 16) as u16].map(|bits| f16::from_bits(bits).to_f64())
    }

    #[test]
    fn every_4_bit_voltage_is_exact_in_every_place() {
        for byte in 0..=255u8 {
            let (re, im) = (f64::from(byte as i8 >> 4), f64::from((byte << 4) as i8 >> 4));
            for place in 0..4 {
                // Other bytes hold other bits.
                let word = u32::from(byte) << (8 * place) | !(0xff << (8 * place));
                let [value, turned] = Dual4::turned(word, place / 2, place % 2);
                assert_eq!((halves(value), halves(turned)), ([re, im], [-im, re]));
                if place < 2 {
                    assert_eq!(Single4::turned(word, place, 0), [value, turned]);
                }
            }
        }
    }

    #[test]
    fn every_8_bit_voltage_is_exact_in_every_place() {
        for re in -128..=127i8 {
            for im in -128..=127i8 {
                let sample = u32::from(re as u8) | u32::from(im as u8) << 8;
                for place in 0..4 {
                    let word = sample << (16 * (place % 2)) | !(0xffff << (16 * (place % 2)));
                    let mut pair = [0x5555_5555; 2];
                    pair[place / 2] = word;
                    let [value, turned] = Dual8::turned(pair, place / 2, place % 2);
                    let (re, im) = (f64::from(re), f64::from(im));
                    assert_eq!((halves(value), halves(turned)), ([re, im], [-im, re]));
                    if place < 2 {
                        assert_eq!(Single8::turned(word, place, 0), [value, turned]);
                    }
                }
            }
        }
    }

    #[test]
    fn voltages_with_flags_of_zero_become_zero() {
        for flags in [0u32, 1, 0x0100, 0x0001_0000, 0x0100_0000, 0x8001_ff40, 0x0101_0101] {
            let there = |place: u32| flags >> (8 * place) & 0xff != 0;
            let wide = |place: u32, bits: u32| if there(place) { (1 << bits) - 1 } else { 0 };
            let four = (0..4).fold(0, |word, place| word | wide(place, 8) << (8 * place));
            let eight = [0, 2].map(|first| wide(first, 16) | wide(first + 1, 16) << 16);
            assert_eq!(Dual4::present(u32::MAX, flags), four);
            assert_eq!(Single4::present(0xffff, flags & 0xffff), four & 0xffff);
            assert_eq!(Dual8::present([u32::MAX; 2], flags), eight);
            assert_eq!(Single8::present(u32::MAX, flags & 0xffff), eight[0]);
        }
    }
}
