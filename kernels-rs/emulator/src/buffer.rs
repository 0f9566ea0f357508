//! Buffers of global memory.

use std::marker::PhantomData;

use crate::region::Region;
use crate::tensor::TensorLayout;

/// A value that buffers hold: plain numbers and arrays of them.
///
/// # Safety
/// Every bit pattern is a value, and there is no padding.
pub unsafe trait Element: Copy + 'static {}

macro_rules! elements {
    ($($type:ty)*) => { $(
        // SAFETY: a number.
        unsafe impl Element for $type {}
    )* };
}
elements!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

// SAFETY: an array has no padding between its elements, and each of them is a number.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}

/// The device's memory: buffers that outlive launches.
#[derive(Debug, Default)]
pub struct GlobalMemory {
    pub(crate) buffers: Vec<Region>,
    /// Tensor maps: address of the tensor, and its layout.
    pub(crate) maps: Vec<(u64, TensorLayout)>,
}

/// Distance of the addresses of two buffers, as a power of two: an overrun by less than 64 GiB meets no other buffer.
const SPACING: u32 = 36;

/// Address of the buffer of this index.
pub(crate) fn buffer_address(index: usize) -> u64 {
    (index as u64 + 1) << SPACING
}

/// Index of the buffer whose range `address` is in, and the offset from its start.
#[inline]
pub(crate) fn locate(address: u64) -> (usize, usize) {
    (((address >> SPACING) as usize).wrapping_sub(1), (address & ((1 << SPACING) - 1)) as usize)
}

/// A buffer of `len` elements at an address of a [`GlobalMemory`].
#[derive(Debug)]
pub struct Buffer<T> {
    /// Global address of the first element; a multiple of 256.
    pub address: u64,
    /// Number of elements.
    pub len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}
impl<T> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.address, self.len) == (other.address, other.len)
    }
}
impl<T> Eq for Buffer<T> {}

impl GlobalMemory {
    /// No buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer whose bytes are not initialised: reading one before it is written is a fault.
    pub fn allocate<T: Element>(&mut self, len: usize) -> Buffer<T> {
        self.buffers.push(Region::new(len * size_of::<T>()));
        Buffer { address: buffer_address(self.buffers.len() - 1), len, element: PhantomData }
    }

    /// A buffer with these values.
    pub fn upload<T: Element>(&mut self, values: &[T]) -> Buffer<T> {
        let buffer = self.allocate(values.len());
        self.write(buffer, values);
        buffer
    }

    /// Overwrites a buffer's first values.
    ///
    /// # Panics
    /// If there are more values than the buffer holds, or the buffer is another memory's.
    #[track_caller]
    pub fn write<T: Element>(&mut self, buffer: Buffer<T>, values: &[T]) {
        assert!(values.len() <= buffer.len, "{} values written to a buffer of {}", values.len(), buffer.len);
        // SAFETY: the values are plain numbers without padding, so each of their bytes is initialised; the slice is
        // theirs.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
        let (index, _) = self.find(buffer);
        self.buffers[index].fill(bytes);
    }

    /// A buffer's values; `None` where bytes of the value were never written.
    ///
    /// # Panics
    /// If the buffer is another memory's.
    #[track_caller]
    pub fn download<T: Element>(&self, buffer: Buffer<T>) -> Vec<Option<T>> {
        let (index, start) = self.find(buffer);
        let (region, size) = (&self.buffers[index], size_of::<T>());
        (0..buffer.len)
            .map(|i| start + i * size)
            .map(|at| {
                let bytes = &region.bytes[at..at + size];
                // SAFETY: the slice has the size of the value, and every bit pattern is one.
                let value = unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
                region.all_written(at, size).then_some(value)
            })
            .collect()
    }

    /// A buffer's values, all of which must have been written. For tests: panics with the first index that was not.
    #[track_caller]
    pub fn values<T: Element>(&self, buffer: Buffer<T>) -> Vec<T> {
        let mut values = Vec::with_capacity(buffer.len);
        for (i, value) in self.download(buffer).into_iter().enumerate() {
            match value {
                Some(value) => values.push(value),
                None => panic!("element {i} was never written"),
            }
        }
        values
    }

    /// Index of the buffer's region and offset in it.
    #[track_caller]
    fn find<T>(&self, buffer: Buffer<T>) -> (usize, usize) {
        let (index, start) = locate(buffer.address);
        let end = start + buffer.len * size_of::<T>();
        assert!(
            self.buffers.get(index).is_some_and(|region| end <= region.bytes.len()),
            "no buffer of this memory at address {:#x}",
            buffer.address
        );
        (index, start)
    }
}
