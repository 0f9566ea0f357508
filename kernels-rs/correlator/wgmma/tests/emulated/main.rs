//! Every kernel in the emulator, with all of its detectors, against the reference.
//!
//! Samples are whole numbers also in f16, so small that f32 holds their sums: each format's sums are compared bit by
//! bit.

mod entries;
mod job;

use entries::{Entry, Format, Function, Tiles, entries};
use fringes_emulator::{Buffer, Element, FaultKind, GlobalMemory, Launch, Report};
use fringes_reference::correlator::{correlate_int, triangle_index};
use job::{Job, Samples, samples};
use ndarray::{Array3, s};
use num_complex::Complex;

/// A sum in device memory.
trait Sum: Element {
    /// The number, which is whole.
    fn whole(self) -> i64;
    fn of(number: i64) -> Self;
}

macro_rules! sums {
    ($($type:ty)*) => { $(
        impl Sum for $type {
            fn whole(self) -> i64 {
                assert_eq!(self as i64 as $type, self);
                self as i64
            }

            fn of(number: i64) -> Self {
                number as $type
            }
        }
    )* };
}

sums!(i32 f32 f64);

/// What sums are before a launch that adds: so large that the result of no test is beyond 2^31.
fn initial(index: usize) -> [i64; 2] {
    [(1 << 30) + 3 * index as i64, -(1 << 30) - index as i64]
}

struct Run {
    memory: GlobalMemory,
    report: Report,
}

impl Run {
    fn new<S: Sum>(
        entry: &Entry,
        job: &Job,
        samples: &Samples,
        len: usize,
        function: impl Fn(&Setup, Buffer<[S; 2]>),
    ) -> (Self, Buffer<[S; 2]>) {
        let mut memory = GlobalMemory::new();
        let (channels, times, inputs) = samples.dim();
        let buffer = memory.upload(&job.buffer(entry, samples));
        let maps = job.layouts(entry, [channels, times, inputs]).map(|layout| memory.map_tensor(buffer, &layout));
        let sums = if entry.adds() {
            memory.upload(&(0..len).map(|index| initial(index).map(S::of)).collect::<Vec<_>>())
        } else {
            memory.allocate(len)
        };
        let numbers = job.numbers(entry);
        let rows =
            [numbers.first_row, numbers.head, numbers.head_chunks, numbers.chunks, numbers.last_row, numbers.steps];
        let setup = Setup {
            maps,
            list: memory.upload(&job.list),
            channels: channels as u32,
            inputs: inputs as u32,
            rows: rows.map(|number| number as u32),
            parts: job.parts as u32,
            rotate: job.rotate,
        };
        let bounds = entry.declaration;
        let number = |key: &str| {
            let value = bounds.split_once(key).unwrap().1;
            value.split(' ').next().unwrap().parse::<u32>().unwrap()
        };
        let report = Launch::new(entry.declaration, [job.grid, 1, 1], [number("threads="), 1, 1])
            .shared_bytes(number("shared_bytes="))
            .stack_bytes(1 << 18)
            .run(&mut memory, || function(&setup, sums));
        (Self { memory, report }, sums)
    }

    fn sums<S: Sum>(self, sums: Buffer<[S; 2]>) -> Vec<[i64; 2]> {
        self.report.assert_clean();
        self.memory.values(sums).into_iter().map(|sum| sum.map(Sum::whole)).collect()
    }
}

/// Parameters.
struct Setup {
    maps: [fringes_emulator::TensorMap; 2],
    list: Buffer<u32>,
    channels: u32,
    inputs: u32,
    rows: [u32; 6],
    parts: u32,
    rotate: u32,
}

/// Calls a kernel's function.
macro_rules! call {
    ($kernel:ident) => {
        |setup: &Setup, sums| {
            let &Setup {
                maps: [all, last],
                list,
                channels,
                inputs,
                rows: [first, head, head_chunks, chunks, last_row, steps],
                parts,
                rotate,
            } = setup;
            $kernel(
                all.into(),
                last.into(),
                list.into(),
                sums.into(),
                channels,
                inputs,
                first,
                head,
                head_chunks,
                chunks,
                last_row,
                steps,
                parts,
                rotate,
            );
        }
    };
}

