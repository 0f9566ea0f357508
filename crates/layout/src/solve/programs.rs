//! The programs of a solution's conversions.

use crate::plan::{Options, Plan, PlanError, plan};

use super::{Operation, Solution};

impl Solution {
    /// The planner's programs for the conversions, each with the number of the array from which it leads to the next.
    ///
    /// A program costs no more than the solution counts for its conversion, and less where the planner knows moves that
    /// the search leaves out: several lane bits around one shuffle and, if `options` allow it, shared memory.
    ///
    /// # Errors
    /// [`PlanError`], as [`plan`] has it.
    pub fn plans(&self, options: &Options) -> Result<Vec<(usize, Plan)>, PlanError> {
        let converts = |at: &usize| matches!(self.operations[*at], Operation::Convert(_));
        (0..self.operations.len())
            .filter(converts)
            .map(|at| Ok((at, plan(&self.arrays[at].layout, &self.arrays[at + 1].layout, &self.costs, options)?)))
            .collect()
    }
}
