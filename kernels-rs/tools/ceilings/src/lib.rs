#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! What the device can do at most, measured in the same run as the kernels that are compared with it.
//!
//! | kernel | ceiling | count |
//! |---|---|---|
//! | [`copy()`] | device memory | bytes read and written |
//! | [`mma_s8()`] | `mma.sync` 8-bit products from registers | [`MMA_OPERATIONS`] a block and step |
//! | [`rates`] | one instruction each | SM-cycles a warp instruction |

pub mod rates;

use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::mma::mma_m16n8k32_s32_s8;
use fringes_device::{Global, GlobalMut, opaque, unroll};

/// Operations of one block of 256 threads in one step of [`mma_s8()`]: 8 warps, 8 products of 16 x 8 x 32, 2 each.
pub const MMA_OPERATIONS: u64 = 8 * 8 * 16 * 8 * 32 * 2;

fringes_device::kernel! {
    /// Copies what both buffers have from `source` to `target`, 16 bytes a load and four loads in flight. Any grid.
    #[launch(threads(256))]
    pub fn copy(source: Global<[u32; 4]>, target: GlobalMut<[u32; 4]>) {
        let length = if source.len() < target.len() { source.len() } else { target.len() };
        let mut start = 1024 * ctaid_x() as usize + tid_x() as usize;
        while start < length {
            // SAFETY: each index is below `length`, and is this thread's alone.
            unsafe {
                if start + 768 < length {
                    let values =
                        [source.load(start), source.load(start + 256), source.load(start + 512), source.load(start + 768)];
                    unroll!(i in 0 1 2 3 { target.store(start + 256 * i, values[i]); });
                } else {
                    unroll!(i in 0 1 2 {
                        if start + 256 * i < length {
                            target.store(start + 256 * i, source.load(start + 256 * i));
                        }
                    });
                }
            }
            start += 1024 * nctaid_x() as usize;
        }
    }

    /// `steps` times eight independent products of 16 x 8 x 32 from registers in every warp; what comes out is of no
    /// interest, but for a value that it depends on every product. Threads beyond the end of `out` write nothing.
    #[launch(threads(256))]
    pub fn mma_s8(out: GlobalMut<i32>, steps: u32) {
        let seed = tid_x().wrapping_mul(0x9e37_79b9) ^ ctaid_x();
        let a = [seed, seed.rotate_left(7), seed.rotate_left(13), seed.rotate_left(19)];
        let b = |i: usize| [seed.rotate_left(2 + 3 * i as u32), seed.rotate_left(5 + 3 * i as u32)];
        let b = [b(0), b(1), b(2), b(3), b(4), b(5), b(6), b(7)];
        let mut sums = [[opaque(0); 4]; 8];
        let mut step = 0;
        while step < steps {
            // SAFETY: all lanes of a warp are here, as `steps` is the same for all.
            unsafe {
                unroll!(i in 0 1 2 3 4 5 6 7 { sums[i] = mma_m16n8k32_s32_s8(a, b[i], sums[i]); });
            }
            step += 1;
        }
        let mut total = 0i32;
        unroll!(i in 0 1 2 3 4 5 6 7 { unroll!(j in 0 1 2 3 { total = total.rotate_left(1) ^ sums[i][j]; }); });
        let index = ctaid_x() as usize * 256 + tid_x() as usize;
        if index < out.len() {
            // SAFETY: the index is inside, and this thread's alone.
            unsafe { out.store(index, total) };
        }
    }
}
