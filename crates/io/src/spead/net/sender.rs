//! Chunks to UDP.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use super::batch::send_segments;
use super::pace::Pace;
use super::socket;
use crate::spead::chunk::Outgoing;
use crate::spead::error::setting;
use crate::spead::item::ADDRESS_MASK;
use crate::spead::{HeapFormat, Item, PacketEncoder, PacketShape, SpeadError, StreamControl, id};

/// Most bytes and packets that go to the system at once.
const BATCH_BYTES: usize = 60_000;
const BATCH_PACKETS: usize = 64;

/// Where and how packets are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderOptions {
    /// Addresses or multicast groups. Heaps of input `i` or of part `i` of the channels go to destination `i` modulo
    /// their number.
    pub destinations: Vec<SocketAddr>,
    /// Address of the interface for IPv4 groups; the system's choice without it.
    pub interface: Option<Ipv4Addr>,
    /// Time to live of packets to groups.
    pub ttl: u32,
    /// How heaps are cut.
    pub packets: PacketShape,
    /// Bytes a second, headers of SPEAD included; as fast as the system takes them without it. Bursts are at most 60 kB
    /// and what is sent in 2 ms; what was not sent in the last second is caught up with a tenth faster.
    pub bytes_per_second: Option<f64>,
    /// Bytes of the socket's buffer.
    pub socket_buffer_bytes: usize,
    /// Counter of the first heap, and the step to the next: senders to one receiver must not meet, as with their own
    /// number and the number of senders.
    pub heap_counters: (u64, u64),
}

impl SenderOptions {
    /// One destination, packets of 8 KiB of payload, no limit of the rate, heaps counted 1, 2, ...
    pub fn new(destination: SocketAddr) -> Self {
        Self {
            destinations: vec![destination],
            interface: None,
            ttl: 1,
            packets: PacketShape::default(),
            bytes_per_second: None,
            socket_buffer_bytes: 1 << 20,
            heap_counters: (1, 1),
        }
    }
}

/// What was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Heaps.
    pub heaps: u64,
    /// Packets.
    pub packets: u64,
    /// Bytes, headers of SPEAD included.
    pub bytes: u64,
}

/// Sends chunks as heaps.
///
/// Absent heaps of a chunk are not sent, as MeerKAT's engines do not send what they lack. Chunks go out in the calling
/// thread, which waits where a rate is set.
#[derive(Debug)]
pub struct SpeadSender<F: HeapFormat> {
    format: F,
    wire: Wire,
}

/// Destinations, and what waits for each.
#[derive(Debug)]
struct Wire {
    outboxes: Vec<Outbox>,
    packets: PacketShape,
    pace: Pace,
    heap_counters: (u64, u64),
    sent: Sent,
}

/// Packets to one destination: each has `segment` bytes, but for the last.
#[derive(Debug)]
struct Outbox {
    socket: UdpSocket,
    to: SocketAddr,
    buffer: Vec<u8>,
    segment: usize,
    packets: usize,
    /// Whether the system cuts buffers.
    cuts: bool,
}

impl<F: HeapFormat> SpeadSender<F> {
    /// Opens the sockets.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for no destination, a rate that is not positive, packets with no room, or a step of 0;
    /// [`SpeadError::Socket`] where the system refuses.
    pub fn new(format: F, options: &SenderOptions) -> Result<Self, SpeadError> {
        if options.destinations.is_empty() {
            return Err(setting("destinations", "at least 1", 0));
        }
        if let Some(rate) = options.bytes_per_second.filter(|&rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(setting("bytes a second", "a positive number", rate));
        }
        if options.heap_counters.1 == 0 {
            return Err(setting("step of heap counters", "at least 1", 0));
        }
        // The formats' heaps have four items at most.
        let items = [Item::bytes(0, &[0; 8]); 4];
        PacketEncoder::new(0, &items, options.packets)?;
        let mut outboxes = Vec::new();
        for &to in &options.destinations {
            let socket = socket::sending(to, options.interface, options.socket_buffer_bytes, options.ttl)?;
            outboxes.push(Outbox { socket, to, buffer: Vec::new(), segment: 0, packets: 0, cuts: true });
        }
        let pace = Pace::new(options.bytes_per_second);
        let (packets, heap_counters) = (options.packets, options.heap_counters);
        Ok(Self { format, wire: Wire { outboxes, packets, pace, heap_counters, sent: Sent::default() } })
    }

    /// Sends the heaps of a chunk that are present; what was sent for it.
    ///
    /// # Errors
    /// [`SpeadError::Chunk`] for a chunk of another shape than the stream's, [`SpeadError::Socket`] where the system
    /// refuses.
    pub fn send(&mut self, chunk: &F::Chunk) -> Result<Sent, SpeadError> {
        let (before, wire) = (self.wire.sent, &mut self.wire);
        self.format.each_heap(chunk, &mut |heap| wire.send_data(heap))?;
        self.wire.flush()?;
        Ok(self.sent_since(before))
    }

