//! Layouts of voltages, and the rows that the correlator takes.
//!
//! | layout | dimensions, slowest first | whose | CPU | GPU |
//! |---|---|---|---|---|
//! | voltages | `[channel][time][input]` | [`Voltages`](fringes_types::Voltages) | [`pack`] | [`PackKernels::pack`](crate::kernels::PackKernels::pack) |
//! | spectra | `[time][channel][antenna][pol]` | xGPU | [`pack_xgpu`] | [`PackKernels::pack_xgpu`](crate::kernels::PackKernels::pack_xgpu) |
//! | heaps | `[batch][antenna][channel][spectrum][pol]` | F-engines' ([`Heaps`](fringes_types::Heaps)) | [`pack_heaps`] | [`PackKernels::pack_heaps`](crate::kernels::PackKernels::pack_heaps) |
//! | runs | `[channel][time / k][antenna][pol][k]` | the Tensor-Core Correlator, libtcc | [`pack_tcc`] | [`PackKernels::pack_tcc`](crate::kernels::PackKernels::pack_tcc) |
//! | rows | `[channel][time / R][input][R]` | this package's correlation kernels | back: [`unpack`] | |
//!
//! with `input = antenna * pols + pol` and `time = batch * spectra + spectrum`. Rows are 128 bytes, runs 32:
//!
//! | format | bytes of a sample | `R`, samples of a row | `k`, samples of a run |
//! |---|---|---|---|
//! | 4+4 bits ([`Complex4`]) | 1 | 128 | 32 |
//! | 8 bits (`Complex<i8>`) | 2 | 64 | 16 |
//! | f16 (`Complex<f16>`) | 4 | 32 | 8 |
//! | f32 (`Complex<f32>`) | 8 | 16 | 4 |
//!
//! Where a sample lies, for example of 8 bits, one channel, 100 times, two antennas of two polarisations; each in
//! samples from the start of the array, for input 3 (antenna 1, polarisation 1) at time 70:
//!
//! | layout | index |
//! |---|---|
//! | voltages | `70 * 4 + 3 = 283` |
//! | spectra | `70 * 4 + 3 = 283` (there is one channel) |
//! | heaps of 50 spectra | `((1 * 2 + 1) * 50 + 20) * 2 + 1 = 341` |
//! | runs | `(4 * 4 + 3) * 16 + 6 = 310` |
//! | rows | `(1 * 4 + 3) * 64 + 6 = 454` |
//!
//! Packing fills every byte of the rows: times past the last one are zero, and so are absent samples.

use std::ops::Range;

use fringes_cpu::pack as cpu;
pub use fringes_types::ROW_BYTES;
use fringes_types::{Complex4, Dimension, SampleFormat, TypesError, VoltageSample};
use ndarray::{Array3, Array4, ArrayView2, ArrayView3, ArrayView4, ArrayView5};

use crate::CorrelatorError;

/// Bytes of a run of the Tensor-Core Correlator.
pub const RUN_BYTES: usize = 32;

/// Samples of a row, `R`.
pub const fn row_times<V: VoltageSample>() -> usize {
    fringes_types::row_times(V::FORMAT)
}

/// Samples of a run, `k`.
pub const fn run_times<V: VoltageSample>() -> usize {
    RUN_BYTES / size_of::<V>()
}

/// Bytes of the rows of so many channels, times and inputs.
///
/// # Errors
/// [`TypesError::TooLarge`] where no memory can be as large.
pub fn row_bytes<V: VoltageSample>(channels: usize, times: usize, inputs: usize) -> Result<usize, CorrelatorError> {
    product("rows", &[channels, times.div_ceil(row_times::<V>()), inputs, ROW_BYTES])
}

/// Which nibble holds the real part of a 4+4-bit sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Nibbles {
    /// The high one, as in [`Complex4`] and everywhere else in this package.
    #[default]
    RealHigh,
    /// The low one, as in libtcc's `complex_int4_t`.
    RealLow,
}

