//! The phases in registers.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::half2::{mul_rn_f16x2, neg_f16x2};
use fringes_device::{Global, opaque};

/// Two f16 of 1.
const ONES: u32 = 0x3c00_3c00;

/// Registers with all phases of the transform.
pub trait Phases: Copy {
    /// Words of the [table](super::table) a lane.
    const REGISTERS: usize;

    /// Loads them from a table `[register][lane]`.
    ///
    /// # Safety
    /// The table holds `32 REGISTERS` words; `lane` is below 32.
    unsafe fn load(table: Global<u32>, lane: u32) -> Self;

    /// The matrix of X -> Z1 as in (24): `b<->ReIm_in  t0 t1 t2 t3 t4<->n7 n6 q0 q1 q2  r<->n0 n1 ReIm_out`.
    fn first(&self) -> [u32; 8];

    /// The factors of Z1 -> Z2 as in (25): `b<->n5  t0 t1 t2 t3 t4<->n4 n3 q0 q1 q2  r<->n2 ReIm`.
    fn factors(&self) -> [u32; 4];

    /// The matrix of Z2 -> Z3' as a product takes it, [`places::SECOND_MATRIX`](super::places::SECOND_MATRIX).
    fn matrix(&self) -> [u32; 4];
}

/// The note's 10 registers: the matrix of X -> Z1 packed as in (29), (25) and (26); unpacked at each use.
///
/// Unpacking takes 4 permutes, 4 XORs and one negation a transform.
#[derive(Debug, Clone, Copy)]
pub struct Packed {
    first: [u32; 4],
    factors: [u32; 4],
    matrix: [u32; 2],
}

/// The register of a table that a lane gets.
///
/// # Safety
/// - The table has `register + 1` registers of 32 lanes, and `lane` is below 32.
#[inline(always)]
unsafe fn word(table: Global<u32>, register: usize, lane: u32) -> u32 {
    table.load(32 * register + lane as usize)
}

impl Phases for Packed {
    const REGISTERS: usize = 10;

    #[inline(always)]
    unsafe fn load(table: Global<u32>, lane: u32) -> Self {
        let at = |register| word(table, register, lane);
        Self { first: [at(0), at(1), at(2), at(3)], factors: [at(4), at(5), at(6), at(7)], matrix: [at(8), at(9)] }
    }

    #[inline(always)]
    fn first(&self) -> [u32; 8] {
        // Opaque, or they would be unpacked ahead of a loop and held in 8 registers.
        let [a, b, c, d] = self.first.map(|word| opaque(word as i32) as u32);
        // The rows of the real part, (Re, -Im), and those of the imaginary part, (Im, Re).
        let real = |word| word ^ 0x8000_0000;
        let imaginary = |word| prmt_b32(word, word, 0x1032);
        [real(a), real(b), real(c), real(d), imaginary(a), imaginary(b), imaginary(c), imaginary(d)]
    }

    #[inline(always)]
    fn factors(&self) -> [u32; 4] {
        self.factors
    }

    #[inline(always)]
    fn matrix(&self) -> [u32; 4] {
        let [re, im] = self.matrix;
        [re, im, neg_f16x2(opaque(im as i32) as u32), mul_rn_f16x2(opaque(re as i32) as u32, ONES)]
    }
}

/// 16 registers, of which none needs unpacking: (24), (25), and the matrix of Z2 -> Z3' with its real part twice, as a
/// product takes it: ptxas would copy one register before each use.
#[derive(Debug, Clone, Copy)]
pub struct Unpacked {
    first: [u32; 8],
    factors: [u32; 4],
    matrix: [u32; 4],
}

impl Phases for Unpacked {
    const REGISTERS: usize = 16;

    #[inline(always)]
    unsafe fn load(table: Global<u32>, lane: u32) -> Self {
        let at = |register| word(table, register, lane);
        Self {
            first: [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)],
            factors: [at(8), at(9), at(10), at(11)],
            matrix: [at(12), at(13), at(14), at(15)],
        }
    }

    #[inline(always)]
    fn first(&self) -> [u32; 8] {
        self.first
    }

    #[inline(always)]
    fn factors(&self) -> [u32; 4] {
        self.factors
    }

    #[inline(always)]
    fn matrix(&self) -> [u32; 4] {
        self.matrix
    }
}
