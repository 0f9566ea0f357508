//! One random group: the parameters, then `[channel][product][re, im, weight]`.

use fringes_types::{Inputs, TypesError};
use num_complex::Complex;

use crate::IoError;
use crate::write::visibilities::{PairProduct, Weights, finite_or_flagged, pair_products};

/// Most antennas that the parameter BASELINE = 256 ant1 + ant2 can number.
const SMALL_ARRAY: usize = 255;

/// Most antennas that the parameter BASELINE = 2048 ant1 + ant2 + 65536 can number; exact in f32 (below 2^24).
const LARGE_ARRAY: usize = 2047;

/// The shape of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupLayout {
    inputs: Inputs,
    channels: usize,
}

/// One pair of antennas of one integration.
pub(super) struct Group<'a, 'b> {
    /// The antennas, from 0, `ant1 <= ant2`.
    pub(super) ant1: usize,
    /// See `ant1`.
    pub(super) ant2: usize,
    /// Days since the reference midnight.
    pub(super) day: f64,
    /// Length of the integration in seconds.
    pub(super) seconds: f32,
    /// `r_ant1 - r_ant2` in light seconds.
    pub(super) uvw_s: [f64; 3],
    /// Packed lower triangle, `[baseline][channel]` and contiguous.
    pub(super) visibilities: &'a [Complex<f32>],
    pub(super) weights: Weights<'b>,
}

impl GroupLayout {
    /// The layout for an array.
    pub(super) fn new(inputs: Inputs, channels: usize) -> Result<Self, IoError> {
        let layout = Self { inputs, channels };
        let values = 3usize.checked_mul(layout.products()).and_then(|values| values.checked_mul(channels));
        if values.and_then(|values| values.checked_mul(4)).is_none_or(|bytes| bytes > isize::MAX as usize / 2) {
            let elements = format!("{channels} channels x {} products", layout.products());
            return Err(TypesError::TooLarge { array: "UVFITS group", elements }.into());
        }
        Ok(layout)
    }

    /// Polarisation products of a pair of antennas.
    pub(super) fn products(&self) -> usize {
        self.inputs.pols() * self.inputs.pols()
    }

    /// Names of the parameters in order; values of the same name are to be added.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let antennas = self.inputs.antennas();
        let baseline = (antennas <= LARGE_ARRAY).then_some("BASELINE");
        // Readers that know only the small form of BASELINE find the antennas of a large array here.
        let pair = (antennas > SMALL_ARRAY).then_some(["ANTENNA1", "ANTENNA2", "SUBARRAY"]);
        let first = ["UU", "VV", "WW", "DATE", "DATE", "UU", "VV", "WW", "INTTIM"];
        first.into_iter().chain(baseline).chain(pair.into_iter().flatten())
    }

    /// Writes a group's values as big-endian bytes, replacing what the buffer holds. The arrays' lengths are the
    /// caller's to check.
    pub(super) fn write(&self, group: &Group<'_, '_>, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut put = |value: f32| bytes.extend_from_slice(&value.to_be_bytes());
        let (day, day_rest) = split(group.day);
        let uvw = group.uvw_s.map(split);
        let (ant1, ant2) = ((group.ant1 + 1) as f32, (group.ant2 + 1) as f32);
        let antennas = self.inputs.antennas();
        uvw.iter().for_each(|&(value, _)| put(value));
        put(day);
        put(day_rest);
        uvw.iter().for_each(|&(_, rest)| put(rest));
        put(group.seconds);
        if antennas <= SMALL_ARRAY {
            put(256.0 * ant1 + ant2);
        } else if antennas <= LARGE_ARRAY {
            put(2048.0 * ant1 + ant2 + 65536.0);
        }
        if antennas > SMALL_ARRAY {
            [ant1, ant2, 1.0].into_iter().for_each(&mut put);
        }
        let start = bytes.len();
        let (channels, products) = (self.channels, self.products());
        bytes.resize(start + 12 * channels * products, 0);
        for (at, PairProduct { baseline, conjugate }) in pair_products(self.inputs, group.ant1, group.ant2).enumerate()
        {
            let sign = if conjugate { -1.0 } else { 1.0 };
            let spectrum = &group.visibilities[baseline * channels..][..channels];
            let cells = bytes[start..].chunks_exact_mut(12).skip(at).step_by(products);
            for (channel, (cell, &value)) in cells.zip(spectrum).enumerate() {
                let (value, weight) = finite_or_flagged(value, group.weights.of(channel, baseline));
                cell[..4].copy_from_slice(&value.re.to_be_bytes());
                cell[4..8].copy_from_slice(&(sign * value.im).to_be_bytes());
                cell[8..].copy_from_slice(&weight.to_be_bytes());
            }
        }
    }
}

/// A number as the nearest f32 and what is then missing: their sum is within 2^-48 of the number, relatively.
fn split(value: f64) -> (f32, f32) {
    let nearest = value as f32;
    (nearest, (value - f64::from(nearest)) as f32)
}
