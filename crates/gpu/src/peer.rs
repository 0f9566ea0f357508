//! Two devices: whether one reaches the other's memory, copies from one to the other, and that memory which is read
//! from elsewhere is not freed.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytemuck::Pod;
use cudarc::driver::sys;

use crate::context::{Context, Handle};
use crate::driver::{self, Doing, Failure};
use crate::{BufferView, BufferViewMut, Device, Event, GpuError, Stream};

/// What a context knows of others.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// Contexts that were asked about, and whether this one reaches their memory.
    asked: Mutex<Vec<(Weak<Context>, bool)>>,
    /// A stream that waits for whatever reads this context's memory from elsewhere. Nothing else is queued on it.
    guard: Mutex<Option<Handle<sys::CUstream_st>>>,
}

impl Peers {
    /// The guard, to be ended with the context.
    pub(crate) fn take_guard(&mut self) -> Option<Handle<sys::CUstream_st>> {
        self.guard.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Device {
    /// Whether this device can reach the memory of `peer` over a link of their own (NVLink, PCIe), without the host.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool, GpuError> {
        if self.context.device == peer.context.device {
            return Ok(true);
        }
        let _entered = self.context.enter()?;
        let mut can: c_int = 0;
        // SAFETY: the pointer is valid for the call, and both devices are the driver's.
        unsafe { driver::cuDeviceCanAccessPeer(&raw mut can, self.context.device, peer.context.device) }
            .doing("asking whether a GPU reaches another's memory")?;
        Ok(can != 0)
    }

    /// Lets this device reach the memory of `peer`. Copies between the two go over their link then, and not through the
    /// host. [`BufferViewMut::copy_blocks_from`](crate::BufferViewMut::copy_blocks_from) does this by itself, once for
    /// each pair; done beforehand, it takes no time there.
    ///
    /// # Errors
    /// [`GpuError::NoPeerAccess`] where it cannot; what the driver answers.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<(), GpuError> {
        if self.context.reaches(&peer.context)? {
            return Ok(());
        }
        Err(GpuError::NoPeerAccess { from: self.context.label(), to: peer.context.label() })
    }
}

impl<T: Pod> BufferViewMut<'_, T> {
    /// Copies all elements from memory of the same or another device, in the order of `stream`, which is of either.
    /// Returns at once. Between devices the copy goes over their link if one reaches the other's memory
    /// ([`Device::can_access_peer`]), and through the host otherwise.
    ///
    /// # Order
    /// As of [`BufferViewMut::copy_blocks_from`].
    ///
    /// # Errors
    /// [`GpuError::Length`], before anything is overwritten; [`GpuError::WrongDevice`] for a stream of neither device;
    /// [`GpuError::Value`] between devices for a stream that is captured into a graph; what the driver answers.
    pub fn copy_across(&mut self, stream: &Stream, from: BufferView<'_, T>) -> Result<(), GpuError> {
        const WHAT: &str = "copying between devices";
        let [to, source, own] = [self.device(), from.device(), stream.device()].map(|device| &device.context);
        if to.raw == source.raw {
            return self.copy_from(stream, from);
        }
        if self.len() != from.len() {
            return Err(GpuError::Length { what: WHAT, expected: self.len(), actual: from.len() });
        }
        // The device whose memory is freed without knowing of the copy.
        let other = if own.raw == source.raw { to } else { source };
        if own.raw != source.raw {
            own.expect_same(to, "the buffer")?;
        }
        if self.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        if stream.is_capturing()? {
            let expected = "a stream that is not being captured, for a copy between devices".into();
            return Err(GpuError::Value { what: WHAT, expected, actual: "one that is".into() });
        }
        // Both ways: the driver copies from either side. Where they cannot, it goes through the host.
        to.reaches(source)?;
        source.reaches(to)?;
        let done = stream.device().new_untimed_event()?;
        let entered = own.enter()?;
        // SAFETY: both views have as many bytes, in the memory of the two contexts; freeing memory of the stream's
        // context waits for the copy, and of the other from `free_after` on, before which nothing returns.
        unsafe {
            let (to_raw, from_raw) = (to.raw.0, source.raw.0);
            driver::cuMemcpyPeerAsync(self.address(), to_raw, from.address(), from_raw, from.bytes(), stream.raw())
        }
        .doing(WHAT)?;
        drop(entered);
        let guarded = done.record(stream).and_then(|()| other.free_after(&done));
        guarded.or_else(|error| stream.synchronize().and(Err(error)))
    }
}

impl Context {
    /// Whether this context reaches the memory of `peer`, after letting it where it can. Asked once for each pair.
    pub(crate) fn reaches(self: &Arc<Self>, peer: &Arc<Self>) -> Result<bool, GpuError> {
        if self.raw == peer.raw || self.device == peer.device {
            return Ok(true);
        }
        let mut asked = self.peers.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|(known, _)| known.strong_count() > 0);
        if let Some((_, reaches)) = asked.iter().find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(peer))) {
            return Ok(*reaches);
        }
        let this = Device { context: self.clone() };
        let reaches = this.can_access_peer(&Device { context: peer.clone() })?;
        if reaches {
            let _entered = self.enter()?;
            // SAFETY: a context is current, and the peer's is alive; the flags must be 0.
            match unsafe { driver::cuCtxEnablePeerAccess(peer.raw.0, 0) } {
                Ok(()) | Err(Failure::Code(driver::PEER_ACCESS_ALREADY_ENABLED)) => {}
                Err(failure) => return Err(failure.error("letting a GPU reach another's memory".into())),
            }
        }
        asked.push((Arc::downgrade(peer), reaches));
        Ok(reaches)
    }

    /// Has memory of this context freed only after `event`, which is another device's: freeing waits for all streams of
    /// the context, and one of them waits for the event from here on. No stream with work on it does.
    pub(crate) fn free_after(&self, event: &Event) -> Result<(), GpuError> {
        const DOING: &str = "keeping memory that another GPU reads";
        let mut guard = self.peers.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let _entered = self.enter()?;
        let stream = match *guard {
            Some(stream) => stream,
            None => {
                let mut raw: sys::CUstream = std::ptr::null_mut();
                let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
                // SAFETY: the pointer is valid for the call, and the stream is destroyed once, with the context.
                unsafe { driver::cuStreamCreate(&raw mut raw, flags) }.doing(DOING)?;
                *guard.insert(Handle(raw))
            }
        };
        // SAFETY: the stream is of the current context, the event is valid and may be of any context; the flags must be
        // 0.
        unsafe { driver::cuStreamWaitEvent(stream.0, event.raw(), 0) }.doing(DOING)
    }
}
