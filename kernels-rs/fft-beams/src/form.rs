//! FFT beams: each warp takes some times of one line of one channel, and does them one after the other.
//!
//! The gains of the line stay in registers, both parts of a gain in one, and the phases of the transform; the voltages of the next time are loaded before the
//! present one is transformed. Polarisations lie next to each other in memory: a lane loads all of two feeds with one instruction, 2 to 8
//! bytes, and transforms one polarisation after the other. The warps of a block have neighbouring lines where there are several.
//!
//! A voltage `x` times a gain `g` is `x Re g + (i x) Im g`, two half2 operations; `x` and `i x` both come from the bytes with one permute (of bytes;
//! or logical operation on nibbles) and one half2 operation each, exactly.
//!
//! # Floor
//! Bytes: a transform from 256 to 512 reads 256 bytes of 4+4-bit (512 of 8-bit) voltages and writes 2048 bytes of f16 or of powers, 4096 of complex f32. At an
//! H200's 4.3 TB/s these are 0.54 ns (0.60), 141 SM-cycles (157), and 1.01 ns (1.07) of complex f32.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::control::trap;
use fringes_device::half2::{fma_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::{ctaid_x, laneid, nctaid_x, tid_x};
use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft::Transform;

use crate::registers::Registers;
use crate::{Scaled, Voltages};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct Given {
    /// Voltages `[channel][time][line][feed][pol]`.
    pub voltages: Global<u8>,
    /// Flags `[time][line][feed][pol]`, or none.
    pub present: Global<u8>,
    /// Gains `[channel][line][feed][pol]`.
    pub gains: Global<u32>,
    /// Factors of channels.
    pub factors: Global<f32>,
    /// The transform's phases.
    pub phases: Global<u32>,
}

/// Sizes of the arrays.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Channels.
    pub channels: u32,
    /// Times.
    pub times: u32,
    /// Lines.
    pub lines: u32,
    /// Feeds of a line.
    pub feeds: u32,
    /// Times that a warp does with the same gains.
    pub unit: u32,
}

impl Sizes {
    /// Units of work: times of a unit of each line and channel, the largest number where it does not fit.
    #[inline(always)]
    fn units(&self) -> u64 {
        let rows = u64::from(self.channels) * u64::from(self.lines);
        rows.saturating_mul(self.times.div_ceil(self.unit).into())
    }

    /// Lines at all times of all channels, the largest number where it does not fit.
    #[inline(always)]
    fn rows(&self) -> u64 {
        (u64::from(self.channels) * u64::from(self.times)).saturating_mul(self.lines.into())
    }
}

/// Offsets of the pairs of feeds that a lane loads from its first.
struct Offsets<T>(core::marker::PhantomData<T>);

impl<T: Transform> Offsets<T> {
    /// In pairs; as many as there are registers of the input, halved.
    const PAIRS: [u32; 16] = {
        let mut pairs = [0; 16];
        let mut at = 0;
        while at < 1 << (T::INPUT_BITS - 6) {
            let place = T::INPUT.physical().index(&[("r", 2 * at as u64)]);
            pairs[at] = T::INPUT.logical().number("n", T::INPUT.apply(place)) as u32 / 2;
            at += 1;
        }
        pairs
    };
}

