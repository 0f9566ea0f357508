//! Rows of samples that the host reads as well.

use bytemuck::Pod;
use ndarray::{ArrayView2, ShapeBuilder, aview2};

use crate::{
    ChunkFormat, Complex, HostArray, Inputs, SampleChunk, SampleFormat, SamplePresence, SampleRows, SampleView,
    TypesError, f16,
};

/// [`SampleRows`] in memory that the host reads: a chunk as [`Samples`](crate::Samples) and
/// [`PackedSamples`](crate::PackedSamples) are, which a device may read where it lies.
///
/// ```
/// use fringes_types::{ChunkFormat, HostRows, Inputs, SampleChunk, SampleRows, SampleView};
///
/// // Two inputs of three samples of 10 bits: rows of 4 bytes, 16 apart.
/// let words = vec![0u32; 5 + SampleRows::<Vec<u32>>::PADDING_WORDS];
/// let rows = SampleRows::new(words, 16, ChunkFormat::Packed { bits: 10 }, 3, Inputs::single_pol(2)?)?;
/// let samples = HostRows::new(rows.with_first_sample(300))?;
/// assert!(matches!(samples.view(), SampleView::Packed { bytes, bits: 10, times: 3 } if bytes.dim() == (2, 4)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HostRows<A> {
    rows: SampleRows<A>,
}

/// Bytes of a sample whose values an array has.
fn sample_bytes(format: ChunkFormat) -> usize {
    match format {
        ChunkFormat::Packed { .. } => 1,
        ChunkFormat::Typed { .. } => (format.sample_bits() as usize / 8).max(1),
    }
}

impl<A: HostArray<u32>> HostRows<A> {
    /// Rows that the host reads.
    ///
    /// # Errors
    /// [`TypesError::RowStride`] for rows that begin within a complex sample, [`TypesError::PackedBits`] for 4-bit
    /// samples that are not packed.
    pub fn new(rows: SampleRows<A>) -> Result<Self, TypesError> {
        let (unit, row_bytes) = (sample_bytes(rows.format()), rows.row_bytes());
        if let ChunkFormat::Typed { format: SampleFormat::Int4, .. } = rows.format() {
            return Err(TypesError::PackedBits { actual: 4 });
        }
        if !row_bytes.is_multiple_of(unit) {
            return Err(TypesError::RowStride { expected: row_bytes.next_multiple_of(unit), actual: row_bytes });
        }
        Ok(Self { rows })
    }

    /// Changes the header.
    ///
    /// # Errors
    /// Those of `change`, and as [`HostRows::new`].
    pub fn try_map(
        self,
        change: impl FnOnce(SampleRows<A>) -> Result<SampleRows<A>, TypesError>,
    ) -> Result<Self, TypesError> {
        Self::new(change(self.rows)?)
    }

    /// Values of all rows, without what lies behind each.
    fn values<T: Pod>(&self) -> ArrayView2<'_, T> {
        let bytes: &[u8] = bytemuck::cast_slice(self.rows.array().elements());
        let (inputs, stride) = (self.inputs().len(), self.rows.row_bytes() / size_of::<T>());
        let columns = match self.format() {
            ChunkFormat::Packed { bits } => (self.times() * bits as usize).div_ceil(8),
            ChunkFormat::Typed { .. } => self.times(),
        };
        let used = ((inputs - 1) * stride + columns) * size_of::<T>();
        let values = bytes.get(..used).map_or(&[][..], |bytes| bytemuck::cast_slice(bytes));
        // The constructor looked at the length; an array that has become shorter has no values.
        ArrayView2::from_shape((inputs, columns).strides((stride, 1)), values).unwrap_or_else(|_| aview2::<T, 0>(&[]))
    }
}

impl<A> HostRows<A> {
    /// The rows.
    pub fn rows(&self) -> &SampleRows<A> {
        &self.rows
    }

    /// Takes the rows.
    pub fn into_rows(self) -> SampleRows<A> {
        self.rows
    }
}

impl<A: HostArray<u32>> SampleChunk for HostRows<A> {
    fn format(&self) -> ChunkFormat {
        self.rows.format()
    }

