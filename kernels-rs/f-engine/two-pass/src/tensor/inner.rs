//! The last digit of complex samples where channels of the inner half alone come out: `N / 4` to `3 N / 4 - 1`.
//!
//! Of a row `k1` and a place `c` of the first digit, `L` points are `L` channels, of which `L / 2` are of the inner
//! half. So eight values, a row of fragments, are of sixteen points, two fragments, whatever `L` is: half of the
//! products' rows, and half of what comes after them, of those for all channels.

use fringes_kernel_abi::f_engine::tensor::{DIGIT, FRAGMENT, last, rows_of};

/// Fragments of a row of them.
pub(super) const COLUMNS: u32 = 2;

/// Points of a row of fragments.
const POINTS: u32 = 8 * COLUMNS;

/// Rows of fragments of a pair of rows of `rows` points.
#[inline(always)]
pub(super) const fn fragment_rows(rows: u32) -> u32 {
    2 * rows / POINTS
}

/// Pieces of the matrices of all pairs, `[pair][row of fragments][column][term][lane]`.
#[inline(always)]
pub(super) const fn pieces(rows: u32, radix: u32, terms: u32) -> u32 {
    radix / 2 * fragment_rows(rows) * COLUMNS * terms * FRAGMENT
}

/// Row of the pair and place of the first digit of point `point` of a row of fragments.
#[inline(always)]
pub(super) const fn place_of(rows: u32, fragment_row: u32, point: u32) -> (u32, u32) {
    let place = (POINTS * fragment_row + point) / last(rows);
    (place / DIGIT, place % DIGIT)
}

/// The channel of value `value` of a pair, eight of a row of fragments.
#[inline(always)]
pub(super) const fn channel_of(rows: u32, radix: u32, pair: u32, value: u32) -> u32 {
    let half = last(rows) / 2;
    let place = value / half;
    let row = rows_of(radix, pair)[(place / DIGIT) as usize];
    rows * radix / 4 + row + radix * (place % DIGIT + DIGIT * (value % half))
}
