//! Lower bounds on the cost of a conversion by any program of a warp: not only by the planner's moves.
//!
//! A program consists of selects, permutes, shuffles, `movmatrix`, and stores and loads of shared memory (`st.shared`,
//! `ld.shared`, `stmatrix`, `ldmatrix`), each of which writes registers of `P = 32 * 2^parts` elements. `R` is the
//! number of registers.
//!
//! **Shuffles.** Data of other lanes comes into a lane by shuffles, `movmatrix` and loads only, one register (`2^parts`
//! elements) at a time. So their number is at least that of the elements that some lane must get from others, over
//! `2^parts`, for every lane ([`Needs::shuffles`]); and shuffles, `movmatrix` and stores move all elements that change
//! their lane, over `P` ([`Needs::moved`]).
//!
//! **Registers that are put together.** Follow each output back through shuffles and `movmatrix`, which have one
//! source, to the instruction that put it together. In an invertible conversion the outputs have no element in common
//! and fill a register each, so these are different instructions. If each output draws from `2^k > 1` inputs, they are
//! selects, permutes or loads: `R` in all ([`Needs::mixed`]).
//!
//! **Selects and permutes.** Follow the elements of an invertible conversion through a program. Let `x` be the number
//! of them in a register that belong to the same output, and the potential the sum of `x log2 x` over all registers and
//! outputs. A select or permute takes `a` elements of one register and `b` of another for each output: `(a+b) log2
//! (a+b) - a log2 a - b log2 b <= a + b`, and what is left behind has no more potential than before. So each raises the
//! potential by `P` at most. A shuffle has one source and raises nothing; a load raises it by `P log2 P` at most.
//! In the beginning each input holds `P / 2^k` elements of each of `2^k` outputs: the potential is `R P (log2 P - k)`;
//! in the end it is `R P log2 P`. So there are `R k` selects and permutes ([`Needs::operations`]), fewer by `log2 P`
//! for each load. (This is Floyd's argument on permuting records between pages, with registers for pages.)
//!
//! All of these hold at once. For programs with shared memory the number of loads and stores is free: the bound is the
//! least over it.

use std::collections::HashSet;

use super::Bound;
use super::arrangement::LANE_BITS;
use super::costs::Costs;
use super::model::Model;

/// What a conversion needs at least.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Needs {
    /// Shuffles, `movmatrix` and loaded words.
    shuffles: f64,
    /// Shuffles, `movmatrix` and stored words.
    moved: f64,
    /// Selects, permutes and loaded words.
    mixed: f64,
    /// Selects and permutes without loads.
    operations: f64,
    /// Permutes (or `movmatrix`) of single registers, if no register is put together and none is shuffled.
    turned: f64,
}

/// The bounds for a conversion.
pub(super) fn bound(
    model: &Model,
    costs: &Costs,
    elements: impl Fn(usize) -> u64,
    wanted: impl Fn(usize) -> u64,
) -> Bound {
    let needs = needs(model, elements, wanted);
    let rates = &costs.rates;
    // With 32-bit elements movmatrix cannot help: halves would part.
    let shuffle = rates.shuffle.min(rates.move_matrix);
    let operation = rates.select.min(rates.permute);
    let (load, store) = (rates.load_word.min(rates.load_matrix), rates.store_word.min(rates.store_matrix));
    let capacity = (LANE_BITS + model.before.parts) as f64;
    let at = |loads: f64, stores: f64| {
        let through = loads.min(stores);
        let shuffles = (needs.shuffles - loads).max(needs.moved - stores).max(0.0);
        let operations = (needs.operations - capacity * through).max(needs.mixed - through).max(0.0);
        loads * load + stores * store + shuffles * shuffle + operations * operation
    };
    let registers = at(0.0, 0.0).max(needs.turned * rates.permute.min(rates.move_matrix));
    // The cost is convex and piecewise linear in loads and stores: least where two of the lines meet at which a piece
    // ends.
    let ends =
        [0.0, needs.operations / capacity, needs.mixed, ((needs.operations - needs.mixed) / (capacity - 1.0)).max(0.0)];
    let apart = needs.shuffles - needs.moved;
    let mut through = f64::INFINITY;
    for end in ends {
        for loads in [end, needs.shuffles] {
            for other in ends {
                for stores in [other, needs.moved, loads, loads - apart] {
                    through = through.min(at(loads.max(0.0), stores.max(0.0)));
                }
            }
        }
        for stores in [end, needs.moved] {
            for loads in [stores, stores + apart] {
                through = through.min(at(loads.max(0.0), stores.max(0.0)));
            }
        }
    }
    // A permute of one register that nothing replaces: a word stored and loaded costs its rates.
    let turned = needs.turned * rates.permute.min(rates.move_matrix).min(load);
    Bound {
        shuffles: needs.shuffles as u32,
        operations: needs.operations.max(needs.mixed).max(needs.turned) as u32,
        registers,
        any: registers.min(through.max(turned)),
    }
}

/// What a conversion needs: `elements` and `wanted` tell the element that a place holds before and afterwards.
fn needs(model: &Model, elements: impl Fn(usize) -> u64, wanted: impl Fn(usize) -> u64) -> Needs {
    let (before, after) = (model.before, model.after);
    let parts = before.parts;
    let lane_of = |place: usize| place >> parts & ((1 << LANE_BITS) - 1);
    let mut held = vec![HashSet::new(); 1 << LANE_BITS];
    for place in 0..1usize << before.bits() {
        held[lane_of(place)].insert(elements(place));
    }
    let mut missing = vec![HashSet::new(); 1 << LANE_BITS];
    for place in 0..1usize << after.bits() {
        let element = wanted(place);
        if !held[lane_of(place)].contains(&element) {
            missing[lane_of(place)].insert(element);
        }
    }
    let size = 1usize << parts;
    let most = missing.iter().map(|missing| missing.len().div_ceil(size)).max().unwrap_or(0);
    let all: usize = missing.iter().map(HashSet::len).sum();
    let registers = after.register_count() as f64;
    // From how many registers an output draws.
    let mut rows: Vec<u32> = Vec::new();
    for &column in &model.columns[..after.first_register()] {
        let left = rows.iter().fold(column >> before.first_register(), |left, &each| left.min(left ^ each));
        if left != 0 {
            rows.push(left);
            rows.sort_unstable_by(|one, other| other.cmp(one));
        }
    }
    let sources = if model.bijective { rows.len() } else { 0 };
    // Whether parts move inside registers of which each comes from one.
    let mask = (1u32 << parts) - 1;
    let own = |place: usize| (model.source(place) as u32 ^ place as u32) & mask != 0;
    let turned = if model.bijective && sources == 0 && most == 0 {
        (0..after.register_count())
            .filter(|register| {
                (0..1 << after.first_register()).any(|low| own(low | register << after.first_register()))
            })
            .count()
    } else {
        0
    };
    Needs {
        shuffles: most as f64,
        // A stored word can be loaded by several lanes where lanes share elements.
        moved: if model.bijective { all as f64 / (size << LANE_BITS) as f64 } else { 0.0 },
        mixed: if sources > 0 { registers } else { 0.0 },
        operations: registers * sources as f64,
        turned: turned as f64,
    }
}
