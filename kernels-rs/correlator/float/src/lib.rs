#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels of the correlator for 32-bit floats: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for inputs `a >= b`.
//!
//! | kernel | products | sums |
//! |---|---|---|
//! | [`correlate_f32()`] | single precision | overwrites `[part][channel][baseline]` of f32 pairs |
//! | [`correlate_f32_add()`] | single precision | adds to f64 pairs |
//! | [`correlate_f32_tf32()`] | three times tf32, `mma.sync` | overwrites f32 pairs |
//! | [`correlate_f32_tf32_add()`] | three times tf32, `mma.sync` | adds to f64 pairs |
//! | [`correlate_f32_tf32_wgmma()`] | three times tf32, `wgmma` (sm_90a) | overwrites f32 pairs |
//! | [`correlate_f32_tf32_wgmma_add()`] | three times tf32, `wgmma` (sm_90a) | adds to f64 pairs |
//! | [`correlate_f32_tf32_wgmma_bias()`] | the same, promoted less often | adds to f64 pairs |
//!
//! Rows are `[channel][time / 16][input][16]` complex f32: 128 bytes, time fastest ([`job`]). Baselines are the packed
//! lower triangle. Times outside of `first_time..first_time + times` do not count, whatever the rows hold there.
//!
//! With no sums at all (a view of length zero) nothing is written: what the products alone take.
//!
//! # Precision
//! All hold `|dV_ab| <= 1e-6 sqrt(V_aa V_bb)` for noise of 65536 times; [`plain`], [`mma`] and [`wgmma`] derive bounds
//! for any times and voltages. Infinities and NaN give NaN, also where single precision would give an infinity;
//! magnitudes: see [`tf32`].

pub mod job;
pub mod mma;
pub mod plain;
mod stage;
pub mod sum;
pub mod tf32;
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub mod wgmma;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

use job::Job;

/// A kernel, which checks the lengths of its views.
macro_rules! kernel {
    ($(#[doc = $doc:literal])* #[launch($($launch:tt)*)] $name:ident, $sum:ty, [$($more:ident)?], $run:expr) => {
        fringes_device::kernel! {
            $(#[doc = $doc])*
            #[launch($($launch)*)]
            pub fn $name(
                rows: Global<u8>,
                sums: GlobalMut<$sum>,
                channels: u32,
                inputs: u32,
                blocks: u32,
                first_time: u32,
                times: u32,
                parts: u32
                $(, $more: u32)?
            ) {
                let job = Job { channels, inputs, blocks, first_time, times, parts };
                if job.fits(rows.len(), sums.len()) $(&& $more > 0)? {
                    // SAFETY: the views hold what the job says.
                    unsafe { $run(rows, sums, job $(, $more)?) }
                } else {
                    trap();
                }
            }
        }
    };
}

kernel! {
    /// Correlates rows of f32 into f32 pairs, in single precision. See [`plain`].
    #[launch(threads(64), min_blocks(4), shared_bytes(32768))]
    correlate_f32, [f32; 2], [], plain::correlate::<plain::Plain, _>
}
kernel! {
    /// Correlates rows of f32 and adds to f64 pairs; products and sums of up to 1024 times in single precision. See
    /// [`plain`].
    #[launch(threads(64), min_blocks(4), shared_bytes(32768))]
    correlate_f32_add, [f64; 2], [], plain::correlate::<plain::Plain, _>
}
kernel! {
    /// Correlates rows of f32 into f32 pairs, in three times tf32. See [`mma`].
    #[launch(threads(64), min_blocks(4), shared_bytes(32768))]
    correlate_f32_tf32, [f32; 2], [], plain::correlate::<mma::Tensor, _>
}
kernel! {
    /// Correlates rows of f32 and adds to f64 pairs, in three times tf32. See [`mma`].
    #[launch(threads(64), min_blocks(4), shared_bytes(32768))]
    correlate_f32_tf32_add, [f64; 2], [], plain::correlate::<mma::Tensor, _>
}

#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
mod sm_90a {
    use super::*;

    kernel! {
        /// As [`correlate_f32_tf32`](super::correlate_f32_tf32()), by `wgmma`. See [`wgmma`].
        #[launch(threads(384), min_blocks(1), shared_bytes(196672))]
        correlate_f32_tf32_wgmma, [f32; 2], [], |rows, sums, job| wgmma::correlate(rows, sums, job, 1)
    }
    kernel! {
        /// As [`correlate_f32_tf32_add`](super::correlate_f32_tf32_add()), by `wgmma`. See [`wgmma`].
        #[launch(threads(384), min_blocks(1), shared_bytes(196672))]
        correlate_f32_tf32_wgmma_add, [f64; 2], [], |rows, sums, job| wgmma::correlate(rows, sums, job, 1)
    }
    kernel! {
        /// As [`correlate_f32_tf32_wgmma_add`], but sums of the tensor cores are promoted every `interval` rows of
        /// time: to see their bias.
        #[launch(threads(384), min_blocks(1), shared_bytes(196672))]
        correlate_f32_tf32_wgmma_bias, [f64; 2], [interval], |rows, sums, job, interval| wgmma::correlate(rows, sums, job, interval)
    }
}

#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub use sm_90a::*;
