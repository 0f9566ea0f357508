//! The kernels in the emulator, against the reference.

use std::f64::consts::TAU;

use fringes_channelizer::gpu::{Job, tables};
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_channelizer::run::shared_bytes;
use fringes_kernels_channelizer::{channels_256, channels_512, channels_1024, channels_2048, channels_4096};
use fringes_reference::dither::dither;
use fringes_reference::pfb::spectrum_real;
use fringes_reference::window::{Window, pfb_weights};
use fringes_types::pack_samples;
use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// 2^64 as turns.
fn fixed(turns: f64) -> u64 {
    (turns.rem_euclid(1.0) * 2f64.powi(64)) as u64
}

/// What a test runs: one input, spectra from sample `start` on.
struct Case {
    channels: usize,
    bits: u32,
    taps: usize,
    start: usize,
    spectra: usize,
    slots: usize,
    turns: (f64, f64),
    slope: (f64, f64),
    /// Bytes that are missing at the end of the samples.
    missing: usize,
}

struct Made {
    memory: GlobalMemory,
    weights: Vec<f64>,
    samples: Vec<i16>,
    gains: Vec<Complex64>,
    jobs: Vec<Job>,
}

impl Case {
    fn gain(&self, channel: usize) -> Complex64 {
        Complex64::from_polar(1.0 + 0.25 * (channel as f64 * 0.37).sin(), channel as f64 * 0.11)
    }

    fn make(&self) -> Made {
        let step = 2 * self.channels;
        let weights = pfb_weights(Window::Hann, self.taps, step, 1.0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.channels as u64 + self.start as u64);
        let limit = 1i16 << (self.bits - 1);
        let length = self.start + (self.taps + self.spectra - 1) * step;
        let samples: Vec<i16> = (0..length).map(|_| random.random_range(-limit..limit)).collect();
        let gains = (0..self.channels).map(|channel| self.gain(channel)).collect();
        let jobs = (0..self.spectra)
            .step_by(self.slots)
            .map(|first| Job {
                first_bit: (self.start + first * step) as u64 * u64::from(self.bits),
                place: 0,
                phase: fixed(self.turns.0 + self.turns.1 * first as f64),
                phase_rate: fixed(self.turns.1),
                slope: fixed(self.slope.0 + self.slope.1 * first as f64),
                slope_rate: fixed(self.slope.1),
                spectrum: 1000 + first as u64,
                spectra: self.slots.min(self.spectra - first) as u32,
                time: first as u32,
                input: 0,
                count: 0,
            })
            .collect();
        Made { memory: GlobalMemory::new(), weights, samples, gains, jobs }
    }

    /// `[spectrum][channel]`.
    fn expected(&self, made: &Made) -> Vec<Vec<Complex64>> {
        let step = 2 * self.channels;
        let samples: Vec<f64> = made.samples.iter().map(|&x| f64::from(x)).collect();
        (0..self.spectra)
            .map(|s| {
                let spectrum = spectrum_real(&samples, &made.weights, self.channels, self.start + s * step, 0);
                let turns = self.turns.0 + self.turns.1 * s as f64;
                let slope = self.slope.0 + self.slope.1 * s as f64;
                let turned = |(k, x): (usize, Complex64)| {
                    x * made.gains[k] * Complex64::from_polar(1.0, TAU * (turns + slope * k as f64))
                };
                spectrum.into_iter().enumerate().map(turned).collect()
            })
            .collect()
    }
}

macro_rules! run {
    ($case:expr, $kernel:path, $element:ty, $dither:expr) => {{
        let case = &$case;
        let mut made = case.make();
        let memory = &mut made.memory;
        let step = 2 * case.channels;
        let mut bytes = pack_samples(&made.samples, case.bits).unwrap();
        bytes.resize(bytes.len().next_multiple_of(4) + 8 - case.missing, 0);
        let words: Vec<u32> = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let (weights, bias) = tables::weights(&made.weights, step, case.bits);
        let samples = memory.upload(&words);
        let (weights, bias) = (memory.upload(&weights), memory.upload(&bias));
        let middle = memory.upload(&tables::middle(case.channels));
        let last = memory.upload(&tables::last(case.channels));
        let pairs = memory.upload(&tables::pairs(case.channels, |k| made.gains[k]));
        let words: Vec<[u32; 4]> = made
            .jobs
            .iter()
            .flat_map(|job| job.words())
            .collect::<Vec<_>>()
            .chunks_exact(4)
            .map(|w| [w[0], w[1], w[2], w[3]])
            .collect();
        let jobs = memory.upload(&words);
        let length = case.channels * case.spectra;
        let out = if case.missing == 0 {
            memory.allocate::<$element>(length)
        } else {
            memory.upload(&vec![<$element>::default(); length])
        };
        let saturated = memory.upload(&[0u32]);
        let shared = shared_bytes(case.channels as u32, case.slots as u32);
        let launch = Launch::new(<$kernel as Kernel>::DECLARATION, [made.jobs.len() as u32 + 1, 1, 1], [384, 1, 1])
            .shared_bytes(shared);
        let count = made.jobs.len() as u32;
        let report = launch.run(memory, || {
            $kernel(
                samples.into(),
                weights.into(),
                bias.into(),
                middle.into(),
                last.into(),
                pairs.into(),
                jobs.into(),
                out.into(),
                saturated.into(),
                count,
                case.slots as u32,
                0,
                case.channels as u32,
                case.spectra as u64,
                u32::MAX,
                0,
                1,
                77,
                $dither,
            )
        });
        if case.missing == 0 {
            report.assert_clean();
        }
        let values = memory.values(out);
        let saturated = memory.values(saturated)[0];
        (made, values, saturated, report)
    }};
}

