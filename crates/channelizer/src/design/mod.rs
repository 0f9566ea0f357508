//! Designs of low-pass filters for [`DownConverter`](crate::DownConverter).
//!
//! [`DownConversionFilter`] has the two designs of the field for a decimation, and says what the filter does. Beneath
//! it are designs for bands of one's own, with symmetric taps, on the host in `f64`:
//!
//! | function | least is | takes |
//! |---|---|---|
//! | [`remez`] | the largest weighted error | bands, weights |
//! | [`least_squares`] | the weighted sum of squared errors | bands, weights |
//! | [`kaiser`] | nothing: a window, at once | a cutoff, an attenuation |
//!
//! Frequencies are in cycles per sample of the input, 0 to 0.5.

mod band;
mod barycentric;
mod error;
mod filter;
mod grid;
mod kaiser;
mod least_squares;
mod measured;
mod remez;
mod response;
mod taps;

pub use band::Band;
pub use error::DesignError;
pub use filter::{DesignMethod, DownConversionFilter, DownConversionFilterBuilder};
pub use kaiser::{kaiser, kaiser_attenuation_db, kaiser_beta};
pub use least_squares::least_squares;
pub use remez::remez;
pub use response::response;

/// The largest number of taps of a design.
pub const MAX_TAPS: usize = 4096;

/// The largest decimation of a design.
pub const MAX_DECIMATION: usize = 1024;
