//! Every conversion in the emulator: every element against the layouts' definition, and what it costs against what the
//! table says.

use fringes_device::{Global, GlobalMut};
use fringes_emulator::memory::Space;
use fringes_emulator::{AccessKind, GlobalMemory, Launch, Report};
use fringes_kernels_tools_conversions::{CONVERSIONS, Conversion, Counts};
use fringes_layout::Layout;
use fringes_layout::program::Places;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Arrays converted in one launch.
const BLOCKS: usize = 3;

/// A register that looks the same however its bytes are moved.
const SAME: u32 = 0x0101_0101;

/// Places before and afterwards, and the number of elements.
fn places(conversion: &Conversion) -> (Places, Places, usize) {
    let [from, to] = [conversion.from, conversion.to].map(|text| Layout::parse(text).expect(text));
    let after = Places::new(&to, &from).expect(conversion.to);
    (Places::new(&from, &from).expect(conversion.from), after, 1 << from.logical().len())
}

/// Registers in the order of the kernels' buffers.
fn words(places: &Places, array: &[u32]) -> Vec<u32> {
    places.fill(|element| array[element as usize]).concat()
}

/// Runs the kernel of a conversion on random arrays: what it stored, what it must store, and the report.
fn run(conversion: &Conversion, seed: Option<u64>) -> (Vec<u32>, Vec<u32>, Report) {
    let (before, after, elements) = places(conversion);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let arrays: Vec<Vec<u32>> = (0..BLOCKS).map(|_| (0..elements).map(|_| random.random()).collect()).collect();
    let gather = |places: &Places| arrays.iter().flat_map(|array| words(places, array)).collect::<Vec<_>>();
    let (source, expected) = (gather(&before), gather(&after));
    let mut memory = GlobalMemory::new();
    let (x, y) = (memory.upload(&source), memory.allocate::<u32>(expected.len()));
    let launch =
        Launch::new(conversion.declaration, [BLOCKS as u32, 1, 1], [32, 1, 1]).shared_bytes(conversion.shared_bytes);
    let launch = if let Some(seed) = seed { launch.seed(seed) } else { launch };
    let report = launch.run(&mut memory, || (conversion.kernel)(Global::from(x), GlobalMut::from(y)));
    report.assert_clean();
    (memory.values(y), expected, report)
}

#[test]
fn every_element_lands_where_the_layouts_say_in_any_order_of_lanes() {
    assert!(CONVERSIONS.len() >= 12, "the table has {} conversions", CONVERSIONS.len());
    for conversion in CONVERSIONS {
        for seed in [None, Some(1), Some(2)] {
            let (found, expected, _) = run(conversion, seed);
            assert_eq!(found, expected, "{}, seed {seed:?}", conversion.name);
        }
    }
}

/// Executions by warps of the instructions whose names begin so, `of` how many each counts for.
fn executed(report: &Report, start: &str, of: impl Fn(&str) -> u64) -> u64 {
    let chosen = report.instructions.iter().filter(|(name, _)| name.starts_with(start));
    chosen.map(|(name, count)| count.warps * of(name)).sum()
}

/// Requests of warps to shared memory, of one kind.
fn requests(report: &Report, kind: AccessKind) -> u64 {
    let chosen = report.accesses.iter().filter(|each| each.space == Space::Shared && each.kind == kind);
    chosen.map(|each| each.requests).sum()
}

#[test]
fn the_emulator_executes_what_the_table_counts() {
    for conversion in CONVERSIONS {
        let (_, _, report) = run(conversion, None);
        let matrices = |name: &str| name.split('_').find_map(|part| part.strip_prefix('x')?.parse().ok()).unwrap_or(0);
        let (stored, loaded) = (executed(&report, "stmatrix", matrices), executed(&report, "ldmatrix", matrices));
        let found = Counts {
            permute: executed(&report, "prmt_b32", |_| 1),
            shuffle: executed(&report, "shfl_sync", |_| 1),
            move_matrix: executed(&report, "movmatrix", |_| 1),
            store: requests(&report, AccessKind::Store) - stored,
            load: requests(&report, AccessKind::Load) - loaded,
            store_matrix: stored,
            load_matrix: loaded,
            barrier: executed(&report, "bar_warp_sync", |_| 1),
            ..Counts::NONE
        };
        // Selects and XORs are no intrinsics: they are counted in the machine code.
        let expected = Counts { select: 0, address: 0, ..conversion.counts };
        let blocks = BLOCKS as u64;
        let expected = Counts {
            permute: blocks * expected.permute,
            shuffle: blocks * expected.shuffle,
            move_matrix: blocks * expected.move_matrix,
            store: blocks * expected.store,
            load: blocks * expected.load,
            store_matrix: blocks * expected.store_matrix,
            load_matrix: blocks * expected.load_matrix,
            barrier: blocks * expected.barrier,
            ..expected
        };
        assert_eq!(found, expected, "{}\n{report}", conversion.name);
    }
}

#[test]
fn shared_memory_is_free_of_bank_conflicts_and_global_memory_coalesced() {
    let mut through_memory = 0;
    for conversion in CONVERSIONS {
        let (_, _, report) = run(conversion, None);
        assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal, "{}\n{report}", conversion.name);
        assert_eq!(report.shared_wavefronts, BLOCKS as u64 * conversion.wavefronts, "{}\n{report}", conversion.name);
        assert_eq!(report.global_sectors, report.global_sectors_ideal, "{}\n{report}", conversion.name);
        through_memory += usize::from(report.shared_requests > 0);
    }
    assert!(through_memory >= 4, "{through_memory} conversions use shared memory");
}

#[test]
fn arrays_that_the_views_do_not_hold_are_left_alone() {
    for conversion in CONVERSIONS {
        let (inputs, outputs) = (32 * conversion.inputs, 32 * conversion.outputs);
        let mut memory = GlobalMemory::new();
        // The second array lacks a word before, the third afterwards too.
        let x = memory.upload(&vec![SAME; 2 * inputs - 1]);
        let y = memory.upload(&vec![0u32; 3 * outputs - 1]);
        let launch = Launch::new(conversion.declaration, [4, 1, 1], [32, 1, 1]).shared_bytes(conversion.shared_bytes);
        launch.run(&mut memory, || (conversion.kernel)(x.into(), y.into())).assert_clean();
        let found = memory.values(y);
        assert!(found[..outputs].iter().all(|&word| word == SAME), "{}", conversion.name);
        assert!(found[outputs..].iter().all(|&word| word == 0), "{}", conversion.name);
    }
}
