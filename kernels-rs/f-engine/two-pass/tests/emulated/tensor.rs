//! Both passes with the transform on tensor cores.

use fringes_channelizer::internals::tables;
use fringes_channelizer::internals::tensor_shape::TensorShape;
use fringes_channelizer::internals::tensor_tables;
use fringes_emulator::{Buffer, GlobalMemory};
use fringes_kernels_f_engine_two_pass::tensor::between::{tensor_middle_r8_16_half, tensor_middle_r8_32_half};
use fringes_kernels_f_engine_two_pass::tensor::filter::{
    tensor_b8_m1_r8_half, tensor_b8_m2_r4_half, tensor_b10_m1_r4_half, tensor_b10_m1_r8_half, tensor_b10_m1_r16_half,
    tensor_b10_m2_r8_half,
};
use fringes_kernels_f_engine_two_pass::tensor::tensor_256::{tensor_256_f32_half, tensor_256_i8_half};
use fringes_kernels_f_engine_two_pass::tensor::tensor_512::{
    tensor_512_f16_half, tensor_512_f32_half, tensor_512_i4_half, tensor_512_i8_half,
};
use fringes_kernels_f_engine_two_pass::tensor::tensor_1024::{tensor_1024_f32_half, tensor_1024_i8_half};
use fringes_kernels_f_engine_two_pass::tensor::tensor_2048::tensor_2048_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_4096::tensor_4096_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_8192::tensor_8192_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_16384::tensor_16384_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_32768::tensor_32768_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_65536::tensor_65536_f32_half;
use half::f16;
use num_complex::Complex64;

use crate::case::{Case, Device, Input, Made, Outcome, PAIR};
use crate::integers::{bytes, check_within};

/// Root of the mean square of errors, in parts of the values', of so many roundings to 11 bits of weights, points and
/// matrices: each is uniform in half a step either way, of numbers whose logarithms are.
pub(crate) fn error(roundings: f64) -> f64 {
    let step = 2f64.powi(-10);
    // The mean square of a step in parts of a number between 1 and 2.
    let mean = 3.0 / (8.0 * 2f64.ln());
    (roundings * mean / 12.0).sqrt() * step
}

/// Roundings of two passes, and with a digit between them.
pub(crate) const TWO: f64 = 5.0;
pub(crate) const THREE: f64 = 7.0;

/// What the kernels read beside what those without tensor cores do.
pub(crate) struct Tables {
    pub(crate) pairs: Buffer<[u32; 2]>,
    pub(crate) tails: Buffer<u32>,
    pub(crate) first: Buffer<[u32; 4]>,
    pub(crate) middle: Buffer<[u32; 4]>,
    pub(crate) second: Buffer<[u32; 4]>,
    pub(crate) gains: Buffer<[f32; 2]>,
    pub(crate) workspace: Buffer<[u32; 4]>,
}

impl Tables {
    /// Those of a case, of the inner half alone if so said, and a workspace for so many groups.
    pub(crate) fn new(
        case: &Case,
        made: &Made,
        shape: TensorShape,
        memory: &mut GlobalMemory,
        (groups, inner): (usize, bool),
    ) -> Self {
        let terms = shape.terms();
        let points = (shape.first_rows(), shape.first_points());
        let complex = case.complex;
        let weights = tensor_tables::weights(&made.weights, points, complex, case.m(), case.full_scale(), terms);
        let scale = tensor_tables::gain_scale(weights.exponent, shape.middle());
        let gains: Vec<_> = (0..case.inputs.len())
            .flat_map(|input| tables::gains(&case.shape(), scale, |channel| case.gain(input, channel)))
            .collect();
        let middle =
            if shape.middle() > 1 { tensor_tables::middle(shape.radix(), shape.middle(), terms) } else { vec![] };
        Self {
            pairs: memory.upload(&weights.pairs),
            tails: memory.upload(&weights.tails),
            first: memory.upload(&tensor_tables::first(shape.all_rows(), terms)),
            middle: memory.upload(&middle),
            second: memory.upload(&if inner {
                tensor_tables::inner(shape.rows(), shape.all_rows(), terms)
            } else {
                tensor_tables::second(shape.rows(), shape.all_rows(), complex, terms)
            }),
            gains: memory.upload(&gains),
            workspace: memory.allocate(groups * shape.workspace_of_group()),
        }
    }
}

