//! Streaming readers of recordings (VDIF, GUPPI raw, PSRDADA) and writers of visibilities (npy/npz, UVFITS, UVH5)
//! and beams (SIGPROC filterbank, GUPPI raw, VDIF), and SPEAD over UDP ([`spead`]).

mod error;
pub mod read;
pub mod spead;
pub mod write;

pub use error::IoError;
