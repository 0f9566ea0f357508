//! Heaps of samples and voltages into chunks.

use std::net::UdpSocket;
use std::time::Duration;

use fringes_io::spead::{
    ChunkAssembler, ChunkOptions, HeapFormat, Item, PackedSampleHeaps, PacketShape, SampleHeaps, SenderOptions,
    SpeadError, SpeadSender, VoltageHeaps, id,
};
use fringes_types::{Complex4, Frequencies, Heaps, Inputs, PackedSamples, SamplePresence, Samples, SpectrumClock};
use ndarray::{Array2, Array5};
use num_complex::Complex;
use proptest::prelude::*;

use super::{numbers, packets, shuffle};

/// The packets that a sender makes of a chunk, with 256 bytes of payload at most.
pub(crate) fn heaps_of<F: HeapFormat>(format: &F, chunk: &F::Chunk) -> Vec<Vec<u8>> {
    try_heaps_of(format, chunk).unwrap()
}

pub(crate) fn try_heaps_of<F: HeapFormat>(format: &F, chunk: &F::Chunk) -> Result<Vec<Vec<u8>>, SpeadError> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut options = SenderOptions::new(socket.local_addr().unwrap());
    options.packets = PacketShape { packet_bytes: 40 + 32 + 256, repeat_pointers: true };
    let mut sender = SpeadSender::new(format.clone(), &options)?;
    let sent = sender.send(chunk)?;
    let mut buffer = [0; 2048];
    let packets = (0..sent.packets).map(|_| {
        let bytes = socket.recv(&mut buffer).expect("every packet that was sent comes");
        buffer[..bytes].to_vec()
    });
    let packets: Vec<Vec<u8>> = packets.collect();
    assert_eq!(sent.bytes, packets.iter().map(|packet| packet.len() as u64).sum::<u64>());
    Ok(packets)
}

/// Takes packets and gives the chunks, those that are open at the end too.
fn chunks_of<F: HeapFormat>(assembler: &mut ChunkAssembler<F>, packets: &[Vec<u8>]) -> Vec<F::Chunk> {
    let mut chunks = Vec::new();
    for packet in packets {
        assembler.push(packet).unwrap();
        chunks.extend(assembler.next_chunk().unwrap());
    }
    assembler.flush();
    while let Some(chunk) = assembler.next_chunk().unwrap() {
        chunks.push(chunk);
    }
    chunks
}

fn inputs() -> Inputs {
    Inputs::new(3, 2).unwrap()
}

fn voltage_format() -> VoltageHeaps<Complex<i8>> {
    VoltageHeaps::new(inputs(), 8, 4, 32, 5).unwrap().with_channels_per_heap(4).unwrap().with_first_channel(16)
}

/// A chunk of 5 batches of voltages, all present.
fn voltages(first_sample: u64, seed: u64) -> Heaps<Complex<i8>> {
    let mut next = numbers(seed);
    let mut part = || (next() % 255) as i16 as i8 as i32;
    let part = &mut part;
    let data = Array5::from_shape_fn((5, 3, 8, 4, 2), |_| {
        Complex::new(part().clamp(-127, 127) as i8, part().clamp(-127, 127) as i8)
    });
    let clock = SpectrumClock { first_sample, samples_between_spectra: 32, ..SpectrumClock::default() };
    let presence = Array2::from_elem((5, 3), true);
    Heaps::new(data).unwrap().with_presence(presence).unwrap().with_clock(clock).unwrap()
}

/// Samples of a chunk of the voltages.
const LENGTH: u64 = 5 * 4 * 32;

