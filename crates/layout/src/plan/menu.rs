//! The menu of moves: all that lead from one arrangement to others, their costs worked out once.

use super::arrangement::{Arrangement, Bit, LANE_BITS, Shape};
use super::costs::Costs;
use super::moves::Move;

/// An arrangement, the move that leads to it, and what the move costs.
pub type Neighbour = (Arrangement, Move, f64);

/// What kind of move leads to a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Local,
    Exchange { whole: bool },
    Together,
    MoveMatrix,
}

impl Step {
    pub(super) fn between(self, from: Arrangement, to: Arrangement) -> Move {
        match self {
            Self::Local => Move::Local { from, to },
            Self::Exchange { whole } => Move::Exchange { from, to, whole },
            Self::Together => Move::Together { from, to },
            Self::MoveMatrix => Move::MoveMatrix { from, to },
        }
    }
}

/// Bits of a few slots in another order: slot `i` gets what slot `order[i]` held. The slots are the parts, then a lane
/// bit if the move has one, then a register bit if it has one.
#[derive(Debug, Clone)]
struct Pattern {
    order: Vec<usize>,
    lane: bool,
    register: bool,
    step: Step,
    cost: f64,
    /// With a permutation of the lanes in the same shuffles.
    permuting: f64,
}

/// The moves of a shape under a cost table.
#[derive(Debug, Clone)]
pub(super) struct Menu {
    shape: Shape,
    patterns: Vec<Pattern>,
    /// Cost of exchanging `m` lane bits around one shuffle, in place and permuting lanes; infinite where single
    /// exchanges are as cheap.
    together: [(f64, f64); LANE_BITS + 1],
    /// Cost of `movmatrix`.
    pub(super) move_matrix: f64,
    /// What it costs at least to change the parts.
    pub(super) parts: f64,
    /// Cost of a lane permutation.
    pub(super) lanes: f64,
    /// What a bit costs at least that enters the lanes.
    pub(super) entering: f64,
}

impl Menu {
    pub(super) fn new(shape: Shape, costs: &Costs, matrix: bool) -> Self {
        let sample = {
            let bits: Vec<Bit> = (0..shape.bits() as Bit).collect();
            let lanes = std::array::from_fn(|lane| (shape.parts + lane) as Bit);
            Arrangement::new(&bits[..shape.parts], lanes, &bits[shape.first_register()..])
        };
        let cost = |step: &Move| step.counts(shape).map_or(f64::INFINITY, |counts| costs.cost(&counts));
        let mut patterns = Vec::new();
        for (lane, register) in [(false, false), (false, true), (true, false), (true, true)] {
            if register && shape.registers == 0 {
                continue;
            }
            let slots = slots(shape, lane.then_some(0), register.then_some(0));
            let bits: Vec<Bit> = slots.iter().map(|&slot| sample.get(slot)).collect();
            for order in orders(slots.len()) {
                let moves = |at: usize| order[at] != at;
                let (lane_at, register_at) = (shape.parts, slots.len().saturating_sub(1));
                if order.iter().enumerate().all(|(at, &from)| at == from)
                    || lane && !moves(lane_at)
                    || register && !moves(register_at)
                {
                    continue;
                }
                let taken: Vec<Bit> = order.iter().map(|&from| bits[from]).collect();
                let to = sample.with(&slots, &taken, shape);
                let steps: &[Step] = if lane {
                    &[Step::Exchange { whole: false }, Step::Exchange { whole: true }]
                } else {
                    &[Step::Local]
                };
                let costed = steps.iter().map(|&step| (step, cost(&step.between(sample, to))));
                let Some((step, least)) = costed.min_by(|one, other| one.1.total_cmp(&other.1)) else { continue };
                let permuting = if lane && shape.registers > 0 {
                    // The same with the other lane bits in other slots.
                    let lanes: [usize; LANE_BITS] = std::array::from_fn(|lane| shape.parts + lane);
                    let mut turned = to.lanes(shape);
                    turned[1..].rotate_left(1);
                    let to = to.with(&lanes, &turned, shape);
                    cost(&Move::Exchange { from: sample, to, whole: false })
                } else {
                    f64::INFINITY
                };
                if least.is_finite() {
                    patterns.push(Pattern { order, lane, register, step, cost: least, permuting });
                }
            }
        }
        let rates = &costs.rates;
        let registers = shape.register_count() as f64;
        let swap = patterns.iter().filter(|each| each.lane && each.register && each.order[shape.parts] > shape.parts);
        let single = swap.map(|each| each.cost).fold(f64::INFINITY, f64::min);
        let together = std::array::from_fn(|count| {
            if count < 2 || count > shape.registers {
                return (f64::INFINITY, f64::INFINITY);
            }
            let selects = 2.0 * count as f64 * registers * rates.select;
            let all = registers * rates.shuffle;
            let cost = selects + all - all / (1u32 << count) as f64;
            (if cost < single * count as f64 { cost } else { f64::INFINITY }, selects + all)
        });
        let per_bit = together.iter().enumerate().map(|(count, each)| each.0.min(each.1) / count.max(1) as f64);
        let entering = patterns.iter().filter(|each| each.lane).map(|each| each.cost).chain(per_bit);
        let move_matrix = if matrix && shape.parts > 0 { registers * rates.move_matrix } else { f64::INFINITY };
        Self {
            shape,
            entering: entering.fold(move_matrix, f64::min),
            parts: patterns.iter().map(|each| each.cost).fold(move_matrix, f64::min),
            patterns,
            together,
            move_matrix,
            lanes: registers * rates.shuffle,
        }
    }

