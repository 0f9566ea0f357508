//! Blocks through F-engines, corner turn and X-engines, a thread and two streams a GPU.
//!
//! ```text
//! computing   F(0)       F(1) X(0)  F(2) X(1)  F(3) ...
//! turning           T(0)       T(1)       T(2) ...
//! ```
//!
//! Where one GPU does all, X takes what F gives. A block's frames are kept until their GPU has the next block's
//! F-engine to do: what waits for the turn before their memory is used again then comes behind that.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fringes::backend::Workspace;
use fringes::{DeviceArray, DeviceHeaps, FEngine, Precision, TurnRing, TurnedFEngine, TurnedFrames};
use fringes_gpu::{Buffer, Event, Stream};

use crate::end::End;
use crate::scale::case::{BLOCKS_OF_DUMP, Case, Sample, XEngine};
use crate::scale::energy::Counters;
use crate::scale::meeting::{Meeting, Seat};
use crate::scale::stock::Stock;
use crate::scale::turner::{Turner, Way};

type Frames = Arc<DeviceHeaps<'static, Sample>>;
type Written = Arc<TurnedFrames<Sample>>;

/// Blocks before the time of one is known.
const FIRST: usize = 2 * BLOCKS_OF_DUMP;
/// Seconds of work before what counts.
const WARM_UP: f64 = 0.25;
/// Least number of dumps that are timed.
const LEAST: usize = 4;

/// What the blocks go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// The X-engine alone, of voltages that are there.
    X,
    /// F- and X-engine. Without a turn, X takes what F gives on one GPU, and voltages that are there on several.
    Fx(Option<Way>),
    /// The turn alone, of frames that are there.
    Turn(Way),
}

/// Times of blocks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Times {
    /// Of the blocks of each dump, a block's.
    pub(crate) block_ms: Vec<f64>,
    /// Joules of all GPUs a block, where there are counters.
    pub(crate) joules: Option<f64>,
    /// Of the F-engine.
    pub(crate) precision: Option<Precision>,
    /// Bytes that a GPU gets of others, and copies of its own, a block: the mean of the GPUs.
    pub(crate) turned: Option<(f64, f64)>,
}

/// What a rank's thread ends with: when blocks were done, the joules at both ends of what counts, the precision.
type Ended = (Vec<Instant>, [Option<f64>; 2], Option<Precision>);

/// What the threads share.
struct Run<'a> {
    case: Case,
    steps: Steps,
    stocks: &'a [Stock],
    computing: Vec<Stream>,
    turning: Vec<Stream>,
    turner: Option<Turner>,
    meeting: Meeting,
    /// Frames of the ranks, of blocks of even and of odd numbers.
    frames: [Mutex<Vec<Option<Frames>>>; 2],
    /// Where F-engines write, if they write to a ring.
    ring: Option<TurnRing<Sample>>,
    /// What they have written, of blocks of even and of odd numbers.
    written: [Mutex<Vec<Option<Written>>>; 2],
    /// What one thread turned for all.
    turned: Mutex<Vec<Option<Frames>>>,
    /// Number of blocks that are done when timing begins, and when it ends, once they are known.
    begin: AtomicUsize,
    end: AtomicUsize,
    seconds: f64,
    counters: Option<Counters>,
}

/// What a rank's thread has.
struct Rank<'a> {
    run: &'a Run<'a>,
    number: usize,
    f_engine: Option<FEngine<Sample>>,
    /// One that writes to the ring.
    direct: Option<TurnedFEngine<Sample>>,
    x_engine: Option<XEngine>,
    samples: Option<Buffer<u32>>,
    /// Events behind the last step of blocks, those that were not waited for.
    queued: VecDeque<Event>,
    /// When blocks were done, from the first on.
    ends: Vec<Instant>,
    joules: [Option<f64>; 2],
}

/// Puts blocks through some GPUs and times them for about so many seconds.
pub(crate) fn run(case: Case, steps: Steps, stocks: &[Stock], seconds: f64) -> Result<Times, End> {
    let times = timed(case, steps, stocks, seconds);
    // What was turned lies free in the pools otherwise.
    stocks.iter().for_each(|stock| Workspace::trim(&stock.device));
    times
}

