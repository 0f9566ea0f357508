//! Gaps in the samples, the first frame, flush and reset.

use fringes_delay_model::DelayModel;
use fringes_f_engine::Frames;
use fringes_types::Complex;
use fringes_types::Heaps;
use ndarray::s;

use crate::support::{Case, backends};

/// Frames of 4 spectra of 128 samples, windows of 512.
const FRAME: u64 = 512;

fn stamps(frames: &[Frames<Heaps<Complex<f32>>>]) -> Vec<(u64, usize)> {
    frames.iter().map(|frames| (frames.first_stamp(), frames.frames())).collect()
}

/// Present spectra of an input.
fn present(frames: &Frames<Heaps<Complex<f32>>>, input: usize) -> Vec<usize> {
    let column = frames.spectra_present.column(input);
    column.iter().enumerate().filter(|&(_, &present)| present).map(|(time, _)| time).collect()
}

/// The part of `pieces` that `whole` has as well is the same.
fn check_values(pieces: &[Frames<Heaps<Complex<f32>>>], whole: &Frames<Heaps<Complex<f32>>>) {
    for piece in pieces {
        for ((frame, antenna, channel, spectrum, pol), value) in piece.voltages.data().indexed_iter() {
            let place = (piece.first_stamp() - whole.first_stamp()) / FRAME;
            let expected = whole.voltages.data()[(place as usize + frame, antenna, channel, spectrum, pol)];
            let there = piece.spectra_present[(frame * 4 + spectrum, antenna * 2 + pol)];
            assert_eq!(*value, if there { expected } else { Complex::new(0.0, 0.0) });
        }
    }
}

#[test]
fn a_gap_closes_the_frame_and_the_stream_begins_anew_with_the_next_that_is_whole() {
    let case = Case { length: 8000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let whole = case.one_call::<Complex<f32>>(&backend).frames.remove(0);
        let mut engine = case.engine::<Complex<f32>>(&backend);
        // 1300 samples are 7 windows: a frame and three spectra of the next.
        let first = engine.push(&*case.chunk(&samples, 0, 1300)).unwrap();
        assert_eq!(stamps(&first.frames), [(0, 1)]);
        assert_eq!(engine.next_stamp(), Some(7 * 128));
        // 4 whole frames begin at or after sample 2000: at 2048, of which the chunk has windows up to 4511.
        let second = engine.push(&*case.chunk(&samples, 2000, 4600)).unwrap();
        assert_eq!(stamps(&second.frames), [(512, 1), (2048, 4)]);
        assert_eq!(present(&second.frames[0], 1), [0, 1, 2]);
        assert_eq!(second.frames[0].voltages.presence().unwrap(), ndarray::array![[false]]);
        assert!(second.frames[1].voltages.presence().is_none());
        // The statistics are the chunk's alone.
        assert_eq!(second.statistics[0].samples, 2600);
        // Without a gap the stream goes on.
        let third = engine.push(&*case.chunk(&samples, 4600, 5300)).unwrap();
        assert_eq!(stamps(&third.frames), [(4096, 1)]);
        let rest: Vec<_> = engine.flush().unwrap().into_iter().collect();
        assert_eq!(stamps(&rest), [(4608, 1)]);
        assert_eq!(present(&rest[0], 0), [0, 1]);
        for frames in [&first.frames, &second.frames, &third.frames, &rest] {
            check_values(frames, &whole);
        }
        assert_eq!(engine.flush().unwrap(), None);
    }
}

#[test]
fn a_gap_without_a_frame_begun_gives_nothing_of_its_own() {
    let case = Case { length: 8000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        // Exactly a frame: 4 windows end at 896.
        assert_eq!(stamps(&engine.push(&*case.chunk(&samples, 0, 896)).unwrap().frames), [(0, 1)]);
        assert_eq!(stamps(&engine.push(&*case.chunk(&samples, 897, 3000)).unwrap().frames), [(1024, 3)]);
        // Three whole frames end the windows at 2944: nothing is open, and less than a window follows the gap.
        assert_eq!(engine.next_stamp(), Some(2560));
        assert_eq!(stamps(&engine.push(&*case.chunk(&samples, 3001, 3100)).unwrap().frames), []);
        assert_eq!(engine.flush().unwrap(), None);
    }
}