#[test]
fn voltages_come_back_in_any_order() {
    let format = voltage_format();
    let sent: Vec<_> = (0..3).map(|chunk| voltages(chunk * LENGTH, chunk)).collect();
    let mut packets: Vec<_> = sent.iter().flat_map(|chunk| heaps_of(&format, chunk)).collect();
    // Everything at once: a window of as many chunks.
    shuffle(&mut packets, 3);
    let options = ChunkOptions { window_chunks: 3, first_timestamp: Some(0), live_heaps: Some(1000) };
    let mut assembler = ChunkAssembler::new(format, options).unwrap();
    assert_eq!(chunks_of(&mut assembler, &packets), sent);
    let counters = assembler.counters();
    assert_eq!((counters.heaps_stored, counters.chunks, counters.heaps_late), (90, 3, 0));
}

#[test]
fn lost_heaps_are_absent_and_zero() {
    let format = voltage_format();
    let sent = voltages(LENGTH, 1);
    let packets = heaps_of(&format, &sent);
    // Heaps of 4 channels are 64 bytes in one packet: antenna 1 of batch 2 loses its second half.
    assert_eq!(packets.len(), 30);
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    let lost = 2 * 6 + 2 + 1;
    let kept: Vec<_> = packets.iter().enumerate().filter(|(index, _)| *index != lost).map(|(_, p)| p.clone()).collect();
    let chunks = chunks_of(&mut assembler, &kept);
    assert_eq!((chunks.len(), chunks[0].clock()), (1, sent.clock()));
    for ((batch, antenna, channel, spectrum, pol), value) in chunks[0].data().indexed_iter() {
        let absent = (batch, antenna) == (2, 1);
        assert_eq!(chunks[0].presence().unwrap()[(batch, antenna)], !absent);
        let expected = if absent { Complex::new(0, 0) } else { sent.data()[(batch, antenna, channel, spectrum, pol)] };
        assert_eq!(*value, expected);
    }
}

#[test]
fn late_heaps_and_duplicates_are_counted_not_stored() {
    let format = voltage_format();
    let heaps: Vec<Vec<Vec<u8>>> = (0..4).map(|chunk| heaps_of(&format, &voltages(chunk * LENGTH, chunk))).collect();
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    // One heap of chunk 0, one of chunk 2: the window is two chunks, so chunk 0 is delivered.
    assembler.push(&heaps[0][0]).unwrap();
    assembler.push(&heaps[1][7]).unwrap();
    assert!(assembler.next_chunk().unwrap().is_none());
    assembler.push(&heaps[2][0]).unwrap();
    let first = assembler.next_chunk().unwrap().expect("the oldest chunk");
    assert_eq!(first.clock().first_sample, 0);
    assert!(
        first.presence().unwrap().iter().all(|&present| !present),
        "half of an antenna's channels is not an antenna"
    );
    assembler.push(&heaps[0][1]).unwrap();
    assert_eq!(assembler.counters().heaps_late, 1);
    // The place is taken, by other data of the same place too.
    assembler.push(&heaps[2][0]).unwrap();
    let mut other = heaps[2][0].clone();
    *other.last_mut().unwrap() ^= 1;
    assembler.push(&other).unwrap();
    assert_eq!(assembler.counters().heaps_duplicate, 2);
    assembler.push(&heaps[2][1]).unwrap();
    assembler.flush();
    assert_eq!(assembler.next_chunk().unwrap().unwrap().clock().first_sample, LENGTH);
    let last = assembler.next_chunk().unwrap().unwrap();
    let sent = voltages(2 * LENGTH, 2);
    assert_eq!(last.data().index_axis(ndarray::Axis(0), 0).index_axis(ndarray::Axis(0), 0), {
        sent.data().index_axis(ndarray::Axis(0), 0).index_axis(ndarray::Axis(0), 0).to_owned()
    });
    assert_eq!(assembler.counters().heaps_stored, 4);
}

