//! Arithmetic of one thread: bytes and bits, integers, single-precision functions.
//!
//! What Rust's operators and methods already compile to one instruction is not repeated here: `+ - * / & | ^ << >>`,
//! comparisons, `min`, `max`, `abs`, and for `f32` and `f64` the correctly rounded `+ - * /` (never fused: LLVM writes
//! `add.rn`, `mul.rn`).
//!
//! # Precision
//! Integer twins are exact. [`fma_rn_f32`], [`fnma_rn_f32`] and [`sqrt_rn_f32`] are correctly rounded, subnormals kept,
//! and give the NaN 0x7fffffff. The twins of the `approx` functions are correctly rounded; the hardware's results lie
//! within the bound that each states.

/// One instruction that computes from registers alone.
#[cfg(target_arch = "nvptx64")]
macro_rules! compute {
    ($template:expr, $type:ty, $class:ident; $($in:ident $value:expr),* $(; $constant:ident)?) => {{
        let d: $type;
        core::arch::asm!($template, out($class) d, $(in($in) $value,)* $(const $constant,)? options(pure, nomem, nostack));
        d
    }};
}

/// NaN as arithmetic instructions give it. Compares bits: the compiler may take any NaN for another where floats are
/// compared.
#[cfg(not(target_arch = "nvptx64"))]
fn canonical(x: f32) -> f32 {
    let bits = core::hint::black_box(x.to_bits());
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

/// Bytes of `a` (0 to 3) and `b` (4 to 7).
#[cfg(not(target_arch = "nvptx64"))]
fn pick(a: u32, b: u32, bytes: [u32; 4]) -> u32 {
    let source = u64::from(b) << 32 | u64::from(a);
    bytes.iter().rev().fold(0, |d, &byte| d << 8 | (source >> (8 * byte)) as u32 & 0xff)
}

/// Bits `position..position + length` of `a` in the lowest bits, `fill` above them and where they lie beyond bit 31.
#[cfg(not(target_arch = "nvptx64"))]
fn extract(a: u32, position: u32, length: u32, fill: bool) -> u32 {
    let bit = |i: u32| if i < length && position + i < 32 { a >> (position + i) & 1 } else { u32::from(fill) };
    (0..32).fold(0, |d, i| d | bit(i) << i)
}

intrinsic! {
    /// Four bytes of `a` (bytes 0 to 3) and `b` (4 to 7). Byte `i` of the result is the byte that bits `4 i` to
    /// `4 i + 2` of `selector` name, or eight copies of its highest bit where bit `4 i + 3` is set.
    ///
    /// # PTX
    /// `prmt.b32 d, a, b, selector;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn prmt_b32(a: u32, b: u32, selector: u32) -> u32 {
        device => { compute!("prmt.b32 {0}, {1}, {2}, {3};", u32, reg32; reg32 a, reg32 b, reg32 selector) }
        emulator => {
            let byte = |i: u32| pick(a, b, [selector >> (4 * i) & 7, 0, 0, 0]) & 0xff;
            (0..4).fold(0, |d, i| {
                let copies = if byte(i) & 0x80 == 0 { 0 } else { 0xff };
                d | (if selector >> (4 * i + 3) & 1 == 0 { byte(i) } else { copies }) << (8 * i)
            })
        }
    }
}

macro_rules! prmt_modes {
    ($($name:ident, $mode:literal, |$i:ident| $bytes:expr, $what:literal;)*) => { intrinsic! { $(
        #[doc = concat!($what, ", `i` in the two lowest bits of `selector`.")]
        ///
        /// # PTX
        #[doc = concat!("`prmt.b32.", $mode, " d, a, b, selector;`")]
        ///
        /// # Safety
        /// Safe: computes from its operands alone.
        pub fn $name(a: u32, b: u32, selector: u32) -> u32 {
            device => { compute!(concat!("prmt.b32.", $mode, " {0}, {1}, {2}, {3};"), u32, reg32; reg32 a, reg32 b, reg32 selector) }
            emulator => {
                let $i = selector & 3;
                pick(a, b, $bytes)
            }
        }
    )* } };
}

