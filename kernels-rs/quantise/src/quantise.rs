//! `y[channel][time][input] = clamp(gain[channel][input] x[channel][time][input])`, both parts rounded half to even.
//!
//! The product is taken in f64, by the formula of the CPU and the reference, and so are the rounding and the
//! comparison with the limit: integers and counts are the same bits on every input. A value with a part beyond the
//! limit, or NaN (which gives 0), counts for its input, once. Values of absent voltages are 0 and do not count.
//!
//! ```text
//! times     0 1 2 3 4 5 6 7 8 9      3 runs: a thread has one input, and times far apart
//! thread    a b c a b c a b c a      neighbouring threads: neighbouring inputs, then the next time
//! ```
//!
//! So a warp's loads are of neighbouring values whatever the number of inputs, a thread loads its gain once, and counts
//! for one input. The host chooses how many runs there are.
//!
//! Floor: every value is read once and written once: 8 bytes and 2, or 8 and 1.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::warp::{redux_sync_add_u32, shfl_sync_idx_b32, vote_sync_all_pred, vote_sync_any_pred};
use fringes_device::{Global, GlobalMut, Value, unroll};

/// 1.5 2^52: a small number that is added to it is rounded to a whole one, half to even, which is in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// A format of integers.
pub trait Integers: Copy {
    /// A value in memory.
    type Stored: Value;
    /// Largest magnitude of a part.
    const LIMIT: f64;

    /// The value of two whole numbers within the limit, which are in the lowest bits.
    fn stored(re: u32, im: u32) -> Self::Stored;
}

/// Two bytes, the real part first.
#[derive(Clone, Copy)]
pub struct I8;

impl Integers for I8 {
    type Stored = u16;
    const LIMIT: f64 = 127.0;

    #[inline(always)]
    fn stored(re: u32, im: u32) -> u16 {
        (re & 0xff | im << 8) as u16
    }
}

/// 4+4 bits, the real part in the high ones.
#[derive(Clone, Copy)]
pub struct I4;

impl Integers for I4 {
    type Stored = u8;
    const LIMIT: f64 = 7.0;

    #[inline(always)]
    fn stored(re: u32, im: u32) -> u8 {
        (re << 4 | im & 0xf) as u8
    }
}

/// Voltages, and what becomes of them.
#[derive(Clone, Copy)]
pub struct Quantise<F: Integers> {
    /// `[channel][time][input]`.
    pub from: Global<[f32; 2]>,
    /// `[channel][time][input]`.
    pub to: GlobalMut<F::Stored>,
    /// `[channel][input]`.
    pub gains: Global<[f32; 2]>,
    /// Flags `[time][input]`, 0 where the voltage is absent; or no values if all are there.
    pub present: Global<u8>,
    /// `[input]`: the number of values beyond the limit is added.
    pub saturated: GlobalMut<u64>,
    /// Channels.
    pub channels: u32,
    /// Times.
    pub times: u32,
    /// Inputs.
    pub inputs: u32,
    /// Threads that share the times of a channel and an input.
    pub runs: u32,
}

/// A part within the limit, rounded, in the lowest bits, and whether it was within.
#[inline(always)]
fn part<F: Integers>(value: f64) -> (u32, bool) {
    let legal = value.abs() <= F::LIMIT;
    let within = if legal {
        value
    } else if value > 0.0 {
        F::LIMIT
    } else if value < 0.0 {
        -F::LIMIT
    } else {
        0.0
    };
    ((within + ROUND).to_bits() as u32, legal)
}

/// The product of a gain and a voltage in the format, and whether a part was beyond the limit.
#[inline(always)]
fn product<F: Integers>([gr, gi]: [f64; 2], [xr, xi]: [f32; 2]) -> (F::Stored, bool) {
    let (xr, xi) = (xr as f64, xi as f64);
    let (re, re_legal) = part::<F>(gr * xr - gi * xi);
    let (im, im_legal) = part::<F>(gr * xi + gi * xr);
    (F::stored(re, im), !(re_legal & im_legal))
}

impl<F: Integers> Quantise<F> {
    /// Threads of a channel.
    #[inline(always)]
    fn columns(&self) -> u64 {
        self.runs as u64 * self.inputs as u64
    }

    /// Whether the views hold what the sizes say, and threads can be counted.
    #[inline(always)]
    pub fn fit(&self) -> bool {
        let (channels, inputs) = (self.channels as u64, self.inputs as u64);
        let of_channel = self.times as u64 * inputs;
        let values = channels.saturating_mul(of_channel);
        self.runs > 0
            && inputs > 0
            && self.columns() <= (u32::MAX - ntid_x()) as u64
            && values <= self.from.len() as u64
            && values <= self.to.len() as u64
            && channels * inputs <= self.gains.len() as u64
            && (self.present.is_empty() || of_channel <= self.present.len() as u64)
            && inputs <= self.saturated.len() as u64
    }

    /// Quantises what a block has: threads of one channel.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn run(&self) {
        let columns = self.columns() as u32;
        // (Of at least one, as it fits: so no division can panic.)
        let (groups, inputs) = (columns.div_ceil(ntid_x().max(1)).max(1), self.inputs.max(1));
        let (channel, column) = (ctaid_x() / groups, ctaid_x() % groups * ntid_x() + tid_x());
        if channel >= self.channels {
            return;
        }
        // Threads past the last one count nothing for the last input.
        let (run, input) = if column < columns { (column / inputs, column % inputs) } else { (self.times, inputs - 1) };
        let count = self.follow(channel, run, input);
        if vote_sync_any_pred(count != 0, u32::MAX) {
            if vote_sync_all_pred(input == shfl_sync_idx_b32(input, 0, 31, u32::MAX), u32::MAX) {
                let sum = redux_sync_add_u32(count, u32::MAX);
                if tid_x().is_multiple_of(32) {
                    self.saturated.atomic_add(input as usize, sum as u64);
                }
            } else if count != 0 {
                self.saturated.atomic_add(input as usize, count as u64);
            }
        }
    }

    /// Quantises a thread's values: those of an input from time `first` on, [`Quantise::runs`] times apart. Gives how
    /// many saturated.
    ///
    /// # Safety
    /// - The views [fit](Self::fit) the sizes; channel and input are below theirs.
    /// - No other thread has the same.
    #[inline(always)]
    unsafe fn follow(&self, channel: u32, first: u32, input: u32) -> u32 {
        let inputs = self.inputs as u64;
        let start = channel as u64 * self.times as u64 * inputs + input as u64;
        let [gr, gi] = self.gains.load((channel as u64 * inputs + input as u64) as usize);
        let gain = [gr as f64, gi as f64];
        let mut count = 0;
        let mut time = first as u64;
        while time < self.times as u64 {
            // The loads of four values before the first is used.
            let (mut values, mut there) = ([[0.0; 2]; 4], [false; 4]);
            unroll!(i in 0 1 2 3 {
                let at = time + i as u64 * self.runs as u64;
                if at < self.times as u64 {
                    there[i] = self.present.is_empty() || self.present.load((at * inputs + input as u64) as usize) != 0;
                    values[i] = self.from.load((start + at * inputs) as usize);
                }
            });
            unroll!(i in 0 1 2 3 {
                let at = time + i as u64 * self.runs as u64;
                if at < self.times as u64 {
                    let (value, beyond) = product::<F>(gain, values[i]);
                    let stored = if there[i] { value } else { F::stored(0, 0) };
                    count += (there[i] & beyond) as u32;
                    self.to.store((start + at * inputs) as usize, stored);
                }
            });
            time += 4 * self.runs as u64;
        }
        count
    }
}
