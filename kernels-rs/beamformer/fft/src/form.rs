//! FFT beams: each warp takes some times of one line of one channel, and does them one after the other.
//!
//! The gains of the line stay in shared memory, where each lane has its own, and the transform's phases in registers;
//! the voltages of the next time are loaded before the present one is transformed. Polarisations lie next to each other
//! in memory: a lane loads both of two feeds with one instruction, and transforms one polarisation after the other.
//! Where a line has fewer feeds than the transform takes, lanes load some feed twice: their gain is zero. The warps of
//! a block have neighbouring lines where there are several.
//!
//! A voltage `x` times a gain `g` is `x Re g + (i x) Im g`, two half2 operations; `x` and `i x` both come from the
//! bytes with one permute (of bytes; or logical operation on nibbles) and one half2 operation each, exactly.
//!
//! # Floor
//! Bytes: a transform from 256 to 512 reads 256 bytes of 4+4-bit (512 of 8-bit) voltages and writes 2048 bytes of f16
//! or of powers, 4096 of complex f32. At an H200's 4.3 TB/s these are 0.54 ns (0.60), 141 SM-cycles (157), and 1.01 ns
//! (1.07) of complex f32.

use core::marker::PhantomData;
use core::num::NonZeroU32;

use fringes_device::arithmetic::prmt_b32;
use fringes_device::control::trap;
use fringes_device::half2::{fma_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::{ctaid_x, laneid, nctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, opaque};
use fringes_kernels_fft_microkernel::Transform;

use crate::registers::Registers;
use crate::{Four, Scaled, Voltages};

/// Warps of a block.
pub const WARPS: u32 = fringes_kernel_abi::beamformer::WARPS;

/// Bytes of shared memory of a block: the gains of two polarisations, for an input of so many bits.
pub const fn shared_bytes(input_bits: u32) -> u32 {
    fringes_kernel_abi::beamformer::shared_bytes(1 << input_bits)
}

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
    /// Polarisations, 1 or 2.
    pub pols: u32,
    /// Times that a warp does with the same gains.
    pub unit: u32,
}

impl Sizes {
    /// Units of a line and channel.
    #[inline(always)]
    fn chunks(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.times.checked_sub(1)? / NonZeroU32::new(self.unit)? + 1)
    }

    /// Units of work: times of a unit of each line and channel, the largest number where it does not fit.
    #[inline(always)]
    fn units(&self, chunks: NonZeroU32) -> u64 {
        let rows = u64::from(self.channels) * u64::from(self.lines);
        rows.saturating_mul(chunks.get().into())
    }

    /// Lines at all times of all channels, the largest number where it does not fit.
    #[inline(always)]
    fn rows(&self) -> u64 {
        (u64::from(self.channels) * u64::from(self.times)).saturating_mul(self.lines.into())
    }
}

