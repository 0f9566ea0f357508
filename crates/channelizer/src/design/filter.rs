//! The two designs of a down-converter's filter for a decimation.

use super::measured::{Measured, measure};
use super::{Band, DesignError, MAX_DECIMATION, MAX_TAPS, kaiser, kaiser_attenuation_db, least_squares, remez};

/// Taps for each sample of the decimation, unless said otherwise.
const TAPS_EACH: usize = 16;

/// Weight of the pass band's error, unless said otherwise: its ripple is 200 times that of the stop band.
const PASS_WEIGHT: f64 = 0.005;

/// How the taps of a [`DownConversionFilter`] are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DesignMethod {
    /// Equal ripples, by [`remez`]: the largest attenuation for the taps.
    #[default]
    Equiripple,
    /// [`least_squares`]: the least power of all aliases together, with a lower attenuation next to the pass band.
    LeastSquares,
    /// [`kaiser`], with its cutoff in the middle of the transition. The pass band's weight has no say.
    Kaiser,
}

/// A low-pass filter for a decimation, with a gain of 1 at 0, and what it does.
///
/// In units of the output's rate, `1 / S` of the input's for a decimation `S`, the output band is -0.5 to 0.5:
///
/// ```text
/// outer half discarded        0 ---pass--- 0.25  ...free...  0.75 --stop-- 1.25  ...free...  1.75 --stop-- 2.25  ...
/// all kept, pass fraction p   0 ---pass--- p/2   ...free...  1 - p/2 --------------stop------------------------- S/2
/// ```
///
/// - [`outer_half_discarded`](Self::outer_half_discarded): a second stage, such as an F-engine, keeps the middle half
///   of the band. What the decimation folds into the outer half may be anything, so only what it folds into the middle
///   half is stopped.
/// - [`all_kept`](Self::all_kept): the band is used up to its edges, and is flat in a fraction of it. What is folded
///   into that fraction is stopped; the rest on either side rolls off, and has aliases of what rolls off beyond the
///   edge.
///
/// ```
/// use fringes_channelizer::DownConverter;
/// use fringes_channelizer::design::DownConversionFilter;
///
/// let filter = DownConversionFilter::outer_half_discarded(8).taps(96).build()?;
/// assert!(filter.stopband_attenuation_db() > 125.0 && filter.passband_ripple_db() < 0.002);
/// let plan = DownConverter::designed(0.1, &filter)?;
/// assert_eq!((plan.decimation(), plan.filter().len()), (8, 96));
/// # Ok::<(), fringes_channelizer::ChannelizerError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DownConversionFilter {
    taps: Vec<f64>,
    decimation: usize,
    bands: Vec<Band>,
    measured: Measured,
}

/// Parameters of a [`DownConversionFilter`], checked by [`DownConversionFilterBuilder::build`].
#[derive(Debug, Clone, PartialEq)]
pub struct DownConversionFilterBuilder {
    decimation: usize,
    /// Fraction of the output band that is flat, if all of it is kept.
    pass_fraction: Option<f64>,
    taps: usize,
    method: DesignMethod,
    pass_weight: f64,
}

impl DownConversionFilter {
    /// A filter for an output of which a second stage keeps the middle half.
    ///
    /// It has `16 * decimation` taps with equal ripples, those of the pass band 200 times those of the stop bands,
    /// unless the builder is told otherwise.
    pub fn outer_half_discarded(decimation: usize) -> DownConversionFilterBuilder {
        DownConversionFilterBuilder {
            decimation,
            pass_fraction: None,
            taps: decimation.saturating_mul(TAPS_EACH).min(MAX_TAPS),
            method: DesignMethod::default(),
            pass_weight: PASS_WEIGHT,
        }
    }

    /// A filter for an output that is used whole, flat in `pass_fraction` of it, more than 0 and less than 1.
    ///
    /// Taps and weights as of [`outer_half_discarded`](Self::outer_half_discarded).
    pub fn all_kept(decimation: usize, pass_fraction: f64) -> DownConversionFilterBuilder {
        DownConversionFilterBuilder { pass_fraction: Some(pass_fraction), ..Self::outer_half_discarded(decimation) }
    }

    /// MeerKAT's band of 107 MHz: the middle half of the output at a decimation of 8, 128 taps.
    ///
    /// Passband ripple 4.96e-5 dB, stopband attenuation 156.9 dB.
    pub fn meerkat_107_mhz() -> DownConversionFilterBuilder {
        Self::outer_half_discarded(8).taps(128)
    }

    /// MeerKAT's band of 53.5 MHz: the middle half of the output at a decimation of 16, 256 taps.
    ///
    /// Passband ripple 4.85e-5 dB, stopband attenuation 157.1 dB.
    pub fn meerkat_53_mhz() -> DownConversionFilterBuilder {
        Self::outer_half_discarded(16).taps(256)
    }

