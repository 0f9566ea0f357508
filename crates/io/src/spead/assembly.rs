//! Packets into heaps.

use std::collections::VecDeque;

use super::error::setting;
use super::packet::{WORD, is_place};
use super::ranges::{Inserted, Ranges};
use super::{HeapView, ItemPointer, Packet, PacketError, PacketPointers, SpeadCounters, SpeadError};

/// Most different item pointers of a heap.
const POINTERS: usize = 4096;
/// Finished heaps that are remembered, for each live one: their further packets are duplicates or late.
const REMEMBERED: usize = 4;

/// What heaps may take of memory: about `live_heaps * (heap_bytes + 1 KiB)`, and never more than
/// `live_heaps * (3/2 * heap_bytes + 256 KiB)`, whatever packets say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapLimits {
    /// Heaps that are put together at the same time. When one more begins, the oldest is given up.
    pub live_heaps: usize,
    /// Most bytes of a heap's payload.
    pub heap_bytes: usize,
}

impl Default for HeapLimits {
    /// 64 heaps of at most 16 MiB, which MeerKAT's largest visibilities fit in.
    fn default() -> Self {
        Self { live_heaps: 64, heap_bytes: 16 << 20 }
    }
}

/// A heap that was put together from its packets.
#[derive(Debug, Clone, Default)]
pub struct ReceivedHeap {
    heap_cnt: u64,
    pointers: Vec<u8>,
    payload: Vec<u8>,
}

impl ReceivedHeap {
    /// Items and payload.
    pub fn view(&self) -> HeapView<'_> {
        HeapView::new(self.heap_cnt, &self.pointers, &self.payload)
    }
}

/// A heap of which a part came.
#[derive(Debug, Default)]
struct LiveHeap {
    heap: ReceivedHeap,
    ranges: Ranges,
    /// Pointers of the packet before: the next one's are mostly the same.
    before: Vec<u8>,
}

/// Puts heaps together from packets in any order, several heaps at once.
///
/// Heaps are told apart by their counters, which must differ between senders (MeerKAT's F-engines count in steps of the
/// number of antennas). What a heap's bytes were before is never seen: only complete heaps come out.
#[derive(Debug)]
pub struct HeapAssembler {
    limits: HeapLimits,
    /// In the order of their first packets.
    live: VecDeque<LiveHeap>,
    /// Their counters, by themselves because every packet looks for one.
    live_counters: VecDeque<u64>,
    spare: Vec<LiveHeap>,
    /// Counters of finished heaps, and whether they were complete.
    finished: VecDeque<(u64, bool)>,
    pub(crate) counters: SpeadCounters,
}

impl HeapAssembler {
    /// An assembler without heaps.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for no live heap, or more than 65536.
    pub fn new(limits: HeapLimits) -> Result<Self, SpeadError> {
        if !(1..=65_536).contains(&limits.live_heaps) {
            return Err(setting("live heaps", "1 to 65536", limits.live_heaps));
        }
        let (live, live_counters, finished) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let (spare, counters) = (Vec::new(), SpeadCounters::default());
        Ok(Self { limits, live, live_counters, spare, finished, counters })
    }

    /// What came so far.
    pub fn counters(&self) -> SpeadCounters {
        self.counters
    }

    /// Takes a packet, and gives the heap that it completes.
    ///
    /// # Errors
    /// [`PacketError`] for a packet that is refused: counted, and nothing of it is kept.
    pub fn push(&mut self, packet: &[u8]) -> Result<Option<ReceivedHeap>, PacketError> {
        let packet = self.decode(packet)?;
        self.place(&packet)
    }

