//! Where the filter's samples come from: rows of f32, one an input, at signed positions.
//!
//! Real samples are one f32, complex ones two (real, imaginary), so that one FIR kernel serves both.

use fringes_types::{Sample, SampleView};
use ndarray::ArrayView2;

use super::packed::PackedSource;

/// Samples of several inputs on one time axis, converted to f32 as they are read.
pub trait SampleSource: Sync {
    /// Writes the samples from position `start` of an input to `out`: as many as fit. Positions where the source has no
    /// samples, negative ones included, are 0.
    fn fill(&self, input: usize, start: i64, out: &mut [f32]);
}

/// An array `[input][time]` as a source; position 0 is its first sample.
#[derive(Debug, Clone, Copy)]
pub struct ArraySource<'a, S: Sample> {
    data: ArrayView2<'a, S>,
}

impl<'a, S: Sample> ArraySource<'a, S> {
    /// A source that reads `data`.
    pub fn new(data: ArrayView2<'a, S>) -> Self {
        Self { data }
    }
}

impl<S: Sample> SampleSource for ArraySource<'_, S> {
    #[inline]
    fn fill(&self, input: usize, start: i64, out: &mut [f32]) {
        let width = 1 + usize::from(S::COMPLEX);
        let row = self.data.row(input);
        // The part of `out` that the row covers: samples `low .. high` of `out`, from `first` of the row on.
        let wanted = (out.len() / width) as i64;
        let length = row.len() as i64;
        let low = start.saturating_neg().clamp(0, wanted) as usize;
        let high = length.saturating_sub(start).clamp(low as i64, wanted) as usize;
        let first = start.max(0) as usize;
        let (before, rest) = out.split_at_mut(low * width);
        let (inside, after) = rest.split_at_mut((high - low) * width);
        before.fill(0.0);
        after.fill(0.0);
        if high == low {
            return;
        }
        match row.as_slice() {
            Some(row) => convert(&row[first..first + high - low], inside),
            None => {
                for (to, &from) in inside.chunks_exact_mut(width).zip(row.iter().skip(first)) {
                    store(from, to);
                }
            }
        }
    }
}

/// A chunk of any format as a source; position 0 is its first sample.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSource<'a>(SampleView<'a>);

impl<'a> ChunkSource<'a> {
    /// A source that reads the samples of a chunk.
    pub fn new(samples: SampleView<'a>) -> Self {
        Self(samples)
    }
}

impl SampleSource for ChunkSource<'_> {
    fn fill(&self, input: usize, start: i64, out: &mut [f32]) {
        match self.0 {
            SampleView::Int8(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::Int16(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::Float16(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::Float32(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::ComplexInt8(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::ComplexInt16(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::ComplexFloat16(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::ComplexFloat32(data) => ArraySource::new(data).fill(input, start, out),
            SampleView::Packed { bytes, bits, times } => PackedSource::new(bytes, bits, times).fill(input, start, out),
        }
    }
}

#[inline(always)]
fn store<S: Sample>(from: S, to: &mut [f32]) {
    if S::COMPLEX {
        let value = from.to_c32();
        to[0] = value.re;
        to[1] = value.im;
    } else {
        to[0] = from.re_f32();
    }
}

/// Converts contiguous samples to f32, two a complex sample.
#[inline]
fn convert<S: Sample>(from: &[S], to: &mut [f32]) {
    if let Ok(floats) = bytemuck::try_cast_slice::<S, f32>(from)
        && floats.len() == to.len()
        && S::FORMAT == fringes_types::SampleFormat::Float32
    {
        to.copy_from_slice(floats);
    } else if S::COMPLEX {
        for (to, &from) in to.chunks_exact_mut(2).zip(from) {
            store(from, to);
        }
    } else {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = from.re_f32();
        }
    }
}
