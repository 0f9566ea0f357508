//! Blocks of frames: put together from what an F-engine gives, packed for other ranks, placed as they come from them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use fringes_types::{Frequencies, Heaps, SpectrumClock, VoltageSample};
use ndarray::{Array2, Array5, s};

use super::TurnPlan;
use crate::StreamError;
use crate::fx::FrameData;

/// Some frames of a block.
pub(super) struct Part<V: VoltageSample> {
    pub(super) frames: Arc<FrameData<V>>,
    /// Which of them.
    pub(super) from: usize,
    pub(super) count: usize,
    /// Their place in the block.
    pub(super) at: usize,
}

/// The frames of a rank in a block; what is in none of its parts did not come.
pub(super) struct Block<V: VoltageSample> {
    pub(super) number: u64,
    parts: Vec<Part<V>>,
    /// When the chunk came that completed it.
    pub(super) arrived: Instant,
}

impl<V: VoltageSample> Block<V> {
    /// Its pieces of frames, with a rank.
    pub(super) fn parts(&self, rank: usize) -> impl Iterator<Item = (usize, &Part<V>)> {
        self.parts.iter().map(move |part| (rank, part))
    }

    /// Rate and frequencies of its frames.
    pub(super) fn axes(&self) -> (f64, Frequencies) {
        match self.parts.first().map(|part| &*part.frames) {
            Some(frames) => (frames.clock().sample_rate_hz, frames.frequencies()),
            None => (SpectrumClock::UNSET_SAMPLE_RATE_HZ, Frequencies::default()),
        }
    }
}

/// Sorts frames into blocks.
pub(super) struct Assembler<V: VoltageSample> {
    frame_samples: u64,
    frames: u64,
    open: Option<Block<V>>,
    ready: VecDeque<Block<V>>,
}

impl<V: VoltageSample> Assembler<V> {
    pub(super) fn new(plan: &TurnPlan) -> Self {
        let (frame_samples, frames) = (plan.frame_samples(), plan.frames_per_block as u64);
        Self { frame_samples, frames, open: None, ready: VecDeque::new() }
    }

    /// Takes frames, which are behind all before them.
    pub(super) fn push(&mut self, frames: &Arc<FrameData<V>>, arrived: Instant) -> Result<(), StreamError> {
        let first = frames.clock().first_sample;
        if first % self.frame_samples != 0 {
            let expected = format!("frames that begin at multiples of {} samples", self.frame_samples);
            return Err(StreamError::Input { expected, actual: format!("one at {first}") });
        }
        let (mut from, all) = (0, frames.batches());
        while from < all {
            let frame = first / self.frame_samples + from as u64;
            let (number, at) = (frame / self.frames, (frame % self.frames) as usize);
            let count = (all - from).min(self.frames as usize - at);
            if self.open.as_ref().is_some_and(|open| open.number != number) {
                self.close();
            }
            let open = self.open.get_or_insert_with(|| Block { number, parts: Vec::new(), arrived });
            open.arrived = arrived;
            open.parts.push(Part { frames: frames.clone(), from, count, at });
            if at + count == self.frames as usize {
                self.close();
            }
            from += count;
        }
        Ok(())
    }

    /// Drops the block under way.
    pub(super) fn drop_open(&mut self) {
        self.open = None;
    }

    /// Gives the block under way up as it is.
    pub(super) fn close(&mut self) {
        self.ready.extend(self.open.take());
    }

    /// The first block that is done.
    pub(super) fn first(&self) -> Option<&Block<V>> {
        self.ready.front()
    }

    /// Takes it.
    pub(super) fn take(&mut self) -> Option<Block<V>> {
        self.ready.pop_front()
    }
}

/// Flags of heaps: those that were given, but are absent; those that are there. What was not given is 0.
pub(super) const ABSENT: u8 = 1;
pub(super) const PRESENT: u8 = 2;

