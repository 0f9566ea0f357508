//! Sums from registers to beams in device memory.
//!
//! A lane's registers of block `i` of eight columns are columns `8 i + 2 (lane % 4) + e`, at two times. Columns are
//! laid out so that neighbouring blocks hold neighbouring beams ([`crate::tied_array::column`]): 16 bytes of a time.

mod detect;
mod voltages;

use fringes_device::fused::fma;
use fringes_device::{GlobalMut, Shared, Value};
use fringes_kernels_common::dither::words;

use crate::source::Source;
use crate::sums::Part;
use crate::sums::Sums;
use crate::tied_array::{Output, TIMES};
use crate::work::{Job, Work};

pub use detect::{Coherency, Power};
pub(crate) use detect::{folded, stored, with};
pub use voltages::{F16, F32, I8};

/// What becomes of a tile's sums.
pub trait Put {
    /// Its name.
    const OUTPUT: Output;
    /// Whether incoherent beams may be made beside it.
    const INCOHERENT: bool = false;

    /// Stores the beams that there are, of `DIGITS` columns each.
    ///
    /// # Safety
    /// - All threads of the warp call it, `lane` being theirs.
    /// - `work` is what fits ([`Work::fits`]).
    unsafe fn put<S: Source, const H: usize, const DIGITS: usize>(sums: &Sums<S::Part, H>, work: &Work, lane: &Lane);

    /// The same of a lane that has the words of its dither already ([`Lane::dithered`]).
    ///
    /// # Safety
    /// As [`Put::put`].
    #[inline(always)]
    unsafe fn put_dithered<S: Source, const H: usize, const DIGITS: usize>(
        sums: &Sums<S::Part, H>,
        work: &Work,
        lane: &Lane,
    ) {
        Self::put::<S, H, DIGITS>(sums, work, lane);
    }
}

/// Which part of a tile a lane has.
#[derive(Clone, Copy)]
pub struct Lane {
    /// Channel.
    pub channel: u32,
    /// Its two times.
    pub times: [u32; 2],
    /// Whether they are formed.
    pub formed: [bool; 2],
    /// Whether all 16 times of the warp are formed.
    pub all_times: bool,
    /// Whether they are, and all beams of the tile are there.
    pub whole: bool,
    /// First beam of the tile.
    pub beam: u32,
    /// The tile's scales, as many as it has beams.
    pub scales: Shared<f32>,
    /// The lane modulo 4.
    pub quarter: u32,
    /// The lane divided by 4.
    pub row: u32,
    /// Words of the dither at the two times.
    pub words: [[u32; 2]; 2],
}

impl Lane {
    /// The lane's part of a job's tile.
    #[inline(always)]
    pub fn new<S: Source>(
        work: &Work,
        job: Job,
        columns: u32,
        [group, warp, lane]: [u32; 3],
        scales: Shared<f32>,
    ) -> Self {
        let (quarter, row) = (lane % 4, lane / 4);
        let time = TIMES * job.time + 64 * group + 16 * warp;
        let times = if S::NEIGHBOURS { [time + 2 * row, time + 2 * row + 1] } else { [time + row, time + row + 8] };
        let formed = times.map(|time| time >= work.first && time < work.end);
        let all_times = time >= work.first && time + 16 <= work.end;
        let words = [[0; 2]; 2];
        let beams = columns >> u32::from(work.digits == 2);
        let beam = job.column * beams;
        let whole = all_times && beam + beams <= work.count;
        Self { channel: job.channel, times, formed, all_times, whole, beam, scales, quarter, row, words }
    }

    /// With the words of the dither.
    #[inline(always)]
    pub fn dithered(mut self, work: &Work) -> Self {
        if work.dither != 0 {
            self.words = self.times.map(|time| {
                words(work.seed, work.spectrum.wrapping_add(u64::from(time)), work.channel.wrapping_add(self.channel))
            });
        }
        self
    }
}

/// Bytes of shared memory for the scales of a warp's tile.
pub const SCALE_BYTES: u32 = 512;

/// A job's scales, four at a time: the first four, and how many fours there are.
#[inline(always)]
pub fn scales(work: &Work, job: Job, columns: u32) -> (u64, u32) {
    let fours = columns >> (2 + u32::from(work.digits == 2));
    let tile = u64::from(job.channel) * u64::from(work.tiles(columns)) + u64::from(job.column);
    (tile * u64::from(fours), fours)
}

/// Blocks of eight columns that a tile has for each digit.
pub const fn blocks(half: usize, digits: usize) -> usize {
    half / 4 / digits
}

/// Neighbouring beams of a lane.
pub const fn run(output: Output, half: usize, digits: usize) -> usize {
    crate::tied_array::run(output.most_run(), 2 * half as u32, digits as u32) as usize
}

/// The value of column `e` of a block at time `h`, both of the lane's two.
#[inline(always)]
pub fn value<P: Part, const H: usize, const DIGITS: usize>(
    sums: &Sums<P, H>,
    block: usize,
    h: usize,
    e: usize,
) -> [f32; 2] {
    let high = 4 * DIGITS * block + 2 * h + e;
    let part = |sums: &[P; H]| {
        let number = sums[high].number();
        if DIGITS == 2 { fma(number, 256.0, sums[high + 4].number()) } else { number }
    };
    [part(&sums.re), part(&sums.im)]
}

/// Stores a value.
///
/// # Safety
/// `address` is that of a value of the beams, a multiple of its size.
#[inline(always)]
pub unsafe fn put<T: Value>(address: u64, value: T) {
    GlobalMut::<T>::from_raw_parts(address, 1).store(0, value);
}

/// Beams before those of a time: `[channel][time][beam]`.
#[inline(always)]
pub fn before(work: &Work, channel: u32, times: u32, time: u32) -> u64 {
    (u64::from(channel) * u64::from(times) + u64::from(time)) * u64::from(work.count)
}
