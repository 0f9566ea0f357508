//! Writers of visibilities and beams, and numpy's array files both ways.
//!
//! - [`npy`]: one array a file, read and written.
//! - [`npz`]: a [`VisibilityCube`] `[integration][channel][baseline]` with its axes, as numpy's `savez` would store it.
//! - [`uvfits`]: the interchange format of interferometry packages, one integration at a time.
//! - [`uvh5`]: pyuvdata's HDF5 format, appended to while an observation runs; joined from files of some channels each.
//! - [`sigproc`]: filterbank files of detected beams, chunk after chunk.
//! - [`guppi`]: GUPPI raw files of beams' voltages, chunk after chunk.
//! - [`vdif`]: VDIF files of voltages in channels, chunk after chunk.

mod cube;
pub mod guppi;
pub mod npy;
pub mod npz;
mod observation;
pub mod sigproc;
pub mod uvfits;
pub mod uvh5;
pub mod vdif;
mod visibilities;

pub use cube::VisibilityCube;
pub use guppi::{GuppiEnd, GuppiWriter};
pub use npz::write_visibilities_npz;
pub use observation::BeamObservation;
pub use sigproc::{FilterbankSample, FilterbankWriter};
pub use uvfits::{UvfitsAntenna, UvfitsHeader, UvfitsIntegration, UvfitsWriter};
pub use uvh5::{Uvh5Writer, join_uvh5_channels};
pub use vdif::{VdifEnd, VdifOptions, VdifWriter};
pub use visibilities::{VisibilityAntenna, VisibilityHeader, VisibilityIntegration};
