//! What can go wrong with a backend or with data on a device.

use fringes_gpu::{Device, GpuError};

/// A backend, a device or a device buffer that an operation cannot use, with what was expected and what came.
///
/// Every operation's error has it as its variant `Device`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A backend that this build or machine does not have.
    #[error("backend {requested} is not available: {reason}")]
    Unavailable {
        /// What was asked for.
        requested: String,
        /// Why it cannot be had, and what can be done.
        reason: String,
    },
    /// An operation that has no GPU kernel was asked to run on a GPU.
    #[error("{operation} has no GPU kernel yet, and the backend is {backend}; use the cpu or auto backend for it")]
    NotOnGpu {
        /// Name of the operation.
        operation: String,
        /// Name of the backend.
        backend: String,
    },
    /// A plan, a size or a format that no GPU kernel takes.
    #[error("no GPU kernel: expected {expected}, found {actual}")]
    NoKernel {
        /// What the kernels take.
        expected: &'static str,
        /// What came.
        actual: String,
    },
    /// Data on another device than the operation's.
    #[error("expected data on {expected}, found it on {actual}")]
    WrongDevice {
        /// The operation's device.
        expected: String,
        /// The data's.
        actual: String,
    },
    /// A device buffer is too short.
    #[error("device buffer of {buffer}: expected at least {expected} elements, found {actual}")]
    Length {
        /// Which buffer.
        buffer: &'static str,
        /// Elements that the operation needs.
        expected: usize,
        /// Elements that came.
        actual: usize,
    },
    /// A device buffer starts at an address that the kernels cannot use.
    #[error("device buffer of {buffer}: expected a multiple of {expected} bytes, found address {address:#x}")]
    Alignment {
        /// Which buffer.
        buffer: &'static str,
        /// Alignment needed.
        expected: u64,
        /// Address that came.
        address: u64,
    },
    /// A size that the GPU kernels cannot count.
    #[error("{what}: the GPU takes at most {limit}, found {actual}")]
    TooLarge {
        /// What has the size.
        what: &'static str,
        /// The size that came.
        actual: usize,
        /// The largest one.
        limit: usize,
    },
    /// The smallest step of an operation needs more memory than the backend may use.
    #[error("{operation} needs at least {needed} bytes for one step, the limit is {limit}")]
    MemoryLimit {
        /// Name of the operation.
        operation: &'static str,
        /// Bytes of the smallest step.
        needed: u64,
        /// Limit set on the backend.
        limit: u64,
    },
    /// What the GPU or its driver answered.
    #[error(transparent)]
    Gpu(Box<GpuError>),
}

impl DeviceError {
    /// Data or a stream on another device than the operation's.
    #[must_use]
    pub fn wrong_device(expected: &Device, actual: &Device) -> Self {
        Self::WrongDevice { expected: label(expected), actual: label(actual) }
    }

    /// Data on a device for an operation that runs on the CPU.
    #[must_use]
    pub fn not_on_the_cpu(actual: &Device) -> Self {
        Self::WrongDevice { expected: "the CPU".into(), actual: label(actual) }
    }
}

/// A device in messages.
fn label(device: &Device) -> String {
    format!("GPU {} ({})", device.info().index, device.info().name)
}

impl From<GpuError> for DeviceError {
    fn from(error: GpuError) -> Self {
        Self::Gpu(Box::new(error))
    }
}
