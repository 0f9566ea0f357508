//! A launch of a kernel.

use crate::{GlobalMemory, Report};

/// A grid of blocks of threads that run one kernel.
#[derive(Debug, Clone)]
pub struct Launch {
    _declaration: &'static str,
    _grid: [u32; 3],
    _block: [u32; 3],
    _shared_bytes: u32,
}

impl Launch {
    /// A launch of the kernel with this declaration (the text that `kernel!` makes, `saxpy::DECLARATION`).
    pub fn new(declaration: &'static str, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { _declaration: declaration, _grid: grid, _block: block, _shared_bytes: 0 }
    }
    /// Sets the dynamic shared memory of each block.
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self._shared_bytes = bytes;
        self
    }
    /// Runs `kernel` once per thread, block after block.
    pub fn run(&self, memory: &mut GlobalMemory, kernel: impl Fn()) -> Report {
        let _ = (memory, kernel);
        unimplemented!()
    }
}
