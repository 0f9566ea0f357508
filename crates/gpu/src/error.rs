//! What can go wrong on the way to a GPU and on it.

use fringes_kernel_declaration::{DeclarationError, InflateError};

/// Any failure of this crate.
///
/// Errors say what was expected and what came. A failure inside asynchronous work (a kernel that reads outside its
/// memory, say) is returned by the first call that meets it, at the latest by the next synchronisation; after such a
/// failure the driver answers every later call on the same context with it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No driver library (`libcuda.so.1`, `nvcuda.dll`) can be loaded.
    #[error("no NVIDIA driver on this machine: the library libcuda (nvcuda) cannot be loaded")]
    NoDriver,
    /// There is no device of that index.
    #[error("no GPU of index {index}: the driver shows {count}")]
    NoDevice {
        /// Index asked for.
        index: usize,
        /// Devices that there are.
        count: usize,
    },
    /// The device is older than the kernels.
    #[error(
        "GPU {index} ({name}) has compute capability {}.{}; expected {}.{} or higher",
        actual.0, actual.1, expected.0, expected.1
    )]
    ComputeCapability {
        /// Index of the device.
        index: usize,
        /// Name of the device.
        name: String,
        /// Lowest capability, major and minor.
        expected: (u32, u32),
        /// The device's.
        actual: (u32, u32),
    },
    /// An environment variable has a value that means nothing.
    #[error("environment variable {variable} is `{actual}`; expected {expected}")]
    Environment {
        /// Its name.
        variable: &'static str,
        /// What it may be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// The driver refused a call, or reports a failure of earlier asynchronous work.
    #[error("{doing}: the driver answers {name} ({code}): {message}")]
    Driver {
        /// The driver's number (`CUresult`).
        code: u32,
        /// The driver's name for it.
        name: String,
        /// The driver's description.
        message: String,
        /// What was being done.
        doing: String,
    },
    /// The driver is too old: it lacks a function.
    #[error("{doing}: the driver (CUDA {}.{}) has no {function}", driver.0, driver.1)]
    MissingFunction {
        /// Name of the function.
        function: &'static str,
        /// CUDA version of the driver, major and minor.
        driver: (u32, u32),
        /// What was being done.
        doing: String,
    },
    /// An address that is not memory of a device (any more).
    #[error("{bytes} bytes at {address:#x}: expected memory of a device, found none, or the host's")]
    NotDeviceMemory {
        /// The address.
        address: u64,
        /// Bytes that were to be there.
        bytes: usize,
    },
    /// The device has not enough free memory.
    #[error("cannot allocate {requested_bytes} bytes on the GPU: {free_bytes} of {total_bytes} are free")]
    OutOfMemory {
        /// Bytes asked for.
        requested_bytes: u64,
        /// Bytes free.
        free_bytes: u64,
        /// Bytes of the device.
        total_bytes: u64,
    },
    /// A number of elements whose size in bytes no computer can address.
    #[error("{elements} elements of {element_bytes} bytes are more than can be addressed")]
    TooLarge {
        /// Number of elements.
        elements: usize,
        /// Size of each.
        element_bytes: usize,
    },
    /// Two lengths that must be equal are not.
    #[error("{what}: expected {expected} elements, got {actual}")]
    Length {
        /// What was being done.
        what: &'static str,
        /// Length that fits.
        expected: usize,
        /// Length that came.
        actual: usize,
    },
    /// A range outside of a buffer.
    #[error("range {start}..{end} is not inside a buffer of {length} elements")]
    Range {
        /// First element.
        start: usize,
        /// One after the last.
        end: usize,
        /// Elements that there are.
        length: usize,
    },
    /// An address that is no multiple of what is needed.
    #[error("{what}: address {address:#x} is no multiple of {expected} bytes")]
    Alignment {
        /// What was being done.
        what: &'static str,
        /// The address.
        address: u64,
        /// The needed multiple.
        expected: usize,
    },
    /// A null address came for memory that is not empty.
    #[error("a null device address for {length} elements")]
    NullAddress {
        /// Elements that were said to be there.
        length: usize,
    },
    /// A view whose bytes make no whole number of other elements.
    #[error("{bytes} bytes are no whole number of elements of {element_bytes} bytes")]
    Cast {
        /// Bytes of the view.
        bytes: usize,
        /// Size of the element asked for.
        element_bytes: usize,
    },
    /// Things of two devices (or contexts) meet in one call.
    #[error("{what} belongs to {actual}; expected {expected}")]
    WrongDevice {
        /// What does not belong.
        what: &'static str,
        /// Where the call goes to.
        expected: String,
        /// Where the thing is.
        actual: String,
    },
    /// The driver's compiler refused a PTX text.
    #[error("GPU {device} refuses the PTX for {target}: {name} ({code})\n{log}")]
    Compile {
        /// Name of the device.
        device: String,
        /// Target of the PTX text.
        target: String,
        /// The driver's number.
        code: u32,
        /// The driver's name for it.
        name: String,
        /// What the compiler wrote.
        log: String,
    },
    /// A PTX text with a declaration that cannot be read.
    #[error("kernel declaration in PTX: {0}")]
    Declaration(#[from] DeclarationError),
    /// A compressed PTX text that cannot be inflated.
    #[error("PTX of the program: {0}")]
    PtxInflate(#[from] InflateError),
    /// Kernels whose PTX is not in the program.
    #[error("the program holds no PTX of these kernels: their crate was built without the feature `gpu`")]
    NoPtx,
    /// A device that cannot reach the memory of another.
    #[error("{from} cannot reach the memory of {to}: copies between them go through the host")]
    NoPeerAccess {
        /// The device that was to reach it.
        from: String,
        /// The device whose memory it is.
        to: String,
    },
    /// The library NCCL cannot be loaded, or lacks a function.
    #[cfg(feature = "nccl")]
    #[error("NCCL is not available: {reason}")]
    NoNccl {
        /// What was looked for, and what the system said.
        reason: String,
    },
    /// NCCL refused a call.
    #[cfg(feature = "nccl")]
    #[error("{doing}: NCCL answers {code}: {message}")]
    Nccl {
        /// NCCL's number (`ncclResult_t`).
        code: u32,
        /// NCCL's description.
        message: String,
        /// What was being done.
        doing: &'static str,
    },
    /// A PTX text that holds a zero byte.
    #[error("a PTX text holds a zero byte at {position}")]
    PtxText {
        /// Where.
        position: usize,
    },
    /// A module has no kernel of that name, or it is not declared there.
    #[error("no kernel `{name}` is declared in the module; it declares: {}", declared.join(", "))]
    NoKernel {
        /// Name asked for.
        name: String,
        /// Names that there are.
        declared: Vec<String>,
    },
    /// A kernel's entry and its declaration do not have the same parameters.
    #[error(
        "kernel `{kernel}`, parameter {index}: the declaration means {expected:?} bytes, the PTX entry has {actual:?}"
    )]
    Entry {
        /// Name of the kernel.
        kernel: String,
        /// Parameter, from 0.
        index: usize,
        /// Bytes by the declaration; none where it ends earlier.
        expected: Option<usize>,
        /// Bytes of the entry; none where it ends earlier.
        actual: Option<usize>,
    },
    /// A launch with too many or too few arguments.
    #[error("kernel `{kernel}` takes {expected} arguments, got {actual}")]
    ArgumentCount {
        /// Name of the kernel.
        kernel: String,
        /// Parameters that it declares.
        expected: usize,
        /// Arguments that came.
        actual: usize,
    },
    /// An argument that is not what the kernel declares.
    #[error("kernel `{kernel}`, argument {index} (`{parameter}`): expected {expected}, got {actual}")]
    Argument {
        /// Name of the kernel.
        kernel: String,
        /// Position, from 0.
        index: usize,
        /// The parameter's name.
        parameter: String,
        /// What the kernel declares.
        expected: String,
        /// What came.
        actual: String,
    },
    /// A launch whose geometry the kernel or the device does not take.
    #[error("kernel `{kernel}`, {what}: expected {expected}, got {actual}")]
    Geometry {
        /// Name of the kernel.
        kernel: String,
        /// Grid, block, cluster or shared memory.
        what: &'static str,
        /// What fits.
        expected: String,
        /// What came.
        actual: String,
    },
    /// A tensor map that the hardware cannot use.
    #[error("tensor map, {what}: expected {expected}, got {actual}")]
    TensorMap {
        /// Which of its properties.
        what: &'static str,
        /// What fits.
        expected: String,
        /// What came.
        actual: String,
    },
    /// A kernel that relies on its caller was to be launched as one that checks everything itself.
    #[error(
        "kernel `{kernel}` is not declared safe, or takes a tensor map: expected a kernel declared `pub fn`, got one to be launched with `unsafe`"
    )]
    NotDeclaredSafe {
        /// Name of the kernel.
        kernel: String,
    },
    /// A value that a call does not take.
    #[error("{what}: expected {expected}, got {actual}")]
    Value {
        /// Which value.
        what: &'static str,
        /// What fits.
        expected: String,
        /// What came.
        actual: String,
    },
}

impl GpuError {
    /// Whether the reason is that the machine has no driver or no GPU that could be used at all.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::NoDriver | Self::NoDevice { count: 0, .. })
    }
}
