//! Conversions that are no permutations of bits: lane-dependent renamings of registers around one shuffle of each
//! register.
//!
//! Register `r'` of lane `t'` wants register `r` of lane `t`, where
//!
//! ```text
//! r = Rr r' + Rt t'        t = Tr r' + Tt t'
//! ```
//!
//! The outputs are renamed by the lane (`r1 = r' + G t'`), each of them is shuffled (`t = A t' + Tr r1`,
//! `A = Tt + Tr G`), and the inputs are renamed by the lane (`r = C r1 + F t`, `C = Rr + F Tr`). That is the conversion
//! if `C G = Rt + F Tt`. The renamings cost one select a register and rank of `F` and `G`; the shuffles are by XOR, and
//! those with `Tr r1 = 0` nothing, if `A = 1`. If the conversion is invertible, there is an `F` of rank `k`, the
//! dimension of the kernel of `Rr`, that makes `C` invertible: one that takes the kernel's images under `Tr` to what
//! the image of `Rr` lacks. All those are tried.

use crate::program::{Builder, LaneFlag, LaneMap, Register, Selector, moves};

use super::arrangement::{LANE_BITS, Shape};
use super::costs::Costs;
use super::gather::rank_one;
use super::model::Model;
use super::moves::Move;
use super::planner::Candidate;
use super::swizzle::sum;

const LANES: u32 = (1 << LANE_BITS) - 1;

/// The columns of a conversion without parts: a place is the lane, then the register.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Map {
    before: usize,
    lanes: [u32; LANE_BITS],
    registers: Vec<u32>,
}

/// Renamings around a shuffle.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layer {
    /// `F`, by lane bit.
    inputs: [usize; LANE_BITS],
    /// `G`, by lane bit.
    outputs: [usize; LANE_BITS],
    /// `A`.
    lanes: [u32; LANE_BITS],
}

fn apply(columns: &[usize], vector: u32) -> usize {
    let set = columns.iter().enumerate().filter(|(at, _)| vector >> at & 1 == 1);
    set.fold(0, |sum, (_, column)| sum ^ column)
}

/// Solves `columns x = vector`.
fn solve(columns: &[usize], vector: usize) -> Option<usize> {
    (0..1usize << columns.len()).find(|&x| apply(columns, x as u32) == vector)
}

fn rank(columns: &[usize]) -> u32 {
    let mut reduced: Vec<usize> = Vec::new();
    for &column in columns {
        let left = reduced.iter().fold(column, |left, &each| left.min(left ^ each));
        if left != 0 {
            reduced.push(left);
            reduced.sort_unstable_by(|one, other| other.cmp(one));
        }
    }
    reduced.len() as u32
}

const IDENTITY: [u32; LANE_BITS] = [1, 2, 4, 8, 16];

impl Map {
    fn register_rows(&self) -> Vec<usize> {
        self.registers.iter().map(|column| (column >> LANE_BITS) as usize).collect()
    }

    /// The layer with these renamings of the inputs, if there is one.
    fn layer(&self, inputs: [usize; LANE_BITS]) -> Option<Layer> {
        let mixed = |column: u32| (column >> LANE_BITS) as usize ^ apply(&inputs, column & LANES);
        let c: Vec<usize> = self.registers.iter().map(|&column| mixed(column)).collect();
        let mut outputs = [0; LANE_BITS];
        for (output, &column) in outputs.iter_mut().zip(&self.lanes) {
            *output = solve(&c, mixed(column))?;
        }
        let lanes = std::array::from_fn(|lane| (self.lanes[lane] ^ sum(&self.registers, outputs[lane] as u32)) & LANES);
        Some(Layer { inputs, outputs, lanes })
    }

    /// Selects and shuffles of a layer.
    fn price(&self, layer: &Layer, costs: &Costs) -> f64 {
        let (before, after) = ((1u64 << self.before) as f64, (1u64 << self.registers.len()) as f64);
        let (inputs, outputs) = (f64::from(rank(&layer.inputs)), f64::from(rank(&layer.outputs)));
        let moved: Vec<usize> = self.registers.iter().map(|column| (column & LANES) as usize).collect();
        let stay = if layer.lanes == IDENTITY { after / f64::from(1u32 << rank(&moved)) } else { 0.0 };
        // With single renamings and shuffles by XOR, what stays is selected once, not twice.
        let saved = if stay > 0.0 && inputs == 1.0 && outputs == 1.0 { stay.min(before / 2.0) } else { 0.0 };
        (inputs * before + outputs * after - saved) * costs.rates.select + (after - stay) * costs.rates.shuffle
    }

