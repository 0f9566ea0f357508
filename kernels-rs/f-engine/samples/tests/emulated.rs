//! The kernels in the emulator, against plain loops.

use fringes_channelizer::internals::{JOB_PIECES, Job, JobLength, Periods, RUN_PIECES, Run, RunSizes};
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_f_engine_samples as kernels;
use fringes_kernels_f_engine_samples::THREADS;
use fringes_kernels_f_engine_samples::rows::{SPAN, SPAN_PIECES};
use fringes_kernels_f_engine_samples::statistics::WARPS;
use fringes_types::pack_samples;
use half::f16;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bit `bit` of words whose bytes are a stream of bits, the highest of a byte first.
fn bit(words: &[u32], bit: usize) -> bool {
    let byte = words[bit / 32].to_le_bytes()[bit % 32 / 8];
    byte >> (7 - bit % 8) & 1 == 1
}

/// Numbers of 64 bits in pieces of 16 bytes.
fn pieces<'a>(numbers: impl IntoIterator<Item = &'a u64>) -> Vec<[u32; 4]> {
    let numbers: Vec<u64> = numbers.into_iter().copied().collect();
    let words = |pair: &[u64]| [pair[0] as u32, (pair[0] >> 32) as u32, pair[1] as u32, (pair[1] >> 32) as u32];
    numbers.chunks_exact(2).map(words).collect()
}

#[test]
fn tables_that_are_too_short_trap() {
    let mut memory = GlobalMemory::new();
    let (chunk, rows) = (memory.upload(&[0u32; 4]), memory.upload(&[0u32; 4]));
    let spans = memory.upload(&[[0u32; 4]; SPAN_PIECES]);
    let (next, counts) = (memory.upload(&[0u32; 4]), memory.upload(&[0u32; 1]));
    for (rows_of_table, fits) in [(2, false), (1, true), (0, true)] {
        let launch = Launch::new(<kernels::begin as Kernel>::DECLARATION, [3, 1, 1], [THREADS, 1, 1]);
        let launch = launch.shared_bytes(16 * SPAN_PIECES as u32);
        let run =
            || kernels::begin(chunk.into(), rows.into(), next.into(), spans.into(), rows_of_table, 1, counts.into());
        let report = launch.run(&mut memory, run);
        assert_eq!(report.faults.is_empty(), fits, "{:?}", report.faults);
    }
}

/// Makes jobs of runs: the pieces that come out, of so many jobs, or what faults there were.
fn make(runs: &[Run], sizes: &RunSizes, copied: &[[u32; 4]], jobs: usize, parts: u32) -> Result<Vec<[u32; 4]>, String> {
    let mut memory = GlobalMemory::new();
    let of_runs = runs.iter().flat_map(|run| {
        let words = run.words();
        (0..RUN_PIECES).map(move |i| [0, 1, 2, 3].map(|j| words[4 * i + j]))
    });
    let tables: Vec<[u32; 4]> = copied.iter().copied().chain(of_runs).collect();
    let tables = memory.upload(&tables);
    let out = memory.upload(&vec![[u32::MAX; 4]; copied.len() + jobs * JOB_PIECES]);
    let warps = copied.len().div_ceil(32) as u32 + runs.len() as u32 * parts;
    let launch =
        Launch::new(<kernels::make_jobs as Kernel>::DECLARATION, [warps.div_ceil(THREADS / 32), 1, 1], [THREADS, 1, 1]);
    let RunSizes { frame, length: JobLength { most, block }, spectrum_bits, periods, inputs } = *sizes;
    let Periods { period, stride, turns } = periods;
    let (copied, count) = (copied.len() as u32, runs.len() as u32);
    let run = || {
        let (tables, out) = (tables.into(), out.into());
        kernels::make_jobs(
            tables,
            out,
            copied,
            count,
            parts,
            frame,
            most,
            block,
            spectrum_bits,
            period,
            stride,
            turns,
            inputs,
        )
    };
    let report = launch.run(&mut memory, run);
    if report.faults.is_empty() { Ok(memory.values(out)) } else { Err(format!("{:?}", report.faults)) }
}