/// Voltages `[channel][time][input]`, or xGPU's `[time][channel][input]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VoltageShape {
    /// Channels.
    pub channels: usize,
    /// Times.
    pub times: usize,
    /// Inputs.
    pub inputs: usize,
}

impl VoltageShape {
    /// Samples.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] where no memory can be as large.
    pub fn samples(&self) -> Result<usize, CorrelatorError> {
        product("voltages", &[self.channels, self.times, self.inputs])
    }
}

/// Heaps `[batch][antenna][channel][spectrum][pol]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeapShape {
    /// Batches.
    pub batches: usize,
    /// Antennas.
    pub antennas: usize,
    /// Channels.
    pub channels: usize,
    /// Spectra of a heap.
    pub spectra: usize,
    /// Polarisations of an antenna, 1 or 2.
    pub pols: usize,
}

impl HeapShape {
    /// Samples.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] where no memory can be as large.
    pub fn samples(&self) -> Result<usize, CorrelatorError> {
        product("heaps", &[self.batches, self.antennas, self.channels, self.spectra, self.pols])
    }

    /// Times: those of all batches.
    pub fn times(&self) -> usize {
        self.batches.saturating_mul(self.spectra)
    }

    /// Inputs.
    pub fn inputs(&self) -> usize {
        self.antennas.saturating_mul(self.pols)
    }
}

/// Runs `[channel][time / k][antenna][pol][k]`; the last run may be partly filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TccShape {
    /// Channels.
    pub channels: usize,
    /// Times.
    pub times: usize,
    /// Antennas.
    pub antennas: usize,
    /// Polarisations of an antenna, 1 or 2.
    pub pols: usize,
    /// Where the real part of a 4+4-bit sample is; other formats have none.
    pub nibbles: Nibbles,
}

impl TccShape {
    /// Samples, with those of the last run that are past the end.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] where no memory can be as large.
    pub fn samples<V: VoltageSample>(&self) -> Result<usize, CorrelatorError> {
        let runs = self.times.div_ceil(run_times::<V>());
        product("runs", &[self.channels, runs, self.antennas, self.pols, run_times::<V>()])
    }

    /// Inputs.
    pub fn inputs(&self) -> usize {
        self.antennas.saturating_mul(self.pols)
    }
}

/// A product of sizes.
pub(crate) fn product(array: &'static str, sizes: &[usize]) -> Result<usize, CorrelatorError> {
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    // As many bytes as an allocation may have, for the widest sample.
    let fits = product.filter(|&product| product <= isize::MAX as usize / 16);
    fits.ok_or_else(|| {
        let elements = sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        TypesError::TooLarge { array, elements }.into()
    })
}

/// `Ok` if a range lies within the times.
pub(crate) fn check_range(range: &Range<usize>, times: usize) -> Result<(), CorrelatorError> {
    if range.start <= range.end && range.end <= times {
        return Ok(());
    }
    Err(CorrelatorError::TimeRange { start: range.start, end: range.end, times })
}

/// `Ok` if there are 1 or 2 polarisations.
pub(crate) fn check_pols(pols: usize) -> Result<(), CorrelatorError> {
    if (1..=2).contains(&pols) { Ok(()) } else { Err(TypesError::Pols { actual: pols }.into()) }
}

/// `Ok` if flags have a shape.
fn check_flags(
    flags: Option<&ArrayView2<'_, bool>>,
    dimensions: [Dimension; 2],
    expected: [usize; 2],
) -> Result<(), CorrelatorError> {
    let Some(flags) = flags else { return Ok(()) };
    for ((dimension, expected), &actual) in dimensions.into_iter().zip(expected).zip(flags.shape()) {
        if expected != actual {
            return Err(TypesError::Dimension { array: "presence flags", dimension, expected, actual }.into());
        }
    }
    Ok(())
}

