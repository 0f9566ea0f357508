//! What the kernels cost, exactly: instructions, sectors of memory; and that they keep within their views.

use crate::common;

use common::{Case, kernels};
use fringes_beamformer::internals::{BLOCK_WARPS, BeamShape, FeedLines};
use fringes_emulator::memory::Space;
use fringes_emulator::{AccessKind, FaultKind, GlobalMemory, Launch, Report};
use fringes_fft::Size;
use fringes_kernels_beamformer_fft::{BeamKernel, KERNELS, form};

/// Sectors that accesses in a source file take, and the least that their bytes take.
fn sectors(report: &Report, file: &str, kind: AccessKind) -> [u64; 2] {
    let of_file = |line: &&fringes_emulator::LineAccesses| {
        line.file.ends_with(file) && line.kind == kind && line.space == Space::Global
    };
    let lines = report.accesses.iter().filter(of_file);
    lines.fold([0, 0], |[cost, ideal], line| [cost + line.transactions, ideal + line.ideal])
}

fn only(name: &str) -> &'static BeamKernel {
    kernels(name).next().unwrap()
}

#[test]
fn every_sector_of_beams_is_written_once_and_whole() {
    for kernel in KERNELS {
        let case = Case::noise(kernel, [1, kernel.size().unwrap().0, 2], [1, 1], 1);
        let (words, report) = case.run(kernel);
        let bytes = 4 * words.len() as u64;
        assert_eq!(sectors(&report, "src/beams.rs", AccessKind::Store), [bytes / 32; 2], "{}", kernel.name());
    }
}

#[test]
fn sectors_of_voltages_are_read_once_where_the_lanes_of_an_instruction_fill_them() {
    for kernel in KERNELS {
        // Lowest bit of the feed, but for the very lowest, that registers hold and not lanes, by the transforms' input
        // layouts.
        let register = match kernel.size().unwrap() {
            (64, _) | (128, _) => 6,
            _ => 4,
        };
        for pols in [1, 2] {
            let case = Case::noise(kernel, [1, kernel.size().unwrap().0, pols], [1, 1], 1);
            let (_, report) = case.run(kernel);
            let voltage = if kernel.part(3) == "i4" { 1 } else { 2 };
            let bytes = case.voltages.len() as u64 * voltage;
            let [cost, _] = sectors(&report, "src/voltages.rs", AccessKind::Load);
            // A sector with feeds of two registers is read twice, the second time from the cache; so is what has no
            // registers to wait in.
            let halves = if 32 / (pols as u64 * voltage) > 1 << register { 2 } else { 1 };
            let again = if kernel.size().unwrap().0 == 1024 && voltage == 2 { pols as u64 } else { 1 };
            let times = again * halves;
            assert_eq!(cost, times * bytes / 32, "{}, {pols} polarisations", kernel.name());
        }
    }
}

#[test]
fn products_and_half2_operations_of_a_transform_are_those_designed() {
    // 256 to 512, 4 bits, complex f16: 16 products and 48 half2 operations of the transform, 8 voltages by 4, 16
    // registers of beams.
    let kernel = only("256_512_i4_f16");
    let case = Case::noise(kernel, [1, 256, 2], [1, 5], 1);
    let (_, report) = case.run(kernel);
    let transforms = case.shape().transforms() as u64;
    assert_eq!(transforms, 10);
    let count = |names: &[&str]| names.iter().map(|name| report.count(name).warps).sum::<u64>() / transforms;
    assert_eq!(count(&["mma_m16n8k16_f16_f16"]), 16);
    assert_eq!(count(&["fma_rn_f16x2", "mul_rn_f16x2", "add_rn_f16x2"]), 48 + 8 * 4 + 16);
    // One copies a byte, two the parts of a gain.
    assert_eq!(count(&["prmt_b32"]), 8 * 3);
    assert_eq!(count(&["lop3_b32"]), 8 * 2);
}

