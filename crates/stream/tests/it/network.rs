//! From network to network: samples come by SPEAD, dumps go by SPEAD.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use fringes_backend::Backend;
use fringes_io::spead::{
    NextChunk, ReceiverOptions, SampleHeaps, SenderOptions, SpeadReceiver, SpeadSender, StreamControl, VisibilityHeaps,
};
use fringes_stream::sink::{MemorySink, Overflow, SpeadSink};
use fringes_stream::source::Spead;
use fringes_stream::{Fx, SampleBlock};
use fringes_types::{BaselineOrder, Complex};

use crate::support::{FRAME, block, dumps, engine, in_one_call, info, inputs, schedule, whole};

#[test]
fn an_instrument_between_networks_gives_the_dumps_of_one_call() {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let end = 32 * FRAME;
    let format = SampleHeaps::new(inputs(), 256, 4).unwrap().with_sample_rate(1e6).unwrap();
    let source = Spead::int8(format.clone(), &ReceiverOptions::new(anywhere), info(end)).unwrap();
    let to = source.receiver().local_addresses()[0];

    let sums = VisibilityHeaps::new(inputs(), BaselineOrder::Triangle, 64, 12, 128).unwrap();
    let sums = sums.with_sample_rate(1e6).unwrap();
    let dumped = SpeadReceiver::start(sums.clone(), &ReceiverOptions::new(anywhere)).unwrap();
    let options = SenderOptions::new(dumped.local_addresses()[0]);
    let (memory, products) = MemorySink::new();
    let running = Fx::<Complex<i8>>::new(&Backend::cpu(), engine())
        .cadence(schedule(3))
        .sink(SpeadSink::new(sums, &options, 0).unwrap(), Overflow::Block)
        .sink(memory, Overflow::Block)
        .start(source)
        .unwrap();

    // Slowly enough for any machine: a packet that the system drops would make other dumps.
    let options = SenderOptions { bytes_per_second: Some(2e6), ..SenderOptions::new(to) };
    let mut sender = SpeadSender::new(format, &options).unwrap();
    for chunk in 0..end / 1024 {
        let SampleBlock::Int8(samples) = block(1024 * chunk, 1024) else { panic!("8 bits") };
        sender.send(&samples).unwrap();
    }
    sender.send_control(StreamControl::Stop).unwrap();

    let report = running.join().into_result().unwrap();
    assert_eq!((report.source.lost, report.source.late, report.source.malformed), (0, 0, 0), "{report:?}");
    let expected = in_one_call(whole(&[block(0, end as usize)], end).as_chunk(), engine(), 3);
    assert_eq!(dumps(&products, 0), expected);
    let mut sent = Vec::new();
    loop {
        match dumped.next_chunk(Duration::from_secs(20)).unwrap() {
            NextChunk::Chunk(chunk) => sent.push(chunk.visibilities),
            NextChunk::TimedOut => panic!("the stop did not come"),
            NextChunk::Ended => break,
        }
    }
    assert_eq!(sent.len(), expected.len());
    for (sent, expected) in sent.iter().zip(&expected) {
        assert_eq!(sent.clock().first_sample, expected.clock().first_sample);
        assert_eq!(sent.data(), expected.data());
    }
}
