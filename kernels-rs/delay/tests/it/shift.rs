//! The shift kernels in the emulator against the reference: every width of sample, every delay, rows anywhere.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{AccessKind, FaultKind, GlobalMemory, Launch, Report};
use fringes_kernels_delay as kernels;
use fringes_reference::delay::coarse_shift;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type Shift = fn(Global<u8>, GlobalMut<u8>, Global<i64>, u32, u32, u64, u64, u64, u64);

/// A kernel and its declaration.
type Declared = (Shift, &'static str);

const PIECES: Declared = (kernels::shift, kernels::shift::DECLARATION);
const BYTES: Declared = (kernels::shift_any, kernels::shift_any::DECLARATION);

/// Rows of samples.
#[derive(Clone, Copy, Debug)]
struct Rows {
    bits: u32,
    from_times: usize,
    to_times: usize,
    /// Bytes between rows.
    from_gap: usize,
    to_gap: usize,
}

impl Rows {
    fn bytes(&self, times: usize) -> usize {
        (times * self.bits as usize).div_ceil(8)
    }

    fn strides(&self) -> [usize; 2] {
        [self.bytes(self.from_times) + self.from_gap, self.bytes(self.to_times) + self.to_gap]
    }
}

/// Samples as a stream of bits, the first bit of a byte the most significant one; the last byte filled with `fill`.
fn packed(samples: &[u64], bits: u32, fill: bool) -> Vec<u8> {
    let stream: Vec<bool> =
        samples.iter().flat_map(|sample| (0..bits).rev().map(move |bit| sample >> bit & 1 == 1)).collect();
    let byte = |bits: &[bool]| (0..8).fold(0, |byte, i| byte << 1 | u8::from(bits.get(i).copied().unwrap_or(fill)));
    stream.chunks(8).map(byte).collect()
}

/// What the reference makes of a row: of another length than the source, the source with zeros behind it.
fn expected(samples: &[u64], coarse: i64, rows: Rows) -> Vec<u8> {
    let mut samples = samples.to_vec();
    samples.resize(rows.from_times.max(rows.to_times), 0);
    let mut shifted = coarse_shift(&samples, coarse.clamp(-1 << 40, 1 << 40));
    shifted.truncate(rows.to_times);
    packed(&shifted, rows.bits, false)
}

fn run((kernel, declaration): Declared, rows: Rows, coarse: &[i64], blocks: u32, seed: u64) -> Report {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mask = u64::MAX >> (64 - rows.bits);
    let samples: Vec<Vec<u64>> =
        coarse.iter().map(|_| (0..rows.from_times).map(|_| random.random::<u64>() & mask).collect()).collect();
    let [from_stride, to_stride] = rows.strides();
    let mut from = Vec::new();
    for samples in &samples {
        // What stands behind a row must not come into the next.
        from.extend(packed(samples, rows.bits, true));
        from.extend(vec![0xff; rows.from_gap]);
    }
    from.truncate(from.len() - rows.from_gap);
    let mut memory = GlobalMemory::new();
    let from = memory.upload(&from);
    let to = memory.allocate::<u8>(coarse.len() * to_stride);
    let delays = memory.upload(coarse);
    let report = Launch::new(declaration, [blocks, 1, 1], [256, 1, 1]).seed(seed).run(&mut memory, || {
        let times = [rows.from_times, rows.to_times, from_stride, to_stride].map(|n| n as u64);
        let [from_times, to_times, from_stride, to_stride] = times;
        let inputs = coarse.len() as u32;
        kernel(from.into(), to.into(), delays.into(), inputs, rows.bits, from_times, to_times, from_stride, to_stride);
    });
    report.assert_clean();
    let written = memory.download(to);
    for (input, (samples, &coarse)) in samples.iter().zip(coarse).enumerate() {
        let mut row: Vec<Option<u8>> = expected(samples, coarse, rows).into_iter().map(Some).collect();
        row.resize(to_stride, None);
        let actual = &written[input * to_stride..][..to_stride];
        let first = row.iter().zip(actual).position(|(a, b)| a != b);
        assert!(actual == row, "{declaration}: {rows:?}, {coarse} samples late, byte {first:?}");
    }
    report
}

/// Delays about nothing, about a row's ends, beyond them, and of all distances to a piece of 16 bytes.
fn delays(rows: Rows, any: bool) -> Vec<i64> {
    let (from, to) = (rows.from_times as i64, rows.to_times as i64);
    let mut delays = vec![0, 1, -1, to - 1, to, 1 - from, -from, to - from, i64::MAX, i64::MIN];
    delays.extend(if any { -5..5 } else { -40..40 });
    delays
}

#[test]
fn samples_of_every_width_come_late_by_their_delay() {
    for (seed, bits) in [2, 3, 5, 7, 8, 10, 12, 15, 16, 32, 64, 1, 33].into_iter().enumerate() {
        // Rows of whole pieces, and longer and shorter ones that end within a byte.
        for (from_times, to_times) in [(256, 256), (301, 203), (97, 310)] {
            let bytes = (to_times * bits as usize).div_ceil(8);
            let rows =
                Rows { bits, from_times, to_times, from_gap: seed % 7, to_gap: bytes.next_multiple_of(16) - bytes };
            run(PIECES, rows, &delays(rows, false), 1 + seed as u32 % 3, seed as u64);
            run(BYTES, Rows { to_gap: 1 + seed % 3, ..rows }, &delays(rows, true), 2, seed as u64);
        }
    }
}

#[test]
fn one_row_may_end_anywhere() {
    for times in [0, 1, 15, 16, 17, 2049, 4096] {
        let rows = Rows { bits: 8, from_times: times, to_times: times, from_gap: 0, to_gap: 0 };
        for coarse in [0, 3, -3, 16] {
            run(PIECES, rows, &[coarse], 1, 5);
            run(BYTES, rows, &[coarse], 1, 5);
        }
    }
}

#[test]
fn samples_cross_memory_in_whole_sectors() {
    let rows = Rows { bits: 10, from_times: 4096 * 4, to_times: 4096 * 4, from_gap: 0, to_gap: 0 };
    let report = run(PIECES, rows, &[3, -1000, 64], 2, 9);
    for line in &report.accesses {
        // Rows of the source begin at any byte: 512 bytes of a warp may touch one sector more.
        let beyond = if line.kind == AccessKind::Store { 0 } else { line.requests };
        assert!(line.transactions <= line.ideal + beyond, "{line:?}");
    }
    // A piece is one request to store of a lane and two to load; beside them a delay a tile.
    let pieces = 3 * rows.bytes(rows.to_times) as u64 / 16;
    assert!(report.global_requests <= 3 * pieces / 32 + 3 * pieces / 128, "{}", report.global_requests);
}

#[test]
fn short_views_and_unaligned_rows_trap_before_anything_is_touched() {
    let trapped = |(kernel, declaration): Declared,
                   from: usize,
                   to: usize,
                   coarse: usize,
                   [bits, from_times, to_times, from_stride, to_stride]: [u64; 5]| {
        let mut memory = GlobalMemory::new();
        let from = memory.upload(&vec![1u8; from]);
        let to = memory.allocate::<u8>(to);
        let coarse = memory.upload(&vec![0i64; coarse]);
        let report = Launch::new(declaration, [1, 1, 1], [256, 1, 1]).run(&mut memory, || {
            kernel(from.into(), to.into(), coarse.into(), 2, bits as u32, from_times, to_times, from_stride, to_stride);
        });
        assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
        assert!(memory.download(to).iter().all(Option::is_none));
    };
    for kernel in [PIECES, BYTES] {
        trapped(kernel, 127, 128, 2, [8, 64, 64, 64, 64]);
        trapped(kernel, 128, 127, 2, [8, 64, 64, 64, 64]);
        trapped(kernel, 128, 128, 1, [8, 64, 64, 64, 64]);
        trapped(kernel, 128, 128, 2, [0, 64, 64, 64, 64]);
        trapped(kernel, 128, 128, 2, [65, 4, 4, 64, 64]);
        // Rows that overlap, and sizes that wrap.
        trapped(kernel, 128, 128, 2, [8, 64, 64, 64, 48]);
        trapped(kernel, 128, 128, 2, [64, u64::MAX / 8, 1, 64, 64]);
        trapped(kernel, 128, 128, 2, [8, 64, 64, u64::MAX, 64]);
    }
    trapped(PIECES, 128, 129, 2, [8, 64, 64, 64, 65]);
}
