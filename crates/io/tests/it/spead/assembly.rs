//! Several heaps at once, duplicates, losses.

use fringes_io::spead::{HeapAssembler, HeapLimits, Item, ItemPointer, PacketError, PacketShape, SpeadError, id};
use proptest::prelude::*;

use super::{packets, shuffle};

const SHAPE: PacketShape = PacketShape { packet_bytes: 40 + 16 + 64, repeat_pointers: true };

/// A heap of 4 packets.
fn heap(heap_cnt: u64) -> Vec<Vec<u8>> {
    let payload: Vec<u8> = (0..256).map(|byte| (byte as u64 * 7 + heap_cnt) as u8).collect();
    packets(heap_cnt, &[Item::immediate(id::TIMESTAMP, heap_cnt), Item::bytes(id::FENG_RAW, &payload)], SHAPE)
}

fn assembler(live_heaps: usize) -> HeapAssembler {
    HeapAssembler::new(HeapLimits { live_heaps, heap_bytes: 1 << 12 }).unwrap()
}

/// A packet by hand: its place, other pointers, payload.
fn by_hand(place: [u64; 3], pointers: &[ItemPointer], payload: &[u8]) -> Vec<u8> {
    let own = [(id::HEAP_CNT, place[0]), (id::HEAP_SIZE, place[1]), (id::HEAP_OFFSET, place[2])];
    let own = own.into_iter().chain([(id::PAYLOAD_LENGTH, payload.len() as u64)]);
    let count = (4 + pointers.len()) as u16;
    let mut bytes = [&[0x53, 4, 2, 6, 0, 0][..], &count.to_be_bytes()].concat();
    bytes.extend(own.flat_map(|(id, value)| ItemPointer::immediate(id, value).to_be_bytes()));
    bytes.extend(pointers.iter().flat_map(|pointer| pointer.to_be_bytes()));
    bytes.extend(payload);
    bytes
}

#[test]
fn heaps_that_are_mixed_come_apart_and_duplicates_are_counted() {
    let mut all: Vec<Vec<u8>> = (0..8).flat_map(heap).collect();
    all.extend(all.clone());
    shuffle(&mut all, 5);
    let mut assembler = assembler(8);
    let mut complete = Vec::new();
    for packet in &all {
        if let Some(heap) = assembler.push(packet).unwrap() {
            let view = heap.view();
            let expected: Vec<u8> = (0..256).map(|byte| (byte as u64 * 7 + view.heap_cnt()) as u8).collect();
            assert_eq!(view.bytes(id::FENG_RAW), Some(&expected[..]));
            assert_eq!(view.immediate(id::TIMESTAMP), Some(view.heap_cnt()));
            complete.push(view.heap_cnt());
            assembler.recycle(heap);
        }
    }
    complete.sort_unstable();
    assert_eq!(complete, (0..8).collect::<Vec<u64>>());
    let counters = assembler.counters();
    assert_eq!((counters.packets, counters.duplicate_packets, counters.heaps_complete), (64, 32, 8));
    assert_eq!((counters.malformed, counters.late_packets, counters.heaps_incomplete), (0, 0, 0));
    assert_eq!(counters.bytes, all.iter().map(|packet| packet.len() as u64).sum::<u64>());
}

#[test]
fn the_oldest_heap_is_given_up_and_its_packets_are_late() {
    let mut assembler = assembler(2);
    for heap_cnt in [1, 2, 3] {
        assert!(assembler.push(&heap(heap_cnt)[0]).unwrap().is_none());
    }
    assert_eq!(assembler.counters().heaps_incomplete, 1);
    for packet in &heap(1)[1..] {
        assert!(assembler.push(packet).unwrap().is_none());
    }
    assert_eq!(assembler.counters().late_packets, 3);
    // The other two are as they were.
    for heap_cnt in [2, 3] {
        let complete = heap(heap_cnt)[1..].iter().filter_map(|packet| assembler.push(packet).unwrap()).count();
        assert_eq!(complete, 1);
    }
    assembler.push(&heap(4)[0]).unwrap();
    assembler.flush();
    let counters = assembler.counters();
    assert_eq!((counters.heaps_complete, counters.heaps_incomplete), (2, 2));
}

