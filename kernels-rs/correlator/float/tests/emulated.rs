//! The kernels of floats in the emulator, with the launches that the host crate makes, against the reference.

use fringes_correlator::internals::float::{FloatJob, Variant};
use fringes_device::tensor_core::{self, Factor, HOPPER, dot};
use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::memory::Space;
use fringes_emulator::{AccessKind, FaultKind, GlobalMemory, Launch, Report};
use fringes_kernels_correlator_float as kernels;
use ndarray::{Array3, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Unit roundoff of f32.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

type Voltages = Array3<Complex<f32>>;

/// Voltages `[channel][time][input]` of random sign, phase and magnitude.
fn voltages(channels: usize, times: usize, inputs: usize, seed: u64) -> Voltages {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array3::from_shape_simple_fn((channels, times, inputs), || {
        Complex::new(random.random_range(-1.0..1.0f32), random.random_range(-1.0..1.0f32))
    })
}

/// Rows `[channel][time / 16][input][16]` of the voltages; NaN where `first..first + times` ends and in what is left of
/// the last row.
fn rows(voltages: &Voltages, job: &FloatJob) -> Vec<u8> {
    let mut rows = vec![f32::NAN; job.row_bytes() / 4];
    for ((channel, time, input), value) in voltages.indexed_iter() {
        if (job.first_time..job.first_time + job.times).contains(&time) {
            let row = (channel * job.blocks + time / 16) * job.inputs + input;
            rows[row * 32 + 2 * (time % 16)] = value.re;
            rows[row * 32 + 2 * (time % 16) + 1] = value.im;
        }
    }
    rows.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Sums in f64 of the times from `first` on, and `sum |a| |b|` of each.
fn reference(voltages: &Voltages, first: usize, times: usize) -> Vec<(Complex<f64>, f64)> {
    let part = voltages.slice(s![.., first..first + times, ..]).mapv(|value| {
        let Complex { re, im } = value;
        Complex::new(f64::from(re), f64::from(im))
    });
    let sums = fringes_reference::correlator::correlate_f64(part.view(), None).sums;
    let magnitudes = part.mapv(|value| Complex::new(value.norm(), 0.0));
    let bounds = fringes_reference::correlator::correlate_f64(magnitudes.view(), None).sums;
    sums.into_iter().zip(bounds.into_iter().map(|bound| bound.re)).collect()
}

type Run<S> = fn(Global<u8>, GlobalMut<[S; 2]>, u32, u32, u32, u32, u32, u32);

/// What a variant's kernels are in the emulator.
struct Kernels {
    variant: Variant,
    overwrite: Run<f32>,
    add: Run<f64>,
    declarations: [&'static str; 2],
    /// Greatest error of a product and its sum over so many times, relative to `sum |a| |b|`.
    bound: fn(times: usize) -> f64,
}

/// Each product is `2 T` fused operations, of which each is rounded once and all share a sum of at most `sum |a| |b|`
/// (1 + small).
fn plain_bound(times: usize) -> f64 {
    1.01 * 2.0 * times as f64 * UNIT
}

/// Of every product `lo lo'` (2^-22) is left out and two lo are cut (2^-23 each). Per four times three products of the
/// tensor cores, of nine terms each cut to 2^-23 of the greatest (the first two 2^-10 smaller), and one rounding of
/// their sum.
fn tensor_bound(times: usize) -> f64 {
    let split = 2.0 * (2f64.powi(-22) + 2.0 * 2f64.powi(-23));
    let cut = 10.0 * 2f64.powi(-23) * 2.0;
    1.01 * (split + cut + times.div_ceil(4) as f64 * UNIT)
}

fn plain() -> Kernels {
    Kernels {
        variant: Variant::Plain,
        overwrite: kernels::correlate_f32,
        add: kernels::correlate_f32_add,
        declarations: [
            <kernels::correlate_f32 as Kernel>::DECLARATION,
            <kernels::correlate_f32_add as Kernel>::DECLARATION,
        ],
        bound: plain_bound,
    }
}

fn mma() -> Kernels {
    Kernels {
        variant: Variant::Mma,
        overwrite: kernels::correlate_f32_tf32,
        add: kernels::correlate_f32_tf32_add,
        declarations: [
            <kernels::correlate_f32_tf32 as Kernel>::DECLARATION,
            <kernels::correlate_f32_tf32_add as Kernel>::DECLARATION,
        ],
        bound: tensor_bound,
    }
}

fn wgmma() -> Kernels {
    Kernels {
        variant: Variant::Wgmma,
        overwrite: kernels::correlate_f32_tf32_wgmma,
        add: kernels::correlate_f32_tf32_wgmma_add,
        declarations: [
            <kernels::correlate_f32_tf32_wgmma as Kernel>::DECLARATION,
            <kernels::correlate_f32_tf32_wgmma_add as Kernel>::DECLARATION,
        ],
        bound: tensor_bound,
    }
}

fn numbers(job: &FloatJob) -> [u32; 6] {
    [job.channels, job.inputs, job.blocks, job.first_time, job.times, job.parts].map(|number| number as u32)
}

fn launch(kernels: &Kernels, adding: bool, job: &FloatJob) -> Launch {
    let config = kernels.variant.launch(job.inputs, job.channels * job.parts).unwrap();
    Launch::new(kernels.declarations[usize::from(adding)], config.grid, config.block).shared_bytes(config.shared_bytes)
}

impl Kernels {
    fn correlate(&self, rows: &[u8], job: &FloatJob) -> (Vec<[f32; 2]>, Report) {
        let mut memory = GlobalMemory::new();
        let (rows, sums) = (memory.upload(rows), memory.allocate::<[f32; 2]>(job.visibilities()));
        let [channels, inputs, blocks, first, times, parts] = numbers(job);
        let report = launch(self, false, job).run(&mut memory, || {
            (self.overwrite)(rows.into(), sums.into(), channels, inputs, blocks, first, times, parts);
        });
        report.assert_clean();
        (memory.values(sums), report)
    }

    fn accumulate(&self, rows: &[u8], job: &FloatJob, initial: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let mut memory = GlobalMemory::new();
        let (rows, sums) = (memory.upload(rows), memory.upload(initial));
        let [channels, inputs, blocks, first, times, parts] = numbers(job);
        let report = launch(self, true, job).run(&mut memory, || {
            (self.add)(rows.into(), sums.into(), channels, inputs, blocks, first, times, parts);
        });
        report.assert_clean();
        memory.values(sums)
    }

    /// Compares sums with the reference, all to the bound.
    fn judge(&self, sums: impl Iterator<Item = [f64; 2]>, expected: &[(Complex<f64>, f64)], job: &FloatJob) {
        let mut compared = 0;
        for (index, ([re, im], (sum, scale))) in sums.zip(expected).enumerate() {
            let error = (Complex::new(re, im) - sum).norm() / scale.max(f64::MIN_POSITIVE);
            let bound = (self.bound)(job.times);
            assert!(
                error <= bound,
                "{:?} {job:?}, sum {index}: {re} {im} for {sum}, {error:e} > {bound:e}",
                self.variant
            );
            compared += 1;
        }
        assert_eq!(compared, expected.len());
    }

    fn check(&self, [channels, times, inputs]: [usize; 3], range: std::ops::Range<usize>) {
        let voltages = voltages(channels, times, inputs, (times * inputs) as u64);
        let job = FloatJob { first_time: range.start, times: range.len(), ..FloatJob::new(channels, times, inputs) };
        let (sums, _) = self.correlate(&rows(&voltages, &job), &job);
        let expected = reference(&voltages, range.start, range.len());
        self.judge(sums.into_iter().map(|sum| sum.map(f64::from)), &expected, &job);
    }

    /// Sums of parts, added in f64.
    fn check_parts(&self, [channels, times, inputs]: [usize; 3], range: std::ops::Range<usize>, parts: usize) {
        let voltages = voltages(channels, times, inputs, 5 + parts as u64);
        let job =
            FloatJob { first_time: range.start, times: range.len(), parts, ..FloatJob::new(channels, times, inputs) };
        let initial: Vec<_> = (0..job.visibilities()).map(|i| [i as f64, -3.0 * i as f64]).collect();
        let rows = rows(&voltages, &job);
        let sums = self.accumulate(&rows, &job, &initial);
        let one = job.visibilities() / parts;
        let whole = (0..one).map(|i| {
            (0..parts).fold([0.0; 2], |[re, im], part| {
                let at = part * one + i;
                [re + (sums[at][0] - initial[at][0]), im + (sums[at][1] - initial[at][1])]
            })
        });
        let expected = reference(&voltages, range.start, range.len());
        self.judge(whole, &expected, &job);
        // Each part has its own rows, and a part without rows is zero where it is overwritten.
        let (each, _) = self.correlate(&rows, &job);
        let first = range.start / 16;
        let steps = range.end.div_ceil(16) - first;
        for (part, sums) in each.chunks(one).enumerate() {
            let time = |part: usize| (16 * (first + part * steps / parts)).clamp(range.start, range.end);
            let (start, end) = (time(part), time(part + 1));
            self.judge(sums.iter().map(|sum| sum.map(f64::from)), &reference(&voltages, start, end - start), &job);
        }
    }
}

const SIZES: [[usize; 3]; 6] = [[1, 16, 64], [2, 1, 1], [1, 33, 3], [2, 20, 65], [1, 17, 130], [1, 47, 100]];

#[test]
fn plain_sums_are_within_their_bound_at_awkward_sizes() {
    for size in SIZES {
        plain().check(size, 0..size[1]);
    }
}

#[test]
fn tf32_sums_are_within_their_bound_at_awkward_sizes() {
    for size in SIZES {
        mma().check(size, 0..size[1]);
    }
}

#[test]
fn wgmma_sums_are_within_their_bound_at_awkward_sizes() {
    for size in [[1, 16, 64], [2, 1, 1], [1, 100, 65], [1, 17, 130]] {
        wgmma().check(size, 0..size[1]);
    }
}

#[test]
fn times_outside_of_the_range_do_not_count() {
    for range in [0..1, 1..2, 15..17, 7..40, 16..32, 31..50, 20..20] {
        plain().check([2, 50, 5], range.clone());
        mma().check([2, 50, 5], range.clone());
        wgmma().check([1, 50, 5], range);
    }
}

#[test]
fn parts_of_the_time_add_up() {
    for kernels in [plain(), mma(), wgmma()] {
        kernels.check_parts([2, 70, 9], 3..68, 3);
        kernels.check_parts([1, 20, 66], 0..20, 3);
    }
}

#[test]
fn sums_of_many_rows_are_added_to_those_in_global_memory() {
    // 64 rows, and some that are left.
    for kernels in [plain(), mma(), wgmma()] {
        kernels.check([1, 16 * 66, 2], 5..16 * 65 + 3);
    }
}

/// Stores to shared memory and copies take no more cycles than their bytes do.
fn stores_without_conflicts(report: &Report) {
    for access in report.accesses.iter().filter(|access| access.space == Space::Shared) {
        if access.kind != AccessKind::Load {
            assert_eq!(access.transactions, access.ideal, "{report}");
        }
    }
}

/// The `requests` loads of samples take so many cycles each: 16 bytes go by quarter-warps, 8 by halves. (Sums in the
/// epilogue are left to threads below the diagonal, so that their loads do not tell.)
fn loads_without_conflicts(report: &Report, requests: u64, cycles: u64) {
    let mut shared = report.accesses.iter().filter(|access| access.space == Space::Shared);
    let samples = shared.find(|access| access.kind == AccessKind::Load && access.requests == requests);
    assert_eq!(samples.unwrap().transactions, cycles * requests, "{report}");
}

#[test]
fn a_stage_takes_the_counted_instructions_and_no_bank_conflicts() {
    let job = FloatJob::new(1, 16, 128);
    let voltages = voltages(1, 16, 128, 3);
    let (_, report) = plain().correlate(&rows(&voltages, &job), &job);
    // Two tiles on the diagonal (36 of 64 pairs a thread) and one below it, two warps, 16 times, 4 operations.
    assert_eq!(report.count("fma_rn_f32").warps + report.count("fnma_rn_f32").warps, (36 + 36 + 64) * 2 * 16 * 4);
    // A tile on the diagonal loads its rows once: 8 of 8 chunks for each of 64 threads.
    assert_eq!(report.count("cp_async_cg_shared_global_16").threads, (8 + 8 + 16) * 64);
    stores_without_conflicts(&report);
    loads_without_conflicts(&report, 6 * (8 + 1 + 8 * 16), 4);
    let (_, report) = mma().correlate(&rows(&voltages, &job), &job);
    // Warps of 64 x 32 pairs, on the diagonal one of them half of that: 4 x 4 fragments, 4 times 4 times, 6 products.
    assert_eq!(report.count("mma_m16n8k8_f32_tf32").warps, (16 + 8 + 16 + 8 + 16 + 16) * 4 * 6);
    stores_without_conflicts(&report);
    loads_without_conflicts(&report, 4 * (2 * (12 + 8) + 2 * 12), 2);
    let (_, report) = wgmma().correlate(&rows(&voltages, &job), &job);
    stores_without_conflicts(&report);
}

/// Mean signed relative error of a sum of squares, as tensor cores that cut make it from samples that tf32 holds, where
/// it is promoted after so many products of eight terms.
fn bias(products: usize) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut bias = 0.0;
    for _ in 0..200 {
        let (mut promoted, mut exact) = (0.0f64, 0.0f64);
        for _ in 0..64 / products {
            let mut sum = 0;
            for _ in 0..products {
                let terms: [f32; 8] =
                    std::array::from_fn(|_| f32::from_bits(random.random_range(-1.0..1.0f32).to_bits() & 0xffff_e000));
                let bits = terms.map(f32::to_bits);
                sum = dot(HOPPER, Factor::TF32, tensor_core::Accumulator::F32, &bits, &bits, sum);
                exact += terms.iter().map(|term| f64::from(*term) * f64::from(*term)).sum::<f64>();
            }
            promoted += f64::from(f32::from_bits(sum));
        }
        bias += (promoted / exact - 1.0) / 200.0;
    }
    bias
}

#[test]
fn promoting_every_row_keeps_the_bias_of_autocorrelations_small() {
    // A row is four products. As the kernels' documentation has it: 3e-7, and more in proportion.
    let [one, row, rows] = [1, 4, 16].map(bias);
    assert!(-1e-7 < one && one < 0.0, "{one:e}");
    assert!(-4e-7 < row && row < 2.0 * one, "{one:e} {row:e}");
    assert!(rows < 3.0 * row, "{row:e} {rows:e}");
}

#[test]
fn short_buffers_trap_before_anything_is_touched() {
    for kernels in [plain(), mma(), wgmma()] {
        let job = FloatJob::new(1, 16, 8);
        for (short_rows, short_sums, parts) in [(1, 0, 1), (0, 1, 1), (0, 0, 2), (0, 0, 0)] {
            let mut memory = GlobalMemory::new();
            let rows = memory.upload(&vec![0u8; job.row_bytes() - short_rows]);
            let sums = memory.allocate::<[f32; 2]>(job.visibilities() - short_sums);
            let report = launch(&kernels, false, &job)
                .run(&mut memory, || (kernels.overwrite)(rows.into(), sums.into(), 1, 8, 1, 0, 16, parts));
            assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
            assert!(memory.download(sums).iter().all(Option::is_none));
        }
    }
}

#[test]
fn without_sums_nothing_is_written() {
    for kernels in [plain(), mma(), wgmma()] {
        let job = FloatJob::new(1, 20, 70);
        let voltages = voltages(1, 20, 70, 8);
        let mut memory = GlobalMemory::new();
        let (rows, sums) = (memory.upload(&rows(&voltages, &job)), memory.allocate::<[f32; 2]>(0));
        let report = launch(&kernels, false, &job)
            .run(&mut memory, || (kernels.overwrite)(rows.into(), sums.into(), 1, 70, 2, 0, 20, 1));
        report.assert_clean();
    }
}

#[test]
fn a_grid_larger_than_the_job_touches_nothing_else() {
    for kernels in [plain(), mma(), wgmma()] {
        let job = FloatJob::new(2, 20, 70);
        let voltages = voltages(2, 20, 70, 8);
        let mut memory = GlobalMemory::new();
        let (rows, sums) = (memory.upload(&rows(&voltages, &job)), memory.allocate::<[f32; 2]>(job.visibilities()));
        let mut config = kernels.variant.launch(70, 2).unwrap();
        config.grid = config.grid.map(|blocks| blocks + 1);
        let report = Launch::new(kernels.declarations[0], config.grid, config.block)
            .shared_bytes(config.shared_bytes)
            .run(&mut memory, || (kernels.overwrite)(rows.into(), sums.into(), 2, 70, 2, 0, 20, 1));
        report.assert_clean();
        let sums = memory.values(sums).into_iter().map(|sum| sum.map(f64::from));
        kernels.judge(sums, &reference(&voltages, 0, 20), &job);
    }
}
