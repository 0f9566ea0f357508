//! Multiplication of a spectrum by a phase that is linear in the channel.

use std::f64::consts::TAU;

use num_complex::Complex;

/// Phase of channel `k`: `turns + k * turns_per_channel`, in turns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rotation {
    /// Phase of channel 0 in turns.
    pub turns: f64,
    /// Growth from one channel to the next in turns.
    pub turns_per_channel: f64,
}

impl Rotation {
    /// Whether the phase is 0 in every channel, so that nothing needs to be done.
    pub fn is_identity(&self) -> bool {
        self.turns == 0.0 && self.turns_per_channel == 0.0
    }
}

/// Channels that share one factor of a phase.
const BLOCK: usize = 64;

/// `exp(2 pi i turns)`, reduced in f64 and rounded to f32 at the end.
fn unit(turns: f64) -> Complex<f32> {
    let (sin, cos) = (TAU * (turns - turns.round())).sin_cos();
    Complex::new(cos as f32, sin as f32)
}

/// Multiplies the channels from `first` on by their phase.
///
/// The factor is a product of two, one for each block of 64 channels and one within the block, each rounded to f32 from
/// f64: 1 sine in f64 for 32 channels instead of one a channel.
///
/// # Precision
/// Relative error at most `(2 + 2 sqrt 5) u` of each value, `u = 2^-24`: two rounded factors and two complex products
/// (each within `sqrt 5 u`).
pub(super) fn rotate(values: &mut [Complex<f32>], first: usize, rotation: Rotation) {
    let mut within = [Complex::default(); BLOCK];
    for (k, factor) in within.iter_mut().enumerate().take(values.len()) {
        *factor = unit(k as f64 * rotation.turns_per_channel);
    }
    for (block, values) in values.chunks_mut(BLOCK).enumerate() {
        let factor = unit(rotation.turns + (first + block * BLOCK) as f64 * rotation.turns_per_channel);
        for (value, within) in values.iter_mut().zip(&within) {
            *value *= factor * within;
        }
    }
}
