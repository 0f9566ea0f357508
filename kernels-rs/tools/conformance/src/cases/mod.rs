//! The cases, one module for each module of `fringes-device`.

pub mod arithmetic;
pub mod atomic;
pub mod barrier;
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub mod bulk;
pub mod clock;
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub mod cluster;
pub mod convert;
pub mod copy_async;
pub mod fence;
pub mod half2;
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub mod hopper;
pub mod index;
pub mod matrix;
pub mod mbarrier;
pub mod mma;
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub mod tensor;
pub mod warp;
#[cfg(any(not(target_arch = "nvptx64"), fringes_sm_90a))]
pub mod wgmma;

/// Every case.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::Case> {
    [
        arithmetic::cases(),
        atomic::cases(),
        barrier::cases(),
        bulk::cases(),
        clock::cases(),
        cluster::cases(),
        convert::cases(),
        copy_async::cases(),
        fence::cases(),
        half2::cases(),
        hopper::cases(),
        hopper::elements::cases(),
        index::cases(),
        matrix::cases(),
        mbarrier::cases(),
        mma::cases(),
        tensor::cases(),
        warp::cases(),
        wgmma::cases(),
        wgmma::places::cases(),
        wgmma::registers::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
