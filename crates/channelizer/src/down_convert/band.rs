//! A band of a bank: its plan, and the centres that it had and will have.

use super::DownConverter;
use super::progress::{Progress, Step};
use super::tunings::Tunings;
use crate::ChannelizerError;

/// A plan and its tunings.
#[derive(Debug, Clone)]
pub(super) struct Band {
    /// As it was given.
    pub(super) plan: DownConverter,
    pub(super) tunings: Tunings<DownConverter>,
    /// Sample of the last retune.
    retuned_at: u64,
}

/// A retune that may be.
#[derive(Debug)]
pub(super) struct Retune {
    pub(super) at_sample: u64,
    /// Number of the first output that has it.
    pub(super) first_output: u64,
    pub(super) tuned: DownConverter,
}

/// Outputs of a step with one tuning.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The outputs.
    pub(super) step: Step,
    /// The plan with the tuning.
    pub(super) plan: &'a DownConverter,
}

impl Band {
    /// A plan at its own centre.
    pub(super) fn new(plan: DownConverter) -> Self {
        Self { tunings: Tunings::new(plan.clone()), plan, retuned_at: 0 }
    }

    /// Forgets all retunes.
    pub(super) fn reset(&mut self) {
        (self.tunings, self.retuned_at) = (Tunings::new(self.plan.clone()), 0);
    }

    /// A retune at an absolute sample, if it can be. Changes nothing.
    pub(super) fn retune(
        &self,
        progress: &Progress,
        at_sample: u64,
        centre_cycles_per_sample: f64,
    ) -> Result<Retune, ChannelizerError> {
        let tuned = self.tunings.last().retuned(at_sample, centre_cycles_per_sample)?;
        if at_sample < self.retuned_at {
            return Err(ChannelizerError::RetuneOrder { last: self.retuned_at, actual: at_sample });
        }
        let decimation = self.plan.decimation as u64;
        let first_output = at_sample.div_ceil(decimation);
        if let Some(last) = progress.last_output().filter(|&last| first_output <= last) {
            return Err(ChannelizerError::RetuneTooLate { made: last * decimation, actual: at_sample });
        }
        Ok(Retune { at_sample, first_output, tuned })
    }

    /// Takes a retune.
    pub(super) fn commit(&mut self, retune: Retune) {
        self.tunings.push(retune.first_output, retune.tuned);
        self.retuned_at = retune.at_sample;
    }

    /// Frequency that lands on DC in the next output, in cycles per sample.
    pub(super) fn centre_cycles_per_sample(&self, progress: &Progress) -> f64 {
        let tuning = progress.next_output().map_or(self.tunings.now(), |next| self.tunings.of(next));
        tuning.centre_cycles_per_sample
    }

    /// The outputs of a step, cut where the centre changes.
    pub(super) fn pieces(&self, step: &Step) -> Vec<Piece<'_>> {
        let cut = self.tunings.cut(step.first_output..step.end_output()).into_iter();
        cut.map(|(outputs, plan)| Piece { step: step.part(&outputs), plan }).collect()
    }
}

/// Bands of plans that have one grid of outputs and windows of one length, at least one.
///
/// # Errors
/// [`ChannelizerError::Zero`] of no plans, [`ChannelizerError::BandShape`] if plans differ.
pub(super) fn bands(plans: impl IntoIterator<Item = DownConverter>) -> Result<Vec<Band>, ChannelizerError> {
    let bands: Vec<Band> = plans.into_iter().map(Band::new).collect();
    let Some(first) = bands.first() else { return Err(ChannelizerError::Zero { quantity: "bands" }) };
    let shape = |plan: &DownConverter| [("decimation", plan.decimation), ("number of filter taps", plan.filter.len())];
    for (band, Band { plan, .. }) in bands.iter().enumerate() {
        for ((quantity, expected), (_, actual)) in shape(&first.plan).into_iter().zip(shape(plan)) {
            if actual != expected {
                return Err(ChannelizerError::BandShape { band, quantity, expected, actual });
            }
        }
    }
    Ok(bands)
}
