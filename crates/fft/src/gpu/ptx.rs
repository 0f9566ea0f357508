//! The kernels' texts; see `manifest.json` beside each.

use crate::{Size, phases};

/// Texts of one size.
struct Texts {
    inputs: usize,
    outputs: usize,
    /// Batches of transforms.
    batch: &'static str,
    /// FFT beams.
    beams: &'static str,
}

macro_rules! texts {
    ($($size:literal: $inputs:literal, $outputs:literal;)*) => {
        &[$(Texts {
            inputs: $inputs,
            outputs: $outputs,
            batch: include_str!(concat!("../../ptx/", $size, "/fft-batch_sm_80.ptx")),
            beams: include_str!(concat!("../../ptx/beams/", $size, "/fft-beams_sm_80.ptx")),
        }),*]
    };
}

/// By size.
const TEXTS: &[Texts] = texts! {
    "64_64": 64, 64;
    "64_128": 64, 128;
    "128_128": 128, 128;
    "128_256": 128, 256;
    "256_256": 256, 256;
    "256_512": 256, 512;
    "512_512": 512, 512;
    "512_1024": 512, 1024;
    "1024_1024": 1024, 1024;
};

/// The texts of a size whose phases are known.
fn texts(size: Size) -> Option<&'static Texts> {
    let is = |texts: &&Texts| texts.inputs == size.inputs() && texts.outputs == size.outputs();
    phases::chain(size).and_then(|_| TEXTS.iter().find(is))
}

/// The text of the kernels of a size's batches, if there is one.
pub(crate) fn batch(size: Size) -> Option<&'static str> {
    texts(size).map(|texts| texts.batch)
}

/// The text of the kernels of beams with the transform of a size, if there is one.
pub(crate) fn beams(size: Size) -> Option<&'static str> {
    texts(size).map(|texts| texts.beams)
}

/// Whether there is a GPU kernel of a size.
pub fn has_kernel(size: Size) -> bool {
    batch(size).is_some()
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_beam_kernel(size: Size) -> bool {
    beams(size).is_some()
}
