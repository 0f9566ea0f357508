//! Where the weights of tied-array beams come from.

use std::sync::OnceLock;

use fringes_types::BeamWeights;

use crate::{BeamSteering, BeamformerError};

/// Weights as they are given, or those of delays at a sample.
#[derive(Debug, Clone)]
pub(crate) enum WeightSource {
    Given(BeamWeights),
    Steered {
        steering: Box<BeamSteering>,
        sample: u64,
        /// The weights, once somebody on the host has asked for them.
        weights: OnceLock<BeamWeights>,
    },
}

impl PartialEq for WeightSource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(a), Self::Given(b)) => a == b,
            (Self::Steered { steering: a, sample: at, .. }, Self::Steered { steering: b, sample: other, .. }) => {
                a == b && at == other
            }
            _ => false,
        }
    }
}

impl WeightSource {
    /// Number of beams.
    pub(crate) fn beams(&self) -> usize {
        match self {
            Self::Given(weights) => weights.beams(),
            Self::Steered { steering, .. } => steering.beams(),
        }
    }

    /// Number of channels.
    pub(crate) fn channels(&self) -> usize {
        match self {
            Self::Given(weights) => weights.channels(),
            Self::Steered { steering, .. } => steering.band().channels,
        }
    }

    /// Whether a beam sums an input: whether it has a weight in any channel.
    pub(crate) fn uses(&self, beam: usize, input: usize) -> bool {
        match self {
            Self::Given(weights) => given_uses(weights, beam, input),
            Self::Steered { steering, .. } => steering.uses(beam, input),
        }
    }

    /// Number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Self::Given(weights) => weights.inputs(),
            Self::Steered { steering, .. } => steering.inputs().len(),
        }
    }

    /// Magnitude of each beam's largest gain, where weights are steered: what they are rounded by, as on GPUs.
    pub(crate) fn largest(&self) -> Option<Vec<f32>> {
        match self {
            Self::Given(_) => None,
            Self::Steered { steering, .. } => Some(steering.largest_gains()),
        }
    }

    /// The weights.
    pub(crate) fn weights(&self) -> Result<&BeamWeights, BeamformerError> {
        match self {
            Self::Given(weights) => Ok(weights),
            Self::Steered { steering, sample, weights } => {
                if let Some(weights) = weights.get() {
                    return Ok(weights);
                }
                let made = steering.weights_at(*sample)?;
                Ok(weights.get_or_init(|| made))
            }
        }
    }
}

/// Whether a beam has a weight for an input in any channel.
pub(crate) fn given_uses(weights: &BeamWeights, beam: usize, input: usize) -> bool {
    weights.data().slice(ndarray::s![beam, .., input]).iter().any(|weight| weight.re != 0.0 || weight.im != 0.0)
}
