//! The thread that brings a GPU's frames to the host for the ring of voltages.

use std::sync::Arc;

use fringes_backend::Downloader;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{LinearArray, TypesError};

use super::frames::{FrameData, StreamSample};
use super::stages::Shared;
use crate::queue::QueueOut;
use crate::ring::Ring;
use crate::{BoxError, Stage, StreamError};

pub(super) struct RingStage<V: StreamSample> {
    pub(super) downloader: Downloader,
    pub(super) input: QueueOut<Arc<FrameData<V>>>,
    pub(super) ring: Arc<Ring<V>>,
    pub(super) shared: Arc<Shared>,
    /// Memory of frames that the ring has forgotten.
    pub(super) spare: Vec<Vec<V>>,
}

impl<V: StreamSample> RingStage<V> {
    pub(super) fn run(mut self) {
        while let Some(frames) = self.input.receive() {
            if let Err(error) = self.keep(&frames) {
                return self.shared.fail(StreamError::at(Stage::FEngine, error));
            }
        }
    }

    fn keep(&mut self, frames: &Arc<FrameData<V>>) -> Result<(), BoxError> {
        let host = match &**frames {
            FrameData::Device(heaps) => {
                let length = heaps.array().len();
                let too_large = || TypesError::TooLarge { array: "ring of voltages", elements: length.to_string() };
                let spare = self.spare.pop().filter(|spare| spare.len() == length);
                let memory = spare.or_else(|| try_zeroed_vec(length)).ok_or_else(too_large)?;
                Arc::new(FrameData::Host(self.downloader.heaps(heaps, memory)?))
            }
            FrameData::Host(_) | FrameData::Pinned(_) => frames.clone(),
        };
        let forgotten = self.ring.push(&host)?.into_iter().filter_map(Arc::into_inner);
        self.spare = forgotten.filter_map(FrameData::into_values).collect();
        Ok(())
    }
}