/// Packs a rank's block for all ranks: for each its flags `[frame][antenna]`, then voltages
/// `[frame][antenna][channel of that rank][spectrum][pol]`.
pub(super) fn pack<V: VoltageSample>(
    block: &Block<V>,
    plan: &TurnPlan,
    rank: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), StreamError> {
    let (antennas, frames, values) = (plan.antennas_of(rank).len(), plan.frames_per_block, plan.frame_values());
    let sizes: Vec<usize> = (0..plan.ranks()).map(|to| plan.block_bytes(rank, to, size_of::<V>())).collect();
    // Of frames that did not come the flags are zero, and the bytes whatever they were.
    bytes.resize(sizes.iter().sum(), 0);
    let mut place = 0;
    for &size in sizes.iter().filter(|&&size| size > 0) {
        bytes[place..place + frames * antennas].fill(0);
        place += size;
    }
    for part in &block.parts {
        let heaps = part.frames.on_host().map_err(|error| StreamError::at(crate::Stage::CornerTurn, error))?;
        check(&heaps, plan, antennas)?;
        let (data, flags) = (heaps.data(), heaps.presence());
        let standard = data.as_slice();
        let mut place = 0;
        for (to, &size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            let channels = plan.channels_of(to);
            let heap = channels.len() * values * size_of::<V>();
            let (flagged, voltages) = bytes[place..place + size].split_at_mut(frames * antennas);
            place += size;
            for frame in 0..part.count {
                for antenna in 0..antennas {
                    let (source, target) = (part.from + frame, (part.at + frame) * antennas + antenna);
                    if flags.is_some_and(|flags| !flags[(source, antenna)]) {
                        flagged[target] = ABSENT;
                        continue;
                    }
                    flagged[target] = PRESENT;
                    let into = &mut voltages[target * heap..(target + 1) * heap];
                    if let Some(all) = standard {
                        let first = ((source * antennas + antenna) * plan.channels + channels.start) * values;
                        into.copy_from_slice(bytemuck::cast_slice(&all[first..first + channels.len() * values]));
                    } else {
                        let rows = data.slice(s![source, antenna, channels.start..channels.end, .., ..]);
                        for (into, value) in into.chunks_exact_mut(size_of::<V>()).zip(rows) {
                            into.copy_from_slice(bytemuck::bytes_of(value));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Checks the shape of a rank's frames.
pub(super) fn check<V: VoltageSample, A>(
    heaps: &Heaps<V, A>,
    plan: &TurnPlan,
    antennas: usize,
) -> Result<(), StreamError> {
    let expected = [antennas, plan.channels, plan.spectra_per_frame, plan.inputs.pols()];
    let actual = [heaps.inputs().antennas(), heaps.channels(), heaps.spectra_per_heap(), heaps.inputs().pols()];
    let spacing = heaps.clock().samples_between_spectra;
    if expected == actual && spacing == plan.samples_between_spectra {
        return Ok(());
    }
    let say = |[antennas, channels, spectra, pols]: [usize; 4], spacing: u64| {
        format!("frames [{antennas}][{channels}][{spectra}][{pols}] of spectra {spacing} samples apart")
    };
    let (expected, actual) = (say(expected, plan.samples_between_spectra), say(actual, spacing));
    Err(StreamError::Input { expected, actual })
}

/// The bytes that a rank receives in a block: of each other rank that has it.
pub(super) fn received_sizes<V: VoltageSample>(plan: &TurnPlan, rank: usize, members: &[bool]) -> Vec<usize> {
    let size = |(from, &member): (usize, &bool)| if member { plan.block_bytes(from, rank, size_of::<V>()) } else { 0 };
    members.iter().enumerate().map(size).collect()
}

/// Rate and frequencies of the frames of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axes {
    pub(super) sample_rate_hz: f64,
    pub(super) frequencies: Frequencies,
}

/// Places the bytes of all ranks: heaps of all antennas and this rank's channels, from the first frame that any
/// F-engine gave to the last one that begins before sample `until`; `None` if there is none.
pub(super) fn place<V: VoltageSample>(
    (number, until): (u64, u64),
    plan: &TurnPlan,
    rank: usize,
    axes: Axes,
    bytes: &[u8],
    sizes: &[usize],
) -> Result<Option<Heaps<V>>, StreamError> {
    let (frames, values, channels) = (plan.frames_per_block, plan.frame_values(), plan.channels_of(rank));
    let heap = channels.len() * values * size_of::<V>();
    let mut presence = Array2::from_elem((frames, plan.inputs.antennas()), false);
    let mut given = vec![false; frames];
    let mut blocks = Vec::with_capacity(sizes.len());
    let mut first = 0;
    for (from, &size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
        let antennas = plan.antennas_of(from);
        let (flags, voltages) = bytes[first..first + size].split_at(frames * antennas.len());
        first += size;
        for (place, &flag) in flags.iter().enumerate() {
            presence[(place / antennas.len(), antennas.start + place % antennas.len())] = flag == PRESENT;
            given[place / antennas.len()] |= flag != 0;
        }
        blocks.push((antennas, voltages));
    }
    let Some(kept) = kept(&given, (number, until), plan) else { return Ok(None) };
    let begin = kept.start;
    let shape = (kept.len(), plan.inputs.antennas(), channels.len(), plan.spectra_per_frame, plan.inputs.pols());
    let mut data = Array5::from_elem(shape, V::zeroed());
    if let Some(all) = data.as_slice_mut() {
        let all: &mut [u8] = bytemuck::cast_slice_mut(all);
        for (antennas, voltages) in blocks {
            for frame in kept.clone() {
                let row = |antenna: usize| (antenna * heap)..((antenna + 1) * heap);
                if antennas.clone().all(|antenna| presence[(frame, antenna)]) {
                    let target = ((frame - begin) * plan.inputs.antennas() + antennas.start) * heap;
                    let source = frame * antennas.len() * heap;
                    let bytes = antennas.len() * heap;
                    all[target..target + bytes].copy_from_slice(&voltages[source..source + bytes]);
                    continue;
                }
                for (place, antenna) in antennas.clone().enumerate().filter(|&(_, of)| presence[(frame, of)]) {
                    let target = row((frame - begin) * plan.inputs.antennas() + antenna);
                    all[target].copy_from_slice(&voltages[row(frame * antennas.len() + place)]);
                }
            }
        }
    }
    let presence = presence.slice(s![kept, ..]).to_owned();
    Ok(Some(with_axes(Heaps::from_checked(data)?, plan, rank, axes, plan.first_frame(number, begin), presence)?))
}

/// Frames of a block from the first that any F-engine gave to the last one that begins before sample `until`.
pub(super) fn kept(given: &[bool], (number, until): (u64, u64), plan: &TurnPlan) -> Option<Range<usize>> {
    let left = until.div_ceil(plan.frame_samples()).saturating_sub(plan.first_frame(number, 0));
    let given = &given[..given.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
    let begin = given.iter().position(|&given| given)?;
    Some(begin..given.iter().rposition(|&given| given)? + 1)
}

/// Heaps of a rank's channels with their axes; flags only where something is absent.
pub(super) fn with_axes<V: VoltageSample, A>(
    heaps: Heaps<V, A>,
    plan: &TurnPlan,
    rank: usize,
    axes: Axes,
    first_frame: u64,
    presence: Array2<bool>,
) -> Result<Heaps<V, A>, StreamError> {
    let Frequencies { first_hz, step_hz } = axes.frequencies;
    let first_hz = first_hz + step_hz * plan.channels_of(rank).start as f64;
    let clock = SpectrumClock {
        first_sample: first_frame.saturating_mul(plan.frame_samples()),
        samples_between_spectra: plan.samples_between_spectra,
        sample_rate_hz: axes.sample_rate_hz,
    };
    let heaps = heaps.with_frequencies(Frequencies { first_hz, step_hz })?.with_clock(clock)?;
    Ok(if presence.iter().all(|&flag| flag) { heaps } else { heaps.with_presence(presence)? })
}