    /// Calls `found` with every renaming of the inputs to try.
    fn each_inputs(&self, found: &mut dyn FnMut([usize; LANE_BITS])) {
        let rows = self.register_rows();
        found([0; LANE_BITS]);
        let kernel: Vec<usize> = (1..1usize << rows.len()).filter(|&x| apply(&rows, x as u32) == 0).collect();
        let mut basis: Vec<usize> = Vec::new();
        for &vector in &kernel {
            let mut longer: Vec<usize> = basis.clone();
            longer.push(vector);
            if rank(&longer) as usize == longer.len() {
                basis = longer;
            }
        }
        // Where the kernel's vectors come from among the lanes.
        let images: Vec<u32> = basis.iter().map(|&vector| sum(&self.registers, vector as u32) & LANES).collect();
        let independent: Vec<usize> = images.iter().map(|&image| image as usize).collect();
        if rank(&independent) as usize == images.len() && images.len() <= 3 {
            // Functions of the lane that tell the images apart, and vectors that the registers lack, for each.
            let functions: Vec<Vec<u32>> = (0..images.len())
                .map(|at| {
                    let odd = |function: u32, image: u32| (function & image).count_ones() & 1 == 1;
                    (1..=LANES)
                        .filter(|&function| {
                            images.iter().enumerate().all(|(other, &image)| odd(function, image) == (other == at))
                        })
                        .collect()
                })
                .collect();
            let size = 1usize << self.before;
            let mut chosen: Vec<(u32, usize)> = Vec::new();
            let mut budget = 4096;
            extend(&functions, &rows, size, &mut chosen, &mut budget, found);
        }
        if !self.square() {
            for function in 1..=LANES {
                for vector in 1..1usize << self.before {
                    found(std::array::from_fn(|lane| if function >> lane & 1 == 1 { vector } else { 0 }));
                }
            }
        }
    }

    fn square(&self) -> bool {
        self.before == self.registers.len()
    }

    /// The cheapest layer.
    fn cheapest(&self, costs: &Costs) -> Option<(f64, Layer)> {
        let mut best: Option<(f64, Layer)> = None;
        self.each_inputs(&mut |inputs| {
            if let Some(layer) = self.layer(inputs) {
                let price = self.price(&layer, costs);
                if best.as_ref().is_none_or(|best| price < best.0) {
                    best = Some((price, layer));
                }
            }
        });
        best
    }

    /// The conversion that remains when a lane bit and a register bit of the place before have changed places.
    fn exchanged_before(&self, lane: usize, register: usize) -> Self {
        let swap = |column: u32| {
            let differ = (column >> lane ^ column >> (LANE_BITS + register)) & 1;
            column ^ (differ << lane | differ << (LANE_BITS + register))
        };
        let registers = self.registers.iter().map(|&column| swap(column)).collect();
        Self { before: self.before, lanes: self.lanes.map(swap), registers }
    }

    /// The conversion that remains when a lane bit and a register bit of the place afterwards change places in the end.
    fn exchanged_after(&self, lane: usize, register: usize) -> Self {
        let mut map = self.clone();
        std::mem::swap(&mut map.lanes[lane], &mut map.registers[register]);
        map
    }
}

/// Takes for each list of functions one, with a vector that the span of `rows` and of the vectors so far lacks.
fn extend(
    functions: &[Vec<u32>],
    rows: &[usize],
    size: usize,
    chosen: &mut Vec<(u32, usize)>,
    budget: &mut usize,
    found: &mut dyn FnMut([usize; LANE_BITS]),
) {
    let Some(list) = functions.get(chosen.len()) else {
        *budget = budget.saturating_sub(1);
        return found(std::array::from_fn(|lane| {
            let set = chosen.iter().filter(|each| each.0 >> lane & 1 == 1);
            set.fold(0, |sum, each| sum ^ each.1)
        }));
    };
    let spanned: Vec<usize> = rows.iter().copied().chain(chosen.iter().map(|each| each.1)).collect();
    for vector in (1..size).filter(|&vector| solve(&spanned, vector).is_none()) {
        for &function in list {
            if *budget == 0 {
                return;
            }
            chosen.push((function, vector));
            extend(functions, rows, size, chosen, budget, found);
            chosen.pop();
        }
    }
}

