//! The cases, one module for each module of `fringes-device`.

pub mod atomic;
pub mod copy_async;

/// Every case.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::Case> {
    [atomic::cases(), copy_async::cases()].into_iter().flatten().collect()
}
