//! Contractions as transitions from one arrangement to another.

use super::moves::selections;
use super::role::Role;
use super::state::{PLACES, Tuple, members};

/// No bit at a place or slot.
pub(super) const NONE: u8 = u8::MAX;

/// A contraction with bits as numbers: those of the array before, and of the array after.
#[derive(Debug, Clone)]
pub(super) struct Contraction {
    /// Bits before that are summed.
    pub(super) sums: u32,
    /// Bits before on which the matrix depends.
    pub(super) depends: u32,
    /// Number of each kept bit in the array after.
    pub(super) to: [u8; 32],
    /// Bits after that are created.
    pub(super) creates: Vec<u8>,
    /// Bits before and after that are real.
    pub(super) real: (usize, usize),
    /// The real-or-imaginary bit before and after, if the matrix is complex.
    pub(super) complex: Option<(u8, u8)>,
    /// The summed bit before and the created bit after at which it may be split.
    pub(super) split: Option<(u8, u8)>,
}

/// How a contraction is done.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) role: usize,
    /// Register bits before at the fragment's summed register bits, or none.
    pub(super) slots: Vec<u8>,
    /// Register bits before at the fragment's kept register bits, or none.
    pub(super) batch: Vec<u8>,
    /// Bits before that pass through the matrix.
    pub(super) carried: u32,
    /// Summed bits in registers over which is accumulated.
    pub(super) accumulated: u32,
    /// Bits after that are created or carried, in the order of the created places (or none), then slots, then
    /// repetitions.
    pub(super) new: Vec<u8>,
    /// The summed and the created bit of a split, which are among `accumulated` and not among `new`.
    pub(super) split: Option<(u8, u8)>,
    /// Half2 operations of the split.
    pub(super) half2: u32,
    /// Instructions.
    pub(super) count: u32,
    /// Registers of the matrix, and what unpacking costs if it is stored packed: sign flips and permutes.
    pub(super) registers: usize,
    pub(super) unpack: (u32, u32),
}

/// What a search allows a contraction to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) carry: bool,
    pub(super) packed: bool,
    pub(super) split: bool,
    pub(super) registers: usize,
    /// Places from here on are lanes whose order does not matter: one order of what is created there will do.
    pub(super) unordered: usize,
}

impl Contraction {
    /// Whether the kept places of a role hold only bits that may be there.
    #[inline]
    pub(super) fn may_keep(&self, role: &Role, tuple: &Tuple) -> bool {
        role.batch.iter().all(|&(place, _)| (self.sums | self.depends) >> tuple[place] & 1 == 0)
    }

    /// All ways to do the contraction from an arrangement with this role, with the arrangement afterwards.
    pub(super) fn choices(
        &self,
        index: usize,
        role: &Role,
        tuple: &Tuple,
        rest: u32,
        limits: Limits,
        visit: &mut impl FnMut(&Tuple, &Choice),
    ) {
        self.choices_with(None, index, role, tuple, rest, limits, visit);
        // A split needs its summed bit in a register.
        if let Some(split) = self.split.filter(|(summed, _)| limits.split && rest >> summed & 1 == 1) {
            self.choices_with(Some(split), index, role, tuple, rest, limits, visit);
        }
    }

