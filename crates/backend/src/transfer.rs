//! Chunks from the host to a device and back: another array under the same header.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use fringes_gpu::{Buffer, BufferPool, Device, Stream};
use fringes_types::{
    Accumulator, Beams, DetectedBeams, Heaps, Rows, SampleChunk, SampleRows, SampleView, SpectrumClock, TypesError,
    Visibilities, VoltageSample, Voltages,
};
use ndarray::{Array, Array2, Array3, Array4, Array5, ArrayBase, ArrayView2, Axis, Data, Dimension, StrideShape, s};
use rayon::prelude::*;

use crate::device_array::Holder;
use crate::staging::{Staging, copy};
use crate::{DeviceArray, DeviceError, PinnedArray, PinnedHeaps, PinnedSamples};

/// Rows of samples in device memory begin at multiples of this many bytes.
const ROW_ALIGNMENT: usize = 16;

/// Samples of any format on a device.
pub type DeviceSamples<'a> = SampleRows<DeviceArray<'a, u32>>;
/// Voltages `[channel][time][input]` on a device.
pub type DeviceVoltages<'a, V> = Voltages<V, DeviceArray<'a, V>>;
/// Heaps `[batch][antenna][channel][spectrum][pol]` on a device.
pub type DeviceHeaps<'a, V> = Heaps<V, DeviceArray<'a, V>>;
/// Rows `[channel][time / R][input][R]` on a device.
pub type DeviceRows<'a, V> = Rows<V, DeviceArray<'a, V>>;
/// Visibilities `[channel][baseline]` on a device.
pub type DeviceVisibilities<'a, A> = Visibilities<A, DeviceArray<'a, A>>;
/// Beams `[channel][time][beam]` on a device.
pub type DeviceBeams<'a, T> = Beams<T, DeviceArray<'a, T>>;
/// Detected beams `[channel][time][beam][product]` on a device.
pub type DeviceDetectedBeams<'a, T> = DetectedBeams<T, DeviceArray<'a, T>>;

impl<V: VoltageSample> Holder<V> for DeviceHeaps<'static, V> {
    fn held(&self) -> &DeviceArray<'static, V> {
        self.array()
    }
}

/// Some batches of heaps that others have too: no copy, the same memory and the same order of streams.
///
/// # Errors
/// [`TypesError::Elements`] if there are not so many batches.
pub fn batches_of<V: VoltageSample>(
    heaps: &Arc<DeviceHeaps<'static, V>>,
    batches: Range<usize>,
) -> Result<DeviceHeaps<'static, V>, UploadError> {
    let (inputs, channels, spectra) = (heaps.inputs(), heaps.channels(), heaps.spectra_per_heap());
    let of_batch = inputs.len() * channels * spectra;
    let end = batches.end.max(batches.start);
    let (batches, actual) = (batches.start..end, heaps.array().view().len());
    if end > heaps.batches() {
        let expected = end.saturating_mul(of_batch);
        return Err(TypesError::Elements { array: "batches of heaps", expected, actual }.into());
    }
    let part = DeviceArray::part(heaps.clone(), batches.start * of_batch..batches.end * of_batch)?;
    let clock = heaps.clock();
    let clock = SpectrumClock { first_sample: clock.sample_of(batches.start * spectra), ..clock };
    let part = Heaps::from_array(part, batches.len(), inputs, channels, spectra)?
        .with_clock(clock)?
        .with_frequencies(heaps.frequencies())?;
    Ok(match heaps.presence() {
        None => part,
        Some(flags) => part.with_presence(flags.slice(s![batches, ..]).to_owned())?,
    })
}

/// Copies chunks to a device, in the order of a stream: memory comes from a pool and goes through pinned memory, two
/// chunks in turn.
///
/// A copy returns when its chunk is in pinned memory; the device's part of the copy goes on beside what the host does
/// next. [`PinnedSamples`](crate::PinnedSamples) are there already: nothing is copied on the host, and the memory
/// remembers the copy, so that it may be dropped or filled again at once.
#[derive(Debug)]
pub struct Uploader {
    stream: Stream,
    pool: BufferPool,
    staging: Staging,
}

impl Uploader {
    /// For work on a stream.
    #[must_use]
    pub fn new(stream: &Stream) -> Self {
        Self { stream: stream.clone(), pool: BufferPool::new(stream.device()), staging: Staging::default() }
    }

