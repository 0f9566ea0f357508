//! The correlator's kernels in the emulator, with the launches that the host crate makes, against the reference.

use fringes_correlator::gpu::Shape;
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_gpu::LaunchConfig;
use fringes_kernels_correlator as kernels;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn launch<K: Kernel>(config: LaunchConfig) -> Launch {
    Launch::new(K::DECLARATION, config.grid, config.block).shared_bytes(config.shared_bytes)
}

/// Full-range samples: -127..=127.
fn voltages(shape: Shape, seed: u64) -> Array3<Complex<i8>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let shape = (shape.channels(), shape.times(), shape.inputs());
    Array3::from_shape_simple_fn(shape, || {
        Complex::new(random.random_range(-127..=127), random.random_range(-127..=127))
    })
}

/// 4+4-bit samples, as bytes and as values.
fn narrow(shape: Shape, seed: u64) -> (Vec<u8>, Array3<Complex<i8>>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let shape = (shape.channels(), shape.times(), shape.inputs());
    let values = Array3::from_shape_simple_fn(shape, || {
        Complex::new(random.random_range(-7..=7), random.random_range(-7..=7i8))
    });
    (values.iter().map(|v: &Complex<i8>| (v.re as u8) << 4 | (v.im as u8 & 15)).collect(), values)
}

fn bytes(values: &Array3<Complex<i8>>) -> Vec<u8> {
    values.iter().flat_map(|value| [value.re as u8, value.im as u8]).collect()
}

/// Rows `[channel][time / 64][input][64]` by definition; times past the end hold `fill`.
fn rows(shape: Shape, values: &Array3<Complex<i8>>, presence: Option<&Array2<bool>>, fill: u8) -> Vec<u8> {
    let mut rows = vec![fill; shape.row_bytes()];
    for ((channel, time, input), value) in values.indexed_iter() {
        let row = (channel * shape.blocks() + time / 64) * shape.inputs() + input;
        let present = presence.is_none_or(|flags| flags[(time, input)]);
        let value = if present { *value } else { Complex::default() };
        rows[row * 128 + 2 * (time % 64)] = value.re as u8;
        rows[row * 128 + 2 * (time % 64) + 1] = value.im as u8;
    }
    rows
}

type Pack = fn(fringes_device::Global<u8>, fringes_device::Global<u8>, fringes_device::GlobalMut<u8>, u32, u32, u32);

fn pack<K: Kernel>(kernel: Pack, shape: Shape, voltages: &[u8], presence: Option<&Array2<bool>>) -> (Vec<u8>, Report) {
    let mut memory = GlobalMemory::new();
    let input = memory.upload(voltages);
    let flags = memory.upload(&presence.map_or(Vec::new(), |flags| flags.iter().map(|flag| u8::from(*flag)).collect()));
    let output = memory.allocate::<u8>(shape.row_bytes());
    let (channels, times, inputs) = (shape.channels() as u32, shape.times() as u32, shape.inputs() as u32);
    let report = launch::<K>(shape.pack_launch())
        .run(&mut memory, || kernel(input.into(), flags.into(), output.into(), channels, times, inputs));
    report.assert_clean();
    (memory.values(output), report)
}

const PACKED: [(usize, usize, usize); 6] =
    [(2, 64, 64), (1, 128, 72), (3, 65, 8), (1, 1, 1), (2, 63, 13), (1, 130, 70)];

#[test]
fn packed_rows_are_those_of_the_definition() {
    for (seed, (channels, times, inputs)) in PACKED.into_iter().enumerate() {
        let shape = Shape::new(channels, times, inputs).unwrap();
        let values = voltages(shape, seed as u64);
        let (narrow_bytes, narrow_values) = narrow(shape, seed as u64);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(99);
        let presence = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.7));
        for presence in [None, Some(&presence)] {
            let (expected, expected_narrow) =
                (rows(shape, &values, presence, 0), rows(shape, &narrow_values, presence, 0));
            if inputs % 8 == 0 {
                let (packed, _) = pack::<kernels::pack_i8>(kernels::pack_i8, shape, &bytes(&values), presence);
                assert_eq!(packed, expected, "8 bits, wide, {shape:?}");
                let (packed, _) = pack::<kernels::pack_i4>(kernels::pack_i4, shape, &narrow_bytes, presence);
                assert_eq!(packed, expected_narrow, "4 bits, wide, {shape:?}");
            }
            let (packed, _) = pack::<kernels::pack_i8_any>(kernels::pack_i8_any, shape, &bytes(&values), presence);
            assert_eq!(packed, expected, "8 bits, {shape:?}");
            let (packed, _) = pack::<kernels::pack_i4_any>(kernels::pack_i4_any, shape, &narrow_bytes, presence);
            assert_eq!(packed, expected_narrow, "4 bits, {shape:?}");
        }
    }
}

