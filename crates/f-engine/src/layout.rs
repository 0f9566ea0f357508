//! How the values of frames lie: as heaps, or as the correlator's rows.

use fringes_backend::{DeviceArray, DeviceHeaps, DeviceRows, UploadError};
use fringes_types::{Heaps, Rows, VoltageSample, row_times};
use ndarray::{Array4, Array5, ArrayView5};

use super::FrameSample;
use super::output::Header;
use fringes_channelizer::ChannelizerError;

/// Frames `[frame][antenna][channel][spectrum][pol]`: [`Heaps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapFrames;

/// Frames one after the other in the correlator's rows of 128 bytes, `[channel][frame x spectrum / R][input][R]`:
/// [`Rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFrames;

/// How the values of an F-engine's frames lie: [`HeapFrames`] or [`RowFrames`].
///
/// Nothing else can implement it.
pub trait FrameLayout: sealed::Sealed + std::fmt::Debug + Send + Sync + 'static {
    /// Frames in host memory.
    type Host<Q: FrameSample>: std::fmt::Debug + Clone + PartialEq;
    /// Frames in device memory.
    type Device<Q: FrameSample>: std::fmt::Debug;

    /// Whether values are in rows.
    #[doc(hidden)]
    const IS_ROWS: bool;

    /// Frames of values `[frame][antenna][channel][spectrum][pol]`.
    #[doc(hidden)]
    fn host<Q: FrameSample>(header: &Header, values: Array5<Q>) -> Result<Self::Host<Q>, ChannelizerError>;

    /// The values of frames, where the CPU can write others in their place.
    #[doc(hidden)]
    fn values<Q: FrameSample>(frames: Self::Host<Q>) -> Option<Vec<Q>>;

    /// Frames of values on a device.
    #[doc(hidden)]
    fn device<Q: FrameSample>(
        header: &Header,
        values: DeviceArray<'static, Q>,
    ) -> Result<Self::Device<Q>, ChannelizerError>;

    /// The frames on the host.
    #[doc(hidden)]
    fn to_host<Q: FrameSample>(frames: &Self::Device<Q>) -> Result<Self::Host<Q>, UploadError>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::HeapFrames {}
    impl Sealed for super::RowFrames {}
}

impl FrameLayout for HeapFrames {
    type Host<Q: FrameSample> = Heaps<Q>;
    type Device<Q: FrameSample> = DeviceHeaps<'static, Q>;
    const IS_ROWS: bool = false;

    fn host<Q: FrameSample>(header: &Header, values: Array5<Q>) -> Result<Heaps<Q>, ChannelizerError> {
        let heaps = Heaps::from_checked(values)?.with_frequencies(header.frequencies)?.with_clock(header.clock)?;
        Ok(match header.absent_antennas() {
            None => heaps,
            Some(flags) => heaps.with_presence(flags)?,
        })
    }

    fn values<Q: FrameSample>(frames: Heaps<Q>) -> Option<Vec<Q>> {
        Some(frames.into_data().into_raw_vec_and_offset().0)
    }

    fn device<Q: FrameSample>(
        header: &Header,
        values: DeviceArray<'static, Q>,
    ) -> Result<DeviceHeaps<'static, Q>, ChannelizerError> {
        let (inputs, channels, spectra) = (header.inputs, header.channels, header.spectra_per_frame);
        let heaps = Heaps::from_array(values, header.frames(), inputs, channels, spectra)?;
        let heaps = heaps.with_frequencies(header.frequencies)?.with_clock(header.clock)?;
        Ok(match header.absent_antennas() {
            None => heaps,
            Some(flags) => heaps.with_presence(flags)?,
        })
    }

    fn to_host<Q: FrameSample>(frames: &DeviceHeaps<'static, Q>) -> Result<Heaps<Q>, UploadError> {
        fringes_backend::ToHost::to_host(frames)
    }
}

impl FrameLayout for RowFrames {
    type Host<Q: FrameSample> = Rows<Q>;
    type Device<Q: FrameSample> = DeviceRows<'static, Q>;
    const IS_ROWS: bool = true;

    fn host<Q: FrameSample>(header: &Header, values: Array5<Q>) -> Result<Rows<Q>, ChannelizerError> {
        let times = header.spectra_present.nrows();
        let rows = Rows::new(in_rows(values.view()), times, header.inputs)?;
        let rows = rows.with_frequencies(header.frequencies)?.with_clock(header.clock)?;
        Ok(match header.absent_spectra() {
            None => rows,
            Some(flags) => rows.with_presence(flags)?,
        })
    }

    /// Rows are made of values, which go at once.
    fn values<Q: FrameSample>(_: Rows<Q>) -> Option<Vec<Q>> {
        None
    }

    fn device<Q: FrameSample>(
        header: &Header,
        values: DeviceArray<'static, Q>,
    ) -> Result<DeviceRows<'static, Q>, ChannelizerError> {
        let times = header.spectra_present.nrows();
        let rows = Rows::from_array(values, header.channels, times, header.inputs)?;
        let rows = rows.with_frequencies(header.frequencies)?.with_clock(header.clock)?;
        Ok(match header.absent_spectra() {
            None => rows,
            Some(flags) => rows.with_presence(flags)?,
        })
    }

    fn to_host<Q: FrameSample>(frames: &DeviceRows<'static, Q>) -> Result<Rows<Q>, UploadError> {
        fringes_backend::ToHost::to_host(frames)
    }
}

/// Frames `[frame][antenna][channel][spectrum][pol]` of whole rows as `[channel][frame x spectrum / R][input][R]`.
fn in_rows<Q: VoltageSample>(values: ArrayView5<'_, Q>) -> Array4<Q> {
    let (frames, antennas, channels, spectra, pols) = values.dim();
    let row = row_times(Q::FORMAT);
    Array4::from_shape_fn((channels, frames * spectra / row, antennas * pols, row), |(channel, number, input, time)| {
        let time = number * row + time;
        values[(time / spectra, input / pols, channel, time % spectra, input % pols)]
    })
}

#[cfg(test)]
mod tests {
    use fringes_types::Complex;

    use super::*;

    #[test]
    fn rows_have_the_spectra_of_all_frames_one_after_the_other() {
        let values = Array5::from_shape_fn((3, 2, 4, 64, 2), |(frame, antenna, channel, spectrum, pol)| {
            Complex::new((frame * 64 + spectrum) as f32, (channel * 100 + antenna * 10 + pol) as f32)
        });
        let rows = in_rows(values.view());
        assert_eq!(rows.dim(), (4, 12, 4, 16));
        for ((channel, row, input, time), &value) in rows.indexed_iter() {
            let expected = ((row * 16 + time) as f32, (channel * 100 + input / 2 * 10 + input % 2) as f32);
            assert_eq!((value.re, value.im), expected);
        }
    }
}
