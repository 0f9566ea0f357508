//! Buffers of the frames that a chunk completes, and of those that come next.
//!
//! ```text
//! memory of one chunk's frames     [frame 0][frame 1][frame 2]
//! and of the next one's                                       [frame 0][frame 1][frame 2]
//! spectra of a chunk                    . . . . . . . . . . . . . .
//! ```
//!
//! Spectra behind the last complete frame go where the first frame of the next chunk will be: nothing is copied as long
//! as chunks complete as many frames as expected.

use fringes_cpu::f_engine::FrameSample;
use fringes_gpu::{Buffer, BufferPool, BufferViewMut, Stream};

use super::Work;
use super::order::Order;
use crate::ChannelizerError;

/// Values of frames and their counts of saturated ones.
pub type Queued<Q> = (Buffer<Q>, Buffer<u32>);

/// The frame that is not complete, as the first of some.
#[derive(Debug)]
pub(super) struct Ahead<Q: FrameSample> {
    values: Queued<Q>,
    frames: usize,
}

/// Where one chunk's spectra go.
#[derive(Debug)]
pub(super) struct FrameBuffers<Q: FrameSample> {
    /// The frames that are complete.
    pub(super) given: Option<Queued<Q>>,
    /// The frame that is not.
    pub(super) next: Option<Ahead<Q>>,
    /// Whether its counts are still to become zeros.
    fresh: bool,
}

impl<Q: FrameSample> FrameBuffers<Q> {
    /// Counts that are to become zeros before spectra are made.
    pub(super) fn zeros(&mut self) -> Option<BufferViewMut<'_, u32>> {
        self.next.as_mut().filter(|_| self.fresh).map(|next| next.values.1.view_mut())
    }
}

impl<Q: FrameSample> Ahead<Q> {
    /// Values and counts.
    pub(super) fn values(&mut self) -> &mut Queued<Q> {
        &mut self.values
    }
}

/// Which buffers a chunk needs, known before anything changes.
#[derive(Debug)]
pub(super) struct Need<Q: FrameSample> {
    given: Option<Queued<Q>>,
    next: Option<Queued<Q>>,
    next_frames: usize,
    /// Spectra that are not made are zeros: buffers begin as zeros.
    zeros: bool,
}

impl<Q: FrameSample> Need<Q> {
    /// Takes the buffers. `expected` spectra are made of the next chunk.
    pub(super) fn take(
        pool: &BufferPool,
        stream: &Stream,
        work: &Work<'_>,
        ahead: Option<&Ahead<Q>>,
        expected: usize,
    ) -> Result<Self, ChannelizerError> {
        let (batch, spf, inputs) = (&work.batch, work.settings.spectra_per_frame, work.timeline.inputs);
        let all = batch.filled + batch.spectra;
        let zeros = !work.advance.is_complete() || all < batch.frames * spf;
        let ahead = ahead.filter(|_| batch.filled > 0);
        let new = |frames: usize| -> Result<Queued<Q>, ChannelizerError> {
            let order = work.settings.order(inputs, frames);
            Ok((pool.take(stream, order.all_elements()?)?, pool.take(stream, frames * inputs.len())?))
        };
        let fits = |frames: usize| !zeros && ahead.is_some_and(|ahead| ahead.frames == frames);
        let given = if batch.frames > 0 && !fits(batch.frames) { Some(new(batch.frames)?) } else { None };
        let open = all.saturating_sub(batch.frames * spf);
        let next_frames = ((open + expected) / spf).max(1);
        let goes_on = batch.frames == 0 && ahead.is_some() && !zeros;
        let next = if open > 0 && !goes_on { Some(new(next_frames)?) } else { None };
        Ok(Self { given, next, next_frames, zeros })
    }

    /// Whether spectra that are not made are to be zeros.
    pub(super) fn zeros(&self) -> bool {
        self.zeros
    }

    /// Whether counts of frames that come next become zeros with what is moved: jobs of them wait for it.
    pub(super) fn zeroes_counts(&self, work: &Work<'_>, ahead: Option<&Ahead<Q>>) -> bool {
        let goes_on = work.batch.frames == 0 && work.batch.filled > 0 && ahead.is_some();
        self.next.is_some() && !goes_on
    }

    /// How frames that are complete will lie, and those that come next.
    pub(super) fn orders(&self, work: &Work<'_>, ahead: Option<&Ahead<Q>>) -> (Order, Order) {
        let order = |frames: usize| work.settings.order(work.timeline.inputs, frames);
        let next = if self.next.is_some() { self.next_frames } else { ahead.map_or(1, |ahead| ahead.frames) };
        let (first, frames) = (work.first_frame(), work.batch.frames);
        (order(frames.max(1)).begins_with(first), order(next).begins_with(first + frames as u64))
    }

    /// Puts the spectra that the first frame has already where they go, and zeros where nothing will be written.
    pub(super) fn begin(
        self,
        stream: &Stream,
        work: &Work<'_>,
        ahead: Option<Ahead<Q>>,
    ) -> Result<FrameBuffers<Q>, ChannelizerError> {
        let (batch, inputs) = (&work.batch, work.timeline.inputs.len());
        let (given_order, next_order) = self.orders(work, ahead.as_ref());
        let fresh = self.zeroes_counts(work, ahead.as_ref());
        let mut ahead = ahead.filter(|_| batch.filled > 0);
        let old_order = ahead.as_ref().map(|ahead| work.settings.order(work.timeline.inputs, ahead.frames));
        let zeros = self.zeros;
        // Of new buffers, whose counts are zeros or become so; with what there is already, if they have the frame that
        // it is of.
        let fill = |queued: &mut Queued<Q>, order: &Order, old: Option<&Ahead<Q>>| -> Result<(), ChannelizerError> {
            let (values, saturated) = queued;
            if zeros {
                values.view_mut().zero(stream)?;
            }
            if let Some((old, old_order)) = old.zip(old_order.as_ref()) {
                let (width, to_pitch, pieces) = order.head(batch.filled);
                let (_, from_pitch, _) = old_order.head(batch.filled);
                let mut to = values.view_mut();
                to.copy_rows_from(stream, to_pitch, old.values.0.view(), from_pitch, width, pieces)?;
                saturated.slice_mut(..inputs)?.copy_from(stream, old.values.1.slice(..inputs)?)?;
            }
            Ok(())
        };
        let given = match self.given {
            Some(mut given) => {
                given.1.view_mut().zero(stream)?;
                fill(&mut given, &given_order, ahead.as_ref())?;
                Some(given)
            }
            None if batch.frames > 0 => ahead.take().map(|ahead| ahead.values),
            None => None,
        };
        let next = match self.next {
            Some(mut next) => {
                let old = ahead.as_ref().filter(|_| batch.frames == 0);
                if !fresh {
                    next.1.view_mut().zero(stream)?;
                }
                fill(&mut next, &next_order, old)?;
                Some(Ahead { values: next, frames: self.next_frames })
            }
            None if batch.frames == 0 => ahead.take(),
            None => None,
        };
        Ok(FrameBuffers { given, next, fresh })
    }
}
