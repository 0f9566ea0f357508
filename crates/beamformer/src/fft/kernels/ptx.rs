//! The kernels' texts; see `manifest.json` beside each.

use fringes_fft::Size;
use fringes_fft::internals::has_kernel as has_phases;

/// The text of one size.
struct Text {
    inputs: usize,
    outputs: usize,
    ptx: &'static str,
}

macro_rules! texts {
    ($($size:literal: $inputs:literal, $outputs:literal;)*) => {
        &[$(Text {
            inputs: $inputs,
            outputs: $outputs,
            ptx: include_str!(concat!("../../../ptx/fft/", $size, "/fft-beams_sm_80.ptx")),
        }),*]
    };
}

/// By size.
const TEXTS: &[Text] = texts! {
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

/// The text of the kernels of beams with the transform of a size, if there is one.
pub(super) fn text(size: Size) -> Option<&'static str> {
    let is = |text: &&Text| text.inputs == size.inputs() && text.outputs == size.outputs();
    TEXTS.iter().find(is).filter(|_| has_phases(size)).map(|text| text.ptx)
}

/// Whether there are GPU kernels of beams with the transform of a size.
pub fn has_kernel(size: Size) -> bool {
    text(size).is_some()
}
