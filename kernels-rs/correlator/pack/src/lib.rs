#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels around the correlator: voltages to [`rows`], sums to visibilities.
//!
//! Into rows `[channel][time / R][input][R]` of 128 bytes, for the formats `i4` (`R` = 128, 4+4 bits), `i8` (64), `f16`
//! (32) and `f32` (16):
//!
//! | kernel | in | module |
//! |---|---|---|
//! | `pack_{i4,i8,f16,f32}`, `..._any` | voltages `[channel][time][input]` or `[time][channel][input]` | [`voltages`] |
//! | `pack_heaps_{i4,i8,f16,f32}`, `..._any` | heaps `[batch][antenna][channel][spectrum][pol]` | [`heaps`] |
//! | `pack_tcc_{i4,i8,f16,f32}`, `..._any` | runs `[channel][time / k][antenna][pol][k]` | [`tcc`] |
//!
//! The kernels `_any` take any sizes and samples at any multiple of their size; the others move 16 bytes at a time, for
//! which they ask multiples of that (see the modules). Times of the last row past the end become zero, as do absent
//! samples. Every byte of the rows is written.
//!
//! From packed lower triangles `[part][channel][baseline]`, the sum of the parts, in the order of the triangle, of
//! antenna `pairs`, or as the `full` matrix:
//!
//! | kernel | in | out `[channel][position]` |
//! |---|---|---|
//! | `reduce_{i64,f64}`, `..._pairs`, `..._full` | pairs of i64, f64 | the same type, in either order or full |
//! | `reduce_i32`, `..._pairs`, `..._full` | pairs of i32 | pairs of i64 |
//! | `clamp_{i32,i64}`, `..._pairs`, `..._full` | pairs of i32, i64 | i32, clamped to `+-(2^31 - 1)`, counted; marked if missing |
//! | `reorder_{i32,f32}_{pairs,full}` | pairs of i32, f32, one part | the same type |
//! | `add_parts_{i32,f32}` | pairs of i32, f32 | added to pairs of i64, f64 in the order of the triangle |
//!
//! All of it is in [`reduce`] and [`sums`]. With one part, `reduce_...` only reorders. The result does not depend on
//! the launch: parts of floats are added in their order.

pub mod heaps;
pub mod pieces;
pub mod reduce;
pub mod rows;
pub mod sums;
pub mod tcc;
pub mod voltages;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};
use fringes_kernels_correlator_core::baseline::{MOST_INPUTS, pairs_len, triangle_len};

use heaps::Heaps;
use reduce::{Order, Reduction, TILE};
use rows::Rows;
use sums::{Clamped, Form, Same, Wide};
use tcc::Runs;
use voltages::Voltages;

