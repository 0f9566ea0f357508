//! How instruments end: by the source, a stop, an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fringes_backend::Backend;
use fringes_stream::sink::{MemorySink, NpzSink, Overflow, Product, Sink, Takes};
use fringes_stream::source::{Blocks, Received};
use fringes_stream::{BoxError, Fx, Stage, StreamError};
use fringes_types::{Complex, Inputs};

use crate::support::{FRAME, block, dumps, engine, in_one_call, info, inputs, noise, schedule, whole};

fn fx() -> Fx<Complex<i8>> {
    Fx::new(&Backend::cpu(), engine()).cadence(schedule(3))
}

#[test]
fn dumps_are_those_of_one_call_whatever_the_chunks() {
    let end = 20 * FRAME + 77;
    let expected = in_one_call(whole(&[block(0, end as usize)], end).as_chunk(), engine(), 3);
    for times in [1000, 333, 8192] {
        let (sink, products) = MemorySink::new();
        let report = fx().sink(sink, Overflow::Block).start(noise(times, end)).unwrap().join().into_result().unwrap();
        assert_eq!(dumps(&products, 0), expected);
        assert_eq!(report.samples, 4 * end);
        assert_eq!(report.dumps, expected.len() as u64);
        assert_eq!(report.last_dump, expected.last().map(|dump| dump.clock().first_sample));
        assert_eq!((report.late_chunks, report.clock_jumps, report.overlapping_samples), (0, 0, 0));
        assert!(report.deepest_queues.iter().all(|&(_, depth)| depth <= 4));
    }
}

#[test]
fn cadences_and_subsets_are_baselines_of_the_whole() {
    let end = 24 * FRAME;
    let (sink, products) = MemorySink::new();
    let running = fx().cadence_of(schedule(1), vec![1, 0]).sink(sink, Overflow::Block).start(noise(700, end)).unwrap();
    assert_eq!(running.join().into_result().unwrap().sinks[0].dropped, 0);
    let all = products.take();
    let of = |cadence: usize| {
        let dumps = all.iter().filter_map(move |product| match product {
            Product::Dump(dump) if dump.cadence == cadence => Some(dump.clone()),
            _ => None,
        });
        dumps.collect::<Vec<_>>()
    };
    let expected = in_one_call(whole(&[block(0, end as usize)], end).as_chunk(), engine(), 1);
    let fast = of(1);
    assert_eq!(fast.len(), expected.len());
    for (dump, expected) in fast.iter().zip(&expected) {
        let sums = dump.sums.to_c64();
        // Antennas in the other order: inputs 2, 3, 0, 1.
        let inputs = [2, 3, 0, 1];
        for channel in [0, 17, 63] {
            let mut baseline = 0;
            for a in 0..4 {
                for b in 0..=a {
                    let of = expected.get(channel, inputs[a], inputs[b]).unwrap();
                    assert_eq!(sums[(channel, baseline)], of, "{a} {b}");
                    baseline += 1;
                }
            }
        }
    }
    assert_eq!(of(0).len(), in_one_call(whole(&[block(0, end as usize)], end).as_chunk(), engine(), 3).len());
}

/// Chunks without an end, slowly enough to be stopped.
fn endless(asked: Arc<AtomicU64>) -> Blocks<impl Iterator<Item = Result<Received, BoxError>> + Send> {
    let chunks = (0u64..).map(move |chunk| {
        asked.store(chunk, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(1));
        Ok(Received::Samples(block(600 * chunk, 600)))
    });
    Blocks::new(info(0), chunks)
}

#[test]
fn a_stop_finishes_the_dump_under_way_and_no_other() {
    let asked = Arc::<AtomicU64>::default();
    let (sink, products) = MemorySink::new();
    let running = fx().sink(sink, Overflow::Block).start(endless(asked.clone())).unwrap();
    while asked.load(Ordering::Relaxed) < 20 {
        std::thread::sleep(Duration::from_millis(1));
    }
    running.stop();
    let report = running.join().into_result().unwrap();
    let given = dumps(&products, 0);
    assert!(given.len() >= 2, "{report:?}");
    let spectra = schedule(3).spectra_per_dump();
    for (number, dump) in given.iter().enumerate() {
        assert_eq!(dump.clock().first_sample, number as u64 * 3 * FRAME);
        assert!(dump.valid_samples().iter().all(|&valid| valid == spectra), "dump {number} is not whole");
    }
}

