//! Matrices in shared memory and their descriptors, against the PTX ISA's examples and fields.

use fringes_layout_core::atoms::descriptor::{Descriptor, Fields, Major, Operand, Swizzle};

/// CuTe's `Swizzle<bits, 4, 3>` of a byte's address.
fn cute_swizzle(bits: u32, address: u32) -> u32 {
    let (mut chunk, line) = (address / 16 % 8, address / 128 % 8);
    for bit in 0..bits {
        chunk ^= line & (1 << bit);
    }
    address / 128 * 128 + 16 * chunk + address % 16
}

/// An index into a mode of a CuTe layout: digits by `shape`, each times its stride.
fn cute(mut index: u32, (shape, stride): (&[u32], &[u32])) -> u32 {
    let mut sum = 0;
    for (shape, stride) in shape.iter().zip(stride) {
        sum += index % shape * stride;
        index /= shape;
    }
    sum
}

/// A mode of a CuTe layout: shapes and strides, in elements.
type Mode = (&'static [u32], &'static [u32]);

/// Compares an operand with the layout `Swizzle<bits, 4, 3> o (rows, columns)`.
fn check(operand: Option<Operand>, element_bytes: u32, bits: u32, rows: Mode, columns: Mode) {
    let operand = operand.expect("an operand");
    for row in 0..rows.0.iter().product() {
        for column in 0..columns.0.iter().product() {
            let expected = cute_swizzle(bits, (cute(row, rows) + cute(column, columns)) * element_bytes);
            assert_eq!(operand.offset(row, column), Some(expected), "{operand:?}, row {row}, column {column}");
        }
    }
}

#[test]
fn the_isas_examples_of_canonical_layouts_are_reproduced() {
    // K-major, tf32: LBO 64 elements, SBO 32; with 32 bytes SBO 64, and the 32 bytes of one row.
    let plain = Operand::new(Major::K, Swizzle::None, 32, 64 * 4, 32 * 4);
    check(plain, 4, 0, (&[8, 2], &[4, 32]), (&[4, 4], &[1, 64]));
    let swizzled = Operand::new(Major::K, Swizzle::Bytes32, 32, 16, 64 * 4);
    check(swizzled, 4, 1, (&[8, 2], &[8, 64]), (&[4, 2], &[1, 4]));
    // MN-major, bf16: LBO and SBO 128 and 64 elements, 128 and 256, 256 and 512.
    let plain = Operand::new(Major::MN, Swizzle::None, 16, 128 * 2, 64 * 2);
    check(plain, 2, 0, (&[8, 1, 2], &[1, 8, 64]), (&[8, 2], &[8, 128]));
    let swizzled = Operand::new(Major::MN, Swizzle::Bytes32, 16, 128 * 2, 256 * 2);
    check(swizzled, 2, 1, (&[8, 2, 2], &[1, 8, 128]), (&[8, 2], &[16, 256]));
    let swizzled = Operand::new(Major::MN, Swizzle::Bytes64, 16, 256 * 2, 512 * 2);
    check(swizzled, 2, 2, (&[8, 4, 2], &[1, 8, 256]), (&[8, 2], &[32, 512]));
}

#[test]
fn canonical_layouts_of_128_bytes_are_the_isas_general_form() {
    // ((8,m),(T,2k)):((8T,SBO),(1,T)) and ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)), T elements in 16 bytes.
    let bytes = Operand::new(Major::K, Swizzle::Bytes128, 8, 16, 1024);
    check(bytes, 1, 3, (&[8, 8], &[8 * 16, 1024]), (&[16, 8], &[1, 16]));
    let halves = Operand::new(Major::K, Swizzle::Bytes128, 16, 16, 2048);
    check(halves, 2, 3, (&[8, 8], &[8 * 8, 1024]), (&[8, 8], &[1, 8]));
    let across = Operand::new(Major::MN, Swizzle::Bytes128, 16, 1024, 4096);
    check(across, 2, 3, (&[8, 8, 4], &[1, 8, 512]), (&[8, 2], &[8 * 8, 2048]));
}

/// Operands of every kind: itself, swizzle, direction, element bits.
fn operands() -> Vec<(Operand, Swizzle, Major, u32)> {
    let mut all = Vec::new();
    for swizzle in Swizzle::ALL {
        let atom = 8 * swizzle.row_bytes();
        for (major, bits) in [(Major::K, 8), (Major::K, 16), (Major::K, 32), (Major::MN, 16)] {
            let operand = Operand::new(major, swizzle, bits, 2 * atom, atom).expect("an operand");
            all.push((operand, swizzle, major, bits));
        }
    }
    all
}

#[test]
fn operands_that_the_hardware_has_not_are_refused() {
    for swizzle in Swizzle::ALL {
        let atom = 8 * swizzle.row_bytes();
        assert!(Operand::new(Major::MN, swizzle, 8, atom, atom).is_none());
        assert!(Operand::new(Major::MN, swizzle, 32, atom, atom).is_none());
        assert!(Operand::new(Major::K, swizzle, 4, atom, atom).is_none());
        assert!(Operand::new(Major::K, swizzle, 16, atom, atom + 16).is_none());
        assert!(Operand::new(Major::MN, swizzle, 16, atom + 16, atom).is_none());
    }
}

