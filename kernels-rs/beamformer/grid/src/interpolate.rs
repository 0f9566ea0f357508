//! Powers at positions between beams: cubic, through the four beams around a position in each direction.
//!
//! A block puts the powers of all beams at [`TIMES`] times into shared memory, and each thread makes some positions of
//! all of them with one set of weights.
//!
//! # Layout
//! A position is four words: the first of four neighbouring outs, the beam along a line before the position (it and
//! the three others are taken modulo their number), and how far the position is from the second of four beams, as f32:
//! along a line, and over outs.
//!
//! # Precision
//! Weights in f32 from f32 distances, sums in f32: off by at most `40 u sum abs(L_i L_j P)`, `u = 2^-24`.
//!
//! # Floor
//! Per position and time 16 loads from shared memory and 20 multiply-adds; bytes: the powers once, positions once for
//! [`TIMES`] times, and what comes out.

use core::num::NonZeroU32;

use fringes_device::arithmetic::fma_rn_f32;
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, nctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_beamformer_frb::{Registers, divided};

use crate::sizes::of;

/// Times of a block.
pub const TIMES: u32 = 4;

/// Sizes of a launch.
#[derive(Clone, Copy)]
pub struct PositionSizes {
    /// Frequencies.
    pub frequencies: u32,
    /// Fine channels.
    pub fine: u32,
    /// Times.
    pub times: u32,
    /// Sums over lines.
    pub outs: u32,
    /// Beams along a line.
    pub beams: u32,
    /// Products of a beam.
    pub products: u32,
    /// Positions.
    pub positions: u32,
}

/// Lagrange's weights of the values at -1, 0, 1 and 2 in a cubic polynomial's value at `x`.
#[inline(always)]
fn weights(x: f32) -> [f32; 4] {
    let (below, above, beyond) = (x + 1.0, x - 1.0, x - 2.0);
    [-x * above * beyond / 6.0, below * above * beyond / 2.0, -below * x * beyond / 2.0, below * x * above / 6.0]
}

/// All positions, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn checked(powers: Global<f32>, places: Global<[u32; 4]>, out: GlobalMut<f32>, sizes: PositionSizes) {
    let PositionSizes { frequencies, fine, times, outs, beams, products, positions } = sizes;
    let rows = of(&[frequencies, fine, times]);
    let row = of(&[outs, beams, products]);
    // SAFETY: an address, which is not used.
    let address = unsafe { places.address(0) };
    let fits = outs >= 4
        && beams > 0
        && products > 0
        && row <= 1 << 20
        && positions <= 1 << 24
        && address & 15 == 0
        && rows <= u32::MAX.into()
        && rows.saturating_mul(row) <= powers.len() as u64
        && of(&[frequencies, positions]) <= places.len() as u64
        && rows.saturating_mul(of(&[positions, products])) <= out.len() as u64
        && 4 * u64::from(TIMES) * row <= Shared::<u8>::dynamic().len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { interpolate(powers, places, out, sizes) }
    } else {
        trap();
    }
}

/// All positions.
///
/// # Safety
/// The views hold what the sizes say, and shared memory the powers of so many times.
#[inline(always)]
unsafe fn interpolate(powers: Global<f32>, places: Global<[u32; 4]>, out: GlobalMut<f32>, sizes: PositionSizes) {
    let PositionSizes { frequencies, fine, times, outs, beams, products, positions } = sizes;
    let row = outs * beams * products;
    let shared = Shared::<f32>::dynamic();
    let groups = times.div_ceil(TIMES);
    let items = u64::from(frequencies) * u64::from(fine) * u64::from(groups);
    let step = NonZeroU32::new(nctaid_x()).map_or(1, NonZeroU32::get);
    let mut number = u64::from(ctaid_x());
    while number < items {
        let (channel, group) = divided(number as u32, groups);
        let (frequency, _) = divided(channel, fine);
        let first_time = group * TIMES;
        let its_times = (times - first_time).min(TIMES);
        let first_row = channel as usize * times as usize + first_time as usize;
        bar_sync_0();
        let mut at = tid_x();
        while at < its_times * row {
            shared.store(at as usize, powers.load(first_row * row as usize + at as usize));
            at += ntid_x();
        }
        bar_sync_0();
        let mut position = tid_x();
        while position < positions {
            let [out_first, below, north, east] =
                places.load(frequency as usize * positions as usize + position as usize);
            let (of_north, of_east) = (weights(f32::from_bits(north)), weights(f32::from_bits(east)));
            // Beams that are there, whatever the table says.
            let out_first = out_first.min(outs - 4);
            let q = <[u32; 4]>::each(|i| divided(below.wrapping_add(i as u32), beams).1 * products);
            let mut product = 0;
            while product < products {
                let mut time = 0;
                while time < its_times {
                    let mut sum = 0.0;
                    let _ = <[(); 4]>::each(|j| {
                        let first = time * row + (out_first + j as u32) * beams * products + product;
                        let mut of_out = 0.0;
                        let _ = <[(); 4]>::each(|i| {
                            of_out = fma_rn_f32(of_north[i], shared.load((first + q[i]) as usize), of_out);
                        });
                        sum = fma_rn_f32(of_east[j], of_out, sum);
                    });
                    let to = (first_row + time as usize) * positions as usize + position as usize;
                    out.store(to * products as usize + product as usize, sum);
                    time += 1;
                }
                product += 1;
            }
            position += ntid_x();
        }
        number += u64::from(step);
    }
}
