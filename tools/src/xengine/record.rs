//! What was measured, as the record has it: read back for the pictures.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::gpu_report::{Params, params};

/// Whether the kernel wrote its visibilities, or what else was timed: the `variant` of a row.
pub(crate) mod variant {
    /// The kernel with its output.
    pub(crate) const KERNEL: &str = "kernel";
    /// The kernel without output.
    pub(crate) const NO_OUTPUT: &str = "kernel without output";
    /// The transfer of the voltages from pinned host memory.
    pub(crate) const TRANSFER: &str = "transfer from the host";
    /// The transfer of visibilities to pinned host memory.
    pub(crate) const OUT: &str = "transfer to the host";
    /// The whole X-engine from pinned host memory, transfers and kernels at once.
    pub(crate) const INTEGRATED: &str = "integrated, from the host";
}

/// Sizes of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Dual-polarisation stations.
    pub(crate) stations: usize,
    /// Channels.
    pub(crate) channels: usize,
    /// Times: the integration length.
    pub(crate) times: usize,
}

impl Size {
    /// Inputs.
    pub(crate) fn inputs(self) -> usize {
        2 * self.stations
    }

    /// Products of inputs.
    pub(crate) fn baselines(self) -> usize {
        self.inputs() * (self.inputs() + 1) / 2
    }

    /// Operations of the products that are needed.
    pub(crate) fn operations(self) -> f64 {
        8.0 * (self.channels * self.baselines()) as f64 * self.times as f64
    }

    /// The row's `params`, with the figure of the paper, the pairs of inputs that are computed, and the stations on a
    /// tile's side.
    pub(crate) fn params(self, figure: usize, computed_pairs: usize, tile: usize) -> Params {
        let Self { stations, channels, times } = self;
        params([
            ("figure", figure),
            ("stations", stations),
            ("channels", channels),
            ("times", times),
            ("computed_pairs", computed_pairs),
            ("tile_stations", tile),
        ])
    }
}

/// A record.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Measured {
    /// Name of the GPU.
    pub(crate) gpu: String,
    /// Date of the measurement.
    pub(crate) date: String,
    #[serde(default)]
    clock_mhz: f64,
    rows: Vec<Row>,
}

/// One measurement.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Row {
    /// Name of the kernel.
    pub(crate) kernel: String,
    variant: String,
    params: BTreeMap<String, usize>,
    /// Median time.
    pub(crate) time_ms: f64,
    /// What the bound of the row allows, in the row's unit.
    #[serde(default)]
    pub(crate) floor: Option<f64>,
}

impl Row {
    fn param(&self, name: &str) -> usize {
        self.params.get(name).copied().unwrap_or(0)
    }

    /// Its sizes.
    pub(crate) fn size(&self) -> Size {
        Size { stations: self.param("stations"), channels: self.param("channels"), times: self.param("times") }
    }

    /// Useful operations a second, in units of 10^12.
    pub(crate) fn useful(&self) -> f64 {
        self.size().operations() / self.time_ms / 1e9
    }

    /// Computed operations a second, in units of 10^12.
    pub(crate) fn raw(&self) -> f64 {
        self.useful() * self.param("computed_pairs") as f64 / self.size().baselines().max(1) as f64
    }

    /// The paper's normalised rate: `2 (N + RT) / (2 N + 1)` times the useful one.
    pub(crate) fn normalised(&self) -> f64 {
        let (stations, tile) = (self.param("stations") as f64, self.param("tile_stations") as f64);
        self.useful() * 2.0 * (stations + tile) / (2.0 * stations + 1.0)
    }
}

/// Operations of a multiprocessor and cycle: 8-bit products of tensor cores, those of TF32, and f32 arithmetic.
/// Products and sums count one each.
struct Units {
    /// Part of the GPU's name.
    gpu: &'static str,
    multiprocessors: f64,
    int8: f64,
    tf32: f64,
    f32: f64,
}

const UNITS: [Units; 2] = [
    Units { gpu: "H200", multiprocessors: 132.0, int8: 8192.0, tf32: 2048.0, f32: 256.0 },
    Units { gpu: "A100", multiprocessors: 108.0, int8: 4096.0, tf32: 1024.0, f32: 128.0 },
];

impl Measured {
    /// What the GPU's units could do at its highest clock, in units of 10^12 operations, and what that is; `None` for
    /// a GPU that is not known here.
    pub(crate) fn peak(&self, kernel: &str) -> Option<(String, f64)> {
        let units = UNITS.iter().find(|units| self.gpu.contains(units.gpu))?;
        let (what, each) = match kernel {
            kernel if kernel.starts_with("correlate_i8") => ("int8 peak", units.int8),
            // Three products for one.
            kernel if kernel.contains("tf32") => ("TF32 peak / 3", units.tf32 / 3.0),
            "correlate_f32" => ("f32 peak", units.f32),
            _ => return None,
        };
        let peak = units.multiprocessors * each * self.clock_mhz * 1e-6;
        (peak > 0.0).then(|| (format!("{what} at {:.0} MHz", self.clock_mhz), peak))
    }

    /// Names of kernels, in the order of the record.
    pub(crate) fn kernels(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.kernel.as_str()) {
                names.push(&row.kernel);
            }
        }
        names
    }

    /// Rows of a figure of the paper, a kernel and a variant.
    pub(crate) fn rows(&self, figure: usize, kernel: &str, variant: &str) -> Vec<&Row> {
        let wanted = |row: &&Row| row.param("figure") == figure && row.kernel == kernel && row.variant == variant;
        self.rows.iter().filter(wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stations: usize, computed_pairs: usize, tile: usize) -> Row {
        let size = Size { stations, channels: 2, times: 100 };
        let params =
            size.params(5, computed_pairs, tile).into_iter().map(|(name, value)| (name.into(), value as usize));
        Row { kernel: "k".into(), variant: variant::KERNEL.into(), params: params.collect(), time_ms: 1.0, floor: None }
    }

    #[test]
    fn no_kernel_of_the_committed_record_computes_more_than_the_gpu_can() {
        // The record's place does not depend on the package that this is compiled in.
        let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = "docs/measurements/checks/2026-11-22-h200-xengine.json";
        let path = own.ancestors().map(|folder| folder.join(file)).find(|path| path.exists()).unwrap();
        let measured: Measured = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let kernel_rows = measured.rows.iter().filter(|row| row.variant.starts_with(variant::KERNEL));
        let mut rows = 0;
        for row in kernel_rows {
            let (what, peak) = measured.peak(&row.kernel).unwrap();
            assert!(row.raw() <= peak, "{} at {:?}: {} of {peak} ({what})", row.kernel, row.size(), row.raw());
            rows += 1;
        }
        assert!(rows > 400, "{rows}");
    }

    #[test]
    fn the_normalised_rate_is_that_of_whole_tiles() {
        // 4 x 4 tiles of 32 stations, 64 inputs: ten of them computed whole.
        let whole = row(128, 10 * 64 * 64, 32);
        assert!((whole.raw() - whole.normalised()).abs() < 1e-9 * whole.raw());
        // 8 operations, 2 channels, 100 times, 256 * 257 / 2 baselines, in a millisecond.
        assert!((whole.useful() - 8.0 * 2.0 * 100.0 * 32896.0 / 1e9).abs() < 1e-12);
        assert!(row(128, 9 * 64 * 64, 32).raw() < whole.raw());
    }
}
