//! A value that the compiler knows nothing about.

/// Returns `value`, computed here and nowhere else as far as the compiler can tell.
///
/// Keeps work that depends on it where it is written: LLVM moves conversions and addresses of a kernel's last part in
/// front of the main loop, where they take registers that the loop needs. No instruction is emitted.
#[inline(always)]
pub fn opaque(value: i32) -> i32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut value = value;
        // SAFETY: a comment.
        unsafe { core::arch::asm!("// {0}", inout(reg32) value, options(nomem, nostack)) };
        value
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}
