//! The kernels of two launches in the emulator, against the reference.

mod common;

use common::{Case, Format, INPUTS, Made, Order, SEED, check_floats, check_integers, parts_i4, parts_i8};
use fringes_channelizer::internals::cut_plan::{CutPlan, Spread};
use fringes_channelizer::internals::{HELD, Job, NEXT};
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_f_engine_one_pass as kernels;
use fringes_kernels_f_engine_one_pass::run::THREADS;
use half::f16;

/// A case whose slots are those of a job in the workspace, and how its transform is cut.
struct Cut {
    made: Made,
    plan: CutPlan,
    /// Spectra of a block of the second launch.
    part: usize,
}

/// A case in so many rows and strips of so many points.
fn cut(case: Case, rows: usize, width: usize, part: usize) -> Cut {
    let plan = CutPlan::of(case.channels, case.complex, rows, width).unwrap();
    let made = case.make();
    // The bound is by the passes that are made.
    Cut { made: Made { passes: plan.passes().clone(), ..made }, plan, part }
}

/// Runs both kernels on a case, in two pairs of launches with a block more than there are jobs each: values, counts,
/// reports. Tables may be changed before.
macro_rules! launch {
    ($cut:expr, $columns:ident, $rows:ident, $element:ty) => {{
        let Cut { made, plan, part } = &$cut;
        let case = &made.case;
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&made.words);
        let weights = memory.upload(&made.table_of_weights());
        let twiddles = memory.upload(&plan.passes().twiddles());
        let table = plan.table_of_blocks();
        let blocks = memory.upload(&table);
        let pairs = memory.upload(&plan.pairs());
        let channel_of = memory.upload(&plan.channels());
        let gains: Vec<[f32; 2]> = made.gains.iter().flat_map(|gains| plan.gains(|channel| gains[channel])).collect();
        let gains = memory.upload(&gains);
        // What is held lies elsewhere in its buffer; of every third job, and where frames that come next go, in turns.
        let held = memory.upload(&[&[0x5a5a_5a5a; 5][..], &made.words].concat());
        let job = |(index, job): (usize, &Job)| {
            let (is_held, is_next) = (index % 3 == 1, index % 4 >= 2);
            let ahead = if is_held { 160 } else { 0 };
            let flags = if is_held { HELD } else { 0 } | if is_next { NEXT } else { 0 };
            Job { first_bit: job.first_bit.saturating_add(ahead), flags, ..*job }.words()
        };
        let words: Vec<u32> = made.jobs.iter().enumerate().flat_map(job).collect();
        let words: Vec<[u32; 4]> = words.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]).collect();
        let jobs = memory.upload(&words);
        let out = memory.upload(&vec![<$element>::default(); case.elements()]);
        let saturated = memory.upload(&[0u32; INPUTS]);
        let next = memory.upload(&vec![<$element>::default(); case.elements()]);
        let next_saturated = memory.upload(&[0u32; INPUTS]);
        let (channel_stride, period, period_stride, time_stride) = case.strides();
        let count = made.jobs.len();
        let each = count.div_ceil(2).max(1);
        let stride = case.stride as u32 * if case.complex { 2 } else { 1 };
        let [first, last] = plan.packed_radices();
        let spread = Spread::new(case.step(), case.stride, case.slots);
        let mut reports = Vec::new();
        for first_job in (0..count).step_by(each) {
            let workspace = memory.upload(&vec![[f32::NAN; 2]; (each + 1) * case.slots * case.channels]);
            let grid = [plan.row() / plan.width(), spread.blocks(case.slots), each + 1].map(|n| n as u32);
            let declaration = <kernels::$columns as Kernel>::DECLARATION;
            let shared = plan.strip_bytes() as u32;
            let launch = Launch::new(declaration, grid, [THREADS, 1, 1]).shared_bytes(shared);
            // Blocks past those of the launch write what nothing reads.
            let end = (first_job + each).min(count) as u32;
            reports.push(launch.run(&mut memory, || {
                kernels::$columns(
                    samples.into(),
                    held.into(),
                    weights.into(),
                    twiddles.into(),
                    jobs.into(),
                    workspace.into(),
                    end,
                    first_job as u32,
                    case.channels as u32,
                    first,
                    plan.rows() as u32,
                    plan.width() as u32,
                    spread.period as u32,
                    spread.part as u32,
                    case.taps as u32,
                    stride,
                    case.bits(),
                    u32::from(case.format == Format::I16),
                    case.slots as u32,
                )
            }));
            let grid = [case.slots.div_ceil(*part), table.len(), each + 1].map(|n| n as u32);
            let declaration = <kernels::$rows as Kernel>::DECLARATION;
            let shared = plan.rows_bytes(*part) as u32;
            let launch = Launch::new(declaration, grid, [THREADS, 1, 1]).shared_bytes(shared);
            reports.push(launch.run(&mut memory, || {
                kernels::$rows(
                    workspace.into(),
                    twiddles.into(),
                    blocks.into(),
                    pairs.into(),
                    channel_of.into(),
                    gains.into(),
                    jobs.into(),
                    out.into(),
                    saturated.into(),
                    next.into(),
                    next_saturated.into(),
                    end,
                    first_job as u32,
                    case.channels as u32,
                    last,
                    plan.rows() as u32,
                    plan.first_twiddles() as u32,
                    stride,
                    case.slots as u32,
                    *part as u32,
                    case.range.0 as u32,
                    case.range.1 as u32,
                    channel_stride,
                    period,
                    period_stride,
                    time_stride,
                    SEED,
                    u32::from(case.dither),
                )
            }));
        }
        let (mut values, mut counts): (Vec<$element>, Vec<u32>) = (memory.values(out), memory.values(saturated));
        // A value is in the one or in the other; the rest are as they began.
        for (value, other) in values.iter_mut().zip(memory.values::<$element>(next)) {
            if *value == <$element>::default() {
                *value = other;
            } else {
                assert!(other == <$element>::default(), "a value went to both");
            }
        }
        counts.iter_mut().zip(memory.values::<u32>(next_saturated)).for_each(|(count, other)| *count += other);
        (values, counts, reports)
    }};
}