    /// MeerKAT's band of 26.75 MHz: the middle half of the output at a decimation of 32, 512 taps.
    ///
    /// Passband ripple 4.77e-5 dB, stopband attenuation 157.2 dB.
    pub fn meerkat_27_mhz() -> DownConversionFilterBuilder {
        Self::outer_half_discarded(32).taps(512)
    }

    /// The taps, symmetric to the bit; their sum is 1.
    pub fn taps(&self) -> &[f64] {
        &self.taps
    }

    /// The decimation that the filter is for.
    pub fn decimation(&self) -> usize {
        self.decimation
    }

    /// The bands of the design: the pass band and the stop bands.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    /// Upper edge of the pass band in cycles per input sample.
    pub fn pass_edge(&self) -> f64 {
        self.bands[0].to()
    }

    /// Largest deviation of the gain in the pass band from that at 0, in dB, measured.
    pub fn passband_ripple_db(&self) -> f64 {
        self.measured.ripple_db
    }

    /// How far the largest gain in a stop band is below that at 0, in dB, measured.
    pub fn stopband_attenuation_db(&self) -> f64 {
        self.measured.attenuation_db
    }

    /// Largest gain outside pass and stop bands relative to that at 0, in dB, measured.
    pub fn largest_free_gain_db(&self) -> f64 {
        self.measured.between_db
    }
}

impl DownConversionFilterBuilder {
    /// Another number of taps.
    #[must_use]
    pub fn taps(self, taps: usize) -> Self {
        Self { taps, ..self }
    }

    /// Another way to find the taps.
    #[must_use]
    pub fn method(self, method: DesignMethod) -> Self {
        Self { method, ..self }
    }

    /// Another weight of the pass band's error, relative to that of the stop bands.
    #[must_use]
    pub fn pass_weight(self, pass_weight: f64) -> Self {
        Self { pass_weight, ..self }
    }

    /// Designs the filter and measures it.
    ///
    /// # Errors
    /// - [`DesignError::Decimation`] for a decimation below 2 or above [`MAX_DECIMATION`], [`DesignError::Taps`] for 0
    ///   taps or more than [`MAX_TAPS`], [`DesignError::Parameter`] for a pass fraction that is not between 0 and 1,
    ///   [`DesignError::Band`] for a weight that is not finite and above 0;
    /// - [`DesignError::NotConverged`] and [`DesignError::Undetermined`] for more taps than `f64` resolves the ripples
    ///   of: 20 a sample of the decimation are resolved if the outer half is discarded, 32 are not;
    /// - [`DesignError::BetweenBands`] if the gain between two bands exceeds that of the pass band.
    pub fn build(self) -> Result<DownConversionFilter, DesignError> {
        let bands = self.bands()?;
        let mut taps = match self.method {
            DesignMethod::Equiripple => remez(self.taps, &bands)?,
            DesignMethod::LeastSquares => least_squares(self.taps, &bands)?,
            DesignMethod::Kaiser => {
                let (from, to) = (bands[0].to(), bands[1].from());
                let attenuation_db = kaiser_attenuation_db(self.taps, to - from).min(300.0);
                kaiser(self.taps, 0.5 * (from + to), attenuation_db)?
            }
        };
        let sum: f64 = taps.iter().sum();
        taps.iter_mut().for_each(|tap| *tap /= sum);
        let measured = measure(&taps, &bands);
        // Free bands roll off from the pass band's gain; more is a resonance.
        if measured.between_db > measured.ripple_db + 0.01 {
            return Err(DesignError::BetweenBands { taps: self.taps, gain_db: measured.between_db });
        }
        Ok(DownConversionFilter { taps, decimation: self.decimation, bands, measured })
    }

    /// Checks the parameters and works out the bands.
    fn bands(&self) -> Result<Vec<Band>, DesignError> {
        if !(2..=MAX_DECIMATION).contains(&self.decimation) {
            return Err(DesignError::Decimation { actual: self.decimation, limit: MAX_DECIMATION });
        }
        let decimation = self.decimation as f64;
        let Some(fraction) = self.pass_fraction else {
            let pass = Band::pass(0.0, 0.25 / decimation).with_weight(self.pass_weight);
            // Around each multiple of the output's rate that is within the input's band, or begins in it.
            let stops = (1..=self.decimation / 2 + 1).map(|k| (k as f64 - 0.25, k as f64 + 0.25));
            let stops = stops.filter(|&(from, _)| from < 0.5 * decimation);
            let stops = stops.map(|(from, to)| Band::stop(from / decimation, (to / decimation).min(0.5)));
            return Ok(std::iter::once(pass).chain(stops).collect());
        };
        if !(fraction > 0.0 && fraction < 1.0) {
            let (quantity, expected) = ("pass fraction", "more than 0 and less than 1");
            return Err(DesignError::Parameter { quantity, expected, actual: fraction });
        }
        let pass = Band::pass(0.0, 0.5 * fraction / decimation).with_weight(self.pass_weight);
        Ok(vec![pass, Band::stop((1.0 - 0.5 * fraction) / decimation, 0.5)])
    }
}
