//! The kernels' texts; see `manifest.json` beside each.

use crate::{Size, phases};

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
            ptx: include_str!(concat!("../../ptx/", $size, "/fft-batch_sm_80.ptx")),
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

/// The text of the kernels of a size whose phases are known, if there is one.
pub(crate) fn text(size: Size) -> Option<&'static str> {
    let is = |text: &&Text| text.inputs == size.inputs() && text.outputs == size.outputs();
    phases::chain(size).and_then(|_| TEXTS.iter().find(is)).map(|text| text.ptx)
}

/// Whether there is a GPU kernel of a size.
pub fn has_kernel(size: Size) -> bool {
    text(size).is_some()
}