/// Offsets of the pairs of feeds that a lane loads from its first.
struct Offsets<T>(PhantomData<T>);

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
pub fn checked<T, V, O, const P: usize, const X: usize, const SHARED: u32>(
    given: Given,
    beams: GlobalMut<u32>,
    sizes: Sizes,
) where
    T: Transform<Input = [u32; X]>,
    V: Voltages,
    O: Scaled,
    [u32; X]: Registers<u32>,
    [V::Pair; P]: Registers<V::Pair>,
    [u32; P]: Registers<u32>,
    [(); P]: Registers<()>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
{
    const { assert!(2 * P == X && X == 1 << (T::INPUT_BITS - 5) && SHARED == shared_bytes(T::INPUT_BITS)) };
    let Sizes { channels, times, lines, feeds, pols, unit } = sizes;
    let inputs = (u64::from(lines) * u64::from(feeds)).saturating_mul(pols.into());
    let of = |count: u32| inputs.saturating_mul(count.into());
    let samples = of(channels).saturating_mul(times.into());
    let words = sizes.rows().saturating_mul(u64::from(pols) * O::PAIR_WORDS as u64) << (T::OUTPUT_BITS - 1);
    // SAFETY: addresses of the first values, which are not used.
    let (voltage, first) = unsafe { (given.voltages.address(0), beams.address(0)) };
    let (Some(chunks), Some(_)) = (sizes.chunks(), NonZeroU32::new(lines)) else {
        if unit == 0 {
            trap();
        }
        return; // nothing to do
    };
    let fits = (1..=1 << T::INPUT_BITS).contains(&feeds)
        && (1..=2).contains(&pols)
        && sizes.rows() >> 40 == 0
        && sizes.units(chunks) <= u32::MAX.into()
        && voltage & (V::BYTES as u64 - 1) == 0
        && first & 15 == 0
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
    [u32; P]: Registers<u32>,
    [(); P]: Registers<()>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
{
    let (Some(chunks), Some(lines)) = (sizes.chunks(), NonZeroU32::new(sizes.lines)) else { return };
    let (units, lane) = (sizes.units(chunks) as u32, laneid());
    let warps = nctaid_x() * WARPS;
    let mut unit = ctaid_x() * WARPS + tid_x() / 32;
    if unit >= units {
        return;
    }
    let phases = T::phases(given.phases, lane);
    loop {
        let (line, rest) = (unit % lines, unit / lines);
        let (chunk, channel) = (rest % chunks, rest / chunks);
        let feeds = Lane::<T, V>::new(given, sizes, channel, line, lane);
        feeds.keep_gains::<P>();
        let places = O::new(beams, given.factors.load(channel as usize));
        let start = chunk * sizes.unit;
        let end = sizes.times.min(start.saturating_add(sizes.unit));
        let mut loaded = start;
        let mut pairs = [V::pair(0); P];
        // Voltages of 64 bytes a lane are loaded ahead; more have no registers beside the transform, and are loaded for
        // each polarisation.
        let ahead = P * size_of::<V::Pair>() <= 64;
        // In turn `loaded` the voltages of that time are loaded and those of the time before transformed.
        loop {
            let now = pairs;
            if ahead && loaded < end {
                pairs = feeds.load::<P>(loaded);
            }
            if loaded > start {
                let row = (channel as usize * sizes.times as usize + loaded as usize - 1) * sizes.lines as usize;
                let row = (row + line as usize) * sizes.pols as usize;
                let mut pol = 0;
                while pol < sizes.pols {
                    let now = if ahead { now } else { feeds.load::<P>(loaded - 1) };
                    let now = <[V::Pair; P]>::each(|pair| V::pol(now[pair], pol));
                    let gains = <[[u32; 2]; P]>::each(|pair| Shared::<[u32; 2]>::dynamic().load(place(P, pol, pair)));
                    let x = <[u32; X]>::each(|register| {
                        let (pair, feed) = (register / 2, register % 2);
                        multiplied(V::turned(now[pair], feed), gains[pair][feed])
                    });
                    let y = T::transform::<O::Inner, O::Sums>(x, &phases);
                    let first = (row + pol as usize) << (T::OUTPUT_BITS - 1);
                    T::store(y, places, first + T::output_pair(lane) as usize);
                    pol += 1;
                }
            }
            if loaded == end {
                break;
            }
            loaded += 1;
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

/// Where a thread keeps the gains of a pair of feeds, of `pairs`, in shared memory, in words of 64 bits: no other
/// thread uses its places.
#[inline(always)]
fn place(pairs: usize, pol: u32, pair: usize) -> usize {
    (pol as usize * pairs + pair) * (32 * WARPS) as usize + tid_x() as usize
}

/// How a lane loads two feeds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// At once, two polarisations.
    Dual,
    /// At once, one polarisation.
    Single,
    /// One voltage after the other.
    Each,
}

/// What a lane loads of one line of one channel.
struct Lane<T, V> {
    given: Given,
    /// The lane's first feed.
    feed: u32,
    feeds: u32,
    pols: u32,
    /// Number of the line's first voltage at time 0, of its first flag and of its first gain.
    first: [usize; 3],
    /// Voltages of all lines at one time.
    inputs: usize,
    access: Access,
    types: PhantomData<(T, V)>,
}

impl<T: Transform, V: Voltages> Lane<T, V> {
    /// What lane `lane` loads of a line of a channel.
    ///
    /// # Safety
    /// - `channel`, `line` and `lane` are below what there is of each (lanes: 32), and the sizes fit the views.
    #[inline(always)]
    unsafe fn new(given: Given, sizes: Sizes, channel: u32, line: u32, lane: u32) -> Self {
        let Sizes { feeds, pols, .. } = sizes;
        let inputs = sizes.lines as usize * feeds as usize * pols as usize;
        let input = line as usize * feeds as usize * pols as usize;
        let voltage = channel as usize * sizes.times as usize * inputs + input;
        // Of two feeds.
        let bytes = 2 * u64::from(pols);
        let aligned = (given.voltages.address(0) & (bytes * V::BYTES as u64 - 1)) == 0
            && (given.present.address(0) & (bytes - 1)) == 0;
        Self {
            given,
            feed: 2 * T::input_pair(lane),
            feeds,
            pols,
            first: [voltage, input, channel as usize * inputs + input],
            inputs,
            access: match (aligned && feeds % 2 == 0, pols) {
                (false, _) => Access::Each,
                (true, 1) => Access::Single,
                (true, _) => Access::Dual,
            },
            types: PhantomData,
        }
    }

    /// Keeps the gains of both polarisations in shared memory, zero for feeds that there are not.
    ///
    /// # Safety
    /// - The block has [`WARPS`] warps and the shared memory of its size ([`shared_bytes`]), which nobody uses
    ///   otherwise: a thread has places of its own, so that no barrier is needed.
    /// - The gains of the line are in the view.
    #[inline(always)]
    unsafe fn keep_gains<const P: usize>(&self)
    where
        [(); P]: Registers<()>,
    {
        let mut pol = 0;
        while pol < self.pols {
            let _ = <[(); P]>::each(|pair| {
                let feed = self.feed + 2 * Offsets::<T>::PAIRS[pair];
                let gain = |feed: u32| {
                    let input = self.first[2] + (feed * self.pols + pol) as usize;
                    if feed < self.feeds { self.given.gains.load(input) } else { 0 }
                };
                Shared::<[u32; 2]>::dynamic().store(place(P, pol, pair), [gain(feed), gain(feed + 1)]);
            });
            pol += 1;
        }
    }

    /// The voltages at a time; some of the line's where there is no feed.
    ///
    /// # Safety
    /// - `time` is below the times, and the sizes fit the views.
    #[inline(always)]
    unsafe fn load<const P: usize>(&self, time: u32) -> [V::Pair; P]
    where
        [V::Pair; P]: Registers<V::Pair>,
        [u32; P]: Registers<u32>,
    {
        let [voltage, flag, _] = self.first.map(|first| first + time as usize * self.inputs);
        let pairs = self.pairs::<V, P>(self.given.voltages, voltage);
        if self.given.present.is_empty() {
            return pairs;
        }
        let flags = self.pairs::<Four, P>(self.given.present, flag);
        <[V::Pair; P]>::each(|pair| V::present(pairs[pair], flags[pair]))
    }

    /// The pairs of feeds of the line whose first voltage has this number.
    ///
    /// # Safety
    /// - The line that begins with voltage `first` is in the view, all feeds and polarisations; `voltages` and
    ///   `first` are aligned as `access` says.
    #[inline(always)]
    unsafe fn pairs<W: Voltages, const P: usize>(&self, voltages: Global<u8>, first: usize) -> [W::Pair; P]
    where
        [W::Pair; P]: Registers<W::Pair>,
    {
        // Computed here and not before the loop, where each pair would take a register.
        let lane = opaque(self.feed as i32) as u32;
        let byte = |feed: u32, pol: u32| (first + (feed * self.pols + pol) as usize) * W::BYTES;
        let even = |pair: usize| (lane + 2 * Offsets::<T>::PAIRS[pair]).min(self.feeds - 2);
        match self.access {
            Access::Dual => <[W::Pair; P]>::each(|pair| W::dual(voltages, byte(even(pair), 0))),
            Access::Single => <[W::Pair; P]>::each(|pair| W::single(voltages, byte(even(pair), 0))),
            Access::Each => <[W::Pair; P]>::each(|pair| {
                let (mut bytes, mut at) = (0u64, 0);
                while at < 4 {
                    let (feed, pol) = (lane + 2 * Offsets::<T>::PAIRS[pair] + at / 2, at % 2);
                    if feed < self.feeds && pol < self.pols {
                        let voltage = W::one(voltages, byte(feed, pol));
                        bytes |= u64::from(voltage) << (8 * W::BYTES as u32 * at);
                    }
                    // So that the loop stays one.
                    at = opaque(at as i32 + 1) as u32;
                }
                W::pair(bytes)
            }),
        }
    }
}
