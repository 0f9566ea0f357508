//! What every rank of a job checks, whatever connects them: threads of one process, or processes of MPI.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use fringes_backend::Backend;
use fringes_channelizer::Channelizer;
use fringes_correlator::{DumpSchedule, Integrator};
use fringes_f_engine::{FEngine, FEngineBuilder};
use fringes_stream::exchange::{Blocks as Sent, BlocksMut, ExchangeError, LocalRanks, Ranks};
use fringes_stream::fx::Report;
use fringes_stream::sink::{Dump, MemorySink, Overflow, Product, Sums};
use fringes_stream::source::{Blocks, Received, Source, SourceInfo};
use fringes_stream::turn::{TurnPlan, even_shares};
use fringes_stream::{BoxError, Change, Control, CornerTurn, Fx, InstrumentControl, SampleBlock, StreamError};
use fringes_types::{Complex, Gains, Inputs, SamplePresence, Samples, Visibilities};
use ndarray::{Array2, s};

pub(crate) const CHANNELS: usize = 64;
pub(crate) const STRIDE: u64 = 128;
pub(crate) const SPECTRA: usize = 4;
pub(crate) const CHUNK: usize = 1000;

/// Numbers that look like noise.
pub(crate) fn hash(a: u64, b: u64) -> u64 {
    let mut state = (a + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (b + 7).wrapping_mul(0xD1B5_4A32_D192_ED03);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Checks all-to-alls and gathers in two lanes beside each other.
pub(crate) fn exchange(ranks: &(impl Ranks + ?Sized)) {
    let (me, all) = (ranks.rank(), ranks.ranks());
    std::thread::scope(|scope| {
        for lane in 0..2u64 {
            scope.spawn(move || {
                let mut exchange = ranks.open(lane as usize).unwrap();
                for round in 0..20u64 {
                    // Many blocks are empty, some long.
                    let count = |from: usize, to: usize| {
                        let number = hash(from as u64 * 100 + to as u64, lane * 1000 + round);
                        if number % 3 == 0 {
                            0
                        } else {
                            (number >> 8) as usize % if number % 7 == 1 { 300_000 } else { 500 }
                        }
                    };
                    let byte = |from: usize, to: usize, at: usize| {
                        hash((from * 31 + to) as u64 + lane, round * 1_000_000 + at as u64) as u8
                    };
                    let counts: Vec<usize> = (0..all).map(|to| count(me, to)).collect();
                    let bytes: Vec<u8> =
                        (0..all).flat_map(|to| (0..counts[to]).map(move |at| byte(me, to, at))).collect();
                    let from: Vec<usize> = (0..all).map(|from| count(from, me)).collect();
                    let mut received = vec![0xAA; from.iter().sum()];
                    let sent = Sent { bytes: &bytes, counts: &counts };
                    exchange.all_to_all(sent, BlocksMut { bytes: &mut received, counts: &from }).unwrap();
                    let expected: Vec<u8> =
                        (0..all).flat_map(|other| (0..from[other]).map(move |at| byte(other, me, at))).collect();
                    assert!(received == expected, "lane {lane}, round {round}");
                    let mine = [me as u8, round as u8, lane as u8];
                    let mut gathered = vec![0; 3 * all];
                    exchange.all_gather(&mine, &mut gathered).unwrap();
                    for (rank, message) in gathered.chunks(3).enumerate() {
                        assert_eq!(message, [rank as u8, round as u8, lane as u8]);
                    }
                }
                // What does not add up is refused before anything is sent.
                let counts = vec![1; all];
                let error = exchange
                    .all_to_all(
                        Sent { bytes: &[], counts: &counts },
                        BlocksMut { bytes: &mut vec![0; all], counts: &counts },
                    )
                    .unwrap_err();
                assert_eq!(error, ExchangeError::Blocks { what: "bytes to be sent", expected: all, actual: 0 });
            });
        }
    });
    assert_eq!(ranks.open(0).err(), Some(ExchangeError::Opened { lane: 0, rank: me }));
}

/// An instrument, its samples, and what of them did not come.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) inputs: Inputs,
    pub(crate) end: u64,
    /// Whether packets are lost, and chunks of all ranks but the first.
    pub(crate) losses: bool,
    /// Frames of a dump.
    pub(crate) frames: u64,
    /// Where operations run.
    pub(crate) backend: Backend,
}

impl Case {
    pub(crate) fn new(antennas: usize) -> Self {
        let inputs = Inputs::new(antennas, 2).unwrap();
        Self { inputs, end: 40_000, losses: true, frames: 3, backend: Backend::cpu() }
    }

    pub(crate) fn plan(&self, ranks: usize) -> TurnPlan {
        TurnPlan::new(ranks, self.inputs, CHANNELS, STRIDE, SPECTRA).unwrap().with_frames_per_block(5).unwrap()
    }

    pub(crate) fn schedule(&self) -> DumpSchedule {
        DumpSchedule::new(STRIDE, SPECTRA as u64, self.frames).unwrap()
    }

    pub(crate) fn engine(inputs: Inputs) -> FEngineBuilder {
        let plan = Channelizer::real(CHANNELS).taps(4).build().unwrap();
        FEngine::builder(plan, inputs).spectra_per_frame(SPECTRA).gains(Gains::uniform(0.05).unwrap()).dither(5)
    }

    /// Whether a chunk of a rank never came.
    fn skipped(&self, rank: usize, chunk: u64) -> bool {
        // The second rank begins late, and the others have holes.
        self.losses && rank > 0 && (hash(rank as u64, chunk) % 5 == 0 || (rank == 1 && chunk < 4))
    }

    /// Whether a packet of 8 samples was lost.
    fn lost(&self, input: usize, time: u64) -> bool {
        self.losses && hash(input as u64 + 77, time / 8) % 1999 == 0
    }

    fn sample(input: usize, time: u64) -> i8 {
        (hash(input as u64, time) % 201) as i16 as i8
    }

    /// Samples of some antennas with their flags.
    fn block(
        &self,
        antennas: &Range<usize>,
        first: u64,
        times: usize,
        missing: impl Fn(usize, u64) -> bool,
    ) -> SampleBlock {
        let inputs = Inputs::new(antennas.len(), self.inputs.pols()).unwrap();
        let of = |input: usize| antennas.start * self.inputs.pols() + input;
        let shape = (inputs.len(), times);
        let data = Array2::from_shape_fn(shape, |(input, time)| Self::sample(of(input), first + time as u64));
        let flags = Array2::from_shape_fn(shape, |(input, time)| {
            let (input, time) = (of(input), first + time as u64);
            !self.lost(input, time) && !missing(input, time)
        });
        let samples = Samples::new(data, inputs).unwrap().with_first_sample(first).with_sample_rate(1e6).unwrap();
        samples.with_presence(SamplePresence::new(1, flags).unwrap()).unwrap().into()
    }

    /// Format of the samples.
    pub(crate) fn block_format(&self) -> fringes_types::ChunkFormat {
        self.block(&(0..1), 0, 8, |_, _| false).as_chunk().format()
    }

    /// The source of a rank's antennas.
    pub(crate) fn source(&self, rank: usize, antennas: Range<usize>) -> impl Source + use<> {
        let inputs = Inputs::new(antennas.len(), self.inputs.pols()).unwrap();
        let info = SourceInfo {
            label: format!("rank {rank}"),
            inputs,
            sample_rate_hz: 1e6,
            sample_zero: None,
            end_sample: Some(self.end),
        };
        let case = self.clone();
        let chunks = (0..self.end.div_ceil(CHUNK as u64)).filter(move |&chunk| !case.skipped(rank, chunk));
        let case = self.clone();
        let chunks = chunks.map(move |chunk| {
            let first = chunk * CHUNK as u64;
            let times = (CHUNK as u64).min(case.end - first) as usize;
            Ok::<_, BoxError>(Received::Samples(case.block(&antennas, first, times, |_, _| false)))
        });
        Blocks::new(info, chunks)
    }

    /// What one F-engine and one correlator make of all samples in one call; on a GPU, what an instrument of one rank
    /// makes of them.
    pub(crate) fn in_one_call(&self, plan: &TurnPlan) -> Vec<Visibilities<Complex<i64>>> {
        self.of_engine(plan, Self::engine(self.inputs))
    }

    /// The same with another F-engine.
    fn of_engine(&self, plan: &TurnPlan, engine: FEngineBuilder) -> Vec<Visibilities<Complex<i64>>> {
        let rank_of = |input: usize| {
            let antenna = input / self.inputs.pols();
            (0..plan.ranks()).find(|&rank| plan.antennas_of(rank).contains(&antenna)).unwrap()
        };
        let all = 0..self.inputs.antennas();
        let block =
            self.block(&all, 0, self.end as usize, |input, time| self.skipped(rank_of(input), time / CHUNK as u64));
        if self.backend.device().is_some() {
            let info = self.source(0, all).info().clone();
            let (sink, products) = MemorySink::new();
            let fx = Fx::<Complex<i8>>::new(&self.backend, engine).cadence(self.schedule());
            let source = Blocks::new(info, std::iter::once(Ok::<_, BoxError>(Received::Samples(block))));
            fx.sink(sink, Overflow::Block).start(source).unwrap().join().into_result().unwrap();
            return dumps(products.take());
        }
        let mut engine = engine.build::<Complex<i8>>(&Backend::cpu()).unwrap();
        let mut integrator =
            Integrator::<Complex<i8>>::new(&Backend::cpu(), self.schedule(), self.inputs, CHANNELS).unwrap();
        let mut pieces = engine.push(block.as_chunk()).unwrap().frames;
        pieces.extend(engine.flush().unwrap());
        let mut dumps = Vec::new();
        for frames in pieces {
            dumps.extend(integrator.push(&frames.voltages).unwrap());
        }
        dumps.extend(integrator.finish().unwrap().filter(|dump| dump.valid_samples().sum() > 0));
        dumps
    }

    /// The instrument of a rank, with a sink in memory.
    pub(crate) fn fx(&self, turn: &CornerTurn) -> (Fx<Complex<i8>>, fringes_stream::sink::Collected) {
        let backend = self.backend.clone();
        let antennas = turn.antennas().len();
        let fx = match Inputs::new(antennas, self.inputs.pols()) {
            Ok(inputs) if antennas > 0 => Fx::new(&backend, self.engine_of(turn, inputs)).turned(turn.clone()),
            _ => Fx::of_turn(&backend, turn.clone()),
        };
        let (sink, products) = MemorySink::new();
        (fx.cadence(self.schedule()).sink(sink, Overflow::Block).longest_gap(1 << 20), products)
    }

    /// The F-engine of a rank: its inputs have the dither of their place among all.
    fn engine_of(&self, turn: &CornerTurn, inputs: Inputs) -> FEngineBuilder {
        Self::engine(inputs).first_input(turn.antennas().start * self.inputs.pols())
    }

    /// Runs a rank to its end.
    pub(crate) fn run(&self, turn: &CornerTurn) -> (Vec<Visibilities<Complex<i64>>>, Report) {
        let (fx, products) = self.fx(turn);
        let running = if turn.antennas().is_empty() {
            fx.start_without_source().unwrap()
        } else {
            fx.start(self.source(turn.rank(), turn.antennas())).unwrap()
        };
        let report = running.join().into_result().unwrap();
        (dumps(products.take()), report)
    }
}

/// The dumps among products.
pub(crate) fn dumps(products: Vec<Product>) -> Vec<Visibilities<Complex<i64>>> {
    let of = |product: Product| match product {
        Product::Dump(dump) => match Arc::unwrap_or_clone(dump) {
            Dump { sums: Sums::Integers(sums), .. } => Some(sums),
            _ => None,
        },
        _ => None,
    };
    products.into_iter().filter_map(of).collect()
}

/// Checks that dumps of some channels are those of all channels there, bit for bit.
pub(crate) fn same(
    actual: &[Visibilities<Complex<i64>>],
    expected: &[Visibilities<Complex<i64>>],
    channels: &Range<usize>,
) {
    let of = |dumps: &[Visibilities<Complex<i64>>]| -> Vec<(u64, u64)> {
        dumps.iter().map(|dump| (dump.clock().first_sample, dump.valid_samples().sum())).collect()
    };
    assert_eq!(of(actual), of(expected));
    for (actual, expected) in actual.iter().zip(expected) {
        assert_eq!(actual.clock().first_sample, expected.clock().first_sample);
        assert_eq!(actual.times(), expected.times());
        assert_eq!(actual.valid_samples(), expected.valid_samples());
        assert!(actual.data() == expected.data().slice(s![channels.clone(), ..]), "{channels:?}");
        assert_eq!(actual.frequencies().channel_hz(0), expected.frequencies().channel_hz(channels.start));
    }
}

/// Checks an instrument over these ranks: with losses and late ranks, with shares that are not even, with ranks that
/// have no F-engine or no correlator. `ranks` gives those of a job of its own each time.
pub(crate) fn instrument<R: Ranks + 'static>(backend: &Backend, mut ranks: impl FnMut() -> R) {
    let case = Case { backend: backend.clone(), ..Case::new(5) };
    let turn = |ranks: R, plan: TurnPlan| CornerTurn::new(ranks, plan).unwrap();
    let check = |turn: &CornerTurn| {
        let (dumps, report) = case.run(turn);
        if turn.channels().is_empty() {
            assert!(dumps.is_empty());
        } else {
            let expected = case.in_one_call(turn.plan());
            let valid: u64 = expected.iter().map(|dump| dump.valid_samples().sum()).sum();
            let all: u64 = expected.iter().map(|dump| dump.times() * dump.valid_samples().len() as u64).sum();
            assert!(expected.len() > 20 && valid > all / 5 && valid < all * 9 / 10, "{valid} of {all}");
            same(&dumps, &expected, &turn.channels());
        }
        assert!(report.turn.blocks > 10, "{report:?}");
    };
    // Even shares.
    let next = ranks();
    let count = next.ranks();
    check(&turn(next, case.plan(count)));
    // The first rank has most of the antennas, the last one most of the channels; one lane.
    let first = 5usize.saturating_sub(count - 1).max(1);
    let mut antennas: Vec<_> = even_shares(5 - first, count.max(2) - 1);
    antennas.iter_mut().for_each(|share| *share = share.start + first..share.end + first);
    antennas.insert(0, 0..first);
    antennas.truncate(count);
    if count == 1 {
        antennas = even_shares(5, 1);
    }
    let mut channels: Vec<_> = (0..count).map(|rank| rank..rank + 1).collect();
    channels[count - 1].end = CHANNELS;
    let plan = case.plan(count).with_antenna_shares(antennas).unwrap().with_channel_shares(channels).unwrap();
    check(&turn(ranks(), plan.with_lanes(1).unwrap()));
    // F-engines on the first ranks, correlators on the others; three lanes.
    if count > 1 {
        let half = count / 2;
        let mut antennas = even_shares(5, half);
        antennas.resize(count, 5..5);
        let mut channels = vec![0..0; half];
        channels.extend(even_shares(CHANNELS, count - half));
        let plan = case.plan(count).with_antenna_shares(antennas).unwrap().with_channel_shares(channels).unwrap();
        check(&turn(ranks(), plan.with_lanes(3).unwrap()));
    }
}

