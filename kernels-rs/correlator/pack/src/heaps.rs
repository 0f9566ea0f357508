//! Packs heaps `[batch][antenna][channel][spectrum][pol]` into rows.
//!
//! Time is `batch * spectra + spectrum`, and any range of times is packed. Floor: every sample of the range is read
//! once and every row written once, `2 S` bytes a sample, beside a flag a heap.
//!
//! A warp packs 8 inputs by 4 blocks of time. Eight lanes read the samples of a block of one antenna, 128 bytes of each
//! polarisation, 16 bytes a load and 8 loads a lane in flight. With one polarisation a load is a piece of a row. With
//! two, each piece holds half as many times of both; a lane takes these apart in its registers, and gives one half to
//! its neighbour, whose piece is the next, for the other:
//!
//! ```text
//! even lane  piece k       pol 0 of k, pol 0 of k + 1  ->  piece k / 2 of the row of pol 0
//! odd lane   piece k + 1   pol 1 of k, pol 1 of k + 1  ->  piece k / 2 of the row of pol 1
//! ```
//!
//! Loads are whole runs of the source, stores 64 bytes of each row. This needs heaps of whole pieces, and a first time
//! at one: `spectra * pols * S` and `first_time * pols * S` multiples of 16. The kernels for any others load one sample
//! at a time.

use fringes_device::index::tid_x;
use fringes_device::warp::shfl_sync_bfly_b32;
use fringes_device::{Global, unroll};

use crate::pieces::{Piece, gathered, polarisations};
use crate::rows::{Divisor, Rows, each_tile, piece, product, times};
use crate::voltages::until_end;

/// Inputs that a warp packs.
pub const INPUTS: u32 = 8;

/// Blocks of time that a warp packs.
pub const BLOCKS: u32 = 4;

/// Inputs that a warp packs sample by sample, of one block.
pub const ANY_INPUTS: u32 = 4;

/// Heaps, and a range of their times.
#[derive(Clone, Copy)]
pub struct Heaps {
    /// The samples.
    pub samples: Global<u8>,
    /// `[batch][antenna]`: zero where the heap is absent, or no values if all are present.
    pub present: Global<u8>,
    /// Channels.
    pub channels: u32,
    /// Antennas.
    pub antennas: u32,
    /// Polarisations of an antenna, 1 or 2.
    pub pols: u32,
    /// Batches.
    pub batches: u32,
    /// Spectra of a heap.
    pub spectra: u32,
    /// First time of the range.
    pub first_time: u32,
    /// Times of the range.
    pub times: u32,
}

impl Heaps {
    /// Whether the views hold all heaps and flags, and the heaps the range.
    #[inline(always)]
    pub fn fit<const S: usize>(&self) -> bool {
        let heaps = product(u64::from(self.batches), self.antennas);
        let samples = product(product(product(heaps, self.channels), self.spectra), self.pols);
        let end = u64::from(self.first_time) + u64::from(self.times);
        (1..=2).contains(&self.pols)
            && self.spectra > 0
            && self.antennas <= u32::MAX / 2
            && end <= product(u64::from(self.batches), self.spectra)
            && end <= u64::from(u32::MAX)
            && samples <= (self.samples.len() / S) as u64
            && (self.present.is_empty() || heaps <= self.present.len() as u64)
    }

    /// Whether heaps, and the times before the range, are whole pieces.
    #[inline(always)]
    pub fn whole<const S: usize>(&self) -> bool {
        let times = if self.pols == 1 { piece::<S>() } else { piece::<S>() / 2 };
        self.spectra.is_multiple_of(times) && self.first_time.is_multiple_of(times)
    }

    /// Inputs.
    #[inline(always)]
    pub fn inputs(&self) -> u32 {
        self.antennas * self.pols
    }

    /// Tiles, if they can be counted: `inputs` inputs by `blocks` blocks of time by a channel.
    #[inline(always)]
    pub fn tiles(&self, rows: &Rows, inputs: u32, blocks: u32) -> Option<u32> {
        let groups = u64::from(self.inputs().div_ceil(inputs));
        u32::try_from(product(product(groups, rows.blocks().div_ceil(blocks)), self.channels)).ok()
    }

    /// Where the first polarisation of an antenna lies at a time after the first, if its heap is present.
    ///
    /// # Safety
    /// Antenna, channel and time exist.
    #[inline(always)]
    unsafe fn sample(&self, places: &Places, channel: u32, antenna: u32, time: u32) -> Option<u64> {
        let time = self.first_time + time;
        let (batch, spectrum) = places.spectra.divide(time);
        let heap = u64::from(batch) * u64::from(self.antennas) + u64::from(antenna);
        let here = self.present.is_empty() || self.present.load(heap as usize) != 0;
        let spectra = (heap * u64::from(self.channels) + u64::from(channel)) * u64::from(self.spectra);
        here.then_some((spectra + u64::from(spectrum)) * u64::from(self.pols))
    }

