//! Streaming readers of recordings (VDIF, GUPPI raw, PSRDADA) and writers of visibilities (npy/npz, UVFITS)
//! and beams (SIGPROC filterbank, GUPPI raw).

mod error;
pub mod read;
pub mod spead;
pub mod write;

pub use error::IoError;
