//! Folding at the pulsar's period, and the signal-to-noise ratio of its pulse.

/// Spectra of a period, and of a bin of the profile.
pub(crate) const PERIOD: usize = 512;
pub(crate) const BIN: usize = 16;
/// Bins of a period.
pub(crate) const BINS: usize = PERIOD / BIN;
/// Bins with the pulse.
const PULSE: std::ops::Range<usize> = 9..12;

/// Whether the pulse is on in a spectrum.
pub(crate) fn is_on(spectrum: usize) -> bool {
    PULSE.contains(&(spectrum / BIN % BINS))
}

/// Bins with the pulse of a period, and without.
pub(crate) const ON_OFF: [usize; 2] = [PULSE.end - PULSE.start, BINS - (PULSE.end - PULSE.start)];

/// Powers of bins, one period after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folded {
    profile: [f64; BINS],
    /// Squares of what bins without the pulse differ from their mean in each period.
    squares: f64,
    periods: usize,
}

impl Folded {
    /// Adds the powers of a period.
    pub(crate) fn push(&mut self, period: &[f64]) {
        let off = |bin: &usize| !PULSE.contains(bin);
        let mean = (0..BINS).filter(off).map(|bin| period[bin]).sum::<f64>() / ON_OFF[1] as f64;
        self.squares += (0..BINS).filter(off).map(|bin| (period[bin] - mean).powi(2)).sum::<f64>();
        self.profile.iter_mut().zip(period).for_each(|(sum, power)| *sum += power);
        self.periods += 1;
    }

    pub(crate) fn periods(&self) -> usize {
        self.periods
    }

    /// Mean power of the bins without the pulse.
    pub(crate) fn noise(&self) -> f64 {
        let off = (0..BINS).filter(|bin| !PULSE.contains(bin)).map(|bin| self.profile[bin]).sum::<f64>();
        off / (self.periods.max(1) * ON_OFF[1]) as f64
    }

    /// The profile in units of the noise, less 1.
    pub(crate) fn profile(&self) -> Vec<f64> {
        let noise = self.noise() * self.periods.max(1) as f64;
        self.profile.iter().map(|power| power / noise - 1.0).collect()
    }

    /// The pulse in units of the noise.
    pub(crate) fn pulse(&self) -> f64 {
        self.profile()[PULSE].iter().sum::<f64>() / ON_OFF[0] as f64
    }

    /// Standard deviation of a bin in units of the noise.
    pub(crate) fn deviation(&self) -> f64 {
        let free = (self.periods * (ON_OFF[1] - 1)).max(1) as f64;
        (self.squares / free).sqrt() / self.noise()
    }

    /// The pulse over its standard error, as the bins without it tell that.
    pub(crate) fn ratio(&self) -> f64 {
        self.pulse() / (self.deviation() * error_of_mean(self.periods))
    }
}

/// Standard error of the difference of the means with and without the pulse, in standard deviations of a bin.
pub(crate) fn error_of_mean(periods: usize) -> f64 {
    let [on, off] = ON_OFF.map(|bins| 1.0 / (bins * periods.max(1)) as f64);
    (on + off).sqrt()
}
