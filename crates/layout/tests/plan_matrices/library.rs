//! The planner's own exhaustive search against that of these tests.

use std::collections::HashMap;

use fringes_layout::plan::{Costs, Optimality, Options, Plan, plan};
use fringes_layout::{Layout, Name, Space};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Search;
use crate::machine::{BITS, IDENTITY, Machine, Matrix, matrices};

const REGISTERS: Options = Options { shared: false, matrix: true, exhaustive: false };
const EXHAUSTIVE: Options = Options { exhaustive: true, ..REGISTERS };
const TABLES: [Costs; 2] = [Costs::NOTE, Costs::H200];

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(4)
}

/// The least cost of every map, for both cost tables.
fn searched(machine: Machine, all: &[Matrix]) -> [Search; 2] {
    let between = if machine.parts == 1 { machine.between().steps(all) } else { HashMap::new() };
    let steps = [machine.steps(all), between];
    TABLES.map(|costs| machine.search(all, &steps, &costs))
}

/// Where the four bits of a machine are in a larger array of `parts` and 16 registers.
struct Array {
    parts: usize,
    part: usize,
    lanes: [usize; 2],
}

impl Array {
    /// The layout that holds a map's places in these bits, its registers in another order: by the columns of `order`.
    fn layout(&self, machine: Machine, map: &Matrix, order: &Matrix) -> Layout {
        let places: Vec<Name> = (0..machine.parts)
            .map(|_| Name::numbered("b", self.part).unwrap())
            .chain(self.lanes[..machine.lanes].iter().map(|&lane| Name::numbered("t", lane).unwrap()))
            .chain((0..machine.registers).map(|at| Name::numbered("r", at).unwrap()))
            .collect();
        let all = ["b", "t", "r"].into_iter().zip([self.parts, 5, 4]);
        let all = all.flat_map(|(stem, count)| (0..count).map(move |at| Name::numbered(stem, at).unwrap()));
        let all: Vec<Name> = all.collect();
        let logical = |name: &Name| 1u64 << all.iter().position(|each| each == name).unwrap();
        let physical = all.iter().fold(Space::new(), |space, name| space.with(*name).unwrap());
        let held = |name: &Name| match places.iter().position(|each| each == name) {
            Some(at) => places
                .iter()
                .enumerate()
                .filter(|(to, _)| map[at] >> to & 1 == 1)
                .fold(0, |sum, (_, to)| sum ^ logical(to)),
            None => logical(name),
        };
        let register = |at: usize| held(&Name::numbered("r", at).unwrap());
        let column = |name: &Name| match (name.stem(), name.number()) {
            ("r", Some(at)) => {
                (0..BITS).filter(|bit| order[at] >> bit & 1 == 1).fold(0, |sum, bit| sum ^ register(bit))
            }
            _ => held(name),
        };
        let columns: Vec<u64> = all.iter().map(column).collect();
        let names = (0..all.len()).map(|at| Name::numbered("n", at).unwrap());
        let names = names.fold(Space::new(), |space, name| space.with(name).unwrap());
        Layout::from_columns(physical, names, &columns).unwrap()
    }

    /// Plans of random maps and orders of registers, with the least cost of the map.
    fn plans(&self, machine: Machine, count: usize, test: impl Fn(&Plan, &Plan, f64)) {
        let all = matrices();
        let search = searched(machine, &all);
        let mut random = random();
        for _ in 0..count {
            let [map, before, after] = [(); 3].map(|()| all.choose(&mut random).unwrap());
            let (from, to) = (self.layout(machine, &IDENTITY, before), self.layout(machine, map, after));
            for (costs, search) in TABLES.iter().zip(&search) {
                let [found, plain] = [EXHAUSTIVE, REGISTERS].map(|options| plan(&from, &to, costs, &options).unwrap());
                test(&found, &plain, search.cost(&machine.renamed(*map)));
            }
        }
    }
}