    /// Sends the descriptors of the stream's items to every destination.
    ///
    /// # Errors
    /// [`SpeadError::Socket`] where the system refuses.
    pub fn send_descriptors(&mut self) -> Result<Sent, SpeadError> {
        let encoded: Result<Vec<_>, _> = self.format.descriptors().iter().map(|item| item.encode()).collect();
        let encoded = encoded?;
        let items: Vec<Item<'_>> = encoded.iter().map(|bytes| Item::bytes(id::DESCRIPTOR, bytes)).collect();
        self.send_to_all(&items)
    }

    /// Sends a stream control item to every destination: [`StreamControl::Stop`] ends the stream of its receivers.
    ///
    /// # Errors
    /// [`SpeadError::Socket`] where the system refuses.
    pub fn send_control(&mut self, control: StreamControl) -> Result<Sent, SpeadError> {
        self.send_to_all(&[Item::immediate(id::STREAM_CONTROL, control.value())])
    }

    fn send_to_all(&mut self, items: &[Item<'_>]) -> Result<Sent, SpeadError> {
        let before = self.wire.sent;
        for destination in 0..self.wire.outboxes.len() {
            self.wire.send_heap(destination, items)?;
        }
        self.wire.flush()?;
        Ok(self.sent_since(before))
    }

    /// What was sent in all.
    pub fn sent(&self) -> Sent {
        self.wire.sent
    }

    fn sent_since(&self, before: Sent) -> Sent {
        let now = self.wire.sent;
        Sent { heaps: now.heaps - before.heaps, packets: now.packets - before.packets, bytes: now.bytes - before.bytes }
    }
}

impl Wire {
    fn send_data(&mut self, heap: &Outgoing<'_>) -> Result<(), SpeadError> {
        let mut items: Vec<Item<'_>> =
            heap.immediates.iter().map(|&(id, value)| Item::immediate(id, value & ADDRESS_MASK)).collect();
        items.push(Item::bytes(heap.id, heap.data));
        self.send_heap(heap.substream % self.outboxes.len(), &items)
    }

    fn send_heap(&mut self, destination: usize, items: &[Item<'_>]) -> Result<(), SpeadError> {
        let (heap_cnt, step) = self.heap_counters;
        self.heap_counters.0 = heap_cnt.wrapping_add(step) & ADDRESS_MASK;
        let mut encoder = PacketEncoder::new(heap_cnt & ADDRESS_MASK, items, self.packets)?;
        let outbox = &mut self.outboxes[destination];
        loop {
            let start = outbox.buffer.len();
            if start + self.packets.packet_bytes > BATCH_BYTES {
                outbox.flush(&mut self.pace)?;
            }
            let start = outbox.buffer.len();
            let Some(bytes) = encoder.next_packet(&mut outbox.buffer) else { break };
            self.sent.packets += 1;
            self.sent.bytes += bytes as u64;
            outbox.added(start, bytes, &mut self.pace)?;
        }
        self.sent.heaps += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SpeadError> {
        for outbox in &mut self.outboxes {
            outbox.flush(&mut self.pace)?;
        }
        Ok(())
    }
}

impl Outbox {
    /// Notes a packet at the end of the buffer, and sends what it cannot go along with.
    fn added(&mut self, start: usize, bytes: usize, pace: &mut Pace) -> Result<(), SpeadError> {
        self.packets += 1;
        if self.packets == 1 {
            self.segment = bytes;
        } else if bytes > self.segment {
            let last = self.buffer.split_off(start);
            self.packets -= 1;
            self.flush(pace)?;
            self.buffer = last;
            (self.packets, self.segment) = (1, bytes);
        }
        if bytes < self.segment || self.packets == BATCH_PACKETS {
            self.flush(pace)?;
        }
        Ok(())
    }

    fn flush(&mut self, pace: &mut Pace) -> Result<(), SpeadError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        pace.wait(self.buffer.len());
        let failed = |source| SpeadError::Socket { action: format!("{}: send", self.to), source };
        if let (true, true, Ok(segment)) = (self.cuts, self.packets > 1, u16::try_from(self.segment)) {
            self.cuts = send_segments(&self.socket, self.to, &self.buffer, segment).map_err(failed)?;
        }
        if !self.cuts || self.packets == 1 {
            for packet in self.buffer.chunks(self.segment) {
                self.socket.send_to(packet, self.to).map_err(failed)?;
            }
        }
        self.buffer.clear();
        self.packets = 0;
        Ok(())
    }
}
