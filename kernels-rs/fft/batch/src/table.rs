//! What the table of kernels says.

use fringes_device::{Global, GlobalMut};

/// A kernel as tests of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct BatchKernel {
    /// The kernel's declaration, which begins with its name.
    pub declaration: &'static str,
    /// The kernel.
    pub run: Run,
}

/// A kernel that stores values of this type: samples, phases, spectra, number of transforms.
pub type Entry<T> = fn(Global<u32>, Global<u32>, GlobalMut<T>, u32);

/// A kernel by what it stores.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// Complex f16, two of them at a time.
    Half(Entry<[u32; 2]>),
    /// Powers, two of them at a time.
    Power(Entry<[f32; 2]>),
}

impl BatchKernel {
    /// The name, `fft_256_512_i4_power`.
    pub fn name(&self) -> &'static str {
        self.declaration.split('(').next().unwrap_or_default()
    }

    /// Inputs and outputs of a transform.
    pub fn size(&self) -> Option<(usize, usize)> {
        let mut parts = self.name().split('_').skip(1);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    /// Name of the samples' format: `f16`, `i8` or `i4`.
    pub fn samples(&self) -> &'static str {
        self.name().split('_').nth(3).unwrap_or_default()
    }
}
