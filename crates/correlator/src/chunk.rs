//! What a stream is made of: chunks of voltages or of heaps.

use std::ops::Range;

use fringes_types::{Frequencies, Heaps, Inputs, SpectrumClock, VoltageSample, Voltages};

use crate::{Correlator, CorrelatorError, DumpSchedule};

/// A chunk that an [`Integrator`](crate::Integrator) or an [`IntegratorSet`](crate::IntegratorSet) takes: [`Voltages`] or [`Heaps`].
///
/// Nothing else can implement it.
pub trait Chunk<V: VoltageSample>: sealed::Sealed {
    /// What the chunk is, for messages and checks.
    #[doc(hidden)]
    fn description(&self) -> Description;

    /// Whether the chunk's boundaries can be those of a schedule's dumps.
    #[doc(hidden)]
    fn check_schedule(&self, schedule: DumpSchedule) -> Result<(), CorrelatorError>;

    /// Adds the spectra `times`, which begin and end where [`Chunk::check_schedule`] allows it.
    #[doc(hidden)]
    fn add_to(&self, correlator: &mut Correlator<V>, times: Range<usize>) -> Result<(), CorrelatorError>;
}

/// Shape and axes of a chunk.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Description {
    pub(crate) array: &'static str,
    pub(crate) inputs: Inputs,
    pub(crate) channels: usize,
    pub(crate) times: usize,
    pub(crate) frequencies: Frequencies,
    pub(crate) clock: SpectrumClock,
}

mod sealed {
    pub trait Sealed {}
    impl<V: super::VoltageSample> Sealed for super::Voltages<V> {}
    impl<V: super::VoltageSample> Sealed for super::Heaps<V> {}
}

impl<V: VoltageSample> Chunk<V> for Voltages<V> {
    fn description(&self) -> Description {
        Description {
            array: "voltages",
            inputs: self.inputs(),
            channels: self.channels(),
            times: self.times(),
            frequencies: self.frequencies(),
            clock: self.clock(),
        }
    }

    fn check_schedule(&self, _: DumpSchedule) -> Result<(), CorrelatorError> {
        Ok(())
    }

    fn add_to(&self, correlator: &mut Correlator<V>, times: Range<usize>) -> Result<(), CorrelatorError> {
        correlator.accumulate(self, times)
    }
}

impl<V: VoltageSample> Chunk<V> for Heaps<V> {
    fn description(&self) -> Description {
        Description {
            array: "heaps",
            inputs: self.inputs(),
            channels: self.channels(),
            times: self.times(),
            frequencies: self.frequencies(),
            clock: self.clock(),
        }
    }

    fn check_schedule(&self, schedule: DumpSchedule) -> Result<(), CorrelatorError> {
        let (expected, actual) = (schedule.spectra_per_heap(), self.spectra_per_heap());
        if expected != actual as u64 {
            return Err(CorrelatorError::SpectraPerHeap { expected, actual });
        }
        // All spectra of a batch are of one dump if the first stamp is less than a spectrum behind a whole multiple of the step.
        let (step, actual) = (schedule.heap_timestamp_step(), self.clock().first_sample);
        if actual % step >= schedule.samples_between_spectra() {
            return Err(CorrelatorError::HeapStamp { step, actual });
        }
        Ok(())
    }

    fn add_to(&self, correlator: &mut Correlator<V>, times: Range<usize>) -> Result<(), CorrelatorError> {
        let spectra = self.spectra_per_heap();
        correlator.accumulate_batches(self, times.start / spectra..times.end / spectra)
    }
}
