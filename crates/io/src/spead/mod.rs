//! SPEAD-64-48 over UDP, as MeerKAT's digitisers, F-engines and X-engines speak it.
//!
//! | layer | type | does |
//! |---|---|---|
//! | packet | [`Packet`], [`PacketEncoder`], [`Descriptor`] | bytes into checked packets, heaps into packets |
//! | heap | [`HeapAssembler`], [`HeapView`] | packets in any order into complete heaps |
//! | chunk | [`ChunkAssembler`] | heaps into chunks by timestamp and input, with presence |
//! | socket | [`SpeadReceiver`], [`SpeadSender`] | UDP: batches, multicast, a rate limit |
//!
//! What a stream's heaps hold is one of four formats:
//!
//! | format | item | a heap is | a chunk is |
//! |---|---|---|---|
//! | [`PackedSampleHeaps`] | `adc_samples` | packed ADC samples of an input | [`PackedSamples`](fringes_types::PackedSamples) |
//! | [`SampleHeaps`] | `adc_samples` | 8-bit ADC samples of an input | [`Samples`](fringes_types::Samples) |
//! | [`VoltageHeaps`] | `feng_raw` | voltages of an antenna | [`Heaps`](fringes_types::Heaps) |
//! | [`VisibilityHeaps`] | `xeng_raw` | sums of some channels | [`VisibilityChunk`] |
//!
//! The layers below sockets do no input or output:
//!
//! ```
//! use fringes_io::spead::{ChunkAssembler, ChunkOptions, PackedSampleHeaps, PacketShape, id};
//! use fringes_io::spead::{Item, PacketEncoder};
//! use fringes_types::Inputs;
//!
//! // One input, heaps of 8 samples of 10 bits, chunks of two heaps.
//! let format = PackedSampleHeaps::new(Inputs::single_pol(1)?, 10, 8, 2)?;
//! let mut assembler = ChunkAssembler::new(format, ChunkOptions::default())?;
//! // The second heap of the first chunk; the first one is lost.
//! let items = [
//!     Item::immediate(id::TIMESTAMP, 8),
//!     Item::immediate(id::DIGITISER_ID, 0),
//!     Item::bytes(id::ADC_SAMPLES, &[0xff; 10]),
//! ];
//! let mut packet = Vec::new();
//! PacketEncoder::new(1, &items, PacketShape::default())?.next_packet(&mut packet);
//! assembler.push(&packet)?;
//! assembler.flush();
//! let chunk = assembler.next_chunk()?.expect("one chunk");
//! assert_eq!((chunk.first_sample(), chunk.times()), (0, 16));
//! assert_eq!(chunk.presence().map(|presence| presence.flags().to_owned()), Some(ndarray::array![[false, true]]));
//! assert_eq!(chunk.unpack()?.data().row(0).to_vec(), [[0i16; 8], [-1; 8]].concat());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;
mod chunk;
mod counters;
mod descriptor;
mod encode;
mod error;
mod heap;
mod item;
mod net;
mod packet;
mod ranges;

pub use assembly::{HeapAssembler, HeapLimits, ReceivedHeap};
pub use chunk::{
    ArrayMemory, Arrays, ByteOrder, ChunkAssembler, ChunkMemory, ChunkOptions, HeapFormat, HeapVoltage, MISSING_MARK,
    PackedSampleHeaps, SampleHeaps, Vectors, VisibilityChunk, VisibilityHeaps, VoltageHeaps,
};
pub use counters::SpeadCounters;
pub use descriptor::{Descriptor, Elements};
pub use encode::{Item, PacketEncoder, PacketShape};
pub use error::{PacketError, SpeadError};
pub use heap::{HeapView, ItemValue, PacketPointers};
pub use item::{ItemPointer, StreamControl, id};
pub use net::{NextChunk, ReceiverOptions, SenderOptions, Sent, SpeadReceiver, SpeadSender};
pub use packet::Packet;