#[test]
fn memory_that_was_given_back_shows_nothing_of_what_was_in_it() {
    let format = voltage_format();
    let mut assembler = ChunkAssembler::new(format.clone(), ChunkOptions::default()).unwrap();
    for number in 0..4 {
        let sent = voltages(number * LENGTH, number);
        let mut packets = heaps_of(&format, &sent);
        packets.drain(..8 * number as usize);
        for packet in &packets {
            assembler.push(packet).unwrap();
        }
        assembler.flush();
        let chunk = assembler.next_chunk().unwrap().unwrap();
        for ((batch, antenna, channel, spectrum, pol), value) in chunk.data().indexed_iter() {
            // Every 8 heaps are one batch and one antenna.
            let present = 3 * batch + antenna >= 4 * number as usize;
            let whole = sent.data()[(batch, antenna, channel, spectrum, pol)];
            assert_eq!(*value, if present { whole } else { Complex::new(0, 0) }, "{number} {batch} {antenna}");
        }
        assembler.recycle(chunk);
    }
    // Memory of another size is not used.
    assembler.recycle(Heaps::new(Array5::from_elem((1, 1, 1, 1, 1), Complex::new(1, 1))).unwrap());
    let sent = voltages(4 * LENGTH, 4);
    for packet in heaps_of(&format, &sent) {
        assembler.push(&packet).unwrap();
    }
    assert_eq!(assembler.next_chunk().unwrap(), Some(sent));
}

#[test]
fn a_gap_is_left_out_and_one_wild_timestamp_is_not_believed() {
    let format = voltage_format();
    let heap = |chunk: u64| heaps_of(&voltage_format(), &voltages(chunk * LENGTH, chunk))[0].clone();
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    let packets: Vec<_> = [0, 1, 100_000, 2, 60, 61, 200_000, 200_001].map(heap).into();
    let firsts: Vec<u64> =
        chunks_of(&mut assembler, &packets).iter().map(|chunk| chunk.clock().first_sample / LENGTH).collect();
    // 60 is within what is believed; of 200000 and 200001 the second one is.
    assert_eq!(firsts, [0, 1, 2, 60, 61, 200_001]);
    assert_eq!(assembler.counters().heaps_ahead, 2);
}

#[test]
fn timestamps_go_on_where_48_bits_end() {
    let format = voltage_format();
    let start = (1u64 << 48) - 2 * LENGTH;
    let first = start / LENGTH * LENGTH;
    let sent: Vec<_> = (0..6).map(|chunk| voltages(first + chunk * LENGTH, chunk)).collect();
    let packets: Vec<_> = sent.iter().flat_map(|chunk| heaps_of(&format, chunk)).collect();
    let mut assembler = ChunkAssembler::new(format.clone(), ChunkOptions::default()).unwrap();
    let received = chunks_of(&mut assembler, &packets);
    assert_eq!(received, sent);
    assert!(received[5].clock().first_sample > 1 << 48);
    // A stream that has run for longer says where it is.
    let far = 3 * (1u64 << 48) / LENGTH * LENGTH;
    let options = ChunkOptions { first_timestamp: Some(far), ..ChunkOptions::default() };
    let mut assembler = ChunkAssembler::new(format.clone(), options).unwrap();
    assert_eq!(chunks_of(&mut assembler, &heaps_of(&format, &voltages(far, 1))), [voltages(far, 1)]);
}

#[test]
fn chunks_begin_at_multiples_of_their_length() {
    let format = VoltageHeaps::<Complex<i8>>::new(inputs(), 8, 4, 32, 5).unwrap();
    // The first heap that comes is the third of a chunk, in a stream whose timestamps are 7 modulo 128.
    let voltages = [1u8; 128];
    let items = [
        Item::immediate(id::TIMESTAMP, 10 * LENGTH + 2 * 128 + 7),
        Item::immediate(id::FENG_ID, 2),
        Item::immediate(id::FREQUENCY, 0),
        Item::bytes(id::FENG_RAW, &voltages),
    ];
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    let chunks = chunks_of(&mut assembler, &packets(1, &items, PacketShape::default()));
    assert_eq!((chunks.len(), chunks[0].clock().first_sample), (1, 10 * LENGTH + 7));
    let there: Vec<_> = chunks[0].presence().unwrap().indexed_iter().filter(|(_, p)| **p).map(|(at, _)| at).collect();
    assert_eq!(there, [(2, 2)]);
}