/// Sizes of frames in rows, or in a ring.
fn sizes(frame: u32, (most, block): (u32, u32), period: u32, turns: u32) -> RunSizes {
    let periods = Periods { period, stride: (1 << 33) + 1000, turns };
    RunSizes { frame, length: JobLength { most, block }, spectrum_bits: 20480, periods, inputs: 6 }
}

#[test]
fn jobs_of_runs_are_those_of_plain_loops() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    for (round, sizes) in [
        sizes(512, (64, 8), 512, u32::MAX),
        sizes(512, (64, 8), 16, u32::MAX),
        sizes(64, (64, 8), 64, 3),
        sizes(120, (64, 8), 120, u32::MAX),
        sizes(100, (6, 3), 100, 5),
        sizes(7, (9, 1), 7, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let (mut runs, mut jobs) = (Vec::new(), 0usize);
        for _ in 0..5 {
            let whole = random.random_bool(0.6) && sizes.frame % sizes.length.block == 0;
            let frames = if whole { random.random_range(1..40) } else { 1 };
            let first = if whole { 0 } else { random.random_range(0..sizes.frame) };
            let spectra = if whole { sizes.frame } else { random.random_range(1..=sizes.frame - first) };
            let spectrum = u64::from(sizes.frame) * random.random_range(0..1 << 30) + u64::from(first);
            let pols = random.random_range(1..3u32);
            for pol in 0..pols {
                let job = Job {
                    first_bit: random.random(),
                    place: random.random(),
                    phase: random.random(),
                    phase_rate: random.random(),
                    slope: random.random(),
                    slope_rate: random.random(),
                    spectrum,
                    spectra,
                    time: first % sizes.periods.period,
                    input: random.random(),
                    count: random.random(),
                    flags: random.random(),
                };
                let turn =
                    if sizes.periods.turns == u32::MAX { 0 } else { random.random_range(0..sizes.periods.turns) };
                runs.push(Run { job, first: jobs as u32 + pol, apart: pols, frames, turn });
            }
            jobs += pols as usize * runs[runs.len() - 1].jobs(sizes.length);
        }
        let copied: Vec<[u32; 4]> = (0..[0, 3, 32, 33, 100, 300][round]).map(|_| random.random()).collect();
        let parts = [1, 2, 3, 5, 64, 1][round];
        let made = make(&runs, &sizes, &copied, jobs, parts).unwrap();
        assert_eq!(made[..copied.len()], copied);
        let (made, _) = made[copied.len()..].as_chunks::<JOB_PIECES>();
        let mut expected = vec![None; jobs];
        for (place, job) in runs.iter().flat_map(|run| run.made(&sizes)) {
            assert!(expected[place].replace(job).is_none());
        }
        let made: Vec<_> = made.iter().map(|&pieces| Some(Job::from_pieces(pieces))).collect();
        assert_eq!(made, expected, "round {round}");
    }
}

#[test]
fn runs_beyond_the_table_and_sizes_of_no_meaning_trap() {
    let good = sizes(64, (64, 8), 64, 3);
    let job = Job { spectra: 64, ..Job::default() };
    let run = Run { job, first: 1, apart: 2, frames: 4, turn: 0 };
    assert!(make(&[run], &good, &[], 8, 1).is_ok());
    assert!(make(&[run], &good, &[], 7, 1).is_err(), "the last job is number 7");
    let runs = [
        Run { apart: 0, ..run },
        Run { turn: 3, ..run },
        Run { frames: u32::MAX, ..run },
        Run { job: Job { spectra: u32::MAX, ..job }, ..run },
        Run { first: u32::MAX, ..run },
    ];
    for run in runs {
        assert!(make(&[run], &good, &[], 8, 1).is_err(), "{run:?}");
    }
    let length = |most, block| RunSizes { length: JobLength { most, block }, ..good };
    let periods = |period, turns| RunSizes { periods: Periods { period, turns, ..good.periods }, ..good };
    for sizes in [length(0, 8), length(64, 0), length(1 << 24, 8), periods(0, 3), periods(64, 0)] {
        assert!(make(&[run], &sizes, &[], 8, 1).is_err(), "{sizes:?}");
    }
    // No frames are no jobs.
    assert_eq!(make(&[Run { frames: 0, ..run }], &good, &[], 8, 1).unwrap(), vec![[u32::MAX; 4]; 8 * JOB_PIECES]);
}

