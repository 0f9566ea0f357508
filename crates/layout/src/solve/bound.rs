//! A lower bound on conversions that knows nothing of the moves.
//!
//! Only which bit is inside the registers and which bits are in lanes is looked at, not their order. Between two such
//! arrangements of `R` registers with `w` lane bits leaving the lanes:
//!
//! - of the elements that a lane needs, it holds itself no more than one in `2^w`. The others come from other lanes,
//!   and a shuffle brings a lane one register: at least `R (1 - 2^-w)` shuffles (or words through shared memory, or
//!   matrices moved by `movmatrix`);
//! - if the bits inside the registers change, the elements of each register after were in several registers before, and
//!   a register whose elements come from several is made by a permute: at least `R` of them (or matrices moved by an
//!   instruction that transposes). Where an instruction does both, both are counted once;
//! - selects, address calculations and barriers are not counted;
//! - a product with an identity matrix exchanges one register bit with the bits at other places, so each can save one
//!   lane bit, two with the change inside the registers, and costs what its instructions cost.
//!
//! The bound of a chain is the cheapest path where each conversion costs this much. The steps cost what they do in the
//! search.

use std::collections::HashMap;

use crate::plan::Costs;

use super::convert::Mixer;
use super::layers::{Layer, Prepared};

/// Arrangements that differ in the order of the lanes (and of the bits inside registers) only.
struct Class {
    inside: u32,
    lanes: u32,
    registers: usize,
}

/// The bound within one layer.
pub(super) struct Relaxation<'a> {
    costs: &'a Costs,
    /// Cost of the cheapest product with an identity matrix, per number of register bits.
    identity: Vec<f64>,
    classes: Vec<Class>,
    /// The class of each arrangement; none for those that are not canonical.
    class_of: Vec<u32>,
    /// Bounds by register bits, lane bits that leave, and whether the bits inside change.
    table: Vec<[[f64; 2]; 6]>,
}

impl<'a> Relaxation<'a> {
    pub(super) fn new(layer: &Layer, prepared: &Prepared, costs: &'a Costs) -> Self {
        let identity = (0..=layer.bits.len())
            .map(|registers| {
                let table = prepared.moves.table(registers).moves.iter();
                table.filter(|step| step.product.is_some()).map(|step| step.cost).fold(f64::INFINITY, f64::min)
            })
            .collect();
        let (real, codec, elements) = (layer.bits.len(), layer.codec, prepared.elements);
        let mut numbers: HashMap<u64, u32, Mixer> = HashMap::default();
        let (mut classes, mut class_of) = (Vec::new(), vec![u32::MAX; codec.count()]);
        for (rank, class) in class_of.iter_mut().enumerate() {
            let tuple = codec.tuple(rank);
            if real != codec.symbols && layer.rank(&tuple) != rank {
                continue;
            }
            let mask = |symbols: &[u8]| {
                let real = symbols.iter().filter(|&&symbol| (symbol as usize) < real);
                real.fold(0u32, |mask, &symbol| mask | 1 << symbol)
            };
            let (inside, lanes) = (mask(&tuple[..elements]), mask(&tuple[elements..codec.places]));
            *class = *numbers.entry(u64::from(inside) << 32 | u64::from(lanes)).or_insert_with(|| {
                classes.push(Class { inside, lanes, registers: layer.registers(&tuple) });
                classes.len() as u32 - 1
            });
        }
        let mut relaxation = Self { costs, identity, classes, class_of, table: Vec::new() };
        let most = relaxation.classes.iter().map(|class| class.registers).max().unwrap_or(0);
        relaxation.table = (0..=most)
            .map(|registers| {
                core::array::from_fn(|left| {
                    [false, true].map(|inside| relaxation.conversion(left as u32, inside, registers))
                })
            })
            .collect();
        relaxation
    }

    /// The class of an arrangement.
    pub(super) fn class(&self, rank: usize) -> u32 {
        self.class_of[rank]
    }

    /// The least cost of getting `cross` words to other lanes and making `merge` words from several.
    fn words(&self, cross: f64, merge: f64) -> f64 {
        let rates = &self.costs.rates;
        let store = rates.store_word.min(rates.store_matrix);
        let shared = store + rates.load_word.min(rates.load_matrix);
        let both = rates.move_matrix.min(shared);
        let crossing = rates.shuffle.min(shared);
        [0.0, cross.min(merge), cross.max(merge)]
            .into_iter()
            .map(|done| both * done + crossing * (cross - done).max(0.0) + rates.permute * (merge - done).max(0.0))
            .fold(f64::INFINITY, f64::min)
    }

