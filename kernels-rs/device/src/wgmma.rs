//! Products of matrices by a warpgroup (`wgmma`, sm_90a): `D = A B + D` with `A` of 64 x K, `B` of K x N, `D` of 64 x
//! N.
//!
//! Four warps, the first of which has a number that is a multiple of 4, execute every function of this module together.
//! `B` lies in shared memory, `A` in shared memory or in registers, `D` in registers. Products are asynchronous:
//!
//! ```text
//! wgmma_fence();                    // registers and what was written before are seen
//! wgmma_mma_async_...(&mut d, ...); // any number
//! wgmma_commit_group();
//! wgmma_wait_group::<0>();
//! d.hold();                         // what follows does not move before the wait
//! ```
//!
//! Between `wgmma_fence` and the end of the wait nothing else may use the registers of `D` (and of `A`). Shared memory
//! that threads wrote themselves needs [`fence_proxy_async`](crate::fence::fence_proxy_async) and a barrier first.
//!
//! # Layout
//! [`atoms::wgmma`](fringes_layout_core::atoms::wgmma) has the fragments in registers as data. `D` is tiles of 8
//! columns: with warp `w` of the warpgroup, rows `i` and columns `k`, register `r` of `N / 2` is
//!
//! ```text
//! tile r / 4, and in it   r<->k0 i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  w<->i4 i5
//! that is                 row 16 w + lane / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (lane % 4) + r % 2
//! ```
//!
//! `A` in registers: four, as for [`mma`](crate::mma), rows `16 w` and up in warp `w`.
//!
//! Matrices in shared memory: see [`Descriptor`] and [`atoms::descriptor`](fringes_layout_core::atoms::descriptor).
//!
//! # Precision
//! Integer products are exact; sums wrap modulo 2^32. Sums of floating-point products are not IEEE: the order and the
//! bits kept before the result are not specified. (The emulator sums exact products in f64 in the order of K, adds the
//! accumulator last, and rounds once to f32.)
//!
//! # In the emulator
//! Registers of `D` hold marks from a product to [`Accumulator::hold`] after the wait: reading them before gives
//! nonsense, and storing them, or a product on an array of which a part was overwritten, is a fault. Registers of `A`
//! are taken when the product is issued: that they are changed too early is not seen. A [`wgmma_fence`] must have been
//! executed since the registers of `D` were held last.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::warpgroup::{self, Elements, Left, Product};

pub use fringes_layout_core::atoms::descriptor::{Descriptor, Swizzle};

/// Registers of `D`.
pub trait Accumulator {
    /// Zeros. (An array expression of f32 zeros becomes a loop, and a long one that is not unrolled keeps the array in
    /// memory.)
    fn zero() -> Self;

    /// Does nothing, but what uses the registers after it stays after it, and what precedes stays before.
    fn hold(&mut self);
}

