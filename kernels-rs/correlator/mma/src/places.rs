//! Where the correlator's samples, operands and sums lie, in shared memory and in registers.
//!
//! The kernels compute these places in the few instructions written here; assertions at compile time tie them, for
//! every lane, register and byte, to the layouts of [`fringes_device::layout`]:
//!
//! ```text
//! stage       bytes of an operand, 8 rows         s<->col0 col1 col2 col3 col4 col5 col6 row0^col6 row1^col4 row2^col5
//! ldmatrix    lanes to rows whose address they    t0 t1 t2 t3 t4<->row0 row1 row2 matrix0 matrix1
//!             give: of rows                       matrix0 matrix1<->i3 j4
//!             of columns, two fragments           matrix0 matrix1<->j4 k3
//! mma         A, 16 rows x 32 bytes               b<->j0 j1  r<->i3 j4  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2
//!             B, 32 bytes x 8 rows                b<->j0 j1  r<->j4     t0 t1 t2 t3 t4<->j2 j3 k0 k1 k2
//!             sums, 16 rows x 8 columns           r<->k0 i3             t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2
//! heaps       16 bytes of a lane                  8 antennas, 64 bytes each: t0 t1 t2 t3 t4<->col4 col5 row0 row1 row2
//! epilogue    sums of a warp, 16 x 32             s<->byte0 byte1 ReIm k0 k1 k2 k3 k4 i0^k3 i1^k1 i2 i3
//! ```
//!
//! A row's eight chunks of 16 bytes are XORed with its number, bits rotated so that all of these are free of bank
//! conflicts: eight chunks of a row (copies), a chunk of eight rows (`ldmatrix`), and the lower or upper four chunks of
//! an even row and the next (heaps).

use fringes_device::layout::atoms::matrix::{LDMATRIX_X4, MATRIX_8BIT};
use fringes_device::layout::atoms::mma::M16N8K32_S32_S8 as MMA;
use fringes_device::layout::{Layout, layout};

/// Byte of an operand of a stage at which chunk `chunk` of row `row` lies.
#[inline(always)]
pub(crate) const fn chunk_of_row(row: u32, chunk: u32) -> u32 {
    row * 128 + 16 * (chunk ^ ((row & 1) << 2 | (row >> 1) & 3))
}

/// Bytes of eight rows of an operand: to bytes of a row, and rows.
const STAGE: Layout = layout!("s<->col0 col1 col2 col3 col4 col5 col6 row0^col6 row1^col4 row2^col5");

/// Row and chunk whose address a lane gives for a fragment of rows that begins at row `first`.
#[inline(always)]
pub(crate) const fn row_of_lane(first: u32, lane: u32) -> (u32, u32) {
    (first + lane % 16, lane / 16)
}

/// Row and chunk whose address a lane gives for a fragment of columns that begins at row `first`.
#[inline(always)]
pub(crate) const fn column_of_lane(first: u32, lane: u32) -> (u32, u32) {
    (first + lane % 8 + 8 * (lane / 16), (lane / 8) % 2)
}

/// Row and chunk that a lane loads for a fragment of heaps that begins at row `first`, an antenna a row.
#[inline(always)]
pub(crate) const fn antenna_of_lane(first: u32, lane: u32) -> (u32, u32) {
    (first + lane / 4, lane % 4)
}

/// Row in each half of a fragment of sums, and pair of columns, that a lane has.
#[inline(always)]
pub(crate) const fn group_and_pair(lane: usize) -> (usize, usize) {
    (lane / 4, lane % 4)
}

/// Input of the 16 of a fragment of sums that a lane of this group has in registers `2 half` and `2 half + 1`: halves
/// are polarisations if `dual`.
#[inline(always)]
pub(crate) const fn sum_row(dual: bool, half: usize, group: usize) -> usize {
    if dual { 2 * group + half } else { 8 * half + group }
}

/// The pair of columns `column`, `column + 1` that go out together: pair number `e` (0 or 1) of lane `pair` in
/// fragments `2 j`, `2 j + 1` of a warp's sums; and fragment and register (0 or 1) of each of the two columns.
///
/// Of rows the two columns are neighbours in one fragment, of heaps the polarisations of an antenna.
#[inline(always)]
pub(crate) const fn pair_of_columns(dual: bool, j: usize, e: usize, pair: usize) -> (usize, [[usize; 2]; 2]) {
    if dual {
        (8 * j + 2 * pair + e, [[2 * j, e], [2 * j + 1, e]])
    } else {
        (8 * j + 4 * e + pair, [[2 * j + e, 0], [2 * j + e, 1]])
    }
}

/// What the pairs of a row are XORed with in the epilogue.
#[inline(always)]
const fn turned(row: usize) -> usize {
    4 * (row % 2) + row / 2 % 2
}

/// Place of the sums of a row and a pair of columns in the epilogue, in units of 16 bytes.
#[inline(always)]
pub(crate) const fn pair_out(row: usize, pair: usize) -> usize {
    16 * row + (pair ^ turned(row))
}

/// Place of the sums of a row and a column in the epilogue, in units of 8 bytes; `low` is the row modulo 4.
#[inline(always)]
pub(crate) const fn column_out(row: usize, low: usize, column: usize) -> usize {
    32 * row + 2 * ((column / 2) ^ turned(low)) + column % 2
}

/// Sums of 16 rows `i` and 32 columns `k` of a warp in the epilogue: bytes of shared memory to elements of `ReIm`, `k`,
/// `i`.
const OUT: Layout = layout!("s<->byte0 byte1 ReIm k0 k1 k2 k3 k4 i0^k3 i1^k1 i2 i3");

