//! The command line, and what follows from it.

use std::path::PathBuf;

use fringes::{Frequencies, SpectrumClock};

use crate::common::{BackendArguments, Failure, failure};
use crate::fold::PERIOD;

/// Spectra of a chunk: one period of the pulsar.
pub(crate) const CHUNK: usize = PERIOD;
/// Most chunks of a run: an hour.
const MOST_CHUNKS: usize = 1 << 17;

/// Tied-array beams of a simulated array: sky maps, a null, a pulsar, one picture.
#[derive(clap::Parser)]
pub(crate) struct Arguments {
    /// Folder of the picture, beams.png.
    #[arg(long, value_name = "DIR", default_value = "beams-output")]
    pub(crate) out: PathBuf,
    /// SIGPROC filterbank file of the pulsar's beam, 8 bits.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Seconds to simulate.
    #[arg(long, default_value_t = 16.777_216, value_parser = positive)]
    duration: f64,
    /// Antennas, at random places within a circle.
    #[arg(long, default_value_t = 48, value_parser = clap::value_parser!(u16).range(8..=512))]
    antennas: u16,
    /// The pulsar's pulse, as a multiple of an antenna's noise.
    #[arg(long, value_name = "POWER", default_value_t = 0.0125, value_parser = positive)]
    pulsar: f64,
    /// The transmitter while it sends, as a multiple of an antenna's noise.
    #[arg(long, value_name = "POWER", default_value_t = 2.0, value_parser = positive)]
    transmitter: f64,
    /// Seed of places and noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(crate) backend: BackendArguments,
}

/// What is simulated.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) antennas: usize,
    pub(crate) radius_m: f64,
    pub(crate) channels: usize,
    pub(crate) centre_hz: f64,
    pub(crate) clock: SpectrumClock,
    pub(crate) chunks: usize,
    /// Powers of the sources as multiples of an antenna's noise.
    pub(crate) pulsar: f64,
    pub(crate) satellite: f64,
    pub(crate) transmitter: f64,
    pub(crate) seed: u64,
}

impl Arguments {
    /// What follows from the arguments, if they fit together.
    pub(crate) fn setup(&self) -> Result<Setup, Failure> {
        let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 64, sample_rate_hz: 1e6 };
        let chunks = (self.duration / (CHUNK as f64 * clock.spectrum_seconds())).round() as usize;
        if !(16..=MOST_CHUNKS).contains(&chunks) {
            let what = format!("expected 16 to {MOST_CHUNKS} periods of {CHUNK} spectra of 64 us, found {chunks}");
            return Err(failure("--duration", what));
        }
        if self.transmitter > 4.0 || self.pulsar > 0.5 {
            return Err(failure("--transmitter, --pulsar", "8 bits hold at most 4 and 0.5 times an antenna's noise"));
        }
        let antennas = usize::from(self.antennas);
        Ok(Setup {
            antennas,
            // As dense for any number.
            radius_m: 20.0 * (antennas as f64 / 48.0).sqrt(),
            channels: 16,
            centre_hz: 408e6,
            clock,
            chunks,
            pulsar: self.pulsar,
            satellite: 0.05,
            transmitter: self.transmitter,
            seed: self.seed,
        })
    }
}

impl Setup {
    pub(crate) fn channel_hz(&self) -> f64 {
        1.0 / self.clock.spectrum_seconds()
    }

    pub(crate) fn frequencies(&self) -> Frequencies {
        Frequencies::around(self.centre_hz, self.channels, self.channel_hz())
    }

    pub(crate) fn spectra(&self) -> usize {
        self.chunks * CHUNK
    }

    pub(crate) fn duration_s(&self) -> f64 {
        self.spectra() as f64 * self.clock.spectrum_seconds()
    }

    /// The clock of a chunk.
    pub(crate) fn clock_of(&self, chunk: usize) -> SpectrumClock {
        SpectrumClock { first_sample: self.clock.sample_of(chunk * CHUNK), ..self.clock }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!("expected a finite number above 0, found `{text}`")),
    }
}
