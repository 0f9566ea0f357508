//! Rows of two's-complement samples, as GUPPI raw and PSRDADA hold them.
//!
//! A row is one sample of several streams or channels, which follow each other; a complex sample is its real part and
//! then its imaginary part. 16-bit numbers are little-endian.

use fringes_types::Complex;

use super::block::BlockData;

/// How samples are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integers {
    /// 8 or 16.
    pub(crate) bits: u32,
    /// Whether the band runs against the sky and is to be turned.
    pub(crate) inverted: bool,
}

impl Integers {
    /// The value of one number, and whether it was clamped. The bytes are those of one number.
    fn value(self, bytes: &[u8]) -> (f32, bool) {
        match *bytes {
            [0x80] => (-127.0, true),
            [byte] => (f32::from(byte as i8), false),
            [low, high] => (f32::from(i16::from_le_bytes([low, high])), false),
            _ => (0.0, false),
        }
    }

    /// Puts rows into a block. Item `i` of row `t` goes to `starts[i] + time + t`; `sample` is the number of row 0 in
    /// the recording. Returns how many samples were clamped.
    pub(crate) fn put_rows(
        self,
        bytes: &[u8],
        starts: &[Option<usize>],
        (time, sample): (usize, u64),
        data: &mut BlockData,
    ) -> u64 {
        let number = (self.bits / 8) as usize;
        let mut clamped = 0;
        match data {
            BlockData::Complex(data) => {
                let out = data.as_slice_mut().unwrap_or_default();
                for (row, items) in bytes.chunks_exact(2 * number * starts.len()).enumerate() {
                    for (item, start) in items.chunks_exact(2 * number).zip(starts) {
                        let Some(start) = start else { continue };
                        let ((re, re_clamped), (im, im_clamped)) =
                            (self.value(&item[..number]), self.value(&item[number..]));
                        out[start + time + row] = Complex::new(re, if self.inverted { -im } else { im });
                        clamped += u64::from(re_clamped || im_clamped);
                    }
                }
            }
            BlockData::Real(data) => {
                let out = data.as_slice_mut().unwrap_or_default();
                for (row, items) in bytes.chunks_exact(number * starts.len()).enumerate() {
                    let negate = self.inverted && (sample + row as u64) % 2 == 1;
                    for (item, start) in items.chunks_exact(number).zip(starts) {
                        let Some(start) = start else { continue };
                        let (value, was_clamped) = self.value(item);
                        out[start + time + row] = if negate { -value } else { value };
                        clamped += u64::from(was_clamped);
                    }
                }
            }
        }
        clamped
    }
}
