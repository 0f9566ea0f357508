//! Floating-point formats in software, for twins.

/// How a value between two numbers of a format is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    NearestEven,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Towards zero.
    Zero,
}

/// A binary floating-point format with infinities, NaN and subnormals, of at most 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the exponent.
    pub(crate) exponent: u32,
    /// Bits of the stored significand.
    pub(crate) significand: u32,
}

/// IEEE binary16.
pub(crate) const F16: Format = Format { exponent: 5, significand: 10 };
/// bfloat16.
pub(crate) const BF16: Format = Format { exponent: 8, significand: 7 };
/// TensorFloat-32, in 19 bits.
pub(crate) const TF32: Format = Format { exponent: 8, significand: 10 };
/// IEEE binary32.
pub(crate) const F32: Format = Format { exponent: 8, significand: 23 };

impl Format {
    #[inline(always)]
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Exponent of the least normal number.
    #[inline(always)]
    pub(crate) fn least_exponent(self) -> i32 {
        1 - self.bias()
    }

    #[inline(always)]
    fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.significand
    }

    #[inline(always)]
    fn sign(self) -> u32 {
        1 << (self.exponent + self.significand)
    }

    /// NaN as the hardware gives it: all bits but the sign.
    pub(crate) fn nan(self) -> u32 {
        self.sign() - 1
    }

    pub(crate) fn is_nan(self, bits: u32) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    pub(crate) fn is_infinite(self, bits: u32) -> bool {
        bits & (self.sign() - 1) == self.infinity()
    }

    /// Whether it is neither an infinity nor a NaN.
    #[inline(always)]
    pub(crate) fn is_finite(self, bits: u32) -> bool {
        bits & self.infinity() != self.infinity()
    }

    pub(crate) fn is_subnormal(self, bits: u32) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude >> self.significand == 0
    }

    #[inline(always)]
    pub(crate) fn is_negative(self, bits: u32) -> bool {
        bits & self.sign() != 0
    }

    /// Zero of the sign of `bits`.
    pub(crate) fn zero_like(self, bits: u32) -> u32 {
        bits & self.sign()
    }

    /// Exponent `e` and integer significand `m` of a finite number, `m 2^(e - significand)`; subnormals have the least
    /// exponent.
    #[inline(always)]
    pub(crate) fn parts(self, bits: u32) -> (i32, u32) {
        let fraction = bits & ((1 << self.significand) - 1);
        match (bits & (self.sign() - 1)) >> self.significand {
            0 => (self.least_exponent(), fraction),
            biased => (biased as i32 - self.bias(), fraction | 1 << self.significand),
        }
    }

    /// `bits`, or in place of infinity the greatest number of its sign.
    pub(crate) fn finite(self, bits: u32) -> u32 {
        if self.is_infinite(bits) { bits - 1 } else { bits }
    }

    /// The number, exactly. (A NaN stays one.)
    pub(crate) fn value(self, bits: u32) -> f64 {
        let magnitude = if self.is_nan(bits) {
            f64::NAN
        } else if self.is_infinite(bits) {
            f64::INFINITY
        } else {
            let (exponent, significand) = self.parts(bits);
            f64::from(significand) * power_of_two(exponent - self.significand as i32)
        };
        if self.is_negative(bits) { -magnitude } else { magnitude }
    }

    /// The number of this format that `x` rounds to. Beyond the greatest number: infinity, or towards zero the greatest
    /// number.
    pub(crate) fn round(self, x: f64, rounding: Rounding) -> u32 {
        if x.is_nan() {
            return self.nan();
        }
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        if x.is_infinite() {
            return sign | self.infinity();
        }
        if x == 0.0 {
            return sign;
        }
        // Formats have fewer exponents than f64, so that a subnormal f64 is below half of every least number.
        let bits = x.to_bits();
        let exponent = ((bits >> 52 & 0x7ff) as i32 - 1023).max(self.least_exponent() - 60);
        let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
        // Bits below the last place of the result.
        let place = exponent.max(self.least_exponent()) - self.significand as i32;
        let drop = place - (exponent - 52);
        let (kept, rest) = if drop >= 64 { (0, 1) } else { (significand >> drop, significand & ((1 << drop) - 1)) };
        let half = if drop >= 64 { 2 } else { 1u64 << (drop - 1) };
        let up = match rounding {
            Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
            Rounding::NearestAway => rest >= half,
            Rounding::Zero => false,
        };
        // The encoding counts through exponents, so that a carry out of the significand is right as it is.
        let least = exponent.max(self.least_exponent());
        let base = ((least + self.bias() - 1) as u64) << self.significand;
        let magnitude = base + kept + u64::from(up);
        if magnitude < u64::from(self.infinity()) {
            sign | magnitude as u32
        } else if rounding == Rounding::Zero {
            sign | (self.infinity() - 1)
        } else {
            sign | self.infinity()
        }
    }
}

/// `2^exponent`, of the exponents of normal numbers.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent));
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `x + y` rounded to odd: where the sum is no `f64`, the neighbour with an odd significand. Rounding that to a format
/// of at most 50 bits gives what rounding the exact sum would.
pub(crate) fn sum_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() {
        return sum;
    }
    let back = sum - x;
    let error = (x - (sum - back)) + (y - back);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}
