//! Time that a device works for a stage, taken between events of its stream.

use std::collections::VecDeque;

use fringes_backend::DeviceError;
use fringes_gpu::{Event, GpuError, Stream};

use super::report::Busy;

/// Events around work that may still run, and those that are used again.
#[derive(Debug, Default)]
pub(super) struct DeviceTime {
    under_way: VecDeque<[Event; 2]>,
    free: Vec<[Event; 2]>,
}

impl DeviceTime {
    /// Does what queues work on a stream, and adds the time that the device takes for it when that is known. What the
    /// stream waits for within it counts.
    pub(super) fn of<T, E: From<DeviceError>>(
        &mut self,
        stream: &Stream,
        busy: &Busy,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let [start, end] = self.begin(stream, busy).map_err(DeviceError::from)?;
        let done = work()?;
        end.record(stream).map_err(DeviceError::from)?;
        self.under_way.push_back([start, end]);
        Ok(done)
    }

    /// Events of which the first is recorded.
    fn begin(&mut self, stream: &Stream, busy: &Busy) -> Result<[Event; 2], GpuError> {
        while self.under_way.front().map_or(Ok(false), |[_, end]| end.is_done())? {
            self.note_oldest(busy)?;
        }
        let events = match self.free.pop() {
            Some(events) => events,
            None => [stream.device().new_event()?, stream.device().new_event()?],
        };
        events[0].record(stream)?;
        Ok(events)
    }

    /// Waits for all work, and adds its time.
    pub(super) fn finish(&mut self, busy: &Busy) -> Result<(), GpuError> {
        while !self.under_way.is_empty() {
            self.note_oldest(busy)?;
        }
        Ok(())
    }

    fn note_oldest(&mut self, busy: &Busy) -> Result<(), GpuError> {
        if let Some([start, end]) = self.under_way.pop_front() {
            busy.add(std::time::Duration::from_secs_f64(1e-3 * end.elapsed_ms(&start)?.max(0.0)));
            self.free.push([start, end]);
        }
        Ok(())
    }
}
