//! Detected beams: powers, Stokes parameters or coherencies, summed over spectra and channels.

mod bytes;
mod device_bytes;
mod powers;
mod stream;

use fringes_cpu::memory::zeroed_vec;
use fringes_types::{Beams, DetectedBeams, Detection, InputCounts, MaskedSpectra, TypesError, VoltageSample};
use ndarray::{Array4, ArrayView3};

pub use self::bytes::{ByteScale, DetectedBytes, QuantisedBeams, quantise_beams, to_u8};
pub use self::device_bytes::{DeviceDetectedBytes, to_u8_on_device};
pub(crate) use self::powers::PowerSums;
pub(crate) use self::stream::Axes;
pub use self::stream::DetectStream;
use crate::BeamformerError;
use crate::counts::{SummedCounts, paired};
use crate::masked_counts::{MaskedCounts, Summed};

/// Detects beams `[channel][time][beam]`: sums of the products that a [`Detection`] names.
///
/// ```text
/// sum over n spectra and m channels of    abs(x)^2 + abs(y)^2    (Stokes I; the others: see DetectedProducts)
/// ```
///
/// Beams are on the host, of voltages in `f32`, `f16` or 8-bit integers; the sums are made on the CPU, with every
/// thread of the rayon pool. Missing and masked voltages counted as zero when the beams were formed, and so do they
/// here; [`DetectedBeams::masked_spectra`] says how many spectra of a sum were masked.
///
/// # Precision
/// With `u = 2^-24`, a product is within `(min(n, 64) + ceil(n / 64) + m + 3) u sum (abs(x)^2 + abs(y)^2)` of the exact
/// sum over `n` spectra and `m` channels.
///
/// ```
/// use fringes_beamformer::detect;
/// use fringes_types::{Beams, Complex, DetectedProducts, Detection, Frequencies, SpectrumClock};
/// use ndarray::Array3;
///
/// // Two polarisations of one beam: y lags x by a quarter of a turn, which is right-handed.
/// let wave = [Complex::new(1f32, 0.0), Complex::new(0.0, -1.0)];
/// let voltages = Array3::from_shape_fn((4, 100, 2), |(_, _, pol)| wave[pol]);
/// let beams = Beams::new(voltages, Frequencies::default(), SpectrumClock::default())?;
/// let stokes = detect(&beams, &Detection::new(DetectedProducts::Stokes, 10, 2)?)?;
/// assert_eq!(stokes.data().dim(), (2, 10, 1, 4));
/// assert_eq!(stokes.data().iter().take(4).copied().collect::<Vec<_>>(), [40.0, 0.0, 0.0, -40.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`TypesError::Multiple`] for spectra, channels or polarisations that are no whole number of sums ([`DetectStream`]
/// waits for the rest of a sum), [`TypesError::TooLarge`] for a sum of more than 2^64 samples.
pub fn detect<V: VoltageSample>(
    beams: &Beams<V>,
    detection: &Detection,
) -> Result<DetectedBeams<f32>, BeamformerError> {
    detection.times_of(beams.times())?;
    let _span = tracing::debug_span!("detect", times = beams.times(), beams = beams.beams()).entered();
    let (frequencies, clock) = (detection.frequencies(beams.frequencies()), detection.clock(beams.clock())?);
    let data = whole_sums(beams.data(), detection)?;
    let spectra = [0, beams.times(), detection.times()];
    let counts = beams.input_counts().map(|counts| paired(counts, detection.products().pols())).transpose()?;
    let counts = SummedCounts::default().sum(counts.as_ref(), spectra)?;
    let chunk = Summed { channels: beams.channels(), times: beams.times(), clock: beams.clock(), pending: 0 };
    let masked = MaskedCounts::default().sum(beams.mask(), chunk, detection)?;
    let detected = DetectedBeams::new(data, detection.products(), frequencies, clock)?;
    with_counts(detected, counts, masked)
}

/// Detected beams with what was counted of them.
pub(crate) fn with_counts<A>(
    mut detected: DetectedBeams<f32, A>,
    counts: Option<InputCounts>,
    masked: Option<MaskedSpectra>,
) -> Result<DetectedBeams<f32, A>, BeamformerError> {
    if let Some(counts) = counts {
        detected = detected.with_input_counts(counts)?;
    }
    if let Some(masked) = masked {
        detected = detected.with_masked_spectra(masked)?;
    }
    Ok(detected)
}

/// The sums of spectra that are a whole number of them.
fn whole_sums<V: VoltageSample>(beams: ArrayView3<'_, V>, detection: &Detection) -> Result<Array4<f32>, TypesError> {
    let (channels, times, count) = beams.dim();
    let shape = (
        detection.channels_of(channels)?,
        detection.times_of(times)?,
        detection.beams_of(count)?,
        detection.products().count(),
    );
    let mut out = zeroed_vec(shape.0 * shape.1 * shape.2 * shape.3);
    fringes_cpu::beamformer::detect_into(beams, detection, &mut out);
    Array4::from_shape_vec(shape, out)
        .map_err(|_| TypesError::TooLarge { array: "detected beams", elements: format!("{shape:?}") })
}
