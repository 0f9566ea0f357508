//! A lower bound on conversions that knows nothing of the moves.
//!
//! Only which bit is inside the registers and which bits are in lanes is looked at, not their order. Between two such arrangements
//! of `R` registers with `w` lane bits leaving the lanes:
//!
//! - of the elements that a lane needs, it holds itself no more than one in `2^w`. The others come from other lanes, and a shuffle brings
//!   a lane one register: at least `R (1 - 2^-w)` shuffles (or words through shared memory, or matrices moved by `movmatrix`);
//! - if the bits inside the registers change, the elements of each register after were in several registers before, and a register whose
//!   elements come from several is made by a permute: at least `R` of them (or matrices moved by an instruction that transposes). Where an
//!   instruction does both, both are counted once;
//! - selects, address calculations and barriers are not counted;
//! - a product with an identity matrix exchanges one register bit with the bits at other places, so each can save one lane bit, two with
//!   the change inside the registers, and costs what its instructions cost.
//!
//! The bound of a chain is the cheapest path where each conversion costs this much. The steps cost what they do in the search.

use crate::plan::Costs;

use super::layers::{Layer, Prepared};

/// The bound within one layer.
pub(super) struct Relaxation<'a> {
    layer: &'a Layer,
    costs: &'a Costs,
    /// Cost of the cheapest product with an identity matrix, per number of register bits.
    identity: Vec<f64>,
    elements: usize,
}

/// An arrangement without order: bits inside the registers (and nothing), and bits in lanes.
type Abstract = (u32, u32);

impl<'a> Relaxation<'a> {
    pub(super) fn new(layer: &'a Layer, prepared: &Prepared, costs: &'a Costs) -> Self {
        let identity = (0..=layer.bits.len())
            .map(|registers| {
                let table = prepared.moves.table(registers).moves.iter();
                table.filter(|step| step.product.is_some()).map(|step| step.cost).fold(f64::INFINITY, f64::min)
            })
            .collect();
        Self { layer, costs, identity, elements: prepared.elements }
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

    /// The bound on a conversion.
    fn conversion(&self, from: Abstract, to: Abstract, registers: usize) -> f64 {
        let left = (from.1 & !to.1).count_ones();
        let inside = from.0 != to.0;
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

    /// Bounds on the costs after conversions, given those before.
    pub(super) fn after(&self, before: &[f64]) -> Vec<f64> {
        let (real, codec) = (self.layer.bits.len(), self.layer.codec);
        let mut numbers = std::collections::HashMap::new();
        let mut classes: Vec<(Abstract, f64, usize)> = Vec::new();
        let mut class_of = vec![u32::MAX; before.len()];
        for (rank, &cost) in before.iter().enumerate() {
            let tuple = codec.tuple(rank);
            if real != codec.symbols && self.layer.rank(&tuple) != rank {
                continue;
            }
            let mask = |symbols: &[u8]| {
                symbols
                    .iter()
                    .filter(|&&symbol| (symbol as usize) < real)
                    .fold(0u32, |mask, &symbol| mask | 1 << symbol)
            };
            let key = (mask(&tuple[..self.elements]), mask(&tuple[self.elements..codec.places]));
            let number = *numbers.entry(key).or_insert_with(|| {
                classes.push((key, f64::INFINITY, self.layer.registers(&tuple)));
                classes.len() - 1
            });
            class_of[rank] = number as u32;
            classes[number].1 = classes[number].1.min(cost);
        }
        let sources: Vec<&(Abstract, f64, usize)> = classes.iter().filter(|class| class.1.is_finite()).collect();
        // The table of bounds by lane bits that leave and whether the bits inside change, for the fewest registers of either end.
        let least = classes.iter().map(|class| class.2).min().unwrap_or(0);
        let most = classes.iter().map(|class| class.2).max().unwrap_or(0);
        let table: Vec<[[f64; 2]; 6]> = (0..=most)
            .map(|registers| {
                core::array::from_fn(|left| {
                    let lanes = (1u32 << left) - 1;
                    [self.conversion((0, lanes), (0, 0), registers), self.conversion((1, lanes), (0, 0), registers)]
                })
            })
            .collect();
        let reached: Vec<f64> = classes
            .iter()
            .map(|to| {
                sources
                    .iter()
                    .map(|from| {
                        let left = (from.0.1 & !to.0.1).count_ones() as usize;
                        let registers = if least == most { least } else { from.2.min(to.2) };
                        from.1 + table[registers][left][usize::from(from.0.0 != to.0.0)]
                    })
                    .fold(f64::INFINITY, f64::min)
            })
            .collect();
        class_of.iter().map(|&class| if class == u32::MAX { f64::INFINITY } else { reached[class as usize] }).collect()
    }
}
