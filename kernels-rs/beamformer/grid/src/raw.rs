//! Voltages as they lie, from device memory to shared memory, ahead of their use.
//!
//! The voltages of a step are copied in pieces of 16 bytes: those of all lines at once where not much lies between
//! lines, else line by line. A row is what is copied at once; it has as many bytes in front as there are from the last
//! multiple of 16 to its first voltage.

use fringes_device::Shared;
use fringes_device::copy_async::cp_async_cg_shared_global_16;
use fringes_device::index::{ntid_x, tid_x};
use fringes_kernels_beamformer_frb::divided;

use crate::Sizes;
use crate::form::Given;
use crate::load::{self, Format};
use crate::steps::{self, GOOD, Step};

/// Bytes of a piece.
const PIECE: u32 = 16;

/// How the voltages of a step are copied.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// Number of rows: 1, or that of the lines.
    count: u32,
    /// Bytes of a row.
    bytes: u32,
    /// Pieces of a row, those that it may begin and end within included.
    pieces: u32,
}

impl Rows {
    /// Of these sizes.
    #[inline(always)]
    pub(crate) fn new<F: Format>(sizes: Sizes) -> Self {
        let line = sizes.feeds * F::BYTES;
        let all = u64::from(sizes.lines - 1) * sizes.strides[4] + u64::from(line);
        let (count, bytes) = match all <= u64::from(sizes.lines) * u64::from(line + PIECE) {
            true => (1, all as u32),
            false => (sizes.lines, line),
        };
        // Three words are read from the last multiple of four on, of which the last may lie behind the row.
        Self { count, bytes, pieces: (bytes + 2 * PIECE - 1 + 8).div_ceil(PIECE) }
    }

    /// Whether pieces of so many steps are found by an inverse.
    #[inline(always)]
    pub(crate) fn fits(self, steps: u32) -> bool {
        let pieces = u64::from(self.count) * u64::from(self.pieces);
        pieces * pieces * u64::from(steps) <= u64::from(u32::MAX)
    }

    /// Bytes of the rows of a step in shared memory.
    #[inline(always)]
    pub(crate) fn step_bytes(self) -> u32 {
        self.count * self.pieces * PIECE
    }

    /// Bytes from a step's first voltage to byte `byte` of a line: in shared memory where all lines are a row, else
    /// what [`more`](Self::more) takes.
    #[inline(always)]
    pub(crate) fn place(self, line: u32, line_stride: u32, byte: u32) -> u32 {
        if self.apart() { line << 16 | byte } else { line * line_stride + byte }
    }

    /// Whether lines are rows of their own.
    #[inline(always)]
    pub(crate) fn apart(self) -> bool {
        self.count > 1
    }

    /// What is to be added to the byte of a [`place`](Self::place) where lines are rows of their own and lie
    /// `line_stride` apart; `raw` has the lowest bits of the address of the step's first voltage.
    #[inline(always)]
    pub(crate) fn more(self, raw: u32, place: u32, line_stride: u32) -> u32 {
        let line = place >> 16;
        let (of_step, of_row) = (raw & (PIECE - 1), raw.wrapping_add(line * line_stride) & (PIECE - 1));
        (line * self.pieces * PIECE + of_row).wrapping_sub(of_step).wrapping_sub(line << 16)
    }
}

/// Begins to copy the voltages of the good steps of a list to byte `to` of shared memory and beyond.
///
/// # Safety
/// The views hold what the sizes say; the list has been written, with `count` steps; shared memory has so many of them;
/// nobody uses it.
#[inline(always)]
pub(crate) unsafe fn copy(given: Given, sizes: Sizes, rows: Rows, list: u32, count: u32, to: u32) {
    let pieces = rows.count * rows.pieces;
    let all = pieces * count;
    let voltages = given.voltages;
    let inverse = load::inverse(pieces);
    let mut number = tid_x();
    while number < all {
        let step = load::over(number, inverse);
        let of_step = number - step * pieces;
        let (row, piece) = if rows.count == 1 { (0, of_step) } else { divided(of_step, rows.pieces) };
        let Step { at, flags, .. } = steps::step(list, count, step);
        if flags & GOOD != 0 {
            let at = at + u64::from(row) * sizes.strides[4];
            let over = voltages.address(0).wrapping_add(at) & u64::from(PIECE - 1);
            // The piece is [begin - over, begin - over + 16) of the view.
            let begin = at + u64::from(PIECE * piece);
            let end = at + u64::from(rows.bytes);
            let place = to + number * PIECE;
            if begin - over < end || begin < over {
                if begin >= over && begin - over + u64::from(PIECE) <= voltages.len() as u64 {
                    let from = voltages.address((begin - over) as usize);
                    cp_async_cg_shared_global_16(Shared::<u8>::dynamic().address(0) + place, from);
                } else {
                    ends(given, place, begin, over);
                }
            }
        }
        number += ntid_x();
    }
}

/// Copies those bytes of a piece that are in the view.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn ends(given: Given, place: u32, begin: u64, over: u64) {
    let mut byte = 0;
    while byte < PIECE {
        let from = begin + u64::from(byte);
        if from >= over && from - over < given.voltages.len() as u64 {
            let value = given.voltages.load((from - over) as usize);
            Shared::<u8>::dynamic().store((place + byte) as usize, value);
        }
        byte += 1;
    }
}
