//! Zeros in rows `[channel][time / R][input][R]` in place of the voltages of masked channels and blocks of times.
//!
//! A row has 128 bytes, `R` voltages. A warp has the rows of one channel and the same `R` times, four inputs at once,
//! 16 bytes a lane: what a lane looks up in the mask once holds for all inputs. Blocks of times lie on a grid that
//! begins `lead` times before the first one, as those of [heaps](crate::heaps).
//!
//! Floor: what is masked is written once; nothing else is touched, and no voltage is read.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Value};

use crate::heaps::{PIECE, Piece, product};

/// Bytes of a row.
pub const ROW: u32 = 128;

/// Pieces of 16 bytes of a row.
const PIECES: u32 = ROW / PIECE as u32;

/// Rows of `S` bytes a voltage, and what is masked of them.
#[derive(Clone, Copy)]
pub struct MaskedRows<const S: usize> {
    /// The rows.
    pub rows: GlobalMut<u8>,
    /// `[channel][block]`: not zero where masked.
    pub masked: Global<u8>,
    /// Channels.
    pub channels: u32,
    /// Rows of an input and a channel: times over `R`.
    pub lines: u32,
    /// Inputs.
    pub inputs: u32,
    /// Times of a block.
    pub block: u32,
    /// Times of the first block that lie before the first time, fewer than a block has.
    pub lead: u32,
}

impl<const S: usize> MaskedRows<S> {
    /// Voltages of 16 bytes.
    const VOLTAGES: u32 = PIECE as u32 / S as u32;

    /// Whether the views hold what the sizes say, and rows can be counted.
    #[inline(always)]
    pub fn fit(&self) -> bool {
        let (most, times) = (i32::MAX as u32, product(self.lines, ROW / S as u32));
        // SAFETY: no view is without an address.
        let address = unsafe { self.rows.address(0) };
        let rows = product(self.channels, self.lines);
        ntid_x().is_multiple_of(32)
            && address.is_multiple_of(PIECE)
            && self.lead < self.block
            && self.block <= most
            && times <= most as u64
            && rows <= most as u64
            && product(rows as u32, self.inputs) <= self.rows.len() as u64 / ROW as u64
            && product(self.channels, self.blocks()) <= self.masked.len() as u64
    }

    /// Blocks that have any of the times.
    #[inline(always)]
    fn blocks(&self) -> u32 {
        let times = self.lines.wrapping_mul(ROW / S as u32);
        if times == 0 { 0 } else { self.block_of(times - 1) + 1 }
    }

    /// The block of a time.
    #[inline(always)]
    fn block_of(&self, time: u32) -> u32 {
        time.wrapping_add(self.lead) / self.block.max(1)
    }

    /// Whether a time of a channel is masked.
    ///
    /// # Safety
    /// There is such a time.
    #[inline(always)]
    unsafe fn is_masked(&self, channel: u32, time: u32) -> bool {
        self.masked.load((product(channel, self.blocks()) + self.block_of(time) as u64) as usize) != 0
    }

    /// The voltages of 16 bytes from a time on that are masked, one bit each.
    ///
    /// # Safety
    /// There are such times.
    #[inline(always)]
    unsafe fn bits(&self, channel: u32, time: u32) -> u32 {
        let all = (1 << Self::VOLTAGES) - 1;
        if self.block_of(time) == self.block_of(time + Self::VOLTAGES - 1) {
            return if self.is_masked(channel, time) { all } else { 0 };
        }
        let mut bits = 0;
        let mut voltage = 0;
        while voltage < Self::VOLTAGES {
            bits |= u32::from(self.is_masked(channel, time + voltage)) << voltage;
            voltage += 1;
        }
        bits
    }

    /// Zeros what a warp has.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn run(&self) {
        let (warp, lane) = (ctaid_x() as u64 * (ntid_x() / 32) as u64 + (tid_x() / 32) as u64, tid_x() % 32);
        if warp >= product(self.channels, self.lines) {
            return;
        }
        let lines = self.lines.max(1);
        let (channel, line, piece) = (warp as u32 / lines, warp as u32 % lines, lane % PIECES);
        let bits = self.bits(channel, line * (ROW / S as u32) + piece * Self::VOLTAGES);
        if bits == 0 {
            return;
        }
        let first = product(warp as u32, self.inputs);
        let mut input = lane / PIECES;
        while input < self.inputs {
            let at = (first + input as u64) * PIECES as u64 + piece as u64;
            if bits == (1 << Self::VOLTAGES) - 1 {
                self.rows.cast::<Piece>().store(at as usize, [0; 4]);
            } else {
                match S {
                    1 => self.some::<u8>(at, bits, 0),
                    2 => self.some::<u16>(at, bits, 0),
                    4 => self.some::<u32>(at, bits, 0),
                    _ => self.some::<[u32; 2]>(at, bits, [0; 2]),
                }
            }
            input += 32 / PIECES;
        }
    }

    /// Zeros some voltages of 16 bytes.
    ///
    /// # Safety
    /// The rows have them; `T` has the size of a voltage.
    #[inline(always)]
    unsafe fn some<T: Value>(&self, piece: u64, bits: u32, zero: T) {
        let mut voltage = 0;
        while voltage < Self::VOLTAGES {
            if bits >> voltage & 1 != 0 {
                let at = piece * Self::VOLTAGES as u64 + voltage as u64;
                self.rows.cast::<T>().store(at as usize, zero);
            }
            voltage += 1;
        }
    }
}
