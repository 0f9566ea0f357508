//! Two devices: whether one reaches the other's memory, and that memory which is read from elsewhere is not freed.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::sys;

use crate::context::{Context, Handle};
use crate::driver::{self, Doing, Failure};
use crate::{Device, Event, GpuError};

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
