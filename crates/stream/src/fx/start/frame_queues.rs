//! The queues of frames to correlator and beams, and who masks them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::super::frames::StreamSample;
use super::super::masked_frames::{FramesIn, FromMasking};
use super::super::masking::Masking;
use super::super::stages::FromFEngine;
use crate::Stage;
use crate::queue::{QueueIn, QueueOut, queue};

/// What takes frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takers {
    /// There is a correlator.
    pub(super) correlator: bool,
    /// There are beams.
    pub(super) beams: bool,
    /// What is masked is left out of these.
    pub(super) masks_beams: bool,
}

/// The queues between what makes frames and what takes them.
pub(super) struct FrameQueues<V: StreamSample> {
    takers: Takers,
    /// Where frames are given to.
    pub(super) outputs: Vec<QueueIn<FromFEngine<V>>>,
    correlator: QueueOut<FromFEngine<V>>,
    beams: ToBeams<V>,
    /// The depths that the queues of correlator and beams reach.
    pub(super) deepest: [Arc<AtomicUsize>; 2],
}

/// The queue to the beams.
enum ToBeams<V: StreamSample> {
    /// From what makes frames.
    Frames(QueueOut<FromFEngine<V>>),
    /// From the correlator, which masks them.
    Masked(QueueIn<FromMasking<V>>, QueueOut<FromMasking<V>>),
}

impl<V: StreamSample> FrameQueues<V> {
    /// Queues of so many messages.
    pub(super) fn new(takers: Takers, depth: usize) -> Self {
        let mut outputs = Vec::new();
        let (to_x, correlator, x_deepest) = queue("correlator".into(), depth);
        if takers.correlator {
            outputs.push(to_x);
        }
        let name = String::from("beamformer");
        let (beams, deepest) = if takers.correlator && takers.masks_beams {
            let (to, from, deepest) = queue(name, depth);
            (ToBeams::Masked(to, from), deepest)
        } else {
            let (to, from, deepest) = queue(name, depth);
            if takers.beams {
                outputs.push(to);
            }
            (ToBeams::Frames(from), deepest)
        };
        Self { takers, outputs, correlator, beams, deepest: [x_deepest, deepest] }
    }

    /// What correlator and beams take, where there are such. The first of them masks frames, for both.
    pub(super) fn into_inputs(self, masking: impl FnOnce(Stage) -> Masking<V>) -> [Option<FramesIn<V>>; 2] {
        let Takers { correlator, beams, masks_beams } = self.takers;
        let masking = |input, stage, other| FramesIn::Masking { input, masking: Box::new(masking(stage)), other };
        match self.beams {
            ToBeams::Masked(to, from) => {
                let other = beams.then_some(to);
                let x = masking(self.correlator, Stage::Correlator, other);
                [Some(x), beams.then_some(FramesIn::Masked(from))]
            }
            ToBeams::Frames(from) if correlator => {
                let x = masking(self.correlator, Stage::Correlator, None);
                [Some(x), beams.then_some(FramesIn::Plain(from))]
            }
            ToBeams::Frames(from) if beams && masks_beams => [None, Some(masking(from, Stage::Beamformer, None))],
            ToBeams::Frames(from) => [None, beams.then_some(FramesIn::Plain(from))],
        }
    }
}
