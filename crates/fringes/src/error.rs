//! One error for a program that uses several operations.

/// What any operation can report: the error of its crate, unchanged.
///
/// Every error of the operations converts into this one, so that `?` works in a function that returns
/// `Result<_, fringes::Error>`. The messages name what was expected and what came.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Data that does not fit, at the construction of a value.
    #[error(transparent)]
    Types(#[from] fringes_types::TypesError),
    /// A backend that is not there, or a device buffer that does not fit.
    #[error(transparent)]
    Device(#[from] fringes_backend::DeviceError),
    /// Frames that make no corner turn.
    #[error(transparent)]
    Turn(#[from] fringes_backend::TurnError),
    /// A delay model, a geometry, or a shift or rotation.
    #[error(transparent)]
    Delay(#[from] fringes_delay::DelayError),
    /// Channelizing, an F-engine, quantising or down-converting.
    #[error(transparent)]
    Channelizer(#[from] fringes_channelizer::ChannelizerError),
    /// Correlating.
    #[error(transparent)]
    Correlator(#[from] fringes_correlator::CorrelatorError),
    /// Looking for interference.
    #[error(transparent)]
    Interference(#[from] fringes_interference::InterferenceError),
    /// Batched transforms.
    #[error(transparent)]
    Fft(#[from] fringes_fft::FftError),
    /// Beamforming.
    #[error(transparent)]
    Beamformer(#[from] fringes_beamformer::BeamformerError),
    /// A GPU or its driver.
    #[error(transparent)]
    Gpu(#[from] fringes_gpu::GpuError),
    /// Reading or writing a file.
    #[cfg(feature = "io")]
    #[error(transparent)]
    Io(#[from] fringes_io::IoError),
}

impl From<fringes_delay::DelayModelError> for Error {
    fn from(error: fringes_delay::DelayModelError) -> Self {
        Self::Delay(error.into())
    }
}

impl From<fringes_channelizer::design::DesignError> for Error {
    fn from(error: fringes_channelizer::design::DesignError) -> Self {
        Self::Channelizer(error.into())
    }
}

impl From<fringes_backend::UploadError> for Error {
    fn from(error: fringes_backend::UploadError) -> Self {
        match error {
            fringes_backend::UploadError::Types(error) => Self::Types(error),
            fringes_backend::UploadError::Device(error) => Self::Device(error),
        }
    }
}
