//! Conversions that mix four bits of places at most: the cheapest of all programs made of these steps, by exhaustive
//! search.
//!
//! 1. *Layers*: each register is packed by at most one select or permute of two inputs; each of these is shuffled by an
//!    affine map of the lanes, or is left where it is; each output is put together by at most one select or permute of
//!    two of these. Copies cost nothing. What is packed only to be put together again is left out where the output can
//!    take it from the inputs, and where it is cheaper the inputs are shuffled whole.
//! 2. *Gathers*: each output is put together by at most one select or permute of two inputs, each shuffled whole by an
//!    affine map of the lanes with the same linear part.
//! 3. *movmatrix* of all registers, if the part is the half (`b`, or `b1` of 8-bit elements) and `t2`, which would take
//!    its place, is not mixed.
//!
//! Selects and permutes depend on one flag of the lane. Where their rates differ and there is a part, the search takes
//! the dearer for both.
//!
//! # Which bits are mixed
//!
//! A part or lane bit is not mixed if a place gets its element from the same one and no other bit of the place matters
//! to it. Registers are renamed freely before and afterwards, so what counts for them is a decomposition: with `B` the
//! lanes and parts, `D` the registers from which a register gets its elements, a space `U` of registers with `B U = 0`
//! is left alone if `D U` and the registers from which the lanes and parts draw have only 0 in common. The largest such
//! `U` is taken, and the program of the other registers is repeated for each register of `U`. With fewer
//! than four mixed bits, a part, registers of `U` and lane bits that are not mixed are added.

mod emit;
mod machine;
mod table;

use crate::program::{Builder, Register};

use super::Options;
use super::arrangement::{LANE_BITS, Shape};
use super::costs::Costs;
use super::model::Model;
use super::moves::Move;
use super::planner::Candidate;

use emit::Frame;
use machine::{BITS, Machine, Matrix};
use table::Table;

/// The mixed bits of a conversion.
struct Mixed {
    part: Option<usize>,
    lanes: Vec<usize>,
    /// Bases of the mixed registers before and afterwards, and of those that are left alone.
    before: Vec<usize>,
    after: Vec<usize>,
    alone: Vec<(usize, usize)>,
}

/// The cheapest program of layers, if at most four bits are mixed.
pub(super) fn exhaustive(model: &Model, costs: &Costs, options: &Options) -> Option<Candidate> {
    if !model.bijective || model.offset != 0 {
        return None;
    }
    let shape = model.before;
    let mixed = Mixed::new(&model.columns, shape)?;
    let machine =
        Machine { parts: usize::from(mixed.part.is_some()), lanes: mixed.lanes.len(), registers: mixed.before.len() };
    let map = mixed.map(&model.columns, shape)?;
    let mut lanes = [0; BITS];
    lanes.iter_mut().zip(&mixed.lanes).for_each(|(to, &lane)| *to = lane);
    let frame = Frame { byte: mixed.part.unwrap_or(0) + 2usize.saturating_sub(shape.parts), lanes };
    let half = mixed.part.is_some_and(|part| part + 1 == shape.parts);
    let turns = options.matrix && half && frame.between(machine).is_some();
    let way = Table::of(machine, turns, costs).way(machine, &map)?;
    let mut builder = Builder::new(shape.register_count());
    let mut outputs: Vec<Register> = vec![0; shape.register_count()];
    let (before_alone, after_alone): (Vec<usize>, Vec<usize>) = mixed.alone.iter().copied().unzip();
    for copy in 0..1 << mixed.alone.len() {
        let index = |basis: &[usize], at: usize, alone: &[usize]| sum(basis, at) ^ sum(alone, copy);
        let inputs: Vec<Register> =
            (0..1 << machine.registers).map(|at| index(&mixed.before, at, &before_alone) as Register).collect();
        let registers = machine.emit(&mut builder, &inputs, &way, &map, frame)?;
        for (at, register) in registers.into_iter().enumerate() {
            *outputs.get_mut(index(&mixed.after, at, &after_alone))? = register;
        }
    }
    let matrices = way.iter().filter(|step| step.1.is_none()).count();
    let step = Move::Layers { layers: way.len() - matrices, matrices };
    Some(Candidate::new(vec![step], builder.finish(&outputs), costs))
}

fn sum(basis: &[usize], set: usize) -> usize {
    let set = basis.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
    set.fold(0, |sum, (_, vector)| sum ^ vector)
}