    /// All ways with this split or without one.
    #[allow(clippy::too_many_arguments)] // those of `choices`
    fn choices_with(
        &self,
        split: Option<(u8, u8)>,
        index: usize,
        role: &Role,
        tuple: &Tuple,
        rest: u32,
        limits: Limits,
        visit: &mut impl FnMut(&Tuple, &Choice),
    ) {
        let real = (1u32 << self.real.0) - 1;
        let placed = role.contract.iter().fold(0u32, |mask, &place| mask | 1 << tuple[place]) & real;
        let rest = rest & real;
        let summed = self.sums & rest;
        let apart = split.map_or(0, |(summed, _)| 1u32 << summed);
        // A fragment's register bit holds a summed bit if there is one (which one makes no difference), else a carried
        // one, else nothing.
        let mut options: Vec<Vec<u8>> = vec![Vec::new()];
        for slot in 0..role.contract_slots {
            let mut longer = Vec::new();
            for option in &options {
                let first = members(summed & !apart).nth(slot);
                let kept = members(rest & !self.sums).filter(|_| limits.carry);
                for symbol in first.into_iter().chain(kept).chain(first.is_none().then_some(NONE)) {
                    if symbol == NONE || option.last().is_none_or(|&last| last < symbol || self.sums >> last & 1 == 1) {
                        longer.push([option.as_slice(), &[symbol]].concat());
                    }
                }
            }
            options = longer;
        }
        for slots in options {
            let chosen = slots.iter().filter(|&&symbol| symbol != NONE).fold(0u32, |mask, &symbol| mask | 1 << symbol);
            let carried = (placed | chosen) & !self.sums;
            if carried != 0 && !limits.carry {
                continue;
            }
            let accumulated = summed & !chosen;
            let kept = rest & !self.sums & !chosen;
            let mut batch: Vec<u8> = members(kept & !self.depends).take(role.batch_slots).collect();
            let held = batch.iter().fold(0u32, |mask, &symbol| mask | 1 << symbol);
            batch.resize(role.batch_slots, NONE);
            let mut new = self.creates.clone();
            new.retain(|symbol| split.is_none_or(|(_, created)| *symbol != created));
            new.extend(members(carried).map(|symbol| self.to[symbol as usize]));
            let padded = slots.iter().filter(|&&symbol| symbol == NONE).count();
            let left = new.len().saturating_sub(role.new.len());
            let repeats = left.saturating_sub(role.new_slots);
            let unused = role.new_slots.saturating_sub(left);
            let loops = (kept & !held).count_ones() as usize;
            let stored = role.matrix_bits.saturating_sub(padded)
                - if role.operand == super::Operand::B { unused } else { 0 }
                + accumulated.count_ones() as usize
                + repeats
                + (kept & self.depends).count_ones() as usize;
            let mut choice = Choice {
                role: index,
                slots,
                batch,
                carried,
                accumulated,
                new: Vec::new(),
                split,
                half2: 0,
                count: 1 << (accumulated.count_ones() as usize + repeats + loops).min(31),
                registers: 1 << stored.min(31),
                unpack: (0, 0),
            };
            let mut target = [0u8; PLACES];
            let mut empty = self.real.1 as u8;
            for &(from, out) in &role.batch {
                if let Some(out) = out {
                    let symbol = tuple[from];
                    target[out] = if (symbol as usize) < self.real.0 {
                        self.to[symbol as usize]
                    } else {
                        empty += 1;
                        empty - 1
                    };
                }
            }
            let count = role.new.len().min(new.len());
            selections(&new, count, &mut Vec::new(), &mut |order| {
                let lanes = role.new.iter().zip(order).filter(|(place, _)| **place >= limits.unordered);
                if limits.unordered < PLACES && !lanes.map(|(_, symbol)| *symbol).is_sorted() {
                    return;
                }
                let mut target = target;
                let mut empty = empty;
                for (at, &place) in role.new.iter().enumerate() {
                    target[place] = order.get(at).copied().unwrap_or_else(|| {
                        empty += 1;
                        empty - 1
                    });
                }
                choice.new.clear();
                choice.new.extend_from_slice(order);
                if split.is_some() {
                    // Half of the result's registers.
                    let held = role.batch.iter().filter_map(|&(_, out)| out).chain(role.new.iter().copied());
                    let held = held.filter(|&place| (target[place] as usize) < self.real.1).count();
                    choice.half2 = 1 << (self.real.1 - held).saturating_sub(1).min(31);
                }
                let full = choice.registers;
                if limits.packed {
                    self.pack(role, tuple, order, &mut choice);
                }
                if choice.registers <= limits.registers {
                    choice.new.resize(role.new.len(), NONE);
                    choice.new.extend(new.iter().filter(|symbol| !order.contains(symbol)));
                    visit(&target, &choice);
                }
                (choice.registers, choice.unpack) = (full, (0, 0));
            });
        }
    }

    /// Stores a complex matrix once for both parts of the result, if the part of the result is a register bit and that
    /// of the data is one or is inside a register.
    fn pack(&self, role: &Role, tuple: &Tuple, order: &[u8], choice: &mut Choice) {
        let Some((before, after)) = self.complex else { return };
        if order.contains(&after) {
            return;
        }
        let full = choice.registers as u32;
        match role.contract.iter().find(|&&place| tuple[place] == before) {
            Some(0) => choice.unpack = (full / 2, full / 2),
            Some(_) => return,
            None => choice.unpack = (full / 4, 0),
        }
        choice.registers /= 2;
    }
}
