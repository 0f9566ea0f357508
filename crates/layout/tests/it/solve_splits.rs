//! Contractions whose matrix depends on a created bit by a sign only: half of the result comes from half2 operations.
//! And ends of which only the kinds of places are known.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside the test functions themselves

use crate::transform;

use fringes_layout::plan::Costs;
use fringes_layout::solve::{
    Allowed, Boundary, Chain, CheckError, Fft, Operation, Problem, Product, Solution, SolveError, Step, Where, best,
    solve,
};
use fringes_layout::{Layout, Name};
use transform::error;

/// Every size of the transforms' family: input bits, output bits and two factors.
const FAMILY: [(usize, usize, [usize; 2]); 9] = [
    (6, 6, [3, 3]),
    (6, 7, [3, 3]),
    (7, 7, [4, 3]),
    (7, 8, [3, 4]),
    (8, 8, [4, 4]),
    (8, 9, [4, 4]),
    (9, 9, [4, 5]),
    (9, 10, [4, 5]),
    (10, 10, [5, 5]),
];

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// The parts inside registers, and the lowest three bits at these kinds of places.
fn among(stem: &str, places: [Where; 3]) -> Vec<(Name, Where)> {
    let bits = places.into_iter().enumerate().map(|(bit, place)| (Name::numbered(stem, bit).unwrap(), place));
    std::iter::once((name("ReIm"), Where::Inside)).chain(bits).collect()
}

/// The kind of the place of a bit in a layout.
fn kind(layout: &Layout, bit: Name) -> Where {
    let column = 1u64 << layout.logical().position(&bit).unwrap();
    let at = (0..layout.physical().len()).find(|&at| layout.column(at) == column).unwrap();
    match layout.physical().get(at).stem() {
        "b" => Where::Inside,
        "t" => Where::Lane,
        _ => Where::Register,
    }
}

fn demand(problem: &mut Problem, places: [Where; 3]) {
    problem.input = Boundary::Among(among("n", places));
    problem.output = Boundary::Among(among("q", places));
}

/// 256 to 512 in two factors, with ends as a 64-bit access a lane has them.
fn note() -> (Fft, Problem) {
    let fft = Fft::with_sizes(8, 9, &[4, 4]);
    let mut problem = Problem::new(fft.chain().unwrap(), Costs::H200);
    problem.allowed.parts_in_registers = true;
    demand(&mut problem, [Where::Register, Where::Lane, Where::Lane]);
    (fft, problem)
}

fn products(solution: &Solution) -> impl Iterator<Item = &Product> {
    solution.operations.iter().filter_map(|operation| match operation {
        Operation::Product(product) => Some(product),
        _ => None,
    })
}

#[test]
fn half_of_the_products_of_256_to_512_become_half2_operations() {
    let (fft, mut problem) = note();
    let split = solve(&problem).unwrap();
    split.check(&problem.chain).unwrap();
    assert!(error(&fft, &split) < 1e-12);
    // Of the products half; for each, half of 16 registers: 2 x 8 half2 operations beside the 32 of the phases.
    assert_eq!((split.totals.products, split.totals.half2), (16, 48));
    assert_eq!(split.totals.instructions, 64, "nothing is converted");
    assert!((split.cost() - (16.0 * 1.56 + 48.0 * 0.28)).abs() < 1e-9);
    assert_eq!(split.registers.1, 40, "matrices of 16 and 8 registers, phases of 16");
    let pairs: Vec<_> =
        products(&split).map(|product| product.split.map(|split| (split.sums, split.creates))).collect();
    assert_eq!(pairs, [Some((name("n4"), name("q4"))), Some((name("n0"), name("q8")))]);

    problem.allowed.split = false;
    let whole = solve(&problem).unwrap();
    assert_eq!((whole.totals.products, whole.totals.half2), (32, 32));
    assert!(products(&whole).all(|product| product.split.is_none() && product.half2 == 0));
}

