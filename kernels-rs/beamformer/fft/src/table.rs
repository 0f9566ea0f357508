//! What the table of kernels says.

use fringes_device::{Global, GlobalMut};

/// The kernels' arguments: voltages, flags, gains, factors, phases, beams; channels, times, lines, feeds,
/// polarisations, times of a unit.
pub type Arguments =
    fn(Global<u8>, Global<u8>, Global<u32>, Global<f32>, Global<u32>, GlobalMut<u32>, u32, u32, u32, u32, u32, u32);

/// A kernel as tests of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct BeamKernel {
    /// The kernel's declaration, which begins with its name.
    pub declaration: &'static str,
    /// The kernel.
    pub run: Arguments,
}

impl BeamKernel {
    /// The name, `beams_256_512_i4_power`.
    pub fn name(&self) -> &'static str {
        self.declaration.split('(').next().unwrap_or_default()
    }

    /// Part of the name, from 0: `beams`, `256`, `512`, `i4`, `power`.
    pub fn part(&self, index: usize) -> &'static str {
        self.name().split('_').nth(index).unwrap_or_default()
    }

    /// Inputs and outputs of the transform.
    pub fn size(&self) -> Option<(usize, usize)> {
        Some((self.part(1).parse().ok()?, self.part(2).parse().ok()?))
    }
}