#[test]
fn heaps_of_other_streams_are_counted_as_others() {
    let format = voltage_format();
    let good = [(id::TIMESTAMP, 0), (id::FENG_ID, 1), (id::FREQUENCY, 20)];
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    let mut push = |heap_cnt: u64, numbers: &[(u16, u64)], bytes: usize| {
        let data = vec![1; bytes];
        let mut items: Vec<Item<'_>> = numbers.iter().map(|&(id, value)| Item::immediate(id, value)).collect();
        items.push(Item::bytes(id::FENG_RAW, &data));
        for packet in packets(heap_cnt, &items, PacketShape::default()) {
            assembler.push(&packet).unwrap();
        }
        (assembler.counters().heaps_stored, assembler.counters().heaps_other)
    };
    assert_eq!(push(1, &good, 64), (1, 0));
    assert_eq!(push(2, &good, 63), (1, 1));
    for (other, (id, value)) in
        [(id::FENG_ID, 3), (id::FREQUENCY, 12), (id::FREQUENCY, 18), (id::FREQUENCY, 24), (id::TIMESTAMP, 5)]
            .into_iter()
            .enumerate()
    {
        let numbers = good.map(|(known, old)| if known == id { (known, value) } else { (known, old) });
        assert_eq!(push(3 + other as u64, &numbers, 64), (1, 2 + other as u64), "{id:#x} {value}");
    }
    assert_eq!(push(20, &good[1..], 64), (1, 7));
}

#[test]
fn values_that_are_no_samples_are_clamped_and_counted() {
    let data = [[0x80u8, 0x7f], [0x81, 0x80]].concat().repeat(16);
    let numbers =
        [Item::immediate(id::TIMESTAMP, 0), Item::immediate(id::FENG_ID, 0), Item::immediate(id::FREQUENCY, 0)];
    let send = |data: &[u8]| {
        let items: Vec<Item<'_>> = numbers.iter().copied().chain([Item::bytes(id::FENG_RAW, data)]).collect();
        packets(1, &items, PacketShape::default())
    };
    let one = Inputs::new(1, 2).unwrap();
    let format = VoltageHeaps::<Complex<i8>>::new(one, 4, 4, 32, 1).unwrap();
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    let chunk = chunks_of(&mut assembler, &send(&data)).remove(0);
    assert_eq!(assembler.counters().values_clamped, 32);
    assert_eq!(chunk.data()[(0, 0, 0, 0, 0)], Complex::new(-127, 127));
    assert!(Heaps::new(chunk.into_data()).is_ok());
    // 4 bits: 0x80 is -8 + 0i.
    let format = VoltageHeaps::<Complex4>::new(one, 4, 8, 32, 1).unwrap();
    let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
    let chunk = chunks_of(&mut assembler, &send(&data)).remove(0);
    assert_eq!(assembler.counters().values_clamped, 48);
    assert_eq!(chunk.data()[(0, 0, 0, 0, 0)], Complex4::new(-7, 0).unwrap());
    assert!(Heaps::new(chunk.into_data()).is_ok());
}

