//! Instruments that are spread over the threads of a process, against one call.

use std::sync::Mutex;
use std::time::Duration;

use fringes_backend::Backend;
use fringes_stream::exchange::{Blocks as Sent, BlocksMut, Exchange, ExchangeError, LocalRanks, Ranks};
use fringes_stream::sink::{MemorySink, Overflow};
use fringes_stream::source::{Received, Source, SourceInfo};
use fringes_stream::turn::TurnPlan;
use fringes_stream::{BoxError, Change, CornerTurn, Fx, InstrumentControl, StreamError};
use fringes_types::{Complex, Gains, Inputs};
use ndarray::Array2;

use crate::suite::{self, CHANNELS, CHUNK, Case, SPECTRA, STRIDE};

/// Runs a function on each rank, in threads of their own; what they give in the order of ranks.
fn on_ranks<T: Send>(ranks: Vec<LocalRanks>, run: impl Fn(LocalRanks) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(move || run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn blocks_arrive_as_they_were_sent() {
    for ranks in [1, 2, 5] {
        on_ranks(LocalRanks::new(ranks), |rank| suite::exchange(&rank));
    }
}

/// Ranks of a process that send packed bytes, as processes do.
#[derive(Debug)]
struct ByBytes(LocalRanks);

struct Bytes(Box<dyn Exchange>);

impl Ranks for ByBytes {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn ranks(&self) -> usize {
        self.0.ranks()
    }
    fn open(&self, lane: usize) -> Result<Box<dyn Exchange>, ExchangeError> {
        Ok(Box::new(Bytes(self.0.open(lane)?)))
    }
}

impl Exchange for Bytes {
    fn all_to_all(&mut self, send: Sent<'_>, receive: BlocksMut<'_>) -> Result<(), ExchangeError> {
        self.0.all_to_all(send, receive)
    }
    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), ExchangeError> {
        self.0.all_gather(mine, all)
    }
}

#[test]
fn a_spread_instrument_gives_the_bits_of_one() {
    spread(|rank| rank);
}

#[test]
fn packed_bytes_give_the_same() {
    spread(ByBytes);
    let mut lane = ByBytes(LocalRanks::new(1).remove(0)).open(0).unwrap();
    assert!(!lane.shares() && lane.share(std::sync::Arc::new(0)).is_err());
}

#[test]
fn what_one_rank_is_told_all_ranks_change() {
    for count in [2, 3] {
        suite::on_threads(count, |_, rank| rank, |_, next| suite::told(&Backend::cpu(), next()));
    }
    suite::on_threads(2, |_, rank| ByBytes(rank), |_, next| suite::told(&Backend::cpu(), next()));
}

/// Runs the suite's instruments on threads.
fn spread<R: Ranks + 'static>(of: impl Fn(LocalRanks) -> R + Sync) {
    for count in [1, 2, 4] {
        suite::on_threads(count, |_, rank| of(rank), |_, next| suite::instrument(&Backend::cpu(), next));
    }
}

#[test]
fn more_ranks_than_antennas_and_channels_leave_some_without_work() {
    let case = Case { end: 20_000, losses: false, ..Case::new(2) };
    let plan = case.plan(4).with_channel_shares(vec![0..40, 40..40, 40..40, 40..64]).unwrap();
    assert_eq!((plan.antennas_of(2), plan.channels_of(2)), (2..2, 40..40));
    let expected = case.in_one_call(&plan);
    let all = on_ranks(LocalRanks::new(4), |rank| {
        let turn = CornerTurn::new(rank, plan.clone()).unwrap();
        (turn.channels(), case.run(&turn).0)
    });
    for (channels, dumps) in &all {
        if channels.is_empty() {
            assert!(dumps.is_empty());
        } else {
            suite::same(dumps, &expected, channels);
        }
    }
}

/// A source that fails after some chunks.
struct Fails<S> {
    source: S,
    left: usize,
}

impl<S: Source> Source for Fails<S> {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }
    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        if self.left == 0 {
            return Err("the cable is cut".into());
        }
        self.left -= 1;
        self.source.next()
    }
}

