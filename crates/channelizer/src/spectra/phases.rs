//! Phases of neighbouring spectra as lines: a first value and a rate, in 2^-64 turns.

use fringes_delay_model::{ChannelPhase, DelayModel};

use crate::Channelizer;

/// Phases of a line are within this of the model's in every channel: 2^-28 turns.
const WITHIN: f64 = 1.0 / (1_u64 << 28) as f64;

/// A line through the phases of neighbouring spectra of one coarse delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// Spectra that are on it.
    pub(super) spectra: usize,
    /// The phase of the first one.
    pub(super) first: ChannelPhase,
    /// Growth of the phase of channel 0 from spectrum to spectrum.
    pub(super) base_rate: u64,
    /// Growth of the slope.
    pub(super) slope_rate: u64,
}

impl Line {
    /// The line that begins with a stamp, through as many of `spectra` spectra of one coarse delay as are near to it.
    ///
    /// The line goes through the first spectrum and the last, and how many whole turns are between them is what the
    /// second one says. Others are as near as the [bend](DelayModel::bend) of the model says: a sample of delay
    /// turns no channel by more than a quarter, of a complex band half a turn.
    pub(super) fn of(model: &DelayModel, plan: &Channelizer, stamp: u64, spectra: usize) -> Self {
        let (channels, complex, stride) = (plan.channels(), plan.is_complex(), plan.stride() as u64);
        let at = |spectrum: usize| {
            model.evaluate(stamp.saturating_add(spectrum as u64 * stride)).channel_phase(channels, complex)
        };
        let turns_of_sample = if complex { 0.5 } else { 0.25 };
        let near = |spectra: usize| {
            let last = stamp.saturating_add((spectra as u64 - 1) * stride);
            let bend = model.bend(stamp, last);
            // What channels' phases are rounded by is far below the bound.
            bend.is_some_and(|bend| turns_of_sample * bend.delay_samples + bend.phase_turns <= 0.99 * WITHIN)
        };
        let mut spectra = spectra.max(1);
        while spectra > 2 && !near(spectra) {
            spectra = spectra.div_ceil(2);
        }
        let first = at(0);
        if spectra == 1 {
            return Self { spectra, first, base_rate: 0, slope_rate: 0 };
        }
        let (second, last) = (at(1), at(spectra - 1));
        let rate = |first: u64, second: u64, last: u64| {
            let (step, steps) = (second.wrapping_sub(first), spectra as u64 - 1);
            let off = last.wrapping_sub(first.wrapping_add(step.wrapping_mul(steps))) as i64;
            step.wrapping_add((off / steps as i64) as u64)
        };
        let base_rate = rate(first.base, second.base, last.base);
        let slope_rate = rate(first.slope, second.slope, last.slope);
        Self { spectra, first, base_rate, slope_rate }
    }

    /// The phase of a spectrum on the line.
    pub(super) fn at(&self, spectrum: usize) -> ChannelPhase {
        ChannelPhase {
            base: self.first.base.wrapping_add(self.base_rate.wrapping_mul(spectrum as u64)),
            slope: self.first.slope.wrapping_add(self.slope_rate.wrapping_mul(spectrum as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use fringes_delay_model::{DelayModel, DelaySegment};

    use super::*;

    fn plan(complex: bool) -> Channelizer {
        let plan = if complex { Channelizer::complex(4096) } else { Channelizer::real(4096) };
        plan.taps(4).build().unwrap()
    }

    /// Largest distance of a line from a model in a channel in turns.
    fn distance(model: &DelayModel, plan: &Channelizer, stamp: u64, line: Line) -> f64 {
        let of = |i: usize| {
            let value = model.evaluate(stamp + (i * plan.stride()) as u64);
            let phase = value.channel_phase(4096, plan.is_complex());
            [0, 2048, 4095].map(|channel| {
                let off = phase.turns(channel) - line.at(i).turns(channel);
                (off - off.round()).abs()
            })
        };
        (0..line.spectra).flat_map(of).fold(0.0, f64::max)
    }

    #[test]
    fn a_delay_that_grows_evenly_is_one_line() {
        // A phase of more than a turn a spectrum; a delay that does not step.
        for complex in [false, true] {
            let plan = plan(complex);
            let segment = DelaySegment::new(0, vec![1000.1, 1e-9]).with_phase(0.3, 1.25e-3);
            let model = DelayModel::from_segment(segment).unwrap();
            let line = Line::of(&model, &plan, 1 << 24, 5000);
            assert_eq!(line.spectra, 5000);
            let distance = distance(&model, &plan, 1 << 24, line);
            assert!(distance < 2f64.powi(-36), "{distance}");
        }
    }

    #[test]
    fn a_delay_that_does_not_is_cut_into_lines_within_the_bound() {
        let (mut least, mut worst) = (usize::MAX, 0.0f64);
        for complex in [false, true] {
            let plan = plan(complex);
            for curve in [1e-21, 1e-19, 1e-18, 1e-17, 1e-15] {
                let mut segment = DelaySegment::new(0, vec![0.25, 0.0, curve]).with_phase(0.0, 0.3);
                segment.phase_higher_turns = vec![3.0 * curve];
                let model = DelayModel::from_segment(segment).unwrap();
                let line = Line::of(&model, &plan, 16384, 64);
                let distance = distance(&model, &plan, 16384, line);
                assert!(distance <= WITHIN, "{curve} {distance}");
                (least, worst) = (least.min(line.spectra), worst.max(distance));
            }
        }
        assert!(least == 2 && worst > WITHIN / 100.0, "{least} {worst}");
        // Where a segment begins, the line ends.
        let segments = [DelaySegment::new(0, vec![0.0]), DelaySegment::new(3 * 8192, vec![0.1])];
        let model = DelayModel::from_segments(segments).unwrap();
        assert!(Line::of(&model, &plan(false), 0, 9).spectra <= 3);
        assert_eq!(Line::of(&model, &plan(false), 0, 1).spectra, 1);
    }
}
