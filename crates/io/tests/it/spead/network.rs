//! Receiver and sender over loopback.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use fringes_io::spead::{
    HeapFormat, NextChunk, PackedSampleHeaps, PacketShape, ReceiverOptions, SenderOptions, SpeadError, SpeadReceiver,
    SpeadSender, StreamControl, VoltageHeaps,
};
use fringes_types::{Complex4, Heaps, Inputs, PackedSamples, SpectrumClock};
use ndarray::{Array2, Array5};
use num_complex::Complex;

use super::numbers;

const TIME: Duration = Duration::from_secs(20);

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// 4 antennas, 64 channels in heaps of 32: 4 KiB each.
fn format() -> VoltageHeaps<Complex<i8>> {
    let inputs = Inputs::new(4, 2).unwrap();
    VoltageHeaps::new(inputs, 64, 32, 128, 4).unwrap().with_channels_per_heap(32).unwrap()
}

fn chunk(number: u64) -> Heaps<Complex<i8>> {
    let mut next = numbers(number);
    let data = Array5::from_shape_fn((4, 4, 64, 32, 2), |_| {
        let bits = next();
        Complex::new((bits % 255) as i32 as i8, (bits / 255 % 255) as i32 as i8)
    });
    let data = data.mapv(|value| Complex::new(value.re.max(-127), value.im.max(-127)));
    let clock =
        SpectrumClock { first_sample: number * 4 * 32 * 128, samples_between_spectra: 128, ..SpectrumClock::default() };
    let presence = Array2::from_elem((4, 4), true);
    Heaps::new(data).unwrap().with_presence(presence).unwrap().with_clock(clock).unwrap()
}

#[test]
fn chunks_cross_loopback_on_two_sockets_and_the_stream_ends_with_both_stops() {
    let mut options = ReceiverOptions::new(loopback());
    options.addresses.push(loopback());
    options.stops = 2;
    options.chunks.first_timestamp = Some(0);
    let receiver = SpeadReceiver::start(format(), &options).unwrap();
    assert!(receiver.socket_buffer_bytes() > 0);
    assert_eq!(receiver.next_chunk(Duration::from_millis(1)).unwrap(), NextChunk::TimedOut);
    let mut options = SenderOptions::new(receiver.local_addresses()[0]);
    options.destinations = receiver.local_addresses().to_vec();
    options.packets = PacketShape { packet_bytes: 72 + 2048, repeat_pointers: true };
    options.bytes_per_second = Some(100e6);
    let mut sender = SpeadSender::new(format(), &options).unwrap();
    sender.send_descriptors().unwrap();
    let sent: Vec<_> = (0..6).map(chunk).collect();
    for (number, chunk) in sent.iter().enumerate() {
        let count = sender.send(chunk).unwrap();
        assert_eq!((count.heaps, count.packets), (32, 64));
        assert_eq!(receiver.next_chunk(TIME).unwrap().chunk().as_ref(), Some(chunk), "{number}");
    }
    sender.send_control(StreamControl::Stop).unwrap();
    assert_eq!(receiver.next_chunk(TIME).unwrap(), NextChunk::Ended);
    let (counters, sent) = (receiver.counters(), sender.sent());
    assert_eq!((counters.packets, counters.bytes), (sent.packets, sent.bytes));
    assert_eq!((counters.stops, counters.heaps_other, counters.chunks, counters.malformed), (2, 4, 6, 0));
}

#[test]
fn a_receiver_that_is_told_to_stop_delivers_what_it_has() {
    let receiver = SpeadReceiver::start(format(), &ReceiverOptions::new(loopback())).unwrap();
    let mut options = SenderOptions::new(receiver.local_addresses()[0]);
    options.bytes_per_second = Some(100e6);
    let mut sender = SpeadSender::new(format(), &options).unwrap();
    let mut presence = Array2::from_elem((4, 4), true);
    presence[(3, 1)] = false;
    sender.send(&chunk(0).with_presence(presence.clone()).unwrap()).unwrap();
    let until = Instant::now() + TIME;
    while receiver.counters().heaps_stored < 30 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(receiver.next_chunk(Duration::from_millis(100)).unwrap(), NextChunk::TimedOut);
    receiver.stop();
    let received = receiver.next_chunk(TIME).unwrap().chunk().unwrap();
    assert_eq!(received.presence(), Some(presence.view()));
    assert_eq!(receiver.next_chunk(TIME).unwrap(), NextChunk::Ended);
}

