//! Receives and sends SPEAD streams: what `tests/python/check_spead.py` and `benches/spead.py` drive.
//!
//! ```text
//! cargo run -p fringes-io --example spead -- receive voltages --listen 127.0.0.1:7148 --out folder
//! cargo run -p fringes-io --example spead -- send voltages --to 127.0.0.1:7148 folder/chunk_0000.npz
//! ```
//!
//! A chunk is an npz file of `data`, `presence` and `first`, the ADC sample counter of its beginning. Data are bytes
//! `[input][byte]` of packed samples, `[input][time]` of samples, `[batch][antenna][channel][spectrum][pol][2]` of
//! voltages, `[channel][baseline][2]` of visibilities, which have `valid` as well.

mod chunks;
mod generate;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chunks::Saved;
use clap::{Args, Parser, Subcommand, ValueEnum};
use fringes_io::spead::{
    ByteOrder, HeapFormat, NextChunk, PackedSampleHeaps, PacketShape, ReceiverOptions, SampleHeaps, SenderOptions,
    SpeadCounters, SpeadReceiver, SpeadSender, StreamControl, VisibilityHeaps, VoltageHeaps,
};
use fringes_types::{BaselineOrder, Complex, Inputs};

/// What can go wrong, as text for people.
pub(crate) type Failure = Box<dyn std::error::Error>;

#[derive(Debug, Parser)]
#[command(name = "spead")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Receive a stream until it stops; save its chunks.
    Receive(Receive),
    /// Send saved chunks, with descriptors before and a stop behind them.
    Send(SendFiles),
    /// Send noise for some time.
    Generate(Generate),
}

/// What heaps hold.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Packed,
    Samples,
    Voltages,
    Visibilities,
}

/// The shape of a stream.
#[derive(Debug, Clone, Args)]
struct Shape {
    /// What heaps hold.
    kind: Kind,
    #[arg(long, default_value_t = 4)]
    antennas: usize,
    #[arg(long, default_value_t = 2)]
    pols: usize,
    #[arg(long, default_value_t = 64)]
    channels: usize,
    /// All channels without it.
    #[arg(long)]
    channels_per_heap: Option<usize>,
    #[arg(long, default_value_t = 0)]
    first_channel: u64,
    /// Spectra of a heap, or of an integration.
    #[arg(long, default_value_t = 32)]
    spectra: usize,
    /// ADC samples from a spectrum to the next.
    #[arg(long, default_value_t = 128)]
    step: u64,
    /// Timestamps of a chunk.
    #[arg(long, default_value_t = 4)]
    batches: usize,
    #[arg(long, default_value_t = 10)]
    bits: u32,
    #[arg(long, default_value_t = 4096)]
    samples_per_heap: usize,
    #[arg(long, value_delimiter = ',')]
    digitisers: Vec<u64>,
    #[arg(long)]
    big_endian: bool,
    #[arg(long)]
    marks: bool,
}

#[derive(Debug, Args)]
struct Receive {
    #[command(flatten)]
    shape: Shape,
    /// Addresses to listen to; they are printed when packets can come.
    #[arg(long, required = true)]
    listen: Vec<SocketAddr>,
    /// Address of the interface for multicast.
    #[arg(long)]
    interface: Option<Ipv4Addr>,
    /// Folder for chunks; without it they are let go.
    #[arg(long)]
    out: Option<PathBuf>,
    #[arg(long, default_value_t = 2)]
    window: usize,
    #[arg(long)]
    live_heaps: Option<usize>,
    #[arg(long)]
    first: Option<u64>,
    #[arg(long, default_value_t = 1)]
    stops: u64,
    #[arg(long, default_value_t = 8 << 20)]
    socket_buffer: usize,
    #[arg(long, default_value_t = 8)]
    queue: usize,
    /// Seconds without a chunk after which the stream is ended.
    #[arg(long, default_value_t = 30.0)]
    patience: f64,
}

#[derive(Debug, Args)]
struct Destination {
    /// Where heaps go: input or part of the channels `i` to the address `i` modulo their number.
    #[arg(long, required = true)]
    to: Vec<SocketAddr>,
    #[arg(long)]
    interface: Option<Ipv4Addr>,
    #[arg(long, default_value_t = 8192 + 72)]
    packet_bytes: usize,
    /// Send item pointers once a heap.
    #[arg(long)]
    pointers_once: bool,
    /// Bytes a second.
    #[arg(long)]
    rate: Option<f64>,
}

#[derive(Debug, Args)]
struct SendFiles {
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    destination: Destination,
    /// Saved chunks.
    #[arg(required = true)]
    chunks: Vec<PathBuf>,
}

