//! One packet: a header, item pointers, a piece of a heap's payload.

use super::item::{ADDRESS_BITS, ItemPointer, StreamControl, id};
use super::{PacketError, PacketPointers};

/// Magic number and version in the first two bytes.
pub(crate) const MAGIC_VERSION: u16 = 0x5304;
/// Bytes of an identifier with its immediate bit, and of an address.
pub(crate) const FLAVOUR: [u8; 2] = [(64 - ADDRESS_BITS) as u8 / 8, ADDRESS_BITS as u8 / 8];
/// Bytes of the header and of each item pointer.
pub(crate) const WORD: usize = 8;

/// The four items that say where a packet belongs, in the order in which they are sent.
const PLACE: [(u16, &str); 4] = [
    (id::HEAP_CNT, "heap counter"),
    (id::HEAP_SIZE, "heap size"),
    (id::HEAP_OFFSET, "heap offset"),
    (id::PAYLOAD_LENGTH, "payload length"),
];

/// A packet of SPEAD-64-48, checked.
///
/// # Layout
/// Words of 8 bytes, big-endian, and then the payload:
///
/// | word | holds |
/// |---|---|
/// | 0 | `0x53`, version 4, 2 (bytes of an identifier), 6 (bytes of an address), 16 bits of 0, 16 bits: number of items |
/// | 1 .. | an [`ItemPointer`] an item; four of them are heap counter, heap size, heap offset, payload length |
///
/// Bytes behind the payload are not looked at, as a link may pad what is short.
///
/// Source: the SPEAD protocol document, as `spead2` implements it. The heap size, which the protocol lets senders leave
/// out, is asked for: MeerKAT's always send it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packet<'a> {
    heap_cnt: u64,
    heap_size: usize,
    offset: usize,
    pointers: &'a [u8],
    payload: &'a [u8],
    control: Option<StreamControl>,
}

impl<'a> Packet<'a> {
    /// Reads and checks a packet.
    ///
    /// # Errors
    /// [`PacketError`]: no bytes panic. What is accepted lies within its heap: payload and items.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let actual = bytes.len() as u64;
        let short = |what, expected| PacketError::Truncated { what, expected, actual };
        let (&[a, b, id_bytes, address_bytes, _, _, high, low], rest) =
            bytes.split_first_chunk::<WORD>().ok_or(short("header", WORD as u64))?;
        let magic = u16::from_be_bytes([a, b]);
        if magic != MAGIC_VERSION {
            return Err(PacketError::Magic { actual: magic });
        }
        if [id_bytes, address_bytes] != FLAVOUR {
            return Err(PacketError::Flavour { id_bytes, address_bytes });
        }
        let pointer_bytes = WORD * usize::from(u16::from_be_bytes([high, low]));
        let end = (WORD + pointer_bytes) as u64;
        let (pointers, rest) = rest.split_at_checked(pointer_bytes).ok_or(short("list of item pointers", end))?;
        let (place, control, last) = scan(pointers)?;
        let [heap_cnt, heap_size, offset, length] = place;
        // Values have 48 bits: sums do not overflow.
        if offset + length > heap_size {
            return Err(PacketError::PayloadPastHeap { offset, length, heap_size });
        }
        if let Some(pointer) = last.filter(|pointer| pointer.value() > heap_size) {
            return Err(PacketError::ItemPastHeap { id: pointer.id(), address: pointer.value(), heap_size });
        }
        let whole = |value: u64| usize::try_from(value).ok();
        let payload = whole(length).and_then(|length| rest.get(..length)).ok_or(short("payload", end + length))?;
        let too_large = PacketError::HeapTooLarge { heap_cnt, expected: usize::MAX as u64, actual: heap_size };
        let (heap_size, offset) = whole(heap_size).zip(whole(offset)).ok_or(too_large)?;
        Ok(Self { heap_cnt, heap_size, offset, pointers, payload, control })
    }

    /// Counter of the heap that the packet is a part of.
    pub fn heap_cnt(&self) -> u64 {
        self.heap_cnt
    }

    /// Bytes of the heap's payload.
    pub fn heap_size(&self) -> usize {
        self.heap_size
    }

    /// Where the packet's payload lies in the heap's, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The packet's payload.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the packet is all of its heap.
    pub fn is_whole_heap(&self) -> bool {
        self.payload.len() == self.heap_size
    }

    /// The packet's item pointers, in order, without the four that say where it belongs.
    pub fn pointers(&self) -> PacketPointers<'a> {
        PacketPointers::new(self.pointers)
    }

    /// The bytes of all item pointers.
    pub(crate) fn pointer_bytes(&self) -> &'a [u8] {
        self.pointers
    }

    /// The stream control item of the packet, if it has one. Of several, the last counts.
    pub fn control(&self) -> Option<StreamControl> {
        self.control
    }
}

/// What a packet's pointers say: the four values, the control, and the addressed pointer that is furthest into the
/// heap.
type Scanned = ([u64; 4], Option<StreamControl>, Option<ItemPointer>);

fn scan(pointers: &[u8]) -> Result<Scanned, PacketError> {
    let mut place = [None::<u64>; 4];
    let (mut control, mut last) = (None, None::<ItemPointer>);
    for pointer in pointers.as_chunks::<WORD>().0 {
        let pointer = ItemPointer::from_be_bytes(*pointer);
        let (id, value) = (pointer.id(), pointer.value());
        if !pointer.is_immediate() {
            if last.is_none_or(|last| value > last.value()) {
                last = Some(pointer);
            }
        } else if let Some(index) = usize::from(id).checked_sub(1).filter(|&index| index < PLACE.len()) {
            match place[index].replace(value) {
                Some(first) if first != value => {
                    return Err(PacketError::Contradiction { item: PLACE[index].1, first, second: value });
                }
                _ => (),
            }
        } else if id == id::STREAM_CONTROL {
            control = StreamControl::from_value(value);
        }
    }
    let mut values = [0; 4];
    for ((value, place), (_, item)) in values.iter_mut().zip(place).zip(PLACE) {
        *value = place.ok_or(PacketError::MissingItem { item })?;
    }
    Ok((values, control, last))
}

