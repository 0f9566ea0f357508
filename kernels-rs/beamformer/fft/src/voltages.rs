//! Voltages of two neighbouring feeds, both polarisations: how they are loaded, and as f16.
//!
//! | type | two polarisations in memory, feeds `a` and `b`, polarisations `x` and `y` | one polarisation |
//! |---|---|---|
//! | [`Four`] | `ax ay bx by` | `a b` |
//! | [`Eight`] | `ax.re ax.im ay.re ay.im  bx.re bx.im by.re by.im` | `a.re a.im b.re b.im` |
//!
//! Registers hold the bytes as two polarisations have them; with one polarisation, `y` is zero.

use fringes_device::Global;
use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::{add_rn_f16x2, fma_rn_f16x2};

/// Two f16, -1 and 1.
const CONJUGATE: u32 = 0x3c00_bc00;

/// A format of voltages.
pub trait Voltages {
    /// Bytes of a voltage.
    const BYTES: usize;
    /// The voltages of two feeds; all bits zero is a voltage of zero.
    type Pair: Copy;

    /// Loads two feeds of two polarisations.
    ///
    /// # Safety
    /// They are in the view, at a multiple of their bytes.
    unsafe fn dual(voltages: Global<u8>, byte: usize) -> Self::Pair;

    /// Loads two feeds of one polarisation.
    ///
    /// # Safety
    /// They are in the view, at a multiple of their bytes.
    unsafe fn single(voltages: Global<u8>, byte: usize) -> Self::Pair;

    /// Loads one voltage.
    ///
    /// # Safety
    /// It is in the view, at a multiple of [`BYTES`](Self::BYTES).
    unsafe fn one(voltages: Global<u8>, byte: usize) -> u32;

    /// Two feeds from the bytes of their voltages, the first in the lowest bits.
    fn pair(bytes: u64) -> Self::Pair;

    /// The voltages whose flags, bytes `ax ay bx by`, are not zero.
    fn present(pair: Self::Pair, flags: u32) -> Self::Pair;

    /// The voltages of a polarisation, in the place of the first.
    fn pol(pair: Self::Pair, pol: u32) -> Self::Pair;

    /// A voltage of the first polarisation as f16, the real part in the low half, and it times i.
    ///
    /// # Precision
    /// Exact.
    fn turned(pair: Self::Pair, feed: usize) -> [u32; 2];
}

/// A byte of 4+4 bits of a word, as f16 and times i.
///
/// With its highest bit flipped a nibble is 8 more than its value. In bits 4 to 7 of an f16 of 64, whose bit 4 counts
/// 1, it makes 72 more than its value; in bits 0 to 3 of an f16 of 1024 it makes 1032 more. The byte is copied to both
/// halves, and each masks one nibble.
#[inline(always)]
fn nibbles(word: u32, byte: u32) -> [u32; 2] {
    let both = prmt_b32(word, 0, 0x4040 + 0x0101 * byte);
    // (x & mask) ^ flip: exponents of 1024 and 64, and the highest bits of the nibbles.
    let value = lop3_b32::<0x6a>(both, 0x000f_00f0, 0x6408_5480);
    let swapped = lop3_b32::<0x6a>(both, 0x00f0_000f, 0x5480_6408);
    [add_rn_f16x2(value, 0xe408_d480), fma_rn_f16x2(swapped, CONJUGATE, 0xd480_6408)]
}

/// The low bytes of a word, whose sign bits are flipped, as f16 and times i.
///
/// Such a byte is 128 more than its value; behind the byte 0x64 it is an f16 of 1024 more than that.
#[inline(always)]
fn bytes(flipped: u32) -> [u32; 2] {
    const EXPONENT: u32 = 0x6464_6464;
    let value = prmt_b32(flipped, EXPONENT, 0x4140);
    let swapped = prmt_b32(flipped, EXPONENT, 0x4041);
    [add_rn_f16x2(value, 0xe480_e480), fma_rn_f16x2(swapped, CONJUGATE, 0xe480_6480)]
}

/// All bits of bytes that are not zero, chosen by `selector` as `prmt` does with the copying of signs.
#[inline(always)]
fn mask(flags: u32, selector: u32) -> u32 {
    let high = ((flags & 0x7f7f_7f7f) + 0x7f7f_7f7f) | flags;
    prmt_b32(high, 0, selector)
}

/// 4+4 bits.
pub enum Four {}

impl Voltages for Four {
    const BYTES: usize = 1;
    type Pair = u32;

    #[inline(always)]
    unsafe fn dual(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.cast::<u32>().load(byte / 4)
    }

