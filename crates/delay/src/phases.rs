//! Phases of delay models at the times of spectra.

use fringes_delay_model::{ChannelPhase, DelayModel};
use fringes_types::SpectrumClock;
use ndarray::Array2;

use super::layout::product;
use crate::DelayError;

/// Whether the samples that spectra were made of were moved by the coarse delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Windows {
    /// They were: the window of a spectrum stamped `t` began at `t - coarse`, or the samples were
    /// [shifted](super::shift()) before they were channelised. Phases are those of
    /// [`DelayValue::channel_phase`](fringes_delay_model::DelayValue::channel_phase).
    Moved,
    /// They were not: phases are those of the whole delay,
    /// [`DelayValue::whole_channel_phase`](fringes_delay_model::DelayValue::whole_channel_phase).
    Unmoved,
}

/// Phases `[time][input]` of as many delay models at the stamps of a clock, for a band of `channels` channels of real
/// or complex samples.
///
/// Stamps beyond `2^64 - 1` have no phase.
///
/// # Precision
/// That of [`ChannelPhase`].
///
/// # Errors
/// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge) where no memory can be as large,
/// [`DelayError::Zero`] without channels, [`TypesError::NotPositive`](fringes_types::TypesError::NotPositive) if
/// the clock's rate or spacing is not positive.
pub fn channel_phases(
    models: &[DelayModel],
    clock: SpectrumClock,
    times: usize,
    channels: usize,
    complex: bool,
    windows: Windows,
) -> Result<Array2<ChannelPhase>, DelayError> {
    clock.check()?;
    if channels == 0 {
        return Err(DelayError::Zero { quantity: "channels" });
    }
    product("phases", &[times, models.len()])?;
    let mut phases = Array2::default((times, models.len()));
    for (mut column, model) in phases.columns_mut().into_iter().zip(models) {
        let plan = model.plan(clock.first_sample, clock.samples_between_spectra, times);
        for (phase, value) in column.iter_mut().zip(plan.values()) {
            *phase = match windows {
                Windows::Moved => value.channel_phase(channels, complex),
                Windows::Unmoved => value.whole_channel_phase(channels, complex),
            };
        }
    }
    Ok(phases)
}
