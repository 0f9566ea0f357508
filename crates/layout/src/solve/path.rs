//! The cheapest path of a search, as arrays and operations.

use crate::Name;
use crate::program::Counts;

use super::assemble::{Assembly, Concrete};
use super::convert::{FILL, PERMUTED, START};
use super::layers::{Layer, Link, place_of};
use super::product::{Choice, NONE};
use super::search::{Reached, Search, multiplication};
use super::solution::{Array, Multiply, Operation};
use super::state::Tuple;
use super::{Boundary, Problem, SolveError, Step};

/// One arrangement on the path and how it came from the one before.
struct Point {
    layer: usize,
    tuple: Tuple,
    /// The move within the layer; none for a step of the chain, or the beginning.
    by: Option<u16>,
}

/// A path: its arrays, its operations, and registers of data and of matrices and phases of each step.
pub(super) struct Path {
    pub(super) arrays: Vec<Array>,
    pub(super) operations: Vec<Operation>,
    pub(super) data_registers: usize,
    pub(super) registers: Vec<usize>,
}

/// The arrangements of the cheapest path.
fn points(search: &Search<'_>, reached: &[Reached]) -> Option<Vec<Point>> {
    let layers = &search.prepared.layers;
    let last = layers.len() - 1;
    let costs = &reached[last].after;
    let mut rank =
        (0..costs.len()).min_by(|&x, &y| costs[x].total_cmp(&costs[y])).filter(|&at| costs[at].is_finite())?;
    let mut points = Vec::new();
    for at in (0..layers.len()).rev() {
        while let (from, number) = reached[at].after_from[rank]
            && from != START
        {
            points.push(Point { layer: at, tuple: layers[at].codec.tuple(rank), by: Some(number) });
            rank = from as usize;
        }
        points.push(Point { layer: at, tuple: layers[at].codec.tuple(rank), by: None });
        if at > 0 {
            rank = reached[at].before_from[rank] as usize;
        }
    }
    points.reverse();
    Some(points)
}

fn names(layer: &Layer, tuple: &Tuple) -> Vec<Option<Name>> {
    tuple[..layer.codec.places].iter().map(|&symbol| layer.bits.get(symbol as usize).copied()).collect()
}

/// The order of registers that a fixed layout demands.
fn demanded(boundary: &Boundary, elements: usize) -> Option<Vec<Name>> {
    let Boundary::Fixed(layout) = boundary else { return None };
    let mut registers: Vec<(usize, Name)> = (0..layout.physical().len())
        .filter(|&at| place_of(layout.physical().get(at), elements) == Ok(None) && layout.column(at) != 0)
        .map(|at| {
            let physical = layout.physical().get(at);
            (physical.number().unwrap_or(0), layout.logical().get(layout.column(at).trailing_zeros() as usize))
        })
        .collect();
    registers.sort_by_key(|(number, _)| *number);
    Some(registers.into_iter().map(|(_, name)| name).collect())
}

/// The choice that a product with an identity matrix is.
fn identity(search: &Search<'_>, layer: &Layer, from: &Tuple, to: &Tuple, role: usize, count: u32) -> Choice {
    let of = &search.prepared.roles[role];
    let mut carried: Vec<u8> = of.contract.iter().map(|&place| from[place]).collect();
    let rest = layer.codec.rest(from);
    let new: Vec<u8> = of.new.iter().map(|&place| to[place]).collect();
    // What comes to a created place and was at no summed one was in the fragment's register bit; if there is none, any
    // kept there will do.
    let slots: Vec<u8> = if of.contract_slots == 0 {
        Vec::new()
    } else {
        let entered = new.iter().copied().find(|symbol| !carried.contains(symbol));
        vec![entered.or_else(|| super::state::members(rest).next()).unwrap_or(NONE)]
    };
    carried.extend(slots.iter().filter(|&&symbol| symbol != NONE));
    let mask = carried.iter().fold(0u32, |mask, &symbol| mask | 1 << symbol);
    let mut batch: Vec<u8> = super::state::members(rest & !mask).take(of.batch_slots).collect();
    batch.resize(of.batch_slots, NONE);
    let mut order = new;
    order.extend(carried.iter().copied().filter(|symbol| !of.new.iter().any(|&place| to[place] == *symbol)));
    let repeats = order.len() - of.new.len();
    let stored = of.matrix_bits
        - if of.operand == super::Operand::B { of.new_slots.saturating_sub(repeats) } else { 0 }
        + repeats.saturating_sub(of.new_slots);
    Choice {
        role,
        slots,
        batch,
        carried: mask,
        accumulated: 0,
        new: order,
        split: None,
        half2: 0,
        count,
        registers: 1 << stored,
        unpack: (0, 0),
    }
}

