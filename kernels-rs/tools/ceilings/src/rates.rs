//! How long an instruction occupies its pipe: SM-cycles a warp instruction, the unit in which layout conversions are
//! priced.
//!
//! Each kernel is to run as one block an SM, [`WARPS`] warps. In a step every thread executes one instruction
//! [`REPEATS`] times, on eight independent values; `cycles[block]` is what all steps take, so cycles / (steps x
//! [`REPEATS`] x [`WARPS`]) is the cost. `values` receives one word a thread that depends on all results. Accesses to
//! shared memory are free of bank conflicts.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::barrier::bar_sync_0;
use fringes_device::clock::clock64;
use fringes_device::control::trap;
use fringes_device::half2::fma_rn_f16x2;
use fringes_device::index::{ctaid_x, laneid, tid_x};
use fringes_device::matrix::{ldmatrix_x4_shared_b16, ldmatrix_x4_trans_shared_b16, movmatrix_trans_b16};
use fringes_device::mma::{mma_m16n8k8_f16_f16, mma_m16n8k16_f16_f16, mma_m16n8k16_f32_f16};
use fringes_device::warp::{bar_warp_sync, shfl_sync_bfly_b32, shfl_sync_idx_b32};
use fringes_device::{GlobalMut, Shared, opaque, unroll};

/// Instructions of a thread in one step.
pub const REPEATS: u32 = 32;

/// Warps of a block.
pub const WARPS: u32 = 16;

/// Bytes of dynamic shared memory of every kernel here.
pub const SHARED_BYTES: u32 = WARPS * 1024;

/// What a thread's instructions work on.
#[derive(Clone, Copy)]
struct Operands {
    /// Two numbers that the compiler does not know.
    x: u32,
    y: u32,
    /// All shared memory, 32 bytes a thread.
    shared: Shared<[u32; 4]>,
    tid: usize,
    lane: usize,
    /// The step, and which of its [`REPEATS`] instructions this is.
    step: u32,
    turn: usize,
}

impl Operands {
    /// What a load reads: one of a row of 32 values, another row in every turn, and another lane's in every other step.
    #[inline(always)]
    fn source(self) -> usize {
        (self.lane ^ (self.step as usize & 1)) + 32 * self.turn
    }

    /// What a store writes: of the warp's own 1024 bytes, as `rows` rows of 32 values, another row than the store
    /// before (ptxas drops the first of two stores to one address).
    #[inline(always)]
    fn target(self, rows: usize) -> usize {
        self.tid / 32 * 32 * rows + self.lane + 32 * (self.turn % rows)
    }
}

/// What an instruction is repeated on.
trait State: Copy {
    fn new(seed: u32) -> Self;
    fn word(self) -> u32;
}

impl State for u32 {
    #[inline(always)]
    fn new(seed: u32) -> Self {
        seed
    }

    #[inline(always)]
    fn word(self) -> u32 {
        self
    }
}

/// f16 sums of a product.
impl State for [u32; 2] {
    #[inline(always)]
    fn new(seed: u32) -> Self {
        [seed; 2]
    }

    #[inline(always)]
    fn word(self) -> u32 {
        self[0] ^ self[1]
    }
}

/// f32 sums of a product.
impl State for [f32; 4] {
    #[inline(always)]
    fn new(seed: u32) -> Self {
        [f32::from_bits(seed & 0x3fff_ffff); 4]
    }

    #[inline(always)]
    fn word(self) -> u32 {
        self[0].to_bits() ^ self[1].to_bits() ^ self[2].to_bits() ^ self[3].to_bits().rotate_left(1)
    }
}

/// Repeats `step` on eight values, four times each, between two readings of the clock.
#[inline(always)]
fn measure<S: State>(cycles: GlobalMut<u64>, values: GlobalMut<u32>, steps: u32, step: impl Fn(S, Operands) -> S) {
    let (tid, shared) = (tid_x(), Shared::<[u32; 4]>::dynamic());
    let seed = tid.wrapping_mul(0x9e37_79b9) ^ ctaid_x();
    let mut value = [S::new(0); 8];
    unroll!(i in 0 1 2 3 4 5 6 7 { value[i] = S::new(seed.rotate_left(3 * i as u32)); });
    let (x, y, lane) = (seed | 1, laneid().wrapping_mul(5), laneid() as usize);
    let mut operands = Operands { x, y, shared, tid: tid as usize, lane, step: 0, turn: 0 };
    if shared.len() < 1024 {
        trap();
        return;
    }
    // SAFETY: there are as many bytes of shared memory as are used, and all threads meet at the barriers.
    unsafe {
        let seed = seed.rotate_left(tid % 29);
        shared.store(tid as usize, [seed.rotate_left(tid), x, y, !seed]);
        shared.store(512 + tid as usize, [y, !x, seed, x.rotate_left(tid)]);
        bar_sync_0();
        let start = clock64();
        while operands.step < steps {
            unroll!(repeat in 0 1 2 3 {
                unroll!(i in 0 1 2 3 4 5 6 7 {
                    operands.turn = 8 * repeat + i;
                    value[i] = step(value[i], operands);
                });
            });
            operands.step += 1;
        }
        bar_sync_0();
        let end = clock64();
        let mut all = 0u32;
        unroll!(i in 0 1 2 3 4 5 6 7 { all = all.rotate_left(1) ^ value[i].word(); });
        let thread = 512 * ctaid_x() as usize + tid as usize;
        if thread < values.len() {
            values.store(thread, all);
        }
        if tid == 0 && (ctaid_x() as usize) < cycles.len() {
            cycles.store(ctaid_x() as usize, end - start);
        }
    }
}

