//! What starts an instrument: its plan is checked, its stages made, each with a thread of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use fringes_backend::{Downloader, Uploader};
use fringes_beamformer::TiedArrayDetector;
use fringes_correlator::{BinnedIntegrator, DumpSchedule, IntegratorSet};
use fringes_gpu::Device;
use fringes_types::Inputs;

use super::beam_stage::BeamStage;
use super::changes::Part;
use super::controls::Controls;
use super::delivery::{Delivery, DumpStage};
use super::f_stage::{FStage, Front, Ways};
use super::frames::StreamSample;
use super::masking::Masking;
use super::report::{Busy, Counter, Counters, SinkCounters, TurnCounters};
use super::ring_stage::RingStage;
use super::running::{Running, Thread};
use super::sink_stage::SinkStage;
use super::source_stage::SourceStage;
use super::stages::{Shared, SinkQueues};
use super::x_stage::{Give, XInput, XStage};
use super::{FrontPlan, Fx};
use crate::queue::queue;
use crate::ring::Ring;
use crate::source::Source;
use crate::turn::{CornerTurn, TurnIn, TurnThreads};
use crate::{BoxError, Stage, StreamError};

impl<V: StreamSample> Fx<V> {
    /// Starts an instrument on a source, or without one behind a corner turn.
    pub(super) fn start_with(self, source: Option<Box<dyn Source>>) -> Result<Running<V>, StreamError> {
        let backend = &self.backend;
        if source.is_some() == matches!(self.front, FrontPlan::Turned) {
            let [expected, actual] = if source.is_some() { ["none", "one"] } else { ["one", "none"] };
            return Err(StreamError::Plan { what: "source", expected: expected.into(), actual: actual.into() });
        }
        let (front, inputs, channels, lead, frame) = match self.front {
            FrontPlan::Engine(builder) => {
                // Clipped samples are counted wherever they lie.
                let engine = builder.build::<V>(backend)?.with_statistics();
                let (inputs, channels) = (engine.inputs(), engine.channels().len());
                // A run that is continued seeks before the first spectrum, delays included.
                let resumed = self.resume_after.unwrap_or(0);
                let delays = engine.delays().iter().map(|model| model.delay_samples(resumed).abs().ceil() as u64);
                let window = engine.plan().window_samples() as u64 + delays.max().map_or(0, |most| most + 1);
                let frame = [engine.plan().stride() as u64, engine.spectra_per_frame() as u64];
                let ways = engine.stream().map(|stream| ways(stream.device()));
                let ways = ways.transpose().map_err(|error| StreamError::at(Stage::FEngine, error))?;
                (Some(Front::Engine(Box::new(engine), ways)), Some(inputs), channels, window, Some(frame))
            }
            FrontPlan::Heaps { inputs, channels } => {
                // Within a limit of memory the operations send pieces.
                let device = backend.device().filter(|_| backend.memory_limit().is_none());
                let stream = device.map(Device::new_stream).transpose();
                let stream = stream.map_err(|error| StreamError::at(Stage::FEngine, error))?;
                (Some(Front::Heaps(stream.as_ref().map(Uploader::new))), Some(inputs), channels, 0, None)
            }
            FrontPlan::Turned => (None, None, 0, 0, None),
        };
        if let (Some(source), Some(inputs)) = (&source, inputs)
            && source.info().inputs != inputs
        {
            let say = |of: Inputs| format!("{} antennas of {} polarisations", of.antennas(), of.pols());
            return Err(StreamError::Input { expected: say(inputs), actual: say(source.info().inputs) });
        }
        // What correlator and beams get.
        let (inputs, channels, lead, frame) = match &self.turn {
            None => (inputs, channels, lead, frame),
            Some(turn) => {
                check_turn(turn, inputs, channels, frame)?;
                let (plan, frame) = (turn.plan(), turn.plan().frame());
                // An F-engine elsewhere has a window of its own.
                let lead = if inputs.is_some() { lead } else { 64 * frame[0] * frame[1] };
                (Some(plan.inputs()), turn.channels().len(), lead, Some(frame))
            }
        };
        let part = part(self.turn.as_ref(), inputs, channels, matches!(front, Some(Front::Heaps(_))));
        let Some(inputs) = inputs else {
            let (what, expected) = ("instrument", "an F-engine, heaps or a corner turn".into());
            return Err(StreamError::Plan { what, expected, actual: "none".into() });
        };
        let mut planned = self.cadences.clone();
        planned.extend(self.binned.as_ref().map(|(schedule, _)| (*schedule, None)));
        check_plan(&planned, self.beams.is_some() || self.turn.is_some(), inputs, frame)?;
        if let Some((_, spectra)) = &self.masker {
            let per_frame = planned.first().map_or(1, |(schedule, _)| schedule.spectra_per_heap() as usize);
            if *spectra == 0 || spectra % per_frame != 0 {
                let (what, expected) = ("spectra of a masker's block", format!("a multiple of {per_frame}"));
                return Err(StreamError::Plan { what, expected, actual: spectra.to_string() });
            }
        }
        let schedules: Vec<_> = self.cadences.iter().map(|(schedule, _)| *schedule).collect();
        let lengths: Vec<u64> = planned.iter().map(|(schedule, _)| schedule.timestamp_difference()).collect();
        let shortest = lengths.iter().copied().min();
        if let Some((shares, _)) = &self.turns
            && let Some(length) = lengths.iter().find(|&&length| shares.span() % length != 0)
        {
            let (what, expected) = ("samples of a span", format!("a multiple of dumps of {length}"));
            return Err(StreamError::Plan { what, expected, actual: shares.span().to_string() });
        }
        let longest_gap = self.longest_gap.or(shortest.map(|dump| dump.saturating_mul(16))).unwrap_or(1 << 32);
        // Ours is in samples and is looked at before; sums' own limit, in dumps, is never reached. A gap between frames
        // may be longer than that between samples by a window and two frames.
        let frame_gap = frame.map_or(0, |[stride, spectra]| lead.saturating_add(2 * stride * spectra));
        let longest_gap_of_frames = longest_gap.saturating_add(frame_gap);
        let empty = |dump: u64| longest_gap_of_frames / dump.max(1) + 2;
        let from = self.resume_after.zip(schedules.first());
        let from = from.map(|(dump, schedule)| dump.saturating_add(schedule.timestamp_difference()));

        let (mut sink_counters, mut sink_inputs, mut sink_queues) = (Vec::new(), Vec::new(), Vec::new());
        for (number, planned) in self.sinks.into_iter().enumerate() {
            let name = planned.sink.name().to_owned();
            let (sends, receives, deepest) = queue(format!("sink {number} {name}"), self.depth);
            sink_counters.push(SinkCounters {
                busy: Busy::new(Stage::Sink(name.clone()).to_string()),
                name,
                written: Counter::default(),
                bytes: Counter::default(),
                dropped: Counter::default(),
                undelivered: Counter::default(),
                latency_total: Counter::default(),
                latency_most: Counter::default(),
                latencies: Counter::default(),
                deepest,
            });
            sink_queues.push((sends, planned.sink.takes(), planned.overflow));
            sink_inputs.push((planned, receives));
        }
        let (to_f, f_input, f_deepest) = queue("f-engine".into(), self.depth);
        let (to_x, x_input, x_deepest) = queue("correlator".into(), self.depth);
        let (to_beams, beam_input, beam_deepest) = queue("beamformer".into(), self.depth);
        let (to_turn, turn_input, turn_deepest) = queue("corner turn".into(), self.depth);
        let (returned_in, returned_out) = crossbeam_channel::bounded(self.depth);
        let counters = Counters {
            samples: Counter::default(),
            used: Counter::default(),
            late: Counter::default(),
            overlapping: Counter::default(),
            skipped: Counter::default(),
            clock_jumps: Counter::default(),
            clipped: Counter::default(),
            frames: Counter::default(),
            saturated: Counter::default(),
            dumps: Counter::default(),
            mask_cells: Counter::default(),
            masked: Counter::default(),
            beam_sums: Counter::default(),
            beam_gaps: Counter::default(),
            last_dump: Counter::default(),
            next_sample: Counter::default(),
            source: Busy::new(Stage::Source.to_string()),
            f_engine: Busy::new(Stage::FEngine.to_string()),
            correlator: Busy::new(Stage::Correlator.to_string()),
            beamformer: Busy::new(Stage::Beamformer.to_string()),
            on_device: ["copies", "f-engine", "correlator"].map(Busy::on_device),
            sinks: sink_counters,
            turn: TurnCounters::default(),
            queues: vec![
                ("f-engine", f_deepest),
                ("corner turn", turn_deepest),
                ("correlator", x_deepest),
                ("beamformer", beam_deepest),
            ],
            source_counts: Mutex::default(),
        };
        let controls = Controls::default();
        for change in &self.changes {
            part.change(change, &controls)?;
        }
        let shared = Arc::new(Shared {
            counters,
            controls,
            part,
            stop_at_dump: AtomicBool::new(false),
            stop_now: AtomicBool::new(false),
            lead: AtomicU64::new(lead),
            error: Mutex::new(None),
            turns: self.turns,
        });
        let sinks = SinkQueues { queues: sink_queues, shared: shared.clone() };

        let mut outputs = Vec::new();
        let of_cadences = schedules.iter().map(DumpSchedule::timestamp_difference).min();
        let integrators = match of_cadences {
            Some(dump) if channels > 0 => {
                let set = IntegratorSet::<V>::new(backend, &schedules, inputs, channels)?;
                Some(set.with_longest_gap(empty(dump)))
            }
            _ => None,
        };
        let binned = match self.binned {
            Some((schedule, bins)) if channels > 0 => {
                let binned = BinnedIntegrator::<V>::new(backend, schedule, bins, inputs, channels)?;
                Some(binned.with_longest_gap(empty(schedule.timestamp_difference())))
            }
            _ => None,
        };
        let correlates = integrators.is_some() || binned.is_some();
        // Dumps of all cadences and bins may end together.
        let at_once = schedules.len() + binned.as_ref().map_or(0, |binned| binned.bins().count());
        let dump_bytes = (channels * inputs.triangle_len() * size_of::<V::Accumulator>()) as u64;
        let dump_bytes = dump_bytes.saturating_mul(at_once as u64);
        let device = integrators.as_ref().and_then(IntegratorSet::device);
        let device = device.or(binned.as_ref().and_then(BinnedIntegrator::device)).cloned();
        let downloads = device.as_ref().map(|device| downloader(device, dump_bytes)).transpose();
        let downloads = downloads.map_err(|error| StreamError::at(Stage::Correlator, error))?.flatten();
        // Sums of cadences and of bins on one stream.
        let x_stream = device.map(|device| device.new_stream()).transpose();
        let x_stream = x_stream.map_err(|error| StreamError::at(Stage::Correlator, error))?;
        let (integrators, binned) = match &x_stream {
            None => (integrators, binned),
            Some(stream) => (
                integrators.map(|integrators| integrators.on(stream)).transpose()?,
                binned.map(|binned| binned.on(stream)).transpose()?,
            ),
        };
        if correlates {
            outputs.push(to_x);
        }
        let detector = match self.beams {
            Some((set, detection)) if channels > 0 => {
                outputs.push(to_beams);
                Some(TiedArrayDetector::<V>::new(backend, set, inputs, detection)?)
            }
            _ => None,
        };
        let ring = Arc::new(Ring::new(self.ring_spectra));
        let ring_ways = match &front {
            Some(Front::Engine(_, Some(ways))) if self.ring_spectra > 0 => {
                let downloader = Downloader::new(ways.uploader.device());
                let (to, input, _) = queue("ring".into(), 1);
                Some((downloader.map_err(|error| StreamError::at(Stage::FEngine, error))?, to, input))
            }
            _ => None,
        };

        // Nothing fails from here on but the starting of threads.
        let mut threads = Vec::new();
        for (number, (planned, input)) in sink_inputs.into_iter().enumerate() {
            let stage = Stage::Sink(planned.sink.name().into());
            let of = SinkStage { sink: planned.sink, number, input, shared: shared.clone(), ends: planned.ends };
            threads.push(Thread::start(stage, &shared, move || of.run())?);
        }
        if correlates {
            let subsets: Vec<_> = self.cadences.into_iter().map(|(_, antennas)| antennas).collect();
            let cadences = subsets.len();
            let masking = Masking::new(self.masker, channels, shared.clone());
            let (sinks, shared_too, from) = (sinks.clone(), shared.clone(), from.unwrap_or(0));
            let delivery = Delivery { subsets, sinks, shared: shared_too, from };
            let (shared_too, longest_gap) = (shared.clone(), longest_gap_of_frames);
            let of = XInput { masking, cadences, input: x_input, shared: shared_too, longest_gap, stream: x_stream };
            match downloads {
                None => {
                    let give: Give<_> = Box::new(move |finished| delivery.give::<V>(finished).map(drop));
                    let stage = XStage::new(integrators, binned, give, of);
                    threads.push(Thread::start(Stage::Correlator, &shared, move || stage.run())?);
                }
                Some(downloader) => {
                    let integrators = integrators.map(IntegratorSet::dumps_on_device).transpose()?;
                    let binned = binned.map(BinnedIntegrator::dumps_on_device).transpose()?;
                    let (to_host, dumps, _) = queue("dumps".into(), 1);
                    // A closed queue: the other thread has failed, and has said so.
                    let give: Give<_> = Box::new(move |finished| {
                        let _ = to_host.send(finished);
                        Ok(())
                    });
                    let downloads = DumpStage::<V> { downloader, input: dumps, delivery, given: VecDeque::new() };
                    threads.push(Thread::start(Stage::Correlator, &shared, move || downloads.run())?);
                    let stage = XStage::new(integrators, binned, give, of);
                    threads.push(Thread::start(Stage::Correlator, &shared, move || stage.run())?);
                }
            }
        }
        if let Some(detector) = detector {
            let of = BeamStage { detector, input: beam_input, sinks, shared: shared.clone() };
            threads.push(Thread::start(Stage::Beamformer, &shared, move || of.run())?);
        }
        if let Some(turn) = self.turn {
            let frames = front.is_some().then_some(turn_input);
            let device = backend.device().cloned();
            let input = TurnIn { frames, format: V::FORMAT.to_string(), device };
            let turned = std::mem::replace(&mut outputs, vec![to_turn]);
            for run in TurnThreads::new(turn, input, turned, &shared).into_runs() {
                threads.push(Thread::start(Stage::CornerTurn, &shared, run)?);
            }
        }
        if let (Some(front), Some(source)) = (front, source) {
            let mut to_ring = None;
            if let Some((downloader, to, input)) = ring_ways {
                let (spare, ring, shared_too) = (Vec::new(), ring.clone(), shared.clone());
                let stage = RingStage { downloader, input, ring, shared: shared_too, spare };
                threads.push(Thread::start(Stage::FEngine, &shared, move || stage.run())?);
                to_ring = Some(to);
            }
            let of = FStage {
                front,
                input: f_input,
                outputs,
                returned: returned_in,
                shared: shared.clone(),
                ring: ring.clone(),
                to_ring,
                longest_gap,
                backward: 0,
                counts: VecDeque::new(),
                statistics: VecDeque::new(),
                chunks: VecDeque::new(),
                given: Vec::new(),
                events: Vec::new(),
                device_time: Default::default(),
            };
            threads.push(Thread::start(Stage::FEngine, &shared, move || of.run())?);
            let (dump_samples, shared) = (lengths.into_iter().next().unwrap_or(1), shared.clone());
            let of =
                SourceStage { source, out: to_f, returned: returned_out, shared: shared.clone(), dump_samples, from };
            threads.push(Thread::start(Stage::Source, &shared, move || of.run())?);
        }
        Ok(Running::new(shared, threads, ring))
    }
}