    /// Calls `found` with every arrangement that a move in place leads to.
    pub(super) fn each(&self, from: Arrangement, found: &mut dyn FnMut(Arrangement, Step, f64)) {
        let shape = self.shape;
        self.each_pattern(from, &mut |to, pattern| found(to, pattern.step, pattern.cost));
        if self.move_matrix.is_finite() {
            let to = from.matrix_moved(shape);
            found(to, Step::MoveMatrix, self.move_matrix);
        }
        let most = (2..=LANE_BITS).rev().find(|&count| self.together[count].0.is_finite()).unwrap_or(0);
        for_each_together(from, shape, most, &mut |to, count| {
            let cost = self.together[count].0;
            if cost.is_finite() {
                found(to, Step::Together, cost);
            }
        });
    }

    /// Calls `found` with every set of lane bits, as an arrangement in some order of the lanes, that a move leads to
    /// that permutes the lanes.
    pub(super) fn each_permuting(&self, from: Arrangement, found: &mut dyn FnMut(Arrangement, f64)) {
        found(from, self.lanes);
        self.each_pattern(from, &mut |to, pattern| {
            if pattern.permuting.is_finite() {
                found(to, pattern.permuting);
            }
        });
        for_each_together(from, self.shape, LANE_BITS, &mut |to, count| found(to, self.together[count].1));
    }

    fn each_pattern(&self, from: Arrangement, found: &mut dyn FnMut(Arrangement, &Pattern)) {
        let shape = self.shape;
        for pattern in &self.patterns {
            for lane in 0..if pattern.lane { LANE_BITS } else { 1 } {
                for register in 0..if pattern.register { shape.registers } else { 1 } {
                    let (mut slots, mut bits) = ([0; 4], [0; 4]);
                    for (at, slot) in slots.iter_mut().enumerate() {
                        *slot = match at.checked_sub(shape.parts) {
                            None => at,
                            Some(0) if pattern.lane => shape.parts + lane,
                            _ => shape.first_register() + register,
                        };
                    }
                    let count = pattern.order.len();
                    for (bit, &at) in bits.iter_mut().zip(&pattern.order) {
                        *bit = from.get(slots[at]);
                    }
                    found(from.with(&slots[..count], &bits[..count], shape), pattern);
                }
            }
        }
    }
}

/// All arrangements that one move leads to and in which no lane bit changes its slot for another, except by
/// `movmatrix`.
///
/// Left out are the moves that permute lanes ([`permuting`](super::permuting)), which a path needs once at most, and
/// the way through shared memory, which leads anywhere.
pub fn neighbours(from: Arrangement, shape: Shape, costs: &Costs, found: &mut Vec<Neighbour>) {
    found.clear();
    Menu::new(shape, costs, true).each(from, &mut |to, step, cost| found.push((to, step.between(from, to), cost)));
}

/// The slots of the parts, of a lane bit and of a register bit.
fn slots(shape: Shape, lane: Option<usize>, register: Option<usize>) -> Vec<usize> {
    let lane = lane.map(|lane| shape.parts + lane);
    (0..shape.parts).chain(lane).chain(register.map(|register| shape.first_register() + register)).collect()
}

/// All orders of `count` things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(last) {
        for at in 0..count {
            let mut longer = order.clone();
            longer.insert(at, last);
            all.push(longer);
        }
    }
    all
}

/// Calls `found` with the arrangements in which two to `most` lane bits have changed places with register bits, and how
/// many.
fn for_each_together(from: Arrangement, shape: Shape, most: usize, found: &mut dyn FnMut(Arrangement, usize)) {
    struct Walk<'a> {
        shape: Shape,
        most: usize,
        found: &'a mut dyn FnMut(Arrangement, usize),
    }
    fn extend(walk: &mut Walk<'_>, at: Arrangement, lane: usize, taken: u16, count: usize) {
        if count >= 2 {
            (walk.found)(at, count);
        }
        if count >= walk.most {
            return;
        }
        let shape = walk.shape;
        for lane in lane..shape.first_register() {
            for register in shape.first_register()..shape.bits() {
                // A bit that came out of the lanes does not go back.
                if taken >> at.get(register) & 1 == 0 {
                    let taken = taken | 1 << at.get(lane);
                    extend(walk, at.exchanged(lane, register, shape), lane + 1, taken, count + 1);
                }
            }
        }
    }
    extend(&mut Walk { shape, most, found }, from, shape.parts, 0, 0);
}
