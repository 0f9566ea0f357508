//! Moves: conversions between two arrangements by a few instructions a register, and what they cost.

use std::fmt;

use crate::Name;
use crate::program::Counts;

use super::arrangement::{Arrangement, Bit, LANE_BITS, Shape};
use super::costs::Costs;
use super::pair::{Group, Pair};

/// One step of a plan. `R` is the number of registers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Move {
    /// Parts change places with each other and with one register bit at most: `R` permutes (`b <-> r`: the local
    /// transpose).
    Local {
        /// Before.
        from: Arrangement,
        /// Afterwards.
        to: Arrangement,
    },
    /// One lane bit changes its content with a register bit, with a part, or with both in a cycle: for a pair of
    /// registers one shuffle of what leaves the lane, and
    ///
    /// | cycle | selects | permutes |
    /// |---|---|---|
    /// | `r <-> t` (the warp transpose) | 3 | |
    /// | `b <-> t` | | 3 |
    /// | `b -> t -> r -> b` | 2 | 2 |
    /// | `b -> r -> t -> b` | 2 | 2 |
    ///
    /// `whole` shuffles both registers and saves the instruction that packs what leaves. Where other lane bits
    /// change their slots too, all registers are shuffled and what stays is packed too.
    Exchange {
        /// Before.
        from: Arrangement,
        /// Afterwards.
        to: Arrangement,
        /// Whether whole registers are shuffled.
        whole: bool,
    },
    /// Two or more lane bits change places with register bits around one shuffle: `R` selects for each bit before it
    /// and after it, `R (1 - 2^-m)` shuffles for `m` bits, `R` if lane bits change their slots too.
    Together {
        /// Before.
        from: Arrangement,
        /// Afterwards.
        to: Arrangement,
    },
    /// Lane bits change places with each other: `R` shuffles.
    Lanes {
        /// Before.
        from: Arrangement,
        /// Afterwards.
        to: Arrangement,
    },
    /// `b`, `t0`, `t1` change places with `t2`, `t3`, `t4`: `R` `movmatrix`.
    MoveMatrix {
        /// Before.
        from: Arrangement,
        /// Afterwards.
        to: Arrangement,
    },
    /// A part changes places with a register bit, in terms of places: `R` permutes.
    Transpose {
        /// Which `b`.
        part: usize,
        /// Which `r`.
        register: usize,
    },
    /// A lane bit changes places with a register bit, in terms of places: half of the registers shuffled, three selects
    /// a pair.
    WarpTranspose {
        /// Which `t`.
        lane: usize,
        /// Which `r`.
        register: usize,
    },
    /// Through shared memory, without bank conflicts.
    Shared {
        /// How it is stored.
        store: Access,
        /// How it is loaded.
        load: Access,
    },
    /// A conversion that is no permutation of bits: selects before and after one shuffle of each register.
    Linear {
        /// Lane-dependent renamings before the shuffles, one select a register each.
        before: usize,
        /// Whether registers are shuffled by XOR masks (false) or by a map of the lanes (true).
        mapped: bool,
        /// Lane-dependent renamings after the shuffles.
        after: usize,
        /// Permutes before and after (`b` takes part).
        permutes: usize,
    },
    /// The parts, a lane bit and a register bit mixed linearly, in pairs of registers.
    Pairs {
        /// Which `t`.
        lane: usize,
        /// Which `r` before.
        before: usize,
        /// Which `r` afterwards.
        after: usize,
    },
    /// Each register is put together from whole registers of other lanes.
    Gather,
    /// What the exhaustive search found for four bits of places.
    Layers {
        /// Layers of selects or permutes around shuffles, and gathers.
        layers: usize,
        /// How often all registers go through `movmatrix`.
        matrices: usize,
    },
    /// Adds a constant to the index of the lanes (`R` shuffles) and of the parts (`R` permutes).
    Offset {
        /// What is added to the lane's index.
        lanes: u8,
        /// What is added to the part's index.
        parts: u8,
    },
}

