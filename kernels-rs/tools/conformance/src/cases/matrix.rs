//! Cases of matrices in registers.

use fringes_device::barrier::bar_sync_0;
use fringes_device::index::tid_x;
use fringes_device::matrix::*;
use fringes_device::{Global, Shared};

/// 64 rows of 16 bytes in shared memory, and the address of the row that the lane names.
///
/// # Safety
/// The input is 256 words of rows and 32 numbers of rows; one warp, 1024 bytes of shared memory.
#[inline(always)]
unsafe fn rows(input: Global<u32>) -> u32 {
    let shared = Shared::<u32>::dynamic();
    let i = tid_x() as usize;
    let mut word = i;
    while word < 256 {
        shared.store(word, input.load(word));
        word += 32;
    }
    bar_sync_0();
    shared.address(4 * input.load(256 + i) as usize)
}

/// The input of [`rows`].
#[cfg(not(target_arch = "nvptx64"))]
fn input(random: &mut crate::Random) -> Vec<u32> {
    let mut words = random.many(256, crate::Random::bits);
    words.extend(random.many(32, |random| random.below(64)));
    words
}

kernels! {
    /// Rows anywhere in shared memory, some of them given to several lanes.
    #[threads(32)]
    fn matrices(in_words, out_words) covers [ldmatrix_x1_shared_b16, ldmatrix_x2_shared_b16, ldmatrix_x4_shared_b16] with |case| case.input(input).output(224).shared(1024) => {
        let (row, i) = (rows(in_words), tid_x() as usize);
        let ([a], [b, c], [d, e, f, g]) = (ldmatrix_x1_shared_b16(row), ldmatrix_x2_shared_b16(row), ldmatrix_x4_shared_b16(row));
        out_words.store(i, a);
        out_words.store(32 + i, b);
        out_words.store(64 + i, c);
        out_words.store(96 + i, d);
        out_words.store(128 + i, e);
        out_words.store(160 + i, f);
        out_words.store(192 + i, g);
    }

    /// The same, transposed.
    #[threads(32)]
    fn matrices_transposed(in_words, out_words)
    covers [ldmatrix_x1_trans_shared_b16, ldmatrix_x2_trans_shared_b16, ldmatrix_x4_trans_shared_b16, movmatrix_trans_b16] with |case| case.input(input).output(256).shared(1024) => {
        let (row, i) = (rows(in_words), tid_x() as usize);
        let ([a], [b, c], [d, e, f, g]) = (ldmatrix_x1_trans_shared_b16(row), ldmatrix_x2_trans_shared_b16(row), ldmatrix_x4_trans_shared_b16(row));
        out_words.store(i, a);
        out_words.store(32 + i, b);
        out_words.store(64 + i, c);
        out_words.store(96 + i, d);
        out_words.store(128 + i, e);
        out_words.store(160 + i, f);
        out_words.store(192 + i, g);
        out_words.store(224 + i, movmatrix_trans_b16(in_words.load(i)));
    }
}
