#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels that interference is found and left out by, of heaps `[batch][antenna][channel][spectrum][pol]`, of rows
//! `[channel][time / R][input][R]` and of voltages `[channel][time][input]`.
//!
//! | kernels | what they do |
//! |---|---|
//! | `power_i4`, `power_i8`, `power_f16`, `power_f32` | `sum |x|^2` and `sum |x|^4` of blocks of spectra: [`power`] |
//! | `power_rows_i4`, `..._i8`, `..._f16`, `..._f32` | the same of rows: [`power_rows`] |
//! | `power_voltages_i4`, `..._i8`, `..._f16`, `..._f32` | the same of voltages: [`power_voltages`] |
//! | `mask_i4`, `mask_i8`, `mask_f16`, `mask_f32` | a copy with zeros where a mask says so: [`mask`](mod@mask) |
//! | `mask_rows_i4`, `mask_rows_i8`, `mask_rows_f16`, `mask_rows_f32` | zeros in rows where a mask says so: [`rows`] |
//!
//! What heaps and blocks are is said in [`heaps`], what becomes of the samples of 16 bytes in [`formats`].

pub mod formats;
pub mod heaps;
pub mod mask;
pub mod power;
pub mod power_rows;
pub mod power_voltages;
pub mod rows;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

use formats::{F16, F32, Format, I4, I8};
use heaps::Heaps;
use mask::Mask;
use power::PowerSums;
use power_rows::RowSums;
use power_voltages::{Columns, VoltageSums};
use rows::MaskedRows;

/// Sums what fits, and traps where it does not.
#[inline(always)]
fn power<F: Format>(samples: Global<u8>, sums: PowerSums<F>) {
    if sums.fit(samples) {
        // SAFETY: the views hold what the sizes say.
        unsafe { sums.run(samples) }
    } else {
        trap()
    }
}

/// Sums rows that fit, and traps where they do not.
#[inline(always)]
fn power_rows<F: Format>(rows: RowSums<F>) {
    if rows.fit() {
        // SAFETY: the views hold what the sizes say.
        unsafe { rows.run() }
    } else {
        trap()
    }
}

/// Sums voltages that fit, and traps where they do not.
#[inline(always)]
fn power_voltages<F: Columns>(voltages: VoltageSums<F>) {
    if voltages.fit() {
        // SAFETY: the views hold what the sizes say.
        unsafe { voltages.run() }
    } else {
        trap()
    }
}

/// Masks what fits, and traps where it does not.
#[inline(always)]
fn mask<const S: usize>(mask: Mask<S>) {
    if mask.fit() {
        // SAFETY: the views hold what the sizes say.
        unsafe { mask.run() }
    } else {
        trap()
    }
}

/// Zeros what is masked of rows that fit, and traps where they do not.
#[inline(always)]
fn mask_rows<const S: usize>(rows: MaskedRows<S>) {
    if rows.fit() {
        // SAFETY: the views hold what the sizes say.
        unsafe { rows.run() }
    } else {
        trap()
    }
}

