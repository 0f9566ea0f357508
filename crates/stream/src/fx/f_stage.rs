//! The thread of the F-engine: samples to frames, and changes of gains and delays where they are due.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fringes_backend::{Downloader, Uploader};
use fringes_channelizer::ChannelizerError;
use fringes_f_engine::{Channelized, DeviceFrames, DeviceStatistics, FEngine, Frames, InputStatistics};
use fringes_gpu::Event;
use fringes_types::Heaps;

use super::device_time::DeviceTime;
use super::frames::{FrameData, Saturated, StreamSample};
use super::stages::{FromFEngine, FromSource, Returned, Shared};
use crate::queue::{QueueIn, QueueOut, Sent};
use crate::ring::Ring;
use crate::source::Received;
use crate::{SampleBlock, Stage, StreamError, telemetry};

/// Chunks in a row before what came, after which the clock is taken to be set back.
const MOST_BACKWARD: u64 = 64;
/// Counts of saturated values on a device that are under way.
const COUNTS_UNDER_WAY: usize = 4;
/// Chunks on a device whose memory is not used again yet: while one is channelised or correlated, the next ones come.
const CHUNKS_UNDER_WAY: usize = 3;

/// What makes frames.
pub(super) enum Front<V: StreamSample> {
    /// An F-engine; on a GPU with what sends chunks there, and brings counts from there.
    Engine(Box<FEngine<V>>, Option<Ways>),
    /// Nothing: heaps come. Those in pinned memory are sent to a GPU, once for all that takes them.
    Heaps(Option<Uploader>),
}

/// To a device and back.
pub(super) struct Ways {
    pub(super) uploader: Uploader,
    /// On a stream of its own: on the F-engine's, counts would wait for all that was queued since.
    pub(super) downloader: Downloader,
}

pub(super) struct FStage<V: StreamSample> {
    pub(super) front: Front<V>,
    pub(super) input: QueueOut<FromSource>,
    pub(super) outputs: Vec<QueueIn<FromFEngine<V>>>,
    pub(super) returned: Returned,
    pub(super) shared: Arc<Shared>,
    pub(super) ring: Arc<Ring<V>>,
    /// The way to the ring of frames that lie on a device.
    pub(super) to_ring: Option<QueueIn<Arc<FrameData<V>>>>,
    /// A longer gap in the samples is a jump of the clock.
    pub(super) longest_gap: u64,
    pub(super) backward: u64,
    pub(super) counts: VecDeque<Saturated>,
    /// Statistics of samples on a device that are under way.
    pub(super) statistics: VecDeque<DeviceStatistics>,
    /// The last chunks on a device.
    pub(super) chunks: VecDeque<UnderWay>,
    /// Frames on the host that were given on: once nobody else has them, their memory is used again.
    pub(super) given: Vec<Arc<FrameData<V>>>,
    /// Events that are used again.
    pub(super) events: Vec<Event>,
    /// Of copies, and of the F-engine.
    pub(super) device_time: [DeviceTime; 2],
}

/// A chunk that was sent to a device.
pub(super) struct UnderWay {
    /// Its memory there. Dropped, it is used again at once, in the order of the streams: the copy of the next chunk
    /// would wait for what reads this one.
    _memory: Box<dyn Send>,
    /// When it is there.
    copied: Event,
    /// The chunk itself, if the device reads it where it lies: it goes back to its source when that is done.
    block: Option<SampleBlock>,
}

/// The stage behind this one is gone.
struct Closed;

