//! The tables of some beams that need no device, and whether there is a kernel for them.

use fringes_backend::DeviceError;
use fringes_fft::internals::{phase_power, phase_table};
use fringes_fft::{Sign, Size};
use fringes_types::{Complex, SampleFormat};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3};

use super::super::choice::most_of;
use super::super::tables::turned;
use super::{GridKind, GridParts, GridTables, VOLTAGES};
use crate::FrbBeams;

/// Least times of the microkernels' transforms over time; shorter ones are in f32.
const MANY: usize = 64;

/// The largest power of two that voltages in finer channels may have.
const CHANNEL_BITS: i32 = 12;

/// No beam goes there.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Kernels for some beams, and tables that are the same on every device.
#[derive(Debug, Clone)]
pub(in crate::frb) struct GridPrepared {
    pub(super) kind: GridKind,
    pub(super) tables: GridTables,
    /// `[frequency][fine]`, in the order of the results.
    pub(super) factors: Vec<f32>,
    /// Of voltages that come out, where each beam goes; else nothing.
    pub(super) places: Vec<u32>,
    /// Sums over lines, and beams of each.
    pub(super) outs: usize,
    pub(super) north_beams: usize,
    pub(super) time: Option<TimeTransform>,
    /// Bytes of a voltage of a feed.
    pub(super) voltage: usize,
}

/// The transform of feeds over time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TimeTransform {
    pub(super) times: usize,
    /// Of the microkernels, else nothing.
    pub(super) phases: Vec<u32>,
    pub(super) negative: bool,
    /// Channels are multiplied by two to this power.
    pub(super) exponent: i32,
    /// The mean power of channels of noise, over that with exact phases.
    power: f64,
}

impl TimeTransform {
    /// Over so many times, of voltages of absolute value `most` or less; none over one.
    fn new(times: usize, sign: Sign, most: f64) -> Option<Self> {
        if times < 2 {
            return None;
        }
        let exponent = -((most * times as f64).log2().ceil() as i32 - CHANNEL_BITS).max(0);
        let size = if times < MANY { None } else { Size::new(times, times).ok() };
        Some(Self {
            times,
            phases: size.map_or(Vec::new(), |size| phase_table(size, sign, exponent)),
            negative: sign == Sign::Negative,
            exponent,
            power: size.map_or(1.0, phase_power),
        })
    }
}

impl GridPrepared {
    /// Tables of powers of these beams of voltages of a format.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels take.
    pub(in crate::frb) fn powers(format: SampleFormat, beams: &FrbBeams) -> Result<Self, DeviceError> {
        Self::powers_by(GridKind::powers(beams.lines(), beams.feeds(), false), format, beams)
    }

    /// The same by a kernel.
    pub(in crate::frb) fn powers_by(
        kind: GridKind,
        format: SampleFormat,
        beams: &FrbBeams,
    ) -> Result<Self, DeviceError> {
        let most = most_of(format)?;
        let sign = turned(beams.time_sign(), beams.conjugate());
        let time = TimeTransform::new(beams.upchannelisation(), sign, most);
        let exponent = time.as_ref().map_or(0, |time| time.exponent);
        let most = most * beams.upchannelisation() as f64 * 2f64.powi(exponent);
        let tables = tables(beams, beams.matrix(), beams.map(), most)?;
        let mut factors = Vec::with_capacity(tables.exponents.len() * beams.factors().len());
        for (of_frequency, power) in tables.exponents.iter().zip(&tables.powers) {
            let power = power * time.as_ref().map_or(1.0, |time| time.power);
            for &factor in beams.factors() {
                factors.push(normal(f64::from(factor) / power * 4f64.powi(of_frequency - exponent))?);
            }
        }
        let (outs, north_beams) = (beams.outs(), beams.north_beams());
        let voltage = bytes_of(format);
        Ok(Self { kind, tables, factors, places: Vec::new(), outs, north_beams, time, voltage })
    }

    /// The kernels' name of the format that products are of.
    pub(super) fn format_name(&self) -> &'static str {
        match (&self.time, self.voltage) {
            (Some(_), _) => "f16",
            (None, 1) => "i4",
            _ => "i8",
        }
    }

    /// Tables of voltages of some beams, which all are there.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels take.
    pub(in crate::frb) fn voltages(
        format: SampleFormat,
        beams: &FrbBeams,
        chosen: &[usize],
    ) -> Result<Self, DeviceError> {
        let Chosen { outs, columns, places } = Chosen::new(beams.north_beams(), chosen);
        let matrix =
            Array3::from_shape_fn((beams.frequencies(), outs.len(), beams.lines()), |(frequency, out, line)| {
                beams.matrix()[(frequency, outs[out], line)]
            });
        let map = Array2::from_shape_fn((beams.frequencies(), columns.len()), |(frequency, column)| {
            beams.map()[(frequency, columns[column])]
        });
        let tables = tables(beams, matrix.view(), map.view(), most_of(format)?)?;
        let factors = tables.exponents.iter().map(|&exponent| normal(2f64.powi(exponent))).collect::<Result<_, _>>()?;
        let (outs, north_beams, voltage) = (outs.len(), columns.len(), bytes_of(format));
        Ok(Self { kind: VOLTAGES, tables, factors, places, outs, north_beams, time: None, voltage })
    }
}

