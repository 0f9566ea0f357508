//! What `ldmatrix`, `stmatrix` and `movmatrix` move: matrices of 8 rows of 16 bytes, one register of each lane a
//! matrix.
//!
//! With elements of 16 bits, row `row2 row1 row0` and column `col2 col1 col0` of matrix `matrix1 matrix0` lie in the
//! registers
//!
//! ```text
//! plain        b<->col0  r<->matrix0 matrix1  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2
//! transposed   b<->row0  r<->matrix0 matrix1  t0 t1 t2 t3 t4<->row1 row2 col0 col1 col2
//! ```
//!
//! and each row in 16 consecutive bytes of shared memory wherever a lane's address says:
//!
//! ```text
//! four matrices   t0 t1 t2 t3 t4<->row0 row1 row2 matrix0 matrix1
//! two             t0 t1 t2 t3 t4<->row0 row1 row2 matrix0 0
//! one             t0 t1 t2 t3 t4<->row0 row1 row2 0 0
//!
//! lane             0..7      8..15     16..23    24..31
//! gives rows of    matrix 0  matrix 1  matrix 2  matrix 3
//! ```
//!
//! Addresses of lanes that the last lines map to rows a second time are not used.
//!
//! Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix store instruction: stmatrix",
//! "Warp-level matrix transpose instruction: movmatrix".

use super::fragment;
use crate::Layout;
use crate::space::same_text;

/// A form of `ldmatrix` or `stmatrix`.
#[derive(Debug, Clone, Copy)]
pub struct MatrixMove {
    /// Name of the device function, `ldmatrix_x4_trans_shared_b16`.
    pub name: &'static str,
    /// The instruction up to its operands, `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16`.
    pub ptx: &'static str,
    /// Matrices: 1, 2 or 4, one register each.
    pub matrices: usize,
    /// Rows and columns of 16-bit elements are exchanged.
    pub transposed: bool,
    /// Places in registers to bits of row, column and matrix.
    pub registers: Layout,
    /// Lanes to the row and matrix whose address they give.
    pub rows: Layout,
}

impl MatrixMove {
    /// The form whose device function has this name.
    pub const fn find(name: &str) -> Option<&'static Self> {
        let mut at = 0;
        while at < MOVES.len() {
            if same_text(MOVES[at].name, name) {
                return Some(&MOVES[at]);
            }
            at += 1;
        }
        None
    }
}

/// One matrix of 16-bit elements in a register of each lane: logical bits `row0 row1 row2 col0 col1 col2`.
pub const MATRIX: Layout =
    fragment!("row0 row1 row2 col0 col1 col2", "b<->col0  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2");

/// The same matrix where lanes hold columns: what `movmatrix` makes of [`MATRIX`], and `ldmatrix` with `.trans` loads.
pub const TRANSPOSED: Layout =
    fragment!("row0 row1 row2 col0 col1 col2", "b<->row0  t0 t1 t2 t3 t4<->row1 row2 col0 col1 col2");

const MATRIX_X2: Layout = fragment!(
    "row0 row1 row2 col0 col1 col2 matrix0",
    "b<->col0  r<->matrix0  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2"
);
const MATRIX_X4: Layout = fragment!(
    "row0 row1 row2 col0 col1 col2 matrix0 matrix1",
    "b<->col0  r<->matrix0 matrix1  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2"
);
const TRANSPOSED_X2: Layout = fragment!(
    "row0 row1 row2 col0 col1 col2 matrix0",
    "b<->row0  r<->matrix0  t0 t1 t2 t3 t4<->row1 row2 col0 col1 col2"
);
const TRANSPOSED_X4: Layout = fragment!(
    "row0 row1 row2 col0 col1 col2 matrix0 matrix1",
    "b<->row0  r<->matrix0 matrix1  t0 t1 t2 t3 t4<->row1 row2 col0 col1 col2"
);

/// One matrix of rows of 16 elements of 8 bits, as the plain forms move it.
pub const MATRIX_8BIT: Layout =
    fragment!("row0 row1 row2 col0 col1 col2 col3", "b<->col0 col1  t0 t1 t2 t3 t4<->col2 col3 row0 row1 row2");

