//! The kernels' texts.

use crate::{Size, phases};

/// The text of the kernels of a size, if there is one; see `manifest.json` beside it.
pub(crate) fn ptx(_: Size) -> Option<&'static str> {
    None
}

/// Whether there is a GPU kernel of a size.
pub fn has_kernel(size: Size) -> bool {
    ptx(size).is_some() && phases::chain(size).is_some()
}
