//! Tensor maps: how the copy engine of compute capability 9.0 sees an array in device memory.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::sys;

use crate::context::Context;
use crate::driver::{self, Doing};
use crate::{BufferView, GpuError};

/// Type of a tensor map's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum TensorElement {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Bf16,
    /// f32, rounded to tf32 when copied.
    Tf32,
}

impl TensorElement {
    /// Size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::Tf32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    fn raw(self) -> sys::CUtensorMapDataType {
        use sys::CUtensorMapDataType as Raw;
        match self {
            Self::U8 => Raw::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            Self::U16 => Raw::CU_TENSOR_MAP_DATA_TYPE_UINT16,
            Self::U32 => Raw::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            Self::I32 => Raw::CU_TENSOR_MAP_DATA_TYPE_INT32,
            Self::U64 => Raw::CU_TENSOR_MAP_DATA_TYPE_UINT64,
            Self::I64 => Raw::CU_TENSOR_MAP_DATA_TYPE_INT64,
            Self::F16 => Raw::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            Self::F32 => Raw::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            Self::F64 => Raw::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            Self::Bf16 => Raw::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            Self::Tf32 => Raw::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        }
    }
}

/// How 16-byte pieces are permuted in shared memory, against bank conflicts; the number is the span in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names are the spans")]
pub enum Swizzle {
    #[default]
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

impl Swizzle {
    /// Most bytes of a box's innermost dimension.
    fn span(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }

    fn raw(self) -> sys::CUtensorMapSwizzle {
        use sys::CUtensorMapSwizzle as Raw;
        match self {
            Self::None => Raw::CU_TENSOR_MAP_SWIZZLE_NONE,
            Self::Bytes32 => Raw::CU_TENSOR_MAP_SWIZZLE_32B,
            Self::Bytes64 => Raw::CU_TENSOR_MAP_SWIZZLE_64B,
            Self::Bytes128 => Raw::CU_TENSOR_MAP_SWIZZLE_128B,
        }
    }
}

/// How much the L2 cache fetches at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names are the sizes")]
pub enum L2Promotion {
    None,
    Bytes64,
    Bytes128,
    #[default]
    Bytes256,
}

impl L2Promotion {
    fn raw(self) -> sys::CUtensorMapL2promotion {
        use sys::CUtensorMapL2promotion as Raw;
        match self {
            Self::None => Raw::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            Self::Bytes64 => Raw::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
            Self::Bytes128 => Raw::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            Self::Bytes256 => Raw::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        }
    }
}

/// An array and the boxes that are copied of it. Dimensions are given innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorLayout {
    /// Type of the elements.
    pub element: TensorElement,
    /// Elements of each dimension, 1 to 5 dimensions.
    pub dimensions: Vec<u64>,
    /// Bytes from one element to the next in each dimension but the innermost, whose elements lie side by side.
    pub strides_bytes: Vec<u64>,
    /// Elements of a box in each dimension, 1 to 256.
    pub block: Vec<u32>,
    /// Permutation in shared memory.
    pub swizzle: Swizzle,
    /// Fetches of the L2 cache.
    pub promotion: L2Promotion,
    /// Whether elements outside of the array become NaN in place of zero (floating point only).
    pub fill_nan: bool,
}

impl TensorLayout {
    /// An array whose rows lie side by side, without permutation.
    #[must_use]
    pub fn packed(element: TensorElement, dimensions: &[u64], block: &[u32]) -> Self {
        let mut strides_bytes = Vec::new();
        let mut stride = element.bytes();
        for size in dimensions.iter().take(dimensions.len().saturating_sub(1)) {
            stride = stride.saturating_mul(*size);
            strides_bytes.push(stride);
        }
        Self {
            element,
            dimensions: dimensions.to_vec(),
            strides_bytes,
            block: block.to_vec(),
            swizzle: Swizzle::None,
            promotion: L2Promotion::default(),
            fill_nan: false,
        }
    }

    /// With a permutation in shared memory.
    #[must_use]
    pub fn with_swizzle(self, swizzle: Swizzle) -> Self {
        Self { swizzle, ..self }
    }

