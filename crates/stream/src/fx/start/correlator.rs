//! The correlator: its sums, and its threads.

use std::collections::VecDeque;
use std::sync::Arc;

use fringes_backend::{Backend, Downloader};
use fringes_correlator::{BinnedIntegrator, Bins, DumpSchedule, IntegratorSet};
use fringes_gpu::{Device, Stream};
use fringes_types::Inputs;

use super::super::delivery::{Delivery, DumpStage};
use super::super::frames::StreamSample;
use super::super::masked_frames::FramesIn;
use super::super::running::Thread;
use super::super::stages::Shared;
use super::super::x_stage::{Give, XCommon, XStage};
use super::Gaps;
use crate::queue::queue;
use crate::{BoxError, Stage, StreamError};

/// Sums, and on a GPU what brings dumps from there.
pub(super) struct Correlation<V: StreamSample> {
    integrators: Option<IntegratorSet<V>>,
    binned: Option<BinnedIntegrator<V>>,
    downloads: Option<Downloader>,
    /// Of both sums.
    stream: Option<Stream>,
}

impl<V: StreamSample> Correlation<V> {
    /// The sums of these inputs and channels; `None` if there are none.
    pub(super) fn new(
        backend: &Backend,
        schedules: &[DumpSchedule],
        binned: Option<(DumpSchedule, Bins)>,
        (inputs, channels): (Inputs, usize),
        gaps: Gaps,
    ) -> Result<Option<Self>, StreamError> {
        let shortest = schedules.iter().map(DumpSchedule::timestamp_difference).min();
        let integrators = match shortest {
            Some(dump) if channels > 0 => {
                let set = IntegratorSet::<V>::new(backend, schedules, inputs, channels)?;
                Some(set.with_longest_gap(gaps.empty_dumps(dump)))
            }
            _ => None,
        };
        let binned = match binned {
            Some((schedule, bins)) if channels > 0 => {
                let binned = BinnedIntegrator::<V>::new(backend, schedule, bins, inputs, channels)?;
                Some(binned.with_longest_gap(gaps.empty_dumps(schedule.timestamp_difference())))
            }
            _ => None,
        };
        if integrators.is_none() && binned.is_none() {
            return Ok(None);
        }
        // Dumps of all cadences and bins may end together.
        let at_once = schedules.len() + binned.as_ref().map_or(0, |binned| binned.bins().count());
        let dump_bytes = (channels * inputs.triangle_len() * size_of::<V::Accumulator>()) as u64;
        let dump_bytes = dump_bytes.saturating_mul(at_once as u64);
        let device = integrators.as_ref().and_then(IntegratorSet::device);
        let device = device.or(binned.as_ref().and_then(BinnedIntegrator::device)).cloned();
        let downloads = device.as_ref().map(|device| downloader(device, dump_bytes)).transpose();
        let downloads = downloads.map_err(|error| StreamError::at(Stage::Correlator, error))?.flatten();
        // Sums of cadences and of bins on one stream.
        let stream = device.map(|device| device.new_stream()).transpose();
        let stream = stream.map_err(|error| StreamError::at(Stage::Correlator, error))?;
        let (integrators, binned) = match &stream {
            None => (integrators, binned),
            Some(stream) => (
                integrators.map(|integrators| integrators.on(stream)).transpose()?,
                binned.map(|binned| binned.on(stream)).transpose()?,
            ),
        };
        Ok(Some(Self { integrators, binned, downloads, stream }))
    }

    /// Starts the thread of the sums, and that which brings dumps to the host.
    pub(super) fn start(
        self,
        input: FramesIn<V>,
        delivery: Delivery,
        longest_gap: u64,
        shared: &Arc<Shared>,
        threads: &mut Vec<Thread>,
    ) -> Result<(), StreamError> {
        let Self { integrators, binned, downloads, stream } = self;
        let of = XCommon { cadences: delivery.subsets.len(), shared: shared.clone(), longest_gap, stream };
        let Some(downloader) = downloads else {
            let give: Give<_> = Box::new(move |finished| delivery.give::<V>(finished).map(drop));
            let stage = XStage::new(integrators, binned, give, of);
            threads.push(Thread::start(Stage::Correlator, shared, move || stage.run(input))?);
            return Ok(());
        };
        let integrators = integrators.map(IntegratorSet::dumps_on_device).transpose()?;
        let binned = binned.map(BinnedIntegrator::dumps_on_device).transpose()?;
        let (to_host, dumps, _) = queue("dumps".into(), 1);
        // A closed queue: the other thread has failed, and has said so.
        let give: Give<_> = Box::new(move |finished| {
            let _ = to_host.send(finished);
            Ok(())
        });
        let downloads = DumpStage::<V> { downloader, input: dumps, delivery, given: VecDeque::new() };
        threads.push(Thread::start(Stage::Correlator, shared, move || downloads.run())?);
        let stage = XStage::new(integrators, binned, give, of);
        threads.push(Thread::start(Stage::Correlator, shared, move || stage.run(input))?);
        Ok(())
    }
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
