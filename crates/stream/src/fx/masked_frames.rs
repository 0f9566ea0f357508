//! Where correlator and beams have their frames from. One of the two masks them, for both; the other has them from it.

use std::time::Instant;

use super::frames::StreamSample;
use super::masking::{Masked, Masking};
use super::report::Busy;
use super::stages::FromFEngine;
use crate::StreamError;
use crate::queue::{QueueIn, QueueOut, Sent};

/// From what masks frames.
pub(super) enum FromMasking<V: StreamSample> {
    /// Frames, and what is left out of them.
    Frames(Masked<V>),
    /// What follows is another stream.
    Restart,
    /// No more comes. Dumps that begin at this sample or later are not wanted.
    End(Option<u64>),
}

impl<V: StreamSample> Clone for FromMasking<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Frames(masked) => Self::Frames(masked.clone()),
            Self::Restart => Self::Restart,
            Self::End(until) => Self::End(*until),
        }
    }
}

/// Where a stage has its frames from.
pub(super) enum FramesIn<V: StreamSample> {
    /// From the F-engine; nothing is left out.
    Plain(QueueOut<FromFEngine<V>>),
    /// From the F-engine. They are masked here, for another stage too.
    Masking {
        input: QueueOut<FromFEngine<V>>,
        masking: Box<Masking<V>>,
        /// The other stage.
        other: Option<QueueIn<FromMasking<V>>>,
    },
    /// From a stage that masks them.
    Masked(QueueOut<FromMasking<V>>),
}

impl<V: StreamSample> FramesIn<V> {
    /// Gives a stage all that comes, until the end or until the other stage is gone, which has said why. The time of
    /// masking and of the stage is noted, not that of waiting for the other one.
    ///
    /// # Errors
    /// The stage's, and as [`Masking::push`].
    pub(super) fn run(
        mut self,
        busy: &Busy,
        mut take: impl FnMut(FromMasking<V>) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        while let Some(messages) = self.receive(busy) {
            for message in messages? {
                if let Self::Masking { other: Some(other), .. } = &self
                    && other.send(message.clone()) == Sent::Closed
                {
                    return Ok(());
                }
                let start = Instant::now();
                let taken = take(message);
                busy.since(start);
                taken?;
            }
        }
        Ok(())
    }

    /// What comes next: nothing of frames that wait for their block's end, `None` when no more comes.
    fn receive(&mut self, busy: &Busy) -> Option<Result<Vec<FromMasking<V>>, StreamError>> {
        let received = match self {
            Self::Masked(input) => return input.receive().map(|message| Ok(vec![message])),
            Self::Plain(input) | Self::Masking { input, .. } => input.receive()?,
        };
        let start = Instant::now();
        let messages = self.masked(received);
        busy.since(start);
        Some(messages)
    }

    /// What a message of the F-engine makes.
    fn masked(&mut self, message: FromFEngine<V>) -> Result<Vec<FromMasking<V>>, StreamError> {
        let masking = match self {
            Self::Masking { masking, .. } => Some(masking),
            Self::Plain(_) | Self::Masked(_) => None,
        };
        let (frames, last) = match (message, masking) {
            (FromFEngine::Frames(frames, arrived), None) => (vec![Masked { frames, mask: None, arrived }], None),
            (FromFEngine::Frames(frames, arrived), Some(masking)) => (masking.push(frames, arrived)?, None),
            // Behind the frames of a block that is not complete.
            (FromFEngine::Restart, masking) => (closed(masking)?, Some(FromMasking::Restart)),
            (FromFEngine::End(until), masking) => (closed(masking)?, Some(FromMasking::End(until))),
        };
        Ok(frames.into_iter().map(FromMasking::Frames).chain(last).collect())
    }
}

/// The frames of the block under way.
fn closed<V: StreamSample>(masking: Option<&mut Box<Masking<V>>>) -> Result<Vec<Masked<V>>, StreamError> {
    masking.map_or(Ok(Vec::new()), |masking| masking.close())
}
