//! Values that memory holds.

/// A value that one instruction can load or store: a number, or an array of 2 or 4 numbers, aligned to its size, up to
/// 16 bytes.
///
/// # Safety
/// Implemented for plain numbers and arrays of them only: every bit pattern is a value and there is no padding.
pub unsafe trait Value: Copy + 'static {
    /// Size and alignment in bytes.
    const BYTES: usize;

    /// Loads from global memory.
    ///
    /// # PTX
    /// `ld.global`
    ///
    /// # Safety
    /// `address` is that of an initialised value in global memory, aligned to [`Value::BYTES`].
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_global(address: u64) -> Self;

    /// Loads from global memory that nothing writes during the launch.
    ///
    /// # PTX
    /// `ld.global.nc`
    ///
    /// # Safety
    /// As [`Value::load_global`], and nothing writes the value during the launch.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_global_constant(address: u64) -> Self;

    /// Stores to global memory.
    ///
    /// # PTX
    /// `st.global`
    ///
    /// # Safety
    /// `address` is that of a value in global memory, aligned to [`Value::BYTES`], that no other thread uses unordered.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_global(self, address: u64);

    /// Loads from shared memory.
    ///
    /// # PTX
    /// `ld.shared`
    ///
    /// # Safety
    /// `address` is that of an initialised value in the block's shared memory, aligned to [`Value::BYTES`].
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_shared(address: u32) -> Self;

    /// Stores to shared memory.
    ///
    /// # PTX
    /// `st.shared`
    ///
    /// # Safety
    /// `address` is that of a value in the block's shared memory, aligned to [`Value::BYTES`], that no other thread
    /// uses unordered.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_shared(self, address: u32);

    /// The value from its bytes.
    #[cfg(not(target_arch = "nvptx64"))]
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Writes the value's bytes.
    #[cfg(not(target_arch = "nvptx64"))]
    fn to_bytes(self, bytes: &mut [u8]);
}

/// `Value` for a number or an array: its PTX type, register class, the type that travels in the register, and how many
/// there are.
macro_rules! value {
    ($type:ty, $ptx:literal, $class:ident, $register:ty, [$($index:literal)*], $operands:literal, $address:literal, |$value:ident| $split:expr, |$parts:ident| $join:expr) => {
        // SAFETY: numbers and arrays of numbers.
        unsafe impl Value for $type {
            const BYTES: usize = size_of::<Self>();

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_global(address: u64) -> Self {
                let mut $parts = [0 as $register; [$($index),*].len()];
                core::arch::asm!(concat!("ld.global", $ptx, " ", $operands, ", [", $address, "];"), $(out($class) $parts[$index],)* in(reg64) address, options(readonly, nostack));
                $join
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_global_constant(address: u64) -> Self {
                let mut $parts = [0 as $register; [$($index),*].len()];
                core::arch::asm!(concat!("ld.global.nc", $ptx, " ", $operands, ", [", $address, "];"), $(out($class) $parts[$index],)* in(reg64) address, options(pure, readonly, nostack));
                $join
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_global(self, address: u64) {
                let $value = self;
                let parts: [$register; [$($index),*].len()] = $split;
                core::arch::asm!(concat!("st.global", $ptx, " [", $address, "], ", $operands, ";"), $(in($class) parts[$index],)* in(reg64) address, options(nostack));
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_shared(address: u32) -> Self {
                let mut $parts = [0 as $register; [$($index),*].len()];
                core::arch::asm!(concat!("ld.shared", $ptx, " ", $operands, ", [", $address, "];"), $(out($class) $parts[$index],)* in(reg32) address, options(readonly, nostack));
                $join
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_shared(self, address: u32) {
                let $value = self;
                let parts: [$register; [$($index),*].len()] = $split;
                core::arch::asm!(concat!("st.shared", $ptx, " [", $address, "], ", $operands, ";"), $(in($class) parts[$index],)* in(reg32) address, options(nostack));
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn from_bytes(bytes: &[u8]) -> Self {
                assert_eq!(bytes.len(), Self::BYTES);
                // SAFETY: the slice has the size of the value, and every bit pattern is one.
                unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn to_bytes(self, bytes: &mut [u8]) {
                assert_eq!(bytes.len(), Self::BYTES);
                // SAFETY: the slice has the size of the value.
                unsafe { bytes.as_mut_ptr().cast::<Self>().write_unaligned(self) }
            }
        }
    };
}

macro_rules! scalar {
    ($($type:ty, $ptx:literal, $class:ident, $register:ty;)*) => {
        $(value!($type, $ptx, $class, $register, [0], "{0}", "{1}", |value| [value as $register], |parts| parts[0] as $type);)*
    };
}

macro_rules! vectors {
    ($($type:ty, $ptx2:literal, $ptx4:literal, $class:ident;)*) => { $(
        value!([$type; 2], $ptx2, $class, $type, [0 1], "{{{0}, {1}}}", "{2}", |value| value, |parts| parts);
        value!([$type; 4], $ptx4, $class, $type, [0 1 2 3], "{{{0}, {1}, {2}, {3}}}", "{4}", |value| value, |parts| parts);
    )* };
}

scalar! {
    u8, ".u8", reg16, u16;
    i8, ".s8", reg16, i16;
    u16, ".b16", reg16, u16;
    i16, ".b16", reg16, i16;
    u32, ".b32", reg32, u32;
    i32, ".b32", reg32, i32;
    f32, ".f32", reg32, f32;
    u64, ".b64", reg64, u64;
    i64, ".b64", reg64, i64;
    f64, ".f64", reg64, f64;
}

vectors! {
    u16, ".v2.b16", ".v4.b16", reg16;
    i16, ".v2.b16", ".v4.b16", reg16;
    u32, ".v2.b32", ".v4.b32", reg32;
    i32, ".v2.b32", ".v4.b32", reg32;
    f32, ".v2.f32", ".v4.f32", reg32;
}

value!([u64; 2], ".v2.b64", reg64, u64, [0 1], "{{{0}, {1}}}", "{2}", |value| value, |parts| parts);
value!([i64; 2], ".v2.b64", reg64, i64, [0 1], "{{{0}, {1}}}", "{2}", |value| value, |parts| parts);
value!([f64; 2], ".v2.f64", reg64, f64, [0 1], "{{{0}, {1}}}", "{2}", |value| value, |parts| parts);
