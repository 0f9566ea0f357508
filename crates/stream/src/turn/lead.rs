//! The thread that agrees with the other ranks on what is turned, and hears what they tell.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use fringes_types::{Frequencies, VoltageSample};

use super::CornerTurn;
use super::block::{Assembler, Axes, Block};
use super::header::{HEADER_BYTES, Header, State};
use super::lane::{BlockJob, Job};
use super::stage::TurnIn;
use crate::exchange::{Blocks, BlocksMut, Exchange, ExchangeError};
use crate::fx::{FromFEngine, Shared, decode_changes, encode_changes};
use crate::{Stage, StreamError};

/// How long a block is waited for before the other ranks are told that there is none yet.
const PATIENCE: Duration = Duration::from_millis(500);

/// Bytes of a message that go to every rank at once.
const PIECE: usize = 1 << 20;

/// Agrees with the other ranks on what is turned.
pub(super) struct Lead<V: VoltageSample> {
    turn: CornerTurn,
    input: TurnIn<V>,
    assembler: Assembler<V>,
    /// The F-engine has ended, and where dumps end.
    ended: Option<Option<u64>>,
    jobs: Vec<Sender<Job<V>>>,
    /// The lane of the next job.
    next: usize,
    /// Blocks that have been agreed on.
    blocks: u64,
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

/// Gives a message of every rank, of lengths that all know, to all of them, in pieces: those of all ranks.
fn tell(lane: &mut dyn Exchange, lengths: &[usize], mine: &[u8]) -> Result<Vec<Vec<u8>>, ExchangeError> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new(); lengths.len()];
    let mut first = 0;
    while lengths.iter().any(|&length| length > first) {
        let piece = |length: usize| length.saturating_sub(first).min(PIECE);
        // The rank hears itself too.
        let sent = mine[first.min(mine.len())..][..piece(mine.len())].repeat(lengths.len());
        let counts: Vec<usize> = lengths.iter().map(|&length| piece(length)).collect();
        let mut heard = vec![0; counts.iter().sum()];
        let send = Blocks { bytes: &sent, counts: &vec![piece(mine.len()); lengths.len()] };
        lane.all_to_all(send, BlocksMut { bytes: &mut heard, counts: &counts })?;
        let mut rest = heard.as_slice();
        for (message, count) in all.iter_mut().zip(counts) {
            let (heard, others) = rest.split_at(count);
            message.extend_from_slice(heard);
            rest = others;
        }
        first += PIECE;
    }
    Ok(all)
}

impl<V: VoltageSample> Lead<V> {
    pub(super) fn new(turn: CornerTurn, input: TurnIn<V>, jobs: Vec<Sender<Job<V>>>, shared: Arc<Shared>) -> Self {
        let assembler = Assembler::new(&turn.plan);
        Self { turn, input, assembler, ended: None, jobs, next: 0, blocks: 0, shared }
    }

    pub(super) fn run(mut self) {
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
            let state = self.header();
            let telling = self.to_tell()?;
            let mine = Header { told_bytes: telling.len() as u64, ..state };
            let all = self.gather(lane.as_mut(), &mine)?;
            self.hear(lane.as_mut(), &all, &telling)?;
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
                    let sequence = self.blocks;
                    self.blocks += 1;
                    if !self.give(Job::Block(BlockJob { number, sequence, until, mine, members, axes, arrived })) {
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

    /// What the other ranks are to be told, as bytes; none if there is nothing.
    fn to_tell(&self) -> Result<Vec<u8>, StreamError> {
        let changes = self.shared.take_to_tell();
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        encode_changes(&changes).map_err(|error| StreamError::at(Stage::CornerTurn, error))
    }

    /// Hears the changes that ranks tell behind their headers, and makes this rank's part of them.
    fn hear(&self, lane: &mut dyn Exchange, all: &[Header], telling: &[u8]) -> Result<(), StreamError> {
        let furthest = all.iter().map(|header| header.next_sample).max().unwrap_or(0);
        self.shared.others_next_sample.fetch_max(furthest, Ordering::Relaxed);
        let lengths: Vec<usize> = all.iter().map(|header| header.told_bytes as usize).collect();
        if lengths.iter().all(|&length| length == 0) {
            return Ok(());
        }
        let messages = tell(lane, &lengths, telling).map_err(|error| StreamError::at(Stage::CornerTurn, error))?;
        for message in messages.iter().filter(|message| !message.is_empty()) {
            let changes = decode_changes(message).map_err(|error| StreamError::at(Stage::CornerTurn, error))?;
            changes.iter().try_for_each(|change| self.shared.change(change))?;
        }
        Ok(())
    }

    /// A header without a text.
    fn of(&self, state: State) -> Header {
        let stop = self.shared.stop_at_dump.load(Ordering::Relaxed);
        let (sample_rate_hz, frequencies) = self.assembler.first().map_or((1.0, Frequencies::default()), Block::axes);
        let Frequencies { first_hz, step_hz } = frequencies;
        let (until, next_sample) = (self.ended.flatten(), self.shared.counters.next_sample.get());
        let (told_bytes, text) = (0, String::new());
        Header { state, stop, until, sample_rate_hz, first_hz, step_hz, next_sample, told_bytes, text }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{LocalRanks, Ranks};

    fn header(state: State) -> Header {
        let (sample_rate_hz, first_hz, step_hz) = (1.0, 0.0, 1.0);
        let (next_sample, told_bytes, text) = (0, 0, String::new());
        Header { state, stop: false, until: None, sample_rate_hz, first_hz, step_hz, next_sample, told_bytes, text }
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

    #[test]
    fn messages_of_many_pieces_come_to_all_ranks() {
        let lengths = [0, 2 * PIECE + 3, 1, PIECE];
        let message = |rank: usize| (0..lengths[rank]).map(|at| (at / 7 + rank) as u8).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            for ranks in LocalRanks::new(4) {
                scope.spawn(move || {
                    let mut lane = ranks.open(0).unwrap();
                    let heard = tell(lane.as_mut(), &lengths, &message(ranks.rank())).unwrap();
                    assert!(heard.iter().enumerate().all(|(rank, heard)| *heard == message(rank)));
                });
            }
        });
    }
}
