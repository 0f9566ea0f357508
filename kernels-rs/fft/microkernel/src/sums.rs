//! How the sums of contractions are kept: in f16, in f32, or in f32 and cut to the range of f16.
//!
//! | type | sums | what leaves a contraction | overflow |
//! |---|---|---|---|
//! | [`Half`] | f16, rounded once an instruction | f16 | infinity, then NaN |
//! | [`Saturating`] | f32 | f16, clamped to +-65504 | never |
//! | [`Wide`] | f32 | f32 | never |

use fringes_device::arithmetic::{fma_rn_f32, prmt_b32};
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::half2::{fma_rn_f16x2, max_f16x2, min_f16x2, mul_rn_f16x2, neg_f16x2};
use fringes_device::mma::{mma_m16n8k8_f16_f16, mma_m16n8k8_f32_f16, mma_m16n8k16_f16_f16, mma_m16n8k16_f32_f16};

/// Two f16 of 2.
const TWO: u32 = 0x4000_4000;
/// Two f16 of the greatest finite number.
const GREATEST: u32 = 0x7bff_7bff;
/// The greatest finite f16.
const LIMIT: f32 = 65504.0;

/// Sums of a contraction in the registers of a fragment of 16 x 8.
pub trait Sums {
    /// The fragment.
    type Fragment: Copy;
    /// What becomes of two neighbouring sums.
    type Register: Copy;
    /// No sum.
    const ZERO: Self::Fragment;

    /// Adds a product of 16 x 8 with 8 x 8.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together.
    unsafe fn k8(a: [u32; 2], b: [u32; 1], c: Self::Fragment) -> Self::Fragment;

    /// Adds a product of 16 x 16 with 16 x 8.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together.
    unsafe fn k16(a: [u32; 4], b: [u32; 2], c: Self::Fragment) -> Self::Fragment;

    /// `2 part - whole`: with `part` the sum of the even terms and `whole` the sum of all, the even terms minus the odd
    /// ones.
    ///
    /// # Precision
    /// Rounded once. If `e` is the error of `part` and `f` what `whole` has beside it, the result has `e - f` and the
    /// rounding, which is one more than a sum of its own would have.
    fn alternating(part: Self::Fragment, whole: Self::Fragment) -> Self::Fragment;

    /// The fragment's two registers.
    fn registers(fragment: Self::Fragment) -> [Self::Register; 2];

    /// The first values of two registers, and their second ones.
    fn transposed(low: Self::Register, high: Self::Register) -> [Self::Register; 2];

    /// What a product with phases may leave, in the range that these sums have.
    fn phased(x: u32) -> u32;
}

/// Sums in f16.
pub enum Half {}

impl Sums for Half {
    type Fragment = [u32; 2];
    type Register = u32;
    const ZERO: [u32; 2] = [0; 2];

    #[inline(always)]
    unsafe fn k8(a: [u32; 2], b: [u32; 1], c: [u32; 2]) -> [u32; 2] {
        mma_m16n8k8_f16_f16(a, b, c)
    }

    #[inline(always)]
    unsafe fn k16(a: [u32; 4], b: [u32; 2], c: [u32; 2]) -> [u32; 2] {
        mma_m16n8k16_f16_f16(a, b, c)
    }

    #[inline(always)]
    fn alternating(part: [u32; 2], whole: [u32; 2]) -> [u32; 2] {
        [fma_rn_f16x2(part[0], TWO, neg_f16x2(whole[0])), fma_rn_f16x2(part[1], TWO, neg_f16x2(whole[1]))]
    }

    #[inline(always)]
    fn registers(fragment: [u32; 2]) -> [u32; 2] {
        fragment
    }

    #[inline(always)]
    fn transposed(low: u32, high: u32) -> [u32; 2] {
        halves(low, high)
    }

    #[inline(always)]
    fn phased(x: u32) -> u32 {
        x
    }
}

/// Contractions in f32; the same for both kinds of results.
macro_rules! in_f32 {
    () => {
        type Fragment = [f32; 4];
        const ZERO: [f32; 4] = [0.0; 4];

        #[inline(always)]
        unsafe fn k8(a: [u32; 2], b: [u32; 1], c: [f32; 4]) -> [f32; 4] {
            mma_m16n8k8_f32_f16(a, b, c)
        }

        #[inline(always)]
        unsafe fn k16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
            mma_m16n8k16_f32_f16(a, b, c)
        }

        #[inline(always)]
        fn alternating(part: [f32; 4], whole: [f32; 4]) -> [f32; 4] {
            [
                fma_rn_f32(part[0], 2.0, -whole[0]),
                fma_rn_f32(part[1], 2.0, -whole[1]),
                fma_rn_f32(part[2], 2.0, -whole[2]),
                fma_rn_f32(part[3], 2.0, -whole[3]),
            ]
        }
    };
}

/// Sums in f32, results in f16 clamped to its range.
pub enum Saturating {}

impl Sums for Saturating {
    type Register = u32;
    in_f32!();

    #[inline(always)]
    fn registers(sums: [f32; 4]) -> [u32; 2] {
        [clamped(sums[0], sums[1]), clamped(sums[2], sums[3])]
    }

    #[inline(always)]
    fn transposed(low: u32, high: u32) -> [u32; 2] {
        halves(low, high)
    }

    #[inline(always)]
    fn phased(x: u32) -> u32 {
        max_f16x2(min_f16x2(x, GREATEST), GREATEST | 0x8000_8000)
    }
}

/// Two numbers as f16, within its range. NaN becomes a number.
#[inline(always)]
#[expect(clippy::manual_clamp, reason = "two instructions; `clamp` keeps NaN by more of them")]
fn clamped(low: f32, high: f32) -> u32 {
    cvt_rn_f16x2_f32(high.min(LIMIT).max(-LIMIT), low.min(LIMIT).max(-LIMIT))
}

/// Sums and results in f32.
pub enum Wide {}

impl Sums for Wide {
    type Register = [f32; 2];
    in_f32!();

    #[inline(always)]
    fn registers(sums: [f32; 4]) -> [[f32; 2]; 2] {
        [[sums[0], sums[1]], [sums[2], sums[3]]]
    }

    #[inline(always)]
    fn transposed(low: [f32; 2], high: [f32; 2]) -> [[f32; 2]; 2] {
        [[low[0], high[0]], [low[1], high[1]]]
    }

    #[inline(always)]
    fn phased(x: u32) -> u32 {
        x
    }
}

/// The low halves of two registers, and their high halves.
#[inline(always)]
fn halves(low: u32, high: u32) -> [u32; 2] {
    [prmt_b32(low, high, 0x5410), prmt_b32(low, high, 0x7632)]
}

/// `x (c + i s)` with the real parts of two numbers in one register and the imaginary parts in another.
///
/// # Precision
/// Each part is rounded twice.
#[inline(always)]
pub fn turned(re: u32, im: u32, c: u32, s: u32) -> [u32; 2] {
    [fma_rn_f16x2(re, c, neg_f16x2(mul_rn_f16x2(im, s))), fma_rn_f16x2(im, c, mul_rn_f16x2(re, s))]
}
