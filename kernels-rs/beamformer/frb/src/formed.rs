//! Beams as voltages: lines are summed and transformed along, and all chosen outputs stored. A warp makes all sums over
//! lines of a time, so voltages are decoded once.
//!
//! # Layout
//! Weights of a frequency lie in shared memory as in their table, and behind them the place of each beam's output. Then
//! each warp has room for the outputs of a time, `[out][place][pol]`; from there lanes store neighbouring beams.
//!
//! # Floor
//! CHIME: a time of a frequency is 2048 bytes in and 8192 out, which an H100 copies in 890 SM-cycles; its eight
//! transforms from 256 to 512 are, each,
//!
//! | part | instructions | shared memory, in SM-cycles |
//! |---|---|---|
//! | load and decode, a quarter | 28 | |
//! | weights and sum of lines | 8 loads, 64 half2 | 32 |
//! | 256 to 512 | 16 MMAs, 48 half2 | |
//! | scale and keep | 16 half2, 16 stores | 32 |
//! | store | 2 loads, 2 stores | 8 |
//!
//! about 200 instructions, 50 issue cycles and 72 of shared memory: bytes bind, with 111. Measured are 160
//! (docs/frb.md): addresses and predicates are not in the table.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::half2::mul_rn_f16x2;
use fringes_device::index::{ctaid_x, laneid, nctaid_x, ntid_x, tid_x};
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernel_abi::frb;
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::alone::Places;
use crate::form::divided;
use crate::registers::Registers;
use crate::{Voltages, lines};

/// Lines.
const LINES: usize = 4;

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct FormedGiven {
    /// Voltages `[time][frequency][pol][line][feed]`.
    pub voltages: Global<u8>,
    /// Weights `[frequency][pol][out][line][pair][re, im][lane]`.
    pub weights: Global<u32>,
    /// The phases of the transform along a line.
    pub phases: Global<u32>,
    /// Place of an output `[frequency][register][lane]`, or [`frb::UNUSED`].
    pub slots: Global<u32>,
    /// Place of a beam's output `[frequency][beam]`.
    pub rows: Global<u32>,
    /// Two f16 `[frequency]`: what real and imaginary parts are multiplied by.
    pub scales: Global<u32>,
}

/// Sizes of a launch.
#[derive(Clone, Copy)]
pub struct FormedSizes {
    /// Frequencies.
    pub frequencies: u32,
    /// Times.
    pub times: u32,
    /// Parts that the times are divided into.
    pub splits: u32,
    /// Sums over lines.
    pub outs: u32,
    /// Beams along a line.
    pub beams: u32,
    /// Places of their outputs: one for all beams that are the same output.
    pub places: u32,
    /// Polarisations.
    pub pols: u32,
    /// Whether nibbles are offset or signed.
    pub signs: u32,
    /// Bytes from a time, frequency, polarisation and line to the next.
    pub strides: [u64; 4],
    /// Words that come out, from a frequency and time to the next.
    pub out_strides: [u64; 2],
}

