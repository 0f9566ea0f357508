//! What the tables of kernels say.

use fringes_device::{Global, GlobalMut};

use crate::Sizes;
use crate::channels::ChannelSizes;
use crate::form::Given;

/// A kernel as tests of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct GridKernel {
    /// The kernel's declaration, which begins with its name.
    pub declaration: &'static str,
    /// The kernel.
    pub run: Run,
}

/// A kernel by what it makes.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// Powers.
    Powers(fn(Given, GlobalMut<f32>, Sizes)),
    /// Voltages, in words of f16 or two words of f32.
    Voltages(fn(Given, GlobalMut<u32>, Sizes)),
}

impl GridKernel {
    /// The name, `grid_powers_1_6`.
    pub fn name(&self) -> &'static str {
        self.declaration.split('(').next().unwrap_or_default()
    }
}

/// A kernel of finer channels as tests of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct ChannelKernel {
    /// The kernel's declaration, which begins with its name.
    pub declaration: &'static str,
    /// The kernel.
    pub run: fn(Global<u8>, Global<u32>, GlobalMut<u32>, ChannelSizes),
}

impl ChannelKernel {
    /// The name, `channels_16`.
    pub fn name(&self) -> &'static str {
        self.declaration.split('(').next().unwrap_or_default()
    }
}
