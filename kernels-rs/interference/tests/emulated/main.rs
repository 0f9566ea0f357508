//! The kernels in the emulator against exact sums and plain copies.

mod data;
mod rows;
mod sums;

use data::{Case, FORMATS, Format, Heaps, heaps, mask, power};
use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{AccessKind, GlobalMemory, Launch, Report};
use fringes_kernels_interference as kernels;
use fringes_reference::interference::power_sums;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Shapes, blocks, leads, lanes and voltages ahead. Among them: heaps of whole pieces and of others, blocks of parts of
/// heaps, of heaps and of several, pieces with parts of two blocks, stretches that lie in one piece.
const SIZES: [([usize; 5], usize, usize, u32, usize); 12] = [
    ([1, 1, 1, 1, 1], 1, 0, 4, 0),
    ([2, 3, 5, 64, 2], 64, 0, 8, 0),
    ([3, 2, 3, 256, 2], 512, 256, 16, 0),
    ([2, 2, 4, 160, 1], 32, 16, 4, 0),
    ([3, 2, 2, 7, 2], 5, 3, 4, 0),
    ([2, 3, 2, 33, 1], 16, 15, 8, 3),
    ([1, 2, 3, 600, 2], 1000, 999, 32, 1),
    ([4, 1, 2, 50, 1], 64, 1, 16, 2),
    ([5, 2, 9, 3, 1], 7, 0, 4, 5),
    ([2, 2, 2, 128, 2], 128, 0, 4, 4),
    ([1, 1, 2, 2500, 1], 4000, 0, 4, 0),
    ([2, 1, 70, 16, 1], 1, 0, 4, 0),
];

fn cases() -> impl Iterator<Item = Case> {
    SIZES.into_iter().flat_map(|(shape, block, lead, lanes, ahead)| {
        FORMATS
            .into_iter()
            .flat_map(move |format| [false, true].map(|flags| Case { format, shape, block, lead, lanes, ahead, flags }))
    })
}

/// Exact sums `[2][channel][block][input]` of whole numbers, and how many there are.
fn exact(case: &Case, heaps: &Heaps) -> Vec<(u128, u64)> {
    let [_, antennas, channels, spectra, pols] = case.shape;
    let inputs = antennas * pols;
    let all = channels * case.blocks() * inputs;
    let mut sums = vec![(0, 0); 2 * all];
    for (voltage, [re, im]) in heaps.parts.iter().enumerate() {
        let heap = voltage / pols / spectra / channels;
        if !heaps.present[heap] {
            continue;
        }
        let [channel, time] = case.place(voltage);
        let input = heap % antennas * pols + voltage % pols;
        let place = (channel * case.blocks() + (time + case.lead) / case.block) * inputs + input;
        let power = u128::from(re.unsigned_abs()).pow(2) + u128::from(im.unsigned_abs()).pow(2);
        for (place, value) in [(place, power), (all + place, power * power)] {
            sums[place] = (sums[place].0 + value, sums[place].1 + 1);
        }
    }
    sums
}

#[test]
fn sums_of_integers_are_exact_and_those_of_floats_within_their_bound() {
    for (seed, case) in cases().enumerate() {
        let heaps = heaps(&case, seed as u64);
        let (found, _) = power(&case, &heaps, seed as u64);
        let expected = exact(&case, &heaps);
        assert_eq!(found.len(), expected.len());
        for (place, (&bits, &(sum, count))) in found.iter().zip(&expected).enumerate() {
            if case.format.is_integer() {
                assert_eq!(u128::from(bits), sum, "{case:?} {place}");
                continue;
            }
            // A sum of whole numbers stays one when it is rounded.
            let kind = if place < found.len() / 2 { 2 } else { 4 };
            let scaled = f64::from_bits(bits) * case.format.scale().powi(kind);
            assert!(scaled.fract() == 0.0 && scaled >= 0.0, "{case:?} {place}: {scaled}");
            let error = (scaled as u128).abs_diff(sum);
            assert!(error << 53 <= u128::from(count + 4) * sum, "{case:?} {place}: {scaled} {sum}");
        }
    }
}

#[test]
fn sums_of_integers_are_those_of_the_reference() {
    for (seed, case) in cases().filter(|case| case.format.is_integer()).enumerate() {
        let [_, antennas, channels, spectra, pols] = case.shape;
        let heaps = heaps(&case, 77 + seed as u64);
        let mut voltages = Array3::zeros((channels, case.times(), antennas * pols));
        let mut present = Array2::from_elem((case.times(), antennas * pols), false);
        for (voltage, [re, im]) in heaps.parts.iter().enumerate() {
            let ([channel, time], heap) = (case.place(voltage), voltage / pols / spectra / channels);
            let input = heap % antennas * pols + voltage % pols;
            voltages[(channel, time, input)] = Complex::new(*re as f64, *im as f64);
            present[(time, input)] = heaps.present[heap];
        }
        let expected = power_sums(voltages.view(), Some(present.view()), case.block, case.lead);
        let (found, _) = power(&case, &heaps, seed as u64);
        let expected: Vec<f64> = expected.first.iter().chain(&expected.second).copied().collect();
        assert_eq!(found.iter().map(|&sum| sum as f64).collect::<Vec<_>>(), expected, "{case:?}");
    }
}

/// Sectors of the line of source that accesses most.
fn most_sectors(report: &Report, kind: AccessKind) -> u64 {
    report.accesses.iter().filter(|line| line.kind == kind).map(|line| line.transactions).max().unwrap_or(0)
}

