//! Heaps of two polarisations: `[batch][antenna][channel][spectrum][pol]`, whose samples of an antenna alternate
//! between the polarisations.
//!
//! A row is the samples of one antenna, both polarisations. `A`: a lane's rows `lane / 4` and `lane / 4 + 8` are the
//! polarisations of one antenna, whose samples it loads together and separates in registers. `B`: 32 rows are 16
//! antennas' first polarisations, then their second ones.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::{Shared, unroll};

use super::{Place, Source, THREADS, turned_apart, turned_f16, turned_i8, widened};

/// 8-bit samples: `re im re im` of both polarisations are a word; 32 times in a copied row, two copies in a stage.
///
/// A k-step is 64 bytes, 16 times, of a row: its chunk `q` of four times becomes word `q` of the first and of the
/// second 16 bytes, two times each.
#[derive(Clone, Copy)]
pub(crate) struct HeapsI8;

/// f16 samples: `re im` of a polarisation are a word; 16 times in a copied row, two copies in a stage.
///
/// A k-step is 64 bytes, 8 times, of a row: its chunk `q` of two times becomes word `q` of the first and of the second
/// 16 bytes.
#[derive(Clone, Copy)]
pub(crate) struct HeapsF16;

/// 4-bit samples: both polarisations are two bytes; 64 times in a copied row.
///
/// A k-step is 32 bytes, 16 times, of a row: 16 real parts, then 16 imaginary ones, all times 16.
#[derive(Clone, Copy)]
pub(crate) struct HeapsI4;

/// Row of `B` in which a polarisation of an antenna lies.
#[inline(always)]
fn row_of(antenna: u32, pol: u32) -> u32 {
    32 * (antenna / 16) + 16 * pol + antenna % 16
}

/// Chunk of row `row` of `B` in which half `half` of k-step `step` lies.
///
/// # Safety
/// - `to` is the shared address of `B` in a stage, a multiple of 1024, of more than `row` rows; `step < 4`, `half <
///   2`.
/// - No other thread uses that chunk before a barrier.
#[inline(always)]
unsafe fn put(to: u32, row: u32, step: u32, half: u32, value: [u32; 4]) {
    let chunk = (2 * step + half) ^ (row % 8);
    Shared::<[u32; 4]>::from_raw_parts(to + 128 * row + 16 * chunk, 1).store(0, value);
}

/// A warp's units of work in [`expand_chunks`]: 16 antennas at one k-step.
#[derive(Clone, Copy)]
struct Units {
    side: u32,
    to: u32,
    boxed: u32,
    /// This lane's antenna of the 16, and its half of the k-step.
    antenna: u32,
    half: u32,
}

impl Units {
    /// Eight bytes of each of the four chunks.
    ///
    /// # Safety
    /// - `unit` is below an eighth of the side's inputs; the side is in shared memory.
    #[inline(always)]
    unsafe fn load(&self, unit: u32) -> [[u32; 2]; 4] {
        let (antenna, step) = (16 * (unit / 4) + self.antenna, unit % 4);
        let row = self.side + step / 2 * self.boxed + 128 * antenna + 8 * self.half;
        let mut chunks = [[0; 2]; 4];
        unroll!(q in 0 1 2 3 {
            let chunk = (4 * (step % 2) + q as u32) ^ (self.antenna % 8);
            chunks[q] = Shared::<[u32; 2]>::from_raw_parts(row + 16 * chunk, 1).load(0);
        });
        chunks
    }

    /// Stores what becomes of them.
    ///
    /// # Safety
    /// - As [`Units::load`]; no other thread has the unit, and none reads `B` before a barrier.
    #[inline(always)]
    unsafe fn store(&self, unit: u32, chunks: [[u32; 2]; 4], apart: impl Fn([u32; 2]) -> [u32; 2]) {
        let (antenna, step) = (16 * (unit / 4) + self.antenna, unit % 4);
        let mut pols = [[0; 4]; 2];
        unroll!(q in 0 1 2 3 { [pols[0][q], pols[1][q]] = apart(chunks[q]); });
        unroll!(pol in 0 1 { put(self.to, row_of(antenna, pol as u32), step, self.half, pols[pol]); });
    }
}

