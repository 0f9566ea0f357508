//! The entry points of every format, order and shape.
//!
//! | part of the name | means |
//! |---|---|
//! | `i4`, `i8`, `f16` | format of the samples |
//! | `heaps` | heaps `[batch][antenna][channel][spectrum][pol]`, of two polarisations; `single` of one; else rows |
//! | `narrow`, `whole_64`, `whole_128`, `whole_160` | [shape](mod@crate::shape) |
//! | none of these | the square shape, or of two polarisations of `i8` and `f16` the narrow one |
//! | `add` | added to pairs of i32 or, of f16, f64; otherwise pairs of i32 or f32 are overwritten |
//!
//! [`ROW_KERNELS`] and [`HEAP_KERNELS`] have them all, for tests. Sums are `[part][channel][baseline]`. The grid is
//! (tiles x parts, y, z), `y z >= channels`: [`launch`](mod@crate::launch).

use fringes_device::{Global, GlobalMut};

use crate::format::{F16, I4, I8};
use crate::launch::{self, HeapSizes, RowSizes};
use crate::order::{DualHeaps, SingleHeaps};
use crate::shape::{self, Narrow, Square, Whole64, Whole128, Whole160};
use crate::sums;

/// A kernel of rows, as a host function.
#[cfg(not(target_arch = "nvptx64"))]
pub type RowKernel<P> = fn(Global<u8>, GlobalMut<[P; 2]>, u32, u32, u32, u32, u32, u32);

/// A kernel of heaps, as a host function.
#[cfg(not(target_arch = "nvptx64"))]
pub type HeapKernel<P> = fn(Global<u8>, GlobalMut<[P; 2]>, u32, u32, u32, u32, u32, u32, u32, u32);

/// A kernel by what it writes or adds to.
#[cfg(not(target_arch = "nvptx64"))]
#[allow(non_camel_case_types, missing_docs)]
#[derive(Clone, Copy)]
pub enum Run<I32, F32, F64> {
    i32(I32),
    f32(F32),
    f64(F64),
}

/// Kernels of rows: by part of the PTX and format the two names, shape, fragments of rows of a warp, threads, blocks an
/// SM, shared bytes.
macro_rules! rows {
    ($($part:literal $format:ident $narrow:ident $wide:ident: [$($name:ident $add:ident $shape:ident $rows:literal, $threads:literal $blocks:literal $bytes:literal;)*];)*) => {
        /// Every kernel of rows: declaration and function.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const ROW_KERNELS: &[(&str, Run<RowKernel<i32>, RowKernel<f32>, RowKernel<f64>>)] = &[$($(
            (<$name as fringes_device::Kernel>::DECLARATION, Run::$narrow($name)),
            (<$add as fringes_device::Kernel>::DECLARATION, Run::$wide($add)),
        )*)*];

        $($(
        rows!(@ $part, $name $format $narrow $shape $rows, $threads $blocks $bytes, Overwritten, "Correlates", "overwritten");
            rows!(@ $part, $add $format $wide $shape $rows, $threads $blocks $bytes, Added, "Correlates and adds", "added to");
        )*)*
    };
    (@ $part:literal, $name:ident $format:ident $number:ident $shape:ident $rows:literal, $threads:literal $blocks:literal $bytes:literal, $sum:ident, $does:literal, $sums:literal) => {
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!($does, " rows `", stringify!($format), "`, shape `", stringify!($shape), "`; pairs of ", stringify!($number), " are ", $sums, ".")]
            #[launch(threads($threads), min_blocks($blocks), shared_bytes($bytes))]
            pub fn $name(rows: Global<u8>, sums: GlobalMut<[$number; 2]>, channels: u32, inputs: u32, blocks: u32, first_time: u32, times: u32, parts: u32) {
                const { assert!($threads == 32 * <$shape as shape::Shape>::WARPS && $bytes == shape::shared_bytes::<$shape>()) };
                launch::rows::<$format, $shape, sums::$sum, $rows>(rows, sums, RowSizes { channels, inputs, blocks, first_time, times, parts })
            }
        }
    };
}

