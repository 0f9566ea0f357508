//! The phase of one input at one time over all channels, in fixed point.

use bytemuck::{Pod, Zeroable};

use crate::{DelayValue, turns};

/// A phase that is linear in the channel: `base + k slope` turns in channel `k`, both in units of `2^-64` turns, modulo
/// a turn.
///
/// | turns | bits |
/// |---|---|
/// | 0.25 | `0x4000_0000_0000_0000` |
/// | -0.25 or 0.75 | `0xc000_0000_0000_0000` |
///
/// # Precision
/// Sums of it are exact. A base and a slope that are rounded to the nearest are off by `2^-65` turns each, so that
/// channel 65535 is by less than `2^-49`. (In 32 bits the slope alone would make that `2^-17` turns, 5e-5 radians.)
///
/// # Layout
/// Two `u64`, base first: what the kernels of fine rotation take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Pod, Zeroable)]
#[repr(C)]
pub struct ChannelPhase {
    /// Phase of channel 0.
    pub base: u64,
    /// Growth from a channel to the next.
    pub slope: u64,
}

impl ChannelPhase {
    /// Of finite turns, rounded to the nearest; 0 for a number that is not finite.
    pub fn from_turns(base: f64, slope: f64) -> Self {
        let fixed = |turns: f64| if turns.is_finite() { turns::to_fixed(turns) } else { 0 };
        Self { base: fixed(base), slope: fixed(slope) }
    }

    /// The phase of channel `channel` in turns, in `[-0.5, 0.5)`.
    pub fn turns(&self, channel: usize) -> f64 {
        turns::from_fixed(self.base.wrapping_add(self.slope.wrapping_mul(channel as u64)))
    }
}

impl DelayValue {
    /// [`DelayValue::channel_phase_turns`] of all channels: for spectra whose windows, or samples, were moved by the
    /// coarse delay.
    ///
    /// # Precision
    /// Within `2^-48` turns of the formula in up to 65536 channels: `2^-52` of the f64 arithmetic of base and slope,
    /// the slope's times the channels, and `2^-49` of [`ChannelPhase`].
    pub fn channel_phase(&self, channels: usize, complex: bool) -> ChannelPhase {
        let coarse = if complex { 0.0 } else { self.coarse.rem_euclid(4) as f64 / 4.0 };
        self.linear(self.fine, coarse, channels, complex)
    }

    /// The phase that delays spectra by the whole delay, `coarse + fine` samples, about the middle of the band: for
    /// spectra that were made without it.
    ///
    /// ```text
    /// real samples     -(coarse + fine) (k - N/2) / (2N) + phase
    /// complex samples  -(coarse + fine) (k - floor(N/2)) / N + phase
    /// ```
    ///
    /// The window of the filter bank stays where it was, so that a part `|delay| / window` of the signal is lost.
    ///
    /// # Precision
    /// As [`DelayValue::channel_phase`]: the coarse delay's part is computed in integers.
    pub fn whole_channel_phase(&self, channels: usize, complex: bool) -> ChannelPhase {
        // Whole samples that turn every channel by whole turns: 2 N of a real band, N of a complex one.
        let n = channels.max(1) as i128;
        let step = if complex { n } else { 2 * n };
        let coarse = i128::from(self.coarse);
        let slope = fixed_fraction((-coarse).rem_euclid(step), step);
        let base =
            if complex { fixed_fraction((coarse * (n / 2)).rem_euclid(n), n) } else { (self.coarse as u64) << 62 };
        let fine = self.linear(self.fine, 0.0, channels, complex);
        ChannelPhase { base: fine.base.wrapping_add(base), slope: fine.slope.wrapping_add(slope) }
    }

    /// `-fine` times the frequency relative to the middle of the band, `more` turns and the phase.
    fn linear(&self, fine: f64, more: f64, channels: usize, complex: bool) -> ChannelPhase {
        let n = channels.max(1) as f64;
        let (slope, middle) =
            if complex { (-fine / n, fine * (channels / 2) as f64 / n) } else { (-fine / (2.0 * n), fine / 4.0) };
        let base = ChannelPhase::from_turns(middle, slope);
        let rest = ChannelPhase::from_turns(more + self.phase_turns, 0.0);
        ChannelPhase { base: base.base.wrapping_add(rest.base), slope: base.slope }
    }
}

