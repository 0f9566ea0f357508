//! The macro that pairs an instruction with its twin.

/// Declares intrinsics: each one function with a body for the device and one for the emulator, which also counts it by name.
///
/// ```text
/// intrinsic! {
///     /// Picks four bytes of `a` and `b`.
///     ///
///     /// # PTX
///     /// `prmt.b32 d, a, b, selector;`
///     ///
///     /// # Safety
///     /// Safe: computes from its operands alone.
///     pub fn prmt_b32(a: u32, b: u32, selector: u32) -> u32 {
///         device => { let d: u32; asm!("prmt.b32 {0}, {1}, {2}, {3};", out(reg32) d, ...); d }
///         emulator => { ... }
///     }
/// }
/// ```
///
/// Both bodies may use `unsafe` operations: the function's conditions are the instruction's.
macro_rules! intrinsic {
    () => {};
    ($(#[$attribute:meta])* pub unsafe fn $name:ident $(<$(const $generic:ident: $kind:ty),* $(,)?>)? ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? {
        device => $device:block
        emulator => $emulator:block
    } $($rest:tt)*) => {
        $(#[$attribute])*
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name $(<$(const $generic: $kind),*>)? ($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "nvptx64")]
            $device
            #[cfg(not(target_arch = "nvptx64"))]
            {
                fringes_emulator::thread::count(stringify!($name));
                $emulator
            }
        }
        intrinsic! { $($rest)* }
    };
    ($(#[$attribute:meta])* pub fn $name:ident $(<$(const $generic:ident: $kind:ty),* $(,)?>)? ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? {
        device => $device:block
        emulator => $emulator:block
    } $($rest:tt)*) => {
        $(#[$attribute])*
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name $(<$(const $generic: $kind),*>)? ($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the instruction computes from its operands alone, whatever they are; that is why the function is safe.
            #[allow(unused_unsafe)]
            unsafe {
                $device
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                fringes_emulator::thread::count(stringify!($name));
                $emulator
            }
        }
        intrinsic! { $($rest)* }
    };
}