    /// The stream that the copies are queued on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// A chunk of samples on the device.
    ///
    /// # Errors
    /// [`UploadError::Types`] for samples that no memory holds, [`UploadError::Device`] with what the driver says.
    pub fn samples(&mut self, chunk: &dyn SampleChunk) -> Result<DeviceSamples<'static>, UploadError> {
        let rows = self.staging.send_samples(&self.stream, &self.pool, chunk, 0..chunk.times())?;
        Ok(rows.with_axes_of(chunk)?)
    }

    /// Voltages on the device.
    ///
    /// # Errors
    /// As [`Uploader::samples`].
    pub fn voltages<V: VoltageSample>(
        &mut self,
        voltages: &Voltages<V>,
    ) -> Result<DeviceVoltages<'static, V>, UploadError> {
        Ok(voltages.with_array(self.array(&voltages.data())?)?)
    }

    /// Heaps on the device.
    ///
    /// # Errors
    /// As [`Uploader::samples`].
    pub fn heaps<V: VoltageSample>(&mut self, heaps: &Heaps<V>) -> Result<DeviceHeaps<'static, V>, UploadError> {
        Ok(heaps.with_array(self.array(&heaps.data())?)?)
    }

    /// Heaps in pinned memory on the device, copied from where they lie.
    ///
    /// # Errors
    /// As [`Uploader::samples`].
    pub fn pinned_heaps<V: VoltageSample>(
        &mut self,
        heaps: &PinnedHeaps<V>,
    ) -> Result<DeviceHeaps<'static, V>, UploadError> {
        let sent = send_pinned(&self.stream, &self.pool, heaps.array())?;
        Ok(heaps.with_array(DeviceArray::from(sent).written_now(&self.stream)?)?)
    }

    /// Rows on the device.
    ///
    /// # Errors
    /// As [`Uploader::samples`].
    pub fn rows<V: VoltageSample>(&mut self, rows: &Rows<V>) -> Result<DeviceRows<'static, V>, UploadError> {
        Ok(rows.with_array(self.array(&rows.data())?)?)
    }

    /// An array in standard layout.
    fn array<T: Pod + Sync, S: Data<Elem = T>, D: Dimension>(
        &mut self,
        array: &ArrayBase<S, D>,
    ) -> Result<DeviceArray<'static, T>, DeviceError> {
        let sent = self.staging.send_with(&self.stream, &self.pool, array.len(), |to| match array.as_slice() {
            Some(elements) => copy(bytemuck::cast_slice(elements), to),
            None => {
                let places = to.chunks_exact_mut(size_of::<T>());
                array.iter().zip(places).for_each(|(value, place)| place.copy_from_slice(bytemuck::bytes_of(value)));
            }
        })?;
        Ok(DeviceArray::from(sent).written_on(&self.stream))
    }
}

impl Staging {
    /// Some consecutive samples of a chunk in memory of a pool, through pinned memory, in the order of `stream`,
    /// without presence flags. Packed samples begin with a whole byte, up to seven samples before `times`:
    /// [`SampleRows::first_sample`] says with which. Returns when they are in pinned memory.
    ///
    /// # Errors
    /// [`UploadError::Types`] for samples that the chunk does not have or no memory holds, [`UploadError::Device`] with
    /// what the driver says.
    pub fn send_samples(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        chunk: &dyn SampleChunk,
        times: Range<usize>,
    ) -> Result<DeviceSamples<'static>, UploadError> {
        if times.start > times.end || times.end > chunk.times() {
            let (array, dimension) = ("samples of a chunk", fringes_types::Dimension::Time);
            let (expected, actual) = (chunk.times(), times.end.max(times.start));
            return Err(TypesError::Dimension { array, dimension, expected, actual }.into());
        }
        let (format, inputs) = (chunk.format(), chunk.inputs());
        let (sent, row_bytes, times) = match pinned(chunk).filter(|_| times.len() == chunk.times()) {
            Some(rows) => (send_pinned(stream, pool, rows.array())?, rows.row_bytes(), times),
            None => self.send_part(stream, pool, chunk, times)?,
        };
        let array = DeviceArray::from(sent).written_on(stream);
        let first_sample = chunk.first_sample().saturating_add(times.start as u64);
        let rows = DeviceSamples::new(array, row_bytes, format, times.len(), inputs)?;
        let rows = rows.with_sample_rate(chunk.sample_rate_hz())?.with_first_sample(first_sample);
        Ok(match chunk.centre_hz() {
            None => rows,
            Some(centre_hz) => rows.with_centre_frequency(centre_hz)?,
        })
    }

    /// Samples through pinned memory: their words, the bytes from row to row, and which times they are.
    fn send_part(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        chunk: &dyn SampleChunk,
        times: Range<usize>,
    ) -> Result<(Buffer<u32>, usize, Range<usize>), UploadError> {
        let (view, times) = part(chunk.view(), times);
        let (format, inputs) = (chunk.format(), chunk.inputs());
        let row_bytes = sample_row_bytes(format, times.len())?;
        let bytes = row_bytes.checked_mul(inputs.len()).filter(|&bytes| bytes <= isize::MAX as usize);
        let elements = || format!("{} x {}", inputs.len(), times.len());
        let too_large = || TypesError::TooLarge { array: "samples", elements: elements() };
        let words = bytes.ok_or_else(too_large)?.div_ceil(4) + DeviceSamples::PADDING_WORDS;
        Ok((self.send_with(stream, pool, words, |to| fill(view, row_bytes, to))?, row_bytes, times))
    }
}