/// Blocks from one to that whose samples it asks for: some of other groups, and some of none.
pub(crate) const AHEAD: u32 = 5;

/// Launches the first kernel for some groups.
macro_rules! columns {
    ($case:expr, $made:expr, $shape:expr, $device:expr, $tables:expr, ($first:expr, $groups:expr), $kernel:path $(, $last:expr)?) => {{
        let (case, shape, device, tables) = ($case, $shape, &mut $device, &$tables);
        let (channel_stride, period_stride) = case.strides();
        let (count, inputs) = ($made.jobs.len() as u32, case.inputs.len() as u32);
        let (samples, held, jobs) = (device.samples, device.held, device.jobs);
        let (out, saturated) = (device.out, device.saturated);
        let (next, next_saturated) = (device.next, device.next_saturated);
        let config = shape.columns($groups, case.m());
        let declaration = <$kernel as fringes_device::Kernel>::DECLARATION;
        let launch = fringes_emulator::Launch::new(declaration, config.grid, config.block);
        launch.shared_bytes(config.shared_bytes).run(&mut device.memory, || {
            $kernel(
                samples.into(),
                held.into(),
                tables.pairs.into(),
                tables.tails.into(),
                jobs.into(),
                tables.workspace.into(),
                // As if shares did not lie apart.
                out.len as u64 - case.apart() as u64,
                saturated.len as u32,
                next.len as u64,
                next_saturated.len as u32,
                inputs,
                case.taps as u32,
                count,
                $first as u32,
                shape.first_rows() as u32,
                shape.row_bits(),
                case.range.start as u32,
                case.range.len() as u32,
                channel_stride,
                case.period as u32,
                period_stride,
                inputs,
                $($last,)?
            )
        })
    }};
}

/// Runs a case with numbers of `$terms` terms; no kernel may have a fault.
macro_rules! run {
    ($case:expr, $terms:literal, $columns:path, $((between $middle:path),)? $rows:path, $element:ty) => {
        $crate::tensor::run!(@ $case, $terms, $columns, [$crate::tensor::AHEAD], false, $([$middle],)? $rows, $element)
    };
    // Of samples of whole bytes, integers of so many bits or floats, and whether of the inner half alone.
    (complex $bits:expr, $inner:literal; $case:expr, $columns:path, $((between $middle:path),)? $rows:path, $element:ty) => {
        $crate::tensor::run!(@ $case, 1, $columns, [$bits], $inner, $([$middle],)? $rows, $element)
    };
    (@ $case:expr, $terms:literal, $columns:path, [$($bits:expr)?], $inner:literal, $([$middle:path],)? $rows:path, $element:ty) => {{
        let case = &$case;
        let made = case.make();
        let mut device = $crate::case::Device::<$element>::new(case, &made, 0);
        let shape = fringes_channelizer::internals::tensor_shape::TensorShape::new(case.channels, $terms).unwrap();
        let shape = if $inner { shape.inner_half() } else { shape };
        let groups = made.jobs.len().div_ceil(fringes_channelizer::internals::shape::JOBS);
        let each = groups.min(case.at_once);
        let tables = $crate::tensor::Tables::new(case, &made, shape, &mut device.memory, (each, $inner));
        let (channel_stride, period_stride) = case.strides();
        let (count, inputs) = (made.jobs.len() as u32, case.inputs.len() as u32);
        let (jobs, out, saturated) = (device.jobs, device.out, device.saturated);
        let (next, next_saturated) = (device.next, device.next_saturated);
        for start in (0..groups).step_by(each) {
            let groups = each.min(groups - start);
            $crate::tensor::columns!(case, made, shape, device, tables, (start, groups), $columns $(, $bits)?).assert_clean();
            $(
                let config = shape.between(groups).unwrap();
                let declaration = <$middle as fringes_device::Kernel>::DECLARATION;
                let launch = fringes_emulator::Launch::new(declaration, config.grid, config.block);
                let (rows, workspace, matrices) = (shape.rows() as u32, tables.workspace, tables.middle);
                let report = launch.run(&mut device.memory, || $middle(workspace.into(), matrices.into(), rows));
                report.assert_clean();
            )?
            let mut config = shape.rows_of_slots(groups);
            config.grid[0] = config.grid[0].min(case.tiles);
            let declaration = <$rows as fringes_device::Kernel>::DECLARATION;
            let launch = fringes_emulator::Launch::new(declaration, config.grid, config.block);
            let report = launch.shared_bytes(config.shared_bytes).run(&mut device.memory, || {
                $rows(
                    tables.workspace.into(),
                    tables.first.into(),
                    tables.second.into(),
                    tables.gains.into(),
                    jobs.into(),
                    out.into(),
                    saturated.into(),
                    next.into(),
                    next_saturated.into(),
                    count,
                    start as u32,
                    case.range.start as u32,
                    case.range.len() as u32,
                    channel_stride,
                    case.period as u32,
                    period_stride,
                    inputs,
                    case.seed.unwrap_or(0),
                    u32::from(case.seed.is_some()),
                    case.shares.0,
                    case.shares.1,
                )
            });
            report.assert_clean();
        }
        let (values, saturated) = device.outcome();
        $crate::case::Outcome { made, values, saturated }
    }};
}

