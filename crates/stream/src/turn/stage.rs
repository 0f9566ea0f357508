//! The threads of a corner turn: one that agrees with other ranks on blocks, one for each lane, and one that gives the
//! turned frames on in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use fringes_types::{Frequencies, VoltageSample};

use super::block::{self, Assembler, Axes, Block};
use super::header::{HEADER_BYTES, Header, State};
use super::{CornerTurn, TurnPlan, shared};
use crate::exchange::{Blocks, BlocksMut, Exchange};
use crate::fx::{FrameData, FromFEngine, Shared};
use crate::queue::{QueueIn, QueueOut, Sent};
use crate::{Stage, StreamError};

/// How long a block is waited for before the other ranks are told that there is none yet.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where the frames of this rank's F-engine come from, and what made sure of their format.
pub(crate) struct TurnIn<V: VoltageSample> {
    pub(crate) frames: Option<QueueOut<FromFEngine<V>>>,
    /// Format of the voltages.
    pub(crate) format: String,
    /// The device that correlates, if there is one.
    pub(crate) device: Option<fringes_gpu::Device>,
}

/// What is done in a lane.
enum Job<V: VoltageSample> {
    Block(BlockJob<V>),
    End(Option<u64>),
}

/// A block that is turned.
struct BlockJob<V: VoltageSample> {
    number: u64,
    /// Frames that begin at this sample or later are not wanted.
    until: u64,
    /// What this rank has of it.
    mine: Option<Block<V>>,
    /// Whether the ranks have something of it.
    members: Vec<bool>,
    axes: Axes,
    /// When the chunk came that completed this rank's part.
    arrived: Instant,
}

/// The threads that there are to start.
pub(crate) struct TurnThreads<V: VoltageSample> {
    lead: Lead<V>,
    lanes: Vec<Lane<V>>,
    deliver: Deliver<V>,
}

impl<V: VoltageSample> TurnThreads<V> {
    pub(crate) fn new(
        turn: CornerTurn,
        input: TurnIn<V>,
        outputs: Vec<QueueIn<FromFEngine<V>>>,
        shared: &Arc<Shared>,
    ) -> Self {
        let (mut jobs, mut lanes, mut turned) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..turn.plan.lanes {
            let (to_lane, from_lead) = bounded(1);
            let (out, delivered) = bounded(1);
            jobs.push(to_lane);
            turned.push(delivered);
            let (turn, device, shared) = (turn.clone(), input.device.clone(), shared.clone());
            lanes.push(Lane { turn, number, jobs: from_lead, out, shared, device });
        }
        let assembler = Assembler::new(&turn.plan);
        let lead = Lead { turn, input, assembler, ended: None, jobs, next: 0, shared: shared.clone() };
        Self { lead, lanes, deliver: Deliver { turned, outputs } }
    }

    /// What the threads run.
    pub(crate) fn into_runs(self) -> Vec<Box<dyn FnOnce() + Send>> {
        let Self { lead, lanes, deliver } = self;
        let mut runs: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(move || deliver.run())];
        for lane in lanes {
            runs.push(Box::new(move || lane.run()));
        }
        runs.push(Box::new(move || lead.run()));
        runs
    }
}

/// Agrees with the other ranks on what is turned.
struct Lead<V: VoltageSample> {
    turn: CornerTurn,
    input: TurnIn<V>,
    assembler: Assembler<V>,
    /// The F-engine has ended, and where dumps end.
    ended: Option<Option<u64>>,
    jobs: Vec<Sender<Job<V>>>,
    /// The lane of the next job.
    next: usize,
    shared: Arc<Shared>,
}

/// What the ranks have agreed on.
#[derive(Debug, PartialEq)]
enum Agreed {
    /// This block, of these ranks, of frames that begin before a sample.
    Block(u64, Vec<bool>, u64),
    /// Nothing yet.
    Wait,
    /// All have ended.
    End(Option<u64>),
    /// A rank has failed.
    Failed(usize),
}

/// What follows from what all ranks say.
fn agree(headers: &[Header]) -> Agreed {
    if let Some(rank) = headers.iter().position(|header| header.state == State::Failed) {
        return Agreed::Failed(rank);
    }
    let next = headers.iter().filter_map(|header| match header.state {
        State::Block(number) => Some(number),
        _ => None,
    });
    let until = headers.iter().filter_map(|header| header.until).min();
    if headers.iter().any(|header| header.state == State::Waiting) {
        return Agreed::Wait;
    }
    match next.min() {
        Some(number) => {
            let members = headers.iter().map(|header| header.state == State::Block(number)).collect();
            Agreed::Block(number, members, until.unwrap_or(u64::MAX))
        }
        None => Agreed::End(until),
    }
}

