//! The cheapest way to every map of a machine: Dijkstra's algorithm over all matrices, up to the names of registers,
//! which cost nothing.
//!
//! Tables are made when they are first asked for and kept.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::program::Counts;

use super::super::costs::Costs;
use super::machine::{
    BITS, IDENTITY, MATRICES, Machine, Matrix, PLACES, Price, Shuffled, Step, apply, operation, product,
};

/// The map before the last step, and the step: a layer, or `movmatrix`.
type Last = Option<(Matrix, Option<Step>)>;

/// The layers of which none is better in every way, by the map that they make up to the names of registers.
type Layers = HashMap<Matrix, Vec<Step>>;

/// What a table depends on: the machine, whether there is `movmatrix`, and the rates of what programs consist of.
type Key = (Machine, bool, [u64; 4]);

static LAYERS: Mutex<BTreeMap<Machine, Arc<Layers>>> = Mutex::new(BTreeMap::new());
static TABLES: Mutex<BTreeMap<Key, Arc<Table>>> = Mutex::new(BTreeMap::new());

/// The last steps of the cheapest ways to all maps, by code; outside and between two `movmatrix`.
pub(super) struct Table {
    last: [Vec<Last>; 2],
}

fn code(matrix: &Matrix) -> usize {
    matrix.iter().rev().fold(0, |code, &column| code << 4 | column as usize)
}

fn decode(code: usize) -> Matrix {
    std::array::from_fn(|at| (code >> (4 * at) & 0xf) as u8)
}

impl Table {
    /// The table of a machine, made or kept.
    pub(super) fn of(machine: Machine, turns: bool, costs: &Costs) -> Arc<Self> {
        let rates = &costs.rates;
        let rates = [rates.select, rates.permute, rates.shuffle, if turns { rates.move_matrix } else { 0.0 }];
        let key = (machine, turns, rates.map(f64::to_bits));
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(key).or_insert_with(|| Arc::new(Self::new(machine, turns, costs))).clone()
    }

    /// The steps of the cheapest way to a map, each with the map before it; none for `movmatrix`.
    pub(super) fn way(&self, machine: Machine, map: &Matrix) -> Option<Vec<(Matrix, Option<Step>)>> {
        let (mut way, mut at, mut mode) = (Vec::new(), machine.renamed(*map), 0);
        while let Some((before, step)) = self.last[mode][code(&at)] {
            way.push((before, step));
            at = before;
            mode ^= usize::from(step.is_none());
        }
        way.reverse();
        (at == machine.renamed(IDENTITY) && mode == 0).then_some(way)
    }

