//! A device's context: what is current on a thread during a call, and what is loaded in it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys;

use crate::driver::{self, Doing};
use crate::module::{LoadedModule, TextKey};
use crate::peer::Peers;
use crate::{DeviceInfo, GpuError};

/// A handle of the driver: a name, not memory that we read.
#[derive(Debug)]
pub(crate) struct Handle<T>(pub(crate) *mut T);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

// SAFETY: the driver takes its handles on any thread, and this crate never reads through them.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

/// Who ends a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// This crate holds a reference to the device's primary context.
    Primary,
    /// Other software made it and ends it.
    External,
}

/// A context and what this crate keeps in it.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) raw: Handle<sys::CUctx_st>,
    pub(crate) device: sys::CUdevice,
    pub(crate) owner: Owner,
    pub(crate) info: DeviceInfo,
    /// Modules by where their PTX text is.
    modules: Mutex<HashMap<TextKey, Arc<LoadedModule>>>,
    /// What other devices have to do with this one's memory.
    pub(crate) peers: Peers,
}

impl Context {
    pub(crate) fn new(raw: sys::CUcontext, device: sys::CUdevice, owner: Owner, info: DeviceInfo) -> Self {
        Self { raw: Handle(raw), device, owner, info, modules: Mutex::default(), peers: Peers::default() }
    }

    /// Makes the context current on this thread until the returned value is dropped, which leaves the thread as it was.
    pub(crate) fn enter(&self) -> Result<Entered<'_>, GpuError> {
        const DOING: &str = "making the GPU's context current";
        let mut current: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        unsafe { driver::cuCtxGetCurrent(&raw mut current) }.doing(DOING)?;
        let pushed = current != self.raw.0;
        if pushed {
            // SAFETY: the context lives as long as `self`, or by the promise of whoever gave it.
            unsafe { driver::cuCtxPushCurrent_v2(self.raw.0) }.doing(DOING)?;
        }
        Ok(Entered { pushed, _context: PhantomData })
    }

    /// The modules that are loaded.
    pub(crate) fn modules(&self) -> MutexGuard<'_, HashMap<TextKey, Arc<LoadedModule>>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device and context, for messages.
    pub(crate) fn label(&self) -> String {
        let kind = if self.owner == Owner::Primary { "primary context" } else { "external context" };
        format!("GPU {} ({kind} {:p})", self.info.index, self.raw.0)
    }

    /// Refuses things of another context.
    pub(crate) fn expect_same(&self, other: &Self, what: &'static str) -> Result<(), GpuError> {
        if self.raw == other.raw {
            return Ok(());
        }
        Err(GpuError::WrongDevice { what, expected: self.label(), actual: other.label() })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let modules = std::mem::take(self.modules.get_mut().unwrap_or_else(PoisonError::into_inner));
        let guard = self.peers.take_guard();
        if !modules.is_empty() || guard.is_some() {
            match self.enter() {
                Err(error) => tracing::error!("unloading kernels: {error}"),
                Ok(_entered) => {
                    if let Some(guard) = guard {
                        // SAFETY: the stream was made here and has no other name.
                        driver::report(unsafe { driver::cuStreamDestroy_v2(guard.0) }, "ending a stream");
                    }
                    for module in modules.values() {
                        // SAFETY: the module was loaded here, and every `Module` and `Kernel` holds this context alive.
                        driver::report(unsafe { driver::cuModuleUnload(module.raw.0) }, "unloading kernels");
                    }
                }
            }
        }
        if self.owner == Owner::Primary {
            // SAFETY: one reference was taken when this was made.
            driver::report(unsafe { driver::cuDevicePrimaryCtxRelease_v2(self.device) }, "releasing the GPU's context");
        }
    }
}

/// A context is current on this thread as long as this lives.
pub(crate) struct Entered<'a> {
    pushed: bool,
    /// Bound to the thread: neither `Send` nor `Sync`.
    _context: PhantomData<(&'a Context, *const ())>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped: sys::CUcontext = std::ptr::null_mut();
            // SAFETY: the pointer is valid for the call; what is popped is what `enter` pushed.
            driver::report(unsafe { driver::cuCtxPopCurrent_v2(&raw mut popped) }, "leaving the GPU's context");
        }
    }
}
