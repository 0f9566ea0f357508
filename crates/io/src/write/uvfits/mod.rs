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
//! `(UU, VV, WW) = (r_(ant1) - r_(ant2)) / c`, where `r` is the antenna's place along east, north and the phase centre
//! as seen there. With `x_a(t) = s(t + w_a / c)`, a source that is `(l, m)` from the phase centre has the phase
//! `+2 pi f (UU l + VV m + WW (sqrt(1 - l^2 - m^2) - 1))` in data that are stopped on the phase centre. pyuvdata
//! negates both on reading, and then finds its own `uvw = r_(ant2) - r_(ant1)`.
//!
//! # Polarisations
//! Products XX, YY, XY, YX (Stokes codes -5 to -8; XX alone for one polarisation), the first letter of `ant1`:
//! polarisation 0 of an antenna is X, 1 is Y. The table gives the feeds' angles as 0 and 90 degrees.
//!
//! # Weights
//! The weight of a product is the caller's for its pair of inputs, the same in every channel; readers take weights of 0
//! or less as flagged. A visibility that is not finite is written as 0 with its weight made negative.
//!
//! # From visibilities
//! [`VisibilityHeader::new`] takes the antennas and the phase centre from an array and a
//! [`Geometry`](fringes_delay_model::Geometry); [`UvfitsWriter::write_dump`] and [`UvfitsWriter::write_cube`] take
//! times and `(UU, VV, WW)` from it.
//!
//! ```
//! use fringes_delay_model::{AntennaArray, Geometry};
//! use fringes_io::write::{VisibilityHeader, UvfitsWriter};
//! use fringes_types::{BaselineOrder, Complex, Frequencies, Inputs, SpectrumClock, Visibilities};
//! use ndarray::{Array1, Array2};
//!
//! let array: AntennaArray = "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 100 20 0".parse()?;
//! let geometry = Geometry::new(&array, "05:34:31.95,+22:00:52.2".parse()?, "2026-03-20T16:30:00".parse()?)?;
//!
//! // A dump of 8 channels and 500 spectra, 64 samples apart; sample 0 was taken at the geometry's epoch.
//! let inputs = Inputs::new(2, 2)?;
//! let clock = SpectrumClock { first_sample: 32_000, samples_between_spectra: 64, sample_rate_hz: 1e6 };
//! let frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };
//! let sums = Array2::from_elem((8, inputs.triangle_len()), Complex::new(7i64, 1));
//! let valid = Array1::from_elem(inputs.triangle_len(), 500);
//! let dump = Visibilities::new(sums, inputs, BaselineOrder::Triangle, valid, 500, frequencies, clock)?;
//!
//! let header = VisibilityHeader::new(&array, &geometry, inputs, 8, frequencies)?;
//! let header = VisibilityHeader { telescope: "MeerKAT".into(), source: "Crab".into(), ..header };
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("crab.uvfits");
//! let mut writer = UvfitsWriter::create(&path, &header)?;
//! writer.write_dump(&dump, &geometry, 0)?;
//! assert_eq!(writer.finish()?, 3); // groups: pairs of antennas, autocorrelations included
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: FITS standard 4.0, section 6 (random groups); AIPS memo 117 (AIPS FITS file format); FITS WCS paper III.

mod antennas;
mod cards;
mod groups;
mod header;
mod writer;

pub use writer::UvfitsWriter;

use super::{VisibilityAntenna, VisibilityHeader, VisibilityIntegration};

/// The name that [`VisibilityAntenna`] has where only UVFITS is written.
pub type UvfitsAntenna = VisibilityAntenna;

/// The name that [`VisibilityHeader`] has where only UVFITS is written.
pub type UvfitsHeader = VisibilityHeader;

/// The name that [`VisibilityIntegration`] has where only UVFITS is written.
pub type UvfitsIntegration<'a> = VisibilityIntegration<'a>;
