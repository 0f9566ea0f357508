//! Where the 8-bit correlator's samples, operands and sums lie, in shared memory and in registers.
//!
//! The kernels compute these places in the few instructions written here; assertions at compile time tie them, for every lane, register
//! and byte, to the layouts of [`fringes_device::layout`]:
//!
//! ```text
//! stage       bytes of an operand, 8 rows         s<->col0 col1 col2 col3 col4 col5 col6 row0^col4 row1^col5 row2^col6
//! ldmatrix    lanes to rows whose address they    t0 t1 t2 t3 t4<->row0 row1 row2 matrix0 matrix1
//!             give: of A                          matrix0 matrix1<->i3 j4
//!             of two fragments of B               matrix0 matrix1<->j4 k3
//! mma         A, 16 rows x 32 bytes               b<->j0 j1  r<->i3 j4  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2
//!             B, 32 bytes x 8 rows                b<->j0 j1  r<->j4     t0 t1 t2 t3 t4<->j2 j3 k0 k1 k2
//!             sums, 16 rows x 8 columns           r<->k0 i3             t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2
//! way out     sums of a warp, 32 x 32             s<->byte0 byte1 ReIm k0 k1 k2 k3 k4 i0^k3 i1 i2 i3 i4
//! pack        samples of 64 inputs, 64 times      s<->ReIm time0 time1 time2 time3 time4 time5 input0 input1 input2
//!                                                     input3^time3 input4^time4 input5^time5
//! ```

use fringes_device::layout::atoms::descriptor::{Major, Operand, Swizzle};
use fringes_device::layout::atoms::matrix::{LDMATRIX_X4, MATRIX_8BIT};
use fringes_device::layout::atoms::mma::M16N8K32_S32_S8 as MMA;
use fringes_device::layout::{Layout, layout};

use crate::rows;

/// Byte of an operand of a stage at which chunk `chunk` of row `row` lies: eight rows are an atom of the 128-byte swizzle.
#[inline(always)]
pub(crate) const fn chunk_of_row(row: u32, chunk: u32) -> u32 {
    row * rows::BYTES as u32 + 16 * (chunk ^ (row % 8))
}

/// Row and chunk whose address a lane gives for a fragment of A that begins at row `first`.
#[inline(always)]
pub(crate) const fn a_row(first: u32, lane: u32) -> (u32, u32) {
    (first + lane % 16, lane / 16)
}

/// Row and chunk whose address a lane gives for two fragments of B that begin at row `first`.
#[inline(always)]
pub(crate) const fn b_row(first: u32, lane: u32) -> (u32, u32) {
    (first + lane % 8 + 8 * (lane / 16), (lane / 8) % 2)
}

/// The registers of fragment `n % 2` of B among those of a load.
#[inline(always)]
pub(crate) const fn b_registers(n: usize) -> [usize; 2] {
    [2 * (n % 2), 2 * (n % 2) + 1]
}

/// Row in each half of a fragment of sums, and pair of columns, that a lane has.
#[inline(always)]
pub(crate) const fn group_and_pair(lane: usize) -> (usize, usize) {
    (lane / 4, lane % 4)
}

/// Row of the fragment `m` of sums, 16 rows each, that a lane of this group has in registers `2 half` and `2 half + 1`.
#[inline(always)]
pub(crate) const fn sum_row(m: usize, half: usize, group: usize) -> usize {
    16 * m + 8 * half + group
}

/// Place of the sums of a row and a pair of columns on their way out, in units of 16 bytes.
#[inline(always)]
pub(crate) const fn pair_out(row: usize, pair: usize) -> usize {
    16 * row + (pair ^ (4 * (row % 2)))
}

/// Place of the sums of a row and a column on their way out, in units of 8 bytes; `parity` is `row % 2`.
#[inline(always)]
pub(crate) const fn column_out(row: usize, parity: usize, column: usize) -> usize {
    32 * row + 2 * ((column / 2) ^ (4 * parity)) + column % 2
}

