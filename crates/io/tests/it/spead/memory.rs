//! Chunks in memory that somebody gives, with whatever it holds.

use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytemuck::Pod;
use fringes_io::spead::{
    ArrayMemory, Arrays, ChunkAssembler, ChunkMemory, ChunkOptions, HeapFormat, NextChunk, PackedSampleHeaps,
    ReceiverOptions, SampleHeaps, SenderOptions, SpeadError, SpeadReceiver, SpeadSender, StreamControl, VoltageHeaps,
};
use fringes_types::{Complex4, Heaps, Inputs, PackedSamples, SampleChunk, SampleView, Samples};
use ndarray::{Array2, Array5};
use num_complex::Complex;

use super::chunks::heaps_of;
use super::{numbers, shuffle};

/// Gives so many arrays that are not zeros.
#[derive(Debug, Clone)]
struct Dirty {
    taken: Arc<AtomicUsize>,
    most: usize,
}

impl Dirty {
    fn new(most: usize) -> Self {
        Self { taken: Arc::default(), most }
    }

    fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl ArrayMemory for Dirty {
    type Array<T: Pod + Debug + Send + Sync> = Vec<T>;

    fn take<T: Pod + Debug + Send + Sync>(
        &mut self,
        length: usize,
    ) -> Result<Vec<T>, Box<dyn std::error::Error + Send + Sync>> {
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.most {
            return Err("all memory is taken".into());
        }
        let mut array = bytemuck::zeroed_vec::<T>(length);
        bytemuck::cast_slice_mut::<T, u8>(&mut array).fill(0xa5);
        Ok(array)
    }

    fn elements<T: Pod + Debug + Send + Sync>(
        array: &mut Vec<T>,
    ) -> Result<&mut [T], Box<dyn std::error::Error + Send + Sync>> {
        Ok(array)
    }
}

fn inputs() -> Inputs {
    Inputs::new(2, 2).unwrap()
}

/// A chunk in memory that is given.
type Given<F> = <Arrays<Dirty> as ChunkMemory<F>>::Chunk;

/// The chunks of packets of which some are lost, in vectors and in memory that is given.
fn both<F: HeapFormat>(format: &F, sent: &[F::Chunk]) -> (Vec<F::Chunk>, Vec<Given<F>>)
where
    Arrays<Dirty>: ChunkMemory<F>,
{
    let mut packets: Vec<_> = sent.iter().flat_map(|chunk| heaps_of(format, chunk)).collect();
    shuffle(&mut packets, 5);
    packets.truncate(packets.len() - packets.len() / 6);
    let options = ChunkOptions { window_chunks: sent.len(), first_timestamp: Some(0), live_heaps: Some(1000) };
    let memory = Dirty::new(sent.len());
    let mut vectors = ChunkAssembler::new(format.clone(), options).unwrap();
    let mut given = ChunkAssembler::in_memory(format.clone(), options, Arrays(memory.clone())).unwrap();
    for packet in &packets {
        vectors.push(packet).unwrap();
        given.push(packet).unwrap();
    }
    vectors.flush();
    given.flush();
    assert_eq!((vectors.counters(), memory.taken()), (given.counters(), sent.len()));
    let (mut all, mut of_given) = (Vec::new(), Vec::new());
    while let Some(chunk) = vectors.next_chunk().unwrap() {
        all.push(chunk);
        of_given.extend(given.next_chunk().unwrap());
    }
    (all, of_given)
}

/// Checks that chunks of samples are the same.
fn check_samples(expected: &dyn SampleChunk, found: &dyn SampleChunk) {
    assert_eq!(
        (found.format(), found.inputs(), found.times()),
        (expected.format(), expected.inputs(), expected.times())
    );
    assert_eq!((found.first_sample(), found.sample_rate_hz()), (expected.first_sample(), expected.sample_rate_hz()));
    assert_eq!((found.centre_hz(), found.presence()), (expected.centre_hz(), expected.presence()));
    assert!(expected.presence().unwrap().flags().iter().any(|present| !present), "nothing was lost");
    match (expected.view(), found.view()) {
        (SampleView::Packed { bytes: expected, .. }, SampleView::Packed { bytes, .. }) => assert_eq!(bytes, expected),
        (SampleView::Int8(expected), SampleView::Int8(found)) => assert_eq!(found, expected),
        (expected, found) => panic!("{expected:?}, {found:?}"),
    }
}

#[test]
fn samples_and_voltages_are_those_of_vectors_and_zero_where_nothing_came() {
    let mut next = numbers(1);
    let packed = PackedSampleHeaps::new(inputs(), 10, 128, 6).unwrap().with_sample_rate(1e9).unwrap();
    let packed = packed.with_centre_frequency(3e8).unwrap();
    let sent: Vec<_> = (0..3u64)
        .map(|chunk| {
            let data = Array2::from_shape_fn((4, 768), |_| (next() % 1023) as i16 - 511);
            PackedSamples::pack(data.view(), 10, inputs()).unwrap().with_first_sample(768 * chunk)
        })
        .collect();
    let (expected, found) = both(&packed, &sent);
    assert_eq!((expected.len(), found.len()), (3, 3));
    expected.iter().zip(&found).for_each(|(expected, found)| check_samples(expected, found));

    let bytes = SampleHeaps::new(inputs(), 130, 3).unwrap().with_sample_rate(1e9).unwrap();
    let sent: Vec<_> = (0..3u64)
        .map(|chunk| {
            let data = Array2::from_shape_fn((4, 390), |_| next() as i8);
            Samples::new(data, inputs()).unwrap().with_first_sample(390 * chunk)
        })
        .collect();
    let (expected, found) = both(&bytes, &sent);
    assert_eq!((expected.len(), found.len()), (3, 3));
    expected.iter().zip(&found).for_each(|(expected, found)| check_samples(expected, found));

    let voltages = VoltageHeaps::<Complex<i8>>::new(inputs(), 8, 4, 32, 5).unwrap().with_channels_per_heap(4).unwrap();
    let clock = |chunk: u64| fringes_types::SpectrumClock {
        first_sample: chunk * 5 * 4 * 32,
        samples_between_spectra: 32,
        ..Default::default()
    };
    let sent: Vec<_> = (0..3u64)
        .map(|chunk| {
            let data = Array5::from_shape_fn((5, 2, 8, 4, 2), |_| Complex::new((next() % 100) as i8, -5));
            Heaps::new(data).unwrap().with_clock(clock(chunk)).unwrap()
        })
        .collect();
    let (expected, found) = both(&voltages, &sent);
    assert_eq!((expected.len(), found.len()), (3, 3));
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!((found.clock(), found.frequencies()), (expected.clock(), expected.frequencies()));
        assert_eq!(
            (found.presence(), found.array().as_slice()),
            (expected.presence(), expected.data().to_slice().unwrap())
        );
        assert!(found.presence().unwrap().iter().any(|present| !present), "nothing was lost");
    }
}