#[test]
fn a_rank_that_fails_is_named_by_all_and_what_was_complete_is_delivered() {
    let case = Case { losses: false, ..Case::new(3) };
    let plan = case.plan(3).with_frames_per_block(2).unwrap();
    let expected = case.in_one_call(&plan);
    let all = on_ranks(LocalRanks::new(3), |rank| {
        let turn = CornerTurn::new(rank, plan.clone()).unwrap();
        let (fx, products) = case.fx(&turn);
        let left = if turn.rank() == 1 { 20 } else { usize::MAX };
        let source = Fails { source: case.source(turn.rank(), turn.antennas()), left };
        let ended = fx.start(source).unwrap().join();
        (turn.channels(), ended.error.unwrap(), suite::dumps(products.take()))
    });
    for (rank, (channels, error, dumps)) in all.into_iter().enumerate() {
        match error {
            StreamError::Rank { rank: failed, message } if rank != 1 => {
                assert_eq!((failed, message.as_str()), (1, "source: the cable is cut"));
            }
            StreamError::Stage { .. } if rank == 1 => {}
            other => panic!("rank {rank}: {other}"),
        }
        // 20 chunks hold 38 whole frames: 19 blocks, 12 dumps.
        assert_eq!(dumps.len(), 12, "rank {rank}");
        suite::same(&dumps, &expected[..12], &channels);
    }
}

#[test]
fn a_stop_of_one_rank_stops_all_at_the_same_dump() {
    // Without an end but for the stop.
    let case = Case { end: 1 << 40, losses: false, ..Case::new(3) };
    let plan = case.plan(3);
    let lengths = on_ranks(LocalRanks::new(3), |rank| {
        let turn = CornerTurn::new(rank, plan.clone()).unwrap();
        let (fx, products) = case.fx(&turn);
        let running = fx.start(case.source(turn.rank(), turn.antennas())).unwrap();
        if turn.rank() == 2 {
            while running.report().dumps < 5 {
                std::thread::sleep(Duration::from_millis(5));
            }
            running.stop();
        }
        let report = running.join().into_result().unwrap();
        let dumps = suite::dumps(products.take());
        for dump in &dumps {
            let (first, times) = (dump.clock().first_sample, dump.times());
            assert_eq!(times, case.frames * SPECTRA as u64);
            assert!(dump.valid_samples().iter().all(|&valid| valid == times), "{first}: {}", dump.valid_samples());
        }
        assert!(report.dumps >= 5);
        dumps.len()
    });
    assert!(lengths.iter().all(|&length| length == lengths[0]), "{lengths:?}");
}

#[test]
fn gains_change_at_the_same_sample_on_all_ranks() {
    let case = Case { losses: false, ..Case::new(4) };
    let plan = case.plan(2);
    let frame = STRIDE * SPECTRA as u64;
    let (at, gains) = (frame * 30 - 7, Gains::uniform(0.02).unwrap());
    let one = {
        let turn = CornerTurn::new(LocalRanks::new(1).remove(0), case.plan(1)).unwrap();
        let backend = Backend::cpu();
        let (sink, products) = MemorySink::new();
        let fx = Fx::<Complex<i8>>::new(&backend, Case::engine(case.inputs)).cadence(case.schedule());
        let running = fx.sink(sink, Overflow::Block).start(case.source(0, turn.antennas()).held_until_told()).unwrap();
        running.control().set_gains(at, gains.clone());
        tell();
        running.join().into_result().unwrap();
        suite::dumps(products.take())
    };
    let expected = case.in_one_call(&plan);
    assert!(one.iter().zip(&expected).any(|(one, other)| one.data() != other.data()));
    let all = on_ranks(LocalRanks::new(2), |rank| {
        let turn = CornerTurn::new(rank, plan.clone()).unwrap();
        let (fx, products) = case.fx(&turn);
        let running = fx.start(case.source(turn.rank(), turn.antennas()).held_until_told()).unwrap();
        running.control().set_gains(at, gains.clone());
        tell();
        running.join().into_result().unwrap();
        (turn.channels(), suite::dumps(products.take()))
    });
    for (channels, dumps) in all {
        suite::same(&dumps, &one, &channels);
    }
}

