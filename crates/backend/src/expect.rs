//! Checks of device buffers before anything is launched.

use bytemuck::Pod;
use fringes_gpu::{BufferView, BufferViewMut};

use crate::DeviceError;

/// What an operation asks of a device buffer.
pub trait Expect {
    /// `Ok` if there are at least `length` elements and they begin at a multiple of `alignment` bytes.
    ///
    /// # Errors
    /// [`DeviceError::Length`], [`DeviceError::Alignment`].
    fn expect(&self, buffer: &'static str, length: usize, alignment: u64) -> Result<(), DeviceError>;
}

impl<T: Pod> Expect for BufferView<'_, T> {
    fn expect(&self, buffer: &'static str, length: usize, alignment: u64) -> Result<(), DeviceError> {
        check(buffer, length, alignment, self.len(), self.address())
    }
}

impl<T: Pod> Expect for BufferViewMut<'_, T> {
    fn expect(&self, buffer: &'static str, length: usize, alignment: u64) -> Result<(), DeviceError> {
        check(buffer, length, alignment, self.len(), self.address())
    }
}

/// Checks a buffer of `actual` elements at an address.
fn check(
    buffer: &'static str,
    expected: usize,
    alignment: u64,
    actual: usize,
    address: u64,
) -> Result<(), DeviceError> {
    if actual < expected {
        return Err(DeviceError::Length { buffer, expected, actual });
    }
    if expected > 0 && !address.is_multiple_of(alignment.max(1)) {
        return Err(DeviceError::Alignment { buffer, expected: alignment, address });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_misaligned_buffers_are_named() {
        assert_eq!(check("rows", 4, 16, 4, 0x20), Ok(()));
        assert_eq!(check("rows", 4, 16, 3, 0x20), Err(DeviceError::Length { buffer: "rows", expected: 4, actual: 3 }));
        let error = DeviceError::Alignment { buffer: "rows", expected: 16, address: 0x28 };
        assert_eq!(check("rows", 4, 16, 4, 0x28), Err(error));
        assert_eq!(check("rows", 0, 16, 0, 0), Ok(()));
    }
}