/// The six pack kernels of a format: name and bytes of a sample.
macro_rules! pack {
    ($bytes:literal, $format:literal, $pack:ident, $pack_any:ident, $heaps:ident, $heaps_any:ident, $tcc:ident, $tcc_any:ident) => {
        fringes_device::kernel! {
            #[doc = concat!("Packs ", $format, " voltages in whole pieces: inputs and strides are multiples of 16 bytes. See [`voltages`].")]
            #[launch(threads(256))]
            pub fn $pack(voltages: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, times: u32, inputs: u32, channel_stride: u64, time_stride: u64) {
                let voltages = Voltages { samples: voltages, present, channels, times, inputs, channel_stride, time_stride };
                let fits = voltages.fit::<$bytes>() && voltages.whole::<$bytes>();
                let rows = Rows::new::<$bytes>(rows, channels, times, inputs);
                match rows.and_then(|rows| Some((rows, voltages.tiles(&rows, voltages::inputs::<$bytes>())?))) {
                    // SAFETY: the views hold what the sizes say, and pieces are whole.
                    Some((rows, tiles)) if fits => unsafe { voltages.pack::<$bytes, true>(rows, tiles) },
                    _ => trap(),
                }
            }

            #[doc = concat!("Packs ", $format, " voltages of any number of inputs. See [`voltages`].")]
            #[launch(threads(256))]
            pub fn $pack_any(voltages: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, times: u32, inputs: u32, channel_stride: u64, time_stride: u64) {
                let voltages = Voltages { samples: voltages, present, channels, times, inputs, channel_stride, time_stride };
                let fits = voltages.fit::<$bytes>();
                let rows = Rows::new::<$bytes>(rows, channels, times, inputs);
                match rows.and_then(|rows| Some((rows, voltages.tiles(&rows, voltages::inputs::<$bytes>())?))) {
                    // SAFETY: the views hold what the sizes say.
                    Some((rows, tiles)) if fits => unsafe { voltages.pack::<$bytes, false>(rows, tiles) },
                    _ => trap(),
                }
            }

            #[doc = concat!("Packs heaps of ", $format, " samples in whole pieces: heaps are multiples of 16 bytes a channel. See [`heaps`].")]
            #[launch(threads(256), min_blocks(2))]
            pub fn $heaps(heaps: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, antennas: u32, pols: u32, batches: u32, spectra: u32, first_time: u32, times: u32) {
                let heaps = Heaps { samples: heaps, present, channels, antennas, pols, batches, spectra, first_time, times };
                let fits = heaps.fit::<$bytes>() && heaps.whole::<$bytes>();
                let rows = if fits { Rows::new::<$bytes>(rows, channels, times, heaps.inputs()) } else { None };
                match rows.and_then(|rows| Some((rows, heaps.tiles(&rows, heaps::INPUTS, heaps::BLOCKS)?))) {
                    // SAFETY: the views hold what the sizes say, and pieces are whole.
                    Some((rows, tiles)) if pols == 1 => unsafe { heaps.pack::<$bytes, 1>(rows, tiles) },
                    // SAFETY: as above.
                    Some((rows, tiles)) => unsafe { heaps.pack::<$bytes, 2>(rows, tiles) },
                    None => trap(),
                }
            }

            #[doc = concat!("Packs heaps of ", $format, " samples of any number of spectra. See [`heaps`].")]
            #[launch(threads(256))]
            pub fn $heaps_any(heaps: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, antennas: u32, pols: u32, batches: u32, spectra: u32, first_time: u32, times: u32) {
                let heaps = Heaps { samples: heaps, present, channels, antennas, pols, batches, spectra, first_time, times };
                let rows = if heaps.fit::<$bytes>() { Rows::new::<$bytes>(rows, channels, times, heaps.inputs()) } else { None };
                match rows.and_then(|rows| Some((rows, heaps.tiles(&rows, heaps::ANY_INPUTS, 1)?))) {
                    // SAFETY: the views hold what the sizes say.
                    Some((rows, tiles)) => unsafe { heaps.pack_any::<$bytes>(rows, tiles) },
                    None => trap(),
                }
            }

            #[doc = concat!("Packs runs of ", $format, " samples, all present, from a multiple of a run on. See [`tcc`].")]
            #[launch(threads(256))]
            pub fn $tcc(samples: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, inputs: u32, runs: u32, first_time: u32, times: u32, swap: u32) {
                let source = Runs { samples, present, channels, inputs, runs, first_time, times, swap };
                let fits = source.fit::<$bytes>() && source.whole::<$bytes>();
                let rows = Rows::new::<$bytes>(rows, channels, times, inputs);
                match rows.and_then(|rows| Some((rows, source.tiles(&rows, tcc::INPUTS)?))) {
                    // SAFETY: the views hold what the sizes say, and pieces are whole.
                    Some((rows, tiles)) if fits => unsafe { source.pack::<$bytes>(rows, tiles) },
                    _ => trap(),
                }
            }

            #[doc = concat!("Packs runs of ", $format, " samples from any time on, with or without presence flags. See [`tcc`].")]
            #[launch(threads(256))]
            pub fn $tcc_any(samples: Global<u8>, present: Global<u8>, rows: GlobalMut<u8>, channels: u32, inputs: u32, runs: u32, first_time: u32, times: u32, swap: u32) {
                let source = Runs { samples, present, channels, inputs, runs, first_time, times, swap };
                let fits = source.fit::<$bytes>();
                let rows = Rows::new::<$bytes>(rows, channels, times, inputs);
                match rows.and_then(|rows| Some((rows, source.tiles(&rows, tcc::ANY_INPUTS)?))) {
                    // SAFETY: the views hold what the sizes say.
                    Some((rows, tiles)) if fits => unsafe { source.pack_any::<$bytes>(rows, tiles) },
                    _ => trap(),
                }
            }
        }
    };
}

pack!(1, "4+4-bit", pack_i4, pack_i4_any, pack_heaps_i4, pack_heaps_i4_any, pack_tcc_i4, pack_tcc_i4_any);
pack!(2, "8-bit", pack_i8, pack_i8_any, pack_heaps_i8, pack_heaps_i8_any, pack_tcc_i8, pack_tcc_i8_any);
pack!(4, "f16", pack_f16, pack_f16_any, pack_heaps_f16, pack_heaps_f16_any, pack_tcc_f16, pack_tcc_f16_any);
pack!(8, "f32", pack_f32, pack_f32_any, pack_heaps_f32, pack_heaps_f32_any, pack_tcc_f32, pack_tcc_f32_any);

