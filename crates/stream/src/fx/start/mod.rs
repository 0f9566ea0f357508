//! What starts an instrument: its plan is checked, its stages made, each with a thread of its own.

mod checks;
mod correlator;
mod frame_queues;
mod front;
mod sinks;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use fringes_beamformer::TiedArrayDetector;
use fringes_correlator::DumpSchedule;

use self::correlator::Correlation;
use self::frame_queues::{FrameQueues, Takers};
use self::front::{FrontInput, RingWay, SourceOutput};
use self::sinks::Sinks;
use super::beam_stage::BeamStage;
use super::controls::Controls;
use super::delivery::Delivery;
use super::f_stage::Front;
use super::frames::StreamSample;
use super::masking::Masking;
use super::report::Counters;
use super::running::{Running, Thread};
use super::stages::{FromFEngine, Shared};
use super::{FrontPlan, Fx};
use crate::queue::{QueueIn, queue};
use crate::ring::Ring;
use crate::source::Source;
use crate::turn::{CornerTurn, TurnIn, TurnThreads};
use crate::{Stage, StreamError};

/// Longest gaps, in samples.
#[derive(Debug, Clone, Copy)]
struct Gaps {
    /// Of samples; longer is a jump of the clock.
    samples: u64,
    /// Between frames.
    frames: u64,
}

impl Gaps {
    /// The shortest dump has such a length; frames are of an F-engine with such a lead, or heaps.
    fn new(longest: Option<u64>, shortest_dump: Option<u64>, lead: u64, frame: Option<[u64; 2]>) -> Self {
        let samples = longest.or(shortest_dump.map(|dump| dump.saturating_mul(16))).unwrap_or(1 << 32);
        // A gap between frames may be longer than that between samples by a window and two frames.
        let more = frame.map_or(0, |[stride, spectra]| lead.saturating_add(2 * stride * spectra));
        Self { samples, frames: samples.saturating_add(more) }
    }

    /// Sums' own limit, in dumps of so many samples, which is never reached: ours is looked at before.
    fn empty_dumps(self, dump: u64) -> u64 {
        self.frames / dump.max(1) + 2
    }
}