#[test]
fn a_receiver_that_nobody_takes_from_can_be_dropped() {
    let one = Inputs::single_pol(1).unwrap();
    let format = PackedSampleHeaps::new(one, 8, 64, 1).unwrap();
    let mut options = ReceiverOptions::new(loopback());
    options.queue_chunks = 1;
    let receiver = SpeadReceiver::start(format.clone(), &options).unwrap();
    let mut sender = SpeadSender::new(format, &SenderOptions::new(receiver.local_addresses()[0])).unwrap();
    let samples = PackedSamples::pack(Array2::zeros((1, 64 * 50)).view(), 8, one).unwrap();
    sender.send(&samples).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop(receiver);
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_system_drops_is_told() {
    let one = Inputs::single_pol(1).unwrap();
    let format = PackedSampleHeaps::new(one, 8, 4096, 1).unwrap();
    let mut options = ReceiverOptions::new(loopback());
    (options.queue_chunks, options.socket_buffer_bytes) = (1, 1 << 16);
    let receiver = SpeadReceiver::start(format.clone(), &options).unwrap();
    let mut sender = SpeadSender::new(format, &SenderOptions::new(receiver.local_addresses()[0])).unwrap();
    // Nobody takes chunks: the thread waits, and 8 MB do not fit the socket's buffer.
    let samples = PackedSamples::pack(Array2::zeros((1, 4096 * 2000)).view(), 8, one).unwrap();
    sender.send(&samples).unwrap();
    while receiver.next_chunk(Duration::from_millis(300)).unwrap() != NextChunk::TimedOut {}
    sender.send_control(StreamControl::Stop).unwrap();
    while receiver.next_chunk(TIME).unwrap() != NextChunk::Ended {}
    let (counters, sent) = (receiver.counters(), sender.sent());
    let lost = sent.packets - counters.packets;
    assert!((1..=lost).contains(&counters.packets_dropped), "{lost} lost, {} told", counters.packets_dropped);
    // A packet that overtakes another makes it late, and one behind many that were dropped may be so far ahead that it
    // is not believed: of what came nothing is unaccounted for.
    let accounted = counters.chunks + counters.heaps_late + counters.heaps_ahead;
    assert_eq!((accounted, counters.stops), (counters.packets - 1, 1), "{counters:?}");
}

#[test]
fn bytes_that_are_no_packets_are_counted_and_survived() {
    let receiver = SpeadReceiver::start(format(), &ReceiverOptions::new(loopback())).unwrap();
    let to = receiver.local_addresses()[0];
    let socket = UdpSocket::bind(loopback()).unwrap();
    for length in [0, 1, 8, 1000, 60_000] {
        socket.send_to(&vec![0x53; length], to).unwrap();
    }
    let mut sender = SpeadSender::new(format(), &SenderOptions::new(to)).unwrap();
    sender.send_control(StreamControl::Stop).unwrap();
    assert_eq!(receiver.next_chunk(TIME).unwrap(), NextChunk::Ended);
    assert_eq!((receiver.counters().packets, receiver.counters().malformed), (6, 5));
}

#[test]
fn a_rate_is_kept() {
    let sink = UdpSocket::bind(loopback()).unwrap();
    let mut options = SenderOptions::new(sink.local_addr().unwrap());
    options.bytes_per_second = Some(1e6);
    let mut sender = SpeadSender::new(format(), &options).unwrap();
    let start = Instant::now();
    let mut bytes = 0;
    for number in 0..3 {
        bytes += sender.send(&chunk(number)).unwrap().bytes;
    }
    let seconds = start.elapsed().as_secs_f64();
    // The last 60 kB are not waited for. Slower is the machine's affair.
    let least = (bytes as f64 - 60_000.0 - 2e3) / 1e6;
    assert!(seconds >= 0.98 * least, "{bytes} bytes in {seconds} s");
    assert!(bytes > 390_000);
}

#[test]
fn a_multicast_group_is_joined() {
    let group: SocketAddr = "239.102.17.5:0".parse().unwrap();
    let mut options = ReceiverOptions::new(group);
    options.interface = Some("127.0.0.1".parse().unwrap());
    let receiver = match SpeadReceiver::start(format(), &options) {
        Ok(receiver) => receiver,
        // Some machines have no multicast; their loopback tells so.
        Err(SpeadError::Socket { action, source }) => {
            assert!(action.contains("239.102.17.5"), "{action}");
            eprintln!("no multicast here: {source}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let to = receiver.local_addresses()[0];
    let mut options = SenderOptions::new(to);
    options.interface = Some("127.0.0.1".parse().unwrap());
    options.bytes_per_second = Some(100e6);
    let mut sender = SpeadSender::new(format(), &options).unwrap();
    sender.send(&chunk(3)).unwrap();
    assert_eq!(receiver.next_chunk(TIME).unwrap().chunk(), Some(chunk(3)));
}

#[test]
fn four_bit_voltages_cross_ipv6() {
    let inputs = Inputs::new(2, 1).unwrap();
    let format = VoltageHeaps::<Complex4>::new(inputs, 8, 16, 16, 2).unwrap();
    let receiver = match SpeadReceiver::start(format.clone(), &ReceiverOptions::new("[::1]:0".parse().unwrap())) {
        Ok(receiver) => receiver,
        // Some machines have no IPv6.
        Err(SpeadError::Socket { action, source }) => {
            assert!(action.contains("[::1]:0"), "{action}");
            eprintln!("no IPv6 here: {source}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let mut next = numbers(4);
    let part = |bits: u64| (bits % 15) as i8 - 7;
    let data = Array5::from_shape_fn((2, 2, 8, 16, 1), |_| {
        let bits = next();
        Complex4::new(part(bits), part(bits / 15)).unwrap()
    });
    let clock = SpectrumClock { samples_between_spectra: 16, ..SpectrumClock::default() };
    let presence = Array2::from_elem((2, 2), true);
    let sent = Heaps::new(data).unwrap().with_clock(clock).unwrap().with_presence(presence).unwrap();
    let mut sender = SpeadSender::new(format, &SenderOptions::new(receiver.local_addresses()[0])).unwrap();
    sender.send(&sent).unwrap();
    assert_eq!(receiver.next_chunk(TIME).unwrap().chunk(), Some(sent));
}

#[test]
fn options_that_cannot_be_are_refused() {
    let refused = |result: Result<(), SpeadError>| {
        assert!(matches!(result, Err(SpeadError::Setting { .. })), "{result:?}");
    };
    let start = |options: ReceiverOptions| SpeadReceiver::start(format(), &options).map(|_| ());
    let good = ReceiverOptions::new(loopback());
    refused(start(ReceiverOptions { addresses: vec![], ..good.clone() }));
    refused(start(ReceiverOptions { queue_chunks: 0, ..good }));
    let foreign = start(ReceiverOptions::new("203.0.113.7:7148".parse().unwrap())).unwrap_err();
    assert!(foreign.to_string().starts_with("203.0.113.7:7148: bind: "), "{foreign}");
    let new = |options: SenderOptions| SpeadSender::new(format(), &options).map(|_| ());
    let good = SenderOptions::new("127.0.0.1:9".parse().unwrap());
    new(good.clone()).unwrap();
    refused(new(SenderOptions { destinations: vec![], ..good.clone() }));
    refused(new(SenderOptions { heap_counters: (0, 0), ..good.clone() }));
    let tiny = PacketShape { packet_bytes: 72, repeat_pointers: true };
    refused(new(SenderOptions { packets: tiny, ..good.clone() }));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(new(SenderOptions { bytes_per_second: Some(rate), ..good.clone() }));
    }
    assert_eq!(format().descriptors().len(), 4);
}
