//! What powers are summed of: chunks of voltages, heaps or rows, in host memory or on a device.

use fringes_backend::{Backend, DeviceArray, PinnedArray};
use fringes_cpu::power::{self as cpu, Blocks, Power};
use fringes_types::{
    Dimension, Frequencies, Heaps, Inputs, Rows, SampleFormat, SpectrumClock, TypesError, VoltageSample, Voltages,
    row_times,
};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, ArrayView4, ArrayView5, ArrayViewMut3};

use crate::{InterferenceError, device};

/// A chunk whose powers can be summed: [`Voltages`], [`Heaps`] or [`Rows`] in host memory, pinned, or on a device
/// ([`DeviceArray`]).
///
/// Nothing else can implement it.
pub trait PowerChunk: sealed::Sealed {
    /// Format of the voltages.
    type Sample: Power;

    /// Shape, axes and flags.
    #[doc(hidden)]
    fn about(&self) -> About<'_>;

    /// Whether a backend can add up these powers.
    #[doc(hidden)]
    fn check(&self, backend: &Backend) -> Result<(), InterferenceError>;

    /// Adds up powers; the sums have the shape that blocks make of the chunk.
    #[doc(hidden)]
    fn sum(
        &self,
        backend: &Backend,
        blocks: Blocks,
        sums: &mut [Array3<Sum<Self>>; 2],
    ) -> Result<(), InterferenceError>;
}

/// What a chunk's powers are summed in.
type Sum<C> = <<C as PowerChunk>::Sample as fringes_cpu::power::Lanes>::Sum;

/// Shape, axes and flags of a chunk.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct About<'a> {
    pub(crate) format: SampleFormat,
    pub(crate) inputs: Inputs,
    pub(crate) channels: usize,
    pub(crate) times: usize,
    pub(crate) frequencies: Frequencies,
    pub(crate) clock: SpectrumClock,
    flags: Option<ArrayView2<'a, bool>>,
    /// Spectra and inputs of a flag.
    of_flag: (usize, usize),
}

impl About<'_> {
    /// Present spectra of each block and input.
    pub(crate) fn counts(&self, blocks: Blocks) -> Array2<u64> {
        let inputs = self.inputs.len();
        let all = |block: usize| blocks.range(block, self.times).len() as u64;
        let Some(flags) = self.flags else {
            return Array2::from_shape_fn((blocks.count(self.times), inputs), |(block, _)| all(block));
        };
        if self.of_flag == (1, 1) {
            return cpu::present_spectra(flags, blocks);
        }
        let (spectra, pols) = self.of_flag;
        let of_spectra =
            Array2::from_shape_fn((self.times, inputs), |(time, input)| flags[(time / spectra, input / pols)]);
        cpu::present_spectra(of_spectra.view(), blocks)
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! about {
    ($of_flag:expr) => {
        fn about(&self) -> About<'_> {
            let of_flag: fn(&Self) -> (usize, usize) = $of_flag;
            About {
                format: V::FORMAT,
                inputs: self.inputs(),
                channels: self.channels(),
                times: self.times(),
                frequencies: self.frequencies(),
                clock: self.clock(),
                flags: self.presence(),
                of_flag: of_flag(self),
            }
        }
    };
}

macro_rules! chunks {
    ($($chunk:ty, $of_flag:expr, $sum:expr;)*) => { $(
        impl<V: Power> sealed::Sealed for $chunk {}

        impl<V: Power> PowerChunk for $chunk {
            type Sample = V;

            about!($of_flag);

            fn check(&self, backend: &Backend) -> Result<(), InterferenceError> {
                backend.gpu_for(device::OPERATION, false)?;
                Ok(())
            }

            fn sum(
                &self,
                _: &Backend,
                blocks: Blocks,
                sums: &mut [Array3<Sum<Self>>; 2],
            ) -> Result<(), InterferenceError> {
                type Views<'a, V> = [ArrayViewMut3<'a, <V as fringes_cpu::power::Lanes>::Sum>; 2];
                let sum: fn(&Self, Blocks, Views<'_, V>) -> Result<(), InterferenceError> = $sum;
                let [first, second] = sums;
                sum(self, blocks, [first.view_mut(), second.view_mut()])
            }
        }
    )* };
}