#[test]
fn memory_that_is_given_back_is_used_and_missing_memory_is_an_error() {
    let format = SampleHeaps::new(inputs(), 64, 1).unwrap();
    let chunk = |number: u64| {
        let data = Array2::from_elem((4, 64), number as i8);
        Samples::new(data, inputs()).unwrap().with_first_sample(64 * number)
    };
    let memory = Dirty::new(2);
    let mut assembler =
        ChunkAssembler::in_memory(format.clone(), ChunkOptions::default(), Arrays(memory.clone())).unwrap();
    for number in 0..5 {
        heaps_of(&format, &chunk(number)).iter().for_each(|packet| assembler.push(packet).unwrap());
        let found = assembler.next_chunk().unwrap().expect("a chunk");
        check_equal(&found, number);
        assembler.recycle(found);
    }
    assert_eq!(memory.taken(), 1);
    for number in 5..8 {
        heaps_of(&format, &chunk(number)).iter().for_each(|packet| assembler.push(packet).unwrap());
    }
    check_equal(&assembler.next_chunk().unwrap().expect("of what was given back"), 5);
    check_equal(&assembler.next_chunk().unwrap().expect("of the second array"), 6);
    let error = assembler.next_chunk().unwrap_err();
    assert!(matches!(&error, SpeadError::Memory(_)), "{error}");
    assert_eq!(error.to_string(), "memory of a chunk: all memory is taken");
}

fn check_equal(chunk: &dyn SampleChunk, number: u64) {
    let SampleView::Int8(data) = chunk.view() else { panic!("another format") };
    assert!(data.iter().all(|&value| value == number as i8), "chunk {number}");
}

#[test]
fn a_receiver_fills_memory_that_is_given() {
    let format = VoltageHeaps::<Complex4>::new(inputs(), 8, 4, 32, 5).unwrap();
    let options = ReceiverOptions::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    // What is prepared is taken before packets come.
    let refused = SpeadReceiver::start_in(format.clone(), &options, Arrays(Dirty::new(2)), 3).unwrap_err();
    assert!(matches!(refused, SpeadError::Memory(_)), "{refused}");
    let memory = Dirty::new(100);
    let receiver = SpeadReceiver::start_in(format.clone(), &options, Arrays(memory.clone()), 3).unwrap();
    assert_eq!(memory.taken(), 3);
    let to = SenderOptions { bytes_per_second: Some(1e6), ..SenderOptions::new(receiver.local_addresses()[0]) };
    let mut sender = SpeadSender::new(format, &to).unwrap();
    for chunk in 0..20u64 {
        let value = Complex4::new((chunk % 15) as i8 - 7, 3).unwrap();
        let clock = fringes_types::SpectrumClock {
            first_sample: chunk * 640,
            samples_between_spectra: 32,
            ..Default::default()
        };
        let heaps = Heaps::new(Array5::from_elem((5, 2, 8, 4, 2), value)).unwrap().with_clock(clock).unwrap();
        sender.send(&heaps).unwrap();
    }
    sender.send_control(StreamControl::Stop).unwrap();
    let mut chunks = 0;
    loop {
        match receiver.next_chunk(Duration::from_secs(20)).unwrap() {
            NextChunk::Chunk(found) => {
                let expected = Complex4::new((chunks % 15) as i8 - 7, 3).unwrap();
                assert_eq!(found.clock().first_sample, 640 * chunks);
                assert!(found.array().iter().all(|&value| value == expected), "chunk {chunks}");
                chunks += 1;
                receiver.recycle(found);
            }
            NextChunk::Ended => break,
            NextChunk::TimedOut => panic!("the stop did not come"),
        }
    }
    assert_eq!(chunks, 20);
    assert!(memory.taken() < 3 + 20, "{} arrays of 20 chunks, 3 of them before any", memory.taken());
}