fn baselines(inputs: usize) -> usize {
    triangle_index(inputs, 0)
}

/// Sums of a launch, which must be clean.
fn run(entry: &Entry, job: &Job, samples: &Samples) -> Vec<[i64; 2]> {
    let (channels, _, inputs) = samples.dim();
    let len = job.parts * channels * baselines(inputs);
    macro_rules! sums {
        ($kernel:ident) => {{
            let (run, sums) = Run::new(entry, job, samples, len, call!($kernel));
            run.sums(sums)
        }};
    }
    match entry.function {
        Function::I32(kernel) => sums!(kernel),
        Function::F32(kernel) => sums!(kernel),
        Function::F64(kernel) => sums!(kernel),
    }
}

/// Compares a launch with sums of `[channel][baseline]` that `expected` gives for each part's samples.
fn compare(entry: &Entry, job: &Job, samples: &Samples, expected: impl Fn(&Samples) -> Vec<Complex<i64>>) {
    let sums = run(entry, job, samples);
    let mut index = 0;
    for part in 0..job.parts {
        let times = job.part(entry, part);
        for sum in expected(&samples.slice(s![.., times.clone(), ..]).to_owned()) {
            let before = if entry.adds() { initial(index) } else { [0; 2] };
            let wanted = [before[0] + sum.re, before[1] + sum.im];
            assert_eq!(
                sums[index],
                wanted,
                "{} {:?} {job:?}, part {part} {times:?}, sum {index}",
                entry.name,
                samples.dim()
            );
            index += 1;
        }
    }
    assert_eq!(index, sums.len());
}

fn reference(samples: &Samples) -> Vec<Complex<i64>> {
    correlate_int(samples.view(), None).sums.into_iter().collect()
}

/// Greatest number in a part: of f16 such that every sum stays below 2^24.
fn most(format: Format) -> i64 {
    match format {
        Format::I4 => 7,
        Format::I8 => 127,
        Format::F16 => 100,
    }
}

fn check(entry: &Entry, [channels, times, inputs]: [usize; 3], job: &Job) {
    let samples = samples([channels, times, inputs], most(entry.format), (times * inputs) as u64);
    compare(entry, job, &samples, reference);
}

fn of(pols: usize, tiles: Tiles) -> impl Iterator<Item = Entry> {
    entries().into_iter().filter(move |entry| entry.pols == pols && entry.tiles == tiles)
}

/// Times that make a whole number of 16 bytes.
fn quantum(entry: &Entry) -> usize {
    16 / entry.format.bytes() / entry.pols
}

/// Rows: each size with other times, blocks and channels; entries that add start inside of a row.
fn rows(tiles: Tiles, sizes: &[usize]) {
    for entry in of(1, tiles) {
        let row = 128 / entry.format.bytes();
        for (i, &inputs) in sizes.iter().enumerate() {
            let first = if entry.adds() { quantum(&entry) * (1 + i) } else { 0 };
            let last = [row + 7, 2 * row, row - 1, first + 1][i % 4].max(first + 1);
            let job = Job::rows(first..last).blocks(1 + i as u32 % 3, i as u32);
            check(&entry, [1 + (i + 1) % 2, last + 5, inputs], &job);
        }
    }
}

/// Heaps: each size with other spectra and batches.
fn heaps(tiles: Tiles, antennas: &[usize]) {
    for entry in of(2, tiles) {
        for (i, &antennas) in antennas.iter().enumerate() {
            let spectra = quantum(&entry) * [1, 9, 5, 8][i % 4];
            let job = Job::heaps(spectra, 1..2 + i % 2).blocks(1 + i as u32 % 3, i as u32);
            check(&entry, [1 + (i + 1) % 2, 3 * spectra, 2 * antennas], &job);
        }
    }
}

/// Heaps of one and two polarisations that lie where a list says, in several parts and blocks, from a batch behind the
/// first one on.
#[test]
fn listed_heaps_are_exact() {
    for tiles in [Tiles::Small, Tiles::Square, Tiles::Whole] {
        for entry in of(2, tiles).chain(of(1, tiles)) {
            let spectra = 16 / entry.format.bytes() * 5 / entry.pols;
            let job = Job::heaps(spectra, 1..5).listed(&[0, 4, 1, 2, 7]).parts(2).blocks(2, 1);
            check(&entry, [2, 5 * spectra, if tiles == Tiles::Small { 62 } else { 66 }], &job);
        }
    }
}

