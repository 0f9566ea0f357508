//! Packed ADC samples: two's complement of 2 to 16 bits, big-endian, no padding between samples.
//!
//! Sample `i` of `b` bits occupies bits `i b .. (i + 1) b` of the buffer, counted from the most significant bit of byte
//! 0.

use crate::TypesError;

/// Bytes of that many samples.
pub(crate) fn bytes_for(samples: usize, bits: u32) -> Result<usize, TypesError> {
    if !(2..=16).contains(&bits) {
        return Err(TypesError::PackedBits { actual: bits });
    }
    samples
        .checked_mul(bits as usize)
        .map(|total| total.div_ceil(8))
        .ok_or(TypesError::TooLarge { array: "packed samples", elements: samples.to_string() })
}

/// Packs samples of `bits` bits; the last byte is filled with zero bits.
///
/// # Errors
/// [`TypesError::PackedBits`] unless `bits` is 2 to 16, [`TypesError::PackedValue`] for a value that does not fit.
pub fn pack_samples(samples: &[i16], bits: u32) -> Result<Vec<u8>, TypesError> {
    let mut bytes = vec![0u8; bytes_for(samples.len(), bits)?];
    let low = -(1i32 << (bits - 1));
    for (index, &value) in samples.iter().enumerate() {
        if !(low..-low).contains(&i32::from(value)) {
            return Err(TypesError::PackedValue { bits, actual: value, index });
        }
        for bit in 0..bits {
            if (value >> (bits - 1 - bit)) & 1 != 0 {
                let position = index * bits as usize + bit as usize;
                bytes[position / 8] |= 0x80 >> (position % 8);
            }
        }
    }
    Ok(bytes)
}

/// Unpacks `samples` samples of `bits` bits.
///
/// # Errors
/// [`TypesError::PackedBits`] unless `bits` is 2 to 16, [`TypesError::PackedLength`] if the buffer is too short.
pub fn unpack_samples(bytes: &[u8], bits: u32, samples: usize) -> Result<Vec<i16>, TypesError> {
    let expected = bytes_for(samples, bits)?;
    if bytes.len() < expected {
        return Err(TypesError::PackedLength { samples, bits, expected, actual: bytes.len() });
    }
    let byte = |index: usize| u32::from(bytes.get(index).copied().unwrap_or(0));
    Ok((0..samples)
        .map(|index| {
            let start = index * bits as usize;
            // A sample of up to 16 bits that starts anywhere in a byte lies within three bytes.
            let word = (byte(start / 8) << 24) | (byte(start / 8 + 1) << 16) | (byte(start / 8 + 2) << 8);
            (((word << (start % 8)) as i32) >> (32 - bits)) as i16
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_bits_are_big_endian() {
        assert_eq!(pack_samples(&[1, -1, 0, -512], 10).unwrap(), [0x00, 0x7f, 0xf0, 0x02, 0x00]);
    }

    #[test]
    fn bad_sizes_are_errors() {
        assert_eq!(pack_samples(&[0], 1), Err(TypesError::PackedBits { actual: 1 }));
        assert_eq!(pack_samples(&[512], 10), Err(TypesError::PackedValue { bits: 10, actual: 512, index: 0 }));
        assert_eq!(
            unpack_samples(&[0; 4], 10, 4),
            Err(TypesError::PackedLength { samples: 4, bits: 10, expected: 5, actual: 4 })
        );
        assert!(unpack_samples(&[], 16, usize::MAX).is_err());
    }

    proptest! {
        #[test]
        fn unpacking_undoes_packing(bits in 2u32..=16, values in prop::collection::vec(any::<i16>(), 0..50)) {
            let values: Vec<i16> = values.iter().map(|v| v >> (16 - bits)).collect();
            let bytes = pack_samples(&values, bits).unwrap();
            prop_assert_eq!(unpack_samples(&bytes, bits, values.len()).unwrap(), values);
        }
    }
}
