//! Pools of device memory, for loops that must not allocate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytemuck::Pod;

use crate::buffer::{Memory, Origin};
use crate::view::byte_size;
use crate::{Buffer, Device, Event, GpuError, Stream};

/// Device memory that is used again, in the order of streams.
///
/// A buffer is taken for a stream. When it is dropped, its memory is free for work that this stream gets later; another
/// stream that takes it waits (on the device) for what the first was given before. A buffer that was used on other
/// streams too must be ordered back to its own before it is dropped. Once every size has come, nothing is allocated any
/// more: [`PoolStatistics`] tells. `BufferPool` is `Send` and `Sync`; clones are the same pool. Memory goes back to the
/// driver with the last clone.
#[derive(Debug, Clone)]
pub struct BufferPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    device: Device,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Free pieces by their size in bytes.
    free: BTreeMap<usize, Vec<Piece>>,
    statistics: PoolStatistics,
}

/// A free piece of memory.
#[derive(Debug)]
struct Piece {
    memory: Memory,
    /// Where it was used last.
    stream: Stream,
    /// Recorded there when it was given back; without it, the stream is waited for.
    event: Option<Event>,
}

/// What a pool did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Buffers made of memory that was there.
    pub reused: u64,
    /// Buffers that memory had to be allocated for.
    pub allocated: u64,
    /// Bytes in buffers.
    pub used_bytes: u64,
    /// Bytes that are free in the pool.
    pub free_bytes: u64,
    /// Most bytes that were in buffers at once.
    pub most_used_bytes: u64,
}

/// Where a buffer's memory goes back to.
#[derive(Debug)]
pub(crate) struct PoolPlace {
    pool: Weak<Shared>,
    device: Device,
    stream: Stream,
    event: Option<Event>,
}

impl BufferPool {
    /// An empty pool.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self { shared: Arc::new(Shared { device: device.clone(), state: Mutex::default() }) }
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Memory for `length` elements, with whatever it holds, for work on `stream`.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] where the memory is not there even after the free pieces were given back to the
    /// driver; [`GpuError::TooLarge`], [`GpuError::WrongDevice`], and what the driver answers.
    pub fn take<T: Pod>(&self, stream: &Stream, length: usize) -> Result<Buffer<T>, GpuError> {
        let device = &self.shared.device;
        device.context.expect_same(&stream.device().context, "the stream")?;
        let bytes = size_class(byte_size::<T>(length)?);
        if bytes == 0 {
            return Buffer::alloc(device, length);
        }
        let found = self.shared.lock().pop(bytes, stream);
        let (mut memory, event) = match found {
            Some(piece) => {
                if let Err(error) = order(&piece, stream) {
                    self.shared.lock().push(piece);
                    return Err(error);
                }
                (piece.memory, piece.event)
            }
            None => {
                let memory = match Memory::alloc(device, bytes) {
                    Err(GpuError::OutOfMemory { .. }) => {
                        self.trim();
                        Memory::alloc(device, bytes)?
                    }
                    other => other?,
                };
                self.shared.lock().statistics.allocated += 1;
                (memory, None)
            }
        };
        // The event comes with the buffer, so that giving back makes nothing that can fail.
        let event = Some(event.map_or_else(|| device.new_untimed_event(), Ok)?);
        self.shared.lock().count(memory.bytes as u64, true);
        let pool = Arc::downgrade(&self.shared);
        memory.origin = Origin::Pool(PoolPlace { pool, device: device.clone(), stream: stream.clone(), event });
        Ok(Buffer::from_memory(memory, length))
    }

    /// The same, with every byte zero.
    ///
    /// # Errors
    /// As [`BufferPool::take`].
    pub fn take_zeroed<T: Pod>(&self, stream: &Stream, length: usize) -> Result<Buffer<T>, GpuError> {
        let mut buffer = self.take(stream, length)?;
        buffer.view_mut().zero(stream)?;
        Ok(buffer)
    }

    /// Gives the free memory back to the driver.
    pub fn trim(&self) {
        let free = {
            let mut state = self.shared.lock();
            state.statistics.free_bytes = 0;
            std::mem::take(&mut state.free)
        };
        drop(free); // Outside of the lock: freeing waits for the device.
    }

    /// What the pool did so far.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.shared.lock().statistics
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A free piece of at least `bytes` and at most a quarter more, best one that this stream used last.
    fn pop(&mut self, bytes: usize, stream: &Stream) -> Option<Piece> {
        let (size, pieces) = self.free.range_mut(bytes..=bytes.saturating_add(bytes / 4)).next()?;
        let size = *size;
        let index =
            pieces.iter().rposition(|piece| piece.stream.is_same(stream)).unwrap_or(pieces.len().checked_sub(1)?);
        let piece = pieces.swap_remove(index);
        if pieces.is_empty() {
            self.free.remove(&size);
        }
        self.statistics.free_bytes -= size as u64;
        self.statistics.reused += 1;
        Some(piece)
    }

    fn push(&mut self, piece: Piece) {
        self.statistics.free_bytes += piece.memory.bytes as u64;
        self.free.entry(piece.memory.bytes).or_default().push(piece);
    }

    /// Counts bytes that a buffer takes or gives back.
    fn count(&mut self, bytes: u64, taken: bool) {
        let statistics = &mut self.statistics;
        if taken {
            statistics.used_bytes += bytes;
            statistics.most_used_bytes = statistics.most_used_bytes.max(statistics.used_bytes);
        } else {
            statistics.used_bytes -= bytes;
        }
    }
}

