//! A model evaluated at many equally spaced output times: one value a spectrum.
//!
//! | spectrum `m` | stamped | window starts | rotated by |
//! |---|---|---|---|
//! | 0 | `first` | `first - coarse_0` | `fine_0`, `phase_0` |
//! | 1 | `first + stride` | `first + stride - coarse_1` | `fine_1`, `phase_1` |
//! | ... | | | |

use std::ops::Range;

use crate::{DelayModel, DelayValue};

/// Delays of the spectra `first + m stride`, `m = 0 .. count`, of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayPlan {
    first: u64,
    stride: u64,
    values: Vec<DelayValue>,
}

/// Neighbouring spectra that share one coarse delay, so that their windows are equally spaced in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Which spectra of the plan.
    pub spectra: Range<usize>,
    /// Their coarse delay in samples.
    pub coarse: i64,
}

impl DelayModel {
    /// Evaluates the model at samples `first + m stride` for `m = 0 .. count`. The values are those of
    /// [`DelayModel::evaluate`], bit for bit; the segments are searched once instead of once a spectrum. Stamps beyond
    /// 2^64 - 1 are left out.
    pub fn plan(&self, first: u64, stride: u64, count: usize) -> DelayPlan {
        let mut values = Vec::with_capacity(count);
        let mut index = self.index_at(first);
        let mut next_start = self.start_after(index);
        let mut sample = Some(first);
        for _ in 0..count {
            let Some(at) = sample else { break };
            while next_start.is_some_and(|start| start <= at) {
                index += 1;
                next_start = self.start_after(index);
            }
            values.push(self.value_of(index, at));
            sample = at.checked_add(stride);
        }
        DelayPlan { first, stride, values }
    }
}

impl DelayPlan {
    /// One value a spectrum.
    pub fn values(&self) -> &[DelayValue] {
        &self.values
    }

    /// Number of spectra.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no spectra.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Output sample at which spectrum `spectrum` is stamped, or `None` if the plan does not have it.
    pub fn sample(&self, spectrum: usize) -> Option<u64> {
        self.values.get(spectrum)?;
        self.first.checked_add(self.stride.checked_mul(spectrum as u64)?)
    }

    /// First input sample of the window of a spectrum, or `None` if the plan does not have the spectrum or the window
    /// starts before sample 0.
    pub fn input_start(&self, spectrum: usize) -> Option<u64> {
        self.values.get(spectrum)?.input_start(self.sample(spectrum)?)
    }

    /// The plan's spectra in order, cut wherever the coarse delay changes.
    pub fn sections(&self) -> impl Iterator<Item = Section> + '_ {
        let mut start = 0;
        self.values.chunk_by(|a, b| a.coarse == b.coarse).map(move |values| {
            let spectra = start..start + values.len();
            start = spectra.end;
            Section { spectra, coarse: values.first().map_or(0, |value| value.coarse) }
        })
    }
}
