//! Beams of fine channels, and their powers.
//!
//! # Layout
//! A row of shared memory has the 256 sums of an out and of fine channels `a` and `a + 8` of a pass, side by side. Feed
//! `n` has place `n5 n6 n1 n2 n3 n0 n4 n7`, of which the lowest five bits are changed by `out + 4 (a mod 8)`: half a
//! warp's lanes that store have all 16 of the lowest four bits, and lanes that load have 32 neighbouring places. Of the
//! two sums of a place channel `a` is the second where `a3` or `n3` is 1, but not both: so lanes that load sums of one
//! channel find every bank once. Those of an `a3` of 0 and an `n3` of 1 are with the other `a4`.
//!
//! A warp has the results `2 warp` and `2 warp + 1` of all outs: of a pass the channels `a = 4 warp` to `4 warp + 3`.

use fringes_device::control::trap;
use fringes_device::convert::cvt_f32_f16;
use fringes_device::half2::{add_rn_f16x2, fma_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::ctaid_y;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared};

use crate::copies::shared_at;
use crate::transform::{PHASES, transform};
use crate::work::Unit;
use crate::{ChannelisedGiven, ChannelisedSizes, FINE, OUTS, ROW_BYTES};
use fringes_kernels_beamformer_frb::Registers;

/// Sums of powers of a warp, `[result][out]` of `[q0 q4 q8]`, two f16 `[q7]`.
pub(crate) type Powers = [[u32; 8]; 8];

/// Loads the phases of a transform from `[register / 4][lane][register % 4]`.
///
/// # Safety
/// They are in the view, at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn phases(table: Global<u32>, lane: u32) -> [u32; PHASES] {
    let table = table.cast::<[u32; 4]>();
    let fours = <[[u32; 4]; 8]>::each(|four| table.load(four * 32 + lane as usize));
    let more = <[[u32; 4]; 2]>::each(|four| table.load((8 + four) * 32 + lane as usize));
    let of = |register: usize| {
        if register < 32 { fours[register / 4][register % 4] } else { more[register / 4 - 8][register % 4] }
    };
    let [a, b] = <[[u32; 16]; 2]>::each(|half| <[u32; 16]>::each(|register| of(16 * half + register)));
    let c = <[u32; 8]>::each(|register| of(32 + register));
    let mut all = [0; PHASES];
    all[..16].copy_from_slice(&a);
    all[16..32].copy_from_slice(&b);
    all[32..].copy_from_slice(&c);
    all
}

/// Makes beams of two fine channels of an out, and adds their powers.
///
/// # Safety
/// As [`detect`]; `first` is the address of the lane's first sum.
#[inline(always)]
unsafe fn add(powers: [u32; 8], number: u32, first: u32, phases: &[u32; PHASES]) -> [u32; 8] {
    let (result, out) = (number / OUTS, number % OUTS);
    let beam = |half: u32| {
        let a = 2 * result + half;
        // The place's lowest four bits are bits 3 to 6 of the address.
        let at = (first ^ (8 * (out + 4 * a))) + ROW_BYTES * (OUTS * a + out);
        let x = <[u32; 8]>::each(|far| Shared::<u32>::from_raw_parts(at + 256 * far as u32, 1).load(0));
        transform(x, phases)
    };
    let [y, z] = [beam(0), beam(1)];
    <[u32; 8]>::each(|at| {
        let [[a, b], [c, d]] = [y[at], z[at]];
        let power = fma_rn_f16x2(b, b, mul_rn_f16x2(a, a));
        add_rn_f16x2(powers[at], fma_rn_f16x2(d, d, fma_rn_f16x2(c, c, power)))
    })
}

