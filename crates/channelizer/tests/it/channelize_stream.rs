//! A stream of chunks through the filter bank: seams, delays, gaps, missing samples, limits.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use std::f64::consts::TAU;

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{Channelizer, ChannelizerError, ChannelizerStream, channelize};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_reference::delay as reference_delay;
use fringes_reference::pfb::{spectrum_complex, spectrum_real};
use fringes_types::{
    ChunkFormat, Complex, Inputs, Sample, SampleFormat, SamplePresence, Samples, TypesError, Voltages,
};
use ndarray::{Array2, Axis, concatenate, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C64 = Complex<f64>;
type Output = Voltages<Complex<f32>>;

/// Half of f32's epsilon.
const U: f64 = f32::EPSILON as f64 / 2.0;

/// Format of the streams whose memory is asked for.
const FORMAT: ChunkFormat = ChunkFormat::Typed { format: SampleFormat::Float32, complex: false };

fn inputs(count: usize) -> Inputs {
    Inputs::single_pol(count).unwrap()
}

fn noise(count: usize, length: usize, seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((count, length), || rng.random_range(-1.0..1.0))
}

fn complex_noise(count: usize, length: usize, seed: u64) -> Array2<Complex<f32>> {
    let (re, im) = (noise(count, length, seed), noise(count, length, seed + 1));
    Array2::from_shape_fn((count, length), |index| Complex::new(re[index], im[index]))
}

/// Samples `from .. to` of an array whose first column has counter `first`.
fn chunk<S: Sample>(data: &Array2<S>, first: u64, from: usize, to: usize) -> Samples<S> {
    let part = data.slice(s![.., from..to]).to_owned();
    Samples::new(part, inputs(data.nrows())).unwrap().with_first_sample(first + from as u64)
}

fn segment(delay_samples: Vec<f64>, phase_turns: f64, rate: f64, start_sample: u64) -> DelaySegment {
    DelaySegment::new(start_sample, delay_samples).with_phase(phase_turns, rate)
}

/// Pushes `data` in chunks of the given lengths (repeated), and joins what comes out.
fn push_all<S: Sample>(
    stream: &mut ChannelizerStream,
    data: &Array2<S>,
    first: u64,
    lengths: &[usize],
) -> Option<Output> {
    let (mut outputs, mut from) = (Vec::new(), 0);
    for &length in lengths.iter().cycle() {
        let to = (from + length).min(data.ncols());
        outputs.extend(stream.push(&chunk(data, first, from, to)).unwrap());
        from = to;
        if from == data.ncols() {
            break;
        }
    }
    join(outputs)
}

/// Outputs that follow each other without a gap as one.
fn join(outputs: Vec<Output>) -> Option<Output> {
    let first = outputs.first()?;
    let (count, mut clock) = (first.inputs(), first.clock());
    let mut presence = Vec::new();
    for output in &outputs {
        assert_eq!(output.clock().first_sample, clock.first_sample);
        assert_eq!(output.frequencies(), first.frequencies());
        clock.first_sample += output.times() as u64 * clock.samples_between_spectra;
        let all = || Array2::from_elem((output.times(), count.len()), true);
        presence.push(output.presence().map_or_else(all, |presence| presence.to_owned()));
    }
    let data: Vec<_> = outputs.iter().map(|output| output.data()).collect();
    let presence: Vec<_> = presence.iter().map(|presence| presence.view()).collect();
    let (data, presence) = (concatenate(Axis(1), &data).unwrap(), concatenate(Axis(0), &presence).unwrap());
    let joined = Voltages::from_checked(data.as_standard_layout().into_owned(), count).unwrap();
    let joined = joined.with_frequencies(first.frequencies()).unwrap().with_clock(first.clock()).unwrap();
    Some(if presence.iter().all(|&present| present) { joined } else { joined.with_presence(presence).unwrap() })
}

#[derive(Debug, Clone)]
struct Case {
    channels: usize,
    complex: bool,
    taps: usize,
    oversampling: usize,
    inputs: usize,
    length: usize,
    first: u64,
    lengths: Vec<usize>,
    /// Delay, rate, phase and phase rate of each input.
    delays: Vec<(f64, f64, f64, f64)>,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (1..=12usize, any::<bool>(), 1..=5usize, 1..=3usize, 1..=3usize);
    let first = prop_oneof![0..100u64, Just(100_000_000_000_007)];
    let lengths = prop::collection::vec(prop_oneof![0..5usize, 1..200usize], 1..6);
    let delay = (-40.0..40.0f64, -0.02..0.02f64, -1.0..1.0f64, -0.01..0.01f64);
    let delays = prop::collection::vec(delay, 3);
    (shape, 100..600usize, first, lengths, delays, any::<u64>()).prop_map(
        |((channels, complex, taps, oversampling, inputs), length, first, mut lengths, mut delays, seed)| {
            lengths.push(7);
            delays.truncate(inputs);
            // Every step divides by 1 and itself.
            let step = if complex { channels } else { 2 * channels };
            let oversampling = if step % oversampling == 0 { oversampling } else { step };
            Case { channels, complex, taps, oversampling, inputs, length, first, lengths, delays, seed }
        },
    )
}

impl Case {
    fn plan(&self) -> Channelizer {
        let builder = if self.complex { Channelizer::complex(self.channels) } else { Channelizer::real(self.channels) };
        let window = fringes_channelizer::Window::Hamming;
        builder.taps(self.taps).window(window).oversampling(self.oversampling, 1).build().unwrap()
    }

    fn stream(&self, delayed: bool) -> ChannelizerStream {
        let stream = ChannelizerStream::new(&Backend::cpu(), self.plan(), inputs(self.inputs)).unwrap();
        if !delayed {
            return stream;
        }
        stream.with_delays(self.models()).unwrap()
    }

    fn models(&self) -> Vec<DelayModel> {
        let models = self.delays.iter().map(|&(delay, rate, phase, phase_rate)| {
            DelayModel::from_segment(segment(vec![delay, rate], phase, phase_rate, self.first + 50)).unwrap()
        });
        models.collect()
    }

    fn run(&self, delayed: bool, lengths: &[usize]) -> Option<Output> {
        let mut stream = self.stream(delayed);
        if self.complex {
            push_all(&mut stream, &complex_noise(self.inputs, self.length, self.seed), self.first, lengths)
        } else {
            push_all(&mut stream, &noise(self.inputs, self.length, self.seed), self.first, lengths)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn chunks_of_any_size_give_the_bits_of_one(case in case(), delayed in any::<bool>()) {
        prop_assert_eq!(case.run(delayed, &case.lengths), case.run(delayed, &[case.length]));
    }

    #[test]
    fn the_stated_memory_is_enough_for_whole_streams_and_a_byte_less_is_an_error(case in case(), kind in 0..4usize) {
        let (real, complex) = (noise(case.inputs, case.length, 3), complex_noise(case.inputs, case.length, 3));
        let stream = |backend: &Backend| {
            let stream = ChannelizerStream::new(backend, case.plan(), inputs(case.inputs)).unwrap();
            let constant = |&(delay, ..): &(f64, f64, f64, f64)| DelayModel::constant(delay, 0.0).unwrap();
            let constant: Vec<_> = case.delays.iter().map(constant).collect();
            match kind {
                // Within their own bounds, or within narrow limits, which the short stream fills.
                0 => stream,
                1 => stream.with_delays(constant).unwrap(),
                2 => stream.with_delay_limits(40, 7).with_delays(constant).unwrap(),
                _ => {
                    let stream = stream.with_delay_limits(100, 30);
                    stream.with_delays(case.models()).unwrap()
                }
            }
        };
        let run = |stream: &mut ChannelizerStream, most: u64| {
            let (mut outputs, mut from) = (Vec::new(), 0);
            for &length in case.lengths.iter().cycle() {
                let to = (from + length).min(case.length);
                outputs.extend(if case.complex {
                    stream.push(&chunk(&complex, case.first, from, to))?
                } else {
                    stream.push(&chunk(&real, case.first, from, to))?
                });
                assert!(stream.held_bytes() <= most);
                from = to;
                if from == case.length {
                    return Ok::<_, ChannelizerError>(outputs);
                }
            }
            Ok(outputs)
        };
        let mut free = stream(&Backend::cpu());
        let longest = case.lengths.iter().copied().max().unwrap_or(0);
        let least = free.memory(longest, FORMAT).smallest_step_bytes;
        let expected = run(&mut free, u64::MAX).unwrap();
        let found = run(&mut stream(&Backend::cpu().with_memory_limit(least)), least).unwrap();
        prop_assert_eq!(found, expected);
        let error = run(&mut stream(&Backend::cpu().with_memory_limit(least - 1)), least).unwrap_err();
        let expected = DeviceError::MemoryLimit { operation: "channelize", needed: least, limit: least - 1 };
        prop_assert_eq!(error, expected.into());
    }

    #[test]
    fn without_delays_a_stream_is_the_array_from_a_multiple_of_the_stride_on(case in case()) {
        let plan = case.plan();
        let skip = (case.first.next_multiple_of(plan.stride() as u64) - case.first) as usize;
        let run = case.run(false, &case.lengths);
        if skip + plan.window_samples() > case.length {
            prop_assert_eq!(run, None);
        } else if case.complex {
            let data = complex_noise(case.inputs, case.length, case.seed);
            let array = channelize(&Backend::cpu(), &chunk(&data, case.first, skip, case.length), &plan).unwrap();
            prop_assert_eq!(run, Some(array));
        } else {
            let data = noise(case.inputs, case.length, case.seed);
            let array = channelize(&Backend::cpu(), &chunk(&data, case.first, skip, case.length), &plan).unwrap();
            prop_assert_eq!(run, Some(array));
        }
    }

    #[test]
    fn delayed_spectra_are_those_of_the_reference(case in case()) {
        let plan = case.plan();
        let Some(output) = case.run(true, &case.lengths) else { return Ok(()) };
        let real = noise(case.inputs, case.length, case.seed);
        let complex = complex_noise(case.inputs, case.length, case.seed);
        for input in 0..case.inputs {
            let (delay, rate, phase, phase_rate) = case.delays[input];
            for time in 0..output.times() {
                let stamp = output.clock().sample_of(time);
                let since = (stamp as i64 - (case.first + 50) as i64) as f64;
                let (coarse, fine) = reference_delay::split(delay + rate * since);
                let start = stamp as i64 - case.first as i64 - coarse;
                if start < 0 {
                    prop_assert!(!output.presence().unwrap()[(time, input)]);
                    continue;
                }
                let start = start as usize;
                let mut expected = if case.complex {
                    let row: Vec<C64> = complex.row(input).iter().map(|x| C64::new(x.re.into(), x.im.into())).collect();
                    spectrum_complex(&row, plan.weights(), case.channels, start, stamp)
                } else {
                    let row: Vec<f64> = real.row(input).iter().map(|&x| x.into()).collect();
                    spectrum_real(&row, plan.weights(), case.channels, start, stamp)
                };
                reference_delay::rotate(&mut expected, coarse, fine, phase + phase_rate * since, case.complex);
                let norm = expected.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
                let found = output.data();
                let error = expected.iter().enumerate().map(|(channel, expected)| {
                    let found = found[(channel, time, input)];
                    (C64::new(found.re.into(), found.im.into()) - expected).norm_sqr()
                }).sum::<f64>().sqrt();
                // The stated bound with |x| <= sqrt 2 and weights of sum of squares 1, and the rotation's.
                let (taps, step) = (case.taps as f64, plan.step() as f64);
                let bound = U * (taps + 1.0 + 7.0 * step.log2()) * step.sqrt() * (2.0 * taps).sqrt()
                    + (2.0 + 2.0 * 5f64.sqrt()) * U * norm;
                prop_assert!(error <= bound, "{error} > {bound}: input {input} time {time}");
            }
        }
    }
}

#[test]
fn the_first_spectrum_is_the_first_multiple_of_the_stride_whose_samples_exist_for_every_input() {
    let plan = Channelizer::real(4).taps(2).build().unwrap(); // stride 8
    for (delays, first, expected) in [
        ([0.0, 0.0], 0, 0),
        ([0.0, 0.0], 9, 16),
        ([0.0, 0.0], 16, 16),
        ([0.0, 7.0], 9, 16),
        ([0.0, 7.4], 9, 16),
        ([0.0, 7.6], 9, 24),
        ([-3.0, -20.0], 100, 104),
        ([-12.0, -20.0], 100, 88),
        ([1000.0, 0.0], 3, 1008),
        // The first counter is 0: a negative delay asks for later samples only.
        ([-50.0, -60.0], 0, 0),
    ] {
        let models = delays.map(|delay| DelayModel::constant(delay, 0.0).unwrap());
        let stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(2)).unwrap();
        let mut stream = stream.with_delays(models.to_vec()).unwrap();
        let output = push_all(&mut stream, &noise(2, 2000, 1), first, &[33]).unwrap();
        assert_eq!(output.clock().first_sample, expected, "{delays:?} {first}");
        assert_eq!(output.presence(), None);
    }
}

/// A stationary random signal that is known at every real time.
struct Source {
    tones: Vec<(f64, f64)>,
}

impl Source {
    fn new(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { tones: (0..200).map(|_| (rng.random_range(0.0..0.5), rng.random_range(0.0..1.0))).collect() }
    }

    fn at(&self, t: f64) -> f32 {
        self.tones.iter().map(|&(nu, phase)| (TAU * (nu * t + phase)).cos()).sum::<f64>() as f32
    }
}

#[test]
fn delaying_an_early_source_keeps_its_fringe_flat_across_steps_of_the_coarse_delay() {
    const CHANNELS: usize = 16;
    let step = 2 * CHANNELS;
    let source = Source::new(5);
    // The delay runs from 2.8 to 5.2 samples: three steps of the coarse delay. A band from 1400 MHz on, 800 MS/s:
    // the middle of the band is at 1600 MHz, 2 cycles a sample.
    let (length, rate) = (step * 400, 2.4 / (step * 400) as f64);
    let delay = |t: f64| 2.8 + rate * t;
    // What arrives at sample n leaves, delayed, at the time t with t - d(t) = n.
    let leaves = |n: f64| (n + 2.8) / (1.0 - rate);
    let data =
        Array2::from_shape_fn(
            (2, length),
            |(input, n)| {
                if input == 0 { source.at(n as f64) } else { source.at(leaves(n as f64)) }
            },
        );
    let plan = Channelizer::real(CHANNELS).taps(8).build().unwrap();
    // The samples are at baseband, so the fringe to stop is that of the middle of the band at baseband: 1/4 cycle.
    let model = DelayModel::from_segment(segment(vec![2.8, rate], -2.8 * 0.25, -rate * 0.25, 0)).unwrap();
    let stream = ChannelizerStream::new(&Backend::cpu(), plan, inputs(2)).unwrap();
    let mut stream = stream.with_delays(vec![DelayModel::zero(), model]).unwrap();
    let output = push_all(&mut stream, &data, 0, &[step * 7 + 3]).unwrap();
    assert_eq!(output.presence(), None);
    let mut coarse = Vec::new();
    for from in (0..output.times() - 10).step_by(10) {
        let (mut sums, mut worst) = (vec![C64::default(); CHANNELS], 0f64);
        for time in from..from + 10 {
            let at = delay(output.clock().sample_of(time) as f64);
            worst = worst.max((at - at.round_ties_even()).abs());
            coarse.push(at.round_ties_even() as i64);
            for (channel, sum) in sums.iter_mut().enumerate() {
                let [a, b] = [0, 1].map(|input| output.data()[(channel, time, input)]);
                *sum += C64::new(b.re.into(), b.im.into()) * C64::new(a.re.into(), -f64::from(a.im));
            }
        }
        for (channel, sum) in sums.iter().enumerate() {
            // A tone off the channel's middle by up to a channel, 1 / (2 N) cycles a sample, keeps a phase of that
            // times the fine delay. (Without the phase for the coarse step all channels would step by 1/4
            // turn; without the fine delay's the outer ones would be off by up to 1/8.) The delay's drift
            // over the window, 8 steps, and f32's rounding are far below.
            let bound = worst / step as f64 + 8.0 * step as f64 * rate / 2.0 + 1e-5;
            assert!((sum.arg() / TAU).abs() < bound, "{from} {channel}: {} > {bound}", sum.arg() / TAU);
        }
    }
    coarse.dedup();
    assert_eq!(coarse, [3, 4, 5]);
}

#[test]
fn a_gap_begins_the_stream_anew() {
    let plan = Channelizer::real(8).taps(4).build().unwrap();
    let data = noise(2, 1000, 9);
    let mut stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(2)).unwrap();
    stream.push(&chunk(&data, 0, 0, 300)).unwrap().unwrap();
    // 17 samples are lost.
    assert_eq!(stream.expected_sample(), Some(300));
    let after = stream.push(&chunk(&data, 0, 317, 1000)).unwrap().unwrap();
    let expected = channelize(&Backend::cpu(), &chunk(&data, 0, 320, 1000), &plan).unwrap();
    assert_eq!(after, expected);
    assert_eq!(after.clock().first_sample, 320);
}

#[test]
fn missing_samples_flag_every_spectrum_whose_window_they_touch_in_whichever_chunk_they_are() {
    let plan = Channelizer::real(4).taps(3).oversampling(2, 1).build().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(10);
    let data = noise(2, 600, 11);
    let delays = [5i64, -3];
    let models = delays.map(|delay| DelayModel::constant(delay as f64, 0.0).unwrap()).to_vec();
    let stream = ChannelizerStream::new(&Backend::cpu(), plan, inputs(2)).unwrap();
    let mut stream = stream.with_delays(models).unwrap();
    let (mut present, mut outputs, mut from) = (Array2::from_elem((2, 600), true), Vec::new(), 0);
    while from < 600 {
        let to = (from + rng.random_range(1..80usize)).min(600);
        let block = rng.random_range(1..20usize);
        let flags =
            Array2::from_shape_simple_fn((2, (to - from).div_ceil(block)), || rng.random_range(0.0..1.0) > 0.05);
        let presence = SamplePresence::new(block, flags).unwrap();
        for (input, sample) in (0..2).flat_map(|input| (from..to).map(move |sample| (input, sample))) {
            present[(input, sample)] = presence.is_present(input, sample - from);
        }
        outputs.extend(stream.push(&chunk(&data, 0, from, to).with_presence(presence).unwrap()).unwrap());
        from = to;
    }
    let output = join(outputs).unwrap();
    let found = output.presence().unwrap();
    assert!(output.times() > 130 && found.iter().any(|&present| present));
    for ((time, input), &found) in found.indexed_iter() {
        let start = (output.clock().sample_of(time) as i64 - delays[input]) as usize;
        assert_eq!(found, (start..start + 24).all(|sample| present[(input, sample)]), "{time} {input}");
    }
}

#[test]
fn delays_may_step_by_what_is_allowed_and_no_more() {
    let plan = Channelizer::real(4).taps(2).build().unwrap(); // stride 8, window 16
    let model = |jump: f64| {
        let mut model = DelayModel::constant(10.0, 0.0).unwrap();
        model.push(segment(vec![10.0 + jump], 0.0, 0.0, 400)).unwrap();
        model
    };
    let data = noise(1, 2000, 12);
    let run = |jump: f64, lengths: &[usize]| -> Result<Vec<Output>, ChannelizerError> {
        let stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(1)).unwrap();
        let mut stream = stream.with_delay_limits(1000, 100).with_delays(vec![model(jump)]).unwrap();
        let (mut outputs, mut from) = (Vec::new(), 0);
        for &length in lengths.iter().cycle() {
            let to = (from + length).min(2000);
            outputs.extend(stream.push(&chunk(&data, 0, from, to))?);
            from = to;
            if from == 2000 {
                break;
            }
        }
        Ok(outputs)
    };
    // From spectrum 392 to 400 the window moves on by 8 less the jump.
    for jump in [108.0, -900.0, 50.0] {
        let (pieces, whole) = (join(run(jump, &[5, 70]).unwrap()), join(run(jump, &[2000]).unwrap()));
        assert_eq!(pieces, whole);
        assert_eq!(whole.unwrap().presence(), None);
    }
    for lengths in [&[5, 70][..], &[2000]] {
        let error = run(109.0, lengths).unwrap_err();
        assert_eq!(error, ChannelizerError::DelayJump { input: 0, sample: 400, start: 281, earliest: 282 });
    }
    let error = run(991.0, &[2000]).unwrap_err();
    assert_eq!(error, ChannelizerError::DelayTooLarge { input: 0, sample: 400, actual: 1001.0, limit: 1000 });
    // Too large from the beginning.
    for delay in [1001.0, 1e9, -1e9, 1e18, -1e300] {
        let stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(1)).unwrap();
        let stream = stream.with_delay_limits(1000, 100);
        let mut stream = stream.with_delays(vec![DelayModel::constant(delay, 0.0).unwrap()]).unwrap();
        let error = stream.push(&chunk(&data, 5000, 0, 100)).unwrap_err();
        // The delay itself, where the stream begins.
        let ChannelizerError::DelayTooLarge { input: 0, sample, actual, limit: 1000 } = error else {
            unreachable!("{error}")
        };
        assert_eq!(actual, delay);
        assert!(if delay > 0.0 { sample == 5000 } else { (4000..=5000).contains(&sample) }, "{sample}");
    }
}