#[test]
fn atoms_are_layouts_of_the_same_addresses() {
    for (operand, swizzle, major, bits) in operands() {
        let atom = operand.atom().unwrap();
        assert!(atom.is_bijective());
        assert_eq!(atom.physical().size() as u32, 8 * swizzle.row_bytes());
        let along = 8 * swizzle.row_bytes() / bits;
        let rows = if major == Major::K { 8 } else { along };
        for address in 0..8 * swizzle.row_bytes() {
            let index = atom.apply(address.into()) as u32;
            let (element, byte) = (index % (8 * along), index / (8 * along));
            let start = operand.offset(element % rows, element / rows).unwrap();
            assert_eq!(start + byte, address, "{major:?} {swizzle:?} {bits} bits: {atom}");
        }
    }
}

#[test]
fn atoms_are_spelled_as_documented() {
    let text =
        |major, swizzle, bits| Operand::new(major, swizzle, bits, 1024, 1024).unwrap().atom().unwrap().to_string();
    assert_eq!(text(Major::K, Swizzle::None, 8), "s<->col0 col1 col2 col3 row0 row1 row2");
    assert_eq!(text(Major::K, Swizzle::Bytes32, 8), "s<->col0 col1 col2 col3 col4 row0 row1 row2^col4");
    assert_eq!(text(Major::K, Swizzle::Bytes64, 8), "s<->col0 col1 col2 col3 col4 col5 row0 row1^col4 row2^col5");
    let whole = "s<->col0 col1 col2 col3 col4 col5 col6 row0^col4 row1^col5 row2^col6";
    assert_eq!(text(Major::K, Swizzle::Bytes128, 8), whole);
    let pairs = "s<->byte0 row0 row1 row2 row3 row4 row5 row3^col0 row4^col1 row5^col2";
    assert_eq!(text(Major::MN, Swizzle::Bytes128, 16), pairs);
}

#[test]
fn eight_rows_of_a_chunk_touch_all_banks() {
    // What `ldmatrix` reads in one phase: 16 bytes of each of 8 rows that follow each other.
    for (operand, swizzle, major, bits) in operands() {
        let chunk = 128 / bits;
        for first in [0, 8] {
            for at in 0..swizzle.row_bytes() / 16 {
                let mut banks = [0; 32];
                for line in first..first + 8 {
                    let (row, column) = if major == Major::K { (line, at * chunk) } else { (at * chunk, line) };
                    let start = operand.offset(row, column).unwrap();
                    assert_eq!(start % 16, 0, "a chunk lies together");
                    (0..4).for_each(|word| banks[(start / 4 + word) as usize % 32] += 1);
                }
                assert_eq!(banks, [1; 32], "{major:?} {swizzle:?} {bits} bits, chunk {at}");
            }
        }
    }
}

#[test]
fn offsets_end_where_a_descriptor_does() {
    let operand = Operand::new(Major::K, Swizzle::Bytes64, 16, 16, 512).unwrap();
    assert!(operand.offset(0, 31).is_some() && operand.offset(0, 32).is_none());
    let operand = Operand::new(Major::K, Swizzle::None, 16, 1 << 20, 1 << 30).unwrap();
    assert_eq!(operand.offset(24, 8 * 1023 + 1), Some((3 << 30) + (1023 << 20) + 2));
    assert!(operand.offset(24, 8 << 10).is_none() && operand.offset(32, 0).is_none());
}

#[test]
fn descriptors_have_the_isas_fields() {
    // matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4.
    let bits = Descriptor::new(0x4400, 16, 1024, Swizzle::Bytes128).bits();
    assert_eq!(bits, 0x440 | 1 << 16 | 64 << 32 | 1 << 62);
    // The example with LBO 64 tf32 and SBO 32 tf32: encoded 16 and 8.
    assert_eq!(Descriptor::new(0, 64 * 4, 32 * 4, Swizzle::None).bits(), 16 << 16 | 8 << 32);
    assert_eq!(Descriptor::new(0, 256, 512, Swizzle::Bytes32).bits() >> 62, 3);
    assert_eq!(Descriptor::new(0, 256, 512, Swizzle::Bytes64).bits() >> 62, 2);
    // What lies beyond 2^18, and below 16, is left out.
    assert_eq!(Descriptor::new(0x4_4408, 16, 1024, Swizzle::Bytes128).bits(), bits);
    // Half an atom further on in K, and a pattern that begins at row 3.
    assert_eq!(Descriptor::new(0x4400, 16, 1024, Swizzle::Bytes128).advance(64).bits(), bits + 4);
    let start = 0x4580;
    let fields = Fields { address: start, leading: 16, stride: 1024, base: start >> 7 & 7, swizzle: Swizzle::Bytes128 };
    assert_eq!(Descriptor::encode(fields).bits() >> 49 & 7, 3);
}

#[test]
fn fields_are_read_back() {
    for (swizzle, base) in Swizzle::ALL.into_iter().zip([0, 1, 6, 7]) {
        let fields = Fields { address: 0x3_fff0, leading: 0x1_2340, stride: 0x2_0010, base, swizzle };
        assert_eq!(Descriptor::encode(fields).fields(), fields);
    }
}
