//! The kernels of a size.

use fringes_gpu::PtxSet;

use super::texts;
use crate::{Size, phases};

/// The kernels of a size whose phases are known, if there are any.
pub(crate) fn set(size: Size) -> Option<&'static PtxSet> {
    phases::chain(size)?;
    texts::fft_batch(&format!("{}_{}", size.inputs(), size.outputs()))
}

/// Whether there is a GPU kernel of a size.
pub fn has_kernel(size: Size) -> bool {
    set(size).is_some()
}
