//! The chain of a search for fast radio bursts (FRBs): from voltages of a grid of feeds to powers of its beams in finer
//! channels.
//!
//! ```text
//! x [time][frequency][pol][line][feed]                      a line: feeds from south to north; lines from west to east
//!   H[out][n] = sum_line matrix[out][line] gains[line][n] x[line][n]           (or conj(x))
//!   J[out][q] = sum_n H[out][n] exp(+-2 pi i n q / padded)                     q < padded
//!   K[out][b] = J[out][map[b]]                                                 beam = out * north_beams + b
//!   Y[f]      = sum_t K[t] exp(+-2 pi i f t / U)                               of each U times
//!   P[u]      = factors[u] sum abs(Y)^2 over `blocks` blocks, `group` neighbouring f, and polarisations or not
//! P [frequency][fine][time][beam][product]
//! ```
//!
//! [`FrbBeams`] says all of it, [`frb_beams`] does it for times that are whole sums, [`FrbStream`] for chunks of any
//! number of times. On a GPU both take [`FrbKernels`], which others can call on device buffers.

mod beams;
mod builder;
mod grid;
mod interpolation;
pub(crate) mod kernels;
mod powers;
mod preset;
mod run;
mod stream;
mod voltages;

pub use beams::FrbBeams;
pub use builder::{FrbBeamsBuilder, FrbProducts};
pub use grid::{
    CASM_SPACINGS_M, CHIME_BANDPASS, centred_positions, line_phases, north_map, reference_frequency, spread_beams,
};
pub use interpolation::FrbInterpolation;
pub use kernels::{FrbInterpolationKernels, FrbKernels, FrbLayout, FrbVoltageKernels, FrbVoltageOutput};
pub use powers::FrbPowers;
pub use preset::ChordGrid;
pub use run::{frb_beams, frb_voltages};
pub use stream::FrbStream;
pub use voltages::{FrbVoltages, NibbleOrder, Offset};

/// The operation's name in errors.
const OPERATION: &str = "frb_beams";
