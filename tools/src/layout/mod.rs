//! Register assignments of the FRB beamformer's transform: verified, converted by planned programs, and solved for
//! anew.
//!
//! ```text
//! cargo run --release -p fringes-tools -- layout
//! cargo run --release -p fringes-tools -- layout --svg pictures
//! cargo run --release -p fringes-tools -- layout --transform 64,128 --costs note
//! cargo run --release -p fringes-tools -- layout --transform 256,512 --ends memory
//! ```
//!
//! Prints the verification of the published assignment for 256 inputs and 512 outputs, the planner's programs for its
//! two conversions with instruction counts, costs and lower bounds, and the assignment that the solver finds for a
//! transform (512 inputs and 1024 outputs unless another one is asked for), in the notation of the source. With `--ends
//! memory` the first and the last array are such that each access moves whole sectors, the factors are the cheapest of
//! all, and a line for a table follows. `--no-split` computes all of each product by tensor cores. `--svg` draws the
//! layouts.
//!
//! Exit status: 0, 1 if a claim does not hold or nothing is found, 2 for bad arguments.

mod pictures;

use std::path::PathBuf;
use std::time::Instant;

use crate::end::End;
use clap::ValueEnum;
use fringes_layout::Layout;
use fringes_layout::frb::{ASSIGNMENT, verify};
use fringes_layout::plan::{Costs, Options, plan};
use fringes_layout::solve::{Allowed, Boundary, Fft, Problem, Solution, best, evaluate, solve};

/// Verify, plan and solve register assignments. Exit status 1 if a claim does not hold.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The transform to solve: its numbers of inputs and outputs, powers of two.
    #[arg(long, value_name = "INPUTS,OUTPUTS", default_value = "512,1024", value_parser = transform)]
    transform: (usize, usize),
    /// What instructions cost.
    #[arg(long, value_enum, default_value_t = Table::H200)]
    costs: Table,
    /// What is demanded of the layouts of the input and of the result.
    #[arg(long, value_enum, default_value_t = Ends::Free)]
    ends: Ends,
    /// Compute half of a result by half2 operations where that is cheaper (the default).
    #[arg(long, overrides_with = "no_split")]
    split: bool,
    /// Compute results by tensor cores only.
    #[arg(long)]
    no_split: bool,
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

/// Layouts of the input and of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ends {
    /// Complex values as memory has them, read and written in whole sectors.
    Memory,
    /// Any.
    Free,
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

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    work(arguments).map_err(End::failed)
}

fn work(arguments: &Arguments) -> Result<(), Failure> {
    let costs = arguments.costs.costs();
    verification()?;
    conversions(&costs)?;
    published(&costs)?;
    let found = solved(arguments, &costs)?;
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
    problem.allowed = Allowed { split: false, ..Allowed::ALL };
    let started = Instant::now();
    price("solved, everything allowed but splits", &solve(&problem)?, started);
    problem.allowed = Allowed::ALL;
    let started = Instant::now();
    price("solved, everything allowed", &solve(&problem)?, started);
    (problem.input, problem.output) = (Boundary::Free, Boundary::Free);
    let started = Instant::now();
    price("solved, everything allowed, input and output free", &solve(&problem)?, started);
    problem.chain = Fft::with_sizes(8, 9, &[4, 4]).chain()?;
    problem.allowed = Allowed { split: false, ..Allowed::ALL };
    let started = Instant::now();
    price("solved, in two factors instead of three, but for splits", &solve(&problem)?, started);
    problem.allowed = Allowed::ALL;
    let started = Instant::now();
    let two = solve(&problem)?;
    price("solved, the same in two factors instead of three", &two, started);
    println!("\nIn two factors:\n{two}");
    Ok(())
}

fn solved(arguments: &Arguments, costs: &Costs) -> Result<Solution, Failure> {
    let (inputs, outputs) = arguments.transform;
    println!("\n# {} -> {}, solved for: {}\n", 1 << inputs, 1 << outputs, costs.name);
    let mut fft = Fft::new(inputs, outputs);
    let mut problem = Problem::new(fft.chain()?, *costs);
    problem.allowed.split = arguments.split || !arguments.no_split;
    let started = Instant::now();
    let solution = if arguments.ends == Ends::Memory {
        (problem.input, problem.output) = (Boundary::memory("n")?, Boundary::memory("q")?);
        problem.allowed.parts_in_registers = true;
        let found = best(inputs, outputs, &problem)?;
        fft = found.0;
        found.1
    } else {
        solve(&problem)?
    };
    println!("{solution}\n({:.2} s)", started.elapsed().as_secs_f64());
    println!("\n{}", row(&fft, &solution));
    Ok(solution)
}

/// The transform and its solution as a line of a table: factors, instructions, cost, registers of matrices and phases,
/// and the kinds of places of the lowest bits at both ends.
fn row(fft: &Fft, solution: &Solution) -> String {
    let totals = &solution.totals;
    let sizes: Vec<String> = fft.factors.iter().map(|factor| factor.sums.len().to_string()).collect();
    let others = totals.instructions - totals.products - totals.half2 - totals.counts.permute;
    let ends = [("n", solution.arrays.first()), ("q", solution.arrays.last())];
    let ends = ends.map(|(stem, array)| array.map_or_else(String::new, |array| lowest(stem, &array.layout)));
    format!(
        "| {} -> {} | {} | {} | {} | {} | {others} | {:.2} | {} | {} |",
        1 << fft.input_bits,
        1 << fft.output_bits,
        sizes.join(" + "),
        totals.products,
        totals.half2,
        totals.counts.permute,
        solution.cost(),
        solution.registers.1,
        ends.join(" | "),
    )
}

/// The physical places of the three lowest bits of an index, `r t t`.
fn lowest(stem: &str, layout: &Layout) -> String {
    let place = |bit: usize| {
        let name = fringes_layout::Name::numbered(stem, bit).ok()?;
        let column = 1u64 << layout.logical().position(&name)?;
        let at = (0..layout.physical().len()).find(|&at| layout.column(at) == column)?;
        Some(layout.physical().get(at).stem().to_owned())
    };
    (0..3).filter_map(place).collect::<Vec<_>>().join(" ")
}
