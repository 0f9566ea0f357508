//! Views of a block's shared memory.

use core::marker::PhantomData;

use crate::Value;

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 1024 .b8 fringes_dynamic_shared[];");

/// A view of `len` values in the block's shared memory.
///
/// Shared memory is dynamic: its size is the launch's. [`Shared::dynamic`] is all of it, [`Shared::part`] and
/// [`Shared::cast`] divide it. It starts at a multiple of 1024 bytes.
pub struct Shared<T> {
    address: u32,
    len: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T: Value> Shared<T> {
    /// All of the block's dynamic shared memory.
    ///
    /// # PTX
    /// `mov.u32 n, %dynamic_smem_size;`
    #[inline(always)]
    pub fn dynamic() -> Self {
        #[cfg(target_arch = "nvptx64")]
        let (address, bytes) = {
            let (address, bytes): (u32, u32);
            // SAFETY: reads an address and a special register.
            unsafe {
                core::arch::asm!("{{ .reg .u64 t; mov.u64 t, fringes_dynamic_shared; cvt.u32.u64 {0}, t; }}", out(reg32) address, options(nomem, pure, nostack));
                core::arch::asm!("mov.u32 {0}, %dynamic_smem_size;", out(reg32) bytes, options(nomem, pure, nostack));
            }
            (address, bytes)
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let (address, bytes) = (0, fringes_emulator::thread::dynamic_shared_bytes());
        Self { address, len: bytes / T::BYTES as u32, element: PhantomData }
    }

    /// A view of `len` values at a shared address, as [`address`](Self::address) gives it.
    ///
    /// # Safety
    /// `address` is aligned to [`Value::BYTES`] and `len` values follow it in the block's shared memory. (The emulator
    /// checks at each access.)
    #[inline(always)]
    pub const unsafe fn from_raw_parts(address: u32, len: usize) -> Self {
        Self { address, len: len as u32, element: PhantomData }
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

    /// Shared address of value `index`, for instructions that take addresses.
    ///
    /// # Safety
    /// `index <= self.len()`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn address(self, index: usize) -> u32 {
        #[cfg(not(target_arch = "nvptx64"))]
        if index > self.len() {
            crate::host::beyond("address", index, self.len());
        }
        self.address.wrapping_add(index as u32 * T::BYTES as u32)
    }

    /// Loads value `index`.
    ///
    /// # Safety
    /// `index < self.len()`, the value is initialised, and no other thread writes it without order. (The emulator
    /// checks.)
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load(self, index: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        {
            T::load_shared(self.address(index))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            crate::host::load(fringes_emulator::memory::Space::Shared, self.address.into(), index, self.len())
        }
    }

    /// Stores value `index`.
    ///
    /// # Safety
    /// `index < self.len()`, and no other thread uses the value without order. (The emulator checks.)
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn store(self, index: usize, value: T) {
        #[cfg(target_arch = "nvptx64")]
        value.store_shared(self.address(index));
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::store(fringes_emulator::memory::Space::Shared, self.address.into(), index, self.len(), value);
    }

    /// The same bytes as values of another type: `len() * T::BYTES / U::BYTES` of them.
    ///
    /// # Safety
    /// The view's address is aligned to `U::BYTES`. (The emulator checks at each access.)
    #[inline(always)]
    pub const unsafe fn cast<U: Value>(self) -> Shared<U> {
        Shared { address: self.address, len: (self.len as usize * T::BYTES / U::BYTES) as u32, element: PhantomData }
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
            address: self.address.wrapping_add(start as u32 * T::BYTES as u32),
            len: len as u32,
            element: PhantomData,
        }
    }
}
