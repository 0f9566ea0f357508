//! Machines of 4 bits of places: what one layer of instructions makes of the registers, what it costs, and its program.

use std::collections::BTreeSet;

use fringes_layout::plan::Costs;
use fringes_layout::program::{Builder, LaneFlag, LaneMap, Register, Selector};

/// Bits of a place.
pub(crate) const BITS: usize = 4;
pub(crate) const PLACES: usize = 1 << BITS;

/// A linear map of places: the images of the bits.
pub(crate) type Matrix = [u8; BITS];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) parts: usize,
    pub(crate) lanes: usize,
    pub(crate) registers: usize,
}

/// A place: part, lane, register.
pub(crate) type Place = (u8, u8, u8);

pub(crate) fn apply(matrix: &Matrix, vector: u8) -> u8 {
    (0..BITS).filter(|bit| vector >> bit & 1 == 1).fold(0, |sum, bit| sum ^ matrix[bit])
}

/// `one other`: first `other`.
pub(crate) fn product(one: &Matrix, other: &Matrix) -> Matrix {
    other.map(|column| apply(one, column))
}

pub(crate) const IDENTITY: Matrix = [1, 2, 4, 8];

/// All invertible matrices.
pub(crate) fn matrices() -> Vec<Matrix> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..BITS {
        let longer = all.iter().flat_map(|matrix| {
            let spanned = |vector: u8| {
                (0..1u8 << matrix.len()).any(|set| {
                    (0..matrix.len()).filter(|at| set >> at & 1 == 1).fold(0, |sum, at| sum ^ matrix[at]) == vector
                })
            };
            (1..PLACES as u8)
                .filter(move |&column| !spanned(column))
                .map(|column| matrix.iter().copied().chain([column]).collect::<Vec<u8>>())
                .collect::<Vec<_>>()
        });
        all = longer.collect();
    }
    all.into_iter().map(|matrix| matrix.try_into().unwrap()).collect()
}

/// Instructions: selects and permutes, shuffles, movmatrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Price {
    pub(crate) operations: u32,
    pub(crate) shuffles: u32,
}

impl Price {
    pub(crate) fn cost(self, costs: &Costs) -> f64 {
        f64::from(self.operations) * costs.rates.select + f64::from(self.shuffles) * costs.rates.shuffle
    }
}

/// Where an instruction's operand is from: a packed register, an input, or one of them shuffled by lane map `t -> A t ^ offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operand {
    Input(u8),
    Packed(u8),
    ShuffledInput(u8, u8),
    Shuffled(u8),
}

/// A layer's packed registers and outputs, and what it costs.
pub(crate) struct Layer {
    pub(crate) packed: Vec<Bytes>,
    pub(crate) outputs: Vec<Bytes>,
    pub(crate) price: Price,
}

/// What is shuffled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shuffled {
    /// Packed registers.
    Packed,
    /// Whole inputs instead.
    Whole,
    /// Whole inputs, for each output its own.
    Gathered,
}

/// A layer for a map: what it packs, shuffles and puts together, each as a map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) price: Price,
    pub(crate) map: Matrix,
    pub(crate) stages: [Matrix; 3],
    pub(crate) shuffled: Shuffled,
}

/// A register's bytes: by lane, by part, an operand and a part of it.
pub(crate) type Bytes = Vec<Vec<(Operand, u8)>>;

/// The operands and the flag of the one select or permute that makes a register of these bytes, if there is one.
pub(crate) fn operation(bytes: &Bytes) -> Option<(Vec<Operand>, u8)> {
    let operands: BTreeSet<Operand> = bytes.iter().flatten().map(|byte| byte.0).collect();
    let set = |lane: usize, flag: u8| (lane as u8 & flag).count_ones() & 1 == 1;
    let one = |flag: u8| (0..bytes.len()).find(|&lane| set(lane, flag)).unwrap_or(0);
    let fits =
        |flag: u8| (0..bytes.len()).all(|lane| bytes[lane] == bytes[if set(lane, flag) { one(flag) } else { 0 }]);
    let flag = (0..bytes.len() as u8).find(|&flag| fits(flag))?;
    (operands.len() <= 2).then(|| (operands.into_iter().collect(), flag))
}

/// The operand that the bytes are a copy of.
fn copy(bytes: &Bytes) -> Option<Operand> {
    let operand = bytes[0][0].0;
    bytes.iter().all(|lane| lane.iter().enumerate().all(|(at, &byte)| byte == (operand, at as u8))).then_some(operand)
}

impl Machine {
    pub(crate) fn place(&self, at: u8) -> Place {
        let lanes = at >> self.parts;
        (at & ((1 << self.parts) - 1), lanes & ((1 << self.lanes) - 1), lanes >> self.lanes)
    }

    pub(crate) fn index(&self, (part, lane, register): Place) -> u8 {
        part | lane << self.parts | register << (self.parts + self.lanes)
    }

