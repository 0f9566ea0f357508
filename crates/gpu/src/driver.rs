//! The driver's functions that this crate calls, found in the driver's library when first used.
//!
//! `cudarc` loads the library and describes the driver's types. Its own bindings are not called: they panic where a
//! driver lacks a function, and they return the driver's answer as a Rust enum, which a newer driver's unknown answers
//! would make undefined behaviour. Here an answer is a number until it is known to be zero.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::GpuError;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_NOT_READY`: work is still running.
pub(crate) const NOT_READY: u32 = 600;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
pub(crate) const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
/// `CUDA_ERROR_STUB_LIBRARY`: the library is the toolkit's empty stand-in.
const STUB_LIBRARY: u32 = 34;
/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: u32 = 100;

/// Why a call failed, before it is known what was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The driver's answer.
    Code(u32),
    /// The driver lacks the function.
    Missing(&'static str),
}

/// Turns a failure into an error that says what was being done.
pub(crate) trait Doing<T> {
    /// With a fixed text.
    fn doing(self, doing: &str) -> Result<T, GpuError>;
    /// With a text that is made only on failure.
    fn doing_with(self, doing: impl FnOnce() -> String) -> Result<T, GpuError>;
}

impl<T> Doing<T> for Result<T, Failure> {
    fn doing(self, doing: &str) -> Result<T, GpuError> {
        self.map_err(|failure| failure.error(doing.to_owned()))
    }

    fn doing_with(self, doing: impl FnOnce() -> String) -> Result<T, GpuError> {
        self.map_err(|failure| failure.error(doing()))
    }
}

impl Failure {
    /// The typed error.
    pub(crate) fn error(self, doing: String) -> GpuError {
        match self {
            Self::Code(code) => {
                let (name, message) = describe(code);
                GpuError::Driver { code, name, message, doing }
            }
            Self::Missing(function) => {
                GpuError::MissingFunction { function, driver: version().unwrap_or_default(), doing }
            }
        }
    }
}

