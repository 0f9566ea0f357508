//! Products of as many columns as a kernel has.

use fringes_device::wgmma::{
    Accumulator, Descriptor, wgmma_mma_async_m64n32k16_f32_f16_f16_a_registers,
    wgmma_mma_async_m64n40k16_f32_f16_f16_a_registers, wgmma_mma_async_m64n48k16_f32_f16_f16_a_registers,
    wgmma_mma_async_m64n96k16_f32_f16_f16_a_registers,
};

/// Accumulators of a product of f16 with `A` in registers.
pub(crate) trait Product: Accumulator {
    /// Adds a product of 16 samples of 64 rows.
    ///
    /// # Safety
    /// As for `wgmma_mma_async`: by all threads of a group of four warps, after a fence.
    unsafe fn add(&mut self, a: [u32; 4], b: Descriptor);
}

macro_rules! product {
    ($($half:literal $name:ident;)*) => { $(
        impl Product for [f32; $half] {
            #[inline(always)]
            unsafe fn add(&mut self, a: [u32; 4], b: Descriptor) {
                $name::<0>(self, a, b, true);
            }
        }
    )* };
}

product! {
    16 wgmma_mma_async_m64n32k16_f32_f16_f16_a_registers;
    20 wgmma_mma_async_m64n40k16_f32_f16_f16_a_registers;
    24 wgmma_mma_async_m64n48k16_f32_f16_f16_a_registers;
    48 wgmma_mma_async_m64n96k16_f32_f16_f16_a_registers;
}
