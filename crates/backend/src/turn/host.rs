//! The corner turn on the host.

use std::ops::Range;

use fringes_types::{Heaps, VoltageSample};
use ndarray::{Array5, s};

use crate::turn::TurnError;
use crate::turn::header::Header;

/// Some channels of all antennas, on the host: what [`turn_channels`](crate::turn_channels) computes on devices.
///
/// Frames have some antennas each, in order, and the same batches, channels, spectra and polarisations. Channel `k` of
/// what comes out is channel `channels.start + k` of the frames. The clock is theirs; a heap is present unless its
/// frames flag it absent.
///
/// # Errors
/// [`TurnError::NoFrames`], [`TurnError::Shape`] and [`TurnError::Axis`] for frames that do not fit the first ones,
/// [`TurnError::Channels`].
///
/// ```
/// use fringes_backend::turn_channels_on_host;
/// use fringes_types::{Complex, Heaps};
/// use ndarray::Array5;
///
/// // Three antennas and two, eight channels.
/// let frames = |antennas| Heaps::new(Array5::from_elem((2, antennas, 8, 16, 1), Complex::new(1i8, 2)));
/// let turned = turn_channels_on_host(&[&frames(3)?, &frames(2)?], 5..8)?;
/// assert_eq!(turned.data().dim(), (2, 5, 3, 16, 1));
/// assert_eq!(turned.frequencies().first_hz, 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn turn_channels_on_host<V: VoltageSample>(
    frames: &[&Heaps<V>],
    channels: Range<usize>,
) -> Result<Heaps<V>, TurnError> {
    let header = Header::of(frames, channels)?;
    header.elements()?;
    let (antennas, pols) = (header.inputs.antennas(), header.inputs.pols());
    let shape = (header.batches, antennas, header.channels.len(), header.spectra, pols);
    let mut data = Array5::from_elem(shape, V::zeroed());
    for (heaps, antennas) in frames.iter().zip(&header.antennas) {
        let wanted = heaps.data().slice_move(s![.., .., header.channels.clone(), .., ..]);
        data.slice_mut(s![.., antennas.clone(), .., .., ..]).assign(&wanted);
    }
    header.on(Heaps::from_checked(data)?)
}

#[cfg(test)]
mod tests {
    use fringes_types::{Complex, Frequencies, SpectrumClock};
    use ndarray::Array2;

    use super::*;

    /// Frames of some antennas, whose values tell their place.
    fn frames(antennas: Range<usize>) -> Heaps<Complex<f32>> {
        let shape = (3, antennas.len(), 8, 4, 2);
        let data = Array5::from_shape_fn(shape, |(batch, antenna, channel, spectrum, pol)| {
            let antenna = antennas.start + antenna;
            Complex::new((batch * 100 + antenna * 10 + pol) as f32, (channel * 10 + spectrum) as f32)
        });
        let clock = SpectrumClock { first_sample: 4096, samples_between_spectra: 16, sample_rate_hz: 1e9 };
        let frequencies = Frequencies { first_hz: 1e9, step_hz: 1e6 };
        Heaps::new(data).unwrap().with_clock(clock).unwrap().with_frequencies(frequencies).unwrap()
    }

    #[test]
    fn every_value_comes_to_its_place_with_uneven_shares() {
        let whole = frames(0..5);
        let parts = [frames(0..3), frames(3..5)];
        for channels in [0..5, 5..8, 0..8, 7..8] {
            let turned = turn_channels_on_host(&[&parts[0], &parts[1]], channels.clone()).unwrap();
            assert_eq!(turned.data(), whole.data().slice(s![.., .., channels.clone(), .., ..]));
            assert_eq!((turned.clock(), turned.inputs()), (whole.clock(), whole.inputs()));
            assert_eq!(turned.frequencies().first_hz, 1e9 + 1e6 * channels.start as f64);
            assert!(turned.presence().is_none());
        }
    }

    #[test]
    fn blocks_of_rows_are_what_the_turn_moves() {
        // What the copies between devices do, on the host.
        let parts = [frames(0..3), frames(3..5)];
        let sources = [&parts[0], &parts[1]];
        for channels in [0..5, 5..8] {
            let expected = turn_channels_on_host(&sources, channels.clone()).unwrap();
            let header = Header::of(&sources, channels).unwrap();
            let mut out = vec![Complex::default(); header.elements().unwrap()];
            for (part, heaps) in sources.iter().enumerate() {
                let from = heaps.data().to_slice().unwrap();
                let (blocks, from_pitch, to_pitch) =
                    (header.blocks(part), header.source_pitch(part), header.result_pitch());
                for (slice, row) in (0..blocks.slices).flat_map(|slice| (0..blocks.rows).map(move |row| (slice, row))) {
                    let read = header.ahead() + from_pitch.row * (slice * from_pitch.slice_rows + row);
                    let write = header.first(part) + to_pitch.row * (slice * to_pitch.slice_rows + row);
                    out[write..write + blocks.width].copy_from_slice(&from[read..read + blocks.width]);
                }
            }
            assert_eq!(header.heaps(out.clone()).unwrap().into_array(), out);
            assert_eq!(expected.data().to_slice().unwrap(), out);
        }
    }

    #[test]
    fn an_absent_heap_stays_absent_and_others_are_there() {
        let flags = Array2::from_shape_fn((3, 2), |(batch, antenna)| (batch + antenna) % 2 == 0);
        let parts = [frames(0..3), frames(3..5).with_presence(flags.clone()).unwrap()];
        let turned = turn_channels_on_host(&[&parts[0], &parts[1]], 2..4).unwrap();
        for ((batch, antenna), &there) in turned.presence().unwrap().indexed_iter() {
            assert_eq!(there, antenna < 3 || flags[(batch, antenna - 3)]);
        }
    }

    #[test]
    fn frames_that_do_not_fit_are_named() {
        let first = frames(0..3);
        let turn = |second: &Heaps<Complex<f32>>, channels| turn_channels_on_host(&[&first, second], channels);
        let other = Heaps::new(first.data().slice_move(s![..2, .., .., .., ..]).to_owned()).unwrap();
        let shape = TurnError::Shape { part: 1, what: "batches", expected: 3, actual: 2 };
        assert_eq!(turn(&other, 0..8), Err(shape));
        let later = SpectrumClock { first_sample: 8192, ..first.clock() };
        let error = turn(&frames(3..5).with_clock(later).unwrap(), 0..8).unwrap_err();
        assert!(matches!(error, TurnError::Axis { part: 1, what: "clock", .. }), "{error}");
        let elsewhere = frames(3..5).with_frequencies(Frequencies::default()).unwrap();
        assert!(matches!(turn(&elsewhere, 0..8), Err(TurnError::Axis { what: "frequencies", .. })));
        for (start, end) in [(0, 9), (3, 3), (5, 4)] {
            let error = TurnError::Channels { start, end, channels: 8 };
            assert_eq!(turn(&frames(3..5), Range { start, end }), Err(error));
        }
        assert_eq!(turn_channels_on_host::<Complex<f32>>(&[], 0..1), Err(TurnError::NoFrames));
    }
}
