//! That packets received in pinned memory give the dumps of those received in vectors.

use std::net::{Ipv4Addr, SocketAddr};

use fringes::io::spead::{PackedSampleHeaps, ReceiverOptions, SenderOptions, SpeadSender, StreamControl};
use fringes::stream::SampleBlock;
use fringes::stream::sink::{Collected, MemorySink, Overflow, Sums};
use fringes::stream::source::{Received, Source, SourceInfo, Spead};
use fringes::{Backend, Precision};
use fringes_gpu::{Device, PinnedPool};

use crate::end::End;
use crate::instrument::case::{BITS, Case, Memory, RATE_HZ};
use crate::instrument::check::sums;

/// Samples of a heap.
const HEAP: usize = 4096;
/// Bytes a second over loopback, which any machine receives.
const BYTES_PER_SECOND: f64 = 50e6;

/// Sends chunks over loopback to an instrument, once to each memory.
pub(super) fn run(device: &Device, case: Case, pool: &PinnedPool, chunks: u64) -> Result<String, End> {
    let [pinned, vectors] = [true, false].map(|is_pinned| dumps(device, case, pool, chunks, is_pinned));
    let (pinned, vectors) = (pinned?, vectors?);
    if pinned != vectors || pinned.len() < 4 {
        return Err(End::failed(format!("dumps differ, {} and {} of them", pinned.len(), vectors.len())));
    }
    Ok(format!("{} dumps are the same, bit for bit", pinned.len()))
}

fn dumps(device: &Device, case: Case, pool: &PinnedPool, chunks: u64, is_pinned: bool) -> Result<Vec<Sums>, End> {
    let format = PackedSampleHeaps::new(case.inputs()?, BITS, HEAP, case.times() / HEAP);
    let format = format.and_then(|format| format.with_sample_rate(RATE_HZ)).map_err(End::failed)?;
    let info = SourceInfo {
        label: "SPEAD".into(),
        inputs: case.inputs()?,
        sample_rate_hz: RATE_HZ,
        sample_zero: None,
        end_sample: None,
    };
    let options = ReceiverOptions::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let (source, to): (Box<dyn Source>, _) = if is_pinned {
        let source = Spead::pinned(format.clone(), &options, info, &PinnedPool::new(device)).map_err(End::failed)?;
        let to = source.receiver().local_addresses()[0];
        (Box::new(source), to)
    } else {
        let source = Spead::packed(format.clone(), &options, info).map_err(End::failed)?;
        let to = source.receiver().local_addresses()[0];
        (Box::new(source), to)
    };
    let (sink, products): (_, Collected) = MemorySink::new();
    let fx = case.fx(&Backend::on(device.clone()), Precision::Half)?.sink(sink, Overflow::Block);
    let running = fx.start(source).map_err(End::failed)?;
    let options = SenderOptions { bytes_per_second: Some(BYTES_PER_SECOND), ..SenderOptions::new(to) };
    let mut sender = SpeadSender::new(format, &options).map_err(End::failed)?;
    let mut samples = case.samples(pool, Memory::Pageable, chunks)?;
    while let Some(Received::Samples(SampleBlock::Packed(chunk))) = samples.next().map_err(End::failed)? {
        sender.send(&chunk).map_err(End::failed)?;
    }
    sender.send_control(StreamControl::Stop).map_err(End::failed)?;
    let report = running.join().into_result().map_err(End::failed)?;
    if (report.source.lost, report.source.malformed, report.chunks) != (0, 0, chunks) {
        return Err(End::failed(format!("expected {chunks} chunks without a loss, found {:?}", report.source)));
    }
    Ok(sums(&products))
}