    #[inline(always)]
    unsafe fn single(voltages: Global<u8>, byte: usize) -> u32 {
        prmt_b32(voltages.cast::<u16>().load(byte / 2).into(), 0, 0x4140)
    }

    #[inline(always)]
    unsafe fn one(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.load(byte).into()
    }

    #[inline(always)]
    fn pair(bytes: u64) -> u32 {
        bytes as u32
    }

    #[inline(always)]
    fn present(pair: u32, flags: u32) -> u32 {
        pair & mask(flags, 0xba98)
    }

    #[inline(always)]
    fn pol(pair: u32, pol: u32) -> u32 {
        pair >> (8 * pol)
    }

    #[inline(always)]
    fn turned(pair: u32, feed: usize) -> [u32; 2] {
        nibbles(pair, 2 * feed as u32)
    }
}

/// 8 bits.
pub enum Eight {}

impl Voltages for Eight {
    const BYTES: usize = 2;
    type Pair = [u32; 2];

    #[inline(always)]
    unsafe fn dual(voltages: Global<u8>, byte: usize) -> [u32; 2] {
        voltages.cast::<[u32; 2]>().load(byte / 8)
    }

    #[inline(always)]
    unsafe fn single(voltages: Global<u8>, byte: usize) -> [u32; 2] {
        let both = voltages.cast::<u32>().load(byte / 4);
        [both & 0xffff, both >> 16]
    }

    #[inline(always)]
    unsafe fn one(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.cast::<u16>().load(byte / 2).into()
    }

    #[inline(always)]
    fn pair(bytes: u64) -> [u32; 2] {
        [bytes as u32, (bytes >> 32) as u32]
    }

    #[inline(always)]
    fn present(pair: [u32; 2], flags: u32) -> [u32; 2] {
        [pair[0] & mask(flags, 0x9988), pair[1] & mask(flags, 0xbbaa)]
    }

    #[inline(always)]
    fn pol(pair: [u32; 2], pol: u32) -> [u32; 2] {
        [pair[0] >> (16 * pol), pair[1] >> (16 * pol)]
    }

    #[inline(always)]
    fn turned(pair: [u32; 2], feed: usize) -> [u32; 2] {
        bytes(pair[feed] ^ 0x8080)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fringes_emulator::{GlobalMemory, Launch};
    use half::f16;

    /// Instructions run in a launch.
    fn launched(test: impl Fn()) {
        Launch::new("test()", [1; 3], [1; 3]).run(&mut GlobalMemory::new(), test).assert_clean();
    }

    fn halves(word: u32) -> [f64; 2] {
        [word as u16, (word >> 16) as u16].map(|bits| f16::from_bits(bits).to_f64())
    }

    #[test]
    fn every_4_bit_voltage_is_exact_in_every_place() {
        launched(|| {
            for byte in 0..=255u8 {
                let (re, im) = (f64::from(byte as i8 >> 4), f64::from((byte << 4) as i8 >> 4));
                for place in 0..4 {
                    // Other bytes hold other bits.
                    let word = u32::from(byte) << (8 * place) | !(0xff << (8 * place));
                    let [value, turned] =
                        Four::turned(Four::pol(Four::pair(word.into()), place % 2), place as usize / 2);
                    assert_eq!((halves(value), halves(turned)), ([re, im], [-im, re]));
                }
            }
        });
    }

    #[test]
    fn every_8_bit_voltage_is_exact_in_every_place() {
        launched(|| {
            for re in -128..=127i8 {
                for im in -128..=127i8 {
                    let sample = u64::from(re as u8) | u64::from(im as u8) << 8;
                    for place in 0..4 {
                        let pair = Eight::pair(sample << (16 * place) | !(0xffff << (16 * place)));
                        let [value, turned] = Eight::turned(Eight::pol(pair, place % 2), place as usize / 2);
                        let (re, im) = (f64::from(re), f64::from(im));
                        assert_eq!((halves(value), halves(turned)), ([re, im], [-im, re]));
                    }
                }
            }
        });
    }

    #[test]
    fn voltages_with_flags_of_zero_become_zero() {
        launched(|| {
            for flags in [0u32, 1, 0x0100, 0x0001_0000, 0x0100_0000, 0x8001_ff40, 0x0101_0101] {
                let there = |place: u32| flags >> (8 * place) & 0xff != 0;
                let wide = |place: u32, bits: u32| if there(place) { (1u64 << bits) - 1 } else { 0 };
                let bytes = |bits: u32| (0..4).fold(0, |word, place| word | wide(place, bits) << (bits * place));
                assert_eq!(Four::present(u32::MAX, flags), Four::pair(bytes(8)));
                assert_eq!(Eight::present([u32::MAX; 2], flags), Eight::pair(bytes(16)));
            }
        });
    }
}