/// The nearest to `2^64 numerator / denominator`, `0 <= numerator < denominator`, modulo `2^64`.
fn fixed_fraction(numerator: i128, denominator: i128) -> u64 {
    (((numerator as u128) << 64).saturating_add(denominator as u128 / 2) / denominator as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: f64, b: f64) -> f64 {
        let d = a - b;
        (d - d.round()).abs()
    }

    const VALUES: [DelayValue; 6] = [
        DelayValue { coarse: 0, fine: 0.0, phase_turns: 0.0 },
        DelayValue { coarse: 7, fine: 0.25, phase_turns: -0.3 },
        DelayValue { coarse: -1, fine: -0.5, phase_turns: 0.499 },
        DelayValue { coarse: 123_456_789_012_345, fine: 0.123_456_789, phase_turns: 0.1 },
        DelayValue { coarse: -4_503_599_627_370_495, fine: 0.499_999, phase_turns: -0.5 },
        DelayValue { coarse: 2, fine: 1e-9, phase_turns: 1e-12 },
    ];

    #[test]
    fn phases_of_all_channels_are_those_of_the_formula() {
        for value in VALUES {
            for (channels, complex) in [(1, false), (7, true), (96, false), (4096, true), (65536, false), (65536, true)]
            {
                let phase = value.channel_phase(channels, complex);
                for channel in [0, 1, channels / 2, channels - 1] {
                    let expected = value.channel_phase_turns(channel, channels, complex);
                    assert!(
                        distance(phase.turns(channel), expected) < 2f64.powi(-48),
                        "{value:?} {channels} {channel}"
                    );
                }
            }
        }
    }

    #[test]
    fn whole_delays_turn_channels_by_their_frequency() {
        for value in VALUES {
            for (channels, complex) in [(1, false), (7, true), (96, false), (7, false), (4096, true), (65536, false)] {
                let phase = value.whole_channel_phase(channels, complex);
                for channel in [0, 1, channels / 2, channels - 1] {
                    // -(coarse + fine) (k - middle) / step in integers as far as it is whole, twice over for a half.
                    let (step, twice_middle) =
                        if complex { (channels, 2 * (channels / 2)) } else { (2 * channels, channels) };
                    let from_middle = 2 * channel as i128 - twice_middle as i128;
                    let coarse = (-i128::from(value.coarse) * from_middle).rem_euclid(2 * step as i128);
                    let expected = coarse as f64 / (2 * step) as f64
                        - value.fine * from_middle as f64 / (2 * step) as f64
                        + value.phase_turns;
                    let found = phase.turns(channel);
                    assert!(distance(found, expected) < 2f64.powi(-48), "{value:?} {channels} {complex} {channel}");
                }
            }
        }
    }

    #[test]
    fn moving_windows_leaves_what_moving_phases_does() {
        // Both, with the coarse delay's own -coarse f_k where windows were not moved.
        for value in VALUES {
            for (channels, complex) in [(16, false), (7, false), (16, true), (7, true)] {
                let (moved, whole) =
                    (value.channel_phase(channels, complex), value.whole_channel_phase(channels, complex));
                for channel in 0..channels {
                    let (step, k) = if complex {
                        (channels as i128, channel as i128 - (channels / 2) as i128)
                    } else {
                        (2 * channels as i128, channel as i128)
                    };
                    let own = (-i128::from(value.coarse) * k).rem_euclid(step) as f64 / step as f64;
                    let found = whole.turns(channel) - moved.turns(channel);
                    assert!(distance(found, own) < 2f64.powi(-47), "{value:?} {channels} {complex} {channel}");
                }
            }
        }
    }

    #[test]
    fn turns_that_are_not_finite_are_none() {
        assert_eq!(ChannelPhase::from_turns(f64::NAN, f64::INFINITY), ChannelPhase::default());
        let quarter = ChannelPhase { base: 3 << 62, slope: 1 << 62 };
        assert_eq!(ChannelPhase::from_turns(-0.25, 7.25), quarter);
        assert_eq!([0, 1, 2, 3].map(|channel| quarter.turns(channel)), [-0.25, 0.0, 0.25, -0.5]);
    }
}
