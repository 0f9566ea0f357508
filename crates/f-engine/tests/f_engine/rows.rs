//! Frames in the correlator's rows: the same values, stamps and flags as heaps.

use fringes_channelizer::ChannelizerError;
use fringes_f_engine::{FEngine, FrameSample, Frames, RowFrames};
use fringes_types::{Complex, Complex4, Heaps, Rows};

use crate::support::{Case, backends};

fn check_same<Q: FrameSample>(rows: &Frames<Rows<Q>>, heaps: &Frames<Heaps<Q>>) {
    let (found, expected) = (rows.voltages.to_voltages(), heaps.voltages.to_voltages());
    assert_eq!(found.data(), expected.data());
    assert_eq!((found.clock(), found.frequencies()), (expected.clock(), expected.frequencies()));
    assert_eq!((&rows.spectra_present, &rows.saturated), (&heaps.spectra_present, &heaps.saturated));
    assert_eq!((rows.frames(), rows.first_stamp()), (heaps.frames(), heaps.first_stamp()));
    // Spectra are flagged one by one, where heaps are flagged as a whole.
    let all = rows.spectra_present.iter().all(|&present| present);
    assert_eq!(rows.voltages.presence().is_none(), all);
    if let Some(flags) = rows.voltages.presence() {
        assert_eq!(flags, rows.spectra_present);
    }
}

/// Chunks with losses and a gap, in rows and in heaps.
fn rows_are_heaps<Q: FrameSample>() {
    let row = Rows::<Q>::ROW_TIMES;
    let case = Case {
        length: 128 * row * 7,
        spectra_per_frame: 2 * row,
        block: Some(300),
        dither: Some(5),
        ..Case::default()
    };
    let samples = case.samples();
    for backend in backends() {
        let mut heaps: FEngine<Q> = case.engine(&backend);
        let mut rows: FEngine<Q, RowFrames> = case.builder().build_rows(&backend).unwrap();
        // Blocks of flags begin with chunks.
        let (third, end) = (case.length / 900 * 300, case.length);
        let mut pieces = 0;
        for (from, to) in [(0, third), (third, third + 300), (third + 900, end)] {
            let chunk = case.chunk(&samples, from, to);
            let (rows, heaps) = (rows.push(&*chunk).unwrap(), heaps.push(&*chunk).unwrap());
            assert_eq!((rows.frames.len(), &rows.statistics), (heaps.frames.len(), &heaps.statistics));
            pieces += rows.frames.len();
            rows.frames.iter().zip(&heaps.frames).for_each(|(rows, heaps)| check_same(rows, heaps));
        }
        assert!(pieces > 1);
        match (rows.flush().unwrap(), heaps.flush().unwrap()) {
            (Some(rows), Some(heaps)) => check_same(&rows, &heaps),
            (rows, heaps) => assert_eq!(rows.is_some(), heaps.is_some()),
        }
    }
}

#[test]
fn rows_of_every_format_are_the_heaps_of_the_same_stream() {
    rows_are_heaps::<Complex<f32>>();
    rows_are_heaps::<Complex<fringes_types::f16>>();
    rows_are_heaps::<Complex<i8>>();
    rows_are_heaps::<Complex4>();
}

#[test]
fn frames_that_are_no_whole_rows_are_refused() {
    let case = Case { spectra_per_frame: 96, ..Case::default() };
    for backend in backends() {
        assert!(case.builder().build_rows::<Complex<f32>>(&backend).is_ok());
        let error = case.builder().build_rows::<Complex<i8>>(&backend).unwrap_err();
        assert_eq!(error, ChannelizerError::RowSpectra { expected: 64, actual: 96 });
    }
}
