//! The kernels' texts.

use crate::Size;

/// The text of the kernels of a size, if there is one; see `manifest.json` beside it.
pub(super) fn ptx(_: Size) -> Option<&'static str> {
    None
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_kernel(size: Size) -> bool {
    ptx(size).is_some() && crate::gpu::has_kernel(size)
}
