//! The way through shared memory: stores, a barrier, loads, and a memory layout in which neither conflicts.

use crate::program::{Builder, LaneMap, Register, moves};

use super::Options;
use super::arrangement::{LANE_BITS, Shape};
use super::costs::Costs;
use super::model::Model;
use super::moves::{Access, Move};
use super::planner::Candidate;
use super::swizzle::{Demand, Memory, sum};

/// One side of the round trip: what each bit of a place in the registers is in the array's index (for which the places
/// before serve).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    parts: Vec<u32>,
    lanes: [u32; LANE_BITS],
    registers: Vec<u32>,
}

/// A way to store or to load: the instruction, and the register bits that one instruction takes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    access: Access,
    taken: Vec<usize>,
}

/// Local transposes: part and register bit, in order.
type Locals = Vec<(usize, usize)>;

impl Side {
    fn before(shape: Shape) -> Self {
        Self::of(shape, |bit| 1 << bit)
    }

    fn of(shape: Shape, vector: impl Fn(usize) -> u32) -> Self {
        Self {
            parts: (0..shape.parts).map(&vector).collect(),
            lanes: std::array::from_fn(|lane| vector(shape.parts + lane)),
            registers: (shape.first_register()..shape.bits()).map(&vector).collect(),
        }
    }

    fn transposed(mut self, locals: &Locals) -> Self {
        for &(part, register) in locals {
            std::mem::swap(&mut self.parts[part], &mut self.registers[register]);
        }
        self
    }

    /// The vectors of a matrix's rows, by bit of the row.
    fn rows(&self, transposed: bool) -> Option<[u32; 3]> {
        if transposed {
            Some([*self.parts.last()?, self.lanes[0], self.lanes[1]])
        } else {
            Some([self.lanes[2], self.lanes[3], self.lanes[4]])
        }
    }

    fn demand(&self, way: &Way) -> Option<Demand> {
        let lanes = &self.lanes;
        Some(match way.access {
            Access::Words(_) => Demand {
                word: self.parts.clone(),
                side_by_side: way.taken.iter().map(|&register| self.registers[register]).collect(),
                phase: lanes[..LANE_BITS - way.taken.len()].to_vec(),
            },
            Access::Matrix { transposed: false, .. } => {
                Demand { word: self.parts.clone(), side_by_side: lanes[..2].to_vec(), phase: lanes[2..].to_vec() }
            }
            Access::Matrix { transposed: true, .. } => {
                let mut word = self.parts.clone();
                *word.last_mut()? = lanes[2];
                Demand { word, side_by_side: lanes[3..].to_vec(), phase: self.rows(true)?.to_vec() }
            }
        })
    }

    /// The ways to access memory from these registers, those of most registers at once first.
    fn ways(&self, options: &Options) -> Vec<Way> {
        let count = self.registers.len();
        let mut taken: Vec<Vec<usize>> = Vec::new();
        for one in 0..count {
            taken.extend((0..count).filter(|&other| other != one).map(|other| vec![one, other]));
        }
        taken.extend((0..count).map(|one| vec![one]));
        taken.push(Vec::new());
        let mut ways: Vec<Way> =
            taken.into_iter().map(|taken| Way { access: Access::Words(1 << taken.len()), taken }).collect();
        if options.matrix {
            for transposed in [false, true] {
                if !transposed || !self.parts.is_empty() {
                    let taken: Vec<usize> = (0..count.min(2)).collect();
                    ways.push(Way { access: Access::Matrix { count: 1 << taken.len(), transposed }, taken });
                }
            }
        }
        ways
    }

    /// The address that each lane gives for the registers whose other bits are `rest`: none if the instruction cannot
    /// use it.
    fn address(&self, way: &Way, memory: &Memory, rest: u32, offset: u32) -> Option<LaneMap> {
        let at = |vector: u32| memory.address(vector);
        let (columns, aligned) = match way.access {
            Access::Words(words) => (self.lanes.map(at), 4 * words as u32),
            Access::Matrix { transposed, .. } => {
                let rows = self.rows(transposed)?;
                let matrix = |which: usize| way.taken.get(which).map_or(0, |&register| at(self.registers[register]));
                ([at(rows[0]), at(rows[1]), at(rows[2]), matrix(0), matrix(1)], 16)
            }
        };
        let map = LaneMap { columns, offset: at(rest ^ offset) };
        columns.iter().chain([&map.offset]).all(|each| each & (aligned - 1) == 0).then_some(map)
    }

    /// Whether the bits inside an access are where its instruction has them.
    fn fits(&self, way: &Way, memory: &Memory) -> bool {
        let Some(demand) = self.demand(way) else { return false };
        let words = demand.word.iter().enumerate().map(|(at, &vector)| (vector, 1 << (2 - demand.word.len() + at)));
        let beside = demand.side_by_side.iter().enumerate().map(|(at, &vector)| (vector, 4 << at));
        words.chain(beside).all(|(vector, address)| memory.address(vector) == address)
    }