#[test]
fn packing_is_coalesced_and_free_of_bank_conflicts() {
    let shape = Shape::new(2, 128, 128).unwrap();
    let (_, report) = pack::<kernels::pack_i8>(kernels::pack_i8, shape, &bytes(&voltages(shape, 5)), None);
    assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal);
    assert_eq!(report.global_sectors, report.global_sectors_ideal);
    assert_eq!(report.global_sectors * 32, 2 * shape.row_bytes() as u64);
}

/// Sums of a correlation kernel over `times` from `first_block` on.
fn correlate<S: fringes_emulator::Element + Default>(
    shape: Shape,
    rows: &[u8],
    times: (usize, usize),
    initial: Option<Vec<S>>,
    run: impl Fn(fringes_device::Global<u8>, fringes_emulator::Buffer<S>, [u32; 5]),
    declaration: &'static str,
) -> (Vec<S>, Report) {
    let mut memory = GlobalMemory::new();
    let rows = memory.upload(rows);
    let sums = match initial {
        Some(initial) => memory.upload(&initial),
        None => memory.allocate::<S>(shape.visibilities()),
    };
    let numbers = [shape.channels(), shape.inputs(), shape.blocks(), times.0, times.1].map(|n| n as u32);
    let config = shape.correlate_launch();
    let launch = Launch::new(declaration, config.grid, config.block).shared_bytes(config.shared_bytes);
    let report = launch.run(&mut memory, || run(rows.into(), sums, numbers));
    report.assert_clean();
    (memory.values(sums), report)
}

fn correlate_i8(shape: Shape, rows: &[u8], times: (usize, usize)) -> (Vec<[i32; 2]>, Report) {
    let run = |rows, sums: fringes_emulator::Buffer<[i32; 2]>, [c, n, blocks, first, times]: [u32; 5]| {
        kernels::correlate_i8(rows, sums.into(), c, n, blocks, first, times)
    };
    correlate(shape, rows, times, None, run, <kernels::correlate_i8 as Kernel>::DECLARATION)
}

fn reference(values: &Array3<Complex<i8>>) -> Vec<Complex<i64>> {
    let wide = values.mapv(|value| Complex::new(i64::from(value.re), i64::from(value.im)));
    fringes_reference::correlator::correlate_int(wide.view(), None).sums.into_iter().collect()
}

#[test]
fn sums_equal_the_reference_at_awkward_sizes() {
    let sizes = [(1, 64, 128), (1, 1, 1), (2, 65, 3), (1, 200, 130), (3, 63, 2), (1, 129, 64), (1, 20, 257)];
    for (seed, (channels, times, inputs)) in sizes.into_iter().enumerate() {
        let shape = Shape::new(channels, times, inputs).unwrap();
        let values = voltages(shape, 40 + seed as u64);
        // What lies past the last time must not matter.
        let (sums, _) = correlate_i8(shape, &rows(shape, &values, None, 0x55), (0, times));
        let sums: Vec<_> = sums.into_iter().map(|[re, im]| Complex::new(i64::from(re), i64::from(im))).collect();
        assert_eq!(sums, reference(&values), "{shape:?}");
    }
}

#[test]
fn the_largest_sum_fits() {
    // Every product at its largest: 63 times 2 * 127^2 here; 66572 times stay below 2^31 by the same arithmetic.
    let shape = Shape::new(1, 63, 5).unwrap();
    let values = Array3::from_elem((1, 63, 5), Complex::new(127, -127));
    let (sums, _) = correlate_i8(shape, &rows(shape, &values, None, 0), (0, 63));
    assert!(sums.iter().all(|sum| *sum == [63 * 2 * 127 * 127, 0]));
    let most = fringes_correlator::gpu::MAX_LAUNCH_TIMES as i64;
    assert_eq!(most, i64::from(kernels::correlate::MAX_TIMES));
    assert!(most * 2 * 127 * 127 <= i64::from(i32::MAX) && (most + 1) * 2 * 127 * 127 > i64::from(i32::MAX));
}