/// Orders work of `stream` after the last use of a piece.
fn order(piece: &Piece, stream: &Stream) -> Result<(), GpuError> {
    if piece.stream.is_same(stream) {
        return Ok(());
    }
    match &piece.event {
        Some(event) => stream.wait(event),
        None => piece.stream.synchronize(),
    }
}

impl PoolPlace {
    /// Makes a buffer's memory free again.
    pub(crate) fn give_back(self, address: u64, bytes: usize) {
        let memory = Memory { device: self.device, address, bytes, origin: Origin::Driver };
        let Some(pool) = self.pool.upgrade() else {
            return; // The pool is gone: the memory goes to the driver, which waits for work that uses it.
        };
        let event = self.event.filter(|event| {
            let recorded = self
                .stream
                .is_capturing()
                .and_then(|capturing| if capturing { Ok(false) } else { event.record(&self.stream).map(|()| true) });
            recorded.unwrap_or_else(|error| {
                tracing::error!("giving device memory back to its pool: {error}");
                false
            })
        });
        let mut state = pool.lock();
        state.count(bytes as u64, false);
        state.push(Piece { memory, stream: self.stream, event });
    }
}

/// Sizes are rounded up to eighths of a power of two, at least 512 bytes, so that similar ones share memory.
pub(crate) fn size_class(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    let step = (1usize << (usize::BITS - 1 - bytes.leading_zeros()) >> 3).max(512);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::size_class;

    #[test]
    fn a_size_class_holds_its_bytes_and_wastes_at_most_an_eighth_beyond_4_kib() {
        for bytes in (1usize..20_000).chain([1 << 20, (1 << 20) + 1, 3_000_001, usize::MAX]) {
            let class = size_class(bytes);
            assert!(class >= bytes, "{bytes}: {class}");
            assert!(class == bytes || class.is_multiple_of(512), "{bytes}: {class}");
            if bytes >= 4096 {
                assert!(class - bytes <= bytes / 8, "{bytes}: {class}");
            }
            assert_eq!(size_class(class), class, "{bytes}: a class is its own");
        }
        assert_eq!(size_class(0), 0);
        assert_eq!(size_class(513), 1024);
        assert_eq!(size_class(5000), 5120);
    }
}