/// Makes `B` of samples of 32 or 64 bits a time. A lane makes half of a k-step, 16 bytes, of both polarisations of an
/// antenna from 8 bytes of each of four chunks, such that what eight lanes load and store lies in different banks; the
/// chunks of two units at a time where registers suffice. `apart`: two words of a chunk as one of each polarisation.
///
/// # Safety
/// - The side is in shared memory, two copies of `boxed` bytes; `to` is the address of `B`, a multiple of 1024, of
///   `rows` rows, a multiple of 32 that the side has.
/// - Three whole warps call it, `thread` being their number from 0 to 95; nobody reads `B` before a barrier.
#[inline(always)]
unsafe fn expand_chunks(side: u32, to: u32, boxed: u32, rows: u32, thread: u32, apart: impl Fn([u32; 2]) -> [u32; 2]) {
    let units = Units { side, to, boxed, antenna: thread % 8 + thread / 16 % 2 * 8, half: thread / 8 % 2 };
    let (mut unit, end) = (thread / 32, rows / 8);
    if rows > 128 {
        // Registers go to the multiplying warps: one unit at a time.
        while unit < end {
            units.store(unit, units.load(unit), &apart);
            unit += THREADS / 32;
        }
        return;
    }
    while unit < end {
        let next = unit + THREADS / 32;
        let first = units.load(unit);
        // A warp without a second unit makes the first one twice.
        let next = if next < end { next } else { unit };
        let second = units.load(next);
        units.store(unit, first, &apart);
        units.store(next, second, &apart);
        unit += 2 * (THREADS / 32);
    }
}

/// A chunk of an antenna's row.
///
/// # Safety
/// - The side is in shared memory and has the antenna; `chunk < 8`.
#[inline(always)]
unsafe fn chunk(side: u32, antenna: u32, chunk: u32) -> [u32; 4] {
    Shared::<[u32; 4]>::from_raw_parts(side + 128 * antenna + 16 * (chunk ^ (antenna % 8)), 1).load(0)
}

/// Antenna of row `row` of a fragment, such that the chunks that eight lanes load lie in different banks.
#[inline(always)]
fn antenna_of_chunks(row: u32) -> u32 {
    ((row % 2) << 2) | (row / 2)
}

/// The same where lanes load 8 bytes.
#[inline(always)]
fn antenna_of_halves(row: u32) -> u32 {
    ((row % 4) << 1) | (row / 4)
}

#[inline(always)]
fn place_of_chunks(group: u32, warp: u32, lane: u32) -> Place {
    let antenna = 32 * group + 8 * warp + antenna_of_chunks(lane / 4);
    Place { row: 128 * antenna, chunk: 16 * ((lane % 4) ^ (antenna % 8)) }
}

/// Chunks of the two k-steps of a half, which is a copy.
///
/// # Safety
/// - The side is in shared memory, two copies of `boxed` bytes, and has the row of `place`; `half < 2`.
#[inline(always)]
unsafe fn chunks(side: u32, boxed: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
    let at = side + half * boxed + place.row;
    [
        Shared::<[u32; 4]>::from_raw_parts(at + place.chunk, 1).load(0),
        Shared::<[u32; 4]>::from_raw_parts(at + (place.chunk ^ 64), 1).load(0),
    ]
}

#[inline(always)]
fn column_of(group: u32, warp: u32, antenna: u32) -> (u32, u32) {
    (64 * group + 2 * (8 * warp + antenna), 1)
}

macro_rules! by_polarisation {
    () => {
        #[inline(always)]
        fn row(j: u32, i: u32) -> u32 {
            32 * (j / 4) + 16 * (j % 2) + 2 * i + j / 2 % 2
        }
    };
}

/// The samples of four times of both polarisations as those of each, `[first two times, last two times]`.
#[inline(always)]
fn apart_i8(samples: [u32; 4]) -> [[u32; 2]; 2] {
    let pol = |selector| [prmt_b32(samples[0], samples[1], selector), prmt_b32(samples[2], samples[3], selector)];
    [pol(0x5410), pol(0x7632)]
}

impl Source for HeapsI8 {
    type Part = i32;
    const INNER: u32 = 128;
    const BOXES: u32 = 2;
    const POLS: u32 = 2;
    const EXPANDS: bool = true;
    const MAKES_WITH_MORE: bool = true;
    by_polarisation!();

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> Place {
        place_of_chunks(group, warp, lane)
    }

    #[inline(always)]
    unsafe fn operands(side: u32, boxed: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
        chunks(side, boxed, place, half).map(|samples| {
            let [a, b] = apart_i8(samples);
            [a[0], b[0], a[1], b[1]]
        })
    }