/// Bytes of a voltage of a format of which there are kernels.
fn bytes_of(format: SampleFormat) -> usize {
    if format == SampleFormat::Int4 { 1 } else { 2 }
}

/// Tables of some outs and beams.
fn tables(
    beams: &FrbBeams,
    matrix: ArrayView3<'_, Complex<f32>>,
    map: ArrayView2<'_, u32>,
    most: f64,
) -> Result<GridTables, DeviceError> {
    let parts = GridParts {
        gains: beams.gains(),
        matrix,
        map,
        padded: beams.padded(),
        sign: turned(beams.line_sign(), beams.conjugate()),
        conjugate: beams.conjugate(),
        most,
        columns: super::shape::columns(beams.lines()),
    };
    GridTables::new(&parts).ok_or_else(|| {
        let largest =
            |values: &mut dyn Iterator<Item = &Complex<f32>>| values.map(|value| value.norm()).fold(0f32, f32::max);
        let refused = |&largest: &f32| largest != 0.0 && !(2f32.powi(-60)..2f32.powi(60)).contains(&largest);
        let gains = beams.gains().outer_iter().map(|gains| largest(&mut gains.iter())).enumerate().collect::<Vec<_>>();
        let matrix = matrix.outer_iter().map(|matrix| largest(&mut matrix.iter())).enumerate().collect::<Vec<_>>();
        let first = gains.iter().chain(&matrix).find(|(_, largest)| refused(largest));
        let actual = first.map_or(String::new(), |(at, largest)| format!("{largest:e} at frequency {at}"));
        let expected = "gains and matrices of which the largest of a frequency is 0 or 2^-60 to 2^60";
        DeviceError::NoKernel { expected, actual }
    })
}

/// A factor as f32.
fn normal(factor: f64) -> Result<f32, DeviceError> {
    let factor = factor as f32;
    if factor.is_normal() {
        return Ok(factor);
    }
    let expected = "factors times squares of gains that f32 holds";
    Err(DeviceError::NoKernel { expected, actual: format!("{factor:e}") })
}

/// Some beams as a part of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    /// Sums over lines that are needed.
    outs: Vec<usize>,
    /// Beams along a line that are needed; one that is chosen twice of the same sum is there twice.
    columns: Vec<usize>,
    /// `[out][column]`: the number of the choice, or nowhere.
    places: Vec<u32>,
}

impl Chosen {
    fn new(north_beams: usize, chosen: &[usize]) -> Self {
        let mut outs = Vec::new();
        // Beam along a line, and how often it was chosen of the same sum before.
        let mut columns: Vec<(usize, usize)> = Vec::new();
        let (mut out_numbers, mut column_numbers) =
            (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
        let mut before = std::collections::BTreeMap::<usize, usize>::new();
        let mut at = Vec::with_capacity(chosen.len());
        for &beam in chosen {
            let (out, b) = (beam / north_beams.max(1), beam % north_beams.max(1));
            let count = before.entry(beam).or_default();
            let column = (b, *count);
            *count += 1;
            let out = *out_numbers.entry(out).or_insert_with(|| {
                outs.push(out);
                outs.len() - 1
            });
            let column = *column_numbers.entry(column).or_insert_with(|| {
                columns.push(column);
                columns.len() - 1
            });
            at.push((out, column));
        }
        let mut places = vec![NOWHERE; outs.len() * columns.len()];
        for (number, (out, column)) in at.into_iter().enumerate() {
            places[out * columns.len() + column] = number as u32;
        }
        Self { outs, columns: columns.into_iter().map(|(b, _)| b).collect(), places }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_beams_are_a_part_of_the_grid() {
        // Beams of 10 along a line: (2, 3), (0, 3), (2, 7), (2, 3) again.
        let chosen = Chosen::new(10, &[23, 3, 27, 23]);
        assert_eq!((chosen.outs, chosen.columns), (vec![2, 0], vec![3, 7, 3]));
        assert_eq!(chosen.places, [0, 2, 3, 1, NOWHERE, NOWHERE]);
        let all = Chosen::new(4, &(0..12).collect::<Vec<_>>());
        assert_eq!((all.outs, all.columns), (vec![0, 1, 2], vec![0, 1, 2, 3]));
        assert_eq!(all.places, (0..12).collect::<Vec<u32>>());
    }

    #[test]
    fn channels_are_scaled_to_fit() {
        let exponent = |times, most| TimeTransform::new(times, Sign::Positive, most).map(|time| time.exponent);
        assert_eq!(exponent(1, 12.0), None);
        assert_eq!(exponent(16, 11.3), Some(0));
        assert_eq!(exponent(1024, 11.3), Some(-2));
        assert_eq!(exponent(1024, 181.0), Some(-6));
    }
}
