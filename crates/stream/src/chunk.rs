//! Chunks on their way into an instrument: samples of any format, or channelised voltages.

use std::sync::Arc;

use fringes_backend::{PinnedHeaps, PinnedSamples};
use fringes_types::{
    Complex, Complex4, Dimension, Heaps, Inputs, PackedSamples, Sample, SampleChunk, SamplePresence, SampleView,
    Samples, SpectrumClock, TypesError, f16,
};
use ndarray::{Array2, s};

/// Samples `[input][time]` of any format, with their axes and flags.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SampleBlock {
    /// Packed integers of 2 to 16 bits.
    Packed(PackedSamples),
    /// Real 8-bit integers.
    Int8(Samples<i8>),
    /// Real 16-bit integers.
    Int16(Samples<i16>),
    /// Real half precision.
    Float16(Samples<f16>),
    /// Real single precision.
    Float32(Samples<f32>),
    /// Complex 8-bit integers.
    ComplexInt8(Samples<Complex<i8>>),
    /// Complex 16-bit integers.
    ComplexInt16(Samples<Complex<i16>>),
    /// Complex half precision.
    ComplexFloat16(Samples<Complex<f16>>),
    /// Complex single precision.
    ComplexFloat32(Samples<Complex<f32>>),
    /// Of any format in pinned memory: a GPU reads it at the rate of its link, without a copy by the host. Memory of a
    /// [`PinnedPool`](fringes_gpu::PinnedPool) goes back to it when the instrument has done with the chunk. Where a
    /// chunk is cut (gains that change within it, samples that came before), the parts are copied.
    Pinned(Arc<PinnedSamples>),
}

/// What is common to all formats but packed ones.
macro_rules! typed {
    ($self:expr, $packed:ident => $of_packed:expr, $pinned:ident => $of_pinned:expr,
        $samples:ident, $variant:ident => $of_samples:expr) => {
        match $self {
            SampleBlock::Pinned($pinned) => $of_pinned,
            SampleBlock::Packed($packed) => $of_packed,
            SampleBlock::Int8($samples) => { type_of!($variant Int8); $of_samples }
            SampleBlock::Int16($samples) => { type_of!($variant Int16); $of_samples }
            SampleBlock::Float16($samples) => { type_of!($variant Float16); $of_samples }
            SampleBlock::Float32($samples) => { type_of!($variant Float32); $of_samples }
            SampleBlock::ComplexInt8($samples) => { type_of!($variant ComplexInt8); $of_samples }
            SampleBlock::ComplexInt16($samples) => { type_of!($variant ComplexInt16); $of_samples }
            SampleBlock::ComplexFloat16($samples) => { type_of!($variant ComplexFloat16); $of_samples }
            SampleBlock::ComplexFloat32($samples) => { type_of!($variant ComplexFloat32); $of_samples }
        }
    };
}
macro_rules! type_of {
    ($name:ident $variant:ident) => {
        #[allow(unused_variables, reason = "where the variant is not made again")]
        let $name = SampleBlock::$variant;
    };
}

macro_rules! from {
    ($($variant:ident $type:ty;)*) => { $(
        impl From<$type> for SampleBlock {
            fn from(samples: $type) -> Self {
                Self::$variant(samples)
            }
        }
    )* };
}

from! {
    Packed PackedSamples;
    Int8 Samples<i8>;
    Int16 Samples<i16>;
    Float16 Samples<f16>;
    Float32 Samples<f32>;
    ComplexInt8 Samples<Complex<i8>>;
    ComplexInt16 Samples<Complex<i16>>;
    ComplexFloat16 Samples<Complex<f16>>;
    ComplexFloat32 Samples<Complex<f32>>;
    Pinned Arc<PinnedSamples>;
}

impl From<PinnedSamples> for SampleBlock {
    fn from(samples: PinnedSamples) -> Self {
        Self::Pinned(Arc::new(samples))
    }
}