macro_rules! rates {
    ($($name:ident, $what:literal, |$value:ident: $state:ty, $operands:ident| $step:expr;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Cycles of ", $what, ".")]
            #[launch(threads(512), max_registers(96), shared_bytes(16384))]
            pub fn $name(cycles: GlobalMut<u64>, values: GlobalMut<u32>, steps: u32) {
                measure(cycles, values, steps, |$value: $state, $operands| {
                    let _ = $operands;
                    #[allow(unused_unsafe)] // Some instructions are safe.
                    // SAFETY: whole warps are here, and addresses are of values that `measure` has stored.
                    unsafe { $step }
                });
            }
        }
    )* };
}

rates! {
    rate_select, "`selp.b32`", |value: u32, operands| {
        // Four conditions in turn, so that no two selects can be one.
        let condition = operands.y >> (operands.turn / 8) & 1 == 0;
        let other = if operands.turn / 8 % 2 == 0 { operands.x } else { operands.y };
        opaque(if condition != (operands.turn / 16 == 0) { other } else { value } as i32) as u32
    };
    rate_permute, "`prmt.b32`", |value: u32, operands| prmt_b32(value, operands.x, operands.y);
    rate_logic, "`lop3.b32`", |value: u32, operands| lop3_b32::<0x96>(value, operands.x, operands.y);
    rate_shuffle_xor, "`shfl.sync.bfly.b32`", |value: u32, operands| shfl_sync_bfly_b32(value, 1 << (operands.turn / 8), 31, u32::MAX);
    rate_shuffle_index, "`shfl.sync.idx.b32`", |value: u32, operands| shfl_sync_idx_b32(value, operands.y, 31, u32::MAX);
    rate_move_matrix, "`movmatrix`", |value: u32, operands| movmatrix_trans_b16(value);
    rate_half2, "`fma.rn.f16x2`", |value: u32, operands| fma_rn_f16x2(value, operands.x, operands.y);
    rate_mma_k8, "`mma.m16n8k8` of f16 with f16 sums", |value: [u32; 2], operands| {
        mma_m16n8k8_f16_f16([operands.x, operands.y], [operands.x], value)
    };
    rate_mma_k16, "`mma.m16n8k16` of f16 with f16 sums", |value: [u32; 2], operands| {
        let (x, y) = (operands.x, operands.y);
        mma_m16n8k16_f16_f16([x, y, x, y], [x, y], value)
    };
    rate_mma_k16_wide, "`mma.m16n8k16` of f16 with f32 sums", |value: [f32; 4], operands| {
        let (x, y) = (operands.x, operands.y);
        mma_m16n8k16_f32_f16([x, y, x, y], [x, y], value)
    };
    rate_barrier, "`bar.warp.sync`", |value: u32, operands| {
        bar_warp_sync(u32::MAX);
        value
    };
    rate_store_shared_b32, "`st.shared.b32`", |value: u32, operands| {
        operands.shared.cast::<u32>().store(operands.target(8), value);
        value
    };
    rate_store_shared_v2, "`st.shared.v2.b32`", |value: u32, operands| {
        operands.shared.cast::<[u32; 2]>().store(operands.target(4), [value, operands.step]);
        value
    };
    rate_store_shared_v4, "`st.shared.v4.b32`", |value: u32, operands| {
        operands.shared.store(operands.target(2), [value, operands.step, operands.x, operands.y]);
        value
    };
    rate_load_shared_b32, "`ld.shared.b32`", |value: u32, operands| value.rotate_left(1) ^ operands.shared.cast::<u32>().load(operands.source());
    rate_load_shared_v2, "`ld.shared.v2.b32`", |value: u32, operands| {
        let d = operands.shared.cast::<[u32; 2]>().load(operands.source());
        value.rotate_left(1) ^ d[0] ^ d[1]
    };
    rate_load_shared_v4, "`ld.shared.v4.b32`", |value: u32, operands| {
        let d = operands.shared.load(operands.source());
        value.rotate_left(1) ^ d[0] ^ d[1] ^ d[2] ^ d[3]
    };
    rate_load_matrix, "`ldmatrix.x4`", |value: u32, operands| {
        let d = ldmatrix_x4_shared_b16(operands.shared.address(operands.source()));
        value.rotate_left(1) ^ d[0] ^ d[1] ^ d[2] ^ d[3]
    };
    rate_load_matrix_trans, "`ldmatrix.x4.trans`", |value: u32, operands| {
        let d = ldmatrix_x4_trans_shared_b16(operands.shared.address(operands.source()));
        value.rotate_left(1) ^ d[0] ^ d[1] ^ d[2] ^ d[3]
    };
}

/// Instructions that sm_90 brought.
#[cfg(any(fringes_sm_90a, not(target_arch = "nvptx64")))]
mod hopper {
    use fringes_device::GlobalMut;
    use fringes_device::matrix::{stmatrix_x4_shared_b16, stmatrix_x4_trans_shared_b16};

    use super::measure;

    rates! {
        rate_store_matrix, "`stmatrix.x4`", |value: u32, operands| {
            let parts = [value, operands.step, operands.x, operands.y];
            stmatrix_x4_shared_b16(operands.shared.address(operands.target(2)), parts);
            value
        };
        rate_store_matrix_trans, "`stmatrix.x4.trans`", |value: u32, operands| {
            let parts = [value, operands.step, operands.x, operands.y];
            stmatrix_x4_trans_shared_b16(operands.shared.address(operands.target(2)), parts);
            value
        };
    }
}
#[cfg(any(fringes_sm_90a, not(target_arch = "nvptx64")))]
pub use hopper::{rate_store_matrix, rate_store_matrix_trans};