    /// Counts and decodes a packet.
    pub(crate) fn decode<'a>(&mut self, packet: &'a [u8]) -> Result<Packet<'a>, PacketError> {
        self.counters.packets += 1;
        self.counters.bytes += packet.len() as u64;
        let packet = Packet::decode(packet).inspect_err(|_| self.counters.malformed += 1)?;
        self.counters.stops += u64::from(packet.control() == Some(super::StreamControl::Stop));
        Ok(packet)
    }

    /// Places a packet that was decoded.
    pub(crate) fn place(&mut self, packet: &Packet<'_>) -> Result<Option<ReceivedHeap>, PacketError> {
        self.try_place(packet).inspect_err(|_| self.counters.malformed += 1)
    }

    fn try_place(&mut self, packet: &Packet<'_>) -> Result<Option<ReceivedHeap>, PacketError> {
        let (heap_cnt, actual) = (packet.heap_cnt(), packet.heap_size());
        let limit = self.limits.heap_bytes;
        if actual > limit {
            return Err(PacketError::HeapTooLarge { heap_cnt, expected: limit as u64, actual: actual as u64 });
        }
        let index = match self.live_counters.iter().rposition(|&live| live == heap_cnt) {
            Some(index) => index,
            None => match self.finished.iter().rev().find(|(finished, _)| *finished == heap_cnt) {
                Some(&(_, complete)) => {
                    self.counters.duplicate_packets += u64::from(complete);
                    self.counters.late_packets += u64::from(!complete);
                    return Ok(None);
                }
                None => self.begin(packet),
            },
        };
        let live = &mut self.live[index];
        let expected = live.heap.payload.len();
        if expected != actual {
            return Err(PacketError::HeapSize { heap_cnt, expected: expected as u64, actual: actual as u64 });
        }
        let (offset, length) = (packet.offset(), packet.payload().len());
        let pointers = live.heap.pointers.len();
        live.add_pointers(packet)?;
        // Pieces of 64 bytes on average are as small as anybody sends.
        let pieces = 64 + actual / 64;
        let error = match live.ranges.insert(offset, length, pieces) {
            Inserted::New => None,
            Inserted::Duplicate => {
                self.counters.duplicate_packets += 1;
                return Ok(None);
            }
            Inserted::Overlap => Some(PacketError::Overlap { heap_cnt, offset: offset as u64, length: length as u64 }),
            Inserted::TooMany => Some(PacketError::TooMany { heap_cnt, what: "pieces apart", expected: pieces }),
        };
        if let Some(error) = error {
            live.heap.pointers.truncate(pointers);
            live.before.clear();
            return Err(error);
        }
        live.heap.payload[offset..offset + length].copy_from_slice(packet.payload());
        if live.ranges.bytes() < actual {
            return Ok(None);
        }
        self.live_counters.remove(index);
        let complete = self.live.remove(index).map(|live| self.retire(live, true));
        self.counters.heaps_complete += 1;
        Ok(complete)
    }

    /// A place for a heap whose first packet this is; its index.
    fn begin(&mut self, packet: &Packet<'_>) -> usize {
        if self.live.len() >= self.limits.live_heaps {
            self.give_up_oldest();
        }
        let mut live = self.spare.pop().unwrap_or_default();
        live.heap.heap_cnt = packet.heap_cnt();
        live.heap.payload.resize(packet.heap_size(), 0);
        self.live.push_back(live);
        self.live_counters.push_back(packet.heap_cnt());
        self.live.len() - 1
    }

    fn give_up_oldest(&mut self) {
        self.live_counters.pop_front();
        if let Some(live) = self.live.pop_front() {
            tracing::debug!(heap_cnt = live.heap.heap_cnt, bytes = live.ranges.bytes(), "a heap is given up");
            self.counters.heaps_incomplete += 1;
            let heap = self.retire(live, false);
            self.recycle(heap);
        }
    }

    /// Remembers a heap as finished, keeps what can be used again, and gives its bytes.
    fn retire(&mut self, mut live: LiveHeap, complete: bool) -> ReceivedHeap {
        if self.finished.len() >= REMEMBERED * self.limits.live_heaps {
            self.finished.pop_front();
        }
        self.finished.push_back((live.heap.heap_cnt, complete));
        let heap = std::mem::take(&mut live.heap);
        live.ranges.clear();
        live.before.clear();
        heap
    }

    /// Takes a heap's memory back, for others.
    pub fn recycle(&mut self, mut heap: ReceivedHeap) {
        if self.spare.len() + self.live.len() < self.limits.live_heaps {
            heap.pointers.clear();
            self.spare.push(LiveHeap { heap, ..LiveHeap::default() });
        }
    }

    /// Gives up all heaps that are not complete.
    pub fn flush(&mut self) {
        while !self.live.is_empty() {
            self.give_up_oldest();
        }
    }
}

impl LiveHeap {
    /// Adds a packet's pointers to those that came before.
    fn add_pointers(&mut self, packet: &Packet<'_>) -> Result<(), PacketError> {
        let bytes = packet.pointer_bytes();
        // What says where the packet belongs differs; it comes first, but where a sender has another order.
        let (place, own) = bytes.split_at_checked(4 * WORD).unwrap_or((&[], bytes));
        let in_order = PacketPointers::new(place).next().is_none();
        if in_order && !own.is_empty() && own == self.before {
            return Ok(());
        }
        let kept = self.heap.pointers.len();
        for word in bytes.as_chunks::<WORD>().0 {
            let pointer = ItemPointer::from_be_bytes(*word);
            let known = || self.heap.pointers.as_chunks::<WORD>().0.contains(word);
            if (pointer.is_immediate() && is_place(pointer.id())) || known() {
                continue;
            }
            if self.heap.pointers.len() >= POINTERS * WORD {
                let heap_cnt = self.heap.heap_cnt;
                self.heap.pointers.truncate(kept);
                return Err(PacketError::TooMany { heap_cnt, what: "items", expected: POINTERS });
            }
            self.heap.pointers.extend(word);
        }
        self.before.clear();
        if in_order {
            self.before.extend(own);
        }
        Ok(())
    }
}