#[test]
fn calls_of_a_split_sum_the_terms_of_the_clear_bit_first_and_leave_the_other_half() {
    let (_, problem) = note();
    let solution = solve(&problem).unwrap();
    for (at, operation) in solution.operations.iter().enumerate() {
        let Operation::Product(product) = operation else { continue };
        let split = product.split.unwrap();
        let (from, to) = (&solution.arrays[at].layout, &solution.arrays[at + 1].layout);
        let of = |layout: &Layout, register: u32, bit: Name| {
            let first = layout.physical().iter().filter(|name| name.stem() != "r").count();
            let index = layout.apply(u64::from(register) << first);
            index >> layout.logical().position(&bit).unwrap() & 1 == 1
        };
        let groups: Vec<&[_]> = product.calls.chunk_by(|_, next| next.accumulates).collect();
        for calls in groups {
            for (number, call) in calls.iter().enumerate() {
                assert_eq!(call.result, calls[0].result);
                assert!(call.result.iter().flatten().all(|register| register >> split.register & 1 == 0));
                assert!(call.result.iter().flatten().all(|&register| of(
                    to,
                    register | 1 << split.register,
                    split.creates
                )));
                let second = number >= calls.len() / 2;
                assert!(call.data.iter().all(|&register| of(from, register, split.sums) == second));
            }
        }
    }
}

#[test]
fn split_transforms_of_every_size_equal_the_definition() {
    for (input_bits, output_bits, sizes) in FAMILY {
        let fft = Fft::with_sizes(input_bits, output_bits, &sizes);
        let mut problem = Problem::new(fft.chain().unwrap(), Costs::H200);
        (problem.input, problem.output) = (Boundary::memory("n").unwrap(), Boundary::memory("q").unwrap());
        problem.allowed.parts_in_registers = true;
        let split = solve(&problem).unwrap();
        split.check(&problem.chain).unwrap();
        assert!(split.bound <= split.cost());
        assert!(error(&fft, &split) < 1e-12, "{split}");
        for product in products(&split).filter(|product| product.split.is_some()) {
            let array = product.step.map(|step| problem.chain.steps[step].name());
            let layout = split.layout(array.unwrap()).unwrap();
            let registers = layout.physical().iter().filter(|name| name.stem() == "r").count();
            assert_eq!(product.half2, 1 << (registers - 1));
        }
        if output_bits <= 8 {
            problem.allowed.split = false;
            let whole = solve(&problem).unwrap();
            assert!(split.cost() <= whole.cost(), "{split}\n{whole}");
        }
    }
}

#[test]
fn a_factor_is_split_where_its_highest_created_bit_is_a_sign_and_nothing_else() {
    let splits = |fft: &Fft| -> Vec<Option<(Name, Name)>> {
        let steps = fft.chain().unwrap().steps;
        let of = |step| if let Step::Contract { split, .. } = step { Some(split) } else { None };
        steps.into_iter().filter_map(of).collect()
    };
    let pair = |summed, created| Some((name(summed), name(created)));
    assert_eq!(splits(&Fft::with_sizes(8, 9, &[4, 4])), [pair("n4", "q4"), pair("n0", "q8")]);
    assert_eq!(splits(&Fft::with_sizes(6, 6, &[3, 3])), [pair("n3", "q2"), pair("n0", "q5")]);
    // q2 is in the first matrix with n0 and n1, too.
    let in_matrix = Fft::new(8, 9).in_matrix(0, &[0, 1]);
    assert_eq!(splits(&in_matrix), [None, pair("n3", "q5"), pair("n0", "q8")]);
}

