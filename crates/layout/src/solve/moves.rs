//! Single conversions: what may happen to an arrangement between two steps, and what it costs.

use crate::plan::Costs;
use crate::program::Counts;

use super::role::{Place, Role};
use super::state::{PLACES, Tuple};

/// One way to change an arrangement, with a given number of registers.
///
/// `source[p]` is where the bit that goes to place `p` comes from: a place, or `places + i` for the `i`-th lowest of the register bits.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) source: Tuple,
    pub(super) cost: f64,
    pub(super) counts: Counts,
    /// Products, if the move is one with an identity matrix: role and instructions.
    pub(super) product: Option<(usize, u32)>,
    family: Family,
}

/// Moves of one price that lead from each of some arrangements to all of the same arrangements. Only the first of these, the cheapest,
/// has to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// A move of its own.
    Single,
    /// Permutations of the lanes.
    Lanes,
    /// Products with an identity matrix: role, places that are kept, and whence the others come.
    Product(usize, Vec<u8>, Vec<u8>),
}

impl Family {
    /// A number that two arrangements share if the family's moves lead from both to the same arrangements.
    #[inline]
    pub(super) fn key(&self, elements: usize, places: usize, tuple: &Tuple, rest: &[u8; 32]) -> Option<u64> {
        let symbol = |from: u8| {
            let from = from as usize;
            if from < places { tuple[from] } else { rest[from - places] }
        };
        let packed = |places: &[u8]| places.iter().fold(0u64, |key, &place| key << 4 | u64::from(symbol(place)));
        let mask = |places: &[u8]| places.iter().fold(0u64, |key, &place| key | 1 << symbol(place));
        match self {
            Self::Single => None,
            Self::Lanes => {
                let inside = tuple[..elements].iter().fold(0u64, |key, &symbol| key << 4 | u64::from(symbol));
                Some(inside << 20 | tuple[elements..places].iter().fold(0u64, |key, &symbol| key | 1 << symbol))
            }
            Self::Product(role, kept, carried) => Some((1 + *role as u64) << 56 | packed(kept) << 20 | mask(carried)),
        }
    }
}

/// The moves for each number of register bits.
#[derive(Debug, Clone)]
pub(super) struct Moves {
    pub(super) places: usize,
    elements: usize,
    costs: Costs,
    tables: Vec<Vec<Move>>,
    families: Vec<Vec<(Family, core::ops::Range<usize>)>>,
}

impl Moves {
    /// The moves for up to `most` register bits.
    pub(super) fn new(elements: usize, most: usize, costs: &Costs, identity: &[Role]) -> Self {
        let places = elements + 5;
        let mut moves = Self { places, elements, costs: *costs, tables: Vec::new(), families: Vec::new() };
        for registers in 0..=most {
            let mut table = moves.exchanges(registers);
            for (at, role) in identity.iter().enumerate() {
                moves.products(at, role, registers, &mut table);
            }
            // Of moves that do the same, the cheapest.
            table.sort_by(|x, y| x.source.cmp(&y.source).then(x.cost.total_cmp(&y.cost)));
            table.dedup_by(|x, y| x.source == y.source);
            table.sort_by(|x, y| x.family.cmp(&y.family).then(x.cost.total_cmp(&y.cost)));
            let mut families: Vec<(Family, core::ops::Range<usize>)> = Vec::new();
            for (at, step) in table.iter().enumerate() {
                match families.last_mut() {
                    Some((family, range)) if *family == step.family => range.end = at + 1,
                    _ => families.push((step.family.clone(), at..at + 1)),
                }
            }
            moves.tables.push(table);
            moves.families.push(families);
        }
        moves
    }

    /// The moves of an array with this many register bits.
    pub(super) fn table(&self, registers: usize) -> &[Move] {
        self.tables.get(registers).map_or(&[], Vec::as_slice)
    }

    /// The moves in families: ranges of the table.
    pub(super) fn families(&self, registers: usize) -> &[(Family, core::ops::Range<usize>)] {
        self.families.get(registers).map_or(&[], Vec::as_slice)
    }

    fn identity(&self) -> Tuple {
        core::array::from_fn(|place| place as u8)
    }

    fn push(&self, table: &mut Vec<Move>, source: Tuple, counts: Counts, family: Family) {
        table.push(Move { source, cost: self.costs.cost(&counts), counts, product: None, family });
    }

    /// Instructions that exchange place and register bit in one pair of registers, times the pairs.
    fn exchange(&self, place: Place, pairs: u32) -> Counts {
        if place < self.elements {
            Counts { permute: 2 * pairs, ..Counts::default() }
        } else {
            Counts { shuffle: pairs, select: 3 * pairs, ..Counts::default() }
        }
    }

    /// Local and warp transposes, permutations of lanes, transposed matrices.
    fn exchanges(&self, registers: usize) -> Vec<Move> {
        let mut table = Vec::new();
        let count = 1u32 << registers;
        for place in 0..self.places {
            for register in 0..registers {
                let mut source = self.identity();
                source[place] = (self.places + register) as u8;
                self.push(&mut table, source, self.exchange(place, count / 2), Family::Single);
            }
        }
        let mut lanes: Vec<u8> = (self.elements as u8..self.places as u8).collect();
        permutations(&mut lanes, 0, &mut |order| {
            let mut source = self.identity();
            source[self.elements..self.places].copy_from_slice(order);
            if source != self.identity() {
                self.push(&mut table, source, Counts { shuffle: count, ..Counts::default() }, Family::Lanes);
            }
        });
        if self.elements == 1 {
            let mut source = self.identity();
            for at in 0..3 {
                source.swap(at, at + 3);
            }
            self.push(&mut table, source, Counts { move_matrix: count, ..Counts::default() }, Family::Single);
        }
        table
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

/// All orders of a list.
fn permutations(list: &mut Vec<u8>, from: usize, visit: &mut impl FnMut(&[u8])) {
    if from == list.len() {
        return visit(list);
    }
    for at in from..list.len() {
        list.swap(from, at);
        permutations(list, from + 1, visit);
        list.swap(from, at);
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
