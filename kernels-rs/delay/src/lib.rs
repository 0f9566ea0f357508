#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
// A PTX has one part of the kernels, and uses what that needs.
#![cfg_attr(target_arch = "nvptx64", allow(unused_imports, unused_macros, dead_code))]
//! Kernels of delays, for samples and for voltages that are channelised already.
//!
//! | kernel | what | module |
//! |---|---|---|
//! | `shift`, `shift_any` | rows of samples of 1 to 64 bits, each late by whole samples | [`coarse`] |
//! | `rotate_{i4,i8,f16,f32}` | voltages `[channel][time][input]` times gains and phases | [`rotate`] |
//! | `rotate_heaps_{i4,i8,f16,f32}` | the same of heaps `[batch][antenna][channel][spectrum][pol]` | |
//! | `rotate_rows_{i4,i8,f16,f32}` | the same of the correlator's rows `[channel][time / R][input][R]` | |
//! | `rotate_any_{i4,i8,f16,f32}` | the same of voltages and heaps of any sizes, sample by sample | |
//! | `..._dithered`, of i4 and i8 | the same, [dithered](fringes_kernels_common::dither) before it is rounded | |
//!
//! `_any` takes sizes that do not fill the others' loads. A PTX has the kernels of a shift, or those of a format, which
//! a feature of this crate chooses.

pub mod coarse;
pub mod layout;
pub mod rotate;
pub mod work;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};
use fringes_kernels_common::format::{F16, F32, Format, I4, I8};

use coarse::Shift;
use layout::{Any, Heaps, Layout, Rows, Voltages};
use rotate::Rotation;

#[cfg(any(not(target_arch = "nvptx64"), feature = "shift"))]
fringes_device::kernel! {
    /// Delays rows of samples, by pieces of 16 bytes: rows of `to` begin at multiples of 16 bytes. See [`coarse`].
    #[launch(threads(256))]
    pub fn shift(from: Global<u8>, to: GlobalMut<u8>, coarse: Global<i64>, inputs: u32, bits: u32, from_times: u64, to_times: u64, from_stride: u64, to_stride: u64) {
        let shift = Shift { from, to, coarse, inputs, bits, from_times, to_times, from_stride, to_stride };
        match if shift.fit() { shift.tiles(16, coarse::PIECES) } else { None } {
            // SAFETY: the views hold what the sizes say, and pieces are whole.
            Some(tiles) if shift.whole() => unsafe { shift.pieces(tiles) },
            _ => trap(),
        }
    }

    /// Delays rows of samples, byte by byte. See [`coarse`].
    #[launch(threads(256))]
    pub fn shift_any(from: Global<u8>, to: GlobalMut<u8>, coarse: Global<i64>, inputs: u32, bits: u32, from_times: u64, to_times: u64, from_stride: u64, to_stride: u64) {
        let shift = Shift { from, to, coarse, inputs, bits, from_times, to_times, from_stride, to_stride };
        match if shift.fit() { shift.tiles(1, coarse::BYTES) } else { None } {
            // SAFETY: the views hold what the sizes say.
            Some(tiles) => unsafe { shift.bytes(tiles) },
            None => trap(),
        }
    }
}

/// Rotates what fits, and traps where it does not.
#[inline(always)]
fn rotate<F: Format, L: Layout, const DITHER: bool>(rotation: Rotation<L>) {
    match if rotation.fit::<F>() { rotation.tiles::<F>() } else { None } {
        // SAFETY: the views hold what the sizes say, and runs are whole; the host gives views at multiples of 16 bytes.
        Some(tiles) => unsafe { rotation.run::<F, DITHER>(tiles) },
        None => trap(),
    }
}

