//! Gaps in the samples: the frame that was begun is closed, and the stream begins anew.

use fringes_f_engine::Frames;
use fringes_types::{Complex, Heaps};

use crate::support::{Case, backends};

type Piece = Frames<Heaps<Complex<f32>>>;

/// ADC samples of a frame, of a spectrum's window and of a stride: windows have 64 down-converted samples of 48 taps.
const FRAME: u64 = 4 * 128;
const WINDOW: usize = 63 * 8 + 48;

/// The part of `pieces` that is present is in `whole` as well, with the same values.
fn check_values(pieces: &[Piece], whole: &Piece) {
    for piece in pieces {
        assert_eq!(piece.first_stamp() % FRAME, 0);
        for ((frame, antenna, channel, spectrum, pol), value) in piece.voltages.data().indexed_iter() {
            let place = ((piece.first_stamp() - whole.first_stamp()) / FRAME) as usize + frame;
            let expected = whole.voltages.data()[(place, antenna, channel, spectrum, pol)];
            let there = piece.spectra_present[(frame * 4 + spectrum, antenna * 2 + pol)];
            assert_eq!(*value, if there { expected } else { Complex::new(0.0, 0.0) });
        }
    }
}

fn present(frames: &Piece) -> Vec<bool> {
    frames.spectra_present.column(1).to_vec()
}

#[test]
fn a_gap_closes_the_frame_and_the_stream_begins_anew_with_the_next_that_is_whole() {
    let case = Case { length: 8000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let whole = case.frames::<Complex<f32>>(&backend);
        let mut engine = case.engine::<Complex<f32>>(&backend);
        // A frame, and two spectra of the next.
        let cut = 5 * 128 + WINDOW;
        let mut pieces = engine.push(&*case.chunk(&samples, 0, cut)).unwrap().frames;
        assert_eq!((pieces.len(), pieces[0].frames(), engine.next_stamp()), (1, 1, Some(6 * 128)));
        // Less than a down-converted sample after the gap says nothing yet.
        let none = engine.push(&*case.chunk(&samples, 2003, 2050)).unwrap();
        assert_eq!((none.frames.len(), none.statistics[0].samples), (0, 47));
        assert_eq!((engine.expected_sample(), engine.next_stamp()), (Some(2050), Some(6 * 128)));
        // The first frame whose samples exist begins with sample 2048.
        let next = engine.push(&*case.chunk(&samples, 2050, 2048 + 7 * 128 + WINDOW)).unwrap().frames;
        assert_eq!(next.iter().map(|frames| frames.first_stamp()).collect::<Vec<_>>(), [FRAME, 2048]);
        assert_eq!(present(&next[0]), [true, true, false, false]);
        assert_eq!(next[0].voltages.presence().unwrap(), ndarray::array![[false]]);
        assert_eq!((next[1].frames(), present(&next[1])), (2, vec![true; 8]));
        pieces.extend(next);
        assert_eq!(engine.flush().unwrap(), None);
        check_values(&pieces, &whole);
    }
}

#[test]
fn a_gap_between_the_samples_of_a_filter_shorter_than_the_decimation_is_none() {
    // Outputs are made of samples 8 j .. 8 j + 3: the others may be lost.
    let case = Case { filter_taps: 3, length: 4000, ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let whole = case.frames::<Complex<f32>>(&backend);
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let mut frames = engine.push(&*case.chunk(&samples, 0, 1003)).unwrap().frames;
        frames.extend(engine.push(&*case.chunk(&samples, 1008, 4000)).unwrap().frames);
        frames.extend(engine.flush().unwrap());
        assert_eq!(crate::support::join(frames).unwrap(), whole);
    }
}

#[test]
fn a_stream_goes_on_behind_many_gaps() {
    let case = Case { length: 30_000, delays: vec![(3.0, 0.0, 0.0, 0.0), (-21.5, 0.0, 0.2, 0.0)], ..Case::default() };
    let samples = case.samples();
    for backend in backends() {
        let whole = case.frames::<Complex<f32>>(&backend);
        let mut engine = case.engine::<Complex<f32>>(&backend);
        let (mut pieces, mut from) = (Vec::new(), 0);
        for (length, gap) in [(1500, 1), (2100, 700), (900, 8), (30, 5), (5000, 3000), (1, 1), (4000, 0), (6000, 13)] {
            pieces.extend(engine.push(&*case.chunk(&samples, from, from + length)).unwrap().frames);
            from += length + gap;
        }
        pieces.extend(engine.flush().unwrap());
        let stamps: Vec<u64> = pieces.iter().map(|piece| piece.first_stamp()).collect();
        assert!(pieces.len() >= 6 && stamps.windows(2).all(|pair| pair[0] < pair[1]), "{stamps:?}");
        let made: usize = pieces.iter().map(|piece| present(piece).into_iter().filter(|&there| there).count()).sum();
        assert!(made > 60, "{made}");
        if backend.device().is_none() {
            check_values(&pieces, &whole);
        }
    }
}
