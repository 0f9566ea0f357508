//! Chunks of samples in device memory.

use fringes_gpu::{Buffer, BufferPool, BufferView, PinnedBuffer, Stream};
use fringes_types::{ChunkFormat, Dimension, Inputs, SampleChunk, SamplePresence, SampleView, TypesError};
use ndarray::ArrayView2;

use super::format::Numbers;
use super::samples::Rows;
use crate::ChannelizerError;
use crate::timeline::ChunkAxes;

/// Words that the kernels may read behind the last sample of the last row.
pub const PADDING_WORDS: usize = fringes_kernel_abi::f_engine::PADDING_WORDS;

/// Rows in device memory begin at multiples of this many bytes.
const ROW_BYTES: usize = 16;

/// A chunk of samples `[input][time]` in device memory, which this library or other software owns: what an [`FEngine`](crate::FEngine) takes there.
///
/// # Layout
/// A row is an input's samples without padding, as [`PackedSamples`](fringes_types::PackedSamples) and [`Samples`](fringes_types::Samples) have them
/// (little-endian numbers); it begins a whole number of bytes after the one before, of typed samples a whole number of values. The first one begins with the
/// view, and [`PADDING_WORDS`] words follow the last: what they hold does not matter.
#[derive(Debug, Clone, Copy)]
pub struct DeviceSamples<'a> {
    samples: BufferView<'a, u32>,
    row_bytes: usize,
    axes: ChunkAxes<'a>,
    numbers: Numbers,
}

impl<'a> DeviceSamples<'a> {
    /// `times` samples of each input in rows `row_bytes` apart, at 1 Hz from sample 0, all present.
    ///
    /// # Errors
    /// [`ChannelizerError::NoKernel`] for a format that the kernels do not read, [`ChannelizerError::RowStride`] for rows that overlap or cut values,
    /// [`ChannelizerError::DeviceLength`] if the view is too short.
    pub fn new(
        samples: BufferView<'a, u32>,
        row_bytes: usize,
        format: ChunkFormat,
        times: usize,
        inputs: Inputs,
    ) -> Result<Self, ChannelizerError> {
        let numbers = Numbers::of(format)?;
        let row = row_length(numbers, times)?;
        let unit = if numbers.floats || numbers.little_endian { numbers.bits as usize / 8 } else { 1 };
        if row_bytes < row || !row_bytes.is_multiple_of(unit) {
            return Err(ChannelizerError::RowStride { expected: row.next_multiple_of(unit), actual: row_bytes });
        }
        let bytes = row_bytes.saturating_mul(inputs.len() - 1).saturating_add(row);
        let (expected, actual) = (bytes.div_ceil(4).saturating_add(PADDING_WORDS), samples.len());
        if actual < expected {
            return Err(ChannelizerError::DeviceLength { buffer: "samples", expected, actual });
        }
        let (first_sample, sample_rate_hz, centre_hz, presence) = (0, 1.0, None, None);
        let axes = ChunkAxes { format, inputs, times, first_sample, sample_rate_hz, centre_hz, presence };
        Ok(Self { samples, row_bytes, axes, numbers })
    }

    /// Sets the sample counter of the first sample.
    #[must_use]
    pub fn with_first_sample(mut self, first_sample: u64) -> Self {
        self.axes.first_sample = first_sample;
        self
    }

    /// Sets the sample rate.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] unless it is finite and positive.
    pub fn with_sample_rate(mut self, sample_rate_hz: f64) -> Result<Self, ChannelizerError> {
        fringes_types::SpectrumClock { sample_rate_hz, ..Default::default() }.check()?;
        self.axes.sample_rate_hz = sample_rate_hz;
        Ok(self)
    }

    /// Sets the sky frequency of the middle of the band.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] unless it is finite.
    pub fn with_centre_frequency(mut self, centre_hz: f64) -> Result<Self, ChannelizerError> {
        if !centre_hz.is_finite() {
            let (quantity, actual) = ("centre_hz", centre_hz.to_string());
            return Err(TypesError::NotFinite { quantity, actual, index: Vec::new() }.into());
        }
        self.axes.centre_hz = Some(centre_hz);
        Ok(self)
    }

    /// Sets presence flags, which are in host memory.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for flags of other inputs or samples.
    pub fn with_presence(mut self, presence: &'a SamplePresence) -> Result<Self, ChannelizerError> {
        let expected = (self.axes.inputs.len(), self.axes.times.div_ceil(presence.samples_per_block()));
        let actual = presence.flags().dim();
        for (dimension, expected, actual) in
            [(Dimension::Input, expected.0, actual.0), (Dimension::Time, expected.1, actual.1)]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "presence flags", dimension, expected, actual }.into());
            }
        }
        self.axes.presence = Some(presence);
        Ok(self)
    }

    /// Samples of each input.
    #[must_use]
    pub fn times(&self) -> usize {
        self.axes.times
    }

    /// How the samples are stored.
    #[must_use]
    pub fn format(&self) -> ChunkFormat {
        self.axes.format
    }

    pub(crate) fn axes(&self) -> ChunkAxes<'a> {
        self.axes
    }

    pub(crate) fn numbers(&self) -> Numbers {
        self.numbers
    }

    pub(crate) fn rows(&self) -> Rows<'a> {
        Rows {
            samples: self.samples,
            inputs: self.axes.inputs.len(),
            row_bits: 8 * self.row_bytes as u64,
            times: self.axes.times,
            numbers: self.numbers,
        }
    }
}

/// A chunk in device memory that was copied there from host memory. Several F-engines can take it.
#[derive(Debug)]
pub struct DeviceChunk {
    samples: Buffer<u32>,
    row_bytes: usize,
}

