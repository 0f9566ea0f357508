//! Ranks with a GPU each, whose blocks go from GPU to GPU by NCCL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fringes_gpu::nccl::{self, Communicator, CommunicatorId};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Stream};

use super::pause::Pause;
use super::{Blocks, BlocksMut, Exchange, ExchangeError, Ranks, check_both};

/// Ranks with a GPU each: threads of one process, or processes of many hosts. Other ranks connect them, and carry what
/// is short; blocks go by NCCL, over whatever it finds between the GPUs: NVLink, PCIe, or a network.
///
/// Each lane has a communicator of its own, made with its first block. The frames of a
/// [`CornerTurn`](crate::CornerTurn) are packed, exchanged and placed on the GPUs. Blocks in the host's memory
/// ([`Exchange::all_to_all`]) go to the GPU before and come from it behind.
///
/// NCCL wants every GPU once among the ranks, and its library where the program runs
/// ([`fringes_gpu::nccl`]).
///
/// # Lost ranks
/// A rank that does not answer within the timeout ends exchanges with [`ExchangeError::Silent`]; what was under way is
/// aborted.
#[derive(Debug, Clone)]
pub struct NcclRanks {
    carrier: Arc<dyn Ranks>,
    device: Device,
    timeout: Duration,
}

impl NcclRanks {
    /// Ranks that others connect, and the GPU of this one.
    pub fn new(carrier: impl Ranks + 'static, device: &Device) -> Self {
        Self { carrier: Arc::new(carrier), device: device.clone(), timeout: Duration::from_secs(60) }
    }

    /// Sets how long an exchange is waited for (60 s unless set).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Ranks for NcclRanks {
    fn rank(&self) -> usize {
        self.carrier.rank()
    }

    fn ranks(&self) -> usize {
        self.carrier.ranks()
    }

    fn open(&self, lane: usize) -> Result<Box<dyn Exchange>, ExchangeError> {
        let carrier = self.carrier.open(lane)?;
        let (rank, ranks) = (self.rank(), self.ranks());
        let (device, timeout) = (self.device.clone(), self.timeout);
        Ok(Box::new(NcclLane { carrier, communicator: None, device, rank, ranks, timeout }))
    }
}

struct NcclLane {
    carrier: Box<dyn Exchange>,
    communicator: Option<Communicator>,
    device: Device,
    rank: usize,
    ranks: usize,
    timeout: Duration,
}

/// A rank without the library, in the message of all.
const NO_LIBRARY: u8 = 1;

impl NcclLane {
    /// The communicator of this lane; the first call is that of all ranks.
    fn communicator(&mut self) -> Result<&mut Communicator, ExchangeError> {
        if self.communicator.is_none() {
            self.communicator = Some(self.connect()?);
        }
        self.communicator.as_mut().ok_or_else(|| ExchangeError::Engine("no communicator".into()))
    }

    /// Rank 0 makes the id, and all hear of it and of ranks that cannot take part.
    fn connect(&mut self) -> Result<Communicator, ExchangeError> {
        const BYTES: usize = 1 + CommunicatorId::BYTES;
        let mut mine = [0; BYTES];
        let made =
            nccl::version().and_then(|_| if self.rank == 0 { CommunicatorId::new().map(Some) } else { Ok(None) });
        match &made {
            Ok(Some(id)) => mine[1..].copy_from_slice(id.as_bytes()),
            Ok(None) => {}
            Err(_) => mine[0] = NO_LIBRARY,
        }
        let mut all = vec![0; BYTES * self.ranks];
        self.carrier.all_gather(&mine, &mut all)?;
        made?;
        if let Some(rank) = all.chunks_exact(BYTES).position(|message| message[0] == NO_LIBRARY) {
            return Err(ExchangeError::Engine(format!("rank {rank} has no NCCL")));
        }
        let id = all.first_chunk::<BYTES>().and_then(|first| first[1..].try_into().ok());
        let id = CommunicatorId::from_bytes(id.unwrap_or([0; CommunicatorId::BYTES]));
        Ok(Communicator::new(&self.device, &id, self.rank, self.ranks)?)
    }
}

