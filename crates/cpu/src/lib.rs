//! The CPU backend: the operations of `fringes-reference`, fast, with rayon and rustfft.
//!
//! Modules have the same names and meanings as the reference's; each states its error bound against it. Integer
//! correlation is exact. Functions here trust their caller on shapes (they are called by the typed crates, which
//! check); a wrong shape panics rather than giving a wrong answer.

pub mod beamformer;
pub mod blocks;
pub mod correlator;
pub mod ddc;
pub mod delay;
pub mod f_engine;
pub mod frb;
pub mod memory;
pub mod pack;
pub mod pfb;
pub mod power;
pub mod quantiser;
#[cfg(target_arch = "x86_64")]
mod vnni;
