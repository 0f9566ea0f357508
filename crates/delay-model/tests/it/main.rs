//! The integration tests of `fringes-delay-model`, one program.

mod decimated;
mod models;
mod sky;
mod tracks;
