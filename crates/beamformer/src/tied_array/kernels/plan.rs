//! Which kernel forms beams, in which tiles.

use fringes_backend::DeviceError;
use fringes_gpu::{Device, Kernel, PtxSet, PtxTarget};
use fringes_kernel_abi::tied_array::{CHUNK_BYTES, COLUMNS, Output, Weights};
use fringes_types::{SampleFormat, row_times};

use super::{format_name, wgmma_texts};
use crate::{BeamformerError, WeightPrecision};

/// A kernel, and the sizes of its tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    format: SampleFormat,
    pub(super) weights: Weights,
    pub(super) output: Output,
    pub(super) inputs: usize,
    pub(super) beams: usize,
    /// Columns of a tile.
    pub(super) columns: u32,
}

impl Plan {
    /// The kernel of so many inputs and beams.
    pub(super) fn new(
        format: SampleFormat,
        precision: WeightPrecision,
        output: Output,
        inputs: usize,
        beams: usize,
    ) -> Result<Self, BeamformerError> {
        let weights = precision.weights(format);
        let all = beams.saturating_mul(weights.digits() as usize);
        let columns = COLUMNS.into_iter().find(|&columns| all <= columns as usize).unwrap_or(COLUMNS[3]);
        Ok(Self { format, weights, output, inputs, beams, columns })
    }

    /// Whether samples are of 4 bits, which the kernels multiply by 16.
    pub(super) fn is_int4(&self) -> bool {
        self.format == SampleFormat::Int4
    }

    /// Beams of a tile.
    pub(super) fn tile_beams(&self) -> usize {
        (self.columns / self.weights.digits()) as usize
    }

    /// Tiles of columns.
    pub(super) fn tiles(&self) -> usize {
        self.beams.div_ceil(self.tile_beams())
    }

    /// Chunks of inputs.
    pub(super) fn chunks(&self) -> usize {
        self.inputs.div_ceil(self.weights.chunk_inputs() as usize)
    }

    /// The kernels' name of samples and weights.
    fn source(&self) -> &'static str {
        match format_name(self.format) {
            Some("i8") if self.weights == Weights::Float16 => "i8_f16",
            name => name.unwrap_or_default(),
        }
    }

    /// The entry.
    fn name(&self) -> String {
        let output = match self.output {
            Output::Float32 => "f32",
            Output::Float16 => "f16",
            Output::Int8 => "i8",
            Output::Power => "power",
            Output::Coherency => "coherency",
        };
        format!("tied_array_{}_{}_{output}", self.source(), self.columns)
    }

    fn ptx(&self) -> Option<&'static PtxSet> {
        wgmma_texts::tied_array_wgmma(self.source())
    }

    /// Loads the entry.
    pub(super) fn load(&self, device: &Device) -> Result<Kernel, BeamformerError> {
        let missing = || DeviceError::NoKernel { expected: "beams with a kernel", actual: self.name() };
        let texts = self.ptx().ok_or_else(missing)?;
        Ok(device.load_target(texts, PtxTarget::Sm90a)?.kernel(&self.name())?)
    }

    /// Shared memory: stages of samples and weights, and two barriers each.
    pub(super) fn shared_bytes(&self) -> u32 {
        const BUDGET: u32 = 212_992;
        let blocks = 128 / row_times(self.format) as u32;
        let stage = 128 * self.weights.chunk_inputs() * blocks + CHUNK_BYTES * self.columns;
        (BUDGET / stage).min(12) * (stage + 16)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_plan_has_an_entry_with_its_shared_memory() {
        let outputs = [Output::Float32, Output::Float16, Output::Int8, Output::Power, Output::Coherency];
        for format in [SampleFormat::Int4, SampleFormat::Int8, SampleFormat::Float16] {
            for precision in WeightPrecision::ALL {
                for (output, beams) in outputs.into_iter().flat_map(|o| [1, 8, 9, 16, 17, 33, 65, 1000].map(|n| (o, n)))
                {
                    let plan = Plan::new(format, precision, output, 100, beams).unwrap();
                    let text = plan.ptx().unwrap().get(PtxTarget::Sm90a).unwrap().read().unwrap();
                    let start = format!("//@kernel {}(", plan.name());
                    let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
                    assert!(line.contains(&format!("shared_bytes={} ", plan.shared_bytes())), "{plan:?}: {line}");
                    assert!(plan.tiles() * plan.tile_beams() >= beams);
                }
            }
        }
    }
}
