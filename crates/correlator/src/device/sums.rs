//! Sums on a device, `[channel][baseline]`, lower triangles with their diagonals. Those that launches add to are of 32
//! bits where samples are integers: an addition reads and writes all sums, and so moves half of the bytes that 64 bits
//! would take. Once there are more times than 32 bits hold, they are added to sums of 64 bits. Launches may add to
//! several parts, each of all channels; a dump is their sum.

use std::ops::Range;
use std::sync::Arc;

use fringes_gpu::{Buffer, BufferPool, BufferView, BufferViewMut, Stream};
use fringes_types::{BaselineOrder, Complex, Inputs, VoltageSample};

use crate::CorrelatorError;
use crate::kernels::{Clamp, CorrelatorKernels, ReduceKernels, Reduction, is_integer};

/// Sums of all channels.
#[derive(Debug)]
pub(super) struct Sums<V: VoltageSample> {
    reduce: Arc<ReduceKernels>,
    pool: BufferPool,
    inputs: Inputs,
    channels: usize,
    parts: usize,
    /// `[part][channel][baseline]`: what launches add to.
    partial: Buffer<V::PartialSum>,
    /// Times that are in partial sums.
    times: SummedTimes,
    /// `[channel][baseline]`: of integers, what partial sums would not have held, if there was so much.
    whole: Option<Buffer<V::Accumulator>>,
}

impl<V: VoltageSample> Sums<V> {
    /// Zero sums in so many parts.
    pub(super) fn new(
        (reduce, pool): (Arc<ReduceKernels>, BufferPool),
        stream: &Stream,
        inputs: Inputs,
        channels: usize,
        parts: usize,
    ) -> Result<Self, CorrelatorError> {
        let length = [channels, parts, inputs.triangle_len()].iter().try_fold(1usize, |all, &n| all.checked_mul(n));
        let too_large = CorrelatorError::DeviceShape { channels, times: 1, inputs: inputs.len() };
        let partial = pool.take_zeroed(stream, length.ok_or(too_large)?)?;
        let times = SummedTimes::new(channels);
        Ok(Self { reduce, pool, inputs, channels, parts, partial, times, whole: None })
    }

    /// Whether nothing was added since the sums were zero.
    pub(super) fn is_zero(&self) -> bool {
        self.times.is_zero() && self.whole.is_none()
    }

    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// Makes room for so many times of some channels. Gives the sums that they are added to next, and their number of
    /// parts: what is not of all channels is added to the first part.
    pub(super) fn room_for(
        &mut self,
        stream: &Stream,
        channels: &Range<usize>,
        times: usize,
    ) -> Result<(BufferViewMut<'_, V::PartialSum>, usize), CorrelatorError> {
        if self.times.with(channels, times) > CorrelatorKernels::<V>::most_summed_times() {
            self.widen(stream)?;
        }
        self.times.add(channels, times);
        if channels.len() == self.channels {
            return Ok((self.partial.view_mut(), self.parts));
        }
        Ok((self.partial.slice_mut(self.sums_of(channels))?, 1))
    }

    /// Adds partial sums to those of 64 bits, and makes them zero.
    fn widen(&mut self, stream: &Stream) -> Result<(), CorrelatorError> {
        if self.times.is_zero() || !is_integer(V::FORMAT) {
            return Ok(());
        }
        let reduction = self.reduction(self.channels, self.parts, BaselineOrder::Triangle);
        let whole = match &mut self.whole {
            Some(whole) => whole,
            none => none.insert(self.pool.take_zeroed(stream, self.channels * self.inputs.triangle_len())?),
        };
        let (partial, mut to) = (self.partial.view().cast()?, whole.view_mut().cast()?);
        self.reduce.add_parts::<i32>(stream, reduction, partial, &mut to)?;
        self.partial.view_mut().zero(stream)?;
        self.times.clear();
        Ok(())
    }

    /// Brings all sums together where there are some of 64 bits.
    pub(super) fn settle(&mut self, stream: &Stream) -> Result<(), CorrelatorError> {
        if self.whole.is_some() { self.widen(stream) } else { Ok(()) }
    }

