//! The library and its functions, found when first asked for.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::CUstream;
use libloading::Library;

use crate::GpuError;

/// Environment variable that names the library's file.
pub const LIBRARY_VARIABLE: &str = "FRINGES_NCCL";

/// Names that the library has.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// `ncclInt8`: a byte.
pub(super) const BYTE: c_int = 0;

/// `ncclInProgress`: a communicator that does not block is still at it.
const IN_PROGRESS: u32 = 7;

/// A communicator: a name, not memory that we read.
pub(super) type Comm = *mut c_void;

/// `ncclUniqueId`: bytes that mean something to NCCL alone.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawId(pub(super) [u8; ID_BYTES]);

/// Bytes of a `ncclUniqueId`.
pub(super) const ID_BYTES: usize = 128;

/// The functions that are called. Data types are plain numbers, as in C.
pub(super) struct Functions {
    get_version: unsafe extern "C" fn(version: *mut c_int) -> u32,
    get_error_string: unsafe extern "C" fn(result: u32) -> *const c_char,
    /// Since 2.13.
    get_last_error: Option<unsafe extern "C" fn(comm: Comm) -> *const c_char>,
    pub(super) comm_init_all: unsafe extern "C" fn(comms: *mut Comm, count: c_int, devices: *const c_int) -> u32,
    pub(super) get_unique_id: unsafe extern "C" fn(id: *mut RawId) -> u32,
    pub(super) comm_init_rank: unsafe extern "C" fn(comm: *mut Comm, ranks: c_int, id: RawId, rank: c_int) -> u32,
    pub(super) comm_get_async_error: unsafe extern "C" fn(comm: Comm, error: *mut u32) -> u32,
    pub(super) comm_abort: unsafe extern "C" fn(comm: Comm) -> u32,
    pub(super) comm_destroy: unsafe extern "C" fn(comm: Comm) -> u32,
    pub(super) group_start: unsafe extern "C" fn() -> u32,
    pub(super) group_end: unsafe extern "C" fn() -> u32,
    pub(super) send: unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Comm, CUstream) -> u32,
    pub(super) recv: unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Comm, CUstream) -> u32,
}

/// Version of the library: major, minor, patch.
///
/// # Errors
/// [`GpuError::NoNccl`] without the library.
pub fn version() -> Result<(u32, u32, u32), GpuError> {
    let functions = functions()?;
    let mut version: c_int = 0;
    // SAFETY: the pointer is valid for the call.
    functions.check(unsafe { (functions.get_version)(&raw mut version) }, "asking NCCL for its version")?;
    let version = u32::try_from(version).unwrap_or(0);
    // Up to 2.8 a thousand was a major version.
    let major = if version < 10_000 { 1000 } else { 10_000 };
    Ok((version / major, version % major / 100, version % 100))
}

/// The functions, loaded once a process.
///
/// # Errors
/// [`GpuError::NoNccl`].
pub(super) fn functions() -> Result<&'static Functions, GpuError> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).as_ref().map_err(|reason| GpuError::NoNccl { reason: reason.clone() })
}

fn load() -> Result<Functions, String> {
    let library = open()?;
    /// A function of the library.
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the symbol's type is what NCCL declares under that name, enums as numbers of 32 bits, in every
            // version from 2.7 on.
            unsafe { library.get($name) }
                .map(|symbol| *symbol)
                .map_err(|error| in_full(&String::from_utf8_lossy($name), &error))
        };
    }
    let functions = Functions {
        get_version: function!(b"ncclGetVersion\0")?,
        get_error_string: function!(b"ncclGetErrorString\0")?,
        get_last_error: function!(b"ncclGetLastError\0").ok(),
        comm_init_all: function!(b"ncclCommInitAll\0")?,
        get_unique_id: function!(b"ncclGetUniqueId\0")?,
        comm_init_rank: function!(b"ncclCommInitRank\0")?,
        comm_get_async_error: function!(b"ncclCommGetAsyncError\0")?,
        comm_abort: function!(b"ncclCommAbort\0")?,
        comm_destroy: function!(b"ncclCommDestroy\0")?,
        group_start: function!(b"ncclGroupStart\0")?,
        group_end: function!(b"ncclGroupEnd\0")?,
        send: function!(b"ncclSend\0")?,
        recv: function!(b"ncclRecv\0")?,
    };
    // Its functions are kept for the life of the process, and it has threads of its own.
    std::mem::forget(library);
    Ok(functions)
}

/// The library, by the variable or by its names.
fn open() -> Result<Library, String> {
    let named = std::env::var_os(LIBRARY_VARIABLE);
    let mut reasons = Vec::new();
    let names = match &named {
        Some(path) => vec![path.as_os_str()],
        None => NAMES.iter().map(std::ffi::OsStr::new).collect(),
    };
    for name in names {
        // SAFETY: loading runs the library's initialisers: it is the system's NCCL, or what the user names as such.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(in_full(&name.to_string_lossy(), &error)),
        }
    }
    let hint = if named.is_some() { "" } else { " (the variable FRINGES_NCCL may name its file)" };
    Err(format!("the library cannot be loaded{hint}: {}", reasons.join("; ")))
}

/// An error and what is behind it.
fn in_full(what: &str, error: &dyn std::error::Error) -> String {
    let mut text = format!("{}: {error}", what.trim_end_matches('\0'));
    if let Some(source) = error.source() {
        text = format!("{text}: {source}");
    }
    text
}

impl Functions {
    /// `Ok` if a call was answered with success.
    pub(super) fn check(&self, code: u32, doing: &'static str) -> Result<(), GpuError> {
        if code == 0 || code == IN_PROGRESS {
            return Ok(());
        }
        // SAFETY: the function takes any number.
        let mut message = text(unsafe { (self.get_error_string)(code) });
        // SAFETY: the function takes no communicator as well: the last error of any.
        let last = self.get_last_error.map(|last| text(unsafe { last(std::ptr::null_mut()) })).unwrap_or_default();
        if !last.trim().is_empty() {
            message = format!("{message}; {}", last.trim());
        }
        Err(GpuError::Nccl { code, message, doing })
    }
}

/// A text of the library's.
fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "no description".into();
    }
    // SAFETY: NCCL gives texts that end with zero and stay, or are changed by later errors of this thread only.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
