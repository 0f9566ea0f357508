//! Power sums of voltages and rows in the emulator against exact sums.

use fringes_device::{Global, Kernel};
use fringes_emulator::{AccessKind, GlobalMemory, Launch, Report};
use fringes_kernels_interference as kernels;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::{FORMATS, Format, THREADS};

/// Bytes of a row.
const ROW: usize = 128;

/// What is summed: `[channel][time][input]`, as it lies in rows or as it is.
#[derive(Clone, Copy, Debug)]
struct Case {
    format: Format,
    channels: usize,
    times: usize,
    inputs: usize,
    block: usize,
    lead: usize,
}

/// Channels, times, inputs, times of a block, times before. Among them: blocks of parts of 16 bytes, of parts of rows
/// and of several rows, on grids that begin elsewhere, inputs that make whole words and others, more than a warp has.
const SIZES: [[usize; 5]; 10] = [
    [1, 1, 1, 1, 0],
    [3, 32, 5, 16, 0],
    [2, 50, 4, 5, 3],
    [2, 300, 8, 256, 128],
    [9, 16, 2, 1000, 999],
    [1, 100, 9, 24, 8],
    [2, 129, 132, 4000, 0],
    [4, 40, 1, 17, 16],
    [1, 20, 70, 7, 6],
    [2, 9, 36, 8, 0],
];

impl Case {
    fn blocks(&self) -> usize {
        (self.times + self.lead).div_ceil(self.block)
    }

    /// Times of a row.
    fn row(&self) -> usize {
        ROW / self.format.bytes()
    }

    fn cells(&self) -> usize {
        self.channels * self.blocks() * self.inputs
    }
}

fn cases() -> impl Iterator<Item = Case> {
    SIZES.into_iter().flat_map(|[channels, times, inputs, block, lead]| {
        FORMATS.into_iter().map(move |format| Case { format, channels, times, inputs, block, lead })
    })
}

/// Voltages, and flags `[time][input]` that are true where they are present.
struct Data {
    bytes: Vec<u8>,
    /// Whole numbers.
    parts: Vec<[i64; 2]>,
    present: Vec<bool>,
}

impl Data {
    fn new(case: &Case, flags: bool, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let all = case.channels * case.times * case.inputs;
        let (bytes, parts): (Vec<_>, Vec<_>) = (0..all).map(|_| case.format.voltage(&mut random)).unzip();
        let present = (0..case.times * case.inputs).map(|_| !flags || random.random_bool(0.7)).collect();
        Self { bytes: bytes.concat(), parts, present }
    }

    /// The voltages as rows, with zeros past the last time.
    fn rows(&self, case: &Case) -> Vec<u8> {
        let (lines, size) = (case.times.div_ceil(case.row()), case.format.bytes());
        let mut rows = vec![0; case.channels * lines * case.inputs * ROW];
        for (voltage, bytes) in self.bytes.chunks(size).enumerate() {
            let (input, rest) = (voltage % case.inputs, voltage / case.inputs);
            let (time, channel) = (rest % case.times, rest / case.times);
            let row = (channel * lines + time / case.row()) * case.inputs + input;
            let at = row * ROW + time % case.row() * size;
            rows[at..at + size].copy_from_slice(bytes);
        }
        rows
    }

    /// Exact sums `[2][channel][block][input]` of whole numbers, and how many there are.
    fn exact(&self, case: &Case) -> Vec<(u128, u64)> {
        let mut sums = vec![(0, 0); 2 * case.cells()];
        for (voltage, [re, im]) in self.parts.iter().enumerate() {
            let (input, rest) = (voltage % case.inputs, voltage / case.inputs);
            let (time, channel) = (rest % case.times, rest / case.times);
            if !self.present[time * case.inputs + input] {
                continue;
            }
            let place = (channel * case.blocks() + (time + case.lead) / case.block) * case.inputs + input;
            let power = u128::from(re.unsigned_abs()).pow(2) + u128::from(im.unsigned_abs()).pow(2);
            for (place, value) in [(place, power), (case.cells() + place, power * power)] {
                sums[place] = (sums[place].0 + value, sums[place].1 + 1);
            }
        }
        sums
    }
}

