//! The solver on chains that are no transforms, on chains without a solution, and against assignments found otherwise.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside the test functions themselves

use fringes_layout::plan::Costs;
use fringes_layout::solve::{
    Allowed, Atom, Boundary, Chain, Factor, Fft, Operation, Problem, Solution, SolveError, evaluate, solve,
};
use fringes_layout::{Layout, Name, atoms, layout};
use proptest::prelude::*;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Some value for each step and each combination of the bits of these names.
fn value(step: usize, names: &[&str], bit: &dyn Fn(&str) -> bool) -> f64 {
    let number =
        names.iter().enumerate().fold(step + 1, |number, (at, name)| number + (usize::from(bit(name)) << (at + 2)));
    ((number * 7919 % 211) as f64 - 105.0) / 64.0
}

/// Three matrices one after the other.
fn three_matrices() -> Chain {
    Chain::new("X", &["a0", "a1", "a2", "k0", "k1", "k2", "k3"])
        .and_then(|chain| chain.contract("U", &["a0", "a1", "a2"], &["b0", "b1", "b2"], &[]))
        .and_then(|chain| chain.contract("V", &["b0", "b1", "b2"], &["c0", "c1", "c2"], &["k0"]))
        .and_then(|chain| chain.contract("Y", &["c0", "c1", "c2"], &["d0", "d1", "d2"], &[]))
        .unwrap()
}

/// The elements of a solution's last array by the values of some bits, computed by the solution and directly.
fn compare(solution: &Solution, chain: &Chain, matrices: &[&[&str]]) {
    let arrays = chain.arrays().unwrap();
    let texts = |at: usize| arrays[at].iter().map(|bit| bit.as_str()).collect::<Vec<_>>();
    let names = texts(0);
    let result =
        solution.simulate(&|bit| value(9, &names, bit), &|step, bit| value(step, matrices[step], bit)).unwrap();
    // Directly: arrays as lists indexed by their bits, lowest first.
    let has = |names: &[&str], index: usize, name: &str| {
        names.iter().position(|of| *of == name).is_some_and(|at| index >> at & 1 == 1)
    };
    let mut data: Vec<f64> =
        (0..1usize << names.len()).map(|index| value(9, &names, &|bit| has(&names, index, bit))).collect();
    for (step, matrix) in matrices.iter().enumerate() {
        let (before, after) = (texts(step), texts(step + 1));
        data = (0..1usize << after.len())
            .map(|to| {
                (0..1usize << before.len())
                    .filter(|&from| {
                        before.iter().all(|bit| !after.contains(bit) || has(&before, from, bit) == has(&after, to, bit))
                    })
                    .map(|from| {
                        data[from] * value(step, matrix, &|bit| has(&before, from, bit) || has(&after, to, bit))
                    })
                    .sum()
            })
            .collect();
    }
    let names = texts(matrices.len());
    let layout = solution.arrays.last().unwrap().layout;
    for (place, got) in result.iter().enumerate() {
        let index = layout.apply(place as u64);
        let at = names.iter().enumerate().fold(0, |at, (number, bit)| {
            let position = layout.logical().position(&name(bit)).unwrap();
            at | ((index >> position & 1) as usize) << number
        });
        // All values are dyadic fractions of few bits: sums and products are exact.
        assert_eq!(*got, data[at], "place {place}");
    }
}

#[test]
fn a_product_of_three_matrices_is_solved_and_computed() {
    let chain = three_matrices();
    let matrices: [&[&str]; 3] = [
        &["a0", "a1", "a2", "b0", "b1", "b2"],
        &["b0", "b1", "b2", "c0", "c1", "c2", "k0"],
        &["c0", "c1", "c2", "d0", "d1", "d2"],
    ];
    for allowed in [Allowed::ALL, Allowed { carry: false, identity: false, ..Allowed::ALL }] {
        for costs in [Costs::NOTE, Costs::H200] {
            let mut problem = Problem::new(chain.clone(), costs);
            problem.allowed = allowed;
            let solution = solve(&problem).unwrap();
            solution.check(&chain).unwrap();
            assert!(solution.bound <= solution.cost());
            compare(&solution, &chain, &matrices);
        }
    }
}

#[test]
fn a_sum_that_leaves_fewer_bits_than_places_is_padded() {
    // Beams of many inputs: 4 bits are summed, 2 created.
    let chain = Chain::new("X", &["a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3"])
        .and_then(|chain| chain.contract("Y", &["a0", "a1", "a2", "a3"], &["b0", "b1"], &[]))
        .and_then(|chain| chain.multiply("Z", &["b0", "t1"]))
        .unwrap();
    for allowed in [Allowed::ALL, Allowed { carry: false, ..Allowed::ALL }] {
        let mut problem = Problem::new(chain.clone(), Costs::H200);
        problem.allowed = allowed;
        let solution = solve(&problem).unwrap();
        solution.check(&chain).unwrap();
        compare(&solution, &chain, &[&["a0", "a1", "a2", "a3", "b0", "b1"], &["b0", "t1"]]);
    }
}

