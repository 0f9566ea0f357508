//! The chain of a search for fast radio bursts (FRBs): beams of a grid of feeds, finer channels, and sums of powers.
//!
//! The feeds form `lines` (east-west) of `feeds` (north-south). For each frequency:
//!
//! | step | formula | shape |
//! |---|---|---|
//! | [`line_weights`] | `w[out][line][n] = matrix[out][line] gains[line][n]` | `[frequency][pol][out][line][feed]` |
//! | [`line_beams`] | `J[out][q] = sum_n exp(s 2 pi i n q / padded) sum_line w[out][line][n] x[line][n]` | `[frequency][time][pol][out][q]` |
//! | [`choose`] | `K[out northern + b] = J[out][map[b]]`, of `northern` entries of the map | `[frequency][time][pol][beam]` |
//! | [`upchannelise`] | `Y[f] = sum_t K[t] exp(s 2 pi i f t / U)` of each `U` times | `[frequency][block][f][pol][beam]` |
//! | [`detect`] | sums of `abs(Y)^2` over blocks, channels and polarisations | `[frequency][fine][time][beam][product]` |
//! | [`interpolate`] | four-point Lagrange interpolation of intensities, in both directions | a number |
//!
//! [`north_map`], [`reference_frequency`], [`line_phases`] and [`spread_beams`] make maps and matrices. Nothing is
//! normalised but by the factors of [`detect`].
//!
//! Source: the published chains of CHIME, CHORD and CASM (the formulas; docs/frb.md).

mod beams;
mod detect;
mod grid;
mod interpolate;

pub use beams::{choose, line_beams, line_weights};
pub use detect::{FineDetection, detect, upchannelise};
pub use grid::{
    CASM_SPACINGS_M, CHIME_BANDPASS, SPEED_OF_LIGHT, centred_positions, line_phases, north_map, reference_frequency,
    spread_beams,
};
pub use interpolate::{interpolate, lagrange_weights};