#[test]
fn one_call_changes_all_ranks_at_the_same_sample() {
    let case = Case { losses: false, ..Case::new(4) };
    let frame = STRIDE * SPECTRA as u64;
    let gains = Array2::from_shape_fn((CHANNELS, case.inputs.len()), |(channel, input)| {
        Complex::new(0.01 + 0.002 * input as f32, 0.0005 * channel as f32)
    });
    let before = Change::MaskedChannels { sample: frame * 9, channels: vec![3, 40] };
    let later = [
        Change::Gains { sample: frame * 30 - 7, gains: Gains::per_channel_input(gains).unwrap() },
        Change::MaskedChannels { sample: frame * 31, channels: vec![5, 31, 32] },
    ];
    let run = |ranks: usize| {
        let (plan, controls) = (case.plan(ranks), Mutex::new(Vec::new()));
        let gate = std::sync::Barrier::new(ranks);
        let all = on_ranks(LocalRanks::new(ranks), |rank| {
            let turn = CornerTurn::new(rank, plan.clone()).unwrap();
            let (fx, products) = case.fx(&turn);
            let source = case.source(turn.rank(), turn.antennas()).held_until_told();
            let running = fx.change(before.clone()).start(source).unwrap();
            controls.lock().unwrap().push(running.control());
            if gate.wait().is_leader() {
                let all = InstrumentControl::new(controls.lock().unwrap().drain(..)).unwrap();
                later.iter().for_each(|change| all.change(change).unwrap());
                let error = all.change(&Change::MaskedChannels { sample: 0, channels: vec![0, CHANNELS] });
                assert!(matches!(error, Err(StreamError::Change { .. })));
            }
            gate.wait();
            tell();
            running.join().into_result().unwrap();
            (turn.channels(), suite::dumps(products.take()))
        });
        all.into_iter().filter(|(channels, _)| !channels.is_empty()).collect::<Vec<_>>()
    };
    let one = run(1).swap_remove(0).1;
    let plain = case.in_one_call(&case.plan(1));
    let last = one.len() - 1;
    for channel in [3, 5, 31, 32, 40] {
        let is_masked = one[last].valid(channel, 0) == 0;
        assert_eq!(is_masked, ![3, 40].contains(&channel), "{channel}");
    }
    assert_eq!(one[0].data(), plain[0].data());
    assert_ne!(one[last].data().row(7), plain[last].data().row(7));
    for ranks in [2, 3] {
        for (channels, dumps) in run(ranks) {
            suite::same(&dumps, &one, &channels);
            for (found, expected) in dumps.iter().zip(&one) {
                for channel in channels.clone() {
                    assert_eq!(found.valid(channel - channels.start, 3), expected.valid(channel, 3), "{channel}");
                }
            }
        }
    }
}

#[test]
fn each_rank_leaves_out_channels_of_its_own() {
    let case = Case { losses: false, ..Case::new(4) };
    let plan = case.plan(2);
    let at = STRIDE * SPECTRA as u64 * 31;
    // Channel 5 of all is channel 5 of the first rank, 40 is channel 8 of the second one.
    let all = on_ranks(LocalRanks::new(2), |rank| {
        let turn = CornerTurn::new(rank, plan.clone()).unwrap();
        assert_eq!(turn.channels().len(), CHANNELS / 2);
        let (fx, products) = case.fx(&turn);
        let running = fx.start(case.source(turn.rank(), turn.antennas()).held_until_told()).unwrap();
        running.control().set_masked_channels(at, vec![if turn.rank() == 0 { 5 } else { 8 }]);
        tell();
        running.join().into_result().unwrap();
        (turn.channels(), suite::dumps(products.take()))
    });
    let expected = case.in_one_call(&plan);
    let (frame, length) = (STRIDE * SPECTRA as u64, case.frames);
    for (channels, dumps) in all {
        assert_eq!(dumps.len(), expected.len());
        for (actual, expected) in dumps.iter().zip(&expected) {
            let first = expected.clock().first_sample / frame;
            for channel in 0..channels.len() {
                let number = channels.start + channel;
                // Frames of the dump before the 32nd.
                let kept = if [5, 40].contains(&number) { 31u64.saturating_sub(first).min(length) } else { length };
                let lost = (length - kept) * SPECTRA as u64;
                assert_eq!(actual.valid(channel, 3), expected.valid(number, 3).saturating_sub(lost), "{number}");
                let same = actual.data().row(channel) == expected.data().row(number);
                assert_eq!(same, kept == length, "channel {number}, dump at frame {first}");
            }
        }
    }
}