/// Forms all beams, after checking that the views are large enough.
#[inline(always)]
pub fn checked<T, V, O, const P: usize, const X: usize>(given: Given, beams: GlobalMut<u32>, sizes: Sizes)
where
    T: Transform<Input = [u32; X]>,
    V: Voltages,
    O: Scaled,
    [u32; X]: Registers<u32>,
    [V::Pair; P]: Registers<V::Pair>,
{
    const { assert!(2 * P == X && X == 1 << (T::INPUT_BITS - 5)) };
    let Sizes { channels, times, lines, feeds, unit } = sizes;
    let inputs = (u64::from(lines) * u64::from(feeds)).saturating_mul(V::POLS as u64);
    let of = |count: u32| inputs.saturating_mul(count.into());
    let samples = of(channels).saturating_mul(times.into());
    let words = sizes.rows().saturating_mul((V::POLS * O::PAIR_WORDS) as u64) << (T::OUTPUT_BITS - 1);
    // SAFETY: addresses of the first values, which are not used.
    let (voltage, first) = unsafe { (given.voltages.address(0), beams.address(0)) };
    let fits = unit > 0
        && feeds <= 1 << T::INPUT_BITS
        && sizes.rows() >> 40 == 0
        && sizes.units() <= u32::MAX.into()
        && voltage % V::BYTES as u64 == 0
        && first % 16 == 0
        && samples.saturating_mul(V::BYTES as u64) <= given.voltages.len() as u64
        && (given.present.is_empty() || of(times) <= given.present.len() as u64)
        && of(channels) <= given.gains.len() as u64
        && channels as usize <= given.factors.len()
        && 32 * T::PHASE_REGISTERS <= given.phases.len()
        && words <= beams.len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<T, V, O, P, X>(given, beams, sizes) }
    } else {
        trap();
    }
}

/// Forms all beams.
///
/// # Safety
/// The views hold what the sizes say, and there are fewer than 2^32 units.
#[inline(always)]
unsafe fn form<T, V, O, const P: usize, const X: usize>(given: Given, beams: GlobalMut<u32>, sizes: Sizes)
where
    T: Transform<Input = [u32; X]>,
    V: Voltages,
    O: Scaled,
    [u32; X]: Registers<u32>,
    [V::Pair; P]: Registers<V::Pair>,
{
    let (units, lane) = (sizes.units() as u32, laneid());
    let warps = nctaid_x() * WARPS;
    let mut unit = ctaid_x() * WARPS + tid_x() / 32;
    if unit >= units {
        return;
    }
    let phases = T::phases(given.phases, lane);
    let chunks = sizes.times.div_ceil(sizes.unit);
    loop {
        let (line, rest) = (unit % sizes.lines, unit / sizes.lines);
        let (chunk, channel) = (rest % chunks, rest / chunks);
        let lane = Lane::<T, V>::new(given, sizes, channel, line, lane);
        let gains = lane.gains::<X>();
        let factor = given.factors.load(channel as usize);
        let places = O::new(beams, factor);
        let mut time = chunk * sizes.unit;
        let end = sizes.times.min(time.saturating_add(sizes.unit));
        let mut pairs = lane.load::<P>(time);
        while time < end {
            let now = pairs;
            if time + 1 < end {
                pairs = lane.load::<P>(time + 1);
            }
            let row = ((channel as usize * sizes.times as usize + time as usize) * sizes.lines as usize
                + line as usize)
                * V::POLS;
            fringes_device::unroll!(pol in 0 1 {
                if pol < V::POLS {
                    let x = <[u32; X]>::each(|register| {
                        multiplied(V::turned(now[register / 2], register % 2, pol), gains[pol][register])
                    });
                    let y = T::transform::<O::Inner, O::Sums>(x, &phases);
                    T::store(y, places, ((row + pol) << (T::OUTPUT_BITS - 1)) + T::output_pair(laneid()) as usize);
                }
            });
            time += 1;
        }
        // No sum overflows: there are fewer warps than 2^31.
        let next = unit + warps;
        if next >= units || next < unit {
            return;
        }
        unit = next;
    }
}

/// `x g` of `x`, `i x` and `g`.
///
/// # Precision
/// Each part is rounded twice: the product with `Im g`, and the sum.
#[inline(always)]
fn multiplied([x, ix]: [u32; 2], gain: u32) -> u32 {
    let (re, im) = (prmt_b32(gain, 0, 0x1010), prmt_b32(gain, 0, 0x3232));
    fma_rn_f16x2(x, re, mul_rn_f16x2(ix, im))
}

/// What a lane loads of one line of one channel.
struct Lane<T, V> {
    given: Given,
    /// Feeds from the lane's first pair on.
    feeds: u32,
    /// Number of the voltage of the lane's first feed at time 0, and of its flag and gain.
    first: [usize; 3],
    /// Voltages of all lines at one time.
    inputs: usize,
    /// Whether two feeds can be loaded at once.
    wide: bool,
    types: core::marker::PhantomData<(T, V)>,
}