#[test]
fn polynomials_need_not_be_good_far_from_the_stream() {
    // Quadratic from the start of the stream on: 2^24 samples before it, the delay would be 28 million samples and
    // more.
    let plan = Channelizer::real(8).taps(2).build().unwrap();
    let data = noise(1, 20_000, 15);
    let run = |first: u64, model: Vec<f64>| {
        let stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(1)).unwrap();
        let model = DelayModel::from_segment(DelaySegment::new(first, model)).unwrap();
        let mut stream = stream.with_delays(vec![model]).unwrap();
        let outputs = push_all(&mut stream, &data, first, &[700, 3000]).unwrap();
        (outputs.clock().first_sample - first, outputs.into_data())
    };
    for model in [vec![0.0, 0.0, 1e-7], vec![0.0, 0.0, 1e-6], vec![0.0, 0.0, -1e-7, 1e-12], vec![5.0, 0.0, 0.0, -1e-11]]
    {
        let (late, spectra) = run(1 << 40, model.clone());
        // Sample 0 is the first of all, so that nothing is asked of the time before it.
        assert_eq!((late, spectra), run(0, model));
    }
    // Of negative delays, spectra from before the first sample exist.
    let plan_stride = 16;
    for (delay, rate) in [(-100.0, 0.0), (-1000.0, 1e-3), (-1000.0, -0.3), (-37.0, 0.4)] {
        let (first, model) = (1u64 << 30, DelaySegment::new(1 << 30, vec![delay, rate]));
        let model = DelayModel::from_segment(model).unwrap();
        let stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(1)).unwrap();
        let mut stream = stream.with_delays(vec![model.clone()]).unwrap();
        let found = stream.push(&chunk(&data, first, 0, 20_000)).unwrap().unwrap().clock().first_sample;
        let exists = |stamp: u64| stamp as i64 - model.evaluate(stamp).coarse >= first as i64;
        let expected = (first - 8000..first + 8000).step_by(plan_stride).find(|&stamp| exists(stamp)).unwrap();
        assert_eq!(found, expected, "{delay} {rate}");
    }
}

