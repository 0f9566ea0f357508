//! What a stream's heaps hold, and where it goes in a chunk.

use bytemuck::Pod;

use crate::spead::{Descriptor, HeapView, SpeadError, id};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The shape of a stream: how heaps tile a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Grid {
    /// Bytes of a heap's data.
    pub heap_bytes: usize,
    /// Heaps of a timestamp.
    pub slots: usize,
    /// From a heap's timestamp to the next one's.
    pub step: u64,
    /// Timestamps of a chunk.
    pub batches: usize,
}

/// Where a heap goes, and its data.
#[derive(Debug)]
#[doc(hidden)]
pub struct Place<'a> {
    /// The lower 48 bits of the timestamp.
    pub timestamp: u64,
    /// Which of the heaps of its timestamp it is.
    pub slot: usize,
    /// Data, `heap_bytes` of it.
    pub data: &'a [u8],
}

/// A heap to send.
#[derive(Debug)]
#[doc(hidden)]
pub struct Outgoing<'a> {
    /// Which of the heaps of its timestamp it is: heaps of a slot go to the same destination.
    pub substream: usize,
    /// Immediate items.
    pub immediates: &'a [(u16, u64)],
    /// Identifier of the data.
    pub id: u16,
    /// Data.
    pub data: &'a [u8],
}

/// What takes heaps that are sent.
#[doc(hidden)]
pub(crate) type Send<'a> = dyn FnMut(&Outgoing<'_>) -> Result<(), SpeadError> + 'a;

/// What the heaps of a stream hold: [`PackedSampleHeaps`](super::PackedSampleHeaps),
/// [`SampleHeaps`](super::SampleHeaps), [`VoltageHeaps`](super::VoltageHeaps) or
/// [`VisibilityHeaps`](super::VisibilityHeaps).
pub trait HeapFormat: sealed::Sealed + Clone + std::marker::Send + 'static {
    /// What is received and sent.
    type Chunk: std::marker::Send + 'static;
    /// What a chunk is an array of.
    #[doc(hidden)]
    type Element: Pod + std::fmt::Debug + std::marker::Send + 'static;

    /// The shape of the stream.
    #[doc(hidden)]
    fn grid(&self) -> Grid;

    /// The place of a heap, `None` if it is none of the stream.
    #[doc(hidden)]
    fn place<'a>(&self, heap: &HeapView<'a>) -> Option<Place<'a>>;

    /// Where a heap's data begins in a chunk, in heaps.
    #[doc(hidden)]
    fn position(&self, batch: usize, slot: usize) -> usize {
        batch * self.grid().slots + slot
    }

    /// Makes values legal that are not; how many.
    #[doc(hidden)]
    fn clamp(&self, _data: &mut [Self::Element]) -> u64 {
        0
    }

    /// The chunk of an array, of presence flags `[batch][slot]` and of its first timestamp. Absent heaps are zeros.
    #[doc(hidden)]
    fn finish(
        &self,
        data: Vec<Self::Element>,
        presence: Vec<bool>,
        first_timestamp: u64,
    ) -> Result<Self::Chunk, SpeadError>;

    /// The array of a chunk, where it can be used again.
    #[doc(hidden)]
    fn reuse(_chunk: Self::Chunk) -> Option<Vec<Self::Element>> {
        None
    }

    /// Gives the heaps of a chunk that are present, in the order of timestamps.
    #[doc(hidden)]
    fn each_heap(&self, chunk: &Self::Chunk, send: &mut Send<'_>) -> Result<(), SpeadError>;

    /// Destinations that the heaps of a timestamp can be spread over.
    #[doc(hidden)]
    fn substreams(&self) -> usize {
        1
    }

    /// Descriptors of the items of a heap.
    fn descriptors(&self) -> Vec<Descriptor>;
}

/// The descriptor of the timestamp.
pub(crate) fn timestamp_descriptor() -> Descriptor {
    Descriptor::immediate(id::TIMESTAMP, "timestamp", "ADC sample counter of the first sample or spectrum of the heap")
}

/// The descriptor of the first channel.
pub(crate) fn frequency_descriptor() -> Descriptor {
    Descriptor::immediate(id::FREQUENCY, "frequency", "number of the first channel of the heap")
}

/// Elements of all heaps of a chunk, `None` if they are too many.
pub(crate) fn chunk_bytes(grid: &Grid) -> Option<usize> {
    grid.heap_bytes.checked_mul(grid.slots)?.checked_mul(grid.batches).filter(|&bytes| bytes <= isize::MAX as usize)
}

/// The elements of an array that owns all of its memory, in order.
pub(crate) fn elements<E, D: ndarray::Dimension>(array: ndarray::Array<E, D>) -> Option<Vec<E>> {
    let whole = array.is_standard_layout();
    let length = array.len();
    let (elements, offset) = array.into_raw_vec_and_offset();
    (whole && offset.unwrap_or(0) == 0 && elements.len() == length).then_some(elements)
}