/// A copy of a chunk in memory of its own.
fn copied(chunk: &dyn SampleChunk) -> Result<SampleBlock, TypesError> {
    fn of<S: Sample>(chunk: &dyn SampleChunk, data: Array2<S>) -> Result<SampleBlock, TypesError>
    where
        SampleBlock: From<Samples<S>>,
    {
        let samples = Samples::new(data, chunk.inputs())?
            .with_sample_rate(chunk.sample_rate_hz())?
            .with_first_sample(chunk.first_sample());
        Ok(match chunk.centre_hz() {
            Some(centre) => samples.with_centre_frequency(centre)?.into(),
            None => samples.into(),
        })
    }
    let block = match chunk.view() {
        SampleView::Packed { bytes, bits, times } => {
            let samples = PackedSamples::new(bytes.to_owned(), bits, times, chunk.inputs())?
                .with_sample_rate(chunk.sample_rate_hz())?
                .with_first_sample(chunk.first_sample());
            match chunk.centre_hz() {
                Some(centre) => samples.with_centre_frequency(centre)?.into(),
                None => samples.into(),
            }
        }
        SampleView::Int8(data) => of(chunk, data.to_owned())?,
        SampleView::Int16(data) => of(chunk, data.to_owned())?,
        SampleView::Float16(data) => of(chunk, data.to_owned())?,
        SampleView::Float32(data) => of(chunk, data.to_owned())?,
        SampleView::ComplexInt8(data) => of(chunk, data.to_owned())?,
        SampleView::ComplexInt16(data) => of(chunk, data.to_owned())?,
        SampleView::ComplexFloat16(data) => of(chunk, data.to_owned())?,
        SampleView::ComplexFloat32(data) => of(chunk, data.to_owned())?,
    };
    match chunk.presence() {
        Some(presence) => block.with_presence(presence.clone()),
        None => Ok(block),
    }
}

impl SampleBlock {
    /// The samples as operations on chunks take them.
    pub fn as_chunk(&self) -> &dyn SampleChunk {
        typed!(self, packed => packed, pinned => &**pinned, samples, variant => samples)
    }

    /// Counter of the first sample.
    pub fn first_sample(&self) -> u64 {
        self.as_chunk().first_sample()
    }

    /// Samples of each input.
    pub fn times(&self) -> usize {
        self.as_chunk().times()
    }

    /// Counter of the sample after the last one.
    pub fn end_sample(&self) -> u64 {
        self.first_sample().saturating_add(self.times() as u64)
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.as_chunk().inputs()
    }

    /// Bytes of the samples.
    pub fn bytes(&self) -> u64 {
        let bits = u64::from(self.as_chunk().format().sample_bits());
        self.inputs().len() as u64 * (self.times() as u64 * bits).div_ceil(8)
    }

    /// Sets the presence flags.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for flags of other inputs or another length.
    pub fn with_presence(self, presence: SamplePresence) -> Result<Self, TypesError> {
        typed!(self, packed => packed.with_presence(presence).map(Self::Packed),
            pinned => match Arc::try_unwrap(pinned) {
                Ok(alone) => alone.try_map(|rows| rows.with_presence(presence)).map(Self::from),
                Err(shared) => copied(&*shared)?.with_presence(presence),
            },
            samples, variant => samples.with_presence(presence).map(variant))
    }

    /// The samples of some antennas.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for antennas that there are not, others as the samples' constructors for none.
    pub fn of_antennas(&self, antennas: std::ops::Range<usize>) -> Result<Self, TypesError> {
        let all = self.inputs();
        if antennas.end > all.antennas() {
            let (array, dimension) = ("samples", Dimension::Antenna);
            return Err(TypesError::Dimension { array, dimension, expected: antennas.end, actual: all.antennas() });
        }
        let inputs = Inputs::new(antennas.len(), all.pols())?;
        let rows = antennas.start * all.pols()..antennas.end * all.pols();
        typed!(self, packed => packed_inputs(packed, inputs, rows).map(Self::Packed),
            pinned => copied(&**pinned)?.of_antennas(antennas),
            samples, variant => typed_inputs(samples, inputs, rows).map(variant))
    }

    /// The first `times` samples and the rest. Packed ones are cut at a multiple of 8 samples.
    ///
    /// # Errors
    /// [`TypesError::Multiple`] if packed samples are cut elsewhere.
    pub fn split_at(self, times: usize) -> Result<[Self; 2], TypesError> {
        let times = times.min(self.times());
        typed!(self, packed => split_packed(&packed, times).map(|parts| parts.map(Self::Packed)),
            pinned => copied(&*pinned)?.split_at(times),
            samples, variant => split_typed(&samples, times).map(|parts| parts.map(variant)))
    }
}