#[test]
fn delay_updates_can_be_queued_between_chunks() {
    let plan = Channelizer::real(4).taps(2).build().unwrap();
    let data = noise(2, 400, 13);
    let update = segment(vec![3.25, 0.001], 0.1, 0.0, 200);
    let mut early = DelayModel::zero();
    early.push(update.clone()).unwrap();
    let stream = || ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(2)).unwrap();
    let mut known = stream().with_delays(vec![DelayModel::zero(), early]).unwrap();
    let mut queued = stream();
    let expected = [(0, 100), (100, 400)].map(|(from, to)| known.push(&chunk(&data, 0, from, to)).unwrap().unwrap());
    assert_eq!(queued.push(&chunk(&data, 0, 0, 100)).unwrap().unwrap(), expected[0]);
    queued.delays_mut()[1].push(update).unwrap();
    assert_eq!(queued.push(&chunk(&data, 0, 100, 400)).unwrap().unwrap(), expected[1]);
    // What is past is forgotten.
    assert_eq!(queued.delays()[1].segments().len(), 1);
}

#[test]
fn a_stream_holds_what_the_coming_windows_need_and_no_more() {
    let plan = Channelizer::complex(16).taps(4).build().unwrap(); // window 64, stride 16
    let delays = [-200.0, 300.0].map(|delay| DelayModel::constant(delay, 0.0).unwrap()).to_vec();
    let stream = ChannelizerStream::new(&Backend::cpu(), plan, inputs(2)).unwrap();
    let mut stream = stream.with_delays(delays).unwrap().with_delay_limits(400, 50);
    let data = complex_noise(2, 40_000, 14);
    let mut most = 0u64;
    for from in (0..40_000).step_by(100) {
        stream.push(&chunk(&data, 0, from, from + 100)).unwrap();
        most = most.max(stream.held_bytes());
    }
    // A window, a stride and the growth, and all that delays may be apart within the limits, a sample less; the rings
    // have room for an eighth more than what is held, no more.
    let needed = (64 + 16 + 50) * 2 + 500;
    assert!(most <= needed * 8 * 9 / 8, "{most} {needed}");
    stream.reset();
    assert_eq!((stream.held_bytes(), stream.next_stamp()), (0, None));
}

