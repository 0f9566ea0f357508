//! What each resource asks for, in GPUs.

use serde::Serialize;

use super::Compute;
use super::ranks::Rank;
use crate::coefficients::Coefficients;
use crate::error::PlanError;
use crate::machine::{Machine, Roles};
use crate::telescope::{Samples, Telescope};

/// Copies of a block of samples and voltages on an F-engine's GPU, of a block of voltages on an X-engine's, and of a
/// dump: one is filled while the other is read.
const COPIES: f64 = 2.0;

/// What a rank can run out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Resource {
    /// The GPU's time.
    Compute,
    /// Bytes from the host to its GPU.
    HostToGpu,
    /// Bytes from the GPU to its host.
    GpuToHost,
    /// Bytes into the host.
    NetworkIn,
    /// Bytes out of the host.
    NetworkOut,
    /// The GPU's memory.
    GpuMemory,
}

impl Resource {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::HostToGpu => "link host to GPU",
            Self::GpuToHost => "link GPU to host",
            Self::NetworkIn => "network into the host",
            Self::NetworkOut => "network out of the host",
            Self::GpuMemory => "GPU memory",
        }
    }
}

/// GPUs that a resource alone asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Need {
    /// The resource.
    pub(super) resource: Resource,
    /// GPUs for all F-engines.
    pub(super) f: f64,
    /// GPUs for all X-engines.
    pub(super) x: f64,
    /// GPUs for all beams.
    pub(super) beams: f64,
}

impl Need {
    /// GPUs for what is divided by channels: X-engines and beams.
    pub(super) fn by_channels(&self) -> f64 {
        self.x + self.beams
    }
}

/// All needs. Those of the network count every byte, also what may stay in a host.
pub(super) fn needs(
    telescope: &Telescope,
    machine: &Machine,
    coefficients: &Coefficients,
) -> Result<Vec<Need>, PlanError> {
    let f_compute = match telescope.samples {
        Samples::Channelised => 0.0,
        _ => telescope.sample_rate() / coefficients.f_rate(telescope)?,
    };
    let x_compute = telescope.correlation_operations() / coefficients.x_rate(telescope.inputs(), telescope.voltages)?;
    let beams_compute = match telescope.beams {
        None => 0.0,
        Some(beams) => {
            let antennas = f64::from(telescope.antennas);
            let rate = coefficients.beam_rate(antennas, f64::from(beams.count), beams.products)?;
            telescope.beam_operations() / rate
        }
    };
    let link = machine.link(coefficients)? * machine.gpu_share;
    let network = machine.network * machine.network_share / f64::from(machine.gpus_per_host);
    let (samples, voltages) = (telescope.sample_bytes(), telescope.voltage_bytes());
    let dumps = telescope.dump_bytes() / telescope.dump_seconds;
    let beams = telescope.beam_bytes();
    let has_f = telescope.samples != Samples::Channelised;
    let out_of_f = if has_f { voltages } else { 0.0 };
    // A GPU that is both reads the voltages once only as they arrive from the others.
    let need = |resource, per_gpu: f64, f: f64, x: f64, beams: f64| Need {
        resource,
        f: f / per_gpu,
        x: x / per_gpu,
        beams: beams / per_gpu,
    };
    let memory = machine.gpu_memory * machine.gpu_share;
    let (f_memory, x_memory) = memories(telescope, machine);
    Ok(vec![
        need(Resource::Compute, machine.gpu_share, f_compute, x_compute, beams_compute),
        need(Resource::HostToGpu, link, samples, voltages, 0.0),
        need(Resource::GpuToHost, link, out_of_f, dumps, beams),
        need(Resource::NetworkIn, network, samples, voltages, 0.0),
        need(Resource::NetworkOut, network, out_of_f, dumps, beams),
        need(Resource::GpuMemory, memory, f_memory, x_memory, 0.0),
    ])
}

/// GPUs that operations alone would keep busy.
pub(super) fn compute(needs: &[Need]) -> Compute {
    let need = needs.iter().find(|need| need.resource == Resource::Compute);
    need.map_or(Compute { f: 0.0, x: 0.0, beams: 0.0 }, |need| Compute { f: need.f, x: need.x, beams: need.beams })
}

/// Bytes of GPU memory of all F-engines and of all X-engines together.
fn memories(telescope: &Telescope, machine: &Machine) -> (f64, f64) {
    let spectra = f64::from(machine.frames_per_block) * f64::from(machine.spectra_per_frame);
    let seconds = spectra * f64::from(telescope.channels) / telescope.bandwidth_hz;
    let voltages = telescope.voltage_bytes() * seconds;
    let f = match telescope.samples {
        Samples::Channelised => 0.0,
        _ => COPIES * (telescope.sample_bytes() * seconds + voltages),
    };
    (f, COPIES * (voltages + telescope.dump_bytes()))
}

/// Bytes of GPU memory of a rank.
pub(super) fn gpu_memory(telescope: &Telescope, machine: &Machine, rank: &Rank) -> f64 {
    let (f, x) = memories(telescope, machine);
    f * f64::from(rank.antennas) / f64::from(telescope.antennas)
        + x * f64::from(rank.channels) / f64::from(telescope.channels)
}

/// Whether F- and X-engines are the same ranks; without F-engines there is one kind of rank.
pub(super) fn together(telescope: &Telescope, machine: &Machine) -> bool {
    machine.roles == Roles::Together && telescope.samples != Samples::Channelised
}
