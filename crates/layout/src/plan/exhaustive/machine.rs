//! Machines of 4 bits of places: what one layer of instructions makes of the registers, and what it costs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::program::Counts;

use super::super::costs::Costs;

/// Bits of a place.
pub(super) const BITS: usize = 4;
pub(super) const PLACES: usize = 1 << BITS;

/// A linear map of places: the images of the bits.
pub(super) type Matrix = [u8; BITS];

/// How many bits of a place are which: parts (one at most), then lanes, then registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Machine {
    pub(super) parts: usize,
    pub(super) lanes: usize,
    pub(super) registers: usize,
}

/// A place: part, lane, register.
pub(super) type Place = (u8, u8, u8);

pub(super) fn apply(matrix: &Matrix, vector: u8) -> u8 {
    (0..BITS).filter(|bit| vector >> bit & 1 == 1).fold(0, |sum, bit| sum ^ matrix[bit])
}

/// `one other`: first `other`.
pub(super) fn product(one: &Matrix, other: &Matrix) -> Matrix {
    other.map(|column| apply(one, column))
}

pub(super) const IDENTITY: Matrix = [1, 2, 4, 8];

/// All invertible matrices.
pub(super) static MATRICES: LazyLock<Vec<Matrix>> = LazyLock::new(|| {
    let mut all = Vec::new();
    longer(&mut all, IDENTITY, 0, 1);
    all
});

/// Adds the matrices with these first columns, whose span is the set of bits in `span`.
fn longer(all: &mut Vec<Matrix>, mut matrix: Matrix, at: usize, span: u16) {
    if at == BITS {
        all.push(matrix);
        return;
    }
    for column in (1..PLACES as u8).filter(|column| span >> column & 1 == 0) {
        matrix[at] = column;
        let sums = (0..PLACES as u8).filter(|vector| span >> vector & 1 == 1);
        let sums = sums.fold(0, |sums, vector| sums | 1 << (vector ^ column));
        longer(all, matrix, at + 1, span | sums);
    }
}

/// Instructions: selects and permutes, and shuffles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Price {
    pub(super) operations: u32,
    pub(super) shuffles: u32,
}

impl Price {
    /// What they cost; with `permutes`, each operation as much as the dearer of select and permute.
    pub(super) fn cost(self, costs: &Costs, permutes: bool) -> f64 {
        let counts = Counts { shuffle: self.shuffles, ..Counts::default() };
        costs.cost(&if permutes && costs.rates.permute > costs.rates.select {
            Counts { permute: self.operations, ..counts }
        } else {
            Counts { select: self.operations, ..counts }
        })
    }
}

/// Where an instruction's operand is from: a packed register, an input, or one of them shuffled by lane map `t -> A t ^
/// offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operand {
    Input(u8),
    Packed(u8),
    ShuffledInput(u8, u8),
    Shuffled(u8),
}

/// A layer's packed registers and outputs, and what it costs.
pub(super) struct Layer {
    pub(super) packed: Vec<Bytes>,
    pub(super) outputs: Vec<Bytes>,
    pub(super) price: Price,
}

/// What is shuffled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shuffled {
    /// Packed registers.
    Packed,
    /// Whole inputs instead.
    Whole,
    /// Whole inputs, for each output its own.
    Gathered,
}

/// A layer for a map: what it packs, shuffles and puts together, each as a map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) price: Price,
    pub(super) map: Matrix,
    pub(super) stages: [Matrix; 3],
    pub(super) shuffled: Shuffled,
}

/// A register's bytes: by lane, by part, an operand and a part of it.
pub(super) type Bytes = Vec<Vec<(Operand, u8)>>;

/// The operands and the flag of the one select or permute that makes a register of these bytes, if there is one.
pub(super) fn operation(bytes: &Bytes) -> Option<(Vec<Operand>, u8)> {
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
    pub(super) fn place(&self, at: u8) -> Place {
        let lanes = at >> self.parts;
        (at & ((1 << self.parts) - 1), lanes & ((1 << self.lanes) - 1), lanes >> self.lanes)
    }

    pub(super) fn index(&self, (part, lane, register): Place) -> u8 {
        part | lane << self.parts | register << (self.parts + self.lanes)
    }

    pub(super) fn source(&self, matrix: &Matrix, place: Place) -> Place {
        self.place(apply(matrix, self.index(place)))
    }

    pub(super) fn part_count(&self) -> u8 {
        1 << self.parts
    }

    pub(super) fn lane_count(&self) -> u8 {
        1 << self.lanes
    }

    pub(super) fn register_count(&self) -> u8 {
        1 << self.registers
    }

    /// The same map up to the names of registers afterwards: the register columns reduced.
    pub(super) fn renamed(&self, mut matrix: Matrix) -> Matrix {
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
    pub(super) fn bytes(&self, matrix: &Matrix, register: u8, operand: impl Fn(u8) -> Operand) -> Bytes {
        let byte = |part, lane| {
            let (part, _, source) = self.source(matrix, (part, lane, register));
            (operand(source), part)
        };
        (0..self.lane_count()).map(|lane| (0..self.part_count()).map(|part| byte(part, lane)).collect()).collect()
    }

    /// Whether one select or permute for each register makes the map.
    pub(super) fn packs(&self, matrix: &Matrix) -> bool {
        let stays = (0..PLACES as u8).all(|at| self.place(apply(matrix, at)).1 == self.place(at).1);
        stays
            && (0..self.register_count())
                .all(|register| operation(&self.bytes(matrix, register, Operand::Input)).is_some())
    }

    /// Whether one shuffle for each register makes the map, and registers keep their names.
    pub(super) fn shuffles(&self, matrix: &Matrix) -> bool {
        (0..PLACES as u8).all(|at| {
            let (before, after) = (self.place(apply(matrix, at)), self.place(at));
            before.0 == after.0 && before.2 == after.2
        })
        // A shuffle reads one lane for all parts.
        && (0..self.parts).all(|bit| matrix[bit] == 1 << bit)
    }

    /// The program that packs, shuffles packed registers or whole inputs, and puts together.
    pub(super) fn layer(&self, [pack, shuffle, put]: [&Matrix; 3], whole: Shuffled) -> Layer {
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

    /// The program that puts each output together from whole inputs, shuffled by lane maps with the linear part of
    /// `lanes`.
    pub(super) fn gather(&self, map: &Matrix, lanes: &Matrix) -> Layer {
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
}
