//! Memory that other software owns: whether it is what its owner says.

use std::ffi::c_void;

use crate::driver::{self, Doing};
use crate::{Device, GpuError};

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, `_DEVICE_ORDINAL`, `_RANGE_START_ADDR`, `_RANGE_SIZE`.
const MEMORY_TYPE: u32 = 2;
const DEVICE_ORDINAL: u32 = 9;
const RANGE_START: u32 = 11;
const RANGE_SIZE: u32 = 12;

/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE_MEMORY: u32 = 2;

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
        let (mut kind, mut ordinal, mut start, mut size) = (0u32, 0i32, 0u64, 0usize);
        let mut attributes = [MEMORY_TYPE, DEVICE_ORDINAL, RANGE_START, RANGE_SIZE];
        let mut values: [*mut c_void; 4] =
            [(&raw mut kind).cast(), (&raw mut ordinal).cast(), (&raw mut start).cast(), (&raw mut size).cast()];
        // All at once: asked for one, the driver answers with an error for an address that it does not know, which
        // compute-sanitizer reports; asked for several, with zeros.
        // SAFETY: as many attributes as values, of 4, 4, 8 and 8 bytes; the pointers are valid for the call.
        unsafe {
            driver::cuPointerGetAttributes(4, attributes.as_mut_ptr(), values.as_mut_ptr(), address).doing(DOING)?;
        }
        if kind != DEVICE_MEMORY {
            return Err(GpuError::NotDeviceMemory { address, bytes });
        }
        if usize::try_from(ordinal) != Ok(self.info().index) {
            let (expected, actual) = (self.context.label(), format!("GPU {ordinal}"));
            return Err(GpuError::WrongDevice { what: "the memory", expected, actual });
        }
        let actual = size.saturating_sub((address - start) as usize);
        if actual < bytes {
            return Err(GpuError::Length { what: "bytes of other software's memory", expected: bytes, actual });
        }
        Ok(())
    }
}
