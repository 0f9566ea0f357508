#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels of the correlator: [`pack`](mod@pack) voltages into rows, [`correlate`](mod@correlate) rows into visibilities.
//!
//! | kernel | in | out |
//! |---|---|---|
//! | [`pack_i8()`], [`pack_i8_any()`] | 8-bit voltages `[channel][time][input]` | rows |
//! | [`pack_i4()`], [`pack_i4_any()`] | 4+4-bit voltages `[channel][time][input]` | rows |
//! | [`correlate_i8()`] | rows | `[channel][baseline]` of i32 pairs |
//! | [`correlate_i8_add()`] | rows | added to `[channel][baseline]` of i64 pairs |
//!
//! *Rows* are `[channel][time / 64][input][64]` complex 8-bit samples: 128 bytes, time fastest ([`rows`]). Baselines are the packed
//! lower triangle, `a (a + 1) / 2 + b` for inputs `a >= b`.
//!
//! The entry points are thin: [`correlate`] and [`mod@pack`] hold the code.

pub mod correlate;
pub mod pack;
mod places;
pub mod rows;
pub mod tile;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

/// A pack kernel, which checks the lengths of its views.
macro_rules! pack {
    ($(#[doc = $doc:literal])* $name:ident, $bytes:literal, $wide:literal) => {
        fringes_device::kernel! {
            $(#[doc = $doc])*
            #[launch(threads(256), shared_bytes(8192))]
            pub fn $name(voltages: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, times: u32, inputs: u32) {
                let (spectra, samples) = (u64::from(times) * u64::from(inputs), rows::bytes(channels, times.into(), inputs));
                let fits = (inputs % 8 == 0 || !$wide)
                    && rows::product(channels, spectra) <= voltages.len() as u64 / $bytes
                    && (present.is_empty() || spectra <= present.len() as u64)
                    && samples <= rows.len() as u64;
                if fits {
                    // SAFETY: the views hold what the sizes say.
                    unsafe { pack::pack::<$bytes, $wide>(voltages, present, rows, channels, times, inputs) }
                } else {
                    trap();
                }
            }
        }
    };
}

pack! {
    /// Packs 8-bit voltages into rows, 8 inputs a load: `inputs` must be a multiple of 8. See [`mod@pack`].
    pack_i8, 2, true
}
pack! {
    /// Packs 8-bit voltages of any number of inputs into rows. See [`mod@pack`].
    pack_i8_any, 2, false
}
pack! {
    /// Packs 4+4-bit voltages into 8-bit rows, 8 inputs a load: `inputs` must be a multiple of 8. See [`mod@pack`].
    pack_i4, 1, true
}
pack! {
    /// Packs 4+4-bit voltages of any number of inputs into 8-bit rows. See [`mod@pack`].
    pack_i4_any, 1, false
}

fringes_device::kernel! {
    /// Correlates rows into `[channel][baseline]` pairs of i32. See [`mod@correlate`].
    #[launch(threads(256), min_blocks(1), shared_bytes(98304))]
    pub fn correlate_i8(rows: Global<u8>, sums: GlobalMut<[i32; 2]>, channels: u32, inputs: u32, blocks: u32, first_block: u32, times: u32) {
        correlate::checked(rows, sums, channels, inputs, correlate::Times { blocks, first_block, times })
    }

    /// Correlates rows and adds to `[channel][baseline]` pairs of i64. See [`mod@correlate`].
    #[launch(threads(256), min_blocks(1), shared_bytes(98304))]
    pub fn correlate_i8_add(rows: Global<u8>, sums: GlobalMut<[i64; 2]>, channels: u32, inputs: u32, blocks: u32, first_block: u32, times: u32) {
        correlate::checked(rows, sums, channels, inputs, correlate::Times { blocks, first_block, times })
    }
}
