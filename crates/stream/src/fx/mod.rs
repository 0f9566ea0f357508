//! The instrument: stages on threads of their own, bounded queues between them.

mod beam_stage;
mod changes;
mod chosen_channels;
mod controls;
mod delivery;
mod device_time;
mod f_stage;
mod frames;
mod masked_frames;
mod masking;
mod report;
mod ring_stage;
mod running;
mod sink_stage;
mod source_stage;
mod stages;
mod start;
mod told;
mod x_stage;

use fringes_backend::Backend;
use fringes_beamformer::TiedArrayBeams;
use fringes_correlator::{Bins, DumpSchedule};
use fringes_f_engine::FEngineBuilder;
use fringes_interference::Masker;
use fringes_types::{ChunkFormat, Detection, Inputs};

pub use changes::{Change, InstrumentControl};
pub(crate) use frames::FrameData;
pub use frames::StreamSample;
pub use report::{Ended, Report, SinkReport, TurnReport};
pub use running::{Control, Running};
pub(crate) use stages::{FromFEngine, Shared};
pub(crate) use told::{decode as decode_changes, encode as encode_changes};

use crate::StreamError;
use crate::TimeShares;
use crate::sink::{Overflow, Sink};
use crate::source::Source;
use crate::turn::CornerTurn;

/// An instrument that has not been started: what it is made of.
///
/// ```text
/// source ──> F-engine ──┬──> correlator ──┬──> sink
///            (or heaps) ├──> beamformer ──┼──> sink
///                       └──> ring         └──> ...
/// ```
///
/// Every arrow is a queue of [`Fx::queue_depth`] messages at most: a stage that is behind makes those before it wait,
/// up to the source. Beams that are masked as dumps are ([`Fx::mask_beams`]) have their frames from the correlator,
/// which masks them. On a GPU chunks go there once, through pinned memory on a stream of their own, and voltages stay
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
    masks_beams: bool,
    sinks: Vec<PlannedSink>,
    depth: usize,
    longest_gap: Option<u64>,
    turns: Option<(TimeShares, usize)>,
    resume_after: Option<u64>,
    ring_spectra: usize,
    changes: Vec<Change>,
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
            masks_beams: true,
            sinks: Vec::new(),
            depth: 4,
            longest_gap: None,
            turns: None,
            resume_after: None,
            ring_spectra: 0,
            changes: Vec::new(),
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
    /// frame's: of dumps, and of beams ([`Fx::mask_beams`]). Frames wait for their block's end, once for both. On a GPU
    /// powers are summed and voltages masked where they lie; estimates are made on the CPU.
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

    /// Sets whether what is masked is left out of beams as it is of dumps (unless set, it is): what a masker finds, and
    /// what is chosen ([`Control::set_masked_channels`]). Masked samples count as zero, and
    /// [`DetectedBeams::masked_spectra`](fringes_types::DetectedBeams::masked_spectra) says how many spectra of each
    /// sum were. Beams that are not masked wait for no block.
    #[must_use]
    pub fn mask_beams(mut self, masked: bool) -> Self {
        self.masks_beams = masked;
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

    /// Is the instrument `rank` of those that take turns in time, with a source and sinks of [`TimeShares`]. Sets
    /// [`Fx::longest_gap`] to half of what lies between two of its spans, so that the time of the others begins the
    /// stream anew, and no dumps with nothing in them are made of it.
    #[must_use]
    pub fn in_turns(mut self, shares: TimeShares, rank: usize) -> Self {
        self.turns = Some((shares, rank));
        self.longest_gap(shares.longest_gap())
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

    /// Changes the instrument at a sample. Inputs and channels are those of the whole instrument: all ranks are given
    /// the same changes. What does not fit it is an error of the start.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
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
}
