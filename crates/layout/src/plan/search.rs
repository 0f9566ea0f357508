//! The cheapest sequence of moves between two arrangements.
//!
//! Moves in place (no lane bit changes its slot for another) form a graph on which Dijkstra's algorithm runs. A permutation of the lanes
//! commutes with all of them but `movmatrix`: it can be put into any one shuffle of the sequence. So a path has at most one
//! move that permutes lanes, and for that one only the set of bits in the lanes matters, before and after: the distances from the start to
//! each such set and from each such set to the end are joined by the cheapest permuting move.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::arrangement::{Arrangement, Shape};
use super::costs::Costs;
use super::menu::{Menu, Step};
use super::moves::{Move, entering, permuting};

/// A path of moves and what it costs.
pub type Path = (Vec<Move>, f64);

/// The least cost and the last step to each arrangement.
type Reached = HashMap<Arrangement, (f64, Option<(Arrangement, Step)>)>;

/// The cheapest sequence of register moves between two arrangements that costs less than `limit`: none if there is none.
///
/// `matrix` allows `movmatrix`. Every sequence of the moves of [`neighbours`](super::neighbours) with at most one lane-permuting
/// move ([`permuting`]) in it is considered.
pub fn cheapest(
    from: Arrangement,
    to: Arrangement,
    shape: Shape,
    costs: &Costs,
    matrix: bool,
    limit: f64,
) -> Option<Path> {
    let menu = Menu::new(shape, costs, matrix);
    let forward = reach(&menu, from, to, shape, limit, true);
    let direct = forward.get(&to).map_or(f64::INFINITY, |reached| reached.0);
    let mut best = limit.min(direct);
    let mut joint = None;
    // What is left for the rest when the permuting move has its shuffles.
    let rest = best - menu.lanes;
    if rest >= 0.0 && from.lanes(shape) != to.lanes(shape) {
        let backward = reach(&menu.inverse(), to, from, shape, rest, false);
        let before = sets(&forward, shape, rest);
        let after = sets(&backward, shape, rest);
        for (&set, &(cost, reached)) in &before {
            menu.each_permuting(set, &mut |next, step| {
                if cost + step >= best {
                    return;
                }
                if let Some(&(tail, target)) = after.get(&next.unordered_lanes(shape)) {
                    if cost + step + tail < best {
                        if let Some((step, exact)) = permuting(reached, target, shape, costs) {
                            if cost + exact + tail < best {
                                best = cost + exact + tail;
                                joint = Some((reached, step, target));
                            }
                        }
                    }
                }
            });
        }
        if let Some((reached, step, target)) = joint {
            let mut moves = walk(&forward, reached);
            moves.reverse();
            let mut path: Vec<Move> = moves.into_iter().map(|(one, other, step)| step.between(one, other)).collect();
            path.push(step);
            path.extend(walk(&backward, target).into_iter().map(|(one, other, step)| step.between(other, one)));
            return Some((path, best));
        }
    }
    (direct < limit).then(|| {
        let mut moves = walk(&forward, to);
        moves.reverse();
        (moves.into_iter().map(|(one, other, step)| step.between(one, other)).collect(), direct)
    })
}

/// Arrangements within `limit` of the start: all that a cheapest path to `target` may lead through, up to the target's own distance.
fn reach(menu: &Menu, start: Arrangement, target: Arrangement, shape: Shape, limit: f64, stop: bool) -> Reached {
    let estimate = |at: Arrangement| menu.entering * entering(at, target, shape).len() as f64;
    let mut reached = Reached::new();
    let mut queue = BinaryHeap::new();
    let mut limit = limit;
    reached.insert(start, (0.0, None));
    // Costs are not negative: their bits order as they do.
    queue.push(Reverse((estimate(start).to_bits(), 0u64, start)));
    while let Some(Reverse((total, cost, at))) = queue.pop() {
        if f64::from_bits(total) > limit {
            break;
        }
        let cost = f64::from_bits(cost);
        if reached.get(&at).is_none_or(|known| known.0 < cost) {
            continue;
        }
        if at == target && stop {
            limit = limit.min(cost);
        }
        menu.each(at, &mut |next, step, price| {
            let next_cost = cost + price;
            let known = reached.get(&next).map_or(f64::INFINITY, |known| known.0);
            if next_cost < known {
                let total = next_cost + estimate(next);
                if total <= limit {
                    reached.insert(next, (next_cost, Some((at, step))));
                    queue.push(Reverse((total.to_bits(), next_cost.to_bits(), next)));
                }
            }
        });
    }
    reached
}

/// The nearest arrangement of each set of lane bits.
fn sets(reached: &Reached, shape: Shape, limit: f64) -> HashMap<Arrangement, (f64, Arrangement)> {
    let mut sets: HashMap<Arrangement, (f64, Arrangement)> = HashMap::new();
    for (&at, &(cost, _)) in reached.iter().filter(|each| each.1.0 <= limit) {
        let nearest = sets.entry(at.unordered_lanes(shape)).or_insert((cost, at));
        if (cost, at) < *nearest {
            *nearest = (cost, at);
        }
    }
    sets
}

/// The steps that lead to an arrangement, the last one first: arrangement before, after, step.
fn walk(reached: &Reached, end: Arrangement) -> Vec<(Arrangement, Arrangement, Step)> {
    let (mut at, mut steps) = (end, Vec::new());
    while let Some(&(_, Some((before, step)))) = reached.get(&at) {
        steps.push((before, at, step));
        at = before;
    }
    steps
}