/// Checks the sizes of a reduction and writes the order of the triangle.
#[inline(always)]
fn triangle<F: Form>(reduction: Reduction<F>) {
    let positions = reduction.baselines;
    if reduction.fit(positions.into()) {
        // SAFETY: the views hold what the sizes say.
        unsafe { reduction.positions(Order::Triangle, positions) }
    } else {
        trap();
    }
}

/// Checks the sizes of a reduction and writes the order of antenna pairs.
#[inline(always)]
fn pairs<F: Form>(reduction: Reduction<F>, antennas: u32) {
    let positions = pairs_len(antennas.min(SIDE / 2));
    if antennas <= SIDE / 2 && reduction.fit(positions.into()) {
        // SAFETY: the views hold what the sizes say.
        unsafe { reduction.positions(Order::Pairs, positions) }
    } else {
        trap();
    }
}

/// Checks the sizes of a reduction and writes the full order.
#[inline(always)]
fn full<F: Form>(reduction: Reduction<F>, inputs: u32) {
    let bytes = (TILE * TILE) as usize;
    let fits = inputs <= SIDE
        && reduction.fit(u64::from(inputs) * u64::from(inputs))
        && fringes_device::Shared::<F::To>::dynamic().len() >= bytes;
    if fits {
        // SAFETY: the views and shared memory hold what the sizes say.
        unsafe { reduction.tiles(inputs) }
    } else {
        trap();
    }
}

/// Most inputs of a reduction.
const SIDE: u32 = MOST_INPUTS;

/// Baselines of so many inputs; of too many, as of the most, which is refused as well.
#[inline(always)]
fn baselines(inputs: u32) -> u32 {
    triangle_len(inputs.min(SIDE))
}

/// A reduction without flags and counts.
#[inline(always)]
fn plain<F: Form>(
    parts: Global<F::Part>,
    number: u32,
    channels: u32,
    baselines: u32,
    out: GlobalMut<F::To>,
) -> Reduction<F> {
    // SAFETY: no values.
    let (missing, saturated) = unsafe { (Global::from_raw_parts(0, 0), GlobalMut::from_raw_parts(0, 0)) };
    Reduction { parts, out, missing, saturated, number, channels, baselines }
}

/// Kernels that add up parts, in 64 bits.
macro_rules! reduce {
    ($($part:ty, $wide:ty, $name:literal, $triangle:ident, $pairs:ident, $full:ident;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Adds up parts of ", $name, ", triangle to triangle. See [`reduce`](mod@reduce).")]
            #[launch(threads(256))]
            pub fn $triangle(parts: Global<[$part; 2]>, out: GlobalMut<[$wide; 2]>, number: u32, channels: u32, baselines: u32) {
                triangle(plain::<Wide<[$part; 2]>>(parts, number, channels, baselines, out));
            }

            #[doc = concat!("Adds up parts of ", $name, " into the order of antenna pairs. See [`reduce`](mod@reduce).")]
            #[launch(threads(256))]
            pub fn $pairs(parts: Global<[$part; 2]>, out: GlobalMut<[$wide; 2]>, number: u32, channels: u32, antennas: u32) {
                pairs(plain::<Wide<[$part; 2]>>(parts, number, channels, baselines(2 * antennas.min(SIDE)), out), antennas);
            }

            #[doc = concat!("Adds up parts of ", $name, " into the full order. See [`reduce`](mod@reduce).")]
            #[launch(threads(256), shared_bytes(16384))]
            pub fn $full(parts: Global<[$part; 2]>, out: GlobalMut<[$wide; 2]>, number: u32, channels: u32, inputs: u32) {
                full(plain::<Wide<[$part; 2]>>(parts, number, channels, baselines(inputs), out), inputs);
            }
        }
    )* };
}

reduce! {
    i64, i64, "i64 pairs", reduce_i64, reduce_i64_pairs, reduce_i64_full;
    f64, f64, "f64 pairs", reduce_f64, reduce_f64_pairs, reduce_f64_full;
    i32, i64, "i32 pairs to pairs of i64", reduce_i32, reduce_i32_pairs, reduce_i32_full;
}

