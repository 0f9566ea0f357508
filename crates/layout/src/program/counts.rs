//! What a program costs: its instructions, and what is computed once before it.

use std::collections::BTreeSet;

use crate::access::{LaneAddresses, SharedCost, Width};

use super::{Counts, Instruction, LaneFlag, Program, Selector};

/// Values of a lane that a program needs and that do not depend on the array: computed once, held in registers or
/// predicates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Setup {
    /// Predicates: distinct flags of selects.
    pub flags: u32,
    /// Registers: distinct selectors of permutes that differ from lane to lane.
    pub selectors: u32,
    /// Registers: distinct source lanes of `shfl.sync.idx`.
    pub sources: u32,
    /// Registers: distinct lane-dependent parts of shared addresses.
    pub bases: u32,
}

impl Program {
    /// Instructions of the program, by kind.
    ///
    /// An access to shared memory at `L(lane) ^ c`, where `L` is the linear part of its address, costs no operation on
    /// addresses if `c` has no bit in which two values of `L` differ: then `L ^ c = L + c`, the register that holds
    /// `L` with an immediate offset. Otherwise the bits that do overlap, `o`, take one XOR, `(L ^ o) + (c ^ o)`.
    /// [`Counts::address`] is the number of distinct `(L, o)` with `o` not 0: an address once computed serves every
    /// access that differs in the immediate offset only. `L` itself, and `shared memory's start + L`, belong to
    /// [`setup`](Self::setup).
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let mut addresses = BTreeSet::new();
        for instruction in &self.instructions {
            match instruction {
                Instruction::Select { .. } => counts.select += 1,
                Instruction::Permute { .. } => counts.permute += 1,
                Instruction::ShuffleXor { .. } | Instruction::ShuffleIndex { .. } => counts.shuffle += 1,
                Instruction::MoveMatrix { .. } => counts.move_matrix += 1,
                Instruction::StoreShared { values, .. } => {
                    counts.store += 1;
                    counts.store_words += values.len() as u32;
                }
                Instruction::LoadShared { d, .. } => {
                    counts.load += 1;
                    counts.load_words += d.len() as u32;
                }
                Instruction::StoreMatrix { values, .. } => counts.store_matrix += values.len() as u32,
                Instruction::LoadMatrix { d, .. } => counts.load_matrix += d.len() as u32,
                Instruction::WarpBarrier => counts.barrier += 1,
            }
            if let Some(address) = instruction.address().filter(|address| address.exchanged() != 0) {
                addresses.insert((address.columns, address.exchanged()));
            }
        }
        counts.address = addresses.len() as u32;
        counts
    }

    /// What is computed once before the program, however often it runs.
    pub fn setup(&self) -> Setup {
        let (mut flags, mut selectors) = (BTreeSet::new(), BTreeSet::new());
        let (mut sources, mut bases) = (BTreeSet::new(), BTreeSet::new());
        for instruction in &self.instructions {
            match instruction {
                Instruction::Select { flag: LaneFlag { mask }, .. } => {
                    flags.insert(*mask);
                }
                Instruction::Permute { selector: Selector::ByLane { flag, zero, one }, .. } => {
                    selectors.insert((flag.mask, *zero, *one));
                }
                Instruction::ShuffleIndex { source, .. } => {
                    sources.insert((source.columns, source.offset));
                }
                _ => {}
            }
            bases.extend(instruction.address().map(|address| address.columns));
        }
        Setup {
            flags: flags.len() as u32,
            selectors: selectors.len() as u32,
            sources: sources.len() as u32,
            bases: bases.len() as u32,
        }
    }

    /// Wavefronts of shared memory that the program's accesses take, their sum and the worst conflict (1: none).
    ///
    /// [`Counts`] charges words as if no access conflicts; this tells.
    pub fn shared_cost(&self) -> SharedCost {
        let mut sum = SharedCost { wavefronts: 0, ideal: 0, degree: 1 };
        for instruction in &self.instructions {
            let (address, lanes, width) = match instruction {
                Instruction::StoreShared { address, values } => (address, 32, values.len()),
                Instruction::LoadShared { address, d } => (address, 32, d.len()),
                Instruction::StoreMatrix { row, values, .. } => (row, 8 * values.len(), 0),
                Instruction::LoadMatrix { row, d, .. } => (row, 8 * d.len(), 0),
                _ => continue,
            };
            let bytes = match width {
                1 => Width::B4,
                2 => Width::B8,
                _ => Width::B16,
            };
            let request = (0..lanes).fold(LaneAddresses::empty(bytes), |request, lane| {
                request.with(lane, u64::from(address.at(lane as u32)))
            });
            let cost = if width == 0 { request.matrices() } else { request.shared() };
            sum.wavefronts += cost.wavefronts;
            sum.ideal += cost.ideal;
            sum.degree = sum.degree.max(cost.degree);
        }
        sum
    }

    /// Bytes of which the start of the warp's shared memory must be a multiple, a power of two: 4, 8 or 16 for the
    /// width of the accesses, and more where an address is XORed above that. 1 if there is no access.
    pub fn alignment(&self) -> u32 {
        let widths = self.instructions.iter().map(|instruction| match instruction {
            Instruction::StoreShared { values, .. } => 4 * values.len() as u32,
            Instruction::LoadShared { d, .. } => 4 * d.len() as u32,
            Instruction::StoreMatrix { .. } | Instruction::LoadMatrix { .. } => 16,
            _ => 1,
        });
        let exchanged = self.instructions.iter().filter_map(Instruction::address).map(|address| address.exchanged());
        // XORing the bits below 2^k commutes with adding a multiple of 2^k.
        widths
            .chain(exchanged.map(|bits| bits.checked_add(1).map_or(1 << 31, u32::next_power_of_two)))
            .max()
            .unwrap_or(1)
    }
}