/// One matrix of rows of 4 elements of 32 bits, as the plain forms move it.
pub const MATRIX_32BIT: Layout = fragment!("row0 row1 row2 col0 col1", "t0 t1 t2 t3 t4<->col0 col1 row0 row1 row2");

/// Lanes to the row whose address they give, of one matrix.
pub const ROWS_X1: Layout = fragment!("row0 row1 row2", "t0 t1 t2 t3 t4<->row0 row1 row2 0 0");

/// Lanes to the row and matrix whose address they give, of two matrices.
pub const ROWS_X2: Layout = fragment!("row0 row1 row2 matrix0", "t0 t1 t2 t3 t4<->row0 row1 row2 matrix0 0");

/// Lanes to the row and matrix whose address they give, of four matrices.
pub const ROWS_X4: Layout =
    fragment!("row0 row1 row2 matrix0 matrix1", "t0 t1 t2 t3 t4<->row0 row1 row2 matrix0 matrix1");

macro_rules! moves {
    ($($constant:ident, $name:literal, $ptx:literal, $matrices:literal $transposed:literal, $registers:ident $rows:ident;)*) => {
        $(
            #[doc = concat!("`", $ptx, "`.")]
            pub const $constant: MatrixMove = MatrixMove {
                name: $name,
                ptx: $ptx,
                matrices: $matrices,
                transposed: $transposed,
                registers: $registers,
                rows: $rows,
            };
        )*

        /// Every form of `ldmatrix` and `stmatrix`.
        pub static MOVES: [MatrixMove; 12] = [$($constant),*];
    };
}

moves! {
    LDMATRIX_X1, "ldmatrix_x1_shared_b16", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", 1 false, MATRIX ROWS_X1;
    LDMATRIX_X2, "ldmatrix_x2_shared_b16", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", 2 false, MATRIX_X2 ROWS_X2;
    LDMATRIX_X4, "ldmatrix_x4_shared_b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4 false, MATRIX_X4 ROWS_X4;
    LDMATRIX_X1_TRANS, "ldmatrix_x1_trans_shared_b16", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1 true, TRANSPOSED ROWS_X1;
    LDMATRIX_X2_TRANS, "ldmatrix_x2_trans_shared_b16", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2 true, TRANSPOSED_X2 ROWS_X2;
    LDMATRIX_X4_TRANS, "ldmatrix_x4_trans_shared_b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4 true, TRANSPOSED_X4 ROWS_X4;
    STMATRIX_X1, "stmatrix_x1_shared_b16", "stmatrix.sync.aligned.m8n8.x1.shared.b16", 1 false, MATRIX ROWS_X1;
    STMATRIX_X2, "stmatrix_x2_shared_b16", "stmatrix.sync.aligned.m8n8.x2.shared.b16", 2 false, MATRIX_X2 ROWS_X2;
    STMATRIX_X4, "stmatrix_x4_shared_b16", "stmatrix.sync.aligned.m8n8.x4.shared.b16", 4 false, MATRIX_X4 ROWS_X4;
    STMATRIX_X1_TRANS, "stmatrix_x1_trans_shared_b16", "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1 true, TRANSPOSED ROWS_X1;
    STMATRIX_X2_TRANS, "stmatrix_x2_trans_shared_b16", "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2 true, TRANSPOSED_X2 ROWS_X2;
    STMATRIX_X4_TRANS, "stmatrix_x4_trans_shared_b16", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4 true, TRANSPOSED_X4 ROWS_X4;
}

/// `movmatrix`: source and destination registers of one matrix.
#[derive(Debug, Clone, Copy)]
pub struct MatrixTranspose {
    /// Name of the device function.
    pub name: &'static str,
    /// The instruction up to its operands.
    pub ptx: &'static str,
    /// What the source register holds.
    pub source: Layout,
    /// What the destination register holds.
    pub destination: Layout,
}

/// `movmatrix.sync.aligned.m8n8.trans.b16`.
pub const MOVMATRIX: MatrixTranspose = MatrixTranspose {
    name: "movmatrix_trans_b16",
    ptx: "movmatrix.sync.aligned.m8n8.trans.b16",
    source: MATRIX,
    destination: TRANSPOSED,
};
