//! What a receiver has seen.

/// Counts of packets and heaps. Nothing is dropped without being counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpeadCounters {
    /// Packets that came, of any kind.
    pub packets: u64,
    /// Bytes of them, from the header of SPEAD on.
    pub bytes: u64,
    /// Packets that the system dropped because a socket's buffer was full, as Linux tells it with the next packet that
    /// comes. At least: packets that it had joined may count as one.
    pub packets_dropped: u64,
    /// Packets that were refused ([`PacketError`](crate::spead::PacketError)).
    pub malformed: u64,
    /// Packets of which all had come before.
    pub duplicate_packets: u64,
    /// Packets of heaps that had been given up.
    pub late_packets: u64,
    /// Heaps of which every byte came.
    pub heaps_complete: u64,
    /// Heaps that were given up: newer ones needed their place, or the stream ended.
    pub heaps_incomplete: u64,
    /// Complete heaps that are none of the stream's data: descriptors, stream control, other items.
    pub heaps_other: u64,
    /// Complete heaps whose place in a chunk was taken.
    pub heaps_duplicate: u64,
    /// Complete heaps of chunks that had been delivered.
    pub heaps_late: u64,
    /// Complete heaps so far ahead of the others that they are not believed.
    pub heaps_ahead: u64,
    /// Heaps that were stored in chunks.
    pub heaps_stored: u64,
    /// Values -8 or -128, which are no samples, that became -7 or -127.
    pub values_clamped: u64,
    /// Chunks that were delivered.
    pub chunks: u64,
    /// Stream control items that say stop.
    pub stops: u64,
}
