//! What computes: hosts with GPUs, links, memory.

use serde::Serialize;

use crate::coefficients::Coefficients;
use crate::error::{PlanError, in_range};
use crate::memory::Block;
use crate::telescope::Telescope;

/// Hosts with NVIDIA H200 GPUs, the one kind that the coefficients were measured on, and how ranks use them. A rank has
/// one GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// GPUs of a host.
    pub gpus_per_host: u32,
    /// Bytes a second of a host's network, each way.
    pub network: f64,
    /// Share of the network that is used at most.
    pub network_share: f64,
    /// Bytes a second between a GPU and its host, each way; none: as measured from pinned memory.
    pub host_link: Option<f64>,
    /// Bytes of a GPU's memory. An H200 has 141 GB by its data sheet.
    pub gpu_memory: f64,
    /// Share of a GPU's time, of its link and of its memory that is used at most.
    pub gpu_share: f64,
    /// Whether the same ranks are F- and X-engines.
    pub roles: Roles,
    /// Antennas of an F rank; none: as many as it keeps up with.
    pub antennas_per_f: Option<u32>,
    /// Channels of an X rank; none: as many as it keeps up with.
    pub channels_per_x: Option<u32>,
    /// Spectra of a frame, the F-engine's unit.
    pub spectra_per_frame: u32,
    /// Frames of a block, the exchange's unit.
    pub frames_per_block: u32,
    /// Blocks on their way at the same time.
    pub lanes: u32,
    /// Blocks that wait in a queue between stages.
    pub queue_depth: u32,
}

/// Which ranks do what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Roles {
    /// Some ranks are F-engines, others X-engines and beamformers.
    Apart,
    /// Every rank is all of them.
    Together,
}

impl Default for Machine {
    /// Eight GPUs a host with 400 Gbit/s each, 85 % of the network and 80 % of a GPU.
    fn default() -> Self {
        Self {
            gpus_per_host: 8,
            network: 400e9,
            network_share: 0.85,
            host_link: None,
            gpu_memory: 141e9,
            gpu_share: 0.8,
            roles: Roles::Apart,
            antennas_per_f: None,
            channels_per_x: None,
            spectra_per_frame: 256,
            frames_per_block: 1,
            lanes: 2,
            queue_depth: 2,
        }
    }
}

impl Machine {
    /// An error unless every number makes sense.
    pub fn check(&self) -> Result<(), PlanError> {
        in_range("GPUs of a host", f64::from(self.gpus_per_host), (1.0, 64.0))?;
        in_range("bytes a second of a host's network", self.network, (1e6, 1e15))?;
        in_range("share of the network", self.network_share, (0.01, 1.0))?;
        if let Some(link) = self.host_link {
            in_range("bytes a second between host and GPU", link, (1e6, 1e15))?;
        }
        in_range("bytes of a GPU's memory", self.gpu_memory, (1e6, 1e15))?;
        in_range("share of a GPU", self.gpu_share, (0.01, 1.0))?;
        if let Some(antennas) = self.antennas_per_f {
            in_range("antennas of an F rank", f64::from(antennas), (1.0, 1e5))?;
        }
        if let Some(channels) = self.channels_per_x {
            in_range("channels of an X rank", f64::from(channels), (1.0, 16_777_216.0))?;
        }
        in_range("spectra of a frame", f64::from(self.spectra_per_frame), (1.0, 16_777_216.0))?;
        in_range("frames of a block", f64::from(self.frames_per_block), (1.0, 65536.0))?;
        in_range("lanes", f64::from(self.lanes), (1.0, 64.0))?;
        in_range("blocks of a queue", f64::from(self.queue_depth), (0.0, 64.0))
    }

    /// Bytes a second between a GPU and its host, each way.
    pub(crate) fn link(&self, coefficients: &Coefficients) -> Result<f64, PlanError> {
        match self.host_link {
            Some(link) => Ok(link),
            None => Ok(coefficients.curve("host_link")?.at(1.0)? * 1e9),
        }
    }

    /// The exchange's block.
    pub(crate) fn block(&self, telescope: &Telescope) -> Block {
        Block {
            frames: self.frames_per_block,
            spectra: self.spectra_per_frame,
            antennas: telescope.antennas,
            channels: telescope.channels,
            pols: telescope.pols,
            bytes: telescope.voltages.bytes(),
        }
    }
}
