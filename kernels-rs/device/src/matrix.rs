//! Matrices of 8 x 8 elements of 16 bits, between shared memory and the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`.
//!
//! # Layout
//! A matrix is held in one 32-bit register per lane. Lane `l` holds row `l / 4`, columns `2 (l % 4)` (low half of the register) and
//! `2 (l % 4) + 1` (high half):
//!
//! ```text
//!            column  0 1   2 3   4 5   6 7
//! row 0   lane        0     1     2     3
//! row 1               4     5     6     7
//! ...
//! row 7              28    29    30    31
//! ```
//!
//! In shared memory a row is 16 consecutive bytes at a multiple of 16; rows may lie anywhere. Lane `i` gives the address of row
//! `i % 8` of matrix `i / 8`; a form with one matrix uses the addresses of lanes 0 to 7 only, one with two those of lanes 0 to 15.
//! The same holds for any other element width: a row is 16 bytes and a lane's register four of them, so that fragments of 8-bit
//! elements (four a register) are loaded by the same instruction. The transposed forms exchange rows and columns of 16-bit elements.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod twin {
    use fringes_emulator::memory::{self, Space};
    use fringes_emulator::{FaultKind, thread, warp};

    /// Addresses of the part of each of `N` rows that this lane loads or stores, from the addresses of the rows that lanes give.
    #[track_caller]
    fn addresses<const N: usize>(name: &'static str, row: u32) -> [u32; N]
    where
        [u32; N]: Default,
    {
        if (thread::lane() as usize) < 8 * N && !row.is_multiple_of(16) {
            thread::fault(FaultKind::Misaligned, format!("row of a matrix at shared address {row}, no multiple of 16"));
        }
        warp::collective(name, u32::MAX, row, |_, rows| {
            core::array::from_fn(|lane| {
                core::array::from_fn(|matrix| rows[8 * matrix + lane / 4].wrapping_add(4 * (lane as u32 % 4)))
            })
        })
    }

    /// Loads `N` matrices.
    #[track_caller]
    pub(crate) fn load<const N: usize>(name: &'static str, row: u32) -> [u32; N]
    where
        [u32; N]: Default,
    {
        let mut parts = [0; N];
        for (part, address) in parts.iter_mut().zip(addresses::<N>(name, row)) {
            let mut bytes = [0; 4];
            memory::load(Space::Shared, u64::from(address), &mut bytes);
            *part = u32::from_le_bytes(bytes);
        }
        parts
    }

    /// Stores `N` matrices.
    #[track_caller]
    pub(crate) fn store<const N: usize>(name: &'static str, row: u32, parts: [u32; N])
    where
        [u32; N]: Default,
    {
        for (part, address) in parts.into_iter().zip(addresses::<N>(name, row)) {
            memory::store(Space::Shared, u64::from(address), &part.to_le_bytes());
        }
    }

    /// Exchanges rows and columns of `N` matrices.
    #[track_caller]
    pub(crate) fn transpose<const N: usize>(name: &'static str, parts: [u32; N]) -> [u32; N]
    where
        [u32; N]: Default,
    {
        warp::collective(name, u32::MAX, parts, |_, parts| {
            let element = |matrix: usize, row: usize, column: usize| {
                parts[4 * row + column / 2][matrix] >> (16 * (column % 2)) & 0xffff
            };
            core::array::from_fn(|lane| {
                let (row, column) = (lane / 4, 2 * (lane % 4));
                core::array::from_fn(|matrix| element(matrix, column, row) | element(matrix, column + 1, row) << 16)
            })
        })
    }
}

/// A load, and the load that transposes, of `$n` matrices.
macro_rules! ldmatrix {
    ($($name:ident, $trans:ident, $count:literal, $n:literal, [$($index:literal)*], $registers:literal, $address:literal;)*) => { intrinsic! { $(
        #[doc = concat!("Loads ", $n, " 8 x 8 matrix(es) of 16-bit elements from shared memory: one register of each lane per matrix.")]
        ///
        /// # Layout
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`ldmatrix.sync.aligned.m8n8.", $count, ".shared.b16 d, [row];`")]
        ///
        /// # Safety
        /// All 32 lanes of the warp execute it together. The rows that lanes give lie in the block's shared memory, are
        /// initialised, and start at multiples of 16; no other thread writes them without order.
        pub unsafe fn $name(row: u32) -> [u32; $n] {
            device => {
                crate::intrinsic::convergent();
                let mut d = [0u32; $n];
                core::arch::asm!(concat!("ldmatrix.sync.aligned.m8n8.", $count, ".shared.b16 ", $registers, ", [", $address, "];"), $(out(reg32) d[$index],)* in(reg32) row, options(readonly, nostack));
                d
            }
            emulator => { twin::load::<$n>(stringify!($name), row) }
        }

        #[doc = concat!("Loads ", $n, " 8 x 8 matrix(es) of 16-bit elements from shared memory and exchanges their rows and columns: lane `l` holds")]
        /// column `l / 4` of what memory holds, rows `2 (l % 4)` (low half) and `2 (l % 4) + 1` (high half).
        ///
        /// # Layout
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`ldmatrix.sync.aligned.m8n8.", $count, ".trans.shared.b16 d, [row];`")]
        ///
        /// # Safety
        /// All 32 lanes of the warp execute it together. The rows that lanes give lie in the block's shared memory, are
        /// initialised, and start at multiples of 16; no other thread writes them without order.
        pub unsafe fn $trans(row: u32) -> [u32; $n] {
            device => {
                crate::intrinsic::convergent();
                let mut d = [0u32; $n];
                core::arch::asm!(concat!("ldmatrix.sync.aligned.m8n8.", $count, ".trans.shared.b16 ", $registers, ", [", $address, "];"), $(out(reg32) d[$index],)* in(reg32) row, options(readonly, nostack));
                d
            }
            emulator => { twin::transpose(stringify!($trans), twin::load::<$n>(stringify!($trans), row)) }
        }
    )* } };
}

ldmatrix! {
    ldmatrix_x1_shared_b16, ldmatrix_x1_trans_shared_b16, "x1", 1, [0], "{{{0}}}", "{1}";
    ldmatrix_x2_shared_b16, ldmatrix_x2_trans_shared_b16, "x2", 2, [0 1], "{{{0}, {1}}}", "{2}";
    ldmatrix_x4_shared_b16, ldmatrix_x4_trans_shared_b16, "x4", 4, [0 1 2 3], "{{{0}, {1}, {2}, {3}}}", "{4}";
}

/// A store, and the store that transposes, of `$n` matrices.
macro_rules! stmatrix {
    ($($name:ident, $trans:ident, $count:literal, $n:literal, [$($index:literal)*], $registers:literal, $address:literal;)*) => { intrinsic! { $(
        #[doc = concat!("Stores ", $n, " 8 x 8 matrix(es) of 16-bit elements to shared memory from one register of each lane per matrix.")]
        ///
        /// # Layout
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`stmatrix.sync.aligned.m8n8.", $count, ".shared.b16 [row], d;` (sm_90)")]
        ///
        /// # Safety
        /// All 32 lanes of the warp execute it together. The rows that lanes give lie in the block's shared memory and start at
        /// multiples of 16; no other thread uses them without order.
        pub unsafe fn $name(row: u32, d: [u32; $n]) {
            device => {
                crate::intrinsic::convergent();
                core::arch::asm!(concat!("stmatrix.sync.aligned.m8n8.", $count, ".shared.b16 [", $address, "], ", $registers, ";"), $(in(reg32) d[$index],)* in(reg32) row, options(nostack));
            }
            emulator => { twin::store(stringify!($name), row, d) }
        }

        #[doc = concat!("Stores ", $n, " 8 x 8 matrix(es) of 16-bit elements to shared memory with rows and columns exchanged: lane `l` gives")]
        /// column `l / 4` of what memory will hold, rows `2 (l % 4)` (low half) and `2 (l % 4) + 1` (high half).
        ///
        /// # Layout
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`stmatrix.sync.aligned.m8n8.", $count, ".trans.shared.b16 [row], d;` (sm_90)")]
        ///
        /// # Safety
        /// All 32 lanes of the warp execute it together. The rows that lanes give lie in the block's shared memory and start at
        /// multiples of 16; no other thread uses them without order.
        pub unsafe fn $trans(row: u32, d: [u32; $n]) {
            device => {
                crate::intrinsic::convergent();
                core::arch::asm!(concat!("stmatrix.sync.aligned.m8n8.", $count, ".trans.shared.b16 [", $address, "], ", $registers, ";"), $(in(reg32) d[$index],)* in(reg32) row, options(nostack));
            }
            emulator => { twin::store(stringify!($trans), row, twin::transpose(stringify!($trans), d)) }
        }
    )* } };
}

stmatrix! {
    stmatrix_x1_shared_b16, stmatrix_x1_trans_shared_b16, "x1", 1, [0], "{{{0}}}", "{1}";
    stmatrix_x2_shared_b16, stmatrix_x2_trans_shared_b16, "x2", 2, [0 1], "{{{0}, {1}}}", "{2}";
    stmatrix_x4_shared_b16, stmatrix_x4_trans_shared_b16, "x4", 4, [0 1 2 3], "{{{0}, {1}, {2}, {3}}}", "{4}";
}

intrinsic! {
    /// Exchanges rows and columns of an 8 x 8 matrix of 16-bit elements that the warp holds.
    ///
    /// # Layout
    /// See the [module](self).
    ///
    /// # PTX
    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a;`
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together.
    pub unsafe fn movmatrix_trans_b16(a: u32) -> u32 {
        device => {
            crate::intrinsic::convergent();
            let d: u32;
            core::arch::asm!("movmatrix.sync.aligned.m8n8.trans.b16 {0}, {1};", out(reg32) d, in(reg32) a, options(nomem, nostack));
            d
        }
        emulator => { twin::transpose("movmatrix_trans_b16", [a])[0] }
    }
}