/// Flags of the first `times` samples and of the rest.
fn split_presence(presence: &SamplePresence, times: usize, all: usize) -> Result<[SamplePresence; 2], TypesError> {
    let block = presence.samples_per_block();
    let step = greatest_common_divisor(block, times).max(1);
    let flags = presence.flags();
    let part = |first: usize, count: usize| {
        let shape = (flags.nrows(), count.div_ceil(step));
        SamplePresence::new(
            step,
            Array2::from_shape_fn(shape, |(input, at)| flags[(input, (first + at * step) / block)]),
        )
    };
    Ok([part(0, times)?, part(times, all - times)?])
}

pub(crate) fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Flags of some rows.
fn presence_of(presence: &SamplePresence, rows: std::ops::Range<usize>) -> Result<SamplePresence, TypesError> {
    SamplePresence::new(presence.samples_per_block(), presence.flags().slice(s![rows, ..]).to_owned())
}

fn typed_inputs<S: Sample>(
    samples: &Samples<S>,
    inputs: Inputs,
    rows: std::ops::Range<usize>,
) -> Result<Samples<S>, TypesError> {
    let part = Samples::new(samples.data().slice(s![rows.clone(), ..]).to_owned(), inputs)?
        .with_sample_rate(samples.sample_rate_hz())?
        .with_first_sample(samples.first_sample());
    let part = match samples.centre_hz() {
        Some(centre) => part.with_centre_frequency(centre)?,
        None => part,
    };
    match samples.presence() {
        Some(presence) => part.with_presence(presence_of(presence, rows)?),
        None => Ok(part),
    }
}

fn packed_inputs(
    samples: &PackedSamples,
    inputs: Inputs,
    rows: std::ops::Range<usize>,
) -> Result<PackedSamples, TypesError> {
    let bytes = samples.data().slice(s![rows.clone(), ..]).to_owned();
    let part = PackedSamples::new(bytes, samples.bits(), samples.times(), inputs)?
        .with_sample_rate(samples.sample_rate_hz())?
        .with_first_sample(samples.first_sample());
    let part = match samples.centre_hz() {
        Some(centre) => part.with_centre_frequency(centre)?,
        None => part,
    };
    match samples.presence() {
        Some(presence) => part.with_presence(presence_of(presence, rows)?),
        None => Ok(part),
    }
}

fn split_typed<S: Sample>(samples: &Samples<S>, times: usize) -> Result<[Samples<S>; 2], TypesError> {
    let all = samples.times();
    let presence = samples.presence().map(|presence| split_presence(presence, times, all)).transpose()?;
    let part = |from: usize, to: usize, presence: Option<SamplePresence>| {
        let part = Samples::new(samples.data().slice(s![.., from..to]).to_owned(), samples.inputs())?
            .with_sample_rate(samples.sample_rate_hz())?
            .with_first_sample(samples.first_sample() + from as u64);
        let part = match samples.centre_hz() {
            Some(centre) => part.with_centre_frequency(centre)?,
            None => part,
        };
        presence.map_or(Ok(part.clone()), |presence| part.with_presence(presence))
    };
    let [first, second] = presence.map_or([None, None], |parts| parts.map(Some));
    Ok([part(0, times, first)?, part(times, all, second)?])
}

fn split_packed(samples: &PackedSamples, times: usize) -> Result<[PackedSamples; 2], TypesError> {
    let (all, bits) = (samples.times(), samples.bits());
    if times % 8 != 0 && times != all {
        let (array, dimension) = ("packed samples before a cut", Dimension::Time);
        return Err(TypesError::Multiple { array, dimension, expected: 8, actual: times });
    }
    let presence = samples.presence().map(|presence| split_presence(presence, times, all)).transpose()?;
    let cut = (times * bits as usize).div_ceil(8);
    let part = |from: usize, to: usize, first: usize, times: usize, presence: Option<SamplePresence>| {
        let bytes = samples.data().slice(s![.., from..to]).to_owned();
        let part = PackedSamples::new(bytes, bits, times, samples.inputs())?
            .with_sample_rate(samples.sample_rate_hz())?
            .with_first_sample(samples.first_sample() + first as u64);
        let part = match samples.centre_hz() {
            Some(centre) => part.with_centre_frequency(centre)?,
            None => part,
        };
        match presence {
            Some(presence) => part.with_presence(presence),
            None => Ok(part),
        }
    };
    let [first, second] = presence.map_or([None, None], |parts| parts.map(Some));
    let end = (all * bits as usize).div_ceil(8);
    Ok([part(0, cut, 0, times, first)?, part(cut, end, times, all - times, second)?])
}

