//! Single conversions: what may happen to an arrangement between two steps, and what it costs.
//!
//! The moves are the planner's ([`plan::neighbours`](crate::plan::neighbours)), worked out once for each number of
//! registers as changes of places, and products with an identity matrix. Left out are those of the planner's moves that
//! exchange several lane bits around one shuffle, which are seldom cheaper than one after the other, and the way
//! through shared memory, of which only the planner knows the cost.

use std::ops::Range;

use crate::plan::{self, Arrangement, Bit, Costs, LANE_BITS, Shape, neighbours, permuting};
use crate::program::Counts;

use super::role::{Place, Role};
use super::state::{PLACES, Tuple};

/// One way to change an arrangement, with a given number of registers.
///
/// `source[p]` is where the bit that goes to place `p` comes from: a place, or `places + i` for the `i`-th lowest of
/// the register bits.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) source: Tuple,
    pub(super) cost: f64,
    pub(super) counts: Counts,
    /// Products, if the move is one with an identity matrix: role and instructions.
    pub(super) product: Option<(usize, u32)>,
    family: Family,
}

/// Moves of one price that lead from each of some arrangements to all of the same arrangements. Only the first of
/// these, the cheapest, has to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// A move of its own.
    Single,
    /// Products with an identity matrix: role, places that are kept, and whence the others come.
    Product(usize, Vec<u8>, Vec<u8>),
}

impl Family {
    /// A number that two arrangements share if the family's moves lead from both to the same arrangements.
    #[inline]
    pub(super) fn key(&self, places: usize, tuple: &Tuple, rest: &[u8; 32]) -> Option<u64> {
        let symbol = |from: u8| {
            let from = from as usize;
            if from < places { tuple[from] } else { rest[from - places] }
        };
        match self {
            Self::Single => None,
            Self::Product(role, kept, carried) => {
                let packed = kept.iter().fold(0u64, |key, &place| key << 4 | u64::from(symbol(place)));
                let mask = carried.iter().fold(0u64, |key, &place| key | 1 << symbol(place));
                Some((1 + *role as u64) << 56 | packed << 20 | mask)
            }
        }
    }
}

/// The moves of arrays with one number of registers.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) moves: Vec<Move>,
    /// Ranges of `moves`.
    pub(super) families: Vec<(Family, Range<usize>)>,
    /// Moves after which the lanes' bits are in any order, and their cost; the order in `source` means nothing.
    pub(super) permuting: Vec<(Tuple, f64)>,
}

/// The moves for each number of register bits.
#[derive(Debug, Clone)]
pub(super) struct Moves {
    pub(super) places: usize,
    elements: usize,
    costs: Costs,
    tables: Vec<Table>,
}

impl Moves {
    /// The moves for these numbers of register bits.
    pub(super) fn new(elements: usize, wanted: &[usize], costs: &Costs, identity: &[Role]) -> Self {
        let places = elements + LANE_BITS;
        let mut moves = Self { places, elements, costs: *costs, tables: Vec::new() };
        for registers in 0..=wanted.iter().copied().max().unwrap_or(0) {
            if !wanted.contains(&registers) {
                moves.tables.push(Table::default());
                continue;
            }
            let mut table = moves.planned(registers);
            for (at, role) in identity.iter().enumerate() {
                moves.products(at, role, registers, &mut table.moves);
            }
            // Of moves that do the same, the cheapest.
            table.moves.sort_by(|x, y| x.source.cmp(&y.source).then(x.cost.total_cmp(&y.cost)));
            table.moves.dedup_by(|x, y| x.source == y.source);
            table.moves.sort_by(|x, y| x.family.cmp(&y.family).then(x.cost.total_cmp(&y.cost)));
            for (at, step) in table.moves.iter().enumerate() {
                match table.families.last_mut() {
                    Some((family, range)) if *family == step.family => range.end = at + 1,
                    _ => table.families.push((step.family.clone(), at..at + 1)),
                }
            }
            moves.tables.push(table);
        }
        moves
    }

    /// The moves of an array with this many register bits; at most as many as were asked for.
    pub(super) fn table(&self, registers: usize) -> &Table {
        &self.tables[registers.min(self.tables.len() - 1)]
    }

    fn identity(&self) -> Tuple {
        core::array::from_fn(|place| place as u8)
    }

