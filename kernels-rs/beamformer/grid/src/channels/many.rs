//! Transforms of 64 to 1024 times, by the microkernels: a block stages all times of 32 feeds in shared memory, each
//! warp transforms the times of one after the other, and puts channels in their place.
//!
//! In shared memory the numbers of a time are 33 words from those of the next: lanes that store four feeds of four
//! times have all banks, and those that load one feed at neighbouring times half of them.

use core::marker::PhantomData;

use fringes_device::barrier::bar_sync_0;
use fringes_device::index::{laneid, ntid_x, tid_x};
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_beamformer_frb::Registers;
use fringes_kernels_fft_microkernel::{Half, Transform};

use super::{ChannelSizes, checked};
use crate::load;

/// Feeds of a block.
const WIDTH: u32 = 32;
/// Words from a time to the next.
const PITCH: u32 = WIDTH + 1;

/// Numbers of the registers of a transform without the lane's.
struct Places<T>(PhantomData<T>);

impl<T: Transform> Places<T> {
    /// Times of the input's registers.
    const TIMES: [u32; 32] = {
        let mut times = [0; 32];
        let mut at = 0;
        while at < 1 << (T::INPUT_BITS - 5) {
            let place = T::INPUT.physical().index(&[("r", at as u64)]);
            times[at] = T::INPUT.logical().number("n", T::INPUT.apply(place)) as u32;
            at += 1;
        }
        times
    };
    /// Channels of the output's registers.
    const CHANNELS: [u32; 32] = {
        let mut channels = [0; 32];
        let mut at = 0;
        while at < 1 << (T::OUTPUT_BITS - 5) {
            let place = T::OUTPUT.physical().index(&[("r", at as u64)]);
            channels[at] = T::OUTPUT.logical().number("q", T::OUTPUT.apply(place)) as u32;
            at += 1;
        }
        channels
    };
}

/// All transforms, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn many<T, const X: usize>(
    voltages: Global<u8>,
    phases: Global<u32>,
    channels: GlobalMut<u32>,
    sizes: ChannelSizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; X]>,
    [u32; X]: Registers<u32>,
    [(); X]: Registers<()>,
{
    const { assert!(T::INPUT_BITS == T::OUTPUT_BITS && X == 1 << (T::INPUT_BITS - 5)) };
    let times = 1 << T::INPUT_BITS;
    let bytes = 4 * times * PITCH;
    let table = phases.len() >= 32 * T::PHASE_REGISTERS;
    checked(voltages, channels, sizes, [times, WIDTH, bytes], table, |item| {
        // SAFETY: the views hold what the sizes say, and shared memory has all times of so many feeds.
        unsafe {
            stage::<T>(voltages, sizes, item);
            bar_sync_0();
            transform::<T, X>(phases, sizes, item);
            bar_sync_0();
            store::<T>(channels, sizes, item);
            bar_sync_0();
        }
    });
}

/// Numbers of a tile.
#[inline(always)]
fn width(sizes: ChannelSizes, tile: u32) -> u32 {
    (sizes.columns() - tile * WIDTH).min(WIDTH)
}

/// Puts all times of a tile into shared memory.
///
/// # Safety
/// As [`many`].
#[inline(always)]
unsafe fn stage<T: Transform>(voltages: Global<u8>, sizes: ChannelSizes, [block, frequency, tile]: [u32; 3]) {
    let times = 1 << T::INPUT_BITS;
    let (quad, row) = (laneid() & 7, laneid() >> 3);
    if 4 * quad >= width(sizes, tile) {
        return;
    }
    let (first, left) = sizes.quad([block, frequency], tile * (WIDTH / 4) + quad, times);
    let format = [sizes.format, sizes.signs];
    let strides = sizes.strides;
    let all = voltages.address(0) | strides[0] | strides[1] | strides[2] | strides[3];
    let whole = all & u64::from(4 * load::bytes(sizes.format) - 1) == 0 && sizes.feeds.is_multiple_of(4);
    let shared = Shared::<u32>::dynamic();
    let step = ntid_x() / 32 * 4;
    let mut time = tid_x() / 32 * 4 + row;
    while time < times {
        let at = first + u64::from(time) * strides[0];
        let x = load::four(voltages, format, whole, at as usize, left);
        let word = (time * PITCH + 4 * quad) as usize;
        shared.store(word, x[0]);
        shared.store(word + 1, x[1]);
        shared.store(word + 2, x[2]);
        shared.store(word + 3, x[3]);
        time += step;
    }
}

/// Transforms the times of all feeds of a tile.
///
/// # Safety
/// As [`many`]; the times are in shared memory.
#[inline(always)]
unsafe fn transform<T, const X: usize>(phases: Global<u32>, sizes: ChannelSizes, [_, _, tile]: [u32; 3])
where
    T: Transform<Input = [u32; X], Output<u32> = [u32; X]>,
    [u32; X]: Registers<u32>,
    [(); X]: Registers<()>,
{
    let lane = laneid();
    let phases = T::phases(phases, lane);
    let shared = Shared::<u32>::dynamic();
    let (from, to) = (2 * T::input_pair(lane), 2 * T::output_pair(lane));
    let width = width(sizes, tile);
    let mut column = tid_x() / 32;
    while column < width {
        let x = <[u32; X]>::each(|at| shared.load(((from + Places::<T>::TIMES[at]) * PITCH + column) as usize));
        bar_warp_sync(u32::MAX);
        let y = T::transform::<Half, Half>(x, &phases);
        let _ = <[(); X]>::each(|at| {
            shared.store(((to + Places::<T>::CHANNELS[at]) * PITCH + column) as usize, y[at]);
        });
        column += ntid_x() / 32;
    }
}

/// Stores all channels of a tile.
///
/// # Safety
/// As [`many`]; the channels are in shared memory.
#[inline(always)]
unsafe fn store<T: Transform>(channels: GlobalMut<u32>, sizes: ChannelSizes, [block, frequency, tile]: [u32; 3]) {
    let count = 1 << T::OUTPUT_BITS;
    let (quad, row) = (laneid() & 7, laneid() >> 3);
    if 4 * quad >= width(sizes, tile) {
        return;
    }
    let columns = u64::from(sizes.columns());
    let first = sizes.first_out([block, frequency], count) + u64::from(tile * WIDTH + 4 * quad);
    let channels = channels.cast::<[u32; 4]>();
    let shared = Shared::<u32>::dynamic();
    let step = ntid_x() / 32 * 4;
    let mut channel = tid_x() / 32 * 4 + row;
    while channel < count {
        let word = (channel * PITCH + 4 * quad) as usize;
        let y = [shared.load(word), shared.load(word + 1), shared.load(word + 2), shared.load(word + 3)];
        channels.store(((first + u64::from(channel) * columns) / 4) as usize, y);
        channel += step;
    }
}