impl DeviceChunk {
    /// Copies the samples of a chunk to memory of a pool, through `staging`, which grows as it has to. Returns when they are in pinned memory.
    ///
    /// # Errors
    /// [`ChannelizerError::NoKernel`] for a format that the kernels do not read, [`ChannelizerError::Types`] with what the driver says.
    pub fn upload(
        stream: &Stream,
        pool: &BufferPool,
        staging: &mut Staging,
        chunk: &dyn SampleChunk,
    ) -> Result<Self, ChannelizerError> {
        let (bytes, row_bytes) = Self::layout(chunk.format(), chunk.inputs(), chunk.times())?;
        let words = bytes.div_ceil(4) + PADDING_WORDS;
        let pinned = staging.take(stream, words)?;
        let host: &mut [u8] = bytemuck::cast_slice_mut(pinned.as_mut_slice()?);
        fill(chunk.view(), row_bytes, host);
        let mut samples = pool.take(stream, words)?;
        samples.view_mut().copy_from_pinned(stream, pinned, ..words)?;
        Ok(Self { samples, row_bytes })
    }

    /// Bytes of all rows, and from row to row.
    fn layout(format: ChunkFormat, inputs: Inputs, times: usize) -> Result<(usize, usize), ChannelizerError> {
        let row_bytes = row_length(Numbers::of(format)?, times)?.next_multiple_of(ROW_BYTES);
        let bytes = row_bytes.checked_mul(inputs.len()).filter(|&bytes| bytes <= isize::MAX as usize);
        let too_large = || TypesError::TooLarge { array: "samples", elements: format!("{} x {times}", inputs.len()) };
        Ok((bytes.ok_or_else(too_large)?, row_bytes))
    }

    /// Bytes of device memory for a chunk, saturating.
    pub(crate) fn bytes(format: ChunkFormat, inputs: Inputs, times: usize) -> u64 {
        let bits = u64::from(format.sample_bits()).saturating_mul(times as u64);
        (bits.div_ceil(8).saturating_add(ROW_BYTES as u64)).saturating_mul(inputs.len() as u64).saturating_add(8)
    }

    /// The samples with the axes of the chunk that they were copied from.
    ///
    /// # Errors
    /// As [`DeviceSamples::new`], for another chunk.
    pub fn samples<'a>(&'a self, chunk: &'a dyn SampleChunk) -> Result<DeviceSamples<'a>, ChannelizerError> {
        let view = self.samples.view();
        let samples = DeviceSamples::new(view, self.row_bytes, chunk.format(), chunk.times(), chunk.inputs())?;
        Ok(DeviceSamples { axes: ChunkAxes::of(chunk), ..samples })
    }
}

/// Pinned memory that chunks go through, two pieces in turn, so that one is filled while the other is copied.
#[derive(Debug, Default)]
pub struct Staging {
    pieces: [Option<PinnedBuffer<u32>>; 2],
    turn: usize,
}

impl Staging {
    /// Words in memory of a pool, through pinned memory.
    pub(crate) fn send(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        words: &[u32],
    ) -> Result<Buffer<u32>, ChannelizerError> {
        let pinned = self.take(stream, words.len())?;
        pinned.as_mut_slice()?[..words.len()].copy_from_slice(words);
        let mut sent = pool.take(stream, words.len())?;
        sent.view_mut().copy_from_pinned(stream, pinned, ..words.len())?;
        Ok(sent)
    }

    fn take(&mut self, stream: &Stream, words: usize) -> Result<&mut PinnedBuffer<u32>, ChannelizerError> {
        self.turn ^= 1;
        let piece = &mut self.pieces[self.turn];
        if piece.as_ref().is_none_or(|piece| piece.len() < words) {
            // A quarter more, so that chunks of nearly the same length share it.
            *piece = Some(PinnedBuffer::zeroed(stream.device(), words.saturating_add(words / 4))?);
        }
        let missing = TypesError::TooLarge { array: "pinned memory", elements: words.to_string() };
        Ok(piece.as_mut().ok_or(missing)?)
    }
}

/// Bytes of a row.
fn row_length(numbers: Numbers, times: usize) -> Result<usize, ChannelizerError> {
    let bits = (times as u64).checked_mul(numbers.sample_bits()).filter(|&bits| bits <= 1 << 60);
    let too_large = || TypesError::TooLarge { array: "samples of an input", elements: times.to_string() };
    Ok(bits.ok_or_else(too_large)?.div_ceil(8) as usize)
}

/// Writes the rows of a chunk `row_bytes` apart.
fn fill(view: SampleView<'_>, row_bytes: usize, to: &mut [u8]) {
    fn rows<T: bytemuck::Pod>(array: ArrayView2<'_, T>, row_bytes: usize, to: &mut [u8]) {
        for (row, to) in array.rows().into_iter().zip(to.chunks_mut(row_bytes.max(1))) {
            if let Some(values) = row.as_slice() {
                let bytes: &[u8] = bytemuck::cast_slice(values);
                to[..bytes.len()].copy_from_slice(bytes);
            } else {
                let places = to.chunks_exact_mut(size_of::<T>());
                row.iter().zip(places).for_each(|(value, place)| place.copy_from_slice(bytemuck::bytes_of(value)));
            }
        }
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
    use fringes_types::{Complex, PackedSamples, Samples};
    use ndarray::Array2;

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
    fn lengths_that_cannot_be_are_errors() {
        let inputs = Inputs::single_pol(2).unwrap();
        let format = ChunkFormat::Packed { bits: 12 };
        assert_eq!(DeviceChunk::layout(format, inputs, 11).unwrap(), (64, 32));
        assert!(matches!(
            DeviceChunk::layout(format, inputs, usize::MAX),
            Err(ChannelizerError::Types(TypesError::TooLarge { .. }))
        ));
    }
}