/// Whether an identifier is one of the four that say where a packet belongs.
pub(crate) fn is_place(id: u16) -> bool {
    (id::HEAP_CNT..=id::PAYLOAD_LENGTH).contains(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet as `spead2` sends it: a stamp of 5, 24 bytes of voltages of which these are the first 16.
    fn good() -> Vec<u8> {
        let words: [u64; 9] = [
            0x5304_0206_0000_0006,
            0x8001_0000_0000_0003,
            0x8002_0000_0000_0018,
            0x8003_0000_0000_0000,
            0x8004_0000_0000_0010,
            0x9600_0000_0000_0005,
            0x4300_0000_0000_0000,
            0x0001_0203_0405_0607,
            0x0809_0a0b_0c0d_0e0f,
        ];
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn with(word: usize, value: u64) -> Vec<u8> {
        let mut bytes = good();
        bytes[8 * word..8 * word + 8].copy_from_slice(&value.to_be_bytes());
        bytes
    }

    #[test]
    fn a_packet_of_spead2_is_read() {
        let bytes = good();
        let packet = Packet::decode(&bytes).unwrap();
        assert_eq!((packet.heap_cnt(), packet.heap_size(), packet.offset()), (3, 24, 0));
        assert_eq!(packet.payload(), (0..16).collect::<Vec<u8>>());
        let pointers: Vec<_> = packet.pointers().collect();
        assert_eq!(pointers, [ItemPointer::immediate(id::TIMESTAMP, 5), ItemPointer::addressed(id::FENG_RAW, 0)]);
        assert!(!packet.is_whole_heap());
        assert_eq!(packet.control(), None);
    }

    #[test]
    fn bytes_behind_the_payload_are_not_looked_at() {
        let mut bytes = good();
        bytes.extend([0xaa; 30]);
        assert_eq!(Packet::decode(&bytes).unwrap().payload().len(), 16);
    }

    #[test]
    fn a_packet_cut_anywhere_is_truncated() {
        let bytes = good();
        for length in 0..bytes.len() {
            let error = Packet::decode(&bytes[..length]).unwrap_err();
            assert!(
                matches!(error, PacketError::Truncated { expected, actual, .. }
                    if actual == length as u64 && expected > actual),
                "{error}"
            );
        }
    }

    #[test]
    fn each_malformed_field_has_its_error() {
        let error = |bytes: &[u8]| Packet::decode(bytes).unwrap_err();
        assert_eq!(error(&with(0, 0x5404_0206_0000_0006)), PacketError::Magic { actual: 0x5404 });
        assert_eq!(error(&with(0, 0x5305_0206_0000_0006)), PacketError::Magic { actual: 0x5305 });
        let flavour = PacketError::Flavour { id_bytes: 3, address_bytes: 5 };
        assert_eq!(error(&with(0, 0x5304_0305_0000_0006)), flavour);
        let pointers = error(&with(0, 0x5304_0206_0000_ffff));
        assert!(matches!(pointers, PacketError::Truncated { what: "list of item pointers", .. }), "{pointers}");
        for (word, (_, item)) in PLACE.iter().enumerate() {
            // Not there, and there with an address.
            for other in [0x9601_0000_0000_0001, ((word as u64 + 1) << 48) | 1] {
                assert_eq!(error(&with(word + 1, other)), PacketError::MissingItem { item });
            }
            let value = [3, 24, 0, 16][word];
            let twice = ItemPointer::immediate(word as u16 + 1, value + 1);
            let contradiction = PacketError::Contradiction { item, first: value, second: value + 1 };
            assert_eq!(error(&with(5, u64::from_be_bytes(twice.to_be_bytes()))), contradiction);
        }
        let past = PacketError::PayloadPastHeap { offset: 9, length: 16, heap_size: 24 };
        assert_eq!(error(&with(3, 0x8003_0000_0000_0009)), past);
        let huge = PacketError::PayloadPastHeap { offset: (1 << 48) - 1, length: 16, heap_size: 24 };
        assert_eq!(error(&with(3, 0x8003_ffff_ffff_ffff)), huge);
        let item = PacketError::ItemPastHeap { id: id::FENG_RAW, address: 25, heap_size: 24 };
        assert_eq!(error(&with(6, 0x4300_0000_0000_0019)), item);
        let lying = error(&with(4, 0x8004_0000_0000_0018));
        assert_eq!(lying, PacketError::Truncated { what: "payload", expected: 80, actual: 72 });
    }

    #[test]
    fn the_same_value_twice_is_no_contradiction() {
        assert!(Packet::decode(&with(5, 0x8001_0000_0000_0003)).is_ok());
    }

    #[test]
    fn a_stop_packet_says_so() {
        let words: [u64; 7] = [
            0x5304_0206_0000_0006,
            0x8001_0000_0000_0002,
            0x8002_0000_0000_0001,
            0x8003_0000_0000_0000,
            0x8004_0000_0000_0001,
            0x8006_0000_0000_0002,
            0x0000_0000_0000_0000,
        ];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.push(0);
        assert_eq!(Packet::decode(&bytes).unwrap().control(), Some(StreamControl::Stop));
    }
}
