//! The kernel in the emulator: what it computes, what it costs, and what the emulator says of broken copies of it.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{FaultKind, GlobalMemory, Launch};
use fringes_kernels_tools_saxpy::saxpy;

// docs/kernels.md shows from here
#[test]
fn every_element_is_a_x_plus_y() {
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&[1.0f32, 2.0, 3.0]);
    let y = memory.upload(&[10.0f32, 20.0, 30.0]);
    let launch = Launch::new(saxpy::DECLARATION, [1, 1, 1], [256, 1, 1]);
    let report = launch.run(&mut memory, || saxpy(2.0, x.into(), y.into()));
    report.assert_clean();
    assert_eq!(memory.values(y), [12.0, 24.0, 36.0]);
}
// to here

#[test]
fn any_length_and_any_order_of_threads_give_the_same() {
    for length in [0usize, 1, 31, 255, 256, 257, 1000] {
        for seed in [None, Some(1), Some(2)] {
            let mut memory = GlobalMemory::new();
            let values: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let (x, y) = (memory.upload(&values), memory.upload(&vec![0.5f32; length]));
            let blocks = length.div_ceil(256).max(1) as u32;
            let launch = Launch::new(saxpy::DECLARATION, [blocks, 1, 1], [256, 1, 1]);
            let launch = if let Some(seed) = seed { launch.seed(seed) } else { launch };
            launch.run(&mut memory, || saxpy(-3.0, x.into(), y.into())).assert_clean();
            let expected: Vec<f32> = values.iter().map(|x| -3.0 * x + 0.5).collect();
            assert_eq!(memory.values(y), expected, "{length} elements, seed {seed:?}");
        }
    }
}

#[test]
fn what_only_one_buffer_has_is_left_alone() {
    let mut memory = GlobalMemory::new();
    let (x, y) = (memory.upload(&[1.0f32; 3]), memory.upload(&[1.0f32; 5]));
    let launch = Launch::new(saxpy::DECLARATION, [1, 1, 1], [256, 1, 1]);
    launch.run(&mut memory, || saxpy(1.0, x.into(), y.into())).assert_clean();
    assert_eq!(memory.values(y), [2.0, 2.0, 2.0, 1.0, 1.0]);
}

#[test]
fn three_requests_a_warp_touch_whole_sectors() {
    // docs/kernels.md shows from here
    let mut memory = GlobalMemory::new();
    let (x, y) = (memory.upload(&[1.0f32; 1024]), memory.upload(&[2.0f32; 1024]));
    let launch = Launch::new(saxpy::DECLARATION, [4, 1, 1], [256, 1, 1]);
    let report = launch.run(&mut memory, || saxpy(2.0, x.into(), y.into()));
    assert_eq!(report.count("tid_x").threads, 1024);
    assert_eq!(report.global_requests, 3 * 32); // 32 warps load x, load y, store y
    assert_eq!(report.global_sectors, 3 * 1024 * 4 / 32); // 32 bytes a sector
    assert_eq!(report.global_sectors, report.global_sectors_ideal); // coalesced
    // to here
    report.assert_clean();
}

fringes_device::kernel! {
    /// As [`saxpy`], without the check of the index.
    #[launch(threads(256))]
    pub fn unchecked(a: f32, x: Global<f32>, y: GlobalMut<f32>) {
        let i = fringes_device::index::tid_x() as usize;
        // SAFETY: planted fault: `i` may be beyond the views.
        unsafe { y.store(i, a * x.load(i) + y.load(i)) };
    }

    /// As [`saxpy`], but every thread writes the first element.
    #[launch(threads(256))]
    pub fn racing(a: f32, x: Global<f32>, y: GlobalMut<f32>) {
        let i = fringes_device::index::tid_x() as usize;
        if i < x.len() && i < y.len() {
            // SAFETY: planted fault: nothing orders the threads' writes.
            unsafe { y.store(0, a * x.load(i)) };
        }
    }
}

/// The page that shows these faults as they are printed.
const PAGE: &str = include_str!("../../../../docs/kernels.md");

/// The first fault of a kind that a broken copy shows, as text.
fn fault<K: Kernel>(kernel: impl Fn(f32, Global<f32>, GlobalMut<f32>), initialised: bool, kind: FaultKind) -> String {
    let mut memory = GlobalMemory::new();
    let x = if initialised { memory.upload(&[1.0f32; 100]) } else { memory.allocate::<f32>(100) };
    let y = memory.upload(&[1.0f32; 100]);
    let launch = Launch::new(K::DECLARATION, [1, 1, 1], [256, 1, 1]);
    let report = launch.run(&mut memory, || kernel(2.0, x.into(), y.into()));
    let found = report.faults.iter().find(|fault| fault.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", report.faults)).to_string()
}

#[test]
fn an_index_that_is_not_checked_is_found_with_its_thread_and_line() {
    let text = fault::<unchecked>(unchecked, true, FaultKind::OutOfBounds);
    let place =
        "OutOfBounds in unchecked, block [0, 0, 0], thread [100, 0, 0], at kernels-rs/tools/saxpy/tests/emulated.rs:";
    assert!(text.starts_with(place), "{text}");
    assert!(text.ends_with("load of index 100 in a view of 100 values"), "{text}");
    assert!(PAGE.contains(&text), "docs/kernels.md does not show: {text}");
}

#[test]
fn writes_that_nothing_orders_are_a_race() {
    let text = fault::<racing>(racing, true, FaultKind::Race);
    assert!(PAGE.contains(&text), "docs/kernels.md does not show: {text}");
    assert!(text.starts_with("Race in racing, block [0, 0, 0]"), "{text}");
}

#[test]
fn a_buffer_that_was_never_written_is_found_when_it_is_read() {
    let text = fault::<saxpy>(saxpy, false, FaultKind::Uninitialised);
    assert!(PAGE.contains(&text), "docs/kernels.md does not show: {text}");
    assert!(text.starts_with("Uninitialised in saxpy, block [0, 0, 0], thread [0, 0, 0]"), "{text}");
}
