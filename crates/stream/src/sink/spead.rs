//! Dumps as SPEAD over UDP.

use fringes_io::spead::{SenderOptions, SpeadError, SpeadSender, StreamControl, VisibilityChunk, VisibilityHeaps};

use super::{Product, Sink, Sums, Takes};
use crate::{BoxError, StreamError};

/// Dumps after which descriptors are sent again, for receivers that begin later.
const DESCRIPTORS_EVERY: u64 = 16;

/// Sends the dumps of one cadence, of integers, as MeerKAT's correlator does: clamped to 32 bits, with descriptors
/// before the first dump and every 16 dumps, and a stop at the end.
#[derive(Debug)]
pub struct SpeadSink {
    sender: SpeadSender<VisibilityHeaps>,
    cadence: usize,
    dumps: u64,
}

impl SpeadSink {
    /// Opens the sockets.
    ///
    /// # Errors
    /// As [`SpeadSender::new`].
    pub fn new(format: VisibilityHeaps, options: &SenderOptions, cadence: usize) -> Result<Self, SpeadError> {
        Ok(Self { sender: SpeadSender::new(format, options)?, cadence, dumps: 0 })
    }
}

impl Sink for SpeadSink {
    fn name(&self) -> &str {
        "spead"
    }

    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: self.cadence }
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        let Product::Dump(dump) = product else { return Ok(()) };
        let Sums::Integers(sums) = &dump.sums else {
            let (what, expected) = ("dumps sent by SPEAD", "sums of integers".into());
            return Err(StreamError::Plan { what, expected, actual: "sums of floats".into() }.into());
        };
        if self.dumps % DESCRIPTORS_EVERY == 0 {
            self.sender.send_descriptors()?;
        }
        self.dumps += 1;
        self.sender.send(&VisibilityChunk::whole(sums.clone()))?;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        self.sender.send_control(StreamControl::Stop)?;
        Ok(())
    }
}
