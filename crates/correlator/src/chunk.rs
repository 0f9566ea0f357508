//! What is correlated: chunks of voltages, heaps or rows, on the host, in pinned memory or on a device.

use fringes_backend::{DeviceArray, PinnedArray};
use fringes_gpu::Device;
use fringes_types::{Frequencies, Heaps, Inputs, Rows, SpectrumClock, TypesError, VoltageSample, Voltages};
use ndarray::{ArrayView2, ArrayView3, ArrayView4, ArrayView5};

use crate::CorrelatorError;

/// A chunk that everything in this crate takes: [`Voltages`], [`Heaps`] or [`Rows`], with their arrays on the host
/// (`ndarray`), in pinned memory ([`PinnedArray`]) or on a device ([`DeviceArray`]).
///
/// | chunk | on the CPU | on a GPU |
/// |---|---|---|
/// | on the host | correlated where it lies | copied through pinned memory, in pieces, while others are correlated |
/// | in pinned memory | the same | copied by the device |
/// | on a device | an error | correlated where it lies; nothing is copied, nothing waits |
///
/// Nothing else can implement it.
pub trait Chunk<V: VoltageSample>: sealed::Sealed {
    /// What the chunk is, for messages and checks.
    #[doc(hidden)]
    fn description(&self) -> Description<'_>;

    /// Where its elements lie.
    #[doc(hidden)]
    fn place(&self) -> Place<'_, V>;
}

/// Shape, axes and flags of a chunk.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Description<'a> {
    pub(crate) layout: Layout,
    pub(crate) inputs: Inputs,
    pub(crate) channels: usize,
    pub(crate) times: usize,
    pub(crate) frequencies: Frequencies,
    pub(crate) clock: SpectrumClock,
    /// `[batch][antenna]` of heaps, else `[time][input]`.
    pub(crate) presence: Option<ArrayView2<'a, bool>>,
}

/// Order of the dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `[channel][time][input]`.
    Voltages,
    /// `[batch][antenna][channel][spectrum][pol]`.
    Heaps {
        /// Spectra of a heap.
        spectra: usize,
    },
    /// `[channel][time / R][input][R]`.
    Rows,
}

impl Layout {
    /// Name of the array.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Voltages => "voltages",
            Self::Heaps { .. } => "heaps",
            Self::Rows => "rows",
        }
    }
}

/// Where the elements of a chunk lie.
#[derive(Debug)]
#[doc(hidden)]
pub enum Place<'a, V: VoltageSample> {
    /// On the host.
    Host(HostView<'a, V>),
    /// In pinned memory, in standard layout.
    Pinned(&'a PinnedArray<V>),
    /// On a device, in standard layout.
    Device(&'a DeviceArray<'a, V>),
}

/// Elements on the host, of any strides.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum HostView<'a, V> {
    /// `[channel][time][input]`.
    Voltages(ArrayView3<'a, V>),
    /// `[batch][antenna][channel][spectrum][pol]`.
    Heaps(ArrayView5<'a, V>),
    /// `[channel][time / R][input][R]`.
    Rows(ArrayView4<'a, V>),
}

impl<'a, V> HostView<'a, V> {
    /// All elements, if they are in standard layout.
    pub(crate) fn as_slice(&self) -> Option<&'a [V]> {
        match self {
            Self::Voltages(array) => array.to_slice(),
            Self::Heaps(array) => array.to_slice(),
            Self::Rows(array) => array.to_slice(),
        }
    }
}

impl<'a, V: VoltageSample> Place<'a, V> {
    /// The device, if the chunk lies on one.
    pub(crate) fn device(&self) -> Option<&'a Device> {
        match self {
            Self::Device(array) => Some(array.device()),
            Self::Host(_) | Self::Pinned(_) => None,
        }
    }

    /// The elements of a chunk that lies on the host, pinned or not.
    pub(crate) fn on_host(&self, about: &Description<'_>) -> Result<Option<HostView<'a, V>>, CorrelatorError> {
        let array = match self {
            Self::Host(view) => return Ok(Some(*view)),
            Self::Device(_) => return Ok(None),
            Self::Pinned(array) => array.as_slice()?,
        };
        let Description { inputs, channels, times, .. } = *about;
        // A chunk's header and array agree on the number of elements.
        let fault = |_| TypesError::TooLarge { array: about.layout.name(), elements: array.len().to_string() };
        Ok(Some(match about.layout {
            Layout::Voltages => {
                HostView::Voltages(ArrayView3::from_shape((channels, times, inputs.len()), array).map_err(fault)?)
            }
            Layout::Heaps { spectra } => {
                let shape = (times / spectra.max(1), inputs.antennas(), channels, spectra, inputs.pols());
                HostView::Heaps(ArrayView5::from_shape(shape, array).map_err(fault)?)
            }
            Layout::Rows => {
                let row = fringes_types::row_times(V::FORMAT);
                let shape = (channels, times.div_ceil(row), inputs.len(), row);
                HostView::Rows(ArrayView4::from_shape(shape, array).map_err(fault)?)
            }
        }))
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! chunks {
    ($($chunk:ident $layout:expr, $host:ident;)*) => { $(
        chunks!(@ [V] $chunk<V>, $layout, |chunk| Place::Host(HostView::$host(chunk.data())));
        chunks!(@ [V] $chunk<V, PinnedArray<V>>, $layout, |chunk| Place::Pinned(chunk.array()));
        chunks!(@ ['d, V] $chunk<V, DeviceArray<'d, V>>, $layout, |chunk| Place::Device(chunk.array()));
    )* };
    (@ [$($parameter:tt)*] $chunk:ty, $layout:expr, |$of:ident| $place:expr) => {
        impl<$($parameter)*: VoltageSample> sealed::Sealed for $chunk {}

        impl<$($parameter)*: VoltageSample> Chunk<V> for $chunk {
            fn description(&self) -> Description<'_> {
                let layout: fn(&Self) -> Layout = $layout;
                Description {
                    layout: layout(self),
                    inputs: self.inputs(),
                    channels: self.channels(),
                    times: self.times(),
                    frequencies: self.frequencies(),
                    clock: self.clock(),
                    presence: self.presence(),
                }
            }

            fn place(&self) -> Place<'_, V> {
                let $of = self;
                $place
            }
        }
    };
}

chunks! {
    Voltages |_| Layout::Voltages, Voltages;
    Heaps |heaps| Layout::Heaps { spectra: heaps.spectra_per_heap() }, Heaps;
    Rows |_| Layout::Rows, Rows;
}
