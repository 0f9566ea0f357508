//! What a narrowband F-engine of a telescope has to do, with 10-bit samples and 8-bit channels, in both modes.
//!
//! | quantity | required |
//! |---|---|
//! | delay that is left of a delay that was to be taken back | 1 % of an ADC sample |
//! | phase that is left, in the middle of the band | 1 degree, in every spectrum, where coarse delays step too |
//! | spurious-free range over the kept band, of a tone of 99 % of full scale | 53 dB |
//!
//! *Spurious-free range*: the tone's channel is measured with a gain that brings it to 120 of 127, all channels but it
//! and its two neighbours with 32 times that. Their powers are means over spectra, dither and quantisation included. A
//! channel is quantised by itself: that the tone's is beyond the limit then does not touch the others.

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_channelizer::design::DownConversionFilter;
use fringes_channelizer::{Channelizer, DownConverter};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_f_engine::{Frames, NarrowbandFEngine, NarrowbandFEngineBuilder};
use fringes_types::{Complex, Gains, Heaps, Inputs, PackedSamples};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::{C64, backends};

const DECIMATION: usize = 8;
/// Channels of the plan.
const CHANNELS: usize = 64;
/// Width of a channel in cycles per ADC sample.
const WIDTH: f64 = 1.0 / (DECIMATION * CHANNELS) as f64;
/// Fraction of the band that is flat, where all is kept.
const FLAT: f64 = 0.8;

/// Whether the inner half is kept, or all channels, of which those of the flat part are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    InnerHalf,
    All,
}

impl Mode {
    const BOTH: [Self; 2] = [Self::InnerHalf, Self::All];

    /// Channels that come out, to either side of the middle one.
    fn half_channels(self) -> usize {
        match self {
            Self::InnerHalf => CHANNELS / 4,
            Self::All => (FLAT * CHANNELS as f64 / 2.0) as usize - 1,
        }
    }

    fn builder(self, centre: f64, inputs: usize) -> NarrowbandFEngineBuilder {
        let filter = match self {
            Self::InnerHalf => DownConversionFilter::outer_half_discarded(DECIMATION),
            Self::All => DownConversionFilter::all_kept(DECIMATION, FLAT),
        };
        let filter = filter.taps(16 * DECIMATION).build().unwrap();
        let plan = Channelizer::complex(CHANNELS).taps(16).build().unwrap();
        let down_converter = DownConverter::designed(centre, &filter).unwrap();
        let inputs = Inputs::single_pol(inputs).unwrap();
        let builder = NarrowbandFEngineBuilder::new(down_converter, plan, inputs).spectra_per_frame(4).dither(3);
        let half = self.half_channels();
        match self {
            Self::InnerHalf => builder.outer_half_discarded(),
            Self::All => builder.channels(CHANNELS / 2 - half..CHANNELS / 2 + half),
        }
    }
}

/// A voltage that is known at every real time: tones of random frequency and phase within `half` cycles per sample of
/// `centre`, with a standard deviation of 100, and white noise of the ADC to come.
struct Field {
    tones: Vec<(f64, f64)>,
}

impl Field {
    fn new(centre: f64, half: f64, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let tone = |_| (centre + rng.random_range(-half..half), rng.random_range(0.0..1.0));
        Self { tones: (0..300).map(tone).collect() }
    }

    fn at(&self, time: f64) -> f64 {
        let sum: f64 = self.tones.iter().map(|&(nu, phase)| (TAU * (nu * time + phase).fract()).cos()).sum();
        sum * 100.0 * (2.0 / self.tones.len() as f64).sqrt()
    }
}

/// 10-bit samples of the field `late(time)` samples ago, for the second input.
fn two_inputs(field: &Field, length: usize, late: impl Fn(f64) -> f64) -> PackedSamples {
    let samples = Array2::from_shape_fn((2, length), |(input, time)| {
        let time = time as f64 + 3.0e5;
        let at = if input == 0 { time } else { time - late(time) };
        field.at(at).round().clamp(-512.0, 511.0) as i16
    });
    PackedSamples::pack(samples.view(), 10, Inputs::single_pol(2).unwrap()).unwrap().with_first_sample(300_000)
}

