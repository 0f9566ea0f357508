//! Cases of atomics: each thread on cells of its own, so that every old value is known, then many threads on one cell.

use fringes_device::atomic::*;
use fringes_device::barrier::bar_sync_0;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared};

#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;
#[cfg(not(target_arch = "nvptx64"))]
use crate::bounds::{ANY_NAN, float_or_nan, halves_or_nan};

/// Operation `k` on this thread's cells: new value and old one by `atom`, new value by `red`, operand.
macro_rules! update {
    (global, $type:ty, $input:ident, $output:ident, $k:literal, $atom:ident, $red:ident) => {
        let i = tid_x() as usize;
        let (input, output): (Global<$type>, GlobalMut<$type>) = ($input.cast(), $output.cast());
        let (old, operand, base) = (input.load(2 * i), input.load(2 * i + 1), ($k * 64 + i) * 4);
        output.store(base, old);
        output.store(base + 1, $atom(output.address(base), operand));
        output.store(base + 2, old);
        $red(output.address(base + 2), operand);
        output.store(base + 3, operand);
    };
    (shared, $type:ty, $input:ident, $output:ident, $k:literal, $atom:ident, $red:ident) => {
        let i = tid_x() as usize;
        let (input, output): (Global<$type>, GlobalMut<$type>) = ($input.cast(), $output.cast());
        let cells = Shared::<$type>::dynamic();
        let (old, operand, base) = (input.load(2 * i), input.load(2 * i + 1), ($k * 64 + i) * 4);
        cells.store(i, old);
        output.store(base + 1, $atom(cells.address(i), operand));
        output.store(base, cells.load(i));
        cells.store(i, old);
        $red(cells.address(i), operand);
        output.store(base + 2, cells.load(i));
        output.store(base + 3, operand);
    };
}

/// Exchanges on this thread's cells; the conditional ones find the value that they expect in every other thread.
macro_rules! exchange {
    ($space:ident, $input:ident, $output:ident, $exch32:ident, $cas32:ident, $exch64:ident, $cas64:ident) => {
        let i = tid_x() as usize;
        exchange!(cell $space, u32, $input, $output, i * 4, $exch32, $cas32);
        exchange!(cell $space, u64, $input, $output, 128 + i * 4, $exch64, $cas64);
    };
    (cell global, $type:ty, $input:ident, $output:ident, $base:expr, $exch:ident, $cas:ident) => {
        let (i, base) = (tid_x() as usize, $base);
        let (input, output): (Global<$type>, GlobalMut<$type>) = ($input.cast(), $output.cast());
        let (old, new) = (input.load(2 * i), input.load(2 * i + 1));
        let compare = if i % 2 == 0 { old } else { new ^ 1 };
        output.store(base, old);
        output.store(base + 1, $exch(output.address(base), new));
        output.store(base + 2, old);
        output.store(base + 3, $cas(output.address(base + 2), compare, new));
    };
    (cell shared, $type:ty, $input:ident, $output:ident, $base:expr, $exch:ident, $cas:ident) => {
        let (i, base) = (tid_x() as usize, $base);
        let (input, output): (Global<$type>, GlobalMut<$type>) = ($input.cast(), $output.cast());
        // Values 64 to 127: those of u32 and of u64 share no byte.
        let cells = Shared::<$type>::dynamic().part(64, 64);
        let (old, new) = (input.load(2 * i), input.load(2 * i + 1));
        let compare = if i % 2 == 0 { old } else { new ^ 1 };
        cells.store(i, old);
        output.store(base + 1, $exch(cells.address(i), new));
        output.store(base, cells.load(i));
        cells.store(i, old);
        output.store(base + 3, $cas(cells.address(i), compare, new));
        output.store(base + 2, cells.load(i));
    };
}