#[test]
fn packed_samples_come_back_with_their_axes() {
    let digitisers = [500, 501, 40, 41, 7, 6];
    let format = PackedSampleHeaps::new(inputs(), 10, 16, 4).unwrap().with_digitisers(&digitisers).unwrap();
    let format = format.with_sample_rate(1.712e9).unwrap().with_centre_frequency(1.284e9).unwrap();
    let mut next = numbers(8);
    let samples = Array2::from_shape_fn((6, 64), |_| (next() as i16) >> 6);
    let mut flags = Array2::from_elem((6, 4), true);
    (flags[(2, 1)], flags[(5, 3)]) = (false, false);
    let packed = PackedSamples::pack(samples.view(), 10, inputs()).unwrap().with_first_sample(640);
    let sent = packed.clone().with_presence(SamplePresence::new(16, flags.clone()).unwrap()).unwrap();
    let mut packets = heaps_of(&format, &sent);
    assert_eq!(packets.len(), 22);
    shuffle(&mut packets, 1);
    let options = ChunkOptions { first_timestamp: Some(640), ..ChunkOptions::default() };
    let mut assembler = ChunkAssembler::new(format, options).unwrap();
    let chunk = chunks_of(&mut assembler, &packets).remove(0);
    assert_eq!((chunk.first_sample(), chunk.sample_rate_hz(), chunk.centre_hz()), (640, 1.712e9, Some(1.284e9)));
    assert_eq!(chunk.presence().unwrap(), &SamplePresence::new(16, flags.clone()).unwrap());
    let unpacked = chunk.unpack().unwrap();
    for ((input, time), &value) in unpacked.data().indexed_iter() {
        let expected = if flags[(input, time / 16)] { samples[(input, time)] } else { 0 };
        assert_eq!(value, expected);
    }
}

#[test]
fn a_heap_of_which_a_part_is_absent_is_not_sent() {
    let one = Inputs::single_pol(1).unwrap();
    let format = SampleHeaps::new(one, 8, 4).unwrap();
    let data = Array2::from_shape_fn((1, 32), |(_, time)| (time as i32 - 128) as i8);
    // Blocks of 3 samples: the one of samples 15 to 17 is absent, and with it heaps 1 and 2.
    let flags = Array2::from_shape_fn((1, 11), |(_, block)| block != 5);
    let samples = Samples::new(data, one).unwrap();
    let samples = samples.with_presence(SamplePresence::new(3, flags).unwrap()).unwrap();
    let mut assembler = ChunkAssembler::new(format.clone(), ChunkOptions::default()).unwrap();
    let chunk = chunks_of(&mut assembler, &heaps_of(&format, &samples)).remove(0);
    assert_eq!(chunk.presence().unwrap().flags(), ndarray::array![[true, false, false, true]]);
    assert_eq!(chunk.data()[(0, 31)], -97);
}

#[test]
fn chunks_of_another_shape_are_not_sent() {
    let refused = |result: Result<Vec<Vec<u8>>, SpeadError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, SpeadError::Chunk { .. }), "{error}");
    };
    let heaps = VoltageHeaps::<Complex<i8>>::new(inputs(), 8, 4, 32, 5).unwrap();
    assert!(try_heaps_of(&heaps, &voltages(0, 0)).is_ok());
    let clock = SpectrumClock { samples_between_spectra: 64, ..SpectrumClock::default() };
    refused(try_heaps_of(&heaps, &voltages(0, 0).with_clock(clock).unwrap()));
    refused(try_heaps_of(&VoltageHeaps::new(inputs(), 16, 4, 32, 5).unwrap(), &voltages(0, 0)));
    refused(try_heaps_of(&VoltageHeaps::new(inputs(), 8, 2, 32, 5).unwrap(), &voltages(0, 0)));
    let samples = PackedSamples::pack(Array2::zeros((6, 24)).view(), 10, inputs()).unwrap();
    refused(try_heaps_of(&PackedSampleHeaps::new(inputs(), 10, 16, 1).unwrap(), &samples));
    refused(try_heaps_of(&PackedSampleHeaps::new(inputs(), 12, 8, 1).unwrap(), &samples));
    assert!(try_heaps_of(&PackedSampleHeaps::new(inputs(), 10, 8, 1).unwrap(), &samples).is_ok());
}

