//! Phases of neighbouring spectra as lines: a first value and a rate, in 2^-64 turns.

use fringes_delay::ChannelPhase;

/// Phases of a line are within this of the model's in every channel: 2^-28 turns.
const WITHIN: u64 = 1 << (64 - 28);

/// A line through the phases of neighbouring spectra.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// Spectra that are on it.
    pub(super) spectra: usize,
    /// Growth of the phase of channel 0 from spectrum to spectrum.
    pub(super) base_rate: u64,
    /// Growth of the slope.
    pub(super) slope_rate: u64,
}

/// The line that begins with the first of some phases, through as many as are near to it.
pub(super) fn line(phases: &[ChannelPhase], channels: usize) -> Line {
    let mut spectra = phases.len();
    loop {
        let part = &phases[..spectra];
        let base_rate = rate(part.iter().map(|phase| phase.base));
        let slope_rate = rate(part.iter().map(|phase| phase.slope));
        let near = spectra <= 2
            || part.iter().enumerate().all(|(i, phase)| {
                let base = part[0].base.wrapping_add(base_rate.wrapping_mul(i as u64));
                let slope = part[0].slope.wrapping_add(slope_rate.wrapping_mul(i as u64));
                let base = (phase.base.wrapping_sub(base) as i64).unsigned_abs();
                let slope = (phase.slope.wrapping_sub(slope) as i64).unsigned_abs();
                base.saturating_add(slope.saturating_mul(channels as u64)) <= WITHIN
            });
        if near {
            return Line { spectra, base_rate, slope_rate };
        }
        spectra = spectra.div_ceil(2);
    }
}

/// The rate from the first value to the last, of which the first step says how many whole turns there are.
fn rate(values: impl Iterator<Item = u64> + Clone) -> u64 {
    let mut ahead = values.clone();
    let (Some(first), Some(second)) = (ahead.next(), ahead.next()) else { return 0 };
    let step = second.wrapping_sub(first);
    let (last, steps) = values.enumerate().fold((first, 0), |_, (i, value)| (value, i as u64));
    let off = last.wrapping_sub(first.wrapping_add(step.wrapping_mul(steps))) as i64;
    step.wrapping_add((off / steps as i64) as u64)
}

#[cfg(test)]
mod tests {
    use fringes_delay::{DelayModel, DelaySegment};

    use super::*;

    fn phases(model: &DelayModel, from: u64, stride: u64, spectra: usize) -> Vec<ChannelPhase> {
        (0..spectra as u64).map(|s| model.evaluate(from + s * stride).channel_phase(4096, false)).collect()
    }

    /// Largest distance of a line in a channel in turns.
    fn distance(phases: &[ChannelPhase], line: Line) -> f64 {
        let of = |(i, phase): (usize, &ChannelPhase)| {
            let i = i as u64;
            let line = ChannelPhase {
                base: phases[0].base.wrapping_add(line.base_rate.wrapping_mul(i)),
                slope: phases[0].slope.wrapping_add(line.slope_rate.wrapping_mul(i)),
            };
            [0, 4095].map(|channel| {
                let off = phase.turns(channel) - line.turns(channel);
                (off - off.round()).abs()
            })
        };
        phases[..line.spectra].iter().enumerate().flat_map(of).fold(0.0, f64::max)
    }

    #[test]
    fn a_delay_that_grows_evenly_is_one_line() {
        // A phase of more than a turn a spectrum; a delay that does not step.
        let segment = DelaySegment::new(0, vec![1000.1, 1e-9]).with_phase(0.3, 1.25e-3);
        let model = DelayModel::from_segment(segment).unwrap();
        let phases = phases(&model, 1 << 40, 8192, 96);
        let line = line(&phases, 4096);
        assert_eq!(line.spectra, 96);
        assert!(distance(&phases, line) < 2f64.powi(-40), "{}", distance(&phases, line));
    }

    #[test]
    fn a_delay_that_does_not_is_cut_into_lines_within_the_bound() {
        let model = DelayModel::from_segment(DelaySegment::new(0, vec![0.0, 0.0, 1e-12])).unwrap();
        let phases = phases(&model, 0, 8192, 64);
        let line = line(&phases, 4096);
        assert!(line.spectra < 64 && line.spectra >= 2);
        assert!(distance(&phases, line) <= 2f64.powi(-28));
        // Where a model steps, the line ends.
        let steps: Vec<ChannelPhase> =
            (0..9).map(|i| ChannelPhase { base: u64::from(i >= 3) << 60, slope: 0 }).collect();
        assert!(super::line(&steps, 4096).spectra <= 3);
        assert_eq!(super::line(&steps[..1], 4096), Line { spectra: 1, base_rate: 0, slope_rate: 0 });
    }
}
