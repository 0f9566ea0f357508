//! Masked rows in the emulator against plain loops.

use fringes_device::{GlobalMut, Kernel};
use fringes_emulator::{AccessKind, GlobalMemory, Launch, Report};
use fringes_kernels_interference as kernels;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::{FORMATS, Format, THREADS};

/// Bytes of a row.
const ROW: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Case {
    format: Format,
    channels: usize,
    /// Rows of an input and a channel.
    lines: usize,
    inputs: usize,
    block: usize,
    lead: usize,
}

/// Channels, rows of an input, inputs, times of a block, times before. Among them: blocks of parts of 16 bytes, of
/// parts of rows and of several rows, on grids that begin elsewhere, inputs that are no whole fours.
const SIZES: [[usize; 5]; 8] = [
    [1, 1, 1, 1, 0],
    [3, 2, 5, 16, 0],
    [2, 3, 4, 5, 3],
    [2, 5, 7, 256, 128],
    [9, 1, 2, 1000, 999],
    [1, 4, 9, 24, 8],
    [2, 2, 33, 4000, 0],
    [4, 3, 1, 17, 16],
];

impl Case {
    /// Times of a row.
    fn row(&self) -> usize {
        ROW / self.format.bytes()
    }

    fn blocks(&self) -> usize {
        (self.lines * self.row() + self.lead).div_ceil(self.block)
    }

    fn bytes(&self) -> usize {
        self.channels * self.lines * self.inputs * ROW
    }
}

/// Rows after a launch, from the bytes before it.
fn run(case: &Case, bytes: &[u8], masked: &[u8], seed: u64) -> (Vec<u8>, Report) {
    let mut memory = GlobalMemory::new();
    let (rows, masked) = (memory.upload(bytes), memory.upload(masked));
    let [channels, lines, inputs, block, lead] =
        [case.channels, case.lines, case.inputs, case.block, case.lead].map(|size| size as u32);
    // A block too many does nothing.
    let blocks = (channels * lines).div_ceil(THREADS / 32) + 1;
    macro_rules! run {
        ($kernel:ident) => {
            Launch::new(<kernels::$kernel as Kernel>::DECLARATION, [blocks, 1, 1], [THREADS, 1, 1]).seed(seed).run(
                &mut memory,
                || {
                    let rows: GlobalMut<u8> = rows.into();
                    kernels::$kernel(rows, masked.into(), channels, lines, inputs, block, lead);
                },
            )
        };
    }
    let report = match case.format {
        Format::I4 => run!(mask_rows_i4),
        Format::I8 => run!(mask_rows_i8),
        Format::F16 => run!(mask_rows_f16),
        Format::F32 => run!(mask_rows_f32),
    };
    (memory.download(rows).into_iter().map(|byte| byte.expect("written")).collect(), report)
}

#[test]
fn rows_are_zero_where_masked_and_as_they_were_elsewhere() {
    for (seed, sizes) in SIZES.into_iter().enumerate() {
        for format in FORMATS {
            let [channels, lines, inputs, block, lead] = sizes;
            let case = Case { format, channels, lines, inputs, block, lead };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
            let masked: Vec<u8> = (0..channels * case.blocks()).map(|_| random.random_range(0..=1)).collect();
            let bytes: Vec<u8> = (0..case.bytes()).map(|_| random.random_range(1..=255)).collect();
            let (found, report) = run(&case, &bytes, &masked, seed as u64);
            report.assert_clean();
            for (at, (&found, &byte)) in found.iter().zip(&bytes).enumerate() {
                let (line, channel) = (at / ROW / inputs % lines, at / ROW / inputs / lines);
                let time = line * case.row() + at % ROW / format.bytes();
                let is_masked = masked[channel * case.blocks() + (time + lead) / block] != 0;
                assert_eq!(found, if is_masked { 0 } else { byte }, "{case:?} {at}");
            }
        }
    }
}

#[test]
fn only_what_is_masked_is_written_and_no_voltage_is_read() {
    let case = Case { format: Format::I8, channels: 4, lines: 2, inputs: 8, block: 64, lead: 0 };
    let (_, report) = run(&case, &vec![7; case.bytes()], &[1, 0, 0, 0, 0, 1, 0, 0], 3);
    let of = |kind| report.accesses.iter().filter(move |line| line.kind == kind).map(|line| line.transactions);
    // Two of eight parts, in sectors of 32 bytes.
    assert_eq!(of(AccessKind::Store).sum::<u64>(), 2 * 8 * 128 / 32);
    // A look at the mask by each warp.
    assert_eq!(of(AccessKind::Load).sum::<u64>(), 8);
}

#[test]
fn views_that_are_too_short_and_sizes_that_cannot_be_counted_trap() {
    let traps = |rows: usize, cells: usize, [channels, lines, inputs, block, lead]: [u32; 5]| {
        let mut memory = GlobalMemory::new();
        let (rows, masked) = (memory.upload(&vec![1u8; rows]), memory.upload(&vec![1u8; cells]));
        let declaration = <kernels::mask_rows_i8 as Kernel>::DECLARATION;
        let report = Launch::new(declaration, [1, 1, 1], [THREADS, 1, 1]).run(&mut memory, || {
            kernels::mask_rows_i8(rows.into(), masked.into(), channels, lines, inputs, block, lead);
        });
        report.faults.iter().any(|fault| fault.message == "the kernel trapped")
    };
    // 128 times in three blocks.
    let (legal, rows, cells) = ([3, 2, 2, 50, 10], 3 * 2 * 2 * 128, 9);
    assert!(!traps(rows, cells, legal));
    assert!(traps(rows - 1, cells, legal) && traps(rows, cells - 1, legal));
    for (place, value) in [(0, 1 << 31), (1, 1 << 26), (2, 3), (3, 0), (3, 10), (3, 1 << 31), (4, 50)] {
        let mut sizes = legal;
        sizes[place] = value;
        assert!(traps(rows, cells, sizes), "{place} {value}");
    }
}
