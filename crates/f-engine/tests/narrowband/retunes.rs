//! Retunes: frames from a sample on have the new centre, and no spectrum has samples of two.

use std::collections::BTreeMap;

use fringes_backend::Backend;
use fringes_channelizer::{ChannelizerError, DownConverter};
use fringes_delay_model::DelaySegment;
use fringes_f_engine::{Frames, NarrowbandFEngine, NarrowbandFEngineBuilder};
use fringes_types::{Complex, Heaps};

use crate::support::{Case, Format, backends};

type Piece = Frames<Heaps<Complex<f32>>>;

/// ADC samples of a frame and of a stride; windows have 64 down-converted samples, four strides.
const FRAME: u64 = 4 * 128;
const STRIDE: u64 = 128;
const CENTRES: [f64; 3] = [0.171, 0.215, -0.12];

/// A spectrum of an input: its values if it is there, and the frequency of channel 4.
#[derive(Debug, Clone, PartialEq)]
struct Spectrum {
    values: Option<Vec<Complex<f32>>>,
    middle_hz: f64,
}

/// Spectra by stamp and input.
fn spectra(pieces: &[Piece]) -> BTreeMap<(u64, usize), Spectrum> {
    let mut spectra = BTreeMap::new();
    for piece in pieces {
        assert_eq!(piece.first_stamp() % FRAME, 0);
        let (data, inputs) = (piece.voltages.data(), piece.voltages.inputs().len());
        for (time, flags) in piece.spectra_present.rows().into_iter().enumerate() {
            for input in 0..inputs {
                let value = |channel| data[(time / 4, 0, channel, time % 4, input)];
                let values: Vec<_> = (0..data.dim().2).map(value).collect();
                assert!(flags[input] || values.iter().all(|value| *value == Complex::new(0.0, 0.0)));
                let values = flags[input].then_some(values);
                let middle_hz = piece.voltages.frequencies().channel_hz(4);
                let stamp = piece.first_stamp() + time as u64 * STRIDE;
                assert!(spectra.insert((stamp, input), Spectrum { values, middle_hz }).is_none(), "{stamp}");
            }
        }
    }
    spectra
}

/// Frames of chunks with given ends, with retunes queued ahead or when a chunk reaches them.
fn pushed(
    builder: NarrowbandFEngineBuilder,
    backend: &Backend,
    case: &Case,
    cuts: &[(usize, usize)],
    retunes: &[(u64, f64)],
    ahead: bool,
) -> Vec<Piece> {
    let samples = case.samples();
    let mut engine: NarrowbandFEngine<Complex<f32>> = builder.build(backend).unwrap();
    let (mut frames, mut coming) = (Vec::new(), retunes.iter().peekable());
    for &(from, to) in cuts {
        let end = case.first + to as u64;
        while let Some(&(at, centre)) = coming.next_if(|(at, _)| ahead || *at < end) {
            engine.retune(at, centre).unwrap();
        }
        frames.extend(engine.push(&*case.chunk(&samples, from, to)).unwrap().frames);
    }
    frames.extend(engine.flush().unwrap());
    frames
}

/// An engine at another centre all along, whose mixer's phase is that of the first one's, moved at a sample.
fn at_centre(case: &Case, centre: f64, phase_turns: f64) -> NarrowbandFEngineBuilder {
    let plan = DownConverter::new(centre, case.decimation, case.filter()).unwrap();
    let plan = plan.with_phase_turns(phase_turns).unwrap();
    let gains = fringes_types::Gains::per_channel_input(case.gains()).unwrap();
    let builder = NarrowbandFEngineBuilder::new(plan, case.plan(), case.inputs()).spectra_per_frame(4).gains(gains);
    let builder = if case.delays.is_empty() { builder } else { builder.delays(case.models()) };
    builder.outer_half_discarded()
}

fn near(found: &[Complex<f32>], expected: &[Complex<f32>]) -> bool {
    let largest = expected.iter().map(|value| value.norm()).fold(1f32, f32::max);
    found.iter().zip(expected).all(|(found, expected)| (found - expected).norm() <= 1e-5 * largest)
}

