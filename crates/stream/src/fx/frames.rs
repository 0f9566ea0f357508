//! Frames between the stages of an instrument, wherever they lie.

use std::borrow::Cow;
use std::sync::Arc;

use fringes_backend::{DeviceArray, DeviceHeaps, Downloader, PinnedHeaps, ToHost};
use fringes_interference::Power;
use fringes_types::{
    Complex, Complex4, Frequencies, Heaps, LinearArray, SpectrumClock, TypesError, Visibilities, VoltageSample, f16,
};
use ndarray::{Array1, Array2, ArrayView2};

use crate::sink::Sums;
use crate::{BoxError, HeapBlock, StreamError};
use fringes_f_engine::FrameSample;

/// Heaps on the host or on a device.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it lies behind an `Arc` between the stages")]
pub(crate) enum FrameData<V: VoltageSample> {
    /// On the host.
    Host(Heaps<V>),
    /// In pinned memory.
    Pinned(Arc<PinnedHeaps<V>>),
    /// On a device; parts of them may live longer.
    Device(Arc<DeviceHeaps<'static, V>>),
}

impl<V: VoltageSample> FrameData<V> {
    pub(crate) fn clock(&self) -> SpectrumClock {
        match self {
            Self::Host(heaps) => heaps.clock(),
            Self::Pinned(heaps) => heaps.clock(),
            Self::Device(heaps) => heaps.clock(),
        }
    }

    pub(crate) fn batches(&self) -> usize {
        match self {
            Self::Host(heaps) => heaps.batches(),
            Self::Pinned(heaps) => heaps.batches(),
            Self::Device(heaps) => heaps.batches(),
        }
    }

    pub(crate) fn times(&self) -> usize {
        match self {
            Self::Host(heaps) => heaps.times(),
            Self::Pinned(heaps) => heaps.times(),
            Self::Device(heaps) => heaps.times(),
        }
    }

    pub(crate) fn frequencies(&self) -> Frequencies {
        match self {
            Self::Host(heaps) => heaps.frequencies(),
            Self::Pinned(heaps) => heaps.frequencies(),
            Self::Device(heaps) => heaps.frequencies(),
        }
    }

    /// Number of voltages.
    pub(crate) fn values(&self) -> usize {
        match self {
            Self::Host(heaps) => heaps.data().len(),
            Self::Pinned(heaps) => heaps.array().len(),
            Self::Device(heaps) => heaps.array().len(),
        }
    }

    /// Flags `[batch][antenna]`, if there are any.
    pub(crate) fn presence(&self) -> Option<ArrayView2<'_, bool>> {
        match self {
            Self::Host(heaps) => heaps.presence(),
            Self::Pinned(heaps) => heaps.presence(),
            Self::Device(heaps) => heaps.presence(),
        }
    }

    /// The memory of heaps on the host.
    pub(crate) fn into_values(self) -> Option<Vec<V>> {
        match self {
            Self::Host(heaps) => Some(heaps.into_data().into_raw_vec_and_offset().0),
            Self::Pinned(_) | Self::Device(_) => None,
        }
    }

    /// Heaps on the host: themselves, or a copy.
    pub(crate) fn on_host(&self) -> Result<Cow<'_, Heaps<V>>, BoxError> {
        Ok(match self {
            Self::Host(heaps) => Cow::Borrowed(heaps),
            Self::Pinned(heaps) => Cow::Owned(heaps.to_host()?),
            Self::Device(heaps) => Cow::Owned(heaps.to_host()?),
        })
    }
}

/// Heaps that a source gave.
#[derive(Debug)]
#[doc(hidden)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
pub enum SourceHeaps<V: VoltageSample> {
    /// On the host.
    Host(Heaps<V>),
    /// In pinned memory.
    Pinned(Arc<PinnedHeaps<V>>),
}

impl<V: VoltageSample> From<SourceHeaps<V>> for FrameData<V> {
    fn from(heaps: SourceHeaps<V>) -> Self {
        match heaps {
            SourceHeaps::Host(heaps) => Self::Host(heaps),
            SourceHeaps::Pinned(heaps) => Self::Pinned(heaps),
        }
    }
}

