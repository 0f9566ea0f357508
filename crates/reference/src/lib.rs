//! The oracle: every Fringes operation in f64, in plain loops, with nothing clever in it.
//!
//! Speed does not matter here; being obviously right does. Each module states its formula and proves it in its tests on
//! signals whose answer is known in closed form (a tone, an impulse, Parseval, linearity, an array factor, delayed
//! noise). Every other implementation, CPU or GPU, is compared with this one.
//!
//! Arrays are `ndarray` arrays with dimensions in the order `channel, time, antenna, pol, input, beam, baseline`.

pub mod beamformer;
pub mod correlator;
pub mod ddc;
pub mod delay;
pub mod detection;
pub mod dft;
pub mod dither;
pub mod dump;
pub mod f_engine;
pub mod frb;
pub mod gain;
pub mod heaps;
pub mod interference;
pub mod narrowband;
pub mod pack;
pub mod packed;
pub mod pfb;
pub mod quantiser;
pub mod window;
