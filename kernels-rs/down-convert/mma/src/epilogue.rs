//! Sums of a block to outputs: a rotation and a scale for each row, and stores.

use fringes_device::{GlobalMut, Value, unroll};
use fringes_kernels_common::rotation::unit_approx;

/// Outputs of a lane of a row, at most.
pub(crate) const MOST: usize = 3;

/// What an output is stored as.
pub(crate) trait Output: Value {
    /// Whether each lane's pairs of outputs of rows that begin `skip` outputs before `out`, and `out_row` from input to
    /// input, can be stored together: they then begin at a multiple of their bytes.
    fn aligned(out: GlobalMut<Self>, skip: u32, out_row: u64) -> bool;

    /// Stores `count` outputs, those that the view has: of two and three the first ones at `place` and behind it,
    /// together where they [may](Self::aligned), of one and three the last one at `one`.
    ///
    /// # Safety
    /// No other thread stores them.
    unsafe fn store(out: GlobalMut<Self>, places: [u32; 2], values: &[[f32; 2]; MOST], count: usize, aligned: bool);
}

/// Complex f32.
impl Output for [f32; 2] {
    #[inline(always)]
    fn aligned(out: GlobalMut<Self>, skip: u32, out_row: u64) -> bool {
        // SAFETY: the address is not used.
        let first = unsafe { out.address(0) >> 3 } as u32;
        ((first ^ skip) | out_row as u32) & 1 == 0
    }

    #[inline(always)]
    unsafe fn store(
        out: GlobalMut<Self>,
        [place, one]: [u32; 2],
        values: &[[f32; 2]; MOST],
        count: usize,
        aligned: bool,
    ) {
        let len = out.len() as u32;
        if count != 2 && one < len {
            out.store(one as usize, values[count - 1]);
        }
        if count >= 2 {
            if aligned && place < len && place + 1 < len {
                let [[a, b], [c, d], _] = *values;
                GlobalMut::<[f32; 4]>::from_raw_parts(out.address(place as usize), 1).store(0, [a, b, c, d]);
            } else {
                unroll!(i in 0 1 {
                    let place = place.wrapping_add(i as u32);
                    if place < len {
                        out.store(place as usize, values[i]);
                    }
                });
            }
        }
    }
}

/// A lane's part of one of its segments.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Phase of the block that is complete next.
    pub(crate) phase: u64,
    /// Number of that block's first output, modulo 2^32.
    pub(crate) output: u32,
}

impl Row {
    /// The same, so many blocks of `outputs` outputs on, each of which turns the phase by `turn`.
    #[inline(always)]
    pub(crate) fn ahead(self, blocks: u32, outputs: u32, turn: u64) -> Self {
        Self {
            phase: self.phase.wrapping_add(turn.wrapping_mul(blocks as u64)),
            output: self.output.wrapping_add(blocks.wrapping_mul(outputs)),
        }
    }

    /// Rotates and stores the `count` outputs of a block that lane `t` of four has, of which `sums` are the parts.
    ///
    /// # Safety
    /// `out` is the outputs of the input, and no other thread stores these.
    #[inline(always)]
    pub(crate) unsafe fn store<T: Output>(
        &self,
        out: GlobalMut<T>,
        sums: [[f32; 2]; MOST],
        (count, t): (usize, u32),
        scale: f32,
        aligned: bool,
    ) {
        // A power of two, so it makes no difference what it multiplies.
        let [cosine, sine] = unit_approx(self.phase).map(|part| part * scale);
        let mut values = [[0.0; 2]; MOST];
        unroll!(i in 0 1 2 {
            if i < count {
                let [re, im] = sums[i];
                values[i] = [re * cosine - im * sine, re * sine + im * cosine];
            }
        });
        // As `fringes_kernel_abi::down_convert::tensor::output` says.
        let place = self.output.wrapping_add(2 * t);
        let places =
            [place, if count == 3 { place.wrapping_add(8).wrapping_sub(t) } else { self.output.wrapping_add(t) }];
        T::store(out, places, &values, count, aligned);
    }
}
