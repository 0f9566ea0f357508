//! Devices: what there are, and the one that work goes to.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::sys;

use crate::context::{Context, Owner};
use crate::driver::{self, Doing};
use crate::{DeviceInfo, GpuError};

/// Lowest compute capability that the kernels run on.
pub const LOWEST_COMPUTE_CAPABILITY: (u32, u32) = (8, 0);

/// Environment variable that names the device of [`Device::best`].
pub const DEVICE_VARIABLE: &str = "FRINGES_GPU";

/// A GPU that work can be sent to.
///
/// A clone is another name for the same device: both share the context and the kernels loaded in it, and so do two
/// devices opened by the same index. `Device` is `Send` and `Sync`; any thread may use it without preparation, and a
/// call leaves the thread's current context as it was.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) context: Arc<Context>,
}

/// Number of devices that the driver shows.
///
/// # Errors
/// [`GpuError::NoDriver`] without a driver.
pub fn device_count() -> Result<usize, GpuError> {
    match driver::initialise() {
        Ok(()) => {}
        Err(GpuError::NoDevice { .. }) => return Ok(0),
        Err(error) => return Err(error),
    }
    let mut count: c_int = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { driver::cuDeviceGetCount(&raw mut count) }.doing("counting the GPUs")?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Properties of all devices that the driver shows, in its order; those too old for the kernels included.
///
/// # Errors
/// [`GpuError::NoDriver`] without a driver, and what the driver answers.
pub fn devices() -> Result<Vec<DeviceInfo>, GpuError> {
    (0..device_count()?).map(|index| DeviceInfo::read(index, raw_device(index)?)).collect()
}

/// The driver's device of an index.
fn raw_device(index: usize) -> Result<sys::CUdevice, GpuError> {
    let count = device_count()?;
    let ordinal = c_int::try_from(index).ok().filter(|_| index < count).ok_or(GpuError::NoDevice { index, count })?;
    let mut device: sys::CUdevice = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { driver::cuDeviceGet(&raw mut device, ordinal) }.doing_with(|| format!("opening GPU {index}"))?;
    Ok(device)
}

/// Contexts that are open, so that the same index gives the same one.
static OPEN: Mutex<Vec<(usize, Weak<Context>)>> = Mutex::new(Vec::new());

impl Device {
    /// The device of an index, from 0, in its primary context (which other CUDA libraries of the process share).
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::NoDevice`], [`GpuError::ComputeCapability`] for a device below
    /// [`LOWEST_COMPUTE_CAPABILITY`], and what the driver answers.
    pub fn open(index: usize) -> Result<Self, GpuError> {
        driver::initialise()?;
        let device = raw_device(index)?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, context)| context.strong_count() > 0);
        if let Some(context) = open.iter().find(|(known, _)| *known == index).and_then(|(_, context)| context.upgrade())
        {
            return Ok(Self { context });
        }
        let info = DeviceInfo::read(index, device)?;
        check_capability(&info)?;
        let mut raw: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call; the reference is released when the context is dropped.
        unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut raw, device) }
            .doing_with(|| format!("taking the context of GPU {index}"))?;
        let context = Arc::new(Context::new(raw, device, Owner::Primary, info));
        open.push((index, Arc::downgrade(&context)));
        Ok(Self { context })
    }

    /// The device that the environment variable `FRINGES_GPU` names by its index; without it, the one of the highest
    /// compute capability, of these the one with the most multiprocessors, of these the first.
    ///
    /// # Errors
    /// As [`Device::open`]; [`GpuError::Environment`] where the variable is no index.
    pub fn best() -> Result<Self, GpuError> {
        driver::initialise()?;
        if let Some(value) = std::env::var_os(DEVICE_VARIABLE) {
            return Self::open(parse_index(&value.to_string_lossy(), device_count()?)?);
        }
        Self::open(choose(&devices()?).ok_or(GpuError::NoDevice { index: 0, count: 0 })?)
    }

    /// A device in a context that other software made, such as a framework's or `cust`'s.
    ///
    /// The context is neither retained nor ended here.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::ComputeCapability`], and what the driver answers to an invalid context.
    ///
    /// # Safety
    /// - `context` is a valid `CUcontext` of this process;
    /// - it lives until the returned device, all its clones and everything made from them are dropped.
    pub unsafe fn from_raw_context(context: sys::CUcontext) -> Result<Self, GpuError> {
        const DOING: &str = "taking another software's context";
        driver::initialise()?;
        let (mut device, mut popped): (sys::CUdevice, sys::CUcontext) = (0, std::ptr::null_mut());
        // SAFETY: the caller promises that the context is valid.
        unsafe { driver::cuCtxPushCurrent_v2(context) }.doing(DOING)?;
        // SAFETY: the pointer is valid for the call, and a context is current.
        let found = unsafe { driver::cuCtxGetDevice(&raw mut device) };
        // SAFETY: the pointer is valid for the call, and what is popped was pushed above.
        unsafe { driver::cuCtxPopCurrent_v2(&raw mut popped) }.doing(DOING)?;
        found.doing(DOING)?;
        let info = DeviceInfo::read(usize::try_from(device).unwrap_or(0), device)?;
        check_capability(&info)?;
        Ok(Self { context: Arc::new(Context::new(context, device, Owner::External, info)) })
    }

    /// Properties of the device.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.context.info
    }

    /// Bytes of memory that are free now, and all.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn memory(&self) -> Result<MemoryInfo, GpuError> {
        let _entered = self.context.enter()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the pointers are valid for the call.
        unsafe { driver::cuMemGetInfo_v2(&raw mut free, &raw mut total) }.doing("asking for the GPU's free memory")?;
        Ok(MemoryInfo { free_bytes: free as u64, total_bytes: total as u64 })
    }

    /// Waits for all work of the context.
    ///
    /// # Errors
    /// The first failure of asynchronous work that was not yet reported.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        let _entered = self.context.enter()?;
        // SAFETY: a context is current.
        unsafe { driver::cuCtxSynchronize() }.doing("waiting for the GPU")
    }

    /// The context, for other software to use. It lives as long as this device, its clones and what was made from them.
    #[must_use]
    pub fn raw_context(&self) -> sys::CUcontext {
        self.context.raw.0
    }

    /// Whether two devices are one context: only then can buffers, streams and kernels of both meet in a call.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.context.raw == other.context.raw
    }
}

/// Memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes free.
    pub free_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
}

/// Refuses a device that is too old.
fn check_capability(info: &DeviceInfo) -> Result<(), GpuError> {
    if info.compute_capability >= LOWEST_COMPUTE_CAPABILITY {
        return Ok(());
    }
    Err(GpuError::ComputeCapability {
        index: info.index,
        name: info.name.clone(),
        expected: LOWEST_COMPUTE_CAPABILITY,
        actual: info.compute_capability,
    })
}

/// Index of the best device.
fn choose(devices: &[DeviceInfo]) -> Option<usize> {
    devices
        .iter()
        .max_by_key(|info| (info.compute_capability, info.multiprocessors, std::cmp::Reverse(info.index)))
        .map(|info| info.index)
}

/// The index that the environment variable holds.
fn parse_index(value: &str, count: usize) -> Result<usize, GpuError> {
    value.trim().parse().ok().filter(|index| *index < count).ok_or_else(|| GpuError::Environment {
        variable: DEVICE_VARIABLE,
        expected: format!("the index of one of {count} GPUs, from 0"),
        actual: value.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LaunchLimits;

    fn info(index: usize, compute_capability: (u32, u32), multiprocessors: u32) -> DeviceInfo {
        DeviceInfo {
            index,
            name: format!("number {index}"),
            uuid: [0; 16],
            compute_capability,
            memory_bytes: 1 << 30,
            multiprocessors,
            clock_khz: 1_000_000,
            memory_clock_khz: 1_000_000,
            memory_bus_bits: 256,
            l2_bytes: 1 << 20,
            driver_version: (12, 8),
            limits: LaunchLimits::LOWEST,
        }
    }

    #[test]
    fn the_best_device_has_the_highest_capability_then_the_most_multiprocessors_then_the_lowest_index() {
        assert_eq!(choose(&[]), None);
        let devices = [info(0, (8, 0), 108), info(1, (9, 0), 114), info(2, (9, 0), 132), info(3, (9, 0), 132)];
        assert_eq!(choose(&devices), Some(2));
    }

    #[test]
    fn a_device_below_8_0_is_refused_by_name() {
        assert_eq!(check_capability(&info(0, (8, 0), 1)), Ok(()));
        let error = check_capability(&info(1, (7, 5), 1)).unwrap_err();
        assert_eq!(error.to_string(), "GPU 1 (number 1) has compute capability 7.5; expected 8.0 or higher");
    }

    #[test]
    fn the_variable_must_be_the_index_of_a_device() {
        assert_eq!(parse_index(" 1 ", 2), Ok(1));
        for value in ["2", "-1", "", "first", "0x0"] {
            let error = parse_index(value, 2).unwrap_err();
            assert!(error.to_string().contains(&format!("FRINGES_GPU is `{value}`")), "{error}");
        }
    }
}