#[test]
fn a_stop_now_gives_the_dump_under_way_with_its_counts() {
    let asked = Arc::<AtomicU64>::default();
    let (sink, products) = MemorySink::new();
    let running = Fx::<Complex<i8>>::new(&Backend::cpu(), engine())
        .cadence(schedule(1_000_000))
        .sink(sink, Overflow::Block)
        .start(endless(asked.clone()))
        .unwrap();
    while asked.load(Ordering::Relaxed) < 9 {
        std::thread::sleep(Duration::from_millis(1));
    }
    running.stop_now();
    running.join().into_result().unwrap();
    let given = dumps(&products, 0);
    assert_eq!(given.len(), 1);
    let valid = given[0].valid_samples()[0];
    assert!((30..4_000_000).contains(&valid), "{valid}");
}

#[test]
fn an_error_of_the_source_names_it_and_whole_dumps_are_delivered() {
    let end = 10 * FRAME;
    let chunks = (0..12).map(move |chunk| match chunk {
        11 => Err("the cable is out".into()),
        chunk => Ok(Received::Samples(block(chunk * 512, 512))),
    });
    let (sink, products) = MemorySink::new();
    let running = fx().sink(sink, Overflow::Block).start(Blocks::new(info(end), chunks)).unwrap();
    let ended = running.join();
    let error = ended.error.unwrap();
    assert!(matches!(&error, StreamError::Stage { stage: Stage::Source, .. }), "{error}");
    assert_eq!(error.to_string(), "source: the cable is out");
    // 11 chunks are 11 frames less a window: three dumps of three frames would need 9 frames and 384 samples.
    let given = dumps(&products, 0);
    assert_eq!(given.iter().map(|dump| dump.clock().first_sample).collect::<Vec<_>>(), [0, 1536, 3072]);
    assert!(given.iter().all(|dump| dump.valid_samples().iter().all(|&valid| valid == 12)));
    assert_eq!(ended.report.last_dump, Some(3072));
}

#[test]
fn a_run_that_is_resumed_goes_on_behind_its_last_dump() {
    let end = 40 * FRAME;
    let expected = in_one_call(whole(&[block(0, end as usize)], end).as_chunk(), engine(), 3);
    let folder = tempfile::tempdir().unwrap();
    let chunks = (0u64..20).map(|chunk| match chunk {
        13 => Err("power".into()),
        chunk => Ok(Received::Samples(block(chunk * 900, 900))),
    });
    let first = fx().sink(NpzSink::new(folder.path(), 0).unwrap(), Overflow::Block);
    let ended = first.start(Blocks::new(info(end), chunks)).unwrap().join();
    assert!(ended.error.is_some());
    let last = NpzSink::last_dump(folder.path()).unwrap().unwrap();
    assert_eq!(Some(last), ended.report.last_dump);

    let (sink, products) = MemorySink::new();
    let running = fx().resume_after(last).sink(sink, Overflow::Block).start(noise(900, end)).unwrap();
    let report = running.join().into_result().unwrap();
    let done = ended.report.dumps as usize;
    assert!(done > 3 && done < expected.len());
    assert_eq!(dumps(&products, 0), expected[done..]);
    assert!(report.skipped_chunks > 0);
}

/// A sink that fails at its third product.
struct Full(u64);

impl Sink for Full {
    fn name(&self) -> &str {
        "full disk"
    }
    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: 0 }
    }
    fn write(&mut self, _: &Product) -> Result<(), BoxError> {
        self.0 += 1;
        if self.0 == 3 { Err(std::io::Error::from(std::io::ErrorKind::StorageFull).into()) } else { Ok(()) }
    }
    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run_and_other_sinks_get_what_is_complete() {
    let (sink, products) = MemorySink::new();
    let asked = Arc::<AtomicU64>::default();
    let running = fx().sink(Full(0), Overflow::Block).sink(sink, Overflow::Block).start(endless(asked)).unwrap();
    let ended = running.join();
    let error = ended.error.unwrap();
    assert!(matches!(&error, StreamError::Stage { stage: Stage::Sink(name), .. } if name == "full disk"), "{error}");
    assert_eq!(ended.report.sinks[0].written, 2);
    assert_eq!(ended.report.sinks[1].written, dumps(&products, 0).len() as u64);
    assert!(ended.report.sinks[1].written >= 3);
}

