//! The chunks that beams are detected of.

use fringes_backend::{DeviceDetectedBeams, DeviceHeaps, DeviceRows, DeviceVoltages};
use fringes_types::{
    ChannelMask, DetectedBeams, Frequencies, Heaps, Inputs, Rows, SpectrumClock, VoltageSample, Voltages,
};

use super::TiedArrayDetector;
use super::loaded::Loaded;
use crate::BeamformerError;
use crate::work::sent_flags;

/// What a chunk on a device says of itself.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) channels: usize,
    pub(super) times: usize,
    pub(super) inputs: Inputs,
    pub(super) frequencies: Frequencies,
    pub(super) clock: SpectrumClock,
}

/// Voltages of a kind and place that beams are detected of.
///
/// | chunk | detected beams |
/// |---|---|
/// | [`Voltages<V>`], [`Heaps<V>`], [`Rows<V>`] | [`DetectedBeams<f32>`] |
/// | [`DeviceRows<V>`]; [`DeviceVoltages<V>`] and [`DeviceHeaps<V>`], which become rows first | [`DeviceDetectedBeams<f32>`] |
///
/// Sealed: the chunks are these.
pub trait DetectChunk: sealed::Sealed {
    /// Format of the voltages.
    type Sample: VoltageSample;
    /// The detected beams, which lie where the voltages lie.
    type Detected;

    /// Detects beams, of what is not masked.
    #[doc(hidden)]
    fn detect(
        &self,
        by: &mut TiedArrayDetector<Self::Sample>,
        mask: Option<&ChannelMask>,
    ) -> Result<Self::Detected, BeamformerError>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! header {
    ($chunk:ident) => {
        Header {
            channels: $chunk.channels(),
            times: $chunk.times(),
            inputs: $chunk.inputs(),
            frequencies: $chunk.frequencies(),
            clock: $chunk.clock(),
        }
    };
}

macro_rules! on_the_host {
    ($($chunk:ident)*) => { $(
        impl<V: VoltageSample> sealed::Sealed for $chunk<V> {}
        impl<V: VoltageSample> DetectChunk for $chunk<V> {
            type Sample = V;
            type Detected = DetectedBeams<f32>;

            fn detect(
                &self,
                by: &mut TiedArrayDetector<V>,
                mask: Option<&ChannelMask>,
            ) -> Result<DetectedBeams<f32>, BeamformerError> {
                by.on_host(self, mask)
            }
        }
    )* };
}

on_the_host!(Voltages Heaps Rows);

impl<V: VoltageSample> sealed::Sealed for DeviceRows<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceRows<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(
        &self,
        by: &mut TiedArrayDetector<V>,
        mask: Option<&ChannelMask>,
    ) -> Result<Self::Detected, BeamformerError> {
        let header = header!(self);
        let mask = by.begin(header, mask)?;
        let counts = match self.presence() {
            Some(flags) => by.counts(|members| members.count(flags, 1))?,
            None => None,
        };
        by.on_device(self.array(), (header, mask), counts, |_, _| Ok(None))
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceVoltages<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceVoltages<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(
        &self,
        by: &mut TiedArrayDetector<V>,
        mask: Option<&ChannelMask>,
    ) -> Result<Self::Detected, BeamformerError> {
        let header = header!(self);
        let mask = by.begin(header, mask)?;
        let counts = match self.presence() {
            Some(flags) => by.counts(|members| members.count(flags, 1))?,
            None => None,
        };
        let shape = [self.channels(), self.times()];
        by.on_device(self.array(), (header, mask), counts, |loaded, view| {
            let Loaded { former, stream, pool, staging, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, self.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            Ok(Some(former.packing().voltages(stream, shape, view, present)?))
        })
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceHeaps<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceHeaps<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(
        &self,
        by: &mut TiedArrayDetector<V>,
        mask: Option<&ChannelMask>,
    ) -> Result<Self::Detected, BeamformerError> {
        let header = header!(self);
        let mask = by.begin(header, mask)?;
        let (inputs, heaps) = (self.inputs(), [self.batches(), self.spectra_per_heap()]);
        let counts = match self.presence() {
            Some(flags) => by.counts(|members| members.count_heaps(flags, inputs, heaps[1]))?,
            None => None,
        };
        by.on_device(self.array(), (header, mask), counts, |loaded, view| {
            let Loaded { former, stream, pool, staging, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, self.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            Ok(Some(former.packing().heaps(stream, self.channels(), heaps, view, present)?))
        })
    }
}
