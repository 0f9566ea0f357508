//! Packs voltages `[channel][time][input]` or `[time][channel][input]` into rows.
//!
//! A transpose. Floor: every sample is read once and every row written once, `2 S` bytes a sample of `S` bytes, beside
//! one flag a time and input where there are flags (which the L2 keeps for all channels).
//!
//! A warp moves all times of a row and [`inputs`] inputs. A thread reads `16 / S` times of `16 / S` neighbouring
//! inputs, 16 bytes a load, transposes that square in its registers, and writes 16 bytes of as many rows; no shared
//! memory is needed, since both sides of the transpose are whole sectors:
//!
//! ```text
//! load   4 lanes of one time are 64 bytes of neighbouring inputs, 8 times a warp
//! store  8 lanes of one input are the 128 bytes of its row, 4 rows a warp
//! ```
//!
//! | format | loads of a lane | `prmt` of a lane | inputs of a warp |
//! |---|---|---|---|
//! | 4+4 bits | 16 | 128 | 64 |
//! | 8 bits | 8 | 32 | 32 |
//! | f16 | 8 | 0 | 32 |
//! | f32 | 8 | 0 | 32 |
//!
//! The kernels for any number of inputs do the same: what is 16 bytes from any place on they cut out of the two pieces
//! that hold it ([`Aligned`]); the second one is another lane's first. With presence flags, and where one of the two
//! would lie past the ends of the samples, a lane loads sample by sample.

use fringes_device::index::tid_x;
use fringes_device::{Global, opaque, unroll};

use crate::pieces::{Aligned, Piece, first_bytes, flagged, flags, gathered, transposed};
use crate::rows::{Divisor, Rows, each_tile, piece, product, times};

/// Inputs that a warp packs.
#[inline(always)]
pub const fn inputs<const S: usize>() -> u32 {
    if S == 1 { 64 } else { 32 }
}

/// Voltages of any strides of channel and time; the stride of input is 1.
#[derive(Clone, Copy)]
pub struct Voltages {
    /// The samples.
    pub samples: Global<u8>,
    /// `[time][input]`: zero where the sample is absent, or no values if all are present.
    pub present: Global<u8>,
    /// Channels.
    pub channels: u32,
    /// Times.
    pub times: u32,
    /// Inputs.
    pub inputs: u32,
    /// Samples from a channel to the next.
    pub channel_stride: u64,
    /// Samples from a time to the next.
    pub time_stride: u64,
}

impl Voltages {
    /// Number behind the last sample.
    #[inline(always)]
    fn end(&self) -> u64 {
        let last = self.channel_stride.saturating_mul(u64::from(self.channels).saturating_sub(1));
        let last = last.saturating_add(self.time_stride.saturating_mul(u64::from(self.times).saturating_sub(1)));
        last.saturating_add(u64::from(self.inputs))
    }

    /// Whether the views hold all samples and flags, of `S` bytes and one byte.
    #[inline(always)]
    pub fn fit<const S: usize>(&self) -> bool {
        let end = self.end();
        let empty = self.channels == 0 || self.times == 0;
        let flags = product(u64::from(self.times), self.inputs);
        (empty || end <= (self.samples.len() / S) as u64)
            && (self.present.is_empty() || flags <= self.present.len() as u64)
    }

    /// Whether all inputs of a time lie in whole pieces.
    #[inline(always)]
    pub fn whole<const S: usize>(&self) -> bool {
        let samples = u64::from(piece::<S>());
        u64::from(self.inputs).is_multiple_of(samples)
            && self.channel_stride.is_multiple_of(samples)
            && self.time_stride.is_multiple_of(samples)
    }

    /// Tiles, if they can be counted: `across` inputs by a block of time by a channel.
    #[inline(always)]
    pub fn tiles(&self, rows: &Rows, across: u32) -> Option<u32> {
        let tiles = product(product(u64::from(self.inputs.div_ceil(across)), rows.blocks()), self.channels);
        u32::try_from(tiles).ok()
    }