    fn view(&self) -> SampleView<'_> {
        use SampleFormat as F;
        match self.format() {
            ChunkFormat::Packed { bits } => SampleView::Packed { bytes: self.values(), bits, times: self.times() },
            ChunkFormat::Typed { format, complex } => match (format, complex) {
                (F::Int4 | F::Int8, false) => SampleView::Int8(self.values()),
                (F::Int16, false) => SampleView::Int16(self.values()),
                (F::Float16, false) => SampleView::Float16(self.values::<f16>()),
                (F::Float32, false) => SampleView::Float32(self.values()),
                (F::Int4 | F::Int8, true) => SampleView::ComplexInt8(self.values::<Complex<i8>>()),
                (F::Int16, true) => SampleView::ComplexInt16(self.values()),
                (F::Float16, true) => SampleView::ComplexFloat16(self.values()),
                (F::Float32, true) => SampleView::ComplexFloat32(self.values()),
            },
        }
    }

    fn inputs(&self) -> Inputs {
        self.rows.inputs()
    }

    fn times(&self) -> usize {
        self.rows.times()
    }

    fn sample_rate_hz(&self) -> f64 {
        self.rows.sample_rate_hz()
    }

    fn first_sample(&self) -> u64 {
        self.rows.first_sample()
    }

    fn centre_hz(&self) -> Option<f64> {
        self.rows.centre_hz()
    }

    fn presence(&self) -> Option<&SamplePresence> {
        self.rows.presence()
    }

    fn host_rows(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{PackedSamples, Samples};

    /// Rows of an array, `row_bytes` apart.
    fn rows<T: Pod>(data: &Array2<T>, row_bytes: usize, format: ChunkFormat, times: usize) -> HostRows<Vec<u32>> {
        let inputs = Inputs::single_pol(data.nrows()).unwrap();
        let words = (data.nrows() * row_bytes).div_ceil(4) + SampleRows::<Vec<u32>>::PADDING_WORDS;
        let mut words = vec![0xeeee_eeeeu32; words];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for (row, to) in data.rows().into_iter().zip(bytes.chunks_mut(row_bytes)) {
            let from: &[u8] = bytemuck::cast_slice(row.to_slice().unwrap());
            to[..from.len()].copy_from_slice(from);
        }
        HostRows::new(SampleRows::new(words, row_bytes, format, times, inputs).unwrap().with_first_sample(7)).unwrap()
    }

    #[test]
    fn rows_are_seen_as_the_samples_that_they_are() {
        let values = Array2::from_shape_fn((3, 11), |(input, time)| (100 * input + time) as i16 - 150);
        let packed = PackedSamples::pack(values.view(), 10, Inputs::single_pol(3).unwrap()).unwrap();
        let host = rows(&packed.data().to_owned(), 32, ChunkFormat::Packed { bits: 10 }, 11);
        let SampleView::Packed { bytes, bits: 10, times: 11 } = host.view() else { panic!("another format") };
        assert_eq!(bytes, packed.data());
        assert_eq!((host.times(), host.first_sample()), (11, 7));
        let typed = ChunkFormat::Typed { format: SampleFormat::Int16, complex: false };
        let host = rows(&values, 48, typed, 11);
        let SampleView::Int16(found) = host.view() else { panic!("another format") };
        assert_eq!(found, values);
        let complex = values.mapv(|value| Complex::new(f32::from(value), -1.0));
        let host = rows(&complex, 96, ChunkFormat::Typed { format: SampleFormat::Float32, complex: true }, 11);
        let SampleView::ComplexFloat32(found) = host.view() else { panic!("another format") };
        assert_eq!(found, Samples::new(complex, Inputs::single_pol(3).unwrap()).unwrap().data());
    }

    #[test]
    fn rows_that_begin_within_a_sample_are_an_error() {
        let typed = ChunkFormat::Typed { format: SampleFormat::Int16, complex: true };
        let rows = SampleRows::new(vec![0u32; 100], 22, typed, 5, Inputs::single_pol(3).unwrap()).unwrap();
        assert_eq!(HostRows::new(rows), Err(TypesError::RowStride { expected: 24, actual: 22 }));
    }
}
