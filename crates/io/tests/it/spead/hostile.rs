//! Any bytes: errors, no panic, and what comes out is in itself consistent.

use fringes_io::spead::{
    ChunkAssembler, ChunkOptions, Descriptor, HeapAssembler, HeapLimits, HeapView, Item, Packet, PacketShape,
    VoltageHeaps, id,
};
use fringes_types::Inputs;
use num_complex::Complex;
use proptest::prelude::*;

use super::packets;

/// Packets that are good: two heaps of voltages in three packets each, descriptors, a stop.
fn good() -> Vec<Vec<u8>> {
    let shape = PacketShape { packet_bytes: 40 + 32 + 48, repeat_pointers: true };
    let mut all = Vec::new();
    for heap in 0..2 {
        let voltages: Vec<u8> = (0..128).collect();
        let items = [
            Item::immediate(id::TIMESTAMP, 64 * heap),
            Item::immediate(id::FENG_ID, heap),
            Item::immediate(id::FREQUENCY, 0),
            Item::bytes(id::FENG_RAW, &voltages),
        ];
        all.extend(packets(heap, &items, shape));
    }
    let described = Descriptor::numpy(id::FENG_RAW, "feng_raw", "voltages", "|i1", &[4, 8, 2, 2]).encode().unwrap();
    all.extend(packets(7, &[Item::bytes(id::DESCRIPTOR, &described)], PacketShape::default()));
    all.extend(packets(8, &[Item::immediate(id::STREAM_CONTROL, 2)], PacketShape::default()));
    all
}

/// Gives packets to everything that takes them.
fn survives(packets: &[Vec<u8>]) -> Result<(), TestCaseError> {
    let inputs = Inputs::new(2, 2).unwrap();
    let format = VoltageHeaps::<Complex<i8>>::new(inputs, 4, 8, 8, 2).unwrap();
    let mut chunks =
        ChunkAssembler::new(format, ChunkOptions { live_heaps: Some(3), ..ChunkOptions::default() }).unwrap();
    let mut heaps = HeapAssembler::new(HeapLimits { live_heaps: 3, heap_bytes: 1 << 16 }).unwrap();
    for packet in packets {
        if let Ok(packet) = Packet::decode(packet) {
            prop_assert!(packet.offset() + packet.payload().len() <= packet.heap_size());
            if let Some(heap) = HeapView::of_packet(&packet) {
                look(&heap);
            }
        }
        if let Ok(Some(heap)) = heaps.push(packet) {
            look(&heap.view());
            heaps.recycle(heap);
        }
        let _ = chunks.push(packet);
        let _ = Descriptor::decode(packet);
    }
    chunks.flush();
    heaps.flush();
    let mut delivered = 0;
    let mut last = None;
    while let Some(chunk) = chunks.next_chunk().unwrap() {
        let first = chunk.clock().first_sample;
        prop_assert!(last.is_none_or(|last| last < first), "chunks are in order");
        prop_assert!(chunk.presence().is_some());
        last = Some(first);
        delivered += 1;
    }
    let counters = chunks.counters();
    prop_assert_eq!((counters.packets, counters.chunks), (packets.len() as u64, delivered));
    let fates = counters.heaps_stored + counters.heaps_other + counters.heaps_late + counters.heaps_ahead;
    prop_assert_eq!(counters.heaps_complete, fates + counters.heaps_duplicate);
    Ok(())
}

fn look(heap: &HeapView<'_>) {
    for (id, _) in heap.items() {
        let _ = (heap.immediate(id), heap.bytes(id));
    }
    let _ = (heap.descriptors(), heap.control());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_survived(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)) {
        survives(&packets)?;
    }

    #[test]
    fn bytes_behind_a_good_header_are_survived(words in prop::collection::vec(any::<u64>(), 0..20), count in 0u64..12) {
        let mut packet = (0x5304_0206_0000_0000 | count).to_be_bytes().to_vec();
        // Identifiers that mean something, half of the time.
        let word = |word: &u64| if word & 1 == 0 { word & 0x800f_0000_0000_01ff } else { *word };
        packet.extend(words.iter().flat_map(|value| word(value).to_be_bytes()));
        survives(&[packet])?;
    }

    #[test]
    fn damaged_packets_are_survived(
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0usize..130, any::<u8>()), 1..12),
        cut in prop::option::of((any::<prop::sample::Index>(), 0usize..130)),
        order: u64,
    ) {
        let mut packets = good();
        for (packet, at, value) in damages {
            let packet = packet.get(&packets).clone();
            let mut damaged = packet.clone();
            let length = damaged.len();
            damaged[at % length] = value;
            packets.push(damaged);
        }
        if let Some((packet, length)) = cut {
            let index = packet.index(packets.len());
            packets[index].truncate(length);
        }
        super::shuffle(&mut packets, order);
        survives(&packets)?;
    }
}
