//! What 4 and 8 bits make of spectral kurtosis.
//!
//! The quantiser rounds and clips each part of a voltage. Of Gaussian noise that gives integers whose kurtosis is that
//! of noise only where the level is neither low nor close to the limit: with 4 bits it is off by more than its own
//! standard deviation at most levels. So the estimator is corrected before it is compared with anything:
//!
//! ```text
//! b(mu, M)      the bias, E[SK] - 1, of noise quantised at the level mu = S1 / M
//! s(mu, M)      its standard deviation
//! SK - b(S1 / M, M)                   the corrected estimate, of expectation 1
//! ```
//!
//! The level is not known but measured, in the same block; what that adds to the scatter is in the moments of `z = (SK
//! - 1 - b) / s`, which are in the table too. All of it was measured by simulation: the program
//! `examples/quantisation_table.rs` draws powers of quantised noise and writes `table.csv`.
//!
//! # Interpolation
//! In the level's logarithm, a polynomial through four neighbours; in `1 / M`, straight lines between neighbours of
//! what hardly depends on it: the bias itself, and the other numbers as ratios to those of unquantised noise. Beyond
//! the most samples of the table the line goes on to `1 / M = 0`.

mod noise;
mod table;

use std::sync::OnceLock;

use fringes_types::SampleFormat;

use crate::Moments;

pub use noise::{level_of_rms, probabilities};
pub use table::{Correction, FEWEST_SAMPLES, Row, Table};

/// The tables that come with the crate, of 4 and of 8 bits.
const TABLE: &str = include_str!("table.csv");

/// How the estimator behaves for noise of a format at a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// What is to be subtracted from the estimator.
    pub bias: f64,
    /// Moments of the corrected estimate.
    pub moments: Moments,
}

/// How the estimator of a block behaves for Gaussian noise of a format: `level` is the block's mean power `S1 / M` in
/// units of the format, `count` its samples. `None` below 32 samples, and at levels that the table does not have
/// ([`levels`]).
///
/// ```
/// use fringes_interference::quantisation::expected;
/// use fringes_types::SampleFormat;
///
/// // 4 bits with an rms of 3 in each part: clipping takes the peaks off.
/// let clipped = expected(SampleFormat::Int4, 18.0, 1024).unwrap();
/// assert!(clipped.bias < -0.1);
/// // 8 bits at an rms of 16: as good as not quantised.
/// assert!(expected(SampleFormat::Int8, 512.0, 1024).unwrap().bias.abs() < 1e-3);
/// assert_eq!(expected(SampleFormat::Int4, 1e4, 1024), None);
/// ```
pub fn expected(format: SampleFormat, level: f64, count: u64) -> Option<Expected> {
    if count < FEWEST_SAMPLES || level.is_nan() || level <= 0.0 {
        return None;
    }
    match tables(format) {
        Ok(table) => table.expected(level, count),
        Err(NotInteger) => Some(Expected { bias: 0.0, moments: Moments::gaussian(count) }),
    }
}

/// The levels at which noise of a format can be told from interference: the mean powers of the table, which are those
/// of an rms of 0.5 to 8 in each part of 4 bits, and of 0.5 to 128 of 8 bits. All levels of floats.
pub fn levels(format: SampleFormat) -> (f64, f64) {
    tables(format).map_or((0.0, f64::INFINITY), Table::levels)
}

/// A format without a table.
struct NotInteger;

fn tables(format: SampleFormat) -> Result<&'static Table, NotInteger> {
    static TABLES: OnceLock<[Table; 2]> = OnceLock::new();
    let [four, eight] = TABLES.get_or_init(|| [4, 8].map(|bits| Table::parse(TABLE, bits)));
    match format {
        SampleFormat::Int4 => Ok(four),
        SampleFormat::Int8 => Ok(eight),
        SampleFormat::Int16 | SampleFormat::Float16 | SampleFormat::Float32 => Err(NotInteger),
    }
}