    fn reduction(&self, channels: usize, parts: usize, order: BaselineOrder) -> Reduction {
        Reduction { channels, inputs: self.inputs, parts, order }
    }

    /// The sums of channels among those of a part.
    fn sums_of(&self, channels: &Range<usize>) -> Range<usize> {
        let baselines = self.inputs.triangle_len();
        channels.start * baselines..channels.end * baselines
    }

    /// Partial sums of some channels; of all channels, or with one part.
    fn partial_of(&self, channels: &Range<usize>) -> Result<BufferView<'_, V::PartialSum>, CorrelatorError> {
        if channels.len() == self.channels {
            return Ok(self.partial.view());
        }
        Ok(self.partial.slice(self.sums_of(channels))?)
    }

    /// Channels whose dumps can be made together, where so many fit what is made at once.
    pub(super) fn dump_channels(&self, fitting: usize) -> usize {
        // Parts lie behind all channels: they are added up for all.
        if self.parts > 1 && self.whole.is_none() { self.channels } else { fitting.clamp(1, self.channels) }
    }

    /// Whether the sums, once [settled](Sums::settle), are a dump as they lie.
    pub(super) fn are_dump(&self, order: BaselineOrder) -> bool {
        let one = self.whole.is_some() || (self.parts == 1 && !is_integer(V::FORMAT));
        one && order == BaselineOrder::Triangle
    }

    /// The sums of some channels, where they are a dump as they lie.
    pub(super) fn as_dump(&self, channels: &Range<usize>) -> Result<BufferView<'_, V::Accumulator>, CorrelatorError> {
        match &self.whole {
            Some(whole) => Ok(whole.slice(self.sums_of(channels))?),
            None => Ok(self.partial_of(channels)?.cast()?),
        }
    }

    /// Gives the sums away, if they are a dump as they lie, and starts again from zero.
    pub(super) fn take_dump(
        &mut self,
        stream: &Stream,
        order: BaselineOrder,
    ) -> Result<Option<Buffer<V::Accumulator>>, CorrelatorError> {
        self.settle(stream)?;
        if !self.are_dump(order) {
            return Ok(None);
        }
        if let Some(whole) = self.whole.take() {
            // Nothing is in partial sums.
            return Ok(Some(whole));
        }
        let new = self.pool.take_zeroed(stream, self.partial.len())?;
        let sums = std::mem::replace(&mut self.partial, new);
        self.times.clear();
        Ok(Some(sums.cast()?))
    }

    /// Writes the sums of some channels in an order; of all channels, or as many as [`Sums::dump_channels`] says.
    pub(super) fn reduce(
        &mut self,
        stream: &Stream,
        channels: &Range<usize>,
        order: BaselineOrder,
        out: &mut Buffer<V::Accumulator>,
    ) -> Result<(), CorrelatorError> {
        self.settle(stream)?;
        if !is_integer(V::FORMAT) {
            let reduction = self.reduction(channels.len(), self.parts, order);
            let (sums, mut out) = (self.partial_of(channels)?.cast()?, out.view_mut().cast()?);
            return self.reduce.reduce::<f64>(stream, reduction, sums, &mut out);
        }
        let mut out = out.view_mut().cast()?;
        match &self.whole {
            Some(whole) => {
                let (reduction, sums) = (self.reduction(channels.len(), 1, order), self.sums_of(channels));
                self.reduce.reduce::<i64>(stream, reduction, whole.slice(sums)?.cast()?, &mut out)
            }
            None => {
                let reduction = self.reduction(channels.len(), self.parts, order);
                self.reduce.reduce::<i32>(stream, reduction, self.partial_of(channels)?.cast()?, &mut out)
            }
        }
    }

    /// As [`Sums::reduce`], of integers in 32 bits.
    pub(super) fn clamp(
        &mut self,
        stream: &Stream,
        channels: &Range<usize>,
        order: BaselineOrder,
        clamp: Clamp<'_>,
        out: &mut Buffer<Complex<i32>>,
    ) -> Result<(), CorrelatorError> {
        self.settle(stream)?;
        match &self.whole {
            Some(whole) => {
                let (reduction, sums) = (self.reduction(channels.len(), 1, order), self.sums_of(channels));
                let sums = whole.slice(sums)?.cast()?;
                self.reduce.clamp::<i64>(stream, reduction, sums, &mut out.view_mut(), clamp)
            }
            None => {
                let reduction = self.reduction(channels.len(), self.parts, order);
                let sums = self.partial_of(channels)?.cast()?;
                self.reduce.clamp::<i32>(stream, reduction, sums, &mut out.view_mut(), clamp)
            }
        }
    }

    /// Starts again from zero.
    pub(super) fn zero(&mut self, stream: &Stream) -> Result<(), CorrelatorError> {
        self.whole = None;
        if !self.times.is_zero() {
            self.partial.view_mut().zero(stream)?;
            self.times.clear();
        }
        Ok(())
    }

    /// Goes on, on the stream `to`, which waits for `from`: memory goes back to the pool in the order of the stream
    /// that it was taken for, and so it is taken again.
    pub(super) fn move_to(&mut self, from: &Stream, to: &Stream) -> Result<(), CorrelatorError> {
        let length = self.partial.len();
        if self.times.is_zero() {
            self.partial = Buffer::alloc(to.device(), 0)?;
            self.partial = self.pool.take_zeroed(to, length)?;
        } else {
            let mut partial = self.pool.take(to, length)?;
            partial.view_mut().copy_from(to, self.partial.view())?;
            from.wait_for(to)?;
            self.partial = partial;
        }
        if let Some(old) = self.whole.take() {
            let mut whole = self.pool.take(to, old.len())?;
            whole.view_mut().copy_from(to, old.view())?;
            from.wait_for(to)?;
            self.whole = Some(whole);
        }
        Ok(())
    }
}