/// Makes an accumulator zero in the register that it has.
///
/// A plain `d[i] = 0.0` is a register of its own to the compiler, and where some accumulators of a product begin anew
/// and others go on, `ptxas` finds no place for all of them and does one product after the other (C7511).
#[inline(always)]
pub fn clear(accumulator: &mut f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a register of this thread.
    unsafe {
        core::arch::asm!("mov.b32 {0}, 0;", inout(reg32) * accumulator, options(nomem, nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        *accumulator = 0.0;
    }
}

/// The elements of the product of this name in PTX.
#[cfg(not(target_arch = "nvptx64"))]
const fn elements(ptx: &str) -> Elements {
    match *ptx.as_bytes() {
        [.., b's', b'8'] => Elements::S8,
        [.., b'b', b'f', b'1', b'6'] => Elements::BF16,
        [.., b'f', b'1', b'6'] => Elements::F16,
        _ => Elements::TF32,
    }
}

/// The bits of registers.
#[cfg(not(target_arch = "nvptx64"))]
fn words<T>(registers: &mut [T]) -> &mut [u32] {
    // SAFETY: registers are i32 or f32, whose size and alignment are those of u32, and every bit pattern is a value of
    // each.
    unsafe { core::slice::from_raw_parts_mut(registers.as_mut_ptr().cast(), registers.len()) }
}

/// Calls a macro with half of N, the numbers from 1 below it, and the rest.
macro_rules! registers {
    (8 $product:ident $rest:tt) => { $product! { 4 [1 2 3] $rest } };
    (16 $product:ident $rest:tt) => { $product! { 8 [1 2 3 4 5 6 7] $rest } };
    (32 $product:ident $rest:tt) => { $product! { 16 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] $rest } };
    (40 $product:ident $rest:tt) => { $product! { 20 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19] $rest } };
    (48 $product:ident $rest:tt) => { $product! { 24 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23] $rest } };
    (64 $product:ident $rest:tt) => { $product! { 32 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] $rest } };
    (96 $product:ident $rest:tt) => { $product! { 48 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47] $rest } };
    (128 $product:ident $rest:tt) => { $product! { 64 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63] $rest } };
    (160 $product:ident $rest:tt) => { $product! { 80 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79] $rest } };
    (192 $product:ident $rest:tt) => { $product! { 96 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95] $rest } };
    (256 $product:ident $rest:tt) => { $product! { 128 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127] $rest } };
}

macro_rules! accumulator {
    ($half:literal [$($i:literal)*] ($element:ty)) => {
        impl Accumulator for [$element; $half] {
            #[inline(always)]
            fn zero() -> Self {
                // SAFETY: all bits zero are a number.
                unsafe { core::mem::zeroed() }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            fn hold(&mut self) {
                #[cfg(not(target_arch = "nvptx64"))]
                warpgroup::hold(words(self));
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: no instruction; the registers stay as they are.
                unsafe {
                    core::arch::asm!(concat!("// {0}", $(" {", $i, "}",)*), inout(reg32) self[0], $(inout(reg32) self[$i],)* options(nostack));
                }
            }
        }
    };
}

/// A product from two descriptors, and one with `A` in registers, both K-major.
macro_rules! product {
    ($half:literal [$($i:literal)*] ($ss:ident, $rs:ident, $ptx:literal, $element:ty, $immediates:literal, $what:literal)) => {
        intrinsic! {
            #[doc = concat!("`D = A B + D`, or `D = A B` unless `accumulate`, of ", $what, "; both factors K-major in shared memory.")]
            ///
            /// # PTX
            #[doc = concat!("`wgmma.mma_async.sync.aligned.", $ptx, " d, a, b, accumulate", $immediates, ";` (sm_90a)")]
            ///
            /// # Safety
            /// All threads of the warpgroup execute it together, after [`wgmma_fence`], with descriptors of initialised
            /// shared memory; nothing uses `d` or writes the memory until [`wgmma_wait_group`].
            pub unsafe fn $ss(d: &mut [$element; $half], a: Descriptor, b: Descriptor, accumulate: bool) {
                device => {
                    crate::intrinsic::convergent();
                    core::arch::asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0; wgmma.mma_async.sync.aligned.", $ptx, " {{{0}", $(", {", $i, "}",)* "}}, {a}, {b}, p", $immediates, "; }}"),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        a = in(reg64) a.bits(), b = in(reg64) b.bits(), accumulate = in(reg32) accumulate as u32, options(nostack),
                    );
                }
                emulator => {
                    const ELEMENTS: Elements = elements($ptx);
                    let product = Product { elements: ELEMENTS, a: Left::Shared(a), b, transposed: [false; 2], accumulate };
                    warpgroup::multiply(product, words(d));
                }
            }

            #[doc = concat!("`D = A B + D`, or `D = A B` unless `accumulate`, of ", $what, "; `A` in registers, `B` K-major in shared memory.")]
            ///
            /// # PTX
            #[doc = concat!("`wgmma.mma_async.sync.aligned.", $ptx, " d, {a0, a1, a2, a3}, b, accumulate", $immediates, ";` (sm_90a)")]
            ///
            /// # Safety
            /// All threads of the warpgroup execute it together, after [`wgmma_fence`], with a descriptor of
            /// initialised shared memory; nothing uses `d`, or writes `a` or the memory, until [`wgmma_wait_group`].
            pub unsafe fn $rs(d: &mut [$element; $half], a: [u32; 4], b: Descriptor, accumulate: bool) {
                device => {
                    crate::intrinsic::convergent();
                    core::arch::asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0; wgmma.mma_async.sync.aligned.", $ptx, " {{{0}", $(", {", $i, "}",)* "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, p", $immediates, "; }}"),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                        b = in(reg64) b.bits(), accumulate = in(reg32) accumulate as u32, options(nostack),
                    );
                }
                emulator => {
                    const ELEMENTS: Elements = elements($ptx);
                    let product = Product { elements: ELEMENTS, a: Left::Registers(a), b, transposed: [false; 2], accumulate };
                    warpgroup::multiply(product, words(d));
                }
            }
        }
    };
}

