//! Fractional delays and bands: a bank of windowed-sinc filters.
//!
//! The kernel is `k(x) = (2 h sinc(2 h x) - 2 l sinc(2 l x)) w(2 x / T)`, with `l` and `h` the band's edges in cycles a
//! sample, `T` the number of taps and `w` Kaiser's window. A sample `f` after sample `i` is
//! `sum_j s(i + j) k(f - j)`, `j` from `1 - T/2` to `T/2`. Filters of 257 fractions are tabulated, what is between two
//! of them is interpolated linearly.
//!
//! # Precision
//! Of the whole band with 40 taps: from 0 to 0.45 of the sample rate the filter of any fraction is within 1.2e-3 of an
//! exact delay, in amplitude and in radians together; the interpolation adds 1e-5. Above, to 0.5, amplitudes fall, at
//! the fraction 1/2 to zero. A source without any delay has all of its band.

use std::f64::consts::PI;

use pulp::{Arch, NullaryFnOnce};

/// Taps without a band.
const WHOLE_TAPS: usize = 40;
/// Taps with a band.
const BAND_TAPS: usize = 128;
const FRACTIONS: usize = 256;
/// Kaiser's parameter: the largest error from 0 to 0.45 is smallest with it, for 40 taps.
const BETA: f64 = 6.2;

/// The filters of a band.
#[derive(Debug)]
pub(crate) struct FilterBank {
    taps: usize,
    /// `[fraction][tap]`, fractions 0 to 1 inclusive.
    rows: Vec<f32>,
    whole: bool,
}

impl FilterBank {
    /// The filters of a band in cycles a sample.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        let whole = low <= 0.0 && high >= 0.5;
        let taps = if whole { WHOLE_TAPS } else { BAND_TAPS };
        let mut rows = Vec::with_capacity((FRACTIONS + 1) * taps);
        for fraction in 0..=FRACTIONS {
            let fraction = fraction as f64 / FRACTIONS as f64;
            rows.extend((0..taps).map(|tap| {
                let x = fraction - (tap as f64 - (taps as f64 / 2.0 - 1.0));
                let sinc = 2.0 * high * sinc(2.0 * high * x) - 2.0 * low * sinc(2.0 * low * x);
                (sinc * kaiser(2.0 * x / taps as f64)) as f32
            }));
        }
        Self { taps, rows, whole }
    }

    pub(crate) fn taps(&self) -> usize {
        self.taps
    }

    /// Whether the filter of the fraction 0 is nothing but a factor.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The filter for a sample `fraction` (0 to 1) after sample `taps / 2 - 1` of those it is applied to.
    pub(crate) fn filter(&self, fraction: f64, scale: f32, out: &mut Vec<f32>) {
        let position = fraction.clamp(0.0, 1.0) * FRACTIONS as f64;
        let row = (position as usize).min(FRACTIONS - 1);
        let right = (position - row as f64) as f32;
        let (near, far) = self.rows[row * self.taps..][..2 * self.taps].split_at(self.taps);
        out.clear();
        out.extend(near.iter().zip(far).map(|(near, far)| (near + (far - near) * right) * scale));
    }

    /// Amplitude at a frequency in cycles a sample: that of the filter of the fraction 0, whose phase is 0.
    pub(crate) fn amplitude(&self, frequency: f64) -> f64 {
        if self.whole {
            return 1.0;
        }
        let middle = self.taps as f64 / 2.0 - 1.0;
        let term =
            |(tap, &value): (usize, &f32)| f64::from(value) * (2.0 * PI * frequency * (tap as f64 - middle)).cos();
        self.rows[..self.taps].iter().enumerate().map(term).sum()
    }

    /// The part of white noise's power that passes: the mean of the squared amplitude.
    pub(crate) fn power(&self) -> f64 {
        self.rows[..self.taps].iter().map(|&value| f64::from(value).powi(2)).sum()
    }
}

/// Adds to `out` the samples `signal` (`out.len() + taps.len() - 1` or more) through a filter, in the order of the
/// taps. The length of `out` is a multiple of 32.
pub(crate) fn add_filtered(arch: Arch, out: &mut [f32], signal: &[f32], taps: &[f32]) {
    arch.dispatch(AddFiltered { out, signal, taps });
}

struct AddFiltered<'a> {
    out: &'a mut [f32],
    signal: &'a [f32],
    taps: &'a [f32],
}

impl NullaryFnOnce for AddFiltered<'_> {
    type Output = ();

    /// Multiplied and added apart, not fused: the same bits with and without AVX2.
    #[inline(always)]
    fn call(self) {
        const WIDE: usize = 32;
        let Self { out, signal, taps } = self;
        for (index, out) in out.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
            let mut sum = *out;
            for (values, &tap) in signal[index * WIDE..][..WIDE + taps.len() - 1].windows(WIDE).zip(taps) {
                for lane in 0..WIDE {
                    sum[lane] += values[lane] * tap;
                }
            }
            *out = sum;
        }
    }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

fn kaiser(u: f64) -> f64 {
    if u.abs() > 1.0 { 0.0 } else { bessel_i0(BETA * (1.0 - u * u).sqrt()) / bessel_i0(BETA) }
}

