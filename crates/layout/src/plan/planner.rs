//! From two layouts to a plan: every kind of program that there is for the conversion, and the cheapest of them.

use std::fmt;

use crate::Layout;
use crate::program::{Builder, Program, Register};

use super::arrangement::Arrangement;
use super::costs::Costs;
use super::error::PlanError;
use super::lower::Lowering;
use super::model::Model;
use super::moves::Move;
use super::{Optimality, Options, Plan, bound, exhaustive, gather, grouped, linear, search, shared};

/// A program, the moves that it consists of, and what it costs.
pub(super) struct Candidate {
    pub moves: Vec<Move>,
    pub program: Program,
    pub cost: f64,
}

impl Candidate {
    pub(super) fn new(moves: Vec<Move>, program: Program, costs: &Costs) -> Self {
        let cost = costs.cost(&program.counts());
        Self { moves, program, cost }
    }
}

/// The cheapest conversion that the planner finds.
///
/// # Errors
/// [`PlanError`], naming the bit that is in the way.
pub fn plan(from: &Layout, to: &Layout, costs: &Costs, options: &Options) -> Result<Plan, PlanError> {
    let model = Model::new(from, to)?;
    let mut candidates = Vec::new();
    let mut optimal = Optimality::BestFound;
    if options.shared {
        candidates.extend(shared::round_trip(&model, costs, options, f64::INFINITY));
    }
    if let Some((before, after)) = model.arrangements() {
        let limit = candidates.iter().map(|each| each.cost).fold(f64::INFINITY, f64::min);
        candidates.extend(permutation(&model, before, after, costs, options, limit));
        // An offset is added in the end; what it costs may be less inside other moves.
        if model.offset == 0 {
            optimal = Optimality::InMoveSet;
        }
    } else {
        candidates.extend(grouped::grouped(&model, costs));
        candidates.extend(linear::linear(&model, costs));
        candidates.extend(gather::gather(&model, costs));
    }
    if options.exhaustive
        && let Some(found) = exhaustive::exhaustive(&model, costs, options)
    {
        let beaten = candidates.iter().all(|each| found.cost < each.cost);
        if beaten || optimal == Optimality::BestFound {
            optimal = Optimality::Exhaustive;
        }
        candidates.push(found);
    }
    let best = candidates.into_iter().min_by(|one, other| one.cost.total_cmp(&other.cost)).ok_or(PlanError::NoWay)?;
    best.program.check(&model.layouts[0], &model.layouts[1])?;
    let (held, wanted) = (model.elements(0), model.elements(1));
    let bound = bound::bound(&model, costs, held, wanted);
    // Sums of the same rates in another order differ by their rounding.
    let least = if options.shared { bound.any } else { bound.registers };
    if best.cost <= least * (1.0 + 1e-12) {
        optimal = Optimality::Proven;
    }
    Ok(Plan {
        from: *from,
        to: *to,
        counts: best.program.counts(),
        moves: best.moves,
        program: best.program,
        cost: best.cost,
        bound,
        optimal,
    })
}

/// The outputs in the order of the layout's registers, from those in the order of the arrangement.
pub(super) fn output_registers(sorted: &[Register], held: &[u8], offset: usize) -> Vec<Register> {
    let mut order = held.to_vec();
    order.sort_unstable();
    let place = |index: usize| {
        held.iter().enumerate().fold(0, |place, (at, bit)| {
            let to = order.iter().position(|each| each == bit).unwrap_or(0);
            place | (index >> at & 1) << to
        })
    };
    (0..sorted.len()).map(|index| sorted[place(index) ^ offset]).collect()
}

/// The cheapest sequence of register moves for a permutation of bits.
fn permutation(
    model: &Model,
    before: Arrangement,
    after: Arrangement,
    costs: &Costs,
    options: &Options,
    limit: f64,
) -> Option<Candidate> {
    let shape = model.before;
    let (mut moves, _) = search::cheapest(before, after, shape, costs, options.matrix, limit)?;
    // The offset in terms of the places afterwards.
    let slots = |slot: usize| model.offset >> after.get(slot) & 1;
    let part = |of: usize| (0..shape.parts).fold(0, |sum, slot| sum | slots(of + slot) << slot) as u8;
    let lanes = (0..5).fold(0, |sum, lane| sum | slots(shape.parts + lane) << lane) as u8;
    let registers = (0..shape.registers).fold(0, |sum, at| sum | (slots(shape.first_register() + at) as usize) << at);
    let parts = part(0);
    if lanes != 0 || parts != 0 {
        moves.push(Move::Offset { lanes, parts });
    }
    let builder = Builder::new(shape.register_count());
    let inputs = builder.inputs();
    let mut lowering = Lowering { builder, registers: inputs, shape };
    for step in &moves {
        if !lowering.emit(step) {
            return None;
        }
    }
    let held: Vec<u8> =
        model.columns[shape.first_register()..].iter().map(|column| column.trailing_zeros() as u8).collect();
    let outputs = output_registers(&lowering.registers, &held, registers);
    Some(Candidate::new(moves, lowering.builder.finish(&outputs), costs))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let described = Model::new(&self.from, &self.to);
        for step in &self.moves {
            let text = match &described {
                Ok(model) => step.describe(&model.names, model.before),
                Err(_) => format!("{step:?}"),
            };
            writeln!(f, "{text}")?;
        }
        let counts = self.counts;
        let mut separator = "";
        for (count, name) in [
            (counts.permute, "permutes"),
            (counts.shuffle, "shuffles"),
            (counts.select, "selects"),
            (counts.move_matrix, "movmatrix"),
            (counts.store_words, "words stored"),
            (counts.load_words, "words loaded"),
            (counts.store_matrix, "matrices stored"),
            (counts.load_matrix, "matrices loaded"),
            (counts.address, "address operations"),
            (counts.barrier, "barriers"),
        ] {
            if count > 0 {
                write!(f, "{separator}{count} {name}")?;
                separator = ", ";
            }
        }
        if separator.is_empty() {
            f.write_str("no instructions")?;
        }
        let known = match self.optimal {
            Optimality::Proven => "no program is cheaper",
            Optimality::InMoveSet => "no sequence of the planner's moves is cheaper",
            Optimality::Exhaustive => "no program of layers on the mixed bits is cheaper",
            Optimality::BestFound => "the best that was found",
        };
        writeln!(f, "; {:.2} SM-cycles: {known}", self.cost)?;
        let bound = self.bound;
        write!(
            f,
            "lower bound {:.2}; without shared memory {:.2} ({} shuffles, {} selects or permutes)",
            bound.any, bound.registers, bound.shuffles, bound.operations
        )
    }
}
