//! What `ldmatrix`, `stmatrix` and `movmatrix` move, against the PTX ISA and against the fragments that they load.

use fringes_layout_core::Layout;
use fringes_layout_core::atoms::matrix::{self, MOVES, MatrixMove};
use fringes_layout_core::atoms::{mma, place};

#[test]
fn each_lane_holds_two_elements_of_a_row_and_gives_the_row_of_its_number() {
    for form in &MOVES {
        let n = form.matrices;
        let split = |index: u64| (index as usize % 8, index as usize / 8 % 8, index as usize / 64);
        assert_eq!(form.registers.physical().size() as usize, 64 * n, "{}", form.name);
        for lane in 0..32 {
            for register in 0..n {
                for half in 0..2 {
                    // Of the ISA's figure: thread 4 i + j of a warp holds elements 2 j and 2 j + 1 of row i.
                    let (line, along) = (lane / 4, 2 * (lane % 4) + half);
                    let expected = if form.transposed { (along, line, register) } else { (line, along, register) };
                    let element = form.registers.apply(place(&form.registers, half, register, lane));
                    assert_eq!(split(element), expected, "{}, lane {lane}, register {register}", form.name);
                }
            }
            // Addresses: threads 0-7 those of the first matrix, 8-15 of the second, 16-23 of the third, 24-31 of the
            // fourth.
            let given = form.rows.apply(lane as u64) as usize;
            assert_eq!(given, lane % (8 * n), "{}, lane {lane}", form.name);
        }
    }
}

#[test]
fn names_tell_the_form() {
    for form in &MOVES {
        let operation = form.name.split('_').next().unwrap();
        let transposed = if form.transposed { ["_trans", ".trans"] } else { ["", ""] };
        assert_eq!(form.name, format!("{operation}_x{}{}_shared_b16", form.matrices, transposed[0]));
        assert_eq!(form.ptx, format!("{operation}.sync.aligned.m8n8.x{}{}.shared.b16", form.matrices, transposed[1]));
        assert_eq!(MatrixMove::find(form.name).map(|found| found.ptx), Some(form.ptx));
    }
}

#[test]
fn transposing_exchanges_rows_and_columns() {
    let exchanged = matrix::MATRIX
        .renumber_logical("row", "x", 0)
        .and_then(|layout| layout.renumber_logical("col", "row", 0))
        .and_then(|layout| layout.renumber_logical("x", "col", 0))
        .unwrap();
    assert!(matrix::MOVMATRIX.destination.same_map(&exchanged));
    assert!(matrix::LDMATRIX_X1_TRANS.registers.same_map(&exchanged));
    assert_eq!(matrix::MOVMATRIX.source, matrix::MATRIX);
}

/// What a form moves, of matrices that are parts of a factor: rows and columns renamed, and the matrix bits to what
/// they count.
fn moved(form: &MatrixMove, row: &str, column: &str, matrices: &[&str]) -> Layout {
    let rows = form.registers.renumber_logical("row", row, 0);
    let mut layout = rows.and_then(|rows| rows.renumber_logical("col", column, 0)).expect("rows and columns");
    for (bit, name) in matrices.iter().enumerate() {
        layout = layout.rename_logical(&format!("matrix{bit}"), name).expect("as many matrix bits as names");
    }
    layout
}

#[test]
fn loads_give_the_fragments_of_16_bit_products() {
    let mma = mma::M16N8K16_F32_F16;
    assert!(moved(&matrix::LDMATRIX_X4, "i", "j", &["i3", "j3"]).same_map(&mma.a));
    assert!(moved(&matrix::LDMATRIX_X2, "k", "j", &["j3"]).same_map(&mma.b));
    // `B` whose rows, along N, lie in memory.
    assert!(moved(&matrix::LDMATRIX_X2_TRANS, "j", "k", &["j3"]).same_map(&mma.b));
    let mma = mma::M16N8K8_F32_F16;
    assert!(moved(&matrix::LDMATRIX_X2, "i", "j", &["i3"]).same_map(&mma.a));
    assert!(moved(&matrix::LDMATRIX_X1, "k", "j", &[]).same_map(&mma.b));
    assert!(moved(&matrix::LDMATRIX_X1_TRANS, "j", "k", &[]).same_map(&mma.b));
}

#[test]
fn stores_take_the_sums_of_16_bit_products() {
    assert!(moved(&matrix::STMATRIX_X2, "i", "k", &["i3"]).same_map(&mma::M16N8K16_F16_F16.c));
}

#[test]
fn rows_of_other_widths_are_the_same_16_bytes() {
    // A byte of a row by lane and byte of the register, from each width.
    for (layout, bits) in [(matrix::MATRIX_8BIT, 8), (matrix::MATRIX, 16), (matrix::MATRIX_32BIT, 32)] {
        for lane in 0..32 {
            for byte in 0..4 {
                let element = layout.apply(place(&layout, 8 * byte / bits, 0, lane)) as usize;
                let (row, column) = (element % 8, element / 8);
                let start = column * bits / 8 + byte % (bits / 8);
                assert_eq!((row, start), (lane / 4, 4 * (lane % 4) + byte), "{bits} bits");
            }
        }
    }
}
