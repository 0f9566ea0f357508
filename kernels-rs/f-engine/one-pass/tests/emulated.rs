//! The kernels in the emulator, against the reference.

mod common;

use common::{Case, Format, INPUTS, Order, SEED, check_floats, check_integers, parts_i4, parts_i8};
use fringes_channelizer::internals::{HELD, Job, NEXT};
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_f_engine_one_pass as kernels;
use fringes_kernels_f_engine_one_pass::run::THREADS;
use half::f16;

/// Runs a kernel on a case with a block more than there are jobs: values, counts, report. Tables may be changed before.
macro_rules! launch {
    ($made:expr, $kernel:ident, $element:ty) => {
        launch!($made, $kernel, $element, |_memory| ())
    };
    ($made:expr, $kernel:ident, $element:ty, $check:expr) => {{
        let made = &$made;
        let (case, passes) = (&made.case, &made.passes);
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&made.words);
        let weights = memory.upload(&made.table_of_weights());
        let twiddles = memory.upload(&passes.twiddles());
        let pairs = memory.upload(&passes.pairs());
        let channel_of = memory.upload(&passes.channels());
        let gains: Vec<[f32; 2]> = made.gains.iter().flat_map(|gains| passes.gains(|channel| gains[channel])).collect();
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
        // Spectra past the last one of a period are written by nobody.
        let out = memory.upload(&vec![<$element>::default(); case.elements()]);
        let saturated = memory.upload(&[0u32; INPUTS]);
        let next = memory.upload(&vec![<$element>::default(); case.elements()]);
        let next_saturated = memory.upload(&[0u32; INPUTS]);
        let (channel_stride, period, period_stride, time_stride) = case.strides();
        let count = made.jobs.len() as u32;
        let stride = case.stride as u32 * if case.complex { 2 } else { 1 };
        let declaration = <kernels::$kernel as Kernel>::DECLARATION;
        let shared = passes.shared_bytes(case.slots) as u32;
        let launch = Launch::new(declaration, [count + 1, 1, 1], [THREADS, 1, 1]).shared_bytes(shared);
        let report = launch.run(&mut memory, || {
            kernels::$kernel(
                samples.into(),
                held.into(),
                weights.into(),
                twiddles.into(),
                pairs.into(),
                channel_of.into(),
                gains.into(),
                jobs.into(),
                out.into(),
                saturated.into(),
                next.into(),
                next_saturated.into(),
                count,
                case.channels as u32,
                passes.packed_radices(),
                case.taps as u32,
                stride,
                case.bits(),
                u32::from(case.format == Format::I16),
                case.slots as u32,
                case.range.0 as u32,
                case.range.1 as u32,
                channel_stride,
                period,
                period_stride,
                time_stride,
                SEED,
                u32::from(case.dither),
            )
        });
        ($check)(&mut memory);
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
        (values, counts, report)
    }};
}

fn f32s(value: [f32; 2]) -> [f64; 2] {
    value.map(f64::from)
}