macro_rules! floats {
    ($($test:ident $columns:ident $rows:ident $cut:expr;)*) => { $(
        #[test]
        fn $test() {
            let cut = $cut;
            let (values, _, reports) = launch!(cut, $columns, $rows, [f32; 2]);
            reports.iter().for_each(|report| report.assert_clean());
            let worst = check_floats(&cut.made, |place| values[place].map(f64::from), 0.0);
            println!("{:?} {}: {worst:.3} of the bound", cut.made.passes.radices(), cut.made.case.complex);
        }
    )* };
}

fn real(channels: usize, bits: u32, taps: usize, spectra: usize, slots: usize) -> Case {
    Case::new(channels, false, Format::Packed(bits), taps, spectra, slots)
}

fn complex(channels: usize, format: Format, taps: usize, spectra: usize, slots: usize) -> Case {
    Case::new(channels, true, format, taps, spectra, slots)
}

floats! {
    real_400_channels columns_integers rows_real_f32 cut(real(400, 10, 16, 9, 5), 10, 20, 3);
    real_360_channels_in_rows_of_two_passes columns_integers rows_real_f32 cut(real(360, 12, 4, 7, 7), 20, 9, 7);
    real_375_channels_in_an_odd_number_of_rows columns_integers rows_real_f32 cut(real(375, 11, 5, 6, 6), 15, 5, 4);
    real_150_channels_in_odd_rows columns_integers rows_real_f32 cut(real(150, 10, 17, 28, 26), 10, 15, 11);
    real_512_channels columns_integers rows_real_f32 cut(real(512, 8, 4, 3, 3), 16, 16, 2);
    real_256_channels_of_two_rows columns_integers rows_real_f32 cut(real(256, 7, 3, 3, 3), 2, 32, 2);
    real_1536_channels_in_rows_of_sixteens columns_integers rows_real_f32 cut(real(1536, 10, 2, 2, 2), 6, 32, 2);
    real_2250_channels_in_passes_of_25_and_15 columns_integers rows_real_f32 cut(real(2250, 10, 2, 4, 4), 75, 15, 2);
    real_900_channels_in_25_rows columns_integers rows_real_f32 cut(real(900, 10, 4, 5, 5), 25, 12, 3);
    complex_400_channels_in_25_rows columns_floats rows_complex_f32 cut(complex(400, Format::F32, 4, 5, 5), 25, 8, 4);
    complex_225_channels_in_15_rows columns_integers rows_complex_f32 cut(complex(225, Format::I16, 4, 3, 3), 15, 5, 2);
    real_2187_channels columns_integers rows_real_f32 cut(real(2187, 10, 2, 2, 2), 27, 9, 2);
    complex_400_channels_of_i8 columns_integers rows_complex_f32 cut(complex(400, Format::Packed(8), 5, 6, 4), 20, 10, 3);
    complex_225_channels_of_i16 columns_integers rows_complex_f32 cut(complex(225, Format::I16, 4, 3, 2), 9, 5, 1);
    complex_240_channels_of_f32 columns_floats rows_complex_f32 cut(complex(240, Format::F32, 4, 5, 5), 12, 20, 5);
    complex_96_channels_of_16_taps_of_f16 columns_floats rows_complex_f32 cut(complex(96, Format::F16, 16, 13, 13), 6, 16, 4);
    real_300_channels_of_f16 columns_floats rows_real_f32 cut(Case::new(300, false, Format::F16, 9, 6, 4), 12, 25, 3);
    oversampled_by_4_3 columns_integers rows_real_f32 cut(Case { stride: 360, ..real(240, 10, 16, 9, 9) }, 8, 30, 4);
    oversampled_by_4_3_in_whole_jobs columns_integers rows_real_f32 cut(Case { stride: 144, ..real(96, 10, 16, 50, 48) }, 8, 12, 24);
    oversampled_by_4_3_of_12_bits_and_35_taps columns_integers rows_real_f32 cut(Case { stride: 90, ..real(60, 12, 35, 31, 26) }, 6, 10, 13);
    oversampled_by_2 columns_integers rows_real_f32 cut(Case { stride: 96, ..real(96, 10, 16, 30, 26) }, 8, 12, 9);
    oversampled_by_3_2 columns_integers rows_real_f32 cut(Case { stride: 100, ..real(75, 11, 18, 29, 25) }, 5, 5, 9);
    oversampled_by_5_4 columns_integers rows_real_f32 cut(Case { stride: 96, ..real(60, 9, 5, 49, 48) }, 6, 10, 24);
    oversampled_by_6_5 columns_integers rows_real_f32 cut(Case { stride: 100, ..real(60, 10, 18, 61, 48) }, 6, 5, 24);
    oversampled_by_8_7 columns_integers rows_real_f32 cut(Case { stride: 112, ..real(64, 10, 21, 26, 26) }, 8, 8, 13);
    oversampled_by_8_3_of_i16 columns_integers rows_complex_f32 cut(Case { stride: 45, ..complex(120, Format::I16, 20, 43, 42) }, 6, 20, 6);
    oversampled_by_4_3_of_16_taps_of_f16 columns_floats rows_real_f32 cut(Case { stride: 90, ..Case::new(60, false, Format::F16, 16, 60, 36) }, 6, 10, 18);
    oversampled_by_5_4_of_32_taps_of_f32 columns_floats rows_complex_f32 cut(Case { stride: 48, ..complex(60, Format::F32, 32, 50, 48) }, 6, 5, 12);
    oversampled_of_20_taps_of_11_bits columns_integers rows_real_f32 cut(Case { stride: 144, ..real(96, 11, 20, 14, 14) }, 6, 16, 5);
    oversampled_of_35_taps_of_12_bits columns_integers rows_real_f32 cut(Case { stride: 99, ..real(81, 12, 35, 5, 5) }, 9, 3, 5);
    oversampled_by_an_odd_stride columns_integers rows_real_f32 cut(Case { stride: 121, ..real(90, 10, 4, 9, 5) }, 6, 15, 5);
    oversampled_complex columns_integers rows_complex_f32 cut(Case { stride: 81, ..complex(96, Format::I16, 4, 9, 9) }, 6, 8, 5);
    oversampled_complex_of_an_odd_number columns_integers rows_complex_f32 cut(Case { stride: 50, ..complex(75, Format::Packed(5), 3, 6, 6) }, 5, 5, 6);
    oversampled_floats columns_floats rows_complex_f32 cut(Case { stride: 45, ..complex(60, Format::F32, 3, 6, 4) }, 6, 5, 4);
    a_range_in_rows columns_integers rows_real_f32 cut(Case { range: (17, 90), order: Order::Rows(8), ..real(120, 10, 4, 13, 13) }, 10, 6, 4);
}