/// Counts of saturated values, where the frames lie.
#[derive(Debug)]
pub(crate) enum Saturated {
    Host(Array2<u64>),
    Device(DeviceArray<'static, u32>),
}

impl Saturated {
    /// Their sum; of a device's they are waited for.
    pub(crate) fn sum(&self, downloader: Option<&mut Downloader>) -> Result<u64, StreamError> {
        Ok(match (self, downloader) {
            (Self::Host(counts), _) => counts.sum(),
            (Self::Device(counts), Some(downloader)) => {
                let counts = downloader.elements(counts).map_err(fringes_channelizer::ChannelizerError::from)?;
                counts.into_iter().map(u64::from).sum()
            }
            (Self::Device(_), None) => 0,
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A format of channelised voltages that an instrument can have: `Complex4`, `Complex<i8>`, `Complex<f16>`,
/// `Complex<f32>`. Nothing else can implement it.
pub trait StreamSample: FrameSample + Power + sealed::Sealed {
    /// The sums of a dump as a sink takes them.
    #[doc(hidden)]
    fn sums(dump: Visibilities<Self::Accumulator>) -> Sums;

    /// The memory of a dump's sums, to be used again.
    #[doc(hidden)]
    fn memory(sums: Sums) -> Option<Vec<Self::Accumulator>>;

    /// Heaps of this format, or what they are.
    #[doc(hidden)]
    fn heaps(block: HeapBlock) -> Result<SourceHeaps<Self>, &'static str>;

    /// The voltage as 8-bit integers, if it is one.
    #[doc(hidden)]
    fn to_int8(self) -> Option<Complex<i8>>;
}

macro_rules! formats {
    ($($type:ty, $sums:ident, $heaps:ident, $pinned:ident, $int8:expr;)*) => { $(
        impl sealed::Sealed for $type {}
        impl StreamSample for $type {
            fn sums(dump: Visibilities<Self::Accumulator>) -> Sums {
                Sums::$sums(dump)
            }

            fn memory(sums: Sums) -> Option<Vec<Self::Accumulator>> {
                match sums {
                    Sums::$sums(sums) => Some(sums.into_data().into_raw_vec_and_offset().0),
                    _ => None,
                }
            }

            fn heaps(block: HeapBlock) -> Result<SourceHeaps<Self>, &'static str> {
                match block {
                    HeapBlock::$heaps(heaps) => Ok(SourceHeaps::Host(heaps)),
                    HeapBlock::$pinned(heaps) => Ok(SourceHeaps::Pinned(heaps)),
                    other => Err(other.format()),
                }
            }

            fn to_int8(self) -> Option<Complex<i8>> {
                let convert: fn(Self) -> Option<Complex<i8>> = $int8;
                convert(self)
            }
        }
    )* };
}

formats! {
    Complex4, Integers, Int4, PinnedInt4, |value| {
        let value = value.to_c32();
        Some(Complex::new(value.re as i8, value.im as i8))
    };
    Complex<i8>, Integers, Int8, PinnedInt8, Some;
    Complex<f16>, Floats, Float16, PinnedFloat16, |_| None;
    Complex<f32>, Floats, Float32, PinnedFloat32, |_| None;
}

/// The baselines of some antennas, as visibilities of those alone.
pub(crate) fn subset<A: fringes_types::Accumulator>(
    dump: &Visibilities<A>,
    antennas: &[usize],
) -> Result<Visibilities<A>, TypesError> {
    use fringes_types::{BaselineOrder, Inputs};

    let pols = dump.inputs().pols();
    let inputs = Inputs::new(antennas.len(), pols)?;
    let places: Vec<(usize, bool)> = (0..inputs.triangle_len())
        .filter_map(|baseline| {
            let product = BaselineOrder::Triangle.product(inputs, baseline)?;
            let of = |input: usize| antennas.get(input / pols).map(|antenna| antenna * pols + input % pols);
            let (a, b) = (of(product.a)?, of(product.b)?);
            let (high, low) = (a.max(b), a.min(b));
            Some((high * (high + 1) / 2 + low, a < b))
        })
        .collect();
    let data = dump.data();
    let sums = Array2::from_shape_fn((data.nrows(), places.len()), |(channel, baseline)| {
        let (place, turned) = places[baseline];
        let sum = data[(channel, place)];
        if turned { sum.conj() } else { sum }
    });
    let valid: Array1<u64> = places.iter().map(|&(place, _)| dump.valid_samples()[place]).collect();
    let order = BaselineOrder::Triangle;
    let part = Visibilities::new(sums, inputs, order, valid, dump.times(), dump.frequencies(), dump.clock())?;
    match dump.masked_samples() {
        Some(masked) => {
            part.with_masked_samples(masked.reordered(places.len(), |to| places.get(to).map(|&(place, _)| place)))
        }
        None => Ok(part),
    }
}
