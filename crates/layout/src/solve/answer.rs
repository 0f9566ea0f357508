//! A search for the cheapest assignment, under limits.

use super::layers::Prepared;
use super::path::Path;
use super::search::Search;
use super::{Problem, Solution, SolveError, Totals};

/// The first limit on the cost, as a multiple of the bound: from there its excess grows by half until something is
/// found.
const FIRST_LIMIT: f64 = 1.15;
/// Above this multiple of the bound there is no limit.
const LAST_LIMIT: f64 = 8.0;
/// Costs that differ by no more are equal: sums in other orders.
const EQUAL: f64 = 1e-9;
/// More than what the search adds to a cost for registers, so that no cost below a ceiling is cut off.
const HIDDEN: f64 = 1e-3;

/// A solution with the registers of each step's matrix or phases; none if none is cheap enough.
type Attempt = Option<(Solution, Vec<usize>)>;

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

/// The cheapest assignment, or none if none costs less than the ceiling or as much.
pub(super) fn answer(problem: &Problem, prepared: &Prepared, ceiling: f64) -> Result<Option<Solution>, SolveError> {
    let steps = prepared.links.len();
    let mut explored = 0;
    let mut relaxed = search(problem, prepared, vec![usize::MAX; steps]);
    relaxed.relaxed = true;
    let (reached, guide) = relaxed.run()?;
    let bound = reached.last().map_or(0.0, |last| last.after.iter().copied().fold(f64::INFINITY, f64::min));
    drop(reached);
    if bound > ceiling + EQUAL {
        return Ok(None);
    }
    let mut attempt = |caps: Vec<usize>| -> Result<Attempt, SolveError> {
        // What costs more than a limit is left out; if that leaves nothing, the limit was too low.
        let mut limit = bound * FIRST_LIMIT + 1e-3;
        let (search, reached) = loop {
            limit = limit.min(ceiling + HIDDEN);
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
                Err(_) if limit >= ceiling => return Ok(None),
                Err(_) => limit = bound + 1.5 * (limit - bound),
            }
        };
        let path = Path::new(problem, &search, &reached)?;
        let mut totals = Totals::default();
        for operation in &path.operations {
            totals.add(operation, &problem.costs);
        }
        let registers = (path.data_registers, path.registers.iter().sum());
        // Where both are the same, they are sums of the same costs in different orders, and may differ in the last
        // digit.
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
        Ok(Some((solution, path.registers)))
    };
    let found = match (problem.registers, problem.phases) {
        (None, None) => attempt(vec![usize::MAX; steps])?.map(|(solution, _)| solution),
        limits => limited(limits, steps, &mut attempt)?,
    };
    Ok(found.map(|solution| Solution { explored, ..solution }).filter(|solution| solution.cost() <= ceiling + EQUAL))
}

/// The cheapest assignment with at most this many registers in all, and at most this many of matrices and phases.
///
/// Best first over limits for each step: where the cheapest assignment under some limits takes too many registers in
/// all, any assignment that does not must have fewer for at least one of its steps.
fn limited(
    (all, phases): (Option<usize>, Option<usize>),
    steps: usize,
    attempt: &mut dyn FnMut(Vec<usize>) -> Result<Attempt, SolveError>,
) -> Result<Option<Solution>, SolveError> {
    let free = vec![usize::MAX; steps];
    let Some(first) = attempt(free.clone())? else { return Ok(None) };
    let mut open = vec![(first, free)];
    let mut seen = std::collections::HashSet::new();
    let (mut least, mut least_of_phases, mut dearer) = (usize::MAX, usize::MAX, false);
    while let Some(at) = (0..open.len()).min_by(|&x, &y| open[x].0.0.cost().total_cmp(&open[y].0.0.cost())) {
        let ((solution, registers), caps) = open.swap_remove(at);
        let of_phases = registers.iter().take(steps).sum::<usize>();
        let needed = solution.registers.0 + of_phases;
        (least, least_of_phases) = (least.min(needed), least_of_phases.min(of_phases));
        if all.is_none_or(|limit| needed <= limit) && phases.is_none_or(|limit| of_phases <= limit) {
            return Ok(Some(solution));
        }
        for step in 0..steps {
            let mut caps = caps.clone();
            caps[step] = registers[step].saturating_sub(1);
            if caps[step] > 0 && seen.insert(caps.clone()) {
                match attempt(caps.clone()) {
                    Ok(Some(found)) => open.push((found, caps)),
                    Ok(None) => dearer = true,
                    Err(_) => {}
                }
            }
        }
    }
    if dearer {
        return Ok(None);
    }
    let (needed, limit) = match (all, phases) {
        (Some(limit), _) if least > limit => (least, limit),
        (_, limit) => (least_of_phases, limit.unwrap_or(usize::MAX)),
    };
    Err(SolveError::Registers { step: "the whole chain".into(), needed, limit })
}
