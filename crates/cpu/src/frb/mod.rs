//! The chain of a search for fast radio bursts, as `fringes_reference::frb`, in f32.
//!
//! ```text
//! x [time][frequency][pol][line][feed] ── weights ──> H [out][feed] ── padded transform ──> J [out][q]
//!    ── map ──> K [out][b] ── transform over `length` times ──> Y [f]
//!    ── powers ──> P [frequency][fine][time][beam][product]
//! ```
//!
//! A unit of work is one frequency and one output time. It goes through the good blocks of `length` times, and in each
//! through polarisations and `out`, so that its scratch is one block's transforms of one of these: [`scratch_bytes`].
//! Nothing of a unit depends on another, so the result has the same bits for any number of threads and any cut of the
//! times.

mod chain;
mod powers;
mod voltages;

pub use chain::{FrbChain, scratch_bytes};
pub use powers::frb_powers_into;
pub use voltages::frb_voltages_into;
