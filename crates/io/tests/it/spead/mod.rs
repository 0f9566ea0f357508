//! SPEAD: packets, heaps, chunks, sockets.
#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

mod assembly;
mod chunks;
mod hostile;
mod memory;
mod network;
mod packets;
mod visibilities;

use fringes_io::spead::{HeapView, Item, ItemValue, PacketEncoder, PacketShape};

/// The packets of a heap.
pub(crate) fn packets(heap_cnt: u64, items: &[Item<'_>], shape: PacketShape) -> Vec<Vec<u8>> {
    let mut encoder = PacketEncoder::new(heap_cnt, items, shape).unwrap();
    let mut packets = Vec::new();
    loop {
        let mut packet = Vec::new();
        if encoder.next_packet(&mut packet).is_none() {
            return packets;
        }
        packets.push(packet);
    }
}

/// Items of a heap with what they own.
pub(crate) fn owned(heap: &HeapView<'_>) -> Vec<(u16, Result<u64, Vec<u8>>)> {
    let value = |value| match value {
        ItemValue::Immediate(value) => Ok(value),
        ItemValue::Bytes(bytes) => Err(bytes.to_vec()),
    };
    heap.items().into_iter().map(|(id, item)| (id, value(item))).collect()
}

/// A small generator of numbers, the same on every run.
pub(crate) fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Another order of the same things.
pub(crate) fn shuffle<T>(list: &mut [T], seed: u64) {
    let mut next = numbers(seed);
    for end in (1..list.len()).rev() {
        list.swap(end, (next() % (end as u64 + 1)) as usize);
    }
}