/// Makes all voltages, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn formed<T, V, const X: usize, const P: usize, const Q: usize>(
    given: FormedGiven,
    out: GlobalMut<u32>,
    sizes: FormedSizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    V: Voltages,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [[u32; P]; LINES]: Registers<[u32; P]>,
    [[[u32; 2]; P]; LINES]: Registers<[[u32; 2]; P]>,
    [u32; Q]: Registers<u32>,
    [(); Q]: Registers<()>,
    [(); LINES]: Registers<()>,
{
    const { assert!(2 * P == X && X == 1 << (T::INPUT_BITS - 5) && Q == 1 << (T::OUTPUT_BITS - 5)) };
    let FormedSizes { frequencies, times, splits, outs, beams, places, pols, strides, out_strides, .. } = sizes;
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let last = |count: u32, stride: u64| u64::from(count.saturating_sub(1)).saturating_mul(stride);
    let [time, frequency, pol, line] = strides;
    let bytes = V::BYTES as u64;
    let end = (bytes << T::INPUT_BITS)
        .saturating_add(last(times, time))
        .saturating_add(last(frequencies, frequency))
        .saturating_add(last(pols, pol))
        .saturating_add(last(LINES as u32, line));
    let row = of(&[outs, beams, pols]);
    let out_end = row.saturating_add(last(frequencies, out_strides[0])).saturating_add(last(times, out_strides[1]));
    let weights = of(&[pols, outs, (LINES * X) as u32, 32]);
    // SAFETY: addresses, which are not used.
    let address = unsafe { given.voltages.address(0) };
    let warps = ntid_x() / 32;
    let fits = frequencies > 0
        && times > 0
        && splits > 0
        && outs > 0
        && beams > 0
        && (1..frb::UNUSED).contains(&places)
        && of(&[frequencies, beams]) <= given.rows.len() as u64
        && (1..=2).contains(&pols)
        && warps > 0
        && (address | time | frequency | pol | line) & (2 * bytes - 1) == 0
        && line.saturating_mul(LINES as u64) < 1 << 31
        && of(&[frequencies, splits]) <= u32::MAX.into()
        && end <= given.voltages.len() as u64
        && of(&[frequencies, weights as u32]) <= given.weights.len() as u64
        && weights <= u32::MAX.into()
        && 32 * T::PHASE_REGISTERS <= given.phases.len()
        && of(&[frequencies, 32 * Q as u32]) <= given.slots.len() as u64
        && frequencies as usize <= given.scales.len()
        && out_end <= out.len() as u64
        && 4 * (weights + u64::from(beams.next_multiple_of(2)) + of(&[warps, outs, places, pols]))
            <= Shared::<u8>::dynamic().len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<T, V, X, P, Q>(given, out, sizes) }
    } else {
        trap();
    }
}

