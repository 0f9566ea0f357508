//! Ways from Z3' to Z3, and from Y' to Y.
//!
//! | type | Z3' to Z3, a warp | memory |
//! |---|---|---|
//! | [`ByTransposes`] | the note's: 16 permutes, 16 shuffles, 48 selects | |
//! | [`ByShuffles`] | the planner's best without shared memory: as many | |
//! | [`ByWords`] | 16 words stored, 16 loaded, 16 permutes | 2 KiB |
//! | [`ByMatrixLoads`] | 16 words stored, 16 matrices loaded, 16 permutes | 2 KiB |
//! | [`ByMatrices`] (sm_90a) | 16 matrices stored, 16 loaded | 2 KiB |
//! | [`ByHalves`] (sm_90a) | 8 permutes, 8 shuffles, 24 selects, 8 matrices stored, 8 loaded | 1 KiB |
//!
//! Y' to Y takes 16 permutes in all of them.

use fringes_device::Shared;
use fringes_device::warp::bar_warp_sync;

use super::generated;

/// A way to do both transposes.
pub trait Transposes {
    /// Shared memory, or nothing.
    type Memory: Copy;

    /// Z3' to Z3.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together. Shared memory starts at a multiple of 128 bytes and has the size
    /// that the [module](self) says; no other warp uses it.
    unsafe fn z3(x: [u32; 16], memory: Self::Memory) -> [u32; 16];

    /// Y' to Y.
    #[inline(always)]
    fn y(x: [u32; 16]) -> [u32; 16] {
        generated::y(x)
    }
}

/// A local transpose and two warp transposes, the note's appendix A.
#[derive(Debug, Clone, Copy)]
pub enum ByTransposes {}

impl Transposes for ByTransposes {
    type Memory = ();

    #[inline(always)]
    unsafe fn z3(x: [u32; 16], (): ()) -> [u32; 16] {
        generated::z3_by_transposes(x)
    }
}

/// Shuffles as the planner orders them.
#[derive(Debug, Clone, Copy)]
pub enum ByShuffles {}

impl Transposes for ByShuffles {
    type Memory = ();

    #[inline(always)]
    unsafe fn z3(x: [u32; 16], (): ()) -> [u32; 16] {
        generated::z3_by_shuffles(x)
    }
}

/// Words of shared memory.
#[derive(Debug, Clone, Copy)]
pub enum ByWords {}

impl Transposes for ByWords {
    type Memory = Shared<u32>;

    #[inline(always)]
    unsafe fn z3(x: [u32; 16], memory: Shared<u32>) -> [u32; 16] {
        bar_warp_sync(u32::MAX); // after the loads of the transform before
        generated::z3_by_words(x, memory)
    }
}

/// Words stored to shared memory and matrices loaded.
#[derive(Debug, Clone, Copy)]
pub enum ByMatrixLoads {}

impl Transposes for ByMatrixLoads {
    type Memory = Shared<u32>;

    #[inline(always)]
    unsafe fn z3(x: [u32; 16], memory: Shared<u32>) -> [u32; 16] {
        bar_warp_sync(u32::MAX);
        generated::z3_by_matrix_loads(x, memory)
    }
}

#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub use hopper::{ByHalves, ByMatrices};

/// Ways by `stmatrix`.
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
mod hopper {
    use fringes_device::Shared;
    use fringes_device::warp::bar_warp_sync;

    use super::{Transposes, generated};

    /// Matrices stored to shared memory and loaded.
    #[derive(Debug, Clone, Copy)]
    pub enum ByMatrices {}

    impl Transposes for ByMatrices {
        type Memory = Shared<u32>;

        #[inline(always)]
        unsafe fn z3(x: [u32; 16], memory: Shared<u32>) -> [u32; 16] {
            bar_warp_sync(u32::MAX);
            generated::z3_by_matrices(x, memory)
        }
    }

    /// Real parts by shuffles, imaginary parts by matrices, so that neither the shuffles' selects nor shared memory
    /// takes the whole load.
    #[derive(Debug, Clone, Copy)]
    pub enum ByHalves {}

    impl Transposes for ByHalves {
        type Memory = Shared<u32>;

        #[inline(always)]
        unsafe fn z3(x: [u32; 16], memory: Shared<u32>) -> [u32; 16] {
            bar_warp_sync(u32::MAX);
            let [re, im] = halves(x);
            let im = generated::part_by_matrices(im, memory);
            join([generated::part_by_shuffles(re), im])
        }
    }

    /// Registers with the highest bit of their number, ReIm in Z3' and Z3, clear and set.
    #[inline(always)]
    fn halves([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]: [u32; 16]) -> [[u32; 8]; 2] {
        [[a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]]
    }

    /// What [`halves`] takes apart.
    #[inline(always)]
    fn join([[a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]]: [[u32; 8]; 2]) -> [u32; 16] {
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }
}
