//! The parameters of the chain, and what must hold of them.

use fringes_fft::Sign;
use fringes_types::TypesError;
use ndarray::{Array2, Array3, Array4, Array5, ArrayBase, Data, Dimension};
use num_complex::Complex;

use crate::{BeamformerError, FrbBeams};

type C32 = Complex<f32>;

/// Most lines of a grid.
const MOST_LINES: usize = 64;

/// Least and most outputs of the transform of a line.
const PADDED: [usize; 2] = [64, 1024];

/// Most times of a block, which become as many finer channels.
const MOST_UPCHANNELISATION: usize = 1024;

/// Most blocks of a sum: f32 counts them exactly.
const MOST_BLOCKS: usize = 1 << 24;

/// Which powers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FrbProducts {
    /// The sum over polarisations: one product.
    #[default]
    StokesI,
    /// A power of each polarisation: as many products as polarisations.
    PerPol,
}

/// The parameters of [`FrbBeams`]. What is not set is: all outputs of the transform are beams, in their order; nothing
/// is conjugated; both exponents are positive; no finer channels; every time is a sum of its own, of both
/// polarisations; nothing is corrected or normalised.
#[derive(Debug, Clone, PartialEq)]
pub struct FrbBeamsBuilder {
    pub(super) gains: Array4<C32>,
    pub(super) matrix: Array3<C32>,
    pub(super) padded: usize,
    pub(super) map: Option<Array2<u32>>,
    pub(super) conjugate: bool,
    pub(super) line_sign: Sign,
    pub(super) time_sign: Sign,
    pub(super) upchannelisation: usize,
    pub(super) group: usize,
    pub(super) blocks: usize,
    pub(super) products: FrbProducts,
    pub(super) bandpass: Option<Vec<f64>>,
    pub(super) normalisation: f64,
    pub(super) centre: bool,
}

impl FrbBeamsBuilder {
    pub(super) fn new(gains: Array4<C32>, matrix: Array3<C32>, padded: usize) -> Self {
        Self {
            gains,
            matrix,
            padded,
            map: None,
            conjugate: false,
            line_sign: Sign::Positive,
            time_sign: Sign::Positive,
            upchannelisation: 1,
            group: 1,
            blocks: 1,
            products: FrbProducts::StokesI,
            bandpass: None,
            normalisation: 1.0,
            centre: false,
        }
    }

    /// Sets the gains `[frequency][pol][line][feed]`.
    pub fn gains(self, gains: Array4<Complex<f32>>) -> Self {
        Self { gains, ..self }
    }

    /// Sets the matrix `[frequency][out][line]`.
    pub fn matrix(self, matrix: Array3<Complex<f32>>) -> Self {
        Self { matrix, ..self }
    }

    /// Sets the length that a line is zero-padded to: a power of two from 64 to 1024.
    pub fn padded(self, padded: usize) -> Self {
        Self { padded, ..self }
    }

    /// Sets which outputs of the transform are beams, `[frequency][b]`: any number of them, in any order, each below
    /// `padded`.
    pub fn map(self, map: Array2<u32>) -> Self {
        Self { map: Some(map), ..self }
    }

    /// Has voltages conjugated first, as CHIME has it.
    pub fn conjugate(self, conjugate: bool) -> Self {
        Self { conjugate, ..self }
    }

    /// Sets the sign of the exponent over the feeds of a line.
    pub fn line_sign(self, line_sign: Sign) -> Self {
        Self { line_sign, ..self }
    }

    /// Sets the sign of the exponent over times.
    pub fn time_sign(self, time_sign: Sign) -> Self {
        Self { time_sign, ..self }
    }

    /// Sets the times of a block, which become as many finer channels: a power of two up to 1024; 1 is no transform.
    pub fn upchannelisation(self, upchannelisation: usize) -> Self {
        Self { upchannelisation, ..self }
    }

    /// Sets how many neighbouring finer channels are summed: a power of two, at most those that there are.
    pub fn group(self, group: usize) -> Self {
        Self { group, ..self }
    }

    /// Sets how many blocks are summed, up to 2^24.
    pub fn blocks(self, blocks: usize) -> Self {
        Self { blocks, ..self }
    }

    /// Sets which powers are kept.
    pub fn products(self, products: FrbProducts) -> Self {
        Self { products, ..self }
    }

    /// Sets what the sums of each `fine` channel are divided by, in the order of the output.
    pub fn bandpass(self, bandpass: impl Into<Vec<f64>>) -> Self {
        Self { bandpass: Some(bandpass.into()), ..self }
    }

    /// Divides by nothing that depends on the channel.
    pub fn without_bandpass(self) -> Self {
        Self { bandpass: None, ..self }
    }

    /// Sets what all sums are multiplied by.
    pub fn normalisation(self, normalisation: f64) -> Self {
        Self { normalisation, ..self }
    }

    /// Puts 0 Hz in the middle: output `u` holds group `u ^ (fine / 2)`.
    pub fn centre(self, centre: bool) -> Self {
        Self { centre, ..self }
    }

