//! Shapes of blocks: how many inputs a block's tile has, and which part of it each warp computes.
//!
//! | shape | tile | warps | part of a warp | for |
//! |---|---|---|---|---|
//! | [`Square`] | 128 x 128 | 8 | 64 x 32 | many inputs: fewest bytes from shared memory |
//! | [`Narrow`] | 128 x 128 | 16 | 32 x 32 | some hundred inputs: on the diagonal 10 of 16 warps have work |
//! | [`Whole64`] | the triangle of 64 | 3 | 32 x 32 | up to 64 inputs: an occupancy of several blocks |
//! | [`Whole128`] | the triangle of 128 | 10 | 32 x 32 | up to 128 inputs |
//! | [`Whole160`] | the triangle of 160 | 15 | 32 x 32 | up to 160 inputs |
//!
//! A *whole* shape computes all inputs in one block, and only parts on or below the diagonal have a warp: of 64, 128
//! and 160 inputs 68, 81 and 84 of a hundred products that are computed count.

use fringes_device::copy_async::cp_async_wait_group;

use crate::tile;

/// A shape.
pub trait Shape {
    /// Inputs on either side of a tile.
    const SIDE: u32;
    /// Warps of a block.
    const WARPS: u32;
    /// Stages in shared memory.
    const STAGES: u32;
    /// Fragments of 16 rows that a warp has.
    const ROWS: usize;
    /// All inputs are in one tile, on the diagonal; a warp computes part `warp` of the triangle of parts.
    const WHOLE: bool;
    /// Fragments are loaded a quarter of a stage ahead: for shapes with few warps a scheduler.
    const AHEAD: bool;

    /// First row and first column of a warp's part, and whether it lies above the diagonal.
    fn part(warp: u32, diagonal: bool) -> (u32, u32, bool);

    /// Waits for all copies but those of the [`STAGES`](Self::STAGES)` - 2` newest stages.
    fn wait();
}

macro_rules! shape {
    ($(#[doc = $doc:literal])* $name:ident: $side:literal, $warps:literal, $stages:literal, $rows:literal, $whole:literal, $ahead:literal, |$warp:ident, $diagonal:ident| $part:expr) => {
        $(#[doc = $doc])*
        pub enum $name {}

        impl Shape for $name {
            const SIDE: u32 = $side;
            const WARPS: u32 = $warps;
            const STAGES: u32 = $stages;
            const ROWS: usize = $rows;
            const WHOLE: bool = $whole;
            const AHEAD: bool = $ahead;

            #[inline(always)]
            fn part($warp: u32, $diagonal: bool) -> (u32, u32, bool) {
                $part
            }

            #[inline(always)]
            fn wait() {
                cp_async_wait_group::<{ $stages - 2 }>();
            }
        }
    };
}

/// Part `warp` of the triangle of parts of 32 x 32.
#[inline(always)]
fn triangle(warp: u32) -> (u32, u32, bool) {
    let (row, column) = tile::position(warp);
    (32 * row, 32 * column, false)
}

shape! {
    /// 128 x 128, warps of 64 x 32. On the diagonal two warps of eight have nothing to do.
    Square: 128, 8, 3, 4, false, true, |warp, diagonal| {
        let (row, column) = (64 * (warp / 4), 32 * (warp % 4));
        (row, column, diagonal && column >= row + 64)
    }
}

shape! {
    /// 128 x 128, warps of 32 x 32. On the diagonal the first ten warps have work: three on two of the schedulers, two
    /// on the others.
    Narrow: 128, 16, 3, 2, false, true, |warp, diagonal| {
        if diagonal {
            let (row, column, _) = triangle(if warp < 10 { warp } else { 0 });
            (row, column, warp >= 10)
        } else {
            (32 * (warp / 4), 32 * (warp % 4), false)
        }
    }
}

shape! {
    /// Up to 64 inputs.
    Whole64: 64, 3, 4, 2, true, false, |warp, _diagonal| triangle(warp)
}

shape! {
    /// Up to 128 inputs.
    Whole128: 128, 10, 4, 2, true, false, |warp, _diagonal| triangle(warp)
}

shape! {
    /// Up to 160 inputs.
    Whole160: 160, 15, 3, 2, true, true, |warp, _diagonal| triangle(warp)
}

/// Bytes of an operand of a stage: a side's rows.
pub const fn operand<S: Shape>() -> u32 {
    S::SIDE * 128
}

/// Bytes of a stage: on the diagonal both operands are one.
pub const fn stage<S: Shape>() -> u32 {
    operand::<S>() * if S::WHOLE { 1 } else { 2 }
}

/// Dynamic shared memory of a block.
pub const fn shared_bytes<S: Shape>() -> u32 {
    S::STAGES * stage::<S>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered<S: Shape>(diagonal: bool) {
        let parts: Vec<_> = (0..S::WARPS).map(|warp| S::part(warp, diagonal)).filter(|part| !part.2).collect();
        for row in 0..S::SIDE {
            for column in 0..S::SIDE {
                let covers = |&&(first_row, first_column, _): &&(u32, u32, bool)| {
                    (first_row..first_row + 16 * S::ROWS as u32).contains(&row)
                        && (first_column..first_column + 32).contains(&column)
                };
                let warps = parts.iter().filter(covers).count();
                assert!(warps <= 1 && (warps == 1 || (diagonal && column > row)), "{row}, {column}: {warps} warps");
            }
        }
    }

    #[test]
    fn every_pair_on_or_below_the_diagonal_is_one_warps() {
        covered::<Square>(false);
        covered::<Square>(true);
        covered::<Narrow>(false);
        covered::<Narrow>(true);
        covered::<Whole64>(true);
        covered::<Whole128>(true);
        covered::<Whole160>(true);
    }
}
