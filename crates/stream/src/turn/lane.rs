//! The threads that pack, exchange and place blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use fringes_gpu::Stream;
use fringes_types::VoltageSample;

use super::block::{self, Axes, Block};
use super::order::Order;
use super::{CornerTurn, TurnPlan, on_gpus, shared, wanted};
use crate::exchange::{Blocks, BlocksMut, Exchange};
use crate::fx::{FrameData, FromFEngine, Shared};
use crate::{Stage, StreamError};

/// What is done in a lane.
pub(super) enum Job<V: VoltageSample> {
    Block(BlockJob<V>),
    End(Option<u64>),
}

/// A block that is turned.
pub(super) struct BlockJob<V: VoltageSample> {
    pub(super) number: u64,
    /// Its place among the blocks that are turned, the same on all ranks.
    pub(super) sequence: u64,
    /// Frames that begin at this sample or later are not wanted.
    pub(super) until: u64,
    /// What this rank has of it.
    pub(super) mine: Option<Block<V>>,
    /// Whether the ranks have something of it.
    pub(super) members: Vec<bool>,
    pub(super) axes: Axes,
    /// When the chunk came that completed this rank's part.
    pub(super) arrived: Instant,
}

/// Packs, exchanges and places blocks.
pub(super) struct Lane<V: VoltageSample> {
    pub(super) turn: CornerTurn,
    pub(super) number: usize,
    pub(super) jobs: Receiver<Job<V>>,
    pub(super) out: Sender<Option<FromFEngine<V>>>,
    pub(super) shared: Arc<Shared>,
    pub(super) device: Option<fringes_gpu::Device>,
    pub(super) order: Arc<Order>,
}

impl<V: VoltageSample> Lane<V> {
    pub(super) fn run(self) {
        let _watch = self.order.watch();
        if let Err(error) = self.work() {
            self.order.fail();
            self.shared.fail(error);
        }
    }

    fn work(&self) -> Result<(), StreamError> {
        let failed = |error: crate::BoxError| StreamError::Stage { stage: Stage::CornerTurn, source: error };
        let lane = self.turn.first_lane() + 1 + self.number;
        let mut exchange = self.turn.ranks.open(lane).map_err(|error| failed(error.into()))?;
        let stream = exchange.device().or(self.device.as_ref()).map(fringes_gpu::Device::new_stream).transpose();
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
                    } else if let Some(stream) = stream.as_ref().filter(|_| exchange.device().is_some()) {
                        self.exchange_on_gpus(of, exchange.as_mut(), stream)?
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

    /// From GPU to GPU.
    fn exchange_on_gpus(
        &self,
        of: BlockJob<V>,
        exchange: &mut dyn Exchange,
        stream: &Stream,
    ) -> Result<Option<FrameData<V>>, StreamError> {
        let failed = |error: crate::BoxError| StreamError::Stage { stage: Stage::CornerTurn, source: error };
        let (plan, rank): (&TurnPlan, _) = (&self.turn.plan, self.turn.rank());
        let start = Instant::now();
        let flags = wanted::flags(of.mine.as_ref(), plan, rank)?;
        let mut all = vec![0; flags.len() * plan.ranks()];
        exchange.all_gather(&flags, &mut all).map_err(|error| failed(error.into()))?;
        let gathered = start.elapsed();
        let wanted = wanted::wanted(&all, plan, (of.number, of.until));
        let (mut sent, mut arriving) = (Vec::new(), Vec::new());
        if let Some(wanted) = &wanted {
            if let Some(block) = &of.mine {
                sent = on_gpus::pack(block, plan, rank, wanted, stream).map_err(failed)?;
            }
            arriving = on_gpus::arriving(plan, rank, &of.members, wanted, stream).map_err(failed)?;
        }
        sent.resize_with(plan.ranks(), || None);
        arriving.resize_with(plan.ranks(), || None);
        let packed = Instant::now();
        // Also of a block that is not wanted: the turn goes on.
        let queued = self.order.in_turn(of.sequence, || {
            if wanted.is_none() {
                return Ok(());
            }
            exchange.queue(stream, on_gpus::sent(&sent)?, on_gpus::received(&mut arriving)?)
        });
        queued.map_err(|error| failed(error.into()))?;
        let Some(wanted) = wanted else { return Ok(None) };
        let data = if self.correlates() {
            Some(on_gpus::place(of.mine.as_ref(), &arriving, plan, rank, &wanted, stream).map_err(failed)?)
        } else {
            None
        };
        exchange.wait(stream).map_err(|error| failed(error.into()))?;
        let exchanged = packed.elapsed();
        let spent = [packed - start - gathered, gathered + exchanged, Duration::ZERO];
        self.note(&on_gpus::sizes(&sent), &on_gpus::sizes(&arriving), spent);
        data.map(|data| shared::on_gpu(data, plan, rank, (of.number, of.axes), wanted)).transpose()
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