#[test]
fn packets_that_contradict_their_heap_are_refused_and_change_nothing() {
    let mut assembler = assembler(4);
    let raw = ItemPointer::addressed(id::FENG_RAW, 0);
    let first = by_hand([9, 256, 0], &[raw], &[1; 128]);
    assert!(assembler.push(&first).unwrap().is_none());
    let size = assembler.push(&by_hand([9, 255, 128], &[raw], &[2; 64])).unwrap_err();
    assert_eq!(size, PacketError::HeapSize { heap_cnt: 9, expected: 256, actual: 255 });
    let other = ItemPointer::immediate(id::TIMESTAMP, 1);
    let overlap = assembler.push(&by_hand([9, 256, 100], &[raw, other], &[3; 64])).unwrap_err();
    assert_eq!(overlap, PacketError::Overlap { heap_cnt: 9, offset: 100, length: 64 });
    let large = assembler.push(&by_hand([10, 4097, 0], &[raw], &[4; 64])).unwrap_err();
    assert_eq!(large, PacketError::HeapTooLarge { heap_cnt: 10, expected: 4096, actual: 4097 });
    let complete = assembler.push(&by_hand([9, 256, 128], &[raw], &[5; 128])).unwrap().unwrap();
    assert_eq!(complete.view().bytes(id::FENG_RAW), Some(&[[1; 128], [5; 128]].concat()[..]));
    assert_eq!(complete.view().immediate(id::TIMESTAMP), None, "pointers of a refused packet are not kept");
    assert_eq!((assembler.counters().malformed, assembler.counters().heaps_complete), (3, 1));
}

#[test]
fn pieces_and_items_have_a_limit() {
    let mut pieces = assembler(1);
    let refused = (0..500).filter_map(|piece| pieces.push(&by_hand([1, 1024, 2 * piece], &[], &[0])).err());
    let refused: Vec<PacketError> = refused.collect();
    assert_eq!(refused.len(), 500 - 80);
    assert!(matches!(refused[0], PacketError::TooMany { expected: 80, .. }), "{}", refused[0]);
    let mut items = assembler(1);
    let pointers: Vec<ItemPointer> = (0..4000).map(|value| ItemPointer::immediate(id::TIMESTAMP, value)).collect();
    assert!(items.push(&by_hand([1, 1024, 0], &pointers, &[0; 8])).is_ok());
    let more: Vec<ItemPointer> = (0..200).map(|value| ItemPointer::immediate(id::FENG_ID, value)).collect();
    let error = items.push(&by_hand([1, 1024, 8], &more, &[0; 8])).unwrap_err();
    assert!(matches!(error, PacketError::TooMany { what: "items", .. }), "{error}");
    assert!(items.push(&by_hand([1, 1024, 8], &[], &[0; 1016])).unwrap().is_some(), "the refused piece was not kept");
}

#[test]
fn an_assembler_without_room_is_refused() {
    for live_heaps in [0, 1 << 17] {
        let error = HeapAssembler::new(HeapLimits { live_heaps, heap_bytes: 1 }).unwrap_err();
        assert!(matches!(error, SpeadError::Setting { .. }), "{error}");
    }
}

proptest! {
    #[test]
    fn every_packet_is_counted_once(order in prop::collection::vec((0u64..6, 0usize..4), 0..120)) {
        let mut assembler = assembler(2);
        let mut complete = 0;
        for &(heap_cnt, packet) in &order {
            complete += u64::from(assembler.push(&heap(heap_cnt)[packet]).unwrap().is_some());
        }
        assembler.flush();
        let counters = assembler.counters();
        prop_assert_eq!(counters.packets, order.len() as u64);
        prop_assert_eq!(counters.heaps_complete, complete);
        // Of a complete heap four packets were stored, of an incomplete one 1 to 3.
        let stored = counters.packets - counters.duplicate_packets - counters.late_packets;
        let least = 4 * complete + counters.heaps_incomplete;
        prop_assert!((least..=4 * complete + 3 * counters.heaps_incomplete).contains(&stored), "{:?}", counters);
    }
}