/// Adds to counts.
fn add(total: &mut Counts, more: &Counts) {
    total.select += more.select;
    total.permute += more.permute;
    total.shuffle += more.shuffle;
    total.move_matrix += more.move_matrix;
    total.store_words += more.store_words;
    total.store += more.store;
    total.load_words += more.load_words;
    total.load += more.load;
    total.store_matrix += more.store_matrix;
    total.load_matrix += more.load_matrix;
    total.address += more.address;
    total.barrier += more.barrier;
}

impl Path {
    /// The cheapest path that a search has found.
    pub(super) fn new(problem: &Problem, search: &Search<'_>, reached: &[Reached]) -> Result<Self, SolveError> {
        let prepared = search.prepared;
        let Some(points) = points(search, reached) else {
            return Err(SolveError::Step { step: problem.chain.name.clone(), reason: "no path".into() });
        };
        // Arrays: consecutive moves without products are one conversion.
        let product = |point: &Point| {
            let registers = prepared.layers[point.layer].registers(&point.tuple);
            point.by.and_then(|by| prepared.moves.table(registers).moves.get(by as usize)?.product)
        };
        let converts = |point: &Point| point.by.is_some() && product(point).is_none();
        let kept: Vec<usize> = (0..points.len())
            .filter(|&at| !(converts(&points[at]) && points.get(at + 1).is_some_and(converts)))
            .collect();
        let mut concretes: Vec<Concrete> = Vec::new();
        for &at in &kept {
            let layer = &prepared.layers[points[at].layer];
            let places = names(layer, &points[at].tuple);
            let next = match concretes.last() {
                None => {
                    let free = layer.bits.iter().copied().filter(|bit| !places.contains(&Some(*bit))).collect();
                    let registers = demanded(&problem.input, prepared.elements).unwrap_or(free);
                    Concrete { places, registers }
                }
                Some(before) => before.rearranged(places, &layer.bits),
            };
            concretes.push(next);
        }
        let mut path = Self { arrays: Vec::new(), operations: Vec::new(), data_registers: 0, registers: Vec::new() };
        // A fixed result has its own order of registers, and so has what only multiplication separates from it.
        if let Some(order) = demanded(&problem.output, prepared.elements) {
            for index in (0..concretes.len()).rev() {
                if index == 0 && matches!(problem.input, Boundary::Fixed(_)) && concretes[0].registers != order {
                    concretes.insert(0, concretes[0].clone());
                    concretes[1].registers = order;
                    path.operations.push(Operation::Convert(Counts::default()));
                    break;
                }
                concretes[index].registers.clone_from(&order);
                let point = &points[kept[index]];
                let multiplied = point.by.is_none()
                    && point.layer > 0
                    && matches!(prepared.links[point.layer - 1], Link::Multiply { .. });
                if !multiplied {
                    break;
                }
            }
        }
        let renamed = path.operations.len();
        let mut used = vec![0; prepared.links.len()];
        for (index, pair) in kept.windows(2).enumerate() {
            let (before, after) = (&concretes[index + renamed], &concretes[index + renamed + 1]);
            let operation = path.operation(problem, search, &points[pair[0]..=pair[1]], before, after)?;
            if let Operation::Product(product) = &operation {
                let held = (1usize << before.registers.len()) + (1 << after.registers.len());
                path.data_registers = path.data_registers.max(held);
                match product.step {
                    Some(step) => used[step] = product.registers,
                    None => used.push(product.registers),
                }
            }
            if let Operation::Multiply(multiply) = &operation {
                used[multiply.step] = multiply.registers;
            }
            path.operations.push(operation);
        }
        path.registers = used;
        for (index, concrete) in concretes.iter().enumerate() {
            let layer = points[kept[index.saturating_sub(renamed)]].layer;
            path.data_registers = path.data_registers.max(1 << concrete.registers.len());
            let same = |at: usize| points[kept[at.saturating_sub(renamed)]].layer == layer;
            // The array that is used has the plain name, those before it have primes; of the input, those after it.
            let primes = if layer == 0 { index } else { (index + 1..concretes.len()).filter(|&at| same(at)).count() };
            let name = format!("{}{}", prepared.layers[layer].name, "'".repeat(primes));
            path.arrays.push(Array { name, layout: concrete.layout()? });
        }
        Ok(path)
    }

