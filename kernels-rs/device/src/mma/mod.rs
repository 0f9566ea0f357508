//! Products of small matrices on the tensor cores: `mma.sync`, `D = A B + C` with `A` of 16 x K, `B` of K x 8, `C` and
//! `D` of 16 x 8.
//!
//! Functions are named after shape, type of the accumulator and type of the factors.
//!
//! # Layout
//! [`MMAS`](fringes_layout_core::atoms::mma::MMAS) has the fragments of every function here as data, in bits: with rows
//! of `A` and `C` called `i`, the sum `j` and columns of `B` and `C` `k`, those of `m16n8k16` with 16-bit factors and
//! 32-bit sums are
//!
//! ```text
//! A   b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2
//! B   b<->j0  r<->j3     t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2
//! C   r<->k0 i3          t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2
//! ```
//!
//! The twins read that table. tf32 elements are the high 19 bits of a register; the others are ignored.
//!
//! An [`ldmatrix`](crate::matrix) of rows of `A` (8 rows by 16 bytes a matrix; matrices in the order rows 0-7, rows
//! 8-15, then the same of the next 16 bytes) gives the registers of `A`, and one of rows of the transpose of `B` those
//! of `B`.
//!
//! # Precision
//! Integer sums are exact modulo 2^32. Floating-point products are exact and their sums cut to little more than f32:
//! the twins follow the model of `tensor_core`, which states the bound that holds in any case. NaN results are all bits
//! but the sign.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod twin;

