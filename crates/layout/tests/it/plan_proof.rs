//! Proofs by exhaustion on small machines, instruction by instruction, and on small graphs of moves.
//!
//! The machines have 2 or 4 lanes. Their instructions are more than the real ones: a permute takes any part of either
//! operand, differently in each lane; a shuffle reads any lane from any lane. So what no program of theirs can do, none
//! of selects, permutes and shuffles of so many lanes can. What is proven is proven for warps of that size: that other
//! lanes cannot help is not.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use std::collections::{BTreeSet, HashMap};

use fringes_layout::plan::{Arrangement, Costs, Move, Options, Shape, cheapest, neighbours, permuting, plan};
use fringes_layout::{Layout, Name, Space};

/// What a register holds: an element for each lane and part.
type Value = Vec<u8>;

struct Machine {
    lanes: usize,
    parts: usize,
    registers: usize,
}

impl Machine {
    /// The registers in which place `p` (part, then lane, then register) holds element `source(p)`.
    fn registers(&self, source: impl Fn(usize) -> usize) -> Vec<Value> {
        let size = self.lanes * self.parts;
        (0..self.registers).map(|register| (0..size).map(|at| source(register * size + at) as u8).collect()).collect()
    }

    /// Whether one select or permute of two of the values gives `wanted`.
    fn mixes(&self, values: &[Value], wanted: &Value) -> bool {
        let serves = |one: &Value, other: &Value| {
            (0..wanted.len()).all(|at| {
                let lane = at / self.parts * self.parts..at / self.parts * self.parts + self.parts;
                one[lane.clone()].contains(&wanted[at]) || other[lane].contains(&wanted[at])
            })
        };
        values.iter().enumerate().any(|(at, one)| values[at..].iter().any(|other| serves(one, other)))
    }

    /// Whether one shuffle of a value gives `wanted`.
    fn shuffles(&self, values: &[Value], wanted: &Value) -> bool {
        let lanes = |value: &'_ Value| value.chunks(self.parts).map(<[u8]>::to_vec).collect::<Vec<_>>();
        values.iter().any(|value| lanes(wanted).iter().all(|lane| lanes(value).contains(lane)))
    }

    /// All results of one select or permute of two of the values.
    fn mixed(&self, values: &[Value]) -> BTreeSet<Value> {
        let mut found = BTreeSet::new();
        for (at, one) in values.iter().enumerate() {
            for other in &values[at..] {
                let mut partial: Vec<Value> = vec![Vec::new()];
                for place in 0..one.len() {
                    let from = place / self.parts * self.parts;
                    let choices: BTreeSet<u8> = (from..from + self.parts).flat_map(|at| [one[at], other[at]]).collect();
                    partial = partial
                        .into_iter()
                        .flat_map(|value| {
                            choices.iter().map(move |&choice| value.iter().copied().chain([choice]).collect::<Value>())
                        })
                        .collect();
                }
                found.extend(partial);
            }
        }
        found
    }

    /// All results of one shuffle of a value.
    fn shuffled(&self, values: &[Value]) -> BTreeSet<Value> {
        let mut found = BTreeSet::new();
        for value in values {
            for map in 0..self.lanes.pow(self.lanes as u32) {
                let source = |lane: usize| map / self.lanes.pow(lane as u32) % self.lanes;
                found.insert(
                    (0..value.len()).map(|at| value[source(at / self.parts) * self.parts + at % self.parts]).collect(),
                );
            }
        }
        found
    }

    /// Whether a program of `mixes` selects and permutes and `shuffles` shuffles, in any order, gives the outputs.
    fn possible(&self, values: &[Value], wanted: &[Value], mixes: usize, shuffles: usize) -> bool {
        let missing: Vec<&Value> = wanted.iter().filter(|value| !values.contains(value)).collect();
        if missing.is_empty() {
            return true;
        }
        // Every instruction left must give an output.
        if missing.len() > mixes + shuffles {
            return false;
        }
        if missing.len() == mixes + shuffles {
            return missing.iter().any(|&value| {
                let mut longer = values.to_vec();
                longer.push(value.clone());
                mixes > 0 && self.mixes(values, value) && self.possible(&longer, wanted, mixes - 1, shuffles)
                    || shuffles > 0
                        && self.shuffles(values, value)
                        && self.possible(&longer, wanted, mixes, shuffles - 1)
            });
        }
        let extended = |next: &Value, mixes: usize, shuffles: usize| {
            let mut longer = values.to_vec();
            longer.push(next.clone());
            !values.contains(next) && self.possible(&longer, wanted, mixes, shuffles)
        };
        mixes > 0 && self.mixed(values).iter().any(|next| extended(next, mixes - 1, shuffles))
            || shuffles > 0 && self.shuffled(values).iter().any(|next| extended(next, mixes, shuffles - 1))
    }
}

