//! AVX-512 VNNI: the dot product of bytes.

use std::arch::asm;
use std::arch::x86_64::__m256i;

/// Adds the four products of unsigned bytes `x` and signed bytes `y` in every 32-bit lane to `sums`.
///
/// The intrinsic of this instruction needs a later Rust than this crate does.
///
/// # Safety
/// The machine must have AVX-512 VNNI and VL.
#[target_feature(enable = "avx2")]
#[inline]
#[allow(unsafe_code)]
pub(crate) unsafe fn dot_bytes(sums: __m256i, x: __m256i, y: __m256i) -> __m256i {
    let mut sums = sums;
    // SAFETY: the caller vouches for the instruction, which reads and writes nothing but its registers.
    unsafe {
        asm!(
            "vpdpbusd {sums}, {x}, {y}",
            sums = inout(ymm_reg) sums,
            x = in(ymm_reg) x,
            y = in(ymm_reg) y,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}
