//! How far a model is from straight lines: what says where the coarse delay does not change, and where phases are on a
//! line, without a value for every spectrum.
//!
//! A function whose second derivative is at most `m` in magnitude is within `m h^2 / 8` of its chord over a length `h`.

use crate::segment::{Prepared, horner};
use crate::{DelayModel, DelayValue, Section};

/// How far a model's values between two times are from the chord through its values at these times, at most, rounding
/// included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    /// Of the delay, in samples.
    pub delay_samples: f64,
    /// Of the phase, in turns.
    pub phase_turns: f64,
}

/// Delays from which on they may be clamped.
const LARGE: f64 = 2_251_799_813_685_248.0;
/// Half of the distance from 1 to the next f64.
const ROUNDING: f64 = f64::EPSILON / 2.0;

/// `sum_i factor(i) |c_i| x^i` of the terms from `skip` on, with `x` to the power of `i - skip`.
fn bound(coefficients: &[f64], skip: usize, x: f64, factor: impl Fn(f64) -> f64) -> f64 {
    horner(coefficients.iter().enumerate().skip(skip).map(|(i, c)| factor(i as f64) * c.abs()), x)
}

impl Prepared {
    /// Whether the delay is the same at all times.
    fn is_constant(&self) -> bool {
        self.segment.delay_samples.iter().skip(1).all(|&higher| higher == 0.0)
    }

    /// See [`DelayModel::bend`]; both times are the segment's, and on its clock. Delays are divided by `decimation`.
    fn bend(&self, first: u64, last: u64, decimation: f64) -> Bend {
        let (start, h) = (self.segment.start_sample, last.abs_diff(first) as f64);
        let n = first.abs_diff(start).max(last.abs_diff(start)) as f64;
        let (delay, phase) = (&self.segment.delay_samples, &self.segment.phase_higher_turns);
        // Horner's rule is within (2 i + 1) 2^-53 of each term; the value and the chord are.
        let delay_samples = if self.is_constant() {
            0.0
        } else if bound(delay, 0, n, |_| 1.0) >= LARGE {
            f64::INFINITY
        } else {
            let curved = if delay.len() > 2 { bound(delay, 2, n, |i| i * (i - 1.0)) } else { 0.0 };
            let division = if decimation > 1.0 { 1.0 } else { 0.0 };
            let rounding = 2.0 * ROUNDING * bound(delay, 0, n, |i| 2.0 * i + 1.0 + division);
            (curved * h * h / 8.0 + rounding) / decimation
        };
        let phase_turns = if phase.is_empty() {
            0.0
        } else {
            // Terms begin with n^2; one more rounding is that to fixed point.
            let curved = bound(phase, 0, n, |i| (i + 2.0) * (i + 1.0));
            curved * h * h / 8.0 + 2.0 * ROUNDING * (n * n * bound(phase, 0, n, |i| 2.0 * i + 4.0) + 1.0)
        };
        Bend { delay_samples, phase_turns }
    }
}

impl DelayModel {
    /// How far delay and phase of the times from `first` to `last` are from their chord at most; `None` if a segment
    /// begins between them.
    pub fn bend(&self, first: u64, last: u64) -> Option<Bend> {
        let index = self.index_at(first);
        let segment = self.prepared(index)?;
        (self.index_at(last) == index).then(|| self.bend_of(segment, first, last))
    }

    /// The bend of a segment that holds at both times.
    fn bend_of(&self, segment: &Prepared, first: u64, last: u64) -> Bend {
        segment.bend(self.time(first), self.time(last), self.decimation().get() as f64)
    }

    /// The sections of [`DelayModel::plan`], [`DelayPlan::sections`](crate::DelayPlan::sections): neighbouring spectra
    /// with one coarse delay.
    ///
    /// A value for every spectrum is computed only where the coarse delay changes, or where it cannot be known that it
    /// does not.
    pub fn sections(&self, first: u64, stride: u64, count: usize) -> Vec<Section> {
        // Stamps beyond 2^64 - 1 are left out.
        let most = (u64::MAX - first).checked_div(stride).unwrap_or(u64::MAX);
        let count = count.min(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1));
        let stamp = |spectrum: usize| first + spectrum as u64 * stride;
        let mut sections = Vec::new();
        let mut from = 0;
        while from < count {
            let index = self.index_at(stamp(from));
            // The last spectrum that the segment holds for.
            let next = self.start_after(index).map_or(u64::MAX, |start| start - 1);
            let left = (next - stamp(from)).checked_div(stride).unwrap_or(u64::MAX);
            let last = from.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)).min(count - 1);
            let (a, b) = (self.value_of(index, stamp(from)), self.value_of(index, stamp(last)));
            extend(&mut sections, from, from, a.coarse);
            if let Some(segment) = self.prepared(index) {
                self.follow(index, segment, &stamp, (from, a), (last, b), &mut sections);
            }
            from = last + 1;
        }
        sections
    }

    /// Adds the spectra after `from` up to `to`, of one segment.
    fn follow(
        &self,
        index: usize,
        segment: &Prepared,
        stamp: &impl Fn(usize) -> u64,
        (from, a): (usize, DelayValue),
        (to, b): (usize, DelayValue),
        sections: &mut Vec<Section>,
    ) {
        if from == to {
            return;
        }
        let same = a.coarse == b.coarse
            && (segment.is_constant() || {
                let bend = self.bend_of(segment, stamp(from), stamp(to)).delay_samples;
                a.fine.abs().max(b.fine.abs()) + bend < 0.5
            });
        if same || to == from + 1 {
            return extend(sections, from + 1, to, b.coarse);
        }
        let middle = from + (to - from) / 2;
        let value = self.value_of(index, stamp(middle));
        self.follow(index, segment, stamp, (from, a), (middle, value), sections);
        self.follow(index, segment, stamp, (middle, value), (to, b), sections);
    }
}