macro_rules! driver_functions {
    ($($(#[$condition:meta])* $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        $(#[$condition])*
        /// The driver's function of the same name.
        ///
        /// # Safety
        /// The driver's documentation of this function.
        #[allow(non_snake_case, reason = "the driver's own name")]
        #[allow(clippy::too_many_arguments, reason = "the driver's own signature")]
        pub(crate) unsafe fn $name($($argument: $type),*) -> Result<(), Failure> {
            type Function = unsafe extern "C" fn($($type),*) -> u32;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let function = *FUNCTION.get_or_init(|| {
                if !present() {
                    return None;
                }
                // SAFETY: the library is present, so that `culib` does not panic; the symbol's type is what the driver
                // declares.
                unsafe { sys::culib().get::<Function>(stringify!($name).as_bytes()).ok().map(|symbol| *symbol) }
            });
            let function = function.ok_or(Failure::Missing(stringify!($name)))?;
            // SAFETY: the caller keeps the conditions of the driver's function.
            match unsafe { function($($argument),*) } {
                0 => Ok(()),
                code => Err(Failure::Code(code)),
            }
        }
    )*};
}

driver_functions! {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: *mut c_int);
    cuGetErrorName(code: u32, text: *mut *const c_char);
    cuGetErrorString(code: u32, text: *mut *const c_char);

    cuDeviceGet(device: *mut sys::CUdevice, index: c_int);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetName(name: *mut c_char, length: c_int, device: sys::CUdevice);
    cuDeviceGetUuid(uuid: *mut [u8; 16], device: sys::CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: sys::CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: sys::CUdevice_attribute, device: sys::CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut sys::CUcontext, device: sys::CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: sys::CUdevice);
    cuDeviceCanAccessPeer(can: *mut c_int, device: sys::CUdevice, peer: sys::CUdevice);
    cuCtxEnablePeerAccess(peer: sys::CUcontext, flags: c_uint);

    cuCtxGetCurrent(context: *mut sys::CUcontext);
    cuCtxPushCurrent_v2(context: sys::CUcontext);
    cuCtxPopCurrent_v2(context: *mut sys::CUcontext);
    cuCtxGetDevice(device: *mut sys::CUdevice);
    cuCtxSynchronize();

    cuStreamCreate(stream: *mut sys::CUstream, flags: c_uint);
    cuStreamCreateWithPriority(stream: *mut sys::CUstream, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: sys::CUstream);
    cuStreamSynchronize(stream: sys::CUstream);
    cuStreamQuery(stream: sys::CUstream);
    cuStreamWaitEvent(stream: sys::CUstream, event: sys::CUevent, flags: c_uint);
    cuStreamGetCtx(stream: sys::CUstream, context: *mut sys::CUcontext);
    cuStreamIsCapturing(stream: sys::CUstream, status: *mut c_uint);
    cuStreamBeginCapture_v2(stream: sys::CUstream, mode: c_uint);
    cuStreamEndCapture(stream: sys::CUstream, graph: *mut sys::CUgraph);

    cuEventCreate(event: *mut sys::CUevent, flags: c_uint);
    cuEventDestroy_v2(event: sys::CUevent);
    cuEventRecord(event: sys::CUevent, stream: sys::CUstream);
    cuEventSynchronize(event: sys::CUevent);
    cuEventQuery(event: sys::CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: sys::CUevent, end: sys::CUevent);

    cuPointerGetAttributes(count: c_uint, attributes: *mut u32, values: *mut *mut c_void, address: u64);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemFree_v2(address: u64);
    cuMemAddressReserve(address: *mut u64, bytes: usize, alignment: usize, wanted: u64, flags: c_ulonglong);
    cuMemAddressFree(address: u64, bytes: usize);
    cuMemGetAllocationGranularity(bytes: *mut usize, property: *const sys::CUmemAllocationProp, option: c_uint);
    cuMemCreate(handle: *mut u64, bytes: usize, property: *const sys::CUmemAllocationProp, flags: c_ulonglong);
    cuMemRelease(handle: u64);
    cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: c_ulonglong);
    cuMemUnmap(address: u64, bytes: usize);
    cuMemSetAccess(address: u64, bytes: usize, of: *const sys::CUmemAccessDesc, count: usize);
    cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemFreeHost(address: *mut c_void);
    cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: sys::CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: sys::CUstream);
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: sys::CUstream);
    cuMemcpyPeerAsync(
        to: u64,
        to_context: sys::CUcontext,
        from: u64,
        from_context: sys::CUcontext,
        bytes: usize,
        stream: sys::CUstream,
    );
    cuMemcpy2DAsync_v2(copy: *const sys::CUDA_MEMCPY2D, stream: sys::CUstream);
    cuMemcpy3DAsync_v2(copy: *const sys::CUDA_MEMCPY3D, stream: sys::CUstream);
    cuMemcpy3DPeerAsync(copy: *const sys::CUDA_MEMCPY3D_PEER, stream: sys::CUstream);
    cuMemsetD8Async(address: u64, value: u8, count: usize, stream: sys::CUstream);
    cuMemsetD16Async(address: u64, value: u16, count: usize, stream: sys::CUstream);
    cuMemsetD32Async(address: u64, value: c_uint, count: usize, stream: sys::CUstream);
    cuMemsetD2D8Async(address: u64, pitch: usize, value: u8, width: usize, height: usize, stream: sys::CUstream);
    cuMemsetD2D16Async(address: u64, pitch: usize, value: u16, width: usize, height: usize, stream: sys::CUstream);
    cuMemsetD2D32Async(address: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: sys::CUstream);

    cuModuleLoadDataEx(
        module: *mut sys::CUmodule, image: *const c_void, count: c_uint,
        options: *mut sys::CUjit_option, values: *mut *mut c_void,
    );
    cuModuleUnload(module: sys::CUmodule);
    cuModuleGetFunction(function: *mut sys::CUfunction, module: sys::CUmodule, name: *const c_char);
    cuFuncGetAttribute(value: *mut c_int, attribute: sys::CUfunction_attribute, function: sys::CUfunction);
    cuFuncSetAttribute(function: sys::CUfunction, attribute: sys::CUfunction_attribute, value: c_int);
    cuFuncGetParamInfo(function: sys::CUfunction, index: usize, offset: *mut usize, bytes: *mut usize);
    cuLaunchKernelEx(
        config: *const sys::CUlaunchConfig, function: sys::CUfunction,
        parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: sys::CUfunction, threads: c_int, shared_bytes: usize,
    );

    cuGraphInstantiateWithFlags(executable: *mut sys::CUgraphExec, graph: sys::CUgraph, flags: c_ulonglong);
    cuGraphGetNodes(graph: sys::CUgraph, nodes: *mut sys::CUgraphNode, count: *mut usize);
    cuGraphLaunch(executable: sys::CUgraphExec, stream: sys::CUstream);
    cuGraphExecDestroy(executable: sys::CUgraphExec);
    cuGraphDestroy(graph: sys::CUgraph);

    cuTensorMapEncodeTiled(
        map: *mut sys::CUtensorMap, element: sys::CUtensorMapDataType, rank: u32, address: *mut c_void,
        dimensions: *const u64, strides: *const u64, block: *const u32, steps: *const u32,
        interleave: sys::CUtensorMapInterleave, swizzle: sys::CUtensorMapSwizzle,
        promotion: sys::CUtensorMapL2promotion, fill: sys::CUtensorMapFloatOOBfill,
    );
}

