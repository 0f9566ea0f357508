//! f32 as two tf32: `x = hi + lo`, for products on the tensor cores.
//!
//! `hi` is `x` rounded to 11 significant bits (half a unit away from zero), so that `|lo| <= 2^-11 |x|` and of either
//! sign. The difference is exact, and has at most 12 significant bits; the tensor cores cut it to 11, which loses at
//! most `2^-23 |x|` of either sign. Of the product `(hi + lo) (hi' + lo')` the kernels leave out `lo lo'`, at most
//! `2^-22 |x x'|`.
//!
//! Magnitudes: `x` below `2^128 - 2^116`; below `2^-115` lo is a subnormal tf32 or lost.

/// Adds half of the last place of tf32.
const HALF: u32 = 0x1000;

/// The bits of tf32.
const MASK: u32 = 0xffff_e000;

/// The sign.
pub(crate) const SIGN: u32 = 0x8000_0000;

/// `hi` and `lo` of `x`, as the tensor cores take them.
#[inline(always)]
pub(crate) fn split(x: f32) -> (u32, u32) {
    let hi = x.to_bits().wrapping_add(HALF) & MASK;
    (hi, (x - f32::from_bits(hi)).to_bits())
}

/// Row of eight rows whose samples lane group `group` (`lane / 4`) loads.
///
/// A lane loads 8 bytes at chunk `2 k + lane % 4 / 2`. Half a warp has four groups; their rows differ in the bits of
/// the row that decide between pairs of chunks, so that it reads 128 bytes in different banks. Rows and columns of a
/// product may come in any order.
#[inline(always)]
pub(crate) const fn row_of_group(group: u32) -> u32 {
    2 * (group % 4) + group / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hi_and_lo_are_the_number_and_lo_is_small() {
        let mut bits = 0x3f80_0000u32;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
            let x = f32::from_bits(bits & 0xbfff_ffff | 0x2000_0000);
            let (hi, lo) = split(x);
            let (hi_value, lo_value) = (f64::from(f32::from_bits(hi)), f64::from(f32::from_bits(lo)));
            assert_eq!(hi & !MASK, 0);
            assert_eq!(hi_value + lo_value, f64::from(x));
            assert!(lo_value.abs() <= f64::from(x).abs() * 2f64.powi(-11));
            // What tf32 keeps of lo.
            let cut = f64::from(f32::from_bits(lo & MASK));
            assert!((lo_value - cut).abs() <= f64::from(x).abs() * 2f64.powi(-23), "{x:e}");
        }
    }

    #[test]
    fn rows_of_groups_are_all_rows() {
        let mut rows: [u32; 8] = core::array::from_fn(|group| row_of_group(group as u32));
        for half in rows.chunks(4) {
            let pairs: u32 = half.iter().map(|row| 1 << (row / 2)).sum();
            assert_eq!(pairs, 0b1111);
        }
        rows.sort_unstable();
        assert_eq!(rows, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
