//! Voltages in LSB to samples.

use fringes_types::Sample;
use pulp::{Arch, NullaryFnOnce};

/// `x + MAGIC` has `round_half_to_even(x)` in its lowest 16 bits, in two's complement, for `|x| < 2^15`.
const MAGIC: f32 = 12_582_912.0;

mod sealed {
    pub trait Sealed {}
    impl Sealed for i8 {}
    impl Sealed for i16 {}
    impl Sealed for f32 {}
}

/// Formats that a digitiser gives: `i8`, `i16` and `f32` (which is not rounded).
pub trait AdcSample: Sample + Default + sealed::Sealed {
    /// Digitises voltages in LSB; returns how many were clamped.
    #[doc(hidden)]
    fn digitise(voltages: &[f32], out: &mut [Self]) -> u64;
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl AdcSample for $integer {
            fn digitise(voltages: &[f32], out: &mut [Self]) -> u64 {
                round(voltages, out, <$integer>::MIN.into(), <$integer>::MAX.into(), |bits| bits as $integer)
            }
        }
    )*};
}
integers!(i8, i16);

impl AdcSample for f32 {
    fn digitise(voltages: &[f32], out: &mut [Self]) -> u64 {
        for (out, &voltage) in out.iter_mut().zip(voltages) {
            *out = voltage;
        }
        0
    }
}

/// Codes of `bits` bits.
pub(crate) fn digitise_bits(voltages: &[f32], out: &mut [i16], bits: u32) -> u64 {
    let half = (1u32 << (bits - 1)) as f32;
    round(voltages, out, -half, half - 1.0, |bits| bits as i16)
}

fn round<T>(voltages: &[f32], out: &mut [T], low: f32, high: f32, code: impl Fn(u32) -> T) -> u64 {
    Arch::new().dispatch(Round { voltages, out, low, high, code })
}

struct Round<'a, T, F> {
    voltages: &'a [f32],
    out: &'a mut [T],
    low: f32,
    high: f32,
    code: F,
}

impl<T, F: Fn(u32) -> T> NullaryFnOnce for Round<'_, T, F> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let Self { voltages, out, low, high, code } = self;
        // The highest code is odd and the lowest even: what lies halfway is rounded past the former, to the latter.
        let (under, over) = (low - 0.5, high + 0.5);
        let mut clamped = 0;
        for (out, voltages) in out.chunks_mut(1024).zip(voltages.chunks(1024)) {
            let mut count = 0u32;
            for (out, &voltage) in out.iter_mut().zip(voltages) {
                count += u32::from((voltage < under) | (voltage >= over));
                let voltage = if voltage < low { low } else { voltage };
                let voltage = if voltage > high { high } else { voltage };
                *out = code((voltage + MAGIC).to_bits());
            }
            clamped += u64::from(count);
        }
        clamped
    }
}

/// Packs codes of `bits` bits, big-endian, into rows that begin at a whole byte. What is left of the last byte is 0.
pub(crate) fn pack(codes: &[i16], bits: u32, bytes: &mut [u8]) {
    match bits {
        2 => pack_bits::<2>(codes, bytes),
        3 => pack_bits::<3>(codes, bytes),
        4 => pack_bits::<4>(codes, bytes),
        5 => pack_bits::<5>(codes, bytes),
        6 => pack_bits::<6>(codes, bytes),
        7 => pack_bits::<7>(codes, bytes),
        8 => pack_bits::<8>(codes, bytes),
        9 => pack_bits::<9>(codes, bytes),
        10 => pack_bits::<10>(codes, bytes),
        11 => pack_bits::<11>(codes, bytes),
        12 => pack_bits::<12>(codes, bytes),
        13 => pack_bits::<13>(codes, bytes),
        14 => pack_bits::<14>(codes, bytes),
        15 => pack_bits::<15>(codes, bytes),
        _ => pack_bits::<16>(codes, bytes),
    }
}

/// Eight samples are `BITS` bytes.
fn pack_bits<const BITS: usize>(codes: &[i16], bytes: &mut [u8]) {
    let (eights, rest) = codes.as_chunks::<8>();
    let (whole, last) = bytes.split_at_mut(eights.len() * BITS);
    for (codes, bytes) in eights.iter().zip(whole.as_chunks_mut::<BITS>().0) {
        pack_eight(codes, bytes);
    }
    if !rest.is_empty() {
        let (mut codes, mut bytes) = ([0; 8], [0; BITS]);
        codes[..rest.len()].copy_from_slice(rest);
        pack_eight(&codes, &mut bytes);
        let count = last.len().min(BITS);
        last[..count].copy_from_slice(&bytes[..count]);
    }
}

#[inline(always)]
fn pack_eight<const BITS: usize>(codes: &[i16; 8], bytes: &mut [u8; BITS]) {
    let mask = (1u64 << BITS) - 1;
    let code = |index: usize| codes[index] as u64 & mask;
    // Two and two side by side, not one after the other: half of the steps.
    let two = |index: usize| (code(index) << BITS) | code(index + 1);
    let four = |index: usize| (two(index) << (2 * BITS)) | two(index + 2);
    let (high, low) = (four(0), four(4));
    if BITS.is_multiple_of(2) {
        // Four samples are whole bytes.
        let unused = 64 - 4 * BITS;
        let (first, second) = bytes.split_at_mut(BITS / 2);
        first.copy_from_slice(&(high << unused).to_be_bytes()[..BITS / 2]);
        second.copy_from_slice(&(low << unused).to_be_bytes()[..BITS / 2]);
    } else {
        let word = ((u128::from(high) << (4 * BITS)) | u128::from(low)) << (128 - 8 * BITS);
        bytes.copy_from_slice(&word.to_be_bytes()[..BITS]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fringes_types::pack_samples;

    #[test]
    fn codes_are_rounded_half_to_even_clamped_and_counted() {
        let voltages = [0.5, 1.5, -0.5, -1.5, 126.5, 127.49, 127.5, -128.5, -128.51, 1e30, -1e30, f32::INFINITY];
        let mut out = [0i8; 12];
        assert_eq!(i8::digitise(&voltages, &mut out), 5);
        assert_eq!(out, [0, 2, 0, -2, 126, 127, 127, -128, -128, 127, -128, 127]);
        for value in -40_000..40_000 {
            let voltage = value as f32 + 0.25;
            let mut out = [0i16];
            let clamped = i16::digitise(&[voltage], &mut out);
            assert_eq!(i32::from(out[0]), value.clamp(-32768, 32767));
            assert_eq!(clamped, u64::from(!(-32768..=32767).contains(&value)), "{value}");
        }
        let mut out = [0i16; 12];
        assert_eq!(digitise_bits(&voltages, &mut out, 2), 9);
        assert_eq!(out, [0, 1, 0, -2, 1, 1, 1, -2, -2, 1, -2, 1]);
    }

    #[test]
    fn packed_bits_are_those_of_the_types_crate() {
        for bits in 2..=16 {
            for count in [0, 1, 3, 7, 8, 9, 100] {
                let codes: Vec<i16> =
                    (0..count).map(|k: i32| (k.wrapping_mul(-1_640_531_527) >> 16) as i16 >> (16 - bits)).collect();
                let expected = pack_samples(&codes, bits).unwrap();
                let mut bytes = vec![0xa5; expected.len()];
                pack(&codes, bits, &mut bytes);
                assert_eq!(bytes, expected, "{bits} bits, {count} samples");
            }
        }
    }
}
