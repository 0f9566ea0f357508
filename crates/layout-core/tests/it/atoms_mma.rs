//! Fragments of `mma.sync` against the formulas of the PTX ISA and the equations of the note on CHIME's beamforming.

use fringes_layout_core::atoms::mma::{self, MMAS, Mma};
use fringes_layout_core::atoms::{bits, place, registers};
use fringes_layout_core::{Layout, Space};

/// Row and column of element `i` of a fragment, elements counted from the lowest bits of the first register up, as the
/// ISA's sections "Matrix Fragments for mma" have it: of `groupID = laneid >> 2` and `threadID_in_group = laneid % 4`.
type Formula = fn(i: usize, group: usize, thread: usize) -> (usize, usize);

/// `A` of this K and element width.
fn isa_a(k: usize, bits: usize) -> Formula {
    match (k, bits) {
        (8, 16) => |i, group, thread| (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1)),
        (16, 16) => |i, group, thread| {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            (row, if i < 4 { thread * 2 + (i & 1) } else { thread * 2 + (i & 1) + 8 })
        },
        (4, 32) => |i, group, thread| (if i == 0 { group } else { group + 8 }, thread),
        (8, 32) => |i, group, thread| {
            let row = if i == 0 || i == 2 { group } else { group + 8 };
            (row, if i < 2 { thread } else { thread + 4 })
        },
        (16, 8) => |i, group, thread| (if i < 4 { group } else { group + 8 }, thread * 4 + (i & 3)),
        (32, 8) => |i, group, thread| {
            let row = if i < 4 || (8..12).contains(&i) { group } else { group + 8 };
            (row, if i < 8 { thread * 4 + (i & 3) } else { thread * 4 + (i & 3) + 16 })
        },
        (32, 4) => |i, group, thread| (if i < 8 { group } else { group + 8 }, thread * 8 + (i & 7)),
        (64, 4) => |i, group, thread| {
            let row = if i < 8 || (16..24).contains(&i) { group } else { group + 8 };
            (row, if i < 16 { thread * 8 + (i & 7) } else { thread * 8 + (i & 7) + 32 })
        },
        _ => |_, _, _| (usize::MAX, usize::MAX), // no such fragment: nothing equals it
    }
}

/// `B` of this K and element width.
fn isa_b(k: usize, bits: usize) -> Formula {
    match (k, bits) {
        (8, 16) => |i, group, thread| (thread * 2 + i, group),
        (16, 16) => |i, group, thread| (if i < 2 { thread * 2 + (i & 1) } else { thread * 2 + (i & 1) + 8 }, group),
        (4, 32) => |_, group, thread| (thread, group),
        (8, 32) => |i, group, thread| (if i == 0 { thread } else { thread + 4 }, group),
        (16, 8) => |i, group, thread| (thread * 4 + i, group),
        (32, 8) => |i, group, thread| (if i < 4 { thread * 4 + (i & 3) } else { thread * 4 + (i & 3) + 16 }, group),
        (32, 4) => |i, group, thread| (thread * 8 + i, group),
        (64, 4) => |i, group, thread| (if i < 8 { thread * 8 + (i & 7) } else { thread * 8 + (i & 7) + 32 }, group),
        _ => |_, _, _| (usize::MAX, usize::MAX), // no such fragment: nothing equals it
    }
}

