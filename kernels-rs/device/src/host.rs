//! What the twins of memory views share.

use fringes_emulator::memory::{self, Space};
use fringes_emulator::{FaultKind, thread};

use crate::Value;

/// Reports an index beyond a view's length.
#[track_caller]
pub(crate) fn beyond(what: &str, index: usize, len: usize) {
    thread::fault(FaultKind::OutOfBounds, format!("{what} of index {index} in a view of {len} values"));
}

/// Loads value `index` of a view.
#[track_caller]
pub(crate) fn load<T: Value>(space: Space, address: u64, index: usize, len: usize) -> T {
    let mut bytes = [0; 16];
    let bytes = &mut bytes[..T::BYTES];
    if index < len {
        memory::load(space, address + index as u64 * T::BYTES as u64, bytes);
    } else {
        beyond("load", index, len);
    }
    T::from_bytes(bytes)
}

/// Stores value `index` of a view.
#[track_caller]
pub(crate) fn store<T: Value>(space: Space, address: u64, index: usize, len: usize, value: T) {
    let mut bytes = [0; 16];
    let bytes = &mut bytes[..T::BYTES];
    value.to_bytes(bytes);
    if index < len {
        memory::store(space, address + index as u64 * T::BYTES as u64, bytes);
    } else {
        beyond("store", index, len);
    }
}
