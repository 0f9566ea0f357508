//! The claims, and what was found of each.

use super::Assignment;
use super::phases::{self, FACTORIZATION, INPUT_BITS, OUTPUT_BITS, Pairs};
use super::registers::{Contraction, Registers, convert, multiply};
use crate::atoms::mma;
use crate::program::Builder;
use crate::program::moves::{byte_bit, local_transpose, warp_transpose};
use crate::{Layout, layout};

/// A claim of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What is claimed.
    pub claim: &'static str,
    /// What was found: that it holds, or how it does not.
    pub found: Result<String, String>,
}

/// Verifies every claim on an assignment: on [`ASSIGNMENT`](super::ASSIGNMENT) all hold.
pub fn verify(assignment: &Assignment) -> Vec<Claim> {
    let run = transform(assignment);
    let (values, products) = match run {
        Ok((values, products)) => (Ok(values), Ok(products)),
        Err(error) => (Err(error.clone()), Err(error)),
    };
    [
        ("(39)-(44) are the fragments of m16n8k8 and m16n8k16", fragments()),
        ("(7) has every pair of bits with a phase once", pairs(&FACTORIZATION)),
        (
            "(13)-(28) are consistent: no product needs anything moved",
            products.map(|(k8, k16, _)| {
                format!("{} products of three elements each, all as defined", 8 * 16 * 8 * (k8 + 2 * k16))
            }),
        ),
        ("the five steps are the transform (1)", values.and_then(|values| compare(assignment, &values))),
        (
            "Z3 -> Z4 has the phases of Z1 -> Z2 with n2 = 0",
            shared((phases::Z3_Z4, &assignment.e_z3_z4), (phases::Z1_Z2, &assignment.e_z1_z2), Some("n2")),
        ),
        (
            "Z4 -> Y' has the phases of Z2 -> Z3'",
            shared((phases::Z4_Y, &assignment.e_z4_y), (phases::Z2_Z3, &assignment.e_z2_z3), None),
        ),
        ("(29) unpacks to (24)", unpacks(assignment)),
        ("the phases are 18 registers, 10 with packing and sharing", footprint(assignment)),
        ("section 1.3 counts the instructions", counts(assignment)),
    ]
    .map(|(claim, found)| Claim { claim, found })
    .into()
}

/// (39) to (44) as the source writes them, against the table.
fn fragments() -> Result<String, String> {
    let written = [
        (mma::M16N8K8_F16_F16.a, layout!("b<->j0  r<->i3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2")),
        (mma::M16N8K8_F16_F16.b, layout!("b<->j0  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2")),
        (mma::M16N8K8_F16_F16.c, layout!("b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2")),
        (mma::M16N8K16_F16_F16.a, layout!("b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2")),
        (mma::M16N8K16_F16_F16.b, layout!("b<->j0  r<->j3  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2")),
        (mma::M16N8K16_F16_F16.c, layout!("b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2")),
    ];
    match written.iter().position(|(atom, text)| !atom.same_map(text)) {
        None => Ok("six fragments, equal to the table".into()),
        Some(at) => Err(format!("({}) {} is not {}", 39 + at, written[at].1, written[at].0)),
    }
}

/// How often each pair is in the factorisation.
pub(super) fn pairs(factors: &[Pairs]) -> Result<String, String> {
    let mut count = [[0; INPUT_BITS]; OUTPUT_BITS];
    for (created, summed) in factors {
        for &j in *created {
            for &k in *summed {
                count[j][k] += 1;
            }
        }
    }
    let (mut needed, mut trivial) = (0, 0);
    for (j, row) in count.iter().enumerate() {
        for (k, &times) in row.iter().enumerate() {
            if j + k < OUTPUT_BITS && times != 1 {
                return Err(format!("E(q{j}, n{k}) is there {times} times"));
            }
            *(if j + k < OUTPUT_BITS { &mut needed } else { &mut trivial }) += times;
        }
    }
    Ok(format!("{needed} pairs with a phase, each once, and {trivial} whose phase is 1"))
}