pub(crate) use {columns, run};

/// Compares floats: the mean square of their errors, and the largest one.
pub(crate) fn check<T: Copy>(case: &Case, out: &Outcome<T>, error: f64, value: impl Fn(T) -> [f64; 2]) {
    let (mut squares, mut errors, mut worst, mut count) = (0.0, 0.0, 0.0f64, 0.0);
    case.compare(out, |at, expected, actual| {
        let [re, im] = value(actual);
        let off = (Complex64::new(re, im) - expected).norm();
        assert!(off.is_finite(), "{at:?}");
        squares += expected.norm_sqr();
        errors += off * off;
        worst = worst.max(off);
        count += 1.0;
    });
    let (rms, off) = ((squares / count).sqrt(), (errors / count).sqrt());
    println!("{} channels: values {rms}, errors {off} = {} of it, worst {worst}", case.channels, off / rms);
    assert!(off < error * rms, "{off} of {rms}");
    // Of a complex Gaussian 1 in 7e10 is beyond 5.
    assert!(worst < 5.0 * error * rms, "{worst} of {rms}");
}

pub(crate) fn floats([re, im]: [f32; 2]) -> [f64; 2] {
    [re, im].map(f64::from)
}

#[test]
fn two_hundred_fifty_six_channels_are_within_half_precision() {
    let case = Case { of_job: 7, ..Case::new(256, 9) };
    check(&case, &run!(case, 1, tensor_b10_m1_r4_half, tensor_256_f32_half, [f32; 2]), error(TWO), floats);
    let case = Case { bits: 8, taps: 20, of_job: 64, range: 3..250, ..Case::new(256, 64) };
    check(&case, &run!(case, 1, tensor_b8_m2_r4_half, tensor_256_f32_half, [f32; 2]), error(TWO), floats);
    let case = Case { seed: Some(7), gain: 0.15, period: 8, of_job: 16, ..Case::new(256, 24) };
    let out = run!(case, 1, tensor_b10_m1_r4_half, tensor_256_i8_half, u16);
    check_within(&case, &out, (127.0, tie(&case)), bytes);
}

#[test]
fn five_hundred_twelve_channels_are_within_half_precision() {
    let case = Case { of_job: 7, ..Case::new(512, 9) };
    check(&case, &run!(case, 1, tensor_b10_m1_r8_half, tensor_512_f32_half, [f32; 2]), error(TWO), floats);
}

#[test]
fn one_thousand_twenty_four_channels_are_within_half_precision() {
    let case = Case { tiles: 1, ..Case::new(1024, 3) };
    check(&case, &run!(case, 1, tensor_b10_m1_r8_half, tensor_1024_f32_half, [f32; 2]), error(TWO), floats);
}

#[test]
fn two_thousand_forty_eight_channels_are_within_half_precision() {
    let case = Case { tiles: 1, ..Case::new(2048, 2) };
    check(&case, &run!(case, 1, tensor_b10_m1_r8_half, tensor_2048_f32_half, [f32; 2]), error(TWO), floats);
}

#[test]
fn four_thousand_ninety_six_channels_are_within_half_precision() {
    let case = Case { tiles: 1, ..Case::new(4096, 2) };
    check(&case, &run!(case, 1, tensor_b10_m1_r16_half, tensor_4096_f32_half, [f32; 2]), error(TWO), floats);
}

