//! Memory that other software owns: whether it is what its owner says.

use std::ffi::c_void;

use crate::driver::{self, Doing, Failure};
use crate::{Device, GpuError};

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, `_DEVICE_ORDINAL`, `_RANGE_START_ADDR`, `_RANGE_SIZE`.
const MEMORY_TYPE: u32 = 2;
const DEVICE_ORDINAL: u32 = 9;
const RANGE_START: u32 = 11;
const RANGE_SIZE: u32 = 12;

/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE_MEMORY: u32 = 2;

/// `CUDA_ERROR_INVALID_VALUE`: what the driver answers for an address that it does not know.
const INVALID_VALUE: u32 = 1;

impl Device {
    /// Asks the driver whether `bytes` bytes from `address` on are memory of this device, all of one allocation that is
    /// still there: what is known of memory that other software owns before anything is launched on it. Takes about
    /// a microsecond.
    ///
    /// # Errors
    /// [`GpuError::NotDeviceMemory`] for an address that no allocation has (any more) or that lies on the host,
    /// [`GpuError::WrongDevice`] for another device's, [`GpuError::Length`] if the allocation ends earlier; what the
    /// driver answers.
    pub fn check_memory(&self, address: u64, bytes: usize) -> Result<(), GpuError> {
        const DOING: &str = "asking about other software's memory";
        if bytes == 0 {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        let mut kind = 0u32;
        // SAFETY: the attribute is 4 bytes, and the pointer is valid for the call.
        match unsafe { driver::cuPointerGetAttribute((&raw mut kind).cast::<c_void>(), MEMORY_TYPE, address) } {
            Ok(()) if kind == DEVICE_MEMORY => {}
            Ok(()) | Err(Failure::Code(INVALID_VALUE)) => return Err(GpuError::NotDeviceMemory { address, bytes }),
            Err(failure) => return Err(failure.error(DOING.into())),
        }
        let (mut ordinal, mut start, mut size) = (0i32, 0u64, 0usize);
        // SAFETY: the attribute is 4 bytes, and the pointer is valid for the call.
        unsafe { driver::cuPointerGetAttribute((&raw mut ordinal).cast(), DEVICE_ORDINAL, address) }.doing(DOING)?;
        if usize::try_from(ordinal) != Ok(self.info().index) {
            let (expected, actual) = (self.context.label(), format!("GPU {ordinal}"));
            return Err(GpuError::WrongDevice { what: "the memory", expected, actual });
        }
        // SAFETY: both attributes are 8 bytes, and the pointers are valid for the calls.
        unsafe {
            driver::cuPointerGetAttribute((&raw mut start).cast(), RANGE_START, address).doing(DOING)?;
            driver::cuPointerGetAttribute((&raw mut size).cast(), RANGE_SIZE, address).doing(DOING)?;
        }
        let actual = size.saturating_sub((address - start) as usize);
        if actual < bytes {
            return Err(GpuError::Length { what: "bytes of other software's memory", expected: bytes, actual });
        }
        Ok(())
    }
}
