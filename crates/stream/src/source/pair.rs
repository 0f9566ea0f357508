//! Two polarisations that come as streams of their own.

use fringes_types::{Inputs, PackedSamples, Sample, SamplePresence, Samples, TypesError};
use ndarray::{Array2, ArrayView2};

use super::{Received, Source, SourceCounts, SourceInfo};
use crate::chunk::greatest_common_divisor;
use crate::{BoxError, SampleBlock, StreamError};

/// Joins the chunks of two sources, one a polarisation, to chunks of both: input `2 antenna + pol`.
///
/// Chunks are partners if they have the same first sample, length and format. What never finds its partner is left
/// out and counted: of two first chunks the one that begins earlier. The stream ends with the shorter of the two.
#[derive(Debug)]
pub struct PairPolarisations<A, B> {
    first: A,
    second: B,
    info: SourceInfo,
    waiting: [Option<SampleBlock>; 2],
    unmatched: u64,
}

impl<A: Source, B: Source> PairPolarisations<A, B> {
    /// The source of polarisation 0 and that of polarisation 1, each with one polarisation.
    ///
    /// # Errors
    /// [`StreamError::Input`] if they differ in antennas or sample rate, or have two polarisations themselves.
    pub fn new(first: A, second: B) -> Result<Self, StreamError> {
        let (one, other) = (first.info(), second.info());
        let say = |info: &SourceInfo| {
            let (antennas, pols) = (info.inputs.antennas(), info.inputs.pols());
            format!("{antennas} antennas of {pols} polarisations at {} Hz", info.sample_rate_hz)
        };
        if one.inputs.pols() != 1 || one.inputs != other.inputs || one.sample_rate_hz != other.sample_rate_hz {
            let (expected, actual) = (say(one), say(other));
            let expected = format!("a second polarisation as the first, {expected}, of one polarisation each");
            return Err(StreamError::Input { expected, actual });
        }
        let info = SourceInfo {
            label: format!("{} and {}", one.label, other.label),
            inputs: Inputs::new(one.inputs.antennas(), 2)?,
            sample_rate_hz: one.sample_rate_hz,
            sample_zero: one.sample_zero,
            end_sample: one.end_sample.into_iter().chain(other.end_sample).min(),
        };
        Ok(Self { first, second, info, waiting: [None, None], unmatched: 0 })
    }

    /// Fills one of the two places; false at the end of its stream. `None` if nothing came.
    fn fill(&mut self, which: usize) -> Result<Option<bool>, BoxError> {
        if self.waiting[which].is_some() {
            return Ok(Some(true));
        }
        let received = if which == 0 { self.first.next()? } else { self.second.next()? };
        match received {
            None => Ok(Some(false)),
            Some(Received::Idle) => Ok(None),
            Some(Received::Samples(block)) => {
                self.waiting[which] = Some(block);
                Ok(Some(true))
            }
            Some(Received::Heaps(heaps)) => {
                let (expected, actual) = ("samples of a polarisation".into(), heaps.format().into());
                Err(StreamError::Input { expected, actual }.into())
            }
        }
    }
}

impl<A: Source, B: Source> Source for PairPolarisations<A, B> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        loop {
            for which in 0..2 {
                match self.fill(which)? {
                    None => return Ok(Some(Received::Idle)),
                    Some(false) => {
                        self.unmatched += self.waiting.iter().flatten().count() as u64;
                        self.waiting = [None, None];
                        return Ok(None);
                    }
                    Some(true) => {}
                }
            }
            let [Some(one), Some(other)] = &self.waiting else { return Ok(None) };
            let (a, b) = (one.first_sample(), other.first_sample());
            if a == b && one.times() == other.times() {
                let [one, other] = std::mem::take(&mut self.waiting);
                let (Some(one), Some(other)) = (one, other) else { return Ok(None) };
                let joined = join(&one, &other, self.info.inputs)?;
                self.first.recycle(one);
                self.second.recycle(other);
                return Ok(Some(Received::Samples(joined)));
            }
            self.unmatched += 1;
            if a < b {
                self.waiting[0] = None;
            } else if b < a {
                self.waiting[1] = None;
            } else {
                // Other lengths: neither has a partner.
                self.unmatched += 1;
                self.waiting = [None, None];
            }
        }
    }

    fn counts(&self) -> SourceCounts {
        let counts = self.first.counts().plus(self.second.counts());
        SourceCounts { unmatched: counts.unmatched + self.unmatched, ..counts }
    }

    fn seek(&mut self, sample: u64) -> Result<bool, BoxError> {
        self.waiting = [None, None];
        // Chunks that one of them still has before the sample find no partner.
        let both = [self.first.seek(sample)?, self.second.seek(sample)?];
        Ok(both == [true, true])
    }
}