#[test]
fn a_broken_split_does_not_pass_the_check() {
    let (_, problem) = note();
    let right = solve(&problem).unwrap();
    right.check(&problem.chain).unwrap();
    let broken = |at: usize, change: &dyn Fn(&mut Product)| {
        let mut wrong = right.clone();
        if let Operation::Product(product) = &mut wrong.operations[at] {
            change(product);
        }
        wrong.check(&problem.chain)
    };
    let at: Vec<usize> =
        (0..right.operations.len()).filter(|&at| matches!(right.operations[at], Operation::Product(_))).collect();
    for at in at {
        assert!(broken(at, &|_| ()).is_ok());
        // The half that is not computed is missing.
        let missing = broken(at, &|product| product.split = None);
        assert!(missing.is_err());
        for register in 0..40 {
            let moved = broken(at, &|product| {
                let split = product.split.as_mut().unwrap();
                split.register = if split.register == register { register + 1 } else { register };
            });
            assert!(matches!(moved, Err(CheckError::Split { .. })), "{moved:?}");
        }
        // The signs are the other way round where the terms of the set bit come first.
        let turned = broken(at, &|product| {
            let calls = product.calls.clone();
            for (number, call) in product.calls.iter_mut().enumerate() {
                let length = calls.chunk_by(|_, next| next.accumulates).next().map_or(1, <[_]>::len);
                let other = &calls[number ^ (length / 2)];
                (call.data, call.matrix) = (other.data.clone(), other.matrix.clone());
            }
        });
        assert!(matches!(turned, Err(CheckError::Terms { .. })), "{turned:?}");
        // The chain says at which bits; others of the same sum are no signs.
        let other = broken(at, &|product| {
            let sums = product.sums.clone();
            let split = product.split.as_mut().unwrap();
            split.sums = sums.into_iter().find(|bit| *bit != split.sums).unwrap();
        });
        assert!(matches!(other, Err(CheckError::Split { .. })), "{other:?}");
    }
    let mut unsplit = problem.chain.clone();
    for step in &mut unsplit.steps {
        if let Step::Contract { split, .. } = step {
            *split = None;
        }
    }
    assert!(matches!(right.check(&unsplit), Err(CheckError::Split { .. })));
}

#[test]
fn bits_of_a_split_that_are_not_summed_or_not_created_are_refused() {
    let chain = |summed, created| {
        Chain::new("X", &["a0", "a1", "k0"])
            .and_then(|chain| chain.contract("Y", &["a0", "a1"], &["b0", "b1", "a1"], &[]))
            .and_then(|chain| chain.with_split(summed, created))
            .and_then(|chain| chain.arrays())
    };
    assert!(chain("a0", "b1").is_ok());
    let wrong = |bit, reason| Err(SolveError::Split { step: "Y".into(), bit: name(bit), reason });
    assert_eq!(chain("k0", "b1"), wrong("k0", "is not summed"));
    assert_eq!(chain("a0", "k0"), wrong("k0", "is not created"));
    assert_eq!(chain("a1", "b0"), wrong("a1", "is summed and created"));
    let nothing = Chain::new("X", &["a0"]).and_then(|chain| chain.with_split("a0", "b0"));
    assert_eq!(nothing.unwrap_err(), SolveError::Missing { step: "X".into(), bit: name("a0") });
}

#[test]
fn ends_are_at_the_kinds_of_places_that_are_demanded() {
    use Where::{Lane, Register};
    let fft = Fft::with_sizes(7, 8, &[3, 4]);
    let mut problem = Problem::new(fft.chain().unwrap(), Costs::H200);
    let mut cheapest = f64::INFINITY;
    for places in [[Register, Lane, Lane], [Register, Register, Lane], [Lane, Lane, Lane]] {
        demand(&mut problem, places);
        let solution = solve(&problem).unwrap();
        solution.check(&problem.chain).unwrap();
        for (array, demands) in [(0, among("n", places)), (solution.arrays.len() - 1, among("q", places))] {
            for (bit, place) in demands {
                assert_eq!(kind(&solution.arrays[array].layout, bit), place, "{bit}: {solution}");
            }
        }
        cheapest = cheapest.min(solution.cost());
    }
    (problem.input, problem.output) = (Boundary::memory("n").unwrap(), Boundary::memory("q").unwrap());
    // Any of them at either end: no dearer than the same at both.
    assert!(solve(&problem).unwrap().cost() <= cheapest + 1e-9);
}

