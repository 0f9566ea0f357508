//! The kernels of a size.

use fringes_fft::Size;
use fringes_fft::internals::has_kernel as has_phases;
use fringes_gpu::PtxSet;

use super::texts;

/// The kernels of beams with the transform of a size, if there are any.
pub(super) fn set(size: Size) -> Option<&'static PtxSet> {
    texts::fft_beams(&format!("{}_{}", size.inputs(), size.outputs())).filter(|_| has_phases(size))
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_kernel(size: Size) -> bool {
    set(size).is_some()
}
