//! Real recordings as a [`SampleSource`].

use std::path::PathBuf;

use fringes::Inputs;
use fringes::delay::{AntennaArray, Source};
use fringes::io::read::{OpenOptions, StreamInfo, VoltageReader, open};

use crate::args::Arguments;
use crate::failure::{Failure, Result};
use crate::frames::Frames;
use crate::observation::{Chunk, Observation, SampleSource};

/// A recording that is being read.
pub(crate) struct Recording {
    reader: Box<dyn VoltageReader>,
    observation: Observation,
    clamped: u64,
}

impl Recording {
    /// Opens the recordings of the command line.
    pub(crate) fn open(arguments: &Arguments, array: Option<AntennaArray>) -> Result<Self> {
        let options = OpenOptions {
            format: arguments.format,
            mapping: arguments.map.clone(),
            sample_rate_hz: arguments.sample_rate,
            centre_frequency_hz: arguments.centre_frequency,
            ..OpenOptions::default()
        };
        let reader = open(&arguments.input, &options)?;
        let observation = observe(reader.info(), arguments, array)?;
        Ok(Self { reader, observation, clamped: 0 })
    }
}

/// The facts of a recording, with what the command line adds to them.
fn observe(info: &StreamInfo, arguments: &Arguments, array: Option<AntennaArray>) -> Result<Observation> {
    let files = names(&arguments.input);
    let sample_rate_hz = info.sample_rate_hz.ok_or_else(|| {
        Failure::at(&files, "the recording does not say its sample rate; give it with --sample-rate HZ")
    })?;
    if let Some(array) = &array
        && array.len() != info.inputs.antennas()
    {
        let what = format!("expected {} antennas as in the recording, found {}", info.inputs.antennas(), array.len());
        return Err(Failure::at("--array", what));
    }
    let recorded = info.source.as_ref().and_then(|source| {
        let (ra, dec) = (source.ra_deg?, source.dec_deg?);
        Some(Source::RaDec { ra_rad: ra.to_radians(), dec_rad: dec.to_radians() })
    });
    let names_of_antennas = array.as_ref().map(AntennaArray::names);
    Ok(Observation {
        label: files,
        format: format!("{}{}", info.format, if info.channelised { ", channelised" } else { "" }),
        inputs: info.inputs,
        input_names: input_names(info.inputs, names_of_antennas),
        complex: info.complex,
        channelised: info.channelised,
        recorded_channels: info.channels,
        bits: info.bits,
        sample_rate_hz,
        centres: info.frequencies,
        start: info.start,
        total_samples: info.total_samples,
        phase_centre: array.as_ref().and(arguments.source.or(recorded)),
        array,
        telescope: info.telescope.clone().unwrap_or_else(|| "unknown".into()),
        source_name: info.source.as_ref().map_or_else(|| "unknown".into(), |source| source.name.clone()),
        track: None,
    })
}

/// Short names of the inputs: the antenna and, of two polarisations, x or y.
pub(crate) fn input_names(inputs: Inputs, antennas: Option<&[String]>) -> Vec<String> {
    (0..inputs.len())
        .filter_map(|input| inputs.antenna_pol(input))
        .map(|(antenna, pol)| {
            let name = antennas.and_then(|names| names.get(antenna)).cloned().unwrap_or_else(|| antenna.to_string());
            if inputs.pols() == 2 { format!("{name}{}", ["x", "y"][pol % 2]) } else { name }
        })
        .collect()
}

/// File names without their folders.
fn names(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match paths {
        [first, .., _] => format!("{} and {} more", name(first), paths.len() - 1),
        _ => paths.iter().map(name).collect(),
    }
}

impl SampleSource for Recording {
    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn next_chunk(&mut self, times: usize) -> Result<Option<Chunk>> {
        let Some(block) = self.reader.read(times)? else { return Ok(None) };
        self.clamped += block.clamped;
        Ok(Some(Chunk::Recorded(Box::new(block))))
    }

    fn clamped(&self) -> u64 {
        self.clamped
    }

    fn frames(&self) -> Option<Frames> {
        Some(self.reader.counts().into())
    }
}
