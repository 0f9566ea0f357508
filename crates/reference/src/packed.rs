//! Packed ADC samples: two's complement of 2 to 16 bits, big-endian, no padding between samples.
//!
//! Sample `i` of `b` bits is bits `i b .. (i + 1) b` of the buffer, counted from the most significant bit of byte 0.
//! Its first bit is worth `-2^(b-1)`, the next `2^(b-2)`, and so on to 1.

/// Sample `index` of packed samples of `bits` bits.
///
/// # Panics
/// If the buffer ends before it.
pub fn sample(bytes: &[u8], bits: usize, index: usize) -> f64 {
    let mut value = 0.0;
    for bit in 0..bits {
        let position = index * bits + bit;
        let set = bytes[position / 8] >> (7 - position % 8) & 1;
        let worth = 2f64.powi((bits - 1 - bit) as i32);
        value += f64::from(set) * if bit == 0 { -worth } else { worth };
    }
    value
}

/// The first `count` samples.
///
/// # Panics
/// If the buffer is shorter.
pub fn decode(bytes: &[u8], bits: usize, count: usize) -> Vec<f64> {
    (0..count).map(|index| sample(bytes, bits, index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_8_bit_samples_and_pairs_of_bytes_16_bit_ones() {
        let bytes = [0x00, 0x01, 0x7f, 0xff, 0x80, 0x00];
        assert_eq!(decode(&bytes, 8, 6), [0.0, 1.0, 127.0, -1.0, -128.0, 0.0]);
        assert_eq!(decode(&bytes, 16, 3), [1.0, 32767.0, -32768.0]);
    }

    #[test]
    fn samples_lie_across_bytes_most_significant_bit_first() {
        // 0000000001 1111111111 0000000000 1000000000 and 8 bits of nothing.
        assert_eq!(decode(&[0x00, 0x7f, 0xf0, 0x02, 0x00, 0xff], 10, 4), [1.0, -1.0, 0.0, -512.0]);
        // 001 111 100 011 ...
        assert_eq!(decode(&[0b0011_1110, 0b0011_0000], 3, 4), [1.0, -1.0, -4.0, 3.0]);
        assert_eq!(decode(&[0b0110_1100], 2, 4), [1.0, -2.0, -1.0, 0.0]);
    }

    #[test]
    fn every_code_of_12_bits_is_its_value() {
        for code in -2048i32..2048 {
            // The code at an odd place, after 4 other bits.
            let word = 0xf000_0000u32 | ((code as u32 & 0xfff) << 16);
            let bits: Vec<u8> = (0..24).map(|bit| (word >> (31 - bit) & 1) as u8).collect();
            let shifted: Vec<u8> =
                bits[4..20].chunks(8).map(|byte| byte.iter().fold(0, |byte, bit| byte << 1 | bit)).collect();
            assert_eq!(sample(&shifted, 12, 0), f64::from(code));
        }
    }
}
