//! One call: a chunk in, beams out.

use fringes_backend::Backend;
#[cfg(doc)]
use fringes_backend::DeviceError;
#[cfg(doc)]
use fringes_types::TypesError;

use crate::work::Work;
use crate::{BeamChunk, BeamSet, BeamformerError};

/// Forms beams `[channel][time][beam]` from a chunk of voltages; see [`BeamSet`] for the formulas.
///
/// Voltages marked as missing count as zero. Frequencies and clock of the beams are those of the voltages. For voltages
/// in host memory the backend says where the beams are formed, and they are there when the call returns; the work is
/// split by time, scratch stays below the backend's limit, and the result does not depend on it. Beams of voltages on a
/// device are formed there and stay there, in the order of a stream that the beams know. For chunk after chunk
/// [`BeamformerStream`](crate::BeamformerStream) loads kernels once.
///
/// GPU kernels: tied-array beams of 4+4-bit, 8-bit and f16 voltages; [`FftBeams`](crate::FftBeams) of 8-bit and 4+4-bit
/// voltages whose lines are padded to 64, 128, 256, 512 or 1024, with gains and scale that
/// [`FftBeams`](crate::FftBeams) names. All other beams are formed on the CPU.
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
/// Any on the host; standard layout is fastest, and `Complex<f32>` voltages in it are read in place. The output is in
/// standard layout.
///
/// # Precision
/// On the CPU f32, with `u = 2^-24` and sums over the inputs:
/// - tied-array: `|y - y_reference| <= 1.5 (2 inputs + 2) u sum |w| |x|`;
/// - incoherent: `|y - y_reference| <= (inputs + 3) u sum |g| |x|^2`;
/// - FFT: before the output's own rounding, over the beams of a line and polarisation, with norms the roots of sums of
///   squares, `||y - y_reference|| <= (21 (log2(padded) + 3) + 4) u sqrt(padded) ||g x||`.
///
/// On a GPU FFT beams are products of f16 numbers: gains, phases and all values but the last sums, which are f32, are
/// rounded to 11 bits. For noise the rms error over the beams of a line, polarisation and time is at most 9e-4 of their
/// rms ([`FftBeams::relative_error`](crate::FftBeams::relative_error)). Nothing overflows but f16 beams beyond 65504.
///
/// # Errors
/// As [`BeamSet::check`] if voltages and beams do not fit; [`TypesError::TooLarge`] if there is no memory for the
/// output; for voltages on the host [`DeviceError::NotOnGpu`] if the backend is a GPU alone and there is no kernel, and
/// [`DeviceError::MemoryLimit`] if one unit of work exceeds the backend's limit; for voltages on a device
/// [`DeviceError::NotOnGpu`] for incoherent beams, and [`DeviceError::NoKernel`] for FFT beams that have
/// no kernel; [`DeviceError::Gpu`] if the GPU fails.
pub fn beamform<C: BeamChunk, B: BeamSet>(
    backend: &Backend,
    chunk: &C,
    beams: &B,
) -> Result<C::Beams<B::Output>, BeamformerError> {
    chunk.beamform(Work {
        backend,
        set: beams,
        stream: None,
        loaded: &mut None,
        saturated: &mut Vec::new(),
        members: &mut None,
        later: &[],
        mask: None,
    })
}
