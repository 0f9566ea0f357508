//! Multiply-add in single precision that the compiler understands.

#[cfg(target_arch = "nvptx64")]
use core::ffi::c_float;

intrinsic! {
    /// `a b + c`, rounded once, to nearest, ties to even; subnormals kept, and NaN is 0x7fffffff.
    ///
    /// Unlike [`fma_rn_f32`](crate::arithmetic::fma_rn_f32) it is no `asm!` block but LLVM's own operation: factors
    /// that are constants become immediate operands, and `-a`, `-b`, `-c` the signs of the instruction's operands,
    /// which take no instruction.
    ///
    /// # PTX
    /// `fma.rn.f32 d, a, b, c;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn fma(a: f32, b: f32, c: f32) -> f32 {
        device => {
            unsafe extern "C" {
                #[link_name = "llvm.fma.f32"]
                fn llvm_fma(a: c_float, b: c_float, c: c_float) -> c_float;
            }
            // SAFETY: arithmetic.
            unsafe { llvm_fma(a, b, c) }
        }
        emulator => {
            let d = a.mul_add(b, c);
            if d.is_nan() { f32::from_bits(0x7fff_ffff) } else { d }
        }
    }
}

intrinsic! {
    /// `a b + c`, rounded once, to nearest, ties to even, then clamped to 0..=1; NaN gives 0.
    ///
    /// # PTX
    /// `fma.rn.sat.f32 d, a, b, c;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn fma_sat(a: f32, b: f32, c: f32) -> f32 {
        device => {
            let d: f32;
            // SAFETY: arithmetic.
            unsafe {
                core::arch::asm!("fma.rn.sat.f32 {0}, {1}, {2}, {3};", out(reg32) d, in(reg32) a, in(reg32) b, in(reg32) c, options(nomem, pure, nostack));
            }
            d
        }
        emulator => {
            let d = a.mul_add(b, c);
            if d > 0.0 { d.min(1.0) } else { 0.0 }
        }
    }
}
