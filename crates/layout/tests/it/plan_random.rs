//! Plans of random conversions, all checked place by place against the layouts' own definition.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside the test functions themselves

use fringes_layout::plan::{Costs, Options, Plan, PlanError, plan};
use fringes_layout::{Layout, Name, Space};
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

const ALL: [Options; 3] = [
    Options { shared: true, matrix: true, exhaustive: false },
    Options { shared: false, matrix: true, exhaustive: false },
    Options { shared: true, matrix: false, exhaustive: false },
];

fn space(parts: usize, lanes: usize, registers: usize) -> Space {
    let bits = [("b", parts), ("t", lanes), ("r", registers)];
    let names = bits.into_iter().flat_map(|(stem, count)| (0..count).map(move |at| Name::numbered(stem, at).unwrap()));
    names.fold(Space::new(), |space, name| space.with(name).unwrap())
}

fn logical(bits: usize) -> Space {
    (0..bits).fold(Space::new(), |space, at| space.with(Name::numbered("n", at).unwrap()).unwrap())
}

fn permutation(random: &mut Xoshiro256PlusPlus, parts: usize, registers: usize) -> Layout {
    let bits = parts + 5 + registers;
    let mut columns: Vec<u64> = (0..bits).map(|bit| 1 << bit).collect();
    columns.shuffle(random);
    Layout::from_columns(space(parts, 5, registers), logical(bits), &columns).unwrap()
}

fn invertible(random: &mut Xoshiro256PlusPlus, parts: usize, registers: usize, steps: usize) -> Layout {
    let start = permutation(random, parts, registers);
    let bits = start.physical().len();
    let mut columns: Vec<u64> = (0..bits).map(|bit| start.column(bit)).collect();
    for _ in 0..steps {
        let (one, other) = (random.random_range(0..bits), random.random_range(0..bits));
        if one != other {
            columns[one] ^= columns[other];
        }
    }
    Layout::from_columns(*start.physical(), *start.logical(), &columns).unwrap()
}

fn planned(from: &Layout, to: &Layout, costs: &Costs, options: &Options) -> Plan {
    let plan = plan(from, to, costs, options).unwrap_or_else(|error| panic!("{from}  to  {to}: {error}"));
    plan.program.validate().unwrap();
    if let Err(error) = plan.program.check(from, to) {
        panic!("{from}  to  {to}: {error}\n{plan}");
    }
    assert_eq!(plan.counts, plan.program.counts());
    assert_eq!(plan.cost, costs.cost(&plan.counts));
    assert!(plan.bound.any <= plan.cost, "{from}  to  {to}: {plan}");
    assert!(
        plan.counts.load + plan.counts.load_matrix > 0 || plan.bound.registers <= plan.cost,
        "{from}  to  {to}: {plan}"
    );
    plan
}

#[test]
fn every_permutation_of_bits_is_converted() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..12 {
        for (parts, registers) in [(0, 0), (0, 2), (1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 2), (1, 4)] {
            let (from, to) = (permutation(&mut random, parts, registers), permutation(&mut random, parts, registers));
            let offset = random.random_range(0..to.logical().size());
            for (costs, to) in [(Costs::NOTE, to), (Costs::H200, to.with_offset(offset).unwrap())] {
                for options in ALL {
                    planned(&from, &to, &costs, &options);
                }
            }
        }
    }
}

#[test]
fn every_invertible_map_is_converted() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for steps in [1, 1, 1, 2, 3, 5, 50] {
        for (parts, registers) in [(0, 0), (0, 3), (1, 0), (1, 2), (2, 1), (1, 4)] {
            let from = permutation(&mut random, parts, registers);
            let to = invertible(&mut random, parts, registers, steps);
            let offset = random.random_range(0..to.logical().size());
            for options in ALL {
                planned(&from, &to.with_offset(offset).unwrap(), &Costs::H200, &options);
                planned(&to, &from, &Costs::NOTE, &options);
            }
        }
    }
}

#[test]
fn broadcasts_projections_and_other_numbers_of_registers_are_converted() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    for _ in 0..40 {
        let (parts, before, after) = (random.random_range(0..3), random.random_range(0..4), random.random_range(0..4));
        let bits = parts + 5 + before;
        let from = permutation(&mut random, parts, before);
        let lanes = random.random_range(3..6);
        let columns: Vec<u64> = (0..parts + lanes + after)
            .map(|_| match random.random_range(0..4) {
                0 => 0,
                1 => random.random_range(0..1 << bits),
                _ => 1 << random.random_range(0..bits),
            })
            .collect();
        let to = Layout::from_columns(space(parts, lanes, after), *from.logical(), &columns).unwrap();
        for options in ALL {
            planned(&from, &to, &Costs::H200, &options);
        }
    }
}

#[test]
fn an_element_that_is_not_held_is_named() {
    let from = Layout::parse("t0 t1<->n0 n1  r<->n2  0<->n3").unwrap();
    let to = Layout::parse("t0 t1<->n0 n1  r<->n3  0<->n2").unwrap();
    let error = plan(&from, &to, &Costs::H200, &Options::default()).unwrap_err();
    assert_eq!(error, PlanError::NotHeld { bit: Name::new("n3").unwrap() });
    let from = Layout::parse("t0 t1<->n0 n1  w<->n2").unwrap();
    let to = Layout::parse("t0 t1<->n0 n2  w<->n1").unwrap();
    let error = plan(&from, &to, &Costs::H200, &Options::default()).unwrap_err();
    assert!(matches!(error, PlanError::Warps { bit } if bit.stem() == "n"), "{error}");
}
