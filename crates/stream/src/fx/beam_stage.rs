//! The thread of the beamformer: frames to detected beams.

use std::sync::Arc;

use fringes_backend::ToHost;
use fringes_beamformer::{BeamformerError, DetectChunk, TiedArrayDetector};
use fringes_types::{ChannelMask, DetectedBeams};

use super::frames::{FrameData, StreamSample};
use super::masked_frames::{FramesIn, FromMasking};
use super::masking::Masked;
use super::stages::{Shared, SinkQueues};
use crate::sink::Product;
use crate::{Stage, StreamError};

pub(super) struct BeamStage<V: StreamSample> {
    pub(super) detector: TiedArrayDetector<V>,
    pub(super) sinks: SinkQueues,
    pub(super) shared: Arc<Shared>,
}

impl<V: StreamSample> BeamStage<V> {
    pub(super) fn run(mut self, input: FramesIn<V>) {
        let shared = self.shared.clone();
        let ended = input.run(&shared.counters.beamformer, |message| match message {
            FromMasking::Frames(masked) => self.frames(&masked),
            FromMasking::Restart => {
                self.begin_anew();
                Ok(())
            }
            // A sum that is not complete is of no use.
            FromMasking::End(_) => Ok(()),
        });
        if let Err(error) = ended {
            shared.fail(error.of_frames(Stage::Beamformer));
        }
    }

    fn begin_anew(&mut self) {
        self.shared.counters.beam_gaps.add(1);
        self.detector.reset();
    }

    fn detect(&mut self, Masked { frames, mask, .. }: &Masked<V>) -> Result<DetectedBeams<f32>, StreamError> {
        match &**frames {
            FrameData::Host(heaps) => self.push(heaps, mask.as_deref()),
            FrameData::Pinned(_) => {
                let heaps = frames.on_host().map_err(|error| StreamError::at(Stage::Beamformer, error))?;
                self.push(&*heaps, mask.as_deref())
            }
            FrameData::Device(heaps) => {
                let beams = self.push(&**heaps, mask.as_deref())?;
                beams.to_host().map_err(|error| StreamError::at(Stage::Beamformer, error))
            }
        }
    }

    fn push<C: DetectChunk<Sample = V>>(
        &mut self,
        heaps: &C,
        mask: Option<&ChannelMask>,
    ) -> Result<C::Detected, StreamError> {
        Ok(match mask {
            Some(mask) => self.detector.push_masked(heaps, mask)?,
            None => self.detector.push(heaps)?,
        })
    }

    fn frames(&mut self, masked: &Masked<V>) -> Result<(), StreamError> {
        for (sample, set) in self.shared.controls.take_beams() {
            self.detector.replace_at(set, sample)?;
        }
        let beams = match self.detect(masked) {
            Err(StreamError::Beamformer(BeamformerError::Continuation { .. })) => {
                self.begin_anew();
                self.detect(masked)?
            }
            beams => beams?,
        };
        if beams.times() > 0 {
            self.shared.counters.beam_sums.add(beams.times() as u64);
            self.sinks.give(&Product::Beams(Arc::new(beams)), masked.arrived);
        }
        Ok(())
    }
}