/// What the transform is tested on: values without any pattern.
fn input(layout: Layout) -> Registers {
    let value = |place| {
        let mut x = layout.apply(place).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    Registers { layout, values: (0..layout.physical().size()).map(value).collect() }
}

/// Products of each kind and half2 instructions.
type Products = (u32, u32, u32);

/// The five steps, in registers.
fn transform(assignment: &Assignment) -> Result<(Registers, Products), String> {
    let of_matrix = |pairs, matrix: Layout| {
        move |index| {
            let turns = phases::turns(pairs, matrix.logical(), index);
            let part = |bit| phases::imaginary(&matrix, index, bit);
            phases::of_matrix(turns, part("ReIm_out"), part("ReIm_in"))
        }
    };
    let of_phases = |pairs, array: Layout| {
        move |index| {
            phases::part(phases::turns(pairs, array.logical(), index), phases::imaginary(&array, index, "ReIm"))
        }
    };
    // (26) and (28) hold both parts once; the matrix of the product has a register for each pair of parts.
    let both = |stored: &Layout| {
        let places = stored.drop_logical(&["ReIm"]).and_then(|array| array.restrict_physical(&["r0"], 0));
        places.and_then(|array| array.product(&layout!("r<->ReIm_out ReIm_in"))).map_err(|error| error.to_string())
    };

    let matrix = assignment.e_x_z1;
    let (z1, first) = Contraction {
        mma: &mma::M16N8K8_F16_F16,
        sums: &["ReIm", "n6", "n7"],
        creates: &["ReIm", "q0", "q1", "q2"],
        matrix,
        value: &of_matrix(phases::X_Z1, matrix),
    }
    .run(&input(assignment.x), assignment.z1)?;
    let (z2, half) = multiply(&z1, &assignment.e_z1_z2, &of_phases(phases::Z1_Z2, assignment.e_z1_z2))?;
    let matrix = both(&assignment.e_z2_z3)?;
    let (z3, second) = Contraction {
        mma: &mma::M16N8K16_F16_F16,
        sums: &["ReIm", "n3", "n4", "n5"],
        creates: &["ReIm", "q3", "q4", "q5"],
        matrix,
        value: &of_matrix(phases::Z2_Z3, matrix),
    }
    .run(&z2, assignment.z3_primed)?;
    let z3 = convert(&z3, assignment.z3)?;
    let (z4, other_half) = multiply(&z3, &assignment.e_z3_z4, &of_phases(phases::Z3_Z4, assignment.e_z3_z4))?;
    let matrix = both(&assignment.e_z4_y)?;
    let (y, third) = Contraction {
        mma: &mma::M16N8K16_F16_F16,
        sums: &["ReIm", "n0", "n1", "n2"],
        creates: &["ReIm", "q6", "q7", "q8"],
        matrix,
        value: &of_matrix(phases::Z4_Y, matrix),
    }
    .run(&z4, assignment.y_primed)?;
    Ok((convert(&y, assignment.y)?, (first, second + third, half + other_half)))
}

/// The result against the definition, element by element.
fn compare(assignment: &Assignment, y: &Registers) -> Result<String, String> {
    let x = input(assignment.x);
    let mut values = [[0.0; 2]; 1 << INPUT_BITS];
    for (place, value) in x.values.iter().enumerate() {
        let index = x.layout.apply(place as u64);
        values[x.layout.logical().number("n", index) as usize]
            [usize::from(phases::imaginary(&x.layout, index, "ReIm"))] = *value;
    }
    let mut worst = 0.0f64;
    for (place, value) in y.values.iter().enumerate() {
        let index = y.layout.apply(place as u64);
        let q = y.layout.logical().number("q", index);
        let imaginary = phases::imaginary(&y.layout, index, "ReIm");
        let sum: f64 = (0..)
            .zip(&values)
            .map(|(n, [re, im]): (u64, _)| {
                let turns = (q * n % (1 << OUTPUT_BITS)) as f64 / f64::from(1 << OUTPUT_BITS);
                phases::of_matrix(turns, imaginary, false) * re + phases::of_matrix(turns, imaginary, true) * im
            })
            .sum();
        worst = worst.max((value - sum).abs());
    }
    // The values are at most 1, so the magnitudes in a sum add up to 256 sqrt(2). Each term is rounded at most 512
    // times here; in the registers 8 + 16 + 16 times by the contractions, 3 times by each of the two products; the
    // 5 phases of each way are right to 4 roundings.
    let bound = 256.0 * 2f64.sqrt() * (512.0 + 40.0 + 6.0 + 2.0 * 5.0 * 4.0) * 2f64.powi(-53);
    let found = format!("largest difference from the sum itself {worst:.1e}, bound {bound:.1e}");
    if worst <= bound { Ok(found) } else { Err(found) }
}

/// Whether an array of phases lies in the registers of another, all of them or those with a bit clear.
fn shared(one: (Pairs, &Layout), other: (Pairs, &Layout), clear: Option<&str>) -> Result<String, String> {
    let held = phases::contents(other.0, other.1);
    let kept: Vec<f64> = (0..held.len() as u64)
        .filter(|&place| clear.is_none_or(|bit| !phases::imaginary(other.1, other.1.apply(place), bit)))
        .map(|place| held[place as usize])
        .collect();
    let wanted = phases::contents(one.0, one.1);
    if kept.len() != wanted.len() {
        return Err(format!("{} values, {} in the other array", wanted.len(), kept.len()));
    }
    let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-15;
    match wanted.iter().zip(&kept).position(|pair| !same(pair)) {
        None => Ok(format!("{} values, the same in every lane, register and half", kept.len())),
        Some(place) => Err(format!("place {place} holds {} and {}", wanted[place], kept[place])),
    }
}

/// The packed matrix: a register holds real and imaginary part of a phase. For the real part of the result the high
/// half changes its sign, for the imaginary part the halves change places.
fn unpacks(assignment: &Assignment) -> Result<String, String> {
    let (packed, matrix) = (&assignment.e_x_z1_packed, &assignment.e_x_z1);
    let held = phases::contents(phases::X_Z1, packed);
    let out = matrix.physical().size() / 2; // ReIm_out is the highest register bit.
    for place in 0..matrix.physical().size() {
        let index = matrix.apply(place);
        let part = |bit| phases::imaginary(matrix, index, bit);
        let wanted =
            phases::of_matrix(phases::turns(phases::X_Z1, matrix.logical(), index), part("ReIm_out"), part("ReIm_in"));
        // Bit 0 of a place is the half.
        let (source, high) = ((place % out) as usize, place & 1 == 1);
        let unpacked = match (place >= out, high) {
            (false, false) => held[source],
            (false, true) => -held[source],
            (true, _) => held[source ^ 1],
        };
        if (wanted - unpacked).abs() > 1e-15 {
            return Err(format!("place {place} needs {wanted} and gets {unpacked}"));
        }
    }
    Ok(format!("{} values from half as many: a flip of signs, and a swap of halves", matrix.physical().size()))
}

/// Registers of a lane.
fn registers(layout: &Layout) -> u64 {
    layout.bits_of_stem("r").size()
}

fn footprint(assignment: &Assignment) -> Result<String, String> {
    let plain = [&assignment.e_x_z1, &assignment.e_z1_z2, &assignment.e_z2_z3, &assignment.e_z3_z4, &assignment.e_z4_y];
    let shared = [&assignment.e_x_z1_packed, &assignment.e_z1_z2, &assignment.e_z2_z3];
    let (plain, shared): (u64, u64) = (plain.map(registers).iter().sum(), shared.map(registers).iter().sum());
    let found = format!(
        "{plain} and {shared}; a product of (26) or (28) also needs -Im, which is one register more, or a logical operation at each use"
    );
    if (plain, shared) == (18, 10) { Ok(found) } else { Err(found) }
}

fn counts(assignment: &Assignment) -> Result<String, String> {
    let (_, (k8, k16, half2)) = transform(assignment)?;
    // Appendix A: b <-> n2, t0 <-> n1, t1 <-> n0; then b <-> ReIm.
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let half = byte_bit(1, 0).ok_or("halves are no bytes")?;
    let mut builder = Builder::new(16);
    let mut registers = builder.inputs();
    local_transpose(&mut builder, &mut registers, half, 0);
    warp_transpose(&mut builder, &mut registers, 0, 1);
    warp_transpose(&mut builder, &mut registers, 1, 2);
    let to_z3 = builder.finish(&registers);
    to_z3.check(&assignment.z3_primed, &assignment.z3).map_err(|error| failed(&error))?;
    let mut builder = Builder::new(16);
    let mut registers = builder.inputs();
    local_transpose(&mut builder, &mut registers, half, 3);
    let to_y = builder.finish(&registers);
    to_y.check(&assignment.y_primed, &assignment.y).map_err(|error| failed(&error))?;
    let (to_z3, to_y) = (to_z3.counts(), to_y.counts());
    let (shuffle, permute, select) = (to_z3.shuffle, to_z3.permute + to_y.permute, to_z3.select);
    let found = format!(
        "{k8} m16n8k8, {k16} m16n8k16, {half2} half2, {shuffle} shuffles, {permute} permutes; the source leaves out {select} selects"
    );
    if (k8, k16, half2, shuffle, permute) == (8, 16, 64, 16, 32) { Ok(found) } else { Err(found) }
}
