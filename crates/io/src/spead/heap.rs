//! A complete heap: its items, and the payload that they point into.

use super::SpeadError;
use super::descriptor::Descriptor;
use super::item::{ItemPointer, StreamControl, id};
use super::packet::{Packet, WORD, is_place};

/// Item pointers of a packet or a heap, without the four that say where a packet belongs.
#[derive(Debug, Clone)]
pub struct PacketPointers<'a> {
    bytes: &'a [u8],
}

impl<'a> PacketPointers<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl Iterator for PacketPointers<'_> {
    type Item = ItemPointer;

    fn next(&mut self) -> Option<ItemPointer> {
        loop {
            let (word, rest) = self.bytes.split_first_chunk::<WORD>()?;
            self.bytes = rest;
            let pointer = ItemPointer::from_be_bytes(*word);
            if !(pointer.is_immediate() && is_place(pointer.id())) {
                return Some(pointer);
            }
        }
    }
}

/// The value of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemValue<'a> {
    /// A number of at most 48 bits, in the pointer.
    Immediate(u64),
    /// Bytes of the payload.
    Bytes(&'a [u8]),
}

/// A complete heap, wherever its bytes lie.
///
/// An item with an address reaches to the next address that an item has, or to the end of the payload; of items with
/// the same address, the last one has the bytes.
#[derive(Debug, Clone, Copy)]
pub struct HeapView<'a> {
    heap_cnt: u64,
    pointers: &'a [u8],
    payload: &'a [u8],
}

impl<'a> HeapView<'a> {
    /// The heap of a packet that is all of it.
    pub fn of_packet(packet: &Packet<'a>) -> Option<Self> {
        let (pointers, payload) = (packet.pointer_bytes(), packet.payload());
        packet.is_whole_heap().then_some(Self { heap_cnt: packet.heap_cnt(), pointers, payload })
    }

    pub(crate) fn new(heap_cnt: u64, pointers: &'a [u8], payload: &'a [u8]) -> Self {
        Self { heap_cnt, pointers, payload }
    }

    /// Counter of the heap.
    pub fn heap_cnt(&self) -> u64 {
        self.heap_cnt
    }

    /// The payload of all items.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The item pointers.
    pub fn pointers(&self) -> PacketPointers<'a> {
        PacketPointers::new(self.pointers)
    }

    /// The value of an immediate item, `None` if there is no such item or if it is there with two values.
    pub fn immediate(&self, id: u16) -> Option<u64> {
        let mut values =
            self.pointers().filter(|pointer| pointer.id() == id && pointer.is_immediate()).map(ItemPointer::value);
        let value = values.next()?;
        values.all(|other| other == value).then_some(value)
    }

    /// The bytes of the first item with an address and this identifier.
    pub fn bytes(&self, id: u16) -> Option<&'a [u8]> {
        let mut addressed = self.pointers().filter(|pointer| !pointer.is_immediate());
        let first = addressed.by_ref().find(|pointer| pointer.id() == id)?.value();
        let behind = addressed.map(ItemPointer::value).filter(|&address| address == first);
        let end = self
            .pointers()
            .filter(|pointer| !pointer.is_immediate())
            .map(ItemPointer::value)
            .filter(|&address| address > first)
            .chain(behind)
            .min()
            .unwrap_or(self.payload.len() as u64);
        self.payload.get(usize::try_from(first).ok()?..usize::try_from(end).ok()?)
    }

    /// All items in the order of their pointers, without [`id::NULL`].
    pub fn items(&self) -> Vec<(u16, ItemValue<'a>)> {
        let pointers: Vec<ItemPointer> = self.pointers().collect();
        // Addresses in order; of the same address, in the order of their pointers.
        let mut order: Vec<usize> = (0..pointers.len()).filter(|&index| !pointers[index].is_immediate()).collect();
        order.sort_by_key(|&index| pointers[index].value());
        let mut ends = vec![self.payload.len() as u64; pointers.len()];
        for pair in order.windows(2) {
            ends[pair[0]] = pointers[pair[1]].value();
        }
        let value = |index: usize, pointer: ItemPointer| {
            if pointer.is_immediate() {
                return Some(ItemValue::Immediate(pointer.value()));
            }
            let (start, end) = (usize::try_from(pointer.value()).ok()?, usize::try_from(ends[index]).ok()?);
            self.payload.get(start..end).map(ItemValue::Bytes)
        };
        let named = pointers.iter().enumerate().filter(|(_, pointer)| pointer.id() != id::NULL);
        named.filter_map(|(index, &pointer)| Some((pointer.id(), value(index, pointer)?))).collect()
    }

    /// The descriptors of the heap.
    ///
    /// # Errors
    /// [`SpeadError::Descriptor`] or [`SpeadError::Packet`] for one that cannot be read.
    pub fn descriptors(&self) -> Result<Vec<Descriptor>, SpeadError> {
        let described = self.items().into_iter().filter(|(id, _)| *id == id::DESCRIPTOR);
        described
            .map(|(_, value)| match value {
                ItemValue::Bytes(bytes) => Descriptor::decode(bytes),
                ItemValue::Immediate(_) => Err(SpeadError::Descriptor {
                    field: "item",
                    expected: "a packet in the payload",
                    actual: "a number in the pointer".into(),
                }),
            })
            .collect()
    }

    /// The stream control item of the heap, if it has one.
    pub fn control(&self) -> Option<StreamControl> {
        self.immediate(id::STREAM_CONTROL).and_then(StreamControl::from_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(list: &[ItemPointer]) -> Vec<u8> {
        list.iter().flat_map(|pointer| pointer.to_be_bytes()).collect()
    }

    #[test]
    fn items_reach_to_the_next_address() {
        let list = pointers(&[
            ItemPointer::addressed(0x4300, 6),
            ItemPointer::immediate(id::HEAP_SIZE, 10),
            ItemPointer::addressed(0x10, 0),
            ItemPointer::immediate(0x1600, 77),
            ItemPointer::addressed(0x11, 4),
            ItemPointer::addressed(0x12, 4),
            ItemPointer::addressed(id::NULL, 9),
        ]);
        let payload: Vec<u8> = (0..10).collect();
        let heap = HeapView::new(1, &list, &payload);
        let bytes = |range: std::ops::Range<usize>| ItemValue::Bytes(&payload[range]);
        let expected = [
            (0x4300, bytes(6..9)),
            (0x10, bytes(0..4)),
            (0x1600, ItemValue::Immediate(77)),
            (0x11, bytes(4..4)),
            (0x12, bytes(4..6)),
        ];
        assert_eq!(heap.items(), expected);
        for (id, value) in expected {
            match value {
                ItemValue::Bytes(bytes) => assert_eq!(heap.bytes(id), Some(bytes), "{id:#x}"),
                ItemValue::Immediate(value) => assert_eq!(heap.immediate(id), Some(value)),
            }
        }
        assert_eq!((heap.bytes(0x1600), heap.immediate(0x10), heap.bytes(0x13)), (None, None, None));
    }

    #[test]
    fn an_item_with_two_values_has_none() {
        let list = pointers(&[ItemPointer::immediate(0x1600, 7), ItemPointer::immediate(0x1600, 8)]);
        assert_eq!(HeapView::new(1, &list, &[]).immediate(0x1600), None);
        let list = pointers(&[ItemPointer::immediate(0x1600, 7), ItemPointer::immediate(0x1600, 7)]);
        assert_eq!(HeapView::new(1, &list, &[]).immediate(0x1600), Some(7));
    }
}