/// Compares sums, as bits, with exact ones.
fn check(case: &Case, found: &[u64], expected: &[(u128, u64)]) {
    assert_eq!(found.len(), expected.len());
    for (place, (&bits, &(sum, count))) in found.iter().zip(expected).enumerate() {
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

/// Launches a kernel of a format, whose sums come as bits.
macro_rules! launched {
    ($case:expr, $memory:ident, $blocks:expr, $seed:expr, [$i4:ident $i8:ident $f16:ident $f32:ident], $call:expr) => {{
        macro_rules! run {
            ($kernel:ident, $sum:ty) => {{
                let sums = $memory.allocate::<$sum>(2 * $case.cells());
                let declaration = <kernels::$kernel as Kernel>::DECLARATION;
                let launch = Launch::new(declaration, [$blocks, 1, 1], [THREADS, 1, 1]).seed($seed);
                let report = launch.run(&mut $memory, || $call(kernels::$kernel, sums.into()));
                report.assert_clean();
                let bits = $memory.values(sums).into_iter().map(|sum| u64::from_le_bytes(sum.to_le_bytes()));
                (bits.collect::<Vec<u64>>(), report)
            }};
        }
        match $case.format {
            Format::I4 => run!($i4, u64),
            Format::I8 => run!($i8, u64),
            Format::F16 => run!($f16, f64),
            Format::F32 => run!($f32, f64),
        }
    }};
}

/// Calls a kernel with arguments before and behind its sums.
macro_rules! call {
    ([$($before:expr),*], [$($behind:expr),*]) => {
        |kernel: fn($(call!(@ $before),)* _, $(call!(@ $behind)),*), sums| kernel($($before,)* sums, $($behind),*)
    };
    (@ $argument:expr) => { _ };
}

fn sums_of_rows(case: &Case, rows: &[u8], seed: u64) -> (Vec<u64>, Report) {
    let mut memory = GlobalMemory::new();
    let rows: Global<u8> = memory.upload(rows).into();
    let lines = case.times.div_ceil(case.row());
    let [channels, lines, inputs, block, lead, blocks] =
        [case.channels, lines, case.inputs, case.block, case.lead, case.blocks()].map(|size| size as u32);
    // A block too many does nothing.
    let grid = (case.cells() as u32 * 8).div_ceil(THREADS) + 1;
    launched!(case, memory, grid, seed, [power_rows_i4 power_rows_i8 power_rows_f16 power_rows_f32],
        call!([rows], [channels, lines, inputs, block, lead, blocks]))
}

/// Voltages lie so many behind a multiple of 16 bytes.
fn sums_of_voltages(case: &Case, data: &Data, flags: bool, ahead: usize, seed: u64) -> (Vec<u64>, Report) {
    let mut memory = GlobalMemory::new();
    let ahead = ahead * case.format.bytes();
    let all = memory.upload(&[vec![0xa5; ahead], data.bytes.clone()].concat());
    // SAFETY: so many bytes are there.
    let voltages = unsafe { Global::from(all).part(ahead, data.bytes.len()) };
    let present: Vec<u8> = data.present.iter().map(|&flag| flag.into()).collect();
    let present: Global<u8> = memory.upload(if flags { &present[..] } else { &[] }).into();
    let [channels, times, inputs, block, lead] =
        [case.channels, case.times, case.inputs, case.block, case.lead].map(|size| size as u32);
    let grid = (case.cells() as u32).div_ceil(THREADS) + 1;
    launched!(case, memory, grid, seed,
        [power_voltages_i4 power_voltages_i8 power_voltages_f16 power_voltages_f32],
        call!([voltages, present], [channels, times, inputs, block, lead]))
}

#[test]
fn sums_of_rows_are_exact_or_within_their_bound() {
    for (seed, case) in cases().enumerate() {
        let data = Data::new(&case, false, seed as u64);
        check(&case, &sums_of_rows(&case, &data.rows(&case), seed as u64).0, &data.exact(&case));
    }
}

#[test]
fn sums_of_voltages_are_exact_or_within_their_bound() {
    for (seed, case) in cases().enumerate() {
        for (flags, ahead) in [(false, 0), (true, 0), (false, 1), (true, 3)] {
            let data = Data::new(&case, flags, seed as u64);
            let (found, _) = sums_of_voltages(&case, &data, flags, ahead, seed as u64);
            check(&case, &found, &data.exact(&case));
        }
    }
}

#[test]
fn every_voltage_is_loaded_once() {
    for format in FORMATS {
        let case = Case { format, channels: 2, times: 256, inputs: 32, block: 128, lead: 0 };
        let data = Data::new(&case, false, 1);
        let bytes = data.bytes.len() as u64;
        for report in [sums_of_rows(&case, &data.rows(&case), 1).1, sums_of_voltages(&case, &data, false, 0, 1).1] {
            let of_loads = report.accesses.iter().filter(|line| line.kind == AccessKind::Load);
            assert_eq!(of_loads.map(|line| line.transactions).sum::<u64>(), bytes / 32, "{format:?}");
        }
    }
}

#[test]
fn views_that_are_too_short_and_sizes_that_cannot_be_counted_trap() {
    let traps = |report: Report| report.faults.iter().any(|fault| fault.message == "the kernel trapped");
    let of_rows = |rows: usize, cells: usize, [channels, lines, inputs, block, lead, blocks]: [u32; 6]| {
        let mut memory = GlobalMemory::new();
        let (rows, sums) = (memory.upload(&vec![1u8; rows]), memory.allocate::<u64>(cells));
        let declaration = <kernels::power_rows_i8 as Kernel>::DECLARATION;
        traps(Launch::new(declaration, [1, 1, 1], [THREADS, 1, 1]).run(&mut memory, || {
            kernels::power_rows_i8(rows.into(), sums.into(), channels, lines, inputs, block, lead, blocks);
        }))
    };
    // 128 times in three blocks.
    let (legal, rows, cells) = ([3, 2, 2, 50, 10, 3], 3 * 2 * 2 * 128, 2 * 3 * 3 * 2);
    assert!(!of_rows(rows, cells, legal));
    assert!(of_rows(rows - 1, cells, legal) && of_rows(rows, cells - 1, legal));
    for (place, value) in [(0, 1 << 31), (1, 1 << 26), (2, 3), (3, 0), (3, 10), (3, 1 << 31), (4, 50), (5, 4)] {
        let mut sizes = legal;
        sizes[place] = value;
        assert!(of_rows(rows, 1000, sizes), "{place} {value}");
    }
    let of_voltages = |lengths: [usize; 3], [channels, times, inputs, block, lead]: [u32; 5]| {
        let mut memory = GlobalMemory::new();
        let (voltages, present) = (memory.upload(&vec![1u8; lengths[0]]), memory.upload(&vec![1u8; lengths[1]]));
        let sums = memory.allocate::<u64>(lengths[2]);
        let declaration = <kernels::power_voltages_i8 as Kernel>::DECLARATION;
        traps(Launch::new(declaration, [1, 1, 1], [THREADS, 1, 1]).run(&mut memory, || {
            let (voltages, present) = (voltages.into(), present.into());
            kernels::power_voltages_i8(voltages, present, sums.into(), channels, times, inputs, block, lead);
        }))
    };
    // 20 times in three blocks.
    let (legal, lengths) = ([3, 20, 4, 9, 2], [2 * 3 * 20 * 4, 80, 2 * 3 * 3 * 4]);
    assert!(!of_voltages(lengths, legal));
    for short in 0..3 {
        assert!(of_voltages(std::array::from_fn(|i| lengths[i] - usize::from(i == short)), legal), "{short}");
    }
    for (place, value) in [(0, 1 << 31), (1, 1 << 31), (2, 5), (3, 0), (3, 2), (3, 1 << 31), (4, 9)] {
        let mut sizes = legal;
        sizes[place] = value;
        assert!(of_voltages([lengths[0], 1000, 1000], sizes), "{place} {value}");
    }
}
