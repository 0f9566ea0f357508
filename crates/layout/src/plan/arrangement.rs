//! Arrangements: which index bit is in which place of a warp's registers, where every place is one bit of the array's
//! index.
//!
//! ```text
//! slot          0 .. parts   then 5   then the rest
//! place         b0 b1        t0..t4   register bits, in ascending order of what they hold
//! holds         a number 0..15 for a bit of the index
//! ```
//!
//! The order of the registers is a matter of naming them and costs nothing, so the register bits are a set: two
//! assignments that differ only in it are the same arrangement.

use std::fmt;

/// A bit of the array's index, numbered 0 to 15.
pub type Bit = u8;

/// Bits of a lane's index.
pub const LANE_BITS: usize = 5;

/// How many bits of a register array are which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Bits of the position inside a 32-bit register: 0 for 32-bit elements, 1 for 16-bit ones, 2 for 8-bit ones.
    pub parts: usize,
    /// Bits of the register index.
    pub registers: usize,
}

impl Shape {
    /// Bits in all.
    pub const fn bits(&self) -> usize {
        self.parts + LANE_BITS + self.registers
    }

    /// Registers of a lane.
    pub const fn register_count(&self) -> usize {
        1 << self.registers
    }

    /// First slot of the register bits.
    pub(crate) const fn first_register(&self) -> usize {
        self.parts + LANE_BITS
    }
}

/// Which bit of the index is in which slot, 4 bits a slot; register bits ascending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arrangement(u64);

impl Arrangement {
    /// The arrangement with `parts` in b0, b1, `lanes` in t0 to t4, and the bits `registers` in any register bits.
    ///
    /// Bits are numbers below 16, and at most 16 in all; each number is taken once.
    pub fn new(parts: &[Bit], lanes: [Bit; LANE_BITS], registers: &[Bit]) -> Self {
        let mut sorted = registers.to_vec();
        sorted.sort_unstable();
        let slots = parts.iter().chain(&lanes).chain(&sorted);
        Self(slots.take(16).enumerate().fold(0, |packed, (slot, &bit)| packed | u64::from(bit & 0xf) << (4 * slot)))
    }

    /// The bit in a slot.
    pub const fn get(&self, slot: usize) -> Bit {
        (self.0 >> (4 * slot) & 0xf) as Bit
    }

    /// The bits in b0, b1.
    pub fn parts(&self, shape: Shape) -> Vec<Bit> {
        (0..shape.parts).map(|slot| self.get(slot)).collect()
    }

    /// The bits in t0 to t4.
    pub fn lanes(&self, shape: Shape) -> [Bit; LANE_BITS] {
        std::array::from_fn(|lane| self.get(shape.parts + lane))
    }

    /// The bits in registers, ascending.
    pub fn registers(&self, shape: Shape) -> Vec<Bit> {
        (shape.first_register()..shape.bits()).map(|slot| self.get(slot)).collect()
    }

    /// The slot that holds a bit.
    pub fn slot(&self, bit: Bit, shape: Shape) -> Option<usize> {
        (0..shape.bits()).find(|&slot| self.get(slot) == bit)
    }

    /// The arrangement with the bits of two slots exchanged.
    pub fn exchanged(&self, one: usize, other: usize, shape: Shape) -> Self {
        let change = u64::from(self.get(one) ^ self.get(other));
        Self(self.0 ^ change << (4 * one) ^ change << (4 * other)).sorted(shape)
    }

    /// The arrangement with the bits of three slots moved on: what was in `a` is in `b`, what was in `b` in `c`, in `c`
    /// in `a`.
    pub fn cycled(&self, a: usize, b: usize, c: usize, shape: Shape) -> Self {
        let clear = self.0 & !(0xf << (4 * a) | 0xf << (4 * b) | 0xf << (4 * c));
        let put = |bit: Bit, slot: usize| u64::from(bit) << (4 * slot);
        Self(clear | put(self.get(a), b) | put(self.get(b), c) | put(self.get(c), a)).sorted(shape)
    }

    /// The arrangement with other bits in some slots, where the bits are the same in all.
    pub(crate) fn with(&self, slots: &[usize], bits: &[Bit], shape: Shape) -> Self {
        let packed = slots
            .iter()
            .zip(bits)
            .fold(self.0, |packed, (&slot, &bit)| packed & !(0xf << (4 * slot)) | u64::from(bit) << (4 * slot));
        Self(packed).sorted(shape)
    }

    /// The arrangement after `movmatrix`: the halves' bit, t0 and t1 have changed places with t2, t3 and t4.
    pub(crate) fn matrix_moved(&self, shape: Shape) -> Self {
        let Some(half) = shape.parts.checked_sub(1) else { return *self };
        let slots: [usize; 6] = std::array::from_fn(|at| half + at);
        let bits: [Bit; 6] = std::array::from_fn(|at| self.get(half + (at + 3) % 6));
        self.with(&slots, &bits, shape)
    }

    /// The arrangement with the lane bits in ascending order: what remains where lanes can be permuted freely.
    pub(crate) fn unordered_lanes(&self, shape: Shape) -> Self {
        let mut lanes = self.lanes(shape);
        lanes.sort_unstable();
        let slots: [usize; LANE_BITS] = std::array::from_fn(|lane| shape.parts + lane);
        self.with(&slots, &lanes, shape)
    }

    fn sorted(mut self, shape: Shape) -> Self {
        let first = shape.first_register();
        for end in first + 1..shape.bits() {
            let mut at = end;
            while at > first && self.get(at - 1) > self.get(at) {
                let change = u64::from(self.get(at - 1) ^ self.get(at));
                self.0 ^= change << (4 * at) ^ change << (4 * (at - 1));
                at -= 1;
            }
        }
        self
    }
}

impl fmt::Debug for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}