/// As `product`, where each matrix in shared memory is K-major (0) or, transposed, contiguous in its rows of `B`,
/// columns of `A` (1).
macro_rules! product_transposed {
    ($half:literal [$($i:literal)*] ($ss:ident, $rs:ident, $ptx:literal, $element:ty, $immediates:literal, $what:literal)) => {
        intrinsic! {
            #[doc = concat!("`D = A B + D`, or `D = A B` unless `accumulate`, of ", $what, "; both factors in shared memory, each K-major (0) or transposed (1).")]
            ///
            /// # PTX
            #[doc = concat!("`wgmma.mma_async.sync.aligned.", $ptx, " d, a, b, accumulate", $immediates, ", TRANSPOSE_A, TRANSPOSE_B;` (sm_90a)")]
            ///
            /// # Safety
            /// All threads of the warpgroup execute it together, after [`wgmma_fence`], with descriptors of initialised
            /// shared memory; nothing uses `d` or writes the memory until [`wgmma_wait_group`]. The constants are 0
            /// or 1.
            pub unsafe fn $ss<const TRANSPOSE_A: u32, const TRANSPOSE_B: u32>(d: &mut [$element; $half], a: Descriptor, b: Descriptor, accumulate: bool) {
                device => {
                    crate::intrinsic::convergent();
                    core::arch::asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0; wgmma.mma_async.sync.aligned.", $ptx, " {{{0}", $(", {", $i, "}",)* "}}, {a}, {b}, p", $immediates, ", {ta}, {tb}; }}"),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        a = in(reg64) a.bits(), b = in(reg64) b.bits(), accumulate = in(reg32) accumulate as u32,
                        ta = const TRANSPOSE_A, tb = const TRANSPOSE_B, options(nostack),
                    );
                }
                emulator => {
                    const ELEMENTS: Elements = elements($ptx);
                    let product = Product { elements: ELEMENTS, a: Left::Shared(a), b, transposed: [TRANSPOSE_A != 0, TRANSPOSE_B != 0], accumulate };
                    warpgroup::multiply(product, words(d));
                }
            }

            #[doc = concat!("`D = A B + D`, or `D = A B` unless `accumulate`, of ", $what, "; `A` in registers, `B` in shared memory, K-major (0) or transposed (1).")]
            ///
            /// # PTX
            #[doc = concat!("`wgmma.mma_async.sync.aligned.", $ptx, " d, {a0, a1, a2, a3}, b, accumulate", $immediates, ", TRANSPOSE_B;` (sm_90a)")]
            ///
            /// # Safety
            /// All threads of the warpgroup execute it together, after [`wgmma_fence`], with a descriptor of
            /// initialised shared memory; nothing uses `d`, or writes `a` or the memory, until [`wgmma_wait_group`].
            /// The constant is 0 or 1.
            pub unsafe fn $rs<const TRANSPOSE_B: u32>(d: &mut [$element; $half], a: [u32; 4], b: Descriptor, accumulate: bool) {
                device => {
                    crate::intrinsic::convergent();
                    core::arch::asm!(
                        concat!("{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0; wgmma.mma_async.sync.aligned.", $ptx, " {{{0}", $(", {", $i, "}",)* "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, p", $immediates, ", {tb}; }}"),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                        b = in(reg64) b.bits(), accumulate = in(reg32) accumulate as u32, tb = const TRANSPOSE_B, options(nostack),
                    );
                }
                emulator => {
                    const ELEMENTS: Elements = elements($ptx);
                    let product = Product { elements: ELEMENTS, a: Left::Registers(a), b, transposed: [false, TRANSPOSE_B != 0], accumulate };
                    warpgroup::multiply(product, words(d));
                }
            }
        }
    };
}