/// Channelised voltages `[batch][antenna][channel][spectrum][pol]` of any format.
#[derive(Debug, Clone, PartialEq)]
pub enum HeapBlock {
    /// 4 bits a part.
    Int4(Heaps<Complex4>),
    /// 8 bits a part.
    Int8(Heaps<Complex<i8>>),
    /// Half precision.
    Float16(Heaps<Complex<f16>>),
    /// Single precision.
    Float32(Heaps<Complex<f32>>),
    /// 4 bits a part, in pinned memory: a GPU reads it without a copy by the host.
    PinnedInt4(Arc<PinnedHeaps<Complex4>>),
    /// 8 bits a part, in pinned memory.
    PinnedInt8(Arc<PinnedHeaps<Complex<i8>>>),
    /// Half precision, in pinned memory.
    PinnedFloat16(Arc<PinnedHeaps<Complex<f16>>>),
    /// Single precision, in pinned memory.
    PinnedFloat32(Arc<PinnedHeaps<Complex<f32>>>),
}

macro_rules! heaps {
    ($self:expr, $heaps:ident => $of:expr) => {
        match $self {
            HeapBlock::Int4($heaps) => $of,
            HeapBlock::Int8($heaps) => $of,
            HeapBlock::Float16($heaps) => $of,
            HeapBlock::Float32($heaps) => $of,
            HeapBlock::PinnedInt4($heaps) => $of,
            HeapBlock::PinnedInt8($heaps) => $of,
            HeapBlock::PinnedFloat16($heaps) => $of,
            HeapBlock::PinnedFloat32($heaps) => $of,
        }
    };
}

impl HeapBlock {
    /// When the spectra were taken.
    pub fn clock(&self) -> SpectrumClock {
        heaps!(self, heaps => heaps.clock())
    }

    /// Number of spectra.
    pub fn times(&self) -> usize {
        heaps!(self, heaps => heaps.times())
    }

    /// Name of the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Int4(_) | Self::PinnedInt4(_) => "heaps of 4 bits",
            Self::Int8(_) | Self::PinnedInt8(_) => "heaps of 8 bits",
            Self::Float16(_) | Self::PinnedFloat16(_) => "heaps of f16",
            Self::Float32(_) | Self::PinnedFloat32(_) => "heaps of f32",
        }
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, HostRows, SampleFormat, SampleRows};

    use super::*;

    #[test]
    fn a_copy_of_rows_is_the_samples_that_they_are() {
        let inputs = Inputs::single_pol(2).unwrap();
        let values = Array2::from_shape_fn((2, 24), |(input, time)| (50 * input + time) as i16 - 30);
        let presence = || SamplePresence::new(8, Array2::from_shape_fn((2, 3), |(input, at)| input != at)).unwrap();
        let packed = PackedSamples::pack(values.view(), 10, inputs).unwrap().with_first_sample(80);
        let packed = packed.with_sample_rate(1e6).unwrap().with_presence(presence()).unwrap();
        // Rows of 30 bytes, 32 apart.
        let mut words = vec![0u32; 16 + SampleRows::<Vec<u32>>::PADDING_WORDS];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for (row, to) in packed.data().rows().into_iter().zip(bytes.chunks_mut(32)) {
            to[..30].copy_from_slice(row.as_slice().unwrap());
        }
        let rows = SampleRows::new(words, 32, ChunkFormat::Packed { bits: 10 }, 24, inputs).unwrap();
        let rows = rows.with_first_sample(80).with_sample_rate(1e6).unwrap().with_presence(presence()).unwrap();
        assert_eq!(copied(&HostRows::new(rows).unwrap()), Ok(SampleBlock::Packed(packed)));

        let typed = Samples::new(values.clone(), inputs).unwrap().with_centre_frequency(1e9).unwrap();
        let words = values.iter().collect::<Vec<_>>();
        let words = words.chunks(2).map(|pair| u32::from(*pair[0] as u16) | u32::from(*pair[1] as u16) << 16);
        let padding = [0; SampleRows::<Vec<u32>>::PADDING_WORDS];
        let format = ChunkFormat::Typed { format: SampleFormat::Int16, complex: false };
        let rows = SampleRows::new(words.chain(padding).collect::<Vec<u32>>(), 48, format, 24, inputs).unwrap();
        let rows = HostRows::new(rows.with_centre_frequency(1e9).unwrap()).unwrap();
        assert_eq!(copied(&rows), Ok(SampleBlock::Int16(typed)));
    }
}