fn timed(case: Case, steps: Steps, stocks: &[Stock], seconds: f64) -> Result<Times, End> {
    let ranks = stocks.len();
    let streams = || stocks.iter().map(|stock| stock.device.new_stream()).collect::<Result<Vec<_>, _>>();
    let (computing, turning) = (streams()?, streams()?);
    let way = match steps {
        Steps::X => None,
        Steps::Fx(way) => way,
        Steps::Turn(way) => Some(way),
    };
    let devices = stocks.iter().map(|stock| &stock.device);
    let ring = way.filter(|way| way.has_ring()).map(|way| case.ring(way, devices)).transpose()?;
    let turner = way
        .filter(|way| !way.has_ring())
        .map(|way| Turner::new(way, turning.clone(), case.shares(ranks)))
        .transpose()?;
    let turned = turner.as_ref().map(|turner| {
        let bytes = |rank| turner.bytes(rank, &case.antennas(ranks), case.value_bytes());
        let sum = (0..ranks).map(bytes).fold((0.0, 0.0), |sum, rank| (sum.0 + rank.0, sum.1 + rank.1));
        (sum.0 / ranks as f64, sum.1 / ranks as f64)
    });
    let empty = || Mutex::new(vec![None; ranks]);
    let run = Run {
        case,
        steps,
        stocks,
        computing,
        turning,
        turner,
        meeting: Meeting::new(ranks),
        frames: [empty(), empty()],
        ring,
        written: [Mutex::new(vec![None; ranks]), Mutex::new(vec![None; ranks])],
        turned: empty(),
        begin: AtomicUsize::new(usize::MAX),
        end: AtomicUsize::new(usize::MAX),
        seconds,
        counters: Counters::of(stocks.iter().map(|stock| &stock.device)),
    };
    let ended: Vec<Result<Ended, End>> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || run.rank(rank))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(End::failed("a thread panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for ended in ended {
        match ended {
            Ok(rank) => all.push(rank),
            Err(error) => failures.push(error),
        }
    }
    // That of a rank by itself comes first.
    failures.sort_by_key(|error| error.to_string() == OTHERS);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    Ok(times(&run, &all, turned))
}

/// Times of blocks, each done when the last rank is.
fn times(run: &Run<'_>, all: &[Ended], turned: Option<(f64, f64)>) -> Times {
    let (begin, end) = (run.begin.load(Ordering::SeqCst), run.end.load(Ordering::SeqCst));
    let at = |block: usize| all.iter().filter_map(|(ends, _, _)| ends.get(block)).max().copied();
    let mut block_ms = Vec::new();
    for dump in (begin..end).step_by(BLOCKS_OF_DUMP) {
        if let (Some(first), Some(last)) = (at(dump), at(dump + BLOCKS_OF_DUMP)) {
            block_ms.push(1e3 * last.duration_since(first).as_secs_f64() / BLOCKS_OF_DUMP as f64);
        }
    }
    let joules = all.iter().find_map(|(_, joules, _)| Some((joules[1]? - joules[0]?) / (end - begin) as f64));
    let precision = all.iter().find_map(|(_, _, precision)| *precision);
    Times { block_ms, joules, precision, turned }
}

/// The failure of a rank whose own steps went well.
const OTHERS: &str = "another rank failed";

