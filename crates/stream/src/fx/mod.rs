//! The instrument: stages on threads of their own, bounded queues between them.

mod beam_stage;
mod chosen_channels;
mod controls;
mod delivery;
mod f_stage;
mod frames;
mod masking;
mod report;
mod ring_stage;
mod running;
mod sink_stage;
mod source_stage;
mod stages;
mod x_stage;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use fringes_backend::{Backend, Downloader, Uploader};
use fringes_beamformer::{TiedArrayBeams, TiedArrayDetector};
use fringes_correlator::{BinnedIntegrator, Bins, DumpSchedule, IntegratorSet};
use fringes_f_engine::FEngineBuilder;
use fringes_gpu::Device;
use fringes_interference::Masker;
use fringes_types::{ChunkFormat, Detection, Inputs};

pub(crate) use frames::FrameData;
pub use frames::StreamSample;
pub use report::{Ended, Report, SinkReport, TurnReport};
pub use running::{Control, Running};
pub(crate) use stages::{FromFEngine, Shared};

use crate::queue::queue;
use crate::ring::Ring;
use crate::sink::{Overflow, Sink};
use crate::source::Source;
use crate::turn::{CornerTurn, TurnIn, TurnThreads};
use crate::{BoxError, Stage, StreamError};
use beam_stage::BeamStage;
use controls::Controls;
use delivery::{Delivery, DumpStage};
use f_stage::{FStage, Front, Ways};
use masking::Masking;
use report::{Busy, Counter, Counters, SinkCounters, TurnCounters};
use ring_stage::RingStage;
use running::Thread;
use sink_stage::SinkStage;
use source_stage::SourceStage;
use stages::SinkQueues;
use x_stage::{Give, XInput, XStage};

/// An instrument that has not been started: what it is made of.
///
/// ```text
/// source ──> F-engine ──┬──> correlator ──┬──> sink
///            (or heaps) ├──> beamformer ──┼──> sink
///                       └──> ring         └──> ...
/// ```
///
/// Every arrow is a queue of [`Fx::queue_depth`] messages at most: a stage that is behind makes those before it wait,
/// up to the source. On a GPU chunks go there once, through pinned memory on a stream of their own, and voltages stay
/// there: dumps and detected beams come back.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_channelizer::Channelizer;
/// use fringes_correlator::DumpSchedule;
/// use fringes_f_engine::FEngine;
/// use fringes_stream::sink::{MemorySink, Overflow, Product};
/// use fringes_stream::source::{Blocks, Received, SourceInfo};
/// use fringes_stream::Fx;
/// use fringes_types::{Complex, Gains, Inputs, Samples};
/// use ndarray::Array2;
///
/// let inputs = Inputs::single_pol(2)?;
/// let noise = |input: usize, time: u64| ((input as u64 * 7919 + time * 104_729) % 201) as i16 - 100;
/// let chunks = (0..20u64).map(move |chunk| {
///     let data = Array2::from_shape_fn((2, 1000), |(input, time)| noise(input, 1000 * chunk + time as u64));
///     let samples = Samples::new(data, inputs)?.with_first_sample(1000 * chunk).with_sample_rate(1e6)?;
///     Ok(Received::Samples(samples.into()))
/// });
/// let label = "noise".into();
/// let info = SourceInfo { label, inputs, sample_rate_hz: 1e6, sample_zero: None, end_sample: Some(20_000) };
///
/// let plan = Channelizer::real(64).taps(4).build()?; // a spectrum every 128 samples
/// let engine = FEngine::builder(plan, inputs).spectra_per_frame(8).gains(Gains::uniform(0.1)?);
/// let (sink, products) = MemorySink::new();
/// let running = Fx::<Complex<i8>>::new(&Backend::cpu(), engine)
///     .cadence(DumpSchedule::new(128, 8, 4)?) // dumps of 32 spectra
///     .sink(sink, Overflow::Block)
///     .start(Blocks::new(info, chunks))?;
/// let report = running.join().into_result()?;
/// // 20000 samples: four whole dumps, and one that the stream ends in.
/// assert_eq!((report.samples, report.dumps), (40_000, 5));
/// assert!(matches!(&products.take()[1], Product::Dump(dump) if dump.sums.first_sample() == 32 * 128));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// Each dump and each sum of beams has the bits that the operations give in one call.
///
/// # What is lost, and what is not
/// - A chunk that comes too late, or twice, is left out and counted; the part of it that is new is used.
/// - Samples that never came are absent: dumps count them ([`Visibilities::valid_samples`]).
/// - A gap longer than [`Fx::longest_gap`] is a jump of the clock: dumps under way are given as they are, and the
///   stream begins anew. Chunk after chunk before what came is an error.
/// - A stage that fails ends the run: what was complete before is delivered, dumps under way are not, sinks are
///   finished, and [`Ended::error`] names the stage. [`Fx::resume_after`] goes on behind the last dump.
/// - A sink that fails gets nothing more; the others get everything.
/// - [`Running::stop`] ends with the dump under way, [`Running::stop_now`] with the chunk.
///
/// [`Visibilities::valid_samples`]: fringes_types::Visibilities::valid_samples
#[derive(Debug)]
pub struct Fx<V: StreamSample> {
    backend: Backend,
    front: FrontPlan,
    turn: Option<CornerTurn>,
    cadences: Vec<(DumpSchedule, Option<Vec<usize>>)>,
    binned: Option<(DumpSchedule, Bins)>,
    masker: Option<(Masker, usize)>,
    beams: Option<(TiedArrayBeams, Detection)>,
    sinks: Vec<PlannedSink>,
    depth: usize,
    longest_gap: Option<u64>,
    resume_after: Option<u64>,
    ring_spectra: usize,
    format: std::marker::PhantomData<fn() -> V>,
}

