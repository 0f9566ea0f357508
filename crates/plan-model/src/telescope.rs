//! What is to be correlated: antennas, band, samples, voltages, dumps, beams.

use serde::Serialize;

use crate::error::{PlanError, in_range};

/// A telescope and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Telescope {
    /// Antennas, or stations.
    pub antennas: u32,
    /// Polarisations of an antenna: 1 or 2.
    pub pols: u32,
    /// Band of a polarisation, Hz.
    pub bandwidth_hz: f64,
    /// How samples come.
    pub samples: Samples,
    /// Bits of a real number of the samples: 2 to 16.
    pub sample_bits: u32,
    /// Channels over the whole band.
    pub channels: u32,
    /// What X-engines and beamformers read.
    pub voltages: Voltages,
    /// Taps of the filter bank.
    pub taps: u32,
    /// Arithmetic of the F-engine.
    pub precision: Precision,
    /// Seconds of a dump of visibilities.
    pub dump_seconds: f64,
    /// Beams, where they are wanted.
    pub beams: Option<Beams>,
}

/// How samples come from the antennas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Samples {
    /// Real ones, two a hertz.
    Real,
    /// Complex ones, one a hertz.
    Complex,
    /// They are voltages of channels already: there is no F-engine here.
    Channelised,
}

/// Format of the voltages between F-engines and X-engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Voltages {
    /// 4 bits for each of real and imaginary part.
    Bits4,
    /// 8 bits for each.
    Bits8,
    /// Half precision for each.
    Half,
}

impl Voltages {
    /// The format of so many bits for each of real and imaginary part: 4, 8 or 16.
    pub fn of_bits(bits: u32) -> Result<Self, PlanError> {
        match bits {
            4 => Ok(Self::Bits4),
            8 => Ok(Self::Bits8),
            16 => Ok(Self::Half),
            _ => Err(PlanError::Choice {
                quantity: "bits of voltages",
                expected: "4, 8 or 16",
                actual: bits.to_string(),
            }),
        }
    }

    /// Bytes of a complex value.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Bits4 => 1,
            Self::Bits8 => 2,
            Self::Half => 4,
        }
    }
}

/// Arithmetic of the F-engine's transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Precision {
    /// f32.
    Single,
    /// f16 between the stages, on tensor cores: real samples of 8 or 10 bits, whose rates are known.
    Half,
}

/// Tied-array beams over all antennas and the whole band.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Beams {
    /// Beams, each of all polarisations.
    pub count: u32,
    /// What comes out.
    pub products: Products,
}

/// What comes out of a beamformer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Products {
    /// Voltages of 8 bits for each of real and imaginary part.
    Voltages,
    /// Powers as f32, summed over so many spectra, one for each polarisation.
    Powers {
        /// Spectra of a sum.
        spectra: u32,
    },
}

impl Default for Telescope {
    /// MeerKAT's numbers: 64 antennas, 856 MHz, 10-bit samples, 4096 channels of 8 bits, dumps of half a second.
    fn default() -> Self {
        Self {
            antennas: 64,
            pols: 2,
            bandwidth_hz: 856e6,
            samples: Samples::Real,
            sample_bits: 10,
            channels: 4096,
            voltages: Voltages::Bits8,
            taps: 16,
            precision: Precision::Single,
            dump_seconds: 0.5,
            beams: None,
        }
    }
}

impl Telescope {
    /// An error unless every number makes sense.
    pub fn check(&self) -> Result<(), PlanError> {
        in_range("antennas", f64::from(self.antennas), (1.0, 1e5))?;
        in_range("polarisations", f64::from(self.pols), (1.0, 2.0))?;
        in_range("bandwidth in Hz", self.bandwidth_hz, (1.0, 1e12))?;
        in_range("bits of samples", f64::from(self.sample_bits), (2.0, 16.0))?;
        in_range("channels", f64::from(self.channels), (1.0, 16_777_216.0))?;
        in_range("taps", f64::from(self.taps), (1.0, 32.0))?;
        in_range("seconds of a dump", self.dump_seconds, (1e-6, 1e5))?;
        if let Some(beams) = self.beams {
            in_range("beams", f64::from(beams.count), (1.0, 1e6))?;
            if let Products::Powers { spectra } = beams.products {
                in_range("spectra of a power", f64::from(spectra), (1.0, 16_777_216.0))?;
            }
        }
        if self.precision == Precision::Half && self.samples != Samples::Channelised {
            if self.samples == Samples::Complex {
                return Err(PlanError::Choice {
                    quantity: "samples of an F-engine in half precision",
                    expected: "real ones",
                    actual: "complex ones".to_owned(),
                });
            }
            if !matches!(self.sample_bits, 8 | 10) {
                return Err(PlanError::Choice {
                    quantity: "bits of samples of an F-engine in half precision",
                    expected: "8 or 10",
                    actual: self.sample_bits.to_string(),
                });
            }
        }
        Ok(())
    }

    /// Inputs: antennas times polarisations.
    pub fn inputs(&self) -> f64 {
        f64::from(self.antennas) * f64::from(self.pols)
    }

    /// Pairs of inputs, each with itself too: `n (n + 1) / 2`.
    pub fn pairs(&self) -> f64 {
        let inputs = self.inputs();
        inputs * (inputs + 1.0) / 2.0
    }

    /// Samples a second of all inputs; real numbers or complex ones. None where there is no F-engine.
    pub fn sample_rate(&self) -> f64 {
        let a_hertz = match self.samples {
            Samples::Real => 2.0,
            Samples::Complex => 1.0,
            Samples::Channelised => 0.0,
        };
        a_hertz * self.bandwidth_hz * self.inputs()
    }

    /// Bytes a second of samples into all F-engines.
    pub fn sample_bytes(&self) -> f64 {
        let parts = if self.samples == Samples::Complex { 2.0 } else { 1.0 };
        self.sample_rate() * parts * f64::from(self.sample_bits) / 8.0
    }

    /// Bytes a second of voltages out of all F-engines: `inputs x B x bytes of a complex value`.
    pub fn voltage_bytes(&self) -> f64 {
        self.inputs() * self.bandwidth_hz * f64::from(self.voltages.bytes())
    }

    /// Operations a second of the X-engines: `8 B n (n + 1) / 2`.
    pub fn correlation_operations(&self) -> f64 {
        8.0 * self.bandwidth_hz * self.pairs()
    }

    /// Operations a second of the beamformers: `8 B beams x inputs`. A beam of a polarisation reads the inputs of that
    /// one.
    pub fn beam_operations(&self) -> f64 {
        self.beams.map_or(0.0, |beams| 8.0 * self.bandwidth_hz * f64::from(beams.count) * self.inputs())
    }

    /// Bytes of a dump: a pair of i32 for each channel and pair of inputs.
    pub fn dump_bytes(&self) -> f64 {
        8.0 * f64::from(self.channels) * self.pairs()
    }

    /// Bytes a second of all beams.
    pub fn beam_bytes(&self) -> f64 {
        self.beams.map_or(0.0, |beams| {
            let outputs = f64::from(beams.count) * f64::from(self.pols) * self.bandwidth_hz;
            match beams.products {
                Products::Voltages => outputs * 2.0,
                Products::Powers { spectra } => outputs * 4.0 / f64::from(spectra),
            }
        })
    }
}
