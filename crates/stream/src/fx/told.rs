//! Changes on their way from one process of an instrument to the others: as bytes that go with the headers of the
//! corner turn.

use fringes_beamformer::{TiedArrayBeams, WeightPrecision};
use fringes_delay_model::DelaySegment;
use fringes_types::{BeamWeights, Complex, Gains};
use ndarray::{Array, ArrayView, Dimension};
use serde::{Deserialize, Serialize};

use super::changes::Change;
use crate::BoxError;

/// A [`Change`] in plain numbers.
#[derive(Serialize, Deserialize)]
enum Told {
    UniformGain { sample: u64, gain: f32 },
    Gains { sample: u64, gains: Numbers },
    Delay { input: usize, segment: Segment },
    Beams { sample: u64, weights: Numbers, precision: Option<u8>, scale: f32, seed: Option<u64> },
    MaskedChannels { sample: u64, channels: Vec<usize> },
}

/// Complex numbers in standard layout, real and imaginary parts in turns.
#[derive(Serialize, Deserialize)]
struct Numbers {
    shape: Vec<usize>,
    parts: Vec<f32>,
}

impl Numbers {
    fn of<D: Dimension>(array: ArrayView<'_, Complex<f32>, D>) -> Self {
        let parts = array.iter().flat_map(|value| [value.re, value.im]).collect();
        Self { shape: array.shape().to_vec(), parts }
    }

    fn array<D: Dimension>(self) -> Result<Array<Complex<f32>, D>, BoxError> {
        let values = self.parts.chunks_exact(2).map(|parts| Complex::new(parts[0], parts[1])).collect();
        Ok(Array::from_shape_vec(self.shape, values)?.into_dimensionality()?)
    }
}

/// A [`DelaySegment`].
#[derive(Serialize, Deserialize)]
struct Segment {
    start_sample: u64,
    delay_samples: Vec<f64>,
    phase_turns: f64,
    phase_rate_turns_per_sample: f64,
    phase_higher_turns: Vec<f64>,
}

impl Told {
    fn of(change: &Change) -> Result<Self, BoxError> {
        let sample = change.sample();
        Ok(match change {
            Change::Gains { gains, .. } => match (gains.as_uniform(), gains.as_channel_input()) {
                (Some(gain), _) => Self::UniformGain { sample, gain },
                (None, Some(gains)) => Self::Gains { sample, gains: Numbers::of(gains) },
                (None, None) => return Err("gains of no kind".into()),
            },
            Change::Delay { input, segment } => {
                let DelaySegment {
                    start_sample,
                    delay_samples,
                    phase_turns,
                    phase_rate_turns_per_sample,
                    phase_higher_turns,
                } = segment.clone();
                let segment = Segment {
                    start_sample,
                    delay_samples,
                    phase_turns,
                    phase_rate_turns_per_sample,
                    phase_higher_turns,
                };
                Self::Delay { input: *input, segment }
            }
            Change::Beams { beams, .. } => {
                let asked = beams.asked_precision();
                let place = asked.and_then(|asked| WeightPrecision::ALL.iter().position(|&one| one == asked));
                Self::Beams {
                    sample,
                    weights: Numbers::of(beams.weights()?.data()),
                    precision: place.map(|place| place as u8),
                    scale: beams.scale(),
                    seed: beams.dither_seed(),
                }
            }
            Change::MaskedChannels { channels, .. } => Self::MaskedChannels { sample, channels: channels.clone() },
        })
    }

