//! Cases of instructions of sm_90.

use fringes_device::Shared;
use fringes_device::barrier::*;
use fringes_device::convert::*;
use fringes_device::half2::*;
use fringes_device::index::*;
use fringes_device::matrix::*;
use fringes_device::warp::elect_sync;

#[cfg(not(target_arch = "nvptx64"))]
use super::convert::narrowed;
#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;

/// A row of 16 bytes for each lane, no two the same, and four registers for each.
#[cfg(not(target_arch = "nvptx64"))]
fn places(random: &mut Random) -> Vec<u32> {
    let mut places: Vec<u32> = (0..32).collect();
    for i in (1..32).rev() {
        places.swap(i, random.below(i as u32 + 1) as usize);
    }
    places.extend(random.many(128, Random::bits));
    places
}

/// Stores registers of the input at rows of the input, and gives out what then lies in shared memory.
macro_rules! stored {
    ($input:ident, $output:ident, |$row:ident, $registers:ident| $store:expr) => {
        let i = tid_x() as usize;
        let shared = Shared::<u32>::dynamic();
        let $row = shared.address(4 * $input.load(i) as usize);
        let mut word = i;
        while word < 128 {
            shared.store(word, word as u32);
            word += 32;
        }
        bar_sync_0();
        let $registers = [$input.load(32 + i), $input.load(64 + i), $input.load(96 + i), $input.load(128 + i)];
        $store;
        bar_sync_0();
        let mut word = i;
        while word < 128 {
            $output.store(word, shared.load(word));
            word += 32;
        }
    };
}

kernels! {
    /// One matrix.
    #[threads(32)]
    fn stored_1(input, output) covers [stmatrix_x1_shared_b16] with |case| case.capability(9, 0).input(places).output(128).shared(512) => {
        stored!(input, output, |row, r| stmatrix_x1_shared_b16(row, [r[0]]));
    }

    /// Two matrices.
    #[threads(32)]
    fn stored_2(input, output) covers [stmatrix_x2_shared_b16] with |case| case.capability(9, 0).input(places).output(128).shared(512) => {
        stored!(input, output, |row, r| stmatrix_x2_shared_b16(row, [r[0], r[1]]));
    }

    /// Four matrices.
    #[threads(32)]
    fn stored_4(input, output) covers [stmatrix_x4_shared_b16] with |case| case.capability(9, 0).input(places).output(128).shared(512) => {
        stored!(input, output, |row, r| stmatrix_x4_shared_b16(row, r));
    }

    /// One matrix, transposed.
    #[threads(32)]
    fn stored_transposed_1(input, output) covers [stmatrix_x1_trans_shared_b16] with |case| case.capability(9, 0).input(places).output(128).shared(512) => {
        stored!(input, output, |row, r| stmatrix_x1_trans_shared_b16(row, [r[0]]));
    }

    /// Two matrices, transposed.
    #[threads(32)]
    fn stored_transposed_2(input, output) covers [stmatrix_x2_trans_shared_b16] with |case| case.capability(9, 0).input(places).output(128).shared(512) => {
        stored!(input, output, |row, r| stmatrix_x2_trans_shared_b16(row, [r[0], r[1]]));
    }

    /// Four matrices, transposed.
    #[threads(32)]
    fn stored_transposed_4(input, output) covers [stmatrix_x4_trans_shared_b16] with |case| case.capability(9, 0).input(places).output(128).shared(512) => {
        stored!(input, output, |row, r| stmatrix_x4_trans_shared_b16(row, r));
    }

    /// One lane is elected, a member of the mask, and all agree on it.
    #[threads(64)]
    fn elected(input, output) covers [elect_sync] with |case| case.capability(9, 0).input(|random| vec![random.word() | 0x10]).output(64) => {
        let mask = input.load(0);
        let mut d = 1;
        if mask >> laneid() & 1 == 1 {
            let (leader, this) = elect_sync(mask);
            d = (mask >> leader & 1 == 1 && this == (leader == laneid())) as u32;
        }
        output.store(tid_x() as usize, d);
    }

    /// Words handed on through shared memory across a cluster's barrier, in clusters of one block; and the indices of
    /// such clusters.
    #[threads(64)]
    fn across_cluster_barrier(input, output)
    covers [barrier_cluster_arrive_release_aligned, barrier_cluster_arrive_relaxed_aligned, barrier_cluster_wait_acquire_aligned, clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z, cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z, cluster_ctarank, cluster_nctarank]
    with |case| case.capability(9, 0).grid([2, 3, 1]).input(|random| random.words(384)).output(6 * 64 * 2 + 6 * 14).shared(256) => {
        let i = tid_x() as usize;
        let block = (ctaid_x() + nctaid_x() * ctaid_y()) as usize;
        let shared = Shared::<u32>::dynamic();
        shared.store(i, input.load(64 * block + i));
        barrier_cluster_arrive_release_aligned();
        barrier_cluster_wait_acquire_aligned();
        output.store(128 * block + i, shared.load(63 - i));
        barrier_cluster_arrive_relaxed_aligned();
        barrier_cluster_wait_acquire_aligned();
        output.store(128 * block + 64 + i, i as u32);
        if i == 0 {
            let first = 768 + 14 * block;
            output.store(first, clusterid_x());
            output.store(first + 1, clusterid_y());
            output.store(first + 2, clusterid_z());
            output.store(first + 3, nclusterid_x());
            output.store(first + 4, nclusterid_y());
            output.store(first + 5, nclusterid_z());
            output.store(first + 6, cluster_ctaid_x());
            output.store(first + 7, cluster_ctaid_y());
            output.store(first + 8, cluster_ctaid_z());
            output.store(first + 9, cluster_nctaid_x());
            output.store(first + 10, cluster_nctaid_y());
            output.store(first + 11, cluster_nctaid_z());
            output.store(first + 12, cluster_ctarank());
            output.store(first + 13, cluster_nctarank());
        }
    }
}

/// Cases of one thread's words.
pub mod elements {
    use super::*;

    elementwise! {
        fn to_halves_of_sm_90(a: narrowed, b: narrowed) -> 4
        covers [cvt_rn_tf32_f32, cvt_rz_tf32_f32, cvt_rn_satfinite_f16_f32, cvt_rn_satfinite_f16x2_f32] with |case| case.capability(9, 0) => {
            let [a, b] = [a, b].map(f32::from_bits);
            [cvt_rn_tf32_f32(a), cvt_rz_tf32_f32(a), cvt_rn_satfinite_f16_f32(a) as u32, cvt_rn_satfinite_f16x2_f32(a, b)]
        }
        fn from_bfloats(a: Random::bfloat) -> 1 covers [cvt_f32_bf16] with |case| case.capability(9, 0) => { [cvt_f32_bf16(a as u16).to_bits()] }
        fn bfloat_sums(a: Random::bfloat2, b: Random::bfloat2) -> 3 covers [add_rn_bf16x2, sub_rn_bf16x2, mul_rn_bf16x2] with |case| case.capability(9, 0) => {
            [add_rn_bf16x2(a, b), sub_rn_bf16x2(a, b), mul_rn_bf16x2(a, b)]
        }
    }
}