macro_rules! long {
    ($($test:ident $channels:literal $columns:ident $middle:ident $rows:ident;)*) => { $(
        #[test]
        fn $test() {
            let case = Case { tiles: 1, ..Case::new($channels, 1) };
            check(&case, &run!(case, 1, $columns, (between $middle), $rows, [f32; 2]), error(THREE), floats);
        }
    )* };
}

long! {
    eight_thousand_channels_are_within_half_precision
        8192 tensor_b10_m1_r8_half tensor_middle_r8_16_half tensor_8192_f32_half;
    sixteen_thousand_channels_are_within_half_precision
        16384 tensor_b10_m1_r8_half tensor_middle_r8_16_half tensor_16384_f32_half;
    thirty_two_thousand_channels_are_within_half_precision
        32768 tensor_b10_m1_r8_half tensor_middle_r8_16_half tensor_32768_f32_half;
    sixty_five_thousand_channels_are_within_half_precision
        65536 tensor_b10_m1_r8_half tensor_middle_r8_32_half tensor_65536_f32_half;
}

#[test]
fn jobs_of_64_spectra_and_32_taps_are_within_half_precision() {
    let case = Case { at_once: 1, taps: 32, ..Case::new(512, 67) };
    let out = run!(case, 1, tensor_b10_m2_r8_half, tensor_512_f16_half, u32);
    let value = |word: u32| [word, word >> 16].map(|part| f16::from_bits(part as u16).to_f64());
    // And a sixth rounding, of the output.
    check(&case, &out, error(TWO + 1.0), value);
}

#[test]
fn a_last_job_may_be_alone_and_of_other_spectra() {
    let third = Input { start: 64, turns: (0.0, 0.5), slope: (0.25, 0.0) };
    let case = Case { inputs: vec![PAIR[1], third, PAIR[0]], of_job: 4, range: 100..300, ..Case::new(512, 6) };
    check(&case, &run!(case, 1, tensor_b10_m1_r8_half, tensor_512_f32_half, [f32; 2]), error(TWO), floats);
}

#[test]
fn samples_begin_with_any_even_bit_of_a_byte_and_jobs_with_any_slot() {
    // 10 bits times 0 to 3, and words that they begin in.
    let input = |start: usize| Input { start, turns: (0.1, 0.0), slope: (0.01, 0.0) };
    let inputs = [0, 1 + 4, 2 + 20, 3 + 8].map(input).to_vec();
    let case = Case { inputs, of_job: 11, tiles: 1, ..Case::new(512, 13) };
    check(&case, &run!(case, 1, tensor_b10_m1_r8_half, tensor_512_f32_half, [f32; 2]), error(TWO), floats);
}

/// Half a step and five errors of values of this magnitude.
pub(crate) fn tie(case: &Case) -> f64 {
    5e-3 + 5.0 * error(TWO) * case.gain * case.full_scale() / 3f64.sqrt() * 1.25
}

#[test]
fn bytes_are_those_of_the_reference_away_from_ties() {
    // Frames of 8 spectra: whole pieces of both jobs.
    for (seed, gain, period, of_job) in [(Some(77), 0.15, 24, 64), (None, 0.17, 5, 7), (Some(1), 0.15, 8, 16)] {
        let case = Case { seed, gain, period, of_job, ..Case::new(512, 24) };
        let out = run!(case, 1, tensor_b10_m1_r8_half, tensor_512_i8_half, u16);
        check_within(&case, &out, (127.0, tie(&case)), bytes);
    }
    let case = Case { seed: Some(3), gain: 0.15, tiles: 1, ..Case::new(1024, 4) };
    let out = run!(case, 1, tensor_b10_m1_r8_half, tensor_1024_i8_half, u16);
    check_within(&case, &out, (127.0, tie(&case)), bytes);
}

#[test]
fn nibbles_are_those_of_the_reference_away_from_ties() {
    for seed in [Some(1 << 40), None] {
        let case = Case { seed, gain: 0.06, bits: 8, ..Case::new(512, 16) };
        let out = run!(case, 1, tensor_b8_m1_r8_half, tensor_512_i4_half, u8);
        check_within(&case, &out, (7.0, tie(&case)), |value| [value as i8 >> 4, (value << 4) as i8 >> 4]);
    }
}

