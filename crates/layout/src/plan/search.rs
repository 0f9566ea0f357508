//! The cheapest sequence of moves between two arrangements.
//!
//! A permutation of the lanes commutes with all moves in place (in which no lane bit changes its slot for another) but
//! for the names of the slots, and it can be put into any shuffle of a sequence. So a sequence has one move at most
//! that permutes lanes, and if it has one, only the *set* of bits in the lanes matters before and after it: the slots
//! follow from the start up to it and from the end back to it. That leaves few states (1260 for 16-bit elements
//! in 16 registers). Sequences without such a move are searched in full, by A*: each lane slot with a wrong bit costs
//! at least the cheapest way for a bit to enter the lanes.
//!
//! `movmatrix` permutes lanes too, but only in its one way. Sequences with both `movmatrix` and a permuting move are
//! left out, unless `movmatrix` is the first move or the last. It is the exchange of `b` with a lane bit in place and a
//! permutation of the lanes: where that exchange costs no more, nothing is lost, because the permuting move can do the
//! permutation as well.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::arrangement::{Arrangement, Bit, LANE_BITS, Shape};
use super::costs::Costs;
use super::menu::{Menu, Step};
use super::moves::{Move, entering, permuting};

/// A path of moves and what it costs.
pub type Path = (Vec<Move>, f64);

/// The cheapest sequence of register moves between two arrangements that costs less than `limit`: none if there is
/// none.
///
/// `matrix` allows `movmatrix`. Every sequence of the moves of [`neighbours`](super::neighbours) is considered, with at
/// most one lane-permuting move ([`permuting`]) in it; with both that and `movmatrix` only if `movmatrix` is the first
/// or the last move.
pub fn cheapest(
    from: Arrangement,
    to: Arrangement,
    shape: Shape,
    costs: &Costs,
    matrix: bool,
    limit: f64,
) -> Option<Path> {
    let mut best = permuted(from, to, shape, costs, limit);
    let limit = |best: &Option<Path>| best.as_ref().map_or(limit, |path| path.1);
    let turn = costs.rates.move_matrix * shape.register_count() as f64;
    if matrix && shape.parts > 0 {
        let (first, last) = (from.matrix_moved(shape), to.matrix_moved(shape));
        if let Some((mut moves, cost)) = permuted(first, to, shape, costs, limit(&best) - turn) {
            moves.insert(0, Move::MoveMatrix { from, to: first });
            best = Some((moves, cost + turn));
        }
        if let Some((mut moves, cost)) = permuted(from, last, shape, costs, limit(&best) - turn) {
            moves.push(Move::MoveMatrix { from: last, to });
            best = Some((moves, cost + turn));
        }
    }
    in_place(from, to, shape, costs, matrix, limit(&best)).or(best)
}

/// The states before and after a step, and the step.
type Edge<State, Tag> = (State, State, Tag);

/// The least cost to a state that is known, and the last step to it.
type Reached<State, Tag> = HashMap<State, (f64, Option<(State, Tag)>), BuildHasherDefault<Mix>>;

/// A search over states of which the estimate never exceeds what is left: the steps to the target, last one first.
fn a_star<State: Copy + Eq + Ord + Hash, Tag: Copy>(
    start: State,
    limit: f64,
    done: impl Fn(State) -> bool,
    estimate: impl Fn(State) -> f64,
    each: impl Fn(State, &mut dyn FnMut(State, Tag, f64)),
) -> Option<(Vec<Edge<State, Tag>>, f64)> {
    let mut reached: Reached<State, Tag> = HashMap::default();
    let mut queue = BinaryHeap::new();
    reached.insert(start, (0.0, None));
    // Costs are not negative: their bits order as they do.
    queue.push(Reverse((estimate(start).to_bits(), 0u64, start)));
    while let Some(Reverse((_, cost, at))) = queue.pop() {
        let cost = f64::from_bits(cost);
        if reached.get(&at).is_none_or(|known| known.0 < cost) {
            continue;
        }
        if done(at) {
            let (mut end, mut steps) = (at, Vec::new());
            while let Some(&(_, Some((before, tag)))) = reached.get(&end) {
                steps.push((before, end, tag));
                end = before;
            }
            return Some((steps, cost));
        }
        each(at, &mut |next, tag, price| {
            let next_cost = cost + price;
            let total = next_cost + estimate(next);
            if total < limit && reached.get(&next).is_none_or(|known| next_cost < known.0) {
                reached.insert(next, (next_cost, Some((at, tag))));
                queue.push(Reverse((total.to_bits(), next_cost.to_bits(), next)));
            }
        });
    }
    None
}

