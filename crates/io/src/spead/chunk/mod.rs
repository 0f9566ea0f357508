//! Heaps into chunks, by timestamp and input.

mod format;
mod memory;
mod open;
mod samples;
mod visibilities;
mod voltages;

use std::collections::VecDeque;

use super::assembly::HeapAssembler;
use super::error::setting;
use super::item::{ADDRESS_BITS, ADDRESS_MASK};
use super::{HeapLimits, HeapView, PacketError, SpeadCounters, SpeadError};
use open::OpenChunk;

pub use format::HeapFormat;
pub(crate) use format::{Outgoing, Place};
pub use memory::{ArrayMemory, Arrays, ChunkMemory, Vectors};
pub use samples::{PackedSampleHeaps, SampleHeaps};
pub use visibilities::{ByteOrder, MISSING_MARK, VisibilityChunk, VisibilityHeaps};
pub use voltages::{HeapVoltage, VoltageHeaps};

/// Bytes of a heap beside its data: other items, padding.
const OTHER_BYTES: usize = 64 << 10;
/// A heap so many windows ahead is believed when a second one says the same.
const BELIEVED_WINDOWS: u64 = 64;

/// How chunks are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkOptions {
    /// Chunks that are open at the same time, at least 1. A heap of the chunk behind them closes the oldest.
    pub window_chunks: usize,
    /// Heaps of several packets that are put together at the same time, at least 1. Without it, four times as many as a
    /// timestamp has, and at least 64. Each may take a heap's bytes of memory.
    pub live_heaps: Option<usize>,
    /// Timestamp of the first chunk; what is older is late. Without it, the first heap that comes is of the first
    /// chunk, and chunks begin at multiples of their length, counted from the heap's timestamp modulo that of heaps.
    pub first_timestamp: Option<u64>,
}

impl Default for ChunkOptions {
    /// Two chunks, four timestamps' heaps, the first heap that comes.
    fn default() -> Self {
        Self { window_chunks: 2, live_heaps: None, first_timestamp: None }
    }
}

/// Puts chunks together from packets in any order.
///
/// Chunks come in the order of time. One is delivered when all of its heaps are there, or when a heap comes that is
/// `window_chunks` newer. A chunk of which no heap came is left out: the next one's timestamp tells. What did not come
/// is absent in a chunk's presence, and zero. Heaps of delivered chunks are late; heaps whose place is taken are
/// duplicates: both are counted and not stored.
///
/// Timestamps have 48 bits on the wire and 64 here: they are those next to the open chunks. A heap that is more than
/// 64 windows ahead is not believed until a second heap, next to it, says the same.
///
/// # Memory
/// `window_chunks` chunks and what [`HeapLimits`] says of `live_heaps` heaps; the chunks that were not taken; and at
/// most
/// `window_chunks` that were given back.
#[derive(Debug)]
pub struct ChunkAssembler<F: HeapFormat, M: ChunkMemory<F> = Vectors> {
    format: F,
    memory: M,
    grid: format::Grid,
    options: ChunkOptions,
    heaps: HeapAssembler,
    /// The number of the oldest open chunk, and all that are open. They are made when their first heap comes.
    oldest: Option<u64>,
    open: VecDeque<Option<OpenChunk<M::Array>>>,
    /// Timestamp of chunk 0.
    origin: u64,
    /// The chunk that a heap far ahead was of.
    ahead: Option<u64>,
    /// Arrays of chunks that were given back.
    spare: Vec<M::Array>,
    ready: VecDeque<Result<M::Chunk, SpeadError>>,
}

impl<F: HeapFormat> ChunkAssembler<F> {
    /// An assembler without chunks.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for an option that is 0, or chunks larger than memory can be.
    pub fn new(format: F, options: ChunkOptions) -> Result<Self, SpeadError> {
        Self::in_memory(format, options, Vectors)
    }
}