/// Products with accumulators of 32 bits: name, PTX types, type of `C` and `D`, its register class's bits conversion,
/// twin.
macro_rules! wide {
    ($($(#[$attribute:meta])* $name:ident, $ptx:literal, [$type:ty; 4], $a:tt $b:tt, |$value:ident| $bits:expr, |$word:ident| $from:expr, $product:ty;)*) => { $(
        wide!(@ $(#[$attribute])* $name, $ptx, $type, $a $b, |$value| $bits, |$word| $from, $product);
    )* };
    (@ $(#[$attribute:meta])* $name:ident, $ptx:literal, $type:ty, 4 2, |$value:ident| $bits:expr, |$word:ident| $from:expr, $product:ty) => {
        wide!(@@ $(#[$attribute])* $name, $ptx, $type, 4 2, [0 1 2 3], [0 1], "{{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{10}, {11}, {12}, {13}}}", |$value| $bits, |$word| $from, $product);
    };
    (@ $(#[$attribute:meta])* $name:ident, $ptx:literal, $type:ty, 2 1, |$value:ident| $bits:expr, |$word:ident| $from:expr, $product:ty) => {
        wide!(@@ $(#[$attribute])* $name, $ptx, $type, 2 1, [0 1], [0], "{{{4}, {5}}}, {{{6}}}, {{{7}, {8}, {9}, {10}}}", |$value| $bits, |$word| $from, $product);
    };
    (@@ $(#[$attribute:meta])* $name:ident, $ptx:literal, $type:ty, $a:literal $b:literal, [$($ia:literal)*], [$($ib:literal)*], $operands:literal, |$value:ident| $bits:expr, |$word:ident| $from:expr, $product:ty) => { intrinsic! {
        $(#[$attribute])*
        ///
        /// # Layout
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`mma.sync.aligned.", $ptx, " d, a, b, c;`")]
        ///
        /// # Safety
        /// All 32 lanes of the warp execute it together.
        pub unsafe fn $name(a: [u32; $a], b: [u32; $b], c: [$type; 4]) -> [$type; 4] {
            device => {
                crate::intrinsic::convergent();
                let (d0, d1, d2, d3): ($type, $type, $type, $type);
                core::arch::asm!(
                    concat!("mma.sync.aligned.", $ptx, " {{{0}, {1}, {2}, {3}}}, ", $operands, ";"),
                    out(reg32) d0, out(reg32) d1, out(reg32) d2, out(reg32) d3, $(in(reg32) a[$ia],)* $(in(reg32) b[$ib],)*
                    in(reg32) c[0], in(reg32) c[1], in(reg32) c[2], in(reg32) c[3],
                    options(nomem, nostack)
                );
                [d0, d1, d2, d3]
            }
            emulator => { twin::run::<$product, { twin::number(stringify!($name), $ptx, [$a, $b, 4]) }, $a, $b, 4>(a, b, c.map(|$value| $bits)).map(|$word| $from) }
        }
    } };
}

wide! {
    /// `D = A B + C`, 16 x 8 x 16, signed 8-bit factors, sums modulo 2^32.
    mma_m16n8k16_s32_s8, "m16n8k16.row.col.s32.s8.s8.s32", [i32; 4], 2 1, |c| c as u32, |d| d as i32, twin::Signed<8>;
    /// `D = A B + C`, 16 x 8 x 32, signed 8-bit factors, sums modulo 2^32.
    mma_m16n8k32_s32_s8, "m16n8k32.row.col.s32.s8.s8.s32", [i32; 4], 4 2, |c| c as u32, |d| d as i32, twin::Signed<8>;
    /// `D = A B + C`, 16 x 8 x 16, unsigned 8-bit factors, sums modulo 2^32.
    mma_m16n8k16_s32_u8, "m16n8k16.row.col.s32.u8.u8.s32", [i32; 4], 2 1, |c| c as u32, |d| d as i32, twin::Unsigned<8>;
    /// `D = A B + C`, 16 x 8 x 32, unsigned 8-bit factors, sums modulo 2^32.
    mma_m16n8k32_s32_u8, "m16n8k32.row.col.s32.u8.u8.s32", [i32; 4], 4 2, |c| c as u32, |d| d as i32, twin::Unsigned<8>;
    /// `D = A B + C`, 16 x 8 x 32, signed 4-bit factors, sums modulo 2^32. From sm_90 on the hardware has no such
    /// instruction and emulates it slowly.
    mma_m16n8k32_s32_s4, "m16n8k32.row.col.s32.s4.s4.s32", [i32; 4], 2 1, |c| c as u32, |d| d as i32, twin::Signed<4>;
    /// `D = A B + C`, 16 x 8 x 64, signed 4-bit factors, sums modulo 2^32. From sm_90 on the hardware has no such
    /// instruction and emulates it slowly.
    mma_m16n8k64_s32_s4, "m16n8k64.row.col.s32.s4.s4.s32", [i32; 4], 4 2, |c| c as u32, |d| d as i32, twin::Signed<4>;
    /// `D = A B + C`, 16 x 8 x 8, f16 factors, f32 accumulators.
    mma_m16n8k8_f32_f16, "m16n8k8.row.col.f32.f16.f16.f32", [f32; 4], 2 1, |c| c.to_bits(), |d| f32::from_bits(d), twin::HalfWide;
    /// `D = A B + C`, 16 x 8 x 16, f16 factors, f32 accumulators.
    mma_m16n8k16_f32_f16, "m16n8k16.row.col.f32.f16.f16.f32", [f32; 4], 4 2, |c| c.to_bits(), |d| f32::from_bits(d), twin::HalfWide;
    /// `D = A B + C`, 16 x 8 x 8, bf16 factors, f32 accumulators.
    mma_m16n8k8_f32_bf16, "m16n8k8.row.col.f32.bf16.bf16.f32", [f32; 4], 2 1, |c| c.to_bits(), |d| f32::from_bits(d), twin::Brain;
    /// `D = A B + C`, 16 x 8 x 16, bf16 factors, f32 accumulators.
    mma_m16n8k16_f32_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", [f32; 4], 4 2, |c| c.to_bits(), |d| f32::from_bits(d), twin::Brain;
    /// `D = A B + C`, 16 x 8 x 4, tf32 factors, f32 accumulators.
    mma_m16n8k4_f32_tf32, "m16n8k4.row.col.f32.tf32.tf32.f32", [f32; 4], 2 1, |c| c.to_bits(), |d| f32::from_bits(d), twin::Tensor;
    /// `D = A B + C`, 16 x 8 x 8, tf32 factors, f32 accumulators.
    mma_m16n8k8_f32_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", [f32; 4], 4 2, |c| c.to_bits(), |d| f32::from_bits(d), twin::Tensor;
}

/// Products with f16 accumulators.
macro_rules! packed {
    ($($(#[$attribute:meta])* $name:ident, $ptx:literal, $a:literal $b:literal, [$($ia:literal)*], [$($ib:literal)*], $operands:literal;)*) => { intrinsic! { $(
        $(#[$attribute])*
        ///
        /// # Layout
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`mma.sync.aligned.", $ptx, " d, a, b, c;`")]
        ///
        /// # Safety
        /// All 32 lanes of the warp execute it together.
        pub unsafe fn $name(a: [u32; $a], b: [u32; $b], c: [u32; 2]) -> [u32; 2] {
            device => {
                crate::intrinsic::convergent();
                let (d0, d1): (u32, u32);
                core::arch::asm!(
                    concat!("mma.sync.aligned.", $ptx, " {{{0}, {1}}}, ", $operands, ";"),
                    out(reg32) d0, out(reg32) d1, $(in(reg32) a[$ia],)* $(in(reg32) b[$ib],)* in(reg32) c[0], in(reg32) c[1],
                    options(nomem, nostack)
                );
                [d0, d1]
            }
            emulator => { twin::run::<twin::Half, { twin::number(stringify!($name), $ptx, [$a, $b, 2]) }, $a, $b, 2>(a, b, c) }
        }
    )* } };
}

packed! {
    /// `D = A B + C`, 16 x 8 x 8, f16 factors, f16 accumulators.
    mma_m16n8k8_f16_f16, "m16n8k8.row.col.f16.f16.f16.f16", 2 1, [0 1], [0], "{{{2}, {3}}}, {{{4}}}, {{{5}, {6}}}";
    /// `D = A B + C`, 16 x 8 x 16, f16 factors, f16 accumulators.
    mma_m16n8k16_f16_f16, "m16n8k16.row.col.f16.f16.f16.f16", 4 2, [0 1 2 3], [0 1], "{{{2}, {3}, {4}, {5}}}, {{{6}, {7}}}, {{{8}, {9}}}";
}