#[test]
fn rows_of_bits_go_behind_what_is_held_and_what_is_before_them_stays() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (most, pitch) = (60_000u64, 60_608usize);
    for round in 0..12 {
        let chunk: Vec<u32> = (0..2000).map(|_| random.random()).collect();
        let held: Vec<u32> = (0..7 * pitch / 32).map(|_| random.random()).collect();
        let next: Vec<u32> = (0..3 * pitch / 32).map(|_| random.random()).collect();
        let mut spans: Vec<[u64; SPAN]> = Vec::new();
        for row in 0..3u64 {
            let some = |random: &mut Xoshiro256PlusPlus| random.random_range(0..=most / 2);
            let (kept, mut new) = match (round, row) {
                (0, _) => [(0, 0), (0, 1), (1, most / 2)][row as usize],
                (1, _) => [(0, most), (most, 0), (31, 2)][row as usize],
                _ => (some(&mut random), some(&mut random)),
            };
            // The first row ends with the last bit of the chunk.
            let chunk_bit = if row == 0 { 64_000 - new } else { random.random_range(0..64_000 - new) };
            let held_bit = row * pitch as u64 + random.random_range(0..pitch as u64 - kept);
            let at = row * pitch as u64 + 32 * random.random_range(0..17);
            spans.push([held_bit, kept, chunk_bit, new, at, 1]);
            // And some of the chunk among what is held, in rows of their own.
            new = new.min(60_000);
            spans.push([0, 0, chunk_bit, new, (4 + row) * pitch as u64 + 32 * random.random_range(0..17), 0]);
        }
        // More lies behind the spans; counts become zeros. Blocks take tiles in turn, or there are too many.
        let (count, zeros) = ([0, 5, 600][round % 3], [0, 300, 1][round / 3 % 3]);
        let behind: Vec<[u32; 4]> = (0..count).map(|_| random.random()).collect();
        moves((&chunk, &held, &next), &spans, &behind, [1, 2, 4][round % 3], zeros);
    }
}

/// What a block writes at a time lies in one source nearly always: from a piece of 16 bytes to one, from a word that
/// begins none, from any bit.
#[test]
fn long_rows_go_by_pieces_and_by_words() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut words = |bits: u64| -> Vec<u32> { (0..bits / 32).map(|_| random.random()).collect() };
    let pitch = 640_000;
    let (chunk, held, next) = (words(320_000), words(3 * pitch), words(3 * pitch));
    let spans = [
        [0, 299_008, 0, 290_000, 0, 1],
        [pitch + 128, 200_003, 37, 280_000, pitch + 128, 1],
        [2 * pitch + 64, 180_000, 32, 270_001, 2 * pitch + 32, 1],
        [0, 0, 256, 300_000, 2 * pitch + 256_000, 0],
    ];
    for tiles in [1, 3] {
        moves((&chunk, &held, &next), &spans, &[], tiles, 1);
    }
}

