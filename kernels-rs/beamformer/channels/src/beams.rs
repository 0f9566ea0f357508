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

use fringes_device::arithmetic::fma_rn_f32;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_fft_microkernel::{Half, Sums, Transform, Wide};

use crate::copies::shared_at;
use crate::work::Unit;
use crate::{ChannelisedGiven, ChannelisedSizes, FINE, OUTS, ROW_BYTES};
use fringes_kernels_beamformer_frb::Registers;

/// Sums of powers of a warp, `[result][out]` of `[register]`.
pub(crate) type Powers = [[f32; 16]; 8];

/// Phases of a transform.
const PHASES: usize = 40;

/// A transform from 256 to 512 in registers as [the module](self) has it.
pub(crate) trait Beams:
    Transform<Input = [u32; 8], Output<[f32; 2]> = [[f32; 2]; 16], Phases = [u32; PHASES]>
{
}

impl<T> Beams for T where T: Transform<Input = [u32; 8], Output<[f32; 2]> = [[f32; 2]; 16], Phases = [u32; PHASES]> {}

/// Sums in f32 of which only the squares are used: differences have the other sign.
enum Squared {}

impl Sums for Squared {
    type Fragment = [f32; 4];
    type Register = [f32; 2];
    const ZERO: [f32; 4] = [0.0; 4];

    #[inline(always)]
    unsafe fn k8(a: [u32; 2], b: [u32; 1], c: [f32; 4]) -> [f32; 4] {
        Wide::k8(a, b, c)
    }

    #[inline(always)]
    unsafe fn k16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
        Wide::k16(a, b, c)
    }

    #[inline(always)]
    fn alternating(part: [f32; 4], whole: [f32; 4]) -> [f32; 4] {
        // With a factor of 2 the compiler would change signs by instructions of their own.
        let of = |at: usize| fma_rn_f32(part[at], -2.0, whole[at]);
        [of(0), of(1), of(2), of(3)]
    }

    #[inline(always)]
    fn registers(sums: [f32; 4]) -> [[f32; 2]; 2] {
        Wide::registers(sums)
    }

    #[inline(always)]
    fn transposed(low: [f32; 2], high: [f32; 2]) -> [[f32; 2]; 2] {
        Wide::transposed(low, high)
    }

    #[inline(always)]
    fn phased(x: u32) -> u32 {
        Wide::phased(x)
    }
}

/// Loads the phases of a transform from `[register / 4][lane][register % 4]`.
///
/// # Safety
/// They are in the view, at a multiple of 16 bytes.
#[inline(always)]
unsafe fn phases(table: Global<u32>, lane: u32) -> [u32; PHASES] {
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
unsafe fn add<T: Beams>(powers: [f32; 16], number: u32, first: u32, phases: &T::Phases) -> [f32; 16] {
    let (result, out) = (number / OUTS, number % OUTS);
    let beam = |half: u32| {
        let a = 2 * result + half;
        // The place's lowest four bits are bits 3 to 6 of the address.
        let at = (first ^ (8 * (out + 4 * a))) + ROW_BYTES * (OUTS * a + out);
        let x = <[u32; 8]>::each(|far| Shared::<u32>::from_raw_parts(at + 256 * far as u32, 1).load(0));
        T::transform::<Half, Squared>(x, phases)
    };
    let [y, z] = [beam(0), beam(1)];
    let power = |sum: f32, [re, im]: [f32; 2]| fma_rn_f32(im, im, fma_rn_f32(re, re, sum));
    <[f32; 16]>::each(|register| power(power(powers[register], y[register]), z[register]))
}

/// Makes beams of all sums of a pass, and adds their powers.
///
/// # Safety
/// All sums are there; all 32 lanes of the warp execute it together.
#[inline(always)]
pub(crate) unsafe fn detect<T: Beams>(table: Global<u32>, powers: &mut Powers, thread: u32) {
    let (lane, warp) = (thread % 32, thread / 32);
    let phases = phases(table, lane);
    let (n3, a2, a3, a4) = (lane >> 4, warp & 1, warp >> 1 & 1, warp >> 2);
    let row = OUTS * (8 * (a4 ^ (n3 & (a3 ^ 1))) + 4 * a2);
    let first = shared_at(ROW_BYTES * row) + 8 * (lane ^ a2 << 4) + 4 * (a3 ^ n3);
    // A closure would not be inlined everywhere.
    macro_rules! numbers {
        ($($number:literal)*) => { $(
            powers[$number] = add::<T>(powers[$number], $number, first, &phases);
        )* };
    }
    numbers!(0 1 2 3 4 5 6 7);
}

/// Stores the sums of `good` blocks times their factors, for the beams that there are; zeros of none.
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
    [product, products]: [u32; 2],
    good: u32,
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
            let _ = <[(); 16]>::each(|register| row.store(32 * register + lane as usize, powers[$number][register]));
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
            to.store((first + u64::from(beam)) as usize * products as usize + product as usize, power);
        });
        beam += 32;
    }
}