intrinsic! {
    /// Has the products that follow see this warpgroup's earlier accesses to their registers. Needed before the first
    /// product and whenever registers of `A` or `D` have been written since.
    ///
    /// # PTX
    /// `wgmma.fence.sync.aligned;` (sm_90a)
    ///
    /// # Safety
    /// All threads of the warpgroup execute it together.
    pub unsafe fn wgmma_fence() {
        device => {
            crate::intrinsic::convergent();
            core::arch::asm!("wgmma.fence.sync.aligned;", options(nostack));
        }
        emulator => { warpgroup::fence() }
    }

    /// Makes a group of the warpgroup's products that belong to none yet.
    ///
    /// # PTX
    /// `wgmma.commit_group.sync.aligned;` (sm_90a)
    ///
    /// # Safety
    /// All threads of the warpgroup execute it together.
    pub unsafe fn wgmma_commit_group() {
        device => {
            crate::intrinsic::convergent();
            core::arch::asm!("wgmma.commit_group.sync.aligned;", options(nostack));
        }
        emulator => { warpgroup::commit() }
    }

    /// Waits until at most `PENDING` of the newest groups are still under way. Call [`Accumulator::hold`] on what is
    /// read then.
    ///
    /// # PTX
    /// `wgmma.wait_group.sync.aligned n;` (sm_90a)
    ///
    /// # Safety
    /// All threads of the warpgroup execute it together. `PENDING` is at most 7.
    pub unsafe fn wgmma_wait_group<const PENDING: u32>() {
        device => {
            crate::intrinsic::convergent();
            core::arch::asm!("wgmma.wait_group.sync.aligned {0};", const PENDING, options(nostack));
        }
        emulator => { warpgroup::wait(PENDING) }
    }

    /// Raises the number of registers of each thread of the warp to `REGISTERS`; waits until the block has as many
    /// free.
    ///
    /// # PTX
    /// `setmaxnreg.inc.sync.aligned.u32 n;` (sm_90a)
    ///
    /// # Safety
    /// All warps of the warpgroup execute it, at the same place; `REGISTERS` is a multiple of 8 from 24 to 256, no less
    /// than now. The kernel declares the registers that it starts with.
    pub unsafe fn setmaxnreg_inc<const REGISTERS: u32>() {
        device => {
            crate::intrinsic::convergent();
            core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {0};", const REGISTERS, options(nostack));
        }
        emulator => { warpgroup::set_registers(REGISTERS, true) }
    }

    /// Lowers the number of registers of each thread of the warp to `REGISTERS`.
    ///
    /// # PTX
    /// `setmaxnreg.dec.sync.aligned.u32 n;` (sm_90a)
    ///
    /// # Safety
    /// All warps of the warpgroup execute it, at the same place; `REGISTERS` is a multiple of 8 from 24 to 256, no more
    /// than now. The kernel declares the registers that it starts with.
    pub unsafe fn setmaxnreg_dec<const REGISTERS: u32>() {
        device => {
            crate::intrinsic::convergent();
            core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {0};", const REGISTERS, options(nostack));
        }
        emulator => { warpgroup::set_registers(REGISTERS, false) }
    }
}