#[test]
fn streams_that_cannot_be_are_refused() {
    let refused = |result: Result<(), SpeadError>| {
        assert!(matches!(result, Err(SpeadError::Setting { .. })), "{result:?}");
    };
    let packed = |bits, samples, heaps| PackedSampleHeaps::new(inputs(), bits, samples, heaps).map(|_| ());
    packed(10, 4096, 2).unwrap();
    for (bits, samples, heaps) in
        [(1, 8, 1), (17, 8, 1), (10, 0, 1), (10, 6, 1), (10, 8, 0), (16, usize::MAX, 1), (8, 1 << 40, 1 << 40)]
    {
        refused(packed(bits, samples, heaps));
    }
    let format = PackedSampleHeaps::new(inputs(), 10, 8, 1).unwrap();
    refused(format.clone().with_digitisers(&[1, 2, 3]).map(|_| ()));
    refused(format.clone().with_digitisers(&[1, 2, 3, 4, 5, 5]).map(|_| ()));
    refused(format.clone().with_sample_rate(0.0).map(|_| ()));
    refused(format.clone().with_centre_frequency(f64::NAN).map(|_| ()));
    let heaps = |channels, spectra, step, batches| {
        VoltageHeaps::<Complex<i8>>::new(inputs(), channels, spectra, step, batches).map(|_| ())
    };
    heaps(8, 4, 32, 5).unwrap();
    for (channels, spectra, step, batches) in
        [(0, 4, 32, 5), (8, 0, 32, 5), (8, 4, 0, 5), (8, 4, 32, 0), (usize::MAX, 4, 32, 5), (8, 4, u64::MAX, 5)]
    {
        refused(heaps(channels, spectra, step, batches));
    }
    refused(voltage_format().with_channels_per_heap(3).map(|_| ()));
    refused(voltage_format().with_sample_rate(f64::INFINITY).map(|_| ()));
    let wild = Frequencies { first_hz: f64::NAN, step_hz: 1.0 };
    assert!(matches!(voltage_format().with_frequencies(wild), Err(SpeadError::Types(_))));
    for options in [
        ChunkOptions { window_chunks: 0, ..ChunkOptions::default() },
        ChunkOptions { window_chunks: 1 << 30, ..ChunkOptions::default() },
        ChunkOptions { live_heaps: Some(0), ..ChunkOptions::default() },
    ] {
        refused(ChunkAssembler::new(format.clone(), options).map(|_| ()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_lost_or_doubled_the_rest_is_where_it_belongs(
        lost in prop::collection::vec(0usize..30, 0..12), doubled in prop::collection::vec(0usize..30, 0..12), seed: u64,
    ) {
        let format = voltage_format();
        let sent = voltages(0, 9);
        let all = heaps_of(&format, &sent);
        let mut packets: Vec<Vec<u8>> =
            (0..30).filter(|index| !lost.contains(index)).map(|index| all[index].clone()).collect();
        let kept = packets.len();
        let again: Vec<Vec<u8>> =
            doubled.iter().filter(|index| !lost.contains(index)).map(|&index| all[index].clone()).collect();
        packets.extend(again.clone());
        shuffle(&mut packets, seed);
        let options = ChunkOptions { first_timestamp: Some(0), ..ChunkOptions::default() };
        let mut assembler = ChunkAssembler::new(format, options).unwrap();
        let chunks = chunks_of(&mut assembler, &packets);
        let counters = assembler.counters();
        prop_assert_eq!(counters.heaps_stored, kept as u64);
        prop_assert_eq!(counters.heaps_duplicate + counters.heaps_late, again.len() as u64);
        prop_assert_eq!(chunks.len(), usize::from(kept > 0));
        for chunk in chunks {
            for ((batch, antenna, channel, spectrum, pol), value) in chunk.data().indexed_iter() {
                let heap = 6 * batch + 2 * antenna;
                let present = !lost.contains(&heap) && !lost.contains(&(heap + 1));
                prop_assert_eq!(chunk.presence().unwrap()[(batch, antenna)], present);
                let whole = sent.data()[(batch, antenna, channel, spectrum, pol)];
                prop_assert_eq!(*value, if present { whole } else { Complex::new(0, 0) });
            }
        }
    }
}
