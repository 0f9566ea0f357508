//! The command line.

use clap::{Args, Parser, ValueEnum};
use fringes_plan_model::{Beams, Machine, PlanError, Precision, Products, Roles, Samples, Telescope, Voltages};

/// What an FX correlator and beamformer needs of H200 GPUs: ranks, links, memory, power, and what bounds it.
///
/// Numbers may be written as 1.3e9.
#[derive(Debug, Parser)]
#[command(name = "fringes-plan", version)]
pub(crate) struct Arguments {
    /// Antennas, or stations.
    #[arg(long, required_unless_present_any = ["published", "scaling", "coefficients"])]
    antennas: Option<u32>,
    /// Band of a polarisation, Hz.
    #[arg(long, required_unless_present_any = ["published", "scaling", "coefficients"])]
    bandwidth: Option<f64>,
    /// Channels over the whole band.
    #[arg(long, default_value_t = 4096)]
    channels: u32,
    /// Bits of real and imaginary part of voltages between F and X: 4, 8, or 16 for half precision.
    #[arg(long, default_value_t = 8)]
    bits: u32,
    /// Polarisations of an antenna.
    #[arg(long, default_value_t = 2)]
    pols: u32,
    /// How samples come; channelised ones need no F-engine.
    #[arg(long, value_enum, default_value_t = SampleKind::Real)]
    samples: SampleKind,
    /// Bits of a real number of the samples.
    #[arg(long, default_value_t = 10)]
    sample_bits: u32,
    /// Taps of the filter bank.
    #[arg(long, default_value_t = 16)]
    taps: u32,
    /// Arithmetic of the F-engine.
    #[arg(long, value_enum, default_value_t = PrecisionKind::Single)]
    precision: PrecisionKind,
    /// Seconds of a dump.
    #[arg(long, default_value_t = 0.5)]
    dump_seconds: f64,
    /// Tied-array beams, each of all polarisations, over the whole band.
    #[arg(long)]
    beams: Option<u32>,
    /// Powers of beams, summed over so many spectra; voltages without it.
    #[arg(long, value_name = "SPECTRA", requires = "beams")]
    powers: Option<u32>,
    #[command(flatten)]
    hosts: Hosts,
    /// Print published designs beside the model, as a table.
    #[arg(long, conflicts_with_all = ["scaling", "coefficients"])]
    pub(crate) published: bool,
    /// Print the exchange of up to so many ranks on a fat tree, as a table.
    #[arg(long, value_name = "RANKS", conflicts_with = "coefficients")]
    pub(crate) scaling: Option<u32>,
    #[command(flatten)]
    pub(crate) fabric: Fabric,
    /// Print the measured rates that the model is made of, as a table.
    #[arg(long, conflicts_with = "json")]
    pub(crate) coefficients: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Hosts and how ranks use them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hosts")]
struct Hosts {
    /// GPUs of a host.
    #[arg(long, default_value_t = 8)]
    gpus_per_host: u32,
    /// Gbit/s of a host's network, each way.
    #[arg(long, default_value_t = 3200.0)]
    network_gbit: f64,
    /// Share of the network that is used at most.
    #[arg(long, default_value_t = 0.85)]
    network_share: f64,
    /// GB/s between a GPU and its host, each way; as measured without it.
    #[arg(long)]
    host_link_gbyte: Option<f64>,
    /// GB of a GPU's memory.
    #[arg(long, default_value_t = 141.0)]
    gpu_memory_gbyte: f64,
    /// Share of a GPU's time, link and memory that is used at most.
    #[arg(long, default_value_t = 0.8)]
    gpu_share: f64,
    /// Whether F and X are on the same ranks.
    #[arg(long, value_enum, default_value_t = RoleKind::Apart)]
    roles: RoleKind,
    /// Antennas of an F rank; as many as it keeps up with, without it.
    #[arg(long, value_name = "ANTENNAS")]
    antennas_per_f: Option<u32>,
    /// Channels of an X rank; as many as it keeps up with, without it.
    #[arg(long, value_name = "CHANNELS")]
    channels_per_x: Option<u32>,
    /// Spectra of a frame.
    #[arg(long, default_value_t = 256)]
    spectra_per_frame: u32,
    /// Frames of a block of the exchange.
    #[arg(long, default_value_t = 1)]
    frames_per_block: u32,
    /// Blocks on their way at the same time.
    #[arg(long, default_value_t = 2)]
    lanes: u32,
    /// Blocks that wait in a queue.
    #[arg(long, default_value_t = 2)]
    queue_depth: u32,
}

/// The network of `--scaling`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network of --scaling")]
pub(crate) struct Fabric {
    /// Ports of a switch.
    #[arg(long, default_value_t = 64)]
    pub(crate) radix: u32,
    /// Levels of switches, 1 to 3.
    #[arg(long, default_value_t = 3)]
    pub(crate) levels: u32,
    /// Ports down over ports up of a leaf.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) oversubscription: f64,
    /// Gbit/s of a link, each way.
    #[arg(long, default_value_t = 400.0)]
    pub(crate) link_gbit: f64,
    /// Microseconds before a message's first byte is there.
    #[arg(long, default_value_t = 5.0)]
    pub(crate) latency_us: f64,
    /// MiB that a rank sends in an exchange.
    #[arg(long, default_value_t = 256.0)]
    pub(crate) block_mib: f64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SampleKind {
    Real,
    Complex,
    Channelised,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PrecisionKind {
    Single,
    Half,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleKind {
    Apart,
    Together,
}

impl Arguments {
    /// The telescope that is asked about.
    pub(crate) fn telescope(&self) -> Result<Telescope, PlanError> {
        let products = self.powers.map_or(Products::Voltages, |spectra| Products::Powers { spectra });
        Ok(Telescope {
            antennas: self.antennas.unwrap_or(0),
            pols: self.pols,
            bandwidth_hz: self.bandwidth.unwrap_or(0.0),
            samples: match self.samples {
                SampleKind::Real => Samples::Real,
                SampleKind::Complex => Samples::Complex,
                SampleKind::Channelised => Samples::Channelised,
            },
            sample_bits: self.sample_bits,
            channels: self.channels,
            voltages: Voltages::of_bits(self.bits)?,
            taps: self.taps,
            precision: match self.precision {
                PrecisionKind::Single => Precision::Single,
                PrecisionKind::Half => Precision::Half,
            },
            dump_seconds: self.dump_seconds,
            beams: self.beams.map(|count| Beams { count, products }),
        })
    }

    /// The machine that is asked about.
    pub(crate) fn machine(&self) -> Machine {
        let hosts = &self.hosts;
        Machine {
            gpus_per_host: hosts.gpus_per_host,
            network: hosts.network_gbit * 1e9 / 8.0,
            network_share: hosts.network_share,
            host_link: hosts.host_link_gbyte.map(|rate| rate * 1e9),
            gpu_memory: hosts.gpu_memory_gbyte * 1e9,
            gpu_share: hosts.gpu_share,
            roles: match hosts.roles {
                RoleKind::Apart => Roles::Apart,
                RoleKind::Together => Roles::Together,
            },
            antennas_per_f: hosts.antennas_per_f,
            channels_per_x: hosts.channels_per_x,
            spectra_per_frame: hosts.spectra_per_frame,
            frames_per_block: hosts.frames_per_block,
            lanes: hosts.lanes,
            queue_depth: hosts.queue_depth,
        }
    }
}
