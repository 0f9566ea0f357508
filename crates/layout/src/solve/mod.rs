//! The solver: layouts for all arrays of a chain of contractions, and the conversions between.
//!
//! A kernel that computes a chain of small matrix products in the registers of a warp has to say which index bit of each array is in which
//! bit of the place: inside a register, in the lane's index, in the register's number. A tensor-core instruction wants the bits that it
//! sums at some places and leaves those that it creates at others, so that each choice binds the next one; where the bits are not where the next step
//! wants them, instructions have to move them. The solver finds the cheapest choice of all.
//!
//! # What a contraction does to the places
//! With `m16n8k16` of 16-bit values and the data as second operand (the tables are in [`atoms::mma`](crate::atoms::mma)):
//!
//! | place | before | after |
//! |---|---|---|
//! | `b t0 t1` and one register bit | summed bits | `b t0 t1`: the bits that `t2 t3 t4` had; the register bit is created |
//! | `t2 t3 t4` | kept bits, on which the matrix does not depend | created bits |
//! | other register bits | kept bits (the matrix may depend on them), or more summed bits, accumulated over | kept bits, or more created bits |
//!
//! With the data as first operand `t2 t3 t4` stay where they are and the created bits come to `b t0 t1`. Where a contraction has fewer bits than the
//! instruction has places, the instruction can *carry* a bit: it is at a summed place before and at a created one after, and the matrix is
//! block-diagonal in it. This multiplies zeros, but it moves a bit without a shuffle. A product that only carries is a conversion by an *identity*
//! matrix. [`Allowed`] says which of these may be used.
//!
//! # Costs
//! The sum over all instructions of the SM-cycles in a [cost table](crate::plan::Costs). [`Totals`] has the sums for each pipe, and the issue
//! slots, too: where pipes overlap the time is less than the sum.
//!
//! # The search
//! Arrangements of the bits at places (the order of registers costs nothing) are nodes: for `256 -> 512` there are `10!/4! = 151200` for each array. The
//! cheapest path is found by Dijkstra's algorithm, layer by layer, so the result is the optimum of what the moves and atoms can do. Beside it
//! stands a bound that does not know the moves: the same path with each conversion priced at what the movement of data needs at least.

mod assemble;
mod bound;
mod chain;
mod convert;
mod error;
mod fft;
mod layers;
mod moves;
mod path;
mod problem;
mod product;
mod programs;
mod role;
mod search;
mod simulate;
mod solution;
mod state;
mod verify;

pub use chain::{Chain, Step};
pub use error::SolveError;
pub use fft::{Factor, Fft};
pub use problem::{Allowed, Atom, Boundary, Problem, Where};
pub use role::Operand;
pub use simulate::{Elements, Values};
pub use solution::{Array, Call, Multiply, Operation, Product, Solution, Split, Totals};
pub use verify::CheckError;

use crate::Layout;

use layers::Prepared;
use path::Path;
use search::Search;

/// The cheapest assignment of a chain.
///
/// # Errors
/// [`SolveError`], with what is in the way.
pub fn solve(problem: &Problem) -> Result<Solution, SolveError> {
    answer(problem, &Prepared::new(problem)?)
}

/// The price of a given assignment: each array named here has that layout, and everything else is as cheap as can be.
///
/// `Z3'` is the array as the step before leaves it, `Z3` as the next one uses it; if only `Z3` is named, nothing is converted between. What is
/// not named is free.
///
/// # Errors
/// [`SolveError::Boundary`] if a name is no array of the chain or a layout is not one of its bits; [`SolveError::Step`] if the assignment is not consistent.
pub fn evaluate(problem: &Problem, arrays: &[(&str, Layout)]) -> Result<Solution, SolveError> {
    let mut prepared = Prepared::new(problem)?;
    for (name, layout) in arrays {
        let plain = name.trim_end_matches('\'');
        let elements = prepared.elements;
        let Some(layer) = prepared.layers.iter_mut().find(|layer| layer.name == plain) else {
            let reason = "the chain has no such array, which should have";
            let bit = layout.physical().iter().next().map_or_else(|| crate::Name::new("b"), Ok)?;
            return Err(SolveError::Boundary { array: (*name).into(), reason, bit });
        };
        let pins = layers::pins(name, &layer.bits, layout, elements)?;
        let primed = arrays.iter().any(|(other, _)| *other == format!("{plain}'"));
        if plain != *name || !primed {
            layer.before.extend(pins.iter().cloned());
        }
        if plain == *name {
            layer.after.extend(pins);
        }
    }
    answer(problem, &prepared)
}

