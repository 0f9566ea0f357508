//! The integration tests of `fringes`, one program.

mod f_engine;
mod signal_path;
mod without_gpu;