/// All invertible matrices of `size` rows and columns.
fn matrices(size: usize) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> = vec![Vec::new()];
    for _ in 0..size {
        all = all
            .into_iter()
            .flat_map(|matrix| {
                let spanned: BTreeSet<u64> = (0..1u64 << matrix.len())
                    .map(|set| (0..matrix.len()).filter(|at| set >> at & 1 == 1).fold(0, |sum, at| sum ^ matrix[at]))
                    .collect();
                (1..1u64 << size)
                    .filter(move |column| !spanned.contains(column))
                    .map(move |column| matrix.iter().copied().chain([column]).collect::<Vec<_>>())
            })
            .collect();
    }
    all
}

/// The layout of a small machine in a warp: the other lane bits hold bits of their own.
fn layout(parts: usize, lanes: usize, registers: usize, columns: &[u64]) -> Layout {
    let own = parts + lanes + registers;
    let mut physical = Space::new();
    let mut all = Vec::new();
    let mut push = |stem: &str, at: usize, column: u64| {
        physical = physical.with(Name::numbered(stem, at).unwrap()).unwrap();
        all.push(column);
    };
    (0..parts).for_each(|at| push("b", at, columns[at]));
    (0..lanes).for_each(|at| push("t", at, columns[parts + at]));
    (lanes..5).for_each(|at| push("t", at, 1 << (own + at - lanes)));
    (0..registers).for_each(|at| push("r", at, columns[parts + lanes + at]));
    let logical =
        (0..own + 5 - lanes).fold(Space::new(), |space, at| space.with(Name::numbered("n", at).unwrap()).unwrap());
    Layout::from_columns(physical, logical, &all).unwrap()
}

/// For invertible maps of a small machine: of how many no program at all is cheaper than the plan, and those for which
/// one of at most `length` instructions is, with the two costs.
fn compare(
    (parts, lanes, registers): (usize, usize, usize),
    maps: &[Vec<u64>],
    costs: &Costs,
    length: usize,
) -> (usize, Vec<(Vec<u64>, f64, f64)>) {
    let machine = Machine { lanes: 1 << lanes, parts: 1 << parts, registers: 1 << registers };
    let size = parts + lanes + registers;
    let identity: Vec<u64> = (0..size).map(|bit| 1 << bit).collect();
    let options = Options { shared: false, matrix: false, exhaustive: false };
    let (mut proven, mut beaten) = (0, Vec::new());
    for matrix in maps {
        let apply =
            |place: usize| (0..size).filter(|bit| place >> bit & 1 == 1).fold(0, |sum, bit| sum ^ matrix[bit] as usize);
        let (before, after) = (machine.registers(|place| place), machine.registers(apply));
        let from = layout(parts, lanes, registers, &identity);
        let planned = plan(&from, &layout(parts, lanes, registers, matrix), costs, &options).unwrap();
        let operation = costs.rates.select.min(costs.rates.permute);
        let price = |kind: &(usize, usize)| kind.0 as f64 * operation + kind.1 as f64 * costs.rates.shuffle;
        let kinds = (0..=length).flat_map(|total| (0..=total).map(move |shuffles| (total - shuffles, shuffles)));
        let mut cheaper: Vec<(usize, usize)> = kinds.filter(|kind| price(kind) < planned.cost - 1e-9).collect();
        cheaper.sort_by(|one, other| price(one).total_cmp(&price(other)));
        match cheaper.iter().find(|kind| machine.possible(&before, &after, kind.0, kind.1)) {
            Some(kind) => beaten.push((matrix.clone(), planned.cost, price(kind))),
            None => {
                // What a program that is longer costs at least: without shuffles nothing leaves a lane.
                let lane = |place: usize| place / machine.parts % machine.lanes;
                let crosses = (0..1 << size).any(|place| lane(apply(place)) != lane(place));
                let shuffles = usize::from(crosses);
                proven += usize::from(planned.cost <= price(&(length + 1 - shuffles, shuffles)) + 1e-9);
            }
        }
    }
    (proven, beaten)
}

