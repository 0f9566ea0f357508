//! The delay of one input at one time, split as the channelizer applies it.

use num_complex::Complex;

use crate::turns;

/// Delay at one output sample: `coarse + fine` samples, and a phase.
///
/// The input window of a spectrum stamped `t` starts at sample `t - coarse`; the rest of the delay and the phase are
/// applied to the channels ([`DelayValue::channel_phase_turns`]).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DelayValue {
    /// Whole samples: the delay rounded to the nearest integer, ties to even.
    pub coarse: i64,
    /// The rest of the delay in samples, `|fine| <= 0.5`.
    pub fine: f64,
    /// Phase in turns, in `[-0.5, 0.5)`.
    pub phase_turns: f64,
}

/// Delays are clamped here (2^52 samples), where f64 has no fraction left.
const LIMIT: f64 = 4_503_599_627_370_496.0;

impl DelayValue {
    pub(crate) fn new(delay_samples: f64, phase: u64) -> Self {
        let delay = delay_samples.clamp(-LIMIT, LIMIT);
        let coarse = delay.round_ties_even();
        Self { coarse: coarse as i64, fine: delay - coarse, phase_turns: turns::from_fixed(phase) }
    }

    /// The whole delay in samples, `coarse + fine`, rounded to f64.
    pub fn delay_samples(&self) -> f64 {
        self.coarse as f64 + self.fine
    }

    /// First input sample of the window whose spectrum is stamped `sample`: `sample - coarse`, or `None` if that lies
    /// before sample 0 or beyond 2^64.
    pub fn input_start(&self, sample: u64) -> Option<u64> {
        // (u64::checked_sub_signed is younger than the oldest supported compiler.)
        let distance = self.coarse.unsigned_abs();
        if self.coarse >= 0 { sample.checked_sub(distance) } else { sample.checked_add(distance) }
    }

    /// Turns by which channel `channel` of `channels` is to be rotated after its window was moved by the coarse delay.
    ///
    /// ```text
    /// real samples     -fine (k - N/2) / (2N) + coarse / 4 + phase      channel k at k / (2N) cycles per sample
    /// complex samples  -fine (k - floor(N/2)) / N          + phase      channel k at (k - floor(N/2)) / N
    /// ```
    ///
    /// With this, the whole delay `d` turns a channel by `-d` times its frequency relative to the middle of the band
    /// (1/4 cycle per sample for real samples, 0 for complex ones), plus the phase. The term `coarse / 4` takes back
    /// what the coarse delay did to the middle of a real band.
    ///
    /// # Precision
    /// The result is reduced to `[-0.5, 0.5)` and off by at most `2^-52` turns.
    pub fn channel_phase_turns(&self, channel: usize, channels: usize, complex: bool) -> f64 {
        let (k, n) = (channel as f64, channels.max(1) as f64);
        let band = if complex {
            -self.fine * (k - (channels / 2) as f64) / n
        } else {
            -self.fine * (k - n / 2.0) / (2.0 * n) + self.coarse.rem_euclid(4) as f64 / 4.0
        };
        turns::reduce(band + self.phase_turns)
    }

    /// The factor `exp(2 pi i turns)` of [`DelayValue::channel_phase_turns`] in f64.
    pub fn channel_rotation(&self, channel: usize, channels: usize, complex: bool) -> Complex<f64> {
        Complex::from_polar(1.0, std::f64::consts::TAU * self.channel_phase_turns(channel, channels, complex))
    }
}
