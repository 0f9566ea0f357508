//! From antennas and a source to delays.

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
