//! The sizes of transforms.

use crate::FftError;

/// Inputs and outputs of a transform, both powers of two: as many, or twice as many outputs where the input is
/// zero-padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    inputs: u32,
    outputs: u32,
}

/// Every size that there is.
pub const SIZES: [Size; 9] = [
    Size { inputs: 64, outputs: 64 },
    Size { inputs: 64, outputs: 128 },
    Size { inputs: 128, outputs: 128 },
    Size { inputs: 128, outputs: 256 },
    Size { inputs: 256, outputs: 256 },
    Size { inputs: 256, outputs: 512 },
    Size { inputs: 512, outputs: 512 },
    Size { inputs: 512, outputs: 1024 },
    Size { inputs: 1024, outputs: 1024 },
];

impl Size {
    /// A size, if it is one of [`SIZES`].
    ///
    /// # Errors
    /// [`FftError::Size`] if it is none of them.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, FftError> {
        let found = SIZES.into_iter().find(|size| size.inputs() == inputs && size.outputs() == outputs);
        found.ok_or(FftError::Size { inputs, outputs })
    }

    /// Inputs of a transform.
    pub const fn inputs(self) -> usize {
        self.inputs as usize
    }

    /// Outputs of a transform.
    pub const fn outputs(self) -> usize {
        self.outputs as usize
    }
}

impl std::fmt::Display for Size {
    /// `256 -> 512`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} -> {}", self.inputs, self.outputs)
    }
}
