//! From antennas and a source to delays.
//!
//! ```text
//! positions, site ----> AntennaArray --+
//! source, epoch ------> Pointing ------+--> Geometry --> geometric_delays, uvw, fringe_stopping   at one time
//! Earth orientation ----------^                     \--> track --> DelayTrack --> DelayModel      over time
//! ```
//!
//! Everything here is f64 in SI units and radians, with the unit in the name; times are SI seconds since an [`Epoch`].
//! Precession, nutation, aberration and the Earth's rotation are those of IAU 2006/2000A, by the `sofars` crate, which
//! derives from the IAU's SOFA software; results obtained with it should acknowledge SOFA.

mod array;
mod delays;
mod epoch;
mod position;
mod sky;
mod source;
mod table;
mod track;

pub use array::{AntennaArray, Positions};
pub use delays::{FringeStopping, GeometricDelays, Geometry, SPEED_OF_LIGHT_M_PER_S};
pub use epoch::Epoch;
pub use position::{Enu, Itrf, Site};
pub use sky::{Direction, EARTH_ROTATION_RAD_PER_S, EarthOrientation, Pointing};
pub use source::{Source, parse_declination, parse_hour_angle, parse_right_ascension};
pub use track::{DelayTrack, SampleClock};
