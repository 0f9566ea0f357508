//! What becomes of sums: scaled, dithered, rounded, clamped and counted, a time at a time.

use crate::f_engine::FrameValue;
use crate::f_engine::dither::SpectrumDither;
use crate::pfb::has_avx2_fma;

/// What becomes of beams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamFinish {
    /// What they are multiplied by.
    pub scale: f32,
    /// Seed of the dither of integers, if there is any.
    pub seed: Option<u64>,
    /// Number of the first time, for the dither.
    pub spectrum: u64,
}

impl BeamFinish {
    /// The dither of time `time` of a channel, of values of a format.
    pub(super) fn dither<Q: FrameValue>(&self, channel: usize, time: usize) -> Option<SpectrumDither> {
        let seed = self.seed.filter(|_| Q::INTEGER)?;
        Some(SpectrumDither::new(seed, self.spectrum.wrapping_add(time as u64), channel as u32))
    }
}

/// Writes the beams of a time, of values that are scaled already, and adds to the counts of those that saturate.
#[inline(always)]
pub(super) fn finish<Q: FrameValue>(
    values: impl Iterator<Item = [f64; 2]>,
    dither: Option<SpectrumDither>,
    out: &mut [Q],
    lost: &mut [u64],
) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2_fma() {
        // SAFETY: the processor was found to have AVX2.
        #[allow(unsafe_code)]
        unsafe {
            return finish_avx2(values, dither, out, lost);
        }
    }
    finish_all(values, dither, out, lost);
}

/// [`finish_all`] compiled for AVX2: the same operations, in vectors.
///
/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn finish_avx2<Q: FrameValue>(
    values: impl Iterator<Item = [f64; 2]>,
    dither: Option<SpectrumDither>,
    out: &mut [Q],
    lost: &mut [u64],
) {
    finish_all(values, dither, out, lost);
}

#[inline(always)]
fn finish_all<Q: FrameValue>(
    values: impl Iterator<Item = [f64; 2]>,
    dither: Option<SpectrumDither>,
    out: &mut [Q],
    lost: &mut [u64],
) {
    let out = out.iter_mut().zip(lost).zip(values);
    let put = |((out, lost), [re, im]): ((&mut Q, &mut u64), [f64; 2]), moved: (f64, f64)| {
        let (value, saturated) = Q::from_product(re + moved.0, im + moved.1);
        *out = value;
        if Q::INTEGER {
            *lost += u64::from(saturated);
        }
    };
    match dither {
        None => out.for_each(|value| put(value, (0.0, 0.0))),
        Some(dither) => out.zip(0..).for_each(|(value, beam)| put(value, dither.of(beam))),
    }
}
