//! The solver: layouts for all arrays of a chain of contractions, and the conversions between.
//!
//! A kernel that computes a chain of small matrix products in the registers of a warp has to say which index bit of
//! each array is in which bit of the place: inside a register, in the lane's index, in the register's number. A
//! tensor-core instruction wants the bits that it sums at some places and leaves those that it creates at others, so
//! that each choice binds the next one; where the bits are not where the next step wants them, instructions have to
//! move them. The solver finds the cheapest choice of all.
//!
//! # What a contraction does to the places
//! With `m16n8k16` of 16-bit values and the data as second operand (the tables are in
//! [`atoms::mma`](crate::atoms::mma)):
//!
//! | place | before | after |
//! |---|---|---|
//! | `b t0 t1` and one register bit | summed bits | `b t0 t1`: the bits that `t2 t3 t4` had; the register bit is created |
//! | `t2 t3 t4` | kept bits, on which the matrix does not depend | created bits |
//! | other register bits | kept bits (the matrix may depend on them), or more summed bits, accumulated over | kept bits, or more created bits |
//!
//! With the data as first operand `t2 t3 t4` stay where they are and the created bits come to `b t0 t1`. Where a
//! contraction has fewer bits than the instruction has places, the instruction can *carry* a bit: it is at a summed
//! place before and at a created one after, and the matrix is block-diagonal in it. This multiplies zeros, but it moves
//! a bit without a shuffle. A product that only carries is a conversion by an *identity* matrix. [`Allowed`] says which
//! of these may be used.
//!
//! # Splits
//! In a transform the highest bit `q` that a factor creates often meets only the lowest bit `n` that it sums, with the
//! phase `E(q, n) = (-1)^(q n)`: with the other bits as they are, the result is `S0 + S1` for `q = 0` and `S0 - S1` for
//! `q = 1`, where `S0` and `S1` are the terms of `n = 0` and of `n = 1`. A [`Split`] lets the tensor cores compute the
//! half with `q = 0` only. `n` is a register bit over which is accumulated, its clear half first, so that the
//! accumulator is `S = S0` half way and `Z = S0 + S1` at the end; the registers of `q = 1` are `2 S - Z`, one half2
//! operation each. This takes half of the tensor-core instructions and half of the matrix's registers for as many half2
//! operations as half of the result has registers. [`Fft::chain`] says where it can be done ([`Step::Contract`] has the
//! two bits), and the search tries it with every other choice.
//!
//! The transforms of 64 to 1024 points, by the rates of an H200, complex values of f16 as memory has them at both ends
//! ([`Boundary::memory`]), real and imaginary parts in different registers for products element by element, each the
//! cheapest of all factors ([`best`]):
//!
//! | transform | factors | products | half2 | permutes | others | SM-cycles | registers | `n0 n1 n2` at | `q0 q1 q2` at |
//! |---|---|---|---|---|---|---|---|---|---|
//! | 64 -> 64 | 3 + 3 | 2 | 4 | 2 | 0 | 5.26 | 10 | t t t | r t t |
//! | 64 -> 128 | 3 + 3 | 4 | 10 | 0 | 0 | 7.96 | 12 | t t t | t t t |
//! | 128 -> 128 | 4 + 3 | 4 | 10 | 0 | 0 | 9.04 | 16 | t t t | t t t |
//! | 128 -> 256 | 3 + 4 | 8 | 24 | 0 | 0 | 17.04 | 20 | r t t | t t t |
//! | 256 -> 256 | 4 + 4 | 8 | 24 | 0 | 0 | 19.20 | 24 | r t t | t t t |
//! | 256 -> 512 | 4 + 4 | 16 | 48 | 0 | 0 | 38.40 | 40 | r t t | t t t |
//! | 512 -> 512 | 4 + 5 | 24 | 48 | 0 | 0 | 50.88 | 56 | r t t | t t t |
//! | 512 -> 1024 | 4 + 5 | 48 | 96 | 0 | 0 | 101.76 | 80 | r t t | t t t |
//! | 1024 -> 1024 | 5 + 5 | 64 | 96 | 0 | 0 | 126.72 | 96 | r t t | t t t |
//!
//! Factors are the input bits that each sums; registers those of matrices and phases. Each cost is equal to its bound.
//! `cargo run --release -p fringes-tools -- layout --transform 256,512 --ends memory` prints a line.
//!
//! # Costs
//! The sum over all instructions of the SM-cycles in a [cost table](crate::plan::Costs). [`Totals`] has the sums for
//! each pipe, and the issue slots, too: where pipes overlap the time is less than the sum.
//!
//! # The search
//! Arrangements of the bits at places (the order of registers costs nothing) are nodes: for `256 -> 512` there are
//! `10!/4! = 151200` for each array. The cheapest path is found by Dijkstra's algorithm, layer by layer, so the result
//! is the optimum of what the moves and atoms can do. Beside it stands a bound that does not know the moves: the same
//! path with each conversion priced at what the movement of data needs at least.

mod answer;
mod assemble;
mod bound;
mod chain;
mod convert;
mod error;
mod factors;
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
pub use factors::best;
pub use fft::{Factor, Fft};
pub use problem::{Allowed, Atom, Boundary, Problem, Where};
pub use role::Operand;
pub use simulate::{Elements, Values};
pub use solution::{Array, Call, Multiply, Operation, Product, Solution, Split, Totals};
pub use verify::CheckError;

use crate::Layout;

use answer::answer;
use layers::Prepared;

/// The cheapest assignment of a chain.
///
/// # Errors
/// [`SolveError`], with what is in the way.
pub fn solve(problem: &Problem) -> Result<Solution, SolveError> {
    answer(problem, &Prepared::new(problem)?, f64::INFINITY)?.ok_or_else(|| SolveError::none(problem))
}

/// The price of a given assignment: each array named here has that layout, and everything else is as cheap as can be.
///
/// `Z3'` is the array as the step before leaves it, `Z3` as the next one uses it; if only `Z3` is named, nothing is
/// converted between. What is not named is free.
///
/// # Errors
/// [`SolveError::Boundary`] if a name is no array of the chain or a layout is not one of its bits; [`SolveError::Step`]
/// if the assignment is not consistent.
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
    answer(problem, &prepared, f64::INFINITY)?.ok_or_else(|| SolveError::none(problem))
}
