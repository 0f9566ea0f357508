//! Noise for some time.

use std::time::{Duration, Instant};

use fringes_io::spead::{HeapFormat, Sent, SpeadSender, StreamControl};

use crate::chunks::Saved;
use crate::{Failure, Shape};

/// Sends a chunk of noise again and again, each time with later timestamps, and stops.
pub(crate) fn run<F: HeapFormat>(
    _format: &F,
    sender: &mut SpeadSender<F>,
    shape: &Shape,
    seconds: f64,
) -> Result<(), Failure>
where
    F::Chunk: Saved,
{
    let start = Instant::now();
    let (mut chunk, mut first) = (F::Chunk::noise(shape)?, 0);
    sender.send_descriptors()?;
    while start.elapsed().as_secs_f64() < seconds {
        let length;
        (chunk, length) = chunk.at(first)?;
        sender.send(&chunk)?;
        first += length;
    }
    let took = start.elapsed().as_secs_f64();
    // A receiver whose buffer is full loses stops as well.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(100));
        sender.send_control(StreamControl::Stop)?;
    }
    report(&sender.sent(), took);
    Ok(())
}

/// What was sent, as a line of JSON.
pub(crate) fn report(sent: &Sent, seconds: f64) {
    let Sent { heaps, packets, bytes } = *sent;
    println!("{{\"heaps\": {heaps}, \"packets\": {packets}, \"bytes\": {bytes}, \"seconds\": {seconds}}}");
}