/// Runs `begin` on spans, with so many blocks a row and counts, and looks at every bit of the rows.
fn moves(
    (chunk, held, next): (&[u32], &[u32], &[u32]),
    spans: &[[u64; SPAN]],
    behind: &[[u32; 4]],
    tiles: u32,
    zeros: usize,
) {
    let rows = spans.len() as u32;
    let table = [&pieces(spans.iter().flatten()), behind].concat();
    let mut memory = GlobalMemory::new();
    let (a, b, c, d) = (memory.upload(chunk), memory.upload(held), memory.upload(next), memory.upload(&table));
    let e = memory.allocate::<u32>(zeros);
    let blocks = rows * tiles + zeros.div_ceil(THREADS as usize) as u32 + 1;
    let launch = Launch::new(<kernels::begin as Kernel>::DECLARATION, [blocks, 1, 1], [THREADS, 1, 1]);
    let launch = launch.shared_bytes(16 * SPAN_PIECES as u32);
    let run = || kernels::begin(a.into(), b.into(), c.into(), d.into(), rows, tiles, e.into());
    let report = launch.run(&mut memory, run);
    report.assert_clean();
    assert!(memory.values::<u32>(e).iter().all(|&count| count == 0));
    let (found_held, found_next): (Vec<u32>, Vec<u32>) = (memory.values(b), memory.values(c));
    let mut written = [vec![false; held.len() * 32], vec![false; next.len() * 32]];
    for span in spans {
        let [held_bit, kept, chunk_bit, new, at, to_next] = span.map(|number| number as usize);
        let found = if to_next == 0 { &found_held } else { &found_next };
        for i in 0..kept + new {
            let expected = if i < kept { bit(held, held_bit + i) } else { bit(chunk, chunk_bit + i - kept) };
            assert_eq!(bit(found, at + i), expected, "{span:?} {i}");
        }
        written[to_next][at..(at + kept + new).next_multiple_of(32)].fill(true);
    }
    for (written, found, before) in [(&written[0], &found_held, held), (&written[1], &found_next, next)] {
        for i in (0..written.len()).filter(|&i| !written[i]) {
            assert_eq!(bit(found, i), bit(before, i), "{i}");
        }
    }
}

#[test]
fn spans_outside_the_rows_trap() {
    let bad = [
        [0u64, 0, 6400, 1, 0, 0],
        [0, 0, 0, 1, 9600, 0],
        [0, 0, 0, 1, 9600, 1],
        [0, 0, 0, 1, 16, 1],
        [0, 0, 0, 6401, 0, 0],
        [9600, 1, 0, 0, 0, 1],
        [u64::MAX, 32, 0, 0, 0, 1],
        [0, 0, u64::MAX, 32, 0, 0],
        [0, 0, 0, 32, u64::MAX - 31, 0],
        [0, u64::MAX, 0, 2, 0, 1],
    ];
    for spans in bad {
        let mut memory = GlobalMemory::new();
        let (chunk, held, next) =
            (memory.upload(&[0u32; 200]), memory.upload(&[0u32; 300]), memory.upload(&[0u32; 300]));
        let table = memory.upload(&pieces(&spans));
        let counts = memory.upload(&[0u32; 0]);
        let launch = Launch::new(<kernels::begin as Kernel>::DECLARATION, [1, 1, 1], [THREADS, 1, 1]);
        let launch = launch.shared_bytes(16 * SPAN_PIECES as u32);
        let run = || kernels::begin(chunk.into(), held.into(), next.into(), table.into(), 1, 1, counts.into());
        let report = launch.run(&mut memory, run);
        assert!(report.faults.iter().any(|fault| fault.message == "the kernel trapped"), "{spans:?}");
        assert!(!report.faults.iter().any(|fault| format!("{fault:?}").contains("OutOfBounds")), "{spans:?}");
    }
}

/// Rows of samples and flags.
struct Rows {
    words: Vec<u32>,
    row_bits: u64,
    bits: u32,
    parts: u32,
    little_endian: bool,
    times: u32,
    length: u32,
    flags: Vec<u8>,
}

/// Sum of squares as bits and clipped samples of each input.
macro_rules! run {
    ($rows:expr, $kernel:ident, $inputs:expr, $join:expr) => {{
        let rows = &$rows;
        let (inputs, slices) = ($inputs as u32, 3);
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&rows.words);
        let flags = memory.upload(if rows.flags.is_empty() { &[0u8][..] } else { &rows.flags });
        let out = memory.upload(&vec![u64::MAX; (inputs * slices * WARPS * 2) as usize]);
        let blocks = rows.flags.len() as u32 / inputs;
        let launch =
            Launch::new(<kernels::$kernel as Kernel>::DECLARATION, [inputs * slices + 1, 1, 1], [THREADS, 1, 1]);
        let report = launch.run(&mut memory, || {
            kernels::$kernel(
                samples.into(),
                flags.into(),
                out.into(),
                inputs,
                rows.row_bits,
                rows.times,
                rows.bits,
                rows.parts,
                u32::from(rows.little_endian),
                rows.length,
                blocks,
                slices,
            )
        });
        report.assert_clean();
        let sums: Vec<u64> = memory.values(out);
        let of_input = |sums: &[u64]| {
            sums.chunks_exact(2)
                .fold((Default::default(), 0), |(sum, clipped), pair| ($join(sum, pair[0]), clipped + pair[1]))
        };
        sums.chunks_exact((slices * WARPS * 2) as usize).map(of_input).collect::<Vec<_>>()
    }};
}