#[test]
fn demands_that_cannot_be_met_are_named() {
    let (_, mut problem) = note();
    let refused = |array: &str, bit, reason| SolveError::Boundary { array: array.into(), reason, bit: name(bit) };
    problem.input = Boundary::Among(vec![(name("n8"), Where::Lane)]);
    assert_eq!(solve(&problem).unwrap_err(), refused("X", "n8", "the array has no such bit"));
    problem.input = Boundary::AnyAmong(vec![vec![], vec![(name("q0"), Where::Lane)]]);
    assert_eq!(solve(&problem).unwrap_err(), refused("X", "q0", "the array has no such bit"));
    problem.input = Boundary::Among(vec![(name("n0"), Where::Lane), (name("n0"), Where::Register)]);
    assert_eq!(solve(&problem).unwrap_err(), refused("X", "n0", "a bit is at two places"));
    // There is one place inside registers.
    problem.input = Boundary::Among(vec![(name("n0"), Where::Inside), (name("n1"), Where::Inside)]);
    assert!(matches!(solve(&problem).unwrap_err(), SolveError::Step { step, .. } if step == "X"));
    problem.input = Boundary::Free;
    problem.output = Boundary::Among(vec![(name("n0"), Where::Lane)]);
    assert_eq!(solve(&problem).unwrap_err(), refused("Y", "n0", "the array has no such bit"));
}

#[test]
fn parts_are_in_registers_where_that_is_demanded() {
    let fft = Fft::with_sizes(6, 6, &[3, 3]);
    let mut problem = Problem::new(fft.chain().unwrap(), Costs::H200);
    problem.allowed = Allowed { parts_in_registers: true, ..Allowed::ALL };
    let apart = solve(&problem).unwrap();
    for (at, operation) in apart.operations.iter().enumerate() {
        if let Operation::Multiply(multiply) = operation {
            assert_eq!(kind(&apart.arrays[at].layout, name("ReIm")), Where::Register);
            assert_eq!((multiply.permute, multiply.shuffle), (0, 0));
        }
    }
    problem.allowed.parts_in_registers = false;
    assert!(solve(&problem).unwrap().cost() <= apart.cost());
}

#[test]
fn the_best_factors_are_the_best_of_all() {
    let mut problem = Problem::new(Fft::new(6, 7).chain().unwrap(), Costs::H200);
    (problem.input, problem.output) = (Boundary::memory("n").unwrap(), Boundary::memory("q").unwrap());
    let (fft, found) = best(6, 7, &problem).unwrap();
    found.check(&fft.chain().unwrap()).unwrap();
    assert!(error(&fft, &found) < 1e-12);
    let all: [&[usize]; 12] = [
        &[3, 3],
        &[2, 4],
        &[4, 2],
        &[5, 1],
        &[1, 5],
        &[2, 2, 2],
        &[1, 2, 3],
        &[3, 2, 1],
        &[2, 1, 3],
        &[4, 1, 1],
        &[1, 1, 4],
        &[2, 2, 1, 1],
    ];
    for sizes in all {
        let problem = Problem { chain: Fft::with_sizes(6, 7, sizes).chain().unwrap(), ..problem.clone() };
        if let Ok(other) = solve(&problem) {
            assert!(found.cost() <= other.cost() + 1e-9, "{sizes:?}: {other}\n{found}");
        }
    }
    // With fewer registers of phases than the best takes, it is another and dearer.
    problem.phases = Some(found.registers.1 - 1);
    if let Ok((_, less)) = best(6, 7, &problem) {
        assert!(less.registers.1 < found.registers.1 && less.cost() >= found.cost());
    }
}
