//! Bounds in place of equality, each named as the report shows it.

/// Bit for bit, but one NaN is as good as another.
pub const ANY_NAN: &str = "bit for bit, any NaN for a NaN";

/// [`ANY_NAN`] for f32.
pub fn float_or_nan(_: &[u32], _: usize, want: u32, have: u32) -> bool {
    want == have || (f32::from_bits(want).is_nan() && f32::from_bits(have).is_nan())
}

/// [`ANY_NAN`] for two f16.
pub fn halves_or_nan(_: &[u32], _: usize, want: u32, have: u32) -> bool {
    let nan = |half: u32| half & 0x7fff > 0x7c00;
    [(want & 0xffff, have & 0xffff), (want >> 16, have >> 16)]
        .iter()
        .all(|&(want, have)| want == have || (nan(want) && nan(have)))
}