    /// Packs in whole pieces; `P` is the number of polarisations.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes and lie at multiples of 16 bytes, and pieces are [whole](Self::whole).
    #[inline(always)]
    pub unsafe fn pack<const S: usize, const P: usize>(&self, rows: Rows, tiles: u32) {
        let lane = tid_x() % 32;
        let (first_piece, row) = (lane % 8, lane / 8);
        let per = piece::<S>() / P as u32;
        let places = Places::new(self, INPUTS);
        each_tile(tiles, |tile| {
            let (first, channel, quad) = places.of(tile);
            let mut x: [Piece; 8] = [[0; 4]; 8];
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let (antenna, number) = load_place::<P>(i, first, row, first_piece);
                let time = (quad * BLOCKS + i as u32 / 2) * times::<S>() + number * per;
                if antenna < self.antennas && time < self.times && let Some(sample) = self.sample(&places, channel, antenna, time) {
                    x[i] = self.samples.cast::<Piece>().load(sample as usize / (16 / S));
                }
            });
            // Apart from the loads: one that is looked at before the next one starts is alone in flight.
            if self.times.saturating_sub(quad * BLOCKS * times::<S>()) < BLOCKS * times::<S>() {
                unroll!(i in 0 1 2 3 4 5 6 7 {
                    let (_, number) = load_place::<P>(i, first, row, first_piece);
                    let time = (quad * BLOCKS + i as u32 / 2) * times::<S>() + number * per;
                    x[i] = until_end::<S>(x[i], time, self.times, (P * S) as u32);
                });
            }
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let (antenna, number) = load_place::<P>(i, first, row, first_piece);
                let block = quad * BLOCKS + i as u32 / 2;
                let (input, number, value) = if P == 1 {
                    (antenna, number, x[i])
                } else {
                    let odd = lane % 2;
                    let [pol0, pol1] = polarisations::<S>(x[i]);
                    let (kept, given) = if odd == 1 { (pol1, pol0) } else { (pol0, pol1) };
                    let taken = [
                        shfl_sync_bfly_b32(given[0], 1, 31, u32::MAX),
                        shfl_sync_bfly_b32(given[1], 1, 31, u32::MAX),
                    ];
                    let (early, late) = if odd == 1 { (taken, kept) } else { (kept, taken) };
                    (2 * antenna + odd, number / 2, [early[0], early[1], late[0], late[1]])
                };
                if antenna < self.antennas && block < rows.blocks() {
                    rows.store(channel, block, input, number, value);
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
        let places = Places::new(self, ANY_INPUTS);
        each_tile(tiles, |tile| {
            let (first, channel, block) = places.of(tile);
            let input = first + lane / 8;
            if input < self.inputs() {
                let (antenna, pol) = if self.pols == 1 { (input, 0) } else { (input / 2, input % 2) };
                let time = block * times::<S>() + chunk * piece::<S>();
                let value = gathered::<S>(self.samples, |late| {
                    let sample = if time + late < self.times {
                        self.sample(&places, channel, antenna, time + late)
                    } else {
                        None
                    };
                    sample.map(|sample| (sample + u64::from(pol)) as usize)
                });
                rows.store(channel, block, input, chunk, value);
            }
        });
    }
}

/// Where tiles lie: inputs first, then channels, then blocks of time.
struct Places {
    inputs: u32,
    groups: Divisor,
    channels: Divisor,
    spectra: Divisor,
}

impl Places {
    /// Of tiles of `inputs` inputs.
    #[inline(always)]
    fn new(heaps: &Heaps, inputs: u32) -> Self {
        let groups = Divisor::new(heaps.inputs().div_ceil(inputs));
        Self { inputs, groups, channels: Divisor::new(heaps.channels), spectra: Divisor::new(heaps.spectra) }
    }

    /// First input, channel, and number among the tiles of time.
    #[inline(always)]
    fn of(&self, tile: u32) -> (u32, u32, u32) {
        let (rest, group) = self.groups.divide(tile);
        let (blocks, channel) = self.channels.divide(rest);
        (group * self.inputs, channel, blocks)
    }
}

/// Antenna of load `i` of a lane, and number of its piece in the run of samples of a block.
#[inline(always)]
fn load_place<const P: usize>(i: usize, first: u32, row: u32, piece: u32) -> (u32, u32) {
    let second = i as u32 % 2;
    if P == 1 { (first + 4 * second + row, piece) } else { (first / 2 + row, piece + 8 * second) }
}