/// Whether the driver's library can be loaded.
pub(crate) fn present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading the driver's library has no conditions of ours: it is the system's own.
    *PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

/// Initialises the driver, once.
///
/// # Errors
/// [`GpuError::NoDriver`] without a driver, [`GpuError::NoDevice`] without a device, and what the driver answers.
pub(crate) fn initialise() -> Result<(), GpuError> {
    static READY: OnceLock<Result<(), GpuError>> = OnceLock::new();
    READY
        .get_or_init(|| {
            if !present() {
                return Err(GpuError::NoDriver);
            }
            // SAFETY: the flags must be 0.
            match unsafe { cuInit(0) } {
                Ok(()) => Ok(()),
                Err(Failure::Code(STUB_LIBRARY) | Failure::Missing(_)) => Err(GpuError::NoDriver),
                Err(Failure::Code(NO_DEVICE)) => Err(GpuError::NoDevice { index: 0, count: 0 }),
                Err(failure) => Err(failure.error("starting the driver".into())),
            }
        })
        .clone()
}

/// CUDA version that the driver supports, major and minor.
pub(crate) fn version() -> Option<(u32, u32)> {
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { cuDriverGetVersion(&raw mut version) }.ok()?;
    let version = u32::try_from(version).ok()?;
    Some((version / 1000, version % 1000 / 10))
}

/// The driver's name and description of an answer.
pub(crate) fn describe(code: u32) -> (String, String) {
    let text = |function: unsafe fn(u32, *mut *const c_char) -> Result<(), Failure>, otherwise: &str| {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the pointer is valid for the call, which answers any number.
        if unsafe { function(code, &raw mut text) }.is_err() || text.is_null() {
            return otherwise.to_owned();
        }
        // SAFETY: the driver gives a constant text that ends with zero.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    (text(cuGetErrorName, "unknown error"), text(cuGetErrorString, "the driver has no description of this"))
}

/// Reports a failure where nothing can be returned, in a `Drop`.
pub(crate) fn report<T>(result: Result<T, Failure>, doing: &str) {
    if let Err(failure) = result {
        tracing::error!("{}", failure.error(doing.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_a_call_is_an_error_and_no_panic() {
        if present() {
            println!("not checked: there is a driver here");
            return;
        }
        // SAFETY: there is no function to call.
        assert_eq!(unsafe { cuCtxSynchronize() }, Err(Failure::Missing("cuCtxSynchronize")));
        assert_eq!(version(), None);
        let error = Failure::Code(OUT_OF_MEMORY).error("allocating".into());
        assert_eq!(
            error.to_string(),
            "allocating: the driver answers unknown error (2): the driver has no description of this"
        );
        let error = Failure::Missing("cuNew").error("doing something new".into());
        assert_eq!(error.to_string(), "doing something new: the driver (CUDA 0.0) has no cuNew");
    }
}
