//! Heaps into packets.

use super::error::setting;
use super::item::{ADDRESS_MASK, ID_MASK, ItemPointer, id};
use super::packet::{FLAVOUR, MAGIC_VERSION, WORD};
use super::{ItemValue, SpeadError};

/// Bytes of a packet before its items: the header and the four items that say where it belongs.
pub(crate) const PREFIX: usize = 5 * WORD;

/// An item to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Identifier, at most 15 bits.
    pub id: u16,
    /// Value.
    pub value: ItemValue<'a>,
}

impl<'a> Item<'a> {
    /// A number in the pointer, at most 48 bits.
    pub fn immediate(id: u16, value: u64) -> Self {
        Self { id, value: ItemValue::Immediate(value) }
    }

    /// Bytes in the payload.
    pub fn bytes(id: u16, bytes: &'a [u8]) -> Self {
        Self { id, value: ItemValue::Bytes(bytes) }
    }
}

/// How heaps are cut into packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketShape {
    /// Most bytes of a packet: header, items and payload.
    pub packet_bytes: usize,
    /// Whether every packet carries all item pointers, so that each can be placed by itself. Otherwise they come once,
    /// in the first packets.
    pub repeat_pointers: bool,
}

impl Default for PacketShape {
    /// 8192 bytes of payload behind up to 10 items, which a link for packets of 9000 bytes takes; with all items.
    fn default() -> Self {
        Self { packet_bytes: 8192 + PREFIX + 10 * WORD, repeat_pointers: true }
    }
}

/// Gives the packets of one heap, one after the other.
///
/// Every packet has payload, so that its place in the heap is its own: a heap with too little of it gets zeros at the
/// end, and a pointer of [`id::NULL`] to them. But for the last, payloads are whole words of 8 bytes.
#[derive(Debug)]
pub struct PacketEncoder<'a> {
    items: &'a [Item<'a>],
    pointers: Vec<ItemPointer>,
    heap_cnt: u64,
    shape: PacketShape,
    payload_bytes: usize,
    /// Payload and pointers that were given out, and where the next payload begins: item and byte.
    sent: usize,
    sent_pointers: usize,
    next: (usize, usize),
}

impl<'a> PacketEncoder<'a> {
    /// Packets of a heap.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for an identifier above 15 bits, a value or a payload above 48 bits, and for packets
    /// that have no room: for two pointers' worth of bytes behind the prefix, or for all pointers where they are
    /// repeated.
    pub fn new(heap_cnt: u64, items: &'a [Item<'a>], shape: PacketShape) -> Result<Self, SpeadError> {
        if heap_cnt > ADDRESS_MASK {
            return Err(setting("heap counter", "at most 48 bits", heap_cnt));
        }
        let mut pointers = Vec::with_capacity(items.len() + 1);
        let mut bytes = 0usize;
        for item in items {
            if item.id > ID_MASK {
                return Err(setting("item identifier", "at most 15 bits", format!("{:#x}", item.id)));
            }
            match item.value {
                ItemValue::Immediate(value) if value > ADDRESS_MASK => {
                    return Err(setting("immediate item", "at most 48 bits", value));
                }
                ItemValue::Immediate(value) => pointers.push(ItemPointer::immediate(item.id, value)),
                ItemValue::Bytes(value) => {
                    pointers.push(ItemPointer::addressed(item.id, bytes as u64));
                    bytes = bytes.saturating_add(value.len());
                }
            }
        }
        if bytes as u64 > ADDRESS_MASK {
            return Err(setting("payload of a heap", "at most 2^48 - 1 bytes", bytes));
        }
        let least = PREFIX + 2 * WORD;
        // One packet takes the same buffer, whatever its link: 64 KiB is what UDP can carry.
        if !(least..=65_507).contains(&shape.packet_bytes) {
            return Err(setting("bytes of a packet", format!("{least} to 65507"), shape.packet_bytes));
        }
        let room = (shape.packet_bytes - PREFIX) / WORD - 1;
        // A pointer to the padding may come as well.
        let pointer_packets = items.len() / room + 1;
        if shape.repeat_pointers && pointer_packets > 1 {
            let expected = format!("at least {} for {} items in each", PREFIX + (items.len() + 2) * WORD, items.len());
            return Err(setting("bytes of a packet", expected, shape.packet_bytes));
        }
        let least = (pointer_packets - 1) * WORD + 1;
        if bytes < least {
            pointers.push(ItemPointer::addressed(id::NULL, bytes as u64));
        }
        let payload_bytes = bytes.max(least);
        Ok(Self { items, pointers, heap_cnt, shape, payload_bytes, sent: 0, sent_pointers: 0, next: (0, 0) })
    }

    /// Bytes of the heap's payload, padding included.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Appends the next packet to `out`; its length, or `None` after the last one.
    pub fn next_packet(&mut self, out: &mut Vec<u8>) -> Option<usize> {
        let left = self.payload_bytes - self.sent;
        if left == 0 {
            return None;
        }
        if self.shape.repeat_pointers {
            self.sent_pointers = 0;
        }
        let words = (self.shape.packet_bytes - PREFIX) / WORD;
        let pointers = self.pointers.get(self.sent_pointers..).unwrap_or_default();
        let pointers = &pointers[..pointers.len().min(words - 1)];
        let length = left.min((words - pointers.len()) * WORD);
        let start = out.len();
        out.extend(MAGIC_VERSION.to_be_bytes());
        out.extend(FLAVOUR);
        out.extend([0, 0]);
        out.extend((pointers.len() as u16 + 4).to_be_bytes());
        for (id, value) in [
            (id::HEAP_CNT, self.heap_cnt),
            (id::HEAP_SIZE, self.payload_bytes as u64),
            (id::HEAP_OFFSET, self.sent as u64),
            (id::PAYLOAD_LENGTH, length as u64),
        ] {
            out.extend(ItemPointer::immediate(id, value).to_be_bytes());
        }
        for pointer in pointers {
            out.extend(pointer.to_be_bytes());
        }
        self.sent_pointers += pointers.len();
        self.append_payload(out, length);
        self.sent += length;
        Some(out.len() - start)
    }

    fn append_payload(&mut self, out: &mut Vec<u8>, length: usize) {
        let mut left = length;
        while left > 0 {
            let (index, at) = self.next;
            let Some(item) = self.items.get(index) else { break };
            let rest = match item.value {
                ItemValue::Bytes(bytes) => bytes.get(at..).unwrap_or_default(),
                ItemValue::Immediate(_) => &[],
            };
            let piece = &rest[..rest.len().min(left)];
            out.extend_from_slice(piece);
            left -= piece.len();
            self.next = if piece.len() == rest.len() { (index + 1, 0) } else { (index, at + piece.len()) };
        }
        out.resize(out.len() + left, 0);
    }
}
