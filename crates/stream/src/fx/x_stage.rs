//! The thread of the correlator: frames to dumps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use fringes_correlator::{BinnedDump, BinnedIntegrator, CorrelatorError, Dump, IntegratorSet};
use fringes_gpu::Stream;
use fringes_types::{ChannelMask, Visibilities};

use super::delivery::Finished;
use super::device_time::DeviceTime;
use super::frames::{FrameData, StreamSample};
use super::masked_frames::{FramesIn, FromMasking};
use super::stages::Shared;
use crate::{Stage, StreamError, telemetry};

/// Takes a dump; where its way is closed, somebody else has said why.
pub(super) type Give<D> = Box<dyn FnMut(Finished<D>) -> Result<(), StreamError> + Send>;

/// The correlator, of dumps whose sums are arrays of `S`: on the host or on a device.
pub(super) struct XStage<V: StreamSample, S>
where
    Visibilities<V::Accumulator, S>: Dump<V>,
{
    integrators: Option<IntegratorSet<V, Visibilities<V::Accumulator, S>>>,
    /// Sums of bins, the cadence behind the others.
    binned: Option<BinnedIntegrator<V, Visibilities<V::Accumulator, S>>>,
    /// Number of cadences without bins.
    cadences: usize,
    give: Give<Visibilities<V::Accumulator, S>>,
    shared: Arc<Shared>,
    /// A longer gap is a jump of the clock.
    longest_gap: u64,
    /// The stream of a GPU's work, and the time it takes.
    on_device: Option<(Stream, DeviceTime)>,
    /// The last heaps in pinned memory, which a device may still read.
    pinned: VecDeque<Arc<FrameData<V>>>,
    /// When the chunk came that completed the last frames.
    arrived: Instant,
}

/// What a correlator has wherever its dumps lie.
pub(super) struct XCommon {
    pub(super) cadences: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) longest_gap: u64,
    /// The stream of a GPU's work.
    pub(super) stream: Option<Stream>,
}

/// Heaps in pinned memory that a device may still read: more, and the host would run ahead of the link.
const PINNED_UNDER_WAY: usize = 2;