/// Makes beams of all sums of a pass, and adds their powers.
///
/// # Order
/// Of sixteen transforms in a row `ptxas` begins so many at once that its registers do not suffice, and puts products
/// in a row and half2 operations in a row. A branch in the middle keeps eight and eight apart.
///
/// # Safety
/// All sums are there; all 32 lanes of the warp execute it together.
#[inline(always)]
pub(crate) unsafe fn detect(phases: &[u32; PHASES], powers: &mut Powers, thread: u32) {
    let (lane, warp) = (thread % 32, thread / 32);
    let (n3, a2, a3, a4) = (lane >> 4, warp & 1, warp >> 1 & 1, warp >> 2);
    let row = OUTS * (8 * (a4 ^ (n3 & (a3 ^ 1))) + 4 * a2);
    let first = shared_at(ROW_BYTES * row) + 8 * (lane ^ a2 << 4) + 4 * (a3 ^ n3);
    // A closure would not be inlined everywhere.
    macro_rules! numbers {
        ($($number:literal)*) => { $(
            powers[$number] = add(powers[$number], $number, first, phases);
        )* };
    }
    numbers!(0 1 2 3);
    // Never true, as the host's launches have one row of blocks; see the order.
    if ctaid_y() != 0 {
        trap();
    }
    numbers!(4 5 6 7);
}

/// Where sums of powers go.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Number of the product, and how many there are.
    pub(crate) product: [u32; 2],
    /// Good blocks of the result.
    pub(crate) good: u32,
    /// Whether there are sums already, of other blocks, that these are added to.
    pub(crate) stored: bool,
}

/// Stores sums of good blocks times their factors, for the beams that there are; zeros of none.
///
/// # Safety
/// Nobody uses the sums over lines; all 32 lanes of the warp execute it together, and the views hold what the sizes
/// say.
#[inline(always)]
pub(crate) unsafe fn store(
    given: ChannelisedGiven,
    to: GlobalMut<f32>,
    sizes: ChannelisedSizes,
    unit: Unit,
    powers: &Powers,
    Place { product: [product, products], good, stored }: Place,
) {
    let (lane, warp) = (unit.thread % 32, unit.thread / 32);
    let scale = sizes.blocks as f32 / good as f32;
    let rows = shared_at(4 * 8 * 512 * warp);
    let row = |number: usize| Shared::<f32>::from_raw_parts(rows + 4 * 512 * number as u32, 512);
    let channel = |number: usize| unit.frequency * FINE + ((2 * warp + number as u32 / OUTS) ^ sizes.order);
    let factors = <[f32; 2]>::each(|result| given.factors.load(channel(4 * result) as usize) * scale);
    // A closure would not be inlined everywhere.
    macro_rules! numbers {
        ($($number:literal)*) => { $({
            let row = row($number);
            let _ = <[(); 8]>::each(|at| {
                // Registers are q0 q4 q7 q8.
                let register = at % 4 + 8 * (at / 4);
                let power = powers[$number][at];
                row.store(32 * register + lane as usize, cvt_f32_f16(power as u16));
                row.store(32 * (register + 4) + lane as usize, cvt_f32_f16((power >> 16) as u16));
            });
        })* };
    }
    numbers!(0 1 2 3 4 5 6 7);
    bar_warp_sync(u32::MAX);
    // The place of the next beam is loaded while this one is stored.
    let place = |beam: u32| given.places.load((unit.frequency * sizes.beams + beam.min(sizes.beams - 1)) as usize);
    let mut beam = lane;
    let mut next = place(beam);
    while beam < sizes.beams {
        let now = next % 512;
        next = place(beam.saturating_add(32));
        let _ = <[(); 8]>::each(|number| {
            let power = if good == 0 { 0.0 } else { row(number).load(now as usize) * factors[number / 4] };
            let of_time = u64::from(channel(number)) * u64::from(sizes.times) + u64::from(unit.time);
            let first = (of_time * u64::from(OUTS) + (number as u64 % 4)) * u64::from(sizes.beams);
            let at = (first + u64::from(beam)) as usize * products as usize + product as usize;
            if stored {
                to.atomic_add(at, power);
            } else {
                to.store(at, power);
            }
        });
        beam += 32;
    }
}