/// What an instrument, or a rank of one, has of the whole: inputs and channels behind a corner turn, if there is one.
fn part(turn: Option<&CornerTurn>, inputs: Option<Inputs>, channels: usize, heaps: bool) -> Part {
    let Some(turn) = turn else {
        let inputs = inputs.map_or(0, |inputs| inputs.len());
        return Part { inputs, channels, own_inputs: (!heaps).then_some(0..inputs), own_channels: 0..channels };
    };
    let (inputs, antennas) = (turn.plan().inputs(), turn.antennas());
    let own_inputs = Some(antennas.start * inputs.pols()..antennas.end * inputs.pols());
    Part { inputs: inputs.len(), channels: turn.plan().channels(), own_inputs, own_channels: turn.channels() }
}

/// What sends chunks to a device, and brings counts from there.
fn ways(device: &Device) -> Result<Ways, BoxError> {
    Ok(Ways { uploader: Uploader::new(&device.new_stream()?), downloader: Downloader::new(device)? })
}

/// What brings dumps to the host while the correlator goes on, if the device has the memory for them, of so many bytes
/// at once: those that are brought, those that wait, and those that are complete, beside the sums.
fn downloader(device: &Device, dump_bytes: u64) -> Result<Option<Downloader>, BoxError> {
    let free = device.memory()?.free_bytes;
    if dump_bytes.saturating_mul(3) > free / 4 {
        tracing::info!(dump_bytes, free, "no memory for dumps beside the sums: the correlator waits for each");
        return Ok(None);
    }
    Ok(Some(Downloader::new(device)?))
}

