//! How exactly the F-engine computes.

/// How exactly an F-engine computes spectra on a GPU: with f32 between its stages, or with f16 on tensor cores, which
/// is faster.
///
/// It changes neither what goes in nor what comes out: samples are taken exactly, but for complex i16, and frames are
/// of the format that is asked for, with the same gains, delays and dither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Precision {
    /// f32 between the stages, and weights of 22 bits: values are within the bound of the F-engine's documentation, and
    /// integers those of exact values but for ties.
    #[default]
    Single,
    /// f16 between the stages, with 11 bits; sums are f32.
    ///
    /// Weights, points and matrices are rounded five times in all, seven from 4096 channels on, by `2.1e-4` rms of
    /// themselves each: values have errors of `4.6e-4` (`5.5e-4`) of the values' rms, noise 66 dB below them. On an
    /// H200 `4.4e-4` and `5.1e-4` were found at most. Of 8-bit frames with 23 LSB rms that is 0.011 LSB rms, 25 times
    /// below the rounding to 8 bits, 0.29 LSB, and below the noise of a 10-bit ADC.
    ///
    /// Samples of 16 bits, real and complex, are rounded to 11 bits as well, `5.1e-4` and `5.9e-4` in all; others are
    /// taken as they are.
    ///
    /// No samples overflow: weights are scaled so that no samples of the format make a point beyond 60000, where f16
    /// ends at 65504.
    ///
    /// Under strong interference the errors are relative to the power that all channels have together, not to that of
    /// each channel: a tone of full scale leaves errors of -71 to -77 dB of itself in the worst of the other channels
    /// (an H200, 512 to 65536 channels). Where weak lines beside strong transmitters matter, take `Single`.
    ///
    /// There are kernels for 256, 512, ... 65536 channels, critically sampled, with up to 32 taps, of packed samples
    /// of 8, 10, 12 or 16 bits, of i8, i16 or f16, real and complex, and frames of all formats; 4096 channels with
    /// more than 16 taps have them where a block may have 227 KiB of shared memory, as on an H100, but not on an A100.
    /// Of other plans and samples, and on the CPU, spectra are computed as in `Single`, which keeps
    /// the bound.
    Half,
}
