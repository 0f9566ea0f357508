//! Views of device memory: address, length and element type, with checked slices and casts.

use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

use bytemuck::Pod;

use crate::{Device, GpuError};

/// Elements of device memory that are read. A view is as cheap to copy as a slice, and `Send` and `Sync` as one.
pub struct BufferView<'a, T> {
    pub(crate) device: &'a Device,
    pub(crate) address: u64,
    length: usize,
    _borrow: PhantomData<&'a ()>,
    _element: PhantomData<fn() -> T>,
}

/// Elements of device memory that are written. There is one at a time of the same elements, as with `&mut [T]`.
pub struct BufferViewMut<'a, T> {
    view: BufferView<'a, T>,
    _unique: PhantomData<&'a mut ()>,
}

impl<T> Clone for BufferView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BufferView<'_, T> {}

impl<T> std::fmt::Debug for BufferView<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "[{}; {}] at {:#x} of GPU {}",
            std::any::type_name::<T>(),
            self.length,
            self.address,
            self.device.info().index
        )
    }
}

impl<T> std::fmt::Debug for BufferViewMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

impl<'a, T: Pod> BufferView<'a, T> {
    /// A view of memory that is known to be there.
    pub(crate) fn new(device: &'a Device, address: u64, length: usize) -> Self {
        Self { device, address, length, _borrow: PhantomData, _element: PhantomData }
    }

    /// A view of device memory that other software owns.
    ///
    /// # Errors
    /// [`GpuError::Alignment`] and [`GpuError::NullAddress`] for an address that cannot hold elements,
    /// [`GpuError::TooLarge`] where they do not fit an address space.
    ///
    /// # Safety
    /// - `address` and the `length` elements from it are memory that `device` can read, in its context;
    /// - they stay so while the view and all work that uses it last;
    /// - nothing else writes them during that work.
    pub unsafe fn from_raw(device: &'a Device, address: u64, length: usize) -> Result<Self, GpuError> {
        check_raw::<T>(address, length)?;
        Ok(Self::new(device, address, length))
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// Address on the device; zero where there is no element.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// A part of the view.
    ///
    /// # Errors
    /// [`GpuError::Range`] where the range is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self, GpuError> {
        let range = resolve(&range, self.length)?;
        Ok(Self::new(self.device, self.address + (range.start * size_of::<T>()) as u64, range.len()))
    }

    /// The same bytes as other elements: complex numbers as pairs, half floats as `u16`, rows of samples as `u32`.
    ///
    /// # Errors
    /// [`GpuError::Alignment`] where the address does not fit them, [`GpuError::Cast`] where the bytes are no whole
    /// number of them.
    pub fn cast<U: Pod>(&self) -> Result<BufferView<'a, U>, GpuError> {
        let length = cast_length::<U>(self.address, self.bytes())?;
        Ok(BufferView::new(self.device, self.address, length))
    }
}

impl<'a, T: Pod> BufferViewMut<'a, T> {
    /// A view of memory that is known to be there and borrowed uniquely.
    pub(crate) fn new(device: &'a Device, address: u64, length: usize) -> Self {
        Self { view: BufferView::new(device, address, length), _unique: PhantomData }
    }

    /// A view of device memory that other software owns, to be written.
    ///
    /// # Errors
    /// As [`BufferView::from_raw`].
    ///
    /// # Safety
    /// - `address` and the `length` elements from it are memory that `device` can read and write, in its context;
    /// - they stay so while the view and all work that uses it last;
    /// - nothing else reads or writes them during that work.
    pub unsafe fn from_raw(device: &'a Device, address: u64, length: usize) -> Result<Self, GpuError> {
        check_raw::<T>(address, length)?;
        Ok(Self::new(device, address, length))
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.view.bytes()
    }

    /// Address on the device; zero where there is no element.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.view.address()
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &'a Device {
        self.view.device
    }

    /// The same elements, to be read.
    #[must_use]
    pub fn as_view(&self) -> BufferView<'_, T> {
        self.view
    }

    /// The same elements for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> BufferViewMut<'_, T> {
        BufferViewMut { view: self.view, _unique: PhantomData }
    }

    /// A part of the view, in place of all.
    ///
    /// # Errors
    /// [`GpuError::Range`] where the range is not inside.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, GpuError> {
        Ok(Self { view: self.view.slice(range)?, _unique: PhantomData })
    }

    /// The elements before `middle` and the ones from it.
    ///
    /// # Errors
    /// [`GpuError::Range`] where `middle` is beyond the end.
    pub fn split_at(self, middle: usize) -> Result<(Self, Self), GpuError> {
        let (left, right) = (self.view.slice(..middle)?, self.view.slice(middle..)?);
        Ok((Self { view: left, _unique: PhantomData }, Self { view: right, _unique: PhantomData }))
    }

    /// The same bytes as other elements.
    ///
    /// # Errors
    /// As [`BufferView::cast`].
    pub fn cast<U: Pod>(self) -> Result<BufferViewMut<'a, U>, GpuError> {
        Ok(BufferViewMut { view: self.view.cast()?, _unique: PhantomData })
    }
}

