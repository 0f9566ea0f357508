//! The integration tests of `fringes-gpu`, one program.

mod launch_check;
mod without_gpu;
