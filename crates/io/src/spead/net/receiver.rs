//! A thread that receives packets and gives chunks.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch::{Batch, prepare, wait};
use super::socket;
use crate::spead::error::{refused, setting};
use crate::spead::{ChunkAssembler, ChunkMemory, ChunkOptions, HeapFormat, SpeadCounters, SpeadError, Vectors};

/// Buffers of a system call.
const SLOTS: usize = 16;
/// How long the thread sleeps at most before it looks whether it is told to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long what is left in sockets is taken after the last stop packet.
const DRAIN: Duration = Duration::from_secs(1);

/// Where and how packets are received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Addresses of this machine, or multicast groups, that are listened to: a socket each, one thread for all.
    pub addresses: Vec<SocketAddr>,
    /// Address of the interface on which IPv4 groups are joined; the system's choice without it.
    pub interface: Option<Ipv4Addr>,
    /// Bytes of each socket's buffer. The system may give less: [`SpeadReceiver::socket_buffer_bytes`]. Linux gives at
    /// most `net.core.rmem_max`, but for a process that may administer the network.
    pub socket_buffer_bytes: usize,
    /// Chunks that wait to be taken, at least 1. When more are complete the thread waits, and the system drops packets.
    pub queue_chunks: usize,
    /// Stop packets after which the stream ends: one a sender. With 0, it ends only when it is told to.
    pub stops: u64,
    /// How chunks are put together.
    pub chunks: ChunkOptions,
}

impl ReceiverOptions {
    /// One address, buffers of 8 MiB, two chunks that wait, one stop packet.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            addresses: vec![address],
            interface: None,
            socket_buffer_bytes: 8 << 20,
            queue_chunks: 2,
            stops: 1,
            chunks: ChunkOptions::default(),
        }
    }
}

/// What [`SpeadReceiver::next_chunk`] gives.
#[derive(Debug, Clone, PartialEq)]
pub enum NextChunk<C> {
    /// A chunk.
    Chunk(C),
    /// None was complete in time. Others may follow.
    TimedOut,
    /// The stream has ended: no other will come.
    Ended,
}

impl<C> NextChunk<C> {
    /// The chunk, if it is one.
    pub fn chunk(self) -> Option<C> {
        match self {
            NextChunk::Chunk(chunk) => Some(chunk),
            NextChunk::TimedOut | NextChunk::Ended => None,
        }
    }
}

/// Receives a stream in a thread of its own.
///
/// Chunks are taken with [`SpeadReceiver::next_chunk`], in the order of time. The stream ends with stop packets or with
/// [`SpeadReceiver::stop`]; the open chunks are then delivered as they are. Dropping the receiver ends the thread.
#[derive(Debug)]
pub struct SpeadReceiver<F: HeapFormat, M: ChunkMemory<F> = Vectors> {
    chunks: Option<Receiver<Result<M::Chunk, SpeadError>>>,
    used: Sender<M::Array>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    buffer_bytes: usize,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    counters: Mutex<SpeadCounters>,
}

impl<F: HeapFormat> SpeadReceiver<F> {
    /// Opens the sockets and starts the thread.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for no address, no place in the queue or as [`ChunkAssembler::new`];
    /// [`SpeadError::Socket`] where the system refuses.
    pub fn start(format: F, options: &ReceiverOptions) -> Result<Self, SpeadError> {
        Self::start_in(format, options, Vectors, 0)
    }
}

impl<F: HeapFormat, M: ChunkMemory<F>> SpeadReceiver<F, M> {
    /// As [`SpeadReceiver::start`]; chunks lie in some memory, which moves to the thread when it has given arrays for
    /// `prepared` chunks: they are there when packets come.
    ///
    /// # Errors
    /// Likewise; [`SpeadError::Memory`].
    pub fn start_in(format: F, options: &ReceiverOptions, memory: M, prepared: usize) -> Result<Self, SpeadError> {
        if options.addresses.is_empty() {
            return Err(setting("addresses to listen to", "at least 1", 0));
        }
        if !(1..=1 << 16).contains(&options.queue_chunks) {
            return Err(setting("chunks that wait", "1 to 65536", options.queue_chunks));
        }
        let mut assembler = ChunkAssembler::in_memory(format, options.chunks, memory)?;
        assembler.prepare(prepared)?;
        let (mut sockets, mut addresses, mut buffer_bytes) = (Vec::new(), Vec::new(), usize::MAX);
        for &address in &options.addresses {
            let (socket, bytes) = socket::receiving(address, options.interface, options.socket_buffer_bytes)?;
            prepare(&socket);
            addresses.push(socket.local_addr().map_err(refused(format!("{address}: read the local address")))?);
            buffer_bytes = buffer_bytes.min(bytes);
            sockets.push(socket);
        }
        let shared = Arc::new(Shared::default());
        let (sender, chunks) = sync_channel(options.queue_chunks);
        let (used, spare) = channel();
        let worker = Worker {
            dropped: vec![0; sockets.len()],
            sockets,
            assembler,
            sender,
            spare,
            shared: Arc::clone(&shared),
            stops: options.stops,
        };
        let thread = std::thread::Builder::new().name("spead-receiver".into());
        let thread = thread.spawn(move || worker.run()).map_err(refused("start the receiving thread"))?;
        Ok(Self { chunks: Some(chunks), used, thread: Some(thread), shared, addresses, buffer_bytes })
    }

