//! Moves twice: as changes of a layout's columns, and lowered into programs.

use fringes_layout::program::{Builder, LaneFlag, LaneMap, Program, moves};
use fringes_layout::{Layout, Name, Space};
use proptest::prelude::*;

/// A move of a layout of 2^`b` parts, 2^3 registers and 32 lanes.
#[derive(Debug, Clone)]
pub(crate) enum Move {
    Local { bit: usize, r: u32 },
    Warp { lane: u32, r: u32 },
    SelectXor { flag: u8, mask: usize },
    ByteXor { flag: u8, mask: usize },
    Lanes(LaneMap),
    Matrix,
}

/// Register bits of the layouts.
const R: usize = 3;

/// A random layout with 1 or 2 `b` bits, and moves.
pub(crate) fn arbitrary_case() -> impl Strategy<Value = (Layout, Vec<Move>)> {
    (1usize..=2).prop_flat_map(|b| {
        let layout = (Just(b), prop::collection::vec(1u64..1 << (b + R + 5), b + R + 5), 0u64..1 << (b + R + 5));
        (layout.prop_map(layout_of), prop::collection::vec(arbitrary_move(b), 1..6))
    })
}

/// Any columns: elements may be in several places and others in none.
fn layout_of((b, columns, offset): (usize, Vec<u64>, u64)) -> Layout {
    let (mut physical, mut logical) = (Space::new(), Space::new());
    let names = (0..b).map(|i| ("b", i)).chain((0..R).map(|i| ("r", i))).chain((0..5).map(|i| ("t", i)));
    for (stem, number) in names {
        logical = logical.with(Name::numbered("n", physical.len()).unwrap()).unwrap();
        physical = physical.with(Name::numbered(stem, number).unwrap()).unwrap();
    }
    Layout::from_columns(physical, logical, &columns).unwrap().with_offset(offset).unwrap()
}

fn arbitrary_move(b: usize) -> impl Strategy<Value = Move> {
    let r = 0..R as u32;
    let map = (prop::array::uniform5(0u32..32), 0u32..32).prop_map(|(columns, offset)| LaneMap { columns, offset });
    let any = prop_oneof![
        (0..b, r.clone()).prop_map(|(bit, r)| Move::Local { bit, r }),
        (0u32..5, r).prop_map(|(lane, r)| Move::Warp { lane, r }),
        (0u8..32, 0usize..1 << R).prop_map(|(flag, mask)| Move::SelectXor { flag, mask }),
        (0u8..32, 0usize..1 << b).prop_map(|(flag, mask)| Move::ByteXor { flag, mask }),
        map.prop_map(Move::Lanes),
    ];
    // A matrix is of 16-bit elements.
    if b == 1 { prop_oneof![5 => any, 1 => Just(Move::Matrix)].boxed() } else { any.boxed() }
}

/// Position of a physical bit in layouts of [`arbitrary_case`].
fn position(layout: &Layout, stem: &str, number: usize) -> usize {
    layout.physical().position(&Name::numbered(stem, number).unwrap()).unwrap()
}

/// The layout after the moves, by its columns alone.
pub(crate) fn moved(from: &Layout, moves: &[Move]) -> Layout {
    let mut columns: Vec<u64> = (0..from.physical().len()).map(|bit| from.column(bit)).collect();
    let mut offset = from.offset();
    let at = |stem: &str, number: usize| position(from, stem, number);
    for each in moves {
        match each {
            Move::Local { bit, r } => columns.swap(at("b", *bit), at("r", *r as usize)),
            Move::Warp { lane, r } => columns.swap(at("t", *lane as usize), at("r", *r as usize)),
            Move::SelectXor { flag, mask } => add(&mut columns, from, *flag, "r", *mask),
            Move::ByteXor { flag, mask } => add(&mut columns, from, *flag, "b", *mask),
            Move::Lanes(map) => {
                let lanes: Vec<u64> = (0..5).map(|bit| columns[at("t", bit)]).collect();
                let of = |lane: u32| (0..5).filter(|bit| lane >> bit & 1 == 1).fold(0, |sum, bit| sum ^ lanes[bit]);
                offset ^= of(map.offset);
                for bit in 0..5 {
                    columns[at("t", bit)] = of(map.columns[bit]);
                }
            }
            Move::Matrix => {
                columns.swap(at("b", 0), at("t", 2));
                columns.swap(at("t", 0), at("t", 3));
                columns.swap(at("t", 1), at("t", 4));
            }
        }
    }
    Layout::from_columns(*from.physical(), *from.logical(), &columns).unwrap().with_offset(offset).unwrap()
}

/// Adds the parity of lane bits to bits of another index.
fn add(columns: &mut [u64], from: &Layout, flag: u8, stem: &str, mask: usize) {
    let bits = (0..8).filter(|bit| mask >> bit & 1 == 1);
    let sum = bits.fold(0, |sum, bit| sum ^ columns[position(from, stem, bit)]);
    for lane in (0..5).filter(|lane| flag >> lane & 1 == 1) {
        columns[position(from, "t", lane)] ^= sum;
    }
}

/// The program of the moves.
pub(crate) fn lower(from: &Layout, moves: &[Move]) -> Program {
    let mut builder = Builder::new(1 << R);
    let mut registers = builder.inputs();
    let b = from.physical().len() - R - 5;
    for each in moves {
        let (builder, registers) = (&mut builder, &mut registers[..]);
        match each {
            Move::Local { bit, r } => {
                moves::local_transpose(builder, registers, moves::byte_bit(b, *bit).unwrap(), *r);
            }
            Move::Warp { lane, r } => moves::warp_transpose(builder, registers, *lane, *r),
            Move::SelectXor { flag, mask } => moves::select_xor(builder, registers, LaneFlag { mask: *flag }, *mask),
            Move::ByteXor { flag, mask } => {
                let bytes = if b == 1 { 2 * mask } else { *mask };
                moves::byte_xor(builder, registers, LaneFlag { mask: *flag }, bytes as u16);
            }
            Move::Lanes(map) => moves::lane_map(builder, registers, *map),
            Move::Matrix => moves::movmatrix(builder, registers),
        }
    }
    builder.finish(&registers)
}