    fn change(self) -> Result<Change, BoxError> {
        Ok(match self {
            Self::UniformGain { sample, gain } => Change::Gains { sample, gains: Gains::uniform(gain)? },
            Self::Gains { sample, gains } => Change::Gains { sample, gains: Gains::per_channel_input(gains.array()?)? },
            Self::Delay { input, segment } => {
                let Segment {
                    start_sample,
                    delay_samples,
                    phase_turns,
                    phase_rate_turns_per_sample,
                    phase_higher_turns,
                } = segment;
                let segment = DelaySegment {
                    start_sample,
                    delay_samples,
                    phase_turns,
                    phase_rate_turns_per_sample,
                    phase_higher_turns,
                };
                Change::Delay { input, segment }
            }
            Self::Beams { sample, weights, precision, scale, seed } => {
                let mut beams = TiedArrayBeams::new(BeamWeights::new(weights.array()?)?).with_scale(scale)?;
                if let Some(place) = precision {
                    let asked = WeightPrecision::ALL.get(usize::from(place));
                    beams = beams.with_precision(*asked.ok_or("a precision of beams that there is not")?);
                }
                if let Some(seed) = seed {
                    beams = beams.with_dither(seed);
                }
                Change::Beams { sample, beams: Box::new(beams) }
            }
            Self::MaskedChannels { sample, channels } => Change::MaskedChannels { sample, channels },
        })
    }
}

/// Changes as bytes.
pub(crate) fn encode(changes: &[Change]) -> Result<Vec<u8>, BoxError> {
    let told = changes.iter().map(Told::of).collect::<Result<Vec<_>, _>>()?;
    Ok(postcard::to_stdvec(&told)?)
}

/// The changes that [`encode`] made bytes of.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Change>, BoxError> {
    let told: Vec<Told> = postcard::from_bytes(bytes)?;
    told.into_iter().map(Told::change).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3};

    use super::*;

    #[test]
    fn changes_of_every_kind_come_back() {
        let value = |at: usize| Complex::new(at as f32 + 0.25, -1.0 / (at as f32 + 1.0));
        let gains = Array2::from_shape_fn((3, 4), |(channel, input)| value(4 * channel + input));
        // In another order in memory than its indices.
        let turned = gains.clone().reversed_axes();
        let weights = Array3::from_shape_fn((2, 3, 4), |(beam, channel, input)| value(12 * beam + 4 * channel + input));
        let beams = TiedArrayBeams::new(BeamWeights::new(weights).unwrap());
        let asked = beams.clone().with_precision(WeightPrecision::Float16).with_scale(0.5).unwrap().with_dither(0);
        let segment = DelaySegment {
            start_sample: u64::MAX - 1,
            delay_samples: vec![1.5, -2e-9],
            phase_turns: 0.125,
            phase_rate_turns_per_sample: -1e-7,
            phase_higher_turns: vec![1e-20],
        };
        let changes = [
            Change::Gains { sample: 7, gains: Gains::uniform(-0.1).unwrap() },
            Change::Gains { sample: 8, gains: Gains::per_channel_input(gains).unwrap() },
            Change::Gains { sample: 8, gains: Gains::per_channel_input(turned).unwrap() },
            Change::Delay { input: 5, segment },
            Change::Beams { sample: 9, beams: Box::new(beams) },
            Change::Beams { sample: 9, beams: Box::new(asked) },
            Change::MaskedChannels { sample: 10, channels: vec![3, 1, 4] },
            Change::MaskedChannels { sample: 0, channels: vec![] },
        ];
        assert_eq!(decode(&encode(&changes).unwrap()).unwrap(), changes);
        assert_eq!(decode(&encode(&[]).unwrap()).unwrap(), []);
    }

    #[test]
    fn what_is_no_change_is_refused() {
        let whole = encode(&[Change::MaskedChannels { sample: 1, channels: vec![1, 2] }]).unwrap();
        assert!(decode(&whole[..whole.len() - 1]).is_err());
        assert!(decode(&[200; 20]).is_err());
        let bad = Told::Gains { sample: 1, gains: Numbers { shape: vec![2, 2], parts: vec![0.0; 6] } };
        assert!(bad.change().is_err());
        let parts = vec![f32::NAN; 8];
        assert!(Told::Gains { sample: 1, gains: Numbers { shape: vec![2, 2], parts } }.change().is_err());
        let weights = Numbers { shape: vec![1, 1, 1], parts: vec![0.0; 2] };
        assert!(Told::Beams { sample: 1, weights, precision: Some(9), scale: 1.0, seed: None }.change().is_err());
    }
}
