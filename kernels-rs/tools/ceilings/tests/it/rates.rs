//! The kernels that measure rates, in the emulator: they execute what is counted, without bank conflicts or races.

use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_tools_ceilings::rates::*;

/// One block of a kernel.
macro_rules! run {
    ($kernel:ident, $steps:expr) => {{
        let mut memory = GlobalMemory::new();
        let (cycles, values) = (memory.allocate::<u64>(1), memory.allocate::<u32>(512));
        let launch = Launch::new($kernel::DECLARATION, [1, 1, 1], [512, 1, 1]).shared_bytes(SHARED_BYTES);
        let report = launch.run(&mut memory, || $kernel(cycles.into(), values.into(), $steps));
        report.assert_clean();
        assert_eq!(
            report.shared_wavefronts,
            report.shared_wavefronts_ideal,
            "bank conflicts in {}",
            stringify!($kernel)
        );
        (report, memory.values(values))
    }};
}

/// Instructions of all warps in `steps` steps.
fn expected(steps: u32) -> u64 {
    u64::from(steps * REPEATS * WARPS)
}

macro_rules! counted {
    ($($kernel:ident, $intrinsic:literal;)*) => { $(
        for steps in [1, 2] {
            let (report, _) = run!($kernel, steps);
            assert_eq!(report.count($intrinsic).warps, expected(steps), "{} in {steps} steps", $intrinsic);
        }
    )* };
}

#[test]
fn a_step_executes_the_instruction_as_often_as_stated() {
    counted! {
        rate_permute, "prmt_b32";
        rate_logic, "lop3_b32";
        rate_shuffle_xor, "shfl_sync_bfly_b32";
        rate_shuffle_index, "shfl_sync_idx_b32";
        rate_move_matrix, "movmatrix_trans_b16";
        rate_half2, "fma_rn_f16x2";
        rate_mma_k8, "mma_m16n8k8_f16_f16";
        rate_mma_k16, "mma_m16n8k16_f16_f16";
        rate_mma_k16_wide, "mma_m16n8k16_f32_f16";
        rate_barrier, "bar_warp_sync";
        rate_load_matrix, "ldmatrix_x4_shared_b16";
        rate_load_matrix_trans, "ldmatrix_x4_trans_shared_b16";
        rate_store_matrix, "stmatrix_x4_shared_b16";
        rate_store_matrix_trans, "stmatrix_x4_trans_shared_b16";
    }
}

#[test]
fn a_step_accesses_shared_memory_as_often_as_stated_at_the_width_stated() {
    macro_rules! accesses {
        ($($kernel:ident, $wavefronts:literal;)*) => { $(
            // What comes before the steps is the difference from none.
            let ((none, _), (two, _)) = (run!($kernel, 0), run!($kernel, 2));
            assert_eq!(two.shared_requests - none.shared_requests, expected(2));
            assert_eq!(two.shared_wavefronts - none.shared_wavefronts, $wavefronts * expected(2), stringify!($kernel));
        )* };
    }
    accesses! {
        rate_store_shared_b32, 1;
        rate_store_shared_v2, 2;
        rate_store_shared_v4, 4;
        rate_load_shared_b32, 1;
        rate_load_shared_v2, 2;
        rate_load_shared_v4, 4;
    }
}

#[test]
fn what_is_computed_or_loaded_reaches_what_is_stored() {
    macro_rules! differ {
        ($($kernel:ident)*) => { $(
            let ((_, none), (_, one)) = (run!($kernel, 0), run!($kernel, 1));
            assert!(none.iter().zip(&one).filter(|(a, b)| a != b).count() > 450, stringify!($kernel));
        )* };
    }
    differ!(rate_select rate_permute rate_half2 rate_mma_k8 rate_mma_k16 rate_mma_k16_wide);
    differ!(rate_load_shared_b32 rate_load_shared_v2 rate_load_shared_v4 rate_load_matrix rate_load_matrix_trans);
}