impl<'a, T: Pod> From<BufferViewMut<'a, T>> for BufferView<'a, T> {
    fn from(view: BufferViewMut<'a, T>) -> Self {
        view.view
    }
}

/// Bytes of so many elements.
pub(crate) fn byte_size<T>(length: usize) -> Result<usize, GpuError> {
    length
        .checked_mul(size_of::<T>())
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or(GpuError::TooLarge { elements: length, element_bytes: size_of::<T>() })
}

/// Checks memory that others describe.
pub(crate) fn check_raw<T>(address: u64, length: usize) -> Result<(), GpuError> {
    let bytes = byte_size::<T>(length)?;
    if address == 0 && length > 0 {
        return Err(GpuError::NullAddress { length });
    }
    if !address.is_multiple_of(align_of::<T>() as u64) {
        return Err(GpuError::Alignment { what: "device memory", address, expected: align_of::<T>() });
    }
    if address.checked_add(bytes as u64).is_none() {
        return Err(GpuError::TooLarge { elements: length, element_bytes: size_of::<T>() });
    }
    Ok(())
}

/// Number of elements of type `U` in so many bytes at an address.
pub(crate) fn cast_length<U>(address: u64, bytes: usize) -> Result<usize, GpuError> {
    if !address.is_multiple_of(align_of::<U>() as u64) {
        return Err(GpuError::Alignment { what: "a cast of a view", address, expected: align_of::<U>() });
    }
    if size_of::<U>() == 0 || !bytes.is_multiple_of(size_of::<U>()) {
        return Err(GpuError::Cast { bytes, element_bytes: size_of::<U>() });
    }
    Ok(bytes / size_of::<U>())
}

/// A range in numbers, if it is inside of `length` elements.
pub(crate) fn resolve(range: &impl RangeBounds<usize>, length: usize) -> Result<Range<usize>, GpuError> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => length,
    };
    if start <= end && end <= length { Ok(start..end) } else { Err(GpuError::Range { start, end, length }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_inside_or_named_in_the_error() {
        assert_eq!(resolve(&(..), 5), Ok(0..5));
        assert_eq!(resolve(&(2..4), 5), Ok(2..4));
        assert_eq!(resolve(&(2..=4), 5), Ok(2..5));
        assert_eq!(resolve(&(5..), 5), Ok(5..5));
        assert_eq!(resolve(&(..0), 0), Ok(0..0));
        assert_eq!(resolve(&(2..6), 5), Err(GpuError::Range { start: 2, end: 6, length: 5 }));
        assert_eq!(resolve(&(6..), 5), Err(GpuError::Range { start: 6, end: 5, length: 5 }));
        #[allow(clippy::reversed_empty_ranges, reason = "it is the faulty range that is tested")]
        let reversed = 4..2;
        assert_eq!(resolve(&reversed, 5), Err(GpuError::Range { start: 4, end: 2, length: 5 }));
        assert!(resolve(&(0..=usize::MAX), 5).is_err());
        assert!(resolve(&(Bound::Excluded(usize::MAX), Bound::Unbounded), 5).is_err());
    }

    #[test]
    fn a_cast_keeps_the_bytes_or_fails() {
        assert_eq!(cast_length::<u32>(0x100, 12), Ok(3));
        assert_eq!(cast_length::<[u32; 4]>(0x104, 32), Ok(2));
        assert_eq!(
            cast_length::<u32>(0x102, 12),
            Err(GpuError::Alignment { what: "a cast of a view", address: 0x102, expected: 4 })
        );
        assert_eq!(cast_length::<u32>(0x100, 10), Err(GpuError::Cast { bytes: 10, element_bytes: 4 }));
        assert_eq!(cast_length::<()>(0x100, 10), Err(GpuError::Cast { bytes: 10, element_bytes: 0 }));
        assert_eq!(cast_length::<u64>(0, 0), Ok(0));
    }

    #[test]
    fn memory_of_others_must_be_possible() {
        assert_eq!(check_raw::<f64>(0x1000, 7), Ok(()));
        assert_eq!(check_raw::<f64>(0, 0), Ok(()));
        assert_eq!(check_raw::<f64>(0, 7), Err(GpuError::NullAddress { length: 7 }));
        assert!(matches!(check_raw::<f64>(0x1004, 7), Err(GpuError::Alignment { expected: 8, .. })));
        assert!(matches!(check_raw::<f64>(0x1000, usize::MAX / 8), Err(GpuError::TooLarge { .. })));
        assert!(matches!(check_raw::<f64>(u64::MAX - 7, 1), Err(GpuError::TooLarge { .. })));
    }
}