#[derive(Debug)]
enum FrontPlan {
    Engine(Box<FEngineBuilder>),
    Heaps {
        inputs: Inputs,
        channels: usize,
    },
    /// Nothing: what other ranks channelise comes by the corner turn.
    Turned,
}

struct PlannedSink {
    sink: Box<dyn Sink>,
    overflow: Overflow,
    ends: bool,
}

impl std::fmt::Debug for PlannedSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannedSink").field("name", &self.sink.name()).finish_non_exhaustive()
    }
}

impl<V: StreamSample> Fx<V> {
    /// An instrument whose source gives samples.
    pub fn new(backend: &Backend, engine: FEngineBuilder) -> Self {
        Self::of(backend, FrontPlan::Engine(Box::new(engine)))
    }

    /// An instrument whose source gives heaps of `V`: correlator and beams alone.
    pub fn of_heaps(backend: &Backend, inputs: Inputs, channels: usize) -> Self {
        Self::of(backend, FrontPlan::Heaps { inputs, channels })
    }

    /// An instrument without a source, on a rank without antennas: correlator and beams of what other ranks channelise.
    /// [`Fx::start_without_source`] starts it.
    pub fn of_turn(backend: &Backend, turn: CornerTurn) -> Self {
        Self { turn: Some(turn), ..Self::of(backend, FrontPlan::Turned) }
    }

    /// One rank of an instrument that is spread over several: the F-engine has the rank's antennas, correlator and
    /// beams have all antennas and the rank's channels. All ranks have the same cadences, also one without channels.
    ///
    /// Dumps of integers have the bits of an instrument on one rank, those of floats up to the order of sums.
    #[must_use]
    pub fn turned(mut self, turn: CornerTurn) -> Self {
        self.turn = Some(turn);
        self
    }

    fn of(backend: &Backend, front: FrontPlan) -> Self {
        Self {
            backend: backend.clone(),
            front,
            turn: None,
            cadences: Vec::new(),
            binned: None,
            masker: None,
            beams: None,
            sinks: Vec::new(),
            depth: 4,
            longest_gap: None,
            resume_after: None,
            ring_spectra: 0,
            format: std::marker::PhantomData,
        }
    }

    /// Correlates, and dumps by a schedule. Several schedules correlate once; their numbers count from 0.
    #[must_use]
    pub fn cadence(mut self, schedule: DumpSchedule) -> Self {
        self.cadences.push((schedule, None));
        self
    }