impl<V: StreamSample, S> XStage<V, S>
where
    Visibilities<V::Accumulator, S>: Dump<V>,
{
    pub(super) fn new(
        integrators: Option<IntegratorSet<V, Visibilities<V::Accumulator, S>>>,
        binned: Option<BinnedIntegrator<V, Visibilities<V::Accumulator, S>>>,
        give: Give<Visibilities<V::Accumulator, S>>,
        XCommon { cadences, shared, longest_gap, stream }: XCommon,
    ) -> Self {
        let (pinned, on_device) = (VecDeque::new(), stream.map(|stream| (stream, DeviceTime::default())));
        let arrived = Instant::now();
        Self { integrators, binned, cadences, give, shared, longest_gap, on_device, pinned, arrived }
    }

    pub(super) fn run(mut self, input: FramesIn<V>) {
        let shared = self.shared.clone();
        let ended = input.run(&shared.counters.correlator, |message| match message {
            FromMasking::Frames(masked) => {
                self.arrived = masked.arrived;
                self.wait_for_pinned(&masked.frames)?;
                self.frames(&masked.frames, masked.mask.as_deref(), masked.arrived)
            }
            FromMasking::Restart => self.finish_sums(None),
            FromMasking::End(until) => self.finish_sums(until),
        });
        if let Err(error) = ended {
            return shared.fail(error.of_frames(Stage::Correlator));
        }
        let [.., correlating] = &self.shared.counters.on_device;
        if let Some((_, time)) = &mut self.on_device
            && let Err(error) = time.finish(correlating)
        {
            self.shared.fail(StreamError::at(Stage::Correlator, error));
        }
    }

    /// Waits for the device to have read heaps in pinned memory, unless they are the last ones.
    fn wait_for_pinned(&mut self, frames: &Arc<FrameData<V>>) -> Result<(), StreamError> {
        if !matches!(**frames, FrameData::Pinned(_)) {
            return Ok(());
        }
        if self.pinned.len() >= PINNED_UNDER_WAY
            && let Some(oldest) = self.pinned.pop_front()
            && let FrameData::Pinned(heaps) = &*oldest
        {
            let read = heaps.array().buffer().wait_for_reads();
            read.map_err(|error| StreamError::at(Stage::Correlator, error))?;
        }
        self.pinned.push_back(frames.clone());
        Ok(())
    }

    fn frames(
        &mut self,
        frames: &FrameData<V>,
        mask: Option<&ChannelMask>,
        arrived: Instant,
    ) -> Result<(), StreamError> {
        let clock = frames.clock();
        let next = match (&self.integrators, &self.binned) {
            (Some(integrators), _) => integrators.next_sample(),
            (None, Some(binned)) => binned.next_sample(),
            (None, None) => None,
        };
        if next.is_some_and(|next| clock.sample_of(frames.times()) <= next) {
            // Heaps from a network may come late; frames of an F-engine do not.
            self.shared.counters.late.add(1);
            metrics::counter!(telemetry::CHUNKS, "fate" => "late").increment(1);
            return Ok(());
        }
        if let Some(next) = next.filter(|&next| clock.first_sample.saturating_sub(next) > self.longest_gap) {
            // Heaps of a source; an F-engine's stream has begun anew already. Both sums do, before they take frames.
            self.shared.jumped(next, clock.first_sample);
            self.finish_sums(None)?;
        }
        let _span = tracing::trace_span!("correlator", first = clock.first_sample, times = frames.times()).entered();
        let push = |integrators: &mut IntegratorSet<V, _>| match (frames, mask) {
            (FrameData::Host(heaps), None) => integrators.push(heaps),
            (FrameData::Host(heaps), Some(mask)) => integrators.push_masked(heaps, mask),
            (FrameData::Pinned(heaps), None) => integrators.push(&**heaps),
            (FrameData::Pinned(heaps), Some(mask)) => integrators.push_masked(&**heaps, mask),
            (FrameData::Device(heaps), None) => integrators.push(&**heaps),
            (FrameData::Device(heaps), Some(mask)) => integrators.push_masked(&**heaps, mask),
        };
        let push_binned = |integrator: &mut BinnedIntegrator<V, _>| match (frames, mask) {
            (FrameData::Host(heaps), None) => integrator.push(heaps),
            (FrameData::Host(heaps), Some(mask)) => integrator.push_masked(heaps, mask),
            (FrameData::Pinned(heaps), None) => integrator.push(&**heaps),
            (FrameData::Pinned(heaps), Some(mask)) => integrator.push_masked(&**heaps, mask),
            (FrameData::Device(heaps), None) => integrator.push(&**heaps),
            (FrameData::Device(heaps), Some(mask)) => integrator.push_masked(&**heaps, mask),
        };
        let (integrators, binned) = (&mut self.integrators, &mut self.binned);
        let mut push_all = || -> Result<_, CorrelatorError> {
            let dumps = integrators.as_mut().map_or(Ok(Vec::new()), push)?;
            Ok((dumps, binned.as_mut().map_or(Ok(Vec::new()), push_binned)?))
        };
        let (dumps, bins) = match &mut self.on_device {
            None => push_all()?,
            Some((stream, time)) => {
                if let FrameData::Device(heaps) = frames {
                    // What it waits for is no time of its own.
                    heaps.array().read_on(stream).map_err(CorrelatorError::from)?;
                }
                let [.., correlating] = &self.shared.counters.on_device;
                time.of(stream, correlating, push_all)?
            }
        };
        dumps.into_iter().try_for_each(|(cadence, sums)| self.give(cadence, None, sums, arrived))?;
        bins.into_iter().try_for_each(|dump| self.give_bins(dump, arrived))
    }

    fn give_bins(
        &mut self,
        dump: BinnedDump<Visibilities<V::Accumulator, S>>,
        arrived: Instant,
    ) -> Result<(), StreamError> {
        let cadence = self.cadences;
        let mut bins = dump.bins.into_iter().enumerate();
        bins.try_for_each(|(bin, sums)| self.give(cadence, Some(bin), sums, arrived))
    }

    fn give(
        &mut self,
        cadence: usize,
        bin: Option<usize>,
        sums: Visibilities<V::Accumulator, S>,
        arrived: Instant,
    ) -> Result<(), StreamError> {
        (self.give)(Finished { cadence, bin, sums, arrived })
    }

    /// Gives the dumps under way that begin before a sample, unless nothing of them came.
    fn finish_sums(&mut self, until: Option<u64>) -> Result<(), StreamError> {
        let arrived = self.arrived;
        let dumps = self.integrators.as_mut().map_or(Ok(Vec::new()), IntegratorSet::finish)?;
        let bins = self.binned.as_mut().map_or(Ok(None), BinnedIntegrator::finish)?;
        let wanted = |dump: &Visibilities<V::Accumulator, S>| {
            let before = until.is_none_or(|until| dump.clock().first_sample < until);
            before && dump.valid_samples().iter().any(|&valid| valid > 0)
        };
        for (cadence, dump) in dumps {
            if wanted(&dump) {
                self.give(cadence, None, dump, arrived)?;
            }
        }
        match bins {
            Some(dump) if dump.bins.iter().any(wanted) => self.give_bins(dump, arrived),
            _ => Ok(()),
        }
    }
}
