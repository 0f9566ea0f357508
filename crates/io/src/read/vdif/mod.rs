//! VDIF, the VLBI Data Interchange Format: frames of one thread each, of constant length.
//!
//! | module | does |
//! |---|---|
//! | [`header`] | the fields of a frame header |
//! | [`scan`] | what the first frames say of the recording |
//! | [`sync`] | where the next good frame is |
//! | [`unpack`] | from bits to numbers |
//! | [`reader`] | frames to blocks |

mod header;
mod reader;
mod scan;
mod sync;
mod unpack;

pub(super) use header::{Header, Layout};
pub(super) use reader::VdifReader;
pub(super) use sync::find_first_frame;
