#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! The smallest kernel, `y = a x + y`: what docs/kernels.md walks through.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut};

fringes_device::kernel! {
    /// `y[i] = a x[i] + y[i]` for every `i` that both buffers have, one thread each.
    #[launch(threads(256))]
    pub fn saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) {
        let i = ctaid_x() as usize * ntid_x() as usize + tid_x() as usize;
        if i < x.len() && i < y.len() {
            // SAFETY: `i` is inside both views, and no other thread has the same.
            unsafe { y.store(i, a * x.load(i) + y.load(i)) };
        }
    }
}
