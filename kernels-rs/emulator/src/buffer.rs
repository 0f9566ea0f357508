//! Buffers of global memory.

use std::marker::PhantomData;

/// A value that buffers hold: plain numbers and arrays of them.
///
/// # Safety
/// Every bit pattern is a value, and there is no padding.
pub unsafe trait Element: Copy + 'static {}

// SAFETY: a plain number.
unsafe impl Element for u32 {}

/// The device's memory: buffers that outlive launches.
#[derive(Debug, Default)]
pub struct GlobalMemory {}

/// A buffer of `len` elements at an address of a [`GlobalMemory`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer<T> {
    /// Global address of the first element; a multiple of 256.
    pub address: u64,
    /// Number of elements.
    pub len: usize,
    element: PhantomData<T>,
}

impl GlobalMemory {
    /// No buffers.
    pub fn new() -> Self {
        Self::default()
    }
    /// A buffer whose bytes are not initialised: reading one before it is written is a fault.
    pub fn allocate<T: Element>(&mut self, len: usize) -> Buffer<T> {
        let _ = len;
        unimplemented!()
    }
    /// A buffer with these values.
    pub fn upload<T: Element>(&mut self, values: &[T]) -> Buffer<T> {
        let _ = values;
        unimplemented!()
    }
    /// Overwrites a buffer's first values.
    pub fn write<T: Element>(&mut self, buffer: Buffer<T>, values: &[T]) {
        let _ = (buffer, values);
        unimplemented!()
    }
    /// A buffer's values; `None` where bytes of the value were never written.
    pub fn download<T: Element>(&self, buffer: Buffer<T>) -> Vec<Option<T>> {
        let _ = buffer;
        unimplemented!()
    }
    /// A buffer's values, all of which must have been written. For tests: panics with the first index that was not.
    #[track_caller]
    pub fn values<T: Element>(&self, buffer: Buffer<T>) -> Vec<T> {
        let values = self.download(buffer);
        values
            .into_iter()
            .enumerate()
            .map(|(i, v)| v.unwrap_or_else(|| panic!("element {i} was never written")))
            .collect()
    }
}