/// ADC sample that a spectrum's window begins with.
fn start(case: &Case, stamp: u64, input: usize) -> i64 {
    let delay = case.models()[input].delay_samples(stamp) / case.decimation as f64;
    stamp as i64 - 8 * delay.round_ties_even() as i64
}

#[test]
fn spectra_are_those_of_their_centre_and_none_has_samples_of_two() {
    let delays = vec![(37.3, 0.002, 0.1, 1e-6), (-83.9, -0.003, -0.3, 0.0)];
    let long = vec![(1500.0, 0.0, 0.1, 0.0), (-3.0, 0.0, -0.3, 0.0)];
    for (number, delays) in [vec![], delays, long].into_iter().enumerate() {
        let first = [0, 12_345, FRAME * 1_000_000_000_003][number];
        let format = [Format::Packed10, Format::ComplexFloat32, Format::Int8][number];
        let case = Case { first, delays, format, length: 12_000, ..Case::default() };
        let frame = |number: u64| first.next_multiple_of(FRAME) + number * FRAME;
        let retunes = [(frame(6), CENTRES[1]), (frame(13), CENTRES[2])];
        let [at, then] = retunes.map(|(at, _)| at);
        for backend in backends() {
            let all = |plan| pushed(plan, &backend, &case, &[(0, case.length)], &[], true);
            let turns = |to: f64, from: f64, at: u64| ((to - from) * at as f64).fract();
            // In exact arithmetic: the counter has 59 bits.
            let phase = if number < 2 { turns(CENTRES[1], CENTRES[0], at) } else { 0.0 };
            let phases = [0.0, phase, phase + turns(CENTRES[2], CENTRES[1], then)];
            let alone: Vec<_> = CENTRES
                .iter()
                .zip(phases)
                .map(|(&centre, phase)| spectra(&all(at_centre(&case, centre, phase))))
                .collect();
            let whole = pushed(case.builder(), &backend, &case, &[(0, case.length)], &retunes, true);
            let found = spectra(&whole);
            let window = 63 * 8 + 48;
            let mut seen = [0; 3];
            for (&(stamp, input), spectrum) in &found {
                // Of a delay longer than a window, frames begun before the sample keep their centre.
                let centre = CENTRES.iter().position(|centre| (spectrum.middle_hz - centre * 1.712e9).abs() < 1e-3);
                let centre = centre.unwrap();
                let of = [i64::MIN, at as i64, then as i64, i64::MAX];
                // Down-converted samples are of the centre of their first ADC sample. A spectrum is made of all inputs.
                let starts = [0, 1].map(|input| start(&case, stamp, input));
                let own = |start: i64| start >= of[centre] && start + 64 * 8 <= of[centre + 1];
                let all = starts.iter().all(|&start| own(start) && start + window <= first as i64 + 12_000);
                let expected = &alone[centre][&(stamp, input)];
                match &spectrum.values {
                    Some(values) => {
                        assert!(own(starts[input]), "{stamp} {input}");
                        seen[centre] += 1;
                        let expected = expected.values.as_ref().unwrap();
                        if number < 2 {
                            assert!(near(values, expected), "{stamp} {input}: {values:?} {expected:?}");
                        } else {
                            // With an unknown phase, magnitudes.
                            let size = |values: &[Complex<f32>]| values.iter().map(|v| v.norm_sqr()).sum::<f32>();
                            assert!((size(values) / size(expected) - 1.0).abs() < 1e-4);
                        }
                    }
                    // Closed with the last samples, or before a retune, or of samples before it.
                    None => assert!(!all || number == 2, "{stamp} {input}"),
                }
                if number < 2 {
                    let expected = usize::from(stamp >= at) + usize::from(stamp >= then);
                    assert_eq!(centre, expected, "{stamp}");
                }
            }
            assert!(seen.into_iter().all(|seen| seen > 10), "{seen:?}");

            // However the stream is cut, and whenever retunes are queued.
            for lengths in [&[1000usize, 7, 511][..], &[3000], &[6 * 512, 48, 1]] {
                let (mut cuts, mut from) = (Vec::new(), 0);
                for length in lengths.iter().cycle() {
                    let to = (from + length).min(case.length);
                    cuts.push((from, to));
                    from = to;
                    if from == case.length {
                        break;
                    }
                }
                for ahead in [true, false] {
                    let cut = spectra(&pushed(case.builder(), &backend, &case, &cuts, &retunes, ahead));
                    assert_eq!(cut.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
                    for (place, spectrum) in &cut {
                        let expected = &found[place];
                        assert_eq!(spectrum.middle_hz, expected.middle_hz);
                        match (&spectrum.values, &expected.values) {
                            // On a GPU phases are on lines.
                            (Some(found), Some(expected)) if backend.device().is_some() => {
                                assert!(near(found, expected));
                            }
                            (found, expected) => assert_eq!(found, expected, "{place:?}"),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn without_delays_a_retune_leaves_out_what_windows_reach_beyond_it() {
    let case = Case { length: 8000, ..Case::default() };
    for backend in backends() {
        let whole = [(0, case.length)];
        let found = pushed(case.builder(), &backend, &case, &whole, &[(4 * FRAME, 0.2)], true);
        let stamps: Vec<_> = found.iter().map(|piece| (piece.first_stamp(), piece.frames())).collect();
        // Three frames and one that is closed, then new ones.
        assert_eq!(stamps[..3], [(0, 3), (3 * FRAME, 1), (4 * FRAME, stamps[2].1)]);
        assert_eq!(found[1].spectra_present.column(0).to_vec(), [true, false, false, false]);
        assert!(found[2].spectra_present.iter().all(|&present| present));
        assert_eq!(found[1].voltages.presence().unwrap(), ndarray::array![[false]]);
        // One behind the other while windows are longer than what is between: no frame has a mixture.
        let retunes = [(4 * FRAME, 0.2), (5 * FRAME, 0.3), (5 * FRAME, 0.31), (6 * FRAME, 0.1)];
        let found = pushed(case.builder(), &backend, &case, &whole, &retunes, true);
        let middles =
            |hz: f64| found.iter().filter(move |piece| (piece.voltages.frequencies().channel_hz(4) - hz).abs() < 1.0);
        let there =
            |hz: f64| middles(hz).map(|piece| piece.spectra_present.iter().filter(|p| **p).count()).sum::<usize>();
        assert_eq!([0.2, 0.31, 0.3].map(|centre| there(centre * 1.712e9)), [2, 2, 0]);
        assert!(there(0.1 * 1.712e9) > 40 && there(0.171 * 1.712e9) == 2 * 13);
    }
}

#[test]
fn a_retune_in_a_gap_counts_behind_it() {
    let case = Case { length: 9000, ..Case::default() };
    for backend in backends() {
        let retunes = [(6 * FRAME, CENTRES[1])];
        let whole = spectra(&pushed(case.builder(), &backend, &case, &[(0, case.length)], &retunes, true));
        let gap = pushed(case.builder(), &backend, &case, &[(0, 2500), (3990, 9000)], &retunes, true);
        let gap = spectra(&gap);
        for (place, spectrum) in gap.iter().filter(|(_, spectrum)| spectrum.values.is_some()) {
            assert_eq!(*spectrum, whole[place], "{place:?}");
        }
        // Frames of now begin with the first whose samples exist: 4096.
        let first = gap.iter().find(|(_, spectrum)| (spectrum.middle_hz - CENTRES[1] * 1.712e9).abs() < 1.0).unwrap();
        assert_eq!(first.0, &(4096, 0));
        assert!(first.1.values.is_some());
    }
}

#[test]
fn a_model_of_the_new_centre_stops_the_fringe_from_the_sample_on() {
    // A tone that comes to input 1 some samples later, at each of the two centres' middle channel in turn.
    let (delay, at) = (21.37, 12 * FRAME);
    let delays = vec![(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)];
    let case = Case { format: Format::ComplexFloat32, delays, length: 16_000, ..Case::default() };
    let tone = |input: usize, time: usize| {
        let time = time as f64 - if input == 1 { delay } else { 0.0 };
        let turn = |centre: f64| Complex::cis(std::f64::consts::TAU * (centre * time).fract());
        0.3 * (turn(CENTRES[0]) + turn(CENTRES[1]))
    };
    let samples = ndarray::Array2::from_shape_fn((2, case.length), |(input, time)| tone(input, time));
    for backend in backends() {
        // Input 0 is delayed to meet input 1, and its centre turned back by -f d.
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let of = |start, centre: f64| DelaySegment::new(start, vec![delay]).with_phase((-centre * delay).fract(), 0.0);
        engine.delays_mut()[0].replace_from(of(0, CENTRES[0])).unwrap();
        engine.delays_mut()[0].push(of(at, CENTRES[1])).unwrap();
        engine.retune(at, CENTRES[1]).unwrap();
        let mut frames = Vec::new();
        for from in (0..case.length).step_by(3200) {
            frames.extend(engine.push(&*case.chunk(&samples, from, from + 3200)).unwrap().frames);
        }
        let found = spectra(&frames);
        let mut counted = [0; 2];
        for (&(stamp, input), spectrum) in &found {
            let (Some(here), Some(there)) = (&spectrum.values, &found[&(stamp, 1 - input)].values) else { continue };
            let gains = case.gains();
            let turned = (here[4] / gains[(4, input)]) * (there[4] / gains[(4, 1 - input)]).conj();
            assert!(turned.arg().abs() < 2e-3, "{stamp}: {} turns", turned.arg() / std::f32::consts::TAU);
            counted[usize::from(stamp >= at)] += 1;
        }
        assert!(counted.into_iter().all(|counted| counted > 20), "{counted:?}");
    }
}

#[test]
fn a_retune_within_a_frame_too_late_or_out_of_order_is_an_error_and_changes_nothing() {
    let case = Case { length: 9000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let mut frames = engine.push(&*case.chunk(&samples, 0, 4200)).unwrap().frames;
        let frame = FRAME;
        assert_eq!(engine.retune(5000, 0.2), Err(ChannelizerError::RetuneInFrame { frame, actual: 5000 }));
        // Outputs begin up to sample 4152, so that the frame at 4096 cannot have another centre any more.
        let late = engine.retune(8 * FRAME, 0.2);
        assert_eq!(late, Err(ChannelizerError::RetuneTooLate { made: 4152, actual: 8 * FRAME }));
        assert_eq!(engine.retune(9 * FRAME, 1.5), Err(ChannelizerError::Centre { actual: 1.5 }));
        frames.extend(engine.push(&*case.chunk(&samples, 4200, 9000)).unwrap().frames);
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).unwrap(), case.frames::<Complex<f32>>(&backend));

        let mut engine = case.engine::<Complex<f32>>(&backend);
        engine.retune(3 * FRAME, 0.2).unwrap();
        let order = ChannelizerError::RetuneOrder { last: 3 * FRAME, actual: 2 * FRAME };
        assert_eq!(engine.retune(2 * FRAME, 0.2), Err(order));
        engine.push(&*case.chunk(&samples, 0, 4200)).unwrap();
        assert_eq!(
            (engine.centre_cycles_per_sample(), engine.down_converter().centre_cycles_per_sample()),
            (0.2, 0.171)
        );
        // What a second stage refuses is refused before the retune counts.
        engine.retune(10 * FRAME, 0.3).unwrap();
        let (expected, next) = (engine.expected_sample(), engine.next_stamp());
        let healthy = engine.delays()[1].clone();
        engine.delays_mut()[1].push(DelaySegment::new(11 * FRAME, vec![1e12])).unwrap();
        let error = engine.push(&*case.chunk(&samples, 4200, 9000)).unwrap_err();
        assert!(matches!(error, ChannelizerError::DelayTooLarge { sample: 5632, .. }), "{error}");
        assert_eq!((engine.expected_sample(), engine.next_stamp()), (expected, next));
        engine.delays_mut()[1] = healthy;
        let frames = engine.push(&*case.chunk(&samples, 4200, 9000)).unwrap().frames;
        let middles: Vec<_> = frames.iter().map(|piece| piece.voltages.frequencies().channel_hz(4) / 1.712e9).collect();
        assert!((middles[0] - 0.2).abs() < 1e-9 && (middles[middles.len() - 1] - 0.3).abs() < 1e-9, "{middles:?}");
        // The plan's centre again.
        engine.reset();
        let mut frames = engine.push(&*case.chunk(&samples, 0, 9000)).unwrap().frames;
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).unwrap(), case.frames::<Complex<f32>>(&backend));
    }
}
