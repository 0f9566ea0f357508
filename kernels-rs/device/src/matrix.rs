//! Matrices of 8 x 8 elements of 16 bits, between shared memory and the registers of a warp: `ldmatrix`, `stmatrix`,
//! `movmatrix`.
//!
//! # Layout
//! A matrix is held in one 32-bit register per lane. Lane `l` holds row `l / 4`, columns `2 (l % 4)` (low half of the
//! register) and `2 (l % 4) + 1` (high half):
//!
//! ```text
//!            column  0 1   2 3   4 5   6 7
//! row 0   lane        0     1     2     3          b<->col0  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2
//! row 1               4     5     6     7
//! ...
//! row 7              28    29    30    31
//! ```
//!
//! In shared memory a row is 16 consecutive bytes at a multiple of 16; rows may lie anywhere. Lane `i` gives the
//! address of row `i % 8` of matrix `i / 8`; a form with one matrix uses the addresses of lanes 0 to 7 only, one with
//! two those of lanes 0 to 15. The same holds for any other element width: a row is 16 bytes and a lane's register four
//! of them, so that fragments of 8-bit elements (four a register) are loaded by the same instruction. The transposed
//! forms exchange rows and columns of 16-bit elements.
//!
//! [`MOVES`](fringes_layout_core::atoms::matrix::MOVES) has every form as data, which the twins read.

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod twin {
    use fringes_emulator::memory::{self, Space};
    use fringes_emulator::{FaultKind, thread, warp};
    use fringes_layout_core::atoms::matrix::{LDMATRIX_X1, LDMATRIX_X2, LDMATRIX_X4, MOVES, MOVMATRIX};
    use fringes_layout_core::atoms::place;
    use fringes_layout_core::{Layout, conversion};

    /// The number in [`MOVES`] of the instruction of this name and number of matrices; a compile-time error if there is
    /// none.
    pub(crate) const fn number(name: &str, matrices: usize) -> usize {
        let (mut number, name) = (0, name.as_bytes());
        loop {
            let (mut at, have) = (0, MOVES[number].name.as_bytes());
            while at < name.len() && at < have.len() && name[at] == have[at] {
                at += 1;
            }
            if at == name.len() && at == have.len() {
                assert!(MOVES[number].matrices == matrices, "another number of matrices than the table's");
                return number;
            }
            number += 1;
        }
    }

    /// What a plain form moves: rows of memory as they are.
    const fn plain(matrices: usize) -> Layout {
        match matrices {
            1 => LDMATRIX_X1.registers,
            2 => LDMATRIX_X2.registers,
            _ => LDMATRIX_X4.registers,
        }
    }

    /// The part of a row that a register holds: the lane that gives the row's address, and the byte in the row.
    #[derive(Clone, Copy)]
    struct Part {
        giver: u8,
        byte: u8,
    }

    /// Form `MOVE` of [`MOVES`], without its transposition.
    struct Rows<const MOVE: usize>;

    impl<const MOVE: usize> Rows<MOVE> {
        /// By lane and matrix.
        const PARTS: [[Part; 4]; 32] = {
            let (rows, registers) = (&MOVES[MOVE].rows, plain(MOVES[MOVE].matrices));
            let (mut parts, mut lane) = ([[Part { giver: 0, byte: 0 }; 4]; 32], 0);
            while lane < 32 {
                let mut register = 0;
                while register < MOVES[MOVE].matrices {
                    // Bits of an element: three of the row, three of the column, then the matrix.
                    let element = registers.apply(place(&registers, 0, register, lane));
                    let (row, column, matrix) = (element % 8, element / 8 % 8, element / 64);
                    let mut giver = 0;
                    while rows.apply(giver) != row + 8 * matrix {
                        giver += 1;
                    }
                    parts[lane][register] = Part { giver: giver as u8, byte: 2 * column as u8 };
                    register += 1;
                }
                lane += 1;
            }
            parts
        };

        /// Which lanes' addresses are used.
        const GIVERS: u32 = {
            let (mut givers, mut at) = (0, 0);
            while at < 32 * MOVES[MOVE].matrices {
                givers |= 1 << Self::PARTS[at % 32][at / 32].giver;
                at += 1;
            }
            givers
        };
    }

    /// Addresses of the part of each of `N` rows that this lane loads or stores, from the addresses of the rows that
    /// lanes give.
    #[track_caller]
    fn addresses<const MOVE: usize, const N: usize>(row: u32) -> [u32; N]
    where
        [u32; N]: Default,
    {
        if Rows::<MOVE>::GIVERS >> thread::lane() & 1 == 1 && !row.is_multiple_of(16) {
            thread::fault(FaultKind::Misaligned, format!("row of a matrix at shared address {row}, no multiple of 16"));
        }
        warp::collective(MOVES[MOVE].name, u32::MAX, row, |_, rows| {
            let parts = const { &Rows::<MOVE>::PARTS };
            core::array::from_fn(|lane| {
                core::array::from_fn(|matrix| {
                    let Part { giver, byte } = parts[lane][matrix];
                    rows[usize::from(giver)].wrapping_add(byte.into())
                })
            })
        })
    }

    /// An exchange of 16-bit elements among lanes and registers: the place that the element of each place comes from.
    trait Exchange {
        const NAME: &'static str;
        const SOURCES: [u8; 256];
    }

    /// For every place of layout `to` the place of `from` that holds the same element.
    const fn sources(from: &Layout, to: &Layout) -> [u8; 256] {
        let Ok(conversion) = conversion(from, to) else { panic!("layouts of different matrices") };
        let (mut sources, mut place) = ([0; 256], 0);
        while place < to.physical().size() {
            sources[place as usize] = conversion.apply(place) as u8;
            place += 1;
        }
        sources
    }

    /// What form `MOVE` of [`MOVES`] does after a plain load.
    struct Loaded<const MOVE: usize>;

    impl<const MOVE: usize> Exchange for Loaded<MOVE> {
        const NAME: &'static str = MOVES[MOVE].name;
        const SOURCES: [u8; 256] = sources(&plain(MOVES[MOVE].matrices), &MOVES[MOVE].registers);
    }

    /// What form `MOVE` of [`MOVES`] does before a plain store.
    struct Stored<const MOVE: usize>;

    impl<const MOVE: usize> Exchange for Stored<MOVE> {
        const NAME: &'static str = MOVES[MOVE].name;
        const SOURCES: [u8; 256] = sources(&MOVES[MOVE].registers, &plain(MOVES[MOVE].matrices));
    }

    /// What `movmatrix` does.
    struct Moved;

    impl Exchange for Moved {
        const NAME: &'static str = MOVMATRIX.name;
        const SOURCES: [u8; 256] = sources(&MOVMATRIX.source, &MOVMATRIX.destination);
    }

    /// Exchanges elements of `N` registers of each lane.
    #[track_caller]
    fn exchange<E: Exchange, const N: usize>(parts: [u32; N]) -> [u32; N]
    where
        [u32; N]: Default,
    {
        warp::collective(E::NAME, u32::MAX, parts, |_, parts| {
            let sources = const { &E::SOURCES };
            // A place is half, register, lane.
            let half = |place: u8| {
                let place = usize::from(place);
                parts[place / (2 * N)][place / 2 % N] >> (16 * (place % 2)) & 0xffff
            };
            core::array::from_fn(|lane| {
                core::array::from_fn(|register| {
                    let place = 2 * (register + N * lane);
                    half(sources[place]) | half(sources[place + 1]) << 16
                })
            })
        })
    }

    /// Loads the matrices of form `MOVE` of [`MOVES`].
    #[track_caller]
    pub(crate) fn load<const MOVE: usize, const N: usize>(row: u32) -> [u32; N]
    where
        [u32; N]: Default,
    {
        let mut parts = [0; N];
        for (part, address) in parts.iter_mut().zip(addresses::<MOVE, N>(row)) {
            let mut bytes = [0; 4];
            memory::load(Space::Shared, u64::from(address), &mut bytes);
            *part = u32::from_le_bytes(bytes);
        }
        if MOVES[MOVE].transposed { exchange::<Loaded<MOVE>, N>(parts) } else { parts }
    }

    /// Stores the matrices of form `MOVE` of [`MOVES`].
    #[track_caller]
    pub(crate) fn store<const MOVE: usize, const N: usize>(row: u32, parts: [u32; N])
    where
        [u32; N]: Default,
    {
        let parts = if MOVES[MOVE].transposed { exchange::<Stored<MOVE>, N>(parts) } else { parts };
        for (part, address) in parts.into_iter().zip(addresses::<MOVE, N>(row)) {
            memory::store(Space::Shared, u64::from(address), &part.to_le_bytes());
        }
    }

    /// Exchanges rows and columns of a matrix.
    #[track_caller]
    pub(crate) fn transpose(part: u32) -> u32 {
        exchange::<Moved, 1>([part])[0]
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
            emulator => { twin::load::<{ twin::number(stringify!($name), $n) }, $n>(row) }
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
            emulator => { twin::load::<{ twin::number(stringify!($trans), $n) }, $n>(row) }
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
        /// All 32 lanes of the warp execute it together. The rows that lanes give lie in the block's shared memory and
        /// start at multiples of 16; no other thread uses them without order.
        pub unsafe fn $name(row: u32, d: [u32; $n]) {
            device => {
                crate::intrinsic::convergent();
                core::arch::asm!(concat!("stmatrix.sync.aligned.m8n8.", $count, ".shared.b16 [", $address, "], ", $registers, ";"), $(in(reg32) d[$index],)* in(reg32) row, options(nostack));
            }
            emulator => { twin::store::<{ twin::number(stringify!($name), $n) }, $n>(row, d) }
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
        /// All 32 lanes of the warp execute it together. The rows that lanes give lie in the block's shared memory and
        /// start at multiples of 16; no other thread uses them without order.
        pub unsafe fn $trans(row: u32, d: [u32; $n]) {
            device => {
                crate::intrinsic::convergent();
                core::arch::asm!(concat!("stmatrix.sync.aligned.m8n8.", $count, ".trans.shared.b16 [", $address, "], ", $registers, ";"), $(in(reg32) d[$index],)* in(reg32) row, options(nostack));
            }
            emulator => { twin::store::<{ twin::number(stringify!($trans), $n) }, $n>(row, d) }
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
        emulator => { twin::transpose(a) }
    }
}