#[test]
fn samples_of_every_number_of_bits_at_every_first_sample() {
    for bits in 2..=16 {
        for start in 0..5 {
            let cut = cut(Case { start, ..real(30, bits, 2, 4, 4) }, 5, 3, 4);
            let (values, _, reports) = launch!(cut, columns_integers, rows_real_f32, [f32; 2]);
            reports.iter().for_each(|report| report.assert_clean());
            check_floats(&cut.made, |place| values[place].map(f64::from), 0.0);
        }
    }
}

macro_rules! halves {
    ($($test:ident $columns:ident $rows:ident $cut:expr;)*) => { $(
        #[test]
        fn $test() {
            let cut = $cut;
            let (values, _, reports) = launch!(cut, $columns, $rows, u32);
            reports.iter().for_each(|report| report.assert_clean());
            let half = |bits: u16| f16::from_bits(bits).to_f64();
            let value = |place: usize| [values[place] as u16, (values[place] >> 16) as u16].map(half);
            // Each part is rounded to 11 bits, and those of smaller parts to less than that.
            check_floats(&cut.made, value, 2f64.powi(-11));
        }
    )* };
}

halves! {
    f16_of_real_integers columns_integers rows_real_f16 cut(Case { rms: 100.0, ..real(96, 10, 4, 5, 4) }, 6, 16, 3);
    f16_of_complex_floats columns_floats rows_complex_f16 cut(Case { rms: 100.0, ..complex(96, Format::F32, 4, 5, 4) }, 8, 4, 4);
}

