//! Coarse shift: `y[input][n] = x[input][n - coarse[input]]`, zero where `x` has no sample.

use bytemuck::Zeroable;
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::memory::zeroed_vec;

/// Where the samples of a row go: samples `from ..` of `x`, `length` of them, become samples `to ..` of `y`.
fn overlap(from_times: usize, to_times: usize, coarse: i64) -> (usize, usize, usize) {
    let late = usize::try_from(coarse.unsigned_abs()).unwrap_or(usize::MAX);
    let (from, to) = if coarse >= 0 { (0, late.min(to_times)) } else { (late.min(from_times), 0) };
    (from, to, (from_times - from).min(to_times - to))
}

/// Rows of `times` samples, each late by its delay.
///
/// # Panics
/// If there is not one delay a row.
pub fn coarse_shift<T: Zeroable + Copy + Send + Sync>(
    samples: ArrayView2<'_, T>,
    coarse: &[i64],
    times: usize,
) -> Array2<T> {
    assert_eq!(samples.nrows(), coarse.len(), "one delay a row");
    let mut shifted = zeroed_vec::<T>(coarse.len() * times);
    if times > 0 {
        shifted.par_chunks_mut(times).enumerate().for_each(|(input, y)| {
            let x = samples.index_axis(Axis(0), input);
            let (from, to, length) = overlap(x.len(), times, coarse[input]);
            match x.as_slice() {
                Some(x) => y[to..to + length].copy_from_slice(&x[from..from + length]),
                None => y[to..to + length].iter_mut().zip(x.iter().skip(from)).for_each(|(y, x)| *y = *x),
            }
        });
    }
    Array2::from_shape_vec((coarse.len(), times), shifted).expect("rows of as many samples")
}

/// As [`coarse_shift`], of rows `[input][byte]` of `from_times` packed samples of `bits` bits; bits behind the last
/// sample are 0.
///
/// # Panics
/// If there is not one delay a row, or rows are too short.
pub fn coarse_shift_packed(
    samples: ArrayView2<'_, u8>,
    bits: u32,
    from_times: usize,
    coarse: &[i64],
    times: usize,
) -> Array2<u8> {
    assert_eq!(samples.nrows(), coarse.len(), "one delay a row");
    let bits = bits as usize;
    assert!((from_times * bits).div_ceil(8) <= samples.ncols(), "bytes of a row");
    let bytes = (times * bits).div_ceil(8);
    let mut shifted = zeroed_vec::<u8>(coarse.len() * bytes);
    if bytes > 0 {
        shifted.par_chunks_mut(bytes).enumerate().for_each(|(input, y)| {
            let row = samples.index_axis(Axis(0), input);
            let (from, to, length) = overlap(from_times, times, coarse[input]);
            let copied;
            let row = match row.as_slice() {
                Some(row) => row,
                None => {
                    copied = row.to_vec();
                    &copied
                }
            };
            copy_bits(row, from * bits, y, to * bits, length * bits);
        });
    }
    Array2::from_shape_vec((coarse.len(), bytes), shifted).expect("rows of as many bytes")
}

/// Copies `length` bits, the most significant one of a byte first, into zeros.
fn copy_bits(from: &[u8], first: usize, to: &mut [u8], at: usize, length: usize) {
    if length == 0 {
        return;
    }
    let end = at + length;
    let (low, high) = (at / 8, end.div_ceil(8));
    let byte = |index: i64| usize::try_from(index).ok().and_then(|index| from.get(index)).copied().unwrap_or(0);
    // Bit `first - at` of the source becomes bit 0 of the target.
    let distance = first as i64 - at as i64;
    let (skip, shift) = (distance.div_euclid(8), distance.rem_euclid(8) as u32);
    let mut index = low;
    while index < high {
        let start = index as i64 + skip;
        let source = usize::try_from(start).ok().and_then(|start| from.get(start..start + 9));
        if let (Some(source), Some(to)) = (source, to.get_mut(index..index + 8))
            && index + 8 <= high
        {
            let mut word = [0; 8];
            word.copy_from_slice(&source[..8]);
            let word = u64::from_be_bytes(word) << shift | u64::from(source[8]) >> (8 - shift);
            to.copy_from_slice(&word.to_be_bytes());
            index += 8;
        } else {
            let pair = u16::from_be_bytes([byte(start), byte(start + 1)]);
            to[index] = ((pair << shift) >> 8) as u8;
            index += 1;
        }
    }
    to[low] &= 0xff >> (at % 8);
    if !end.is_multiple_of(8) {
        to[high - 1] &= !(0xff >> (end % 8));
    }
}