#[test]
fn the_most_negative_integer_of_4_bits_counts_as_it_is() {
    // It is no sample, but bytes of files may be anything.
    let case =
        Case { format: Format::I4, shape: [1, 1, 1, 32, 1], block: 32, lead: 0, lanes: 4, ahead: 0, flags: false };
    let all = Heaps { bytes: vec![0x88; 32], parts: Vec::new(), present: vec![true] };
    assert_eq!(power(&case, &all, 0).0, [32 * 128, 32 * 128 * 128]);
}

#[test]
fn whole_pieces_are_loaded_once_and_absent_heaps_never() {
    for format in FORMATS {
        let shape = [2, 3, 4, 64, 2];
        let case = Case { format, shape, block: 64, lead: 0, lanes: 4, ahead: 0, flags: true };
        let mut heaps = heaps(&case, 1);
        heaps.present = vec![true, false, true, true, true, false];
        let (_, report) = power(&case, &heaps, 1);
        // Sectors of 32 bytes; 16 stretches of 128 voltages.
        assert_eq!(most_sectors(&report, AccessKind::Load), (16 * 128 * format.bytes() / 32) as u64, "{format:?}");
        assert_eq!(report.global_sectors, report.global_sectors_ideal, "{format:?}");
    }
}

#[test]
fn copies_are_zero_where_masked_and_the_heaps_elsewhere() {
    for (seed, case) in cases().filter(|case| !case.flags).enumerate() {
        for to_ahead in [0, case.ahead] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
            let masked: Vec<u8> = (0..case.shape[2] * case.blocks()).map(|_| random.random_range(0..=1)).collect();
            let heaps = heaps(&case, seed as u64);
            let (found, _) = mask(&case, &heaps, &masked, to_ahead, seed as u64);
            let size = case.format.bytes();
            for (voltage, (found, from)) in found.chunks(size).zip(heaps.bytes.chunks(size)).enumerate() {
                let [channel, time] = case.place(voltage);
                let is_masked = masked[channel * case.blocks() + (time + case.lead) / case.block] != 0;
                let expected = if is_masked { vec![0; size] } else { from.to_vec() };
                assert_eq!(found, expected, "{case:?} {voltage}");
            }
        }
    }
}

#[test]
fn masked_pieces_are_not_loaded() {
    let case =
        Case { format: Format::I8, shape: [2, 3, 4, 64, 2], block: 64, lead: 0, lanes: 4, ahead: 0, flags: false };
    let heaps = heaps(&case, 5);
    // Channels 0 and 3 of the first block.
    let (_, report) = mask(&case, &heaps, &[1, 0, 0, 0, 0, 0, 1, 0], 0, 5);
    let sectors = 64 * 2 * 2 / 32;
    assert_eq!(most_sectors(&report, AccessKind::Load), 3 * (8 - 2) * sectors);
    assert_eq!(most_sectors(&report, AccessKind::Store), 3 * 8 * sectors);
    assert_eq!(report.global_sectors, report.global_sectors_ideal);
}

#[test]
fn views_that_are_too_short_and_sizes_that_cannot_be_counted_trap() {
    let legal = [2, 2, 3, 5, 2, 4, 1, 4];
    let run = |lengths: [usize; 3], sizes: [u32; 8], masks: bool| {
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&vec![1u8; lengths[0]]);
        let flags = memory.upload(&vec![1u8; lengths[1]]);
        let [a, b, c, d, e, f, g, h] = sizes;
        if masks {
            let to = memory.allocate::<u8>(lengths[2]);
            let launch = Launch::new(<kernels::mask_i4 as Kernel>::DECLARATION, [1, 1, 1], [data::THREADS, 1, 1]);
            launch.run(&mut memory, || {
                let (from, to): (Global<u8>, GlobalMut<u8>) = (samples.into(), to.into());
                kernels::mask_i4(from, to, flags.into(), a, b, c, d, e, f, g, h);
            })
        } else {
            let sums = memory.allocate::<u64>(lengths[2]);
            let launch = Launch::new(<kernels::power_i4 as Kernel>::DECLARATION, [1, 1, 1], [data::THREADS, 1, 1]);
            launch.run(&mut memory, || {
                kernels::power_i4(samples.into(), flags.into(), sums.into(), a, b, c, d, e, f, g, h);
            })
        }
    };
    let traps = |lengths, sizes, masks| {
        let report = run(lengths, sizes, masks);
        report.faults.iter().any(|fault| fault.message == "the kernel trapped")
    };
    // 120 voltages; 4 flags and 2 3 3 4 sums; 9 cells of a mask.
    for (lengths, masks) in [([120, 4, 72], false), ([120, 9, 120], true)] {
        assert!(!traps(lengths, legal, masks));
        for short in 0..3 {
            let lengths: [usize; 3] = std::array::from_fn(|i| lengths[i] - usize::from(i == short));
            assert!(traps(lengths, legal, masks), "{short} {masks}");
        }
        let broken =
            [(3, 0), (4, 0), (4, 3), (5, 0), (5, 1), (5, 1 << 31), (7, 0), (7, 2), (7, 64), (0, 1 << 30), (2, 1 << 31)];
        for (place, value) in broken {
            let mut sizes = legal;
            sizes[place] = value;
            assert!(traps(lengths, sizes, masks), "{place} {value}");
        }
    }
}