/// Sources that wait for the thread that has made them.
trait Held: Sized {
    fn held_until_told(self) -> Waits<Self>;
}

thread_local! {
    static TOLD: std::cell::RefCell<Option<crossbeam_channel::Sender<()>>> = const { std::cell::RefCell::new(None) };
}

fn tell() {
    TOLD.with(|told| drop(told.borrow_mut().take()));
}

struct Waits<S> {
    source: S,
    told: Option<crossbeam_channel::Receiver<()>>,
}

impl<S: Source> Held for S {
    fn held_until_told(self) -> Waits<S> {
        let (sender, receiver) = crossbeam_channel::bounded(0);
        TOLD.with(|told| *told.borrow_mut() = Some(sender));
        Waits { source: self, told: Some(receiver) }
    }
}

impl<S: Source> Source for Waits<S> {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }
    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        if let Some(told) = self.told.take() {
            let _ = told.recv();
        }
        self.source.next()
    }
}

#[test]
fn ranks_that_are_gone_or_silent_are_named() {
    let mut ranks = LocalRanks::new(3);
    drop(ranks.remove(2));
    let silent = ranks.remove(1);
    let rank = ranks.remove(0).with_timeout(Duration::from_millis(50));
    let send = |lane: usize, counts: &[usize]| {
        let mut lane = rank.open(lane).unwrap();
        let bytes = vec![0; counts.iter().sum()];
        let mut received = vec![0; counts.iter().sum()];
        lane.all_to_all(Sent { bytes: &bytes, counts }, BlocksMut { bytes: &mut received, counts })
    };
    assert_eq!(send(0, &[1, 1, 1]), Err(ExchangeError::Lost { rank: 2 }));
    let mut lane = rank.open(1).unwrap();
    let mut all = [0; 3];
    assert_eq!(lane.all_gather(&[1], &mut all), Err(ExchangeError::Lost { rank: 2 }));
    drop(silent);
    let mut ranks = LocalRanks::new(2);
    let _silent = ranks.remove(1);
    let rank = ranks.remove(0).with_timeout(Duration::from_millis(50));
    let mut lane = rank.open(0).unwrap();
    let error = lane.all_gather(&[1], &mut [0; 2]).unwrap_err();
    assert_eq!(error, ExchangeError::Silent { ranks: vec![1], seconds: 0 });
    assert!(error.to_string().contains("rank 1"), "{error}");
}

#[test]
fn an_instrument_ends_with_an_error_that_names_the_rank_that_is_lost() {
    let case = Case { losses: false, ..Case::new(2) };
    let plan = case.plan(2);
    let mut ranks = LocalRanks::new(2);
    drop(ranks.remove(1));
    let turn = CornerTurn::new(ranks.remove(0), plan).unwrap();
    let (fx, _) = case.fx(&turn);
    let ended = fx.start(case.source(0, turn.antennas())).unwrap().join();
    assert_eq!(ended.error.unwrap().to_string(), "corner turn: rank 1 is lost");
}

#[test]
fn other_plans_are_told() {
    let case = Case { losses: false, ..Case::new(2) };
    let errors = on_ranks(LocalRanks::new(2), |rank| {
        let frames = 2 + rank.rank();
        let turn = CornerTurn::new(rank, case.plan(2).with_frames_per_block(frames).unwrap()).unwrap();
        let (fx, _) = case.fx(&turn);
        fx.start(case.source(turn.rank(), turn.antennas())).unwrap().join().error.unwrap().to_string()
    });
    assert!(errors.iter().all(|error| error.contains("another plan")), "{errors:?}");
}