impl<T: Transform, V: Voltages> Lane<T, V> {
    #[inline(always)]
    unsafe fn new(given: Given, sizes: Sizes, channel: u32, line: u32, lane: u32) -> Self {
        let inputs = sizes.lines as usize * sizes.feeds as usize * V::POLS;
        let feed = 2 * T::input_pair(lane);
        let input = (line as usize * sizes.feeds as usize + feed as usize) * V::POLS;
        let spectrum = channel as usize * sizes.times as usize;
        let aligned = |address: u64, bytes: usize| address % (2 * V::POLS * bytes) as u64 == 0;
        Self {
            given,
            feeds: sizes.feeds.saturating_sub(feed),
            first: [spectrum * inputs + input, input, channel as usize * inputs + input],
            inputs,
            wide: sizes.feeds % 2 == 0
                && aligned(given.voltages.address(0), V::BYTES)
                && aligned(given.present.address(0), 1),
            types: core::marker::PhantomData,
        }
    }

    /// The gains of both polarisations, zero for feeds that there are not.
    #[inline(always)]
    unsafe fn gains<const X: usize>(&self) -> [[u32; X]; 2]
    where
        [u32; X]: Registers<u32>,
    {
        let of = |pol: usize| {
            <[u32; X]>::each(|register| {
                let feed = 2 * Offsets::<T>::PAIRS[register / 2] + register as u32 % 2;
                if pol < V::POLS && feed < self.feeds {
                    self.given.gains.load(self.first[2] + feed as usize * V::POLS + pol)
                } else {
                    0
                }
            })
        };
        [of(0), of(1)]
    }

    /// The voltages at a time, zero where there are none.
    #[inline(always)]
    unsafe fn load<const P: usize>(&self, time: u32) -> [V::Pair; P]
    where
        [V::Pair; P]: Registers<V::Pair>,
    {
        let [first, flag, _] = self.first;
        let (first, flag) = (first + time as usize * self.inputs, flag + time as usize * self.inputs);
        let pairs = <[V::Pair; P]>::each(|pair| self.pair(first, 2 * Offsets::<T>::PAIRS[pair]));
        if self.given.present.is_empty() {
            return pairs;
        }
        <[V::Pair; P]>::each(|pair| V::present(pairs[pair], self.flags(flag, 2 * Offsets::<T>::PAIRS[pair])))
    }

    /// The voltages of two feeds.
    #[inline(always)]
    unsafe fn pair(&self, first: usize, feed: u32) -> V::Pair {
        let voltage = first + feed as usize * V::POLS;
        if self.wide {
            let exists = feed < self.feeds;
            return if exists { V::load(self.given.voltages, voltage * V::BYTES) } else { V::ZERO };
        }
        let mut pair = V::ZERO;
        fringes_device::unroll!(at in 0 1 2 3 {
            let (next, pol) = (at / V::POLS, at % V::POLS);
            if next < 2 && feed + (next as u32) < self.feeds {
                pair = V::insert(pair, self.given.voltages, (voltage + at) * V::BYTES, next, pol);
            }
        });
        pair
    }

    /// The flags of two feeds, as bytes.
    #[inline(always)]
    unsafe fn flags(&self, first: usize, feed: u32) -> u32 {
        let flag = first + feed as usize * V::POLS;
        if self.wide {
            return match (feed < self.feeds, V::POLS) {
                (false, _) => 0,
                (true, 1) => u32::from(self.given.present.cast::<u16>().load(flag / 2)),
                (true, _) => self.given.present.cast::<u32>().load(flag / 4),
            };
        }
        let mut flags = 0;
        fringes_device::unroll!(at in 0 1 2 3 {
            if at / V::POLS < 2 && feed + ((at / V::POLS) as u32) < self.feeds {
                flags |= u32::from(self.given.present.load(flag + at)) << (8 * at);
            }
        });
        flags
    }
}