    /// Bytes of a box in shared memory: what a copy's barrier is told to expect.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.block.iter().fold(self.element.bytes(), |bytes, size| bytes.saturating_mul(u64::from(*size)))
    }

    /// Checks the array against the hardware's rules and against memory of `available` bytes at `address`.
    ///
    /// # Errors
    /// [`GpuError::TensorMap`] with the rule and what came.
    pub fn check(&self, address: u64, available: u64) -> Result<(), GpuError> {
        let wrong = |what, expected: &str, actual: String| {
            Err(GpuError::TensorMap { what, expected: expected.to_owned(), actual })
        };
        let rank = self.dimensions.len();
        if !(1..=5).contains(&rank) {
            return wrong("dimensions", "1 to 5", rank.to_string());
        }
        if self.strides_bytes.len() != rank - 1 {
            return wrong(
                "strides",
                &format!("{} for {rank} dimensions", rank - 1),
                self.strides_bytes.len().to_string(),
            );
        }
        if self.block.len() != rank {
            return wrong("box", &format!("{rank} sizes for {rank} dimensions"), self.block.len().to_string());
        }
        if let Some(size) = self.dimensions.iter().find(|size| !(1..=1 << 32).contains(*size)) {
            return wrong("size of a dimension", "1 to 2^32", size.to_string());
        }
        if let Some(size) = self.block.iter().find(|size| !(1..=256).contains(*size)) {
            return wrong("size of a box", "1 to 256", size.to_string());
        }
        if let Some(stride) = self.strides_bytes.iter().find(|stride| !stride.is_multiple_of(16) || **stride >= 1 << 40)
        {
            return wrong("stride", "a multiple of 16 bytes below 2^40", format!("{stride} bytes"));
        }
        let inner_bytes = u64::from(self.block[0]) * self.element.bytes();
        if !inner_bytes.is_multiple_of(16) {
            return wrong("innermost size of a box", "a multiple of 16 bytes", format!("{inner_bytes} bytes"));
        }
        if let Some(span) = self.swizzle.span()
            && inner_bytes > span
        {
            return wrong(
                "innermost size of a box",
                &format!("at most the swizzle's {span} bytes"),
                format!("{inner_bytes} bytes"),
            );
        }
        if !address.is_multiple_of(16) {
            return wrong("address", "a multiple of 16", format!("{address:#x}"));
        }
        use TensorElement::{Bf16, F16, F32, F64, Tf32};
        if self.fill_nan && ![F16, F32, F64, Bf16, Tf32].contains(&self.element) {
            return wrong("fill with NaN", "floating-point elements", format!("{:?}", self.element));
        }
        let last = self
            .dimensions
            .iter()
            .skip(1)
            .zip(&self.strides_bytes)
            .try_fold(self.dimensions[0].saturating_mul(self.element.bytes()), |bytes, (size, stride)| {
                bytes.checked_add((size - 1).checked_mul(*stride)?)
            });
        match last {
            Some(bytes) if bytes <= available => Ok(()),
            _ => wrong(
                "extent",
                &format!("at most the view's {available} bytes"),
                last.map_or_else(|| "more than 2^64 bytes".into(), |bytes| format!("{bytes} bytes")),
            ),
        }
    }
}

/// A tensor map, passed to kernels by value. It names device memory without owning it.
#[derive(Debug, Clone)]
pub struct TensorMap {
    raw: sys::CUtensorMap,
    context: Arc<Context>,
}