#[test]
fn voltages_are_loaded_once_and_gains_and_phases_once_a_unit() {
    let kernel = only("256_512_i8_power");
    let case = Case { blocks: 1, ..Case::noise(kernel, [4, 256, 2], [1, 50], 1) };
    let launch = case.shape().launch(case.blocks);
    assert!(launch.times > 1);
    let (_, report) = case.run(kernel);
    let units = 4 * 50usize.div_ceil(launch.times as usize) as u64;
    let requests = |file: &str| {
        let lines = report.accesses.iter().filter(|line| line.file.ends_with(file) && line.space == Space::Global);
        lines.filter(|line| line.kind == AccessKind::Load).map(|line| line.requests).sum::<u64>()
    };
    assert_eq!(requests("src/voltages.rs"), 4 * 50 * 4);
    // Sixteen gains and a factor.
    assert_eq!(requests("src/form.rs"), units * 17);
    let warps = u64::from(launch.config.grid[0] * BLOCK_WARPS);
    assert_eq!(requests("fft_256_512.rs"), warps * 40);
    assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal);
}

/// Runs a kernel with buffers of these lengths in bytes and words; whether it trapped, and whether it wrote.
fn trapped(lengths: [usize; 6], sizes: [u32; 6]) -> (bool, bool) {
    let kernel = only("256_512_i4_f16");
    let mut memory = GlobalMemory::new();
    let voltages = memory.upload(&vec![1u8; lengths[0]]);
    let present = memory.upload(&vec![1u8; lengths[1]]);
    let gains = memory.upload(&vec![1u32; lengths[2]]);
    let factors = memory.upload(&vec![1f32; lengths[3]]);
    let phases = memory.upload(&vec![0u32; lengths[4]]);
    let beams = memory.allocate::<u32>(lengths[5]);
    let layout = FeedLines { lines: 1, feeds: 256, pols: 1, padded: 512 };
    let shape = BeamShape::new(layout, Size::new(256, 512).unwrap(), 1, 1).unwrap();
    let launch = Launch::new(kernel.declaration, [1; 3], [32 * form::WARPS, 1, 1]).shared_bytes(shape.shared_bytes());
    let [channels, times, lines, feeds, pols, unit] = sizes;
    let report = launch.run(&mut memory, || {
        let (voltages, present, gains, factors) = (voltages.into(), present.into(), gains.into(), factors.into());
        (kernel.run)(
            voltages,
            present,
            gains,
            factors,
            phases.into(),
            beams.into(),
            channels,
            times,
            lines,
            feeds,
            pols,
            unit,
        );
    });
    let trapped = report.found(FaultKind::Operand);
    assert!(trapped || report.faults.is_empty(), "{:?}", report.faults);
    (trapped, memory.download(beams).iter().any(Option::is_some))
}

#[test]
fn short_buffers_and_sizes_that_do_not_fit_trap_before_anything_is_written() {
    // Two channels, three times, one line of 10 feeds.
    let (lengths, sizes) = ([60, 30, 20, 2, 40 * 32, 6 * 512], [2, 3, 1, 10, 1, 2]);
    assert_eq!(trapped(lengths, sizes), (false, true));
    for buffer in 0..6 {
        let mut short = lengths;
        short[buffer] -= 1;
        assert_eq!(trapped(short, sizes), (true, false), "buffer {buffer}");
    }
    for (size, value) in [(3, 0), (3, 257), (4, 0), (4, 3), (5, 0), (0, u32::MAX), (1, u32::MAX), (2, u32::MAX)] {
        let mut wrong = sizes;
        wrong[size] = value;
        assert_eq!(trapped(lengths, wrong), (true, false), "size {size}: {value}");
    }
    // Nothing to do is no fault.
    for size in [0, 1, 2] {
        let mut none = sizes;
        none[size] = 0;
        assert_eq!(trapped(lengths, none), (false, false), "size {size}");
    }
}

#[test]
fn kernels_declare_the_shared_memory_that_the_host_gives() {
    for kernel in KERNELS {
        let (inputs, outputs) = kernel.size().unwrap();
        let layout = FeedLines { lines: 3, feeds: inputs, pols: 2, padded: outputs };
        let shape = BeamShape::new(layout, Size::new(inputs, outputs).unwrap(), 2, 5).unwrap();
        assert_eq!(shape.shared_bytes(), form::shared_bytes(inputs.trailing_zeros()));
        let declared = format!("shared_bytes={}", shape.shared_bytes());
        assert!(kernel.declaration.contains(&declared), "{}", kernel.declaration);
    }
}
