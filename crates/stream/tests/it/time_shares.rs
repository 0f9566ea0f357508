//! Instruments that take turns in time, against one.

use std::sync::{Arc, Mutex};

use fringes_backend::Backend;
use fringes_correlator::Bins;
use fringes_delay_model::DelayModel;
use fringes_stream::sink::{MemorySink, Overflow, Product, Sink, Sums, Takes};
use fringes_stream::source::{Blocks, Received, Source};
use fringes_stream::{BoxError, Ended, Fx, StreamError, TimeShares};
use fringes_types::Complex;

use crate::support::{FRAME, Noted, block, engine, info, noise, schedule};

type Key = (usize, Option<usize>);
type All = Vec<(Key, Sums)>;

/// An instrument with two cadences and two bins, dither and delays of up to 70 samples.
fn fx(sink: impl Sink + 'static) -> Fx<Complex<i8>> {
    let delays = (0..4).map(|input| DelayModel::constant(23.25 * f64::from(input), 0.1).unwrap()).collect();
    let bins = Bins::table(2, 3, vec![Some(0), Some(1), None]).unwrap();
    Fx::new(&Backend::cpu(), engine().dither(7).delays(delays))
        .cadence(schedule(6))
        .cadence(schedule(2))
        .bins(schedule(3), bins)
        .sink(sink, Overflow::Block)
}

/// Samples before and behind a span: a window, delays and a frame.
const MARGIN: u64 = 512 + 128 + FRAME;

fn all(products: Vec<Product>) -> All {
    let of = |product: Product| match product {
        Product::Dump(dump) => ((dump.cadence, dump.bin), dump.sums.clone()),
        other => panic!("{other:?}"),
    };
    let mut all: All = products.into_iter().map(of).collect();
    // Dumps of different kinds come in any order, those of one in order of time.
    all.sort_by_key(|(key, _)| *key);
    all
}

fn alone(source: impl Source + 'static) -> All {
    let (sink, products) = MemorySink::new();
    fx(sink).start(source).unwrap().join().into_result().unwrap();
    all(products.take())
}

fn in_turns(shares: TimeShares, source: impl Source + 'static) -> (All, Vec<Ended>) {
    let (sink, products) = MemorySink::new();
    let sinks = shares.sinks(sink).unwrap();
    let running: Vec<_> = shares
        .sources(source)
        .into_iter()
        .zip(sinks)
        .enumerate()
        .map(|(rank, (source, sink))| fx(sink).in_turns(shares, rank).start(source).unwrap())
        .collect();
    let ended = running.into_iter().map(fringes_stream::Running::join).collect();
    (all(products.take()), ended)
}

#[test]
fn dumps_are_those_of_one_instrument_in_order() {
    let end = 41 * 6 * FRAME + 300;
    for (ranks, span, times) in [(1, 1, 999), (2, 1, 700), (2, 3, 5000), (3, 2, 999), (5, 1, 40_000)] {
        let shares = TimeShares::new(ranks, span * 6 * FRAME, MARGIN).unwrap();
        let expected = alone(noise(times, end));
        let (found, ended) = in_turns(shares, noise(times, end));
        assert!(ended.iter().all(|ended| ended.error.is_none()), "{ended:?}");
        assert!(ended.iter().all(|ended| ended.report.clock_jumps == 0), "{shares:?}");
        assert_eq!(found.len(), expected.len(), "{shares:?}");
        assert!(found == expected, "{shares:?}");
        assert!(expected.len() > 300);
    }
}

#[test]
fn a_gap_is_as_in_one_instrument_if_it_is_short() {
    // Of a chunk within a span, and of one at the end of another.
    let shares = TimeShares::new(2, 24 * FRAME, MARGIN).unwrap();
    let chunks = |_: ()| {
        let all = (0..200u64).filter(|chunk| ![3, 46, 47].contains(chunk));
        Blocks::new(info(200 * FRAME), all.map(|chunk| Ok(Received::Samples(block(chunk * FRAME, FRAME as usize)))))
    };
    let (found, _) = in_turns(shares, chunks(()));
    assert!(found == alone(chunks(())));
}

#[test]
fn spans_without_samples_hold_up_nothing_for_ever() {
    // The second instrument has nothing but its first span.
    let span = 6 * FRAME;
    let shares = TimeShares::new(2, span, MARGIN).unwrap();
    let of_first = |chunk: &u64| chunk / 6 == 1 || (chunk / 6).is_multiple_of(2);
    let chunks = (0..120u64).filter(of_first).map(|chunk| Ok(Received::Samples(block(chunk * FRAME, FRAME as usize))));
    let (found, ended) = in_turns(shares, Blocks::new(info(120 * FRAME), chunks));
    assert!(ended.iter().all(|ended| ended.error.is_none()), "{ended:?}");
    let times: Vec<u64> =
        found.iter().filter(|(key, _)| *key == (0, None)).map(|(_, sums)| sums.first_sample()).collect();
    assert_eq!(times, (0..20).filter(|dump| dump % 2 == 0 || *dump == 1).map(|dump| dump * span).collect::<Vec<_>>());
}

