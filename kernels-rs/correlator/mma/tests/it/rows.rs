//! The correlation kernels of rows in the emulator, with the launches that the host crate makes, against the reference.

use crate::common;

use common::{C64, Rows, check, rows, run_rows};
use fringes_correlator::internals::mma::{Format, MmaKernel, Order, Variant};
use fringes_emulator::{FaultKind, GlobalMemory, Launch};
use fringes_kernels_correlator_mma as kernels;
use ndarray::Array3;
use num_complex::Complex;

fn kernel(format: Format, variant: Variant, inputs: usize) -> MmaKernel {
    MmaKernel::new(format, Order::Rows, variant, inputs).unwrap()
}

/// Inputs that fill tiles, and inputs that do not.
fn inputs(variant: Variant) -> [usize; 2] {
    match variant {
        Variant::Square => [128, 131],
        Variant::Narrow => [128, 135],
        whole => [whole.side(), whole.side() - 31],
    }
}

/// Every variant of a format: parts of rows at both ends, full tiles and others, added and overwritten.
fn all(format: Format) {
    let row = format.row_times();
    for variant in Variant::ALL {
        let [full, odd] = inputs(variant);
        let sizes = Rows { channels: 1, inputs: full, blocks: 7, first: row + 3, times: 5 * row - 1, parts: 1 };
        rows(kernel(format, variant, full), false, sizes);
        let sizes = Rows { channels: 2, inputs: odd, blocks: 4, first: 7, times: 3 * row + 4, parts: 3 };
        rows(kernel(format, variant, odd), true, sizes);
    }
}

#[test]
fn sums_of_4_bit_samples_are_exact() {
    all(Format::I4);
}

#[test]
fn sums_of_8_bit_samples_are_exact() {
    all(Format::I8);
}

#[test]
fn sums_of_f16_samples_are_within_their_bound() {
    all(Format::F16);
}

#[test]
fn tiles_below_the_diagonal_are_exact() {
    for variant in [Variant::Square, Variant::Narrow] {
        let sizes = Rows { channels: 1, inputs: 256, blocks: 4, first: 0, times: 256, parts: 1 };
        rows(kernel(Format::I8, variant, 256), false, sizes);
    }
}

#[test]
fn any_range_of_times_is_exact() {
    // Within a row, across one boundary, from its last time, to its first, and none.
    for (first, times) in [(0, 1), (3, 5), (63, 2), (60, 4), (64, 64), (1, 127), (127, 1), (5, 0), (0, 129)] {
        let sizes = Rows { channels: 1, inputs: 5, blocks: 3, first, times, parts: 1 };
        rows(kernel(Format::I8, Variant::Whole64, 5), false, sizes);
    }
}

#[test]
fn more_parts_than_rows_leave_some_without_times() {
    for variant in [Variant::Whole64, Variant::Narrow] {
        let sizes = Rows { channels: 2, inputs: 3, blocks: 3, first: 10, times: 150, parts: 5 };
        rows(kernel(Format::I8, variant, 3), false, sizes);
    }
}

#[test]
fn the_largest_sums_fit() {
    // Every product at its largest: here for few times, and for the most that are allowed by the same arithmetic.
    for (format, largest) in [(Format::I4, 7.0), (Format::I8, 127.0)] {
        let sizes = Rows { channels: 1, inputs: 2, blocks: 1, first: 0, times: 63, parts: 1 };
        let voltages = Array3::from_shape_fn((1, 63, 2), |(_, _, input)| {
            if input == 0 { Complex::new(largest, -largest) } else { Complex::new(largest, largest) }
        });
        let answer = run_rows(kernel(format, Variant::Whole64, 2), false, sizes, &sizes.bytes(format, &voltages));
        check(format, voltages.view(), &sizes.split(format), 1, &answer.sums, "largest");
        let scale = if format == Format::I4 { 256 } else { 1 };
        let most = format.most_times().unwrap() as i64;
        let product = 2 * (largest * largest) as i64 * scale;
        assert!(most * product <= i64::from(i32::MAX) && (most + 1) * product > i64::from(i32::MAX));
    }
    assert_eq!(Format::I8.most_times(), Some(kernels::correlate::MAX_TIMES_I8 as usize));
    assert_eq!(Format::I4.most_times(), Some(kernels::correlate::MAX_TIMES_I4 as usize));
}

