//! Sums from registers to device memory.
//!
//! A lane's registers of row `8 j + 2 (lane % 4) + e` of the tile hold two columns. With one column a store instruction
//! writes four rows of eight neighbouring columns, 64 bytes each of 32-bit pairs.

use fringes_device::{GlobalMut, Value, opaque};

use crate::multiply::Sums;
use crate::source::Source;

/// What becomes of sums in device memory.
pub(crate) trait Sum<P> {
    /// A sum there.
    type Memory: Value;
    /// Whether what is there is added.
    const ADDS: bool;
    /// No sum.
    const ZERO: Self::Memory;
    /// What becomes of `old`.
    fn plus(old: Self::Memory, re: P, im: P) -> Self::Memory;
}

/// Sums are overwritten.
pub(crate) struct Overwritten;

/// Sums are added to: integers in 32 bits, floats in 64.
pub(crate) struct Added;

macro_rules! sums {
    ($($part:ty, $added:ty, $zero:literal;)*) => { $(
        impl Sum<$part> for Overwritten {
            type Memory = [$part; 2];
            const ADDS: bool = false;
            const ZERO: [$part; 2] = [$zero as $part; 2];

            #[inline(always)]
            fn plus(_: [$part; 2], re: $part, im: $part) -> [$part; 2] {
                [re, im]
            }
        }

        impl Sum<$part> for Added {
            type Memory = [$added; 2];
            const ADDS: bool = true;
            const ZERO: [$added; 2] = [$zero as $added; 2];

            #[inline(always)]
            fn plus(old: [$added; 2], re: $part, im: $part) -> [$added; 2] {
                [old[0] + <$added>::from(re), old[1] + <$added>::from(im)]
            }
        }
    )* };
}

sums! {
    i32, i32, 0;
    f32, f64, 0;
}

/// Where a group's sums go.
#[derive(Clone, Copy)]
pub(crate) struct Target<M> {
    /// The matrix: at most 2^15 inputs, and so less than 2^30 sums.
    pub(crate) sums: GlobalMut<M>,
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
pub(crate) trait Put<S: Source, V: Sum<S::Part>> {
    /// Writes, or adds, the sums that exist.
    ///
    /// # Safety
    /// - `target.sums` has `inputs (inputs + 1) / 2` sums, of which no other thread uses those of this lane's rows
    ///   and columns.
    unsafe fn put(&self, target: Target<V::Memory>);
}

/// A row of the tile that a lane has, and the index of its first sum.
///
/// The row passes through [`opaque`], so that addresses are computed where they are used: all of them at once do not
/// fit in registers.
#[inline(always)]
fn start<S: Source, M>(target: &Target<M>, j: u32, e: u32) -> (u32, u32) {
    let row = opaque((target.row + S::row(j, 2 * target.quarter + e)) as i32) as u32;
    (row, row * (row + 1) / 2)
}

/// The four sums that a lane has of eight rows: by row and column.
///
/// # Safety
/// - `target.sums` has `inputs (inputs + 1) / 2` sums, of which no other thread writes those of this lane's rows and
///   columns.
#[inline(always)]
unsafe fn load<S: Source, V: Sum<S::Part>>(target: &Target<V::Memory>, j: u32) -> [V::Memory; 4] {
    let mut old = [V::ZERO; 4];
    if V::ADDS {
        fringes_device::unroll!(i in 0 1 2 3 {
            let (row, start) = start::<S, V::Memory>(target, j, i as u32 / 2);
            let column = target.column.0 + i as u32 % 2 * target.column.1;
            if row < target.inputs && column <= row {
                old[i] = target.sums.load((start + column) as usize);
            }
        });
    }
    old
}

/// Steps of eight rows whose old sums are loaded before they are needed: what registers suffice for, of so many bytes a
/// sum and so many accumulators of each part.
const fn ahead(bytes: usize, half: usize, frugal: bool) -> usize {
    match bytes {
        8 if half <= 32 => 8,
        8 if half == 64 => 4,
        8 if half <= 48 => 2,
        _ if half <= 64 && !frugal => 2,
        _ => 1,
    }
}

macro_rules! put {
    ($half:literal, $($j:literal)*) => {
        impl<S: Source, V: Sum<S::Part>> Put<S, V> for Sums<S::Part, $half>
        {
            #[inline(always)]
            unsafe fn put(&self, target: Target<V::Memory>) {
                const STEPS: usize = $half / 4;
                // Old sums of step `j` are `old[j % ahead]`.
                let ahead = const { ahead(size_of::<V::Memory>(), $half, !S::AHEAD) };
                let mut old = [[V::ZERO; 4]; 8];
                if V::ADDS {
                    fringes_device::unroll!(j in 0 1 2 3 4 5 6 7 {
                        if j < ahead && j < STEPS {
                            old[j] = load::<S, V>(&target, j as u32);
                        }
                    });
                }
                $( {
                    let j: usize = $j;
                    let now = old[j % ahead];
                    fringes_device::unroll!(i in 0 1 2 3 {
                        let (e, h) = (i / 2, i % 2);
                        let (row, start) = start::<S, V::Memory>(&target, j as u32, e as u32);
                        let column = target.column.0 + h as u32 * target.column.1;
                        if row < target.inputs && column <= row {
                            let register = 4 * j + 2 * h + e;
                            let value = V::plus(now[i], S::sum(self.re[register]), S::sum(self.im[register]));
                            target.sums.store((start + column) as usize, value);
                        }
                    });
                    if V::ADDS && j + ahead < STEPS {
                        old[j % ahead] = load::<S, V>(&target, (j + ahead) as u32);
                    }
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