#[test]
fn parts_that_do_not_fit_the_plan_are_refused() {
    let case = Case { losses: false, ..Case::new(3) };
    let plan = case.plan(2);
    let turn = CornerTurn::new(LocalRanks::new(2).remove(0), plan.clone()).unwrap();
    let backend = Backend::cpu();
    let refused = |fx: Fx<Complex<i8>>, source: usize| {
        let error = fx.cadence(case.schedule()).start(case.source(0, 0..source)).unwrap_err();
        error.to_string()
    };
    let of = |antennas: usize| Case::engine(Inputs::new(antennas, 2).unwrap());
    assert!(refused(Fx::new(&backend, of(3)).turned(turn.clone()), 3).contains("expected 2 antennas"));
    let other = of(2).spectra_per_frame(8);
    assert!(refused(Fx::new(&backend, other).turned(turn.clone()), 2).contains("found 2 antennas"));
    let heaps = Fx::<Complex<i8>>::of_heaps(&backend, case.inputs, CHANNELS).turned(turn.clone());
    assert!(refused(heaps, 3).contains("heaps"));
    assert!(refused(Fx::of_turn(&backend, turn.clone()), 2).contains("source: expected none"));
    let error = Fx::<Complex<i8>>::of_turn(&backend, turn).cadence(case.schedule()).start_without_source().unwrap_err();
    assert!(error.to_string().contains("antennas of a rank without an F-engine"), "{error}");
    let error = Fx::<Complex<i8>>::new(&backend, of(2)).start_without_source().unwrap_err();
    assert!(error.to_string().contains("source: expected one"), "{error}");
    let error = CornerTurn::new(LocalRanks::new(3).remove(0), plan).unwrap_err();
    assert!(error.to_string().contains("ranks of a corner turn: expected 2, found 3"), "{error}");
}

#[test]
fn a_run_is_continued_behind_the_earliest_of_the_last_dumps() {
    let plan = TurnPlan::new(4, Inputs::new(4, 2).unwrap(), CHANNELS, STRIDE, SPECTRA).unwrap();
    for (lasts, expected) in [
        ([Some(Some(7)), Some(Some(5)), None, Some(Some(9))], Some(5)),
        ([Some(Some(7)), Some(None), None, Some(Some(9))], None),
        ([None, None, None, None], None),
    ] {
        let agreed = on_ranks(LocalRanks::new(4), |rank| {
            let turn = CornerTurn::new(rank, plan.clone()).unwrap();
            turn.agree_on_last_dump(lasts[turn.rank()]).unwrap()
        });
        assert_eq!(agreed, [expected; 4]);
    }
}

#[test]
fn memory_stays_below_its_bound_and_reports_say_what_went() {
    let case = Case { losses: false, end: 100_000, ..Case::new(4) };
    let plan = case.plan(2);
    let frame = STRIDE * SPECTRA as u64;
    let reports = on_ranks(LocalRanks::new(2), |rank| {
        let turn = CornerTurn::new(rank, plan.clone()).unwrap();
        let (fx, _) = case.fx(&turn);
        let inputs = Inputs::new(2, 2).unwrap();
        let chunk = case.block_format();
        let with = fx.memory_bound(inputs, CHUNK, chunk).unwrap();
        let alone = Fx::<Complex<i8>>::new(&Backend::cpu(), Case::engine(inputs)).cadence(case.schedule());
        assert!(with > alone.memory_bound(inputs, CHUNK, chunk).unwrap() + plan.memory_bound(turn.rank(), 2));
        case.run(&turn).1
    });
    // All whole blocks and the last one, each with half of the antennas' half of the channels to the other rank.
    let blocks = (100_000 / frame).div_ceil(5);
    for report in &reports {
        assert_eq!(report.turn.blocks, blocks);
        assert_eq!(report.turn.bytes_sent, blocks * plan.block_bytes(0, 1, 2) as u64);
        assert_eq!(report.turn.bytes_received, report.turn.bytes_sent);
        // Ranks of one process do not pack.
        assert!(report.turn.placing > Duration::ZERO && report.turn.packing == Duration::ZERO);
    }
}