/// Kernels of heaps, with the order before the shape.
macro_rules! heaps {
    ($($part:literal $format:ident $narrow:ident $wide:ident: [$($name:ident $add:ident $order:ident $shape:ident $rows:literal, $threads:literal $blocks:literal $bytes:literal;)*];)*) => {
        /// Every kernel of heaps: declaration and function.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const HEAP_KERNELS: &[(&str, Run<HeapKernel<i32>, HeapKernel<f32>, HeapKernel<f64>>)] = &[$($(
            (<$name as fringes_device::Kernel>::DECLARATION, Run::$narrow($name)),
            (<$add as fringes_device::Kernel>::DECLARATION, Run::$wide($add)),
        )*)*];

        $($(
        heaps!(@ $part, $name $format $narrow $order $shape $rows, $threads $blocks $bytes, Overwritten, "Correlates", "overwritten");
        heaps!(@ $part, $add $format $wide $order $shape $rows, $threads $blocks $bytes, Added, "Correlates and adds", "added to");
        )*)*
    };
    (@ $part:literal, $name:ident $format:ident $number:ident $order:ident $shape:ident $rows:literal, $threads:literal $blocks:literal $bytes:literal, $sum:ident, $does:literal, $sums:literal) => {
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!($does, " `", stringify!($order), "` of `", stringify!($format), "`, shape `", stringify!($shape), "`; pairs of ", stringify!($number), " are ", $sums, ".")]
            #[launch(threads($threads), min_blocks($blocks), shared_bytes($bytes))]
            pub fn $name(heaps: Global<u8>, sums: GlobalMut<[$number; 2]>, channels: u32, antennas: u32, pols: u32, batches_in_buffer: u32, spectra: u32, first_batch: u32, batches: u32, parts: u32) {
                const { assert!($threads == 32 * <$shape as shape::Shape>::WARPS && $bytes == shape::shared_bytes::<$shape>()) };
                let sizes = HeapSizes { channels, antennas, pols, batches_in_buffer, spectra, first_batch, batches, parts };
                launch::heaps::<$format, $order, $shape, sums::$sum, $rows>(heaps, sums, sizes)
            }
        }
    };
}

rows! {
    "i4" I4 i32 i32: [
        correlate_i4 correlate_i4_add Square 4, 256 1 98304;
        correlate_i4_narrow correlate_i4_narrow_add Narrow 2, 512 1 98304;
        correlate_i4_whole_64 correlate_i4_whole_64_add Whole64 2, 96 4 32768;
        correlate_i4_whole_128 correlate_i4_whole_128_add Whole128 2, 320 1 65536;
        correlate_i4_whole_160 correlate_i4_whole_160_add Whole160 2, 480 1 61440;
    ];
    "i8" I8 i32 i32: [
        correlate_i8 correlate_i8_add Square 4, 256 1 98304;
        correlate_i8_narrow correlate_i8_narrow_add Narrow 2, 512 1 98304;
        correlate_i8_whole_64 correlate_i8_whole_64_add Whole64 2, 96 4 32768;
        correlate_i8_whole_128 correlate_i8_whole_128_add Whole128 2, 320 2 65536;
        correlate_i8_whole_160 correlate_i8_whole_160_add Whole160 2, 480 1 61440;
    ];
    "f16" F16 f32 f64: [
        correlate_f16 correlate_f16_add Square 4, 256 1 98304;
        correlate_f16_narrow correlate_f16_narrow_add Narrow 2, 512 1 98304;
        correlate_f16_whole_64 correlate_f16_whole_64_add Whole64 2, 96 4 32768;
        correlate_f16_whole_128 correlate_f16_whole_128_add Whole128 2, 320 2 65536;
        correlate_f16_whole_160 correlate_f16_whole_160_add Whole160 2, 480 1 61440;
    ];
}

heaps! {
    "heaps_i4" I4 i32 i32: [
        correlate_heaps_i4 correlate_heaps_i4_add DualHeaps Square 4, 256 1 98304;
        correlate_heaps_i4_whole_64 correlate_heaps_i4_whole_64_add DualHeaps Whole64 2, 96 4 32768;
        correlate_heaps_i4_whole_128 correlate_heaps_i4_whole_128_add DualHeaps Whole128 2, 320 1 65536;
        correlate_heaps_i4_whole_160 correlate_heaps_i4_whole_160_add DualHeaps Whole160 2, 480 1 61440;
        correlate_heaps_i4_single correlate_heaps_i4_single_add SingleHeaps Square 4, 256 1 98304;
    ];
    "heaps_i8" I8 i32 i32: [
        correlate_heaps_i8 correlate_heaps_i8_add DualHeaps Narrow 2, 512 1 98304;
        correlate_heaps_i8_whole_64 correlate_heaps_i8_whole_64_add DualHeaps Whole64 2, 96 4 32768;
        correlate_heaps_i8_whole_128 correlate_heaps_i8_whole_128_add DualHeaps Whole128 2, 320 1 65536;
        correlate_heaps_i8_whole_160 correlate_heaps_i8_whole_160_add DualHeaps Whole160 2, 480 1 61440;
        correlate_heaps_i8_single correlate_heaps_i8_single_add SingleHeaps Square 4, 256 1 98304;
    ];
    "heaps_f16" F16 f32 f64: [
        correlate_heaps_f16 correlate_heaps_f16_add DualHeaps Narrow 2, 512 1 98304;
        correlate_heaps_f16_whole_64 correlate_heaps_f16_whole_64_add DualHeaps Whole64 2, 96 4 32768;
        correlate_heaps_f16_whole_128 correlate_heaps_f16_whole_128_add DualHeaps Whole128 2, 320 1 65536;
        correlate_heaps_f16_whole_160 correlate_heaps_f16_whole_160_add DualHeaps Whole160 2, 480 1 61440;
        correlate_heaps_f16_single correlate_heaps_f16_single_add SingleHeaps Square 4, 256 1 98304;
    ];
}