    /// The planner's moves, from an arrangement in which each place holds its own number.
    fn planned(&self, registers: usize) -> Table {
        let shape = Shape { parts: self.elements, registers };
        let mut table = Table::default();
        if shape.bits() > 16 {
            return table;
        }
        let numbers: Vec<Bit> = (0..shape.bits() as Bit).collect();
        let sample = self.arrangement(&self.identity(), &numbers[self.places..]);
        let source = |of: Arrangement| {
            core::array::from_fn(|place| if place < self.places { of.get(place) } else { place as u8 })
        };
        let mut found = Vec::new();
        neighbours(sample, shape, &self.costs, &mut found);
        let mut classes = vec![sample];
        for (to, step, cost) in found {
            if matches!(step, plan::Move::Together { .. }) {
                continue;
            }
            if let Some(counts) = step.counts(shape) {
                table.moves.push(Move { source: source(to), cost, counts, product: None, family: Family::Single });
            }
            classes.push(to);
        }
        for to in classes {
            // Some order in which a bit that stays in the lanes has another place than before.
            let mut turned = None;
            let mut order = to.lanes(shape);
            for _ in 1..LANE_BITS {
                order.rotate_left(1);
                let moved = order.iter().enumerate().any(|(at, &bit)| {
                    bit != (self.elements + at) as Bit && (self.elements..self.places).contains(&(bit as usize))
                });
                if moved {
                    turned = Some(order);
                    break;
                }
            }
            let Some(order) = turned else { continue };
            let rest = to.registers(shape);
            let turned = Arrangement::new(&to.parts(shape), order, &rest);
            if let Some((_, cost)) = permuting(sample, turned, shape, &self.costs) {
                table.permuting.push((source(turned), cost));
            }
        }
        let set = |of: &Tuple| {
            let mut of = *of;
            of[self.elements..self.places].sort_unstable();
            of
        };
        table.permuting.sort_by(|x, y| set(&x.0).cmp(&set(&y.0)).then(x.1.total_cmp(&y.1)));
        table.permuting.dedup_by(|x, y| set(&x.0) == set(&y.0));
        table
    }

    /// Bits at places, and the others, as the planner has them.
    fn arrangement(&self, tuple: &Tuple, rest: &[u8]) -> Arrangement {
        let lanes = core::array::from_fn(|lane| tuple[self.elements + lane]);
        Arrangement::new(&tuple[..self.elements], lanes, rest)
    }

    /// Instructions of the move that permutes lanes from one arrangement to another.
    pub(super) fn permuted(&self, from: (&Tuple, &[u8]), to: (&Tuple, &[u8])) -> Counts {
        let shape = Shape { parts: self.elements, registers: from.1.len() };
        let (from, to) = (self.arrangement(from.0, from.1), self.arrangement(to.0, to.1));
        permuting(from, to, shape, &self.costs).and_then(|(step, _)| step.counts(shape)).unwrap_or_default()
    }

    /// Products with an identity matrix: the bits at the summed places come out at the created ones.
    fn products(&self, at: usize, role: &Role, registers: usize, table: &mut Vec<Move>) {
        if role.contract_slots > registers || role.contract_slots > 1 {
            return;
        }
        if role.batch.iter().any(|(_, out)| out.is_none()) || role.new.len() > role.contract.len() {
            return;
        }
        for slot in 0..if role.contract_slots == 0 { 1 } else { registers } {
            let mut carried: Vec<u8> = role.contract.iter().map(|&place| place as u8).collect();
            if role.contract_slots == 1 {
                carried.push((self.places + slot) as u8);
            }
            let loops = registers - role.contract_slots;
            let repeats = (carried.len() - role.new.len()).saturating_sub(role.new_slots);
            let count = 1u32 << (loops.saturating_sub(role.batch_slots) + repeats);
            let mut source = self.identity();
            for &(from, out) in &role.batch {
                if let Some(out) = out {
                    source[out] = from as u8;
                }
            }
            selections(&carried, role.new.len(), &mut Vec::new(), &mut |order| {
                for (&place, &from) in role.new.iter().zip(order) {
                    source[place] = from;
                }
                let cost = f64::from(count) * role.cycles;
                let kept = role.batch.iter().map(|&(from, _)| from as u8).collect();
                let family = Family::Product(at, kept, carried.clone());
                table.push(Move { source, cost, counts: Counts::default(), product: Some((at, count)), family });
            });
        }
    }

    /// What it costs that a register bit takes the place of nothing (a place whose two halves hold the same).
    pub(super) fn fill(&self, place: Place, registers: usize) -> (Counts, f64) {
        let half = 1u32 << registers.saturating_sub(1);
        let counts = if place < self.elements {
            Counts { permute: half, ..Counts::default() }
        } else {
            Counts { select: half, ..Counts::default() }
        };
        (counts, self.costs.cost(&counts))
    }
}

/// All ordered choices of `count` of a list.
pub(super) fn selections(list: &[u8], count: usize, chosen: &mut Vec<u8>, visit: &mut impl FnMut(&[u8])) {
    if chosen.len() == count {
        return visit(chosen);
    }
    for &one in list {
        if !chosen.contains(&one) {
            chosen.push(one);
            selections(list, count, chosen, visit);
            chosen.pop();
        }
    }
}

/// The arrangement after a move; `rest` lists the register bits, lowest first.
#[inline]
pub(super) fn apply(source: &Tuple, places: usize, tuple: &Tuple, rest: &[u8; 32]) -> Tuple {
    let mut result = [0; PLACES];
    for place in 0..places {
        let from = source[place] as usize;
        result[place] = if from < places { tuple[from] } else { rest[from - places] };
    }
    result
}
