//! What comes out of a stream: 64-bit visibilities or 32-bit dumps, on the host or on a device.

use fringes_backend::DeviceVisibilities;
use fringes_types::{BaselineOrder, Complex, Visibilities, VoltageSample};

use crate::{Correlator, CorrelatorError, DeviceDump32, Dump32, MissingData};

/// What an [`Integrator`](crate::Integrator) gives.
///
/// | dump | bits | where | of |
/// |---|---|---|---|
/// | [`Visibilities`] | 64 | host | all voltages |
/// | [`Dump32`] | 32 | host | integers |
/// | [`DeviceVisibilities`] | 64 | device | all voltages |
/// | [`DeviceDump32`] | 32 | device | integers |
///
/// Nothing else can implement it.
pub trait Dump<V: VoltageSample>: Sized + sealed::Sealed {
    /// The same dump on a device.
    type OnDevice: Dump<V>;

    /// Takes what a correlator has summed.
    #[doc(hidden)]
    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError>;
}

/// A dump of integer voltages, which may be of 32 bits.
///
/// Nothing else can implement it.
pub trait IntegerDump<V: VoltageSample>: Dump<V> {
    /// The dump of 32 bits in the same place.
    type In32Bits: Dump<V>;
}

/// A dump on the host: what an [`IntegratorSet`](crate::IntegratorSet) gives.
///
/// Nothing else can implement it.
pub trait HostDump<V: VoltageSample>: Dump<V> {
    /// Makes one of packed lower triangles.
    #[doc(hidden)]
    fn of(visibilities: Visibilities<V::Accumulator>, form: Form) -> Result<Self, CorrelatorError>;
}

/// How dumps are wanted.
#[derive(Debug, Clone, Copy, Default)]
#[doc(hidden)]
pub struct Form {
    pub(crate) order: BaselineOrder,
    pub(crate) missing: MissingData,
}

#[cfg(test)]
pub(crate) use sealed::Sealed;

mod sealed {
    pub trait Sealed {}
    impl<A: fringes_types::Accumulator, D> Sealed for super::Visibilities<A, D> {}
    impl<D, C> Sealed for super::Dump32<D, C> {}
}

impl<V: VoltageSample> Dump<V> for Visibilities<V::Accumulator> {
    type OnDevice = DeviceVisibilities<'static, V::Accumulator>;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump(form.order)
    }
}

impl<V: VoltageSample> Dump<V> for DeviceVisibilities<'static, V::Accumulator> {
    type OnDevice = Self;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump_on_device(form.order)
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> Dump<V> for Dump32 {
    type OnDevice = DeviceDump32;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump32(form.order, form.missing)
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> Dump<V> for DeviceDump32 {
    type OnDevice = Self;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump32_on_device(form.order, form.missing)
    }
}

macro_rules! integer_dumps {
    ($($dump:ty => $narrow:ty;)*) => { $(
        impl<V: VoltageSample<Accumulator = Complex<i64>>> IntegerDump<V> for $dump {
            type In32Bits = $narrow;
        }
    )* };
}

integer_dumps! {
    Visibilities<Complex<i64>> => Dump32;
    Dump32 => Dump32;
    DeviceVisibilities<'static, Complex<i64>> => DeviceDump32;
    DeviceDump32 => DeviceDump32;
}

impl<V: VoltageSample> HostDump<V> for Visibilities<V::Accumulator> {
    fn of(visibilities: Visibilities<V::Accumulator>, form: Form) -> Result<Self, CorrelatorError> {
        Ok(if form.order == visibilities.order() { visibilities } else { visibilities.reordered(form.order)? })
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> HostDump<V> for Dump32 {
    fn of(visibilities: Visibilities<Complex<i64>>, form: Form) -> Result<Self, CorrelatorError> {
        let visibilities = <Visibilities<Complex<i64>> as HostDump<V>>::of(visibilities, form)?;
        Ok(Dump32::new(&visibilities, form.missing))
    }
}
