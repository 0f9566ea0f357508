//! The search: shortest paths through the layers of arrangements.
//!
//! ```text
//! layer 0 (X)            layer 1 (Z1)                 ...  last layer (Y)
//! before -> after  step  before -> after  step             before -> after
//!        conversions            conversions                       conversions
//! ```
//!
//! Within a layer conversions are edges (Dijkstra's algorithm, from all arrangements that the step before reaches); a
//! step is a set of edges from one layer to the next. All costs are at least 0 and the layers follow one another, so
//! the cheapest path is the optimum over everything that the moves and the atoms can do.

use crate::plan::Costs;

use super::bound::{Edges, Guide, Relaxation};
use super::convert::{START, convert};
use super::layers::{Layer, Link, Prepared};
use super::moves::selections;
use super::product::{Choice, Contraction, Limits};
use super::role::Role;
use super::state::{PLACES, Tuple, members};
use super::{Allowed, SolveError};

/// Added for each register of a matrix or of phases, so that among equal costs the fewest registers win.
const REGISTER: f64 = 1e-7;

/// Costs of the arrangements of one layer, and where each came from.
pub(super) struct Reached {
    /// Arrangement of the layer before.
    pub(super) before_from: Vec<u32>,
    pub(super) after: Vec<f64>,
    /// Arrangement of this layer and move.
    pub(super) after_from: Vec<(u32, u16)>,
}

/// What a product element by element needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Multiplication {
    pub half2: u32,
    pub(super) permute: u32,
    pub(super) shuffle: u32,
    pub(super) registers: usize,
}

/// A search in progress.
pub(super) struct Search<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) costs: &'a Costs,
    pub(super) allowed: Allowed,
    /// Most registers of each step's matrix or phases.
    pub(super) caps: Vec<usize>,
    /// Conversions are replaced by a bound on them.
    pub(super) relaxed: bool,
    /// Bounds on what is left to pay, and the most that a path may cost with them.
    pub(super) guide: Option<&'a Guide>,
    pub(super) limit: f64,
    pub(super) explored: usize,
}

