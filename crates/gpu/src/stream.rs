//! Streams: queues of work that a device does in order.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::sys;

use crate::context::Handle;
use crate::driver::{self, Doing, Failure};
use crate::{Device, Event, GpuError};

/// A queue of work on a device. Work of one stream is done in order; work of two is ordered only by events.
///
/// A clone is another name for the same queue. `Stream` is `Send` and `Sync`: any thread may add to it. Dropping the
/// last clone of a stream of one's own lets its work finish.
#[derive(Debug, Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    device: Device,
    raw: Handle<sys::CUstream_st>,
    owned: bool,
    /// What must live as long as a stream of other software.
    _keep: Option<Keep>,
}

/// Priority of urgent streams: lower numbers go first, and the driver takes the nearest that there is.
const URGENT: i32 = -1000;

/// Something that is only kept.
type Keep = Arc<dyn Any + Send + Sync>;

impl Device {
    /// A new stream, whose work is not ordered with the default stream's.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_stream(&self) -> Result<Stream, GpuError> {
        self.stream_of(0)
    }

    /// A new stream whose blocks begin before those of others that wait for room on a multiprocessor: for little work
    /// that much waits for.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_urgent_stream(&self) -> Result<Stream, GpuError> {
        self.stream_of(URGENT)
    }

    fn stream_of(&self, priority: i32) -> Result<Stream, GpuError> {
        let _entered = self.context.enter()?;
        let mut raw: sys::CUstream = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid for the call, and the stream is destroyed once, by `Inner`.
        unsafe { driver::cuStreamCreateWithPriority(&raw mut raw, flags, priority) }.doing("making a stream")?;
        Ok(Stream { inner: Arc::new(Inner { device: self.clone(), raw: Handle(raw), owned: true, _keep: None }) })
    }

    /// The context's default stream, which most software uses that names none.
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        Stream {
            inner: Arc::new(Inner {
                device: self.clone(),
                raw: Handle(std::ptr::null_mut()),
                owned: false,
                _keep: None,
            }),
        }
    }
}

impl Stream {
    /// A stream that other software made. It is not destroyed here.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] where the stream belongs to another context; what the driver answers to an invalid
    /// one.
    ///
    /// # Safety
    /// - `raw` is a valid `CUstream`;
    /// - it lives until the returned stream, its clones and everything that keeps one of them are dropped.
    pub unsafe fn from_raw(device: &Device, raw: sys::CUstream) -> Result<Self, GpuError> {
        let entered = device.context.enter()?;
        let mut context: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: the caller promises that the stream is valid.
        unsafe { driver::cuStreamGetCtx(raw, &raw mut context) }.doing("taking another software's stream")?;
        drop(entered);
        if context != device.context.raw.0 {
            return Err(GpuError::WrongDevice {
                what: "the stream",
                expected: device.context.label(),
                actual: format!("context {context:p}"),
            });
        }
        Ok(Self { inner: Arc::new(Inner { device: device.clone(), raw: Handle(raw), owned: false, _keep: None }) })
    }

    /// The same stream, which keeps something alive.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) fn keeping(&self, keep: Keep) -> Self {
        let Inner { device, raw, .. } = &*self.inner;
        Self { inner: Arc::new(Inner { device: device.clone(), raw: *raw, owned: false, _keep: Some(keep) }) }
    }

    /// The stream, for other software to use. It lives as long as this stream and its clones.
    #[must_use]
    pub fn raw(&self) -> sys::CUstream {
        self.inner.raw.0
    }

    /// The device whose work it queues.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Whether two streams are one queue.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.inner.raw == other.inner.raw && self.device().is_same(other.device())
    }

    /// Waits for all work queued so far.
    ///
    /// # Errors
    /// The first failure of asynchronous work that was not yet reported.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        let _entered = self.device().context.enter()?;
        // SAFETY: the stream is valid as long as `self`.
        unsafe { driver::cuStreamSynchronize(self.raw()) }.doing("waiting for a stream")
    }

    /// Whether all work queued so far is done.
    ///
    /// # Errors
    /// The first failure of asynchronous work that was not yet reported.
    pub fn is_done(&self) -> Result<bool, GpuError> {
        let _entered = self.device().context.enter()?;
        // SAFETY: the stream is valid as long as `self`.
        match unsafe { driver::cuStreamQuery(self.raw()) } {
            Ok(()) => Ok(true),
            Err(Failure::Code(driver::NOT_READY)) => Ok(false),
            Err(failure) => Err(failure.error("asking whether a stream is done".into())),
        }
    }

    /// Makes later work of this stream wait for what `event` recorded, on this device or on another. Returns at once.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn wait(&self, event: &Event) -> Result<(), GpuError> {
        let _entered = self.device().context.enter()?;
        // SAFETY: stream and event are valid, and the stream's context is current; the event may be of any context of
        // the process; the flags must be 0.
        unsafe { driver::cuStreamWaitEvent(self.raw(), event.raw(), 0) }.doing("making a stream wait for an event")
    }

    /// Makes later work of this stream wait for all work queued so far on `other`, a stream of this device or of
    /// another.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait_for(&self, other: &Self) -> Result<(), GpuError> {
        if self.is_same(other) {
            return Ok(());
        }
        let event = other.device().new_untimed_event()?;
        event.record(other)?;
        self.wait(&event)
    }

    /// Whether the stream's work is being captured into a graph.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn is_capturing(&self) -> Result<bool, GpuError> {
        let _entered = self.device().context.enter()?;
        let mut status = 0;
        // SAFETY: the stream is valid and the pointer is valid for the call.
        unsafe { driver::cuStreamIsCapturing(self.raw(), &raw mut status) }
            .doing("asking whether a stream is captured")?;
        Ok(status != 0)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        match self.device.context.enter() {
            Err(error) => tracing::error!("ending a stream: {error}"),
            // SAFETY: the stream was made here and this is its last name; the driver lets its work finish.
            Ok(_entered) => driver::report(unsafe { driver::cuStreamDestroy_v2(self.raw.0) }, "ending a stream"),
        }
    }
}
