//! Streaming readers of recordings (VDIF, GUPPI raw, PSRDADA), writers of visibilities (npy/npz, UVFITS) and beams
//! (SIGPROC filterbank, GUPPI raw), and SPEAD over UDP ([`spead`]).

mod error;
pub mod read;
pub mod spead;
pub mod write;

pub use error::IoError;
