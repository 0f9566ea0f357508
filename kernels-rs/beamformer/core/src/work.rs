//! What there is to do, and which part of it a block does.

use fringes_device::{Global, GlobalMut};

use crate::source::Source;
use crate::tied_array::{CHUNK_BYTES, MOST_INPUTS, Output, TIMES};

/// What a launch forms.
#[derive(Clone, Copy)]
pub struct Work {
    /// Weights, as [`crate::tied_array`] lays them out.
    pub table: Global<[u32; 4]>,
    /// Scales of beams.
    pub scales: Global<f32>,
    /// Beams `[channel][time][beam]`, of all times, or sums `[channel][time / fold][beam]`.
    pub beams: GlobalMut<u16>,
    /// Counts of saturated values `[beam]`, if any.
    pub saturated: GlobalMut<u64>,
    /// Channels.
    pub channels: u32,
    /// Inputs.
    pub inputs: u32,
    /// Beams.
    pub count: u32,
    /// Times of a channel's beams.
    pub times: u32,
    /// The first time that is formed.
    pub first: u32,
    /// The time after the last one that is.
    pub end: u32,
    /// Columns of a beam.
    pub digits: u32,
    /// Times that powers are summed over: 1, 2, 4, 8 or 16.
    pub fold: u32,
    /// Seed of the dither, XORed with that of beams.
    pub seed: u64,
    /// Number of time 0.
    pub spectrum: u64,
    /// Number of channel 0.
    pub channel: u32,
    /// Whether integers have dither, if not 0.
    pub dither: u32,
}

/// A tile of times and columns of a channel.
#[derive(Clone, Copy)]
pub struct Job {
    /// Channel.
    pub channel: u32,
    /// Tile of times, counted from time 0.
    pub time: u32,
    /// Tile of columns.
    pub column: u32,
}

impl Work {
    /// Tiles of columns.
    #[inline(always)]
    pub fn tiles(&self, columns: u32) -> u32 {
        (self.count << u32::from(self.digits == 2)).div_ceil(columns)
    }

    /// The first tile of times.
    #[inline(always)]
    pub fn first_tile(&self) -> u32 {
        self.first / TIMES
    }

    /// Tiles of times.
    #[inline(always)]
    pub fn time_tiles(&self) -> u32 {
        self.end.div_ceil(TIMES) - self.first_tile()
    }

    /// Sums of powers of a channel: `times / fold`, rounded up, `fold` being a power of two.
    #[inline(always)]
    pub fn folded_times(&self) -> u32 {
        let shift = self.fold.trailing_zeros() & 31;
        (self.times >> shift) + u32::from(self.times & self.fold.wrapping_sub(1) != 0)
    }

    /// Chunks of inputs.
    #[inline(always)]
    pub fn chunks<S: Source>(&self) -> u32 {
        self.inputs.div_ceil(S::INPUTS)
    }

    /// Whether the numbers make sense, and all is there that they say.
    #[inline(always)]
    pub fn fits<S: Source>(&self, columns: u32, output: Output) -> bool {
        let digits = self.digits == 1 || (self.digits == 2 && !S::FLOATS);
        let folds = self.fold >= 1 && self.fold <= 16 && self.fold & (self.fold - 1) == 0;
        let powers = matches!(output, Output::Power | Output::Coherency);
        let folds = folds && (powers || self.fold == 1);
        let pairs = !matches!(output, Output::Coherency) || self.count % 2 == 0;
        let sizes = self.channels >= 1
            && self.inputs >= 1
            && self.inputs <= MOST_INPUTS
            && self.count >= 1
            && self.count <= 1 << 24
            && self.first < self.end
            && self.end <= self.times
            && self.times <= 1 << 31;
        if !(digits && folds && pairs && sizes) {
            return false;
        }
        let tiles = u64::from(self.channels) * u64::from(self.tiles(columns));
        let table = tiles * u64::from(self.chunks::<S>()) * u64::from(columns * CHUNK_BYTES / 16);
        let scales = tiles * u64::from(columns >> u32::from(self.digits == 2));
        let times = u64::from(self.folded_times());
        let beams = u64::from(self.channels) * times * u64::from(self.count);
        tiles * u64::from(self.time_tiles()) < 1 << 31
            && table <= self.table.len() as u64
            && scales <= self.scales.len() as u64
            && self.scales_are_aligned()
            && beams * u64::from(output.bytes() / 2) <= self.beams.len() as u64
            && (self.saturated.is_empty() || u64::from(self.count) <= self.saturated.len() as u64)
    }

    /// Whether scales can be loaded four at a time.
    #[inline(always)]
    fn scales_are_aligned(&self) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.scales.address(0) % 16 == 0 }
    }

    /// Job `number`, if there is one: those of the same times follow each other, then those of the same channel.
    #[inline(always)]
    pub fn get(&self, number: u32, columns: u32) -> Option<Job> {
        let (tiles, times) = (self.tiles(columns), self.time_tiles());
        if number >= tiles * times * self.channels {
            return None;
        }
        let rest = number.checked_div(tiles).unwrap_or_default();
        let channel = rest.checked_div(times).unwrap_or_default();
        Some(Job { channel, time: self.first_tile() + rest - channel * times, column: number - rest * tiles })
    }
}
