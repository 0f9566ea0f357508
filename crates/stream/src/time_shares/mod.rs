//! Instruments of one process that take turns in time: each has all antennas and all channels.

mod sink;
mod source;

use std::ops::Range;

pub use sink::TimeSink;
pub use source::TimeSource;

use crate::StreamError;
use crate::sink::{Sink, Takes};
use crate::source::Source;

/// How time is divided among the instruments of one process, each with a device of its own: rank `r` of `n` has spans
/// `r`, `r + n`, `r + 2n`, ..., counted from sample 0.
///
/// ```text
///            span 0      span 1      span 2      span 3
/// rank 0   [ F, X, .. ]-           -[ F, X, .. ]-
/// rank 1              -[ F, X, .. ]-           -[ F, X, .. ]
/// ```
///
/// Nothing goes from device to device, so this is for arrays whose every antenna and channel fits into one, and whose
/// dumps are short enough that a span, which waits on the host, is too. An instrument gets samples from `margin` before
/// its spans to `margin` behind them, and computes them; what it makes outside of its spans is left out. Dumps are
/// those of one instrument bit for bit, if a span is whole dumps of every cadence and the margin is as long as all that
/// reaches over a span's ends: the filter's window, delays, a frame, and a masker's block.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_channelizer::Channelizer;
/// use fringes_correlator::DumpSchedule;
/// use fringes_f_engine::FEngine;
/// use fringes_stream::sink::{MemorySink, Overflow};
/// use fringes_stream::source::{Blocks, Received, SourceInfo};
/// use fringes_stream::{Fx, TimeShares};
/// use fringes_types::{Complex, Gains, Inputs, Samples};
/// use ndarray::Array2;
///
/// let inputs = Inputs::single_pol(2)?;
/// let noise = |input: usize, time: u64| ((input as u64 * 7919 + time * 104_729) % 201) as i16 - 100;
/// let chunks = (0..20u64).map(move |chunk| {
///     let data = Array2::from_shape_fn((2, 1000), |(input, time)| noise(input, 1000 * chunk + time as u64));
///     let samples = Samples::new(data, inputs)?.with_first_sample(1000 * chunk).with_sample_rate(1e6)?;
///     Ok(Received::Samples(samples.into()))
/// });
/// let label = "noise".into();
/// let info = SourceInfo { label, inputs, sample_rate_hz: 1e6, sample_zero: None, end_sample: Some(20_000) };
///
/// // Dumps of 4096 samples, each of them a span; a window of 512 samples and a frame of 1024.
/// let shares = TimeShares::new(2, 4096, 2048)?;
/// let (sink, products) = MemorySink::new();
/// let (sources, sinks) = (shares.sources(Blocks::new(info, chunks)), shares.sinks(sink)?);
/// let mut running = Vec::new();
/// for (source, sink) in sources.into_iter().zip(sinks) {
///     let plan = Channelizer::real(64).taps(4).build()?;
///     let engine = FEngine::builder(plan, inputs).spectra_per_frame(8).gains(Gains::uniform(0.1)?);
///     let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine) // on several GPUs: each on its own
///         .cadence(DumpSchedule::new(128, 8, 4)?)
///         .in_turns(shares, running.len())
///         .sink(sink, Overflow::Block);
///     running.push(fx.start(source)?);
/// }
/// for running in running {
///     running.join().into_result()?;
/// }
/// assert_eq!(products.take().len(), 5); // in order of time
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeShares {
    ranks: usize,
    span: u64,
    margin: u64,
}

impl TimeShares {
    /// Spans of so many samples for so many instruments, and samples before and behind each.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for no instruments, and for spans without samples.
    pub fn new(ranks: usize, span: u64, margin: u64) -> Result<Self, StreamError> {
        for (what, number) in [("instruments that take turns", ranks as u64), ("samples of a span", span)] {
            if number == 0 {
                return Err(StreamError::Plan { what, expected: "at least 1".into(), actual: "0".into() });
            }
        }
        Ok(Self { ranks, span, margin })
    }

    /// Instruments.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Samples of a span.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Samples before and behind each span.
    pub fn margin(&self) -> u64 {
        self.margin
    }

    /// Half of what lies between two spans of an instrument with their margins.
    pub(crate) fn longest_gap(&self) -> u64 {
        let others = (self.ranks as u64 - 1).saturating_mul(self.span);
        (others.saturating_sub(self.margin.saturating_mul(2)) / 2).max(1)
    }

