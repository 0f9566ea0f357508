//! What becomes of the beams: multiplied by a channel's factor, and stored two at a time.

use fringes_device::GlobalMut;
use fringes_device::arithmetic::fma_rn_f32;
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::half2::mul_rn_f16x2;
use fringes_kernels_fft_microkernel::{Half, Spectra, Wide};

/// A place for beams, with the factor of a channel.
pub trait Scaled: Spectra {
    /// Words of 32 bits that two beams take.
    const PAIR_WORDS: usize;

    /// Beams in a view that holds them two after two.
    ///
    /// # Safety
    /// The view starts at a multiple of 16 bytes.
    unsafe fn new(beams: GlobalMut<u32>, factor: f32) -> Self;
}

/// Complex f16; the factor is a power of two that f16 holds.
#[derive(Clone, Copy)]
pub struct HalfBeams {
    beams: GlobalMut<[u32; 2]>,
    /// In both halves.
    factor: u32,
}

impl Scaled for HalfBeams {
    const PAIR_WORDS: usize = 2;

    #[inline(always)]
    unsafe fn new(beams: GlobalMut<u32>, factor: f32) -> Self {
        Self { beams: beams.cast(), factor: cvt_rn_f16x2_f32(factor, factor) }
    }
}

impl Spectra for HalfBeams {
    type Sums = Half;
    type Inner = Half;

    #[inline(always)]
    unsafe fn store(self, pair: usize, beams: [u32; 2]) {
        self.beams.store(pair, [mul_rn_f16x2(beams[0], self.factor), mul_rn_f16x2(beams[1], self.factor)]);
    }
}

/// Powers in f32.
#[derive(Clone, Copy)]
pub struct Powers {
    beams: GlobalMut<[f32; 2]>,
    factor: f32,
}

impl Scaled for Powers {
    const PAIR_WORDS: usize = 2;

    #[inline(always)]
    unsafe fn new(beams: GlobalMut<u32>, factor: f32) -> Self {
        Self { beams: beams.cast(), factor }
    }
}

impl Spectra for Powers {
    type Sums = Wide;
    type Inner = Half;

    /// The factor is a power of two: with it a power is rounded as without.
    #[inline(always)]
    unsafe fn store(self, pair: usize, beams: [[f32; 2]; 2]) {
        let power = |[re, im]: [f32; 2]| fma_rn_f32(re, re, im * im) * self.factor;
        self.beams.store(pair, [power(beams[0]), power(beams[1])]);
    }
}

/// Complex f32.
#[derive(Clone, Copy)]
pub struct WideBeams {
    beams: GlobalMut<[f32; 4]>,
    factor: f32,
}

impl Scaled for WideBeams {
    const PAIR_WORDS: usize = 4;

    #[inline(always)]
    unsafe fn new(beams: GlobalMut<u32>, factor: f32) -> Self {
        Self { beams: beams.cast(), factor }
    }
}

impl Spectra for WideBeams {
    type Sums = Wide;
    type Inner = Half;

    #[inline(always)]
    unsafe fn store(self, pair: usize, beams: [[f32; 2]; 2]) {
        let [[a, b], [c, d]] = beams;
        self.beams.store(pair, [a, b, c, d].map(|part| part * self.factor));
    }
}