const INPUTS: usize = 2;

fn flags(random: &mut Xoshiro256PlusPlus, times: usize, length: usize) -> Vec<u8> {
    (0..INPUTS * times.div_ceil(length)).map(|_| u8::from(random.random::<f32>() > 0.3)).collect()
}

/// Whether the sample counts.
fn counts(rows: &Rows, input: usize, sample: usize) -> bool {
    let blocks = rows.flags.len() / INPUTS;
    blocks == 0 || rows.flags[input * blocks + sample / rows.length as usize] != 0
}

fn words(bytes: &mut Vec<u8>) -> Vec<u32> {
    bytes.resize(bytes.len().next_multiple_of(4), 0xff);
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

#[test]
fn integers_of_every_width_are_summed_exactly() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for bits in 2..=16u32 {
        for (parts, little_endian) in [(1, false), (2, false), (1, true), (2, true)] {
            if (little_endian && bits != 16) || (parts == 2 && bits != 8 && bits != 16) {
                continue;
            }
            // Rows of which threads have four whole groups and more among them.
            for (times, present) in [(1usize, false), (1027, false), (3001, true), (13007, false)] {
                let limit = 1i32 << (bits - 1);
                let numbers = times * parts;
                let codes: Vec<Vec<i16>> = (0..INPUTS)
                    .map(|_| {
                        let mut code = || match random.random_range(0..8) {
                            0 => -limit,
                            1 => limit - 1,
                            _ => random.random_range(-limit..limit),
                        };
                        (0..numbers).map(|_| code() as i16).collect()
                    })
                    .collect();
                let mut bytes: Vec<u8> = codes
                    .iter()
                    .flat_map(|row| {
                        if little_endian {
                            row.iter().flat_map(|code| code.to_le_bytes()).collect()
                        } else {
                            pack_samples(row, bits).unwrap()
                        }
                    })
                    .collect();
                let rows = Rows {
                    row_bits: 8 * (bytes.len() / INPUTS) as u64,
                    words: words(&mut bytes),
                    bits,
                    parts: parts as u32,
                    little_endian,
                    times: times as u32,
                    length: 99,
                    flags: if present { flags(&mut random, times, 99) } else { Vec::new() },
                };
                let found = run!(rows, statistics_integers, INPUTS, |sum: u64, more| sum + more);
                for (input, found) in found.into_iter().enumerate() {
                    let mut expected = (0, 0);
                    for (sample, code) in codes[input].chunks_exact(parts).enumerate() {
                        if counts(&rows, input, sample) {
                            expected.0 += code.iter().map(|&code| i64::from(code).pow(2) as u64).sum::<u64>();
                            let end = |code: &i16| i32::from(*code) == -limit || i32::from(*code) == limit - 1;
                            expected.1 += u64::from(code.iter().any(end));
                        }
                    }
                    assert_eq!(found, expected, "{bits} bits, {parts} parts, {times} samples, input {input}");
                }
            }
        }
    }
}