/// `Ok` if the last dimension of runs is `k`.
fn check_run<V: VoltageSample>(actual: usize) -> Result<(), CorrelatorError> {
    let expected = run_times::<V>();
    if actual == expected {
        return Ok(());
    }
    Err(TypesError::Dimension { array: "runs", dimension: Dimension::Time, expected, actual }.into())
}

/// Zero rows `[channel][time / R][input][R]`.
fn rows<V: VoltageSample>(channels: usize, times: usize, inputs: usize) -> Result<Array4<V>, CorrelatorError> {
    row_bytes::<V>(channels, times, inputs)?;
    let shape = (channels, times.div_ceil(row_times::<V>()), inputs, row_times::<V>());
    Ok(Array4::from_elem(shape, V::zeroed()))
}

/// The elements in standard order; what has just been made is contiguous.
fn elements<V>(rows: &mut Array4<V>) -> &mut [V] {
    rows.as_slice_mut().unwrap_or_default()
}

/// Packs voltages `[channel][time][input]` into rows `[channel][time / R][input][R]`, on the CPU.
///
/// Where `presence` (`[time][input]`) is false a sample is zero.
///
/// # Layout
/// Standard layout, of `[channel][time][input]` or of `[time][channel][input]`, is read as it is; other strides are
/// copied first.
///
/// # Errors
/// [`TypesError::Dimension`] if the flags have another shape, [`TypesError::TooLarge`] where the rows are larger than
/// memory can be.
pub fn pack<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
) -> Result<Array4<V>, CorrelatorError> {
    let (channels, times, inputs) = voltages.dim();
    check_flags(presence.as_ref(), [Dimension::Time, Dimension::Input], [times, inputs])?;
    let mut rows = rows::<V>(channels, times, inputs)?;
    let flags = presence.as_ref().map(|flags| flags.as_standard_layout());
    let flags = flags.as_ref().and_then(|flags| flags.as_slice());
    let time_first = voltages.view().permuted_axes([1, 0, 2]);
    let copy;
    let (samples, channel_stride, time_stride) = match (voltages.as_slice(), time_first.as_slice()) {
        (Some(samples), _) => (samples, times * inputs, inputs),
        (None, Some(samples)) => (samples, inputs, channels * inputs),
        (None, None) => {
            copy = voltages.as_standard_layout();
            (copy.as_slice().unwrap_or_default(), times * inputs, inputs)
        }
    };
    let source = cpu::Strided { samples, channels, inputs, channel_stride, time_stride };
    cpu::pack(&source, 0..times, flags, elements(&mut rows));
    Ok(rows)
}

/// Packs xGPU's spectra `[time][channel][antenna][pol]` into rows, on the CPU. Flags and errors are those of [`pack`].
///
/// # Errors
/// As [`pack`], and [`TypesError::Pols`] if there are not 1 or 2 polarisations.
pub fn pack_xgpu<V: VoltageSample>(
    spectra: ArrayView4<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
) -> Result<Array4<V>, CorrelatorError> {
    let (times, channels, antennas, pols) = spectra.dim();
    check_pols(pols)?;
    let spectra = spectra.as_standard_layout();
    let shape = (times, channels, product("inputs", &[antennas, pols])?);
    match spectra.view().into_shape_with_order(shape) {
        Ok(spectra) => pack(spectra.permuted_axes([1, 0, 2]), presence),
        Err(_) => Err(TypesError::TooLarge { array: "spectra", elements: format!("{shape:?}") }.into()),
    }
}

