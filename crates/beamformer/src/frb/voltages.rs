//! Voltages of a grid of feeds, and how bytes of other encodings become them.

use fringes_types::{Complex4, TypesError, VoltageSample};
use ndarray::{Array5, ArrayView4, ArrayView5, CowArray, Ix5};

use super::builder::check_shape;
use crate::{BeamformerError, FrbBeams};

/// Which half of a byte is the real part of a 4+4-bit voltage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NibbleOrder {
    /// The high half, as CHIME has it, and [`Complex4`].
    RealHigh,
    /// The low half, as CASM has it.
    RealLow,
}

/// How four bits are a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offset {
    /// The number is the bits less 8, as CHIME has it.
    Offset8,
    /// Two's complement, as CASM has it, and [`Complex4`].
    TwosComplement,
}

/// Voltages `[time][frequency][pol][line][feed]` of a grid of feeds, with no most negative integers and no NaN among
/// them.
///
/// # Layout
/// Any `ndarray` layout is taken; standard layout is fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct FrbVoltages<'a, V: VoltageSample> {
    data: CowArray<'a, V, Ix5>,
    clamped: u64,
}

impl<'a, V: VoltageSample> FrbVoltages<'a, V> {
    /// Voltages that are borrowed (`ArrayView5`) or owned (`Array5`).
    ///
    /// # Errors
    /// [`TypesError::MostNegative`] for an illegal integer value, [`TypesError::NotFinite`] for a float that is NaN or
    /// infinite, with its index.
    pub fn new(data: impl Into<CowArray<'a, V, Ix5>>) -> Result<Self, BeamformerError> {
        let voltages = Self::from_checked(data);
        for ((time, frequency, pol, line, feed), value) in voltages.data.indexed_iter() {
            let index = || vec![time, frequency, pol, line, feed];
            if !value.is_sample() {
                return Err(TypesError::MostNegative { format: V::FORMAT, index: index() }.into());
            }
            if !value.to_c32().is_finite() {
                let (quantity, actual) = ("voltage", format!("{value:?}"));
                return Err(TypesError::NotFinite { quantity, actual, index: index() }.into());
            }
        }
        Ok(voltages)
    }

    /// As [`FrbVoltages::new`] for data whose values are legal by construction, such as a quantiser's output: checks
    /// nothing.
    pub fn from_checked(data: impl Into<CowArray<'a, V, Ix5>>) -> Self {
        Self { data: data.into(), clamped: 0 }
    }

    /// The voltages `[time][frequency][pol][line][feed]`.
    pub fn data(&self) -> ArrayView5<'_, V> {
        self.data.view()
    }

    /// Number of times.
    pub fn times(&self) -> usize {
        self.data.dim().0
    }

    /// Real and imaginary parts of -8 that became -7 when bytes were converted.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Checks that they are of the feeds of these beams.
    pub(super) fn check(&self, beams: &FrbBeams) -> Result<(), BeamformerError> {
        let expected = [self.times(), beams.frequencies(), beams.pols(), beams.lines(), beams.feeds()];
        check_shape("voltages [time][frequency][pol][line][feed]", &expected, self.data.shape())
    }
}

impl FrbVoltages<'static, Complex4> {
    /// Voltages of 4+4 bits in another encoding. Parts of -8, which are no samples, become -7 and are counted
    /// ([`FrbVoltages::clamped`]).
    ///
    /// ```
    /// use fringes_beamformer::{FrbVoltages, NibbleOrder, Offset};
    /// use ndarray::Array5;
    ///
    /// // CHIME: 0x9 - 8 = 1 and 0x6 - 8 = -2. CASM: real part in the low half.
    /// let bytes = Array5::from_elem((1, 1, 1, 1, 2), 0x96);
    /// let chime = FrbVoltages::from_bytes(bytes.view(), NibbleOrder::RealHigh, Offset::Offset8);
    /// let value = chime.data()[(0, 0, 0, 0, 1)];
    /// assert_eq!((value.re(), value.im()), (1, -2));
    /// let casm = FrbVoltages::from_bytes(bytes.view(), NibbleOrder::RealLow, Offset::TwosComplement);
    /// let value = casm.data()[(0, 0, 0, 0, 1)];
    /// assert_eq!((value.re(), value.im()), (6, -7));
    /// ```
    pub fn from_bytes(bytes: ArrayView5<'_, u8>, order: NibbleOrder, offset: Offset) -> Self {
        let mut clamped = 0;
        let data = bytes.map(|&byte| decode(byte, order, offset, &mut clamped));
        Self { data: data.into(), clamped }
    }

    /// As [`FrbVoltages::from_bytes`] for feeds in any order, `[time][frequency][pol][feed]`: `places[feed]` is the
    /// line and the place in it. Places without a feed are 0; of two feeds at one place the later counts.
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] unless there is a place for each feed, [`BeamformerError::OutOfRange`] for a place
    /// beyond `lines` lines of `feeds` feeds, with the feed and which of both; [`TypesError::TooLarge`] if the array
    /// overflows.
    pub fn from_feed_bytes(
        bytes: ArrayView4<'_, u8>,
        order: NibbleOrder,
        offset: Offset,
        places: &[[usize; 2]],
        [lines, feeds]: [usize; 2],
    ) -> Result<Self, BeamformerError> {
        let (times, frequencies, pols, inputs) = bytes.dim();
        check_shape("places of feeds", &[inputs], &[places.len()])?;
        for (feed, place) in places.iter().enumerate() {
            for (which, (&actual, length)) in place.iter().zip([lines, feeds]).enumerate() {
                if actual >= length {
                    let (quantity, index) = (["line of a feed", "place in a line"][which], vec![feed, which]);
                    let most = length.saturating_sub(1);
                    return Err(BeamformerError::OutOfRange { quantity, least: 0, most, actual, index });
                }
            }
        }
        let shape = [times, frequencies, pols, lines, feeds];
        let elements = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length.max(1)));
        if elements.is_none_or(|elements| elements > isize::MAX as usize) {
            return Err(TypesError::TooLarge { array: "voltages", elements: format!("{shape:?}") }.into());
        }
        let mut clamped = 0;
        let mut data = Array5::from_elem((times, frequencies, pols, lines, feeds), Complex4::default());
        for ((time, frequency, pol, feed), &byte) in bytes.indexed_iter() {
            let [line, place] = places[feed];
            data[(time, frequency, pol, line, place)] = decode(byte, order, offset, &mut clamped);
        }
        Ok(Self { data: data.into(), clamped })
    }
}

/// A byte as a sample; parts of -8 become -7 and are counted.
fn decode(byte: u8, order: NibbleOrder, offset: Offset, clamped: &mut u64) -> Complex4 {
    let byte = if order == NibbleOrder::RealLow { byte.rotate_left(4) } else { byte };
    // Less 8 modulo 16 is the highest bit turned over.
    let byte = if offset == Offset::Offset8 { byte ^ 0x88 } else { byte };
    let mut part = |nibble: u8| {
        let is_most_negative = nibble == 0x8;
        *clamped += u64::from(is_most_negative);
        if is_most_negative { 0x9 } else { nibble }
    };
    Complex4((part(byte >> 4) << 4) | part(byte & 0xf))
}
