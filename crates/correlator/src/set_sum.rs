//! Sums that dumps of several lengths are made of: packed lower triangles of 64 bits, where the dumps are wanted.

use fringes_backend::{DeviceArray, DeviceVisibilities, ToHost, UploadError};
use fringes_types::{Accumulator, BaselineOrder, SpectrumClock, ValidSamples, Visibilities, VoltageSample};

use crate::{Correlator, CorrelatorError, DumpSchedule};

/// A packed lower triangle of an integration, wherever it lies.
#[derive(Debug)]
#[doc(hidden)]
pub enum SetSum<V: VoltageSample> {
    /// On the host.
    Host(Visibilities<V::Accumulator>),
    /// On the correlator's device.
    Device(DeviceVisibilities<'static, V::Accumulator>),
}

impl<V: VoltageSample> SetSum<V> {
    /// What a correlator has summed.
    pub(crate) fn take(correlator: &mut Correlator<V>, on_device: bool) -> Result<Self, CorrelatorError> {
        Ok(if on_device {
            Self::Device(correlator.dump_on_device(BaselineOrder::Triangle)?)
        } else {
            Self::Host(correlator.dump(BaselineOrder::Triangle)?)
        })
    }

    /// The same sum once more.
    pub(crate) fn copied(&self, correlator: &Correlator<V>) -> Result<Self, CorrelatorError> {
        Ok(match self {
            Self::Host(sum) => Self::Host(sum.clone()),
            Self::Device(sum) => Self::Device(correlator.sum_on_device(&[sum])?),
        })
    }

    /// This sum and a part of it together.
    pub(crate) fn plus(self, part: &Self, correlator: &Correlator<V>) -> Result<Self, CorrelatorError> {
        // What has no valid sample is zero.
        if part.is_empty() {
            return Ok(self);
        }
        Ok(match (self, part) {
            (Self::Host(sum), Self::Host(part)) => Self::Host(sum.plus(part)?),
            (Self::Device(sum), Self::Device(part)) => Self::Device(correlator.sum_on_device(&[&sum, part])?),
            (sum, part) => {
                let (sum, part) = (sum.on_device(correlator)?, part.copied(correlator)?.on_device(correlator)?);
                Self::Device(correlator.sum_on_device(&[&sum, &part])?)
            }
        })
    }

    /// The first part of a sum, stamped and counted as the dump that it will be.
    pub(crate) fn begin_of(self, schedule: DumpSchedule) -> Result<Self, CorrelatorError> {
        let (spectra, clock) = (schedule.spectra_per_dump(), self.clock());
        let clock = SpectrumClock { first_sample: schedule.dump_timestamp(clock.first_sample), ..clock };
        Ok(match self {
            Self::Host(sum) => Self::Host(sum.with_times(spectra).with_clock(clock)?),
            Self::Device(sum) => Self::Device(sum.with_times(spectra).with_clock(clock)?),
        })
    }

    pub(crate) fn clock(&self) -> SpectrumClock {
        match self {
            Self::Host(sum) => sum.clock(),
            Self::Device(sum) => sum.clock(),
        }
    }

    pub(crate) fn times(&self) -> u64 {
        match self {
            Self::Host(sum) => sum.times(),
            Self::Device(sum) => sum.times(),
        }
    }

    fn is_empty(&self) -> bool {
        let valid = match self {
            Self::Host(sum) => sum.valid_samples(),
            Self::Device(sum) => sum.valid_samples(),
        };
        valid.iter().all(|&valid| valid == 0)
    }

    /// The sum on the host.
    pub(crate) fn on_host(self) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
        match self {
            Self::Host(sum) => Ok(sum),
            Self::Device(sum) => sum.to_host().map_err(not_there),
        }
    }

    /// The sum on the correlator's device.
    pub(crate) fn on_device(
        self,
        correlator: &Correlator<V>,
    ) -> Result<DeviceVisibilities<'static, V::Accumulator>, CorrelatorError> {
        match self {
            Self::Device(sum) => Ok(sum),
            Self::Host(sum) => correlator.uploaded(&sum),
        }
    }
}

/// The same header on another array.
pub(crate) fn with_array<A: Accumulator, D>(
    sum: &Visibilities<A, D>,
    order: BaselineOrder,
    valid: ValidSamples,
    array: DeviceArray<'static, A>,
) -> Result<DeviceVisibilities<'static, A>, CorrelatorError> {
    let (inputs, frequencies, clock) = (sum.inputs(), sum.frequencies(), sum.clock());
    let of = Visibilities::from_array(array, sum.channels(), inputs, order, valid, sum.times(), frequencies, clock);
    Ok(of?)
}

fn not_there(error: UploadError) -> CorrelatorError {
    match error {
        UploadError::Types(error) => error.into(),
        UploadError::Device(error) => CorrelatorError::Device(error),
    }
}
