//! Events: marks in streams, to wait for and to take times between.

use cudarc::driver::sys;

use crate::context::Handle;
use crate::driver::{self, Doing, Failure};
use crate::{Device, GpuError, Stream};

/// A mark in a stream. It is done when all work queued before it is. `Event` is `Send` and `Sync`.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: Handle<sys::CUevent_st>,
}

impl Device {
    /// A new event that takes times.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_event(&self) -> Result<Event, GpuError> {
        self.event_with(sys::CUevent_flags::CU_EVENT_DEFAULT as u32)
    }

    /// A new event that takes no times. A device passes its mark sooner than that of one which does.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_untimed_event(&self) -> Result<Event, GpuError> {
        self.event_with(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32)
    }

    /// A new event whose [`Event::synchronize`] sleeps, and wakes some tens of microseconds late; that of others keeps
    /// a processor busy. It takes no times.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_sleeping_event(&self) -> Result<Event, GpuError> {
        use sys::CUevent_flags::{CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING};
        self.event_with(CU_EVENT_BLOCKING_SYNC as u32 | CU_EVENT_DISABLE_TIMING as u32)
    }

    fn event_with(&self, flags: u32) -> Result<Event, GpuError> {
        let _entered = self.context.enter()?;
        let mut raw: sys::CUevent = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call, and the event is destroyed once, when dropped.
        unsafe { driver::cuEventCreate(&raw mut raw, flags) }.doing("making an event")?;
        Ok(Event { device: self.clone(), raw: Handle(raw) })
    }
}

impl Event {
    /// The event, for other software to use.
    #[must_use]
    pub fn raw(&self) -> sys::CUevent {
        self.raw.0
    }

    /// The device that it marks work of.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Marks this place of a stream, in place of what was marked before.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for a stream of another context; what the driver answers.
    pub fn record(&self, stream: &Stream) -> Result<(), GpuError> {
        self.device.context.expect_same(&stream.device().context, "the stream")?;
        let _entered = self.device.context.enter()?;
        // SAFETY: event and stream are valid and of one context.
        unsafe { driver::cuEventRecord(self.raw(), stream.raw()) }.doing("recording an event")
    }

    /// Waits until the mark is reached; returns at once where nothing was recorded.
    ///
    /// # Errors
    /// The first failure of asynchronous work that was not yet reported.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        let _entered = self.device.context.enter()?;
        // SAFETY: the event is valid.
        unsafe { driver::cuEventSynchronize(self.raw()) }.doing("waiting for an event")
    }

    /// Whether the mark is reached.
    ///
    /// # Errors
    /// The first failure of asynchronous work that was not yet reported.
    pub fn is_done(&self) -> Result<bool, GpuError> {
        let _entered = self.device.context.enter()?;
        // SAFETY: the event is valid.
        match unsafe { driver::cuEventQuery(self.raw()) } {
            Ok(()) => Ok(true),
            Err(Failure::Code(driver::NOT_READY)) => Ok(false),
            Err(failure) => Err(failure.error("asking whether an event is done".into())),
        }
    }

    /// Milliseconds from `start` to this event, both of which are waited for. The driver's resolution is about 0.5
    /// microseconds.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for an event of another context; what the driver answers where one was not recorded or
    /// takes no times; a failure of asynchronous work.
    pub fn elapsed_ms(&self, start: &Self) -> Result<f64, GpuError> {
        self.device.context.expect_same(&start.device.context, "the start event")?;
        start.synchronize()?;
        self.synchronize()?;
        let _entered = self.device.context.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: the pointer is valid for the call, and both events are valid.
        unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.raw(), self.raw()) }
            .doing("taking the time between two events")?;
        Ok(f64::from(milliseconds))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        match self.device.context.enter() {
            Err(error) => tracing::error!("ending an event: {error}"),
            // SAFETY: the event was made here and is used no more; the driver frees it when its mark is reached.
            Ok(_entered) => driver::report(unsafe { driver::cuEventDestroy_v2(self.raw()) }, "ending an event"),
        }
    }
}