/// Kernels that reorder narrow sums.
macro_rules! reorder {
    ($($part:ty, $name:literal, $pairs:ident, $full:ident;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Writes a triangle of ", $name, " pairs in the order of antenna pairs. See [`reduce`](mod@reduce).")]
            #[launch(threads(256))]
            pub fn $pairs(triangle: Global<[$part; 2]>, out: GlobalMut<[$part; 2]>, channels: u32, antennas: u32) {
                pairs(plain::<Same<[$part; 2]>>(triangle, 1, channels, baselines(2 * antennas.min(SIDE)), out), antennas);
            }

            #[doc = concat!("Writes a triangle of ", $name, " pairs in the full order. See [`reduce`](mod@reduce).")]
            #[launch(threads(256), shared_bytes(8192))]
            pub fn $full(triangle: Global<[$part; 2]>, out: GlobalMut<[$part; 2]>, channels: u32, inputs: u32) {
                full(plain::<Same<[$part; 2]>>(triangle, 1, channels, baselines(inputs), out), inputs);
            }
        }
    )* };
}

reorder! {
    i32, "i32", reorder_i32_pairs, reorder_i32_full;
    f32, "f32", reorder_f32_pairs, reorder_f32_full;
}

/// Kernels that add up parts and clamp the sums to 32 bits.
macro_rules! clamp {
    ($($part:ty, $name:literal, $triangle:ident, $pairs:ident, $full:ident;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Adds up parts of ", $name, " pairs and clamps them to 32 bits, triangle to triangle. See [`reduce`](mod@reduce).")]
            #[launch(threads(256))]
            pub fn $triangle(parts: Global<[$part; 2]>, out: GlobalMut<[i32; 2]>, missing: Global<u8>, saturated: GlobalMut<u64>, number: u32, channels: u32, baselines: u32) {
                triangle(Reduction::<Clamped<[$part; 2]>> { parts, out, missing, saturated, number, channels, baselines });
            }

            #[doc = concat!("Adds up parts of ", $name, " pairs and clamps them to 32 bits, into the order of antenna pairs. See [`reduce`](mod@reduce).")]
            #[launch(threads(256), min_blocks(2))]
            pub fn $pairs(parts: Global<[$part; 2]>, out: GlobalMut<[i32; 2]>, missing: Global<u8>, saturated: GlobalMut<u64>, number: u32, channels: u32, antennas: u32) {
                let baselines = baselines(2 * antennas.min(SIDE));
                pairs(Reduction::<Clamped<[$part; 2]>> { parts, out, missing, saturated, number, channels, baselines }, antennas);
            }

            #[doc = concat!("Adds up parts of ", $name, " pairs and clamps them to 32 bits, into the full order. See [`reduce`](mod@reduce).")]
            #[launch(threads(256), min_blocks(3), shared_bytes(8192))]
            pub fn $full(parts: Global<[$part; 2]>, out: GlobalMut<[i32; 2]>, missing: Global<u8>, saturated: GlobalMut<u64>, number: u32, channels: u32, inputs: u32) {
                let baselines = baselines(inputs);
                full(Reduction::<Clamped<[$part; 2]>> { parts, out, missing, saturated, number, channels, baselines }, inputs);
            }
        }
    )* };
}

clamp! {
    i64, "i64", clamp_i64, clamp_i64_pairs, clamp_i64_full;
    i32, "i32", clamp_i32, clamp_i32_pairs, clamp_i32_full;
}

fringes_device::kernel! {
    /// Adds parts of i32 pairs to i64 pairs, `len` values each. See [`reduce::add_parts`].
    #[launch(threads(256))]
    pub fn add_parts_i32(parts: Global<[i32; 2]>, sums: GlobalMut<[i64; 2]>, number: u32, len: u64) {
        if len <= sums.len() as u64 && len.saturating_mul(number.into()) <= parts.len() as u64 {
            // SAFETY: the views hold what the sizes say.
            unsafe { reduce::add_parts(parts, sums, number, len) }
        } else {
            trap();
        }
    }

    /// Adds parts of f32 pairs to f64 pairs, `len` values each. See [`reduce::add_parts`].
    #[launch(threads(256))]
    pub fn add_parts_f32(parts: Global<[f32; 2]>, sums: GlobalMut<[f64; 2]>, number: u32, len: u64) {
        if len <= sums.len() as u64 && len.saturating_mul(number.into()) <= parts.len() as u64 {
            // SAFETY: the views hold what the sizes say.
            unsafe { reduce::add_parts(parts, sums, number, len) }
        } else {
            trap();
        }
    }
}