#[test]
fn a_stream_within_a_memory_limit_gives_the_same_bits() {
    let plan = Channelizer::real(64).taps(4).build().unwrap();
    let data = noise(3, 20_000, 15);
    let run = |backend: &Backend| {
        let stream = ChannelizerStream::new(backend, plan.clone(), inputs(3))?;
        let mut stream = stream.with_delay_limits(100, 100);
        [(0, 9_000), (9_000, 20_000)]
            .into_iter()
            .map(|(from, to)| stream.push(&chunk(&data, 0, from, to)))
            .collect::<Result<Vec<_>, _>>()
    };
    let free = run(&Backend::cpu()).unwrap();
    let stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(3)).unwrap();
    let least = stream.with_delay_limits(100, 100).memory(20_000, FORMAT).smallest_step_bytes;
    assert_eq!(run(&Backend::cpu().with_memory_limit(least)).unwrap(), free);
    let error = run(&Backend::cpu().with_memory_limit(1000)).unwrap_err();
    assert!(matches!(error, ChannelizerError::Device(DeviceError::MemoryLimit { .. })), "{error}");
}

#[test]
fn bad_chunks_are_errors_and_leave_the_stream_as_it_was() {
    use ChannelizerError as Error;
    let plan = Channelizer::real(8).taps(4).build().unwrap();
    let data = noise(2, 1000, 16);
    let mut stream = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(2)).unwrap();
    stream.push(&chunk(&data, 0, 0, 300)).unwrap();
    for from in [0, 299] {
        let error = stream.push(&chunk(&data, 0, from, 400)).unwrap_err();
        assert_eq!(error, Error::OutOfOrder { expected: 300, actual: from as u64 });
    }
    let error = stream.push(&chunk(&noise(3, 10, 1), 300, 0, 10)).unwrap_err();
    assert_eq!(error, Error::Inputs { expected: inputs(2), actual: inputs(3) });
    let error = stream.push(&chunk(&complex_noise(2, 10, 1), 300, 0, 10)).unwrap_err();
    assert_eq!(error, Error::SampleKind { expected_complex: false });
    let error = stream.push(&chunk(&data, 0, 300, 400).with_sample_rate(2.0).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Axis { quantity: "sample rate in Hz", .. }));
    let error = stream.push(&chunk(&data, 0, 300, 400).with_centre_frequency(2.0).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Axis { quantity: "centre frequency in Hz", .. }));
    let error = stream.push(&chunk(&data, 1 << 63, 300, 400)).unwrap_err();
    assert!(matches!(error, Error::Counter { .. }));
    let other = ChannelizerStream::new(&Backend::cpu(), plan.clone(), inputs(2)).unwrap();
    let error = other.with_delays(vec![DelayModel::zero(); 3]).unwrap_err();
    assert!(matches!(error, Error::Types(TypesError::Dimension { expected: 2, actual: 3, .. })));
    assert_eq!(stream.push(&chunk(&data, 0, 300, 300)).unwrap(), None);

    let rest = stream.push(&chunk(&data, 0, 300, 1000)).unwrap().unwrap();
    let whole = channelize(&Backend::cpu(), &chunk(&data, 0, 0, 1000), &plan).unwrap();
    let before = whole.times() - rest.times();
    assert_eq!(rest.data(), whole.data().slice(s![.., before.., ..]));
}

