//! Interference against its reference, and against noise.

mod false_alarms;
mod found;
mod sums;
