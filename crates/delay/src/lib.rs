//! Delay models of the inputs of an array.

mod error;
mod model;
mod plan;
mod segment;
mod turns;
mod value;

pub use error::DelayError;
pub use model::DelayModel;
pub use plan::{DelayPlan, Section};
pub use segment::DelaySegment;
pub use value::DelayValue;
