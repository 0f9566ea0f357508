//! What the table of kernels says.

use fringes_device::GlobalMut;

use crate::form::Given;
use crate::{FormedGiven, FormedSizes, Sizes};

/// A kernel as tests of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct FrbKernel {
    /// The kernel's declaration, which begins with its name.
    pub declaration: &'static str,
    /// The kernel.
    pub run: fn(Given, GlobalMut<f32>, Sizes),
}

impl FrbKernel {
    /// The name, `frb_256_512_128_i4_4`.
    pub fn name(&self) -> &'static str {
        self.declaration.split('(').next().unwrap_or_default()
    }

    /// Part of the name, from 0: `frb`, `256`, `512`, `128`, `i4`, `4`.
    pub fn part(&self, index: usize) -> &'static str {
        self.name().split('_').nth(index).unwrap_or_default()
    }
}

/// A kernel of voltages as tests of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct FormedKernel {
    /// The kernel's declaration, which begins with its name.
    pub declaration: &'static str,
    /// The kernel.
    pub run: fn(FormedGiven, GlobalMut<u32>, FormedSizes),
}

impl FormedKernel {
    /// The name, `formed_256_512_i4`.
    pub fn name(&self) -> &'static str {
        self.declaration.split('(').next().unwrap_or_default()
    }
}
