//! What can be wrong with the design of a filter.

/// A design that cannot be made, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// A number of taps of 0, or more than a design takes.
    #[error("taps: expected 1 to {limit}, found {actual}")]
    Taps {
        /// The number that came.
        actual: usize,
        /// The largest number.
        limit: usize,
    },
    /// A list of bands without any.
    #[error("bands: expected at least one, found none")]
    NoBands,
    /// Bands that are not in order: each has a width, and none overlaps or touches the one before it.
    #[error(
        "band {index}, {from:?} to {to:?} cycles per sample: expected ascending edges, 0 to 0.5, beyond the last band"
    )]
    Edges {
        /// Position of the band in the list.
        index: usize,
        /// Its lower edge.
        from: f64,
        /// Its upper edge.
        to: f64,
    },
    /// A gain that is not finite, or a weight that is not finite and above 0.
    #[error("{quantity} of band {index}: found {actual:?}")]
    Band {
        /// Position of the band in the list.
        index: usize,
        /// Name of the value, and what it must be.
        quantity: &'static str,
        /// The value that came.
        actual: f64,
    },
    /// A gain at half the sample rate, where an even number of symmetric taps has none.
    #[error("band {index}: {taps} taps have no gain at 0.5 cycles per sample; expected an odd number of taps")]
    HalfRate {
        /// Position of the band in the list.
        index: usize,
        /// The number of taps.
        taps: usize,
    },
    /// A parameter outside its range.
    #[error("{quantity}: expected {expected}, found {actual:?}")]
    Parameter {
        /// Name of the parameter with its unit.
        quantity: &'static str,
        /// Its range, in words.
        expected: &'static str,
        /// The value that came.
        actual: f64,
    },
    /// A decimation outside the range of the designs.
    #[error("decimation: expected 2 to {limit}, found {actual}")]
    Decimation {
        /// The decimation that came.
        actual: usize,
        /// The largest one.
        limit: usize,
    },
    /// No exchange gave equal ripples. The bands ask for less than 64-bit floats resolve: a ripple below about 1e-9 of
    /// the gain with a thousand taps, or one far below the gain that it costs in a gap between bands.
    #[error(
        "{taps} taps: ripples of {ripple:.1e} differ by {spread:.1e} after {iterations} exchanges; expected fewer taps"
    )]
    NotConverged {
        /// The number of taps.
        taps: usize,
        /// The exchange with the best ripples.
        iterations: usize,
        /// How much its largest error exceeds the ripple, as a part of it.
        spread: f64,
        /// Its ripple: the weighted error of the gain.
        ripple: f64,
    },
    /// Taps that the bands do not determine to the precision of 64-bit floats.
    #[error(
        "{taps} taps: the bands leave combinations of taps free; expected fewer taps or narrower gaps between the bands"
    )]
    Undetermined {
        /// The number of taps.
        taps: usize,
    },
    /// A gain between the bands that exceeds that of the pass band.
    #[error("{taps} taps: a gain of {gain_db:.1} dB between the bands; expected fewer taps or another method")]
    BetweenBands {
        /// The number of taps.
        taps: usize,
        /// The largest gain outside all bands, relative to that at 0.
        gain_db: f64,
    },
}
