//! Voltages of two neighbouring feeds in a word, and as f16.
//!
//! | type | word |
//! |---|---|
//! | [`Four`] | bytes `a b 0 0`; in a byte the real part is high |
//! | [`Eight`] | bytes `a.re a.im b.re b.im` |

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::add_rn_f16x2;
use fringes_device::{Global, opaque};

/// A format of voltages.
pub trait Voltages {
    /// Bytes of a voltage.
    const BYTES: usize;

    /// Loads two neighbours at an address.
    ///
    /// # Safety
    /// They are in a view, at a multiple of their bytes.
    unsafe fn two(address: u64) -> u32;

    /// Loads one voltage.
    ///
    /// # Safety
    /// It is in the view, at a multiple of [`BYTES`](Self::BYTES).
    unsafe fn one(voltages: Global<u8>, byte: usize) -> u32;

    /// Real and imaginary parts of a voltage of `low` and of the same one of `high`: each part of both in a register.
    /// `which` says which of the neighbours; `signs` is [`OFFSET`] or [`SIGNED`] for [`Four`], and not used for
    /// [`Eight`].
    ///
    /// # Precision
    /// Exact.
    fn parts(low: u32, high: u32, which: usize, signs: u32) -> [u32; 2];
}

/// Nibbles are 8 more than their values.
pub const OFFSET: u32 = 0;
/// Nibbles are in two's complement.
pub const SIGNED: u32 = 0x0088_0088;

/// 4+4 bits.
///
/// A nibble that is 8 more than its value makes, in bits 4 to 7 of an f16 of 64 (whose bit 4 counts 1), 72 more than
/// its value; in bits 0 to 3 of an f16 of 1024 it makes 1032 more.
pub enum Four {}

impl Voltages for Four {
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn two(address: u64) -> u32 {
        let word: u32 = Global::<u16>::from_raw_parts(address, 1).load(0).into();
        // Else the compiler keeps 16 bits, and widens them at each use.
        opaque(word as i32) as u32
    }

    #[inline(always)]
    unsafe fn one(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.load(byte).into()
    }

    #[inline(always)]
    fn parts(low: u32, high: u32, which: usize, signs: u32) -> [u32; 2] {
        // Bytes 2 and 3 of a word are zero.
        let both = prmt_b32(low, high, if which == 0 { 0x2420 } else { 0x2521 });
        of_low_bytes(both, signs)
    }
}

impl Four {
    /// Both parts of voltage `byte` of four, the real one in the low half.
    ///
    /// # Precision
    /// Exact.
    #[inline(always)]
    pub fn number(bytes: u32, byte: u32, signs: u32) -> u32 {
        let both = prmt_b32(bytes, bytes, 0x1111 * byte);
        // (x & mask) ^ flips
        let number = lop3_b32::<0x6a>(both, 0x000f_00f0, 0x6400_5400 ^ (signs & 0x0008_0080));
        add_rn_f16x2(number, 0xe408_d480)
    }
}

/// Parts of the voltages of bytes 0 and 2; the others may be anything.
#[inline(always)]
fn of_low_bytes(both: u32, signs: u32) -> [u32; 2] {
    // (x & mask) ^ flips
    let re = lop3_b32::<0x6a>(both, 0x00f0_00f0, 0x5400_5400 ^ (signs & 0x0080_0080));
    let im = lop3_b32::<0x6a>(both, 0x000f_000f, 0x6400_6400 ^ (signs & 0x0008_0008));
    [add_rn_f16x2(re, 0xd480_d480), add_rn_f16x2(im, 0xe408_e408)]
}

/// 8 bits.
///
/// With its sign bit flipped a byte is 128 more than its value, and in the low bits of an f16 of 1024 it makes 1152
/// more.
pub enum Eight {}

impl Voltages for Eight {
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn two(address: u64) -> u32 {
        Global::<u32>::from_raw_parts(address, 1).load(0)
    }

    #[inline(always)]
    unsafe fn one(voltages: Global<u8>, byte: usize) -> u32 {
        voltages.cast::<u16>().load(byte / 2).into()
    }

    #[inline(always)]
    fn parts(low: u32, high: u32, which: usize, _: u32) -> [u32; 2] {
        let number = |bytes: u32| add_rn_f16x2(lop3_b32::<0x6a>(bytes, 0x00ff_00ff, 0x6480_6480), 0xe480_e480);
        // Bytes 1 and 3 of these are masked.
        let chosen = |byte: u32| number(prmt_b32(low, high, 0x0400 + 0x0101 * byte));
        [chosen(2 * which as u32), chosen(2 * which as u32 + 1)]
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
                let other = byte.wrapping_mul(37) ^ 0x5a;
                for (which, signs) in [(0, OFFSET), (1, OFFSET), (0, SIGNED), (1, SIGNED)] {
                    let number = |byte: u8| {
                        let byte = byte ^ if signs == OFFSET { 0x88 } else { 0 };
                        [f64::from(byte as i8 >> 4), f64::from((byte << 4) as i8 >> 4)]
                    };
                    // The neighbours are something else.
                    let word = |byte: u8| u32::from(byte) << (8 * which) | u32::from(!byte) << (8 - 8 * which);
                    let [re, im] = Four::parts(word(byte), word(other), which, signs).map(halves);
                    let [[low_re, low_im], [high_re, high_im]] = [byte, other].map(number);
                    assert_eq!((re, im), ([low_re, high_re], [low_im, high_im]));
                    // Of four, with others that are something else.
                    for place in 0..4 {
                        let four = u32::from_le_bytes([!byte; 4]) & !(0xff << (8 * place));
                        let found = Four::number(four | u32::from(byte) << (8 * place), place, signs);
                        assert_eq!(halves(found), [re[0], im[0]]);
                    }
                }
            }
        });
    }

    #[test]
    fn every_8_bit_voltage_is_exact_in_every_place() {
        launched(|| {
            for re in -128..=127i8 {
                for im in -128..=127i8 {
                    let other = [im.wrapping_add(3), re.wrapping_mul(5)];
                    for which in 0..2 {
                        let word = |[re, im]: [i8; 2]| {
                            let sample = u32::from(re as u8) | u32::from(im as u8) << 8;
                            sample << (16 * which) | (!sample & 0xffff) << (16 - 16 * which)
                        };
                        let [res, ims] = Eight::parts(word([re, im]), word(other), which, 0).map(halves);
                        assert_eq!(res, [f64::from(re), other[0].into()]);
                        assert_eq!(ims, [f64::from(im), other[1].into()]);
                    }
                }
            }
        });
    }
}
