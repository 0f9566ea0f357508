//! Dither of the quantiser, as `fringes_reference::dither`: Philox4x32-10 once a spectrum, and a mix of 32 bits for
//! each channel.

/// What the dithers of a spectrum's channels are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpectrumDither {
    a: u32,
    b: u32,
}

impl SpectrumDither {
    /// Of the spectrum with number `spectrum` of an input.
    pub(crate) fn new(seed: u64, spectrum: u64, input: u32) -> Self {
        let mut c = [spectrum as u32, (spectrum >> 32) as u32, input, 0];
        let mut key = [seed as u32, (seed >> 32) as u32];
        for _ in 0..10 {
            let (p, q) = (u64::from(c[0]) * 0xD251_1F53, u64::from(c[2]) * 0xCD9E_8D57);
            c = [(q >> 32) as u32 ^ c[1] ^ key[0], q as u32, (p >> 32) as u32 ^ c[3] ^ key[1], p as u32];
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        Self { a: c[0], b: c[1] }
    }

    /// Of a channel: real and imaginary part, exact.
    #[inline(always)]
    pub(crate) fn of(self, channel: u32) -> (f64, f64) {
        let folded = |a: u32, b: u32| {
            let product = u64::from(a) * u64::from(b);
            product as u32 ^ (product >> 32) as u32
        };
        let start = channel.wrapping_mul(0x9E37_79B9).wrapping_add(self.a);
        let h = folded(folded(start, 0x21F0_AAAD) ^ self.b, 0xD35A_2D97);
        let part = |n: u32| f64::from(n as i32) * (1.0 / 65536.0) + (0.5 / 65536.0 - 0.5);
        (part(h & 0xffff), part(h >> 16))
    }
}

#[cfg(test)]
mod tests {
    use fringes_reference::dither::dither;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_references(seed: u64, spectrum: u64, input: u32, channel: u32) {
            let expected = dither(seed, spectrum, input, channel);
            prop_assert_eq!(SpectrumDither::new(seed, spectrum, input).of(channel), (expected.re, expected.im));
        }
    }
}