/// The rows of a chunk, if they lie in pinned memory as they are to lie on the device.
fn pinned(chunk: &dyn SampleChunk) -> Option<&SampleRows<PinnedArray<u32>>> {
    let rows = chunk.host_rows()?.downcast_ref::<PinnedSamples>()?.rows();
    rows.row_bytes().is_multiple_of(ROW_ALIGNMENT).then_some(rows)
}

/// An array in memory of a pool, copied by the device.
fn send_pinned<T: Pod>(stream: &Stream, pool: &BufferPool, array: &PinnedArray<T>) -> Result<Buffer<T>, DeviceError> {
    let mut sent = pool.take::<T>(stream, array.buffer().len())?;
    sent.view_mut().copy_from_pinned(stream, array.buffer(), ..)?;
    Ok(sent)
}

/// Why a chunk is not on a device.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UploadError {
    /// Data that no memory holds.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// What the device answers.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Bytes from row to row of samples that are copied to a device.
///
/// # Errors
/// [`TypesError::TooLarge`], [`TypesError::PackedBits`].
pub fn sample_row_bytes(format: fringes_types::ChunkFormat, times: usize) -> Result<usize, TypesError> {
    Ok(DeviceSamples::row_length(format, times)?.next_multiple_of(ROW_ALIGNMENT))
}

/// A chunk on the host, of one on a device.
pub trait ToHost {
    /// The chunk on the host.
    type Host;

    /// Copies the chunk to the host, when it is there.
    ///
    /// # Errors
    /// [`UploadError::Device`] with what the driver says, a failure of the work that writes the chunk among it.
    fn to_host(&self) -> Result<Self::Host, UploadError>;
}

/// An array of a shape, of elements in standard layout.
fn shaped<T, D: Dimension>(
    array: &'static str,
    shape: impl Into<StrideShape<D>>,
    elements: Vec<T>,
) -> Result<Array<T, D>, TypesError> {
    let length = elements.len();
    Array::from_shape_vec(shape, elements).map_err(|_| TypesError::TooLarge { array, elements: length.to_string() })
}

impl<V: VoltageSample> ToHost for DeviceVoltages<'_, V> {
    type Host = Voltages<V>;

    fn to_host(&self) -> Result<Voltages<V>, UploadError> {
        let shape = (self.channels(), self.times(), self.inputs().len());
        let data: Array3<V> = shaped("voltages", shape, self.array().to_vec()?)?;
        let host = Voltages::from_checked(data, self.inputs())?.with_frequencies(self.frequencies())?;
        let host = host.with_clock(self.clock())?;
        Ok(match self.presence() {
            None => host,
            Some(flags) => host.with_presence(flags.to_owned())?,
        })
    }
}

impl<V: VoltageSample> ToHost for DeviceHeaps<'_, V> {
    type Host = Heaps<V>;

    fn to_host(&self) -> Result<Heaps<V>, UploadError> {
        Ok(host_heaps(self, self.array().to_vec()?)?)
    }
}

impl<V: VoltageSample> ToHost for PinnedHeaps<V> {
    type Host = Heaps<V>;

    fn to_host(&self) -> Result<Heaps<V>, UploadError> {
        Ok(host_heaps(self, self.array().as_slice()?.to_vec())?)
    }
}

/// Heaps with the elements that were copied from where they lie.
pub(crate) fn host_heaps<V: VoltageSample, A>(heaps: &Heaps<V, A>, elements: Vec<V>) -> Result<Heaps<V>, TypesError> {
    let inputs = heaps.inputs();
    let shape = (heaps.batches(), inputs.antennas(), heaps.channels(), heaps.spectra_per_heap(), inputs.pols());
    let data: Array5<V> = shaped("heaps", shape, elements)?;
    let host = Heaps::from_checked(data)?.with_frequencies(heaps.frequencies())?.with_clock(heaps.clock())?;
    match heaps.presence() {
        None => Ok(host),
        Some(flags) => host.with_presence(flags.to_owned()),
    }
}