macro_rules! integers {
    ($($test:ident $columns:ident $rows:ident $element:ty, $parts:ident $limit:literal $cut:expr;)*) => { $(
        #[test]
        fn $test() {
            let cut = $cut;
            let (values, counts, reports) = launch!(cut, $columns, $rows, $element);
            reports.iter().for_each(|report| report.assert_clean());
            check_integers(&cut.made, $limit, |place| $parts(values[place]), &counts);
        }
    )* };
}

/// Values of which some saturate at 127.
fn loud(case: Case) -> Case {
    Case { rms: 70.0, dither: true, ..case }
}

/// Values of which some saturate at 7.
fn soft(case: Case) -> Case {
    Case { rms: 4.0, ..case }
}

integers! {
    i8_of_real_integers columns_integers rows_real_i8 u16, parts_i8 127.0 cut(loud(real(120, 10, 16, 15, 14)), 10, 12, 6);
    i8_of_a_range_in_rows columns_integers rows_real_i8 u16, parts_i8 127.0 cut(Case { range: (5, 80), order: Order::Rows(16), ..loud(real(100, 10, 5, 20, 20)) }, 5, 20, 7);
    i8_oversampled columns_integers rows_real_i8 u16, parts_i8 127.0 cut(Case { stride: 108, ..loud(real(64, 10, 4, 8, 8)) }, 8, 4, 3);
    i8_of_complex_floats columns_floats rows_complex_i8 u16, parts_i8 127.0 cut(loud(complex(60, Format::F16, 4, 6, 4)), 6, 10, 2);
    i4_of_real_floats columns_floats rows_real_i4 u8, parts_i4 7.0 cut(soft(Case::new(60, false, Format::F16, 4, 6, 4)), 6, 5, 4);
    i4_of_complex_integers columns_integers rows_complex_i4 u8, parts_i4 7.0 cut(soft(complex(72, Format::Packed(12), 4, 6, 4)), 4, 18, 3);
}

