//! The integration tests of `fringes-emulator`, one program.

mod barriers;
mod bulk_copies;
mod clusters;
mod common;
mod copies;
mod counts;
mod divergence;
mod execution;
mod faults;
mod products;
mod race_oracle;
mod races;
mod speed;
