//! How many spectra a frame has, and how they lie in it.

use num_complex::Complex;

use super::header::BYTES;
use crate::IoError;

/// How a VDIF file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VdifOptions {
    /// The station's two letters, the first in the high byte (`u16::from_be_bytes(*b"Ef")`), or a number below 12288.
    pub station: u16,
    /// Bits of a part of a voltage: 8, or 4 for parts from -8 to 7.
    pub bits: u32,
    /// Spectra of a frame: they divide the spectra of a second, and fill a multiple of 8 bytes. `None`: the most whose
    /// voltages fill 8192 bytes or less, else the fewest that can be.
    pub spectra_per_frame: Option<usize>,
}

impl VdifOptions {
    /// 8 bits, in frames whose length is chosen.
    pub fn new(station: u16) -> Self {
        Self { station, bits: 8, spectra_per_frame: None }
    }

    /// Checks the number of bits.
    pub(super) fn check(&self) -> Result<(), IoError> {
        if matches!(self.bits, 4 | 8) {
            return Ok(());
        }
        let actual = self.bits.to_string();
        Err(IoError::Vdif { quantity: "bits of a part of a voltage", expected: "4 or 8".into(), actual })
    }
}

/// Bytes of voltages that a frame has at most if nobody says how many spectra.
const CHOSEN_BYTES: u64 = 8192;
/// Frames a second that a header can number.
const MOST_FRAMES: u64 = 1 << 24;
/// Longest frame, in units of 8 bytes.
const MOST_UNITS: u64 = (1 << 24) - 1;

/// Bytes of so many spectra, if a frame of a stream of so many a second can have them: a whole number of frames a
/// second, a whole number of 8 bytes.
fn payload_bytes(spectra: u64, per_second: u64, spectrum_bits: u64) -> Option<u64> {
    let bits = spectra.checked_mul(spectrum_bits).filter(|bits| bits % 64 == 0)?;
    let whole = spectra > 0 && per_second.is_multiple_of(spectra) && per_second / spectra <= MOST_FRAMES;
    (whole && (u64::from(BYTES) + bits / 8) / 8 <= MOST_UNITS).then_some(bits / 8)
}

/// All numbers of spectra that a frame can have, ascending.
fn possible(per_second: u64, spectrum_bits: u64) -> Vec<u64> {
    let small = (1..).take_while(|divisor| divisor * divisor <= per_second);
    let divisors = small.filter(|divisor| per_second.is_multiple_of(*divisor));
    let mut all: Vec<u64> = divisors.flat_map(|divisor| [divisor, per_second / divisor]).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|&spectra| payload_bytes(spectra, per_second, spectrum_bits).is_some());
    all
}

/// Spectra of a frame, and bytes of their voltages; `per_second` is below 2^40.
pub(super) fn spectra_of_frame(
    asked: Option<usize>,
    per_second: u64,
    channels: usize,
    bits: u32,
) -> Result<(usize, usize), IoError> {
    let spectrum_bits = (channels as u64).saturating_mul(2 * u64::from(bits));
    let bytes = |spectra: u64| payload_bytes(spectra, per_second, spectrum_bits);
    let quantity = "spectra of a frame";
    let taken = match asked {
        Some(asked) => bytes(asked as u64).map(|_| asked as u64),
        None => {
            let all = possible(per_second, spectrum_bits);
            let short = all.iter().rfind(|&&spectra| bytes(spectra).is_some_and(|bytes| bytes <= CHOSEN_BYTES));
            short.or(all.first()).copied()
        }
    };
    if let Some((taken, bytes)) = taken.and_then(|taken| Some((taken, bytes(taken)?))) {
        // At most 2^27 bytes.
        return Ok((taken as usize, bytes as usize));
    }
    let all = possible(per_second, spectrum_bits);
    let rule = format!("a divisor of {per_second}, the spectra of a second, with a multiple of 8 bytes");
    let actual = asked.map_or("none".into(), |asked| asked.to_string());
    let asked = asked.map_or(0, |asked| asked as u64);
    let (below, above) = all.split_at(all.partition_point(|&spectra| spectra < asked));
    let near: Vec<_> = below.last().into_iter().chain(above.first()).map(u64::to_string).collect();
    let expected = if near.is_empty() {
        format!("{rule}; there is none for {channels} channels of {bits} bits")
    } else {
        format!("{rule}, such as {}", near.join(" or "))
    };
    Err(IoError::Vdif { quantity, expected, actual })
}

