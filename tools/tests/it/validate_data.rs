//! What `validate` expects of a GPU, held against the kernels in the emulator: the judge is tested where there is no
//! GPU.

#[path = "../../src/validate/data.rs"]
mod data;

use fringes::correlator::internals::Shape;
use fringes::{Complex, Complex4};
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_gpu::LaunchConfig;
use fringes_kernels_correlator_mma::correlate_i8;

fn launch<K: Kernel>(config: LaunchConfig) -> Launch {
    Launch::new(K::DECLARATION, config.grid, config.block).shared_bytes(config.shared_bytes)
}

#[test]
fn expected_rows_are_those_of_the_reference() {
    for (channels, times, inputs) in [(2, 65, 13), (1, 130, 8), (3, 64, 1)] {
        let shape = Shape::new(channels, times, inputs).unwrap();
        let voltages = data::voltages::<Complex<i8>>(shape, 7);
        let expected = fringes_reference::pack::rows(voltages.view(), None, 64);
        let bytes: Vec<u8> = expected.iter().flat_map(|value| [value.re as u8, value.im as u8]).collect();
        assert_eq!(data::rows(shape, voltages.view(), 0), bytes, "{shape:?}");
    }
}

#[test]
fn expected_sums_are_what_the_correlation_kernel_writes() {
    for (channels, times, inputs) in [(2, 65, 13), (1, 20, 130)] {
        let shape = Shape::new(channels, times, inputs).unwrap();
        let voltages = data::voltages::<Complex<i8>>(shape, 9);
        let mut memory = GlobalMemory::new();
        let rows = memory.upload(&data::rows(shape, voltages.view(), 0x55));
        let sums = memory.allocate::<[i32; 2]>(shape.visibilities());
        let sizes = [shape.channels(), shape.inputs(), shape.blocks(), 0, shape.times()].map(|size| size as u32);
        let [channels, inputs, blocks, first, times] = sizes;
        let run = || correlate_i8(rows.into(), sums.into(), channels, inputs, blocks, first, times, 1);
        launch::<correlate_i8>(shape.correlate_launch()).run(&mut memory, run).assert_clean();
        let actual = memory.values(sums).into_iter().map(|[re, im]| Complex::new(i64::from(re), i64::from(im)));
        assert_eq!(actual.collect::<Vec<_>>(), data::sums(shape, voltages.view(), None).0, "{shape:?}");
    }
}

#[test]
fn both_sources_of_exact_sums_agree() {
    // Just above what the reference's loops are used for: the CPU backend answers, and the reference is asked for two
    // channels of it.
    let shape = Shape::new(5, 1000, 40).unwrap();
    let (voltages, flags) = (data::voltages::<Complex4>(shape, 3), data::flags(shape, 4));
    let (sums, source) = data::sums(shape, voltages.view(), Some(flags.view()));
    assert!(source.contains("CPU"), "{source}");
    let part = Shape::new(2, 1000, 40).unwrap();
    let first = voltages.slice(ndarray::s![..2, .., ..]);
    let (reference, source) = data::sums(part, first, Some(flags.view()));
    assert!(source.contains("reference"), "{source}");
    assert_eq!(sums[..reference.len()], reference);
}

#[test]
fn random_voltages_reach_both_ends_of_their_range_and_are_samples() {
    use fringes::VoltageSample;
    let shape = Shape::new(1, 1000, 64).unwrap();
    let wide = data::voltages::<Complex<i8>>(shape, 1);
    let narrow = data::voltages::<Complex4>(shape, 1);
    assert!(wide.iter().all(|value| value.is_sample()) && narrow.iter().all(|value| value.is_sample()));
    let reach = |parts: Vec<i8>| (parts.iter().copied().min(), parts.iter().copied().max());
    assert_eq!(reach(wide.iter().flat_map(|value| [value.re, value.im]).collect()), (Some(-127), Some(127)));
    assert_eq!(reach(narrow.iter().flat_map(|value| [value.re(), value.im()]).collect()), (Some(-7), Some(7)));
}