    /// What happens along some points, of which the first and the last are arrays.
    fn operation(
        &self,
        problem: &Problem,
        search: &Search<'_>,
        points: &[Point],
        before: &Concrete,
        after: &Concrete,
    ) -> Result<Operation, SolveError> {
        let prepared = search.prepared;
        let (from, to) = (&points[0], &points[points.len() - 1]);
        let layer = &prepared.layers[from.layer];
        if to.by.is_none() {
            let step = from.layer;
            return match (&prepared.links[step], &problem.chain.steps[step]) {
                (Link::Contract(_), Step::Contract { sums, creates, depends, name, .. }) => {
                    let Some(choice) = search.choice(step, &from.tuple, &to.tuple) else {
                        return Err(SolveError::Step { step: name.clone(), reason: "no path".into() });
                    };
                    let assembly = Assembly {
                        role: &prepared.roles[choice.role],
                        choice: &choice,
                        step: Some(step),
                        before,
                        after,
                        names_before: &layer.bits,
                        names_after: &prepared.layers[to.layer].bits,
                        sums,
                        creates,
                        depends,
                    };
                    Ok(Operation::Product(assembly.product()?))
                }
                (Link::Multiply { depends, complex }, Step::Multiply { depends: names, complex: bit, .. }) => {
                    let needs = multiplication(layer, &from.tuple, *depends, *complex);
                    let of = |name: &Name| names.contains(name) && Some(*name) != *bit;
                    let mut factors = Concrete {
                        places: before.places.iter().map(|name| name.filter(of)).collect(),
                        registers: before.registers.iter().copied().filter(|name| of(name)).collect(),
                    };
                    factors.registers.extend(*bit);
                    Ok(Operation::Multiply(Multiply {
                        step,
                        factors: factors.layout()?,
                        depends: names.clone(),
                        complex: *bit,
                        registers: needs.registers,
                        half2: needs.half2,
                        permute: needs.permute,
                        shuffle: needs.shuffle,
                    }))
                }
                _ => Err(SolveError::Step { step: layer.name.clone(), reason: "no path".into() }),
            };
        }
        let mut counts = Counts::default();
        for pair in points.windows(2) {
            let Some(by) = pair[1].by else { continue };
            let registers = layer.registers(&pair[0].tuple);
            if by == FILL {
                let place = (0..layer.codec.places).find(|&place| pair[0].tuple[place] != pair[1].tuple[place]);
                add(&mut counts, &prepared.moves.fill(place.unwrap_or(0), registers).0);
                continue;
            }
            if by == PERMUTED {
                let rest = |tuple: &Tuple| -> Vec<u8> {
                    let rest = super::state::members(layer.codec.rest(tuple));
                    rest.filter(|&symbol| (symbol as usize) < layer.bits.len()).collect()
                };
                let (one, other) = (&pair[0].tuple, &pair[1].tuple);
                add(&mut counts, &prepared.moves.permuted((one, &rest(one)), (other, &rest(other))));
                continue;
            }
            let step = &prepared.moves.table(registers).moves[by as usize];
            if let Some((role, count)) = step.product {
                let choice = identity(search, layer, &pair[0].tuple, &pair[1].tuple, role, count);
                let assembly = Assembly {
                    role: &prepared.roles[role],
                    choice: &choice,
                    step: None,
                    before,
                    after,
                    names_before: &layer.bits,
                    names_after: &layer.bits,
                    sums: &[],
                    creates: &[],
                    depends: &[],
                };
                return Ok(Operation::Product(assembly.product()?));
            }
            add(&mut counts, &step.counts);
        }
        Ok(Operation::Convert(counts))
    }
}