/// A piece of two jobs, and pieces of one: values have the same bits however they lie.
#[test]
fn values_are_the_same_wherever_they_lie() {
    let case = Case { seed: Some(5), gain: 0.15, ..Case::new(512, 16) };
    let together = run!(case, 1, tensor_b10_m1_r8_half, tensor_512_i8_half, u16);
    let apart = Case { period: 3, of_job: 16, ..case.clone() };
    let out = run!(apart, 1, tensor_b10_m1_r8_half, tensor_512_i8_half, u16);
    for (input, spectrum, channel) in (0..2).flat_map(|i| (0..16).flat_map(move |s| (0..512).map(move |c| (i, s, c)))) {
        assert_eq!(
            together.values[case.place(input, spectrum, channel)],
            out.values[apart.place(input, spectrum, channel)]
        );
    }
}

/// Shares of channels that lie apart, on several devices for example, and what is between them.
#[test]
fn shares_of_channels_may_lie_apart() {
    let case = Case { seed: Some(5), gain: 0.15, range: 128..384, ..Case::new(512, 16) };
    let together = run!(case, 1, tensor_b10_m1_r8_half, tensor_512_i8_half, u16);
    // Pieces of both jobs as they lie otherwise, in two frames, and places that no piece has.
    for (period, jump) in [(8, 1 << 13), (16, 777)] {
        let apart = Case { shares: (6, jump), period, ..case.clone() };
        let out = run!(apart, 1, tensor_b10_m1_r8_half, tensor_512_i8_half, u16);
        let all = (0..2).flat_map(|i| (0..16).flat_map(move |s| (128..384).map(move |c| (i, s, c))));
        for (input, spectrum, channel) in all {
            assert_eq!(
                together.values[case.place(input, spectrum, channel)],
                out.values[apart.place(input, spectrum, channel)],
                "{period} {jump}"
            );
        }
        assert_eq!(together.saturated, out.saturated);
    }
}

/// Numbers of two terms are as exact as those of single precision.
#[test]
fn two_terms_are_within_single_precision() {
    use fringes_kernels_f_engine_two_pass::tensor::two_terms::{
        tensor_512::tensor_512_f32_single, tensor_1024::tensor_1024_f32_single, tensor_8192::tensor_8192_i8_single,
        tensor_b10_m1_r8_single, tensor_middle_r8_16_single,
    };
    let case = Case { of_job: 7, ..Case::new(512, 9) };
    crate::floats::check(&case, &run!(case, 2, tensor_b10_m1_r8_single, tensor_512_f32_single, [f32; 2]));
    let case = Case { tiles: 1, ..Case::new(1024, 3) };
    crate::floats::check(&case, &run!(case, 2, tensor_b10_m1_r8_single, tensor_1024_f32_single, [f32; 2]));
    let case = Case { seed: Some(4), gain: 0.25, tiles: 1, ..Case::new(8192, 1) };
    let (tie, limit) = (5e-3, 127.0);
    let out = run!(case, 2, tensor_b10_m1_r8_single, (between tensor_middle_r8_16_single), tensor_8192_i8_single, u16);
    check_within(&case, &out, (limit, tie), bytes);
}

/// A job that is not as it should be: the first kernel traps, does nothing else that is wrong, and stores nothing of
/// its group.
#[test]
fn jobs_that_are_not_as_they_should_be_trap_and_store_nothing() {
    let traps = |what: &str, change: fn(&mut fringes_channelizer::internals::Job)| {
        let case = Case { of_job: 2, ..Case::new(512, 4) };
        let mut made = case.make();
        if let Some(job) = made.jobs.last_mut() {
            change(job);
        }
        let mut device = Device::<[f32; 2]>::new(&case, &made, 0);
        let shape = TensorShape::new(512, 1).unwrap();
        let tables = Tables::new(&case, &made, shape, &mut device.memory, (2, false));
        let report = columns!(&case, made, shape, device, tables, (0, 2), tensor_b10_m1_r8_half, AHEAD);
        let other = report.faults.iter().find(|fault| !fault.to_string().contains("trapped"));
        assert!(!report.faults.is_empty() && other.is_none(), "{what}: {other:?}");
        let points = device.memory.download(tables.workspace);
        let (well, ill) = points.split_at(shape.workspace_of_group());
        assert!(well.iter().all(Option::is_some) && ill.iter().all(Option::is_none), "{what}");
    };
    traps("an odd bit", |job| job.first_bit -= 1);
    traps("a job further on", |job| job.first_bit += 1 << 14);
    traps("a place beyond the output", |job| job.place += 1);
}