/// Times that were added, of each channel.
#[derive(Debug)]
struct SummedTimes {
    channels: usize,
    /// Of all channels together.
    all: usize,
    /// Of each channel, beside those; nothing until some channels had times of their own.
    each: Vec<usize>,
}

impl SummedTimes {
    fn new(channels: usize) -> Self {
        Self { channels, all: 0, each: Vec::new() }
    }

    /// The most times of any of some channels, with so many more.
    fn with(&self, channels: &Range<usize>, times: usize) -> usize {
        let each = self.each.get(channels.clone()).and_then(|each| each.iter().max());
        self.all.saturating_add(each.copied().unwrap_or(0)).saturating_add(times)
    }

    fn add(&mut self, channels: &Range<usize>, times: usize) {
        if channels.len() == self.channels {
            self.all = self.all.saturating_add(times);
            return;
        }
        self.each.resize(self.channels, 0);
        if let Some(each) = self.each.get_mut(channels.clone()) {
            each.iter_mut().for_each(|each| *each = each.saturating_add(times));
        }
    }

    fn is_zero(&self) -> bool {
        self.all == 0 && self.each.is_empty()
    }

    fn clear(&mut self) {
        self.all = 0;
        self.each.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_for_each_channel() {
        let mut times = SummedTimes::new(5);
        assert!(times.is_zero());
        times.add(&(0..5), 100);
        assert_eq!(times.with(&(0..5), 7), 107);
        // Pieces of channels, one after the other, are no more times.
        for start in 0..5 {
            assert_eq!(times.with(&(start..start + 1), 30), 130);
            times.add(&(start..start + 1), 30);
        }
        assert_eq!((times.with(&(0..5), 0), times.with(&(2..4), 0)), (130, 130));
        times.add(&(3..5), 1);
        assert_eq!([0..3, 2..4, 0..5].map(|of| times.with(&of, 0)), [130, 131, 131]);
        times.clear();
        assert!(times.is_zero() && times.with(&(0..5), 3) == 3);
        times.add(&(4..5), usize::MAX);
        assert_eq!(times.with(&(0..5), 1), usize::MAX);
    }
}
