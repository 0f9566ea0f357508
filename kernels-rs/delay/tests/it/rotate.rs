//! The rotation kernels in the emulator against the reference: every layout, format and awkward size.

use crate::common;

use common::{Case, Expected, Layout, Order, run};
use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{AccessKind, FaultKind, GlobalMemory, Launch};
use fringes_kernels_delay as kernels;

/// Sizes that no kernel but the one for any takes: channels, batches, spectra, antennas, polarisations.
const ODD: [[usize; 5]; 3] = [[3, 2, 7, 3, 1], [35, 1, 5, 1, 1], [1, 3, 3, 2, 2]];

/// Sizes of whole runs.
const WHOLE: [[usize; 5]; 4] = [[5, 2, 8, 4, 2], [33, 3, 16, 2, 2], [70, 1, 24, 8, 1], [2, 1, 5 * 128 + 8, 2, 2]];

/// All layouts of a size for which there is a wide kernel, and with any.
fn layouts(case: Case) {
    let [_, _, spectra, antennas, pols] = case.size;
    let inputs = antennas * pols;
    let run_of = case.format.run();
    for order in [Order::Voltages, Order::Heaps, Order::Rows] {
        let whole = match order {
            Order::Voltages => inputs % case.format.voltage_run() == 0,
            Order::Heaps => spectra * pols % run_of == 0,
            Order::Rows => true,
        };
        if whole {
            run(Case { layout: Layout { order, any: false }, ..case });
        }
        if order != Order::Rows {
            run(Case { layout: Layout { order, any: true }, ..case });
        }
    }
}

macro_rules! formats {
    ($($name:ident: $format:expr;)*) => { $(
        #[test]
        fn $name() {
            for (seed, size) in ODD.into_iter().chain(WHOLE).enumerate() {
                layouts(Case { size, seed: seed as u64, gains: seed % 3 != 0, in_place: seed % 2 == 0, ..Case::new($format) });
            }
        }
    )* };
}

formats! {
    rotated_4_bit_voltages_are_those_of_the_reference: common::Format::Int4;
    rotated_8_bit_voltages_are_those_of_the_reference: common::Format::Int8;
    rotated_f16_voltages_are_those_of_the_reference: common::Format::Float16;
    rotated_f32_voltages_are_those_of_the_reference: common::Format::Float32;
}

#[test]
fn dithered_voltages_are_those_of_the_reference() {
    for format in [common::Format::Int4, common::Format::Int8] {
        for (seed, size) in [ODD[0], WHOLE[1], WHOLE[2]].into_iter().enumerate() {
            layouts(Case { size, seed: seed as u64, dither: Some(0x0123_4567_89ab_cdef), ..Case::new(format) });
        }
    }
}

#[test]
fn a_part_of_the_channels_is_the_same_part_of_the_result() {
    // Phases and dither go by the number of the channel in the whole band, up to the last of 65536.
    for first_channel in [1000, 65536 - 33] {
        let case = Case { size: WHOLE[1], first_channel, dither: Some(7), ..Case::new(common::Format::Int8) };
        layouts(case);
        layouts(Case { dither: None, ..Case { format: common::Format::Float32, ..case } });
    }
}

#[test]
fn saturated_values_count_once_for_their_input_beside_what_was_counted() {
    for format in [common::Format::Int4, common::Format::Int8] {
        // Gains of 2: most values are too large.
        let case = Case { size: WHOLE[1], gain: 2.0, ..Case::new(format) };
        let Expected { saturated, .. } = case.expected();
        assert!(saturated.iter().all(|&count| count > 100), "{saturated:?}");
        layouts(case);
        layouts(Case { size: ODD[0], ..case });
    }
}

#[test]
fn wide_kernels_move_whole_sectors() {
    for format in common::Format::ALL {
        for order in [Order::Voltages, Order::Heaps, Order::Rows] {
            let size = [32, 1, 256, 16, 2];
            let layout = Layout { order, any: false };
            let report = run(Case { size, gains: false, layout, counted: false, ..Case::new(format) });
            let sectors = (size.iter().product::<usize>() * format.bytes() / 32) as u64;
            // Stores are of samples alone; loads are of samples or of phases.
            let lines = |kind| report.accesses.iter().filter(move |line| line.kind == kind);
            let stored: u64 = lines(AccessKind::Store).map(|line| line.transactions).sum();
            assert_eq!(stored, sectors, "{format:?} {order:?}");
            let mut samples = lines(AccessKind::Load).filter(|line| line.ideal == sectors);
            assert!(samples.any(|line| line.transactions == sectors), "{format:?} {order:?}: {report}");
        }
    }
}

#[test]
fn short_views_trap_before_anything_is_touched() {
    type Rotate =
        fn(Global<u8>, GlobalMut<u8>, Global<[u64; 2]>, Global<[f32; 2]>, GlobalMut<u64>, u32, u32, u32, u32, u64, u64);
    let kernel: (Rotate, &str) = (kernels::rotate_i8, kernels::rotate_i8::DECLARATION);
    let trapped = |[from, to, phases, gains, saturated]: [usize; 5], [channels, times, inputs]: [u32; 3]| {
        let mut memory = GlobalMemory::new();
        let from = memory.upload(&vec![1u8; from]);
        let to = memory.allocate::<u8>(to);
        let phases = memory.upload(&vec![[0u64; 2]; phases]);
        let gains = memory.upload(&vec![[1f32, 0.0]; gains]);
        let saturated = memory.upload(&vec![0u64; saturated]);
        let report = Launch::new(kernel.1, [1, 1, 1], [256, 1, 1]).run(&mut memory, || {
            let (phases, gains, saturated) = (phases.into(), gains.into(), saturated.into());
            kernel.0(from.into(), to.into(), phases, gains, saturated, channels, times, inputs, 0, 0, 0);
        });
        assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
        assert!(memory.download(to).iter().all(Option::is_none));
    };
    // 2 channels, 3 times, 8 inputs: 96 bytes.
    let size = [2, 3, 8];
    trapped([95, 96, 24, 16, 8], size);
    trapped([96, 95, 24, 16, 8], size);
    trapped([96, 96, 23, 16, 8], size);
    trapped([96, 96, 24, 15, 8], size);
    trapped([96, 96, 24, 16, 7], size);
    trapped([96, 96, 24, 16, 8], [2, 3, 6]);
    trapped([96, 96, 24, 16, 8], [u32::MAX, u32::MAX, 8]);
    trapped([96, 96, 24, 0, 0], [u32::MAX, 0, 8]);
}
