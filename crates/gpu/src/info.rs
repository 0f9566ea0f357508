//! What a device is: the numbers that programs choose and print.

use std::ffi::{CStr, c_int};

use cudarc::driver::sys;
use sys::CUdevice_attribute as Attribute;

use crate::GpuError;
use crate::driver::{self, Doing};

/// Properties of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Index by which [`Device::open`](crate::Device::open) takes it.
    pub index: usize,
    /// Name, such as `NVIDIA H200`.
    pub name: String,
    /// Identity that no other device has.
    pub uuid: [u8; 16],
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Highest clock of the multiprocessors in kHz.
    pub clock_khz: u32,
    /// Highest clock of the memory in kHz.
    pub memory_clock_khz: u32,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: u32,
    /// L2 cache in bytes.
    pub l2_bytes: u64,
    /// CUDA version of the driver, major and minor.
    pub driver_version: (u32, u32),
    /// What a launch may ask for.
    pub limits: LaunchLimits,
}

/// What a device allows a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchLimits {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Threads of a block, x y z.
    pub block: [u32; 3],
    /// Blocks of a grid, x y z.
    pub grid: [u32; 3],
    /// Shared memory of a block in bytes, static and dynamic together, after opting in.
    pub shared_bytes_per_block: u32,
    /// Shared memory of a multiprocessor in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// Threads of a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Whether blocks can form clusters.
    pub clusters: bool,
    /// Whether a grid can be launched so that all of its blocks run at once.
    pub cooperative: bool,
}

impl LaunchLimits {
    /// What every device allows that the kernels run on (compute capability 8.0 and higher): to plan launches without
    /// one.
    pub const LOWEST: Self = Self {
        threads_per_block: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX.unsigned_abs(), 65_535, 65_535],
        shared_bytes_per_block: 99 << 10,
        shared_bytes_per_multiprocessor: 100 << 10,
        threads_per_multiprocessor: 1536,
        clusters: false,
        cooperative: true,
    };
}

impl DeviceInfo {
    /// Reads the properties of a device.
    pub(crate) fn read(index: usize, device: sys::CUdevice) -> Result<Self, GpuError> {
        let doing = || format!("reading the properties of GPU {index}");
        let attribute = |attribute: Attribute| {
            let mut value: c_int = 0;
            // SAFETY: the pointer is valid for the call; `device` came from the driver.
            unsafe { driver::cuDeviceGetAttribute(&raw mut value, attribute, device) }.doing_with(doing)?;
            Ok::<u32, GpuError>(u32::try_from(value).unwrap_or(0))
        };
        let mut name = [0u8; 256];
        // SAFETY: the pointer is valid for 256 bytes; the last one stays zero.
        unsafe { driver::cuDeviceGetName(name.as_mut_ptr().cast(), 255, device) }.doing_with(doing)?;
        let name =
            CStr::from_bytes_until_nul(&name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut uuid = [0u8; 16];
        // SAFETY: a uuid is 16 bytes.
        unsafe { driver::cuDeviceGetUuid(&raw mut uuid, device) }.doing_with(doing)?;
        let mut memory_bytes = 0usize;
        // SAFETY: the pointer is valid for the call.
        unsafe { driver::cuDeviceTotalMem_v2(&raw mut memory_bytes, device) }.doing_with(doing)?;
        let limits = LaunchLimits {
            threads_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            shared_bytes_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_bytes_per_multiprocessor: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )?,
            threads_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            // Drivers older than clusters do not know the attribute: then there are none.
            clusters: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH).is_ok_and(|value| value != 0),
            cooperative: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
        };
        Ok(Self {
            index,
            name,
            uuid,
            compute_capability: (
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            memory_bytes: memory_bytes as u64,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
            memory_bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
            l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            driver_version: driver::version().unwrap_or_default(),
            limits,
        })
    }
}

impl std::fmt::Display for DeviceInfo {
    /// One line: `GPU 0: NVIDIA H200, sm_90, 132 SMs at 1980 MHz, 139.8 GiB, driver CUDA 13.0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.compute_capability;
        let (driver_major, driver_minor) = self.driver_version;
        write!(
            f,
            "GPU {}: {}, sm_{major}{minor}, {} SMs at {} MHz, {:.1} GiB, driver CUDA {driver_major}.{driver_minor}",
            self.index,
            self.name,
            self.multiprocessors,
            self.clock_khz / 1000,
            self.memory_bytes as f64 / f64::from(1u32 << 30)
        )
    }
}