#[test]
fn lists_with_fewer_batches_than_the_work_are_refused() {
    for entry in of(2, Tiles::Small).filter(|entry| !entry.adds()) {
        let spectra = quantum(&entry) * 3;
        let samples = samples([1, 4 * spectra, 2], 1, 1);
        let short = Job::heaps(spectra, 0..4);
        refused(&entry, &short.listed(&[1, 0, 3]), &samples);
    }
}

#[test]
fn small_tiles_of_rows_are_exact() {
    rows(Tiles::Small, &[1, 63, 5, 64]);
}

#[test]
fn square_tiles_of_rows_are_exact() {
    rows(Tiles::Square, &[65, 200, 1]);
}

#[test]
fn whole_tiles_of_rows_are_exact() {
    rows(Tiles::Whole, &[150, 160, 65, 130]);
}

#[test]
fn small_tiles_of_heaps_are_exact() {
    heaps(Tiles::Small, &[1, 31, 3, 32]);
}

#[test]
fn square_tiles_of_heaps_are_exact() {
    heaps(Tiles::Square, &[33, 100, 1]);
}

#[test]
fn whole_tiles_of_heaps_are_exact() {
    heaps(Tiles::Whole, &[75, 80, 33, 65]);
}

#[test]
fn parts_have_the_steps_that_are_theirs() {
    for entry in of(1, Tiles::Small) {
        let row = 128 / entry.format.bytes();
        for parts in 1..=3 {
            let job = Job::rows(quantum(&entry)..4 * row - 3).parts(parts).blocks(parts as u32, 1);
            check(&entry, [2, 4 * row, 5], &job);
        }
    }
    for entry in of(2, Tiles::Small) {
        for parts in 2..=3 {
            let job = Job::heaps(9 * quantum(&entry), 1..4).parts(parts).blocks(2, 3);
            check(&entry, [2, 5 * 9 * quantum(&entry), 6], &job);
        }
    }
    for entry in entries().iter().filter(|entry| entry.tiles != Tiles::Small && entry.pols == 1 && entry.adds()) {
        let row = 128 / entry.format.bytes();
        check(entry, [1, 3 * row, 130], &Job::rows(2 * quantum(entry)..3 * row - 3).parts(3).blocks(2, 1));
    }
}

#[test]
fn every_first_byte_and_last_time_of_a_row_counts_as_it_should() {
    for entry in of(1, Tiles::Small).filter(Entry::adds) {
        let (row, quantum) = (128 / entry.format.bytes(), quantum(&entry));
        for i in 0..8 {
            // Within a row, to its end, and to each length of the next one.
            for last in [i * quantum + 1 + i % quantum, row, row + 1 + i * quantum, 2 * row - i] {
                check(&entry, [1, 2 * row, 3], &Job::rows(i * quantum..last));
            }
        }
    }
}

#[test]
fn heaps_of_one_polarisation_are_rows_with_other_strides() {
    for entry in of(1, Tiles::Small).chain(of(1, Tiles::Whole)) {
        let spectra = 11 * quantum(&entry);
        check(&entry, [2, 3 * spectra, 7], &Job::heaps(spectra, 1..3).parts(2));
    }
}

#[test]
fn a_ring_is_gone_around_and_blocks_have_several_jobs() {
    for entry in entries().iter().filter(|entry| entry.adds() && entry.tiles != Tiles::Whole) {
        let (row, spectra) = (128 / entry.format.bytes(), 12 * quantum(entry));
        let (job, times) = match entry.pols {
            1 => (Job::rows(0..12 * row - 5), 12 * row),
            _ => (Job::heaps(spectra, 0..9), 9 * spectra),
        };
        check(entry, [3, times, 2], &job.blocks(2, 1));
    }
}