/// Checks that an F-engine is that of this rank in the corner turn's plan.
fn check_turn(
    turn: &CornerTurn,
    inputs: Option<Inputs>,
    channels: usize,
    frame: Option<[u64; 2]>,
) -> Result<(), StreamError> {
    let plan = turn.plan();
    let (share, pols) = (turn.antennas().len(), plan.inputs().pols());
    let Some(of) = inputs else {
        let (what, expected) = ("antennas of a rank without an F-engine", "0".into());
        return if share == 0 { Ok(()) } else { Err(StreamError::Plan { what, expected, actual: share.to_string() }) };
    };
    let say = |antennas: usize, pols: usize, channels: usize, frame: Option<[u64; 2]>| {
        let inputs = format!("{antennas} antennas of {pols} polarisations and {channels} channels");
        match frame {
            Some([samples, spectra]) => format!("{inputs} in frames of {spectra} spectra, {samples} samples apart"),
            None => format!("{inputs} as heaps of a source"),
        }
    };
    let expected = say(share, pols, plan.channels(), Some(plan.frame()));
    let actual = say(of.antennas(), of.pols(), channels, frame);
    let what = "F-engine of this rank of the corner turn";
    if expected == actual { Ok(()) } else { Err(StreamError::Plan { what, expected, actual }) }
}