impl<V: StreamSample> FStage<V> {
    pub(super) fn run(mut self) {
        let mut end = None;
        while let Some(message) = self.input.receive() {
            let start = Instant::now();
            let done = match message {
                FromSource::Chunk(Received::Samples(block), arrived) => self.samples(block, arrived),
                FromSource::Chunk(Received::Heaps(block), arrived) => match V::heaps(block) {
                    Ok(heaps) if matches!(self.front, Front::Heaps(_)) => self.heaps(FrameData::from(heaps), arrived),
                    Ok(_) => Err(StreamError::Input { expected: "samples".into(), actual: "heaps".into() }),
                    Err(other) => {
                        Err(StreamError::Input { expected: format!("heaps of {}", V::FORMAT), actual: other.into() })
                    }
                },
                FromSource::Chunk(Received::Idle, _) => Ok(Ok(())),
                FromSource::End(until) => {
                    end = Some(until);
                    self.flush(Instant::now())
                }
            };
            self.shared.counters.f_engine.since(start);
            match done {
                Ok(Ok(())) => {}
                Ok(Err(Closed)) => return,
                Err(error) => {
                    let error = match error {
                        StreamError::Channelizer(error) => StreamError::at(Stage::FEngine, error),
                        other => other,
                    };
                    return self.shared.fail(error);
                }
            }
            if end.is_some() {
                break;
            }
        }
        let [copies, channelizing, _] = &self.shared.counters.on_device;
        let [copy_time, engine_time] = &mut self.device_time;
        if let Err(error) = copy_time.finish(copies).and_then(|()| engine_time.finish(channelizing)) {
            return self.shared.fail(StreamError::at(Stage::FEngine, error));
        }
        while let Some(counts) = self.counts.pop_front() {
            if let Err(error) = self.count_saturated(&counts) {
                return self.shared.fail(StreamError::at(Stage::FEngine, error));
            }
        }
        if let Err(error) = self.count_clipped(0) {
            return self.shared.fail(StreamError::at(Stage::FEngine, error));
        }
        if let Some(until) = end {
            for output in &self.outputs {
                let _ = output.send(FromFEngine::End(until));
            }
        }
    }

    /// Heaps of a source.
    fn heaps(&mut self, frames: FrameData<V>, arrived: Instant) -> Result<Result<(), Closed>, StreamError> {
        self.shared.counters.used.add(1);
        self.shared.counters.samples.add(frames.values() as u64);
        if matches!((&self.front, &frames), (Front::Heaps(Some(_)), FrameData::Pinned(_))) {
            self.wait_for_link()?;
        }
        let (Front::Heaps(Some(uploader)), FrameData::Pinned(heaps)) = (&mut self.front, &frames) else {
            return self.send(Arc::new(frames), arrived);
        };
        let (stream, [copies, ..]) = (uploader.stream().clone(), &self.shared.counters.on_device);
        let [copy_time, _] = &mut self.device_time;
        let sent = copy_time.of(&stream, copies, || uploader.pinned_heaps(heaps));
        let sent = sent.map_err(|error| StreamError::at(Stage::FEngine, error))?;
        let copied = record(uploader, self.events.pop()).map_err(|error| StreamError::at(Stage::FEngine, error))?;
        let sent = Arc::new(FrameData::Device(Arc::new(sent)));
        self.chunks.push_back(UnderWay { _memory: Box::new(sent.clone()), copied, block: None });
        // It takes what lies on the host.
        self.ring.push(&Arc::new(frames))?;
        self.send(sent, arrived)
    }

    /// Waits for a copy that others are queued behind, before the next: so the host does not run ahead of the link, and
    /// sleeps here, not where it needs what the chunk's work has read.
    fn wait_for_link(&mut self) -> Result<(), StreamError> {
        if self.chunks.len() >= CHUNKS_UNDER_WAY
            && let Some(UnderWay { copied, block, .. }) = self.chunks.pop_front()
        {
            copied.synchronize().map_err(|error| StreamError::at(Stage::FEngine, error))?;
            self.events.push(copied);
            block.into_iter().for_each(|block| drop(self.returned.try_send(block)));
        }
        Ok(())
    }