registers!(8 accumulator (i32));
registers!(16 accumulator (i32));
registers!(32 accumulator (i32));
registers!(64 accumulator (i32));
registers!(96 accumulator (i32));
registers!(128 accumulator (i32));
registers!(160 accumulator (i32));
registers!(192 accumulator (i32));
registers!(256 accumulator (i32));
registers!(8 accumulator (f32));
registers!(16 accumulator (f32));
registers!(32 accumulator (f32));
registers!(40 accumulator (f32));
registers!(48 accumulator (f32));
registers!(64 accumulator (f32));
registers!(96 accumulator (f32));
registers!(128 accumulator (f32));
registers!(160 accumulator (f32));
registers!(192 accumulator (f32));
registers!(256 accumulator (f32));

registers!(8 product (wgmma_mma_async_m64n8k32_s32_s8_s8, wgmma_mma_async_m64n8k32_s32_s8_s8_a_registers, "m64n8k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(16 product (wgmma_mma_async_m64n16k32_s32_s8_s8, wgmma_mma_async_m64n16k32_s32_s8_s8_a_registers, "m64n16k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(32 product (wgmma_mma_async_m64n32k32_s32_s8_s8, wgmma_mma_async_m64n32k32_s32_s8_s8_a_registers, "m64n32k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(64 product (wgmma_mma_async_m64n64k32_s32_s8_s8, wgmma_mma_async_m64n64k32_s32_s8_s8_a_registers, "m64n64k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(96 product (wgmma_mma_async_m64n96k32_s32_s8_s8, wgmma_mma_async_m64n96k32_s32_s8_s8_a_registers, "m64n96k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(128 product (wgmma_mma_async_m64n128k32_s32_s8_s8, wgmma_mma_async_m64n128k32_s32_s8_s8_a_registers, "m64n128k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(160 product (wgmma_mma_async_m64n160k32_s32_s8_s8, wgmma_mma_async_m64n160k32_s32_s8_s8_a_registers, "m64n160k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(192 product (wgmma_mma_async_m64n192k32_s32_s8_s8, wgmma_mma_async_m64n192k32_s32_s8_s8_a_registers, "m64n192k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(256 product (wgmma_mma_async_m64n256k32_s32_s8_s8, wgmma_mma_async_m64n256k32_s32_s8_s8_a_registers, "m64n256k32.s32.s8.s8", i32, "", "8-bit signed integers"));
registers!(8 product_transposed (wgmma_mma_async_m64n8k16_f32_f16_f16, wgmma_mma_async_m64n8k16_f32_f16_f16_a_registers, "m64n8k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(16 product_transposed (wgmma_mma_async_m64n16k16_f32_f16_f16, wgmma_mma_async_m64n16k16_f32_f16_f16_a_registers, "m64n16k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(32 product_transposed (wgmma_mma_async_m64n32k16_f32_f16_f16, wgmma_mma_async_m64n32k16_f32_f16_f16_a_registers, "m64n32k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(40 product_transposed (wgmma_mma_async_m64n40k16_f32_f16_f16, wgmma_mma_async_m64n40k16_f32_f16_f16_a_registers, "m64n40k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(48 product_transposed (wgmma_mma_async_m64n48k16_f32_f16_f16, wgmma_mma_async_m64n48k16_f32_f16_f16_a_registers, "m64n48k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(64 product_transposed (wgmma_mma_async_m64n64k16_f32_f16_f16, wgmma_mma_async_m64n64k16_f32_f16_f16_a_registers, "m64n64k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(96 product_transposed (wgmma_mma_async_m64n96k16_f32_f16_f16, wgmma_mma_async_m64n96k16_f32_f16_f16_a_registers, "m64n96k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(128 product_transposed (wgmma_mma_async_m64n128k16_f32_f16_f16, wgmma_mma_async_m64n128k16_f32_f16_f16_a_registers, "m64n128k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(160 product_transposed (wgmma_mma_async_m64n160k16_f32_f16_f16, wgmma_mma_async_m64n160k16_f32_f16_f16_a_registers, "m64n160k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(192 product_transposed (wgmma_mma_async_m64n192k16_f32_f16_f16, wgmma_mma_async_m64n192k16_f32_f16_f16_a_registers, "m64n192k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(256 product_transposed (wgmma_mma_async_m64n256k16_f32_f16_f16, wgmma_mma_async_m64n256k16_f32_f16_f16_a_registers, "m64n256k16.f32.f16.f16", f32, ", 1, 1", "f16"));
registers!(8 product_transposed (wgmma_mma_async_m64n8k16_f32_bf16_bf16, wgmma_mma_async_m64n8k16_f32_bf16_bf16_a_registers, "m64n8k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(16 product_transposed (wgmma_mma_async_m64n16k16_f32_bf16_bf16, wgmma_mma_async_m64n16k16_f32_bf16_bf16_a_registers, "m64n16k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(32 product_transposed (wgmma_mma_async_m64n32k16_f32_bf16_bf16, wgmma_mma_async_m64n32k16_f32_bf16_bf16_a_registers, "m64n32k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(64 product_transposed (wgmma_mma_async_m64n64k16_f32_bf16_bf16, wgmma_mma_async_m64n64k16_f32_bf16_bf16_a_registers, "m64n64k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(96 product_transposed (wgmma_mma_async_m64n96k16_f32_bf16_bf16, wgmma_mma_async_m64n96k16_f32_bf16_bf16_a_registers, "m64n96k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(128 product_transposed (wgmma_mma_async_m64n128k16_f32_bf16_bf16, wgmma_mma_async_m64n128k16_f32_bf16_bf16_a_registers, "m64n128k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(192 product_transposed (wgmma_mma_async_m64n192k16_f32_bf16_bf16, wgmma_mma_async_m64n192k16_f32_bf16_bf16_a_registers, "m64n192k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(256 product_transposed (wgmma_mma_async_m64n256k16_f32_bf16_bf16, wgmma_mma_async_m64n256k16_f32_bf16_bf16_a_registers, "m64n256k16.f32.bf16.bf16", f32, ", 1, 1", "bf16"));
registers!(8 product (wgmma_mma_async_m64n8k8_f32_tf32_tf32, wgmma_mma_async_m64n8k8_f32_tf32_tf32_a_registers, "m64n8k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(16 product (wgmma_mma_async_m64n16k8_f32_tf32_tf32, wgmma_mma_async_m64n16k8_f32_tf32_tf32_a_registers, "m64n16k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(32 product (wgmma_mma_async_m64n32k8_f32_tf32_tf32, wgmma_mma_async_m64n32k8_f32_tf32_tf32_a_registers, "m64n32k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(64 product (wgmma_mma_async_m64n64k8_f32_tf32_tf32, wgmma_mma_async_m64n64k8_f32_tf32_tf32_a_registers, "m64n64k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(96 product (wgmma_mma_async_m64n96k8_f32_tf32_tf32, wgmma_mma_async_m64n96k8_f32_tf32_tf32_a_registers, "m64n96k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(128 product (wgmma_mma_async_m64n128k8_f32_tf32_tf32, wgmma_mma_async_m64n128k8_f32_tf32_tf32_a_registers, "m64n128k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(192 product (wgmma_mma_async_m64n192k8_f32_tf32_tf32, wgmma_mma_async_m64n192k8_f32_tf32_tf32_a_registers, "m64n192k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
registers!(256 product (wgmma_mma_async_m64n256k8_f32_tf32_tf32, wgmma_mma_async_m64n256k8_f32_tf32_tf32_a_registers, "m64n256k8.f32.tf32.tf32", f32, ", 1, 1", "tf32"));
