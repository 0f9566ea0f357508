//! Writers of visibilities, and numpy's array files both ways.
//!
//! - [`npy`]: one array a file, read and written.
//! - [`npz`]: a [`VisibilityCube`] `[integration][channel][baseline]` with its axes, as numpy's `savez` would store it.
//! - [`uvfits`]: the interchange format of interferometry packages, one integration at a time.

mod cube;
pub mod npy;
pub mod npz;
pub mod uvfits;

pub use cube::VisibilityCube;
pub use npz::write_visibilities_npz;
pub use uvfits::{UvfitsAntenna, UvfitsHeader, UvfitsIntegration, UvfitsWriter};