    /// Samples in any order.
    fn samples(&mut self, block: SampleBlock, arrived: Instant) -> Result<Result<(), Closed>, StreamError> {
        let Front::Engine(engine, _) = &self.front else {
            return Err(StreamError::Input { expected: format!("heaps of {}", V::FORMAT), actual: "samples".into() });
        };
        let counters = &self.shared.counters;
        let mut block = block;
        if let Some(expected) = engine.expected_sample() {
            if block.end_sample() <= expected {
                counters.late.add(1);
                metrics::counter!(telemetry::CHUNKS, "fate" => "late").increment(1);
                self.backward += 1;
                if self.backward >= MOST_BACKWARD {
                    let (actual, chunks) = (block.first_sample(), self.backward);
                    return Err(StreamError::ClockBackward { expected, actual, chunks });
                }
                return Ok(Ok(()));
            }
            if block.first_sample() < expected {
                // Packed samples are cut at whole bytes.
                let cut = ((expected - block.first_sample()) as usize).next_multiple_of(8);
                counters.overlapping.add(cut as u64);
                let [_, rest] = block.split_at(cut)?;
                block = rest;
                if block.times() == 0 {
                    return Ok(Ok(()));
                }
            }
            if block.first_sample() - expected > self.longest_gap {
                self.shared.jumped(expected, block.first_sample());
                if let Err(closed) = self.flush(arrived)? {
                    return Ok(Err(closed));
                }
                if let Front::Engine(engine, _) = &mut self.front {
                    engine.reset();
                }
                for output in &self.outputs {
                    if output.send(FromFEngine::Restart) == Sent::Closed {
                        return Ok(Err(Closed));
                    }
                }
            }
        }
        self.backward = 0;
        let counters = &self.shared.counters;
        counters.used.add(1);
        counters.next_sample.raise(block.end_sample());
        let samples = (block.times() * block.inputs().len()) as u64;
        counters.samples.add(samples);
        metrics::counter!(telemetry::CHUNKS, "fate" => "used").increment(1);
        metrics::counter!(telemetry::SAMPLES).increment(samples);
        self.apply_delays()?;
        // Gains that change within the chunk cut it.
        while let Some(sample) = self.shared.controls.next_gains() {
            match self.cut_for_gains(&block, sample)? {
                Cut::Later => break,
                Cut::Now => self.set_gains(sample)?,
                Cut::At(times) => {
                    let [first, rest] = block.split_at(times)?;
                    if let Err(closed) = self.push(&first, arrived)? {
                        return Ok(Err(closed));
                    }
                    self.give_back(first);
                    block = rest;
                    self.set_gains(sample)?;
                }
            }
        }
        if block.times() > 0
            && let Err(closed) = self.push(&block, arrived)?
        {
            return Ok(Err(closed));
        }
        self.give_back(block);
        Ok(Ok(()))
    }

    /// Gives a chunk back to its source, unless a device still reads it.
    fn give_back(&self, block: SampleBlock) {
        let is_read = matches!(block, SampleBlock::Pinned(_)) && matches!(self.front, Front::Engine(_, Some(_)));
        if !is_read {
            let _ = self.returned.try_send(block);
        }
    }

    /// Queues segments of delays: models hold them until they are due.
    fn apply_delays(&mut self) -> Result<(), StreamError> {
        let Front::Engine(engine, _) = &mut self.front else { return Ok(()) };
        for (input, segment) in self.shared.controls.take_delays() {
            let sample = segment.start_sample;
            let inputs = engine.inputs().len();
            let refused = |reason: String| StreamError::Change { what: "delay", sample, reason };
            match engine.delays_mut().get_mut(input) {
                Some(model) => model.replace_from(segment).map_err(|error| refused(error.to_string()))?,
                // An F-engine without delays has no models.
                None => {
                    return Err(refused(format!("expected one of the inputs 0..{inputs} with delays, found {input}")));
                }
            }
        }
        let next = engine.next_stamp().unwrap_or(0);
        let most = engine.delays().iter().map(|model| model.delay_samples(next).abs().ceil() as u64).max().unwrap_or(0);
        let lead = engine.plan().window_samples() as u64 + most + 1;
        self.shared.lead.fetch_max(lead, Ordering::Relaxed);
        Ok(())
    }

