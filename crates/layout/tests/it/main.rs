//! The integration tests of `fringes-layout`, one program.

mod frb;
mod picture;
mod plan;
mod plan_matrices;
mod plan_proof;
mod plan_random;
mod program;
mod solve;
mod solve_chains;
mod solve_splits;
mod transform;
