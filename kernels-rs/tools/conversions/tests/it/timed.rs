//! The kernels that are timed, in the emulator: they convert as often as they say.

use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_tools_conversions::CONVERSIONS;
use fringes_kernels_tools_conversions::timed::*;

macro_rules! timed {
    ($($kernel:ident)*) => { $(
        let name = stringify!($kernel).trim_start_matches("time_");
        let counts = CONVERSIONS.iter().find(|conversion| conversion.name == name).expect("a conversion").counts;
        let run = |steps: u32| {
            let mut memory = GlobalMemory::new();
            let (cycles, values) = (memory.allocate::<u64>(1), memory.allocate::<u32>(512));
            let launch = Launch::new($kernel::DECLARATION, [1, 1, 1], [512, 1, 1]).shared_bytes(SHARED_BYTES);
            let report = launch.run(&mut memory, || $kernel(cycles.into(), values.into(), steps));
            report.assert_clean();
            (report, memory.values(values))
        };
        let ((none, before), (report, after)) = (run(0), run(3));
        let times = u64::from(3 * WARPS);
        assert_eq!(report.count("shfl_sync_bfly_b32").warps, times * counts.shuffle, "{name}");
        assert_eq!(report.count("prmt_b32").warps, times * counts.permute, "{name}");
        let accesses = counts.store + counts.load + counts.store_matrix + counts.load_matrix;
        assert_eq!(report.shared_requests - none.shared_requests, times * accesses, "{name}");
        // Words are moved, so the same words are there, in other lanes.
        assert!(before != after, "{name}");
    )* };
}

#[test]
fn a_step_is_one_conversion_of_every_warp() {
    timed!(time_z3_primed_to_z3 time_z3_primed_to_z3_by_words time_z3_primed_to_z3_by_shuffles time_z3_primed_to_z3_by_transposes time_y_primed_to_y);
}