fn frames_of(
    backend: &Backend,
    builder: NarrowbandFEngineBuilder,
    samples: &PackedSamples,
) -> Frames<Heaps<Complex<i8>>> {
    let mut engine = builder.build::<Complex<i8>>(backend).unwrap();
    let mut frames = engine.push(samples).unwrap().frames;
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

/// `a conj(b)` of both inputs, `[channel][spectrum]`.
fn products(frames: &Frames<Heaps<Complex<i8>>>) -> Array2<C64> {
    let (data, channels) = (frames.voltages.data(), frames.voltages.channels());
    Array2::from_shape_fn((channels, frames.spectra_present.nrows()), |(channel, time)| {
        let of = |input: usize| {
            let value = data[(time / 4, input, channel, time % 4, 0)];
            C64::new(value.re.into(), value.im.into())
        };
        if frames.spectra_present[(time, 0)] { of(0) * of(1).conj() } else { C64::default() }
    })
}

/// Slope in turns a channel and phase in turns of the middle one, by powers, of phases below half a turn.
fn line(products: &Array2<C64>) -> (f64, f64) {
    let middle = products.nrows() as f64 / 2.0;
    let (mut n, mut x1, mut x2, mut y, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (channel, row) in products.rows().into_iter().enumerate() {
        let sum: C64 = row.iter().sum();
        let (weight, x, phase) = (sum.norm(), channel as f64 - middle, sum.arg() / TAU);
        (n, x1, x2) = (n + weight, x1 + weight * x, x2 + weight * x * x);
        (y, xy) = (y + weight * phase, xy + weight * x * phase);
    }
    let slope = (n * xy - x1 * y) / (n * x2 - x1 * x1);
    (slope, (y - slope * x1) / n)
}

/// The gain that gives parts a standard deviation of 25: a field of 100 in so many channels.
fn gain(mode: Mode) -> Gains {
    Gains::uniform(25.0 * 2f32.sqrt() / (50.0 * (CHANNELS as f32 / (2 * mode.half_channels()) as f32).sqrt())).unwrap()
}

#[test]
fn delays_are_taken_back_within_a_hundredth_of_a_sample_and_a_degree() {
    let centre = 0.217;
    for mode in Mode::BOTH {
        let half = mode.half_channels() as f64 * WIDTH;
        let field = Field::new(centre, half, 1);
        let mut worst = (0f64, 0f64);
        for delay in [0.0, 0.25, 3.99, 4.0, 4.01, 7.77, -13.31, 12.0, 123.456] {
            let samples = two_inputs(&field, 8 * CHANNELS * DECIMATION * 7, |_| delay);
            for backend in backends() {
                let model = DelayModel::constant(delay, -centre * delay).unwrap();
                let builder = mode.builder(centre, 2).gains(gain(mode)).delays(vec![model, DelayModel::zero()]);
                let frames = frames_of(&backend, builder, &samples);
                let products = products(&frames);
                let (slope, phase) = line(&products);
                let (left, degrees) = (slope / WIDTH, 360.0 * phase);
                assert!(left.abs() < 0.01, "{mode:?} {delay}: {left} samples are left");
                assert!(degrees.abs() < 1.0, "{mode:?} {delay}: {degrees} degrees are left");
                worst = (worst.0.max(left.abs()), worst.1.max(degrees.abs()));
                // What was not asked for is seen: a model that is off by a tenth of a sample.
                let model = DelayModel::constant(delay + 0.1, -centre * delay).unwrap();
                let builder = mode.builder(centre, 2).gains(gain(mode)).delays(vec![model, DelayModel::zero()]);
                let (slope, _) = line(&self::products(&frames_of(&backend, builder, &samples)));
                assert!((slope / WIDTH + 0.1).abs() < 0.01, "{mode:?} {delay}: {}", slope / WIDTH);
            }
        }
        println!("{mode:?}: at most {:.5} ADC samples and {:.4} degrees are left", worst.0, worst.1);
    }
}

#[test]
fn a_delay_that_changes_turns_no_spectrum_by_a_degree_where_its_coarse_part_steps() {
    let centre = 0.217;
    // A hundred thousand times the rate of a source on the sky: from 3.85 samples past 4, where the coarse part steps.
    let (start, rate) = (3.85, 1e-5);
    let first = 300_000u64;
    for mode in Mode::BOTH {
        let field = Field::new(centre, mode.half_channels() as f64 * WIDTH, 2);
        let late = |time: f64| start + rate * (time - first as f64);
        let samples = two_inputs(&field, 8 * CHANNELS * DECIMATION * 10, late);
        for backend in backends() {
            let segment = DelaySegment::new(first, vec![start, rate]).with_phase(-centre * start, -centre * rate);
            let model = DelayModel::from_segment(segment).unwrap();
            let builder = mode.builder(centre, 2).gains(gain(mode)).delays(vec![model.clone(), DelayModel::zero()]);
            let frames = frames_of(&backend, builder, &samples);
            let products = products(&frames);
            let (mut worst, mut coarse) = (0f64, Vec::new());
            let mut sides = [C64::default(); 2];
            // The model holds a spectrum's delay while its window goes by, half a window after the stamp on average:
            // what the delay grows in that time is the same for all spectra.
            let engine = mode.builder(centre, 2).build::<Complex<i8>>(&backend).unwrap();
            let lag = centre * rate * engine.window_samples() as f64 / 2.0;
            for (time, column) in products.columns().into_iter().enumerate() {
                let sum: C64 = column.iter().sum();
                if sum.norm() == 0.0 {
                    continue;
                }
                let stamp = frames.voltages.clock().sample_of(time);
                let step = (model.delay_samples(stamp) / DECIMATION as f64).round_ties_even();
                coarse.push(step as i64);
                sides[step as usize] += sum;
                let turns = sum.arg() / TAU - lag;
                worst = worst.max((turns - turns.round()).abs() * 360.0);
            }
            coarse.dedup();
            assert_eq!(coarse, [0, 1], "the coarse part steps once");
            let jump = (sides[1] * sides[0].conj()).arg().to_degrees();
            println!("{mode:?}: {worst:.3} degrees at most, {jump:.4} degrees from before the step to after it");
            assert!(worst < 1.0 && jump.abs() < 0.1, "{mode:?}: {worst} and {jump} degrees");
        }
    }
}

/// Gain of the down-converter's filter at a distance from the centre, in cycles per ADC sample.
fn filter_gain(engine: &NarrowbandFEngine<Complex<i8>>, cycles: f64) -> f64 {
    let filter = engine.down_converter().filter();
    filter.iter().enumerate().map(|(k, &tap)| tap * C64::cis(TAU * cycles * k as f64)).sum::<C64>().norm()
}

/// Mean powers of channels.
fn powers(frames: &Frames<Heaps<Complex<i8>>>) -> Vec<f64> {
    let data = frames.voltages.data();
    let power = |channel: usize| {
        let of = |time: usize| {
            let value = data[(time / 4, 0, channel, time % 4, 0)];
            C64::new(value.re.into(), value.im.into()).norm_sqr()
        };
        (0..frames.spectra_present.nrows()).map(of).sum::<f64>() / frames.spectra_present.nrows() as f64
    };
    (0..frames.voltages.channels()).map(power).collect()
}

#[test]
fn the_spurious_free_range_is_53_db_over_the_kept_band() {
    let centre = 0.217;
    for mode in Mode::BOTH {
        let half = mode.half_channels();
        let mut least = f64::INFINITY;
        // In and between channels, at both edges of the band and near its middle.
        for place in [0.0, 1.0, -7.0, 5.3, -11.5, half as f64 - 1.0, -(half as f64)] {
            let nu = centre + place * WIDTH;
            let tone = |time: usize| (0.99 * 511.0 * (TAU * (nu * time as f64).fract()).cos()).round() as i16;
            let samples = Array2::from_shape_fn((1, 8 * CHANNELS * DECIMATION * 9), |(_, time)| tone(time));
            let samples = PackedSamples::pack(samples.view(), 10, Inputs::single_pol(1).unwrap()).unwrap();
            for backend in backends() {
                let engine = mode.builder(centre, 1).build::<Complex<i8>>(&backend).unwrap();
                let weights: f64 = engine.plan().weights().iter().sum();
                let gain = (120.0 / (0.5 * 0.99 * 511.0 * weights)) as f32;
                let with = |gain: f32| {
                    let builder = mode.builder(centre, 1).gains(Gains::uniform(gain).unwrap());
                    powers(&frames_of(&backend, builder, &samples))
                };
                let (low, high) = (with(gain), with(32.0 * gain));
                let own = low.iter().copied().fold(0f64, f64::max);
                if place.fract() == 0.0 {
                    let expected = 120.0 * filter_gain(&engine, place * WIDTH);
                    assert!((own.sqrt() - expected).abs() < 1.0, "{mode:?} {place}: {} {expected}", own.sqrt());
                }
                let channel = half as f64 + place;
                let others = high.iter().enumerate().filter(|&(other, _)| (other as f64 - channel).abs() >= 2.0);
                let largest = others.map(|(_, &power)| power / 1024.0).fold(0f64, f64::max);
                let range = 10.0 * (own / largest).log10();
                println!("{mode:?}, tone {place} channels from the middle: {range:.1} dB");
                assert!(range >= 53.0, "{mode:?} {place}: {range} dB");
                least = least.min(range);
            }
        }
        println!("{mode:?}: at least {least:.1} dB");
    }
}

#[test]
fn tones_beyond_the_band_do_not_alias_into_what_is_kept() {
    let centre = 0.217;
    for mode in Mode::BOTH {
        // Beyond the free gap, or the roll-off, that is next to the band.
        for place in [0.79, -0.79, 1.0, -1.21, -1.7, 1.9, 2.1] {
            let nu = centre + place / DECIMATION as f64;
            let tone = |time: usize| (0.99 * 511.0 * (TAU * (nu * time as f64).fract()).cos()).round() as i16;
            let samples = Array2::from_shape_fn((1, 8 * CHANNELS * DECIMATION * 6), |(_, time)| tone(time));
            let samples = PackedSamples::pack(samples.view(), 10, Inputs::single_pol(1).unwrap()).unwrap();
            for backend in backends() {
                let engine = mode.builder(centre, 1).build::<Complex<i8>>(&backend).unwrap();
                let weights: f64 = engine.plan().weights().iter().sum();
                let own = 120f64;
                let gain = (own / (0.5 * 0.99 * 511.0 * weights)) as f32;
                let builder = mode.builder(centre, 1).gains(Gains::uniform(32.0 * gain).unwrap());
                let largest = powers(&frames_of(&backend, builder, &samples)).into_iter().fold(0f64, f64::max) / 1024.0;
                let down = 10.0 * (own * own / largest).log10();
                println!("{mode:?}, tone at {place} of the output's rate: {down:.1} dB down");
                assert!(down >= 53.0, "{mode:?} {place}: {down} dB");
            }
        }
    }
}
