//! Products of the tensor cores, by the type of their sums.

use fringes_device::wgmma::{self, Accumulator, Descriptor};
use fringes_kernels_beamformer_core::sums::Part;

/// Sums of 32 bytes of a column: 8-bit integers, or f16. A lane has `H` of them, for `2 H` columns.
pub(crate) trait Product<const H: usize>: Part {
    /// `D = A B + D`, or `D = A B` unless `accumulate`: `A` of 64 times in registers, `B` of all columns in shared
    /// memory.
    ///
    /// # Safety
    /// - All threads of four warps that follow each other, from a multiple of four on, call it together.
    /// - `wgmma_fence` was after what was last written to the registers `d` and `a`; until `wgmma_wait_group` they
    ///   are not touched.
    /// - `B` lies where the descriptor says, was written before, and that is seen by the tensor cores; it is not
    ///   overwritten before the product is done.
    unsafe fn product(d: &mut [Self; H], a: [u32; 4], b: Descriptor, accumulate: bool);

    /// Zeros.
    fn zero() -> [Self; H];

    /// Keeps what uses the sums after it behind a wait before it.
    fn hold(sums: &mut [Self; H]);
}

macro_rules! products {
    ($($half:literal $i8:ident $f16:ident;)*) => { $(
        impl Product<$half> for i32 {
            #[inline(always)]
            fn zero() -> [i32; $half] {
                Accumulator::zero()
            }

            #[inline(always)]
            fn hold(sums: &mut [i32; $half]) {
                Accumulator::hold(sums);
            }

            #[inline(always)]
            unsafe fn product(d: &mut [i32; $half], a: [u32; 4], b: Descriptor, accumulate: bool) {
                wgmma::$i8(d, a, b, accumulate);
            }
        }

        impl Product<$half> for f32 {
            #[inline(always)]
            fn zero() -> [f32; $half] {
                Accumulator::zero()
            }

            #[inline(always)]
            fn hold(sums: &mut [f32; $half]) {
                Accumulator::hold(sums);
            }

            #[inline(always)]
            unsafe fn product(d: &mut [f32; $half], a: [u32; 4], b: Descriptor, accumulate: bool) {
                wgmma::$f16::<0>(d, a, b, accumulate);
            }
        }
    )* };
}

products! {
    8 wgmma_mma_async_m64n16k32_s32_s8_s8_a_registers wgmma_mma_async_m64n16k16_f32_f16_f16_a_registers;
    16 wgmma_mma_async_m64n32k32_s32_s8_s8_a_registers wgmma_mma_async_m64n32k16_f32_f16_f16_a_registers;
    32 wgmma_mma_async_m64n64k32_s32_s8_s8_a_registers wgmma_mma_async_m64n64k16_f32_f16_f16_a_registers;
    64 wgmma_mma_async_m64n128k32_s32_s8_s8_a_registers wgmma_mma_async_m64n128k16_f32_f16_f16_a_registers;
}
