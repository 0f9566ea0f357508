//! The kernels' texts.

use crate::{Size, phases};

/// The text of the kernels of a size, if there is one; see `manifest.json` beside it.
pub(super) fn ptx(size: Size) -> Option<&'static str> {
    Some(match (size.inputs(), size.outputs()) {
        (256, 512) => include_str!("../../../ptx/beams/256_512/fft-beams_sm_80.ptx"),
        _ => return None,
    })
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_kernel(size: Size) -> bool {
    ptx(size).is_some() && phases::chain(size).is_some()
}