/// Adds spectra `first..=last`.
fn extend(sections: &mut Vec<Section>, first: usize, last: usize, coarse: i64) {
    match sections.last_mut() {
        Some(section) if section.coarse == coarse => section.spectra.end = last + 1,
        _ => sections.push(Section { spectra: first..last + 1, coarse }),
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::DelaySegment;

    /// Models with steps, lines, parabolas and worse, near ties and far from them.
    fn models(random: &mut Xoshiro256PlusPlus) -> Vec<DelayModel> {
        let mut models = vec![
            DelayModel::zero(),
            DelayModel::constant(0.5, 0.25).unwrap(),
            DelayModel::constant(-1e15, 0.0).unwrap(),
            DelayModel::from_segment(DelaySegment::new(0, vec![1e9, 0.25])).unwrap(),
            DelayModel::from_segment(DelaySegment::new(500, vec![3.5, 0.0, 1e-9])).unwrap(),
            // Beyond what delays are clamped to.
            DelayModel::from_segment(DelaySegment::new(0, vec![0.0, 1e12])).unwrap(),
        ];
        for _ in 0..60 {
            let segments = (0..random.random_range(1..4)).map(|i| {
                let degree = random.random_range(0..4);
                let scale = 10f64.powi(random.random_range(-4..1));
                let delay =
                    (0..=degree).map(|i| random.random_range(-30.0..30.0) * (scale * 1e-5f64).powi(i)).collect();
                let start = i * random.random_range(1..200_000u64);
                let mut segment = DelaySegment::new(start, delay).with_phase(0.1, random.random_range(-0.5..0.5));
                segment.phase_higher_turns = vec![random.random_range(-1e-9..1e-9); random.random_range(0..3)];
                segment
            });
            let mut segments: Vec<_> = segments.collect();
            segments.sort_by_key(|segment| segment.start_sample);
            models.push(DelayModel::from_segments(segments).unwrap());
        }
        models
    }

    #[test]
    fn sections_are_those_of_all_values() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut most = 0;
        for model in models(&mut random) {
            for (first, stride, count) in [(0, 64, 4000), (77, 1, 300), (100_000, 2048, 1), (3, 0, 3), (9, 8, 0)] {
                let plan = model.plan(first, stride, count);
                let expected: Vec<_> = plan.sections().collect();
                most = most.max(expected.len());
                assert_eq!(model.sections(first, stride, count), expected, "{model:?} {first} {stride}");
            }
        }
        assert!(most > 20);
        let last = DelayModel::zero().sections(u64::MAX - 10, 4, 100);
        assert_eq!(last, [Section { spectra: 0..3, coarse: 0 }]);
    }

    #[test]
    fn no_value_is_further_from_the_chord_than_the_bend() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let (mut curved, mut tight) = (0, 0);
        for model in models(&mut random) {
            let (first, last) = (1000u64, 1000 + 50_000);
            let Some(bend) = model.bend(first, last) else { continue };
            if !bend.delay_samples.is_finite() {
                continue;
            }
            let at = |sample: u64| model.evaluate(sample).delay_samples();
            let chord = |sample: u64| {
                let x = (sample - first) as f64 / (last - first) as f64;
                at(first) * (1.0 - x) + at(last) * x
            };
            // The chord and the sum of coarse and fine are rounded here as well.
            let rounding = 8.0 * ROUNDING * at(first).abs().max(at(last).abs());
            let worst = (first..last).step_by(37).map(|t| (at(t) - chord(t)).abs()).fold(0.0, f64::max);
            assert!(worst <= bend.delay_samples + rounding, "{worst} {bend:?} {model:?}");
            curved += usize::from(worst > 1e-6);
            tight += usize::from(worst > 1e-6 && worst > 0.2 * bend.delay_samples);
        }
        assert!(curved > 5 && tight > 2, "{curved} {tight}");
    }

    #[test]
    fn phases_bend_by_their_higher_terms_alone() {
        let mut segment = DelaySegment::new(0, vec![0.0, 1e-3]).with_phase(0.2, 0.37);
        let straight = DelayModel::from_segment(segment.clone()).unwrap();
        assert_eq!(straight.bend(0, 1 << 30).unwrap().phase_turns, 0.0);
        segment.phase_higher_turns = vec![1e-12];
        let bend = DelayModel::from_segment(segment).unwrap().bend(0, 1_000_000).unwrap().phase_turns;
        // A parabola is a quarter of its last value away from its chord in the middle.
        assert!((bend - 0.25).abs() < 1e-3, "{bend}");
        let model =
            DelayModel::from_segments([DelaySegment::new(0, vec![]), DelaySegment::new(50, vec![1.0])]).unwrap();
        assert!(model.bend(0, 49).is_some() && model.bend(50, 99).is_some() && model.bend(0, 50).is_none());
    }
}
