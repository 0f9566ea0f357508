//! What comes out of a stream: 64-bit visibilities or 32-bit dumps.

use fringes_types::{BaselineOrder, Complex, Visibilities, VoltageSample};

use crate::{Correlator, CorrelatorError, Dump32, MissingData};

/// What an [`Integrator`](crate::Integrator) or an [`IntegratorSet`](crate::IntegratorSet) gives: [`Visibilities`], or [`Dump32`] of
/// integer voltages.
///
/// Nothing else can implement it.
pub trait Dump<V: VoltageSample>: Sized + sealed::Sealed {
    /// Takes what a correlator has summed.
    #[doc(hidden)]
    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError>;

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

mod sealed {
    pub trait Sealed {}
    impl<A: fringes_types::Accumulator> Sealed for super::Visibilities<A> {}
    impl Sealed for super::Dump32 {}
}

impl<V: VoltageSample> Dump<V> for Visibilities<V::Accumulator> {
    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump(form.order)
    }

    fn of(visibilities: Visibilities<V::Accumulator>, form: Form) -> Result<Self, CorrelatorError> {
        Ok(if form.order == visibilities.order() { visibilities } else { visibilities.reordered(form.order)? })
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> Dump<V> for Dump32 {
    fn take(correlator: &mut Correlator<V>, form: Form) -> Result<Self, CorrelatorError> {
        correlator.dump32(form.order, form.missing)
    }

    fn of(visibilities: Visibilities<Complex<i64>>, form: Form) -> Result<Self, CorrelatorError> {
        let visibilities = <Visibilities<Complex<i64>> as Dump<V>>::of(visibilities, form)?;
        Ok(Dump32::new(&visibilities, form.missing))
    }
}