impl<V: VoltageSample> ToHost for DeviceRows<'_, V> {
    type Host = Rows<V>;

    fn to_host(&self) -> Result<Rows<V>, UploadError> {
        let data: Array4<V> = shaped("rows", self.shape(), self.array().to_vec()?)?;
        let host = Rows::new(data, self.times(), self.inputs())?.with_frequencies(self.frequencies())?;
        let host = host.with_clock(self.clock())?;
        Ok(match self.presence() {
            None => host,
            Some(flags) => host.with_presence(flags.to_owned())?,
        })
    }
}

impl<A: Accumulator> ToHost for DeviceVisibilities<'_, A> {
    type Host = Visibilities<A>;

    fn to_host(&self) -> Result<Visibilities<A>, UploadError> {
        Ok(host_visibilities(self, self.array().to_vec()?)?)
    }
}

/// Visibilities of a device with the elements that were copied from there.
pub(crate) fn host_visibilities<A: Accumulator>(
    visibilities: &DeviceVisibilities<'_, A>,
    elements: Vec<A>,
) -> Result<Visibilities<A>, TypesError> {
    let of = visibilities;
    let data: Array2<A> = shaped("visibilities", (of.channels(), of.order().len(of.inputs())), elements)?;
    let (valid, clock) = (of.valid_counts().clone(), of.clock());
    let host = Visibilities::new(data, of.inputs(), of.order(), valid, of.times(), of.frequencies(), clock)?;
    match of.masked_samples() {
        None => Ok(host),
        Some(masked) => host.with_masked_samples(masked.clone()),
    }
}

impl<T: Pod> ToHost for DeviceBeams<'_, T> {
    type Host = Beams<T>;

    fn to_host(&self) -> Result<Beams<T>, UploadError> {
        let shape = (self.channels(), self.times(), self.beams());
        let data: Array3<T> = shaped("beams", shape, self.array().to_vec()?)?;
        let mut host = Beams::new(data, self.frequencies(), self.clock())?;
        if let Some(counts) = self.input_counts() {
            host = host.with_input_counts(counts.clone())?;
        }
        Ok(match self.mask() {
            None => host,
            Some(mask) => host.with_mask(mask.clone())?,
        })
    }
}

impl<T: Pod> ToHost for DeviceDetectedBeams<'_, T> {
    type Host = DetectedBeams<T>;

    fn to_host(&self) -> Result<DetectedBeams<T>, UploadError> {
        let shape = (self.channels(), self.times(), self.beams(), self.products().count());
        let data: Array4<T> = shaped("detected beams", shape, self.array().to_vec()?)?;
        let mut host = DetectedBeams::new(data, self.products(), self.frequencies(), self.clock())?;
        if let Some(counts) = self.input_counts() {
            host = host.with_input_counts(counts.clone())?;
        }
        Ok(match self.masked_spectra() {
            None => host,
            Some(masked) => host.with_masked_spectra(masked.clone())?,
        })
    }
}

/// Some samples of a view, packed ones from a whole byte on, and which they are.
fn part(view: SampleView<'_>, times: Range<usize>) -> (SampleView<'_>, Range<usize>) {
    fn columns<'a, T>(array: ArrayView2<'a, T>, times: &Range<usize>) -> ArrayView2<'a, T> {
        array.slice_move(s![.., times.clone()])
    }
    let part = match view {
        SampleView::Int8(array) => SampleView::Int8(columns(array, &times)),
        SampleView::Int16(array) => SampleView::Int16(columns(array, &times)),
        SampleView::Float16(array) => SampleView::Float16(columns(array, &times)),
        SampleView::Float32(array) => SampleView::Float32(columns(array, &times)),
        SampleView::ComplexInt8(array) => SampleView::ComplexInt8(columns(array, &times)),
        SampleView::ComplexInt16(array) => SampleView::ComplexInt16(columns(array, &times)),
        SampleView::ComplexFloat16(array) => SampleView::ComplexFloat16(columns(array, &times)),
        SampleView::ComplexFloat32(array) => SampleView::ComplexFloat32(columns(array, &times)),
        SampleView::Packed { bytes, bits, .. } => {
            let (start, width) = (times.start / 8 * 8, bits as usize);
            let bytes = columns(bytes, &(start / 8 * width..(times.end * width).div_ceil(8)));
            return (SampleView::Packed { bytes, bits, times: times.end - start }, start..times.end);
        }
    };
    (part, times)
}

