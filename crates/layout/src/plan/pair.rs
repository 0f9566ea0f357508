//! A pair of registers between which and one lane bit bits change places: its instructions, worked out byte by byte.
//!
//! A lane holds the registers `in0` and `in1` and wants `out0` and `out1`. Half of what it has stays in the lane, half
//! goes to the lane whose index differs in one bit. What goes is packed into one register (`send`) and shuffled; what
//! stays is used where it is, or is packed too (`kept`) where an output needs bytes of three registers.

use crate::program::{Builder, LaneFlag, Register, Selector};

use super::arrangement::{Arrangement, Bit, LANE_BITS, Shape};

/// Where an operand of a pair's instruction is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// `in0` or `in1`.
    Input(usize),
    /// What stays in the lane.
    Kept,
    /// What the other lane sent: packed, or its whole `in0` or `in1`.
    Received(usize),
}

/// One instruction: bytes of two sources, by a flag of the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    sources: [Source; 2],
    selectors: [u16; 2],
}

/// What an operation is in instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Select,
    Permute,
}

/// The instructions of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    /// What is shuffled: one packed register, or nothing if both inputs go whole.
    pub send: Option<Operation>,
    /// What stays, if it is packed.
    pub kept: Option<Operation>,
    /// The outputs.
    pub out: [Operation; 2],
}

/// A place of a lane's pair: register 0 or 1, part.
pub(super) type Place = (usize, usize);

impl Operation {
    /// The operation that gives, for each value of the flag, these parts of sources: none where it does not matter.
    pub(super) fn new(parts: &[Vec<Option<(Source, usize)>>; 2]) -> Option<Self> {
        let mut sources: Vec<Source> = Vec::new();
        for &(source, _) in parts.iter().flatten().flatten() {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        if sources.len() > 2 {
            return None;
        }
        let first = *sources.first()?;
        let both = [first, *sources.get(1).unwrap_or(&first)];
        let bytes = 4 / parts[0].len();
        let selectors = [0, 1].map(|flag: usize| {
            let places = parts[flag].iter().enumerate();
            places.fold(0u16, |packed, (part, place)| {
                // Where it does not matter, the byte stays where it is.
                let (source, from) = place.unwrap_or((first, part));
                let base = if source == first { 0 } else { 4 };
                (0..bytes).fold(packed, |packed, byte| {
                    packed | ((base + from * bytes + byte) as u16) << (4 * (part * bytes + byte))
                })
            })
        });
        Some(Self { sources: both, selectors })
    }

    pub(super) fn kind(&self) -> Kind {
        match self.selectors {
            [0x3210, 0x3210] => Kind::Nothing,
            [0x3210, 0x7654] | [0x7654, 0x3210] => Kind::Select,
            _ => Kind::Permute,
        }
    }

    /// Emits the operation with the registers of its sources.
    pub(super) fn emit(
        &self,
        builder: &mut Builder,
        flag: LaneFlag,
        register: impl Fn(Source) -> Register,
    ) -> Register {
        let [a, b] = self.sources.map(register);
        match (self.kind(), self.selectors) {
            (Kind::Nothing, _) => a,
            (Kind::Select, [0x3210, _]) => builder.select(flag, a, b),
            (Kind::Select, _) => builder.select(flag, b, a),
            (Kind::Permute, [zero, one]) => builder.permute(a, b, Selector::ByLane { flag, zero, one }),
        }
    }
}

impl Pair {
    /// The instructions between two arrangements that differ in the parts, one lane bit (in whatever slot) and one
    /// register bit.
    ///
    /// `pack_kept` packs what stays in every case, for shuffles that permute lanes; `whole` shuffles both inputs as
    /// they are.
    pub(super) fn new(group: &Group, shape: Shape, pack_kept: bool, whole: bool) -> Option<Self> {
        let source = |flag, register, part| group.source(flag, register, part, shape);
        Self::from_sources(source, shape.parts, pack_kept, whole)
    }