/// How registers and shared memory exchange data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// `st.shared`, `ld.shared` of 1, 2 or 4 registers.
    Words(usize),
    /// `stmatrix`, `ldmatrix` of 1, 2 or 4 matrices.
    Matrix {
        /// Matrices an instruction.
        count: usize,
        /// `.trans`.
        transposed: bool,
    },
}

impl Move {
    /// The arrangements before and afterwards, for moves between arrangements.
    pub fn arrangements(&self) -> Option<(Arrangement, Arrangement)> {
        match *self {
            Self::Local { from, to }
            | Self::Exchange { from, to, .. }
            | Self::Together { from, to }
            | Self::Lanes { from, to }
            | Self::MoveMatrix { from, to } => Some((from, to)),
            _ => None,
        }
    }

    /// Instructions of a move between arrangements; none for a move that there is not, and for those whose count only
    /// their program tells.
    pub fn counts(&self, shape: Shape) -> Option<Counts> {
        let registers = shape.register_count() as u32;
        let none = Counts::default();
        match *self {
            Self::Local { .. } => Some(Counts { permute: registers, ..none }),
            Self::Lanes { .. } => Some(Counts { shuffle: registers, ..none }),
            Self::MoveMatrix { .. } => Some(Counts { move_matrix: registers, ..none }),
            Self::Exchange { from, to, whole } => {
                if shape.registers == 0 {
                    // Nothing to pair a register with: all of it goes, and half of it is used.
                    return (shape.parts > 0).then_some(Counts { shuffle: 1, permute: 1, ..none });
                }
                let group = Group::new(from, to, shape)?;
                let in_place = group.in_place(shape);
                let pair = Pair::new(&group, shape, !in_place, whole)?;
                let (selects, permutes) = pair.counts();
                let shuffles = if in_place && !whole { 1 } else { 2 };
                let pairs = registers / 2;
                Some(Counts { select: selects * pairs, permute: permutes * pairs, shuffle: shuffles * pairs, ..none })
            }
            Self::Together { from, to } => {
                let entering = entering(from, to, shape);
                let count = entering.len() as u32;
                let stay = if permutes_lanes(from, to, shape) { 0 } else { registers >> count };
                Some(Counts { select: 2 * count * registers, shuffle: registers - stay, ..none })
            }
            _ => None,
        }
    }

