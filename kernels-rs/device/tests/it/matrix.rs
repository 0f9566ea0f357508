//! Twins of `ldmatrix`, `stmatrix` and `movmatrix` against the layout of an 8 x 8 matrix.

use crate::common;

use common::{LANES, Random, block, warp};
use fringes_device::Shared;
use fringes_device::barrier::bar_sync_0;
use fringes_device::matrix::*;
use fringes_emulator::FaultKind;

/// Rows of 16 bytes in shared memory.
const ROWS: usize = 64;

/// Rows for the lanes, each once, scattered.
fn places() -> Vec<usize> {
    (0..LANES).map(|lane| lane * 37 % ROWS).collect()
}

/// Element `column` of the row that starts at shared row `row`: its place tells which it is.
fn element(row: usize, column: usize) -> u32 {
    (8 * row + column) as u32
}

/// Fills shared memory with elements, and gives the address of this lane's row.
///
/// # Safety
/// One warp, 1024 bytes of shared memory.
unsafe fn prepared(lane: usize) -> u32 {
    let shared = Shared::<u32>::dynamic();
    for word in (lane..4 * ROWS).step_by(LANES) {
        // SAFETY: the word exists and no other lane writes it; the barrier is reached by all.
        unsafe { shared.store(word, element(word / 4, 2 * (word % 4)) | element(word / 4, 2 * (word % 4) + 1) << 16) };
    }
    // SAFETY: as above.
    unsafe {
        bar_sync_0();
        shared.address(4 * places()[lane])
    }
}

/// The two elements of a lane's register of matrix `matrix`.
fn of(lane: usize, matrix: usize) -> u32 {
    let row = places()[8 * matrix + lane / 4];
    element(row, 2 * (lane % 4)) | element(row, 2 * (lane % 4) + 1) << 16
}

/// The same of the transposed matrix.
fn transposed(lane: usize, matrix: usize) -> u32 {
    let at = |row: usize| element(places()[8 * matrix + row], lane / 4);
    at(2 * (lane % 4)) | at(2 * (lane % 4) + 1) << 16
}

#[test]
fn loads_follow_the_layout() {
    // SAFETY: all lanes execute it together; the rows are there.
    let results = warp(1024, |lane| unsafe {
        let row = prepared(lane);
        (ldmatrix_x1_shared_b16(row), ldmatrix_x2_shared_b16(row), ldmatrix_x4_shared_b16(row))
    });
    for (lane, result) in results.into_iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|matrix| of(lane, matrix));
        assert_eq!(result, ([a], [a, b], [a, b, c, d]), "lane {lane}");
    }
}

#[test]
fn transposed_loads_exchange_rows_and_columns() {
    // SAFETY: all lanes execute it together; the rows are there.
    let results = warp(1024, |lane| unsafe {
        let row = prepared(lane);
        (ldmatrix_x1_trans_shared_b16(row), ldmatrix_x2_trans_shared_b16(row), ldmatrix_x4_trans_shared_b16(row))
    });
    for (lane, result) in results.into_iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|matrix| transposed(lane, matrix));
        assert_eq!(result, ([a], [a, b], [a, b, c, d]), "lane {lane}");
    }
}

#[test]
fn moving_a_matrix_transposes_it() {
    // SAFETY: all lanes execute it together; the rows are there.
    let results = warp(1024, |lane| unsafe { movmatrix_trans_b16(ldmatrix_x1_shared_b16(prepared(lane))[0]) });
    for (lane, result) in results.into_iter().enumerate() {
        assert_eq!(result, transposed(lane, 0), "lane {lane}");
    }
}

#[test]
fn addresses_beyond_those_of_the_matrices_are_not_used() {
    // SAFETY: all lanes execute it together; the rows of lanes 0 to 7 are there.
    let results = warp(1024, |lane| unsafe {
        let row = prepared(lane);
        ldmatrix_x1_shared_b16(if lane < 8 { row } else { 0xffff_fff3 })
    });
    for (lane, result) in results.into_iter().enumerate() {
        assert_eq!(result, [of(lane, 0)], "lane {lane}");
    }
}

