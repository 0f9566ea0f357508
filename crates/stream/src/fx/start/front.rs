//! What makes frames: the F-engine or a source of heaps, on this rank, and the threads from the source to it.

use std::collections::VecDeque;
use std::sync::Arc;

use fringes_backend::{Backend, Downloader, Uploader};
use fringes_gpu::Device;
use fringes_types::Inputs;

use super::super::FrontPlan;
use super::super::changes::Part;
use super::super::f_stage::{FStage, Front, Ways};
use super::super::frames::{FrameData, StreamSample};
use super::super::ring_stage::RingStage;
use super::super::running::Thread;
use super::super::source_stage::SourceStage;
use super::super::stages::{FromFEngine, FromSource, Returned, Shared};
use super::checks;
use crate::queue::{QueueIn, QueueOut, queue};
use crate::ring::Ring;
use crate::source::Source;
use crate::turn::CornerTurn;
use crate::{BoxError, SampleBlock, Stage, StreamError};

/// Frames, wherever they come from.
#[derive(Clone, Copy)]
pub(super) struct FrameAxes {
    /// `None` where nothing makes any.
    pub(super) inputs: Option<Inputs>,
    pub(super) channels: usize,
    /// Samples behind the start of a spectrum that it needs.
    pub(super) lead: u64,
    /// Samples between spectra and spectra of a frame, of an F-engine.
    pub(super) frame: Option<[u64; 2]>,
}

/// What makes frames on this rank, and what they are.
pub(super) fn make<V: StreamSample>(
    plan: FrontPlan,
    backend: &Backend,
    resume_after: Option<u64>,
) -> Result<(Option<Front<V>>, FrameAxes), StreamError> {
    match plan {
        FrontPlan::Engine(builder) => {
            // Clipped samples are counted wherever they lie.
            let engine = builder.build::<V>(backend)?.with_statistics();
            // A run that is continued seeks before the first spectrum, delays included.
            let resumed = resume_after.unwrap_or(0);
            let delays = engine.delays().iter().map(|model| model.delay_samples(resumed).abs().ceil() as u64);
            let lead = engine.plan().window_samples() as u64 + delays.max().map_or(0, |most| most + 1);
            let frame = Some([engine.plan().stride() as u64, engine.spectra_per_frame() as u64]);
            let axes = FrameAxes { inputs: Some(engine.inputs()), channels: engine.channels().len(), lead, frame };
            let ways = engine.stream().map(|stream| ways(stream.device()));
            let ways = ways.transpose().map_err(|error| StreamError::at(Stage::FEngine, error))?;
            Ok((Some(Front::Engine(Box::new(engine), ways)), axes))
        }
        FrontPlan::Heaps { inputs, channels } => {
            // Within a limit of memory the operations send pieces.
            let device = backend.device().filter(|_| backend.memory_limit().is_none());
            let stream = device.map(Device::new_stream).transpose();
            let stream = stream.map_err(|error| StreamError::at(Stage::FEngine, error))?;
            let axes = FrameAxes { inputs: Some(inputs), channels, lead: 0, frame: None };
            Ok((Some(Front::Heaps(stream.as_ref().map(Uploader::new))), axes))
        }
        FrontPlan::Turned => Ok((None, FrameAxes { inputs: None, channels: 0, lead: 0, frame: None })),
    }
}

impl FrameAxes {
    /// What correlator and beams get: the same, or what a corner turn makes of it.
    pub(super) fn behind(self, turn: Option<&CornerTurn>) -> Result<Self, StreamError> {
        let Some(turn) = turn else { return Ok(self) };
        checks::turn(turn, self.inputs, self.channels, self.frame)?;
        let (plan, frame) = (turn.plan(), turn.plan().frame());
        // An F-engine elsewhere has a window of its own.
        let lead = if self.inputs.is_some() { self.lead } else { 64 * frame[0] * frame[1] };
        Ok(Self { inputs: Some(plan.inputs()), channels: turn.channels().len(), lead, frame: Some(frame) })
    }
}

/// What an instrument, or a rank of one, has of the whole: inputs and channels behind a corner turn, if there is one.
pub(super) fn part(turn: Option<&CornerTurn>, inputs: Option<Inputs>, channels: usize, heaps: bool) -> Part {
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

/// The way of a GPU's frames to the ring, if it keeps any.
pub(super) struct RingWay<V: StreamSample> {
    downloader: Downloader,
    to: QueueIn<Arc<FrameData<V>>>,
    input: QueueOut<Arc<FrameData<V>>>,
}

impl<V: StreamSample> RingWay<V> {
    pub(super) fn new(front: Option<&Front<V>>, spectra: usize) -> Result<Option<Self>, StreamError> {
        let Some(Front::Engine(_, Some(ways))) = front.filter(|_| spectra > 0) else { return Ok(None) };
        let downloader = Downloader::new(ways.uploader.device());
        let downloader = downloader.map_err(|error| StreamError::at(Stage::FEngine, error))?;
        let (to, input, _) = queue("ring".into(), 1);
        Ok(Some(Self { downloader, to, input }))
    }

    /// Starts the thread, and gives the queue to it.
    fn start(
        self,
        ring: &Arc<Ring<V>>,
        shared: &Arc<Shared>,
        threads: &mut Vec<Thread>,
    ) -> Result<QueueIn<Arc<FrameData<V>>>, StreamError> {
        let Self { downloader, to, input } = self;
        let stage = RingStage { downloader, input, ring: ring.clone(), shared: shared.clone(), spare: Vec::new() };
        threads.push(Thread::start(Stage::FEngine, shared, move || stage.run())?);
        Ok(to)
    }
}

/// What the F-engine's thread has beside the engine.
pub(super) struct FrontInput<V: StreamSample> {
    pub(super) input: QueueOut<FromSource>,
    pub(super) outputs: Vec<QueueIn<FromFEngine<V>>>,
    pub(super) returned: Returned,
    pub(super) ring: Arc<Ring<V>>,
    pub(super) ring_way: Option<RingWay<V>>,
    pub(super) longest_gap: u64,
}

/// Starts the threads of the F-engine and of the ring.
pub(super) fn start<V: StreamSample>(
    front: Front<V>,
    of: FrontInput<V>,
    shared: &Arc<Shared>,
    threads: &mut Vec<Thread>,
) -> Result<(), StreamError> {
    let FrontInput { input, outputs, returned, ring, ring_way, longest_gap } = of;
    let to_ring = ring_way.map(|way| way.start(&ring, shared, threads)).transpose()?;
    let stage = FStage {
        front,
        input,
        outputs,
        returned,
        shared: shared.clone(),
        ring,
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
    threads.push(Thread::start(Stage::FEngine, shared, move || stage.run())?);
    Ok(())
}

/// What the source's thread has beside the source.
pub(super) struct SourceOutput {
    pub(super) out: QueueIn<FromSource>,
    pub(super) returned: crossbeam_channel::Receiver<SampleBlock>,
    pub(super) dump_samples: u64,
    pub(super) from: Option<u64>,
}

/// Starts the thread of the source.
pub(super) fn start_source(
    source: Box<dyn Source>,
    SourceOutput { out, returned, dump_samples, from }: SourceOutput,
    shared: &Arc<Shared>,
    threads: &mut Vec<Thread>,
) -> Result<(), StreamError> {
    let stage = SourceStage { source, out, returned, shared: shared.clone(), dump_samples, from };
    threads.push(Thread::start(Stage::Source, shared, move || stage.run())?);
    Ok(())
}