/// Checks what there is to do.
fn check_plan(
    cadences: &[(DumpSchedule, Option<Vec<usize>>)],
    beams: bool,
    inputs: Inputs,
    frame: Option<[u64; 2]>,
) -> Result<(), StreamError> {
    if cadences.is_empty() && !beams {
        let (what, expected) = ("instrument", "a cadence of dumps, or beams".into());
        return Err(StreamError::Plan { what, expected, actual: "neither".into() });
    }
    for (schedule, antennas) in cadences {
        let actual = [schedule.samples_between_spectra(), schedule.spectra_per_heap()];
        if let Some(expected) = frame
            && expected != actual
        {
            let say = |[samples, spectra]: [u64; 2]| format!("frames of {spectra} spectra, {samples} samples apart");
            let (expected, actual) = (say(expected), say(actual));
            return Err(StreamError::Plan { what: "schedule of dumps", expected, actual });
        }
        let antennas = antennas.as_deref().unwrap_or(&[0]);
        let mut sorted = antennas.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let there = sorted.last().is_some_and(|&last| last < inputs.antennas());
        if !there || sorted.len() != antennas.len() {
            let expected = format!("different antennas of 0..{}", inputs.antennas());
            let actual = format!("{antennas:?}");
            return Err(StreamError::Plan { what: "antennas of a cadence", expected, actual });
        }
    }
    Ok(())
}