impl TensorMap {
    /// A tensor map of the memory of `view`. Keeping the memory alive while kernels use the map is a condition of their
    /// launch.
    ///
    /// # Errors
    /// [`GpuError::TensorMap`] as by [`TensorLayout::check`]; [`GpuError::ComputeCapability`] below 9.0;
    /// [`GpuError::MissingFunction`] before driver 12.0; what the driver answers.
    pub fn tiled<T: Pod>(view: BufferView<'_, T>, layout: &TensorLayout) -> Result<Self, GpuError> {
        const LOWEST: (u32, u32) = (9, 0);
        layout.check(view.address(), view.bytes() as u64)?;
        let info = view.device().info();
        if info.compute_capability < LOWEST {
            return Err(GpuError::ComputeCapability {
                index: info.index,
                name: info.name.clone(),
                expected: LOWEST,
                actual: info.compute_capability,
            });
        }
        use sys::CUtensorMapFloatOOBfill as Fill;
        let fill = if layout.fill_nan {
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
        } else {
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
        };
        let mut raw = sys::CUtensorMap { opaque: [0; 16] };
        let steps = [1u32; 5];
        let _entered = view.device().context.enter()?;
        // SAFETY: each array has as many numbers as the driver reads for this rank (`check`), and `raw` is writable and
        // aligned.
        unsafe {
            driver::cuTensorMapEncodeTiled(
                &raw mut raw,
                layout.element.raw(),
                layout.dimensions.len() as u32,
                std::ptr::without_provenance_mut::<c_void>(view.address() as usize),
                layout.dimensions.as_ptr(),
                layout.strides_bytes.as_ptr(),
                layout.block.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                layout.swizzle.raw(),
                layout.promotion.raw(),
                fill,
            )
        }
        .doing("encoding a tensor map")?;
        Ok(Self { raw, context: Arc::clone(&view.device().context) })
    }

    /// The map, as kernels get it.
    #[must_use]
    pub fn raw(&self) -> &sys::CUtensorMap {
        &self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

/// A tensor map that borrows the memory it names, as a view does: safe kernels take it.
#[derive(Debug, Clone)]
pub struct TensorView<'a> {
    map: TensorMap,
    _borrow: PhantomData<&'a ()>,
}

impl<'a> TensorView<'a> {
    /// A tensor map of the memory of `view`.
    ///
    /// # Errors
    /// As [`TensorMap::tiled`].
    pub fn tiled<T: Pod>(view: BufferView<'a, T>, layout: &TensorLayout) -> Result<Self, GpuError> {
        Ok(Self { map: TensorMap::tiled(view, layout)?, _borrow: PhantomData })
    }

    /// The map.
    #[must_use]
    pub fn map(&self) -> &TensorMap {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(layout: &TensorLayout, address: u64, available: u64) -> &'static str {
        match layout.check(address, available) {
            Ok(()) => "fits",
            Err(GpuError::TensorMap { what, .. }) => what,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn each_rule_of_the_hardware_is_checked() {
        let rows =
            TensorLayout::packed(TensorElement::U8, &[128, 64, 10], &[128, 8, 1]).with_swizzle(Swizzle::Bytes128);
        assert_eq!(rows.strides_bytes, [128, 128 * 64]);
        assert_eq!(rows.block_bytes(), 1024);
        let bytes = 128 * 64 * 10;
        assert_eq!(what(&rows, 4096, bytes), "fits");
        assert_eq!(what(&rows, 4096, bytes - 1), "extent");
        assert_eq!(what(&rows, 4104, bytes), "address");
        let with = |change: fn(&mut TensorLayout)| {
            let mut layout = rows.clone();
            change(&mut layout);
            what(&layout, 4096, bytes)
        };
        assert_eq!(with(|layout| layout.swizzle = Swizzle::Bytes64), "innermost size of a box");
        assert_eq!(with(|layout| layout.block[0] = 8), "innermost size of a box");
        assert_eq!(with(|layout| layout.block[1] = 257), "size of a box");
        assert_eq!(with(|layout| layout.block[1] = 0), "size of a box");
        assert_eq!(with(|layout| layout.dimensions[2] = 0), "size of a dimension");
        assert_eq!(with(|layout| layout.strides_bytes[0] = 120), "stride");
        assert_eq!(with(|layout| layout.strides_bytes[1] = 1 << 40), "stride");
        assert_eq!(with(|layout| _ = layout.strides_bytes.pop()), "strides");
        assert_eq!(with(|layout| _ = layout.block.pop()), "box");
        assert_eq!(with(|layout| layout.fill_nan = true), "fill with NaN");
        assert_eq!(what(&TensorLayout::packed(TensorElement::F32, &[], &[]), 0, 0), "dimensions");
        assert_eq!(what(&TensorLayout::packed(TensorElement::F32, &[4; 6], &[4; 6]), 0, 1 << 20), "dimensions");
    }
}
