//! The cases, one module for each module of `fringes-device`.

pub mod atomic;
pub mod clock;
pub mod copy_async;
pub mod fence;
pub mod mbarrier;

/// Every case.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::Case> {
    [atomic::cases(), clock::cases(), fence::cases(), mbarrier::cases(), copy_async::cases()]
        .into_iter()
        .flatten()
        .collect()
}