/// A warp transpose before or after the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    None,
    Before(usize, usize),
    After(usize, usize),
}

/// The cheapest layer of renamings and shuffles, with one warp transpose before or after it and local transposes at
/// both ends if that is cheaper or needed.
pub(super) fn linear(model: &Model, costs: &Costs) -> Option<Candidate> {
    let (before, after) = (model.before, model.after);
    let mut best: Option<Candidate> = None;
    let choices = |shape: Shape| {
        let all = (0..shape.parts).flat_map(move |part| (0..shape.registers).map(move |register| (part, register)));
        std::iter::once(None).chain(all.map(Some)).collect::<Vec<_>>()
    };
    for pre in choices(before) {
        for post in choices(after) {
            let Some((map, parts)) = without_parts(model, pre, post) else { continue };
            let mut extras = vec![Extra::None];
            for lane in 0..LANE_BITS {
                extras.extend((0..before.registers).map(|register| Extra::Before(lane, register)));
                extras.extend((0..after.registers).map(|register| Extra::After(lane, register)));
            }
            let pair = 0.5 * costs.rates.shuffle + 1.5 * costs.rates.select;
            let layers = extras.into_iter().filter_map(|extra| {
                let (map, price) = match extra {
                    Extra::None => (map.clone(), 0.0),
                    Extra::Before(lane, register) => {
                        (map.exchanged_before(lane, register), pair * before.register_count() as f64)
                    }
                    Extra::After(lane, register) => {
                        (map.exchanged_after(lane, register), pair * after.register_count() as f64)
                    }
                };
                let (least, layer) = map.cheapest(costs)?;
                Some((least + price, extra, map, layer))
            });
            let Some((_, extra, map, layer)) = layers.min_by(|one, other| one.0.total_cmp(&other.0)) else { continue };
            let candidate = emit(model, pre, post, extra, &map, &layer, &parts, costs);
            if best.as_ref().is_none_or(|best| candidate.cost < best.cost) {
                best = Some(candidate);
            }
        }
    }
    best
}

/// What is added to a part's index: for each register of the place afterwards a constant, and a sum of flags of the
/// lane.
struct Parts {
    registers: Vec<usize>,
    lanes: Vec<(LaneFlag, usize)>,
}

/// The conversion between whole registers, if after the local transposes each part keeps its place but for a sum.
fn without_parts(model: &Model, pre: Option<(usize, usize)>, post: Option<(usize, usize)>) -> Option<(Map, Parts)> {
    let (before, after) = (model.before, model.after);
    let parts = before.parts;
    let mut columns = model.columns.clone();
    if let Some((part, register)) = post {
        columns.swap(part, after.first_register() + register);
    }
    if let Some((part, register)) = pre {
        let register = before.first_register() + register;
        for column in &mut columns {
            let differ = (*column >> part ^ *column >> register) & 1;
            *column ^= differ << part | differ << register;
        }
    }
    if (0..parts).any(|part| columns[part] != 1 << part) {
        return None;
    }
    let lanes: [u32; LANE_BITS] = std::array::from_fn(|lane| columns[parts + lane]);
    let mask = (1 << parts) - 1;
    let registers: Vec<u32> = columns[after.first_register()..].to_vec();
    let sums = Parts {
        registers: registers.iter().map(|&column| (column & mask) as usize).collect(),
        lanes: rank_one(&lanes.map(|column| (column & mask) as usize)),
    };
    let map = Map {
        before: before.registers,
        lanes: lanes.map(|column| column >> parts),
        registers: registers.into_iter().map(|column| column >> parts).collect(),
    };
    Some((map, sums))
}