    /// As [`Fx::cadence`], of the baselines of these antennas alone.
    #[must_use]
    pub fn cadence_of(mut self, schedule: DumpSchedule, antennas: Vec<usize>) -> Self {
        self.cadences.push((schedule, Some(antennas)));
        self
    }

    /// Correlates by bins as well: gates, pulse phases, states of a noise diode. Each dump has one for every bin
    /// ([`Dump::bin`](crate::sink::Dump::bin)); its cadence is the number behind those of [`Fx::cadence`]. Beside other
    /// cadences everything is correlated twice.
    #[must_use]
    pub fn bins(mut self, schedule: DumpSchedule, bins: Bins) -> Self {
        self.binned = Some((schedule, bins));
        self
    }

    /// Leaves out what a masker takes for interference, by channel and blocks of so many spectra, a multiple of a
    /// frame's. Frames wait for their block's end. On a GPU powers are summed and voltages masked where they lie;
    /// estimates are made on the CPU. Beams are not masked.
    #[must_use]
    pub fn mask(mut self, masker: Masker, spectra_per_block: usize) -> Self {
        self.masker = Some((masker, spectra_per_block));
        self
    }

    /// Makes detected beams as well.
    #[must_use]
    pub fn beams(mut self, set: TiedArrayBeams, detection: Detection) -> Self {
        self.beams = Some((set, detection));
        self
    }

    /// Adds a sink whose error ends the run.
    #[must_use]
    pub fn sink(mut self, sink: impl Sink + 'static, overflow: Overflow) -> Self {
        self.sinks.push(PlannedSink { sink: Box::new(sink), overflow, ends: true });
        self
    }

    /// Adds a sink that the run goes on without if it fails.
    #[must_use]
    pub fn sink_that_may_fail(mut self, sink: impl Sink + 'static, overflow: Overflow) -> Self {
        self.sinks.push(PlannedSink { sink: Box::new(sink), overflow, ends: false });
        self
    }

    /// Sets how many messages a queue has at most (4 unless set).
    #[must_use]
    pub fn queue_depth(mut self, messages: usize) -> Self {
        self.depth = messages.max(1);
        self
    }

    /// Sets how many samples a gap may have; a longer one is a jump of the clock. Unless set, 16 dumps of the shortest
    /// schedule.
    #[must_use]
    pub fn longest_gap(mut self, samples: u64) -> Self {
        self.longest_gap = Some(samples);
        self
    }

    /// Goes on behind a dump of an earlier run, of cadence 0, by its first sample: earlier dumps are not given again,
    /// and a source that can seeks.
    #[must_use]
    pub fn resume_after(mut self, dump: u64) -> Self {
        self.resume_after = Some(dump);
        self
    }

    /// Keeps the voltages of the last so many spectra in host memory, for [`Running::write_ring`]. Those of a GPU are
    /// brought there, beside all else.
    #[must_use]
    pub fn ring(mut self, spectra: usize) -> Self {
        self.ring_spectra = spectra;
        self
    }

