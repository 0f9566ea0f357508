//! The cheapest factors of a transform.

use super::answer::answer;
use super::layers::{Prepared, roles};
use super::role::{Role, element_bits};
use super::{Fft, Problem, Solution, SolveError, Step};
use crate::Name;
use crate::plan::LANE_BITS;

/// Most input bits that a factor of [`best`] sums.
const MOST_SUMMED: usize = 5;

/// The transform of `2^input_bits` to `2^output_bits` points whose solution is the cheapest, over all ways to sum the
/// input bits in factors of one to five bits each. `problem` says everything but the chain. Of equal costs the one with
/// fewer registers of matrices and phases is taken.
///
/// ```
/// use fringes_layout::plan::Costs;
/// use fringes_layout::solve::{Fft, Problem, best};
/// let problem = Problem::new(Fft::new(6, 7).chain()?, Costs::H200);
/// let (fft, solution) = best(6, 7, &problem)?;
/// assert_eq!(fft.factors.len(), 2);
/// # Ok::<(), fringes_layout::solve::SolveError>(())
/// ```
///
/// # Errors
/// [`SolveError`] if no factors have a solution: that of the factors that seemed cheapest.
pub fn best(input_bits: usize, output_bits: usize, problem: &Problem) -> Result<(Fft, Solution), SolveError> {
    let mut candidates = Vec::new();
    for sizes in compositions(input_bits) {
        let fft = Fft::with_sizes(input_bits, output_bits, &sizes);
        let problem = Problem { chain: fft.chain()?, ..problem.clone() };
        candidates.push((floor(&problem)?, fft, problem));
    }
    // Few factors are solved fast and are seldom bad, and what is known to cost more than they do need not be solved.
    let factors = |fft: &Fft| fft.factors.len();
    candidates.sort_by(|one, other| factors(&one.1).cmp(&factors(&other.1)).then(one.0.total_cmp(&other.0)));
    let mut found: Option<(Fft, Solution)> = None;
    let mut refused = None;
    for (floor, fft, problem) in candidates {
        let ceiling = found.as_ref().map_or(f64::INFINITY, |(_, solution)| solution.cost());
        if floor > ceiling {
            continue;
        }
        match Prepared::new(&problem).and_then(|prepared| answer(&problem, &prepared, ceiling)) {
            Ok(Some(solution)) => {
                let better = found.as_ref().is_none_or(|(_, best)| {
                    solution.cost() < best.cost() - 1e-9 || solution.registers.1 < best.registers.1
                });
                if better {
                    found = Some((fft, solution));
                }
            }
            Ok(None) => {}
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    found.ok_or_else(|| refused.unwrap_or_else(|| SolveError::none(problem)))
}

/// All lists of numbers from one to the most that is summed which add up to a number.
fn compositions(of: usize) -> Vec<Vec<usize>> {
    if of == 0 {
        return vec![Vec::new()];
    }
    let firsts = 1..=of.min(MOST_SUMMED);
    firsts
        .flat_map(|first| compositions(of - first).into_iter().map(move |rest| [vec![first], rest].concat()))
        .collect()
}

/// What a chain costs at least, whatever its layouts: no instruction sums, creates or keeps more bits than its
/// fragments have places for, and each register is multiplied twice.
fn floor(problem: &Problem) -> Result<f64, SolveError> {
    let (arrays, roles) = (problem.chain.arrays()?, roles(problem)?);
    let inside = roles.iter().map(|role| element_bits(&role.mma.c)).max().unwrap_or(0) + LANE_BITS;
    let half2 = |bits: usize| problem.costs.rates.half2 * (1u64 << bits.saturating_sub(inside).min(63)) as f64;
    let cost = |(step, pair): (&Step, &[Vec<Name>])| match step {
        Step::Contract { sums, creates, split, .. } => {
            let kept = pair[0].len() - sums.len();
            let products = |split: usize| {
                let of = |(role, carried): (&Role, usize)| {
                    let summed =
                        (sums.len() - split + carried).saturating_sub(role.contract.len() + role.contract_slots);
                    let created = (creates.len() - split + carried).saturating_sub(role.new.len() + role.new_slots);
                    let looped = (kept - carried).saturating_sub(role.batch.len() + role.batch_slots);
                    role.cycles * (1u64 << (split + summed + created + looped).min(63)) as f64
                };
                let carried = if problem.allowed.carry { kept } else { 0 };
                let ways = roles.iter().flat_map(|role| (0..=carried).map(move |carried| (role, carried)));
                ways.map(of).fold(f64::INFINITY, f64::min)
            };
            match split.filter(|_| problem.allowed.split) {
                Some(_) => products(0).min(products(1) + half2(pair[1].len() - 1)),
                None => products(0),
            }
        }
        Step::Multiply { complex, .. } => half2(pair[1].len() + usize::from(complex.is_some())),
    };
    Ok(problem.chain.steps.iter().zip(arrays.windows(2)).map(cost).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Costs;
    use crate::solve::solve;

    #[test]
    fn compositions_add_up_and_are_all_there() {
        // Without a largest part there are 2^(n-1); of 6 only one has a part above five.
        for (of, count) in [(1, 1), (4, 8), (5, 16), (6, 31)] {
            let all = compositions(of);
            assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), count);
            assert!(all.iter().all(|sizes| sizes.iter().sum::<usize>() == of));
        }
    }

    #[test]
    fn no_solution_costs_less_than_the_floor() {
        for sizes in compositions(6) {
            for output_bits in [6, 7] {
                let chain = Fft::with_sizes(6, output_bits, &sizes).chain().unwrap();
                let problem = Problem::new(chain, Costs::H200);
                let floor = floor(&problem).unwrap();
                match solve(&problem) {
                    Ok(solution) => assert!(floor > 0.0 && floor <= solution.cost() + 1e-9, "{floor}: {solution}"),
                    Err(error) => assert!(matches!(error, SolveError::Step { .. }), "{error}"),
                }
            }
        }
    }
}
