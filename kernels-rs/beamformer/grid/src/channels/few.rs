//! Transforms of 2 to 32 times: each thread has one feed, and all its times in registers.

use fringes_device::arithmetic::{fma_rn_f32, lop3_b32};
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::index::{ntid_x, tid_x};
use fringes_device::{Global, GlobalMut};
use fringes_kernels_beamformer_frb::Registers;

use super::{ChannelSizes, checked};
use crate::load::FOUR;

/// A complex number, real part first.
type C = [f32; 2];

/// A transform of `N` times with a positive exponent.
pub(crate) trait Few: Registers<C> + Copy {
    /// Number of times.
    const TIMES: u32;
    /// `Y[f] = sum over t of exp(2 pi i f t / N) x[t]`
    fn transform(self) -> Self;
    /// `f(number of a channel, channel)` for all of them.
    fn all(self, f: impl FnMut(u32, C));
}

impl Few for [C; 2] {
    const TIMES: u32 = 2;

    #[inline(always)]
    fn transform(self) -> Self {
        let [a, b] = self;
        [[a[0] + b[0], a[1] + b[1]], [a[0] - b[0], a[1] - b[1]]]
    }

    #[inline(always)]
    fn all(self, mut f: impl FnMut(u32, C)) {
        f(0, self[0]);
        f(1, self[1]);
    }
}

/// cos(2 pi k / 32) for k from 0 to 8.
const COS: [f32; 9] =
    [1.0, 0.980_785_25, 0.923_879_5, 0.831_469_6, 0.707_106_77, 0.555_570_24, 0.382_683_43, 0.195_090_32, 0.0];

/// `exp(2 pi i k / 32)` for k below 16.
const fn root(k: usize) -> C {
    if k <= 8 { [COS[k], COS[8 - k]] } else { [-COS[16 - k], COS[k - 8]] }
}

/// `a +- root b`.
#[inline(always)]
fn butterfly(a: C, b: C, k: usize) -> [C; 2] {
    let [re, im] = root(k);
    let turned = match k {
        0 => b,
        8 => [-b[1], b[0]],
        _ => [fma_rn_f32(-im, b[1], re * b[0]), fma_rn_f32(im, b[0], re * b[1])],
    };
    [[a[0] + turned[0], a[1] + turned[1]], [a[0] - turned[0], a[1] - turned[1]]]
}

/// A transform by those of its even and odd times.
macro_rules! twice {
    ($n:literal, $half:literal, [$($f:literal)*], [$($all:literal)*]) => {
        impl Few for [C; $n] {
            const TIMES: u32 = $n;

            #[inline(always)]
            fn transform(self) -> Self {
                let even = [$(self[2 * $f]),*].transform();
                let odd = [$(self[2 * $f + 1]),*].transform();
                let pairs = [$(butterfly(even[$f], odd[$f], $f * (32 / $n))),*];
                <[C; $n]>::each(|f| pairs[f % $half][f / $half])
            }

            #[inline(always)]
            fn all(self, mut f: impl FnMut(u32, C)) {
                $(f($all, self[$all]);)*
            }
        }
    };
}

twice!(4, 2, [0 1], [0 1 2 3]);
twice!(8, 4, [0 1 2 3], [0 1 2 3 4 5 6 7]);
twice!(16, 8, [0 1 2 3 4 5 6 7], [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]);
twice!(32, 16, [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15],
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]);

/// Threads of a block.
const THREADS: u32 = 256;

/// All transforms, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn few<T: Few>(voltages: Global<u8>, channels: GlobalMut<u32>, sizes: ChannelSizes) {
    let columns = sizes.columns();
    checked(voltages, channels, sizes, [T::TIMES, THREADS, 0], ntid_x() == THREADS, |[block, frequency, tile]| {
        let column = tile * THREADS + tid_x();
        if column >= columns {
            return;
        }
        let (first, left) = sizes.quad([block, frequency], column / 4, T::TIMES);
        let feed = column % 4;
        let there = feed < left;
        let bytes = u64::from(feed * crate::load::bytes(sizes.format));
        // SAFETY: the views hold what the sizes say.
        unsafe {
            let x = T::each(|time| match there {
                true => {
                    let at = first + bytes + time as u64 * sizes.strides[0];
                    number(voltages, [sizes.format, sizes.signs], at as usize, sizes.negative != 0)
                }
                false => [0.0; 2],
            });
            let out = sizes.first_out([block, frequency], T::TIMES) + u64::from(column);
            x.transform().all(|f, [a, b]| {
                let [re, im] = if sizes.negative != 0 { [b, a] } else { [a, b] };
                let word = cvt_rn_f16x2_f32(im * sizes.scale, re * sizes.scale);
                channels.store((out + u64::from(f) * u64::from(columns)) as usize, word);
            });
        }
    });
}

/// A voltage; with its parts exchanged, which changes the sign of a transform's exponent, if `exchanged`.
///
/// # Safety
/// It is in the view.
#[inline(always)]
unsafe fn number(voltages: Global<u8>, [format, signs]: [u32; 2], at: usize, exchanged: bool) -> C {
    // In the low bits of an f32 of 2^23 a number counts 1.
    let part = |bits: u32, mask: u32, flip: u32, offset: f32| {
        f32::from_bits(lop3_b32::<0x6a>(bits, mask, flip ^ 0x4b00_0000)) - (8_388_608.0 + offset)
    };
    let [re, im] = if format == FOUR {
        let byte = u32::from(voltages.load(at));
        let flip = signs & 8;
        [part(byte >> 4, 15, flip, 8.0), part(byte, 15, flip, 8.0)]
    } else {
        let word = u32::from(voltages.part(at, 2).cast::<u16>().load(0));
        [part(word, 0xff, 0x80, 128.0), part(word >> 8, 0xff, 0x80, 128.0)]
    };
    if exchanged { [im, re] } else { [re, im] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_of_unity() {
        for k in 0..16 {
            let angle = std::f64::consts::TAU * k as f64 / 32.0;
            let [re, im] = root(k);
            assert_eq!(
                [re, im],
                [angle.cos() as f32, angle.sin() as f32].map(|part| if part.abs() < 1e-7 { 0.0 } else { part })
            );
        }
    }
}
