//! Sums from registers to device memory.
//!
//! A lane's registers of row `8 j + 2 (lane % 4) + e` of the tile hold two columns. With one column a store instruction
//! writes four rows of eight neighbouring columns, 64 bytes each of 32-bit pairs.

use fringes_device::{GlobalMut, Value, opaque};

use crate::multiply::Sums;
use crate::source::Source;

/// What becomes of a sum in device memory: 32-bit pairs are overwritten, 64-bit ones added to.
pub(crate) trait Sum<P>: Value {
    /// Whether what is there is added.
    const ADDS: bool;
    /// No sum.
    const ZERO: Self;
    /// What becomes of `old`.
    fn plus(old: Self, re: P, im: P) -> Self;
}

macro_rules! sums {
    ($($part:ty, $wide:ty, $zero:literal;)*) => { $(
        impl Sum<$part> for [$part; 2] {
            const ADDS: bool = false;
            const ZERO: Self = [$zero as $part; 2];

            #[inline(always)]
            fn plus(_: Self, re: $part, im: $part) -> Self {
                [re, im]
            }
        }

        impl Sum<$part> for [$wide; 2] {
            const ADDS: bool = true;
            const ZERO: Self = [$zero as $wide; 2];

            #[inline(always)]
            fn plus(old: Self, re: $part, im: $part) -> Self {
                [old[0] + <$wide>::from(re), old[1] + <$wide>::from(im)]
            }
        }
    )* };
}

sums! {
    i32, i64, 0;
    f32, f64, 0;
}

/// Where a group's sums go.
#[derive(Clone, Copy)]
pub(crate) struct Target<V> {
    /// The matrix: at most 2^15 inputs, and so less than 2^30 sums.
    pub(crate) sums: GlobalMut<V>,
    /// Input of the tile's first row that the group has.
    pub(crate) row: u32,
    /// Input of this lane's first column, and distance to its second one.
    pub(crate) column: (u32, u32),
    /// Rows at and above this input, and columns above their row, do not exist.
    pub(crate) inputs: u32,
    /// The lane modulo 4.
    pub(crate) quarter: u32,
}

/// Sums that are written out.
pub(crate) trait Put<S: Source, V> {
    /// Writes, or adds, the sums that exist.
    ///
    /// # Safety
    /// - `target.sums` has `inputs (inputs + 1) / 2` sums, of which no other thread uses those of this lane's rows
    ///   and columns.
    unsafe fn put(&self, target: Target<V>);
}

/// A row of the tile that a lane has, and the index of its first sum.
///
/// The row passes through [`opaque`], so that addresses are computed where they are used: all of them at once do not
/// fit in registers.
#[inline(always)]
fn start<S: Source, V>(target: &Target<V>, j: u32, e: u32) -> (u32, u32) {
    let row = opaque((target.row + S::row(j, 2 * target.quarter + e)) as i32) as u32;
    (row, row * (row + 1) / 2)
}

/// The four sums that a lane has of eight rows: by row and column.
///
/// # Safety
/// - `target.sums` has `inputs (inputs + 1) / 2` sums, of which no other thread writes those of this lane's rows and
///   columns.
#[inline(always)]
unsafe fn load<S: Source, V: Sum<S::Part>>(target: &Target<V>, j: u32) -> [V; 4] {
    let mut old = [V::ZERO; 4];
    if V::ADDS {
        fringes_device::unroll!(i in 0 1 2 3 {
            let (row, start) = start::<S, V>(target, j, i as u32 / 2);
            let column = target.column.0 + i as u32 % 2 * target.column.1;
            if row < target.inputs && column <= row {
                old[i] = target.sums.load((start + column) as usize);
            }
        });
    }
    old
}

macro_rules! put {
    ($half:literal, $($j:literal)*) => {
        impl<S: Source, V: Sum<S::Part>> Put<S, V> for Sums<S::Part, $half>
        {
            #[inline(always)]
            unsafe fn put(&self, target: Target<V>) {
                // Old sums are loaded one step ahead, where registers suffice.
                const AHEAD: bool = $half <= 64;
                let mut old = if (S::AHEAD && AHEAD) { load::<S, V>(&target, 0) } else { [V::ZERO; 4] };
                $( {
                    let j: usize = $j;
                    if !(S::AHEAD && AHEAD) {
                        old = load::<S, V>(&target, j as u32);
                    }
                    let next = if (S::AHEAD && AHEAD) && V::ADDS && j + 1 < $half / 4 { load::<S, V>(&target, j as u32 + 1) } else { [V::ZERO; 4] };
                    fringes_device::unroll!(i in 0 1 2 3 {
                        let (e, h) = (i / 2, i % 2);
                        let (row, start) = start::<S, V>(&target, j as u32, e as u32);
                        let column = target.column.0 + h as u32 * target.column.1;
                        if row < target.inputs && column <= row {
                            let register = 4 * j + 2 * h + e;
                            let value = V::plus(old[i], S::sum(self.re[register]), S::sum(self.im[register]));
                            target.sums.store((start + column) as usize, value);
                        }
                    });
                    old = next;
                } )*
                let _ = old;
            }
        }
    };
}

put!(16, 0 1 2 3);
put!(32, 0 1 2 3 4 5 6 7);
put!(48, 0 1 2 3 4 5 6 7 8 9 10 11);
put!(64, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
put!(80, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
