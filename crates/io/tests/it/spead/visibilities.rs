//! Visibilities out and in.

use fringes_io::spead::{
    ByteOrder, ChunkAssembler, ChunkOptions, HeapAssembler, HeapLimits, MISSING_MARK, SpeadError, VisibilityChunk,
    VisibilityHeaps, id,
};
use fringes_types::{BaselineOrder, Frequencies, Inputs, SpectrumClock, Visibilities};
use ndarray::{Array1, Array2};
use num_complex::Complex;

use super::chunks::heaps_of;

fn visibilities(inputs: Inputs, valid: Array1<u64>) -> Visibilities<Complex<i64>> {
    let order = BaselineOrder::AntennaPairs;
    let data = Array2::from_shape_fn((8, order.len(inputs)), |(channel, baseline)| {
        Complex::new(channel as i64 * 1000 + baseline as i64, -(baseline as i64))
    });
    let clock = SpectrumClock { first_sample: 1 << 20, samples_between_spectra: 16, sample_rate_hz: 1.0 };
    Visibilities::new(data, inputs, order, valid, 64, Frequencies::default(), clock).unwrap()
}

fn format(inputs: Inputs) -> VisibilityHeaps {
    let format = VisibilityHeaps::new(inputs, BaselineOrder::AntennaPairs, 8, 64, 16).unwrap();
    format.with_channels_per_heap(2).unwrap().with_first_channel(100)
}

#[test]
fn visibilities_come_back_in_either_byte_order() {
    let inputs = Inputs::new(3, 2).unwrap();
    let sent = VisibilityChunk::whole(visibilities(inputs, Array1::from_elem(24, 64)));
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let format = format(inputs).with_byte_order(order);
        let mut assembler = ChunkAssembler::new(format.clone(), ChunkOptions::default()).unwrap();
        for packet in heaps_of(&format, &sent) {
            assembler.push(&packet).unwrap();
        }
        let received = assembler.next_chunk().unwrap().expect("the integration is complete");
        assert_eq!(received, VisibilityChunk { present: vec![true; 4], ..sent.clone() });
    }
}

#[test]
fn a_heap_that_is_lost_is_zero_and_not_present() {
    let inputs = Inputs::new(3, 2).unwrap();
    let sent = VisibilityChunk::whole(visibilities(inputs, Array1::from_elem(24, 64)));
    let mut assembler = ChunkAssembler::new(format(inputs), ChunkOptions::default()).unwrap();
    for packet in heaps_of(&format(inputs), &VisibilityChunk { present: vec![true, true, false, true], ..sent.clone() })
    {
        assembler.push(&packet).unwrap();
    }
    assert!(assembler.next_chunk().unwrap().is_none());
    assembler.flush();
    let received = assembler.next_chunk().unwrap().unwrap();
    assert_eq!(received.present, [true, true, false, true]);
    for (channel, row) in received.visibilities.data().rows().into_iter().enumerate() {
        let lost = (4..6).contains(&channel);
        let expected = if lost { Array1::default(24) } else { sent.visibilities.data().row(channel).to_owned() };
        assert_eq!(row, expected, "channel {channel}");
    }
}

#[test]
fn sums_are_clamped_and_marks_travel() {
    let inputs = Inputs::new(1, 2).unwrap();
    let mut valid = Array1::from_elem(4, 64);
    valid[2] = 63;
    let whole = visibilities(inputs, valid.clone());
    let (frequencies, clock) = (whole.frequencies(), whole.clock());
    let mut data = whole.into_data();
    data[(0, 0)] = Complex::new(i64::MAX, i64::MIN);
    data[(1, 1)] = Complex::new(i64::from(i32::MIN), 1);
    let order = BaselineOrder::AntennaPairs;
    let chunk = Visibilities::new(data, inputs, order, valid, 64, frequencies, clock).unwrap();
    let chunk = VisibilityChunk::whole(chunk);
    for marks in [false, true] {
        let format = if marks { format(inputs).with_marks() } else { format(inputs) };
        let mut heaps = HeapAssembler::new(HeapLimits::default()).unwrap();
        let packets = heaps_of(&format, &chunk);
        let first = packets.iter().find_map(|packet| heaps.push(packet).unwrap()).unwrap();
        let bytes = first.view().bytes(id::XENG_RAW).unwrap().to_vec();
        let part = |index: usize| i32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().unwrap());
        assert_eq!((part(0), part(1)), (i32::MAX, -i32::MAX));
        assert_eq!((part(10), part(11)), (-i32::MAX, 1), "a clamped sum is not the mark");
        let mark = if marks { (MISSING_MARK.re, MISSING_MARK.im) } else { (2, -2) };
        assert_eq!((part(4), part(5)), mark);
        let mut assembler = ChunkAssembler::new(format, ChunkOptions::default()).unwrap();
        for packet in &packets {
            assembler.push(packet).unwrap();
        }
        let received = assembler.next_chunk().unwrap().unwrap();
        let valid = if marks { vec![64, 64, 0, 64] } else { vec![64; 4] };
        assert_eq!(received.visibilities.valid_samples().to_vec(), valid);
        let expected = if marks { Complex::new(0, 0) } else { Complex::new(2, -2) };
        assert_eq!(received.visibilities.data()[(0, 2)], expected);
    }
}

#[test]
fn integrations_of_another_shape_are_not_sent() {
    let inputs = Inputs::new(3, 2).unwrap();
    let chunk = VisibilityChunk::whole(visibilities(inputs, Array1::from_elem(24, 64)));
    let other = Inputs::new(4, 2).unwrap();
    let clock = SpectrumClock { samples_between_spectra: 32, ..chunk.visibilities.clock() };
    let slower = chunk.visibilities.clone().with_clock(clock).unwrap();
    for (format, chunk) in [
        (format(other), chunk.clone()),
        (format(inputs), VisibilityChunk { visibilities: chunk.visibilities.clone().with_times(65), ..chunk.clone() }),
        (format(inputs), VisibilityChunk { visibilities: slower, ..chunk.clone() }),
        (format(inputs), VisibilityChunk { present: vec![true; 3], ..chunk }),
    ] {
        let error = super::chunks::try_heaps_of(&format, &chunk).unwrap_err();
        assert!(matches!(error, SpeadError::Chunk { .. }), "{error}");
    }
}

#[test]
fn streams_that_cannot_be_are_refused() {
    let inputs = Inputs::new(3, 2).unwrap();
    let new = |channels, spectra, step| VisibilityHeaps::new(inputs, BaselineOrder::Triangle, channels, spectra, step);
    assert!(new(8, 64, 16).is_ok());
    for bad in [new(0, 64, 16), new(8, 0, 16), new(8, 64, 0), new(usize::MAX, 64, 16), new(8, u64::MAX, 16)] {
        assert!(matches!(bad, Err(SpeadError::Setting { .. })));
    }
    for per_heap in [0, 3, 16] {
        assert!(matches!(format(inputs).with_channels_per_heap(per_heap), Err(SpeadError::Setting { .. })));
    }
    let single = Inputs::single_pol(3).unwrap();
    let pairs = VisibilityHeaps::new(single, BaselineOrder::AntennaPairs, 8, 64, 16);
    assert!(matches!(pairs, Err(SpeadError::Types(_))));
}