prmt_modes! {
    prmt_b32_f4e, "f4e", |i| [i, i + 1, i + 2, i + 3], "Four bytes of `b:a` from byte `i` on (0 to 3 are `a`'s, 4 to 7 `b`'s)";
    prmt_b32_b4e, "b4e", |i| [i, (i + 7) % 8, (i + 6) % 8, (i + 5) % 8], "Four bytes of `b:a` from byte `i` back, cyclically, the first in the lowest byte";
    prmt_b32_rc8, "rc8", |i| [i; 4], "Byte `i` of `a`, four times";
    prmt_b32_ecl, "ecl", |i| [i, i.max(1), i.max(2), 3], "Bytes 0 to 3 of `a`, those below `i` replaced by byte `i`";
    prmt_b32_ecr, "ecr", |i| [0, i.min(1), i.min(2), i], "Bytes 0 to 3 of `a`, those above `i` replaced by byte `i`";
    prmt_b32_rc16, "rc16", |i| [2 * (i & 1), 2 * (i & 1) + 1, 2 * (i & 1), 2 * (i & 1) + 1], "Half `i % 2` of `a`, twice";
}

intrinsic! {
    /// Bitwise function of three operands: bit by bit, `LUT >> (4 a + 2 b + c) & 1`. `LUT` is the function of 0xf0,
    /// 0xcc, 0xaa.
    ///
    /// # PTX
    /// `lop3.b32 d, a, b, c, LUT;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone. `LUT < 256`, or it does not assemble.
    pub fn lop3_b32<const LUT: u32>(a: u32, b: u32, c: u32) -> u32 {
        device => { compute!("lop3.b32 {0}, {1}, {2}, {3}, {4};", u32, reg32; reg32 a, reg32 b, reg32 c; LUT) }
        emulator => {
            (0..32).fold(0, |d, i| {
                let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
                d | (LUT >> row & 1) << i
            })
        }
    }

    /// High word of `high:low << (n % 32)`.
    ///
    /// # PTX
    /// `shf.l.wrap.b32 d, low, high, n;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn shf_l_wrap_b32(low: u32, high: u32, n: u32) -> u32 {
        device => { compute!("shf.l.wrap.b32 {0}, {1}, {2}, {3};", u32, reg32; reg32 low, reg32 high, reg32 n) }
        emulator => { ((u64::from(high) << 32 | u64::from(low)) << (n % 32) >> 32) as u32 }
    }

    /// High word of `high:low << min(n, 32)`.
    ///
    /// # PTX
    /// `shf.l.clamp.b32 d, low, high, n;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn shf_l_clamp_b32(low: u32, high: u32, n: u32) -> u32 {
        device => { compute!("shf.l.clamp.b32 {0}, {1}, {2}, {3};", u32, reg32; reg32 low, reg32 high, reg32 n) }
        emulator => { ((u64::from(high) << 32 | u64::from(low)) << n.min(32) >> 32) as u32 }
    }

    /// Low word of `high:low >> (n % 32)`.
    ///
    /// # PTX
    /// `shf.r.wrap.b32 d, low, high, n;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn shf_r_wrap_b32(low: u32, high: u32, n: u32) -> u32 {
        device => { compute!("shf.r.wrap.b32 {0}, {1}, {2}, {3};", u32, reg32; reg32 low, reg32 high, reg32 n) }
        emulator => { ((u64::from(high) << 32 | u64::from(low)) >> (n % 32)) as u32 }
    }

    /// Low word of `high:low >> min(n, 32)`.
    ///
    /// # PTX
    /// `shf.r.clamp.b32 d, low, high, n;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn shf_r_clamp_b32(low: u32, high: u32, n: u32) -> u32 {
        device => { compute!("shf.r.clamp.b32 {0}, {1}, {2}, {3};", u32, reg32; reg32 low, reg32 high, reg32 n) }
        emulator => { ((u64::from(high) << 32 | u64::from(low)) >> n.min(32)) as u32 }
    }

    /// Bits `position..position + length` of `a`, zeros above. Of `position` and `length` the lowest 8 bits count.
    ///
    /// # PTX
    /// `bfe.u32 d, a, position, length;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn bfe_u32(a: u32, position: u32, length: u32) -> u32 {
        device => { compute!("bfe.u32 {0}, {1}, {2}, {3};", u32, reg32; reg32 a, reg32 position, reg32 length) }
        emulator => { extract(a, position & 0xff, length & 0xff, false) }
    }

    /// Bits `position..position + length` of `a`, the highest of them (bit 31 where they reach beyond it) repeated
    /// above. Of `position` and `length` the lowest 8 bits count.
    ///
    /// # PTX
    /// `bfe.s32 d, a, position, length;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn bfe_s32(a: i32, position: u32, length: u32) -> i32 {
        device => { compute!("bfe.s32 {0}, {1}, {2}, {3};", i32, reg32; reg32 a, reg32 position, reg32 length) }
        emulator => {
            let (position, length) = (position & 0xff, length & 0xff);
            let sign = length > 0 && a >> (position + length - 1).min(31) & 1 == 1;
            extract(a as u32, position, length, sign) as i32
        }
    }

    /// `b` with bits `position..position + length` replaced by the lowest bits of `a`. Of `position` and `length` the
    /// lowest 8 bits count.
    ///
    /// # PTX
    /// `bfi.b32 d, a, b, position, length;`
    ///
    /// # Safety
    /// Safe: computes from its operands alone.
    pub fn bfi_b32(a: u32, b: u32, position: u32, length: u32) -> u32 {
        device => { compute!("bfi.b32 {0}, {1}, {2}, {3}, {4};", u32, reg32; reg32 a, reg32 b, reg32 position, reg32 length) }
        emulator => {
            let (position, length) = (position & 0xff, length & 0xff);
            (0..32).fold(0, |d, i| {
                let inside = position <= i && i < position + length;
                d | (if inside { a >> (i - position) } else { b >> i } & 1) << i
            })
        }
    }
}