/// Sequences without a permuting move.
fn in_place(from: Arrangement, to: Arrangement, shape: Shape, costs: &Costs, matrix: bool, limit: f64) -> Option<Path> {
    let menu = Menu::new(shape, costs, matrix);
    let (lanes, parts) = (to.lanes(shape), to.parts(shape));
    let estimate = |at: Arrangement| {
        let own = at.lanes(shape);
        let wrong = (0..LANE_BITS).filter(|&lane| own[lane] != lanes[lane]).count();
        let parts = (0..shape.parts).any(|part| at.get(part) != parts[part]);
        all(menu.entering, wrong).max(if parts { menu.parts } else { 0.0 }).min(menu.move_matrix)
    };
    let (steps, cost) = a_star(
        from,
        limit,
        |at| at == to,
        |at| if at == to { 0.0 } else { estimate(at) },
        |at, found| {
            menu.each(at, found);
        },
    )?;
    Some((steps.into_iter().rev().map(|(one, other, step)| step.between(one, other)).collect(), cost))
}

/// What `count` things cost, also where one cannot be had.
fn all(each: f64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { each * count as f64 }
}

/// A set of lane bits (as an arrangement with the lanes in ascending order), and whether the permuting move is done.
type Set = (Arrangement, bool);

/// Sequences with one permuting move.
fn permuted(from: Arrangement, to: Arrangement, shape: Shape, costs: &Costs, limit: f64) -> Option<Path> {
    let menu = Menu::new(shape, costs, false);
    let (start, end) = (from.unordered_lanes(shape), to.unordered_lanes(shape));
    let estimate = |(at, done): Set| {
        let entering = all(menu.entering, entering(at, end, shape).len());
        if done { entering } else { entering.max(menu.lanes) }
    };
    let each = |(at, done): Set, found: &mut dyn FnMut(Set, Option<Step>, f64)| {
        menu.each(at, &mut |next, step, cost| found((next.unordered_lanes(shape), done), Some(step), cost));
        if !done {
            menu.each_permuting(at, &mut |next, cost| found((next.unordered_lanes(shape), true), None, cost));
        }
    };
    let (mut steps, cost) = a_star((start, false), limit, |at| at == (end, true), estimate, each)?;
    // Back from the end to the permuting move, then from the start to it.
    let (mut tail, mut after) = (Vec::new(), to);
    while let Some(&((before, _), _, Some(step))) = steps.first() {
        let exact = follow(after, before, shape);
        tail.push(step.between(exact, after));
        after = exact;
        steps.remove(0);
    }
    let (mut path, mut before) = (Vec::new(), from);
    for &(_, (next, _), step) in steps[1..].iter().rev() {
        let exact = follow(before, next, shape);
        path.push(step?.between(before, exact));
        before = exact;
    }
    if before != after {
        path.push(permuting(before, after, shape, costs)?.0);
    }
    path.extend(tail.into_iter().rev());
    Some((path, cost))
}

/// The arrangement with the bits of `set` in which those that were in the lanes keep their slots.
fn follow(at: Arrangement, set: Arrangement, shape: Shape) -> Arrangement {
    let (lanes, wanted) = (at.lanes(shape), set.lanes(shape));
    let mut new = wanted.iter().copied().filter(|bit| !lanes.contains(bit));
    let lanes: [Bit; LANE_BITS] = lanes.map(|bit| if wanted.contains(&bit) { bit } else { new.next().unwrap_or(bit) });
    let slots: [usize; LANE_BITS] = std::array::from_fn(|lane| shape.parts + lane);
    set.with(&slots, &lanes, shape)
}

/// A hash for packed states: multiplication and a fold.
#[derive(Debug, Clone, Copy, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
}