/// The kernels of a format, by the part that has them: samples of a run of voltages and runs of a thread, samples of
/// other runs, samples of a row.
macro_rules! rotate {
    ($($part:literal, $what:literal, $dither:literal, $format:ty, [$n:literal, $k:literal, $run:literal, $row:literal], $voltages:ident, $heaps:ident, $rows:ident, $any:ident;)*) => { $(
        const _: () = {
            let format = <$format as Format>::FORMAT;
            let runs = fringes_kernel_abi::delay::runs(format);
            assert!(runs.voltages == $n && runs.times == $k && runs.heaps == $run && format.row_times() == $row);
        };

        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!("Rotates ", $what, " voltages `[channel][time][input]`; inputs are a multiple of ", stringify!($n), ". See [`rotate`](mod@rotate).")]
            #[launch(threads(256), min_blocks(2))]
            pub fn $voltages(from: Global<u8>, to: GlobalMut<u8>, phases: Global<[u64; 2]>, gains: Global<[f32; 2]>, saturated: GlobalMut<u64>, channels: u32, times: u32, inputs: u32, first_channel: u32, seed: u64, first_spectrum: u64) {
                let layout = Voltages::<$n, $k> { channels, times, inputs };
                rotate::<$format, _, $dither>(Rotation { layout, from, to, phases, gains, saturated, first_channel, seed, first_spectrum });
            }

            #[doc = concat!("Rotates heaps of ", $what, " samples; spectra by polarisations are a multiple of ", stringify!($run), ". See [`rotate`](mod@rotate).")]
            #[launch(threads(256), min_blocks(2))]
            pub fn $heaps(from: Global<u8>, to: GlobalMut<u8>, phases: Global<[u64; 2]>, gains: Global<[f32; 2]>, saturated: GlobalMut<u64>, channels: u32, antennas: u32, pols: u32, batches: u32, spectra: u32, first_channel: u32, seed: u64, first_spectrum: u64) {
                if pols == 1 {
                    let layout = Heaps::<$run, 1> { channels, antennas, batches, spectra };
                    rotate::<$format, _, $dither>(Rotation { layout, from, to, phases, gains, saturated, first_channel, seed, first_spectrum });
                } else if pols == 2 {
                    let layout = Heaps::<$run, 2> { channels, antennas, batches, spectra };
                    rotate::<$format, _, $dither>(Rotation { layout, from, to, phases, gains, saturated, first_channel, seed, first_spectrum });
                } else {
                    trap();
                }
            }

            #[doc = concat!("Rotates the correlator's rows of ", $what, " samples. See [`rotate`](mod@rotate).")]
            #[launch(threads(256), min_blocks(2))]
            pub fn $rows(from: Global<u8>, to: GlobalMut<u8>, phases: Global<[u64; 2]>, gains: Global<[f32; 2]>, saturated: GlobalMut<u64>, channels: u32, times: u32, inputs: u32, first_channel: u32, seed: u64, first_spectrum: u64) {
                let layout = Rows::<$run, $row> { channels, times, inputs };
                rotate::<$format, _, $dither>(Rotation { layout, from, to, phases, gains, saturated, first_channel, seed, first_spectrum });
            }

            #[doc = concat!("Rotates heaps of ", $what, " samples of any sizes, sample by sample. See [`rotate`](mod@rotate).")]
            #[launch(threads(256), min_blocks(2))]
            pub fn $any(from: Global<u8>, to: GlobalMut<u8>, phases: Global<[u64; 2]>, gains: Global<[f32; 2]>, saturated: GlobalMut<u64>, channels: u32, antennas: u32, pols: u32, batches: u32, spectra: u32, first_channel: u32, seed: u64, first_spectrum: u64) {
                let layout = Any { channels, antennas, pols, batches, spectra };
                rotate::<$format, _, $dither>(Rotation { layout, from, to, phases, gains, saturated, first_channel, seed, first_spectrum });
            }
        }
    )* };
}

rotate! {
    "i4", "4+4-bit", false, I4, [4, 2, 8, 128], rotate_i4, rotate_heaps_i4, rotate_rows_i4, rotate_any_i4;
    "i8", "8-bit", false, I8, [4, 2, 8, 64], rotate_i8, rotate_heaps_i8, rotate_rows_i8, rotate_any_i8;
    "f16", "f16", false, F16, [4, 2, 4, 32], rotate_f16, rotate_heaps_f16, rotate_rows_f16, rotate_any_f16;
    "f32", "f32", false, F32, [2, 4, 2, 16], rotate_f32, rotate_heaps_f32, rotate_rows_f32, rotate_any_f32;
    "i4", "4+4-bit", true, I4, [4, 2, 8, 128], rotate_i4_dithered, rotate_heaps_i4_dithered, rotate_rows_i4_dithered, rotate_any_i4_dithered;
    "i8", "8-bit", true, I8, [4, 2, 8, 64], rotate_i8_dithered, rotate_heaps_i8_dithered, rotate_rows_i8_dithered, rotate_any_i8_dithered;
}
