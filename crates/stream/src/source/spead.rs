//! SPEAD over UDP as a source.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;
use fringes_backend::{PinnedArray, PinnedHeaps, PinnedSamples};
use fringes_gpu::PinnedPool;
use fringes_io::spead::{
    ArrayMemory, Arrays, ChunkMemory, HeapFormat, HeapVoltage, NextChunk, PackedSampleHeaps, ReceiverOptions,
    SampleHeaps, SpeadError, SpeadReceiver, Vectors, VoltageHeaps,
};
use fringes_types::{Complex, Complex4, Heaps, PackedSamples, Samples};

use super::{Received, Source, SourceCounts, SourceInfo};
use crate::{BoxError, HeapBlock, SampleBlock};

/// How long the receiver is waited for before the source says that nothing came.
const PATIENCE: Duration = Duration::from_millis(50);

/// Chunks that a [`Spead`] source receives: samples of an ADC, packed or of 8 bits, and heaps of voltages.
pub trait ReceivedChunk: Sized {
    /// The chunk as the instrument takes it.
    #[doc(hidden)]
    fn received(self) -> Received;

    /// A chunk of samples that the instrument gives back.
    #[doc(hidden)]
    fn returned(block: SampleBlock) -> Option<Self> {
        drop(block);
        None
    }
}

impl ReceivedChunk for PackedSamples {
    fn received(self) -> Received {
        Received::Samples(self.into())
    }

    fn returned(block: SampleBlock) -> Option<Self> {
        match block {
            SampleBlock::Packed(samples) => Some(samples),
            _ => None,
        }
    }
}

impl ReceivedChunk for Samples<i8> {
    fn received(self) -> Received {
        Received::Samples(self.into())
    }

    fn returned(block: SampleBlock) -> Option<Self> {
        match block {
            SampleBlock::Int8(samples) => Some(samples),
            _ => None,
        }
    }
}

impl ReceivedChunk for Heaps<Complex4> {
    fn received(self) -> Received {
        Received::Heaps(HeapBlock::Int4(self))
    }
}

impl ReceivedChunk for Heaps<Complex<i8>> {
    fn received(self) -> Received {
        Received::Heaps(HeapBlock::Int8(self))
    }
}

impl ReceivedChunk for PinnedSamples {
    fn received(self) -> Received {
        Received::Samples(self.into())
    }

    fn returned(block: SampleBlock) -> Option<Self> {
        match block {
            SampleBlock::Pinned(samples) => Arc::into_inner(samples),
            _ => None,
        }
    }
}

impl ReceivedChunk for PinnedHeaps<Complex4> {
    fn received(self) -> Received {
        Received::Heaps(HeapBlock::PinnedInt4(Arc::new(self)))
    }
}

impl ReceivedChunk for PinnedHeaps<Complex<i8>> {
    fn received(self) -> Received {
        Received::Heaps(HeapBlock::PinnedInt8(Arc::new(self)))
    }
}

/// Pinned memory of a pool, which chunks are received in.
#[derive(Debug, Clone)]
pub struct PinnedChunks(PinnedPool);

impl ArrayMemory for PinnedChunks {
    type Array<T: Pod + Debug + Send + Sync> = PinnedArray<T>;

    fn take<T: Pod + Debug + Send + Sync>(&mut self, length: usize) -> Result<PinnedArray<T>, BoxError> {
        Ok(PinnedArray::from(self.0.take::<T>(length)?))
    }

    fn elements<T: Pod + Debug + Send + Sync>(array: &mut PinnedArray<T>) -> Result<&mut [T], BoxError> {
        Ok(array.as_mut_slice()?)
    }
}

/// Chunks that stages of an instrument have beside those that wait for the source.
const WITH_STAGES: usize = 8;

/// A stream of SPEAD: heaps of samples of an ADC ([`PackedSampleHeaps`], [`SampleHeaps`]), or of channelised voltages
/// ([`VoltageHeaps`]).
///
/// The receiver has a thread of its own. Heaps that never came are absent; those that came late or twice are counted.
/// Memory of chunks of samples goes back to it. The format needs the sample rate.
///
/// For an instrument on a GPU chunks can be received in pinned memory ([`Spead::pinned`]), which the device reads
/// without a copy by the host.
pub struct Spead<F: HeapFormat, M: ChunkMemory<F> = Vectors> {
    receiver: SpeadReceiver<F, M>,
    info: SourceInfo,
}