fringes_device::kernel! {
    /// Power sums of 4+4 bits. See [`power`](mod@power).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_i4(samples: Global<u8>, present: Global<u8>, sums: GlobalMut<u64>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        power::<I4>(samples, PowerSums { heaps, present, sums })
    }

    /// Power sums of 8-bit pairs. See [`power`](mod@power).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_i8(samples: Global<u8>, present: Global<u8>, sums: GlobalMut<u64>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        power::<I8>(samples, PowerSums { heaps, present, sums })
    }

    /// Power sums of f16 pairs. See [`power`](mod@power).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_f16(samples: Global<u8>, present: Global<u8>, sums: GlobalMut<f64>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        power::<F16>(samples, PowerSums { heaps, present, sums })
    }

    /// Power sums of f32 pairs. See [`power`](mod@power).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_f32(samples: Global<u8>, present: Global<u8>, sums: GlobalMut<f64>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        power::<F32>(samples, PowerSums { heaps, present, sums })
    }

    /// Power sums of rows of 4+4 bits. See [`power_rows`](mod@power_rows).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_rows_i4(rows: Global<u8>, sums: GlobalMut<u64>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32, blocks: u32) {
        power_rows::<I4>(RowSums { rows, sums, channels, lines, inputs, block, lead, blocks })
    }

    /// Power sums of voltages of 4+4 bits. See [`power_voltages`](mod@power_voltages).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_voltages_i4(voltages: Global<u8>, present: Global<u8>, sums: GlobalMut<u64>, channels: u32, times: u32, inputs: u32, block: u32, lead: u32) {
        power_voltages::<I4>(VoltageSums { voltages, present, sums, channels, times, inputs, block, lead })
    }

    /// Power sums of rows of 8-bit pairs. See [`power_rows`](mod@power_rows).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_rows_i8(rows: Global<u8>, sums: GlobalMut<u64>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32, blocks: u32) {
        power_rows::<I8>(RowSums { rows, sums, channels, lines, inputs, block, lead, blocks })
    }

    /// Power sums of voltages of 8-bit pairs. See [`power_voltages`](mod@power_voltages).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_voltages_i8(voltages: Global<u8>, present: Global<u8>, sums: GlobalMut<u64>, channels: u32, times: u32, inputs: u32, block: u32, lead: u32) {
        power_voltages::<I8>(VoltageSums { voltages, present, sums, channels, times, inputs, block, lead })
    }

    /// Power sums of rows of f16 pairs. See [`power_rows`](mod@power_rows).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_rows_f16(rows: Global<u8>, sums: GlobalMut<f64>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32, blocks: u32) {
        power_rows::<F16>(RowSums { rows, sums, channels, lines, inputs, block, lead, blocks })
    }

    /// Power sums of voltages of f16 pairs. See [`power_voltages`](mod@power_voltages).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_voltages_f16(voltages: Global<u8>, present: Global<u8>, sums: GlobalMut<f64>, channels: u32, times: u32, inputs: u32, block: u32, lead: u32) {
        power_voltages::<F16>(VoltageSums { voltages, present, sums, channels, times, inputs, block, lead })
    }

    /// Power sums of rows of f32 pairs. See [`power_rows`](mod@power_rows).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_rows_f32(rows: Global<u8>, sums: GlobalMut<f64>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32, blocks: u32) {
        power_rows::<F32>(RowSums { rows, sums, channels, lines, inputs, block, lead, blocks })
    }

    /// Power sums of voltages of f32 pairs. See [`power_voltages`](mod@power_voltages).
    #[launch(threads(256), min_blocks(3))]
    pub fn power_voltages_f32(voltages: Global<u8>, present: Global<u8>, sums: GlobalMut<f64>, channels: u32, times: u32, inputs: u32, block: u32, lead: u32) {
        power_voltages::<F32>(VoltageSums { voltages, present, sums, channels, times, inputs, block, lead })
    }

    /// A masked copy of voltages of 4+4 bits. See [`mask`](mod@mask).
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_i4(from: Global<u8>, to: GlobalMut<u8>, masked: Global<u8>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        mask::<1>(Mask { heaps, from, to, masked })
    }

    /// A masked copy of voltages of 8-bit pairs. See [`mask`](mod@mask).
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_i8(from: Global<u8>, to: GlobalMut<u8>, masked: Global<u8>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        mask::<2>(Mask { heaps, from, to, masked })
    }

    /// A masked copy of voltages of f16 pairs. See [`mask`](mod@mask).
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_f16(from: Global<u8>, to: GlobalMut<u8>, masked: Global<u8>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        mask::<4>(Mask { heaps, from, to, masked })
    }

    /// A masked copy of voltages of f32 pairs. See [`mask`](mod@mask).
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_f32(from: Global<u8>, to: GlobalMut<u8>, masked: Global<u8>, batches: u32, antennas: u32, channels: u32, spectra: u32, pols: u32, block: u32, lead: u32, lanes: u32) {
        let heaps = Heaps { batches, antennas, channels, spectra, pols, block, lead, lanes };
        mask::<8>(Mask { heaps, from, to, masked })
    }

    /// Zeros in rows of voltages of 4+4 bits. See [`rows`].
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_rows_i4(rows: GlobalMut<u8>, masked: Global<u8>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32) {
        mask_rows::<1>(MaskedRows { rows, masked, channels, lines, inputs, block, lead })
    }

    /// Zeros in rows of voltages of 8-bit pairs. See [`rows`].
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_rows_i8(rows: GlobalMut<u8>, masked: Global<u8>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32) {
        mask_rows::<2>(MaskedRows { rows, masked, channels, lines, inputs, block, lead })
    }

    /// Zeros in rows of voltages of f16 pairs. See [`rows`].
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_rows_f16(rows: GlobalMut<u8>, masked: Global<u8>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32) {
        mask_rows::<4>(MaskedRows { rows, masked, channels, lines, inputs, block, lead })
    }

    /// Zeros in rows of voltages of f32 pairs. See [`rows`].
    #[launch(threads(256), min_blocks(4))]
    pub fn mask_rows_f32(rows: GlobalMut<u8>, masked: Global<u8>, channels: u32, lines: u32, inputs: u32, block: u32, lead: u32) {
        mask_rows::<8>(MaskedRows { rows, masked, channels, lines, inputs, block, lead })
    }
}
