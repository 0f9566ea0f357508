//! Where the first of some passes finds its points, and the last one puts them, if not in the slots: in the workspace.

use fringes_kernels_common::complex::Complex;

/// Where some passes begin and end.
///
/// The points of a butterfly are as far apart as each other.
pub trait Ends: Copy {
    /// Whether the first pass takes points from elsewhere.
    const FROM: bool;
    /// Whether the last pass puts them elsewhere.
    const TO: bool;

    /// Place of point 0 of a butterfly of so many points.
    fn first(&self, s: u32, block: u32, j: u32, radix: u32) -> u32;

    /// Places from point to point, for points that are `distance` apart in the slots.
    fn apart(&self, distance: u32) -> u32;

    /// Loads a point.
    ///
    /// # Safety
    /// - It is one of a butterfly, and `FROM`.
    unsafe fn load(&self, place: u32) -> Complex;

    /// Stores a point.
    ///
    /// # Safety
    /// - It is one of a butterfly, and `TO`; no other thread uses it.
    unsafe fn store(&self, place: u32, value: Complex);
}

/// All passes in the slots.
#[derive(Clone, Copy)]
pub struct InPlace;

impl Ends for InPlace {
    const FROM: bool = false;
    const TO: bool = false;

    #[inline(always)]
    fn first(&self, _: u32, _: u32, _: u32, _: u32) -> u32 {
        0
    }

    #[inline(always)]
    fn apart(&self, _: u32) -> u32 {
        0
    }

    #[inline(always)]
    unsafe fn load(&self, _: u32) -> Complex {
        [0.0; 2]
    }

    #[inline(always)]
    unsafe fn store(&self, _: u32, _: Complex) {}
}