#[derive(Debug, Args)]
struct Generate {
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    destination: Destination,
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Does something with the format that a shape says.
macro_rules! with_format {
    ($shape:expr, $format:ident => $call:expr) => {{
        let shape = $shape;
        let inputs = Inputs::new(shape.antennas, shape.pols)?;
        match shape.kind {
            Kind::Packed => {
                let $format = PackedSampleHeaps::new(inputs, shape.bits, shape.samples_per_heap, shape.batches)?;
                let $format =
                    if shape.digitisers.is_empty() { $format } else { $format.with_digitisers(&shape.digitisers)? };
                $call
            }
            Kind::Samples => {
                let $format = SampleHeaps::new(inputs, shape.samples_per_heap, shape.batches)?;
                $call
            }
            Kind::Voltages => {
                let per_heap = shape.channels_per_heap.unwrap_or(shape.channels);
                let $format =
                    VoltageHeaps::<Complex<i8>>::new(inputs, shape.channels, shape.spectra, shape.step, shape.batches)?
                        .with_channels_per_heap(per_heap)?
                        .with_first_channel(shape.first_channel);
                $call
            }
            Kind::Visibilities => {
                let per_heap = shape.channels_per_heap.unwrap_or(shape.channels);
                let (order, spectra) = (BaselineOrder::AntennaPairs, shape.spectra as u64);
                let $format = VisibilityHeaps::new(inputs, order, shape.channels, spectra, shape.step)?
                    .with_channels_per_heap(per_heap)?
                    .with_first_channel(shape.first_channel)
                    .with_byte_order(if shape.big_endian { ByteOrder::Big } else { ByteOrder::Little });
                let $format = if shape.marks { $format.with_marks() } else { $format };
                $call
            }
        }
    }};
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Receive(arguments) => with_format!(&arguments.shape, format => receive(format, &arguments)),
        Command::Send(arguments) => with_format!(&arguments.shape, format => send(format, &arguments)),
        Command::Generate(arguments) => with_format!(&arguments.shape, format => {
            let mut sender = SpeadSender::new(format.clone(), &sender_options(&arguments.destination))?;
            generate::run(&format, &mut sender, &arguments.shape, arguments.seconds)
        }),
    }
}

fn receive<F: HeapFormat>(format: F, arguments: &Receive) -> Result<(), Failure>
where
    F::Chunk: Saved,
{
    let mut options = ReceiverOptions::new(arguments.listen[0]);
    options.addresses.clone_from(&arguments.listen);
    options.interface = arguments.interface;
    options.socket_buffer_bytes = arguments.socket_buffer;
    options.stops = arguments.stops;
    options.queue_chunks = arguments.queue;
    options.chunks.window_chunks = arguments.window;
    options.chunks.live_heaps = arguments.live_heaps;
    options.chunks.first_timestamp = arguments.first;
    let receiver = SpeadReceiver::start(format, &options)?;
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder)?;
    }
    let addresses: Vec<String> = receiver.local_addresses().iter().map(|address| address.to_string()).collect();
    println!("listening {} {}", receiver.socket_buffer_bytes(), addresses.join(" "));
    let (mut first, mut last, mut number) = (None, Instant::now(), 0);
    loop {
        match receiver.next_chunk(Duration::from_secs_f64(arguments.patience))? {
            NextChunk::Chunk(chunk) => {
                last = Instant::now();
                first.get_or_insert(last);
                if let Some(folder) = &arguments.out {
                    chunk.save(&folder.join(format!("chunk_{number:04}.npz")))?;
                }
                number += 1;
                receiver.recycle(chunk);
            }
            NextChunk::TimedOut => receiver.stop(),
            NextChunk::Ended => break,
        }
    }
    let seconds = first.map_or(0.0, |first| last.duration_since(first).as_secs_f64());
    report(&receiver.counters(), seconds);
    Ok(())
}

/// Counters as a line of JSON.
fn report(counters: &SpeadCounters, seconds: f64) {
    let SpeadCounters { packets, bytes, packets_dropped, malformed, duplicate_packets, late_packets, .. } = *counters;
    let SpeadCounters { heaps_complete, heaps_incomplete, heaps_other, heaps_duplicate, heaps_late, .. } = *counters;
    let SpeadCounters { heaps_ahead, heaps_stored, values_clamped, chunks, stops, .. } = *counters;
    let values = [
        ("packets", packets),
        ("bytes", bytes),
        ("packets_dropped", packets_dropped),
        ("malformed", malformed),
        ("duplicate_packets", duplicate_packets),
        ("late_packets", late_packets),
        ("heaps_complete", heaps_complete),
        ("heaps_incomplete", heaps_incomplete),
        ("heaps_other", heaps_other),
        ("heaps_duplicate", heaps_duplicate),
        ("heaps_late", heaps_late),
        ("heaps_ahead", heaps_ahead),
        ("heaps_stored", heaps_stored),
        ("values_clamped", values_clamped),
        ("chunks", chunks),
        ("stops", stops),
    ];
    let values: Vec<String> = values.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    println!("{{{}, \"seconds\": {seconds}}}", values.join(", "));
}

fn sender_options(destination: &Destination) -> SenderOptions {
    let mut options = SenderOptions::new(destination.to[0]);
    options.destinations.clone_from(&destination.to);
    options.interface = destination.interface;
    options.packets =
        PacketShape { packet_bytes: destination.packet_bytes, repeat_pointers: !destination.pointers_once };
    options.bytes_per_second = destination.rate;
    options
}

fn send<F: HeapFormat>(format: F, arguments: &SendFiles) -> Result<(), Failure>
where
    F::Chunk: Saved,
{
    let mut sender = SpeadSender::new(format, &sender_options(&arguments.destination))?;
    sender.send_descriptors()?;
    for path in &arguments.chunks {
        sender.send(&F::Chunk::load(path, &arguments.shape)?)?;
    }
    sender.send_control(StreamControl::Stop)?;
    generate::report(&sender.sent(), 0.0);
    Ok(())
}
