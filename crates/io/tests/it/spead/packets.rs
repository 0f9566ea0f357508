//! Heaps become packets and heaps again.

use fringes_io::spead::{HeapAssembler, HeapLimits, Item, ItemValue, Packet, PacketShape, SpeadError, id};
use proptest::prelude::*;

use super::{owned, packets, shuffle};

/// What an item is, with its bytes.
type Owned = (u16, Result<u64, Vec<u8>>);

fn items(list: &[Owned]) -> Vec<Item<'_>> {
    list.iter()
        .map(|(id, value)| match value {
            Ok(value) => Item::immediate(*id, *value),
            Err(bytes) => Item::bytes(*id, bytes),
        })
        .collect()
}

fn any_items() -> impl Strategy<Value = Vec<Owned>> {
    let value = prop_oneof![(0u64..1 << 48).prop_map(Ok), prop::collection::vec(any::<u8>(), 0..300).prop_map(Err),];
    // Items of a heap have different identifiers here: 0x100 and up.
    prop::collection::vec(value, 0..12)
        .prop_map(|values| values.into_iter().enumerate().map(|(index, value)| (0x100 + index as u16, value)).collect())
}

proptest! {
    #[test]
    fn heaps_come_back_from_packets_in_any_order(
        list in any_items(), words in 7usize..80, repeat: bool, heap_cnt in 0u64..1 << 48, seed: u64,
    ) {
        let packet_bytes = if repeat { 8 * words + 8 * list.len() + 16 } else { 8 * words };
        let shape = PacketShape { packet_bytes, repeat_pointers: repeat };
        let items = items(&list);
        let mut packets = packets(heap_cnt, &items, shape);
        for packet in &packets {
            prop_assert!(packet.len() <= packet_bytes);
            let decoded = Packet::decode(packet).unwrap();
            prop_assert!(!decoded.payload().is_empty());
            prop_assert_eq!(decoded.pointers().count() >= list.len(), repeat || decoded.pointers().count() >= list.len());
        }
        shuffle(&mut packets, seed);
        let mut assembler = HeapAssembler::new(HeapLimits::default()).unwrap();
        let (last, first) = packets.split_last().unwrap();
        for packet in first {
            prop_assert!(assembler.push(packet).unwrap().is_none());
        }
        let heap = assembler.push(last).unwrap().expect("the last packet completes the heap");
        prop_assert_eq!(heap.view().heap_cnt(), heap_cnt);
        // Pointers come in the order of their packets.
        let (mut expected, mut actual) = (list, owned(&heap.view()));
        if !repeat {
            expected.sort_by_key(|(id, _)| *id);
            actual.sort_by_key(|(id, _)| *id);
            // Empty items share an address with the next one, and which is empty depends on the order.
            let empty = |(_, value): &Owned| !matches!(value, Err(bytes) if bytes.is_empty());
            if expected.iter().any(|item| !empty(item)) {
                return Ok(());
            }
        }
        prop_assert_eq!(actual, expected);
        prop_assert_eq!(assembler.counters().heaps_complete, 1);
        prop_assert_eq!(assembler.counters().packets, packets.len() as u64);
    }
}

#[test]
fn a_heap_without_payload_gets_padding_that_no_item_has() {
    let only = [Item::immediate(id::STREAM_CONTROL, 2)];
    let packets = packets(2, &only, PacketShape::default());
    assert_eq!(packets.len(), 1);
    let packet = Packet::decode(&packets[0]).unwrap();
    assert_eq!((packet.heap_size(), packet.payload()), (1, &[0][..]));
    // As spead2 sends it.
    let words: [u64; 7] = [
        0x5304_0206_0000_0006,
        0x8001_0000_0000_0002,
        0x8002_0000_0000_0001,
        0x8003_0000_0000_0000,
        0x8004_0000_0000_0001,
        0x8006_0000_0000_0002,
        0x0000_0000_0000_0000,
    ];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).chain([0]).collect();
    assert_eq!(packets[0], bytes);
}

#[test]
fn repeated_pointers_are_in_every_packet_as_spead2_sends_them() {
    let voltages: Vec<u8> = (0..24).collect();
    let items = [Item::immediate(id::TIMESTAMP, 5), Item::bytes(id::FENG_RAW, &voltages)];
    let packets = packets(3, &items, PacketShape { packet_bytes: 72, repeat_pointers: true });
    let words = |offset: u64, length: u64| -> Vec<u8> {
        [
            0x5304_0206_0000_0006,
            0x8001_0000_0000_0003,
            0x8002_0000_0000_0018,
            0x8003_0000_0000_0000 | offset,
            0x8004_0000_0000_0000 | length,
            0x9600_0000_0000_0005,
            0x4300_0000_0000_0000u64,
        ]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
    };
    let expected = [[words(0, 16), voltages[..16].to_vec()].concat(), [words(16, 8), voltages[16..].to_vec()].concat()];
    assert_eq!(packets, expected);
}

#[test]
fn what_does_not_fit_is_an_error_that_says_so() {
    let encoder = |items: &[Item<'_>], heap_cnt: u64, shape: PacketShape| {
        fringes_io::spead::PacketEncoder::new(heap_cnt, items, shape).map(|_| ())
    };
    let shape = PacketShape::default();
    assert!(encoder(&[], 1, shape).is_ok());
    let many = [Item::immediate(7, 7); 20];
    for (items, heap_cnt, shape) in [
        (&[Item::immediate(0x8000, 1)][..], 1, shape),
        (&[Item::immediate(1, 1 << 48)], 1, shape),
        (&[], 1 << 48, shape),
        (&[], 1, PacketShape { packet_bytes: 55, ..shape }),
        (&[], 1, PacketShape { packet_bytes: 65_508, ..shape }),
        (&many, 1, PacketShape { packet_bytes: 40 + 8 * 20, repeat_pointers: true }),
    ] {
        assert!(matches!(encoder(items, heap_cnt, shape), Err(SpeadError::Setting { .. })), "{items:?} {shape:?}");
    }
    assert!(encoder(&many, 1, PacketShape { packet_bytes: 56, repeat_pointers: false }).is_ok());
    assert_eq!(many[0].value, ItemValue::Immediate(7));
}