    fn set_gains(&mut self, sample: u64) -> Result<(), StreamError> {
        let Front::Engine(engine, _) = &mut self.front else { return Ok(()) };
        if let Some(gains) = self.shared.controls.take_gains(sample) {
            engine.set_gains(&gains)?;
            tracing::info!(asked = sample, from = engine.next_stamp(), "gains changed");
        }
        Ok(())
    }

    /// Where a chunk is cut so that the frames before a sample have the gains that hold, and those from it on others.
    fn cut_for_gains(&self, block: &SampleBlock, sample: u64) -> Result<Cut, StreamError> {
        let Front::Engine(engine, _) = &self.front else { return Ok(Cut::Later) };
        let stride = engine.plan().stride() as u64;
        let frame = stride * engine.spectra_per_frame() as u64;
        // Frames are whole: the change holds from the first that does not begin before the sample.
        let from = sample.div_ceil(frame).saturating_mul(frame);
        let begun = engine.next_stamp();
        if begun.map_or(from <= block.first_sample(), |next| next >= from) {
            return Ok(Cut::Now);
        }
        let last = from - stride;
        let delay = |model: &fringes_delay_model::DelayModel| model.evaluate(last).coarse;
        let earliest = engine.delays().iter().map(delay).min().unwrap_or(0);
        let end = i128::from(last) - i128::from(earliest) + engine.plan().window_samples() as i128;
        let cut = end - i128::from(block.first_sample());
        Ok(match usize::try_from(cut) {
            // All spectra before it could be made already.
            Err(_) | Ok(0) if cut <= 0 => Cut::Now,
            Ok(cut) if cut.next_multiple_of(8) < block.times() => Cut::At(cut.next_multiple_of(8)),
            _ => Cut::Later,
        })
    }

    fn push(&mut self, block: &SampleBlock, arrived: Instant) -> Result<Result<(), Closed>, StreamError> {
        let _span = tracing::trace_span!("f-engine", first = block.first_sample(), times = block.times()).entered();
        self.wait_for_link()?;
        match &mut self.front {
            Front::Engine(engine, None) => {
                for frames in self.given.extract_if(.., |frames| Arc::strong_count(frames) == 1) {
                    if let Some(FrameData::Host(heaps)) = Arc::into_inner(frames) {
                        engine.recycle(heaps);
                    }
                }
                let Channelized { frames, statistics } = engine.push(block.as_chunk())?;
                self.shared.clipped(&statistics);
                for frames in frames {
                    if let Err(closed) = self.host_frames(frames, arrived)? {
                        return Ok(Err(closed));
                    }
                }
            }
            Front::Engine(engine, Some(Ways { uploader, .. })) => {
                let (stream, [copies, channelizing, _]) = (uploader.stream().clone(), &self.shared.counters.on_device);
                let [copy_time, engine_time] = &mut self.device_time;
                let sent = copy_time.of(&stream, copies, || uploader.samples(block.as_chunk()));
                let sent = sent.map_err(|error| StreamError::at(Stage::FEngine, error))?;
                let Channelized { frames, statistics } = match engine.stream().cloned() {
                    None => engine.push(&sent)?,
                    Some(stream) => {
                        // What it waits for is no time of its own.
                        sent.array().read_on(&stream).map_err(ChannelizerError::from)?;
                        engine_time.of(&stream, channelizing, || engine.push(&sent))?
                    }
                };
                let copied =
                    record(uploader, self.events.pop()).map_err(|error| StreamError::at(Stage::FEngine, error))?;
                let block = matches!(block, SampleBlock::Pinned(_)).then(|| block.clone());
                self.chunks.push_back(UnderWay { _memory: Box::new(sent), copied, block });
                self.statistics.extend(statistics);
                // By now the oldest are there: they are not waited for.
                self.count_clipped(COUNTS_UNDER_WAY)?;
                for frames in frames {
                    if let Err(closed) = self.device_frames(frames, arrived)? {
                        return Ok(Err(closed));
                    }
                }
            }
            Front::Heaps(_) => {}
        }
        Ok(Ok(()))
    }