#[test]
fn without_a_place_for_sums_kernels_that_overwrite_multiply_alone_and_others_refuse() {
    for entry in entries().iter().filter(|entry| entry.pols == 1) {
        let (row, inputs) = (128 / entry.format.bytes(), 5);
        let (samples, job) = (samples([2, row, inputs], 1, 1), Job::rows(0..row));
        macro_rules! products {
            ($kernel:ident) => {{
                let with = Run::new(entry, &job, &samples, 2 * baselines(inputs), call!($kernel)).0.report;
                let without = Run::new(entry, &job, &samples, 0, call!($kernel)).0.report;
                let products = |report: &Report| -> u64 {
                    let products = |name: &str| name.starts_with("wgmma_mma_async");
                    report.instructions.iter().filter(|(name, _)| products(name)).map(|(_, count)| count.threads).sum()
                };
                with.assert_clean();
                if entry.adds() {
                    assert!(without.found(FaultKind::Operand), "{}: {without}", entry.name);
                } else {
                    without.assert_clean();
                    assert!(products(&with) > 0);
                    assert_eq!(products(&without), products(&with), "{}", entry.name);
                }
            }};
        }
        match entry.function {
            Function::I32(kernel) => products!(kernel),
            Function::F32(kernel) => products!(kernel),
            Function::F64(kernel) => products!(kernel),
        }
    }
}

/// A launch ends in a trap before anything is written.
fn refused(entry: &Entry, job: &Job, samples: &Samples) {
    let (_, _, inputs) = samples.dim();
    let found = |report: &Report| assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{report}");
    macro_rules! trapped {
        ($kernel:ident) => {{
            let (run, sums) = Run::new(entry, job, samples, baselines(inputs), call!($kernel));
            found(&run.report);
            assert!(run.memory.download(sums).iter().all(Option::is_none));
        }};
    }
    match entry.function {
        Function::I32(kernel) => trapped!(kernel),
        Function::F32(kernel) => trapped!(kernel),
        Function::F64(kernel) => trapped!(kernel),
    }
}

#[test]
fn more_inputs_than_a_tile_has_are_refused_before_anything_is_written() {
    for entry in of(2, Tiles::Small).chain(of(1, Tiles::Small)).filter(|entry| !entry.adds()) {
        let samples = samples([1, 16, 66], 1, 1);
        let job = if entry.pols == 1 { Job::rows(0..16) } else { Job::heaps(16, 0..1) };
        refused(&entry, &job, &samples);
    }
}

/// What the kernels make of -128, or -8, which are no samples: `Im V = sum x_a.im x_b.re - x_a.re x_b.im`, in which the
/// negative of `x_b.im`, 8 bits of it (times 16 for 4-bit samples), stays what it is. `Re V` is exact.
fn wrapped(samples: &Samples, least: i64) -> Vec<Complex<i64>> {
    let (channels, times, inputs) = samples.dim();
    let mut sums = Vec::new();
    for channel in 0..channels {
        for (a, b) in (0..inputs).flat_map(|a| (0..=a).map(move |b| (a, b))) {
            let products = (0..times).map(|time| {
                let (x, y) = (samples[(channel, time, a)], samples[(channel, time, b)]);
                let negative = if y.im == least { least } else { -y.im };
                Complex::new(x.re * y.re + x.im * y.im, x.im * y.re + x.re * negative)
            });
            sums.push(products.sum());
        }
    }
    sums
}

#[test]
fn the_least_number_is_exact_in_real_parts_and_keeps_its_sign_where_it_is_negated() {
    let limits = |format| if format == Format::I4 { -8 } else { -128 };
    for entry in entries().iter().filter(|entry| entry.format != Format::F16 && !entry.adds()) {
        let least = limits(entry.format);
        let times = 2 * quantum(entry);
        // One part in three is the least number.
        let random = samples([1, times, 6], most(entry.format), 12);
        let least_too = |part: i64| if part % 3 == 0 { least } else { part };
        let samples: Array3<_> = random.mapv(|Complex { re, im }| Complex::new(least_too(re), least_too(im)));
        let job = if entry.pols == 1 { Job::rows(0..times) } else { Job::heaps(times, 0..1) };
        compare(entry, &job, &samples, |samples| wrapped(samples, least));
        let (exact, kept) = (reference(&samples), wrapped(&samples, least));
        assert!(exact.iter().zip(&kept).all(|(exact, kept)| exact.re == kept.re));
        assert!(exact != kept);
    }
}
