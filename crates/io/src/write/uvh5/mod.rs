//! UVH5: HDF5 as pyuvdata reads and writes it, appended to while an observation runs.

mod fields;
mod hdf5;
mod sky;
mod writer;

pub use writer::Uvh5Writer;
