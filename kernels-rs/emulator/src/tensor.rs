//! Tensor maps: how copies see an array in global memory.

use crate::GlobalMemory;
use crate::buffer::Buffer;

/// An array in global memory and the boxes that are copied of it. Dimensions are given innermost first.
///
/// The fields mean what those of `fringes_gpu::TensorLayout` mean. Elements outside of the array become zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorLayout {
    /// Bytes of an element: 1, 2, 4 or 8.
    pub element_bytes: u64,
    /// Elements of each dimension, 1 to 5 dimensions.
    pub dimensions: Vec<u64>,
    /// Bytes from one element to the next in each dimension but the innermost, whose elements lie side by side.
    pub strides_bytes: Vec<u64>,
    /// Elements of a box in each dimension, 1 to 256.
    pub block: Vec<u32>,
    /// Span of the permutation of 16-byte pieces in shared memory, in bytes: 0 (none), 32, 64 or 128.
    pub swizzle: u32,
}

/// A tensor map of a [`GlobalMemory`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Generic address.
    pub address: u64,
}

/// Part of a row of a box that lies inside the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) global: u64,
    /// Bytes from the start of the box, without permutation.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

/// Address of the first tensor map; they lie 128 bytes apart.
const FIRST_MAP: u64 = 1 << 63;

impl TensorLayout {
    /// An array whose rows lie side by side, without permutation.
    pub fn packed(element_bytes: u64, dimensions: &[u64], block: &[u32]) -> Self {
        let mut stride = element_bytes;
        let outer = dimensions.len().saturating_sub(1);
        let strides_bytes = dimensions[..outer].iter().map(|size| {
            stride *= size;
            stride
        });
        Self {
            element_bytes,
            strides_bytes: strides_bytes.collect(),
            dimensions: dimensions.to_vec(),
            block: block.to_vec(),
            swizzle: 0,
        }
    }

    /// With a permutation in shared memory, of this span in bytes.
    pub fn with_swizzle(self, swizzle: u32) -> Self {
        Self { swizzle, ..self }
    }

    /// Bytes of a box in shared memory: what a copy's mbarrier is told to expect.
    pub fn block_bytes(&self) -> u64 {
        self.block.iter().map(|&size| u64::from(size)).product::<u64>() * self.element_bytes
    }

    /// What a box's shared address is a multiple of.
    pub(crate) fn alignment(&self) -> u64 {
        128.max(8 * u64::from(self.swizzle))
    }

    /// The first of the hardware's rules that the layout breaks, for a tensor at `address` with `available` bytes
    /// behind it.
    fn broken_rule(&self, address: u64, available: u64) -> Option<String> {
        let Self { element_bytes, dimensions, strides_bytes, block, swizzle } = self;
        let rank = dimensions.len();
        if ![1, 2, 4, 8].contains(element_bytes) || ![0, 32, 64, 128].contains(swizzle) {
            return Some(format!("elements of {element_bytes} bytes, a permutation of {swizzle} bytes"));
        }
        if !(1..=5).contains(&rank) || strides_bytes.len() != rank - 1 || block.len() != rank {
            return Some(format!("{rank} dimensions, {} strides, a box of {}", strides_bytes.len(), block.len()));
        }
        if dimensions.iter().any(|size| !(1..=1 << 32).contains(size))
            || block.iter().any(|size| !(1..=256).contains(size))
        {
            return Some(format!("dimensions {dimensions:?} (1 to 2^32), box {block:?} (1 to 256)"));
        }
        if !address.is_multiple_of(16)
            || strides_bytes.iter().any(|stride| !stride.is_multiple_of(16) || *stride >= 1 << 40)
        {
            return Some(format!(
                "address {address:#x} and strides {strides_bytes:?}; expected multiples of 16, below 2^40"
            ));
        }
        let inner = u64::from(block[0]) * element_bytes;
        if !inner.is_multiple_of(16) || *swizzle != 0 && inner != u64::from(*swizzle) {
            return Some(format!(
                "{inner} bytes in a box's row; expected a multiple of 16, or all of the permutation's {swizzle}"
            ));
        }
        let steps = dimensions[1..].iter().zip(strides_bytes).map(|(size, stride)| (size - 1) * stride);
        let extent = dimensions[0] * element_bytes + steps.sum::<u64>();
        (extent > available).then(|| format!("{extent} bytes, in a buffer with {available}"))
    }

