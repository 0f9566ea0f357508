//! Beams from channelised voltages `[channel][time][input]`: tied-array, incoherent and FFT beams `[channel][time][beam]`.
//!
//! [`beamform`] takes voltages of any format and a [`BeamSet`]: [`BeamWeights`](fringes_types::BeamWeights) for tied-array
//! beams, [`IncoherentBeams`] for sums of powers, [`FftBeams`] for the fan of beams of each line of feeds.
//!
//! ```
//! use std::f32::consts::TAU;
//!
//! use fringes_beamformer::beamform;
//! use fringes_backend::Backend;
//! use fringes_types::{BeamWeights, Complex, Inputs, Voltages};
//! use ndarray::Array3;
//!
//! // A plane wave on a line of 16 antennas: the phase falls by an eighth of a turn from one to the next.
//! let wave = Array3::from_shape_fn((1, 10, 16), |(_, _, n)| Complex::cis(-TAU * n as f32 / 8.0));
//! let voltages = Voltages::new(wave, Inputs::single_pol(16)?)?;
//!
//! // Beam 0 is steered at it, beam 1 straight up.
//! let steering = [0.125, 0.0];
//! let weights = Array3::from_shape_fn((2, 1, 16), |(beam, _, n)| Complex::cis(TAU * steering[beam] * n as f32));
//! let beams = beamform(&Backend::auto(), &voltages, &BeamWeights::new(weights)?)?;
//!
//! assert_eq!(beams.data().dim(), (1, 10, 2));
//! assert!((beams.data()[(0, 0, 0)].norm() - 16.0).abs() < 1e-3);
//! assert!(beams.data()[(0, 0, 1)].norm() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod fft;
mod incoherent;
mod set;

use fringes_backend::Backend;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{Beams, TypesError, VoltageSample, Voltages};
use ndarray::Array3;

pub use error::BeamformerError;
pub use fft::FftBeams;
pub use incoherent::IncoherentBeams;
pub use set::BeamSet;

/// Forms beams `[channel][time][beam]` from voltages `[channel][time][input]`; see [`BeamSet`] for the formulas.
///
/// Voltages marked as missing count as zero. Frequencies and clock of the beams are those of the voltages. The work is split by
/// time; scratch stays below the backend's limit, and the result does not depend on it.
///
/// GPU kernels: [`FftBeams`] of 8-bit and 4+4-bit voltages whose lines are padded to 64, 128, 256, 512 or 1024, if the largest gain of each channel
/// is 0 or from 2^-60 to below 2^60. All other beams are formed on the CPU.
///
/// ```
/// use fringes_beamformer::{FftBeams, IncoherentBeams, beamform};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, Voltages};
/// use ndarray::Array3;
///
/// // Two lines of four dual-polarisation feeds, 8-bit voltages.
/// let inputs = Inputs::new(8, 2)?;
/// let voltages = Voltages::new(Array3::from_elem((3, 5, 16), Complex::new(2i8, -1)), inputs)?;
///
/// let powers = beamform(&Backend::cpu(), &voltages, &IncoherentBeams::sum(inputs))?;
/// assert_eq!(powers.data()[(0, 0, 0)], 16.0 * 5.0);
///
/// let fan = FftBeams::new(2, 4, 8)?;
/// let beams = beamform(&Backend::cpu(), &voltages, &fan)?;
/// assert_eq!(beams.data().dim(), (3, 5, 2 * 2 * 8));
/// // Beam 0 of a line and polarisation is the plain sum of its feeds.
/// let beam = fan.beam(inputs, 1, 0, 0).unwrap();
/// assert_eq!(beams.data()[(0, 0, beam)], Complex::new(8.0, -4.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Layout
/// Any; standard layout is fastest, and `Complex<f32>` voltages in it are read in place. The output is in standard layout.
///
/// # Precision
/// On the CPU f32, with `u = 2^-24` and sums over the inputs:
/// - tied-array: `|y - y_reference| <= 1.5 (2 inputs + 2) u sum |w| |x|`;
/// - incoherent: `|y - y_reference| <= (inputs + 3) u sum |g| |x|^2`;
/// - FFT: over the beams of a line and polarisation, with norms the roots of sums of squares,
///   `||y - y_reference|| <= (21 (log2(padded) + 3) + 4) u sqrt(padded) ||g x||`.
///
/// On a GPU FFT beams are products of f16 numbers: gains, phases and all values but the last sums, which are f32, are rounded to 11 bits. For noise the rms error over
/// the beams of a line, polarisation and time is at most 9e-4 of their rms
/// ([`BeamFft::relative_error`](fringes_fft::BeamFft::relative_error)). Nothing overflows.
///
/// # Errors
/// As [`BeamSet::check`] if voltages and beams do not fit, [`DeviceError::NotOnGpu`](fringes_backend::DeviceError::NotOnGpu) if the backend is a GPU alone and there is no kernel,
/// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the scratch of one unit of work exceeds the backend's limit, [`TypesError::TooLarge`] if there is no memory for the
/// output, [`BeamformerError::Fft`] if the GPU fails.
pub fn beamform<V: VoltageSample, B: BeamSet>(
    backend: &Backend,
    voltages: &Voltages<V>,
    beams: &B,
) -> Result<Beams<B::Output>, BeamformerError> {
    let (channels, times, inputs) = voltages.data().dim();
    let _span = tracing::debug_span!("beamform", channels, times, inputs).entered();
    beams.check(channels, voltages.inputs())?;
    let gpu = backend.gpu_for("beamform", beams.has_kernel(V::FORMAT, voltages.inputs()))?.is_some();
    let parallel = if gpu { 0 } else { beams.parallel(backend, voltages.inputs())? };
    let shape = (channels, times, beams.beams(voltages.inputs()));
    let too_large =
        || TypesError::TooLarge { array: "beams", elements: format!("{} x {} x {}", shape.0, shape.1, shape.2) };
    let elements = shape.0.checked_mul(shape.1).and_then(|product| product.checked_mul(shape.2));
    let mut out = elements.and_then(try_zeroed_vec).ok_or_else(too_large)?;
    if gpu {
        beams.form_on_gpu(backend, voltages, &mut out)?;
    } else {
        beams.form(voltages, parallel, &mut out);
    }
    let out = Array3::from_shape_vec(shape, out).map_err(|_| too_large())?;
    Ok(Beams::new(out, voltages.frequencies(), voltages.clock())?)
}