/// How many of 300 maps the search makes cheaper.
fn improved(machine: Machine) -> [usize; 2] {
    let all = matrices();
    let search = searched(machine, &all);
    let from = machine.layout(&IDENTITY);
    let mut random = random();
    let maps: Vec<&Matrix> = (0..300).map(|_| all.choose(&mut random).unwrap()).collect();
    [0, 1].map(|table| {
        let (costs, search) = (&TABLES[table], &search[table]);
        maps.iter()
            .filter(|map| {
                let to = machine.layout(map);
                let [found, plain] = [EXHAUSTIVE, REGISTERS].map(|options| plan(&from, &to, costs, &options).unwrap());
                let least = search.cost(&machine.renamed(***map));
                assert!((found.cost - least).abs() < 1e-6, "{map:?}: {} instead of {least}", found.cost);
                found.cost < plain.cost - 1e-6
            })
            .count()
    })
}

#[test]
fn the_exhaustive_plan_of_two_lane_bits_and_two_register_bits_costs_the_least() {
    assert!(improved(Machine { parts: 0, lanes: 2, registers: 2 }).iter().all(|&count| count > 30));
}

#[test]
fn the_exhaustive_plan_of_halves_one_lane_bit_and_two_register_bits_costs_the_least() {
    assert!(improved(Machine { parts: 1, lanes: 1, registers: 2 }).iter().all(|&count| count > 150));
}

#[test]
fn the_exhaustive_plan_of_one_lane_bit_or_none_and_three_register_bits_costs_the_least() {
    for (parts, lanes) in [(0, 1), (1, 0)] {
        assert_eq!(improved(Machine { parts, lanes, registers: 3 }), [0, 0]);
    }
}

#[test]
#[ignore = "ten seconds with optimisation"]
fn the_exhaustive_plan_of_one_register_bit_and_three_others_costs_the_least() {
    for (parts, lanes) in [(0, 3), (1, 2)] {
        assert!(improved(Machine { parts, lanes, registers: 1 }).iter().any(|&count| count > 0));
    }
}

#[test]
fn sixteen_registers_of_which_two_bits_are_mixed_cost_four_times_the_least_however_they_are_named() {
    let least = |found: &Plan, plain: &Plan, least: f64| {
        assert!((found.cost - 4.0 * least).abs() < 1e-6, "{found}\n{plain}\n{least}");
    };
    let elements = Array { parts: 0, part: 0, lanes: [4, 1] };
    elements.plans(Machine { parts: 0, lanes: 2, registers: 2 }, 20, least);
    let halves = Array { parts: 1, part: 0, lanes: [3, 0] };
    halves.plans(Machine { parts: 1, lanes: 1, registers: 2 }, 20, least);
}

#[test]
fn either_part_of_8_bit_elements_may_be_mixed() {
    let machine = Machine { parts: 1, lanes: 1, registers: 2 };
    let upper = Array { parts: 2, part: 1, lanes: [1, 0] };
    upper.plans(machine, 20, |found, _, least| {
        assert!((found.cost - 4.0 * least).abs() < 1e-6, "{found}\n{least}");
    });
    // movmatrix does not move the lower one.
    let lower = Array { parts: 2, part: 0, lanes: [1, 0] };
    lower.plans(machine, 20, |found, plain, least| {
        assert!(found.cost >= 4.0 * least - 1e-6 && found.cost <= plain.cost, "{found}\n{plain}\n{least}");
        assert!(found.optimal != Optimality::BestFound);
    });
}

#[test]
fn with_an_offset_or_five_mixed_bits_there_is_no_exhaustive_search() {
    let from: Layout = "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 n5  r<->n6 n7".parse().unwrap();
    for to in [
        "b<->n0^n1  t0 t1 t2 t3 t4<->n1^n6 n2 n3 n4 n5  r<->n6 n7 + n1",
        "b<->n0^n1  t0 t1 t2 t3 t4<->n1^n6 n2^n7 n3 n4 n5  r<->n6^n3 n7^n2",
    ] {
        let to: Layout = to.parse().unwrap();
        let [found, plain] = [EXHAUSTIVE, REGISTERS].map(|options| plan(&from, &to, &Costs::NOTE, &options).unwrap());
        assert_eq!(found, plain);
    }
}
