//! The first half: lines are summed and transformed along, and the chosen outputs kept in shared memory. A block has
//! its voltages to itself.

use core::marker::PhantomData;

use fringes_device::index::{laneid, tid_x};
use fringes_device::warp::shfl_sync_idx_b32;
use fringes_device::{Global, Shared, opaque};
use fringes_kernel_abi::frb;
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::form::{Front, Given, Item};
use crate::registers::Registers;
use crate::{Sizes, Voltages, lines, upchannelise};

/// Warps of a block.
const WARPS: u32 = frb::WARPS;

/// What a warp keeps for all times of a polarisation.
pub(crate) struct Alone<T: Transform, V, const LINES: usize, const X: usize, const P: usize, const Q: usize> {
    lane: u32,
    phases: T::Phases,
    /// Addresses of the words that outputs of the warp's first time go to.
    slots: [u32; Q],
    /// Bit `register`: whether a beam takes the output.
    used: u32,
    /// Of `LINES` lines.
    weights: [[[u32; 2]; P]; LINES],
    /// Bytes from the block's first time to the time of step `lane`.
    offsets: u32,
    voltages: PhantomData<V>,
}

impl<T, V, const LINES: usize, const X: usize, const P: usize, const Q: usize> Front for Alone<T, V, LINES, X, P, Q>
where
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
    const INPUT_BITS: u32 = T::INPUT_BITS;
    const OUTPUT_REGISTER_BITS: u32 = T::OUTPUT_BITS - 5;
    const PHASE_REGISTERS: usize = T::PHASE_REGISTERS;
    const VOLTAGE_BYTES: u64 = V::BYTES as u64;
    const WARPS: u32 = WARPS;
    const ROW_WORDS: u32 = frb::row_words(upchannelise::TIMES, 1);

    #[inline(always)]
    fn fits(given: Given, sizes: Sizes) -> bool {
        const { assert!(2 * P == X && X == 1 << (T::INPUT_BITS - 5) && Q == 1 << (T::OUTPUT_BITS - 5)) };
        let counts = [sizes.frequencies, sizes.pols, sizes.outs, sizes.lines, 32 * X as u32];
        let words = counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
        let whole = sizes.feeds == 1 << T::INPUT_BITS && in_pairs::<V>(given, sizes);
        (LINES == 0 || sizes.lines as usize == LINES && whole) && words <= given.weights.len() as u64
    }

    #[inline(always)]
    unsafe fn new(given: Given, sizes: Sizes, item: Item, pol: u32) -> Self {
        let lane = opaque(laneid() as i32) as u32;
        let warp = tid_x() / 32;
        let row = (item.frequency * sizes.parts + item.part) as usize * Q * 32 + lane as usize;
        let shared = Shared::<u32>::dynamic().address(0) + 4 * warp;
        let mut used = 0;
        let slots = <[u32; Q]>::each(|register| {
            let word = given.slots.load(row + 32 * register);
            used |= u32::from(word != frb::UNUSED) << register;
            opaque((shared + 4 * word) as i32) as u32
        });
        let weights = weights_of(given, sizes, item, pol, X);
        let last = upchannelise::TIMES - 1;
        let position = lane * WARPS + warp;
        let time = upchannelise::time_at(if position < last { position } else { last });
        Self {
            lane,
            phases: T::phases(given.phases, lane),
            slots,
            used,
            weights: <[[[u32; 2]; P]; LINES]>::each(|line| {
                <[[u32; 2]; P]>::each(|pair| weight(weights, line * P + pair, lane))
            }),
            offsets: time * sizes.strides[0] as u32,
            voltages: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn beamform(&self, given: Given, sizes: Sizes, item: Item, pol: u32, block: u32) {
        let warp = tid_x() / 32;
        let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
        let first_time = (item.time * sizes.blocks + block) * upchannelise::TIMES;
        let base = u64::from(first_time) * time_stride
            + u64::from(item.frequency) * frequency_stride
            + u64::from(pol) * pol_stride;
        let voltages = given.voltages.part(base as usize, given.voltages.len() - base as usize);
        let line_stride = line_stride as u32;
        // Bytes from the block's first voltage: they are below 2^32.
        let from = |step: u32| shfl_sync_idx_b32(self.offsets, step, 31, u32::MAX);
        let in_order = |sums: [[u32; 2]; P]| <[u32; X]>::each(|register| sums[register % P][register / P]);

        let mut step = 0;
        if LINES > 0 {
            let first = 2 * T::input_pair(self.lane) * V::BYTES as u32;
            let load = |step: u32| {
                let from = from(step) + first;
                <[[u32; P]; LINES]>::each(|line| {
                    let at = voltages.address((from + line as u32 * line_stride) as usize);
                    <[u32; P]>::each(|pair| V::two(at + (Places::<T>::FEEDS[pair] as usize * V::BYTES) as u64))
                })
            };
            let mut words = load(0);
            while step * WARPS + warp < upchannelise::TIMES {
                let sums = <[[u32; 2]; P]>::each(|pair| {
                    let parts = |line: usize| lines::parts::<V, P>(&words[line], pair, sizes.signs);
                    let mut sum = [0; 2];
                    let _ = <[(); LINES]>::each(|line| {
                        let (parts, weight) = (parts(line), self.weights[line][pair]);
                        sum = if line == 0 { lines::product(parts, weight) } else { lines::added(sum, parts, weight) };
                    });
                    sum
                });
                step += 1;
                // A branch, before which the compiler cannot move the transform.
                if step * WARPS + warp < upchannelise::TIMES {
                    words = load(step);
                }
                self.keep(in_order(sums), step - 1);
            }
        } else {
            let feeds = feeds::<T, V, P>(given, sizes, self.lane);
            let weights = weights_of(given, sizes, item, pol, X);
            while step * WARPS + warp < upchannelise::TIMES {
                let from = from(step);
                let mut sums = [[0; 2]; P];
                let mut line = 0;
                while line < sizes.lines {
                    let words = feeds.load::<V, T>(voltages, from + line * line_stride, sizes.feeds);
                    sums = <[[u32; 2]; P]>::each(|pair| {
                        let parts = lines::parts::<V, P>(&words, pair, sizes.signs);
                        lines::added(sums[pair], parts, weight(weights, line as usize * P + pair, self.lane))
                    });
                    line += 1;
                }
                self.keep(in_order(sums), step);
                step += 1;
            }
        }
    }
}

impl<T, V, const LINES: usize, const X: usize, const P: usize, const Q: usize> Alone<T, V, LINES, X, P, Q>
where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    [(); Q]: Registers<()>,
{
    /// Transforms along a line and keeps the chosen outputs.
    ///
    /// # Safety
    /// As [`Front::beamform`].
    #[inline(always)]
    unsafe fn keep(&self, x: [u32; X], step: u32) {
        let y = T::transform::<Half, Half>(x, &self.phases);
        let _ = <[(); Q]>::each(|register| {
            if self.used >> register & 1 != 0 {
                let word = Shared::<u32>::from_raw_parts(self.slots[register] + step * 4 * WARPS, 1);
                word.store(0, y[register]);
            }
        });
    }
}

/// Weights of an item and polarisation, `[line][pair][re, im][lane]`.
///
/// # Safety
/// The view holds what the sizes say.
#[inline(always)]
unsafe fn weights_of(given: Given, sizes: Sizes, item: Item, pol: u32, registers: usize) -> Global<u32> {
    let rows = ((item.frequency * sizes.pols + pol) * sizes.outs + item.out) as usize * sizes.lines as usize;
    given.weights.part(rows * 32 * registers, sizes.lines as usize * 32 * registers)
}

/// A lane's weight of a pair.
///
/// # Safety
/// It is in the view.
#[inline(always)]
unsafe fn weight(weights: Global<u32>, pair: usize, lane: u32) -> [u32; 2] {
    let at = pair * 64 + lane as usize;
    [weights.load(at), weights.load(at + 32)]
}

/// Where a lane finds its feeds of a line.
#[derive(Clone, Copy)]
struct Feeds<const P: usize> {
    /// The lane's first feed.
    first: u32,
    /// Offsets in bytes of the pairs of neighbours from the line's first byte.
    bytes: [u32; P],
    /// Whether two neighbours are loaded at once.
    in_pairs: bool,
}

/// Whether two neighbours can be loaded at once.
#[inline(always)]
fn in_pairs<V: Voltages>(given: Given, sizes: Sizes) -> bool {
    let strides = sizes.strides[0] | sizes.strides[1] | sizes.strides[2] | sizes.strides[3];
    // SAFETY: an address, which is not used.
    let address = unsafe { given.voltages.address(0) };
    (address | strides) & (2 * V::BYTES as u64 - 1) == 0 && sizes.feeds.is_multiple_of(2)
}

/// Feeds of a transform.
struct Places<T>(PhantomData<T>);

impl<T: Transform> Places<T> {
    /// Feeds of the registers `2 k`, without the lane's.
    const FEEDS: [u32; 16] = {
        let mut feeds = [0; 16];
        let mut at = 0;
        while at < 1 << (T::INPUT_BITS - 6) {
            let place = T::INPUT.physical().index(&[("r", 2 * at as u64)]);
            feeds[at] = T::INPUT.logical().number("n", T::INPUT.apply(place)) as u32;
            at += 1;
        }
        feeds
    };
}

/// Where a lane finds its feeds.
///
/// # Safety
/// `lane` is below 32.
#[inline(always)]
unsafe fn feeds<T: Transform, V: Voltages, const P: usize>(given: Given, sizes: Sizes, lane: u32) -> Feeds<P>
where
    [u32; P]: Registers<u32>,
{
    let first = 2 * T::input_pair(lane);
    let feeds = sizes.feeds;
    Feeds {
        first,
        bytes: <[u32; P]>::each(|pair| {
            let feed = first + Places::<T>::FEEDS[pair];
            // Feeds that there are not have weights of zero.
            (if feed < feeds { feed } else { 0 }) * V::BYTES as u32
        }),
        in_pairs: in_pairs::<V>(given, sizes),
    }
}

impl<const P: usize> Feeds<P> {
    /// Loads a lane's feeds of the line that starts at byte `line`.
    ///
    /// # Safety
    /// The line is in the view.
    #[inline(always)]
    unsafe fn load<V: Voltages, T: Transform>(self, voltages: Global<u8>, line: u32, feeds: u32) -> [u32; P]
    where
        [u32; P]: Registers<u32>,
    {
        let at = line as usize;
        if self.in_pairs {
            return <[u32; P]>::each(|pair| V::two(voltages.address(at + self.bytes[pair] as usize)));
        }
        <[u32; P]>::each(|pair| {
            let at = at + self.bytes[pair] as usize;
            // The last feed has itself for a neighbour, with a weight of zero.
            let more = self.first + Places::<T>::FEEDS[pair] + 1 < feeds;
            let second = V::one(voltages, if more { at + V::BYTES } else { at });
            V::one(voltages, at) | second << (8 * V::BYTES)
        })
    }
}