/// `C` and `D`, the same of all shapes.
fn isa_c(i: usize, group: usize, thread: usize) -> (usize, usize) {
    (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
}

/// Compares every place of a fragment with a formula; `rows` of the matrix, and bits of an element.
fn check(what: &str, fragment: &Layout, rows: usize, element: usize, formula: Formula) {
    let elements = 32 / element;
    assert_eq!(1 << bits(fragment, "b"), elements, "{what}: elements of a register");
    for lane in 0..32 {
        for register in 0..registers(fragment) {
            for e in 0..elements {
                let expected = formula(elements * register + e, lane >> 2, lane % 4);
                let index = fragment.apply(place(fragment, e, register, lane)) as usize;
                let at = format!("{what}, lane {lane}, register {register}, element {e}");
                assert_eq!((index % rows, index / rows), expected, "{at}");
            }
        }
    }
}

#[test]
fn every_element_lies_where_the_isa_has_it() {
    for mma in &MMAS {
        let Mma { name, k, .. } = *mma;
        check(&format!("A of {name}"), &mma.a, 16, mma.element.bits(), isa_a(k, mma.element.bits()));
        check(&format!("B of {name}"), &mma.b, k, mma.element.bits(), isa_b(k, mma.element.bits()));
        check(&format!("C of {name}"), &mma.c, 16, mma.accumulator.bits(), isa_c);
    }
}

#[test]
fn every_fragment_holds_its_whole_matrix_once() {
    for mma in &MMAS {
        for (fragment, elements) in [(&mma.a, mma.m * mma.k), (&mma.b, mma.k * mma.n), (&mma.c, mma.m * mma.n)] {
            assert_eq!(fragment.physical().size(), elements as u64, "{}", mma.name);
            let mut held = vec![false; elements];
            for place in 0..elements as u64 {
                assert!(
                    !std::mem::replace(&mut held[fragment.apply(place) as usize], true),
                    "{}: {fragment}",
                    mma.name
                );
            }
            assert!(fragment.is_permutation());
        }
    }
}

#[test]
fn bits_come_as_place_takes_them_and_rows_before_columns() {
    let ordered = |space: &Space, stems: &[&str]| {
        let counts = stems.iter().map(|stem| (*stem, space.stem_mask(stem).count_ones() as usize));
        counts.fold(Space::new(), |all, (stem, count)| all.with_numbered(stem, count).expect("bits of one space"))
    };
    for mma in &MMAS {
        for (fragment, [rows, columns]) in [(&mma.a, ["i", "j"]), (&mma.b, ["j", "k"]), (&mma.c, ["i", "k"])] {
            assert_eq!(*fragment.physical(), ordered(fragment.physical(), &["b", "r", "t"]), "{}", mma.name);
            assert_eq!(*fragment.logical(), ordered(fragment.logical(), &[rows, columns]), "{}", mma.name);
            assert_eq!(bits(fragment, "t"), 5);
        }
    }
}

#[test]
fn equations_39_to_44_of_the_note_are_the_table() {
    let check = |mma: &Mma, [a, b, c]: [&str; 3]| {
        for (fragment, text) in [(&mma.a, a), (&mma.b, b), (&mma.c, c)] {
            let equation = Layout::parse(text).unwrap();
            assert!(fragment.same_map(&equation), "{}: {fragment} for {equation}", mma.name);
        }
    };
    check(
        &mma::M16N8K8_F16_F16,
        [
            "b0<->j0  r0<->i3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2",
            "b0<->j0  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2",
            "b0<->k0  r0<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2",
        ],
    );
    check(
        &mma::M16N8K16_F16_F16,
        [
            "b0<->j0  r0 r1<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2",
            "b0<->j0  r0<->j3  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2",
            "b0<->k0  r0<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2",
        ],
    );
}

#[test]
fn twice_the_k_is_one_more_register_bit_for_the_highest_column() {
    let pairs = [
        (mma::M16N8K8_F16_F16, mma::M16N8K16_F16_F16, "j3"),
        (mma::M16N8K8_F32_F16, mma::M16N8K16_F32_F16, "j3"),
        (mma::M16N8K8_F32_BF16, mma::M16N8K16_F32_BF16, "j3"),
        (mma::M16N8K16_S32_S8, mma::M16N8K32_S32_S8, "j4"),
        (mma::M16N8K16_S32_U8, mma::M16N8K32_S32_U8, "j4"),
        (mma::M16N8K32_S32_S4, mma::M16N8K64_S32_S4, "j5"),
        (mma::M16N8K4_F32_TF32, mma::M16N8K8_F32_TF32, "j2"),
    ];
    for (half, whole, column) in pairs {
        assert_eq!(whole.a.divide(&half.a).unwrap().to_string(), format!("r1<->{column}"), "{}", whole.name);
        assert_eq!(whole.b.divide(&half.b).unwrap().to_string(), format!("r<->{column}"), "{}", whole.name);
        assert_eq!(whole.c, half.c);
    }
}

#[test]
fn names_shapes_and_types_agree() {
    for (at, mma) in MMAS.iter().enumerate() {
        let (element, accumulator) = (mma.element.ptx(), mma.accumulator.ptx());
        let shape = format!("m{}n{}k{}", mma.m, mma.n, mma.k);
        assert_eq!(mma.name, format!("mma_{shape}_{accumulator}_{element}"));
        assert_eq!(mma.ptx, format!("{shape}.row.col.{accumulator}.{element}.{element}.{accumulator}"));
        let bits = [(mma.m * mma.k, element), (mma.k * mma.n, element), (mma.m * mma.n, accumulator)];
        let registers = bits.map(|(elements, of)| {
            let width = if of == element { mma.element.bits() } else { mma.accumulator.bits() };
            elements * width / 32 / 32
        });
        assert_eq!(mma.registers(), registers, "{}", mma.name);
        assert_eq!(Mma::find(mma.name).map(|found| found.ptx), Some(mma.ptx));
        assert!(MMAS[..at].iter().all(|other| other.name != mma.name), "{} is there twice", mma.name);
    }
    assert!(Mma::find("mma_m16n8k16_s32").is_none());
}
