//! Faults of the source: what is lost, and what is not.

use fringes_backend::Backend;
use fringes_stream::sink::{MemorySink, Overflow};
use fringes_stream::source::{Blocks, Received};
use fringes_stream::{Fx, StreamError};
use fringes_types::{Complex, Inputs, Samples};
use ndarray::Array2;

use crate::support::{FRAME, block, dumps, engine, in_one_call, info, schedule, whole};

fn fx() -> Fx<Complex<i8>> {
    Fx::new(&Backend::cpu(), engine()).cadence(schedule(3))
}

#[test]
fn late_double_and_overlapping_chunks_are_left_out_and_counted() {
    let end = 24 * FRAME;
    // 0..1000, again, a late part of it, one that overlaps half, and the rest.
    let order = [(0, 1000), (0, 1000), (200, 100), (504, 1000), (1504, 5000), (1000, 504), (6504, 5784)];
    let chunks = order.map(|(first, times)| Ok(Received::Samples(block(first, times))));
    let (sink, products) = MemorySink::new();
    let running = fx().sink(sink, Overflow::Block).start(Blocks::new(info(end), chunks.into_iter())).unwrap();
    let report = running.join().into_result().unwrap();
    assert_eq!((report.late_chunks, report.overlapping_samples), (3, 496));
    assert_eq!(report.samples, 4 * end);
    assert_eq!(dumps(&products, 0), in_one_call(whole(&[block(0, end as usize)], end).as_chunk(), engine(), 3));
}

#[test]
fn a_gap_within_the_limit_is_absent_and_a_longer_one_begins_anew() {
    let (sink, products) = MemorySink::new();
    let far = 1_000_000 * FRAME;
    let order = [(0, 4000), (6000, 4000), (far, 9000)];
    let chunks = order.map(|(first, times)| Ok(Received::Samples(block(first, times))));
    let running = fx().sink(sink, Overflow::Block).start(Blocks::new(info(0), chunks.into_iter())).unwrap();
    let report = running.join().into_result().unwrap();
    assert_eq!(report.clock_jumps, 1);
    let all = dumps(&products, 0);
    let (near, behind): (Vec<_>, Vec<_>) = all.into_iter().partition(|dump| dump.clock().first_sample < far / 2);
    let expected = in_one_call(whole(&[block(0, 4000), block(6000, 4000)], 10_000).as_chunk(), engine(), 3);
    assert_eq!(near, expected);
    assert_eq!(behind.first().map(|dump| dump.clock().first_sample), Some(far / (3 * FRAME) * (3 * FRAME)));
    let valid: u64 = behind.iter().map(|dump| dump.valid_samples()[0]).sum();
    // 67 windows of 512 samples: 16 whole frames.
    assert_eq!(valid, ((9000 - 512) / 128 + 1) / 4 * 4);
}

#[test]
fn a_clock_that_is_set_back_is_an_error_and_not_silence() {
    let chunks = (0..100u64).map(|chunk| {
        let first = if chunk < 10 { 100_000 + 512 * chunk } else { 512 * chunk };
        Ok(Received::Samples(block(first, 512)))
    });
    let ended = fx().start(Blocks::new(info(0), chunks)).unwrap().join();
    let error = ended.error.unwrap();
    assert!(matches!(error, StreamError::ClockBackward { expected: 105_120, chunks: 64, .. }), "{error}");
    assert_eq!(ended.report.late_chunks, 64);
}

#[test]
fn chunks_of_another_kind_or_shape_are_errors_of_the_f_engine() {
    let other = || {
        let samples = Samples::new(Array2::<i8>::zeros((3, 512)), Inputs::single_pol(3).unwrap()).unwrap();
        Ok(Received::Samples(samples.with_first_sample(512).with_sample_rate(1e6).unwrap().into()))
    };
    let chunks = [Ok(Received::Samples(block(0, 512))), other()];
    let ended = fx().start(Blocks::new(info(0), chunks.into_iter())).unwrap().join();
    let error = ended.error.unwrap().to_string();
    assert!(error.starts_with("F-engine: "), "{error}");

    let heaps = fringes_types::Heaps::new(ndarray::Array5::from_elem((1, 2, 64, 4, 2), Complex::new(1i8, 1))).unwrap();
    let chunks = [Ok(Received::Heaps(fringes_stream::HeapBlock::Int8(heaps)))];
    let ended = fx().start(Blocks::new(info(0), chunks.into_iter())).unwrap().join();
    assert_eq!(ended.error.unwrap().to_string(), "expected samples from the source, found heaps");
}

#[test]
fn the_bound_of_memory_counts_every_queue() {
    let format = fringes_types::ChunkFormat::Typed { format: fringes_types::SampleFormat::Int8, complex: false };
    let small = fx().memory_bound(crate::support::inputs(), 4096, format).unwrap();
    let deep = fx().queue_depth(40).memory_bound(crate::support::inputs(), 4096, format).unwrap();
    // 36 messages more in each of two queues, twice: chunks of 16384 bytes, frames of 36 spectra of 512 bytes.
    assert_eq!(deep - small, 2 * 36 * (16_384 + 36 * 512));
}
