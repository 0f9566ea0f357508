//! What comes out of a stream: 64-bit visibilities or 32-bit dumps, on the host or on a device.

use fringes_backend::DeviceVisibilities;
use fringes_types::{BaselineOrder, Complex, Visibilities, VoltageSample};

use crate::set_sum::SetSum;
use crate::{Correlator, CorrelatorError, DeviceDump32, Dump32, MissingData};

/// What an [`Integrator`](crate::Integrator) and an [`IntegratorSet`](crate::IntegratorSet) give.
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

    /// Makes one of a sum of a correlator's dumps.
    #[doc(hidden)]
    fn of(correlator: &mut Correlator<V>, sum: SetSum<V>, form: Form) -> Result<Self, CorrelatorError>;
}

/// A dump of integer voltages, which may be of 32 bits.
///
/// Nothing else can implement it.
pub trait IntegerDump<V: VoltageSample>: Dump<V> {
    /// The dump of 32 bits in the same place.
    type In32Bits: Dump<V>;
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

    fn of(_: &mut Correlator<V>, sum: SetSum<V>, form: Form) -> Result<Self, CorrelatorError> {
        let sum = sum.on_host()?;
        Ok(if form.order == sum.order() { sum } else { sum.reordered(form.order)? })
    }
}

impl<V: VoltageSample> Dump<V> for DeviceVisibilities<'static, V::Accumulator> {
    type OnDevice = Self;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump_on_device(form.order)
    }

    fn of(correlator: &mut Correlator<V>, sum: SetSum<V>, form: Form) -> Result<Self, CorrelatorError> {
        let sum = sum.on_device(correlator)?;
        if form.order == sum.order() { Ok(sum) } else { correlator.reordered_on_device(&sum, form.order) }
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> Dump<V> for Dump32 {
    type OnDevice = DeviceDump32;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump32(form.order, form.missing)
    }

    fn of(correlator: &mut Correlator<V>, sum: SetSum<V>, form: Form) -> Result<Self, CorrelatorError> {
        let sum = <Visibilities<Complex<i64>> as Dump<V>>::of(correlator, sum, form)?;
        Ok(Dump32::new(&sum, form.missing))
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> Dump<V> for DeviceDump32 {
    type OnDevice = Self;

    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump32_on_device(form.order, form.missing)
    }

    fn of(correlator: &mut Correlator<V>, sum: SetSum<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.clamped_on_device(&sum.on_device(correlator)?, form.order, form.missing)
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
