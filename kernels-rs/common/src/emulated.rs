//! Device functions on one thread of the emulator.

use std::cell::Cell;

use fringes_emulator::{GlobalMemory, Launch};

/// What `work` gives on one thread, without faults.
pub(crate) fn thread<T: Copy>(work: impl Fn() -> T) -> T {
    let result = Cell::new(None);
    let report = Launch::new("kernel()", [1; 3], [1; 3]).run(&mut GlobalMemory::new(), || result.set(Some(work())));
    report.assert_clean();
    result.get().expect("the thread ran to its end")
}