/// Makes all voltages.
///
/// # Safety
/// The views hold what the sizes say.
#[inline(always)]
unsafe fn form<T, V, const X: usize, const P: usize, const Q: usize>(
    given: FormedGiven,
    out: GlobalMut<u32>,
    sizes: FormedSizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    V: Voltages,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [[u32; P]; LINES]: Registers<[u32; P]>,
    [[[u32; 2]; P]; LINES]: Registers<[[u32; 2]; P]>,
    [u32; Q]: Registers<u32>,
    [(); Q]: Registers<()>,
    [(); LINES]: Registers<()>,
{
    let (lane, warp, warps) = (laneid(), tid_x() / 32, ntid_x() / 32);
    let phases = T::phases(given.phases, lane);
    let shared = Shared::<u32>::dynamic();
    let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
    let out_words = (LINES * X * 32) as u32;
    let weights = sizes.pols * sizes.outs * out_words;
    let first_feed = 2 * T::input_pair(lane) as usize * V::BYTES;
    // The warp's room, and where the lane's outputs go there.
    let of_out = sizes.places * sizes.pols;
    let room = weights + sizes.beams.next_multiple_of(2) + warp * sizes.outs * of_out;
    // Whether both polarisations of a beam are stored at once.
    let [frequency_step, time_step] = sizes.out_strides;
    let in_pairs = sizes.pols == 2 && out.address(0) & 7 == 0 && (frequency_step | time_step) & 1 == 0;
    let mut number = ctaid_x();
    while number < sizes.frequencies * sizes.splits {
        let (frequency, split) = divided(number, sizes.splits);
        let of_split = |split: u32| divided_wide(sizes.times, split, sizes.splits);
        bar_sync_0();
        let mut at = tid_x();
        while at < weights {
            shared.store(at as usize, given.weights.load(frequency as usize * weights as usize + at as usize));
            at += ntid_x();
        }
        let mut beam = tid_x();
        while beam < sizes.beams {
            let place = given.rows.load(frequency as usize * sizes.beams as usize + beam as usize);
            shared.store((weights + beam) as usize, place.min(sizes.places - 1) * sizes.pols);
            beam += ntid_x();
        }
        bar_sync_0();
        let scale = given.scales.load(frequency as usize);
        let slots = <[u32; Q]>::each(|register| {
            let place = given.slots.load((frequency as usize * Q + register) * 32 + lane as usize);
            if place < sizes.places { room + place * sizes.pols } else { frb::UNUSED }
        });
        let end = of_split(split + 1);
        let mut time = of_split(split) + warp;
        let load = |time: u32, pol: u32| {
            let from = u64::from(time) * time_stride
                + u64::from(frequency) * frequency_stride
                + u64::from(pol) * pol_stride
                + first_feed as u64;
            <[[u32; P]; LINES]>::each(|line| {
                let at = given.voltages.address((from + line as u64 * line_stride) as usize);
                <[u32; P]>::each(|pair| V::two(at + (Places::<T>::FEEDS[pair] as usize * V::BYTES) as u64))
            })
        };
        let mut ahead = load(time.min(sizes.times - 1), 0);
        while time < end {
            let mut pol = 0;
            while pol < sizes.pols {
                let words = ahead;
                let parts = <[[[u32; 2]; P]; LINES]>::each(|line| {
                    <[[u32; 2]; P]>::each(|pair| lines::parts::<V, P>(&words[line], pair, sizes.signs))
                });
                // The next voltages come while these are summed and transformed.
                let same = pol + 1 < sizes.pols;
                let next = if same { time } else { time + warps };
                ahead = load(next.min(sizes.times - 1), if same { pol + 1 } else { 0 });
                let mut o = 0;
                while o < sizes.outs {
                    let first = (pol * sizes.outs + o) * out_words + lane;
                    let sums = <[[u32; 2]; P]>::each(|pair| {
                        let mut sum = [0; 2];
                        let _ = <[(); LINES]>::each(|line| {
                            let at = (first + ((line * P + pair) * 64) as u32) as usize;
                            let weight = [shared.load(at), shared.load(at + 32)];
                            let part = parts[line][pair];
                            sum =
                                if line == 0 { lines::product(part, weight) } else { lines::added(sum, part, weight) };
                        });
                        sum
                    });
                    let x = <[u32; X]>::each(|register| sums[register % P][register / P]);
                    let y = T::transform::<Half, Half>(x, &phases);
                    let add = o * of_out + pol;
                    let _ = <[(); Q]>::each(|register| {
                        if slots[register] != frb::UNUSED {
                            shared.store((slots[register] + add) as usize, mul_rn_f16x2(y[register], scale));
                        }
                    });
                    o += 1;
                }
                pol += 1;
            }
            bar_warp_sync(u32::MAX);
            let to = u64::from(frequency) * sizes.out_strides[0] + u64::from(time) * sizes.out_strides[1];
            let (mut o, mut of_row) = (0, 0);
            while o < sizes.outs {
                let from = room + o * of_out;
                if in_pairs {
                    let (from_pairs, to_pairs) = (shared.cast::<[u32; 2]>(), out.cast::<[u32; 2]>());
                    let mut beam = lane;
                    while beam < sizes.beams {
                        let place = shared.load((weights + beam) as usize);
                        let both = from_pairs.load(((from + place) / 2) as usize);
                        to_pairs.store(((to + u64::from(of_row)) / 2 + u64::from(beam)) as usize, both);
                        beam += 32;
                    }
                } else {
                    let mut at = lane;
                    while at < sizes.beams * sizes.pols {
                        let (beam, pol) = if sizes.pols == 2 { (at >> 1, at & 1) } else { (at, 0) };
                        let place = shared.load((weights + beam) as usize) + pol;
                        out.store((to + u64::from(of_row + at)) as usize, shared.load((from + place) as usize));
                        at += 32;
                    }
                }
                o += 1;
                of_row += sizes.beams * sizes.pols;
            }
            bar_warp_sync(u32::MAX);
            time += warps;
        }
        number = match number.checked_add(nctaid_x()) {
            Some(next) => next,
            None => return,
        };
    }
}

/// `count split / splits`.
#[inline(always)]
fn divided_wide(count: u32, split: u32, splits: u32) -> u32 {
    match core::num::NonZeroU64::new(splits.into()) {
        Some(splits) => (u64::from(count) * u64::from(split) / splits) as u32,
        None => 0,
    }
}
