#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels that scale voltages `[channel][time][input]` of f32 by gains and round them to integers.
//!
//! | kernel | output |
//! |---|---|
//! | `quantise_i8` | two bytes a value, -127 to 127 |
//! | `quantise_i4` | 4+4 bits a value, the real part in the high ones, -7 to 7 |
//!
//! How they work is said in [`quantise`].

pub mod quantise;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

use quantise::{I4, I8, Integers, Quantise};

/// Quantises what fits, and traps where it does not.
#[inline(always)]
fn quantise<F: Integers>(quantise: Quantise<F>) {
    if quantise.fit() {
        // SAFETY: the views hold what the sizes say.
        unsafe { quantise.run() }
    } else {
        trap()
    }
}

fringes_device::kernel! {
    /// Quantises to 8 bits. See [`quantise`](mod@quantise).
    #[launch(threads(256))]
    pub fn quantise_i8(from: Global<[f32; 2]>, to: GlobalMut<u16>, gains: Global<[f32; 2]>, present: Global<u8>, saturated: GlobalMut<u64>, channels: u32, times: u32, inputs: u32, runs: u32) {
        quantise::<I8>(Quantise { from, to, gains, present, saturated, channels, times, inputs, runs })
    }

    /// Quantises to 4+4 bits. See [`quantise`](mod@quantise).
    #[launch(threads(256))]
    pub fn quantise_i4(from: Global<[f32; 2]>, to: GlobalMut<u8>, gains: Global<[f32; 2]>, present: Global<u8>, saturated: GlobalMut<u64>, channels: u32, times: u32, inputs: u32, runs: u32) {
        quantise::<I4>(Quantise { from, to, gains, present, saturated, channels, times, inputs, runs })
    }
}
