//! Views of global memory.

use core::marker::PhantomData;

use crate::Value;

/// A view of `len` values in global memory that nothing writes during the launch.
///
/// Passed to a kernel as one parameter of 16 bytes: address and length.
#[repr(C)]
pub struct Global<T> {
    address: u64,
    len: u64,
    element: PhantomData<T>,
}

/// A view of `len` values in global memory that the kernel reads and writes.
///
/// Threads share it; what they do with the same value must be ordered (barriers, atomics), which the emulator checks.
#[repr(C)]
pub struct GlobalMut<T> {
    address: u64,
    len: u64,
    element: PhantomData<T>,
}

macro_rules! view {
    ($view:ident, $load:ident) => {
        impl<T> Clone for $view<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $view<T> {}

        impl<T: Value> $view<T> {
            /// A view of `len` values at `address`.
            ///
            /// # Safety
            /// `address` is aligned to [`Value::BYTES`] and `len` values follow it for as long as the view is used.
            /// (The emulator checks.)
            #[inline(always)]
            pub const unsafe fn from_raw_parts(address: u64, len: usize) -> Self {
                Self { address, len: len as u64, element: PhantomData }
            }

            /// Number of values.
            #[inline(always)]
            pub const fn len(self) -> usize {
                self.len as usize
            }

            /// Whether there is no value.
            #[inline(always)]
            pub const fn is_empty(self) -> bool {
                self.len == 0
            }

            /// Global address of value `index`, for instructions that take addresses. `index == len()` is allowed: an
            /// address that is not used.
            ///
            /// # Safety
            /// `index <= self.len()`.
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn address(self, index: usize) -> u64 {
                #[cfg(not(target_arch = "nvptx64"))]
                if index > self.len() {
                    crate::host::beyond("address", index, self.len());
                }
                self.address.wrapping_add(index as u64 * T::BYTES as u64)
            }

            /// Loads value `index`.
            ///
            /// # Safety
            /// `index < self.len()`, and the value is initialised. (The emulator checks both.)
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn load(self, index: usize) -> T {
                #[cfg(target_arch = "nvptx64")]
                {
                    T::$load(self.address(index))
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    crate::host::load(fringes_emulator::memory::Space::Global, self.address, index, self.len())
                }
            }

            /// The same bytes as values of another type: `len() * T::BYTES / U::BYTES` of them.
            ///
            /// # Safety
            /// The view's address is aligned to `U::BYTES`. (The emulator checks at each access.)
            #[inline(always)]
            pub const unsafe fn cast<U: Value>(self) -> $view<U> {
                $view { address: self.address, len: self.len * T::BYTES as u64 / U::BYTES as u64, element: PhantomData }
            }

            /// The values from `start` on, `len` of them.
            ///
            /// # Safety
            /// `start + len <= self.len()`.
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn part(self, start: usize, len: usize) -> Self {
                #[cfg(not(target_arch = "nvptx64"))]
                if start.checked_add(len).is_none_or(|end| end > self.len()) {
                    crate::host::beyond("part", start.saturating_add(len), self.len());
                }
                Self {
                    address: self.address.wrapping_add(start as u64 * T::BYTES as u64),
                    len: len as u64,
                    element: PhantomData,
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: Value> From<fringes_emulator::Buffer<T>> for $view<T> {
            fn from(buffer: fringes_emulator::Buffer<T>) -> Self {
                Self { address: buffer.address, len: buffer.len as u64, element: PhantomData }
            }
        }
    };
}

view!(Global, load_global_constant);
view!(GlobalMut, load_global);

impl<T: Value> GlobalMut<T> {
    /// Stores value `index`.
    ///
    /// # Safety
    /// `index < self.len()`, and no other thread uses the value without order. (The emulator checks both.)
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn store(self, index: usize, value: T) {
        #[cfg(target_arch = "nvptx64")]
        value.store_global(self.address(index));
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::store(fringes_emulator::memory::Space::Global, self.address, index, self.len(), value);
    }
}