#[test]
fn the_most_negative_value_is_positive_in_the_imaginary_part_of_the_conjugated_input_alone() {
    for (format, least) in [(Format::I4, -8.0), (Format::I8, -128.0)] {
        let times = 37;
        let sizes = Rows { channels: 1, inputs: 4, blocks: 1, first: 0, times, parts: 1 };
        // Real parts, imaginary parts, both, and a plain sample, with signs that change in time.
        let sign = |time: usize| if time.is_multiple_of(3) { 1.0 } else { -1.0 };
        let x = Array3::from_shape_fn((1, times, 4), |(_, time, input)| match input {
            0 => Complex::new(least, 3.0 * sign(time)),
            1 => Complex::new(2.0 * sign(time + 1), least),
            2 => Complex::new(least, least),
            _ => Complex::new(5.0 * sign(time + 2), -6.0),
        });
        let answer = run_rows(kernel(format, Variant::Whole64, 4), false, sizes, &sizes.bytes(format, &x));
        let mut index = 0;
        for a in 0..4 {
            for b in 0..=a {
                let expected: C64 = (0..times)
                    .map(|time| {
                        let (a, b) = (x[(0, time, a)], x[(0, time, b)]);
                        let negated = if b.im == least { least } else { -b.im };
                        Complex::new(a.re * b.re + a.im * b.im, a.im * b.re + a.re * negated)
                    })
                    .sum();
                assert_eq!(answer.sums[index], expected, "{format:?} {a} {b}");
                index += 1;
            }
        }
    }
}

#[test]
fn a_step_of_a_whole_tile_takes_the_counted_instructions_and_no_bank_conflicts() {
    // Per part of 32 x 32 and quarter of a row: 16 products, 4 loads of fragments, 4 permutes.
    for (variant, parts) in [(Variant::Whole64, 3), (Variant::Whole128, 10), (Variant::Whole160, 15)] {
        let inputs = variant.side();
        let sizes = Rows { channels: 1, inputs, blocks: 1, first: 0, times: 64, parts: 1 };
        let report = rows(kernel(Format::I8, variant, inputs), false, sizes);
        assert_eq!(report.count("mma_m16n8k32_s32_s8").warps, 4 * 16 * parts);
        assert_eq!(report.count("ldmatrix_x4_shared_b16").warps, 4 * 4 * parts);
        assert_eq!(report.count("prmt_b32").warps, 4 * 8 * parts);
        assert_eq!(report.count("cp_async_cg_shared_global_16_src_size").threads, 8 * inputs as u64);
        assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal, "{report}");
    }
}

#[test]
fn arguments_that_do_not_fit_trap_before_anything_is_touched() {
    let kernel = kernel(Format::I8, Variant::Whole64, 8);
    let config = kernel.launch(1, 8, 1).unwrap();
    // Rows, sums, inputs, blocks, first time, times, parts.
    for [rows, sums, inputs, blocks, first, times, parts] in [
        [1023, 36, 8, 1, 0, 64, 1],
        [1024, 35, 8, 1, 0, 64, 1],
        [1024, 36, 8, 1, 1, 64, 1],
        [1024, 36, 8, 1, u32::MAX as usize, 2, 1],
        [1024, 36, 8, 1, 0, 64, 2],
        [1024, 36, 8, 1, 0, 64, 0],
        [1024, 36, 0, 1, 0, 64, 1],
        [16640, 4000, 65, 1, 0, 64, 1],
    ] {
        let mut memory = GlobalMemory::new();
        let input = memory.upload(&vec![1u8; rows]);
        let output = memory.allocate::<[i32; 2]>(sums);
        let declaration = <kernels::correlate_i8_whole_64 as fringes_device::Kernel>::DECLARATION;
        let launch = Launch::new(declaration, config.grid, config.block).shared_bytes(config.shared_bytes);
        let [inputs, blocks, first, times, parts] = [inputs, blocks, first, times, parts].map(|n| n as u32);
        let report = launch.run(&mut memory, || {
            kernels::correlate_i8_whole_64(input.into(), output.into(), 1, inputs, blocks, first, times, parts);
        });
        assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
        assert!(memory.download(output).iter().all(Option::is_none));
    }
}

#[test]
fn a_grid_larger_than_the_data_touches_nothing_else() {
    let sizes = Rows { channels: 2, inputs: 70, blocks: 2, first: 0, times: 65, parts: 2 };
    let voltages = sizes.voltages(Format::I8, 8);
    let mut memory = GlobalMemory::new();
    let input = memory.upload(&sizes.bytes(Format::I8, &voltages));
    let output = memory.allocate::<[i32; 2]>(2 * 2 * 70 * 71 / 2);
    let config = kernel(Format::I8, Variant::Square, 70).launch(2, 70, 2).unwrap();
    let declaration = <kernels::correlate_i8 as fringes_device::Kernel>::DECLARATION;
    let launch = Launch::new(declaration, config.grid.map(|n| n + 1), config.block).shared_bytes(config.shared_bytes);
    let report = launch.run(&mut memory, || kernels::correlate_i8(input.into(), output.into(), 2, 70, 2, 0, 65, 2));
    report.assert_clean();
    let sums: Vec<_> = memory.values(output).iter().map(|s| Complex::new(s[0].into(), s[1].into())).collect();
    check(Format::I8, voltages.view(), &sizes.split(Format::I8), 1, &sums, "larger grid");
}