/// The byte of a zero.
pub(super) fn zero(bits: u32) -> u8 {
    if bits == 4 { 0x88 } else { 0x80 }
}

/// Puts a voltage into its bytes, one of 4 bits a part or two of 8.
#[inline]
pub(super) fn pack(value: Complex<i8>, bytes: &mut [u8]) {
    // Offset binary: the sign bit turned over.
    match bytes {
        [both] => *both = (value.re as u8 & 0xf ^ 0x8) | (value.im as u8 & 0xf ^ 0x8) << 4,
        [re, im] => [*re, *im] = [value.re as u8 ^ 0x80, value.im as u8 ^ 0x80],
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_a_whole_number_a_second_and_of_eight_bytes() {
        let of = |asked, per_second, channels, bits| spectra_of_frame(asked, per_second, channels, bits);
        // 4096 channels of 8 bits: a spectrum is 8192 bytes.
        assert_eq!(of(None, 250_000, 4096, 8).unwrap(), (1, 8192));
        // A spectrum is longer than what is chosen.
        assert_eq!(of(None, 1000, 1 << 16, 8).unwrap(), (1, 131_072));
        assert_eq!(of(None, 250_000, 64, 8).unwrap(), (50, 6400));
        // A spectrum of one channel has a byte, so that frames have multiples of 8 of them.
        assert_eq!(of(None, 1_000_000, 1, 4).unwrap(), (8000, 8000));
        assert_eq!(of(Some(8), 1_000_000, 1, 4).unwrap(), (8, 8));
        for (asked, per_second, channels, bits, words) in [
            (
                Some(3),
                250_000,
                64,
                8,
                "a divisor of 250000, the spectra of a second, with a multiple of 8 bytes, such as 2 or 4",
            ),
            (Some(1), 1_000_000, 1, 4, "such as 8"),
            (Some(4), 1_000_000, 1, 4, "such as 8"),
            (Some(usize::MAX), 250_000, 64, 8, "such as 250000"),
            (Some(0), 250_000, 64, 8, "such as 1"),
            // 7 spectra a second of 2 bytes.
            (None, 7, 1, 8, "there is none for 1 channels of 8 bits"),
            // Too many frames a second.
            (Some(1), 1 << 25, 64, 8, "such as 2"),
        ] {
            let error = of(asked, per_second, channels, bits).unwrap_err().to_string();
            assert!(error.starts_with("VDIF: spectra of a frame: expected ") && error.contains(words), "{error}");
        }
    }

    #[test]
    fn values_are_offset_binary_the_real_part_first() {
        let mut two = [0; 2];
        for (value, expected) in [((-128, 127), [0, 255]), ((0, -1), [128, 127]), ((5, -127), [133, 1])] {
            pack(Complex::new(value.0, value.1), &mut two);
            assert_eq!(two, expected);
        }
        let mut one = [0];
        for (value, expected) in [((-8, 7), 0xf0), ((0, -1), 0x78), ((5, -7), 0x1d)] {
            pack(Complex::new(value.0, value.1), &mut one);
            assert_eq!(one, [expected]);
        }
        for (bits, bytes) in [(4, 1), (8, 2)] {
            let mut of = [0; 2];
            pack(Complex::new(0, 0), &mut of[..bytes]);
            assert!(of[..bytes].iter().all(|&byte| byte == zero(bits)));
        }
    }
}