/// Instructions of two or three integers.
macro_rules! integers {
    ($($name:ident($($argument:ident: $type:ty, $in:ident),*) -> $result:ty, $class:ident, $ptx:literal, $operands:literal, $twin:expr, $what:literal;)*) => { intrinsic! { $(
        #[doc = $what]
        ///
        /// # PTX
        #[doc = concat!("`", $ptx, " d", $(", ", stringify!($argument),)* ";`")]
        ///
        /// # Safety
        /// Safe: computes from its operands alone.
        pub fn $name($($argument: $type),*) -> $result {
            device => { compute!(concat!($ptx, $operands), $result, $class; $($in $argument),*) }
            emulator => { $twin }
        }
    )* } };
}

integers! {
    brev_b32(a: u32, reg32) -> u32, reg32, "brev.b32", " {0}, {1};", a.reverse_bits(), "The bits of `a` in reverse order.";
    popc_b32(a: u32, reg32) -> u32, reg32, "popc.b32", " {0}, {1};", a.count_ones(), "Number of ones in `a`.";
    clz_b32(a: u32, reg32) -> u32, reg32, "clz.b32", " {0}, {1};", a.leading_zeros(), "Number of zeros above the highest one of `a`, 32 if there is none.";
    mul_hi_u32(a: u32, reg32, b: u32, reg32) -> u32, reg32, "mul.hi.u32", " {0}, {1}, {2};", ((u64::from(a) * u64::from(b)) >> 32) as u32, "High word of the product.";
    mul_hi_s32(a: i32, reg32, b: i32, reg32) -> i32, reg32, "mul.hi.s32", " {0}, {1}, {2};", ((i64::from(a) * i64::from(b)) >> 32) as i32, "High word of the product.";
    mul_hi_u64(a: u64, reg64, b: u64, reg64) -> u64, reg64, "mul.hi.u64", " {0}, {1}, {2};", ((u128::from(a) * u128::from(b)) >> 64) as u64, "High word of the product.";
    mul_wide_u32(a: u32, reg32, b: u32, reg32) -> u64, reg64, "mul.wide.u32", " {0}, {1}, {2};", u64::from(a) * u64::from(b), "The product in 64 bits.";
    mul_wide_s32(a: i32, reg32, b: i32, reg32) -> i64, reg64, "mul.wide.s32", " {0}, {1}, {2};", i64::from(a) * i64::from(b), "The product in 64 bits.";
    mad_lo_u32(a: u32, reg32, b: u32, reg32, c: u32, reg32) -> u32, reg32, "mad.lo.u32", " {0}, {1}, {2}, {3};", a.wrapping_mul(b).wrapping_add(c), "`a b + c` modulo 2^32.";
    mad_lo_s32(a: i32, reg32, b: i32, reg32, c: i32, reg32) -> i32, reg32, "mad.lo.s32", " {0}, {1}, {2}, {3};", a.wrapping_mul(b).wrapping_add(c), "`a b + c` modulo 2^32.";
    mad_hi_u32(a: u32, reg32, b: u32, reg32, c: u32, reg32) -> u32, reg32, "mad.hi.u32", " {0}, {1}, {2}, {3};", (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c), "High word of `a b`, plus `c`, modulo 2^32.";
    mad_wide_u32(a: u32, reg32, b: u32, reg32, c: u64, reg64) -> u64, reg64, "mad.wide.u32", " {0}, {1}, {2}, {3};", (u64::from(a) * u64::from(b)).wrapping_add(c), "`a b + c` in 64 bits, modulo 2^64.";
    mad_wide_s32(a: i32, reg32, b: i32, reg32, c: i64, reg64) -> i64, reg64, "mad.wide.s32", " {0}, {1}, {2}, {3};", (i64::from(a) * i64::from(b)).wrapping_add(c), "`a b + c` in 64 bits, modulo 2^64.";
    dp4a_s32_s32(a: u32, reg32, b: u32, reg32, c: i32, reg32) -> i32, reg32, "dp4a.s32.s32", " {0}, {1}, {2}, {3};", (0..4).fold(c, |c, i| c.wrapping_add(i32::from((a >> (8 * i)) as i8) * i32::from((b >> (8 * i)) as i8))), "`c` plus the products of the four signed bytes of `a` and `b`, modulo 2^32.";
    dp4a_u32_u32(a: u32, reg32, b: u32, reg32, c: u32, reg32) -> u32, reg32, "dp4a.u32.u32", " {0}, {1}, {2}, {3};", (0..4).fold(c, |c, i| c.wrapping_add(u32::from((a >> (8 * i)) as u8) * u32::from((b >> (8 * i)) as u8))), "`c` plus the products of the four unsigned bytes of `a` and `b`, modulo 2^32.";
    fma_rn_f32(a: f32, reg32, b: f32, reg32, c: f32, reg32) -> f32, reg32, "fma.rn.f32", " {0}, {1}, {2}, {3};", canonical(a.mul_add(b, c)), "`a b + c`, rounded once, to nearest, ties to even.";
    fnma_rn_f32(a: f32, reg32, b: f32, reg32, c: f32, reg32) -> f32, reg32, "{{ .reg .f32 n; neg.f32 n, {1}; fma.rn.f32", " {0}, n, {2}, {3}; }}", canonical((-a).mul_add(b, c)), "`c - a b`, rounded once, to nearest, ties to even: `neg.f32`, which takes no instruction, and `fma.rn.f32`. (Rust's `-a` becomes an instruction in front of [`fma_rn_f32`].)";
    fma_rn_f64(a: f64, reg64, b: f64, reg64, c: f64, reg64) -> f64, reg64, "fma.rn.f64", " {0}, {1}, {2}, {3};", a.mul_add(b, c), "`a b + c`, rounded once, to nearest, ties to even. (A NaN's payload is not modelled.)";
    sqrt_rn_f32(a: f32, reg32) -> f32, reg32, "sqrt.rn.f32", " {0}, {1};", canonical(a.sqrt()), "Square root, rounded to nearest, ties to even.";
    rcp_approx_f32(a: f32, reg32) -> f32, reg32, "rcp.approx.f32", " {0}, {1};", canonical((1.0 / f64::from(a)) as f32), "`1 / a` within 1 unit in the last place of the correctly rounded result.";
    sqrt_approx_f32(a: f32, reg32) -> f32, reg32, "sqrt.approx.f32", " {0}, {1};", canonical(a.sqrt()), "Square root within a relative error of 2^-23.";
    rsqrt_approx_f32(a: f32, reg32) -> f32, reg32, "rsqrt.approx.f32", " {0}, {1};", canonical((1.0 / f64::from(a).sqrt()) as f32), "`1 / sqrt(a)` within a relative error of 2^-22.9; of -0 it is -infinity.";
    ex2_approx_f32(a: f32, reg32) -> f32, reg32, "ex2.approx.f32", " {0}, {1};", canonical(f64::from(a).exp2() as f32), "`2^a` within 2 units in the last place of the correctly rounded result.";
    lg2_approx_f32(a: f32, reg32) -> f32, reg32, "lg2.approx.f32", " {0}, {1};", canonical(f64::from(a).log2() as f32), "Logarithm to base 2, within an absolute error of 2^-22 for `a` in (0.5, 2), else a relative error of 2^-22; of -0 it is -infinity.";
    sin_approx_f32(a: f32, reg32) -> f32, reg32, "sin.approx.f32", " {0}, {1};", canonical(f64::from(a).sin() as f32), "Sine of `a` radians, within an absolute error of 2^-20.5 for `|a| <= 2 pi` and of 2^-14.7 for `|a| <= 100 pi`.";
    cos_approx_f32(a: f32, reg32) -> f32, reg32, "cos.approx.f32", " {0}, {1};", canonical(f64::from(a).cos() as f32), "Cosine of `a` radians, within an absolute error of 2^-20.4 for `|a| <= 2 pi` and of 2^-14.7 for `|a| <= 100 pi`.";
}
