//! The tables of some beams that need no device, and whether there is a kernel for them.

use fringes_backend::DeviceError;
use fringes_fft::internals::{phase_power, split_phase_table};
use fringes_types::{Complex, SampleFormat};

use super::channelised::ChannelisedPrepared;
use super::choice::Family;
use super::grid::GridPrepared;
use super::tables::turned;
use super::{Weights, time_phases, time_powers};
use crate::FrbBeams;

/// Kernels for some beams, and tables that are the same on every device.
#[derive(Debug, Clone)]
pub(in crate::frb) enum Prepared {
    /// One launch does all.
    Fused(FusedPrepared),
    /// Products of matrices, maybe after finer channels.
    Grid(GridPrepared),
}

impl Prepared {
    /// Tables of these beams of voltages of a format.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels take.
    pub(in crate::frb) fn new(format: SampleFormat, beams: &FrbBeams) -> Result<Self, DeviceError> {
        match FusedPrepared::new(format, beams) {
            Ok(fused) => Ok(Self::Fused(fused)),
            Err(_) => Ok(Self::Grid(GridPrepared::powers(format, beams)?)),
        }
    }
}

/// Kernels of one launch, and their tables.
#[derive(Debug, Clone)]
pub(in crate::frb) struct FusedPrepared {
    pub(super) family: Family,
    pub(super) weights: Weights,
    pub(super) phases: Vec<u32>,
    pub(super) time_phases: Vec<u32>,
    /// `[frequency][fine]`, in the order of the results.
    pub(super) factors: Vec<f32>,
    /// Of the kernel that takes feeds in finer channels.
    pub(super) channelised: Option<ChannelisedPrepared>,
}

impl FusedPrepared {
    /// Tables of these beams of voltages of a format.
    ///
    /// Voltages are not conjugated: with `w*` for `w` and the other signs for both transforms, all is conjugated, and
    /// powers are the same.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels take.
    pub(super) fn new(format: SampleFormat, beams: &FrbBeams) -> Result<Self, DeviceError> {
        let missing = |expected, actual| DeviceError::NoKernel { expected, actual };
        let family = Family::of(format, beams)?;
        let weights = Weights::of(beams, &family);
        let weights = weights.ok_or_else(|| {
            let largest = |weights: ndarray::ArrayView4<'_, Complex<f32>>| {
                weights.iter().map(|weight| weight.norm()).fold(0f32, f32::max)
            };
            let actual: Vec<_> = beams.weights().outer_iter().map(largest).collect();
            let refused = |&largest: &f32| largest != 0.0 && !(2f32.powi(-60)..2f32.powi(60)).contains(&largest);
            let first = actual.iter().copied().enumerate().find(|(_, largest)| refused(largest));
            let actual = first.map_or(String::new(), |(at, largest)| format!("{largest:e} at frequency {at}"));
            missing("weights of which the largest of a frequency is 0 or 2^-60 to 2^60", actual)
        })?;
        let sign = |sign| turned(sign, beams.conjugate());
        Ok(Self {
            family,
            phases: split_phase_table(family.size, sign(beams.line_sign()), 0),
            time_phases: time_phases(sign(beams.time_sign()).value()),
            factors: factors(&time_powers(), phase_power(family.size), beams, &weights.exponents)?,
            channelised: ChannelisedPrepared::new(&family, beams),
            weights,
        })
    }
}

