//! The integration tests of `fringes-io`, one program.

mod read_dada;
mod read_guppi;
mod read_support;
mod read_vdif;
mod spead;
mod write_guppi;
mod write_npy;
mod write_npz;
mod write_sigproc;
mod write_uvfits;
mod write_uvh5;
mod write_vdif;