kernels! {
    /// Updates of u32.
    #[threads(64)]
    fn atom_gpu_global_u32(input, output) covers [atom_relaxed_gpu_global_add_u32, red_relaxed_gpu_global_add_u32, atom_relaxed_gpu_global_min_u32, red_relaxed_gpu_global_min_u32, atom_relaxed_gpu_global_max_u32, red_relaxed_gpu_global_max_u32, atom_relaxed_gpu_global_and_b32, red_relaxed_gpu_global_and_b32, atom_relaxed_gpu_global_or_b32, red_relaxed_gpu_global_or_b32, atom_relaxed_gpu_global_xor_b32, red_relaxed_gpu_global_xor_b32, atom_relaxed_gpu_global_inc_u32, red_relaxed_gpu_global_inc_u32, atom_relaxed_gpu_global_dec_u32, red_relaxed_gpu_global_dec_u32]
    with |case| case.input(|random| random.words(256)).output(2048).shared(512) => {
        update!(global, u32, input, output, 0, atom_relaxed_gpu_global_add_u32, red_relaxed_gpu_global_add_u32);
        update!(global, u32, input, output, 1, atom_relaxed_gpu_global_min_u32, red_relaxed_gpu_global_min_u32);
        update!(global, u32, input, output, 2, atom_relaxed_gpu_global_max_u32, red_relaxed_gpu_global_max_u32);
        update!(global, u32, input, output, 3, atom_relaxed_gpu_global_and_b32, red_relaxed_gpu_global_and_b32);
        update!(global, u32, input, output, 4, atom_relaxed_gpu_global_or_b32, red_relaxed_gpu_global_or_b32);
        update!(global, u32, input, output, 5, atom_relaxed_gpu_global_xor_b32, red_relaxed_gpu_global_xor_b32);
        update!(global, u32, input, output, 6, atom_relaxed_gpu_global_inc_u32, red_relaxed_gpu_global_inc_u32);
        update!(global, u32, input, output, 7, atom_relaxed_gpu_global_dec_u32, red_relaxed_gpu_global_dec_u32);
    }

    /// Updates of i32.
    #[threads(64)]
    fn atom_gpu_global_s32(input, output) covers [atom_relaxed_gpu_global_add_s32, red_relaxed_gpu_global_add_s32, atom_relaxed_gpu_global_min_s32, red_relaxed_gpu_global_min_s32, atom_relaxed_gpu_global_max_s32, red_relaxed_gpu_global_max_s32]
    with |case| case.input(|random| random.words(256)).output(768).shared(512) => {
        update!(global, i32, input, output, 0, atom_relaxed_gpu_global_add_s32, red_relaxed_gpu_global_add_s32);
        update!(global, i32, input, output, 1, atom_relaxed_gpu_global_min_s32, red_relaxed_gpu_global_min_s32);
        update!(global, i32, input, output, 2, atom_relaxed_gpu_global_max_s32, red_relaxed_gpu_global_max_s32);
    }

    /// Updates of u64.
    #[threads(64)]
    fn atom_gpu_global_u64(input, output) covers [atom_relaxed_gpu_global_add_u64, red_relaxed_gpu_global_add_u64, atom_relaxed_gpu_global_min_u64, red_relaxed_gpu_global_min_u64, atom_relaxed_gpu_global_max_u64, red_relaxed_gpu_global_max_u64]
    with |case| case.input(|random| random.words(256)).output(1536).shared(512) => {
        update!(global, u64, input, output, 0, atom_relaxed_gpu_global_add_u64, red_relaxed_gpu_global_add_u64);
        update!(global, u64, input, output, 1, atom_relaxed_gpu_global_min_u64, red_relaxed_gpu_global_min_u64);
        update!(global, u64, input, output, 2, atom_relaxed_gpu_global_max_u64, red_relaxed_gpu_global_max_u64);
    }

    /// Sums of f32.
    #[threads(64)]
    fn atom_gpu_global_f32(input, output) covers [atom_relaxed_gpu_global_add_f32, red_relaxed_gpu_global_add_f32]
    with |case| case.output(256).shared(512).input(|random| random.many(256, Random::float)).within(ANY_NAN, float_or_nan) => {
        update!(global, f32, input, output, 0, atom_relaxed_gpu_global_add_f32, red_relaxed_gpu_global_add_f32);
    }

    /// Sums of f16.
    #[threads(64)]
    fn atom_gpu_global_f16x2(input, output) covers [atom_relaxed_gpu_global_add_f16x2, red_relaxed_gpu_global_add_f16x2]
    with |case| case.output(256).shared(512).input(|random| random.many(256, Random::half2)).within(ANY_NAN, halves_or_nan) => {
        update!(global, u32, input, output, 0, atom_relaxed_gpu_global_add_f16x2, red_relaxed_gpu_global_add_f16x2);
    }

    /// Exchanges, unconditional and conditional.
    #[threads(64)]
    fn exchange_gpu_global(input, output) covers [atom_relaxed_gpu_global_exch_b32, atom_relaxed_gpu_global_exch_b64, atom_relaxed_gpu_global_cas_b32, atom_relaxed_gpu_global_cas_b64]
    with |case| case.input(|random| random.words(256)).output(768).shared(512) => {
        exchange!(global, input, output, atom_relaxed_gpu_global_exch_b32, atom_relaxed_gpu_global_cas_b32, atom_relaxed_gpu_global_exch_b64, atom_relaxed_gpu_global_cas_b64);
    }

    /// Updates of u32.
    #[threads(64)]
    fn atom_cta_global_u32(input, output) covers [atom_relaxed_cta_global_add_u32, red_relaxed_cta_global_add_u32, atom_relaxed_cta_global_min_u32, red_relaxed_cta_global_min_u32, atom_relaxed_cta_global_max_u32, red_relaxed_cta_global_max_u32, atom_relaxed_cta_global_and_b32, red_relaxed_cta_global_and_b32, atom_relaxed_cta_global_or_b32, red_relaxed_cta_global_or_b32, atom_relaxed_cta_global_xor_b32, red_relaxed_cta_global_xor_b32, atom_relaxed_cta_global_inc_u32, red_relaxed_cta_global_inc_u32, atom_relaxed_cta_global_dec_u32, red_relaxed_cta_global_dec_u32]
    with |case| case.input(|random| random.words(256)).output(2048).shared(512) => {
        update!(global, u32, input, output, 0, atom_relaxed_cta_global_add_u32, red_relaxed_cta_global_add_u32);
        update!(global, u32, input, output, 1, atom_relaxed_cta_global_min_u32, red_relaxed_cta_global_min_u32);
        update!(global, u32, input, output, 2, atom_relaxed_cta_global_max_u32, red_relaxed_cta_global_max_u32);
        update!(global, u32, input, output, 3, atom_relaxed_cta_global_and_b32, red_relaxed_cta_global_and_b32);
        update!(global, u32, input, output, 4, atom_relaxed_cta_global_or_b32, red_relaxed_cta_global_or_b32);
        update!(global, u32, input, output, 5, atom_relaxed_cta_global_xor_b32, red_relaxed_cta_global_xor_b32);
        update!(global, u32, input, output, 6, atom_relaxed_cta_global_inc_u32, red_relaxed_cta_global_inc_u32);
        update!(global, u32, input, output, 7, atom_relaxed_cta_global_dec_u32, red_relaxed_cta_global_dec_u32);
    }

    /// Updates of i32.
    #[threads(64)]
    fn atom_cta_global_s32(input, output) covers [atom_relaxed_cta_global_add_s32, red_relaxed_cta_global_add_s32, atom_relaxed_cta_global_min_s32, red_relaxed_cta_global_min_s32, atom_relaxed_cta_global_max_s32, red_relaxed_cta_global_max_s32]
    with |case| case.input(|random| random.words(256)).output(768).shared(512) => {
        update!(global, i32, input, output, 0, atom_relaxed_cta_global_add_s32, red_relaxed_cta_global_add_s32);
        update!(global, i32, input, output, 1, atom_relaxed_cta_global_min_s32, red_relaxed_cta_global_min_s32);
        update!(global, i32, input, output, 2, atom_relaxed_cta_global_max_s32, red_relaxed_cta_global_max_s32);
    }

    /// Updates of u64.
    #[threads(64)]
    fn atom_cta_global_u64(input, output) covers [atom_relaxed_cta_global_add_u64, red_relaxed_cta_global_add_u64, atom_relaxed_cta_global_min_u64, red_relaxed_cta_global_min_u64, atom_relaxed_cta_global_max_u64, red_relaxed_cta_global_max_u64]
    with |case| case.input(|random| random.words(256)).output(1536).shared(512) => {
        update!(global, u64, input, output, 0, atom_relaxed_cta_global_add_u64, red_relaxed_cta_global_add_u64);
        update!(global, u64, input, output, 1, atom_relaxed_cta_global_min_u64, red_relaxed_cta_global_min_u64);
        update!(global, u64, input, output, 2, atom_relaxed_cta_global_max_u64, red_relaxed_cta_global_max_u64);
    }

    /// Sums of f32.
    #[threads(64)]
    fn atom_cta_global_f32(input, output) covers [atom_relaxed_cta_global_add_f32, red_relaxed_cta_global_add_f32]
    with |case| case.output(256).shared(512).input(|random| random.many(256, Random::float)).within(ANY_NAN, float_or_nan) => {
        update!(global, f32, input, output, 0, atom_relaxed_cta_global_add_f32, red_relaxed_cta_global_add_f32);
    }

    /// Sums of f16.
    #[threads(64)]
    fn atom_cta_global_f16x2(input, output) covers [atom_relaxed_cta_global_add_f16x2, red_relaxed_cta_global_add_f16x2]
    with |case| case.output(256).shared(512).input(|random| random.many(256, Random::half2)).within(ANY_NAN, halves_or_nan) => {
        update!(global, u32, input, output, 0, atom_relaxed_cta_global_add_f16x2, red_relaxed_cta_global_add_f16x2);
    }

    /// Exchanges, unconditional and conditional.
    #[threads(64)]
    fn exchange_cta_global(input, output) covers [atom_relaxed_cta_global_exch_b32, atom_relaxed_cta_global_exch_b64, atom_relaxed_cta_global_cas_b32, atom_relaxed_cta_global_cas_b64]
    with |case| case.input(|random| random.words(256)).output(768).shared(512) => {
        exchange!(global, input, output, atom_relaxed_cta_global_exch_b32, atom_relaxed_cta_global_cas_b32, atom_relaxed_cta_global_exch_b64, atom_relaxed_cta_global_cas_b64);
    }

    /// Updates of u32.
    #[threads(64)]
    fn atom_cta_shared_u32(input, output) covers [atom_relaxed_cta_shared_add_u32, red_relaxed_cta_shared_add_u32, atom_relaxed_cta_shared_min_u32, red_relaxed_cta_shared_min_u32, atom_relaxed_cta_shared_max_u32, red_relaxed_cta_shared_max_u32, atom_relaxed_cta_shared_and_b32, red_relaxed_cta_shared_and_b32, atom_relaxed_cta_shared_or_b32, red_relaxed_cta_shared_or_b32, atom_relaxed_cta_shared_xor_b32, red_relaxed_cta_shared_xor_b32, atom_relaxed_cta_shared_inc_u32, red_relaxed_cta_shared_inc_u32, atom_relaxed_cta_shared_dec_u32, red_relaxed_cta_shared_dec_u32]
    with |case| case.input(|random| random.words(256)).output(2048).shared(512) => {
        update!(shared, u32, input, output, 0, atom_relaxed_cta_shared_add_u32, red_relaxed_cta_shared_add_u32);
        update!(shared, u32, input, output, 1, atom_relaxed_cta_shared_min_u32, red_relaxed_cta_shared_min_u32);
        update!(shared, u32, input, output, 2, atom_relaxed_cta_shared_max_u32, red_relaxed_cta_shared_max_u32);
        update!(shared, u32, input, output, 3, atom_relaxed_cta_shared_and_b32, red_relaxed_cta_shared_and_b32);
        update!(shared, u32, input, output, 4, atom_relaxed_cta_shared_or_b32, red_relaxed_cta_shared_or_b32);
        update!(shared, u32, input, output, 5, atom_relaxed_cta_shared_xor_b32, red_relaxed_cta_shared_xor_b32);
        update!(shared, u32, input, output, 6, atom_relaxed_cta_shared_inc_u32, red_relaxed_cta_shared_inc_u32);
        update!(shared, u32, input, output, 7, atom_relaxed_cta_shared_dec_u32, red_relaxed_cta_shared_dec_u32);
    }

    /// Updates of i32.
    #[threads(64)]
    fn atom_cta_shared_s32(input, output) covers [atom_relaxed_cta_shared_add_s32, red_relaxed_cta_shared_add_s32, atom_relaxed_cta_shared_min_s32, red_relaxed_cta_shared_min_s32, atom_relaxed_cta_shared_max_s32, red_relaxed_cta_shared_max_s32]
    with |case| case.input(|random| random.words(256)).output(768).shared(512) => {
        update!(shared, i32, input, output, 0, atom_relaxed_cta_shared_add_s32, red_relaxed_cta_shared_add_s32);
        update!(shared, i32, input, output, 1, atom_relaxed_cta_shared_min_s32, red_relaxed_cta_shared_min_s32);
        update!(shared, i32, input, output, 2, atom_relaxed_cta_shared_max_s32, red_relaxed_cta_shared_max_s32);
    }

    /// Updates of u64.
    #[threads(64)]
    fn atom_cta_shared_u64(input, output) covers [atom_relaxed_cta_shared_add_u64, red_relaxed_cta_shared_add_u64, atom_relaxed_cta_shared_min_u64, red_relaxed_cta_shared_min_u64, atom_relaxed_cta_shared_max_u64, red_relaxed_cta_shared_max_u64]
    with |case| case.input(|random| random.words(256)).output(1536).shared(512) => {
        update!(shared, u64, input, output, 0, atom_relaxed_cta_shared_add_u64, red_relaxed_cta_shared_add_u64);
        update!(shared, u64, input, output, 1, atom_relaxed_cta_shared_min_u64, red_relaxed_cta_shared_min_u64);
        update!(shared, u64, input, output, 2, atom_relaxed_cta_shared_max_u64, red_relaxed_cta_shared_max_u64);
    }

    /// Sums of f32.
    #[threads(64)]
    fn atom_cta_shared_f32(input, output) covers [atom_relaxed_cta_shared_add_f32, red_relaxed_cta_shared_add_f32]
    with |case| case.output(256).shared(512).input(|random| random.many(256, Random::float)).within(ANY_NAN, float_or_nan) => {
        update!(shared, f32, input, output, 0, atom_relaxed_cta_shared_add_f32, red_relaxed_cta_shared_add_f32);
    }

    /// Sums of f16.
    #[threads(64)]
    fn atom_cta_shared_f16x2(input, output) covers [atom_relaxed_cta_shared_add_f16x2, red_relaxed_cta_shared_add_f16x2]
    with |case| case.output(256).shared(512).input(|random| random.many(256, Random::half2)).within(ANY_NAN, halves_or_nan) => {
        update!(shared, u32, input, output, 0, atom_relaxed_cta_shared_add_f16x2, red_relaxed_cta_shared_add_f16x2);
    }

    /// Exchanges, unconditional and conditional.
    #[threads(64)]
    fn exchange_cta_shared(input, output) covers [atom_relaxed_cta_shared_exch_b32, atom_relaxed_cta_shared_exch_b64, atom_relaxed_cta_shared_cas_b32, atom_relaxed_cta_shared_cas_b64]
    with |case| case.input(|random| random.words(256)).output(768).shared(1024) => {
        exchange!(shared, input, output, atom_relaxed_cta_shared_exch_b32, atom_relaxed_cta_shared_cas_b32, atom_relaxed_cta_shared_exch_b64, atom_relaxed_cta_shared_cas_b64);
    }

    /// Four warps on the same cells of shared memory.
    #[threads(128)]
    fn atom_contended_shared(input, output) covers [red_relaxed_cta_shared_add_u32, red_relaxed_cta_shared_max_u32, red_relaxed_cta_shared_xor_b32, red_relaxed_cta_shared_inc_u32]
    with |case| case.input(|random| random.words(128)).output(4).shared(16) => {
        let i = tid_x() as usize;
        let cells = Shared::<u32>::dynamic();
        if i < 4 {
            cells.store(i, 0);
        }
        bar_sync_0();
        let word = input.load(i);
        red_relaxed_cta_shared_add_u32(cells.address(0), word);
        red_relaxed_cta_shared_max_u32(cells.address(1), word);
        red_relaxed_cta_shared_xor_b32(cells.address(2), word);
        red_relaxed_cta_shared_inc_u32(cells.address(3), 12);
        bar_sync_0();
        if i < 4 {
            output.store(i, cells.load(i));
        }
    }

    /// Four blocks on the same cells of global memory; the last block to finish gathers what the others stored.
    #[threads(64)]
    fn atom_contended_global(input, output) covers [atom_relaxed_gpu_global_add_u32, atom_relaxed_gpu_global_max_u32, atom_acq_rel_gpu_global_add_u32, atom_acq_rel_gpu_global_exch_b32, atom_acq_rel_gpu_global_cas_b32, ld_acquire_gpu_global_u32, st_release_gpu_global_u32]
    with |case| case.grid([4, 1, 1]).input(|random| random.words(256)).output(16).zeroed() => {
        let (i, block) = (tid_x() as usize, ctaid_x() as usize);
        let word = input.load(block * 64 + i);
        output.atomic_add(0, word);
        output.atomic_max(1, word);
        if i == 0 {
            output.store(4 + block, !word);
            st_release_gpu_global_u32(output.address(8 + block), word);
            if atom_acq_rel_gpu_global_add_u32(output.address(2), 1) == 3 {
                let mut sum = 0u32;
                let mut other = 0;
                while other < 4 {
                    sum = sum.wrapping_add(ld_acquire_gpu_global_u32(output.address(8 + other)));
                    sum = sum.wrapping_add(output.load(4 + other));
                    other += 1;
                }
                output.store(3, sum);
                output.store(12, atom_acq_rel_gpu_global_exch_b32(output.address(13), 0x0bad_cafe));
                output.store(14, atom_acq_rel_gpu_global_cas_b32(output.address(15), 0, 77));
            }
        }
    }
}