    /// The rows of the box at these coordinates that lie inside the tensor at `address`.
    pub(crate) fn pieces(&self, address: u64, coordinates: &[i32]) -> Result<Vec<Piece>, String> {
        let rank = self.dimensions.len();
        if coordinates.len() != rank {
            return Err(format!("{} coordinates for a tensor of {rank} dimensions", coordinates.len()));
        }
        let first = i64::from(coordinates[0]) * self.element_bytes as i64;
        if first % 16 != 0 {
            return Err(format!("innermost coordinate {}; expected a whole number of 16 bytes", coordinates[0]));
        }
        let row = u64::from(self.block[0]) * self.element_bytes;
        let width = (self.dimensions[0] * self.element_bytes) as i64;
        let (start, end) = (first.clamp(0, width), (first + row as i64).clamp(0, width));
        let mut pieces = Vec::new();
        if start == end {
            return Ok(pieces);
        }
        for number in 0..self.block[1..].iter().map(|&size| u64::from(size)).product() {
            let (mut rest, mut global, mut inside) = (number, address + start as u64, true);
            let axes = self.dimensions.iter().zip(&self.block).zip(coordinates).skip(1).zip(&self.strides_bytes);
            for (((&dimension, &size), &first), &stride) in axes {
                let at = i64::from(first) + (rest % u64::from(size)) as i64;
                rest /= u64::from(size);
                inside &= (0..dimension as i64).contains(&at);
                global = global.wrapping_add((at as u64).wrapping_mul(stride));
            }
            if inside {
                let from_row = (start - first) as u64;
                pieces.push(Piece { global, start: (number * row + from_row) as usize, bytes: (end - start) as usize });
            }
        }
        Ok(pieces)
    }

    /// A box's bytes permuted for a place in shared memory, or permuted back.
    pub(crate) fn swizzled(&self, place: usize, data: &[u8]) -> Vec<u8> {
        let mask = match self.swizzle {
            128 => 0x70,
            64 => 0x30,
            32 => 0x10,
            _ => return data.to_vec(),
        };
        let mut permuted = vec![0; data.len()];
        for start in (0..data.len()).step_by(16) {
            let at = place + start;
            let to = (at ^ (at >> 3 & mask)) - place;
            permuted[to..to + 16].copy_from_slice(&data[start..start + 16]);
        }
        permuted
    }
}

impl GlobalMemory {
    /// A tensor map of a buffer: what a kernel that copies boxes takes as its parameter.
    ///
    /// # Panics
    /// With the rule of the hardware that the layout breaks. A permutation is also refused unless a box's rows fill its
    /// span.
    #[track_caller]
    pub fn map_tensor<T>(&mut self, buffer: Buffer<T>, layout: &TensorLayout) -> TensorMap {
        let available = (buffer.len * size_of::<T>()) as u64;
        if let Some(rule) = layout.broken_rule(buffer.address, available) {
            panic!("no tensor map: {rule}");
        }
        self.maps.push((buffer.address, layout.clone()));
        TensorMap { address: FIRST_MAP + 128 * (self.maps.len() as u64 - 1) }
    }

    pub(crate) fn tensor_map(&self, address: u64) -> Option<&(u64, TensorLayout)> {
        let offset = address.checked_sub(FIRST_MAP)?;
        if offset.is_multiple_of(128) { self.maps.get((offset / 128) as usize) } else { None }
    }
}