    pub(crate) fn source(&self, matrix: &Matrix, place: Place) -> Place {
        self.place(apply(matrix, self.index(place)))
    }

    pub(crate) fn part_count(&self) -> u8 {
        1 << self.parts
    }

    pub(crate) fn lane_count(&self) -> u8 {
        1 << self.lanes
    }

    pub(crate) fn register_count(&self) -> u8 {
        1 << self.registers
    }

    /// The same map up to the names of registers afterwards: the register columns reduced.
    pub(crate) fn renamed(&self, mut matrix: Matrix) -> Matrix {
        let columns = &mut matrix[self.parts + self.lanes..];
        let mut done = 0;
        for bit in (0..BITS).rev() {
            if let Some(pivot) = (done..columns.len()).find(|&at| columns[at] >> bit & 1 == 1) {
                columns.swap(done, pivot);
                for at in 0..columns.len() {
                    if at != done && columns[at] >> bit & 1 == 1 {
                        columns[at] ^= columns[done];
                    }
                }
                done += 1;
            }
        }
        matrix
    }

    /// The bytes of an output in terms of registers.
    pub(crate) fn bytes(&self, matrix: &Matrix, register: u8, operand: impl Fn(u8) -> Operand) -> Bytes {
        let byte = |part, lane| {
            let (part, _, source) = self.source(matrix, (part, lane, register));
            (operand(source), part)
        };
        (0..self.lane_count()).map(|lane| (0..self.part_count()).map(|part| byte(part, lane)).collect()).collect()
    }

    /// Whether one select or permute for each register makes the map.
    pub(crate) fn packs(&self, matrix: &Matrix) -> bool {
        let stays = (0..PLACES as u8).all(|at| self.place(apply(matrix, at)).1 == self.place(at).1);
        stays
            && (0..self.register_count())
                .all(|register| operation(&self.bytes(matrix, register, Operand::Input)).is_some())
    }

    /// Whether one shuffle for each register makes the map, and registers keep their names.
    pub(crate) fn shuffles(&self, matrix: &Matrix) -> bool {
        (0..PLACES as u8).all(|at| {
            let (before, after) = (self.place(apply(matrix, at)), self.place(at));
            before.0 == after.0 && before.2 == after.2
        })
        // A shuffle reads one lane for all parts.
        && (0..self.parts).all(|bit| matrix[bit] == 1 << bit)
    }

    /// The program that packs, shuffles packed registers or whole inputs, and puts together.
    pub(crate) fn layer(&self, [pack, shuffle, put]: [&Matrix; 3], whole: Shuffled) -> Layer {
        if whole == Shuffled::Gathered {
            return self.gather(pack, shuffle);
        }
        let whole = whole == Shuffled::Whole;
        let count = self.register_count();
        let packed: Vec<Bytes> = (0..count).map(|register| self.bytes(pack, register, Operand::Input)).collect();
        let copies: Vec<Option<Operand>> = packed.iter().map(copy).collect();
        let moved = |lane, register| self.source(shuffle, (0, lane, register)).1;
        let stays: Vec<bool> =
            (0..count).map(|register| (0..self.lane_count()).all(|lane| moved(lane, register) == lane)).collect();
        // In terms of the inputs, where packed registers are not shuffled, or where whole inputs are.
        let expand = |lane: usize, (operand, part): (Operand, u8)| match operand {
            Operand::Packed(source) => packed[source as usize][lane][part as usize],
            Operand::Shuffled(source) if whole => {
                match packed[source as usize][moved(lane as u8, source) as usize][part as usize] {
                    (Operand::Input(input), part) => (Operand::ShuffledInput(input, moved(0, source)), part),
                    other => other,
                }
            }
            _ => (operand, part),
        };
        let outputs: Vec<Bytes> = (0..count)
            .map(|register| {
                let middle = |source: u8| match (stays[source as usize], copies[source as usize]) {
                    (true, Some(operand)) => operand,
                    (true, None) => Operand::Packed(source),
                    (false, _) => Operand::Shuffled(source),
                };
                let bytes = self.bytes(put, register, middle);
                let lanes = bytes.iter().enumerate();
                let expanded: Bytes =
                    lanes.map(|(lane, parts)| parts.iter().map(|&byte| expand(lane, byte)).collect()).collect();
                if operation(&expanded).is_some() { expanded } else { bytes }
            })
            .collect();
        let used: BTreeSet<Operand> = outputs.iter().flatten().flatten().map(|byte| byte.0).collect();
        let packs: BTreeSet<u8> = used
            .iter()
            .filter_map(|operand| match *operand {
                Operand::Packed(source) => Some(source),
                Operand::Shuffled(source) => copies[source as usize].is_none().then_some(source),
                _ => None,
            })
            .collect();
        let shuffled = |operand: &&Operand| matches!(operand, Operand::Shuffled(_) | Operand::ShuffledInput(..));
        let price = Price {
            operations: (packs.len() + outputs.iter().filter(|bytes| copy(bytes).is_none()).count()) as u32,
            shuffles: used.iter().filter(shuffled).count() as u32,
        };
        Layer { packed, outputs, price }
    }