#[test]
fn an_error_of_the_source_ends_all_behind_what_was_complete() {
    let shares = TimeShares::new(3, 6 * FRAME, MARGIN).unwrap();
    let chunks = (0..100u64).map(|chunk| match chunk {
        60 => Err("no more".into()),
        chunk => Ok(Received::Samples(block(chunk * FRAME, FRAME as usize))),
    });
    let (found, ended) = in_turns(shares, Blocks::new(info(100 * FRAME), chunks));
    for ended in &ended {
        let error = ended.error.as_ref().unwrap().to_string();
        assert!(error.contains("source") && error.contains("no more"), "{error}");
    }
    let whole = found.iter().filter(|(key, _)| *key == (0, None)).count();
    assert!(whole >= 7, "{whole}");
}

#[test]
fn one_that_is_stopped_ends_all() {
    let shares = TimeShares::new(2, 6 * FRAME, MARGIN).unwrap();
    let (sink, products) = MemorySink::new();
    let sinks = shares.sinks(sink).unwrap();
    let endless = (0u64..).map(|chunk| Ok(Received::Samples(block(chunk * FRAME, FRAME as usize))));
    let running: Vec<_> = shares
        .sources(Blocks::new(info(1 << 40), endless))
        .into_iter()
        .zip(sinks)
        .enumerate()
        .map(|(rank, (source, sink))| fx(sink).in_turns(shares, rank).start(source).unwrap())
        .collect();
    let mut found = Vec::new();
    while found.len() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        found.extend(products.take());
    }
    running[1].control().stop();
    for running in running {
        running.join().into_result().unwrap();
    }
}

/// A sink that fails at its third dump, and notes what it is told.
struct Fails(Arc<Mutex<(usize, usize)>>);

impl Sink for Fails {
    fn name(&self) -> &str {
        "fails"
    }
    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: 0 }
    }
    fn write(&mut self, _: &Product) -> Result<(), BoxError> {
        let mut told = self.0.lock().unwrap();
        told.0 += 1;
        if told.0 == 3 { Err("full".into()) } else { Ok(()) }
    }
    fn finish(&mut self) -> Result<(), BoxError> {
        self.0.lock().unwrap().1 += 1;
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_is_told_nothing_more_and_finished_once() {
    let shares = TimeShares::new(2, 6 * FRAME, MARGIN).unwrap();
    let told = Arc::<Mutex<(usize, usize)>>::default();
    let sinks = shares.sinks(Fails(told.clone())).unwrap();
    let running: Vec<_> = shares
        .sources(noise(1000, 200 * FRAME))
        .into_iter()
        .zip(sinks)
        .enumerate()
        .map(|(rank, (source, sink))| fx(sink).in_turns(shares, rank).start(source).unwrap())
        .collect();
    let errors: Vec<_> = running.into_iter().filter_map(|running| running.join().error).collect();
    assert!(errors.iter().all(|error| error.to_string().contains("full")) && !errors.is_empty(), "{errors:?}");
    assert_eq!(*told.lock().unwrap(), (3, 1));
}

#[test]
fn beams_are_not_divided() {
    struct Beams;
    impl Sink for Beams {
        fn name(&self) -> &str {
            "beams"
        }
        fn takes(&self) -> Takes {
            Takes::Beams
        }
        fn write(&mut self, _: &Product) -> Result<(), BoxError> {
            Ok(())
        }
        fn finish(&mut self) -> Result<(), BoxError> {
            Ok(())
        }
    }
    let refused = TimeShares::new(2, 1, 0).unwrap().sinks(Beams).map(drop);
    assert!(matches!(refused, Err(StreamError::Plan { .. })));
}

#[test]
fn chunks_are_read_once() {
    let (source, given) = Noted::new(noise(1000, 50_000));
    let shares = TimeShares::new(3, 6 * FRAME, MARGIN).unwrap();
    in_turns(shares, source);
    let firsts: Vec<u64> = given.lock().unwrap().iter().map(|block| block.first_sample()).collect();
    assert_eq!(firsts, (0..50).map(|chunk| chunk * 1000).collect::<Vec<_>>());
}

#[test]
fn spans_are_whole_dumps() {
    let shares = TimeShares::new(2, 7 * FRAME, MARGIN).unwrap();
    let (sink, _) = MemorySink::new();
    let refused = fx(sink).in_turns(shares, 0).start(noise(1000, 5000)).map(drop);
    assert!(matches!(refused, Err(StreamError::Plan { what: "samples of a span", .. })));
}