/// What sums are multiplied by, `[frequency][fine]`: the factors of the beams, times what weights were divided by, over
/// what rounded phases make powers larger by.
/// Given are mean powers of fine channels and of all.
pub(super) fn factors(powers: &[f64], all: f64, beams: &FrbBeams, exponents: &[i32]) -> Result<Vec<f32>, DeviceError> {
    let (fine, group) = (beams.fine_channels(), beams.group());
    let middle = if beams.centre() { fine / 2 } else { 0 };
    let mut factors = Vec::with_capacity(exponents.len().saturating_mul(fine));
    for &exponent in exponents {
        for (at, &factor) in beams.factors().iter().enumerate() {
            let first = (at ^ middle) * group;
            let mean = powers.iter().skip(first).take(group).sum::<f64>() / group as f64;
            let factor = (f64::from(factor) / (all * mean) * 4f64.powi(exponent)) as f32;
            if !factor.is_normal() {
                let expected = "factors times squares of weights that f32 holds";
                return Err(DeviceError::NoKernel { expected, actual: format!("{factor:e}") });
            }
            factors.push(factor);
        }
    }
    Ok(factors)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use ndarray::{Array3, Array4};

    use fringes_fft::Sign;

    use super::*;
    use crate::FrbBeamsBuilder;

    fn builder(feeds: usize, padded: usize, gain: f32) -> FrbBeamsBuilder {
        let gains = Array4::from_elem((2, 1, 2, feeds), Complex::new(gain, gain));
        FrbBeams::builder(gains, Array3::from_elem((2, 1, 2), Complex::new(1.0, 0.0)), padded).upchannelisation(128)
    }

    fn refused(builder: FrbBeamsBuilder, format: SampleFormat) -> String {
        FusedPrepared::new(format, &builder.build().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_has_no_kernel_is_named() {
        let float = refused(builder(256, 512, 1.0), SampleFormat::Float32);
        assert!(float.contains("expected 8-bit or 4+4-bit voltages, found "), "{float}");
        let lines = "no GPU kernel: expected lines of up to 256 feeds padded to 256 or 512, found";
        assert_eq!(refused(builder(64, 128, 1.0), SampleFormat::Int4), format!("{lines} 64 feeds padded to 128"));
        assert_eq!(refused(builder(257, 512, 1.0), SampleFormat::Int8), format!("{lines} 257 feeds padded to 512"));
        let times = refused(builder(256, 512, 1.0).upchannelisation(64), SampleFormat::Int4);
        assert_eq!(times, "no GPU kernel: expected an upchannelisation of 128, found 64");
        let weights = refused(builder(256, 512, 1e-30), SampleFormat::Int4);
        assert!(weights.contains("2^-60 to 2^60, found") && weights.contains("at frequency 0"), "{weights}");
        let factors = refused(builder(256, 512, 1e17).normalisation(1e30), SampleFormat::Int4);
        assert!(factors.contains("factors times squares of weights"), "{factors}");
    }

    #[test]
    fn conjugated_voltages_are_conjugated_weights_and_other_signs() {
        let beams = builder(200, 512, 1.5).build().unwrap();
        let of = |beams: &FrbBeams| FusedPrepared::new(SampleFormat::Int4, beams).unwrap();
        let plain = of(&beams);
        let gains = beams.gains().mapv(|gain| gain.conj());
        let turned = beams.into_builder().conjugate(true).gains(gains);
        let turned = turned.line_sign(Sign::Negative).time_sign(Sign::Negative).build().unwrap();
        let turned = of(&turned);
        assert_eq!(plain.weights, turned.weights);
        assert_eq!(
            (plain.phases, plain.time_phases, plain.factors),
            (turned.phases, turned.time_phases, turned.factors)
        );
    }

    #[test]
    fn four_full_lines_and_outs_in_groups_of_eight_have_finer_channels_first() {
        let shape = |lines: usize, outs: usize| {
            let gains = Array4::from_elem((2, 2, lines, 256), Complex::new(1.0, 0.5));
            let matrix = Array3::from_elem((2, outs, lines), Complex::new(1.0, 0.0));
            FrbBeams::builder(gains, matrix, 512).upchannelisation(128).group(8)
        };
        let has = |builder: FrbBeamsBuilder, format: SampleFormat| {
            FusedPrepared::new(format, &builder.build().unwrap()).unwrap().channelised.is_some()
        };
        assert!(has(shape(4, 4), SampleFormat::Int4));
        assert!(!has(shape(4, 4), SampleFormat::Int8));
        assert!(!has(shape(4, 4).group(16), SampleFormat::Int4));
        assert!(!has(shape(4, 3), SampleFormat::Int4) && !has(shape(3, 4), SampleFormat::Int4));
        assert!(!has(shape(4, 4).padded(256).map(ndarray::Array2::zeros((2, 9))), SampleFormat::Int4));
    }

    #[test]
    fn factors_are_in_the_order_of_the_results() {
        let bandpass: Vec<f64> = (0..16).map(|u| 1.0 + f64::from(u)).collect();
        let centred = builder(256, 512, 1.0).group(8).bandpass(bandpass).centre(true).build().unwrap();
        let prepared = FusedPrepared::new(SampleFormat::Int4, &centred).unwrap();
        let scale = 4f64.powi(prepared.weights.exponents[0]);
        for (u, factor) in prepared.factors.iter().take(16).enumerate() {
            // Rounded phases change powers by 3e-4 at most.
            let expected = scale / (1.0 + u as f64);
            assert!((f64::from(*factor) / expected - 1.0).abs() < 1e-3);
        }
        // Of the group that is 0 Hz the phases over time are exact but for 45 degrees of the first step.
        let plain = builder(256, 512, 1.0).group(8).build().unwrap();
        let plain = FusedPrepared::new(SampleFormat::Int4, &plain).unwrap();
        let ratio = f64::from(prepared.factors[8]) * 9.0 / f64::from(plain.factors[0]);
        assert!((ratio - 1.0).abs() < 1e-6);
    }
}