/// Writes the rows of a chunk `row_bytes` apart.
fn fill(view: SampleView<'_>, row_bytes: usize, to: &mut [u8]) {
    fn rows<T: Pod + Sync>(array: ArrayView2<'_, T>, row_bytes: usize, to: &mut [u8]) {
        // All rows at once: one alone is too short for all threads.
        let places = to.par_chunks_mut(row_bytes.max(1));
        places.zip(array.axis_iter(Axis(0)).into_par_iter()).for_each(|(to, row)| {
            if let Some(values) = row.as_slice() {
                let bytes: &[u8] = bytemuck::cast_slice(values);
                copy(bytes, &mut to[..bytes.len()]);
            } else {
                let places = to.chunks_exact_mut(size_of::<T>());
                row.iter().zip(places).for_each(|(value, place)| place.copy_from_slice(bytemuck::bytes_of(value)));
            }
        });
    }
    match view {
        SampleView::Int8(array) => rows(array, row_bytes, to),
        SampleView::Int16(array) => rows(array, row_bytes, to),
        SampleView::Float16(array) => rows(array, row_bytes, to),
        SampleView::Float32(array) => rows(array, row_bytes, to),
        SampleView::ComplexInt8(array) => rows(array, row_bytes, to),
        SampleView::ComplexInt16(array) => rows(array, row_bytes, to),
        SampleView::ComplexFloat16(array) => rows(array, row_bytes, to),
        SampleView::ComplexFloat32(array) => rows(array, row_bytes, to),
        SampleView::Packed { bytes, .. } => rows(bytes, row_bytes, to),
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, Complex, Inputs, PackedSamples, Samples};

    use super::*;

    #[test]
    fn rows_are_the_samples_as_they_are_at_multiples_of_16_bytes() {
        let inputs = Inputs::single_pol(3).unwrap();
        let values = Array2::from_shape_fn((3, 5), |(input, time)| (100 * input + time) as i16);
        let packed = PackedSamples::pack(values.view(), 10, inputs).unwrap();
        let mut bytes = vec![0xee; 48];
        fill(packed.view(), 16, &mut bytes);
        for (input, row) in packed.data().rows().into_iter().enumerate() {
            assert_eq!(bytes[16 * input..][..7], row.to_vec());
            assert_eq!(bytes[16 * input + 7..][..9], [0xee; 9]);
        }
        // Rows that are not contiguous.
        let complex = values.t().mapv(|value| Complex::new(value, -value));
        let samples = Samples::new(complex.reversed_axes(), inputs).unwrap();
        let mut bytes = vec![0xee; 96];
        fill(samples.view(), 32, &mut bytes);
        let at = |place: usize| i16::from_le_bytes([bytes[place], bytes[place + 1]]);
        assert_eq!([at(64 + 12), at(64 + 14)], [203, -203]);
    }

    #[test]
    fn parts_are_the_samples_of_their_times() {
        let inputs = Inputs::single_pol(2).unwrap();
        let values = Array2::from_shape_fn((2, 40), |(input, time)| (100 * input + time) as i16);
        let typed = Samples::new(values.clone(), inputs).unwrap();
        let (SampleView::Int16(found), times) = part(typed.view(), 3..21) else { panic!("another format") };
        assert_eq!((found, times), (values.slice(s![.., 3..21]), 3..21));
        for bits in [9, 10, 16] {
            let packed = PackedSamples::pack(values.view(), bits, inputs).unwrap();
            for range in [0..40, 3..21, 8..9, 17..17, 23..40] {
                let (SampleView::Packed { bytes, bits, times: length }, times) = part(packed.view(), range.clone())
                else {
                    panic!("another format")
                };
                assert_eq!((times.start, times.end), (range.start / 8 * 8, range.end));
                let part = PackedSamples::new(bytes.to_owned(), bits, length, inputs).unwrap().unpack().unwrap();
                assert_eq!(part.data(), values.slice(s![.., times]));
            }
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_errors() {
        assert_eq!(sample_row_bytes(ChunkFormat::Packed { bits: 12 }, 11), Ok(32));
        let error = sample_row_bytes(ChunkFormat::Packed { bits: 12 }, usize::MAX).unwrap_err();
        assert!(matches!(error, TypesError::TooLarge { .. }));
    }
}
