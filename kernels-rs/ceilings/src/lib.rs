#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! What the device can do at most, measured in the same run as the kernels that are compared with it.
//!
//! | kernel | ceiling | count |
//! |---|---|---|
//! | [`copy()`] | device memory | bytes read and written |
//! | [`mma_s8()`] | `mma.sync` 8-bit products from registers | [`MMA_OPERATIONS`] a thread block and step |

use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::mma::mma_m16n8k32_s32_s8;
use fringes_device::{Global, GlobalMut, opaque, unroll};

/// Operations of one block of 256 threads in one step of [`mma_s8()`]: 8 warps, 8 products of 16 x 8 x 32, 2 each.
pub const MMA_OPERATIONS: u64 = 8 * 8 * 16 * 8 * 32 * 2;

fringes_device::kernel! {
    /// Copies `source` to `target`, 16 bytes a load and four loads in flight.
    ///
    /// # Safety
    /// Both are of the same length, a multiple of 1024 values.
    #[launch(threads(256))]
    pub unsafe fn copy(source: Global<[u32; 4]>, target: GlobalMut<[u32; 4]>) {
        let mut start = 1024 * ctaid_x() as usize + tid_x() as usize;
        while start < source.len() {
            let values = [source.load(start), source.load(start + 256), source.load(start + 512), source.load(start + 768)];
            unroll!(i in 0 1 2 3 { target.store(start + 256 * i, values[i]); });
            start += 1024 * nctaid_x() as usize;
        }
    }

    /// `steps` times eight independent products of 16 x 8 x 32 from registers in every warp; what comes out is of no interest.
    ///
    /// # Safety
    /// `out` holds a value for every thread of the launch.
    #[launch(threads(256))]
    pub unsafe fn mma_s8(out: GlobalMut<i32>, steps: u32) {
        let seed = tid_x().wrapping_mul(0x9e37_79b9) ^ ctaid_x();
        let a = [seed, seed.rotate_left(7), seed.rotate_left(13), seed.rotate_left(19)];
        let b = [seed.rotate_left(3), seed.rotate_left(11)];
        let mut sums = [[opaque(0); 4]; 8];
        let mut step = 0;
        while step < steps {
            unroll!(i in 0 1 2 3 4 5 6 7 { sums[i] = mma_m16n8k32_s32_s8(a, b, sums[i]); });
            step += 1;
        }
        let mut total = 0i32;
        unroll!(i in 0 1 2 3 4 5 6 7 { unroll!(j in 0 1 2 3 { total ^= sums[i][j]; }); });
        out.store((ctaid_x() * 256 + tid_x()) as usize, total);
    }
}