#[test]
fn a_gap_shorter_than_a_frame_never_repeats_a_stamp() {
    let case =
        Case { length: 20_000, delays: vec![(30.0, -0.01, 0.0, 0.0), (-5.0, 0.02, 0.0, 0.0)], ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let (mut next, mut from) = (0, 0);
        for number in 0..40 {
            let to = from + 300 + 37 * (number % 5);
            for frames in engine.push(&*case.chunk(&samples, from, to)).unwrap().frames {
                assert!(frames.first_stamp() >= next && frames.first_stamp() % FRAME == 0);
                next = frames.first_stamp() + FRAME * frames.frames() as u64;
            }
            from = to + number % 3;
        }
        assert!(next > 5000);
    }
}

#[test]
fn a_delay_that_shrinks_in_a_gap_does_not_bring_a_closed_frame_back() {
    let case = Case { length: 8000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        assert_eq!(stamps(&engine.push(&*case.chunk(&samples, 0, 1300)).unwrap().frames), [(0, 1)]);
        // 900 samples early, the frame at 512 has its samples behind the gap; but three of its spectra have been made
        // already.
        for delay in engine.delays_mut() {
            *delay = DelayModel::constant(-900.0, 0.0).unwrap();
        }
        let frames = engine.push(&*case.chunk(&samples, 1301, 4000)).unwrap().frames;
        assert_eq!(stamps(&frames)[..2], [(512, 1), (1024, 3)]);
    }
}

#[test]
fn flush_in_the_middle_goes_on_with_the_next_frame() {
    let case = Case { length: 8000, dither: Some(1), ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let whole = case.one_call::<Complex<f32>>(&backend).frames.remove(0);
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let first = engine.push(&*case.chunk(&samples, 0, 1300)).unwrap().frames;
        let flushed: Vec<_> = engine.flush().unwrap().into_iter().collect();
        assert_eq!(stamps(&flushed), [(512, 1)]);
        assert_eq!(engine.next_stamp(), Some(1024));
        let second = engine.push(&*case.chunk(&samples, 1300, 8000)).unwrap().frames;
        assert_eq!(second[0].first_stamp(), 1024);
        for frames in [&first, &flushed, &second] {
            check_values(frames, &whole);
        }
    }
}

#[test]
fn the_first_frame_is_the_first_whose_samples_every_input_has() {
    // Input 1 is delayed by 700 samples: its window of the frame at 1024 starts at 324, that at 512 before the first
    // sample.
    let case = Case {
        first: 100,
        length: 4000,
        delays: vec![(0.0, 0.0, 0.0, 0.0), (700.0, 0.0, 0.0, 0.0)],
        ..Case::default()
    };
    for backend in backends() {
        let frames = case.one_call::<Complex<f32>>(&backend).frames.remove(0);
        assert_eq!(frames.first_stamp(), 1024);
        assert_eq!(present(&frames, 0), present(&frames, 1));
    }
}

#[test]
fn reset_forgets_samples_frame_and_axes() {
    let case = Case { length: 4000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        engine.push(&*case.chunk(&samples, 0, 1300)).unwrap();
        assert!(engine.held_bytes() > 0);
        assert_eq!(engine.expected_sample(), Some(1300));
        engine.reset();
        assert_eq!((engine.next_stamp(), engine.expected_sample(), engine.held_bytes()), (None, None, 0));
        assert_eq!(engine.flush().unwrap(), None);
        let whole = case.one_call::<Complex<f32>>(&backend).frames.remove(0);
        let mut again = engine.push(&*case.chunk(&samples, 0, 4000)).unwrap().frames;
        again.extend(engine.flush().unwrap());
        check_values(&again, &whole);
        assert_eq!(again[0].spectra_present, whole.spectra_present.slice(s![..again[0].spectra_present.nrows(), ..]));
    }
}

#[test]
fn an_empty_chunk_changes_nothing() {
    let case = Case::default();
    let samples = case.samples();
    for backend in backends() {
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let empty = engine.push(&*case.chunk(&samples, 0, 0)).unwrap();
        assert_eq!((empty.frames.len(), empty.statistics[0].samples, engine.next_stamp()), (0, 0, None));
        let all = engine.push(&*case.chunk(&samples, 0, 1000)).unwrap().frames;
        let empty = case.chunk(&samples, 1000, 1000);
        assert_eq!((empty.times(), engine.push(&*empty).unwrap().frames.len()), (0, 0));
        assert_eq!(stamps(&all), [(0, 1)]);
    }
}
