//! What can be wrong with packets, heaps and sockets.

use fringes_types::TypesError;

/// Why a packet is refused. Nothing of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The packet ends inside its header, its item pointers or its payload.
    #[error("packet: the {what} ends at byte {expected}, the packet at byte {actual}")]
    Truncated {
        /// What is incomplete.
        what: &'static str,
        /// Bytes that a packet with all of it has.
        expected: u64,
        /// Bytes that came.
        actual: u64,
    },
    /// Not a SPEAD packet of version 4.
    #[error("packet: expected magic number and version 0x5304, found {actual:#06x}")]
    Magic {
        /// The first two bytes.
        actual: u16,
    },
    /// Another flavour than SPEAD-64-48.
    #[error(
        "packet: expected 2 bytes of identifier and 6 of address (SPEAD-64-48), found {id_bytes} and {address_bytes}"
    )]
    Flavour {
        /// Bytes of an identifier.
        id_bytes: u8,
        /// Bytes of an address.
        address_bytes: u8,
    },
    /// One of the four items that say where the packet belongs is missing.
    #[error("packet: expected the immediate item `{item}`, found none")]
    MissingItem {
        /// Name of the item.
        item: &'static str,
    },
    /// One of the four items is there twice, with two values.
    #[error("packet: item `{item}` is {first} and {second}")]
    Contradiction {
        /// Name of the item.
        item: &'static str,
        /// Its first value.
        first: u64,
        /// Its second value.
        second: u64,
    },
    /// The payload would lie past the heap's end.
    #[error(
        "packet: expected a payload within the {heap_size} bytes of its heap, found {length} bytes from {offset} on"
    )]
    PayloadPastHeap {
        /// Where the payload begins in the heap.
        offset: u64,
        /// Bytes of the payload.
        length: u64,
        /// Bytes of the heap.
        heap_size: u64,
    },
    /// An item would begin past the heap's end.
    #[error("packet: item {id:#x} begins at byte {address} of a heap of {heap_size} bytes")]
    ItemPastHeap {
        /// Identifier of the item.
        id: u16,
        /// Where it would begin.
        address: u64,
        /// Bytes of the heap.
        heap_size: u64,
    },
    /// A heap that is larger than the receiver allows.
    #[error("heap {heap_cnt}: expected at most {expected} bytes, found {actual}")]
    HeapTooLarge {
        /// Counter of the heap.
        heap_cnt: u64,
        /// Most bytes.
        expected: u64,
        /// Bytes of the heap.
        actual: u64,
    },
    /// Packets of a heap that do not agree on its size.
    #[error("heap {heap_cnt}: expected {expected} bytes, as in the packets before, found {actual}")]
    HeapSize {
        /// Counter of the heap.
        heap_cnt: u64,
        /// Its size in the packets before.
        expected: u64,
        /// Its size in this packet.
        actual: u64,
    },
    /// A payload of which a part came before, but not all.
    #[error("heap {heap_cnt}: {length} bytes from {offset} on overlap what came before")]
    Overlap {
        /// Counter of the heap.
        heap_cnt: u64,
        /// Where the payload begins in the heap.
        offset: u64,
        /// Bytes of the payload.
        length: u64,
    },
    /// A heap in more pieces, or with more items, than the receiver allows.
    #[error("heap {heap_cnt}: expected at most {expected} {what}, found more")]
    TooMany {
        /// Counter of the heap.
        heap_cnt: u64,
        /// What there is too much of.
        what: &'static str,
        /// The most.
        expected: usize,
    },
}

/// Why heaps cannot be sent or received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpeadError {
    /// The operating system refused.
    #[error("{action}: {source}")]
    Socket {
        /// What was done.
        action: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// There is no memory for a chunk.
    #[error("memory of a chunk: {0}")]
    Memory(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A packet that is refused.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// Data that does not fit its declared shape or format.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// An option, or a dimension of a stream, that cannot be.
    #[error("{quantity}: expected {expected}, found {actual}")]
    Setting {
        /// What is wrong.
        quantity: &'static str,
        /// What it may be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// A chunk that is sent as heaps of another shape.
    #[error("chunk to send: {quantity}: expected {expected}, found {actual}")]
    Chunk {
        /// What differs.
        quantity: &'static str,
        /// What the stream has.
        expected: String,
        /// What the chunk has.
        actual: String,
    },
    /// A descriptor that cannot be read.
    #[error("descriptor: {field}: expected {expected}, found {actual}")]
    Descriptor {
        /// Which part of it.
        field: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        actual: String,
    },
    /// The receiving thread ended without saying why.
    #[error("the receiving thread has ended")]
    ThreadEnded,
}

/// A wrong setting.
pub(crate) fn setting(quantity: &'static str, expected: impl Into<String>, actual: impl ToString) -> SpeadError {
    SpeadError::Setting { quantity, expected: expected.into(), actual: actual.to_string() }
}

/// `Ok` if a chunk's value is the stream's.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    quantity: &'static str,
    expected: T,
    actual: T,
) -> Result<(), SpeadError> {
    if expected == actual {
        return Ok(());
    }
    Err(SpeadError::Chunk { quantity, expected: format!("{expected:?}"), actual: format!("{actual:?}") })
}

/// The system's refusal of an action.
pub(crate) fn refused(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> SpeadError {
    let action = action.into();
    move |source| SpeadError::Socket { action, source }
}