#[test]
fn floats_are_summed_in_double_precision() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    // The longer rows have all samples, so that threads have four whole groups and more among them.
    let kinds = [(true, 1usize), (true, 2), (false, 1), (false, 2)];
    for ((half, parts), times) in kinds.into_iter().flat_map(|kind| [(kind, 2003), (kind, 13007)]) {
        let all = times > 2003;
        let values: Vec<Vec<f32>> = (0..INPUTS)
            .map(|_| (0..times * parts).map(|_| f16::from_f32(random.random_range(-1.0..1.0)).to_f32()).collect())
            .collect();
        let mut bytes = Vec::new();
        for row in &values {
            for &value in row {
                if half { bytes.extend(f16::from_f32(value).to_le_bytes()) } else { bytes.extend(value.to_le_bytes()) }
            }
        }
        let mut rows = Rows {
            row_bits: 8 * (bytes.len() / INPUTS) as u64,
            words: words(&mut bytes),
            bits: if half { 16 } else { 32 },
            parts: parts as u32,
            little_endian: false,
            times: times as u32,
            length: 64,
            flags: if all { Vec::new() } else { flags(&mut random, times, 64) },
        };
        // What is absent may be anything.
        let absent = (0..times).find(|&sample| !counts(&rows, 0, sample));
        assert_eq!(absent.is_none(), all);
        if let Some(absent) = absent.filter(|_| !half) {
            rows.words[absent * parts] = f32::NAN.to_bits();
        }
        let found: Vec<(f64, u64)> = run!(rows, statistics_floats, INPUTS, |sum: f64, more| sum + f64::from_bits(more));
        for (input, (sum, clipped)) in found.into_iter().enumerate() {
            let samples = values[input].chunks_exact(parts).enumerate();
            let counted = samples.filter(|&(sample, _)| counts(&rows, input, sample));
            let expected: f64 = counted.flat_map(|(_, parts)| parts).map(|&x| f64::from(x).powi(2)).sum();
            // Sums of that many positive numbers.
            assert!((sum - expected).abs() <= expected * (times * parts) as f64 * 2f64.powi(-53), "{sum} {expected}");
            assert_eq!(clipped, 0);
        }
    }
}

/// Runs sums of stretches, first bit and samples of each input, and adds to what is there.
macro_rules! add {
    ($rows:expr, $kernel:ident, $stretches:expr, $before:expr) => {{
        let (rows, stretches): (&Rows, &[Vec<[u64; 2]>]) = (&$rows, $stretches);
        let (inputs, slices) = (INPUTS as u32, 2);
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&rows.words);
        let ends: Vec<u32> = stretches
            .iter()
            .scan(0, |end, of| {
                Some({
                    *end += of.len() as u32;
                    *end
                })
            })
            .collect();
        let (table, ends) = (memory.upload(&stretches.concat()), memory.upload(&ends));
        let out = memory.upload(&$before);
        let launch =
            Launch::new(<kernels::$kernel as Kernel>::DECLARATION, [inputs * slices + 1, 1, 1], [THREADS, 1, 1]);
        let report = launch.run(&mut memory, || {
            kernels::$kernel(
                samples.into(),
                table.into(),
                ends.into(),
                out.into(),
                inputs,
                slices,
                rows.bits,
                rows.parts,
                u32::from(rows.little_endian),
            )
        });
        report.assert_clean();
        memory.values::<u64>(out)
    }};
}

/// Sums of nothing.
fn nothing() -> Vec<u64> {
    vec![0; INPUTS * 2 * WARPS as usize * 2]
}

/// Each input's.
fn of_inputs<T>(sums: &[u64], join: impl Fn(T, u64) -> T + Copy, none: T) -> Vec<(T, u64)>
where
    T: Copy,
{
    let of = |sums: &[u64]| sums.chunks_exact(2).fold((none, 0), |(sum, n), pair| (join(sum, pair[0]), n + pair[1]));
    sums.chunks_exact(sums.len() / INPUTS).map(of).collect()
}