/// The maps that permute bits.
fn permutations(size: usize) -> Vec<Vec<u64>> {
    matrices(size).into_iter().filter(|map| map.iter().all(|column| column.is_power_of_two())).collect()
}

#[test]
fn with_two_lanes_no_program_is_cheaper_than_the_plan() {
    for costs in [Costs::NOTE, Costs::H200] {
        // Every linear map of one register of two halves, and of two registers.
        assert_eq!(compare((1, 1, 0), &matrices(2), &costs, 4), (6, Vec::new()), "{}", costs.name);
        assert_eq!(compare((0, 1, 1), &matrices(2), &costs, 4), (6, Vec::new()), "{}", costs.name);
        // Every permutation of b, t and r: local transpose, warp transpose, b <-> t, and both cycles.
        assert_eq!(compare((1, 1, 1), &permutations(3), &costs, 4), (6, Vec::new()), "{}", costs.name);
    }
}

#[test]
#[ignore = "half a minute with optimisation"]
fn with_two_lanes_and_two_registers_of_halves_no_program_is_cheaper_than_the_plan_for_any_linear_map() {
    for costs in [Costs::NOTE, Costs::H200] {
        assert_eq!(compare((1, 1, 1), &matrices(3), &costs, 4), (168, Vec::new()), "{}", costs.name);
    }
}

#[test]
fn with_four_lanes_no_short_program_is_cheaper_than_the_plan() {
    for costs in [Costs::NOTE, Costs::H200] {
        assert_eq!(compare((0, 2, 0), &matrices(2), &costs, 3), (6, Vec::new()), "{}", costs.name);
        let (_, beaten) = compare((0, 2, 1), &permutations(3), &costs, 3);
        assert_eq!(beaten, Vec::new(), "{}", costs.name);
    }
}

/// All arrangements of a shape.
fn arrangements(shape: Shape) -> BTreeSet<Arrangement> {
    fn extend(shape: Shape, bits: &mut Vec<u8>, found: &mut BTreeSet<Arrangement>) {
        if bits.len() == shape.bits() {
            let (parts, rest) = bits.split_at(shape.parts);
            found.insert(Arrangement::new(parts, [rest[0], rest[1], rest[2], rest[3], rest[4]], &rest[5..]));
        }
        for bit in 0..shape.bits() as u8 {
            if !bits.contains(&bit) {
                bits.push(bit);
                extend(shape, bits, found);
                bits.pop();
            }
        }
    }
    let mut found = BTreeSet::new();
    extend(shape, &mut Vec::new(), &mut found);
    found
}

#[test]
fn one_move_that_permutes_lanes_is_as_good_as_many() {
    // Dijkstra's algorithm with any number of permuting moves, to every arrangement.
    let mut dear = Costs::H200;
    dear.rates.move_matrix = dear.rates.shuffle + dear.rates.permute;
    for shape in [Shape { parts: 1, registers: 0 }, Shape { parts: 0, registers: 1 }] {
        let all: Vec<Arrangement> = arrangements(shape).into_iter().collect();
        for (costs, matrix) in [(Costs::NOTE, false), (Costs::H200, false), (dear, true)] {
            let mut least: HashMap<Arrangement, f64> = all.iter().map(|&each| (each, f64::INFINITY)).collect();
            let start = all[0];
            least.insert(start, 0.0);
            let mut open: BTreeSet<Arrangement> = all.iter().copied().collect();
            let mut found = Vec::new();
            while let Some(at) = open.iter().copied().min_by(|one, other| least[one].total_cmp(&least[other])) {
                open.remove(&at);
                neighbours(at, shape, &costs, &mut found);
                found.retain(|each| matrix || !matches!(each.1, Move::MoveMatrix { .. }));
                let near = found.iter().map(|each| (each.0, each.2));
                let turned = all.iter().filter_map(|&to| Some((to, permuting(at, to, shape, &costs)?.1)));
                for (to, cost) in near.chain(turned).collect::<Vec<_>>() {
                    let total = least[&at] + cost;
                    if total < least[&to] {
                        least.insert(to, total);
                    }
                }
            }
            for &to in &all {
                let (_, cost) = cheapest(start, to, shape, &costs, matrix, f64::INFINITY).unwrap();
                assert!((cost - least[&to]).abs() < 1e-9, "{start:?} to {to:?}: {cost}, least {}", least[&to]);
            }
        }
    }
}