    fn host_frames(&mut self, frames: Frames<Heaps<V>>, arrived: Instant) -> Result<Result<(), Closed>, StreamError> {
        self.count_saturated(&Saturated::Host(frames.saturated))?;
        let frames = Arc::new(FrameData::Host(frames.voltages));
        self.given.push(frames.clone());
        self.send(frames, arrived)
    }

    fn device_frames(
        &mut self,
        frames: DeviceFrames<fringes_backend::DeviceHeaps<'static, V>>,
        arrived: Instant,
    ) -> Result<Result<(), Closed>, StreamError> {
        self.counts.push_back(Saturated::Device(frames.saturated));
        // By now the oldest are there: they are not waited for.
        if self.counts.len() > COUNTS_UNDER_WAY
            && let Some(counts) = self.counts.pop_front()
        {
            self.count_saturated(&counts)?;
        }
        self.send(Arc::new(FrameData::Device(Arc::new(frames.voltages))), arrived)
    }

    fn count_saturated(&mut self, counts: &Saturated) -> Result<(), StreamError> {
        let downloader = match &mut self.front {
            Front::Engine(_, Some(ways)) => Some(&mut ways.downloader),
            _ => None,
        };
        let saturated = counts.sum(downloader)?;
        self.shared.counters.saturated.add(saturated);
        metrics::counter!(telemetry::SATURATED).increment(saturated);
        Ok(())
    }

    /// Counts clipped samples of all chunks on a device but the last ones.
    fn count_clipped(&mut self, left: usize) -> Result<(), StreamError> {
        while self.statistics.len() > left {
            let (Some(statistics), Front::Engine(_, Some(ways))) = (self.statistics.pop_front(), &mut self.front)
            else {
                continue;
            };
            self.shared.clipped(&statistics.download(&mut ways.downloader)?);
        }
        Ok(())
    }

    fn send(&mut self, frames: Arc<FrameData<V>>, arrived: Instant) -> Result<Result<(), Closed>, StreamError> {
        let batches = frames.batches() as u64;
        self.shared.counters.frames.add(batches);
        metrics::counter!(telemetry::FRAMES).increment(batches);
        match &self.to_ring {
            // A closed queue: the other thread has failed, and has said so.
            Some(to_ring) => drop(to_ring.send(frames.clone())),
            None => drop(self.ring.push(&frames)?),
        }
        for output in &self.outputs {
            if output.send(FromFEngine::Frames(frames.clone(), arrived)) == Sent::Closed {
                return Ok(Err(Closed));
            }
        }
        Ok(Ok(()))
    }

    /// Sends the frames that are not complete.
    fn flush(&mut self, arrived: Instant) -> Result<Result<(), Closed>, StreamError> {
        loop {
            let sent = match &mut self.front {
                Front::Heaps(_) => return Ok(Ok(())),
                Front::Engine(engine, None) => match engine.flush()? {
                    None => return Ok(Ok(())),
                    Some(frames) => self.host_frames(frames, arrived)?,
                },
                Front::Engine(engine, Some(_)) => match engine.flush_on_device()? {
                    None => return Ok(Ok(())),
                    Some(frames) => self.device_frames(frames, arrived)?,
                },
            };
            if let Err(closed) = sent {
                return Ok(Err(closed));
            }
        }
    }
}

impl Shared {
    /// Counts clipped samples of a chunk.
    fn clipped(&self, statistics: &[InputStatistics]) {
        let clipped = statistics.iter().map(|of| of.clipped).sum();
        self.counters.clipped.add(clipped);
        metrics::counter!(telemetry::CLIPPED).increment(clipped);
    }
}

/// Marks the end of what an uploader was given.
fn record(uploader: &Uploader, event: Option<Event>) -> Result<Event, fringes_gpu::GpuError> {
    let event = event.map_or_else(|| uploader.device().new_sleeping_event(), Ok)?;
    event.record(uploader.stream())?;
    Ok(event)
}

/// Where a chunk is cut.
enum Cut {
    /// The change holds before it.
    Now,
    /// Behind so many samples.
    At(usize),
    /// Not in this chunk.
    Later,
}
