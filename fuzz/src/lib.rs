//! Reads any bytes as a recording or receives them as packets, as the fuzz targets do.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run read_vdif -- -max_total_time=600 -rss_limit_mb=512
//! ```
//!
//! The first two bytes of an input say where it is cut into two files, little-endian; at 0 or past the end it is one
//! file. `guppi.dict` and `dada.dict` are dictionaries (`-dict=fuzz/guppi.dict`). Before each packet of `spead` are two
//! bytes with its length.

use std::io::Cursor;

use fringes_io::read::{FileFormat, OpenOptions, Source, open_sources};
use fringes_io::spead::{
    ChunkAssembler, ChunkOptions, Descriptor, HeapAssembler, HeapLimits, HeapView, PackedSampleHeaps, Packet,
    VoltageHeaps,
};
use fringes_types::{Complex, Inputs};

/// Most blocks that are read of one input: a damaged time may be a long gap, which is many blocks of zeros.
const BLOCKS: usize = 200;

/// Reads bytes as a recording to its end, and checks that blocks follow each other.
pub fn read_everything(format: FileFormat, bytes: &[u8]) {
    let Some((&[low, high], bytes)) = bytes.split_first_chunk::<2>() else { return };
    let cut = usize::from(u16::from_le_bytes([low, high]));
    let files = match bytes.split_at_checked(cut) {
        Some((first, second)) if !first.is_empty() && !second.is_empty() => vec![first, second],
        _ => vec![bytes],
    };
    let sources = files.into_iter().map(|file| Source::stream("input", Cursor::new(file.to_vec()))).collect();
    let options = OpenOptions { format: Some(format), block_bytes: 1 << 20, ..OpenOptions::default() };
    let Ok(mut reader) = open_sources(sources, &options) else { return };
    let dimensions = (reader.info().channels, reader.info().inputs.len());
    let mut next = 0;
    for block in 0..BLOCKS {
        match reader.read(1 + 37 * (block % 5)) {
            Ok(Some(block)) => {
                let (channels, inputs, times) = block.data.dim();
                assert_eq!((channels, inputs, block.first_sample), (dimensions.0, dimensions.1, next));
                assert!(times > 0);
                next += times as u64;
            }
            Ok(None) => return,
            Err(_) => {
                assert!(matches!(reader.read(1), Ok(None)), "an error comes once");
                return;
            }
        }
    }
}

/// Takes bytes as packets, through every layer, and checks that what comes out is consistent.
pub fn receive_everything(mut bytes: &[u8]) {
    let Ok(inputs) = Inputs::new(2, 2) else { return };
    let options = ChunkOptions { live_heaps: Some(4), ..ChunkOptions::default() };
    let voltages = VoltageHeaps::<Complex<i8>>::new(inputs, 4, 8, 8, 2);
    let samples = PackedSampleHeaps::new(inputs, 10, 8, 4);
    let Some(mut voltages) = voltages.ok().and_then(|format| ChunkAssembler::new(format, options).ok()) else { return };
    let Some(mut samples) = samples.ok().and_then(|format| ChunkAssembler::new(format, options).ok()) else { return };
    let Ok(mut heaps) = HeapAssembler::new(HeapLimits { live_heaps: 4, heap_bytes: 1 << 16 }) else { return };
    while let Some((&[low, high], rest)) = bytes.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        bytes = rest;
        let _ = Descriptor::decode(packet);
        if let Ok(packet) = Packet::decode(packet) {
            assert!(packet.offset() + packet.payload().len() <= packet.heap_size());
            if let Some(heap) = HeapView::of_packet(&packet) {
                look(&heap);
            }
        }
        if let Ok(Some(heap)) = heaps.push(packet) {
            look(&heap.view());
            heaps.recycle(heap);
        }
        let _ = (voltages.push(packet), samples.push(packet));
    }
    heaps.flush();
    voltages.flush();
    samples.flush();
    let mut last = None;
    while let Ok(Some(chunk)) = voltages.next_chunk() {
        let first = chunk.clock().first_sample;
        assert!(last.is_none_or(|last| last < first), "chunks are in the order of time");
        last = Some(first);
    }
    let counters = voltages.counters();
    let stored = counters.heaps_stored + counters.heaps_duplicate + counters.heaps_late;
    assert_eq!(counters.heaps_complete, stored + counters.heaps_other + counters.heaps_ahead);
}

/// Reads all of a heap.
fn look(heap: &HeapView<'_>) {
    for (id, _) in heap.items() {
        let _ = (heap.immediate(id), heap.bytes(id));
    }
    let _ = (heap.descriptors(), heap.control());
}