    /// A source for each instrument, of a source of all time. A thread reads it as fast as they are, and ahead of each
    /// by a span at most. When an instrument ends, for all of them the source ends with what they have got.
    ///
    /// [`Source::seek`] is asked of the source before it is given here; those of the instruments are read on.
    pub fn sources(&self, source: impl Source + 'static) -> Vec<TimeSource> {
        source::divide(*self, Box::new(source))
    }

    /// A sink for each instrument, which together give one sink the dumps of all: those of a cadence and bin in order
    /// of time. A dump waits, in memory, for the dumps of the spans before it: the source hands out a round of spans at
    /// most before another's are done. Those of an instrument that has none in a span are waited for until its next
    /// one, or its end. Detected beams are left out.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for a sink of detected beams: their sums are of chunks, which do not end with spans.
    pub fn sinks(&self, sink: impl Sink + 'static) -> Result<Vec<TimeSink>, StreamError> {
        if sink.takes() == Takes::Beams {
            let (what, expected) = ("a sink of instruments that take turns", "one that takes dumps".into());
            return Err(StreamError::Plan { what, expected, actual: format!("{}, of beams", sink.name()) });
        }
        Ok(sink::divide(*self, Box::new(sink)))
    }

    /// Whether no sample of this range is in a span of an instrument.
    pub(crate) fn is_of_others(&self, rank: usize, samples: Range<u64>) -> bool {
        let (ranks, first) = (self.ranks as u64, self.span_of(samples.start));
        let to_own = (ranks + rank as u64 - first % ranks) % ranks;
        to_own > 0 && samples.end <= first.saturating_add(to_own).saturating_mul(self.span)
            || to_own == 0 && samples.is_empty()
    }

    /// The span that a sample is in.
    fn span_of(&self, sample: u64) -> u64 {
        sample / self.span
    }

    fn rank_of(&self, span: u64) -> usize {
        (span % self.ranks as u64) as usize
    }

    /// Instruments that get samples of a range.
    fn wanted(&self, samples: Range<u64>) -> Vec<usize> {
        let first = self.span_of(samples.start.saturating_sub(self.margin));
        let last = self.span_of(samples.end.max(samples.start + 1).saturating_sub(1).saturating_add(self.margin));
        let mut ranks: Vec<usize> = (first..=last).take(self.ranks).map(|span| self.rank_of(span)).collect();
        ranks.sort_unstable();
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_go_to_those_whose_spans_they_touch() {
        let shares = TimeShares::new(3, 100, 10).unwrap();
        assert_eq!(shares.wanted(0..50), [0]);
        assert_eq!(shares.wanted(50..91), [0, 1]);
        assert_eq!(shares.wanted(50..90), [0]);
        assert_eq!(shares.wanted(110..120), [1]);
        assert_eq!(shares.wanted(109..111), [0, 1]);
        assert_eq!(shares.wanted(295..300), [0, 2]);
        assert_eq!(shares.wanted(0..1000), [0, 1, 2]);
        assert_eq!(shares.wanted(u64::MAX - 1..u64::MAX).len(), 1);
        assert_eq!((shares.longest_gap(), TimeShares::new(1, 5, 9).unwrap().longest_gap()), (90, 1));
    }

    #[test]
    fn the_time_of_others_has_no_sample_of_ones_own() {
        let shares = TimeShares::new(3, 100, 10).unwrap();
        for (rank, samples, expected) in [
            (0, 100..300, true),
            (0, 100..301, false),
            (0, 110..290, true),
            (0, 99..290, false),
            (1, 0..100, true),
            (1, 200..400, true),
            (2, 0..200, true),
            (2, 150..201, false),
            (2, 300..500, true),
        ] {
            let found = (samples.start..samples.end).all(|sample| shares.rank_of(shares.span_of(sample)) != rank);
            assert_eq!((shares.is_of_others(rank, samples.clone()), found), (expected, expected), "{rank} {samples:?}");
        }
    }

    #[test]
    fn nothing_to_divide_is_an_error() {
        assert!(matches!(TimeShares::new(0, 1, 0), Err(StreamError::Plan { .. })));
        assert!(matches!(TimeShares::new(1, 0, 0), Err(StreamError::Plan { .. })));
    }
}
