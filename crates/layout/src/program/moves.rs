//! Moves of index bits, lowered into instructions: what the planner puts programs together from.
//!
//! Each takes the registers that hold an array, in order of the register index, and leaves there those that hold the
//! array afterwards. Pairs of registers that a move needs and that are not there are left alone.

use super::{Builder, LaneFlag, LaneMap, Register, Selector};

/// The bit of the byte index inside a register that `b<bit>` is, where elements have `32 >> bits` bits: none if it
/// divides bytes.
pub fn byte_bit(bits: usize, bit: usize) -> Option<u32> {
    // b<bits - 1> is the half, byte bit 1.
    let below_half = bits.checked_sub(1)?.checked_sub(bit)?;
    1u32.checked_sub(below_half as u32)
}

/// Exchanges bit `byte_bit` of the byte index (0 or 1, see [`byte_bit`]) with bit `r` of the register index.
///
/// 2 permutes a pair of registers.
pub fn local_transpose(builder: &mut Builder, registers: &mut [Register], byte_bit: u32, r: u32) {
    let bit = 1u16 << byte_bit;
    // Byte i of the lower register comes from the byte with the bit cleared, of the register that the bit names; of the
    // upper, with the bit set.
    let selector = |upper: u16| {
        let byte = |i: u16| i & !bit | (upper * bit) | if i & bit == 0 { 0 } else { 4 };
        Selector::Constant((0..4).fold(0, |packed, i| packed | byte(i) << (4 * i)))
    };
    for (low, high) in pairs(registers.len(), r) {
        let (a, b) = (registers[low], registers[high]);
        registers[low] = builder.permute(a, b, selector(0));
        registers[high] = builder.permute(a, b, selector(1));
    }
}

/// Exchanges bit `lane` of the lane index with bit `r` of the register index.
///
/// 1 select, 1 shuffle and 2 selects a pair of registers.
pub fn warp_transpose(builder: &mut Builder, registers: &mut [Register], lane: u32, r: u32) {
    let mask = 1u8 << (lane % 8);
    warp_exchange(builder, registers, LaneFlag { mask }, mask, r);
}

/// Exchanges, in pairs of registers that differ in bit `r` of their index, what the flag divides: lanes with the flag
/// clear keep the lower register and get as their upper one the lower register of lane `lane ^ lanes`; lanes with the
/// flag set keep the upper one and get as their lower one the upper register of that lane.
///
/// The flag must differ between `lane` and `lane ^ lanes`. 1 select, 1 shuffle and 2 selects a pair of registers.
pub fn warp_exchange(builder: &mut Builder, registers: &mut [Register], flag: LaneFlag, lanes: u8, r: u32) {
    for (low, high) in pairs(registers.len(), r) {
        let (a, b) = (registers[low], registers[high]);
        let source = builder.select(flag, b, a);
        let got = builder.shuffle_xor(source, lanes);
        registers[low] = builder.select(flag, a, got);
        registers[high] = builder.select(flag, got, b);
    }
}

/// Where the flag is set, renames register `i` to `i ^ mask`: adds the flag to the bits `mask` of the register index.
///
/// 1 select a register.
pub fn select_xor(builder: &mut Builder, registers: &mut [Register], flag: LaneFlag, mask: usize) {
    let before = registers.to_vec();
    for (index, register) in registers.iter_mut().enumerate() {
        if let Some(&other) = before.get(index ^ mask) {
            *register = builder.select(flag, *register, other);
        }
    }
}

/// Where the flag is set, byte `i` becomes byte `i ^ mask`: adds the flag to bits of the byte index.
///
/// 1 permute a register, its selector computed once.
pub fn byte_xor(builder: &mut Builder, registers: &mut [Register], flag: LaneFlag, mask: u16) {
    let one = (0..4).fold(0, |packed, i| packed | ((i ^ mask) & 3) << (4 * i));
    for register in registers {
        *register = builder.permute(*register, *register, Selector::ByLane { flag, zero: 0x3210, one });
    }
}

/// Every register becomes that of lane `source(lane)`.
///
/// 1 shuffle a register, none if every lane is its own source.
pub fn lane_map(builder: &mut Builder, registers: &mut [Register], source: LaneMap) {
    for register in registers {
        *register = builder.shuffle_index(*register, source);
    }
}

/// Transposes the 8 x 8 matrix of 16-bit elements in each register: `b`, `t0`, `t1` change places with `t2`, `t3`,
/// `t4`.
///
/// 1 `movmatrix` a register.
pub fn movmatrix(builder: &mut Builder, registers: &mut [Register]) {
    for register in registers {
        *register = builder.move_matrix(*register);
    }
}

/// Pairs of register indices that differ in bit `r`.
fn pairs(count: usize, r: u32) -> impl Iterator<Item = (usize, usize)> {
    let bit = 1usize.checked_shl(r).unwrap_or(0);
    (0..count).map(move |low| (low, low | bit)).filter(move |&(low, high)| low != high && high < count)
}