/// Sums of 32 rows `i` and 32 columns `k` of a warp on their way out: bytes of shared memory to elements of `ReIm`, `k`, `i`.
const OUT: Layout = layout!("s<->byte0 byte1 ReIm k0 k1 k2 k3 k4 i0^k3 i1 i2 i3 i4");

/// Word of shared memory in which the pack kernels keep the samples of an input at times `2 pair` and `2 pair + 1`.
#[inline(always)]
pub(crate) const fn pair_of_times(input: u32, pair: u32) -> usize {
    (input * 32 + (pair ^ (4 * (input / 8)))) as usize
}

/// Samples of a pack kernel's block: bytes of shared memory to elements of `ReIm`, `time`, `input`.
const PACKED: Layout =
    layout!("s<->ReIm time0 time1 time2 time3 time4 time5 input0 input1 input2 input3^time3 input4^time4 input5^time5");

// A stage: rows of 128 bytes in atoms of eight, and 32 bytes further on is two chunks further on whatever the row.
const _: () = {
    let Some(operand) = Operand::new(Major::K, Swizzle::Bytes128, 8, 0, 8 * rows::BYTES as u32) else { panic!() };
    let mut row = 0;
    while row < crate::tile::INPUTS {
        let mut chunk = 0;
        while chunk < 8 {
            assert!(matches!(operand.offset(row, 16 * chunk), Some(at) if at == chunk_of_row(row, chunk)));
            assert!(chunk_of_row(row, chunk) == chunk_of_row(row % 16, chunk) + row / 16 * 16 * 128);
            assert!(chunk_of_row(row, chunk) == chunk_of_row(row, chunk % 2) ^ (32 * (chunk / 2)));
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

// What `ldmatrix` loads are the fragments of the product.
const _: () = {
    let (mut a, mut b, mut lane) = ([(0, 0); 32], [(0, 0); 32], 0);
    while lane < 32 {
        (a[lane], b[lane]) = (a_row(0, lane as u32), b_row(0, lane as u32));
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
            assert!(element == i + 16 * (16 * chunk + along));
            // Register `register % 2` of fragment `register / 2` of B: rows 8 and up are the second fragment's.
            let (k, chunk) = b[row + 8 * b_registers(register / 2)[register % 2]];
            let element = mma.b.apply(byte | (register as u64 % 2) << 2 | lane << 3) as u32;
            assert!(element == 16 * chunk + along + 32 * (k % 8) && k / 8 == register as u32 / 2);
            register += 1;
        }
        at += 1;
    }
};

// Sums lie where the product leaves them, and on their way out where both who writes and who reads look for them.
const _: () = {
    let (c, mut at) = (&MMA.c, 0);
    while at < 4 * 32 {
        let (register, lane) = (at % 4, at / 4);
        let (group, pair) = group_and_pair(lane);
        let row = sum_row(0, register / 2, group);
        assert!(c.apply(at as u64) as usize == row + 16 * (2 * pair + register % 2));
        at += 1;
    }
    let Ok(places) = OUT.invert() else { panic!() };
    let mut at = 0;
    while at < 32 * 32 {
        let (row, column) = (at / 32, at % 32);
        let byte = places.apply((column << 3 | row << 8) as u64) as usize;
        assert!(byte == 8 * column_out(row, row % 2, column));
        assert!(byte == 16 * pair_out(row, column / 2) + 8 * (column % 2));
        at += 1;
    }
};

// The pack kernels' samples.
const _: () = {
    let Ok(places) = PACKED.invert() else { panic!() };
    let mut at = 0;
    while at < 64 * 32 {
        let (pair, input) = (at % 32, at / 32);
        assert!(places.apply((pair << 2 | input << 7) as u64) as usize == 4 * pair_of_times(input, pair));
        at += 1;
    }
};
