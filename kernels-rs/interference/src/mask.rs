//! A copy of heaps with zeros in place of the voltages of masked channels and blocks of spectra.
//!
//! A group of lanes copies a stretch, 16 bytes a load and four loads of a lane in flight. What is masked is not loaded.
//! Where heaps do not lie at multiples of 16 bytes or are no whole pieces, and where a piece has spectra of two blocks,
//! voltages are copied one by one.
//!
//! Floor: every voltage is read once and written once, `2 S` bytes.

use fringes_device::{Global, GlobalMut, Value, unroll};

use crate::heaps::{Heaps, PIECE, Piece, product};

/// Heaps of `S` bytes a voltage, and what becomes of them.
#[derive(Clone, Copy)]
pub struct Mask<const S: usize> {
    /// Sizes.
    pub heaps: Heaps,
    /// The heaps.
    pub from: Global<u8>,
    /// Their copy.
    pub to: GlobalMut<u8>,
    /// `[channel][block]`: not zero where masked.
    pub masked: Global<u8>,
}

/// A stretch: where it lies, its first time, and its channel.
#[derive(Clone, Copy)]
struct Stretch {
    first: u64,
    time: u32,
    channel: u32,
}

impl<const S: usize> Mask<S> {
    /// Whether the views hold what the sizes say, and stretches can be counted.
    #[inline(always)]
    pub fn fit(&self) -> bool {
        let heaps = &self.heaps;
        // SAFETY: no view is without an address.
        let addresses = unsafe { [self.from.address(0), self.to.address(0)] };
        heaps.are_legal()
            && addresses[0].is_multiple_of(S as u64)
            && addresses[1].is_multiple_of(S as u64)
            && heaps.voltages() <= (self.from.len() / S) as u64
            && heaps.voltages() <= (self.to.len() / S) as u64
            && product(heaps.blocks(), heaps.channels) <= self.masked.len() as u64
    }

    /// Whether a stretch is whole pieces, none of which has spectra of two blocks.
    ///
    /// # Safety
    /// The views have addresses.
    #[inline(always)]
    unsafe fn whole(&self, time: u32) -> bool {
        let heaps = &self.heaps;
        let spectrum = heaps.pols as u64 * S as u64;
        let (first, last) = (heaps.block_of(time), heaps.block_of(time + heaps.spectra - 1));
        // Spectra of the stretch before the second block, and between later ones.
        let edge = product(first + 1, heaps.block) - heaps.lead as u64 - time as u64;
        let apart = (edge * spectrum) | (heaps.block as u64 * spectrum);
        (heaps.spectra as u64 * spectrum).is_multiple_of(PIECE)
            && (first == last || apart.is_multiple_of(PIECE))
            && self.from.address(0).is_multiple_of(PIECE)
            && self.to.address(0).is_multiple_of(PIECE)
    }

    /// Whether a block of a channel is masked.
    ///
    /// # Safety
    /// There are such.
    #[inline(always)]
    unsafe fn is_masked(&self, channel: u32, block: u32) -> bool {
        self.masked.load((product(channel, self.heaps.blocks()) + block as u64) as usize) != 0
    }

    /// Copies what a group has.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn run(&self) {
        let heaps = self.heaps;
        let group = heaps.group();
        if group >= heaps.stretches() as u64 {
            return;
        }
        let (channels, antennas) = (heaps.channels.max(1), heaps.antennas.max(1));
        let (channel, rest) = (group as u32 % channels, group as u32 / channels);
        // (Heaps are counted batch by batch.)
        let (first, time) = (heaps.first(rest, channel), rest / antennas * heaps.spectra);
        let stretch = Stretch { first, time, channel };
        if self.whole(stretch.time) {
            self.pieces(stretch);
        } else {
            match S {
                1 => self.voltages::<u8>(stretch, 0),
                2 => self.voltages::<u16>(stretch, 0),
                4 => self.voltages::<u32>(stretch, 0),
                _ => self.voltages::<[u32; 2]>(stretch, [0; 2]),
            }
        }
    }

    /// Copies a stretch in whole pieces.
    ///
    /// # Safety
    /// As [`Mask::run`]; stretches are whole pieces.
    #[inline(always)]
    unsafe fn pieces(&self, Stretch { first, time, channel }: Stretch) {
        let heaps = self.heaps;
        let (from, to) = (self.from.cast::<Piece>(), self.to.cast::<Piece>());
        let per = PIECE as u32 / S as u32;
        let (start, number) = (first / per as u64, heaps.stretch() / per);
        let mut piece = heaps.lane();
        while piece < number {
            let mut x: [Piece; 4] = [[0; 4]; 4];
            unroll!(i in 0 1 2 3 {
                let at = piece + i as u32 * heaps.lanes;
                if at < number {
                    let block = heaps.block_of(time + heaps.spectrum(at * per));
                    if !self.is_masked(channel, block) {
                        x[i] = from.load((start + at as u64) as usize);
                    }
                }
            });
            unroll!(i in 0 1 2 3 {
                let at = piece + i as u32 * heaps.lanes;
                if at < number {
                    to.store((start + at as u64) as usize, x[i]);
                }
            });
            piece += 4 * heaps.lanes;
        }
    }

    /// Copies a stretch voltage by voltage.
    ///
    /// # Safety
    /// As [`Mask::run`]; `T` has the size of a voltage.
    #[inline(always)]
    unsafe fn voltages<T: Value>(&self, Stretch { first, time, channel }: Stretch, zero: T) {
        let (from, to) = (self.from.cast::<T>(), self.to.cast::<T>());
        let mut voltage = self.heaps.lane() as u64;
        while voltage < self.heaps.stretch() as u64 {
            let block = self.heaps.block_of(time + self.heaps.spectrum(voltage as u32));
            let at = (first + voltage) as usize;
            let value = if self.is_masked(channel, block) { zero } else { from.load(at) };
            to.store(at, value);
            voltage += self.heaps.lanes as u64;
        }
    }
}
