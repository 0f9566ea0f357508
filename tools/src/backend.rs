//! The choice of the backend, for tools that work with and without a GPU.

use fringes::Backend;

use crate::end::{Failure, failure};

/// Where to run.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum BackendName {
    /// The best GPU, or the CPU where there is none.
    Auto,
    /// The CPU.
    Cpu,
    /// The first GPU.
    Gpu,
}

impl BackendName {
    /// Opens it.
    pub(crate) fn open(self) -> Result<Backend, Failure> {
        match self {
            Self::Auto => Ok(Backend::auto()),
            Self::Cpu => Ok(Backend::cpu()),
            Self::Gpu => Backend::gpu(0).map_err(|error| failure("--backend gpu", error)),
        }
    }
}
