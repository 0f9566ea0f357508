//! The macro that pairs an instruction with its twin.

/// Keeps the instruction that follows where the source has it in the flow of control: every device body of an
/// instruction that lanes or threads execute together calls this first.
///
/// LLVM may copy an `asm!` statement into both sides of a branch that differs between threads (it does so to a
/// `bar.sync` between two `if thread == 0`), as nothing marks it convergent. The intrinsic called here is marked so,
/// which holds for the whole basic block; its result is not used, and `ptxas` removes it.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn convergent() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.activemask"]
        fn activemask() -> u32;
    }
    // SAFETY: reads which lanes are active.
    unsafe { activemask() };
}

/// Declares intrinsics: each one function with a body for the device and one for the emulator, which also counts it by
/// name.
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
            // SAFETY: the instruction computes from its operands alone, whatever they are; that is why the function is
            // safe.
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
