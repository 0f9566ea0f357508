//! The kernels in the emulator: they move and compute what is counted.

use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_tools_ceilings::{MMA_OPERATIONS, copy, mma_s8};

#[test]
fn every_value_of_any_length_is_copied_once_and_coalesced() {
    for (length, blocks) in [(0usize, 1), (1, 1), (256, 2), (1023, 1), (1024, 1), (1025, 3), (5000, 2)] {
        let mut memory = GlobalMemory::new();
        let values: Vec<[u32; 4]> = (0..length as u32).map(|i| [i, !i, i * 3, 7]).collect();
        let (source, target) = (memory.upload(&values), memory.allocate::<[u32; 4]>(length));
        let launch = Launch::new(copy::DECLARATION, [blocks, 1, 1], [256, 1, 1]);
        let report = launch.run(&mut memory, || copy(source.into(), target.into()));
        report.assert_clean();
        assert_eq!(memory.values(target), values, "{length} values in {blocks} blocks");
        // 16 bytes of each are read and written, in sectors of 32 bytes.
        if length % 2 == 0 {
            assert_eq!(report.global_sectors, length as u64);
        }
        assert_eq!(report.global_sectors, report.global_sectors_ideal);
    }
}

#[test]
fn only_what_both_buffers_have_is_copied() {
    let mut memory = GlobalMemory::new();
    let (source, target) = (memory.upload(&[[1u32; 4]; 700]), memory.upload(&[[2u32; 4]; 300]));
    let launch = Launch::new(copy::DECLARATION, [1, 1, 1], [256, 1, 1]);
    launch.run(&mut memory, || copy(source.into(), target.into())).assert_clean();
    assert_eq!(memory.values(target), [[1u32; 4]; 300]);
}

#[test]
fn a_step_takes_the_counted_products() {
    let mut memory = GlobalMemory::new();
    let out = memory.allocate::<i32>(2 * 256);
    let launch = Launch::new(mma_s8::DECLARATION, [2, 1, 1], [256, 1, 1]);
    let report = launch.run(&mut memory, || mma_s8(out.into(), 3));
    report.assert_clean();
    let products = report.count("mma_m16n8k32_s32_s8").warps;
    assert_eq!(products * 2 * 16 * 8 * 32, 2 * 3 * MMA_OPERATIONS);
    // Nothing is summed in vain: another number of steps gives other values.
    let other = memory.allocate::<i32>(2 * 256);
    launch.run(&mut memory, || mma_s8(other.into(), 2)).assert_clean();
    let (three, two) = (memory.values(out), memory.values(other));
    assert!(three.iter().zip(&two).filter(|(a, b)| a != b).count() > 500);
}
