//! The voltages of one input in LSB, before they are digitised.

use crate::filter::{FilterBank, add_filtered};
use crate::noise::{LANES, Stream};
use crate::plan::{CallKnots, Plan, SEGMENT, SourcePlan};

/// Memory of a worker.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) voltages: Vec<f32>,
    pub(crate) codes: Vec<i16>,
    signal: Vec<f32>,
    other: Vec<f32>,
    taps: Vec<f32>,
    /// By segment: whole samples and fraction by which what is heard was emitted later than it is stamped.
    shifts: Vec<(i64, f64)>,
}

/// Voltages of samples `first .. first + count` of an input, as a part of `scratch.voltages`.
pub(crate) fn render(
    plan: &Plan,
    knots: &CallKnots,
    input: usize,
    first: u64,
    count: usize,
    scratch: &mut Scratch,
) -> std::ops::Range<usize> {
    let skipped = (first % SEGMENT as u64) as usize;
    let start = first - skipped as u64;
    scratch.voltages.resize((skipped + count).next_multiple_of(SEGMENT), 0.0);
    let (gain, offset) = (plan.gains[input], plan.simulation.adc.offset_lsb.of(input));
    let rms = plan.simulation.receiver_rms.of(input) * gain;
    if rms == 0.0 {
        scratch.voltages.fill(offset as f32);
    } else {
        plan.noise.read(Stream::Receiver(input), start, &mut scratch.voltages, rms as f32, offset as f32);
    }
    let (antenna, pol) = plan.inputs.antenna_pol(input).unwrap_or_default();
    for (index, (source, knots)) in plan.sources.iter().zip(&knots.sources).enumerate() {
        let amplitude = (source.amplitudes[input] * gain) as f32;
        if amplitude == 0.0 {
            continue;
        }
        scratch.shifts.clear();
        scratch.shifts.extend((0..scratch.voltages.len() / SEGMENT).map(|segment| {
            let middle = start.saturating_add((segment * SEGMENT + SEGMENT / 2) as u64);
            let shift = -source.delays.at(knots, antenna, middle);
            (shift.floor() as i64, shift - shift.floor())
        }));
        add_source(plan, source, index, pol, start, amplitude, scratch);
    }
    for (tone, knots) in plan.tones.iter().zip(&knots.tones) {
        let amplitude = (tone.amplitudes[input] * gain) as f32;
        if amplitude == 0.0 {
            continue;
        }
        for (segment, out) in scratch.voltages.chunks_exact_mut(SEGMENT).enumerate() {
            let sample = start.saturating_add((segment * SEGMENT) as u64);
            let delay = tone.delays.at(knots, antenna, sample.saturating_add(SEGMENT as u64 / 2));
            let (cos, sin) = tone.phasor(sample, delay);
            let (cos, sin) = (cos * amplitude, sin * amplitude);
            for (out, &(turned_cos, turned_sin)) in out.iter_mut().zip(&tone.turned) {
                *out += cos * turned_cos - sin * turned_sin;
            }
        }
    }
    skipped..skipped + count
}

fn add_source(
    plan: &Plan,
    source: &SourcePlan,
    index: usize,
    pol: usize,
    start: u64,
    amplitude: f32,
    scratch: &mut Scratch,
) {
    let bank: &FilterBank = &plan.banks[source.bank];
    let before = bank.taps() as i64 / 2 - 1;
    let (lowest, highest) =
        scratch.shifts.iter().fold((i64::MAX, i64::MIN), |(low, high), &(whole, _)| (low.min(whole), high.max(whole)));
    // What is read of the source's signal begins at a multiple of the lanes.
    let needed = start.wrapping_add_signed(lowest.saturating_sub(before));
    let from = needed & !(LANES as u64 - 1);
    let span = highest.saturating_sub(lowest) as usize + (needed - from) as usize;
    let length = (scratch.voltages.len() + bank.taps() - 1 + span).next_multiple_of(LANES);
    scratch.signal.resize(length, 0.0);
    let signals = if pol == 0 { [1.0, 0.0] } else { source.mix };
    let read = |signal, scale, out: &mut [f32]| {
        plan.noise.read(Stream::Source(index, signal), from, out, scale, 0.0);
    };
    match signals {
        [first, 0.0] => read(0, first, &mut scratch.signal),
        [0.0, second] => read(1, second, &mut scratch.signal),
        [first, second] => {
            read(0, first, &mut scratch.signal);
            scratch.other.resize(length, 0.0);
            read(1, second, &mut scratch.other);
            scratch.signal.iter_mut().zip(&scratch.other).for_each(|(signal, other)| *signal += other);
        }
    }
    if let Some(pulse) = &source.pulse {
        pulse.gate(from, &mut scratch.signal);
    }
    let segments = scratch.voltages.chunks_exact_mut(SEGMENT).zip(&scratch.shifts);
    for (segment, (out, &(whole, fraction))) in segments.enumerate() {
        let at = (whole - lowest) as usize + (needed - from) as usize + segment * SEGMENT;
        let signal = &scratch.signal[at..];
        if fraction == 0.0 && bank.is_whole() {
            let signal = &signal[before as usize..];
            out.iter_mut().zip(signal).for_each(|(out, signal)| *out += signal * amplitude);
            continue;
        }
        bank.filter(fraction, amplitude, &mut scratch.taps);
        add_filtered(plan.noise.arch(), out, signal, &scratch.taps);
    }
}
