//! Products of small matrices on the tensor cores: `mma.sync`, `D = A B + C` with `A` of 16 x K, `B` of K x 8, `C` and `D` of 16 x 8.
//!
//! Functions are named after shape, type of the accumulator and type of the factors.
//!
//! # Layout
//! With `n` elements of `A` and `B` in a 32-bit register (tf32: 1, f16 and bf16: 2, 8 bits: 4, 4 bits: 8; element 0 in the lowest
//! bits), and lane `l` split into group `g = l / 4` and place `t = l % 4`, element `e` of register `r` is
//!
//! ```text
//! A   row g + 8 (r % 2)    column n t + e + 4 n (r / 2)      (4 registers, K = 8 n;  2 registers, K = 4 n)
//! B   row n t + e + 4 n r  column g                          (2 registers, K = 8 n;  1 register,  K = 4 n)
//! C, D with 32-bit elements, register r:
//!     row g + 8 (r / 2)    column 2 t + r % 2                (4 registers)
//! C, D with f16 elements, element e of register r:
//!     row g + 8 r          column 2 t + e                    (2 registers)
//! ```
//!
//! tf32 elements are the high 19 bits of a register; the others are ignored.
//!
//! So an [`ldmatrix`](crate::matrix) of rows of `A` (8 rows by 16 bytes a matrix; matrices in the order rows 0-7, rows 8-15, then the
//! same of the next 16 bytes) gives the registers of `A`, and one of rows of the transpose of `B` those of `B`.
//!
//! # Precision
//! Integer sums are exact modulo 2^32. Floating-point products are exact and their sums cut to little more than f32: the twins follow the model
//! of `tensor_core`, which states the bound that holds in any case. NaN results are all bits but the sign.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod twin {
    use fringes_emulator::warp;

    use crate::tensor_core::{self, Accumulator, Factor};

    /// Registers of `A`, `B` and `C` of one lane.
    type Registers<const A: usize, const B: usize, const C: usize> = ([u32; A], [u32; B], [u32; C]);

    /// What decides the meaning of a product: bits of an element of `A` and `B`, and `dot(row of A, column of B, C) -> D` on bits.
    pub(crate) trait Product {
        const BITS: usize;
        fn dot(a: &[u32], b: &[u32], c: u32) -> u32;
    }

    /// `D = A B + C` on the registers of 32 lanes, elements of `C` and `D` in 32 bits.
    pub(crate) fn wide<P: Product, const A: usize, const B: usize>(lanes: &[Registers<A, B, 4>; 32]) -> [[u32; 4]; 32] {
        let (a, b) = factors::<P, A, B, 4>(lanes);
        core::array::from_fn(|lane| {
            core::array::from_fn(|r| P::dot(&a[lane / 4 + 8 * (r / 2)], &b[2 * (lane % 4) + r % 2], lanes[lane].2[r]))
        })
    }

    /// `D = A B + C` on the registers of 32 lanes, elements of `C` and `D` in 16 bits.
    pub(crate) fn packed<P: Product, const A: usize, const B: usize>(
        lanes: &[Registers<A, B, 2>; 32],
    ) -> [[u32; 2]; 32] {
        let (a, b) = factors::<P, A, B, 2>(lanes);
        core::array::from_fn(|lane| {
            core::array::from_fn(|r| {
                let element = |e: usize| {
                    P::dot(&a[lane / 4 + 8 * r], &b[2 * (lane % 4) + e], lanes[lane].2[r] >> (16 * e) & 0xffff)
                };
                element(0) | element(1) << 16
            })
        })
    }

    /// Rows of `A` and columns of `B`, one element a word.
    fn factors<P: Product, const A: usize, const B: usize, const C: usize>(
        lanes: &[Registers<A, B, C>; 32],
    ) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let n = 32 / P::BITS;
        let mask = u32::MAX >> (32 - P::BITS);
        let k = 4 * n * B;
        let (mut a, mut b) = (vec![vec![0; k]; 16], vec![vec![0; k]; 8]);
        for (lane, registers) in lanes.iter().enumerate() {
            let (g, t) = (lane / 4, lane % 4);
            for e in 0..n {
                for (r, word) in registers.0.iter().enumerate() {
                    a[g + 8 * (r % 2)][n * t + e + 4 * n * (r / 2)] = word >> (P::BITS * e) & mask;
                }
                for (r, word) in registers.1.iter().enumerate() {
                    b[g][n * t + e + 4 * n * r] = word >> (P::BITS * e) & mask;
                }
            }
        }
        (a, b)
    }

    /// Runs a product with 32-bit accumulators.
    #[track_caller]
    pub(crate) fn run_wide<P: Product, const A: usize, const B: usize>(
        name: &'static str,
        a: [u32; A],
        b: [u32; B],
        c: [u32; 4],
    ) -> [u32; 4]
    where
        [u32; A]: Default,
        [u32; B]: Default,
    {
        warp::collective(name, u32::MAX, (a, b, c), |_, lanes| wide::<P, A, B>(lanes))
    }

    /// Runs a product with f16 accumulators.
    #[track_caller]
    pub(crate) fn run_packed<P: Product, const A: usize, const B: usize>(
        name: &'static str,
        a: [u32; A],
        b: [u32; B],
        c: [u32; 2],
    ) -> [u32; 2]
    where
        [u32; A]: Default,
        [u32; B]: Default,
    {
        warp::collective(name, u32::MAX, (a, b, c), |_, lanes| packed::<P, A, B>(lanes))
    }

    macro_rules! floating {
        ($($(#[$attribute:meta])* $name:ident, $bits:literal, $factor:ident, $accumulator:ident;)*) => { $(
            $(#[$attribute])*
            pub(crate) enum $name {}

            impl Product for $name {
                const BITS: usize = $bits;
                fn dot(a: &[u32], b: &[u32], c: u32) -> u32 {
                    tensor_core::dot(tensor_core::TWIN, Factor::$factor, Accumulator::$accumulator, a, b, c)
                }
            }
        )* };
    }

    floating! {
        /// f16 factors, f32 accumulators.
        HalfWide, 16, F16, F32;
        /// f16 factors and accumulators.
        Half, 16, F16, F16;
        /// bf16 factors, f32 accumulators.
        Brain, 16, BF16, F32;
        /// tf32 factors, f32 accumulators.
        Tensor, 32, TF32, F32;
    }

    /// Signed integers of `BITS` bits.
    pub(crate) enum Signed<const BITS: usize> {}

    impl<const BITS: usize> Product for Signed<BITS> {
        const BITS: usize = BITS;
        fn dot(a: &[u32], b: &[u32], c: u32) -> u32 {
            let shift = 32 - BITS;
            let value = |x: u32| (x << shift) as i32 >> shift;
            a.iter().zip(b).fold(c, |sum, (a, b)| sum.wrapping_add((value(*a) * value(*b)) as u32))
        }
    }

    /// Unsigned integers of `BITS` bits.
    pub(crate) enum Unsigned<const BITS: usize> {}

    impl<const BITS: usize> Product for Unsigned<BITS> {
        const BITS: usize = BITS;
        fn dot(a: &[u32], b: &[u32], c: u32) -> u32 {
            a.iter().zip(b).fold(c, |sum, (a, b)| sum.wrapping_add(a * b))
        }
    }
}

/// Products with accumulators of 32 bits: name, PTX types, type of `C` and `D`, its register class's bits conversion, twin.
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
            emulator => { twin::run_wide::<$product, $a, $b>(stringify!($name), a, b, c.map(|$value| $bits)).map(|$word| $from) }
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
    /// `D = A B + C`, 16 x 8 x 32, signed 4-bit factors, sums modulo 2^32. From sm_90 on the hardware has no such instruction and emulates it slowly.
    mma_m16n8k32_s32_s4, "m16n8k32.row.col.s32.s4.s4.s32", [i32; 4], 2 1, |c| c as u32, |d| d as i32, twin::Signed<4>;
    /// `D = A B + C`, 16 x 8 x 64, signed 4-bit factors, sums modulo 2^32. From sm_90 on the hardware has no such instruction and emulates it slowly.
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
            emulator => { twin::run_packed::<twin::Half, $a, $b>(stringify!($name), a, b, c) }
        }
    )* } };
}

packed! {
    /// `D = A B + C`, 16 x 8 x 8, f16 factors, f16 accumulators.
    mma_m16n8k8_f16_f16, "m16n8k8.row.col.f16.f16.f16.f16", 2 1, [0 1], [0], "{{{2}, {3}}}, {{{4}}}, {{{5}, {6}}}";
    /// `D = A B + C`, 16 x 8 x 16, f16 factors, f16 accumulators.
    mma_m16n8k16_f16_f16, "m16n8k16.row.col.f16.f16.f16.f16", 4 2, [0 1 2 3], [0 1], "{{{2}, {3}, {4}, {5}}}, {{{6}, {7}}}, {{{8}, {9}}}";
}