macro_rules! floats {
    ($($test:ident $kernel:ident $case:expr;)*) => { $(
        #[test]
        fn $test() {
            let made = $case.make();
            let (values, _, report) = launch!(made, $kernel, [f32; 2]);
            report.assert_clean();
            let worst = check_floats(&made, |place| f32s(values[place]), 0.0);
            println!("{:?} {}: {worst:.3} of the bound", made.passes.radices(), made.case.complex);
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
    real_96_channels_of_16_taps channelize_integers_real_f32 real(96, 10, 16, 9, 5);
    real_120_channels_of_one_tap channelize_integers_real_f32 real(120, 12, 1, 7, 7);
    real_64_channels_of_4_taps channelize_integers_real_f32 real(64, 8, 4, 6, 4);
    real_60_channels_of_5_taps channelize_integers_real_f32 real(60, 3, 5, 6, 4);
    real_1536_channels_of_33_taps channelize_integers_real_f32 real(1536, 10, 33, 2, 2);
    real_32_channels_of_64_taps channelize_integers_real_f32 real(32, 5, 64, 3, 3);
    real_15_channels_of_7_taps channelize_integers_real_f32 real(15, 7, 7, 6, 5);
    real_1_channel channelize_integers_real_f32 real(1, 9, 3, 5, 5);
    real_8192_channels channelize_integers_real_f32 real(8192, 10, 2, 1, 1);
    complex_60_channels_of_i8 channelize_integers_complex_f32 complex(60, Format::Packed(8), 5, 6, 4);
    complex_1024_channels_of_i16 channelize_integers_complex_f32 complex(1024, Format::I16, 4, 3, 2);
    complex_45_channels_of_6_bits channelize_integers_complex_f32 complex(45, Format::Packed(6), 4, 5, 5);
    complex_125_channels_of_f32 channelize_floats_complex_f32 complex(125, Format::F32, 4, 5, 3);
    complex_96_channels_of_f16 channelize_floats_complex_f32 complex(96, Format::F16, 16, 5, 4);
    real_96_channels_of_f16 channelize_floats_real_f32 Case::new(96, false, Format::F16, 5, 6, 4);
    real_75_channels_of_f32 channelize_floats_real_f32 Case::new(75, false, Format::F32, 9, 6, 4);
    real_48_channels_of_20_taps_in_jobs_of_13 channelize_integers_real_f32 real(48, 10, 20, 31, 13);
    real_50_channels_of_40_taps_of_11_bits channelize_integers_real_f32 real(50, 11, 40, 14, 14);
    real_100_channels_of_12_bits channelize_integers_real_f32 real(100, 12, 16, 12, 12);
    real_144_channels channelize_integers_real_f32 real(144, 10, 3, 8, 8);
    real_36_channels_of_65_slots channelize_integers_real_f32 real(36, 4, 4, 65, 65);
    complex_1000_channels channelize_integers_complex_f32 complex(1000, Format::Packed(8), 2, 2, 2);
    real_225_channels_in_passes_of_15 channelize_integers_real_f32 real(225, 10, 4, 5, 5);
    real_1215_channels channelize_integers_real_f32 real(1215, 10, 2, 3, 3);
    real_625_channels_in_passes_of_25 channelize_integers_real_f32 real(625, 10, 4, 3, 3);
    real_1250_channels channelize_integers_real_f32 real(1250, 12, 2, 3, 3);
    complex_375_channels_of_f32 channelize_floats_complex_f32 complex(375, Format::F32, 3, 3, 2);
    real_60_channels_of_16_taps_of_f16 channelize_floats_real_f32 Case::new(60, false, Format::F16, 16, 14, 13);
    complex_96_channels_of_32_taps_of_f32 channelize_floats_complex_f32 complex(96, Format::F32, 32, 24, 12);
    oversampled_by_4_3 channelize_integers_real_f32 Case { stride: 144, ..real(96, 10, 16, 9, 6) };
    oversampled_by_32_27 channelize_integers_real_f32 Case { stride: 108, ..real(64, 12, 5, 7, 4) };
    oversampled_by_an_odd_stride channelize_integers_real_f32 Case { stride: 75, ..real(60, 10, 4, 9, 5) };
    oversampled_complex channelize_integers_complex_f32 Case { stride: 81, ..complex(96, Format::I16, 4, 6, 4) };
    oversampled_floats channelize_floats_complex_f32 Case { stride: 45, ..complex(60, Format::F32, 3, 6, 4) };
    a_range_in_rows channelize_integers_real_f32 Case { range: (17, 30), order: Order::Rows(8), ..real(64, 10, 4, 13, 4) };
}

#[test]
fn samples_of_every_number_of_bits_at_every_first_sample() {
    for bits in 2..=16 {
        for start in 0..5 {
            let made = Case { start, ..real(6, bits, 2, 4, 4) }.make();
            let (values, _, report) = launch!(made, channelize_integers_real_f32, [f32; 2]);
            report.assert_clean();
            check_floats(&made, |place| f32s(values[place]), 0.0);
        }
    }
}

#[test]
fn typed_samples_at_every_first_sample() {
    for start in 0..4 {
        for (format, floats) in [(Format::I16, false), (Format::F16, true), (Format::F32, true)] {
            let made = Case { start, ..Case::new(5, false, format, 2, 4, 4) }.make();
            let (values, _, report) = if floats {
                launch!(made, channelize_floats_real_f32, [f32; 2])
            } else {
                launch!(made, channelize_integers_real_f32, [f32; 2])
            };
            report.assert_clean();
            check_floats(&made, |place| f32s(values[place]), 0.0);
        }
    }
}

macro_rules! halves {
    ($($test:ident $kernel:ident $case:expr;)*) => { $(
        #[test]
        fn $test() {
            let made = $case.make();
            let (values, _, report) = launch!(made, $kernel, u32);
            report.assert_clean();
            let value = |place: usize| [values[place] as u16, (values[place] >> 16) as u16].map(|half| f16::from_bits(half).to_f64());
            // Each part is rounded to 11 bits, and those of smaller parts to less than that.
            check_floats(&made, value, 2f64.powi(-11));
        }
    )* };
}

halves! {
    f16_of_real_integers channelize_integers_real_f16 Case { rms: 100.0, ..real(96, 10, 4, 5, 4) };
    f16_of_complex_integers channelize_integers_complex_f16 Case { rms: 100.0, ..complex(60, Format::I16, 4, 5, 4) };
    f16_of_real_floats channelize_floats_real_f16 Case { rms: 100.0, ..Case::new(60, false, Format::F16, 4, 5, 4) };
    f16_of_complex_floats channelize_floats_complex_f16 Case { rms: 100.0, ..complex(96, Format::F32, 4, 5, 4) };
}

macro_rules! integers {
    ($($test:ident $kernel:ident $element:ty, $parts:ident $limit:literal $case:expr;)*) => { $(
        #[test]
        fn $test() {
            let made = $case.make();
            let (values, counts, report) = launch!(made, $kernel, $element);
            report.assert_clean();
            check_integers(&made, $limit, |place| $parts(values[place]), &counts);
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
    i8_of_real_integers channelize_integers_real_i8 u16, parts_i8 127.0 loud(real(120, 10, 16, 9, 6));
    i8_of_real_integers_undithered channelize_integers_real_i8 u16, parts_i8 127.0 Case { dither: false, ..loud(real(60, 12, 4, 9, 9)) };
    i8_of_a_range_in_rows channelize_integers_real_i8 u16, parts_i8 127.0 Case { range: (5, 40), order: Order::Rows(16), ..loud(real(48, 10, 5, 20, 6)) };
    i8_oversampled channelize_integers_real_i8 u16, parts_i8 127.0 Case { stride: 108, ..loud(real(64, 10, 4, 8, 4)) };
    i8_of_complex_integers channelize_integers_complex_i8 u16, parts_i8 127.0 loud(complex(96, Format::Packed(8), 4, 6, 4));
    i8_of_real_floats channelize_floats_real_i8 u16, parts_i8 127.0 loud(Case::new(64, false, Format::F32, 4, 6, 4));
    i8_of_complex_floats channelize_floats_complex_i8 u16, parts_i8 127.0 loud(complex(60, Format::F16, 4, 6, 4));
    i4_of_real_integers channelize_integers_real_i4 u8, parts_i4 7.0 Case { dither: true, ..soft(real(96, 10, 4, 9, 5)) };
    i4_of_complex_integers channelize_integers_complex_i4 u8, parts_i4 7.0 soft(complex(60, Format::Packed(12), 4, 6, 4));
    i4_of_real_floats channelize_floats_real_i4 u8, parts_i4 7.0 soft(Case::new(60, false, Format::F16, 4, 6, 4));
    i4_of_complex_floats channelize_floats_complex_i4 u8, parts_i4 7.0 soft(complex(64, Format::F32, 4, 6, 4));
}

#[test]
fn spectra_with_nan_or_infinity_are_zero_and_count_and_others_are_untouched() {
    for (bad, stride, taps) in
        [(f32::NAN, 128, 3), (f32::INFINITY, 128, 3), (f32::NAN, 96, 3), (f32::INFINITY, 128, 16)]
    {
        let mut made = Case { stride, start: 0, ..Case::new(64, false, Format::F32, taps, 8, 8) }.make();
        made.jobs.retain(|job| job.input == 0);
        let (clean, _, _) = launch!(made, channelize_floats_real_i8, u16);
        let at = 4 * 128 + 5;
        made.words[at] = bad.to_bits();
        let (values, counts, report) = launch!(made, channelize_floats_real_i8, u16);
        report.assert_clean();
        let mut spoilt = 0;
        for s in 0..8 {
            let inside = (s * stride..s * stride + taps * 128).contains(&at);
            spoilt += u32::from(inside);
            for channel in 0..64 {
                let place = made.case.place(0, s, channel);
                assert_eq!(values[place], if inside { 0 } else { clean[place] }, "{s} {channel}");
            }
        }
        assert!(spoilt > 2);
        assert_eq!(counts, [64 * spoilt, 0]);
    }
}

#[test]
fn spectra_are_the_same_whatever_jobs_they_are_in() {
    for stride in [120, 90, 75] {
        let whole = Case { stride, ..loud(real(60, 10, 5, 11, 11)) };
        let (expected, counts, _) = launch!(whole.make(), channelize_integers_real_i8, u16);
        for slots in [1, 2, 3, 4, 7] {
            let made = Case { slots, ..whole.clone() }.make();
            let (values, others, report) = launch!(made, channelize_integers_real_i8, u16);
            report.assert_clean();
            assert_eq!((values, others), (expected.clone(), counts.clone()));
        }
    }
}

#[test]
fn what_does_not_fit_traps_and_nothing_is_touched_outside() {
    type Spoil = fn(&mut common::Made);
    let spoils: [Spoil; 8] = [
        |made| made.words.truncate(made.words.len() - 1),
        |made| made.weights.truncate(made.case.step()),
        |made| made.jobs[0].spectra = 5,
        |made| made.jobs[0].count = 2,
        |made| made.jobs[0].input = 2,
        |made| made.jobs[0].place = u64::MAX,
        |made| made.jobs[0].first_bit = u64::MAX,
        |made| made.case.taps = 65,
    ];
    for (i, spoil) in spoils.into_iter().enumerate() {
        let mut made = Case { start: 0, ..real(16, 8, 2, 4, 4) }.make();
        spoil(&mut made);
        let (_, _, report) = launch!(made, channelize_integers_real_i8, u16);
        let trapped = report.faults.iter().any(|fault| fault.message == "the kernel trapped");
        assert!(trapped, "{i}: {:?}", report.faults);
        assert!(
            !report.faults.iter().any(|fault| format!("{fault:?}").contains("OutOfBounds")),
            "{i}: {:?}",
            report.faults
        );
    }
}
