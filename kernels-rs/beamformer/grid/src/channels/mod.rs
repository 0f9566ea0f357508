//! Voltages of feeds in finer channels: `Y[f] = sum over t < U of exp(+-2 pi i f t / U) x[t]` of each block of `U`
//! times, to f16.
//!
//! | argument | holds |
//! |---|---|
//! | `voltages` | `[time][frequency][pol][line][feed]`, with strides of the first four |
//! | `phases` | of 64 times or more: the transform's table `[register][lane]` |
//! | `channels` | complex f16 `[block][frequency][f][pol][line][feed]`, feeds of a line rounded up to a multiple of 4 |
//!
//! Numbers of feeds that there are not are finite.
//!
//! # Precision
//! Of fewer than 64 times f32, rounded to f16 once; of more that of the microkernels.
//!
//! # Floor
//! Bytes: a byte of 4+4 bits becomes four. Where the blocks of some sums stay in the L2 these are no bytes of the
//! device's memory.

mod few;
mod many;

use core::num::NonZeroU32;

pub(crate) use few::few;
pub(crate) use many::many;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_beamformer_frb::divided;

use crate::load::{self, EIGHT};
use crate::sizes::{last, of};

/// Sizes of a launch.
#[derive(Clone, Copy)]
pub struct ChannelSizes {
    /// Blocks of times.
    pub blocks: u32,
    /// Frequencies.
    pub frequencies: u32,
    /// Polarisations.
    pub pols: u32,
    /// Lines.
    pub lines: u32,
    /// Feeds of a line.
    pub feeds: u32,
    /// Format of the voltages: [`FOUR`](crate::FOUR) or [`EIGHT`].
    pub format: u32,
    /// Of 4+4 bits, whether nibbles are offset or signed.
    pub signs: u32,
    /// Of fewer than 64 times, whether the exponent is negative: else its sign is in the phases.
    pub negative: u32,
    /// Of fewer than 64 times, what channels are multiplied by: else it is in the phases.
    pub scale: f32,
    /// Bytes from a time, frequency, polarisation and line to the next.
    pub strides: [u64; 4],
}

impl ChannelSizes {
    /// Four neighbouring feeds of a line, of the last ones maybe fewer.
    #[inline(always)]
    fn quads(&self) -> u32 {
        self.feeds.div_ceil(4)
    }

    /// Numbers of a time and frequency that come out.
    #[inline(always)]
    fn columns(&self) -> u32 {
        self.pols * self.lines * self.quads() * 4
    }

    /// Tiles of `width` of them.
    #[inline(always)]
    fn tiles(&self, width: u32) -> u32 {
        self.columns().div_ceil(width)
    }

    /// Whether sizes and views agree with one another, for transforms of `times` times and tiles of `width` columns.
    #[inline(always)]
    fn agree(&self, voltages: Global<u8>, channels: GlobalMut<u32>, times: u32, width: u32) -> bool {
        let Self { blocks, frequencies, pols, lines, feeds, format, strides, .. } = *self;
        let columns = of(&[pols, lines, feeds.div_ceil(4), 4]);
        if blocks == 0 || frequencies == 0 || pols == 0 || lines == 0 || feeds == 0 || columns > 1 << 30 {
            return false;
        }
        let bytes = u64::from(load::bytes(format));
        let [time, frequency, pol, line] = strides;
        let all = time | frequency | pol | line;
        let end = (bytes * u64::from(feeds))
            .saturating_add(last(of(&[blocks, times]), time))
            .saturating_add(last(frequencies.into(), frequency))
            .saturating_add(last(pols.into(), pol))
            .saturating_add(last(lines.into(), line));
        // SAFETY: addresses, which are not used.
        let addresses = unsafe { (voltages.address(0) | all) & (bytes - 1) | channels.address(0) & 15 };
        format <= EIGHT
            && addresses == 0
            && end <= voltages.len() as u64
            && of(&[blocks, frequencies, times]).saturating_mul(columns) <= channels.len() as u64
            && of(&[blocks, frequencies, self.tiles(width)]) <= u32::MAX.into()
    }

    /// Block, frequency and tile of a unit of work.
    #[inline(always)]
    fn item(&self, number: u32, tiles: u32) -> [u32; 3] {
        let (rest, tile) = divided(number, tiles);
        let (block, frequency) = divided(rest, self.frequencies);
        [block, frequency, tile]
    }

    /// Byte of the first voltage of four neighbours at a block's first time, and how many of its line are from there
    /// on.
    #[inline(always)]
    fn quad(&self, [block, frequency]: [u32; 2], quad: u32, times: u32) -> (u64, u32) {
        let (rest, of_line) = divided(quad, self.quads());
        let (pol, line) = divided(rest, self.lines);
        let [time_stride, frequency_stride, pol_stride, line_stride] = self.strides;
        let first = u64::from(block) * u64::from(times) * time_stride
            + u64::from(frequency) * frequency_stride
            + u64::from(pol) * pol_stride
            + u64::from(line) * line_stride
            + u64::from(4 * of_line * load::bytes(self.format));
        (first, self.feeds - 4 * of_line)
    }

    /// Number of a channel's first number in the output.
    #[inline(always)]
    fn first_out(&self, [block, frequency]: [u32; 2], times: u32) -> u64 {
        (u64::from(block) * u64::from(self.frequencies) + u64::from(frequency))
            * u64::from(times)
            * u64::from(self.columns())
    }
}

/// Runs `each(unit of work)` for all units of a block of threads, if sizes and views agree; `shared` bytes of shared
/// memory are needed.
#[inline(always)]
fn checked(
    voltages: Global<u8>,
    channels: GlobalMut<u32>,
    sizes: ChannelSizes,
    [times, width, shared]: [u32; 3],
    table: bool,
    each: impl Fn([u32; 3]),
) {
    use fringes_device::index::{ctaid_x, nctaid_x};
    let fits = table
        && sizes.agree(voltages, channels, times, width)
        && Shared::<u8>::dynamic().len() as u64 >= u64::from(shared);
    if !fits {
        return trap();
    }
    let tiles = sizes.tiles(width);
    let units = sizes.blocks * sizes.frequencies * tiles;
    let step = NonZeroU32::new(nctaid_x()).map_or(1, NonZeroU32::get);
    let mut number = ctaid_x();
    while number < units {
        each(sizes.item(number, tiles));
        number = match number.checked_add(step) {
            Some(next) => next,
            None => return,
        };
    }
}
