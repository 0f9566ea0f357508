//! Memory that chunks are put together in.

use std::fmt::Debug;

use bytemuck::Pod;
use fringes_types::{Heaps, HostArray, HostRows, SampleRows};

use super::format::HeapFormat;
use super::{HeapVoltage, PackedSampleHeaps, SampleHeaps, VoltageHeaps};
use crate::spead::SpeadError;

/// Why there is no memory.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Where the chunks of a format lie: [`Vectors`], or [`Arrays`] of somebody's memory.
pub trait ChunkMemory<F: HeapFormat>: Debug + Send + 'static {
    /// What is received.
    type Chunk: Send + 'static;
    /// What a chunk is put together in.
    #[doc(hidden)]
    type Array: Debug + Send + 'static;

    /// Elements of an array for a chunk of so many.
    #[doc(hidden)]
    fn elements_of(elements: usize) -> usize {
        elements
    }

    /// An array for so many elements, and whether it is zeros.
    #[doc(hidden)]
    fn take(&mut self, elements: usize) -> Result<(Self::Array, bool), BoxError>;

    /// The elements of an array, to be written.
    #[doc(hidden)]
    fn elements(array: &mut Self::Array) -> Result<&mut [F::Element], BoxError>;

    /// The chunk of an array, of presence flags `[batch][slot]` and of its first timestamp.
    #[doc(hidden)]
    fn finish(format: &F, array: Self::Array, presence: Vec<bool>, first: u64) -> Result<Self::Chunk, SpeadError>;

    /// The array of a chunk, where it can be used again.
    #[doc(hidden)]
    fn reuse(chunk: Self::Chunk) -> Option<Self::Array>;
}

/// Vectors: chunks are those of [`HeapFormat::Chunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vectors;

impl<F: HeapFormat> ChunkMemory<F> for Vectors {
    type Chunk = F::Chunk;
    type Array = Vec<F::Element>;

    fn take(&mut self, elements: usize) -> Result<(Vec<F::Element>, bool), BoxError> {
        let zeros = bytemuck::try_zeroed_vec(elements);
        Ok((zeros.map_err(|()| format!("no memory for {elements} elements"))?, true))
    }

    fn elements(array: &mut Vec<F::Element>) -> Result<&mut [F::Element], BoxError> {
        Ok(array)
    }

    fn finish(format: &F, array: Self::Array, presence: Vec<bool>, first: u64) -> Result<F::Chunk, SpeadError> {
        format.finish(array, presence, first)
    }

    fn reuse(chunk: F::Chunk) -> Option<Vec<F::Element>> {
        F::reuse(chunk)
    }
}

/// Memory that gives arrays, such as pinned memory that a device reads.
///
/// It is asked by the thread that receives: what it waits for, packets wait for. An array that was given back
/// ([`SpeadReceiver::recycle`](crate::spead::SpeadReceiver::recycle)) is used before another is asked for.
pub trait ArrayMemory: Debug + Send + 'static {
    /// An array.
    type Array<T: Pod + Debug + Send + Sync>: HostArray<T> + Debug + Send;

    /// An array of so many elements, with whatever it holds.
    ///
    /// # Errors
    /// Why there is none: the stream ends with [`SpeadError::Memory`].
    fn take<T: Pod + Debug + Send + Sync>(&mut self, length: usize) -> Result<Self::Array<T>, BoxError>;

    /// The elements, to be written.
    ///
    /// # Errors
    /// Likewise.
    fn elements<T: Pod + Debug + Send + Sync>(array: &mut Self::Array<T>) -> Result<&mut [T], BoxError>;
}

/// Arrays of some memory. Chunks of samples are [`HostRows`], 16 bytes from row to row or a multiple where heaps and
/// heaps of a chunk make one; those of voltages are [`Heaps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrays<M>(pub M);

macro_rules! rows {
    ($($format:ty, $element:ty;)*) => { $(
        impl<M: ArrayMemory> ChunkMemory<$format> for Arrays<M> {
            type Chunk = HostRows<M::Array<u32>>;
            type Array = M::Array<u32>;

            fn elements_of(elements: usize) -> usize {
                4 * (elements.div_ceil(4) + SampleRows::<Vec<u32>>::PADDING_WORDS)
            }

            fn take(&mut self, elements: usize) -> Result<(Self::Array, bool), BoxError> {
                Ok((self.0.take(elements.div_ceil(4))?, false))
            }

            fn elements(array: &mut Self::Array) -> Result<&mut [$element], BoxError> {
                Ok(bytemuck::cast_slice_mut(M::elements(array)?))
            }

            fn finish(
                format: &$format,
                array: Self::Array,
                presence: Vec<bool>,
                first: u64,
            ) -> Result<Self::Chunk, SpeadError> {
                format.rows(array, &presence, first)
            }

            fn reuse(chunk: Self::Chunk) -> Option<Self::Array> {
                Some(chunk.into_rows().into_array())
            }
        }
    )* };
}

rows! {
    PackedSampleHeaps, u8;
    SampleHeaps, i8;
}

impl<M: ArrayMemory, V: HeapVoltage> ChunkMemory<VoltageHeaps<V>> for Arrays<M> {
    type Chunk = Heaps<V, M::Array<V>>;
    type Array = M::Array<V>;

    fn take(&mut self, elements: usize) -> Result<(Self::Array, bool), BoxError> {
        Ok((self.0.take(elements)?, false))
    }

    fn elements(array: &mut Self::Array) -> Result<&mut [V], BoxError> {
        M::elements(array)
    }

    fn finish(
        format: &VoltageHeaps<V>,
        mut array: Self::Array,
        presence: Vec<bool>,
        first: u64,
    ) -> Result<Self::Chunk, SpeadError> {
        let flags = format.settle(M::elements(&mut array).map_err(SpeadError::Memory)?, &presence);
        format.heaps(array, flags, first)
    }

    fn reuse(chunk: Self::Chunk) -> Option<Self::Array> {
        Some(chunk.into_array())
    }
}

/// Whether an array has as many elements as a chunk of so many needs.
pub(super) fn fits<F: HeapFormat, M: ChunkMemory<F>>(array: &mut M::Array, elements: usize) -> bool {
    M::elements(array).is_ok_and(|found| found.len() == M::elements_of(elements))
}
