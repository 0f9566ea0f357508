//! Rates and energies, each with the row of a measurement record that has it.
//!
//! `coefficients.json` is read at run time; a test compares every point with the record that it names.

mod curve;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use curve::{Curve, Difference, Point};

use crate::error::{PlanError, in_range};
use crate::telescope::{Precision, Products, Samples, Telescope, Voltages};

/// The file that is compiled in.
const TEXT: &str = include_str!("coefficients.json");

/// Everything that was measured and that the model uses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Coefficients {
    /// The GPU, of all curves that name no other.
    pub gpu: String,
    /// The most that its board takes.
    pub board_watts: BoardPower,
    /// Rates by size, by name.
    pub curves: BTreeMap<String, Curve>,
}

/// Limit of a board's power.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BoardPower {
    /// Watts.
    pub value: f64,
    /// File under `docs/measurements` that has it.
    pub record: String,
    /// The words there.
    pub text: String,
}

/// Whether F-engines have fast kernels for a number of channels that is no power of two.
pub(crate) fn is_mixed(channels: u32) -> bool {
    [6, 10, 12].into_iter().any(|radix| {
        let rows = channels / radix;
        channels.is_multiple_of(radix) && rows.is_power_of_two() && (32..=1024).contains(&rows)
    })
}

impl Coefficients {
    /// Those of the H200.
    pub fn h200() -> Result<Self, PlanError> {
        serde_json::from_str(TEXT).map_err(|error| PlanError::Coefficients(error.to_string()))
    }

    /// A curve by its name.
    pub fn curve(&self, name: &str) -> Result<&Curve, PlanError> {
        self.curves.get(name).ok_or_else(|| PlanError::Coefficients(format!("no curve {name}")))
    }

    /// Samples a second that an F-engine takes. Where taps are not 16, the rate is scaled as it falls with taps at the
    /// one number of channels where that was measured.
    pub fn f_rate(&self, telescope: &Telescope) -> Result<f64, PlanError> {
        let channels = f64::from(telescope.channels);
        let power_of_two = telescope.channels.is_power_of_two();
        let (name, taps) = match (telescope.samples, telescope.precision) {
            (Samples::Complex, _) => ("f_complex", "taps_single"),
            (_, Precision::Half) if power_of_two => ("f_half", "taps_half"),
            (_, Precision::Single) if power_of_two && channels >= 64.0 => ("f_single", "taps_single"),
            (_, Precision::Single) if is_mixed(telescope.channels) => ("f_mixed", "taps_single"),
            (_, Precision::Single) => ("f_general", "taps_single"),
            (_, Precision::Half) => {
                return Err(PlanError::Choice {
                    quantity: "channels of an F-engine in half precision",
                    expected: "a power of two from 256 to 65536",
                    actual: telescope.channels.to_string(),
                });
            }
        };
        let curve = self.curve(name)?;
        let rate = if matches!(name, "f_single" | "f_half") {
            curve.within("channels of the F-engine", channels)?
        } else {
            in_range("channels of the F-engine", channels, (1.0, 65536.0))?;
            curve.at_most(channels)?
        };
        let taps = self.curve(taps)?;
        Ok(rate * 1e9 * taps.at_most(f64::from(telescope.taps))? / taps.at_most(16.0)?)
    }

    /// Useful operations a second of an X-engine: the kernel's rate at this many inputs, times what the public call
    /// reaches of it with 8 bits.
    pub fn x_rate(&self, inputs: f64, voltages: Voltages) -> Result<f64, PlanError> {
        let kernel = self.curve(match voltages {
            Voltages::Bits4 => "x_kernel_i4",
            Voltages::Bits8 => "x_kernel_i8",
            Voltages::Half => "x_kernel_f16",
        })?;
        let call = self.curve("x_call_i8")?.at(inputs)? / self.curve("x_kernel_i8")?.at(inputs)?;
        Ok(kernel.at(inputs)? * 1e12 * call)
    }

    /// Operations a second of tied-array beams, voltages of 8 bits, between the sizes that were measured. Detected
    /// beams are slower or faster as they are with 512 inputs, and powers of fewer spectra are not told apart.
    ///
    /// Runs that are timed are short. The energy of longer ones is up to 15 % more than the board may take in that
    /// time, so where energy was measured the rate is at most what the board's limit pays for.
    pub fn beam_rate(&self, inputs: f64, count: f64, products: Products) -> Result<f64, PlanError> {
        let sizes = [128.0, 512.0, 1024.0];
        let mut points = Vec::new();
        for (size, name) in sizes.iter().zip(["beams_voltages_128", "beams_voltages_512", "beams_voltages_1024"]) {
            points.push((*size, self.curve(name)?.at(count)?));
        }
        let rate = curve::between(&points, inputs)?;
        let detected = match products {
            Products::Voltages => 1.0,
            Products::Powers { .. } => {
                let powers = self.curve("beams_powers_512")?;
                powers.at(count)? / self.curve("beams_voltages_512")?.at(count)?
            }
        };
        let paid = self.beam_operations_a_joule(count, products)?.map(|operations| operations * self.board_watts.value);
        Ok((rate * 1e12 * detected).min(paid.unwrap_or(f64::INFINITY)))
    }

    /// Operations a joule of an X-engine with its sums in memory, where the energy was measured: voltages of 8 bits, on
    /// an H200. Beyond the largest number of inputs it stays.
    pub fn x_operations_a_joule(&self, inputs: f64, voltages: Voltages) -> Result<Option<f64>, PlanError> {
        match voltages {
            Voltages::Bits8 => Ok(Some(self.curve("x_energy_i8")?.at(inputs)? * 1e12)),
            Voltages::Bits4 | Voltages::Half => Ok(None),
        }
    }

    /// Joules a sample of an F-engine, where the energy was measured: in half precision with 16 taps, 10 bits to 8, on
    /// an H200. Outside of the numbers of channels that were measured a busy GPU is taken to need the power that it
    /// needs at the nearest one, so that the energy grows as the rate falls.
    pub fn f_joules_a_sample(&self, telescope: &Telescope) -> Result<Option<f64>, PlanError> {
        let measured = telescope.samples == Samples::Real
            && telescope.precision == Precision::Half
            && (telescope.sample_bits, telescope.taps, telescope.voltages) == (10, 16, Voltages::Bits8);
        if !measured {
            return Ok(None);
        }
        let energy = self.curve("f_energy_half")?;
        let (first, last) = energy.ends()?;
        let channels = f64::from(telescope.channels);
        let nearest = channels.clamp(first, last);
        let rate = self.curve("f_half")?;
        let slower = rate.at(nearest)? / rate.within("channels of the F-engine", channels)?;
        Ok(Some(energy.at(nearest)? * 1e-9 * slower))
    }

    /// Operations a joule of tied-array beams with 512 inputs, where the energy was measured: voltages of 8 bits out.
    pub fn beam_operations_a_joule(&self, count: f64, products: Products) -> Result<Option<f64>, PlanError> {
        match products {
            Products::Voltages => Ok(Some(self.curve("beams_energy_512")?.at(count)? * 1e12)),
            Products::Powers { .. } => Ok(None),
        }
    }
}