/// The set of basis vectors whose sum is `vector`.
fn coordinates(basis: &[usize], vector: usize) -> Option<usize> {
    (0..1usize << basis.len()).find(|&set| sum(basis, set) == vector)
}

impl Mixed {
    /// The mixed bits and others, four in all; none if more are mixed, or no part and no lane bit.
    fn new(columns: &[u32], shape: Shape) -> Option<Self> {
        let first = shape.first_register();
        let apart = |bit: usize| {
            let mut all = columns.iter().enumerate();
            all.all(|(at, &column)| if at == bit { column == 1 << bit } else { column >> bit & 1 == 0 })
        };
        let parts: Vec<usize> = (0..shape.parts).filter(|&part| !apart(part)).collect();
        let mut lanes: Vec<usize> = (0..LANE_BITS).filter(|&lane| !apart(shape.parts + lane)).collect();
        if parts.len() > 1 || lanes.len() > BITS || parts.len() + lanes.len() == 0 {
            return None;
        }
        let registers: Vec<usize> = columns[first..].iter().map(|&column| column as usize).collect();
        // A basis of the registers from which lanes and parts draw.
        let mut before: Vec<usize> = Vec::new();
        for &column in &columns[..first] {
            let drawn = (column >> first) as usize;
            if coordinates(&before, drawn).is_none() {
                before.push(drawn);
            }
        }
        // Registers that are left alone: before, and afterwards.
        let mut alone: Vec<(usize, usize)> = Vec::new();
        let mut spanned = before.clone();
        for register in 1..1usize << shape.registers {
            let source = sum(&registers, register);
            if source & ((1 << first) - 1) == 0 && coordinates(&spanned, source >> first).is_none() {
                spanned.push(source >> first);
                alone.push((source >> first, register));
            }
        }
        for unit in (0..shape.registers).map(|at| 1 << at) {
            if coordinates(&spanned, unit).is_none() {
                spanned.push(unit);
                before.push(unit);
            }
        }
        // The other registers afterwards: none draws from those left alone.
        let mut basis: Vec<usize> = alone.iter().map(|each| each.1).collect();
        let mut after = Vec::new();
        let split: Vec<usize> = alone.iter().map(|each| each.0).chain(before.iter().copied()).collect();
        for unit in (0..shape.registers).map(|at| 1 << at) {
            if coordinates(&basis, unit).is_none() {
                basis.push(unit);
                let drawn = coordinates(&split, sum(&registers, unit) >> first)?;
                let others = alone.iter().enumerate().filter(|(at, _)| drawn >> at & 1 == 1);
                after.push(others.fold(unit, |register, (_, each)| register ^ each.1));
            }
        }
        let mut left = BITS.checked_sub(parts.len() + lanes.len() + before.len())?;
        let mut part = parts.first().copied();
        if part.is_none() && left > 0 && shape.parts > 0 {
            part = Some(shape.parts - 1);
            left -= 1;
        }
        while left > 0 && !alone.is_empty() {
            let (source, register) = alone.remove(0);
            before.push(source);
            after.push(register);
            left -= 1;
        }
        // movmatrix would take t2 to a part.
        let others: Vec<usize> = [0, 1, 3, 4, 2].into_iter().filter(|lane| !lanes.contains(lane)).take(left).collect();
        lanes.extend(others);
        lanes.sort_unstable();
        let count = usize::from(part.is_some()) + lanes.len() + before.len();
        (count == BITS && before.len() == after.len()).then_some(Self { part, lanes, before, after, alone })
    }

    /// The map of the mixed bits.
    fn map(&self, columns: &[u32], shape: Shape) -> Option<Matrix> {
        let first = shape.first_register();
        let low: Vec<usize> = self.part.into_iter().chain(self.lanes.iter().map(|lane| shape.parts + lane)).collect();
        let units: Vec<usize> =
            low.iter().map(|bit| 1 << bit).chain(self.before.iter().map(|at| at << first)).collect();
        let all: Vec<usize> = columns.iter().map(|&column| column as usize).collect();
        let places = low.iter().map(|bit| 1 << bit).chain(self.after.iter().map(|register| register << first));
        let mut map = [0; BITS];
        for (to, place) in map.iter_mut().zip(places) {
            *to = coordinates(&units, sum(&all, place))? as u8;
        }
        Some(map)
    }
}