/// Packs heaps `[batch][antenna][channel][spectrum][pol]` into rows, on the CPU.
///
/// Where `presence` (`[batch][antenna]`) is false a heap's samples are zero.
///
/// # Errors
/// As [`pack`], and [`TypesError::Pols`] if there are not 1 or 2 polarisations.
pub fn pack_heaps<V: VoltageSample>(
    heaps: ArrayView5<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
) -> Result<Array4<V>, CorrelatorError> {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    check_pols(pols)?;
    check_flags(presence.as_ref(), [Dimension::Batch, Dimension::Antenna], [batches, antennas])?;
    let shape = HeapShape { batches, antennas, channels, spectra, pols };
    let mut rows = rows::<V>(channels, shape.times(), shape.inputs())?;
    let heaps = heaps.as_standard_layout();
    let flags = presence.as_ref().map(|flags| flags.as_standard_layout());
    let source = cpu::Heaps {
        samples: heaps.as_slice().unwrap_or_default(),
        present: flags.as_ref().and_then(|flags| flags.as_slice()),
        antennas,
        channels,
        spectra,
        pols,
    };
    cpu::pack_heaps(&source, 0..shape.times(), elements(&mut rows));
    Ok(rows)
}

/// Packs the first `times` times of the Tensor-Core Correlator's runs `[channel][time / k][antenna][pol][k]` into rows,
/// on the CPU.
///
/// Where `presence` (`[time][input]`) is false a sample is zero. `nibbles` says where 4+4-bit samples have their real
/// part.
///
/// # Errors
/// As [`pack`]; [`TypesError::Pols`] if there are not 1 or 2 polarisations, [`TypesError::Dimension`] if the last
/// dimension is not [`run_times`], [`CorrelatorError::TimeRange`] if the runs have fewer times.
pub fn pack_tcc<V: VoltageSample>(
    runs: ArrayView5<'_, V>,
    times: usize,
    nibbles: Nibbles,
    presence: Option<ArrayView2<'_, bool>>,
) -> Result<Array4<V>, CorrelatorError> {
    let (channels, number, antennas, pols, run) = runs.dim();
    check_pols(pols)?;
    check_run::<V>(run)?;
    check_range(&(0..times), number.saturating_mul(run))?;
    let inputs = product("inputs", &[antennas, pols])?;
    check_flags(presence.as_ref(), [Dimension::Time, Dimension::Input], [times, inputs])?;
    let mut rows = rows::<V>(channels, times, inputs)?;
    let runs = runs.as_standard_layout();
    let flags = presence.as_ref().map(|flags| flags.as_standard_layout());
    let source =
        cpu::Runs { samples: runs.as_slice().unwrap_or_default(), channels, runs: number, inputs, run_times: run };
    let flags = flags.as_ref().and_then(|flags| flags.as_slice());
    cpu::pack_runs(&source, 0..times, flags, elements(&mut rows));
    if V::FORMAT == SampleFormat::Int4 && nibbles == Nibbles::RealLow {
        let bytes: &mut [Complex4] = bytemuck::cast_slice_mut(elements(&mut rows));
        bytes.iter_mut().for_each(|sample| sample.0 = sample.0.rotate_left(4));
    }
    Ok(rows)
}

/// The first `times` times of rows `[channel][time / R][input][R]`, as voltages `[channel][time][input]`, on the CPU.
///
/// # Errors
/// [`TypesError::Dimension`] if the last dimension is not [`row_times`], [`CorrelatorError::TimeRange`] unless `times`
/// ends in the last block.
pub fn unpack<V: VoltageSample>(rows: ArrayView4<'_, V>, times: usize) -> Result<Array3<V>, CorrelatorError> {
    let (channels, blocks, inputs, actual) = rows.dim();
    let expected = row_times::<V>();
    if actual != expected {
        return Err(TypesError::Dimension { array: "rows", dimension: Dimension::Time, expected, actual }.into());
    }
    if times.div_ceil(expected) != blocks {
        return Err(CorrelatorError::TimeRange { start: 0, end: times, times: blocks.saturating_mul(expected) });
    }
    let mut voltages = Array3::from_elem((channels, times, inputs), V::zeroed());
    let rows = rows.as_standard_layout();
    let (from, to) = (rows.as_slice().unwrap_or_default(), voltages.as_slice_mut().unwrap_or_default());
    cpu::unpack(from, channels, times, inputs, to);
    Ok(voltages)
}
