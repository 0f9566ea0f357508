//! Sizes of a launch, what they must fulfil, and where points lie.

use fringes_kernel_abi::f_engine::one_pass::MOST_BITS;
pub use fringes_kernel_abi::f_engine::one_pass::{
    MOST_POINTS, MOST_SLOTS, MOST_TAPS, RADIX_BITS, place, shared_bytes, skew, slot,
};

/// The first of some radices, [`Shape::radices`], and those after it.
#[inline(always)]
pub const fn first_radix(radices: u64) -> (u32, u64) {
    ((radices & ((1 << RADIX_BITS) - 1)) as u32 + 1, radices >> RADIX_BITS)
}

/// Sizes of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Complex points of a spectrum, and its channels.
    pub points: u32,
    /// Radices of the passes, first pass in the lowest [`RADIX_BITS`]: `radix - 1` each, 0 after the last.
    pub radices: u64,
    /// Taps of the filter.
    pub taps: u32,
    /// Numbers from spectrum to spectrum: samples, twice that of complex ones.
    pub stride: u32,
    /// Bits of a number.
    pub bits: u32,
    /// Spectra that shared memory holds.
    pub slots: u32,
}

/// Pairs of twiddles of a pass: none of the first, four a block of radix 16, `radix - 1` halves a block of the others.
#[inline(always)]
pub const fn twiddles(radix: u32, blocks: u32) -> u32 {
    if blocks == 1 {
        0
    } else if radix == 16 {
        4 * blocks
    } else {
        ((radix - 1) * blocks).div_ceil(2)
    }
}

impl Shape {
    /// Numbers of a spectrum: columns of the filter.
    #[inline(always)]
    pub const fn columns(&self) -> u32 {
        2 * self.points
    }

    /// Place of a point within its slot.
    #[inline(always)]
    pub const fn place(&self, point: u32) -> u32 {
        place(point, skew(self.points))
    }

    /// Groups of four columns.
    #[inline(always)]
    pub const fn groups(&self) -> u32 {
        self.points.div_ceil(2)
    }

    /// Numbers that `spectra` spectra are made of, at least one.
    #[inline(always)]
    pub const fn numbers(&self, spectra: u32) -> u64 {
        (spectra as u64 - 1) * self.stride as u64 + self.taps as u64 * self.columns() as u64
    }

    /// Pairs of twiddles of all passes of a shape that fits.
    #[inline(always)]
    pub const fn twiddles(&self) -> u32 {
        self.twiddles_from(1)
    }

    /// The same where the passes before have made so many blocks.
    #[inline(always)]
    pub const fn twiddles_from(&self, blocks: u32) -> u32 {
        let (mut sum, mut blocks, mut radices) = (0, blocks, self.radices);
        while radices != 0 {
            let (radix, rest) = first_radix(radices);
            sum += twiddles(radix, blocks);
            blocks *= radix;
            radices = rest;
        }
        sum
    }

    /// Whether the sizes fit each other and the kernels' arithmetic.
    #[inline(always)]
    pub const fn fits(&self) -> bool {
        self.points <= MOST_POINTS && self.fit(self.points)
    }

    /// The same of any number of points, whose radices' product is `product`.
    #[inline(always)]
    const fn fit(&self, product: u32) -> bool {
        if self.points == 0 || self.slots == 0 || self.slots > MOST_SLOTS {
            return false;
        }
        if self.taps == 0 || self.taps > MOST_TAPS || self.stride == 0 || self.stride > self.columns() {
            return false;
        }
        // Bits of a job's numbers are counted in 32 bits.
        if (self.numbers(self.slots) + 4) * self.bits as u64 > MOST_BITS {
            return false;
        }
        let (mut made, mut radices) = (1, self.radices);
        while first_radix(radices).0 > 1 && made <= product {
            let (radix, rest) = first_radix(radices);
            made *= radix;
            radices = rest;
        }
        made == product && radices == 0
    }
}

/// How a transform is cut in two launches ([`columns`](crate::columns), [`rows`](crate::rows)).
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Rows: product of the radices of the first launch.
    pub rows: u32,
    /// Jobs of the table.
    pub count: u32,
    /// First job of the launch.
    pub first_job: u32,
}

impl Cut {
    /// Most points of a spectrum that is cut.
    pub const MOST_POINTS: u32 = 1 << 16;

    /// Points of a row.
    #[inline(always)]
    pub const fn row(&self, shape: &Shape) -> u32 {
        shape.points / self.rows
    }

    /// Whether the sizes fit each other and the kernels' arithmetic, with radices whose product is `product`.
    #[inline(always)]
    pub const fn fits(&self, shape: &Shape, product: u32) -> bool {
        self.rows > 0
            && shape.points <= Self::MOST_POINTS
            && shape.points.is_multiple_of(self.rows)
            && shape.fit(product)
    }
}

/// Division of small numbers by one that all threads share.
#[derive(Debug, Clone, Copy)]
pub struct Divisor {
    divisor: u32,
    /// 2^32 over the divisor, rounded up.
    magic: u32,
}

impl Divisor {
    /// Division by `divisor`, which is not 0.
    #[inline(always)]
    pub const fn new(divisor: u32) -> Self {
        let divisor = if divisor == 0 { 1 } else { divisor };
        Self { divisor, magic: (u32::MAX / divisor).wrapping_add(1) }
    }

    /// Quotient and remainder of `n`, where the product of `n` and the divisor is below 2^32.
    #[inline(always)]
    pub const fn divide(&self, n: u32) -> (u32, u32) {
        // The error of the magic number is below the divisor, and so that of the quotient below n times divisor over
        // 2^32.
        let quotient = if self.divisor == 1 { n } else { ((n as u64 * self.magic as u64) >> 32) as u32 };
        (quotient, n.wrapping_sub(quotient.wrapping_mul(self.divisor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact_as_long_as_the_product_is_below_2_to_the_32() {
        for divisor in (1..3000).chain([4095, 4096, 8192, 16383, 16384]) {
            let by = Divisor::new(divisor);
            for n in [0, 1, divisor - 1, divisor, divisor + 1, 7 * divisor - 1, 7 * divisor, u32::MAX / divisor] {
                assert_eq!(by.divide(n), (n / divisor, n % divisor), "{n} / {divisor}");
            }
        }
    }

    #[test]
    fn shapes_whose_radices_do_not_make_the_points_do_not_fit() {
        let shape = |points, radices| Shape { points, radices, taps: 4, stride: 2, bits: 8, slots: 3 };
        let (sixteen, three) = (15, 2 << RADIX_BITS);
        assert!(shape(48, three | sixteen).fits() && shape(1, 0).fits() && shape(16, sixteen).fits());
        assert!(!shape(48, sixteen).fits() && !shape(48, 1 << (2 * RADIX_BITS) | three | sixteen).fits());
        assert!(!shape(48, three << RADIX_BITS | sixteen).fits() && !shape(0, 0).fits());
    }
}
