//! The dump of one chunk, which goes to the host while the chunk still comes: channels whose times are all summed are
//! read back beside the copies of the next ones, and the host's memory is touched meanwhile.
//!
//! ```text
//! link, to the device   | channels 0..4     | channels 4..8     | channels 8..12    |
//! device                  pack, products ...  pack, products ...
//! link, to the host                         | dump of 0..4 |    | dump of 4..8 |
//! ```
//!
//! Fresh memory of a process has no pages: the first write to each is a fault, which for a large dump takes as long as
//! a tenth of the copies. A thread does that while the host waits for the link.

use std::collections::VecDeque;
use std::ops::Range;
use std::thread::JoinHandle;

use fringes_backend::{DeviceError, Fetch, Staging, Workspace};
use fringes_types::{BaselineOrder, VoltageSample};
use ndarray::Array2;

use super::{DeviceSums, no_memory, pieces, rows_of, touched, zeroed};
use crate::CorrelatorError;

/// Bytes of a dump that are read back at once.
const STEP_BYTES: usize = 2 << 20;

/// Dumps from so many bytes on are worth a thread that touches their memory.
const TOUCH_BYTES: usize = 1 << 20;

/// A dump `[channel][baseline]` on its way to the host.
pub(super) struct Arriving<V: VoltageSample> {
    pub(super) order: BaselineOrder,
    baselines: usize,
    array: Memory<V::Accumulator>,
    /// What is in pinned memory or on its way there, in order, and where it belongs in the array.
    coming: VecDeque<(Fetch, Range<usize>)>,
    /// Channels that were sent.
    sent: usize,
}

/// The host's memory.
enum Memory<A> {
    /// Touched by a thread.
    Touching(JoinHandle<Result<Array2<A>, CorrelatorError>>),
    Ready(Array2<A>),
}

impl<V: VoltageSample> Arriving<V> {
    /// A dump of which nothing has come.
    pub(super) fn new(channels: usize, baselines: usize, order: BaselineOrder) -> Result<Self, CorrelatorError> {
        let bytes = channels.saturating_mul(baselines).saturating_mul(size_of::<V::Accumulator>());
        let thread = (bytes >= TOUCH_BYTES).then(|| {
            let name = String::from("fringes-dump");
            std::thread::Builder::new().name(name).spawn(move || touched(channels, baselines))
        });
        let array = match thread {
            Some(Ok(thread)) => Memory::Touching(thread),
            // Small, or no thread to be had: touched when it is written.
            _ => Memory::Ready(zeroed(channels, baselines)?),
        };
        Ok(Self { order, baselines, array, coming: VecDeque::new(), sent: 0 })
    }

    /// Whether all channels were sent.
    pub(super) fn is_sent(&self, channels: usize) -> bool {
        self.sent == channels
    }

    /// The array, touched.
    fn ready(&mut self) -> Result<&mut Array2<V::Accumulator>, CorrelatorError> {
        if matches!(self.array, Memory::Touching(_))
            && let Memory::Touching(thread) = std::mem::replace(&mut self.array, Memory::Ready(Array2::default((0, 0))))
        {
            self.array = Memory::Ready(joined(thread)?);
        }
        match &mut self.array {
            Memory::Ready(array) => Ok(array),
            // Replaced above.
            Memory::Touching(_) => Err(no_memory(0, self.baselines)),
        }
    }

    /// Copies what was sent first to its place.
    fn land(&mut self, staging: &mut Staging) -> Result<(), CorrelatorError> {
        let Some((fetch, elements)) = self.coming.pop_front() else { return Ok(()) };
        let array = self.ready()?;
        let channels = array.nrows();
        let all = rows_of(array, &(0..channels))?;
        let length = all.len();
        let (buffer, expected) = ("visibilities", elements.end);
        let to = all.get_mut(elements).ok_or(DeviceError::Length { buffer, expected, actual: length })?;
        Ok(staging.land(fetch, to)?)
    }

    /// Copies all that was sent to its place, when it has come.
    pub(super) fn land_all(&mut self, staging: &mut Staging) -> Result<(), CorrelatorError> {
        while !self.coming.is_empty() {
            self.land(staging)?;
        }
        Ok(())
    }

    /// The array: of what was landed, else zero.
    pub(super) fn into_array(mut self) -> Result<Array2<V::Accumulator>, CorrelatorError> {
        Ok(std::mem::take(self.ready()?))
    }
}

/// What a thread has touched.
fn joined<A>(thread: JoinHandle<Result<Array2<A>, CorrelatorError>>) -> Result<Array2<A>, CorrelatorError> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl<V: VoltageSample> DeviceSums<V> {
    /// Queues the dump of channels whose times are all added, on a stream of its own. The host waits if more is on its
    /// way than there is pinned memory for.
    pub(super) fn send_dump(
        &mut self,
        channels: &Range<usize>,
        workspace: &mut Workspace,
        dump: &mut Arriving<V>,
    ) -> Result<(), CorrelatorError> {
        let (baselines, order) = (dump.baselines, dump.order);
        self.sums.settle(&self.stream)?;
        let reduced = if self.sums.are_dump(order) {
            None
        } else {
            let mut out = self.pool.take(&self.stream, channels.len() * baselines)?;
            self.sums.reduce(&self.stream, channels, order, &mut out)?;
            Some(out)
        };
        let from = match &reduced {
            Some(out) => out.view(),
            None => self.sums.as_dump(channels)?,
        };
        workspace.reads.wait_for(&self.stream)?;
        let step = STEP_BYTES / size_of::<V::Accumulator>();
        let mut queue = || -> Result<(), CorrelatorError> {
            for part in pieces::spans(0..channels.len() * baselines, step) {
                if dump.coming.len() >= workspace.read_staging.pieces() {
                    dump.land(&mut workspace.read_staging)?;
                }
                let fetch = workspace.read_staging.fetch(&workspace.reads, from.slice(part.clone())?)?;
                let first = channels.start * baselines;
                dump.coming.push_back((fetch, first + part.start..first + part.end));
            }
            Ok(())
        };
        let queued = queue();
        // What is read goes back to its pool, and is used again, in the order of this stream.
        self.stream.wait_for(&workspace.reads)?;
        dump.sent += channels.len();
        queued
    }
}