#[test]
fn a_run_goes_on_without_a_sink_that_may_fail() {
    let end = 30 * FRAME;
    let (sink, products) = MemorySink::new();
    let running =
        fx().sink_that_may_fail(Full(0), Overflow::Block).sink(sink, Overflow::Block).start(noise(1024, end)).unwrap();
    let report = running.join().into_result().unwrap();
    let all = dumps(&products, 0).len() as u64;
    assert_eq!((report.sinks[0].written, report.sinks[0].undelivered), (2, all - 2));
}

/// A sink that takes a while for each product.
struct Slow(u64);

impl Sink for Slow {
    fn name(&self) -> &str {
        "slow"
    }
    fn takes(&self) -> Takes {
        Takes::Everything
    }
    fn write(&mut self, _: &Product) -> Result<(), BoxError> {
        self.0 += 1;
        std::thread::sleep(Duration::from_millis(10));
        Ok(())
    }
    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[test]
fn a_slow_sink_blocks_or_drops_the_newest_and_every_dump_is_counted() {
    let end = 90 * FRAME;
    for overflow in [Overflow::Block, Overflow::DropNewest] {
        let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(1)).queue_depth(2);
        let running = fx.sink(Slow(0), overflow).start(noise(4096, end)).unwrap();
        let report = running.join().into_result().unwrap();
        let sink = &report.sinks[0];
        assert_eq!(sink.written + sink.dropped, report.dumps);
        assert_eq!(sink.dropped > 0, overflow == Overflow::DropNewest, "{sink:?}");
        assert!(sink.deepest_queue <= 2);
        assert!(sink.longest_latency >= Duration::from_millis(10));
    }
}

/// A sink that panics.
struct Broken;

impl Sink for Broken {
    fn name(&self) -> &str {
        "broken"
    }
    fn takes(&self) -> Takes {
        Takes::Everything
    }
    fn write(&mut self, _: &Product) -> Result<(), BoxError> {
        panic!("a bug")
    }
    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[test]
fn a_panic_in_a_stage_is_an_error_that_names_it() {
    let ended = fx().sink(Broken, Overflow::Block).start(noise(512, 30 * FRAME)).unwrap().join();
    let error = ended.error.unwrap();
    assert!(matches!(&error, StreamError::Panicked { stage: Stage::Sink(name) } if name == "broken"), "{error}");
}

#[test]
fn plans_that_do_not_fit_are_errors_with_what_is_expected() {
    let backend = Backend::cpu();
    let error = Fx::<Complex<i8>>::new(&backend, engine()).start(noise(512, 512)).unwrap_err();
    assert_eq!(error.to_string(), "instrument: expected a cadence of dumps, or beams, found neither");
    let other = fringes_correlator::DumpSchedule::new(64, 4, 3).unwrap();
    let error = Fx::<Complex<i8>>::new(&backend, engine()).cadence(other).start(noise(512, 512)).unwrap_err();
    let expected = "schedule of dumps: expected frames of 4 spectra, 128 samples apart, found frames of 4 spectra, 64 samples apart";
    assert_eq!(error.to_string(), expected);
    for antennas in [vec![], vec![2], vec![0, 0]] {
        let error = fx().cadence_of(schedule(3), antennas.clone()).start(noise(512, 512)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("antennas of a cadence: expected different antennas of 0..2, found {antennas:?}")
        );
    }
    let mut other = info(512);
    other.inputs = Inputs::single_pol(3).unwrap();
    let error = fx().start(Blocks::new(other, std::iter::empty())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected 2 antennas of 2 polarisations from the source, found 3 antennas of 1 polarisations"
    );
    assert_eq!(inputs().len(), 4);
}
