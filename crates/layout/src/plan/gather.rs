//! The conversion that there always is: each register is put together from the registers that its lanes want, shuffled
//! whole.

use crate::program::{Builder, LaneFlag, LaneMap, Register, Selector};

use super::arrangement::LANE_BITS;
use super::costs::Costs;
use super::model::Model;
use super::moves::Move;
use super::planner::Candidate;

/// For each part of an output register the lanes' source lanes, one shuffle for each register that any lane wants,
/// selects between those, and permutes.
///
/// Two parts may be fetched the other way round where a flag of the lane is set, so that a lane's own register needs no
/// shuffle: each flag is tried.
pub(super) fn gather(model: &Model, costs: &Costs) -> Option<Candidate> {
    let flags = if model.before.parts == 1 { 1u8 << LANE_BITS } else { 1 };
    (0..flags)
        .map(|mask| gather_crossed(model, LaneFlag { mask }, costs))
        .min_by(|one, other| one.cost.total_cmp(&other.cost))
}

/// The gather in which fetch `s` is of part `s`, or of part `1 - s` where the flag is set.
fn gather_crossed(model: &Model, cross: LaneFlag, costs: &Costs) -> Candidate {
    let (before, after) = (model.before, model.after);
    let parts = before.parts;
    let (part_mask, lane_mask) = ((1 << parts) - 1, (1 << LANE_BITS) - 1);
    let lane_of = |place: usize| (place >> parts & lane_mask) as u32;
    let register_of = |place: usize| place >> before.first_register();
    let own: [usize; LANE_BITS] = std::array::from_fn(|lane| model.columns[parts + lane] as usize);
    let crossed: [usize; LANE_BITS] =
        std::array::from_fn(|lane| own[lane] ^ if cross.mask >> lane & 1 == 1 { model.columns[0] as usize } else { 0 });
    // Which lanes want another register, as a sum of flags times changes of the register's index; which want another
    // part.
    let flags = rank_one(&crossed.map(register_of));
    let turned: Vec<(LaneFlag, usize)> = rank_one(&own.map(|column| column & part_mask));
    let mut builder = Builder::new(before.register_count());
    let inputs = builder.inputs();
    let bytes = 4usize >> parts;
    let outputs: Vec<Register> = (0..after.register_count())
        .map(|register| {
            let (mut fetched, mut from) = (Vec::new(), Vec::new());
            for part in 0..1usize << parts {
                let place = model.source(part | register << after.first_register());
                let map = LaneMap { columns: crossed.map(lane_of), offset: lane_of(place) };
                fetched.push(choose(&mut builder, &inputs, &flags, register_of(place), map));
                from.push(place & part_mask);
            }
            if parts == 1 && turned.iter().all(|each| cross.mask == 0 || each.0 == cross) {
                // One permute of both fetches.
                let flag = turned.first().map_or(cross, |each| each.0);
                let selector = |set: usize| {
                    let other = usize::from(cross.mask != 0) * set;
                    let turn = usize::from(!turned.is_empty()) * set;
                    bytewise(|byte| {
                        let part = byte / bytes;
                        4 * (part ^ other) + (from[part] ^ turn) * bytes + byte % bytes
                    })
                };
                let selector = Selector::ByLane { flag, zero: selector(0), one: selector(1) };
                return builder.permute(fetched[0], fetched[1], selector);
            }
            let mut whole: Option<Register> = None;
            for part in 0..1usize << parts {
                let mut wanted = fetched[part];
                if cross.mask != 0 {
                    wanted = builder.select(cross, wanted, fetched[1 - part]);
                }
                for &(flag, parts) in &turned {
                    let one = bytewise(|byte| byte ^ (parts * bytes));
                    wanted = builder.permute(wanted, wanted, Selector::ByLane { flag, zero: 0x3210, one });
                }
                let into = |byte: usize| byte / bytes == part;
                let taken = |byte: usize| from[part] * bytes + byte % bytes;
                whole = Some(match whole {
                    None => {
                        let selector = bytewise(|byte| if into(byte) { taken(byte) } else { byte });
                        builder.permute(wanted, wanted, Selector::Constant(selector))
                    }
                    Some(whole) => {
                        let selector = bytewise(|byte| if into(byte) { 4 + taken(byte) } else { byte });
                        builder.permute(whole, wanted, Selector::Constant(selector))
                    }
                });
            }
            whole.unwrap_or(0)
        })
        .collect();
    Candidate::new(vec![Move::Gather], builder.finish(&outputs), costs)
}

/// The register whose index is `base` and, for each flag that is set, the flag's change of it, shuffled.
fn choose(
    builder: &mut Builder,
    inputs: &[Register],
    flags: &[(LaneFlag, usize)],
    base: usize,
    map: LaneMap,
) -> Register {
    match flags.split_first() {
        None => builder.shuffle_index(inputs[base], map),
        Some((&(flag, change), rest)) => {
            let zero = choose(builder, inputs, rest, base, map);
            let one = choose(builder, inputs, rest, base ^ change, map);
            builder.select(flag, zero, one)
        }
    }
}

fn bytewise(source: impl Fn(usize) -> usize) -> u16 {
    (0..4).fold(0, |selector, byte| selector | (source(byte) as u16) << (4 * byte))
}

/// A linear map of the lanes as a sum of flags times vectors, as few as there can be: the flags are functions of the
/// lane, the vectors independent.
pub(super) fn rank_one(columns: &[usize; LANE_BITS]) -> Vec<(LaneFlag, usize)> {
    // A basis of the columns; each flag takes the lane bits whose column has the vector in it.
    let mut basis: Vec<usize> = Vec::new();
    let mut flags: Vec<u8> = Vec::new();
    for (lane, &column) in columns.iter().enumerate() {
        let subset = (0..1usize << basis.len()).find(|&subset| {
            column == (0..basis.len()).filter(|at| subset >> at & 1 == 1).fold(0, |sum, at| sum ^ basis[at])
        });
        let subset = subset.unwrap_or_else(|| {
            basis.push(column);
            flags.push(0);
            1 << (basis.len() - 1)
        });
        for (at, flag) in flags.iter_mut().enumerate() {
            *flag |= ((subset >> at & 1) as u8) << lane;
        }
    }
    flags.into_iter().map(|mask| LaneFlag { mask }).zip(basis).collect()
}
