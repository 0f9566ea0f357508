//! The transform over time: fine channels of a beam, `Y[f] = sum over t < 128 of exp(2 pi i f t / 128) K[t]`, as
//! powers in the registers of a warp. The sign is in the phases.
//!
//! # Layout
//! `t = a + 8 c` with 3 and 4 bits, `f = l + 16 h` with 4 and 3. A first contraction sums `c` and creates `l`, phases
//! `l a / 128` follow, a second one sums `a` and creates `h`. The highest bit of `l` and the lowest of `c` meet in a
//! sign: half of the first result is the difference of two sums (see `fringes_kernels_fft_microkernel`).
//!
//! ```text
//! K   b<->ReIm  t0 t1 t2 t3 t4<->c1 c2 a0 a1 a2  r<->c0 c3      position of a time: a0 a1 a2 c1 c2 c0 c3
//! Z   b<->a0    t0 t1 t2 t3 t4<->a1 a2 l0 l1 l2  r<->ReIm l3    2 `m16n8k16` and 2 half2 operations
//! Y   b<->l0    t0 t1 t2 t3 t4<->l1 l2 h0 h1 h2  r<->ReIm l3    8 half2 operations and 2 `m16n8k16` with sums of f32
//! ```
//!
//! Times lie in a row by their position, so that the lanes of a load have all banks.
//!
//! # Table
//! Sixteen registers `[register][lane]` of two f16: 4 of the first matrix for `c0 = 0`, 4 for `c0 = 1` (fragments `A`:
//! rows `l0 l1 l2 ReIm`, columns `ReIm c1 c2 c3`), cosine and sine of the phases for `l3 = 0` and for `l3 = 1`, 4 of
//! the second matrix (rows `h0 h1 h2 ReIm`, columns `a0 a1 a2 ReIm`).

use fringes_device::arithmetic::fma_rn_f32;
use fringes_device::mma::{mma_m16n8k16_f16_f16, mma_m16n8k16_f32_f16};
use fringes_device::{Global, Shared};
use fringes_kernels_fft_microkernel::sums::turned;
use fringes_kernels_fft_microkernel::{Half, Sums};

/// Times, as a power of two.
pub const TIME_BITS: u32 = 7;

/// Times.
pub const TIMES: u32 = 1 << TIME_BITS;

/// Registers of phases.
pub const PHASES: usize = 16;

/// The time at a position of a row.
#[inline(always)]
pub const fn time_at(position: u32) -> u32 {
    position & 0b100_0111 | (position & 0b1_1000) << 1 | (position & 0b10_0000) >> 2
}

/// Loads a lane's phases.
///
/// # Safety
/// The table has [`PHASES`] registers, and `lane` is below 32.
#[inline(always)]
pub unsafe fn phases(table: Global<u32>, lane: u32) -> [u32; PHASES] {
    let lane = lane as usize;
    macro_rules! registers { ($($register:literal)*) => { [$(table.load(lane + 32 * $register)),*] }; }
    registers![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]
}

/// A lane's voltages of a row, registers `c0 c3`.
///
/// # Safety
/// The row starts at word `row` of the shared memory, has all its times, and nobody writes them.
#[inline(always)]
pub unsafe fn load(row: u32, lane: u32) -> [u32; 4] {
    let first = row + (lane >> 2) + 8 * (lane & 3);
    let shared = Shared::<u32>::dynamic();
    [0, 32, 64, 96].map(|register| shared.load((first + register) as usize))
}

/// The transform of a row's voltages: `[l3]`, parts of `l0 = 0` and `l0 = 1`, real ones first.
///
/// # Precision
/// Sums of the first contraction are rounded to f16 once an instruction, products with phases twice; sums of the second
/// contraction are in f32.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
unsafe fn transform(k: [u32; 4], p: &[u32; PHASES]) -> [[f32; 4]; 2] {
    let even = mma_m16n8k16_f16_f16([p[0], p[1], p[2], p[3]], [k[0], k[2]], [0; 2]);
    let both = mma_m16n8k16_f16_f16([p[4], p[5], p[6], p[7]], [k[1], k[3]], even);
    let difference = Half::alternating(even, both);
    let matrix = [p[12], p[13], p[14], p[15]];
    let low = turned(both[0], both[1], p[8], p[9]);
    let high = turned(difference[0], difference[1], p[10], p[11]);
    [mma_m16n8k16_f32_f16(matrix, low, [0.0; 4]), mma_m16n8k16_f32_f16(matrix, high, [0.0; 4])]
}

/// Powers `[l3][l0]` of a row's voltages.
///
/// # Precision
/// f32, of voltages as [the module](self) says.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn powers(k: [u32; 4], p: &[u32; PHASES]) -> [[f32; 2]; 2] {
    transform(k, p).map(|y| [fma_rn_f32(y[0], y[0], y[2] * y[2]), fma_rn_f32(y[1], y[1], y[3] * y[3])])
}

/// Sums `[l3]` over `l0` of the powers of a row's voltages.
///
/// # Precision
/// f32, of voltages as [the module](self) says.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn pairs(k: [u32; 4], p: &[u32; PHASES]) -> [f32; 2] {
    transform(k, p).map(|y| fma_rn_f32(y[0], y[0], fma_rn_f32(y[1], y[1], fma_rn_f32(y[2], y[2], y[3] * y[3]))))
}