impl<V: StreamSample> Fx<V> {
    /// Starts an instrument on a source, or without one behind a corner turn.
    pub(super) fn start_with(self, source: Option<Box<dyn Source>>) -> Result<Running<V>, StreamError> {
        let backend = &self.backend;
        checks::has_source(source.is_some(), matches!(self.front, FrontPlan::Turned))?;
        let (front, made) = front::make::<V>(self.front, backend, self.resume_after)?;
        checks::inputs(source.as_deref(), made.inputs)?;
        // What correlator and beams get.
        let axes = made.behind(self.turn.as_ref())?;
        let heaps = matches!(front, Some(Front::Heaps(_)));
        let part = front::part(self.turn.as_ref(), axes.inputs, axes.channels, heaps);
        let Some(inputs) = axes.inputs else {
            let (what, expected) = ("instrument", "an F-engine, heaps or a corner turn".into());
            return Err(StreamError::Plan { what, expected, actual: "none".into() });
        };
        let mut planned = self.cadences.clone();
        planned.extend(self.binned.as_ref().map(|(schedule, _)| (*schedule, None)));
        checks::plan(&planned, self.beams.is_some() || self.turn.is_some(), inputs, axes.frame)?;
        let per_frame = planned.first().map(|(schedule, _)| schedule.spectra_per_heap());
        let per_frame = per_frame.or(axes.frame.map(|[_, spectra]| spectra)).unwrap_or(1) as usize;
        checks::blocks(self.masker.as_ref().map(|(_, spectra)| *spectra), per_frame)?;
        let lengths: Vec<u64> = planned.iter().map(|(schedule, _)| schedule.timestamp_difference()).collect();
        checks::spans(self.turns.as_ref(), &lengths)?;
        let gaps = Gaps::new(self.longest_gap, lengths.iter().copied().min(), axes.lead, axes.frame);
        let (schedules, subsets): (Vec<DumpSchedule>, Vec<_>) = self.cadences.into_iter().unzip();
        let from = self.resume_after.zip(schedules.first());
        let from = from.map(|(dump, schedule)| dump.saturating_add(schedule.timestamp_difference()));

        let mut sinks = Sinks::new(self.sinks, self.depth);
        let (to_f, f_input, f_deepest) = queue("f-engine".into(), self.depth);
        let (to_turn, turn_input, turn_deepest) = queue("corner turn".into(), self.depth);
        let (returned_in, returned_out) = crossbeam_channel::bounded(self.depth);
        let takers = Takers {
            correlator: axes.channels > 0 && !planned.is_empty(),
            beams: axes.channels > 0 && self.beams.is_some(),
            masks_beams: self.masks_beams,
        };
        let mut frames = FrameQueues::<V>::new(takers, self.depth);
        let [x_deepest, beam_deepest] = frames.deepest.clone();
        let deepest = vec![
            ("f-engine", f_deepest),
            ("corner turn", turn_deepest),
            ("correlator", x_deepest),
            ("beamformer", beam_deepest),
        ];
        let controls = Controls::default();
        for change in &self.changes {
            part.change(change, &controls)?;
        }
        let shared = Arc::new(Shared {
            counters: Counters::new(std::mem::take(&mut sinks.counters), deepest),
            controls,
            part,
            stop_at_dump: AtomicBool::new(false),
            stop_now: AtomicBool::new(false),
            lead: AtomicU64::new(axes.lead),
            error: Mutex::new(None),
            to_tell: Mutex::default(),
            ranks: self.turn.as_ref().map_or(1, |turn| turn.plan().ranks()),
            others_next_sample: AtomicU64::new(0),
            turns: self.turns,
        });
        let correlation = Correlation::new(backend, &schedules, self.binned, (inputs, axes.channels), gaps)?;
        let detector = match self.beams {
            Some((set, detection)) if takers.beams => {
                Some(TiedArrayDetector::<V>::new(backend, set, inputs, detection)?)
            }
            _ => None,
        };
        let ring = Arc::new(Ring::new(self.ring_spectra));
        let ring_way = RingWay::new(front.as_ref(), self.ring_spectra)?;

        // Nothing fails from here on but the starting of threads.
        let mut threads = Vec::new();
        let sinks = sinks.start(&shared, &mut threads)?;
        let mut outputs = std::mem::take(&mut frames.outputs);
        let masking = |stage| Masking::new(self.masker, axes.channels, shared.clone(), stage);
        let [x_input, beam_input] = frames.into_inputs(masking);
        if let Some((correlation, input)) = correlation.zip(x_input) {
            let (sinks, shared_too, from) = (sinks.clone(), shared.clone(), from.unwrap_or(0));
            let delivery = Delivery { subsets, sinks, shared: shared_too, from };
            correlation.start(input, delivery, gaps.frames, &shared, &mut threads)?;
        }
        if let Some((detector, input)) = detector.zip(beam_input) {
            let stage = BeamStage { detector, sinks, shared: shared.clone() };
            threads.push(Thread::start(Stage::Beamformer, &shared, move || stage.run(input))?);
        }
        if let Some(turn) = self.turn {
            let input = TurnIn {
                frames: front.is_some().then_some(turn_input),
                format: V::FORMAT.to_string(),
                device: backend.device().cloned(),
            };
            let turned = std::mem::replace(&mut outputs, vec![to_turn]);
            start_turn(turn, input, turned, &shared, &mut threads)?;
        }
        if let (Some(front), Some(source)) = (front, source) {
            let (ring, longest_gap) = (ring.clone(), gaps.samples);
            let of = FrontInput { input: f_input, outputs, returned: returned_in, ring, ring_way, longest_gap };
            front::start(front, of, &shared, &mut threads)?;
            let dump_samples = lengths.into_iter().next().unwrap_or(1);
            let of = SourceOutput { out: to_f, returned: returned_out, dump_samples, from };
            front::start_source(source, of, &shared, &mut threads)?;
        }
        Ok(Running::new(shared, threads, ring))
    }
}

/// Starts the threads of a corner turn.
fn start_turn<V: StreamSample>(
    turn: CornerTurn,
    input: TurnIn<V>,
    turned: Vec<QueueIn<FromFEngine<V>>>,
    shared: &Arc<Shared>,
    threads: &mut Vec<Thread>,
) -> Result<(), StreamError> {
    for run in TurnThreads::new(turn, input, turned, shared).into_runs() {
        threads.push(Thread::start(Stage::CornerTurn, shared, run)?);
    }
    Ok(())
}