    /// Addresses of the sockets, in the order of the options: with the ports that the system chose for port 0.
    pub fn local_addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Bytes that the system gave for the smallest of the sockets' buffers. Linux doubles what was asked for, as it
    /// counts what it needs beside the packets as well.
    pub fn socket_buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// The next chunk, as soon as there is one and within a time.
    ///
    /// # Errors
    /// [`SpeadError::Socket`] if the system refuses to receive: the stream ends with it; [`SpeadError::Memory`] if
    /// there was none for a chunk.
    pub fn next_chunk(&self, timeout: Duration) -> Result<NextChunk<M::Chunk>, SpeadError> {
        let Some(chunks) = &self.chunks else { return Ok(NextChunk::Ended) };
        match chunks.recv_timeout(timeout) {
            Ok(chunk) => chunk.map(NextChunk::Chunk),
            Err(RecvTimeoutError::Timeout) => Ok(NextChunk::TimedOut),
            Err(RecvTimeoutError::Disconnected) => Ok(NextChunk::Ended),
        }
    }

    /// Gives a chunk's memory back to the thread, which makes the next chunks of it: [`ChunkAssembler::recycle`]. Not
    /// needed, but at gigabytes a second clearing pages of new chunks costs a fifth of the thread's time.
    pub fn recycle(&self, chunk: M::Chunk) {
        if let Some(data) = M::reuse(chunk) {
            // A thread that has ended needs none.
            let _ = self.used.send(data);
        }
    }

    /// What came so far; new after each system call.
    pub fn counters(&self) -> SpeadCounters {
        *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the stream. Chunks that are open are delivered; the receiver need not be waited for.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl<F: HeapFormat, M: ChunkMemory<F>> Drop for SpeadReceiver<F, M> {
    fn drop(&mut self) {
        self.stop();
        // A thread that waits for room in the queue sees that nobody takes from it.
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Worker<F: HeapFormat, M: ChunkMemory<F>> {
    sockets: Vec<UdpSocket>,
    dropped: Vec<u32>,
    assembler: ChunkAssembler<F, M>,
    sender: SyncSender<Result<M::Chunk, SpeadError>>,
    spare: Receiver<M::Array>,
    shared: Arc<Shared>,
    stops: u64,
}

/// Nobody takes chunks any more.
struct Unwanted;

impl<F: HeapFormat, M: ChunkMemory<F>> Worker<F, M> {
    fn run(mut self) {
        let mut batch = Batch::new(SLOTS);
        let ended = self.receive(&mut batch);
        if ended.is_ok() {
            self.assembler.flush();
            let _ = self.deliver();
        }
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<(), Unwanted> {
        let mut drained = None;
        while !self.shared.stop.load(Ordering::Relaxed) {
            let idle = self.pass(batch)?;
            if self.stops > 0 && self.assembler.counters().stops >= self.stops {
                // Packets of other senders may lie in other sockets still.
                let until = *drained.get_or_insert_with(|| Instant::now() + DRAIN);
                if idle || Instant::now() >= until {
                    return Ok(());
                }
            } else if idle {
                wait(&self.sockets, LOOK);
            }
        }
        Ok(())
    }

    /// Takes what lies in the sockets, once; whether it was nothing.
    fn pass(&mut self, batch: &mut Batch) -> Result<bool, Unwanted> {
        let mut idle = true;
        for (socket, dropped) in self.sockets.iter().zip(&mut self.dropped) {
            // Packets that are refused are counted.
            let arrived = batch.receive(socket, |packet| {
                let _ = self.assembler.push(packet);
            });
            match arrived {
                Ok(arrived) => {
                    idle &= arrived.buffers == 0;
                    *dropped = arrived.dropped.unwrap_or(*dropped);
                }
                Err(source) => {
                    let error = SpeadError::Socket { action: "receive".into(), source };
                    let _ = self.sender.send(Err(error));
                    return Err(Unwanted);
                }
            }
        }
        self.deliver()?;
        Ok(idle)
    }

    /// Publishes the counters and hands complete chunks over.
    fn deliver(&mut self) -> Result<(), Unwanted> {
        let mut counters = self.assembler.counters();
        counters.packets_dropped = self.dropped.iter().map(|&dropped| u64::from(dropped)).sum();
        *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
        loop {
            let chunk = match self.assembler.next_chunk() {
                Ok(None) => return Ok(()),
                Ok(Some(chunk)) => Ok(chunk),
                Err(error) => Err(error),
            };
            self.sender.send(chunk).map_err(|_| Unwanted)?;
            for data in self.spare.try_iter() {
                self.assembler.recycle_array(data);
            }
        }
    }
}
