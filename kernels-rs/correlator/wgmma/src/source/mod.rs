//! Where voltages come from, and how they become operands.
//!
//! The tensor cores multiply 64 rows `A`, from registers, by 64 or 128 rows `B`, from shared memory, 32 bytes of each
//! at a time (a *k-step*: 16 complex 8-bit samples or 8 of f16). Which time a byte of a k-step belongs to is free as
//! long as `A` and `B` agree. Rows of 8-bit and f16 samples are `B` as the copy engine writes them; 4-bit samples and
//! interleaved polarisations are rewritten in shared memory.

mod heaps;
mod rows;

use crate::format::Part;

pub(crate) use heaps::{HeapsF16, HeapsI4, HeapsI8};
pub(crate) use rows::{RowsF16, RowsI4, RowsI8};

/// Threads that make `B`: three warps.
pub(crate) const THREADS: u32 = 96;

/// What a lane adds to the address of a side to find its operands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Bytes to its row.
    pub(crate) row: u32,
    /// Bytes to its chunk of 16 bytes in the first k-step, XORed as the swizzle says.
    pub(crate) chunk: u32,
}

/// A layout and format of voltages. A *side* is the samples of 64 inputs for each group of four warps, at the times of
/// a stage (4 k-steps).
pub(crate) trait Source: Copy {
    /// Sums.
    type Part: Part;

    /// Bytes of a row in a copy.
    const INNER: u32;

    /// Copies of a side, `INNER` bytes of each row apart.
    const BOXES: u32;

    /// Inputs whose samples a row has: the polarisations.
    const POLS: u32;

    /// Whether `B` must be made from what is copied.
    const EXPANDS: bool;

    /// Whether making `B` takes more registers than usual, of which multiplying has fewer then.
    const MAKES_WITH_MORE: bool = false;

    /// Whether old sums are loaded one step ahead; where registers do not suffice they are not.
    const AHEAD: bool = true;

    /// Where lane `lane` of warp `warp` of a group finds its operands.
    fn place(group: u32, warp: u32, lane: u32) -> Place;

    /// Rows of `A` for the two k-steps of half `half` of a stage; `boxed` is the bytes of a copy.
    ///
    /// # Safety
    /// - The side is in shared memory, copies of `boxed` bytes; `place` is that of this lane ([`Source::place`]),
    ///   `half < 2`.
    /// - All lanes of the warp call it together.
    unsafe fn operands(side: u32, boxed: u32, place: Place, half: u32) -> [[u32; 4]; 2];

    /// Rows of `A`, `(re, im)`, as `(-im, re)`.
    fn turned(a: [u32; 4]) -> [u32; 4];

    /// Makes the first `rows` rows of `B`, a multiple of 32, from a side: part `thread` of [`THREADS`]; `boxed` is the
    /// bytes of a copy.
    ///
    /// # Safety
    /// - The side is in shared memory, copies of `boxed` bytes; `to` is the address of `B`, a multiple of 1024, of
    ///   `rows` rows that the side has.
    /// - Three whole warps call it, `thread` being their number; nobody reads `B` before a barrier.
    unsafe fn expand(side: u32, to: u32, boxed: u32, rows: u32, thread: u32);

    /// Column of the tile that the first register of a lane in row `lane / 4` has, and the distance to that of row
    /// `lane / 4 + 8`.
    fn column(group: u32, warp: u32, lane: u32) -> (u32, u32);

    /// Row of the tile that row `8 j + i` of `B` is.
    fn row(j: u32, i: u32) -> u32;

    /// The sum of products of samples, from that of what is multiplied.
    #[inline(always)]
    fn sum(part: Self::Part) -> Self::Part {
        part
    }
}

/// High nibbles of four bytes: values times 16.
const HIGH: u32 = 0xf0f0_f0f0;

/// Four 4-bit samples, a byte each, as real and imaginary parts times 16.
#[inline(always)]
pub(crate) fn widened(samples: u32) -> (u32, u32) {
    (samples & HIGH, (samples << 4) & HIGH)
}

/// Four bytes, each negated; -128 stays.
#[inline(always)]
pub(crate) fn negated(bytes: u32) -> u32 {
    const SIGNS: u32 = 0x8080_8080;
    (SIGNS - (bytes & !SIGNS)) ^ (!bytes & SIGNS)
}

/// Rows of `A` whose first two registers are real and the others imaginary parts.
#[inline(always)]
pub(crate) fn turned_apart([re, re_8, im, im_8]: [u32; 4]) -> [u32; 4] {
    [negated(im), negated(im_8), re, re_8]
}

/// Two complex 8-bit samples `(re, im)` as `(-im, re)`; -128 becomes -128.
#[inline(always)]
pub(crate) fn turned_i8(samples: u32) -> u32 {
    // The subtraction leaves -im in bytes 1 and 3: what the lower one borrows is what is added to byte 2.
    let negated = 0x0001_0000u32.wrapping_sub(samples & 0xff00_ff00);
    fringes_device::arithmetic::prmt_b32(samples, negated, 0x2705)
}

/// A complex f16 sample `(re, im)` as `(-im, re)`.
#[inline(always)]
pub(crate) fn turned_f16(sample: u32) -> u32 {
    fringes_device::arithmetic::prmt_b32(sample, sample, 0x1032) ^ 0x0000_8000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_negated_one_by_one() {
        for high in i8::MIN..=i8::MAX {
            for low in i8::MIN..=i8::MAX {
                let word = u32::from_le_bytes([low as u8, high as u8, low as u8, high as u8]);
                let [low, high] = [low, high].map(|byte| byte.wrapping_neg() as u8);
                assert_eq!(negated(word).to_le_bytes(), [low, high, low, high]);
            }
        }
    }

    /// Runs one thread.
    fn in_a_kernel(body: impl Fn()) {
        let launch = fringes_emulator::Launch::new("test() threads=1", [1, 1, 1], [1, 1, 1]);
        launch.run(&mut fringes_emulator::GlobalMemory::new(), body).assert_clean();
    }

    #[test]
    fn samples_are_turned_by_a_quarter() {
        in_a_kernel(|| {
            for (re, im) in (i8::MIN..=i8::MAX).flat_map(|re| (i8::MIN..=i8::MAX).map(move |im| (re, im))) {
                let word = u32::from_le_bytes([re as u8, im as u8, im as u8, re as u8]);
                let expected = [im.wrapping_neg(), re, re.wrapping_neg(), im].map(|byte| byte as u8);
                assert_eq!(turned_i8(word).to_le_bytes(), expected);
            }
            let bits = |value| u32::from(half::f16::from_f32(value).to_bits());
            assert_eq!(turned_f16(bits(1.0) | bits(2.0) << 16), bits(-2.0) | bits(1.0) << 16);
        });
    }

    #[test]
    fn nibbles_keep_their_sign() {
        for re in -8i8..8 {
            for im in -8i8..8 {
                let (wide_re, wide_im) = widened(u32::from((re as u8) << 4 | (im as u8 & 15)) << 16);
                assert_eq!((wide_re >> 16) as i8, re << 4);
                assert_eq!((wide_im >> 16) as i8, im << 4);
            }
        }
    }
}