impl<F: HeapFormat, M: ChunkMemory<F>> Debug for Spead<F, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spead").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Spead<PackedSampleHeaps> {
    /// Starts to receive packed samples.
    ///
    /// # Errors
    /// As [`SpeadReceiver::start`].
    pub fn packed(format: PackedSampleHeaps, options: &ReceiverOptions, info: SourceInfo) -> Result<Self, SpeadError> {
        Self::start(format, options, info)
    }
}

impl Spead<SampleHeaps> {
    /// Starts to receive 8-bit samples.
    ///
    /// # Errors
    /// As [`SpeadReceiver::start`].
    pub fn int8(format: SampleHeaps, options: &ReceiverOptions, info: SourceInfo) -> Result<Self, SpeadError> {
        Self::start(format, options, info)
    }
}

impl<V: HeapVoltage> Spead<VoltageHeaps<V>>
where
    VoltageHeaps<V>: HeapFormat,
{
    /// Starts to receive channelised voltages.
    ///
    /// # Errors
    /// As [`SpeadReceiver::start`].
    pub fn voltages(format: VoltageHeaps<V>, options: &ReceiverOptions, info: SourceInfo) -> Result<Self, SpeadError> {
        Self::start(format, options, info)
    }
}

impl<F: HeapFormat> Spead<F> {
    fn start(format: F, options: &ReceiverOptions, info: SourceInfo) -> Result<Self, SpeadError> {
        Ok(Self { receiver: SpeadReceiver::start(format, options)?, info })
    }
}

impl<F: HeapFormat> Spead<F, Arrays<PinnedChunks>>
where
    Arrays<PinnedChunks>: ChunkMemory<F>,
{
    /// Starts to receive in pinned memory of a pool, which gets memory for as many chunks as the receiver and an
    /// instrument's stages hold first: packets do not wait for it later.
    ///
    /// Rows of samples go to the device as they are where they begin at multiples of 16 bytes: heaps of a multiple of
    /// 128 samples, or as many of a chunk.
    ///
    /// # Errors
    /// As [`SpeadReceiver::start`]; [`SpeadError::Memory`].
    pub fn pinned(
        format: F,
        options: &ReceiverOptions,
        info: SourceInfo,
        pool: &PinnedPool,
    ) -> Result<Self, SpeadError> {
        let memory = Arrays(PinnedChunks(pool.clone()));
        let chunks = options.chunks.window_chunks.saturating_add(options.queue_chunks).saturating_add(WITH_STAGES);
        Ok(Self { receiver: SpeadReceiver::start_in(format, options, memory, chunks)?, info })
    }
}

impl<F: HeapFormat, M: ChunkMemory<F>> Spead<F, M> {
    /// The receiver: its addresses and counters.
    pub fn receiver(&self) -> &SpeadReceiver<F, M> {
        &self.receiver
    }
}

impl<F: HeapFormat, M: ChunkMemory<F>> Source for Spead<F, M>
where
    M::Chunk: ReceivedChunk,
{
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        Ok(match self.receiver.next_chunk(PATIENCE)? {
            NextChunk::Chunk(chunk) => Some(chunk.received()),
            NextChunk::TimedOut => Some(Received::Idle),
            NextChunk::Ended => None,
        })
    }

    fn counts(&self) -> SourceCounts {
        let counters = self.receiver.counters();
        SourceCounts {
            packets: counters.packets,
            bytes: counters.bytes,
            lost: counters.packets_dropped + counters.heaps_incomplete,
            late: counters.late_packets + counters.heaps_late,
            duplicate: counters.duplicate_packets + counters.heaps_duplicate,
            malformed: counters.malformed + counters.heaps_ahead,
            clamped: counters.values_clamped,
            ..SourceCounts::default()
        }
    }

    fn recycle(&mut self, block: SampleBlock) {
        if let Some(chunk) = M::Chunk::returned(block) {
            self.receiver.recycle(chunk);
        }
    }
}