impl<'a> Search<'a> {
    /// Costs of all arrangements of all layers.
    pub(super) fn run(&mut self) -> Result<(Vec<Reached>, Option<Guide>), SolveError> {
        let (mut layers, mut relaxations): (Vec<Reached>, Vec<Relaxation<'a>>) = (Vec::new(), Vec::new());
        let mut edges = vec![Edges::default(); self.prepared.links.len()];
        for (at, layer) in self.prepared.layers.iter().enumerate() {
            let count = layer.codec.count();
            let (mut before, mut from) = (vec![f64::INFINITY; count], vec![START; count]);
            if at == 0 {
                for (rank, cost) in before.iter_mut().enumerate() {
                    let tuple = layer.codec.tuple(rank);
                    if layer.rank(&tuple) == rank && layer.fits(&layer.before, &tuple) {
                        *cost = 0.0;
                    }
                }
            } else {
                if self.relaxed {
                    relaxations.push(Relaxation::new(layer, self.prepared, self.costs));
                }
                let classes = relaxations.get(at - 1).zip(relaxations.get(at));
                self.step(at - 1, &layers[at - 1].after, &mut before, &mut from, classes, &mut edges[at - 1]);
                if !layer.before.is_empty() {
                    for (rank, cost) in before.iter_mut().enumerate().filter(|(_, cost)| cost.is_finite()) {
                        if !layer.fits(&layer.before, &layer.codec.tuple(rank)) {
                            *cost = f64::INFINITY;
                        }
                    }
                }
            }
            if before.iter().all(|cost| cost.is_infinite()) {
                let reason = if at == 0 { "its layout is impossible".into() } else { self.explain(at - 1) };
                return Err(SolveError::Step { step: layer.name.clone(), reason });
            }
            let (mut after, after_from) = if self.relaxed {
                if at == 0 {
                    relaxations.push(Relaxation::new(layer, self.prepared, self.costs));
                }
                (relaxations[at].after(&before), Vec::new())
            } else {
                let remaining = |rank: usize| self.guide.map_or(0.0, |guide| guide.before(at, rank));
                let converted = convert(layer, &self.prepared.moves, &before, self.limit, remaining);
                self.explored += converted.settled;
                (converted.costs, converted.from)
            };
            if !layer.after.is_empty() {
                for (rank, cost) in after.iter_mut().enumerate().filter(|(_, cost)| cost.is_finite()) {
                    if !layer.fits(&layer.after, &layer.codec.tuple(rank)) {
                        *cost = f64::INFINITY;
                    }
                }
            }
            if let Some(guide) = self.guide {
                for (rank, cost) in after.iter_mut().enumerate().filter(|(_, cost)| cost.is_finite()) {
                    if *cost + guide.after(at, rank) > self.limit {
                        *cost = f64::INFINITY;
                    }
                }
            }
            if after.iter().all(|cost| cost.is_infinite()) {
                let reason = "no conversion leads to the layout that is demanded".into();
                return Err(SolveError::Step { step: layer.name.clone(), reason });
            }
            layers.push(Reached { before_from: from, after, after_from });
        }
        let guide = match layers.last() {
            Some(last) if self.relaxed => Some(Guide::new(relaxations, &edges, &last.after)),
            _ => None,
        };
        Ok((layers, guide))
    }

    fn limits(&self, step: usize) -> Limits {
        let unordered = if self.relaxed { self.prepared.elements } else { PLACES };
        let Allowed { carry, packed, split, .. } = self.allowed;
        Limits { carry, packed, split, registers: self.caps[step], unordered }
    }

    /// The edges of step `step`, from the layer before to the layer after.
    fn step(
        &self,
        step: usize,
        costs: &[f64],
        target: &mut [f64],
        from: &mut [u32],
        classes: Option<(&Relaxation<'_>, &Relaxation<'_>)>,
        edges: &mut Edges,
    ) {
        let mut record = |sources: &[u32], to: usize, cost: f64| {
            if let Some((_, after)) = classes {
                for &source in sources {
                    let edge = u64::from(source) << 32 | u64::from(after.class(to));
                    let least = edges.entry(edge).or_insert(f64::INFINITY);
                    *least = least.min(cost);
                }
            }
        };
        let (before, after) = (&self.prepared.layers[step], &self.prepared.layers[step + 1]);
        match &self.prepared.links[step] {
            Link::Multiply { depends, complex } => {
                for (rank, &cost) in costs.iter().enumerate().filter(|(_, cost)| cost.is_finite()) {
                    let needs = multiplication(before, &before.codec.tuple(rank), *depends, *complex);
                    let apart = self.allowed.parts_in_registers && needs.permute + needs.shuffle > 0;
                    if needs.registers <= self.caps[step] && !apart {
                        target[rank] = cost + self.multiply_cost(&needs);
                        if let Some((source, _)) = classes {
                            record(&[source.class(rank)], rank, self.multiply_cost(&needs));
                        }
                        from[rank] = rank as u32;
                    }
                }
            }
            Link::Contract(contraction) => {
                let limits = self.limits(step);
                for (index, role) in self.prepared.roles.iter().enumerate() {
                    // Which bit is at which of the summed places makes no difference: only the cheapest order counts.
                    let mut best = vec![(f64::INFINITY, START); costs.len()];
                    for (rank, &cost) in costs.iter().enumerate().filter(|(_, cost)| cost.is_finite()) {
                        let tuple = before.codec.tuple(rank);
                        if contraction.may_keep(role, &tuple) {
                            let entry = &mut best[before.codec.rank(&unordered(role, &tuple))];
                            if cost < entry.0 {
                                *entry = (cost, rank as u32);
                            }
                        }
                    }
                    for &(cost, rank) in best.iter().filter(|(cost, _)| cost.is_finite()) {
                        let tuple = before.codec.tuple(rank as usize);
                        let mut sources = Vec::new();
                        if let Some((source, _)) = classes {
                            let symbols: Vec<u8> = role.contract.iter().map(|&place| tuple[place]).collect();
                            selections(&symbols, symbols.len(), &mut Vec::new(), &mut |order| {
                                let mut tuple = tuple;
                                for (&place, &symbol) in role.contract.iter().zip(order) {
                                    tuple[place] = symbol;
                                }
                                sources.push(source.class(before.rank(&tuple)));
                            });
                            sources.sort_unstable();
                            sources.dedup();
                        }
                        self.choices(contraction, index, before, &tuple, limits, &mut |to, choice| {
                            if after.holds(to) {
                                let number = after.rank(to);
                                let price = self.product_cost(role, choice);
                                let total = cost + price;
                                record(&sources, number, price);
                                if total < target[number] {
                                    target[number] = total;
                                    from[number] = rank;
                                }
                            }
                        });
                    }
                }
            }
        }
    }

    fn choices(
        &self,
        contraction: &Contraction,
        role: usize,
        layer: &Layer,
        tuple: &Tuple,
        limits: Limits,
        visit: &mut impl FnMut(&Tuple, &Choice),
    ) {
        let rest = layer.codec.rest(tuple);
        contraction.choices(role, &self.prepared.roles[role], tuple, rest, limits, visit);
    }

    /// The cheapest way of a contraction from one arrangement to another.
    pub(super) fn choice(&self, step: usize, from: &Tuple, to: &Tuple) -> Option<Choice> {
        let Link::Contract(contraction) = &self.prepared.links[step] else { return None };
        let (before, after) = (&self.prepared.layers[step], &self.prepared.layers[step + 1]);
        let mut best: Option<(f64, Choice)> = None;
        for (index, role) in self.prepared.roles.iter().enumerate() {
            if !contraction.may_keep(role, from) {
                continue;
            }
            self.choices(contraction, index, before, from, self.limits(step), &mut |target, choice| {
                let cost = self.product_cost(role, choice);
                let same = after.holds(target) && after.canonical(target) == after.canonical(to);
                if same && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, choice.clone()));
                }
            });
        }
        best.map(|(_, choice)| choice)
    }

    fn registers(&self, count: usize) -> f64 {
        if self.relaxed { 0.0 } else { REGISTER * count as f64 }
    }

    fn product_cost(&self, role: &Role, choice: &Choice) -> f64 {
        f64::from(choice.count) * role.cycles
            + f64::from(choice.half2) * self.costs.rates.half2
            + f64::from(choice.unpack.0) * self.costs.rates.logic
            + f64::from(choice.unpack.1) * self.costs.rates.permute
            + self.registers(choice.registers)
    }

    fn multiply_cost(&self, needs: &Multiplication) -> f64 {
        let rates = &self.costs.rates;
        f64::from(needs.half2) * rates.half2
            + f64::from(needs.permute) * rates.permute
            + f64::from(needs.shuffle) * rates.shuffle
            + self.registers(needs.registers)
    }

    /// Why no arrangement lets a step be done.
    fn explain(&self, step: usize) -> String {
        let cap = self.caps[step];
        let cap =
            if cap == usize::MAX { String::new() } else { format!(" with at most {cap} registers for its matrix") };
        let Link::Contract(contraction) = &self.prepared.links[step] else {
            return format!("its phases do not fit{cap}");
        };
        let layer = &self.prepared.layers[step];
        let list = |mask: u32| {
            let names: Vec<&str> =
                members(mask).filter_map(|number| layer.bits.get(number as usize)).map(|bit| bit.as_str()).collect();
            names.join(" ")
        };
        let all = (1u32 << layer.bits.len()) - 1;
        let kept = self.prepared.roles.iter().map(|role| role.batch.len()).min().unwrap_or(0);
        let fixed = contraction.sums | contraction.depends;
        let spare = layer.codec.symbols - layer.bits.len();
        let free = (all & !fixed).count_ones() as usize;
        if free + spare < kept {
            let left = if free == 0 {
                "none is left".to_owned()
            } else {
                format!("only {free} are left ({})", list(all & !fixed))
            };
            return format!(
                "{kept} lane bits must hold bits that are neither summed nor in the matrix ({}), and {left}",
                list(fixed)
            );
        }
        let summed = contraction.sums.count_ones() as usize;
        let places = self.prepared.roles.iter().map(|role| role.contract.len()).min().unwrap_or(0);
        if !self.allowed.carry && summed < places {
            return format!(
                "{places} places are summed over, only {} are to be summed, and carrying is not allowed",
                list(contraction.sums)
            );
        }
        format!("no layout that can be reached has {} where the products sum{cap}", list(contraction.sums))
    }
}