/// The first limit on the cost, as a multiple of the bound: from there its excess grows by half until something is found.
const FIRST_LIMIT: f64 = 1.15;
/// Above this multiple of the bound there is no limit.
const LAST_LIMIT: f64 = 8.0;

fn search<'a>(problem: &'a Problem, prepared: &'a Prepared, caps: Vec<usize>) -> Search<'a> {
    Search {
        prepared,
        costs: &problem.costs,
        allowed: problem.allowed,
        caps,
        relaxed: false,
        guide: None,
        limit: f64::INFINITY,
        explored: 0,
    }
}

fn answer(problem: &Problem, prepared: &Prepared) -> Result<Solution, SolveError> {
    let steps = prepared.links.len();
    let mut explored = 0;
    let mut relaxed = search(problem, prepared, vec![usize::MAX; steps]);
    relaxed.relaxed = true;
    let (reached, guide) = relaxed.run()?;
    let bound = reached.last().map_or(0.0, |last| last.after.iter().copied().fold(f64::INFINITY, f64::min));
    drop(reached);
    let mut attempt = |caps: Vec<usize>| -> Result<(Solution, Vec<usize>), SolveError> {
        // What costs more than a limit is left out; if that leaves nothing, the limit was too low.
        let mut limit = bound * FIRST_LIMIT + 1e-3;
        let (search, reached) = loop {
            let mut search = search(problem, prepared, caps.clone());
            (search.guide, search.limit) = (guide.as_ref(), limit);
            if limit > bound * LAST_LIMIT + 1.0 {
                (search.guide, search.limit) = (None, f64::INFINITY);
            }
            let found = search.run();
            explored += search.explored;
            match found {
                Ok((reached, _)) => break (search, reached),
                Err(error) if search.guide.is_none() => return Err(error),
                Err(_) => limit = bound + 1.5 * (limit - bound),
            }
        };
        let path = Path::new(problem, &search, &reached)?;
        let mut totals = Totals::default();
        for operation in &path.operations {
            totals.add(operation, &problem.costs);
        }
        let registers = (path.data_registers, path.registers.iter().sum());
        // Where both are the same, they are sums of the same costs in different orders, and may differ in the last digit.
        let bound = if (bound - totals.cost()).abs() < 1e-9 { totals.cost() } else { bound };
        let solution = Solution {
            arrays: path.arrays,
            operations: path.operations,
            totals,
            bound,
            registers,
            explored: 0,
            costs: problem.costs,
        };
        Ok((solution, path.registers))
    };
    let mut solution = match problem.registers {
        None => attempt(vec![usize::MAX; steps])?.0,
        Some(limit) => limited(limit, steps, &mut attempt)?,
    };
    solution.explored = explored;
    Ok(solution)
}

/// The cheapest assignment with at most this many registers.
///
/// Best first over limits for each step: where the cheapest assignment under some limits takes too many registers in all, any
/// assignment that does not must have fewer for at least one of its steps.
fn limited(
    limit: usize,
    steps: usize,
    attempt: &mut dyn FnMut(Vec<usize>) -> Result<(Solution, Vec<usize>), SolveError>,
) -> Result<Solution, SolveError> {
    let mut open = vec![(attempt(vec![usize::MAX; steps])?, vec![usize::MAX; steps])];
    let mut seen = std::collections::HashSet::new();
    let mut least = usize::MAX;
    while let Some(at) = (0..open.len()).min_by(|&x, &y| open[x].0.0.cost().total_cmp(&open[y].0.0.cost())) {
        let ((solution, registers), caps) = open.swap_remove(at);
        let needed = solution.registers.0 + registers.iter().take(steps).sum::<usize>();
        least = least.min(needed);
        if needed <= limit {
            return Ok(solution);
        }
        for step in 0..steps {
            let mut caps = caps.clone();
            caps[step] = registers[step].saturating_sub(1);
            if caps[step] > 0
                && seen.insert(caps.clone())
                && let Ok(found) = attempt(caps.clone())
            {
                open.push((found, caps));
            }
        }
    }
    Err(SolveError::Registers { step: "the whole chain".into(), needed: least, limit })
}
