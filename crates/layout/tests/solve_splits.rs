//! Contractions whose matrix depends on a created bit by a sign only: half of the result comes from half2 operations.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside the test functions themselves

use fringes_layout::Name;
use fringes_layout::plan::Costs;
use fringes_layout::solve::{Allowed, Boundary, Fft, Problem, Where, solve};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Demands of a memory's order: the parts inside registers, these bits at these kinds of places.
fn among(stem: &str, places: [Where; 3]) -> Vec<(Name, Where)> {
    let bits = places.into_iter().enumerate().map(|(bit, place)| (Name::numbered(stem, bit).unwrap(), place));
    std::iter::once((name("ReIm"), Where::Inside)).chain(bits).collect()
}

#[test]
fn half_of_the_products_of_256_to_512_become_half2_operations() {
    let fft = Fft::with_sizes(8, 9, &[4, 4]);
    let mut problem = Problem::new(fft.chain().unwrap(), Costs::H200);
    problem.input = Boundary::Among(among("n", [Where::Register, Where::Lane, Where::Lane]));
    problem.output = Boundary::Among(among("q", [Where::Register, Where::Lane, Where::Lane]));
    problem.allowed = Allowed { parts_in_registers: true, ..Allowed::ALL };
    let started = std::time::Instant::now();
    let solution = solve(&problem).unwrap();
    println!("{solution}\n{:.2} s", started.elapsed().as_secs_f64());
    solution.check(&problem.chain).unwrap();
    assert_eq!((solution.totals.products, solution.totals.half2), (16, 48));
}
