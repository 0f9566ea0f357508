//! The thread of the beamformer: frames to detected beams.

use std::sync::Arc;
use std::time::Instant;

use fringes_backend::ToHost;
use fringes_beamformer::{BeamformerError, TiedArrayDetector};
use fringes_types::DetectedBeams;

use super::frames::{FrameData, StreamSample};
use super::stages::{FromFEngine, Shared, SinkQueues};
use crate::queue::QueueOut;
use crate::sink::Product;
use crate::{Stage, StreamError};

pub(super) struct BeamStage<V: StreamSample> {
    pub(super) detector: TiedArrayDetector<V>,
    pub(super) input: QueueOut<FromFEngine<V>>,
    pub(super) sinks: SinkQueues,
    pub(super) shared: Arc<Shared>,
}

impl<V: StreamSample> BeamStage<V> {
    pub(super) fn run(mut self) {
        while let Some(message) = self.input.receive() {
            let start = Instant::now();
            let done = match message {
                FromFEngine::Frames(frames, arrived) => self.frames(&frames, arrived),
                FromFEngine::Restart => {
                    self.begin_anew();
                    Ok(())
                }
                // A sum that is not complete is of no use.
                FromFEngine::End(_) => Ok(()),
            };
            self.shared.counters.beamformer.since(start);
            if let Err(error) = done {
                return self.shared.fail(StreamError::at(Stage::Beamformer, error));
            }
        }
    }

    fn begin_anew(&mut self) {
        self.shared.counters.beam_gaps.add(1);
        self.detector.reset();
    }

    fn detect(&mut self, frames: &FrameData<V>) -> Result<DetectedBeams<f32>, StreamError> {
        match frames {
            FrameData::Host(heaps) => Ok(self.detector.push(heaps)?),
            FrameData::Pinned(_) => {
                let heaps = frames.on_host().map_err(|error| StreamError::at(Stage::Beamformer, error))?;
                Ok(self.detector.push(&*heaps)?)
            }
            FrameData::Device(heaps) => {
                let beams = self.detector.push(&**heaps)?;
                beams.to_host().map_err(|error| StreamError::at(Stage::Beamformer, error))
            }
        }
    }

    fn frames(&mut self, frames: &FrameData<V>, arrived: Instant) -> Result<(), StreamError> {
        for (sample, set) in self.shared.controls.take_beams() {
            self.detector.replace_at(set, sample)?;
        }
        let beams = match self.detect(frames) {
            Err(StreamError::Beamformer(BeamformerError::Continuation { .. })) => {
                self.begin_anew();
                self.detect(frames)?
            }
            beams => beams?,
        };
        if beams.times() > 0 {
            self.shared.counters.beam_sums.add(beams.times() as u64);
            self.sinks.give(&Product::Beams(Arc::new(beams)), arrived);
        }
        Ok(())
    }
}