#[test]
fn a_limit_that_holds_the_stated_memory_holds_the_stream_to_its_end() {
    let plan = Channelizer::real(32).taps(4).build().unwrap();
    let data = noise(2, 150_000, 17);
    let delays = [0.0, 500.3].map(|delay| DelayModel::constant(delay, 0.0).unwrap()).to_vec();
    let stream = |limit: Option<u64>| {
        let backend = limit.map_or(Backend::cpu(), |limit| Backend::cpu().with_memory_limit(limit));
        let stream = ChannelizerStream::new(&backend, plan.clone(), inputs(2)).unwrap();
        stream.with_delays(delays.clone()).unwrap()
    };
    let need = stream(None).memory(1000, FORMAT);
    // A window, a stride and the growth of each, and the distance of the delays.
    let history = (2 * (4 * 64 + 64 - 1 + (1 << 16)) + 500) * 4;
    assert!(need.smallest_step_bytes > history && need.smallest_step_bytes < 2 * history);
    let run = |limit: Option<u64>| {
        let (mut stream, mut most) = (stream(limit), 0);
        let mut outputs = Vec::new();
        for from in (0..150_000).step_by(1000) {
            outputs.extend(stream.push(&chunk(&data, 0, from, from + 1000)).unwrap());
            most = most.max(stream.held_bytes());
        }
        (join(outputs), most)
    };
    let (free, held) = run(None);
    assert!(held <= history, "{held}");
    for limit in [need.smallest_step_bytes, need.workspace_bytes, 1 << 20] {
        assert_eq!(run(Some(limit)), (free.clone(), held));
    }
}

