//! The kernels in the emulator against the reference, bit for bit.

use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_kernels_quantise as kernels;
use fringes_reference::quantiser::quantise;
use ndarray::{Array2, Array3};
use num_complex::{Complex, Complex64};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const THREADS: u32 = 256;

#[derive(Clone, Copy, Debug)]
struct Case {
    size: [usize; 3],
    runs: u32,
    four_bits: bool,
    flags: bool,
}

/// Voltages with ties, values at and beyond the limit, infinities and NaN; gains that give exact ties among them.
fn voltages(size: [usize; 3], random: &mut Xoshiro256PlusPlus) -> (Array3<Complex<f32>>, Array2<Complex<f32>>) {
    let special = [0.0, -0.0, 3.5, -0.5, 7.0, 7.5, 126.5, -127.0, 127.5, 1e30, f32::INFINITY, f32::NAN, 1e-40];
    let [channels, times, inputs] = size;
    let mut part = || match random.random_range(0..4) {
        0 => special[random.random_range(0..special.len())],
        1 => f32::from(random.random_range(-300..300i16)) / 2.0,
        _ => random.random_range(-150.0..150.0),
    };
    let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || Complex::new(part(), part()));
    let gains = [1.0, -0.5, 0.1, 1.0 / 3.0, 0.0];
    let mut gain = || gains[random.random_range(0..gains.len())];
    (voltages, Array2::from_shape_simple_fn((channels, inputs), || Complex::new(gain(), gain())))
}

fn run(case: Case, seed: u64) -> Report {
    let [channels, times, inputs] = case.size;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut x, gains) = voltages(case.size, &mut random);
    let flags = Array2::from_shape_simple_fn((times, inputs), || !case.flags || random.random_bool(0.7));
    let pairs = |values: Vec<Complex<f32>>| values.into_iter().map(|v| [v.re, v.im]).collect::<Vec<_>>();
    let mut memory = GlobalMemory::new();
    let from = memory.upload(&pairs(x.iter().copied().collect()));
    let on_device = memory.upload(&pairs(gains.iter().copied().collect()));
    let present: Vec<u8> = flags.iter().map(|&flag| flag.into()).collect();
    let present = memory.upload(if case.flags { &present[..] } else { &[] });
    let saturated = memory.upload(&vec![1000u64; inputs]);
    let columns = case.runs * inputs as u32;
    let blocks = columns.div_ceil(THREADS) * channels as u32;
    let [c, t, i] = case.size.map(|size| size as u32);
    let length = channels * times * inputs;
    // A block too many does nothing.
    let grid = [blocks + 1, 1, 1];
    let (report, found): (_, Vec<[i8; 2]>) = if case.four_bits {
        let to = memory.allocate::<u8>(length);
        let launch = Launch::new(<kernels::quantise_i4 as Kernel>::DECLARATION, grid, [THREADS, 1, 1]).seed(seed);
        let report = launch.run(&mut memory, || {
            let (to, saturated) = (to.into(), saturated.into());
            kernels::quantise_i4(from.into(), to, on_device.into(), present.into(), saturated, c, t, i, case.runs);
        });
        let values = memory.values(to);
        (report, values.into_iter().map(|byte: u8| [byte as i8 >> 4, (byte << 4) as i8 >> 4]).collect())
    } else {
        let to = memory.allocate::<u16>(length);
        let launch = Launch::new(<kernels::quantise_i8 as Kernel>::DECLARATION, grid, [THREADS, 1, 1]).seed(seed);
        let report = launch.run(&mut memory, || {
            let (to, saturated) = (to.into(), saturated.into());
            kernels::quantise_i8(from.into(), to, on_device.into(), present.into(), saturated, c, t, i, case.runs);
        });
        let values = memory.values(to);
        (report, values.into_iter().map(|word: u16| word.to_le_bytes().map(|byte| byte as i8)).collect())
    };
    report.assert_clean();
    // The reference has no flags: absent voltages are 0 there, which never count.
    for ((_, time, input), value) in x.indexed_iter_mut() {
        if !flags[(time, input)] {
            *value = Complex::new(0.0, 0.0);
        }
    }
    let wide = |v: Complex<f32>| Complex64::new(v.re.into(), v.im.into());
    let limit = if case.four_bits { 7.0 } else { 127.0 };
    let (expected, counts) = quantise(x.mapv(wide).view(), gains.mapv(wide).view(), limit);
    for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.map(f64::from), [f64::from(expected.re), f64::from(expected.im)], "{case:?} {place}");
    }
    let found: Vec<u64> = memory.values(saturated);
    assert!(found.iter().zip(&counts).all(|(&found, &count)| found == 1000 + count), "{case:?}: {found:?}");
    report
}

#[test]
fn integers_and_counts_are_those_of_the_reference() {
    let sizes =
        [([3, 7, 2], 2), ([2, 40, 32], 5), ([1, 65, 33], 9), ([2, 5, 300], 5), ([1, 1, 1], 1), ([1, 33, 1], 40)];
    for (seed, (size, runs)) in sizes.into_iter().enumerate() {
        for (four_bits, flags) in [(false, false), (true, false), (false, true), (true, true)] {
            run(Case { size, runs, four_bits, flags }, seed as u64);
        }
    }
}

#[test]
fn views_that_are_too_short_trap() {
    for short in 0..5 {
        let lengths: [usize; 5] = std::array::from_fn(|i| [24, 24, 6, 8, 2][i] - usize::from(i == short));
        let mut memory = GlobalMemory::new();
        let from = memory.upload(&vec![[0.0f32; 2]; lengths[0]]);
        let to = memory.allocate::<u16>(lengths[1]);
        let gains = memory.upload(&vec![[1.0f32, 0.0]; lengths[2]]);
        let present = memory.upload(&vec![1u8; lengths[3]]);
        let saturated = memory.upload(&vec![0u64; lengths[4]]);
        let launch = Launch::new(<kernels::quantise_i8 as Kernel>::DECLARATION, [3, 1, 1], [THREADS, 1, 1]);
        let report = launch.run(&mut memory, || {
            let (to, saturated) = (to.into(), saturated.into());
            kernels::quantise_i8(from.into(), to, gains.into(), present.into(), saturated, 3, 4, 2, 4);
        });
        assert!(report.faults.iter().any(|fault| fault.message == "the kernel trapped"), "{short}");
    }
}
