//! FFT beams on the GPU: one launch for all lines, polarisations, channels and times.

mod batch;
mod device;
mod shape;

pub(crate) use batch::form_beams;
pub use batch::memory;
pub use device::DeviceBeams;
pub use shape::{BLOCK_WARPS, BeamLaunch, BeamShape};
