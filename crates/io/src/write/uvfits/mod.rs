//! UVFITS: random-groups FITS with an antenna table, as AIPS memo 117 describes it.
//!
//! ```text
//! primary header | group group group ... | padding | AIPS AN header | one row an antenna | padding
//!                  '- UU VV WW DATE BASELINE DATE UU VV WW INTTIM, then [channel][product][re, im, weight]
//! ```
//!
//! A group is one pair of antennas `ant1 <= ant2` of one integration, autocorrelations included. Everything is
//! big-endian f32; a parameter named twice is the sum of both, the second the rounding error of the first.
//!
//! # Signs
//! A group holds `V = sum x_(ant1) conj(x_(ant2))`, the conjugate of the packed lower triangle's `V[ant2][ant1]`, and
//! `(UU, VV, WW) = (r_(ant1) - r_(ant2)) / c`, where `r` is the antenna's place along east, north and the phase centre as
//! seen there. With `x_a(t) = s(t + w_a / c)`, a source that is `(l, m)` from the phase centre has the phase
//! `+2 pi f (UU l + VV m + WW (sqrt(1 - l^2 - m^2) - 1))` in data that are stopped on the phase centre. pyuvdata negates
//! both on reading, and then finds its own `uvw = r_(ant2) - r_(ant1)`.
//!
//! # Polarisations
//! Products XX, YY, XY, YX (Stokes codes -5 to -8; XX alone for one polarisation), the first letter of `ant1`:
//! polarisation 0 of an antenna is X, 1 is Y. The table gives the feeds' angles as 0 and 90 degrees.
//!
//! # Weights
//! The weight of a product is the caller's for its pair of inputs, the same in every channel; readers take weights of 0
//! or less as flagged. A visibility that is not finite is written as 0 with its weight made negative.
//!
//! Source: FITS standard 4.0, section 6 (random groups); AIPS memo 117 (AIPS FITS file format); FITS WCS paper III.

mod antennas;
mod cards;
mod groups;
mod header;
mod writer;

pub use header::{UvfitsAntenna, UvfitsHeader};
pub use writer::{UvfitsIntegration, UvfitsWriter};
