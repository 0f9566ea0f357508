//! An instrument that runs.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use fringes_beamformer::TiedArrayBeams;
use fringes_delay_model::DelaySegment;
use fringes_io::write::BeamObservation;
use fringes_types::Gains;

use super::frames::StreamSample;
use super::report::{Ended, Report};
use super::stages::Shared;
use crate::ring::{Ring, RingFormat, RingWritten};
use crate::{Stage, StreamError};

/// A thread of a stage.
#[derive(Debug)]
pub(super) struct Thread {
    stage: Stage,
    handle: JoinHandle<()>,
}

impl Thread {
    /// Starts a thread; where that fails, those that run are told to stop.
    pub(super) fn start(
        stage: Stage,
        shared: &Shared,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StreamError> {
        match std::thread::Builder::new().name(stage.to_string()).spawn(run) {
            Ok(handle) => Ok(Self { stage, handle }),
            Err(error) => {
                shared.stop_now.store(true, Ordering::Relaxed);
                Err(StreamError::at(stage, error))
            }
        }
    }
}

/// An instrument that runs on threads of its own. Dropped, it goes on until its source ends.
#[derive(Debug)]
pub struct Running<V: StreamSample> {
    shared: Arc<Shared>,
    threads: Vec<Thread>,
    ring: Arc<Ring<V>>,
}

/// Stops and changes an instrument from elsewhere: another thread, a handler of signals. Inputs and channels are those
/// of the rank; an [`InstrumentControl`](super::InstrumentControl) speaks to all ranks of an instrument.
#[derive(Debug, Clone)]
pub struct Control {
    pub(super) shared: Arc<Shared>,
}

impl Control {
    /// Ends with the dump under way: reads on until it is complete, delivers it, finishes the sinks. Where the source
    /// falls silent, two seconds later with what there is.
    pub fn stop(&self) {
        self.shared.stop_at_dump.store(true, Ordering::Relaxed);
    }

    /// Ends with the chunk that comes next. Dumps under way are delivered, what did not come counted as not valid.
    pub fn stop_now(&self) {
        self.shared.stop_now.store(true, Ordering::Relaxed);
    }

    /// Sets the gains of the first frame that does not begin before a sample, and of all after it. Of a change that
    /// comes too late the next frame is the first.
    pub fn set_gains(&self, sample: u64, gains: Gains) {
        self.shared.controls.set_gains(sample, gains);
    }

    /// Replaces the delay of an input from the start of a segment on; the F-engine must have delays. Too late it holds
    /// from the next spectrum on.
    pub fn set_delay(&self, input: usize, segment: DelaySegment) {
        self.shared.controls.set_delay(input, segment);
    }

    /// Replaces the beams from the first spectrum on whose stamp is not before a sample.
    pub fn set_beams(&self, sample: u64, beams: TiedArrayBeams) {
        self.shared.controls.set_beams(sample, beams);
    }

    /// Leaves these channels out of dumps and beams, and no others, from a sample on; none ends it. What a masker takes
    /// for interference ([`Fx::mask`](super::Fx::mask)) is left out beside them. Beams have all channels if
    /// [`Fx::mask_beams`](super::Fx::mask_beams) says so.
    ///
    /// Channels are numbers of those that this rank correlates, in any order. The set holds from the first block of the
    /// masker that does not begin before the sample, without a masker from the first such frame; too late, from the
    /// next one on. [`Visibilities::valid`](fringes_types::Visibilities::valid) counts what is left of a dump,
    /// [`DetectedBeams::masked_spectra`](fringes_types::DetectedBeams::masked_spectra) what is masked of beams.
    ///
    /// A channel that there is not ends the run with [`StreamError::Change`], as soon as frames come.
    pub fn set_masked_channels(&self, sample: u64, channels: Vec<usize>) {
        self.shared.controls.set_masked_channels(sample, channels);
    }

    /// What the instrument has done so far.
    pub fn report(&self) -> Report {
        self.shared.counters.report()
    }
}

impl<V: StreamSample> Running<V> {
    pub(super) fn new(shared: Arc<Shared>, threads: Vec<Thread>, ring: Arc<Ring<V>>) -> Self {
        Self { shared, threads, ring }
    }

    /// What stops and changes it.
    pub fn control(&self) -> Control {
        Control { shared: self.shared.clone() }
    }

    /// As [`Control::stop`].
    pub fn stop(&self) {
        self.control().stop();
    }

    /// As [`Control::stop_now`].
    pub fn stop_now(&self) {
        self.control().stop_now();
    }

    /// What it has done so far.
    pub fn report(&self) -> Report {
        self.shared.counters.report()
    }

    /// Whether all its threads have ended.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.handle.is_finished())
    }

    /// Writes the voltages of a range of samples that the ring holds ([`Fx::ring`](super::Fx::ring)), as GUPPI raw or
    /// VDIF: a file an antenna and piece without a gap, `antenna-<number>-<first sample>.raw` or `.vdif`, of all frames
    /// that overlap the range. The instrument runs on meanwhile.
    ///
    /// # Errors
    /// [`StreamError::NotInRing`]; [`StreamError::Plan`] if voltages are floats; [`StreamError::Io`] of the files, and
    /// with [`IoError::Vdif`](fringes_io::IoError::Vdif) of what VDIF cannot hold, such as spectra that are no whole
    /// number a second.
    pub fn write_ring(
        &self,
        range: Range<u64>,
        folder: &Path,
        observation: &BeamObservation,
        format: RingFormat,
    ) -> Result<RingWritten, StreamError> {
        self.ring.write(range, folder, observation, format)
    }

    /// Waits for the end of the source, or of a stop, and says how it ended.
    pub fn join(self) -> Ended {
        for Thread { stage, handle } in self.threads {
            if handle.join().is_err() {
                self.shared.fail(StreamError::Panicked { stage });
            }
        }
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ended { report: self.shared.counters.report(), error }
    }
}