impl<F: HeapFormat, M: ChunkMemory<F>> ChunkAssembler<F, M> {
    /// An assembler whose chunks lie in some memory.
    ///
    /// # Errors
    /// As [`ChunkAssembler::new`].
    pub fn in_memory(format: F, options: ChunkOptions, memory: M) -> Result<Self, SpeadError> {
        let grid = format.grid();
        if !(1..=1 << 20).contains(&options.window_chunks) {
            return Err(setting("chunks of the window", "1 to 1048576", options.window_chunks));
        }
        let bytes = format::chunk_bytes(&grid).and_then(|bytes| bytes.checked_mul(options.window_chunks));
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(setting("bytes of a window of chunks", "at most 2^63 - 1", format!("{grid:?}")));
        }
        if grid.step.checked_mul(grid.batches as u64).is_none_or(|length| length > ADDRESS_MASK >> 8) {
            return Err(setting("samples of a chunk", "at most 2^40", format!("{grid:?}")));
        }
        let heap_bytes = grid.heap_bytes.saturating_add(OTHER_BYTES);
        let live_heaps = options.live_heaps.unwrap_or_else(|| grid.slots.saturating_mul(4).clamp(64, 65_536));
        let heaps = HeapAssembler::new(HeapLimits { live_heaps, heap_bytes })?;
        let oldest = options.first_timestamp.map(|_| 0);
        let origin = options.first_timestamp.unwrap_or(0);
        let (open, spare, ready) = (VecDeque::new(), Vec::new(), VecDeque::new());
        Ok(Self { format, memory, grid, options, heaps, oldest, open, origin, ahead: None, spare, ready })
    }

    /// What came so far.
    pub fn counters(&self) -> SpeadCounters {
        self.heaps.counters()
    }

    /// Takes a packet. Take what [`ChunkAssembler::next_chunk`] gives after it.
    ///
    /// # Errors
    /// [`PacketError`] for a packet that is refused: counted, and nothing of it is kept.
    pub fn push(&mut self, packet: &[u8]) -> Result<(), PacketError> {
        let packet = self.heaps.decode(packet)?;
        if let Some(heap) = HeapView::of_packet(&packet) {
            // Nothing to put together: a digitiser's heaps, for example.
            self.heaps.counters.heaps_complete += 1;
            self.store(&heap);
        } else if let Some(heap) = self.heaps.place(&packet)? {
            self.store(&heap.view());
            self.heaps.recycle(heap);
        }
        Ok(())
    }

    /// The next complete chunk, if there is one.
    ///
    /// # Errors
    /// [`SpeadError::Memory`] if there was none for a chunk; heaps of it are lost then.
    pub fn next_chunk(&mut self) -> Result<Option<M::Chunk>, SpeadError> {
        self.ready.pop_front().transpose()
    }

    /// Takes a chunk's memory back, for others: the system need not clear pages for them. Memory of another size, or
    /// that the chunk shares, is let go; so is that of visibilities, whose sums have another type on the wire.
    pub fn recycle(&mut self, chunk: M::Chunk) {
        if let Some(array) = M::reuse(chunk) {
            self.recycle_array(array);
        }
    }

    pub(crate) fn recycle_array(&mut self, mut array: M::Array) {
        if self.spare.len() < self.options.window_chunks && memory::fits::<F, M>(&mut array, self.elements()) {
            self.spare.push(array);
        }
    }

    /// Takes arrays for so many chunks, and gives them back to the memory, from where they come later.
    pub(crate) fn prepare(&mut self, chunks: usize) -> Result<(), SpeadError> {
        let length = M::elements_of(self.elements());
        let arrays = (0..chunks).map(|_| self.memory.take(length)).collect::<Result<Vec<_>, _>>();
        arrays.map(drop).map_err(SpeadError::Memory)
    }

    /// Elements of a chunk.
    fn elements(&self) -> usize {
        self.grid.slots * self.grid.batches * self.heap_elements()
    }

    /// Elements of a heap.
    fn heap_elements(&self) -> usize {
        self.grid.heap_bytes / size_of::<F::Element>()
    }

    /// Ends the stream: gives up heaps that are not complete, and delivers all open chunks.
    pub fn flush(&mut self) {
        self.heaps.flush();
        for _ in 0..self.open.len() {
            self.close_oldest();
        }
    }

    fn store(&mut self, heap: &HeapView<'_>) {
        let Some(place) = self.format.place(heap) else {
            self.heaps.counters.heaps_other += 1;
            return;
        };
        let Some((chunk, batch)) = self.chunk_of(place.timestamp) else { return };
        let oldest = *self.oldest.get_or_insert(chunk);
        let window = self.options.window_chunks as u64;
        let Some(mut distance) = chunk.checked_sub(oldest) else {
            self.heaps.counters.heaps_late += 1;
            return;
        };
        if distance >= window.saturating_mul(BELIEVED_WINDOWS) {
            let before = self.ahead.replace(chunk);
            if before.is_none_or(|before| before.abs_diff(chunk) >= window) {
                self.heaps.counters.heaps_ahead += 1;
                return;
            }
        }
        self.ahead = None;
        if distance >= window {
            self.advance(chunk - (window - 1));
            distance = window - 1;
        }
        if let Err(error) = self.store_at(distance as usize, batch, &place) {
            self.ready.push_back(Err(error));
        }
        while self.open.front().is_some_and(|chunk| chunk.as_ref().is_some_and(OpenChunk::is_full)) {
            self.close_oldest();
        }
    }

    /// The chunk of a timestamp and the batch in it. `None`, counted, if it is no timestamp of the stream.
    fn chunk_of(&mut self, timestamp: u64) -> Option<(u64, usize)> {
        let length = self.grid.step * self.grid.batches as u64;
        if self.oldest.is_none() {
            self.origin = timestamp % self.grid.step;
        }
        let near = match self.oldest {
            Some(oldest) => self.origin.wrapping_add(oldest.wrapping_mul(length)),
            None => timestamp,
        };
        // The difference of 48 bits, with its sign.
        let shift = 64 - ADDRESS_BITS;
        let difference = (timestamp.wrapping_sub(near) << shift) as i64 >> shift;
        let Some(since) = near.checked_add_signed(difference).and_then(|stamp| stamp.checked_sub(self.origin)) else {
            self.heaps.counters.heaps_late += 1;
            return None;
        };
        if since % self.grid.step != 0 {
            self.heaps.counters.heaps_other += 1;
            return None;
        }
        Some((since / length, (since % length / self.grid.step) as usize))
    }

    /// Delivers chunks until this one is the oldest.
    fn advance(&mut self, to: u64) {
        while !self.open.is_empty() && self.oldest.is_some_and(|oldest| oldest < to) {
            self.close_oldest();
        }
        self.oldest = Some(to);
    }

    /// Delivers the oldest chunk.
    fn close_oldest(&mut self) {
        let Some(number) = self.oldest else { return };
        self.oldest = Some(number + 1);
        let Some(Some(mut chunk)) = self.open.pop_front() else { return };
        let length = self.grid.step * self.grid.batches as u64;
        let first = self.origin.wrapping_add(number.wrapping_mul(length));
        self.heaps.counters.chunks += 1;
        let chunk = match self.clear(&mut chunk) {
            Ok(()) => {
                let (array, presence) = chunk.into_parts();
                M::finish(&self.format, array, presence, first)
            }
            Err(error) => Err(error),
        };
        self.ready.push_back(chunk);
    }

    /// Makes zeros of what is not a heap's that came.
    fn clear(&self, chunk: &mut OpenChunk<M::Array>) -> Result<(), SpeadError> {
        let (length, slots) = (self.heap_elements(), self.grid.slots);
        let stale: Vec<usize> = chunk.stale().collect();
        if stale.is_empty() {
            return Ok(());
        }
        let elements = M::elements(chunk.array_mut()).map_err(SpeadError::Memory)?;
        for flag in stale {
            let start = self.format.position(flag / slots, flag % slots) * length;
            if let Some(part) = elements.get_mut(start..start + length) {
                part.fill(bytemuck::Zeroable::zeroed());
            }
        }
        Ok(())
    }

    fn store_at(&mut self, index: usize, batch: usize, place: &Place<'_>) -> Result<(), SpeadError> {
        if self.open.len() <= index {
            self.open.resize_with(index + 1, || None);
        }
        let (length, elements) = (self.heap_elements(), self.elements());
        let chunk = match &mut self.open[index] {
            Some(chunk) => chunk,
            none => {
                let (array, is_zero) = match self.spare.pop() {
                    Some(spare) => (spare, false),
                    None => self.memory.take(M::elements_of(elements)).map_err(SpeadError::Memory)?,
                };
                none.insert(OpenChunk::new(&self.grid, array, !is_zero))
            }
        };
        let counters = &mut self.heaps.counters;
        if !chunk.take(batch * self.grid.slots + place.slot) {
            counters.heaps_duplicate += 1;
            return Ok(());
        }
        let start = self.format.position(batch, place.slot) * length;
        let all = M::elements(chunk.array_mut()).map_err(SpeadError::Memory)?;
        // An array has all heaps.
        let Some(into) = all.get_mut(start..start + length) else { return Ok(()) };
        bytemuck::cast_slice_mut(into).copy_from_slice(place.data);
        counters.values_clamped += self.format.clamp(into);
        counters.heaps_stored += 1;
        Ok(())
    }
}
