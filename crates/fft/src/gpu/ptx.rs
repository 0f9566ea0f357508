//! The kernels of a size.

use fringes_gpu::PtxSet;

use super::texts;
use crate::{Size, phases};

/// The part of a kernel crate for a size whose phases are known.
fn part(size: Size) -> Option<String> {
    phases::chain(size).map(|_| format!("{}_{}", size.inputs(), size.outputs()))
}

/// The kernels of a size's batches, if there are any.
pub(crate) fn batch(size: Size) -> Option<&'static PtxSet> {
    texts::fft_batch(&part(size)?)
}

/// The kernels of beams with the transform of a size, if there are any.
pub(crate) fn beams(size: Size) -> Option<&'static PtxSet> {
    texts::fft_beams(&part(size)?)
}

/// Whether there is a GPU kernel of a size.
pub fn has_kernel(size: Size) -> bool {
    batch(size).is_some()
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_beam_kernel(size: Size) -> bool {
    beams(size).is_some()
}