#[test]
fn spectra_with_nan_or_infinity_are_zero_and_count_and_others_are_untouched() {
    for (bad, stride, taps) in [(f32::NAN, 120, 3), (f32::INFINITY, 90, 3), (f32::INFINITY, 120, 16)] {
        let case = Case { stride, start: 0, ..Case::new(60, false, Format::F32, taps, 8, 8) };
        let mut spoilt_case = cut(case, 6, 10, 3);
        spoilt_case.made.jobs.retain(|job| job.input == 0);
        let (clean, _, _) = launch!(spoilt_case, columns_floats, rows_real_i8, u16);
        let at = 4 * 120 + 5;
        spoilt_case.made.words[at] = bad.to_bits();
        let (values, counts, reports) = launch!(spoilt_case, columns_floats, rows_real_i8, u16);
        reports.iter().for_each(|report| report.assert_clean());
        let mut spoilt = 0;
        for s in 0..8 {
            let inside = (s * stride..s * stride + taps * 120).contains(&at);
            spoilt += u32::from(inside);
            for channel in 0..60 {
                let place = spoilt_case.made.case.place(0, s, channel);
                assert_eq!(values[place], if inside { 0 } else { clean[place] }, "{s} {channel}");
            }
        }
        assert!(spoilt > 2);
        assert_eq!(counts, [60 * spoilt, 0]);
    }
}

#[test]
fn spectra_are_the_same_whatever_jobs_and_parts_they_are_in() {
    for stride in [180, 150, 101] {
        let whole = Case { stride, ..loud(real(90, 10, 5, 27, 27)) };
        let (expected, counts, _) = launch!(cut(whole.clone(), 6, 5, 27), columns_integers, rows_real_i8, u16);
        for (slots, part) in [(1, 1), (2, 2), (4, 3), (7, 7), (13, 4), (24, 12)] {
            let other = cut(Case { slots, ..whole.clone() }, 6, 15, part);
            let (values, others, reports) = launch!(other, columns_integers, rows_real_i8, u16);
            reports.iter().for_each(|report| report.assert_clean());
            assert_eq!((values, others), (expected.clone(), counts.clone()), "{stride} {slots}");
        }
    }
}

#[test]
fn what_does_not_fit_traps_and_nothing_is_touched_outside() {
    type Spoil = fn(&mut Cut);
    let spoils: [Spoil; 9] = [
        |cut| cut.made.words.truncate(cut.made.words.len() - 1),
        |cut| cut.made.weights.truncate(cut.made.case.step()),
        |cut| cut.made.jobs[0].spectra = 5,
        |cut| cut.made.jobs[0].count = 2,
        |cut| cut.made.jobs[0].input = 2,
        |cut| cut.made.jobs[0].place = u64::MAX,
        |cut| cut.made.jobs[0].first_bit = u64::MAX,
        |cut| cut.made.case.taps = 65,
        |cut| cut.plan = CutPlan::of(12, false, 3, 2).unwrap(),
    ];
    for (i, spoil) in spoils.into_iter().enumerate() {
        let mut cut = cut(Case { start: 0, ..real(24, 8, 2, 4, 4) }, 4, 3, 2);
        spoil(&mut cut);
        let (_, _, reports) = launch!(cut, columns_integers, rows_real_i8, u16);
        let faults: Vec<_> = reports.iter().flat_map(|report| &report.faults).collect();
        assert!(faults.iter().any(|fault| fault.message == "the kernel trapped"), "{i}: {faults:?}");
        assert!(!faults.iter().any(|fault| format!("{fault:?}").contains("OutOfBounds")), "{i}: {faults:?}");
    }
}