    #[inline(always)]
    fn turned(a: [u32; 4]) -> [u32; 4] {
        a.map(turned_i8)
    }

    #[inline(always)]
    unsafe fn expand(side: u32, to: u32, boxed: u32, rows: u32, thread: u32) {
        expand_chunks(side, to, boxed, rows, thread, |[a, b]| [prmt_b32(a, b, 0x5410), prmt_b32(a, b, 0x7632)]);
    }

    #[inline(always)]
    fn column(group: u32, warp: u32, lane: u32) -> (u32, u32) {
        column_of(group, warp, antenna_of_chunks(lane / 4))
    }
}

impl Source for HeapsF16 {
    type Part = f32;
    const INNER: u32 = 128;
    const BOXES: u32 = 2;
    const POLS: u32 = 2;
    const EXPANDS: bool = true;
    const AHEAD: bool = false;
    const MAKES_WITH_MORE: bool = true;
    by_polarisation!();

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> Place {
        place_of_chunks(group, warp, lane)
    }

    #[inline(always)]
    unsafe fn operands(side: u32, boxed: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
        chunks(side, boxed, place, half)
    }

    #[inline(always)]
    fn turned(a: [u32; 4]) -> [u32; 4] {
        a.map(turned_f16)
    }

    #[inline(always)]
    unsafe fn expand(side: u32, to: u32, boxed: u32, rows: u32, thread: u32) {
        expand_chunks(side, to, boxed, rows, thread, |pols| pols);
    }

    #[inline(always)]
    fn column(group: u32, warp: u32, lane: u32) -> (u32, u32) {
        column_of(group, warp, antenna_of_chunks(lane / 4))
    }
}

impl Source for HeapsI4 {
    type Part = i32;
    const INNER: u32 = 128;
    const BOXES: u32 = 1;
    const POLS: u32 = 2;
    const EXPANDS: bool = true;
    const AHEAD: bool = false;
    by_polarisation!();

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> Place {
        let antenna = 32 * group + 8 * warp + antenna_of_halves(lane / 4);
        let q = lane % 4;
        Place { row: 128 * antenna + 8 * (q % 2), chunk: 16 * ((q / 2) ^ (antenna % 8)) }
    }

    #[inline(always)]
    unsafe fn operands(side: u32, _: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
        let at = side + place.row;
        let mut operands = [[0; 4]; 2];
        unroll!(k in 0 1 {
            let step = 64 * half + 32 * k as u32;
            let [low, high] = Shared::<[u32; 2]>::from_raw_parts(at + (place.chunk ^ step), 1).load(0);
            let (a, b) = (widened(prmt_b32(low, high, 0x6420)), widened(prmt_b32(low, high, 0x7531)));
            operands[k] = [a.0, b.0, a.1, b.1];
        });
        operands
    }

    #[inline(always)]
    fn turned(a: [u32; 4]) -> [u32; 4] {
        turned_apart(a)
    }

    #[inline(always)]
    unsafe fn expand(side: u32, to: u32, _: u32, rows: u32, thread: u32) {
        // 16 antennas at two k-steps for each warp.
        let mut unit = thread;
        while unit < 2 * rows {
            let (antenna, step) = (16 * (unit / 64) + unit % 16, unit / 16 % 4);
            let mut parts = [[[0; 4]; 2]; 2];
            unroll!(i in 0 1 {
                let samples = chunk(side, antenna, 2 * step + i as u32);
                unroll!(k in 0 1 {
                    let (low, high) = (samples[2 * k], samples[2 * k + 1]);
                    let (a, b) = (widened(prmt_b32(low, high, 0x6420)), widened(prmt_b32(low, high, 0x7531)));
                    (parts[0][0][2 * i + k], parts[0][1][2 * i + k]) = a;
                    (parts[1][0][2 * i + k], parts[1][1][2 * i + k]) = b;
                });
            });
            unroll!(pol in 0 1 {
                unroll!(half in 0 1 { put(to, row_of(antenna, pol as u32), step, half as u32, parts[pol][half]); });
            });
            unit += THREADS;
        }
    }

    #[inline(always)]
    fn column(group: u32, warp: u32, lane: u32) -> (u32, u32) {
        column_of(group, warp, antenna_of_halves(lane / 4))
    }

    #[inline(always)]
    fn sum(part: i32) -> i32 {
        part >> 8
    }
}
