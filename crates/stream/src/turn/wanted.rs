//! What is in a block: flags of each rank's frames and antennas, and what follows of those of all ranks.
//!
//! A rank's flags are bytes `[frame][antenna]`: absent, present, or 0 for a frame that its F-engine did not give.

use std::ops::Range;

use fringes_types::VoltageSample;
use ndarray::{Array2, s};

use super::TurnPlan;
use super::block::{ABSENT, Block, PRESENT, check, kept};
use crate::StreamError;
use crate::fx::FrameData;

/// What a rank correlates of a block: its frames, and flags of all antennas.
pub(super) struct Wanted {
    /// Frames of the block, from the first that any F-engine gave to the last one before the stop.
    pub(super) kept: Range<usize>,
    pub(super) presence: Array2<bool>,
}

/// Flags that every rank gives for a block: as many as the rank with most antennas has.
fn most_flags(plan: &TurnPlan) -> usize {
    let most = (0..plan.ranks()).map(|rank| plan.antennas_of(rank).len()).max().unwrap_or(0);
    plan.frames_per_block * most
}

/// The flags of a rank's block, `[frame][antenna]`, and zeros behind them; all zeros if it has none.
pub(super) fn flags<V: VoltageSample>(
    block: Option<&Block<V>>,
    plan: &TurnPlan,
    rank: usize,
) -> Result<Vec<u8>, StreamError> {
    let (mut flags, antennas) = (vec![0; most_flags(plan)], plan.antennas_of(rank).len());
    for (_, part) in block.iter().flat_map(|block| block.parts(rank)) {
        match &*part.frames {
            FrameData::Host(heaps) => check(heaps, plan, antennas)?,
            FrameData::Pinned(heaps) => check(heaps, plan, antennas)?,
            FrameData::Device(heaps) => check(heaps, plan, antennas)?,
        }
        let given = part.frames.presence();
        for (frame, antenna) in (0..part.count).flat_map(|frame| (0..antennas).map(move |antenna| (frame, antenna))) {
            let is_present = given.is_none_or(|flags| flags[(part.from + frame, antenna)]);
            flags[(part.at + frame) * antennas + antenna] = if is_present { PRESENT } else { ABSENT };
        }
    }
    Ok(flags)
}

/// What the flags of all ranks say of a block: the same on all of them. `None` if nothing is wanted.
pub(super) fn wanted(flags: &[u8], plan: &TurnPlan, block: (u64, u64)) -> Option<Wanted> {
    let frames = plan.frames_per_block;
    let (mut given, mut presence) = (vec![false; frames], Array2::from_elem((frames, plan.inputs.antennas()), false));
    for (rank, flags) in flags.chunks_exact(most_flags(plan).max(1)).enumerate() {
        let antennas = plan.antennas_of(rank);
        let flags = flags.iter().take(frames * antennas.len());
        for (place, &flag) in flags.enumerate().filter(|(_, flag)| **flag != 0) {
            let (frame, antenna) = (place / antennas.len(), antennas.start + place % antennas.len());
            given[frame] = true;
            presence[(frame, antenna)] = flag == PRESENT;
        }
    }
    let kept = kept(&given, block, plan)?;
    let presence = presence.slice(s![kept.clone(), ..]).to_owned();
    Some(Wanted { kept, presence })
}

#[cfg(test)]
mod tests {
    use fringes_types::Inputs;

    use super::*;

    #[test]
    fn flags_of_uneven_ranks_come_to_their_antennas() {
        let plan = TurnPlan::new(3, Inputs::new(4, 2).unwrap(), 8, 16, 4).unwrap().with_frames_per_block(3).unwrap();
        let plan = plan.with_antenna_shares(vec![0..1, 1..4, 4..4]).unwrap();
        let most = most_flags(&plan);
        assert_eq!(most, 9);
        let mut all = vec![0; 3 * most];
        // Antenna 0 of frame 1; antennas 1 to 3 of frames 1 and 2, one of them given and absent.
        all[1] = PRESENT;
        all[most + 3..most + 9].copy_from_slice(&[PRESENT, ABSENT, PRESENT, PRESENT, PRESENT, PRESENT]);
        let wanted = wanted(&all, &plan, (5, u64::MAX)).unwrap();
        assert_eq!(wanted.kept, 1..3);
        let expected = ndarray::array![[true, true, false, true], [false, true, true, true]];
        assert_eq!(wanted.presence, expected);
        // Frame 2 of block 5 is the 17th, of 64 samples each; nothing of a block that nobody has.
        let until = super::wanted(&all, &plan, (5, 17 * 64)).unwrap();
        assert_eq!((until.kept, until.presence), (1..2, expected.slice(s![..1, ..]).to_owned()));
        assert!(super::wanted(&vec![0; 3 * most], &plan, (5, u64::MAX)).is_none());
        assert!(super::wanted(&all, &plan, (5, 16 * 64)).is_none());
    }
}