    /// The move in words, the bits of the index by their names.
    pub fn describe(&self, names: &[Name], shape: Shape) -> String {
        let name = |bit: Bit| names.get(bit as usize).map_or_else(|| format!("bit {bit}"), ToString::to_string);
        let place = |of: Arrangement, bit: Bit| match of.slot(bit, shape) {
            Some(slot) if slot < shape.parts && shape.parts == 1 => "b".to_owned(),
            Some(slot) if slot < shape.parts => format!("b{slot}"),
            Some(slot) if slot < shape.first_register() => format!("t{}", slot - shape.parts),
            _ => "r".to_owned(),
        };
        // Cycles of places: what is in the first goes to the second, and so on.
        let cycles = |from: Arrangement, to: Arrangement| {
            let mut moved: Vec<Bit> = (0..shape.bits())
                .map(|slot| from.get(slot))
                .filter(|&bit| place(from, bit) != place(to, bit))
                .collect();
            let mut text = Vec::new();
            while let Some(first) = moved.first().copied() {
                let (mut bit, mut steps) = (first, Vec::new());
                let start = place(from, first);
                loop {
                    moved.retain(|&other| other != bit);
                    let next = place(to, bit);
                    steps.push((place(from, bit), bit));
                    // The register that a bit goes to is any: the one from where a bit moves on, if there is one.
                    match moved.iter().copied().find(|&other| place(from, other) == next) {
                        Some(other) if next != start => bit = other,
                        _ => break,
                    }
                }
                text.push(match steps.as_slice() {
                    [one, other] => format!("{} <-> {} ({}, {})", one.0, other.0, name(one.1), name(other.1)),
                    steps => {
                        let places: Vec<&str> = steps.iter().map(|step| step.0.as_str()).collect();
                        let bits: Vec<String> = steps.iter().map(|step| name(step.1)).collect();
                        format!("{} -> {start} ({})", places.join(" -> "), bits.join(", "))
                    }
                });
            }
            text.join(", ")
        };
        match *self {
            Self::Local { from, to } => format!("local transpose {}", cycles(from, to)),
            Self::Exchange { from, to, whole } => {
                let whole = if whole { ", whole registers shuffled" } else { "" };
                format!("warp transpose {}{whole}", cycles(from, to))
            }
            Self::Together { from, to } => format!("warp transposes around one shuffle {}", cycles(from, to)),
            Self::Lanes { from, to } => format!("lane permutation {}", cycles(from, to)),
            Self::MoveMatrix { from, to } => format!("movmatrix {}", cycles(from, to)),
            Self::Shared { store, load } => {
                let load = match load {
                    Access::Words(1) => "ld.shared".to_owned(),
                    Access::Words(words) => format!("ld.shared.v{words}"),
                    Access::Matrix { .. } => format!("ld{load}"),
                };
                let store = match store {
                    Access::Words(1) => "st.shared".to_owned(),
                    Access::Words(words) => format!("st.shared.v{words}"),
                    Access::Matrix { .. } => format!("st{store}"),
                };
                format!("through shared memory, {store} and {load}, no bank conflicts")
            }
            Self::Linear { before, mapped, after, permutes } => {
                let shuffle = if mapped { "a shuffle by a map of the lanes" } else { "a shuffle by XOR" };
                let permutes = if permutes == 0 { String::new() } else { format!(", {permutes} layers of permutes") };
                format!("{before} lane-dependent renamings, {shuffle}, {after} lane-dependent renamings{permutes}")
            }
            Self::WarpTranspose { lane, register } => format!("warp transpose t{lane} <-> r{register}"),
            Self::Transpose { part, register } => format!("local transpose b{part} <-> r{register}"),
            Self::Offset { lanes, parts } => format!("lanes exchanged by {lanes:#07b}, parts by {parts:#04b}"),
            Self::Pairs { lane, before, after } => {
                format!("b, t{lane} and r{before} (r{after} afterwards) mixed in pairs of registers")
            }
            Self::Layers { layers, matrices } => {
                let matrices =
                    if matrices == 0 { String::new() } else { format!(" and {matrices} movmatrix a register") };
                let layers = if layers == 1 { "1 layer".to_owned() } else { format!("{layers} layers") };
                format!("{layers}{matrices}, by exhaustive search")
            }
            Self::Gather => "each register gathered from the lanes that hold its parts".to_owned(),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => write!(f, "shared.v{words}"),
            Self::Matrix { count, transposed } => {
                write!(f, "matrix.x{count}{}", if *transposed { ".trans" } else { "" })
            }
        }
    }
}

/// The bits that are in lanes afterwards and not before.
pub(super) fn entering(from: Arrangement, to: Arrangement, shape: Shape) -> Vec<Bit> {
    let lanes = from.lanes(shape);
    to.lanes(shape).into_iter().filter(|bit| !lanes.contains(bit)).collect()
}

/// Whether a bit that stays in the lanes changes its slot.
pub(super) fn permutes_lanes(from: Arrangement, to: Arrangement, shape: Shape) -> bool {
    let (before, after) = (from.lanes(shape), to.lanes(shape));
    (0..LANE_BITS).any(|lane| before[lane] != after[lane] && after.contains(&before[lane]))
}

/// The cheapest move between two arrangements that may also permute lanes: a lane permutation, or an exchange whose
/// shuffles permute them.
pub fn permuting(from: Arrangement, to: Arrangement, shape: Shape, costs: &Costs) -> Option<(Move, f64)> {
    let parts = |of: Arrangement| of.parts(shape);
    let step = match entering(from, to, shape).len() {
        0 if parts(from) == parts(to) => Move::Lanes { from, to },
        1 => Move::Exchange { from, to, whole: false },
        2.. if parts(from) == parts(to) => Move::Together { from, to },
        _ => return None,
    };
    if shape.registers == 0 && matches!(step, Move::Exchange { .. }) {
        return None;
    }
    let counts = step.counts(shape)?;
    Some((step, costs.cost(&counts)))
}
