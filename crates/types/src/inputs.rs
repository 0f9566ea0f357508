//! The numbering of antennas and polarisations.

use crate::TypesError;

/// How many antennas and polarisations an array has: `input = antenna * pols + pol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inputs {
    antennas: usize,
    pols: usize,
}

impl Inputs {
    /// `antennas` antennas with `pols` polarisations (1 or 2) each.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without antennas, [`TypesError::Pols`] if `pols` is not 1 or 2, [`TypesError::TooLarge`]
    /// if the number of inputs overflows.
    pub fn new(antennas: usize, pols: usize) -> Result<Self, TypesError> {
        if antennas == 0 {
            return Err(TypesError::Empty { array: "inputs", dimension: crate::Dimension::Antenna });
        }
        if !(1..=2).contains(&pols) {
            return Err(TypesError::Pols { actual: pols });
        }
        // Triangles of inputs are counted in usize: half of the bits of an index is the most that squares safely.
        if antennas > (u32::MAX / 4) as usize {
            return Err(TypesError::TooLarge { array: "inputs", elements: format!("{antennas} x {pols}") });
        }
        Ok(Self { antennas, pols })
    }

    /// Inputs that are antennas with one polarisation each.
    ///
    /// # Errors
    /// As [`Inputs::new`].
    pub fn single_pol(antennas: usize) -> Result<Self, TypesError> {
        Self::new(antennas, 1)
    }

    /// Number of antennas.
    pub fn antennas(&self) -> usize {
        self.antennas
    }

    /// Number of polarisations of each antenna, 1 or 2.
    pub fn pols(&self) -> usize {
        self.pols
    }

    /// Number of inputs.
    #[allow(clippy::len_without_is_empty)] // never empty, by construction
    pub fn len(&self) -> usize {
        self.antennas * self.pols
    }

    /// The input of an antenna and a polarisation, or `None` if there is no such input.
    pub fn input(&self, antenna: usize, pol: usize) -> Option<usize> {
        (antenna < self.antennas && pol < self.pols).then(|| antenna * self.pols + pol)
    }

    /// The antenna and polarisation of an input, or `None` if there is no such input.
    pub fn antenna_pol(&self, input: usize) -> Option<(usize, usize)> {
        (input < self.len()).then(|| (input / self.pols, input % self.pols))
    }

    /// Number of pairs of inputs with `a >= b`, autocorrelations included: `n (n + 1) / 2`.
    pub fn triangle_len(&self) -> usize {
        let n = self.len();
        n * (n + 1) / 2
    }
}
