//! Packs `[channel][time / k][antenna][pol][k]`, the layout of the Tensor-Core Correlator, into rows.
//!
//! A run of `k` samples is 32 bytes in every format (`k` is 128 bits over the bits of a real sample: 32, 16, 8, 4), one
//! sector, and four of them, `inputs` runs apart, are a row: no sample changes its place in its piece. Floor: every run
//! is read once and every row written once, `2 S` bytes a sample.
//!
//! A warp packs 32 inputs of one block. Eight lanes read the eight pieces of a row, 4 inputs and so 128 bytes of each
//! of the four runs a load, 8 loads a lane in flight, and write them as four rows.
//!
//! The last run may be partly filled; what it holds past the last time does not matter. A first time that is no
//! multiple of `k`, and presence flags, take the kernels that load one sample at a time. 4+4-bit samples of that
//! correlator have the real part in the low nibble: with `swap` not zero they are turned.

use fringes_device::index::tid_x;
use fringes_device::{Global, unroll};

use crate::pieces::{Piece, gathered, other_nibbles};
use crate::rows::{Divisor, Rows, each_tile, piece, product, times};
use crate::voltages::until_end;

/// Inputs that a warp packs.
pub const INPUTS: u32 = 32;

/// Inputs that a warp packs sample by sample.
pub const ANY_INPUTS: u32 = 4;

/// Samples of a run.
#[inline(always)]
pub const fn run<const S: usize>() -> u32 {
    (32 / S) as u32
}

/// Runs, and a range of their times.
#[derive(Clone, Copy)]
pub struct Runs {
    /// The samples.
    pub samples: Global<u8>,
    /// `[time][input]`, of the range: zero where the sample is absent, or no values if all are present.
    pub present: Global<u8>,
    /// Channels.
    pub channels: u32,
    /// Inputs.
    pub inputs: u32,
    /// Runs of an input: the times of the buffer over the samples of a run, rounded up.
    pub runs: u32,
    /// First time of the range.
    pub first_time: u32,
    /// Times of the range.
    pub times: u32,
    /// Whether the nibbles of 4+4-bit samples are to be exchanged.
    pub swap: u32,
}

impl Runs {
    /// Whether the views hold all runs and flags, and the runs the range.
    #[inline(always)]
    pub fn fit<const S: usize>(&self) -> bool {
        let bytes = product(product(u64::from(self.channels), self.runs), self.inputs).saturating_mul(32);
        let end = u64::from(self.first_time) + u64::from(self.times);
        let flags = product(u64::from(self.times), self.inputs);
        end <= product(u64::from(self.runs), run::<S>())
            && end <= u64::from(u32::MAX)
            && bytes <= self.samples.len() as u64
            && (self.present.is_empty() || flags <= self.present.len() as u64)
    }

    /// Whether the range begins with a run, and all is present.
    #[inline(always)]
    pub fn whole<const S: usize>(&self) -> bool {
        self.first_time.is_multiple_of(run::<S>()) && self.present.is_empty()
    }

    /// Tiles, if they can be counted: `inputs` inputs by a block of time by a channel.
    #[inline(always)]
    pub fn tiles(&self, rows: &Rows, inputs: u32) -> Option<u32> {
        let groups = u64::from(self.inputs.div_ceil(inputs));
        u32::try_from(product(product(groups, rows.blocks()), self.channels)).ok()
    }

    /// Number of a run.
    #[inline(always)]
    fn run(&self, channel: u32, run: u32, input: u32) -> u64 {
        (u64::from(channel) * u64::from(self.runs) + u64::from(run)) * u64::from(self.inputs) + u64::from(input)
    }

    /// Packs in whole pieces.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes and lie at multiples of 16 bytes, and pieces are [whole](Self::whole).
    #[inline(always)]
    pub unsafe fn pack<const S: usize>(&self, rows: Rows, tiles: u32) {
        let lane = tid_x() % 32;
        let (chunk, row) = (lane % 8, lane / 8);
        let places = Places::new(self, &rows, INPUTS);
        each_tile(tiles, |tile| {
            let (first, block, channel) = places.of(tile);
            let time = block * times::<S>() + chunk * piece::<S>();
            let run = self.first_time / run::<S>() + 4 * block + chunk / 2;
            let start = 2 * self.run(channel, run, first + row) + u64::from(chunk % 2);
            let mut x: [Piece; 8] = [[0; 4]; 8];
            unroll!(i in 0 1 2 3 4 5 6 7 {
                if time < self.times && first + row + 4 * (i as u32) < self.inputs {
                    x[i] = self.samples.cast::<Piece>().load(start as usize + 8 * i);
                }
            });
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let input = first + row + 4 * i as u32;
                if input < self.inputs {
                    let value = until_end::<S>(x[i], time, self.times, S as u32);
                    rows.store(channel, block, input, chunk, self.turned::<S>(value));
                }
            });
        });
    }

    /// Packs sample by sample.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes; samples lie at multiples of their size.
    #[inline(always)]
    pub unsafe fn pack_any<const S: usize>(&self, rows: Rows, tiles: u32) {
        let lane = tid_x() % 32;
        let chunk = lane % 8;
        let places = Places::new(self, &rows, ANY_INPUTS);
        each_tile(tiles, |tile| {
            let (first, block, channel) = places.of(tile);
            let input = first + lane / 8;
            if input < self.inputs {
                let time = block * times::<S>() + chunk * piece::<S>();
                let value = gathered::<S>(self.samples, |late| {
                    let time = time + late;
                    let flag = u64::from(time) * u64::from(self.inputs) + u64::from(input);
                    if time >= self.times || !self.present.is_empty() && self.present.load(flag as usize) == 0 {
                        return None;
                    }
                    let time = self.first_time + time;
                    let (run, place) = (time / run::<S>(), time % run::<S>());
                    Some((self.run(channel, run, input) * u64::from(self::run::<S>()) + u64::from(place)) as usize)
                });
                rows.store(channel, block, input, chunk, self.turned::<S>(value));
            }
        });
    }

    /// A piece with its nibbles as rows have them.
    #[inline(always)]
    fn turned<const S: usize>(&self, value: Piece) -> Piece {
        if S == 1 && self.swap != 0 { other_nibbles(value) } else { value }
    }
}

/// Where tiles lie: inputs first, then blocks of time, then channels.
struct Places {
    inputs: u32,
    groups: Divisor,
    blocks: Divisor,
}

impl Places {
    /// Of tiles of `inputs` inputs.
    #[inline(always)]
    fn new(runs: &Runs, rows: &Rows, inputs: u32) -> Self {
        Self { inputs, groups: Divisor::new(runs.inputs.div_ceil(inputs)), blocks: Divisor::new(rows.blocks()) }
    }

    /// First input, block of time and channel of a tile.
    #[inline(always)]
    fn of(&self, tile: u32) -> (u32, u32, u32) {
        let (rest, group) = self.groups.divide(tile);
        let (channel, block) = self.blocks.divide(rest);
        (group * self.inputs, block, channel)
    }
}