/// A source that waits, behind its first chunks, until all ranks have been told of some changes.
struct Waits<S> {
    source: S,
    left: usize,
    control: Arc<OnceLock<Control>>,
    changes: u64,
}

impl<S: Source> Source for Waits<S> {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }
    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        let told = || self.control.get().is_some_and(|control| control.report().turn.changes >= self.changes);
        while self.left == 0 && !told() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.left = self.left.saturating_sub(1);
        self.source.next()
    }
}

/// Checks that what the control of one rank changes, while the instrument runs, changes all ranks at the same sample.
/// There are 2 to 5 of them.
pub(crate) fn told(backend: &Backend, ranks: impl Ranks + 'static) {
    let (rank, count) = (ranks.rank(), ranks.ranks());
    assert!((2..=5).contains(&count), "{count} ranks");
    let case = Case { losses: false, backend: backend.clone(), ..Case::new(5) };
    let turn = CornerTurn::new(ranks, case.plan(count)).unwrap();
    let dump = STRIDE * SPECTRA as u64 * case.frames;
    let gain = |(channel, input): (usize, usize)| Complex::from_polar(0.01 * (1 + channel % 5) as f32, input as f32);
    let gains = Array2::from_shape_fn((CHANNELS, case.inputs.len()), gain);
    let gains = [Gains::per_channel_input(gains).unwrap(), Gains::uniform(0.02).unwrap()];
    let samples = [12 * dump, 17 * dump];
    let (fx, products) = case.fx(&turn);
    let control: Arc<OnceLock<Control>> = Arc::default();
    // Less than half of what comes before the first change.
    let left = (samples[0] / 2 / CHUNK as u64) as usize;
    let source = Waits { source: case.source(rank, turn.antennas()), left, control: control.clone(), changes: 2 };
    let running = fx.start(source).unwrap();
    control.set(running.control()).unwrap();
    if rank == count - 1 {
        let instrument = InstrumentControl::new([running.control()]).unwrap();
        for (sample, gains) in samples.into_iter().zip(&gains) {
            instrument.change(&Change::Gains { sample, gains: gains.clone() }).unwrap();
            let refused = Change::MaskedChannels { sample, channels: vec![CHANNELS] };
            assert!(matches!(instrument.change(&refused), Err(StreamError::Change { .. })));
        }
    }
    let report = running.join().into_result().unwrap();
    assert_eq!(report.turn.changes, 2);
    let [first, second] = gains.map(|gains| case.of_engine(turn.plan(), Case::engine(case.inputs).gains(gains)));
    let before = case.in_one_call(turn.plan());
    let of = |(number, before): (usize, &Visibilities<Complex<i64>>)| match before.clock().first_sample {
        at if at < samples[0] => before.clone(),
        at if at < samples[1] => first[number].clone(),
        _ => second[number].clone(),
    };
    let expected: Vec<_> = before.iter().enumerate().map(of).collect();
    assert!(expected.len() > 20 && before[14] != first[14] && first[20] != second[20]);
    same(&dumps(products.take()), &expected, &turn.channels());
}

/// Runs a function on so many threads, each of which is a rank: `next` gives it the ranks of jobs of its own, made of
/// its number and of threads of this process.
pub(crate) fn on_threads<R: Ranks + 'static>(
    count: usize,
    of: impl Fn(usize, LocalRanks) -> R + Sync,
    run: impl Fn(usize, &mut dyn FnMut() -> R) + Sync,
) {
    let jobs: Mutex<Vec<Vec<Option<LocalRanks>>>> = Mutex::default();
    let next = |rank: usize, job: usize| {
        let mut jobs = jobs.lock().unwrap();
        while jobs.len() <= job {
            jobs.push(LocalRanks::new(count).into_iter().map(Some).collect());
        }
        of(rank, jobs[job][rank].take().unwrap())
    };
    std::thread::scope(|scope| {
        for rank in 0..count {
            let (next, run) = (&next, &run);
            scope.spawn(move || {
                let mut job = 0;
                run(rank, &mut || {
                    job += 1;
                    next(rank, job - 1)
                });
            });
        }
    });
}
