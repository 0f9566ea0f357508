//! The transform from 256 to 512, of which only powers are wanted.
//!
//! Products are those of `Fft256To512`; the layouts `X` and `Z1` are its own:
//!
//! ```text
//! X   b<->ReIm  t0 t1 t2 t3 t4<->n5 n6 n1 n2 n3  r<->n0 n4 n7
//! Z1  b<->n1    t0 t1 t2 t3 t4<->n2 n3 q1 q2 q3  r<->n0 q0 q4 ReIm     8 `m16n8k16`, 8 half2 operations
//! Z2  as Z1                                                           24 half2 operations
//! Y   b<->q7    t0 t1 t2 t3 t4<->q5 q6 q1 q2 q3  r<->ReIm q0 q4 q8     8 `m16n8k16`, 8 half2 operations
//! ```
//!
//! With `m = n mod 16`, `l = q mod 32` and `q = 32 h + l` a phase of the second and third step is
//! `m q = (m - 15/2) (l - 31/2) + 31/2 m + 15/2 l + 32 m h`, but for a constant. Powers do not know of the third term,
//! and the second and the last one are phases of the last product. So the second step turns by a quarter at most, and
//! a turn by `w` is three multiply-adds: `re - tan(w/2) im`, `im + sin(w) re` and the first one again.

use fringes_device::half2::fma_rn_f16x2;
use fringes_kernels_beamformer_frb::Registers;
use fringes_kernels_fft_microkernel::{Half, Sums};

/// Registers of phases: 16 of the first matrix, 8 of `-tan(w/2)`, 8 of `sin(w)`, 8 of the last matrix.
pub(crate) const PHASES: usize = 40;

/// Results of a lane, `[q0 q4 q8]` of `[ReIm]`.
pub(crate) type Results = [[u32; 2]; 8];

/// The transform of a warp's 256 numbers.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub(crate) unsafe fn transform(x: [u32; 8], p: &[u32; PHASES]) -> Results {
    let first = |part: usize, n0: usize| {
        let matrix = |n4: usize| <[u32; 4]>::each(|at| p[8 * part + 4 * n4 + at]);
        let even = Half::k16(matrix(0), [x[n0], x[n0 + 4]], Half::ZERO);
        let all = Half::k16(matrix(1), [x[n0 + 2], x[n0 + 6]], even);
        // [q4][q0]
        [all, Half::alternating(even, all)]
    };
    let re = [first(0, 0), first(0, 1)];
    let im = [first(1, 0), first(1, 1)];
    // [n0][q4][q0] of [re, im]
    let z = <[[[[u32; 2]; 2]; 2]; 2]>::each(|n0| {
        <[[[u32; 2]; 2]; 2]>::each(|q4| {
            <[[u32; 2]; 2]>::each(|q0| {
                let at = n0 + 2 * q0 + 4 * q4;
                turned(re[n0][q4][q0], im[n0][q4][q0], p[16 + at], p[24 + at])
            })
        })
    });
    // [q4][ReIm] of [q8][q0]
    let last = |q4: usize, part: usize| {
        let data = |n0: usize| {
            let [[a, c], [b, d]] = z[n0][q4];
            [a, b, c, d]
        };
        let matrix = |n0: usize| [p[32 + 4 * part + 2 * n0], p[33 + 4 * part + 2 * n0]];
        let even = Half::k16(data(0), matrix(0), Half::ZERO);
        let all = Half::k16(data(1), matrix(1), even);
        [all, Half::alternating(even, all)]
    };
    let [a, b] = [[last(0, 0), last(0, 1)], [last(1, 0), last(1, 1)]];
    Results::each(|at| {
        let (q0, q4, q8) = (at & 1, at >> 1 & 1, at >> 2);
        let [re, im] = if q4 == 0 { a } else { b };
        [re[q8][q0], im[q8][q0]]
    })
}

/// Two complex numbers turned by angles up to a quarter.
#[inline(always)]
fn turned(re: u32, im: u32, tangent: u32, sine: u32) -> [u32; 2] {
    let half = fma_rn_f16x2(tangent, im, re);
    let im = fma_rn_f16x2(sine, half, im);
    [fma_rn_f16x2(tangent, im, half), im]
}
