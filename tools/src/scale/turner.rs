//! The ways of the corner turn.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fringes::{DeviceHeaps, Inputs, TurnRing, VoltageSample, turn_channels};
use fringes_gpu::{Device, Stream};

use crate::end::End;

/// How frames go from the F-engines' GPUs to the X-engines'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By copies with strides from one GPU to another.
    Copies,
    /// By packing, messages of NCCL, and placing.
    Nccl,
    /// Not at all: F-engines write where X-engines read ([`fringes::TurnRing::new`]).
    Stores,
    /// By copies of the frames of other GPUs' channels alone, as they lie ([`fringes::TurnRing::with_copies`]).
    Frames,
}

impl Way {
    /// The way in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Copies => "peer copies",
            Self::Nccl => "NCCL",
            Self::Stores => "the F-engine's stores",
            Self::Frames => "copies of frames",
        }
    }

    /// Whether frames lie in a ring: there is no turn apart from the F-engine then.
    pub(crate) fn has_ring(self) -> bool {
        matches!(self, Self::Stores | Self::Frames)
    }
}

/// Version of NCCL, or why it cannot be had.
pub(crate) fn nccl() -> Result<String, String> {
    #[cfg(feature = "nccl")]
    {
        let version = fringes_gpu::nccl::version().map_err(|error| error.to_string())?;
        Ok(format!("{}.{}.{}", version.0, version.1, version.2))
    }
    #[cfg(not(feature = "nccl"))]
    Err("the program was built without the feature `nccl`".into())
}

/// Places for frames of some GPUs, by stores or with copies.
pub(crate) fn ring<V: VoltageSample>(
    way: Way,
    devices: &[Device],
    inputs: Inputs,
    channels: usize,
    spectra: usize,
    frames: usize,
) -> Result<TurnRing<V>, End> {
    let ring = if way == Way::Frames { TurnRing::with_copies } else { TurnRing::new };
    ring(devices, inputs, channels, spectra, frames).map_err(End::failed)
}

/// A turn among GPUs.
pub(crate) struct Turner {
    way: Way,
    streams: Vec<Stream>,
    channels: Vec<Range<usize>>,
    #[cfg(feature = "nccl")]
    nccl: Mutex<Option<fringes::NcclTurn>>,
    #[cfg(not(feature = "nccl"))]
    nccl: Mutex<Option<()>>,
}

impl Turner {
    /// A turn that gives each rank its channels, on its stream.
    pub(crate) fn new(way: Way, streams: Vec<Stream>, channels: Vec<Range<usize>>) -> Result<Self, End> {
        let nccl = match way {
            Way::Copies | Way::Stores | Way::Frames => None,
            #[cfg(feature = "nccl")]
            Way::Nccl => Some(fringes::NcclTurn::new(&streams).map_err(End::failed)?),
            #[cfg(not(feature = "nccl"))]
            Way::Nccl => Some(()),
        };
        Ok(Self { way, streams, channels, nccl: Mutex::new(nccl) })
    }

    /// Gives other channels to the ranks.
    pub(crate) fn set_channels(&mut self, channels: Vec<Range<usize>>) {
        self.channels = channels;
    }

    /// The way.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Bytes of values that a rank gets of others, and of its own, a turn.
    pub(crate) fn bytes(&self, rank: usize, antennas: &[Range<usize>], value_bytes: usize) -> (f64, f64) {
        let of = |antennas: usize| (antennas * self.channels[rank].len() * value_bytes) as f64;
        let own = antennas[rank].len();
        (of(antennas.iter().map(Range::len).sum::<usize>() - own), of(own))
    }

    /// What a rank gets, by copies.
    pub(crate) fn copy<V: VoltageSample>(
        &self,
        rank: usize,
        frames: &[&DeviceHeaps<'_, V>],
    ) -> Result<DeviceHeaps<'static, V>, End> {
        turn_channels(frames, self.channels[rank].clone(), &self.streams[rank]).map_err(End::failed)
    }

    /// What all ranks get, queued by one thread.
    pub(crate) fn all<V: VoltageSample>(
        &self,
        frames: &[&DeviceHeaps<'_, V>],
    ) -> Result<Vec<DeviceHeaps<'static, V>>, End> {
        let mut nccl = self.nccl.lock().unwrap_or_else(PoisonError::into_inner);
        match nccl.as_mut() {
            None => (0..self.streams.len()).map(|rank| self.copy(rank, frames)).collect(),
            #[cfg(feature = "nccl")]
            Some(nccl) => nccl.turn(frames, &self.channels).map_err(End::failed),
            #[cfg(not(feature = "nccl"))]
            Some(()) => Err(End::failed("the program was built without the feature `nccl`")),
        }
    }
}
