//! Conversions within one layer: Dijkstra's algorithm.
//!
//! A move that permutes lanes leads from an arrangement to all orders of the lanes at one price. It goes through a node
//! that stands for all orders: from the first, cheapest order of each set of lane bits to the nodes of other sets, and
//! from a node to its orders.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::layers::Layer;
use super::moves::{Moves, apply, selections};
use super::state::{Tuple, members};

/// No arrangement before this one.
pub(super) const START: u32 = u32::MAX;
/// The arrangement came by filling a place that held nothing.
pub(super) const FILL: u16 = u16::MAX;
/// The arrangement came by a move that permutes lanes.
pub(super) const PERMUTED: u16 = u16::MAX - 1;

/// A fast hash of one number.
#[derive(Default)]
pub(super) struct Multiplied(u64);

impl Hasher for Multiplied {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) type Mixer = BuildHasherDefault<Multiplied>;

/// All orders of the lanes of one set.
struct Orders {
    tuple: Tuple,
    cost: f64,
    from: u32,
    settled: bool,
    left: bool,
}

/// Costs after conversions, and where each arrangement came from: arrangement and move.
pub(super) struct Converted {
    pub(super) costs: Vec<f64>,
    pub(super) from: Vec<(u32, u16)>,
    pub(super) settled: usize,
}

/// Costs of all arrangements of a layer, given what those cost that the step before reaches.
///
/// `remaining` is a bound on what is left to pay from an arrangement; where the sum is above `limit`, it is not
/// followed.
pub(super) fn convert(
    layer: &Layer,
    moves: &Moves,
    before: &[f64],
    limit: f64,
    remaining: impl Fn(usize) -> f64,
) -> Converted {
    let (places, real) = (layer.codec.places, layer.bits.len());
    let elements = places - 5;
    let mut costs = before.to_vec();
    let mut from = vec![(START, 0u16); before.len()];
    let mut settled = 0;
    // Costs are at least 0: their order is that of their bits. Numbers from `before.len()` on are nodes of all orders.
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = before
        .iter()
        .enumerate()
        .filter(|(_, cost)| cost.is_finite())
        .map(|(rank, cost)| Reverse((cost.to_bits(), rank as u32)))
        .collect();
    let mut seen: HashSet<u64, Mixer> = HashSet::default();
    let mut numbers: HashMap<u64, u32, Mixer> = HashMap::default();
    let mut orders: Vec<Orders> = Vec::new();
    let mut number_of = |orders: &mut Vec<Orders>, tuple: &Tuple| {
        let inside = tuple[..elements].iter().fold(0u64, |key, &symbol| key << 5 | u64::from(symbol));
        let key = tuple[elements..places].iter().fold(inside << 20, |key, &symbol| key | 1 << symbol);
        *numbers.entry(key).or_insert_with(|| {
            orders.push(Orders { tuple: *tuple, cost: f64::INFINITY, from: START, settled: false, left: false });
            orders.len() as u32 - 1
        }) as usize
    };
    let first = before.len() as u32;
    let lanes: Vec<u8> = (elements as u8..places as u8).collect();
    let mut permutations: Vec<Tuple> = Vec::new();
    selections(&lanes, lanes.len(), &mut Vec::new(), &mut |order| {
        let mut source: Tuple = core::array::from_fn(|place| place as u8);
        source[elements..places].copy_from_slice(order);
        permutations.push(source);
    });
    while let Some(Reverse((bits, node))) = heap.pop() {
        let cost = f64::from_bits(bits);
        if let Some(number) = node.checked_sub(first) {
            let set = &mut orders[number as usize];
            if !std::mem::replace(&mut set.settled, true) {
                for source in &permutations {
                    let target = layer.rank(&apply(source, places, &set.tuple, &[0; 32]));
                    if cost < costs[target] {
                        costs[target] = cost;
                        from[target] = (set.from, PERMUTED);
                        heap.push(Reverse((bits, target as u32)));
                    }
                }
            }
            continue;
        }
        if cost > costs[node as usize] || cost + remaining(node as usize) > limit {
            continue;
        }
        settled += 1;
        let tuple = layer.codec.tuple(node as usize);
        let mut rest = [0u8; 32];
        let mut registers = 0;
        for symbol in members(layer.codec.rest(&tuple)).filter(|&symbol| (symbol as usize) < real) {
            rest[registers] = symbol;
            registers += 1;
        }
        let table = moves.table(registers);
        let mut visit = |heap: &mut BinaryHeap<_>, target: usize, price: f64, number: u16| {
            let total = cost + price;
            if total < costs[target] {
                costs[target] = total;
                from[target] = (node, number);
                heap.push(Reverse((total.to_bits(), target as u32)));
            }
        };
        for (family, range) in &table.families {
            if family.key(places, &tuple, &rest).is_some_and(|key| !seen.insert(key)) {
                continue;
            }
            for (number, step) in range.clone().zip(&table.moves[range.clone()]) {
                visit(&mut heap, layer.rank(&apply(&step.source, places, &tuple, &rest)), step.cost, number as u16);
            }
        }
        for place in (0..places).filter(|&place| tuple[place] as usize >= real) {
            for &symbol in &rest[..registers] {
                let mut target = tuple;
                target[place] = symbol;
                visit(&mut heap, layer.rank(&target), moves.fill(place, registers).1, FILL);
            }
        }
        let set = number_of(&mut orders, &tuple);
        if !std::mem::replace(&mut orders[set].left, true) {
            for (source, price) in &table.permuting {
                let target = number_of(&mut orders, &apply(source, places, &tuple, &rest));
                let set = &mut orders[target];
                if cost + price < set.cost {
                    (set.cost, set.from) = (cost + price, node);
                    heap.push(Reverse(((cost + price).to_bits(), first + target as u32)));
                }
            }
        }
    }
    Converted { costs, from, settled }
}