// A stage, and what lies 16 rows or 8, 32 or 64 bytes further on.
const _: () = {
    let Ok(places) = STAGE.invert() else { panic!() };
    let mut row = 0;
    while row < 160 {
        let mut chunk = 0;
        while chunk < 8 {
            let place = places.apply((16 * chunk + 128 * (row % 8)) as u64) as u32;
            assert!(chunk_of_row(row, chunk) == place + row / 8 * 8 * 128);
            assert!(chunk_of_row(row, chunk) == chunk_of_row(row, chunk % 2) ^ (32 * (chunk / 2)));
            assert!(chunk_of_row(row, chunk) == chunk_of_row(row, chunk % 4) ^ (64 * (chunk / 4)));
            assert!(chunk_of_row(row + 4, chunk) == (chunk_of_row(row, chunk) ^ 32) + 4 * 128);
            chunk += 1;
        }
        row += 1;
    }
};

/// Rows and chunks that lanes give, by matrix and row of a load.
const fn given(rows: [(u32, u32); 32]) -> [(u32, u32); 32] {
    let (mut given, mut lane) = ([(0, 0); 32], 32);
    while lane > 0 {
        lane -= 1;
        given[LDMATRIX_X4.rows.apply(lane as u64) as usize] = rows[lane];
    }
    given
}

// What `ldmatrix` loads of rows are the fragments of the product.
const _: () = {
    let (mut a, mut b, mut lane) = ([(0, 0); 32], [(0, 0); 32], 0);
    while lane < 32 {
        (a[lane], b[lane]) = (row_of_lane(0, lane as u32), column_of_lane(0, lane as u32));
        lane += 1;
    }
    let (a, b, matrix, mma) = (given(a), given(b), &MATRIX_8BIT, &MMA);
    // Places in the order of bytes, then lanes.
    let mut at = 0;
    while at < 4 * 32 {
        let (byte, lane) = (at % 4, at / 4);
        let (row, along) = (matrix.apply(at) as usize % 8, matrix.apply(at) as u32 / 8);
        let mut register = 0;
        while register < 4 {
            let (i, chunk) = a[row + 8 * register];
            let element = mma.a.apply(byte | (register as u64) << 2 | lane << 4) as u32;
            assert!(element == i + 16 * (16 * chunk + along) && i / 8 == register as u32 % 2);
            // Register `register % 2` of half `register / 2` of the columns.
            let (k, chunk) = b[row + 8 * register];
            let element = mma.b.apply(byte | (register as u64 % 2) << 2 | lane << 3) as u32;
            assert!(element == 16 * chunk + along + 32 * (k % 8) && k / 8 == register as u32 / 2);
            register += 1;
        }
        at += 1;
    }
};

// What lanes load of heaps: rows of a fragment are antennas, and a time is at the same place along all of them, of A
// and of B.
const _: () = {
    let mut at = 0;
    while at < 4 * 32 {
        let (byte, lane) = (at % 4, at / 4);
        let (antenna, chunk) = antenna_of_lane(0, lane as u32);
        let mut register = 0;
        while register < 4 {
            let element = MMA.a.apply(byte | register << 2 | lane << 4) as u32;
            let (half, high) = (register as u32 % 2, register as u32 / 2);
            assert!(element == antenna + 8 * half + 16 * (4 * chunk + byte as u32 + 16 * high));
            // Half `half` of the columns has registers `half` and `half + 2` of the fragment.
            let element = MMA.b.apply(byte | (register / 2) << 2 | lane << 3) as u32;
            assert!(element == 4 * chunk + byte as u32 + 16 * high + 32 * antenna);
            register += 1;
        }
        at += 1;
    }
};

// Sums lie where the product leaves them, and in the epilogue where both who writes and who reads look for them.
const _: () = {
    let (c, mut at) = (&MMA.c, 0);
    while at < 4 * 32 {
        let (register, lane) = (at % 4, at / 4);
        let (group, pair) = group_and_pair(lane);
        let (e, element) = (register % 2, c.apply(at as u64) as usize);
        let half = register / 2;
        assert!(element == 8 * half + group + 16 * (2 * pair + e));
        // Rows: fragment n has columns 8 n to 8 n + 7. Heaps: fragments 2 j and 2 j + 1 the polarisations of antennas 8
        // j to 8 j + 7.
        assert!(sum_row(false, half, group) == element % 16);
        assert!(sum_row(true, half, group) == 2 * (element % 8) + half);
        let mut n = 0;
        while n < 4 {
            let (column, [_, [fragment, odd]]) = pair_of_columns(false, n / 2, n % 2, pair);
            assert!(fragment == n && odd == 1 && 2 * column + e == 8 * n + element / 16);
            let (column, [[first, register], [second, other]]) = pair_of_columns(true, n / 2, e, pair);
            assert!(first == n / 2 * 2 && second == first + 1 && register == e && other == e);
            assert!(2 * column + n % 2 == 2 * (8 * (n / 2) + element / 16) + n % 2);
            n += 1;
        }
        at += 1;
    }
    let Ok(places) = OUT.invert() else { panic!() };
    let mut at = 0;
    while at < 16 * 32 {
        let (row, column) = (at / 32, at % 32);
        let byte = places.apply((column << 3 | row << 8) as u64) as usize;
        assert!(byte == 8 * column_out(row, row % 4, column));
        assert!(byte == 16 * pair_out(row, column / 2) + 8 * (column % 2));
        at += 1;
    }
};