    /// The instructions for any exchange in which half of each lane's data stays: `source(lane, register, part)` is the
    /// lane, and the register and part, that hold before what the place holds afterwards.
    pub(super) fn from_sources(
        source: impl Fn(usize, usize, usize) -> (usize, Place),
        part_bits: usize,
        pack_kept: bool,
        whole: bool,
    ) -> Option<Self> {
        let parts = 1 << part_bits;
        // sources[flag][register][part] = (stays, place before)
        let sources: [[Vec<(bool, Place)>; 2]; 2] = [0, 1].map(|flag| {
            [0, 1].map(|register| {
                (0..parts)
                    .map(|part| {
                        let (lane, place) = source(flag, register, part);
                        (lane == flag, place)
                    })
                    .collect()
            })
        });
        // The order in which places are packed, as seen by the lane that gets them.
        let pack = |stays: bool| -> [Vec<Place>; 2] {
            [0, 1].map(|flag: usize| {
                let mut moved: Vec<(usize, Place)> = Vec::new();
                for register in &sources[flag] {
                    for (part, &(kept, place)) in register.iter().enumerate() {
                        if kept == stays {
                            moved.push((part, place));
                        }
                    }
                }
                let distinct = |key: &dyn Fn(&(usize, Place)) -> usize| {
                    moved.iter().fold(0u32, |seen, each| seen | 1 << key(each)).count_ones() as usize == moved.len()
                };
                if distinct(&|each| each.0) {
                    moved.sort_by_key(|each| each.0);
                } else if distinct(&|each| each.1.1) {
                    moved.sort_by_key(|each| each.1.1);
                }
                moved.into_iter().map(|each| each.1).collect()
            })
        };
        let (sent, stayed) = (pack(false), pack(true));
        let local = sent.iter().all(Vec::is_empty);
        if !local && sent.iter().chain(&stayed).any(|places| places.len() != parts) {
            return None;
        }
        let position = |places: &[Place], place| places.iter().position(|&each| each == place);
        let input = |places: &[Place]| -> Vec<Option<(Source, usize)>> {
            places.iter().map(|&(register, part)| Some((Source::Input(register), part))).collect()
        };
        // What lane `flag` sends is what lane `1 - flag` gets.
        let send = if whole || local { None } else { Some(Operation::new(&[input(&sent[1]), input(&sent[0])])?) };
        let output = |register: usize, packed: bool| {
            let of = |flag: usize| {
                sources[flag][register]
                    .iter()
                    .map(|&(stays, place)| {
                        Some(match (stays, packed, whole) {
                            (true, true, _) => (Source::Kept, position(&stayed[flag], place)?),
                            (true, false, _) => (Source::Input(place.0), place.1),
                            (false, _, true) => (Source::Received(place.0), place.1),
                            (false, _, false) => (Source::Received(0), position(&sent[flag], place)?),
                        })
                    })
                    .collect::<Vec<_>>()
            };
            Operation::new(&[of(0), of(1)])
        };
        let direct = (!pack_kept).then(|| Some([output(0, false)?, output(1, false)?])).flatten();
        match direct {
            Some(out) => Some(Self { send, kept: None, out }),
            None if whole || local => None,
            None => {
                let kept = Operation::new(&[input(&stayed[0]), input(&stayed[1])])?;
                Some(Self { send, kept: Some(kept), out: [output(0, true)?, output(1, true)?] })
            }
        }
    }

    /// Selects and permutes.
    pub(super) fn counts(&self) -> (u32, u32) {
        let operations = self.send.iter().chain(&self.kept).chain(&self.out);
        operations.fold((0, 0), |(selects, permutes), each| match each.kind() {
            Kind::Nothing => (selects, permutes),
            Kind::Select => (selects + 1, permutes),
            Kind::Permute => (selects, permutes + 1),
        })
    }
}

/// The bits that change places between two arrangements: those in the parts, in one lane bit and in one register bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    before: Arrangement,
    after: Arrangement,
    /// The register bit before and after.
    pub registers: [Bit; 2],
    /// The lane bit before and after.
    pub lanes: [Bit; 2],
}

impl Group {
    /// The group in which two arrangements differ, if exactly one lane bit changes its content. Without a register bit
    /// that changes, the pairs are those of the lowest register bit.
    pub(super) fn new(before: Arrangement, after: Arrangement, shape: Shape) -> Option<Self> {
        let missing = |of: &[Bit], others: &[Bit]| -> Vec<Bit> {
            of.iter().filter(|bit| !others.contains(bit)).copied().collect()
        };
        let (lanes, new_lanes) = (before.lanes(shape), after.lanes(shape));
        let (out, enter) = (missing(&lanes, &new_lanes), missing(&new_lanes, &lanes));
        let (registers, new_registers) = (before.registers(shape), after.registers(shape));
        let (from, to) = (missing(&registers, &new_registers), missing(&new_registers, &registers));
        if out.len() != 1 || from.len() > 1 {
            return None;
        }
        let spare = registers.first().copied();
        let registers = [from.first().copied().or(spare)?, to.first().copied().or(spare)?];
        Some(Self { before, after, registers, lanes: [out[0], *enter.first()?] })
    }

    /// The lane (0 or 1) and place that hold before what lane `flag`, register `register`, part `part` holds after.
    fn source(&self, flag: usize, register: usize, part: usize, shape: Shape) -> (usize, Place) {
        let value = |bit: Bit| {
            if bit == self.lanes[1] {
                return flag;
            }
            match (0..shape.parts).find(|&slot| self.after.get(slot) == bit) {
                Some(slot) => part >> slot & 1,
                None => register,
            }
        };
        let from = (0..shape.parts).fold(0, |from, slot| from | value(self.before.get(slot)) << slot);
        (value(self.lanes[0]), (value(self.registers[0]), from))
    }

    /// Whether the lane bits that stay keep their slots and the new one takes the old one's.
    pub(super) fn in_place(&self, shape: Shape) -> bool {
        let (before, after) = (self.before.lanes(shape), self.after.lanes(shape));
        (0..LANE_BITS).all(|lane| before[lane] == after[lane] || before[lane] == self.lanes[0])
    }
}
