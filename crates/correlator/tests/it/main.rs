//! The integration tests of `fringes-correlator`, one program.

mod bins;
mod correlate;
mod heaps;
mod integrate;
mod layout;
mod lengths;
mod manual;
mod masks;
mod rows;