impl<V: VoltageSample> Lead<V> {
    fn run(mut self) {
        if let Err(error) = self.turn() {
            self.shared.fail(error);
        }
        // Queues close: lanes end without an end of the stream, unless it was given.
        self.jobs.clear();
    }

    fn turn(&mut self) -> Result<(), StreamError> {
        let failed = |error| StreamError::at(Stage::CornerTurn, error);
        let mut lane = self.turn.ranks.open(self.turn.first_lane()).map_err(failed)?;
        let plan = format!("{:?}, voltages {}", self.turn.plan, self.input.format);
        self.same_plan(lane.as_mut(), &plan)?;
        loop {
            let mine = self.header();
            let all = self.gather(lane.as_mut(), &mine)?;
            if all.iter().any(|header| header.stop) {
                self.shared.stop_at_dump.store(true, Ordering::Relaxed);
            }
            match agree(&all) {
                Agreed::Wait => {}
                Agreed::Failed(rank) if rank == self.turn.rank() => return Ok(()),
                Agreed::Failed(rank) => {
                    let message = all.get(rank).map(|header| header.text.clone()).unwrap_or_default();
                    return Err(StreamError::Rank { rank, message });
                }
                Agreed::End(until) => {
                    self.give(Job::End(until));
                    return Ok(());
                }
                Agreed::Block(number, members, until) => {
                    let first = members.iter().position(|&member| member).and_then(|rank| all.get(rank));
                    let axes =
                        first.map_or(Axes { sample_rate_hz: 1.0, frequencies: Frequencies::default() }, |of| Axes {
                            sample_rate_hz: of.sample_rate_hz,
                            frequencies: Frequencies { first_hz: of.first_hz, step_hz: of.step_hz },
                        });
                    let member = members.get(self.turn.rank()).is_some_and(|&member| member);
                    let mine = if member { self.assembler.take() } else { None };
                    let first = self.turn.plan.first_frame(number, 0);
                    if first.saturating_mul(self.turn.plan.frame_samples()) >= until {
                        // Behind the stop.
                        continue;
                    }
                    let arrived = mine.as_ref().map_or_else(Instant::now, |block| block.arrived);
                    if !self.give(Job::Block(BlockJob { number, until, mine, members, axes, arrived })) {
                        // A lane has failed, and has said so.
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Gives a job to the next lane; says whether it still works.
    fn give(&mut self, job: Job<V>) -> bool {
        let lane = self.next % self.jobs.len();
        self.next += 1;
        self.jobs[lane].send(job).is_ok()
    }

    /// Makes sure that all ranks have the same plan.
    fn same_plan(&self, lane: &mut dyn Exchange, plan: &str) -> Result<(), StreamError> {
        // FNV-1a: any hash that is the same on all ranks.
        let hash = plan
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mine = Header { text: format!("{hash:016x}"), ..self.of(State::Waiting) };
        let all = self.gather(lane, &mine)?;
        match all.iter().position(|header| header.text != mine.text) {
            None => Ok(()),
            Some(rank) => {
                let message = format!("it has another plan of the corner turn than {plan}");
                Err(StreamError::Rank { rank, message })
            }
        }
    }

    fn gather(&self, lane: &mut dyn Exchange, mine: &Header) -> Result<Vec<Header>, StreamError> {
        let failed = |error: crate::BoxError| StreamError::Stage { stage: Stage::CornerTurn, source: error };
        let mut bytes = vec![0; HEADER_BYTES * self.turn.plan.ranks()];
        lane.all_gather(&mine.encode(), &mut bytes).map_err(|error| failed(error.into()))?;
        let headers = bytes.chunks_exact(HEADER_BYTES).map(Header::decode);
        headers.collect::<Option<_>>().ok_or_else(|| failed("a rank sent what is no header".into()))
    }

    /// A header without a text.
    fn of(&self, state: State) -> Header {
        let stop = self.shared.stop_at_dump.load(Ordering::Relaxed);
        let (sample_rate_hz, frequencies) = self.assembler.first().map_or((1.0, Frequencies::default()), Block::axes);
        let Frequencies { first_hz, step_hz } = frequencies;
        let until = self.ended.flatten();
        Header { state, stop, until, sample_rate_hz, first_hz, step_hz, text: String::new() }
    }

    fn failed(&self) -> Option<Header> {
        self.shared.failure().map(|text| Header { text, ..self.of(State::Failed) })
    }

    /// What this rank says next: it waits for a block, but not for long.
    fn header(&mut self) -> Header {
        let until = Instant::now() + PATIENCE;
        while self.assembler.first().is_none() {
            // What failed has ended the source: blocks that were complete come before that is said.
            if self.ended.is_some() {
                return self.failed().unwrap_or_else(|| self.of(State::Ended));
            }
            let Some(frames) = &self.input.frames else {
                return self.failed().unwrap_or_else(|| self.of(State::NoFEngine));
            };
            match frames.receive_until(until) {
                Err(()) => return self.of(State::Waiting),
                Ok(Some(FromFEngine::Frames(frames, arrived))) => {
                    if let Err(error) = self.assembler.push(&frames, arrived) {
                        self.shared.fail(StreamError::at(Stage::CornerTurn, error));
                    }
                }
                // What follows has other numbers: what came before is not waited for.
                Ok(Some(FromFEngine::Restart)) => self.assembler.close(),
                Ok(Some(FromFEngine::End(until))) => {
                    self.assembler.close();
                    self.ended = Some(until);
                }
                Ok(None) => {
                    // A stage before has failed, and has said so: what is not complete is not turned.
                    self.assembler.drop_open();
                    if self.shared.failure().is_none() {
                        self.shared.fail(StreamError::Panicked { stage: Stage::FEngine });
                    }
                    self.ended = Some(None);
                }
            }
        }
        let number = self.assembler.first().map_or(0, |block| block.number);
        self.of(State::Block(number))
    }
}

/// Packs, exchanges and places blocks.
struct Lane<V: VoltageSample> {
    turn: CornerTurn,
    number: usize,
    jobs: Receiver<Job<V>>,
    out: Sender<Option<FromFEngine<V>>>,
    shared: Arc<Shared>,
    device: Option<fringes_gpu::Device>,
}

impl<V: VoltageSample> Lane<V> {
    fn run(self) {
        if let Err(error) = self.work() {
            self.shared.fail(error);
        }
    }

    fn work(&self) -> Result<(), StreamError> {
        let failed = |error: crate::BoxError| StreamError::Stage { stage: Stage::CornerTurn, source: error };
        let lane = self.turn.first_lane() + 1 + self.number;
        let mut exchange = self.turn.ranks.open(lane).map_err(|error| failed(error.into()))?;
        let stream = self.device.as_ref().map(fringes_gpu::Device::new_stream).transpose();
        let stream = stream.map_err(|error| failed(error.into()))?;
        let mut buffers = Buffers::default();
        while let Ok(job) = self.jobs.recv() {
            let message = match job {
                Job::End(until) => Some(FromFEngine::End(until)),
                Job::Block(of) => {
                    let _span = tracing::trace_span!("corner turn", block = of.number, lane = self.number).entered();
                    let arrived = of.arrived;
                    let turned = if exchange.shares() {
                        self.gather(of, exchange.as_mut(), stream.as_ref())?
                    } else {
                        self.exchange(of, exchange.as_mut(), &mut buffers)?
                    };
                    turned.map(|frames| FromFEngine::Frames(Arc::new(frames), arrived))
                }
            };
            if self.out.send(message).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the rank correlates, and wants what is turned.
    fn correlates(&self) -> bool {
        !self.turn.channels().is_empty()
    }

    /// Notes bytes and times of a block, of which other ranks have these bytes.
    fn note(&self, sent: &[usize], received: &[usize], spent: [Duration; 3]) {
        let rank = self.turn.rank();
        let others = |sizes: &[usize]| {
            sizes.iter().enumerate().filter(|(of, _)| *of != rank).map(|(_, &size)| size as u64).sum()
        };
        self.shared.counters.turn.note(others(sent), others(received), spent);
    }

    /// Bytes of a block that this rank has for each.
    fn sent_sizes(&self, has: bool) -> Vec<usize> {
        let (plan, rank) = (&self.turn.plan, self.turn.rank());
        (0..plan.ranks()).map(|to| if has { plan.block_bytes(rank, to, size_of::<V>()) } else { 0 }).collect()
    }

    /// Through packed bytes.
    fn exchange(
        &self,
        of: BlockJob<V>,
        exchange: &mut dyn Exchange,
        Buffers { sent, received }: &mut Buffers,
    ) -> Result<Option<FrameData<V>>, StreamError> {
        let (plan, rank): (&TurnPlan, _) = (&self.turn.plan, self.turn.rank());
        let start = Instant::now();
        let sizes = self.sent_sizes(of.mine.is_some());
        match &of.mine {
            Some(block) => block::pack(block, plan, rank, sent)?,
            None => sent.clear(),
        }
        // The frames go back to where they are from.
        drop(of.mine);
        let from = block::received_sizes::<V>(plan, rank, &of.members);
        received.resize(from.iter().sum(), 0);
        let packed = Instant::now();
        let into = BlocksMut { bytes: received, counts: &from };
        let done = exchange.all_to_all(Blocks { bytes: sent, counts: &sizes }, into);
        done.map_err(|error| StreamError::at(Stage::CornerTurn, error))?;
        let exchanged = Instant::now();
        let heaps = if self.correlates() {
            block::place::<V>((of.number, of.until), plan, rank, of.axes, received, &from)?
        } else {
            None
        };
        self.note(&sizes, &from, [packed - start, exchanged - packed, exchanged.elapsed()]);
        Ok(heaps.map(FrameData::Host))
    }

    /// From the frames of ranks of this process.
    fn gather(
        &self,
        of: BlockJob<V>,
        exchange: &mut dyn Exchange,
        stream: Option<&fringes_gpu::Stream>,
    ) -> Result<Option<FrameData<V>>, StreamError> {
        let (plan, rank) = (&self.turn.plan, self.turn.rank());
        let start = Instant::now();
        let sizes = self.sent_sizes(of.mine.is_some());
        let from = block::received_sizes::<V>(plan, rank, &of.members);
        let all = exchange.share(Arc::new(of.mine)).map_err(|error| StreamError::at(Stage::CornerTurn, error))?;
        let exchanged = Instant::now();
        let blocks: Vec<_> = all.iter().map(|of| of.downcast_ref::<Option<Block<V>>>()?.as_ref()).collect();
        let frames = if self.correlates() {
            shared::gather(&blocks, (of.number, of.until), plan, rank, of.axes, stream)?
        } else {
            None
        };
        self.note(&sizes, &from, [Duration::ZERO, exchanged - start, exchanged.elapsed()]);
        Ok(frames)
    }
}

/// Packed bytes of a lane, filled again and again.
#[derive(Default)]
struct Buffers {
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// Gives turned frames on in order.
struct Deliver<V: VoltageSample> {
    turned: Vec<Receiver<Option<FromFEngine<V>>>>,
    outputs: Vec<QueueIn<FromFEngine<V>>>,
}

impl<V: VoltageSample> Deliver<V> {
    fn run(mut self) {
        for lane in (0..self.turned.len()).cycle() {
            // A lane that ends without an end of the stream: what is under way is not complete.
            let Ok(message) = self.turned[lane].recv() else { return };
            let Some(message) = message else { continue };
            let ends = matches!(message, FromFEngine::End(_));
            // The blocks of a correlator that has failed are received nevertheless, as other ranks wait for them.
            self.outputs.retain(|output| output.send(message.clone()) != Sent::Closed);
            if ends {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(state: State) -> Header {
        let text = String::new();
        Header { state, stop: false, until: None, sample_rate_hz: 1.0, first_hz: 0.0, step_hz: 1.0, text }
    }

    #[test]
    fn the_earliest_block_is_turned_once_nobody_waits() {
        use State::{Block, Ended, Failed, NoFEngine, Waiting};
        let untils = |states: &[(State, Option<u64>)]| {
            agree(&states.iter().map(|&(state, until)| Header { until, ..header(state) }).collect::<Vec<_>>())
        };
        let of = |states: &[State]| untils(&states.iter().map(|&state| (state, None)).collect::<Vec<_>>());
        let members = vec![false, true, false, true];
        assert_eq!(of(&[Block(4), Block(3), NoFEngine, Block(3)]), Agreed::Block(3, members, u64::MAX));
        assert_eq!(of(&[Block(4), Ended]), Agreed::Block(4, vec![true, false], u64::MAX));
        assert_eq!(of(&[Block(4), Waiting]), Agreed::Wait);
        assert_eq!(of(&[Block(4), Waiting, Failed]), Agreed::Failed(2));
        assert_eq!(of(&[Ended, NoFEngine]), Agreed::End(None));
        let members = vec![false, true, false];
        let stopped = [(Ended, Some(9)), (Block(4), Some(8)), (Ended, None)];
        assert_eq!(untils(&stopped), Agreed::Block(4, members, 8));
        assert_eq!(untils(&[(NoFEngine, None), (Ended, Some(7)), (Ended, Some(5))]), Agreed::End(Some(5)));
    }
}