    /// Calls `access` with every group of registers that one instruction takes (those whose other bits are 0 in the
    /// group) and its address.
    fn each_group(
        &self,
        way: &Way,
        memory: &Memory,
        offset: u32,
        access: &mut dyn FnMut(&[usize], LaneMap),
    ) -> Option<()> {
        let others: Vec<usize> = (0..self.registers.len()).filter(|bit| !way.taken.contains(bit)).collect();
        for rest in 0..1usize << others.len() {
            let base = others.iter().enumerate().fold(0, |base, (at, &bit)| base | (rest >> at & 1) << bit);
            let group: Vec<usize> = (0..1usize << way.taken.len())
                .map(|each| {
                    way.taken.iter().enumerate().fold(base, |index, (at, &bit)| index | (each >> at & 1) << bit)
                })
                .collect();
            access(&group, self.address(way, memory, sum(&self.registers, base as u32), offset)?);
        }
        Some(())
    }
}

/// The cheapest round trip that costs less than `limit`.
pub(super) fn round_trip(model: &Model, costs: &Costs, options: &Options, limit: f64) -> Option<Candidate> {
    let (before, after) = (model.before, model.after);
    let first = Side::before(before);
    // Registers that repeat others are not loaded.
    let last = Side::of(after, |bit| model.columns[bit]);
    let (mut kept, mut reduced) = (Vec::new(), Vec::<u32>::new());
    for (bit, &vector) in last.registers.iter().enumerate() {
        let left = reduced.iter().fold(vector, |left, &each| left.min(left ^ each));
        if left != 0 {
            reduced.push(left);
            reduced.sort_unstable_by(|one, other| other.cmp(one));
            kept.push(bit);
        }
    }
    let distinct: Vec<u32> = kept.iter().map(|&bit| last.registers[bit]).collect();
    let loaded = Side { registers: distinct.clone(), ..last.clone() };
    let mut best: Option<(f64, usize, Candidate)> = None;
    let pres = local_choices(before);
    let posts = local_choices(Shape { registers: distinct.len(), ..after });
    let mut pairs: Vec<(&Locals, &Locals)> =
        pres.iter().flat_map(|pre| posts.iter().map(move |post| (pre, post))).collect();
    pairs.retain(|(pre, post)| pre.len() + post.len() <= 2);
    pairs.sort_by_key(|(pre, post)| pre.len() + post.len());
    for (pre, post) in pairs {
        let permutes = (pre.len() << before.registers) + (post.len() << distinct.len());
        let rates = &costs.rates;
        let store = rates.store_word.min(rates.store_matrix) * before.register_count() as f64;
        let load = rates.load_word.min(rates.load_matrix) * (1u32 << distinct.len()) as f64;
        let least = store + load + rates.barrier + permutes as f64 * rates.permute;
        if least >= limit || best.as_ref().is_some_and(|best| least >= best.0) {
            continue;
        }
        let (from, to) = (first.clone().transposed(pre), loaded.clone().transposed(post));
        // What undoes the transposes of the place afterwards.
        let back: Locals = post.iter().rev().copied().collect();
        let (stores, loads) = (from.ways(options), to.ways(options));
        for store in &stores {
            let Some(wanted) = from.demand(store) else { continue };
            for load in &loads {
                let Some(memory) = to.demand(load).and_then(|demand| Memory::new(&wanted, &demand, before.bits()))
                else {
                    continue;
                };
                if !from.fits(store, &memory) || !to.fits(load, &memory) {
                    continue;
                }
                let mut builder = Builder::new(before.register_count());
                let mut registers = builder.inputs();
                transpose(&mut builder, &mut registers, before, pre);
                let stored = from.each_group(store, &memory, 0, &mut |group, address| {
                    let values: Vec<Register> = group.iter().map(|&index| registers[index]).collect();
                    match store.access {
                        Access::Words(_) => builder.store(address, &values),
                        Access::Matrix { transposed, .. } => builder.store_matrix(address, &values, transposed),
                    }
                });
                builder.barrier();
                let mut registers = vec![0; 1 << distinct.len()];
                let got = to.each_group(load, &memory, model.offset, &mut |group, address| {
                    let values = match load.access {
                        Access::Words(words) => builder.load(address, words),
                        Access::Matrix { count, transposed } => builder.load_matrix(address, count, transposed),
                    };
                    group.iter().zip(values).for_each(|(&index, value)| registers[index] = value);
                });
                if stored.is_none() || got.is_none() {
                    continue;
                }
                transpose(&mut builder, &mut registers, Shape { registers: distinct.len(), ..after }, &back);
                let outputs: Vec<Register> = (0..after.register_count())
                    .map(|index| {
                        let wanted = sum(&last.registers, index as u32);
                        let same = (0..registers.len()).find(|&at| sum(&distinct, at as u32) == wanted);
                        registers[same.unwrap_or(0)]
                    })
                    .collect();
                let step = Move::Shared { store: store.access, load: load.access };
                let mut steps: Vec<Move> =
                    pre.iter().map(|&(part, register)| Move::Transpose { part, register }).collect();
                steps.push(step);
                steps.extend(back.iter().map(|&(part, register)| Move::Transpose { part, register }));
                let candidate = Candidate::new(steps, builder.finish(&outputs), costs);
                let counts = candidate.program.counts();
                let size = (counts.store + counts.load + counts.store_matrix + counts.load_matrix) as usize;
                let better = match &best {
                    Some(best) => (candidate.cost, size) < (best.0, best.1),
                    None => candidate.cost < limit,
                };
                if better {
                    best = Some((candidate.cost, size, candidate));
                }
            }
        }
    }
    best.map(|best| best.2)
}