#[test]
fn parts_of_the_time_add_up_in_64_bits() {
    let shape = Shape::new(2, 150, 9).unwrap();
    let values = voltages(shape, 77);
    let rows = rows(shape, &values, None, 0x7f);
    let run = |rows, sums: fringes_emulator::Buffer<[i64; 2]>, [c, n, blocks, first, times]: [u32; 5]| {
        kernels::correlate_i8_add(rows, sums.into(), c, n, blocks, first, times)
    };
    let declaration = <kernels::correlate_i8_add as Kernel>::DECLARATION;
    let offset = 1i64 << 40;
    let initial = vec![[offset, -offset]; shape.visibilities()];
    let (half, _) = correlate(shape, &rows, (0, 64), Some(initial), run, declaration);
    let (sums, _) = correlate(shape, &rows, (1, 86), Some(half), run, declaration);
    let sums: Vec<_> = sums.into_iter().map(|[re, im]| Complex::new(re - offset, im + offset)).collect();
    assert_eq!(sums, reference(&values));
}

#[test]
fn a_stage_of_a_full_tile_takes_the_counted_instructions() {
    // Two tiles on the diagonal and one below it, one block of 64 times: per warp 4 steps of 32 products, 6 ldmatrix each.
    let shape = Shape::new(1, 64, 256).unwrap();
    let (_, report) = correlate_i8(shape, &rows(shape, &voltages(shape, 3), None, 0), (0, 64));
    let warps = 8 + 2 * 6; // a warp above the diagonal is idle: two of eight
    assert_eq!(report.count("mma_m16n8k32_s32_s8").warps, warps * 4 * 32);
    assert_eq!(report.count("ldmatrix_x4_shared_b16").warps, warps * 4 * 6);
    assert_eq!(report.count("prmt_b32").warps, warps * 4 * 8);
    // A diagonal tile loads its 128 rows once: 4 rows of 8 chunks for each of 256 threads.
    assert_eq!(report.count("cp_async_cg_shared_global_16_src_size").threads, (4 + 4 + 8) * 256);
    assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal);
}

#[test]
fn short_buffers_trap_before_anything_is_touched() {
    let shape = Shape::new(1, 64, 8).unwrap();
    let mut memory = GlobalMemory::new();
    let rows = memory.upload(&vec![1u8; shape.row_bytes()]);
    let sums = memory.allocate::<[i32; 2]>(shape.visibilities() - 1);
    let config = shape.correlate_launch();
    let launch = launch::<kernels::correlate_i8>(config);
    let report = launch.run(&mut memory, || kernels::correlate_i8(rows.into(), sums.into(), 1, 8, 1, 0, 64));
    assert!(report.found(fringes_emulator::FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
    assert!(memory.download(sums).iter().all(Option::is_none));
}

#[test]
fn a_grid_larger_than_the_data_touches_nothing_else() {
    let shape = Shape::new(2, 65, 70).unwrap();
    let values = voltages(shape, 8);
    let mut memory = GlobalMemory::new();
    let (input, flags) = (memory.upload(&bytes(&values)), memory.upload::<u8>(&[]));
    let packed = memory.allocate::<u8>(shape.row_bytes());
    let mut config = shape.pack_launch();
    config.grid = config.grid.map(|blocks| blocks + 2);
    let report = launch::<kernels::pack_i8_any>(config)
        .run(&mut memory, || kernels::pack_i8_any(input.into(), flags.into(), packed.into(), 2, 65, 70));
    report.assert_clean();
    assert_eq!(memory.values(packed), rows(shape, &values, None, 0));

    let sums = memory.allocate::<[i32; 2]>(shape.visibilities());
    let mut config = shape.correlate_launch();
    config.grid = config.grid.map(|blocks| blocks + 1);
    let report = launch::<kernels::correlate_i8>(config)
        .run(&mut memory, || kernels::correlate_i8(packed.into(), sums.into(), 2, 70, 2, 0, 65));
    report.assert_clean();
    let sums: Vec<_> = memory.values(sums).iter().map(|s| Complex::new(i64::from(s[0]), i64::from(s[1]))).collect();
    assert_eq!(sums, reference(&values));
}

#[test]
fn the_host_launches_what_the_kernels_are_made_for() {
    for (channels, times, inputs) in [(1, 1, 1), (70_000, 129, 129), (64, 4096, 1024)] {
        let shape = Shape::new(channels, times, inputs).unwrap();
        let config = shape.correlate_launch();
        assert_eq!(config.shared_bytes, kernels::correlate::SHARED_BYTES);
        assert_eq!(config.grid[0], kernels::tile::count(inputs as u32));
        assert!(u64::from(config.grid[1]) * u64::from(config.grid[2]) >= channels as u64);
        assert_eq!(shape.row_bytes() as u64, kernels::rows::bytes(channels as u32, times as u64, inputs as u32));
        assert_eq!(shape.pack_launch().grid[0], (inputs as u32).div_ceil(kernels::pack::INPUTS));
    }
}
