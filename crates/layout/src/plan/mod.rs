//! The conversion planner: the cheapest program that turns one register layout into another.

mod costs;

pub use costs::{Costs, Rates};
