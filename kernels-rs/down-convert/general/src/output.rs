//! What outputs are in memory: f32, f16 or integers.

use fringes_device::Value;
use fringes_device::convert::{cvt_rn_f16x2_f32, cvt_rni_s32_f32};

/// A format of outputs.
pub(crate) trait Output {
    /// A value in memory.
    type Stored: Value;

    /// The value in memory, and whether a part was beyond the limit before rounding, or NaN; never of f32.
    fn stored(value: [f32; 2]) -> (Self::Stored, bool);
}

/// Whether a part is not within a limit, as a NaN is not.
#[inline(always)]
fn beyond([re, im]: [f32; 2], limit: f32) -> bool {
    !(re.abs() <= limit && im.abs() <= limit)
}

/// The nearest whole number within a limit, half to even; of NaN 0.
#[inline(always)]
fn whole(part: f32, limit: f32) -> u32 {
    let within = if part.abs() <= limit { part } else { limit.copysign(part) };
    // (A limit with a NaN's sign would be what it is not.)
    cvt_rni_s32_f32(if part.is_nan() { 0.0 } else { within }) as u32
}

/// Two f32, the real part first.
pub(crate) struct F32;

impl Output for F32 {
    type Stored = [f32; 2];

    #[inline(always)]
    fn stored(value: [f32; 2]) -> ([f32; 2], bool) {
        (value, false)
    }
}

/// Two f16, the real part low, within +-65504; a NaN stays one.
pub(crate) struct F16;

impl F16 {
    const LIMIT: f32 = 65504.0;
}

impl Output for F16 {
    type Stored = u32;

    #[inline(always)]
    fn stored(value: [f32; 2]) -> (u32, bool) {
        let part = |part: f32| {
            let outside = part.abs() > Self::LIMIT;
            if outside { Self::LIMIT.copysign(part) } else { part }
        };
        (cvt_rn_f16x2_f32(part(value[1]), part(value[0])), beyond(value, Self::LIMIT))
    }
}

/// Two bytes, the real part low, within +-127.
pub(crate) struct I8;

impl I8 {
    const LIMIT: f32 = 127.0;
}

impl Output for I8 {
    type Stored = u16;

    #[inline(always)]
    fn stored([re, im]: [f32; 2]) -> (u16, bool) {
        let stored = whole(re, Self::LIMIT) & 0xff | whole(im, Self::LIMIT) << 8;
        (stored as u16, beyond([re, im], Self::LIMIT))
    }
}

/// Two integers of 16 bits, the real part low, within +-32767.
pub(crate) struct I16;

impl I16 {
    const LIMIT: f32 = 32767.0;
}

impl Output for I16 {
    type Stored = u32;

    #[inline(always)]
    fn stored([re, im]: [f32; 2]) -> (u32, bool) {
        let stored = whole(re, Self::LIMIT) & 0xffff | whole(im, Self::LIMIT) << 16;
        (stored, beyond([re, im], Self::LIMIT))
    }
}