/// Modified Bessel function of order 0, by its power series.
fn bessel_i0(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..60 {
        term *= (x / 2.0 / k as f64).powi(2);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    /// Response of a filter at a frequency in cycles a sample, relative to sample `taps / 2 - 1`.
    fn response(bank: &FilterBank, fraction: f64, frequency: f64) -> Complex<f64> {
        let mut taps = Vec::new();
        bank.filter(fraction, 1.0, &mut taps);
        let middle = taps.len() as f64 / 2.0 - 1.0;
        let term = |(tap, &value): (usize, &f32)| {
            Complex::cis(2.0 * PI * frequency * (tap as f64 - middle)) * f64::from(value)
        };
        taps.iter().enumerate().map(term).sum()
    }

    #[test]
    fn any_fraction_is_an_exact_delay_within_12e4_up_to_nine_tenths_of_the_band() {
        let bank = FilterBank::new(0.0, 0.5);
        let mut worst = 0.0f64;
        for fraction in (0..=1000).map(|k| k as f64 / 1000.0) {
            for frequency in (0..=90).map(|k| k as f64 * 0.005) {
                let exact = Complex::cis(2.0 * PI * frequency * fraction);
                worst = worst.max((response(&bank, fraction, frequency) - exact).norm());
            }
        }
        assert!(worst < 1.2e-3 && worst > 0.8e-3, "{worst}");
    }

    #[test]
    fn phase_slopes_are_the_fraction_and_amplitudes_one() {
        let bank = FilterBank::new(0.0, 0.5);
        for fraction in [0.0, 0.1234, 0.5, 0.77, 1.0] {
            // The slope of a straight line through the phases from 0.05 to 0.45, in samples.
            let points: Vec<(f64, f64)> = (0..=40)
                .map(|k| {
                    let frequency = 0.05 + 0.01 * k as f64;
                    let found = response(&bank, fraction, frequency);
                    assert!((found.norm() - 1.0).abs() < 1.2e-3);
                    let turned = found * Complex::cis(-2.0 * PI * frequency * fraction);
                    (frequency - 0.25, turned.arg() / (2.0 * PI))
                })
                .collect();
            let slope = points.iter().map(|(f, p)| f * p).sum::<f64>() / points.iter().map(|(f, _)| f * f).sum::<f64>();
            assert!(slope.abs() < 1e-3, "{fraction}: {slope}");
        }
    }

    #[test]
    fn between_tabulated_fractions_lies_a_straight_line_within_1e5() {
        let bank = FilterBank::new(0.0, 0.5);
        let mut taps = Vec::new();
        let mut worst = 0.0f64;
        for k in 0..256 {
            let fraction = (k as f64 + 0.5) / 256.0;
            bank.filter(fraction, 1.0, &mut taps);
            for (tap, &value) in taps.iter().enumerate() {
                let x = fraction - (tap as f64 - 19.0);
                worst = worst.max((sinc(x) * kaiser(x / 20.0) - f64::from(value)).abs());
            }
        }
        assert!(worst < 1e-5, "{worst}");
    }

    #[test]
    fn a_band_passes_what_is_inside_and_stops_what_is_outside() {
        let bank = FilterBank::new(0.1, 0.3);
        for fraction in [0.0, 0.3, 0.5] {
            for frequency in (0..=500).map(|k| k as f64 / 1000.0) {
                let found = response(&bank, fraction, frequency) * Complex::cis(-2.0 * PI * frequency * fraction);
                let distance = (frequency - 0.1f64).abs().min((frequency - 0.3f64).abs());
                let expected = if (0.1..0.3).contains(&frequency) { 1.0 } else { 0.0 };
                if distance > 1.0 / 64.0 {
                    assert!((found - expected).norm() < 2e-3, "{frequency}: {found}");
                }
                assert!((found - bank.amplitude(frequency)).norm() < 2e-3);
            }
        }
        assert!((bank.amplitude(0.1) - 0.5).abs() < 2e-3 && (bank.amplitude(0.3) - 0.5).abs() < 2e-3);
        let mean: f64 = (0..5000).map(|k| bank.amplitude((k as f64 + 0.5) / 10_000.0).powi(2)).sum::<f64>() / 5000.0;
        assert!((mean - bank.power()).abs() < 1e-6, "{mean} {}", bank.power());
    }

    #[test]
    fn what_the_processor_has_changes_no_bit() {
        let noise = |index: usize| ((index * 2_654_435_761) % 1_000_003) as f32 / 500_000.0 - 1.0;
        let signal: Vec<f32> = (0..400).map(noise).collect();
        for taps in [40, 128] {
            let taps: Vec<f32> = (1000..1000 + taps).map(noise).collect();
            let mut with: Vec<f32> = (2000..2256).map(noise).collect();
            let mut without = with.clone();
            add_filtered(Arch::new(), &mut with, &signal, &taps);
            AddFiltered { out: &mut without, signal: &signal, taps: &taps }.call();
            assert_eq!(with, without);
            // And all in order, one product after the other.
            let expected = (0..256)
                .map(|n| taps.iter().zip(&signal[n..]).fold(noise(2000 + n), |sum, (tap, value)| sum + value * tap));
            assert_eq!(with, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn kaisers_window_is_that_of_tables() {
        // I0(1) and I0(6.2), from Abramowitz and Stegun 9.8 and the integral.
        assert!((bessel_i0(1.0) - 1.266_065_877_752_008).abs() < 1e-14);
        let steps = 10_000;
        let integral: f64 =
            (0..steps).map(|k| (BETA * (PI * (k as f64 + 0.5) / steps as f64).cos()).exp()).sum::<f64>() / steps as f64;
        assert!((bessel_i0(BETA) / integral - 1.0).abs() < 1e-12);
    }
}