#[test]
fn stretches_of_integers_are_added_exactly_from_any_bit_on() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
    for (bits, parts) in [(2u32, 1usize), (7, 1), (8, 2), (10, 1), (12, 1), (16, 1)] {
        // Of the longest stretch threads have four whole groups and more.
        let (times, limit) = (13000usize, 1i32 << (bits - 1));
        let codes: Vec<Vec<i16>> = (0..INPUTS)
            .map(|_| (0..times * parts).map(|_| random.random_range(-limit..limit) as i16).collect())
            .collect();
        let mut bytes: Vec<u8> = codes.iter().flat_map(|row| pack_samples(row, bits).unwrap()).collect();
        let row_bits = 8 * (bytes.len() / INPUTS) as u64;
        let words = words(&mut bytes);
        let (little_endian, length, flags) = (false, 1, Vec::new());
        let rows =
            Rows { row_bits, words, bits, parts: parts as u32, little_endian, times: times as u32, length, flags };
        let lists = [vec![(0u64, 1u64), (3, 1100), (1300, 11700)], vec![], vec![(12999, 1)]];
        let mut sums = nothing();
        let mut expected = vec![(0u64, 0u64); INPUTS];
        // Two launches: what is there is added to.
        for round in 0..2 {
            let of = |input: usize| lists[(input + 2 * round) % 3].clone();
            let bit = |input: usize, first: u64| input as u64 * row_bits + first * u64::from(bits) * parts as u64;
            let stretches: Vec<Vec<[u64; 2]>> = (0..INPUTS)
                .map(|input| of(input).into_iter().map(|(first, count)| [bit(input, first), count]).collect())
                .collect();
            sums = add!(rows, sums_integers, &stretches, sums);
            for (input, expected) in expected.iter_mut().enumerate() {
                for (first, count) in of(input) {
                    let codes = &codes[input][first as usize * parts..(first + count) as usize * parts];
                    expected.0 += codes.iter().map(|&code| i64::from(code).pow(2) as u64).sum::<u64>();
                    let end = |code: &i16| i32::from(*code) == -limit || i32::from(*code) == limit - 1;
                    expected.1 += codes.chunks(parts).filter(|sample| sample.iter().any(end)).count() as u64;
                }
            }
        }
        assert_eq!(of_inputs(&sums, |a: u64, b| a + b, 0), expected, "{bits} bits");
    }
}

#[test]
fn stretches_of_floats_are_added_in_double_precision() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
    let values: Vec<f32> = (0..20_000).map(|_| random.random_range(-1.0..1.0)).collect();
    let words: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    let (little_endian, length, flags, row_bits) = (false, 1, Vec::new(), 0);
    let rows = Rows { row_bits, words, bits: 32, parts: 2, little_endian, times: 0, length, flags };
    // Of the longest stretch threads have four whole groups and more.
    let stretches = [vec![[32 * 6, 700]], vec![[0, 2], [32 * 2000, 8999]]];
    let sums = add!(rows, sums_floats, &stretches, nothing());
    let sums = add!(rows, sums_floats, &stretches, sums);
    let square = |from: usize, to: usize| values[from..to].iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let expected = [2.0 * square(6, 1406), 2.0 * (square(0, 4) + square(2000, 19_998))];
    let found = of_inputs(&sums, |a: f64, b| a + f64::from_bits(b), 0.0);
    for ((found, clipped), expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() <= expected * 36_004.0 * 2f64.powi(-53), "{found} {expected}");
        assert_eq!(clipped, 0);
    }
}

#[test]
fn stretches_beyond_the_views_read_zeros_and_too_few_sums_trap() {
    let (little_endian, length, flags, row_bits) = (false, 1, Vec::new(), 0);
    let rows = Rows { row_bits, words: vec![!0; 4], bits: 8, parts: 1, little_endian, times: 0, length, flags };
    // -1 in 16 samples, and zeros behind them.
    let stretches = [vec![[0, 1000]], vec![[u64::MAX - 100, 3]]];
    let found = of_inputs(&add!(rows, sums_integers, &stretches, nothing()), |a: u64, b| a + b, 0);
    assert_eq!(found, [(16, 0), (0, 0)]);
    let mut memory = GlobalMemory::new();
    let (samples, table) = (memory.upload(&rows.words), memory.upload(&[[0u64, 16]]));
    for (inputs, ends, sums, bits) in [(1u32, 1, 31, 8u32), (2, 1, 64, 8), (1, 1, 32, 1), (1, 1, 32, 17)] {
        let (ends, out) = (memory.upload(&vec![1u32; ends]), memory.upload(&vec![0u64; sums]));
        let launch = Launch::new(<kernels::sums_integers as Kernel>::DECLARATION, [inputs * 2, 1, 1], [THREADS, 1, 1]);
        let report = launch.run(&mut memory, || {
            kernels::sums_integers(samples.into(), table.into(), ends.into(), out.into(), inputs, 2, bits, 1, 0)
        });
        assert!(report.faults.iter().any(|fault| fault.message == "the kernel trapped"), "{bits} {sums}");
    }
}