    /// The bound on a conversion in which so many lane bits leave the lanes and the bits inside registers change or
    /// not.
    fn conversion(&self, left: u32, inside: bool, registers: usize) -> f64 {
        if left == 0 && !inside {
            return 0.0;
        }
        let count = (1u64 << registers) as f64;
        let mut least = f64::INFINITY;
        for products in 0..=3u32 {
            let lanes = left.saturating_sub(2 * products);
            let cross = count * (1.0 - 0.5f64.powi(lanes as i32));
            let merge = if inside && products == 0 { count } else { 0.0 };
            let of_products = if products == 0 {
                0.0
            } else {
                f64::from(products) * self.identity.get(registers).copied().unwrap_or(f64::INFINITY)
            };
            least = least.min(of_products + self.words(cross, merge));
        }
        least
    }

    /// Bounds on the costs of the classes after conversions, given those before; or backwards.
    fn reach(&self, costs: &[f64], backwards: bool) -> Vec<f64> {
        let known: Vec<(&Class, f64)> =
            self.classes.iter().zip(costs.iter().copied()).filter(|(_, cost)| cost.is_finite()).collect();
        let bound = |class: &Class| {
            let costs = known.iter().map(|(other, cost)| {
                let (from, to) = if backwards { (class, *other) } else { (*other, class) };
                let left = (from.lanes & !to.lanes).count_ones() as usize;
                let inside = usize::from(from.inside != to.inside);
                cost + self.table[from.registers.min(to.registers)][left][inside]
            });
            costs.fold(f64::INFINITY, f64::min)
        };
        self.classes.iter().map(bound).collect()
    }

    /// The least cost of each class, given those of the arrangements.
    fn least(&self, costs: &[f64]) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; self.classes.len()];
        for (&class, &cost) in self.class_of.iter().zip(costs).filter(|(class, _)| **class != u32::MAX) {
            least[class as usize] = least[class as usize].min(cost);
        }
        least
    }

    /// Bounds on the costs of arrangements after conversions, given those before.
    pub(super) fn after(&self, before: &[f64]) -> Vec<f64> {
        let reached = self.reach(&self.least(before), false);
        let of = |&class: &u32| if class == u32::MAX { f64::INFINITY } else { reached[class as usize] };
        self.class_of.iter().map(of).collect()
    }
}

/// The least cost of a step from a class of one layer to a class of the next.
pub(super) type Edges = HashMap<u64, f64, Mixer>;

/// Bounds on what is left to pay from each arrangement of each layer.
pub(super) struct Guide {
    layers: Vec<Remaining>,
}

struct Remaining {
    class_of: Vec<u32>,
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Guide {
    /// The bounds, from the steps' least costs between classes and the arrangements that the last layer may end in.
    pub(super) fn new(relaxations: Vec<Relaxation<'_>>, edges: &[Edges], end: &[f64]) -> Self {
        let mut layers: Vec<Remaining> = Vec::new();
        for (at, relaxation) in relaxations.into_iter().enumerate().rev() {
            let mut after = vec![f64::INFINITY; relaxation.classes.len()];
            match layers.last() {
                None => {
                    let ends: Vec<f64> = end.iter().map(|cost| if cost.is_finite() { 0.0 } else { *cost }).collect();
                    after = relaxation.least(&ends);
                }
                Some(next) => {
                    for (&edge, &cost) in &edges[at] {
                        let total = cost + next.before[(edge & 0xffff_ffff) as usize];
                        let from = &mut after[(edge >> 32) as usize];
                        *from = from.min(total);
                    }
                }
            }
            let before = relaxation.reach(&after, true);
            layers.push(Remaining { class_of: relaxation.class_of, before, after });
        }
        layers.reverse();
        Self { layers }
    }

    /// What is left from an arrangement before conversions.
    #[inline]
    pub(super) fn before(&self, layer: usize, rank: usize) -> f64 {
        let layer = &self.layers[layer];
        layer.before.get(layer.class_of[rank] as usize).copied().unwrap_or(f64::INFINITY)
    }

    /// What is left from an arrangement after conversions.
    #[inline]
    pub(super) fn after(&self, layer: usize, rank: usize) -> f64 {
        let layer = &self.layers[layer];
        layer.after.get(layer.class_of[rank] as usize).copied().unwrap_or(f64::INFINITY)
    }
}
