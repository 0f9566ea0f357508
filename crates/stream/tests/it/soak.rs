//! Many dumps with all faults at random: every delivered dump is the sum of what came.

use fringes_backend::Backend;
use fringes_stream::Fx;
use fringes_stream::sink::{MemorySink, Overflow};
use fringes_stream::source::{FaultInjector, Faults};
use fringes_types::Complex;

use crate::support::{FRAME, Noted, dumps, engine, in_one_call, noise, schedule, whole};

#[test]
fn every_dump_of_a_faulty_stream_is_the_sum_of_what_came() {
    // 67 runs of 150 dumps: ten thousand.
    for seed in 0..67 {
        let end = 300 * FRAME;
        let faults = Faults {
            lost: Faults::of(0.02),
            duplicate: Faults::of(0.05),
            late: Faults::of(0.05),
            absent: Faults::of(0.01),
            packet: 64,
        };
        let (source, given) = Noted::new(FaultInjector::new(noise(448 + 64 * (seed % 8) as usize, end), faults, seed));
        let (sink, products) = MemorySink::new();
        let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(2)).sink(sink, Overflow::Block);
        let report = fx.start(source).unwrap().join().into_result().unwrap();
        // What came in time: a chunk that begins before the end of what was used is late.
        let mut used = Vec::new();
        let (mut next, mut late) = (0, 0);
        for block in given.lock().unwrap().iter() {
            if block.end_sample() <= next {
                late += 1;
            } else {
                next = block.end_sample();
                used.push(block.clone());
            }
        }
        assert!(late > 0, "seed {seed}");
        assert_eq!((report.late_chunks, report.chunks), (late, used.len() as u64));
        let expected = in_one_call(whole(&used, next).as_chunk(), engine(), 2);
        let actual = dumps(&products, 0);
        // One call makes frames without samples as well; a stream begins with the first frame that there is, and ends
        // with the last.
        assert!(actual.len() >= 100);
        let first = actual[0].clock().first_sample;
        let before = expected.iter().position(|dump| dump.clock().first_sample == first).unwrap();
        let (edge, rest) = expected.split_at(before);
        let (expected, behind) = rest.split_at(actual.len());
        assert!(edge.iter().chain(behind).all(|dump| dump.valid_samples().sum() == 0));
        for (actual, expected) in actual.iter().zip(expected) {
            assert_eq!(actual, expected, "seed {seed}");
        }
        assert!(actual.iter().any(|dump| dump.valid_samples()[0] < 8));
    }
}