#[test]
fn a_row_that_is_not_at_a_multiple_of_16_is_a_fault() {
    // SAFETY: the emulator reports what is wrong.
    let (_, report) =
        block(LANES, 1024, |lane| unsafe { ldmatrix_x1_shared_b16(prepared(lane) + if lane == 3 { 8 } else { 0 }) });
    assert!(report.found(FaultKind::Misaligned), "{:?}", report.faults);
    assert_eq!(report.faults[0].thread, [3, 0, 0]);
}

#[test]
fn a_load_of_one_matrix_takes_eight_rows_without_bank_conflicts() {
    // SAFETY: all lanes execute it together; the rows are there.
    let (_, report) = block(LANES, 1024, |lane| unsafe {
        prepared(lane);
        ldmatrix_x1_shared_b16(16 * lane as u32)
    });
    report.assert_clean();
    let stored = 8;
    assert_eq!((report.shared_requests, report.shared_wavefronts), (stored + 1, stored + 1));
}

/// Shared memory after a store by `store(row, registers)`, elements by rows, and the registers.
fn stored(store: impl Fn(u32, [u32; 4])) -> (Vec<[u32; 8]>, Vec<[u32; 4]>) {
    let mut random = Random(11);
    let registers: Vec<[u32; 4]> = (0..LANES).map(|_| core::array::from_fn(|_| random.word())).collect();
    // SAFETY: all lanes execute it together; the rows are there, each one lane's.
    let parts = warp(1024, |lane| unsafe {
        store(prepared(lane), registers[lane]);
        bar_sync_0();
        core::array::from_fn::<u32, 8, _>(|word| Shared::<u32>::dynamic().load(8 * lane + word))
    });
    let rows = parts.iter().flat_map(|words| words.chunks(4));
    let rows = rows.map(|row| core::array::from_fn(|column| row[column / 2] >> (16 * (column % 2)) & 0xffff)).collect();
    (rows, registers)
}

/// Checks that the first `matrices` matrices lie in their rows, and that nothing else changed.
fn check(matrices: usize, transposed: bool, store: impl Fn(u32, [u32; 4])) {
    let (rows, registers) = stored(store);
    for (row, elements) in rows.iter().enumerate() {
        let owner = places().iter().position(|&place| place == row).filter(|lane| *lane < 8 * matrices);
        for (column, &have) in elements.iter().enumerate() {
            let want = match owner {
                None => element(row, column),
                Some(lane) => {
                    let (i, j) = if transposed { (column, lane % 8) } else { (lane % 8, column) };
                    registers[4 * i + j / 2][lane / 8] >> (16 * (j % 2)) & 0xffff
                }
            };
            assert_eq!(have, want, "row {row}, column {column}");
        }
    }
}

#[test]
fn stores_follow_the_layout() {
    // SAFETY: all lanes execute it together, on rows of shared memory.
    check(1, false, |row, r| unsafe { stmatrix_x1_shared_b16(row, [r[0]]) });
    // SAFETY: as above.
    check(2, false, |row, r| unsafe { stmatrix_x2_shared_b16(row, [r[0], r[1]]) });
    // SAFETY: as above.
    check(4, false, |row, r| unsafe { stmatrix_x4_shared_b16(row, r) });
}

#[test]
fn transposed_stores_exchange_rows_and_columns() {
    // SAFETY: all lanes execute it together, on rows of shared memory.
    check(1, true, |row, r| unsafe { stmatrix_x1_trans_shared_b16(row, [r[0]]) });
    // SAFETY: as above.
    check(2, true, |row, r| unsafe { stmatrix_x2_trans_shared_b16(row, [r[0], r[1]]) });
    // SAFETY: as above.
    check(4, true, |row, r| unsafe { stmatrix_x4_trans_shared_b16(row, r) });
}