/// The arrangement with the bits at a role's summed places in order.
fn unordered(role: &Role, tuple: &Tuple) -> Tuple {
    let mut sorted: Vec<u8> = role.contract.iter().map(|&place| tuple[place]).collect();
    sorted.sort_unstable();
    let mut tuple = *tuple;
    for (&place, symbol) in role.contract.iter().zip(sorted) {
        tuple[place] = symbol;
    }
    tuple
}

/// What a product element by element needs in an arrangement: two operations a register, and where the real and the
/// imaginary part are not in two registers, one instruction a register that brings the other part.
pub(super) fn multiplication(layer: &Layer, tuple: &Tuple, depends: u32, complex: Option<u8>) -> Multiplication {
    let elements = layer.codec.places - 5;
    let registers = 1u32 << layer.registers(tuple);
    let mut of_phases = layer.codec.rest(tuple) & depends;
    let mut needs = Multiplication { half2: registers, ..Multiplication::default() };
    if let Some(bit) = complex {
        of_phases &= !(1 << bit);
        needs.half2 = 2 * registers;
        match tuple[..layer.codec.places].iter().position(|&symbol| symbol == bit) {
            Some(place) if place < elements => needs.permute = registers,
            Some(_) => needs.shuffle = registers,
            None => {}
        }
    }
    needs.registers = 1 << (of_phases.count_ones() as usize + usize::from(complex.is_some()));
    needs
}
