//! Delay models of the inputs of an array.

mod error;
pub mod geometry;
mod model;
mod plan;
mod segment;
mod turns;
mod value;

pub use error::DelayError;
pub use geometry::{
    AntennaArray, DelayTrack, Direction, EARTH_ROTATION_RAD_PER_S, EarthOrientation, Enu, Epoch, FringeStopping,
    GeometricDelays, Geometry, Itrf, Pointing, Positions, SPEED_OF_LIGHT_M_PER_S, SampleClock, Site, Source,
    parse_declination, parse_hour_angle, parse_right_ascension,
};
pub use model::DelayModel;
pub use plan::{DelayPlan, Section};
pub use segment::DelaySegment;
pub use value::DelayValue;
