//! The kernels' texts.

use crate::{Size, phases};

/// The text of a size's kernels.
macro_rules! texts {
    ($($size:literal: $inputs:literal, $outputs:literal;)*) => {
        &[$(($inputs, $outputs, include_str!(concat!("../../../ptx/beams/", $size, "/fft-beams_sm_80.ptx")))),*]
    };
}

/// Inputs, outputs and texts; see `manifest.json` beside each.
const TEXTS: &[(usize, usize, &str)] = texts! {
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

/// The text of the kernels of a size, if there is one.
pub(super) fn ptx(size: Size) -> Option<&'static str> {
    let is = |&&(inputs, outputs, _): &&(usize, usize, &str)| inputs == size.inputs() && outputs == size.outputs();
    TEXTS.iter().find(is).map(|(_, _, text)| *text)
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_kernel(size: Size) -> bool {
    ptx(size).is_some() && phases::chain(size).is_some()
}