/// Rows of both, in turn.
fn rows<T: Copy>(one: ArrayView2<'_, T>, other: ArrayView2<'_, T>) -> Array2<T> {
    let (rows, columns) = one.dim();
    Array2::from_shape_fn((2 * rows, columns), |(input, at)| {
        if input % 2 == 0 { one[(input / 2, at)] } else { other[(input / 2, at)] }
    })
}

/// Flags of both, if one has some.
fn flags(
    one: Option<&SamplePresence>,
    other: Option<&SamplePresence>,
    [antennas, times]: [usize; 2],
) -> Result<Option<SamplePresence>, TypesError> {
    if one.is_none() && other.is_none() {
        return Ok(None);
    }
    let block = |of: Option<&SamplePresence>| of.map_or(0, SamplePresence::samples_per_block);
    let step = greatest_common_divisor(block(one), block(other)).max(1);
    let shape = (2 * antennas, times.div_ceil(step));
    let flags = Array2::from_shape_fn(shape, |(input, at)| {
        let of = if input % 2 == 0 { one } else { other };
        of.is_none_or(|of| of.is_present(input / 2, at * step))
    });
    SamplePresence::new(step, flags).map(Some)
}

/// A chunk of both polarisations.
fn join(one: &SampleBlock, other: &SampleBlock, inputs: Inputs) -> Result<SampleBlock, BoxError> {
    fn typed<S: Sample>(one: &Samples<S>, other: &Samples<S>, inputs: Inputs) -> Result<SampleBlock, BoxError>
    where
        SampleBlock: From<Samples<S>>,
    {
        let joined = Samples::new(rows(one.data(), other.data()), inputs)?
            .with_sample_rate(one.sample_rate_hz())?
            .with_first_sample(one.first_sample());
        let joined = match one.centre_hz() {
            Some(centre) => joined.with_centre_frequency(centre)?,
            None => joined,
        };
        let flags = flags(one.presence(), other.presence(), [inputs.antennas(), one.times()])?;
        Ok(match flags {
            Some(flags) => joined.with_presence(flags)?.into(),
            None => joined.into(),
        })
    }
    match (one, other) {
        (SampleBlock::Packed(one), SampleBlock::Packed(other)) if one.bits() == other.bits() => {
            let joined = PackedSamples::new(rows(one.data(), other.data()), one.bits(), one.times(), inputs)?
                .with_sample_rate(one.sample_rate_hz())?
                .with_first_sample(one.first_sample());
            let joined = match one.centre_hz() {
                Some(centre) => joined.with_centre_frequency(centre)?,
                None => joined,
            };
            let flags = flags(one.presence(), other.presence(), [inputs.antennas(), one.times()])?;
            Ok(match flags {
                Some(flags) => joined.with_presence(flags)?.into(),
                None => joined.into(),
            })
        }
        (SampleBlock::Int8(one), SampleBlock::Int8(other)) => typed(one, other, inputs),
        (SampleBlock::Int16(one), SampleBlock::Int16(other)) => typed(one, other, inputs),
        (SampleBlock::Float16(one), SampleBlock::Float16(other)) => typed(one, other, inputs),
        (SampleBlock::Float32(one), SampleBlock::Float32(other)) => typed(one, other, inputs),
        (SampleBlock::ComplexInt8(one), SampleBlock::ComplexInt8(other)) => typed(one, other, inputs),
        (SampleBlock::ComplexInt16(one), SampleBlock::ComplexInt16(other)) => typed(one, other, inputs),
        (SampleBlock::ComplexFloat16(one), SampleBlock::ComplexFloat16(other)) => typed(one, other, inputs),
        (SampleBlock::ComplexFloat32(one), SampleBlock::ComplexFloat32(other)) => typed(one, other, inputs),
        _ => {
            let say = |block: &SampleBlock| block.as_chunk().format().to_string();
            let (expected, actual) = (format!("polarisations of one format, {}", say(one)), say(other));
            Err(StreamError::Input { expected, actual }.into())
        }
    }
}