    fn new(machine: Machine, turns: bool, costs: &Costs) -> Self {
        // Sums of rates as whole numbers, so that their order does not matter.
        let units = |cost: f64| (cost * 1e6).round() as u64;
        // The cheapest layer for each map.
        let cheapest = |machine: Machine| {
            let mut cheapest: Vec<(u64, Step)> = Vec::new();
            for layers in machine.layers().values() {
                let priced = layers.iter().map(|step| (step.price.cost(costs, machine.parts > 0), *step));
                let priced = priced
                    .filter(|(cost, step)| cost.is_finite() && machine.renamed(step.map) != machine.renamed(IDENTITY));
                cheapest.extend(priced.map(|(cost, step)| (units(cost), step)).min_by_key(|step| step.0));
            }
            cheapest.sort_unstable_by_key(|step| (step.0, step.1.map));
            cheapest
        };
        let cheapest = [cheapest(machine), if turns { cheapest(machine.between()) } else { Vec::new() }];
        let turn = costs.cost(&Counts { move_matrix: machine.register_count().into(), ..Counts::default() });
        let turn = (turns && turn.is_finite()).then(|| units(turn));
        let mut representative = vec![0u16; 1 << 16];
        for matrix in MATRICES.iter() {
            representative[code(matrix)] = code(&machine.renamed(*matrix)) as u16;
        }
        let maps: Vec<usize> =
            MATRICES.iter().map(code).filter(|&code| representative[code] as usize == code).collect();
        let mut left = maps.len();
        let mut least = [vec![u64::MAX; 1 << 16], vec![u64::MAX; 1 << 16]];
        let mut last: [Vec<Last>; 2] = [vec![None; 1 << 16], vec![None; 1 << 16]];
        let start = machine.renamed(IDENTITY);
        least[0][code(&start)] = 0;
        let mut open = BinaryHeap::from([Reverse((0u64, 0usize, start))]);
        // No way that costs as much as the dearest map is of use, once every map has been reached.
        let mut most = u64::MAX;
        while let Some(Reverse((cost, mode, at))) = open.pop() {
            if cost > least[mode][code(&at)] {
                continue;
            }
            if mode == 0 {
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            if most == u64::MAX || left.is_multiple_of(64) {
                most = maps.iter().map(|&map| least[0][map]).max().unwrap_or(u64::MAX);
            }
            if let Some(total) = turn.map(|turn| cost + turn).filter(|&total| total < least[1 - mode][code(&at)]) {
                least[1 - mode][code(&at)] = total;
                last[1 - mode][code(&at)] = Some((at, None));
                open.push(Reverse((total, 1 - mode, at)));
            }
            let images: [u8; PLACES] = std::array::from_fn(|vector| apply(&at, vector as u8));
            for (price, step) in &cheapest[mode] {
                let total = cost + price;
                if total >= most {
                    break;
                }
                let to = step.map.map(|column| images[column as usize]);
                // Between two movmatrix the registers are the same bits.
                let to = representative[code(&to)] as usize;
                if total < least[mode][to] {
                    least[mode][to] = total;
                    last[mode][to] = Some((at, Some(*step)));
                    open.push(Reverse((total, mode, decode(to))));
                }
            }
        }
        Self { last }
    }
}

impl Machine {
    /// The machine between two `movmatrix`: all but registers are lanes.
    pub(super) fn between(&self) -> Self {
        Self { parts: 0, lanes: self.parts + self.lanes, registers: self.registers }
    }

    /// All maps that a layer makes, made or kept.
    fn layers(&self) -> Arc<Layers> {
        let mut layers = LAYERS.lock().unwrap_or_else(PoisonError::into_inner);
        layers.entry(*self).or_insert_with(|| Arc::new(self.all_layers())).clone()
    }

    fn all_layers(&self) -> Layers {
        let representatives: Vec<Matrix> =
            MATRICES.iter().copied().filter(|matrix| self.renamed(*matrix) == *matrix).collect();
        let packs: Vec<Matrix> = representatives.iter().copied().filter(|matrix| self.packs(matrix)).collect();
        let shuffles: Vec<Matrix> = MATRICES.iter().copied().filter(|matrix| self.shuffles(matrix)).collect();
        let mut layers = Layers::new();
        let worse = |one: Price, other: Price| one.operations >= other.operations && one.shuffles >= other.shuffles;
        let mut add = |map: Matrix, stages: [Matrix; 3], shuffled: Shuffled| {
            let known = layers.entry(self.renamed(map)).or_default();
            let price = self.layer([&stages[0], &stages[1], &stages[2]], shuffled).price;
            if !known.iter().any(|other| worse(price, other.price)) {
                known.retain(|other| !worse(other.price, price));
                known.push(Step { price, map, stages, shuffled });
            }
        };
        for pack in &packs {
            for shuffle in &shuffles {
                let before = product(pack, shuffle);
                for put in &packs {
                    for shuffled in [Shuffled::Packed, Shuffled::Whole] {
                        add(product(&before, put), [*pack, *shuffle, *put], shuffled);
                    }
                }
            }
        }
        let lane_bits = ((1 << self.lanes) - 1) << self.parts;
        for map in &representatives {
            // The lanes' own map, or the parts fetched the other way round where a flag of the lane is set.
            for flag in 0..if self.parts == 1 { self.lane_count() } else { 1 } {
                let mut lanes = *map;
                for bit in (0..self.lanes).filter(|bit| flag >> bit & 1 == 1) {
                    lanes[self.parts + bit] ^= map[0] & lane_bits;
                }
                if self.gather(map, &lanes).outputs.iter().all(|bytes| operation(bytes).is_some()) {
                    add(*map, [*map, lanes, IDENTITY], Shuffled::Gathered);
                }
            }
        }
        layers
    }
}

const _: () = assert!(BITS * 4 == 16, "codes have 16 bits");
