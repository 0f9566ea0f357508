//! Packed samples as a source of the filter: two's complement of 2 to 16 bits, big-endian, decoded as they are read.
//!
//! Eight samples of `b` bits are `b` bytes, so the bits of the eight lie at constant places:
//!
//! ```text
//! b = 10   byte   0        1        2        3        4
//!                 00000000 00111111 11112222 22222233 33333333 ...
//! ```
//!
//! A sample is within the four bytes from its first one on: they are loaded as a big-endian word, shifted left until
//! the sample's sign is the word's, and right again.

use ndarray::ArrayView2;

use super::source::SampleSource;

/// Bytes that the decoding of eight samples may look at: 14 to the last sample's first byte, and 4 from there on.
const WINDOW: usize = 18;

/// Rows `[input][byte]` of packed samples as a source; position 0 is the first sample.
#[derive(Debug, Clone, Copy)]
pub struct PackedSource<'a> {
    bytes: ArrayView2<'a, u8>,
    bits: u32,
    times: usize,
}

impl<'a> PackedSource<'a> {
    /// A source that reads `times` samples of `bits` bits of each row.
    ///
    /// # Panics
    /// Unless `bits` is 2 to 16 and the rows are long enough.
    pub fn new(bytes: ArrayView2<'a, u8>, bits: u32, times: usize) -> Self {
        assert!((2..=16).contains(&bits), "{bits} bits");
        assert!(
            times.checked_mul(bits as usize).is_some_and(|total| total.div_ceil(8) <= bytes.ncols()),
            "bytes of a row"
        );
        Self { bytes, bits, times }
    }
}

impl SampleSource for PackedSource<'_> {
    #[inline]
    fn fill(&self, input: usize, start: i64, out: &mut [f32]) {
        // The part of `out` that the row covers: samples `low .. high` of `out`, from `first` of the row on.
        let wanted = out.len() as i64;
        let low = start.saturating_neg().clamp(0, wanted) as usize;
        let high = (self.times as i64).saturating_sub(start).clamp(low as i64, wanted) as usize;
        out[..low].fill(0.0);
        out[high..].fill(0.0);
        if high == low {
            return;
        }
        let (first, out) = (start.max(0) as usize, &mut out[low..high]);
        let row = self.bytes.row(input);
        if let Some(row) = row.as_slice() {
            decode(row, self.bits, first, out);
        } else {
            let row = |index: usize| row.get(index).copied().unwrap_or(0);
            out.iter_mut().zip(first..).for_each(|(value, index)| *value = one(row, self.bits as usize, index));
        }
    }
}

/// Sample `index` of the bytes that `byte` gives.
#[inline(always)]
fn one(byte: impl Fn(usize) -> u8, bits: usize, index: usize) -> f32 {
    let start = index * bits;
    let word = u32::from_be_bytes([byte(start / 8), byte(start / 8 + 1), byte(start / 8 + 2), 0]);
    (((word << (start % 8)) as i32) >> (32 - bits)) as f32
}

/// Decodes the samples from `first` on, as many as `out` holds.
fn decode(bytes: &[u8], bits: u32, first: usize, out: &mut [f32]) {
    match bits {
        2 => decode_bits::<2>(bytes, first, out),
        3 => decode_bits::<3>(bytes, first, out),
        4 => decode_bits::<4>(bytes, first, out),
        5 => decode_bits::<5>(bytes, first, out),
        6 => decode_bits::<6>(bytes, first, out),
        7 => decode_bits::<7>(bytes, first, out),
        8 => decode_bits::<8>(bytes, first, out),
        9 => decode_bits::<9>(bytes, first, out),
        10 => decode_bits::<10>(bytes, first, out),
        11 => decode_bits::<11>(bytes, first, out),
        12 => decode_bits::<12>(bytes, first, out),
        13 => decode_bits::<13>(bytes, first, out),
        14 => decode_bits::<14>(bytes, first, out),
        15 => decode_bits::<15>(bytes, first, out),
        _ => decode_bits::<16>(bytes, first, out),
    }
}

fn decode_bits<const BITS: usize>(bytes: &[u8], first: usize, out: &mut [f32]) {
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    // Up to a multiple of eight samples one by one, then by eights for as long as there are enough bytes.
    let head = (first.next_multiple_of(8) - first).min(out.len());
    let (before, rest) = out.split_at_mut(head);
    before.iter_mut().zip(first..).for_each(|(value, index)| *value = one(byte, BITS, index));
    let mut place = first + head;
    let (eights, rest) = rest.as_chunks_mut::<8>();
    for values in eights {
        match bytes.get(place / 8 * BITS..).and_then(|bytes| bytes.first_chunk::<WINDOW>()) {
            Some(window) => *values = eight::<BITS>(window),
            None => values.iter_mut().zip(place..).for_each(|(value, index)| *value = one(byte, BITS, index)),
        }
        place += 8;
    }
    rest.iter_mut().zip(place..).for_each(|(value, index)| *value = one(byte, BITS, index));
}

/// Eight samples that begin with a byte.
#[inline(always)]
fn eight<const BITS: usize>(bytes: &[u8; WINDOW]) -> [f32; 8] {
    std::array::from_fn(|place| {
        let at = place * BITS / 8;
        let word = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (((word << (place * BITS % 8)) as i32) >> (32 - BITS)) as f32
    })
}

#[cfg(test)]
mod tests {
    use fringes_types::pack_samples;
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_stretch_of_any_width_is_what_was_packed(
            bits in 2u32..=16, values in prop::collection::vec(any::<i16>(), 0..200), start in -40i64..240, length in 0usize..220,
            strided in any::<bool>(),
        ) {
            let values: Vec<i16> = values.iter().map(|value| value >> (16 - bits)).collect();
            let bytes = pack_samples(&values, bits).unwrap();
            let bytes = Array2::from_shape_fn((2, bytes.len()), |(row, byte)| if row == 1 { bytes[byte] } else { 0x55 });
            let columns = bytes.t().as_standard_layout().into_owned();
            let view = if strided { columns.t() } else { bytes.view() };
            let mut out = vec![f32::NAN; length];
            PackedSource::new(view, bits, values.len()).fill(1, start, &mut out);
            for (place, value) in out.iter().enumerate() {
                let index = usize::try_from(start + place as i64).ok();
                let expected = index.and_then(|index| values.get(index)).copied().unwrap_or(0);
                prop_assert_eq!(*value, f32::from(expected));
            }
        }
    }
}
