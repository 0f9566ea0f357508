//! Encodings of voltages.

use fringes_beamformer::{BeamformerError, FrbVoltages, NibbleOrder, Offset};
use fringes_types::{Complex4, TypesError};
use ndarray::{Array4, Array5};
use num_complex::Complex;

#[test]
fn frb_bytes_of_all_encodings_become_their_numbers() {
    let bytes = Array5::from_shape_fn((256, 1, 1, 1, 1), |(byte, _, _, _, _)| byte as u8);
    for order in [NibbleOrder::RealHigh, NibbleOrder::RealLow] {
        for offset in [Offset::Offset8, Offset::TwosComplement] {
            let voltages = FrbVoltages::from_bytes(bytes.view(), order, offset);
            for (byte, value) in voltages.data().iter().enumerate() {
                let number = |nibble: usize| match offset {
                    Offset::Offset8 => nibble as i8 - 8,
                    Offset::TwosComplement if nibble < 8 => nibble as i8,
                    Offset::TwosComplement => nibble as i8 - 16,
                };
                let (high, low) = (number(byte >> 4).max(-7), number(byte & 15).max(-7));
                let expected = if order == NibbleOrder::RealHigh { (high, low) } else { (low, high) };
                assert_eq!((value.re(), value.im()), expected, "{byte:#x} {order:?} {offset:?}");
            }
            // 16 bytes have -8 in the high half, 16 in the low half.
            assert_eq!(voltages.clamped(), 32);
            assert!(FrbVoltages::new(voltages.data()).is_ok());
        }
    }
}

#[test]
fn frb_feeds_find_their_places() {
    let bytes = Array4::from_shape_fn((2, 1, 1, 3), |(time, _, _, feed)| (0x10 * (1 + time) + feed) as u8);
    let places = [[1, 0], [0, 1], [1, 2]];
    let (order, offset) = (NibbleOrder::RealHigh, Offset::TwosComplement);
    let voltages = FrbVoltages::from_feed_bytes(bytes.view(), order, offset, &places, [2, 3]).unwrap();
    assert_eq!(voltages.data().dim(), (2, 1, 1, 2, 3));
    for ((time, _, _, line, place), value) in voltages.data().indexed_iter() {
        let feed = places.iter().position(|at| *at == [line, place]);
        let expected = feed.and_then(|feed| Complex4::new(1 + time as i8, feed as i8)).unwrap_or_default();
        assert_eq!(*value, expected);
    }
    let error = FrbVoltages::from_feed_bytes(bytes.view(), order, offset, &places, [2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "place in a line: expected 0 to 1, found 2 at [2, 1]");
    let error = FrbVoltages::from_feed_bytes(bytes.view(), order, offset, &places[..2], [2, 3]).unwrap_err();
    assert_eq!(error, BeamformerError::Shape { array: "places of feeds", expected: vec![3], actual: vec![2] });
    let huge = [usize::MAX, usize::MAX];
    let error = FrbVoltages::from_feed_bytes(bytes.view(), order, offset, &places, huge).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::TooLarge { .. })), "{error}");
}

#[test]
fn frb_voltages_that_are_no_samples_are_refused() {
    let mut bytes = Array5::from_elem((2, 1, 1, 1, 3), Complex::new(1i8, 1));
    bytes[(1, 0, 0, 0, 2)].im = -128;
    let error = FrbVoltages::new(bytes).unwrap_err();
    let is_it =
        matches!(&error, BeamformerError::Types(TypesError::MostNegative { index, .. }) if *index == [1, 0, 0, 0, 2]);
    assert!(is_it, "{error}");
    let mut floats = Array5::from_elem((2, 1, 1, 1, 3), Complex::new(1f32, 1.0));
    floats[(0, 0, 0, 0, 1)].re = f32::NAN;
    let error = FrbVoltages::new(floats).unwrap_err();
    let is_it =
        matches!(&error, BeamformerError::Types(TypesError::NotFinite { index, .. }) if *index == [0, 0, 0, 0, 1]);
    assert!(is_it, "{error}");
    assert!(FrbVoltages::new(Array5::from_elem((1, 1, 1, 1, 1), Complex4(0x08))).is_err());
}