chunks! {
    Voltages<V>, |_| (1, 1), |chunk, blocks, sums| {
        cpu::power_sums(chunk.data(), chunk.presence(), blocks, sums);
        Ok(())
    };
    Voltages<V, PinnedArray<V>>, |_| (1, 1), |chunk, blocks, sums| {
        cpu::power_sums(pinned_voltages(chunk)?, chunk.presence(), blocks, sums);
        Ok(())
    };
    Heaps<V>, |heaps| (heaps.spectra_per_heap(), heaps.inputs().pols()), |chunk, blocks, sums| {
        cpu::power_sums_of_heaps(chunk.data(), chunk.presence(), blocks, sums);
        Ok(())
    };
    Heaps<V, PinnedArray<V>>, |heaps| (heaps.spectra_per_heap(), heaps.inputs().pols()), |chunk, blocks, sums| {
        cpu::power_sums_of_heaps(pinned_heaps(chunk)?, chunk.presence(), blocks, sums);
        Ok(())
    };
    Rows<V>, |_| (1, 1), |chunk, blocks, sums| {
        cpu::power_sums_of_rows(chunk.data(), chunk.times(), blocks, sums);
        Ok(())
    };
    Rows<V, PinnedArray<V>>, |_| (1, 1), |chunk, blocks, sums| {
        cpu::power_sums_of_rows(pinned_rows(chunk)?, chunk.times(), blocks, sums);
        Ok(())
    };
}

macro_rules! device_chunks {
    ($($chunk:ident, $of_flag:expr, $sum:ident;)*) => { $(
        impl<V: Power> sealed::Sealed for $chunk<V, DeviceArray<'_, V>> {}

        impl<V: Power> PowerChunk for $chunk<V, DeviceArray<'_, V>> {
            type Sample = V;

            about!($of_flag);

            fn check(&self, backend: &Backend) -> Result<(), InterferenceError> {
                backend.gpu_with(self.array().device())?;
                Ok(())
            }

            fn sum(
                &self,
                backend: &Backend,
                blocks: Blocks,
                sums: &mut [Array3<Sum<Self>>; 2],
            ) -> Result<(), InterferenceError> {
                device::$sum(backend, self, blocks, sums.each_mut())
            }
        }
    )* };
}

device_chunks! {
    Voltages, |_| (1, 1), sum_voltages;
    Heaps, |heaps| (heaps.spectra_per_heap(), heaps.inputs().pols()), sum_heaps;
    Rows, |_| (1, 1), sum_rows;
}

/// An array that does not have its header's shape: no constructor makes one.
fn fault(array: &'static str) -> impl Fn(ndarray::ShapeError) -> TypesError {
    move |_| TypesError::Empty { array, dimension: Dimension::Time }
}

fn pinned_voltages<V: VoltageSample>(
    chunk: &Voltages<V, PinnedArray<V>>,
) -> Result<ArrayView3<'_, V>, InterferenceError> {
    let shape = (chunk.channels(), chunk.times(), chunk.inputs().len());
    Ok(ArrayView3::from_shape(shape, chunk.array().as_slice()?).map_err(fault("voltages"))?)
}

fn pinned_heaps<V: VoltageSample>(chunk: &Heaps<V, PinnedArray<V>>) -> Result<ArrayView5<'_, V>, InterferenceError> {
    let (inputs, spectra) = (chunk.inputs(), chunk.spectra_per_heap());
    let shape = (chunk.batches(), inputs.antennas(), chunk.channels(), spectra, inputs.pols());
    Ok(ArrayView5::from_shape(shape, chunk.array().as_slice()?).map_err(fault("heaps"))?)
}

fn pinned_rows<V: VoltageSample>(chunk: &Rows<V, PinnedArray<V>>) -> Result<ArrayView4<'_, V>, InterferenceError> {
    let row = row_times(V::FORMAT);
    let shape = (chunk.channels(), chunk.times().div_ceil(row), chunk.inputs().len(), row);
    Ok(ArrayView4::from_shape(shape, chunk.array().as_slice()?).map_err(fault("rows"))?)
}