/// No local transpose, one, or two.
fn local_choices(shape: Shape) -> Vec<Locals> {
    let single: Vec<(usize, usize)> =
        (0..shape.parts).flat_map(|part| (0..shape.registers).map(move |register| (part, register))).collect();
    let mut choices: Vec<Locals> = vec![Vec::new()];
    choices.extend(single.iter().map(|&one| vec![one]));
    for &one in &single {
        choices.extend(single.iter().filter(|&&other| other != one).map(|&other| vec![one, other]));
    }
    choices
}

fn transpose(builder: &mut Builder, registers: &mut [Register], shape: Shape, locals: &[(usize, usize)]) {
    for &(part, register) in locals {
        if let Some(bit) = moves::byte_bit(shape.parts, part) {
            moves::local_transpose(builder, registers, bit, register as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::round_trip;
    use crate::plan::model::Model;
    use crate::plan::{Costs, Options};
    use crate::program::{Instruction, LaneMap};
    use crate::{Layout, Name, Space};

    /// Calls `phase` with the word addresses of each group of lanes that one cycle serves.
    fn phases(instruction: &Instruction, phase: &mut dyn FnMut(Vec<u32>)) {
        let (map, words, group, groups): (&LaneMap, u32, u32, u32) = match instruction {
            Instruction::StoreShared { address, values } => {
                let words = values.len() as u32;
                (address, words, 32 / words, words)
            }
            Instruction::LoadShared { address, d } => (address, d.len() as u32, 32 / d.len() as u32, d.len() as u32),
            Instruction::StoreMatrix { row, values, .. } => (row, 4, 8, values.len() as u32),
            Instruction::LoadMatrix { row, d, .. } => (row, 4, 8, d.len() as u32),
            _ => return,
        };
        for first in (0..groups).map(|at| at * group) {
            phase(
                (first..first + group).flat_map(|lane| (0..words).map(move |word| map.at(lane) / 4 + word)).collect(),
            );
        }
    }

    #[test]
    fn no_phase_of_a_round_trip_has_two_words_of_a_bank() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let names = |stem: &'static str, count| (0..count).map(move |at| Name::numbered(stem, at).unwrap());
        let mut matrices = 0;
        for (parts, registers) in [(0, 0), (0, 3), (1, 1), (1, 2), (1, 4), (2, 2), (2, 4)] {
            for round in 0..30 {
                let bits = parts + 5 + registers;
                let physical = names("b", parts).chain(names("t", 5)).chain(names("r", registers));
                let physical = physical.fold(Space::new(), |space, name| space.with(name).unwrap());
                let logical = names("n", bits).fold(Space::new(), |space, name| space.with(name).unwrap());
                let mut columns: Vec<u64> = (0..bits).map(|bit| 1 << bit).collect();
                let from = Layout::from_columns(physical, logical, &columns).unwrap();
                if round % 2 == 0 {
                    columns[..parts + 5].shuffle(&mut random);
                    columns[parts..].shuffle(&mut random);
                } else {
                    columns[parts..].shuffle(&mut random);
                    // No permutation.
                    for _ in 0..round / 4 {
                        let (one, other) = (random.random_range(parts..bits), random.random_range(parts..bits));
                        columns[one] ^= if one == other { 0 } else { columns[other] };
                    }
                }
                let to = Layout::from_columns(physical, logical, &columns).unwrap();
                let model = Model::new(&from, &to).unwrap();
                let found = round_trip(&model, &Costs::H200, &Options::default(), f64::INFINITY);
                // Where the parts stay what they are, words can always go through memory.
                assert!(found.is_some() || columns[..parts] != [1, 2][..parts], "{from}  to  {to}");
                let Some(found) = found else { continue };
                found.program.check(&from, &to).unwrap();
                assert!(found.program.counts().barrier == 1 || registers == 0 && found.program.counts().load == 0);
                for instruction in &found.program.instructions {
                    matrices += usize::from(matches!(instruction, Instruction::LoadMatrix { .. }));
                    phases(instruction, &mut |words| {
                        let mut banks: HashMap<u32, HashSet<u32>> = HashMap::new();
                        for word in words {
                            banks.entry(word % 32).or_default().insert(word);
                        }
                        assert!(banks.values().all(|words| words.len() == 1), "{from}  to  {to}: {instruction:?}");
                    });
                }
            }
        }
        assert!(matrices > 0, "stmatrix and ldmatrix were never used");
    }
}