    /// Bytes that an instrument has at most, beside its sinks' and the source's own, for chunks of `times` samples of
    /// each input. Frames on a GPU count as well.
    ///
    /// Each queue holds `queue_depth` messages, its stages one more each: chunks between source and F-engine, frames
    /// behind it; dumps in the queues of sinks; the F-engine's own memory; the ring, and a masker's block. Beams, their
    /// weights and bins come on top.
    ///
    /// # Errors
    /// As [`FEngineBuilder::memory`].
    pub fn memory_bound(&self, inputs: Inputs, times: usize, format: ChunkFormat) -> Result<u64, StreamError> {
        let depth = self.depth as u64 + 2;
        let chunk = inputs.len() as u64 * (times as u64 * u64::from(format.sample_bits())).div_ceil(8);
        let (channels, engine, frames) = match &self.front {
            FrontPlan::Engine(builder) => {
                let engine = (**builder).clone().build::<V>(&Backend::cpu())?;
                let need = builder.memory::<V>(&self.backend, times, format)?;
                let frame = (engine.plan().stride() * engine.spectra_per_frame()) as u64;
                let spectra = (times as u64).div_ceil(frame).saturating_add(1) * engine.spectra_per_frame() as u64;
                (engine.channels().len() as u64, need.total_bytes(), spectra)
            }
            FrontPlan::Heaps { channels, .. } => (*channels as u64, 0, times as u64),
            FrontPlan::Turned => (0, 0, 0),
        };
        let spectrum = channels * inputs.len() as u64 * size_of::<V>() as u64;
        let turned = self.turn.as_ref().map_or(0, |turn| turn.plan.memory_bound(turn.rank(), size_of::<V>()));
        // Behind a corner turn frames are blocks, of all antennas and the rank's channels.
        let (behind, channels, inputs) = match &self.turn {
            None => (0, channels, inputs),
            Some(turn) => {
                let bytes = (0..turn.plan.ranks())
                    .fold(0u64, |sum, of| sum + turn.plan.block_bytes(of, turn.rank(), size_of::<V>()) as u64);
                (depth.saturating_mul(bytes), turn.channels().len() as u64, turn.plan.inputs())
            }
        };
        let turned = turned.saturating_add(behind);
        let dump = channels * inputs.triangle_len() as u64 * 16;
        let queues = (2 * depth).saturating_mul(chunk) + (2 * depth).saturating_mul(frames.saturating_mul(spectrum));
        let dumps = dump.saturating_mul(self.cadences.len() as u64);
        // On a GPU beside the sums: dumps that are complete, wait and are brought to the host, and memory of the last
        // two on the host.
        let on_device = if self.backend.device().is_some() { 5 } else { 0 };
        let sinks = (self.sinks.len() as u64 * depth + 3 + on_device).saturating_mul(dumps);
        let ring = spectrum.saturating_mul(self.ring_spectra as u64);
        let masked = self.masker.as_ref().map_or(0, |(_, spectra)| spectrum.saturating_mul(*spectra as u64));
        let ring = ring.saturating_add(masked).saturating_add(turned);
        Ok(queues.saturating_add(sinks).saturating_add(engine).saturating_add(ring))
    }

    /// Starts the instrument on a source.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for schedules that do not fit the F-engine, antennas that there are not, an instrument
    /// that does nothing, an F-engine or cadences that do not fit the corner turn; [`StreamError::Input`] if the source
    /// has other inputs; as the operations' constructors.
    pub fn start(self, source: impl Source + 'static) -> Result<Running<V>, StreamError> {
        self.start_with(Some(Box::new(source)))
    }

    /// Starts the instrument of [`Fx::of_turn`].
    ///
    /// # Errors
    /// As [`Fx::start`]; [`StreamError::Plan`] for an instrument that needs a source.
    pub fn start_without_source(self) -> Result<Running<V>, StreamError> {
        self.start_with(None)
    }

    fn start_with(self, source: Option<Box<dyn Source>>) -> Result<Running<V>, StreamError> {
        let backend = &self.backend;
        if source.is_some() == matches!(self.front, FrontPlan::Turned) {
            let [expected, actual] = if source.is_some() { ["none", "one"] } else { ["one", "none"] };
            return Err(StreamError::Plan { what: "source", expected: expected.into(), actual: actual.into() });
        }
        let (front, inputs, channels, lead, frame) = match self.front {
            FrontPlan::Engine(builder) => {
                let engine = builder.build::<V>(backend)?;
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
        let shared = Arc::new(Shared {
            counters,
            controls: Controls::default(),
            stop_at_dump: AtomicBool::new(false),
            stop_now: AtomicBool::new(false),
            lead: AtomicU64::new(lead),
            error: Mutex::new(None),
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
        let device = device.or(binned.as_ref().and_then(BinnedIntegrator::device));
        let downloads = device.map(|device| downloader(device, dump_bytes)).transpose();
        let downloads = downloads.map_err(|error| StreamError::at(Stage::Correlator, error))?.flatten();
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
            let of = XInput { masking, cadences, input: x_input, shared: shared_too, longest_gap };
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
                let stage = RingStage { downloader, input, ring: ring.clone(), shared: shared.clone() };
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
                chunks: VecDeque::new(),
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
