//! The integration tests of `fringes-delay-model`, one program.

mod models;
mod sky;
mod tracks;