fn check(case: &Case, values: &[[f32; 2]], made: &Made) -> f64 {
    let expected = case.expected(made);
    let mut worst: f64 = 0.0;
    for (s, spectrum) in expected.iter().enumerate() {
        for (k, x) in spectrum.iter().enumerate() {
            let [re, im] = values[k * case.spectra + s];
            worst = worst.max((Complex64::new(f64::from(re), f64::from(im)) - x).norm());
        }
    }
    worst
}

macro_rules! floats {
    ($($test:ident $kernel:path, $channels:literal, $taps:literal, $start:literal, $spectra:literal, $slots:literal;)*) => { $(
        #[test]
        fn $test() {
            let case = Case { channels: $channels, bits: 10, taps: $taps, start: $start, spectra: $spectra, slots: $slots, turns: (0.3, 0.01), slope: (-0.0013, 1e-5), missing: 0 };
            let (made, values, _, _) = run!(case, $kernel, [f32; 2], 0);
            let worst = check(&case, &values, &made);
            println!("{} channels: worst {worst}", case.channels);
            // 1e-5 of the samples' full scale; weights have a sum of squares of 1.
            assert!(worst < 1e-5 * 2f64.powi(case.bits as i32 - 1), "{worst}");
        }
    )* };
}

floats! {
    two_hundred_fifty_six_channels_are_the_references channels_256::channelize_b10_t16_f32, 256, 16, 37, 9, 6;
    five_hundred_twelve_channels_are_the_references channels_512::channelize_b10_t16_f32, 512, 16, 3, 4, 6;
    one_thousand_twenty_four_channels_are_the_references channels_1024::channelize_b10_t16_f32, 1024, 16, 0, 3, 6;
    two_thousand_forty_eight_channels_are_the_references channels_2048::channelize_b10_t16_f32, 2048, 16, 9, 7, 6;
    four_thousand_ninety_six_channels_are_the_references channels_4096::channelize_b10_t16_f32, 4096, 16, 1, 2, 6;
}

#[test]
fn integers_are_those_of_the_reference_away_from_ties() {
    let case = Case {
        channels: 256,
        bits: 10,
        taps: 16,
        start: 11,
        spectra: 12,
        slots: 6,
        turns: (0.1, -0.02),
        slope: (0.0007, 2e-5),
        missing: 0,
    };
    let (made, values, saturated, _) = run!(case, channels_256::channelize_b10_t16_i8, u16, 1);
    let (mut ties, mut beyond) = (0, 0);
    for (s, spectrum) in case.expected(&made).iter().enumerate() {
        for (k, x) in spectrum.iter().enumerate() {
            let v = x + dither(77, 1000 + s as u64, 0, k as u32);
            beyond += u32::from(v.re.abs() > 127.0 || v.im.abs() > 127.0);
            let value = values[k * case.spectra + s];
            for (part, actual) in [(v.re, value as i8), (v.im, (value >> 8) as i8)] {
                let clamped = part.clamp(-127.0, 127.0);
                if ((clamped - clamped.floor()) - 0.5).abs() < 5e-3 {
                    ties += 1;
                } else {
                    assert_eq!(f64::from(actual), clamped.round(), "{s} {k} {v}");
                }
            }
        }
    }
    println!("{ties} ties, {beyond} beyond, {saturated} counted");
    assert_eq!(beyond, saturated);
}

#[test]
fn a_job_beyond_the_samples_traps_and_stores_nothing() {
    let case = Case {
        channels: 256,
        bits: 10,
        taps: 16,
        start: 0,
        spectra: 6,
        slots: 6,
        turns: (0.0, 0.0),
        slope: (0.0, 0.0),
        missing: 8,
    };
    let (_, values, _, report) = run!(case, channels_256::channelize_b10_t16_f32, [f32; 2], 0);
    assert!(values.iter().all(|value| *value == [0.0; 2]));
    let other = report.faults.iter().find(|fault| !fault.to_string().contains("trapped"));
    assert!(!report.faults.is_empty() && other.is_none(), "{other:?}");
}