    /// The beams, if all of it fits together.
    ///
    /// # Errors
    /// [`BeamformerError::Zero`] without frequencies, feeds, outs, beams or blocks; [`BeamformerError::OutOfRange`] for
    /// other than 1 or 2 polarisations, more than 64 lines, more than 2^24 blocks, or a map that names an output beyond
    /// `padded`; [`BeamformerError::PowerOfTwo`] for other lengths of transforms and groups;
    /// [`BeamformerError::Padding`] for more feeds than `padded`; [`BeamformerError::Shape`] for a matrix, map or
    /// bandpass that does not fit; [`TypesError::NotFinite`] for gains, a matrix or products of both that are NaN or
    /// infinite; [`TypesError::NotPositive`] for a bandpass or a normalisation that is not positive, or not as f32;
    /// [`TypesError::TooLarge`] if the number of weights or of beams overflows.
    pub fn build(self) -> Result<FrbBeams, BeamformerError> {
        let (frequencies, pols, lines, feeds) = self.gains.dim();
        let outs = self.matrix.dim().1;
        let north_beams = self.map.as_ref().map_or(self.padded, Array2::ncols);
        for (quantity, count) in [
            ("frequencies", frequencies),
            ("lines", lines),
            ("feeds of a line", feeds),
            ("outputs of the matrix", outs),
            ("beams of the map", north_beams),
            ("blocks of a sum", self.blocks),
        ] {
            if count == 0 {
                return Err(BeamformerError::Zero { quantity });
            }
        }
        check_range("polarisations", [1, 2], pols)?;
        check_range("lines", [1, MOST_LINES], lines)?;
        check_range("blocks of a sum", [1, MOST_BLOCKS], self.blocks)?;
        check_power_of_two("outputs of a line's transform", PADDED, self.padded)?;
        check_power_of_two("times of a block", [1, MOST_UPCHANNELISATION], self.upchannelisation)?;
        check_power_of_two("finer channels of a sum", [1, self.upchannelisation], self.group)?;
        if feeds > self.padded {
            return Err(BeamformerError::Padding { feeds, padded: self.padded, limit: PADDED[1] });
        }
        check_shape("matrix [frequency][out][line]", &[frequencies, outs, lines], self.matrix.shape())?;
        check_finite("gain", &self.gains)?;
        check_finite("matrix", &self.matrix)?;
        let too_large = |array, sizes: &[usize]| TypesError::TooLarge { array, elements: format!("{sizes:?}") };
        let beams = [outs, north_beams, pols, self.upchannelisation, size_of::<C32>()];
        let weights = [frequencies, pols, outs, lines, feeds, size_of::<C32>()];
        for (array, sizes) in [("FRB beams", &beams[..]), ("weights of FRB beams", &weights[..])] {
            let bytes = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
            bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(|| too_large(array, sizes))?;
        }
        let map = self.checked_map(frequencies)?;
        let factors = self.factors()?;
        let weights = Array5::from_shape_fn((frequencies, pols, outs, lines, feeds), |(f, pol, out, line, n)| {
            self.matrix[(f, out, line)] * self.gains[(f, pol, line, n)]
        });
        check_finite("product of matrix and gain", &weights)?;
        Ok(FrbBeams { parts: self, map, weights, factors })
    }

    fn checked_map(&self, frequencies: usize) -> Result<Array2<u32>, BeamformerError> {
        let Some(map) = &self.map else {
            return Ok(Array2::from_shape_fn((frequencies, self.padded), |(_, q)| q as u32));
        };
        check_shape("map [frequency][beam]", &[frequencies, map.ncols()], map.shape())?;
        match map.indexed_iter().find(|(_, q)| **q as usize >= self.padded) {
            None => Ok(map.clone()),
            Some(((frequency, b), &q)) => Err(BeamformerError::OutOfRange {
                quantity: "output of the transform in the map",
                least: 0,
                most: self.padded - 1,
                actual: q as usize,
                index: vec![frequency, b],
            }),
        }
    }

    /// What each output channel is multiplied by.
    fn factors(&self) -> Result<Vec<f32>, BeamformerError> {
        let fine = self.upchannelisation / self.group;
        let ones = || vec![1.0; fine];
        let bandpass = self.bandpass.clone().unwrap_or_else(ones);
        check_shape("bandpass [fine]", &[fine], &[bandpass.len()])?;
        check_positive("normalisation", self.normalisation)?;
        bandpass
            .into_iter()
            .map(|response| {
                check_positive("bandpass", response)?;
                let factor = (self.normalisation / response) as f32;
                check_positive("normalisation over bandpass, as f32", factor.into())?;
                Ok(factor)
            })
            .collect()
    }
}

/// `Ok` if an array has the shape that the others need.
pub(super) fn check_shape(array: &'static str, expected: &[usize], actual: &[usize]) -> Result<(), BeamformerError> {
    if expected == actual {
        return Ok(());
    }
    Err(BeamformerError::Shape { array, expected: expected.into(), actual: actual.into() })
}

fn check_range(quantity: &'static str, [least, most]: [usize; 2], actual: usize) -> Result<(), BeamformerError> {
    if (least..=most).contains(&actual) {
        return Ok(());
    }
    Err(BeamformerError::OutOfRange { quantity, least, most, actual, index: Vec::new() })
}

fn check_power_of_two(quantity: &'static str, [least, most]: [usize; 2], actual: usize) -> Result<(), BeamformerError> {
    if actual.is_power_of_two() && (least..=most).contains(&actual) {
        return Ok(());
    }
    Err(BeamformerError::PowerOfTwo { quantity, least, most, actual })
}

/// `Ok` if a number is finite and above 0.
pub(super) fn check_positive(quantity: &'static str, actual: f64) -> Result<(), TypesError> {
    if actual.is_finite() && actual > 0.0 { Ok(()) } else { Err(TypesError::NotPositive { quantity, actual }) }
}

fn check_finite<S: Data<Elem = C32>, D: Dimension>(
    quantity: &'static str,
    values: &ArrayBase<S, D>,
) -> Result<(), TypesError> {
    let Some(number) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    // Of the logical order, in which `iter` goes.
    let (mut index, mut rest) = (vec![0; values.ndim()], number);
    for (place, &length) in index.iter_mut().zip(values.shape()).rev() {
        (*place, rest) = (rest % length, rest / length);
    }
    let actual = values.iter().nth(number).map(ToString::to_string).unwrap_or_default();
    Err(TypesError::NotFinite { quantity, actual, index })
}
