//! Instructions that lanes of a warp execute together. For the twins of intrinsics.

/// Waits until every lane of `mask` executes the same instruction (`name`, and the same source line), then computes all their
/// results at once: `resolve(mask, inputs) -> outputs`, by lane; the input of a lane outside `mask` is `I::default()`.
///
/// A lane of `mask` that returned, does not exist, or waits at something else when nothing more can run, is a fault; so is a caller
/// that is no member of `mask`, and lanes that call with different masks.
///
/// Does not order memory ([`sync`] does).
#[track_caller]
pub fn collective<I: Copy + Default + 'static, O: Copy + Default + 'static>(
    name: &'static str,
    mask: u32,
    input: I,
    resolve: fn(u32, &[I; 32]) -> [O; 32],
) -> O {
    let _ = (name, mask, input, resolve);
    unimplemented!()
}

/// `bar.warp.sync`: as [`collective`], and orders the memory accesses of the lanes of `mask`.
#[track_caller]
pub fn sync(name: &'static str, mask: u32) {
    let _ = (name, mask);
    unimplemented!()
}