#[allow(clippy::too_many_arguments, reason = "the parts of one conversion, all of different types")]
fn emit(
    model: &Model,
    pre: Option<(usize, usize)>,
    post: Option<(usize, usize)>,
    extra: Extra,
    map: &Map,
    layer: &Layer,
    parts: &Parts,
    costs: &Costs,
) -> Candidate {
    let (before, after) = (model.before, model.after);
    let mut builder = Builder::new(before.register_count());
    let mut registers = builder.inputs();
    let mut steps = Vec::new();
    let transpose = |builder: &mut Builder, registers: &mut [Register], which: Option<(usize, usize)>| {
        if let Some((part, register)) = which
            && let Some(bit) = moves::byte_bit(before.parts, part)
        {
            moves::local_transpose(builder, registers, bit, register as u32);
        }
        which.map(|(part, register)| Move::Transpose { part, register })
    };
    // The offset, in terms of the places after the first transposes.
    let mut offset = model.offset;
    let swap = |value: &mut u32, one: usize, other: usize| {
        let differ = (*value >> one ^ *value >> other) & 1;
        *value ^= differ << one | differ << other;
    };
    steps.extend(transpose(&mut builder, &mut registers, pre));
    if let Some((part, register)) = pre {
        swap(&mut offset, part, before.first_register() + register);
    }
    if let Extra::Before(lane, register) = extra {
        moves::warp_transpose(&mut builder, &mut registers, lane as u32, register as u32);
        swap(&mut offset, before.parts + lane, before.first_register() + register);
        steps.push(Move::WarpTranspose { lane, register });
    }
    for (flag, vector) in rank_one(&layer.inputs) {
        moves::select_xor(&mut builder, &mut registers, flag, vector);
    }
    let lane_offset = offset >> before.parts & LANES;
    let register_offset = (offset >> before.first_register()) as usize;
    let mixed = |column: u32| (column >> LANE_BITS) as usize ^ apply(&layer.inputs, column & LANES);
    let c: Vec<usize> = map.registers.iter().map(|&column| mixed(column)).collect();
    // Lane t + o instead of t: the inputs were renamed by F (t + o).
    let constant = register_offset ^ apply(&layer.inputs, lane_offset);
    let bytes = 4u16 >> before.parts;
    let mask = (1u32 << before.parts) - 1;
    let mut renamed: Vec<Register> = (0..after.register_count())
        .map(|index| {
            let source = registers[apply(&c, index as u32) ^ constant];
            let lane = sum(&map.registers, index as u32) & LANES ^ lane_offset;
            builder.shuffle_index(source, LaneMap { columns: layer.lanes, offset: lane })
        })
        .collect();
    for (flag, vector) in rank_one(&layer.outputs) {
        moves::select_xor(&mut builder, &mut renamed, flag, vector);
    }
    if let Extra::After(lane, register) = extra {
        moves::warp_transpose(&mut builder, &mut renamed, lane as u32, register as u32);
    }
    // The parts' sums: constants of the register, flags of the lane.
    let own = (offset & mask) as usize;
    let mut permutes = 0;
    for (index, register) in renamed.iter_mut().enumerate() {
        let fixed = (own ^ apply(&parts.registers, index as u32)) as u16 * bytes;
        let turn = |by: u16| (0..4u16).fold(0, |packed, byte| packed | (byte ^ by) << (4 * byte));
        let before = *register;
        *register = builder.permute(*register, *register, Selector::Constant(turn(fixed)));
        for &(flag, vector) in &parts.lanes {
            let one = turn(vector as u16 * bytes);
            *register = builder.permute(*register, *register, Selector::ByLane { flag, zero: 0x3210, one });
        }
        permutes += usize::from(before != *register);
    }
    steps.push(Move::Linear {
        before: rank(&layer.inputs) as usize,
        mapped: layer.lanes != IDENTITY,
        after: rank(&layer.outputs) as usize,
        permutes: permutes.div_ceil(after.register_count().max(1)),
    });
    if let Extra::After(lane, register) = extra {
        steps.push(Move::WarpTranspose { lane, register });
    }
    steps.extend(transpose(&mut builder, &mut renamed, post));
    Candidate::new(steps, builder.finish(&renamed), costs)
}