    /// The program that puts each output together from whole inputs, shuffled by lane maps with the linear part of `lanes`.
    pub(crate) fn gather(&self, map: &Matrix, lanes: &Matrix) -> Layer {
        let bytes = |register: u8| -> Bytes {
            let byte = |part, lane| {
                let (part, from, source) = self.source(map, (part, lane, register));
                let linear = self.source(lanes, (0, lane, 0)).1;
                let stays = (0..self.lane_count()).all(|lane| self.source(lanes, (0, lane, 0)).1 == lane);
                match from ^ linear {
                    0 if stays => (Operand::Input(source), part),
                    offset => (Operand::ShuffledInput(source, offset), part),
                }
            };
            (0..self.lane_count()).map(|lane| (0..self.part_count()).map(|part| byte(part, lane)).collect()).collect()
        };
        let outputs: Vec<Bytes> = (0..self.register_count()).map(bytes).collect();
        let used: BTreeSet<Operand> = outputs.iter().flatten().flatten().map(|byte| byte.0).collect();
        let price = Price {
            operations: outputs.iter().filter(|bytes| copy(bytes).is_none()).count() as u32,
            shuffles: used.iter().filter(|operand| matches!(operand, Operand::ShuffledInput(..))).count() as u32,
        };
        Layer { packed: Vec::new(), outputs, price }
    }

    /// Emits a layer on a machine whose lane bits start at `first`.
    pub(crate) fn emit(
        &self,
        builder: &mut Builder,
        inputs: &[Register],
        layer: &Layer,
        shuffle: &Matrix,
        first: usize,
    ) -> Vec<Register> {
        let lanes = |register: u8, offset: Option<u8>| {
            let mut columns = [1, 2, 4, 8, 16];
            for bit in 0..self.lanes {
                columns[first + bit] = u32::from(self.place(shuffle[self.parts + bit]).1) << first;
            }
            let offset = offset.unwrap_or_else(|| self.source(shuffle, (0, 0, register)).1);
            LaneMap { columns, offset: u32::from(offset) << first }
        };
        let put = |builder: &mut Builder, bytes: &Bytes, of: &dyn Fn(&mut Builder, Operand) -> Register| {
            let (operands, flag) = operation(bytes).unwrap();
            let registers: Vec<Register> = operands.iter().map(|&operand| of(builder, operand)).collect();
            let one = (0..bytes.len()).find(|&lane| (lane as u8 & flag).count_ones() & 1 == 1).unwrap_or(0);
            let width = 4 >> self.parts;
            let selectors = [0, one].map(|lane| {
                (0..4).fold(0u16, |packed, byte| {
                    let (operand, part) = bytes[lane][byte / width];
                    let base = if operand == operands[0] { 0 } else { 4 };
                    packed | ((base + part as usize * width + byte % width) as u16) << (4 * byte)
                })
            });
            let flag = LaneFlag { mask: flag << first };
            let (a, b) = (registers[0], *registers.last().unwrap());
            match selectors {
                [0x3210, 0x3210] => a,
                [0x3210, 0x7654] => builder.select(flag, a, b),
                [0x7654, 0x3210] => builder.select(flag, b, a),
                [zero, one] => builder.permute(a, b, Selector::ByLane { flag, zero, one }),
            }
        };
        let input = |_: &mut Builder, operand| match operand {
            Operand::Input(at) => inputs[at as usize],
            _ => unreachable!("packed registers are of inputs"),
        };
        let operand = |builder: &mut Builder, operand| match operand {
            Operand::Input(at) => inputs[at as usize],
            Operand::Packed(at) => put(builder, &layer.packed[at as usize], &input),
            Operand::Shuffled(at) => {
                let packed = put(builder, &layer.packed[at as usize], &input);
                builder.shuffle_index(packed, lanes(at, None))
            }
            Operand::ShuffledInput(at, offset) => builder.shuffle_index(inputs[at as usize], lanes(0, Some(offset))),
        };
        layer.outputs.iter().map(|bytes| put(builder, bytes, &operand)).collect()
    }

    /// The registers of a map in the order of its representative.
    pub(crate) fn in_order(&self, registers: &[Register], map: &Matrix) -> Vec<Register> {
        let representative = self.renamed(*map);
        let vector = |map: &Matrix, register: u8| apply(map, self.index((0, 0, register)));
        (0..self.register_count())
            .map(|to| {
                let from = (0..self.register_count()).find(|&from| vector(map, from) == vector(&representative, to));
                registers[from.unwrap() as usize]
            })
            .collect()
    }
}