    /// Packs, with `WHOLE` in whole pieces.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes and samples lie at multiples of their size; with `WHOLE` they lie at
    /// multiples of 16 bytes, and pieces are [whole](Self::whole).
    #[inline(always)]
    pub unsafe fn pack<const S: usize, const WHOLE: bool>(&self, rows: Rows, tiles: u32) {
        let lane = tid_x() % 32;
        let (chunk, column) = (lane % 8, lane / 8);
        let places = Places::new(self, &rows, inputs::<S>());
        let aligned = Aligned::new(self.samples, self.end().saturating_mul(S as u64).min(self.samples.len() as u64));
        each_tile(tiles, |tile| {
            let (channel, block, first) = places.of(tile);
            let time = block * times::<S>() + chunk * piece::<S>();
            let input = first + column * piece::<S>();
            let start =
                u64::from(channel) * self.channel_stride + u64::from(time) * self.time_stride + u64::from(input);
            // 16 / S loads of one group of inputs, then the next, 4 pieces on. Times that are left of each group; none
            // past the last input.
            let per = 16 / S;
            let left = |group: u32| {
                let inside = input + 4 * group * piece::<S>() < self.inputs;
                if inside { self.times.saturating_sub(time) } else { 0 }
            };
            if !WHOLE {
                let last = u64::from(left(0).clamp(1, per as u32) - 1) * self.time_stride;
                let last = start + last + u64::from(4 * piece::<S>()) * (loads::<S>() / per - 1) as u64;
                if !self.present.is_empty() || !aligned.hold(start * S as u64, last * S as u64) {
                    self.gather::<S>(rows, channel, block, input, chunk);
                    return;
                }
            }
            let mut x: [Piece; 16] = [[0; 4]; 16];
            if WHOLE {
                let (start, step) = (start / u64::from(piece::<S>()), self.time_stride / u64::from(piece::<S>()));
                unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    let (group, late) = ((i / per) as u32, (i % per) as u32);
                    if i < loads::<S>() && late < left(group) {
                        x[i] = self.samples.cast::<Piece>().load((start + u64::from(late) * step) as usize + 4 * group as usize);
                    }
                });
            } else {
                // Eight at a time, for the registers.
                unroll!(half in 0 1 {
                    if 8 * half < loads::<S>() {
                        let byte = |i: usize| {
                            let (group, late) = ((i / per) as u64, (i % per) as u64);
                            (start + late * self.time_stride + 4 * group * u64::from(piece::<S>())) * S as u64
                        };
                        let mut both = [[[0; 4]; 2]; 8];
                        unroll!(i in 0 1 2 3 4 5 6 7 {
                            let (group, late) = (((8 * half + i) / per) as u32, ((8 * half + i) % per) as u32);
                            if late < left(group) {
                                both[i] = aligned.both(byte(8 * half + i));
                            }
                        });
                        unroll!(i in 0 1 2 3 4 5 6 7 {
                            x[8 * half + i] = aligned.cut::<S>(both[i], byte(8 * half + i));
                        });
                    }
                });
            }
            if WHOLE && !self.present.is_empty() {
                let flag = u64::from(time) * u64::from(self.inputs) + u64::from(input);
                unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    let (group, late) = ((i / per) as u32, (i % per) as u32);
                    if i < loads::<S>() && late < left(group) {
                        let flag = flag + u64::from(late) * u64::from(self.inputs) + u64::from(4 * group * piece::<S>());
                        x[i] = flagged::<S>(x[i], flags::<S>(self.present, flag as usize));
                    }
                });
            }
            unroll!(group in 0 1 2 3 {
                if group * per < loads::<S>() {
                    let mut square = [[0; 4]; 16];
                    unroll!(late in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                        if late < per {
                            square[late] = x[(group * per + late) % 16];
                        }
                    });
                    let square = transposed::<S>(square);
                    let input = input + 4 * group as u32 * piece::<S>();
                    unroll!(row in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                        if row < per && input + if WHOLE { 0 } else { row as u32 } < self.inputs {
                            rows.store(channel, block, input + row as u32, chunk, square[row]);
                        }
                    });
                }
            });
        });
    }

    /// Packs what a lane has of a tile sample by sample: piece `chunk` of its inputs' rows, `first` the first of its
    /// inputs.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes; samples lie at multiples of their size.
    #[inline(always)]
    unsafe fn gather<const S: usize>(&self, rows: Rows, channel: u32, block: u32, first: u32, chunk: u32) {
        let start = u64::from(channel) * self.channel_stride;
        let time = block * times::<S>() + chunk * piece::<S>();
        // A loop that stays one.
        let number = opaque(loads::<S>() as i32) as u32;
        let mut i = 0;
        while i < number {
            // Inputs of a group are neighbours, groups 4 pieces apart.
            let input = first + i % piece::<S>() + i / piece::<S>() * 4 * piece::<S>();
            if input < self.inputs {
                let value = gathered::<S>(self.samples, |late| {
                    let time = time + late;
                    let flag = (u64::from(time) * u64::from(self.inputs) + u64::from(input)) as usize;
                    let here = time < self.times && (self.present.is_empty() || self.present.load(flag) != 0);
                    here.then_some((start + u64::from(time) * self.time_stride + u64::from(input)) as usize)
                });
                rows.store(channel, block, input, chunk, value);
            }
            i += 1;
        }
    }
}

/// Where tiles lie. Inputs come first, then whichever of channel and time lies closer together.
struct Places {
    across: u32,
    groups: Divisor,
    inner: Divisor,
    channels_first: bool,
}

impl Places {
    /// Of tiles of `across` inputs.
    #[inline(always)]
    fn new(voltages: &Voltages, rows: &Rows, across: u32) -> Self {
        let channels_first = voltages.channel_stride < voltages.time_stride;
        let inner = if channels_first { voltages.channels } else { rows.blocks() };
        let groups = Divisor::new(voltages.inputs.div_ceil(across));
        Self { across, groups, inner: Divisor::new(inner), channels_first }
    }

    /// Channel, block of time and first input of a tile.
    #[inline(always)]
    fn of(&self, tile: u32) -> (u32, u32, u32) {
        let (rest, group) = self.groups.divide(tile);
        let (outer, inner) = self.inner.divide(rest);
        let (channel, block) = if self.channels_first { (inner, outer) } else { (outer, inner) };
        (channel, block, group * self.across)
    }
}

/// Loads of a lane.
#[inline(always)]
const fn loads<const S: usize>() -> usize {
    if S == 1 { 16 } else { 8 }
}

/// What is left of a piece that begins at `time`, of `times`.
#[inline(always)]
pub(crate) fn until_end<const S: usize>(value: Piece, time: u32, times: u32, bytes_a_time: u32) -> Piece {
    first_bytes(value, times.saturating_sub(time).min(16) * bytes_a_time)
}