/// One a rank, and none for this one.
fn check_views<T>(what: &'static str, views: &[Option<T>], rank: usize, ranks: usize) -> Result<(), ExchangeError> {
    let own = views.get(rank).is_some_and(Option::is_some);
    if views.len() != ranks || own {
        return Err(ExchangeError::Blocks { what, expected: ranks, actual: views.len() + usize::from(own) });
    }
    Ok(())
}

impl Exchange for NcclLane {
    fn all_to_all(&mut self, send: Blocks<'_>, receive: BlocksMut<'_>) -> Result<(), ExchangeError> {
        check_both(self.ranks, send, &receive)?;
        let (own, expected, actual) = (self.rank, send.counts[self.rank], receive.counts[self.rank]);
        if expected != actual {
            return Err(ExchangeError::Length { rank: own, expected, actual });
        }
        let stream = self.device.new_stream()?;
        let place = |counts: &[usize], rank: usize| {
            let first: usize = counts[..rank].iter().sum();
            first..first + counts[rank]
        };
        let (sent, mut received) = {
            let to_device = |rank: usize| {
                let bytes = &send.bytes[place(send.counts, rank)];
                (rank != own && !bytes.is_empty()).then(|| Buffer::from_slice(&stream, bytes)).transpose()
            };
            let room = |rank: usize| {
                let count = receive.counts[rank];
                (rank != own && count > 0).then(|| Buffer::<u8>::zeroed(&stream, count)).transpose()
            };
            let sent = (0..self.ranks).map(to_device).collect::<Result<Vec<_>, _>>()?;
            (sent, (0..self.ranks).map(room).collect::<Result<Vec<_>, _>>()?)
        };
        let views = sent.iter().map(|of| of.as_ref().map(Buffer::view)).collect();
        let views_mut = received.iter_mut().map(|of| of.as_mut().map(Buffer::view_mut)).collect();
        self.queue(&stream, views, views_mut)?;
        self.wait(&stream)?;
        for (rank, block) in received.iter().enumerate() {
            let into = &mut receive.bytes[place(receive.counts, rank)];
            match block {
                Some(block) => block.copy_to_slice(&stream, into)?,
                None if rank == own => into.copy_from_slice(&send.bytes[place(send.counts, rank)]),
                None => {}
            }
        }
        Ok(())
    }

    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), ExchangeError> {
        self.carrier.all_gather(mine, all)
    }

    fn device(&self) -> Option<&Device> {
        Some(&self.device)
    }

    fn queue(
        &mut self,
        stream: &Stream,
        send: Vec<Option<BufferView<'_, u8>>>,
        receive: Vec<Option<BufferViewMut<'_, u8>>>,
    ) -> Result<(), ExchangeError> {
        check_views("blocks to be sent", &send, self.rank, self.ranks)?;
        check_views("blocks to be received", &receive, self.rank, self.ranks)?;
        let communicator = self.communicator()?;
        let mut exchange = nccl::Exchange::new(stream);
        for (rank, bytes) in send.into_iter().enumerate() {
            exchange = bytes.into_iter().fold(exchange, |exchange, bytes| exchange.send(rank, bytes));
        }
        for (rank, bytes) in receive.into_iter().enumerate() {
            exchange = bytes.into_iter().fold(exchange, |exchange, bytes| exchange.receive(rank, bytes));
        }
        Ok(communicator.exchange(exchange)?)
    }

    fn wait(&mut self, stream: &Stream) -> Result<(), ExchangeError> {
        let (start, mut pause) = (Instant::now(), Pause::default());
        while !stream.is_done()? {
            if let Some(communicator) = &mut self.communicator {
                let silent = ExchangeError::Silent { ranks: Vec::new(), seconds: self.timeout.as_secs() };
                let broken = communicator.check().err().map(ExchangeError::from);
                if let Some(error) = broken.or((start.elapsed() > self.timeout).then_some(silent)) {
                    // Else the end of the communicator would wait for what never ends.
                    communicator.abort()?;
                    return Err(error);
                }
            }
            pause.wait();
        }
        Ok(())
    }
}