#[test]
fn values_of_32_bits_have_no_bit_inside_registers() {
    let chain = three_matrices();
    let mut problem = Problem::new(chain.clone(), Costs::H200);
    problem.atoms = vec![Atom { mma: &atoms::mma::M16N8K8_F32_TF32, cycles: 1.53 }];
    let solution = solve(&problem).unwrap();
    solution.check(&chain).unwrap();
    assert!(solution.arrays.iter().all(|array| array.layout.column_of(&name("b0")).is_none()));
}

#[test]
fn chains_without_a_solution_say_why() {
    let refused = |chain: Result<Chain, SolveError>| {
        chain.and_then(|chain| solve(&Problem::new(chain, Costs::NOTE))).unwrap_err()
    };
    let x = || Chain::new("X", &["a0", "a1", "a2", "k0", "k1", "k2"]);
    let missing = refused(x().and_then(|chain| chain.contract("Y", &["a0", "z"], &["b0"], &[])));
    assert_eq!(missing, SolveError::Missing { step: "Y".into(), bit: name("z") });
    assert_eq!(missing.to_string(), "Y: there is no bit z to sum or to depend on");
    let exists = refused(x().and_then(|chain| chain.contract("Y", &["a0"], &["k0"], &[])));
    assert_eq!(exists, SolveError::Exists { step: "Y".into(), bit: name("k0") });
    let twice = refused(x().and_then(|chain| chain.multiply("Y", &["a0", "a0"])));
    assert_eq!(twice, SolveError::Twice { step: "Y".into(), bit: name("a0") });
    // The matrix depends on everything that is kept: nothing may be in the lanes that are not summed.
    let sums = ["a0", "a1", "a2"];
    let full = refused(x().and_then(|chain| chain.contract("Y", &sums, &["b0", "b1", "b2"], &["k0", "k1"])));
    let SolveError::Step { step, reason } = full else { panic!("{full}") };
    assert_eq!(step, "Y");
    assert!(reason.contains("a0 a1 a2 k0 k1") && reason.contains("(k2)"), "{reason}");
    let many: Vec<String> = (0..14).map(|bit| format!("n{bit}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let large = refused(Chain::new("X", &many));
    assert_eq!(large, SolveError::TooManyBits { array: "X".into(), actual: 14, limit: 13 });
}

#[test]
fn atoms_boundaries_and_registers_that_do_not_fit_are_named() {
    let mut problem = Problem::new(three_matrices(), Costs::NOTE);
    problem.atoms = vec![Atom { mma: &atoms::mma::M16N8K16_S32_S8, cycles: 1.0 }];
    let SolveError::Atom { reason } = solve(&problem).unwrap_err() else { panic!() };
    assert!(reason.contains("mma_m16n8k16_s32_s8"), "{reason}");
    problem.atoms.clear();
    assert!(matches!(solve(&problem), Err(SolveError::Atom { .. })));

    let mut problem = Problem::new(three_matrices(), Costs::NOTE);
    let boundary = |bit, reason| SolveError::Boundary { array: "Y".into(), reason, bit: name(bit) };
    problem.output = Boundary::Fixed(layout!("b<->d0  t0 t1 t2 t3 t4<->d1 d2 k0 k1 k2"));
    assert_eq!(solve(&problem).unwrap_err(), boundary("k3", "a bit of the array is at no place"));
    problem.output = Boundary::Partial(layout!("b<->a0"));
    assert_eq!(solve(&problem).unwrap_err(), boundary("a0", "the array has no such bit"));
    problem.output = Boundary::Partial(layout!("b<->d0^d1"));
    assert_eq!(solve(&problem).unwrap_err(), boundary("b0", "a place holds a sum of bits"));

    problem.output = Boundary::Free;
    problem.registers = Some(5);
    assert!(matches!(solve(&problem), Err(SolveError::Registers { limit: 5, needed: 6.., .. })));
}

#[test]
fn a_limit_of_registers_is_kept_and_costs_no_less() {
    let fft = Fft::new(7, 8).in_matrix(1, &[]);
    let mut problem = Problem::new(fft.chain().unwrap(), Costs::NOTE);
    problem.allowed.identity = false;
    let free = solve(&problem).unwrap();
    let needed = free.registers.0 + free.registers.1;
    problem.registers = Some(needed);
    assert_eq!(solve(&problem).unwrap().cost(), free.cost());
    problem.registers = Some(needed - 1);
    if let Ok(less) = solve(&problem) {
        less.check(&problem.chain).unwrap();
        assert!(less.registers.0 + less.registers.1 < needed && less.cost() >= free.cost());
    }
}

#[test]
fn factors_that_lack_a_pair_or_a_bit_are_refused() {
    // n2 is summed before q0 is created, and the phase of the two is not 1.
    let wrong = Fft {
        input_bits: 3,
        output_bits: 3,
        factors: vec![Factor::new(&[2, 1], &[1], &[]), Factor::new(&[0], &[0, 2], &[])],
    };
    assert_eq!(wrong.chain().unwrap_err(), SolveError::Phase { created: name("q0"), summed: name("n2") });
    let short = Fft { input_bits: 2, output_bits: 2, factors: vec![Factor::new(&[1, 0], &[0], &[])] };
    assert_eq!(short.chain().unwrap_err(), SolveError::Missing { step: "Y".into(), bit: name("q1") });
    let long = Fft { input_bits: 2, output_bits: 2, factors: vec![Factor::new(&[1], &[0, 1], &[])] };
    assert_eq!(long.chain().unwrap_err(), SolveError::Exists { step: "Y".into(), bit: name("n0") });
}

#[test]
fn a_wrong_solution_does_not_pass_the_check() {
    let problem = Problem::new(three_matrices(), Costs::NOTE);
    let right = solve(&problem).unwrap();
    right.check(&problem.chain).unwrap();
    for at in 0..right.operations.len() {
        let mut wrong = right.clone();
        if let Operation::Product(product) = &mut wrong.operations[at] {
            product.calls.pop();
            assert!(wrong.check(&problem.chain).is_err(), "{wrong}");
        }
        let mut wrong = right.clone();
        if let Operation::Product(product) = &mut wrong.operations[at] {
            product.sums.pop();
            assert!(wrong.check(&problem.chain).is_err(), "{wrong}");
        }
        let mut wrong = right.clone();
        let (one, other) = (wrong.arrays[at].layout, wrong.arrays[at + 1].layout);
        wrong.arrays[at].layout = other;
        if one != other {
            assert!(wrong.check(&problem.chain).is_err(), "{wrong}");
        }
    }
}

/// A layout of these bits: the first in `b`, the next five in lanes.
fn arranged(bits: &[Name]) -> Layout {
    let names: Vec<&str> = bits.iter().map(Name::as_str).collect();
    let registers = if names.len() > 6 { format!("  r<->{}", names[6..].join(" ")) } else { String::new() };
    Layout::parse(&format!("b<->{}  t0 t1 t2 t3 t4<->{}{registers}", names[0], names[1..6].join(" "))).unwrap()
}

fn small() -> Chain {
    Fft::new(5, 6).chain().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_assignment_is_cheaper_than_the_solution(seeds in prop::collection::vec(any::<u64>(), 3), given in 0usize..8) {
        let problem = Problem::new(small(), Costs::H200);
        let best = solve(&problem).unwrap();
        // Some of the arrays in a random layout each.
        let arrays = problem.chain.arrays().unwrap();
        let names = [problem.chain.name.clone(), format!("{}'", problem.chain.steps[0].name()), problem.chain.steps[1].name().into()];
        let mut demands = Vec::new();
        for at in (0..3).filter(|at| given >> at & 1 == 1) {
            let mut bits = arrays[at].clone();
            let mut seed = seeds[at] | 1;
            for end in (1..bits.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                bits.swap(end, (seed >> 33) as usize % (end + 1));
            }
            demands.push((names[at].as_str(), arranged(&bits)));
        }
        match evaluate(&problem, &demands) {
            Ok(other) => {
                other.check(&problem.chain).unwrap();
                prop_assert!(other.cost() >= best.cost() - 1e-9, "{other}\n{best}");
                prop_assert!(best.bound <= other.bound + 1e-9 && other.bound <= other.cost() + 1e-9);
                // What is demanded of the layouts can be demanded of the solution just as well.
                for (name, layout) in &demands {
                    let found = other.arrays.iter().find(|array| array.name == *name).map(|array| array.layout);
                    if let Some(found) = found {
                        for physical in layout.physical().iter().filter(|physical| physical.stem() != "r") {
                            let bit = |of: &Layout| of.logical().get(of.column_of(&physical).unwrap().trailing_zeros() as usize);
                            prop_assert_eq!(bit(layout), bit(&found));
                        }
                    }
                }
            }
            Err(error) => prop_assert!(matches!(error, SolveError::Step { .. }), "{error}"),
        }
    }

    #[test]
    fn other_names_and_orders_of_the_bits_cost_the_same(order in Just((0..5usize).collect::<Vec<_>>()).prop_shuffle()) {
        let problem = Problem::new(small(), Costs::NOTE);
        let mut renamed = small();
        let rename = |bit: &mut Name| {
            if bit.stem() == "n" {
                *bit = Name::numbered("m", order[bit.number().unwrap()]).unwrap();
            }
        };
        renamed.inputs.iter_mut().for_each(rename);
        for step in &mut renamed.steps {
            use fringes_layout::solve::Step;
            match step {
                Step::Contract { sums, depends, split, .. } => {
                    let split = split.iter_mut().map(|(summed, _)| summed);
                    sums.iter_mut().chain(depends).chain(split).for_each(rename);
                }
                Step::Multiply { depends, .. } => depends.iter_mut().for_each(rename),
            }
        }
        renamed.inputs.rotate_left(order[0]);
        let (one, other) = (solve(&problem).unwrap(), solve(&Problem::new(renamed, Costs::NOTE)).unwrap());
        prop_assert!((one.cost() - other.cost()).abs() < 1e-9 && (one.bound - other.bound).abs() < 1e-9);
    }
}