/// Goes on with what a step gave if every rank's step went well.
fn together<T>(seat: &mut Seat<'_>, ended: Result<T, End>) -> Result<T, End> {
    if ended.is_err() {
        seat.fail();
    }
    let goes_on = seat.meet();
    ended.and_then(|value| if goes_on { Ok(value) } else { Err(End::failed(OTHERS)) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run<'_> {
    /// A rank's thread. Every step ends with a meeting: a turn needs the frames of all, and their memory is used again
    /// when all have taken them.
    fn rank(&self, number: usize) -> Result<Ended, End> {
        let mut seat = self.meeting.seat();
        let mut rank = together(&mut seat, Rank::new(self, number))?;
        let values = together(&mut seat, rank.values_that_are_there())?;
        let mut pending = Vec::new();
        for block in 0.. {
            if rank.ends.len() > self.end.load(Ordering::SeqCst) {
                break;
            }
            let own = together(&mut seat, rank.f(block))?;
            let turned = together(&mut seat, rank.turn(block))?;
            let ended = rank.x(block, own, turned, values.as_ref(), &mut pending);
            together(&mut seat, ended)?;
        }
        self.computing[number].synchronize()?;
        self.turning[number].synchronize()?;
        let direct = rank.direct.as_ref().and_then(TurnedFEngine::precision);
        let precision = rank.f_engine.as_ref().and_then(FEngine::precision).or(direct);
        Ok((rank.ends, rank.joules, precision))
    }

    fn ranks(&self) -> usize {
        self.stocks.len()
    }
}

impl<'a> Rank<'a> {
    fn new(run: &'a Run<'a>, number: usize) -> Result<Self, End> {
        let (case, ranks, stock) = (run.case, run.ranks(), &run.stocks[number]);
        let (stream, antennas) = (&run.computing[number], case.antennas(ranks)[number].len());
        let (mut f_engine, mut direct, mut x_engine, mut samples) = (None, None, None, None);
        if let Steps::Fx(_) = run.steps {
            let engine = case.f_engine(antennas, stream)?;
            match &run.ring {
                Some(ring) => {
                    let first = case.antennas(ranks)[number].start;
                    direct = Some(engine.into_turn(ring, first).map_err(End::failed)?);
                }
                None => f_engine = Some(engine),
            }
            samples = Some(case.sample_words(antennas, stock, stream)?);
        }
        if let Steps::Turn(_) = run.steps {
            let values = stock.buffer::<Sample>(stream, case.heap_values(antennas, case.channels))?;
            let array = DeviceArray::from(values).written_now(stream).map_err(End::failed)?;
            let frames: Frames = Arc::new(case.heaps(array, antennas, case.channels, 0)?);
            for slot in &run.frames {
                lock(slot)[number] = Some(frames.clone());
            }
        } else {
            x_engine = Some(case.x_engine(case.shares(ranks)[number].len(), stream)?);
        }
        stream.synchronize()?;
        let (queued, ends, joules) = (VecDeque::new(), Vec::new(), [None; 2]);
        Ok(Self { run, number, f_engine, direct, x_engine, samples, queued, ends, joules })
    }

    /// Voltages for X where none come.
    fn values_that_are_there(&self) -> Result<Option<Buffer<Sample>>, End> {
        let (run, number) = (self.run, self.number);
        let are_wanted = run.steps == Steps::X || (run.steps == Steps::Fx(None) && run.ranks() > 1);
        let length = run.case.heap_values(run.case.stations, run.case.shares(run.ranks())[number].len());
        let stream = &run.computing[number];
        let values = are_wanted.then(|| run.stocks[number].buffer(stream, length)).transpose()?;
        stream.synchronize()?;
        Ok(values)
    }

    /// The F-engine. Frames that are to be turned go to their place; those of the only GPU are given.
    fn f(&mut self, block: usize) -> Result<Option<Frames>, End> {
        let Some(samples) = &self.samples else { return Ok(None) };
        if let Some(engine) = &mut self.direct {
            let samples = self.run.case.block(samples, engine.inputs().antennas(), block)?;
            let mut pieces = engine.push(&samples).map_err(End::failed)?.into_iter();
            let (Some(piece), None) = (pieces.next(), pieces.next()) else {
                return Err(End::failed(format!("block {block}: not one piece of frames")));
            };
            lock(&self.run.written[block % 2])[self.number] = Some(Arc::new(piece.frames));
            return Ok(None);
        }
        let Some(engine) = &mut self.f_engine else { return Ok(None) };
        let samples = self.run.case.block(samples, engine.inputs().antennas(), block)?;
        let mut pieces = engine.push(&samples).map_err(End::failed)?.frames.into_iter();
        let (Some(frames), None) = (pieces.next(), pieces.next()) else {
            return Err(End::failed(format!("block {block}: not one piece of frames")));
        };
        let frames: Frames = Arc::new(frames.voltages);
        if self.run.turner.is_some() {
            lock(&self.run.frames[block % 2])[self.number] = Some(frames);
            return Ok(None);
        }
        Ok((self.run.ranks() == 1).then_some(frames))
    }

    /// The turn: what this rank gets, unless one thread turns for all.
    fn turn(&self, block: usize) -> Result<Vec<Frames>, End> {
        let run = self.run;
        if let Some(ring) = &run.ring {
            // Everybody has taken the block before.
            let before = lock(&run.written[(block + 1) % 2])[self.number].take();
            drop(before);
            let parts: Vec<Written> = lock(&run.written[block % 2]).iter().flatten().cloned().collect();
            let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
            // Two pieces where the ring begins anew.
            return Ok(ring.take(self.number, &parts).map_err(End::failed)?.into_iter().map(Arc::new).collect());
        }
        let Some(turner) = &run.turner else { return Ok(Vec::new()) };
        if self.f_engine.is_some() {
            // Everybody has taken the block before. Its memory is used again behind this block's F-engine.
            let before = lock(&run.frames[(block + 1) % 2])[self.number].take();
            drop(before);
        }
        let frames: Vec<Frames> = lock(&run.frames[block % 2]).iter().flatten().cloned().collect();
        let frames: Vec<_> = frames.iter().map(AsRef::as_ref).collect();
        match turner.way() {
            Way::Copies | Way::Stores | Way::Frames => Ok(vec![Arc::new(turner.copy(self.number, &frames)?)]),
            Way::Nccl if self.number == 0 => {
                let all = turner.all(&frames)?;
                *lock(&run.turned) = all.into_iter().map(|heaps| Some(Arc::new(heaps))).collect();
                Ok(Vec::new())
            }
            Way::Nccl => Ok(Vec::new()),
        }
    }

    /// The X-engine of the block before, and what it gets next.
    fn x<'v>(
        &mut self,
        block: usize,
        own: Option<Frames>,
        mut turned: Vec<Frames>,
        values: Option<&'v Buffer<Sample>>,
        pending: &mut Vec<Arc<DeviceHeaps<'v, Sample>>>,
    ) -> Result<(), End> {
        let (run, number) = (self.run, self.number);
        turned.extend(lock(&run.turned)[number].take());
        turned.extend(own);
        let Some(engine) = &mut self.x_engine else {
            drop(turned);
            return self.queued_on(&run.turning[number]);
        };
        let before = std::mem::take(pending);
        for heaps in &before {
            engine.push(heaps.as_ref()).map_err(End::failed)?;
        }
        match values {
            _ if !turned.is_empty() => pending.extend(turned.into_iter().map(|frames| frames as _)),
            Some(values) => {
                let channels = run.case.shares(run.ranks())[number].len();
                let values = DeviceArray::from(values.view());
                pending.push(Arc::new(run.case.heaps(values, run.case.stations, channels, block)?));
            }
            None => return Err(End::failed(format!("block {block}: nothing for the X-engine"))),
        }
        if before.is_empty() { Ok(()) } else { self.queued_on(&run.computing[number]) }
    }

    /// Notes that a block's last step was queued, and waits until few are under way.
    fn queued_on(&mut self, stream: &Stream) -> Result<(), End> {
        let event = stream.device().new_event()?;
        event.record(stream)?;
        self.queued.push_back(event);
        // The X-engine alone has short blocks and needs no memory for them.
        let most = if self.run.steps == Steps::X { 4 } else { 1 };
        while self.queued.len() > most {
            if let Some(event) = self.queued.pop_front() {
                event.synchronize()?;
                self.ends.push(Instant::now());
                if self.number == 0 {
                    self.plan();
                }
            }
        }
        Ok(())
    }

    /// Decides what counts once the first blocks are done, and reads the counters at its ends.
    fn plan(&mut self) {
        let (run, done) = (self.run, self.ends.len());
        if done == FIRST {
            let taken = self.ends[FIRST - 1].duration_since(self.ends[BLOCKS_OF_DUMP - 1]).as_secs_f64();
            let block = (taken / (FIRST - BLOCKS_OF_DUMP) as f64).max(1e-5);
            let dumps = |seconds: f64| (seconds / block / BLOCKS_OF_DUMP as f64).ceil() as usize;
            let begin = FIRST + BLOCKS_OF_DUMP * dumps(WARM_UP);
            run.begin.store(begin, Ordering::SeqCst);
            run.end.store(begin + BLOCKS_OF_DUMP * dumps(run.seconds).max(LEAST), Ordering::SeqCst);
        }
        let joules = || run.counters.as_ref().and_then(Counters::joules);
        if done == run.begin.load(Ordering::SeqCst).saturating_add(1) {
            self.joules[0] = joules();
        } else if done == run.end.load(Ordering::SeqCst).saturating_add(1) {
            self.joules[1] = joules();
        }
    }
}
