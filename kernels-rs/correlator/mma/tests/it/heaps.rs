//! The correlation kernels of heaps in the emulator, with the launches that the host crate makes, against the
//! reference.

use crate::common;

use common::{Heaps, heaps};
use fringes_correlator::internals::mma::{Format, MmaKernel, Order, Variant};
use fringes_emulator::{FaultKind, GlobalMemory, Launch};
use fringes_kernels_correlator_mma as kernels;

fn kernel(format: Format, order: Order, inputs: usize, variant: Variant) -> Option<MmaKernel> {
    MmaKernel::new(format, order, variant, inputs)
}

/// Every kernel of a format: batches of whole steps, of 16-byte rows that are no whole steps, and of any number of
/// spectra.
fn all(format: Format) {
    // Spectra of 128 bytes of one polarisation.
    let step = format.row_times();
    for variant in Variant::ALL {
        let antennas = if variant.is_whole() { variant.side() / 2 } else { 65 };
        let whole = Heaps { channels: 2, antennas, pols: 2, buffer: 4, spectra: step, first: 1, batches: 3, parts: 1 };
        let Some(kernel) = kernel(format, Order::DualHeaps, 2 * antennas, variant) else { continue };
        heaps(kernel, false, whole);
        heaps(kernel, true, Heaps { antennas: antennas - 5, spectra: 3 * step / 2, parts: 2, batches: 2, ..whole });
        heaps(kernel, true, Heaps { antennas: antennas - 9, spectra: step + 3, channels: 1, parts: 3, ..whole });
    }
    for variant in [Variant::Square, Variant::Narrow] {
        let Some(kernel) = kernel(format, Order::SingleHeaps, 131, variant) else { continue };
        let single =
            Heaps { channels: 1, antennas: 131, pols: 1, buffer: 3, spectra: step, first: 0, batches: 3, parts: 1 };
        heaps(kernel, false, single);
        heaps(kernel, true, Heaps { antennas: 9, channels: 2, spectra: step + 5, parts: 2, ..single });
    }
}

#[test]
fn sums_of_4_bit_heaps_are_exact() {
    all(Format::I4);
}

#[test]
fn sums_of_8_bit_heaps_are_exact() {
    all(Format::I8);
}

#[test]
fn sums_of_f16_heaps_are_within_their_bound() {
    all(Format::F16);
}

#[test]
fn many_batches_are_one_run_of_steps() {
    // More steps than stages, so that copies need no mask, with batches that end in the middle of them.
    let sizes = Heaps { channels: 1, antennas: 64, pols: 2, buffer: 5, spectra: 128, first: 0, batches: 5, parts: 2 };
    let report = heaps(kernel(Format::I8, Order::DualHeaps, 128, Variant::Whole128).unwrap(), false, sizes);
    assert!(report.count("cp_async_cg_shared_global_16").threads > 0);
    assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal, "{report}");
}

#[test]
fn few_spectra_antennas_and_batches_are_exact() {
    for (antennas, spectra, batches) in [(1, 1, 1), (2, 7, 3), (3, 8, 2), (1, 64, 1), (2, 33, 0)] {
        let sizes = Heaps { channels: 3, antennas, pols: 2, buffer: batches + 1, spectra, first: 1, batches, parts: 1 };
        heaps(kernel(Format::I8, Order::DualHeaps, 2 * antennas, Variant::Whole64).unwrap(), false, sizes);
    }
}

#[test]
fn arguments_that_do_not_fit_trap_before_anything_is_touched() {
    let kernel = kernel(Format::I8, Order::DualHeaps, 4, Variant::Whole64).unwrap();
    let config = kernel.launch(1, 4, 1).unwrap();
    // Bytes, sums, antennas, polarisations, batches in the buffer, spectra, first batch, batches, parts.
    for [bytes, sums, antennas, pols, buffer, spectra, first, batches, parts] in [
        [255, 10, 2, 2, 2, 16, 0, 2, 1],
        [256, 9, 2, 2, 2, 16, 0, 2, 1],
        [256, 10, 2, 1, 2, 16, 0, 2, 1],
        [256, 10, 2, 2, 2, 16, 1, 2, 1],
        [256, 10, 2, 2, 2, 16, u32::MAX as usize, 2, 1],
        [256, 10, 2, 2, 2, 16, 0, 2, 0],
        [256, 10, 0, 2, 2, 16, 0, 2, 1],
        [9000, 3000, 33, 2, 2, 16, 0, 2, 1],
    ] {
        let mut memory = GlobalMemory::new();
        let input = memory.upload(&vec![1u8; bytes]);
        let output = memory.allocate::<[i32; 2]>(sums);
        let declaration = <kernels::correlate_heaps_i8_whole_64 as fringes_device::Kernel>::DECLARATION;
        let launch = Launch::new(declaration, config.grid, config.block).shared_bytes(config.shared_bytes);
        let numbers = [antennas, pols, buffer, spectra, first, batches, parts].map(|n| n as u32);
        let report = launch.run(&mut memory, || {
            let [antennas, pols, buffer, spectra, first, batches, parts] = numbers;
            let (input, output) = (input.into(), output.into());
            kernels::correlate_heaps_i8_whole_64(
                input, output, 1, antennas, pols, buffer, spectra, first, batches, parts,
            );
        });
        assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
        assert!(memory.download(output).iter().all(Option::is_none));
    }
}
