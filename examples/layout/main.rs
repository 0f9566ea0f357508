//! Register assignments of the FRB beamformer's transform: verified, converted by planned programs, and solved for anew.
//!
//! ```text
//! cargo run --release --example layout
//! cargo run --release --example layout -- --svg pictures
//! cargo run --release --example layout -- --transform 64,128 --costs note
//! ```
//!
//! Prints the verification of the published assignment for 256 inputs and 512 outputs, the planner's programs for its two conversions with
//! instruction counts, costs and lower bounds, and the assignment that the solver finds for a transform (512 inputs and 1024 outputs unless another
//! one is asked for), in the notation of the source. `--svg` draws the layouts.
//!
//! Exit status: 0, 1 if a claim does not hold or nothing is found, 2 for bad arguments.

#[path = "../common/mod.rs"]
mod common;
mod pictures;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::ValueEnum;
use fringes_layout::frb::{ASSIGNMENT, verify};
use fringes_layout::plan::{Costs, Options, plan};
use fringes_layout::solve::{Allowed, Boundary, Fft, Problem, Solution, evaluate, solve};

/// Verify, plan and solve register assignments. Exit status 1 if a claim does not hold.
#[derive(Debug, clap::Parser)]
struct Arguments {
    /// The transform to solve: its numbers of inputs and outputs, powers of two.
    #[arg(long, value_name = "INPUTS,OUTPUTS", default_value = "512,1024", value_parser = transform)]
    transform: (usize, usize),
    /// What instructions cost.
    #[arg(long, value_enum, default_value_t = Table::H200)]
    costs: Table,
    /// Draw the layouts into this folder.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

/// Why the program ends early.
type Failure = Box<dyn std::error::Error>;

/// A cost table.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Table {
    /// A40 and L40S, as the source has it.
    Note,
    /// Measured on an H200.
    H200,
}

impl Table {
    fn costs(self) -> Costs {
        match self {
            Self::Note => Costs::NOTE,
            Self::H200 => Costs::H200,
        }
    }
}

/// Bits of the two numbers of a transform.
fn transform(text: &str) -> Result<(usize, usize), String> {
    let bits = |text: &str| {
        let number: usize = text.trim().parse().map_err(|_| format!("`{text}` is no number"))?;
        let bits = number.checked_ilog2().filter(|bits| 1 << bits == number && (1..=10).contains(bits));
        bits.map(|bits| bits as usize).ok_or_else(|| format!("{number} is no power of two from 2 to 1024"))
    };
    let (inputs, outputs) = text.split_once(',').ok_or("expected two numbers with a comma between")?;
    let (inputs, outputs) = (bits(inputs)?, bits(outputs)?);
    if outputs < inputs {
        Err("there must be at least as many outputs as inputs".into())
    } else {
        Ok((inputs, outputs))
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = common::arguments();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let costs = arguments.costs.costs();
    verification()?;
    conversions(&costs)?;
    published(&costs)?;
    let found = solved(arguments.transform, &costs)?;
    if let Some(folder) = &arguments.svg {
        pictures::draw(folder, &found)?;
    }
    Ok(())
}

fn verification() -> Result<(), Failure> {
    println!("# The published assignment, 256 -> 512\n");
    let mut failed = 0;
    for claim in verify(&ASSIGNMENT) {
        let (mark, found) = match claim.found {
            Ok(found) => ("holds", found),
            Err(found) => ("FAILS", found),
        };
        failed += usize::from(mark != "holds");
        println!("{mark}  {}\n       {found}", claim.claim);
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} claims do not hold").into()) }
}

fn conversions(costs: &Costs) -> Result<(), Failure> {
    println!("\n# Its conversions, planned for: {}\n", costs.name);
    let pairs = [("Z3' -> Z3", ASSIGNMENT.z3_primed, ASSIGNMENT.z3), ("Y' -> Y", ASSIGNMENT.y_primed, ASSIGNMENT.y)];
    for (name, from, to) in pairs {
        for (how, options) in [
            ("in registers", Options { shared: false, matrix: false, exhaustive: false }),
            ("by any means", Options::default()),
        ] {
            println!("{name}, {how}:\n{}\n", plan(&from, &to, costs, &options)?);
        }
    }
    Ok(())
}

/// The same chain, as published and as the solver would have it.
fn published(costs: &Costs) -> Result<(), Failure> {
    let chain = Fft::with_sizes(8, 9, &[2, 3, 3]).in_matrix(0, &[0, 1]).chain()?;
    let mut problem = Problem::new(chain, *costs);
    problem.input = Boundary::Fixed(ASSIGNMENT.x);
    problem.output = Boundary::Fixed(ASSIGNMENT.y);
    let arrays = [
        ("X", ASSIGNMENT.x),
        ("Z1", ASSIGNMENT.z1),
        ("Z3'", ASSIGNMENT.z3_primed),
        ("Z3", ASSIGNMENT.z3),
        ("Y'", ASSIGNMENT.y_primed),
        ("Y", ASSIGNMENT.y),
    ];
    println!("# 256 -> 512 with the same input and output, by what the search may use\n");
    let price = |what: &str, solution: &Solution, started: Instant| {
        let (cost, bound, time) = (solution.cost(), solution.bound, started.elapsed().as_secs_f64());
        println!("{what:<58} {cost:7.2} SM-cycles, bound {bound:6.2}, {time:.2} s");
    };
    problem.allowed = Allowed::NOTE;
    let started = Instant::now();
    price("the published assignment", &evaluate(&problem, &arrays)?, started);
    let started = Instant::now();
    price("solved, data as second operand, every place filled", &solve(&problem)?, started);
    problem.allowed = Allowed::ALL;
    let started = Instant::now();
    price("solved, everything allowed", &solve(&problem)?, started);
    (problem.input, problem.output) = (Boundary::Free, Boundary::Free);
    let started = Instant::now();
    price("solved, everything allowed, input and output free", &solve(&problem)?, started);
    problem.chain = Fft::with_sizes(8, 9, &[4, 4]).chain()?;
    let started = Instant::now();
    let two = solve(&problem)?;
    price("solved, the same in two factors instead of three", &two, started);
    println!("\nIn two factors:\n{two}");
    Ok(())
}

fn solved((inputs, outputs): (usize, usize), costs: &Costs) -> Result<Solution, Failure> {
    println!("\n# {} -> {}, solved for: {}\n", 1 << inputs, 1 << outputs, costs.name);
    let problem = Problem::new(Fft::new(inputs, outputs).chain()?, *costs);
    let started = Instant::now();
    let solution = solve(&problem)?;
    println!("{solution}\n({:.2} s)", started.elapsed().as_secs_f64());
    Ok(solution)
}
