//! Where the filter's samples come from: rows of f32, one an input, at signed positions.
//!
//! Real samples are one f32, complex ones two (real, imaginary), so that one FIR kernel serves both.

use fringes_types::Sample;
use ndarray::ArrayView2;

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
pub fn convert<S: Sample>(from: &[S], to: &mut [f32]) {
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