#[test]
fn what_is_held_is_what_coming_windows_need_and_an_eighth() {
    let plan = Channelizer::real(32).taps(4).build().unwrap();
    let stream = ChannelizerStream::new(&Backend::cpu(), plan, inputs(2)).unwrap();
    let mut stream = stream.with_delay_limits(1 << 20, 5000);
    let data = noise(2, 60_000, 18);
    for (from, to) in [(0, 1000), (1000, 1001), (1001, 40_000), (40_000, 40_064), (40_064, 60_000)] {
        stream.push(&chunk(&data, 0, from, to)).unwrap();
        let alive = 2 * to.min(4 * 64 + 64 - 1 + 5000) as u64 * 4;
        assert!(stream.held_bytes() <= alive * 9 / 8 + 16, "{} {alive}", stream.held_bytes());
    }
    // Later delays that are far apart hold more, and what they held is given back when they are not.
    stream.delays_mut()[1].push(segment(vec![100_000.0], 0.0, 0.0, 60_000)).unwrap();
    let far = noise(2, 400_000, 19);
    // (The delay of one input jumps by more than is held.)
    assert!(matches!(stream.push(&chunk(&far, 60_000, 0, 300_000)), Err(ChannelizerError::DelayJump { .. })));
    stream.delays_mut()[1].replace_from(segment(vec![-100_000.0], 0.0, 0.0, 60_000)).unwrap();
    stream.push(&chunk(&far, 60_000, 0, 300_000)).unwrap();
    assert!(stream.held_bytes() > 100_000 * 4);
    stream.delays_mut()[1].replace_from(segment(vec![0.0], 0.0, 0.0, 0)).unwrap();
    let next = stream.next_stamp().unwrap();
    stream.delays_mut()[0].push(segment(vec![-100_000.0], 0.0, 0.0, next)).unwrap();
    stream.delays_mut()[1].push(segment(vec![-100_000.0], 0.0, 0.0, next)).unwrap();
    for (from, to) in [(300_000, 350_000), (350_000, 400_000)] {
        stream.push(&chunk(&far, 60_000, from, to)).unwrap();
    }
    assert!(stream.held_bytes() <= 2 * (4 * 64 + 64 + 5000) * 4 * 2, "{}", stream.held_bytes());
}

#[test]
fn chunks_of_another_format_are_refused() {
    let plan = Channelizer::real(8).taps(4).build().unwrap();
    let data = noise(2, 600, 20);
    let integers = data.mapv(|value| (value * 100.0) as i16);
    let mut stream = ChannelizerStream::new(&Backend::cpu(), plan, inputs(2)).unwrap();
    stream.push(&chunk(&integers, 0, 0, 300)).unwrap();
    let error = stream.push(&chunk(&data, 0, 300, 600)).unwrap_err();
    let (expected, actual) = ("real 16-bit integer".into(), "real 32-bit float".into());
    assert_eq!(error, ChannelizerError::Axis { quantity: "sample format", expected, actual });
    assert!(stream.push(&chunk(&integers, 0, 300, 600)).unwrap().is_some());
    stream.reset();
    assert!(stream.push(&chunk(&data, 0, 300, 600)).unwrap().is_some());
}
