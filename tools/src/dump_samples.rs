//! Writes the samples of a recording to an npy file, for anyone who wants to look at them with numpy.
//!
//! Out: `float32` or `complex64`, `[channel][input][time]`, missing samples zero; on stdout one JSON object that says
//! what the recording is. The whole recording is held in memory: this is for pieces of recordings.
//!
//! ```text
//! cargo run --release -p fringes-tools -- dump-samples recording.vdif --output samples.npy --presence presence.npy
//! ```

use std::path::PathBuf;

use crate::end::{Failure, failure};
use fringes::io::read::{Block, BlockData, FileFormat, InputMap, OpenOptions, StreamInfo, open};
use ndarray::{Array2, Array3, Axis, concatenate};
use num_complex::Complex;

/// Write the samples of a recording (VDIF, GUPPI raw, PSRDADA) as npy [channel][input][time].
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Files of one recording, in the order of time.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the samples go.
    #[arg(long)]
    output: PathBuf,
    /// Where presence flags go, bool [input][time].
    #[arg(long)]
    presence: Option<PathBuf>,
    /// Format of the files: vdif, guppi or dada; told from the first bytes without it.
    #[arg(long)]
    format: Option<FileFormat>,
    /// Which stream is which input, e.g. 0:0x,1:0y.
    #[arg(long)]
    map: Option<InputMap>,
    /// Sample rate of a channel in Hz, instead of what the files say.
    #[arg(long)]
    sample_rate: Option<f64>,
    /// Samples that are read at once.
    #[arg(long, default_value_t = 65536)]
    block: usize,
}

/// What stdout says.
#[derive(serde::Serialize)]
struct Summary {
    format: &'static str,
    complex: bool,
    channels: usize,
    antennas: usize,
    pols: usize,
    input_names: Vec<String>,
    bits: u32,
    sample_rate_hz: Option<f64>,
    first_channel_hz: Option<f64>,
    channel_step_hz: Option<f64>,
    start_mjd_day: Option<i64>,
    start_seconds: Option<f64>,
    start_utc: Option<String>,
    telescope: Option<String>,
    source: Option<String>,
    total_samples: Option<u64>,
    channelised: bool,
    inverted: bool,
    samples: usize,
    clamped: u64,
    absent: usize,
    frames: u64,
    invalid_frames: u64,
    duplicate_frames: u64,
    late_frames: u64,
    unknown_frames: u64,
    stray_frames: u64,
    /// What ended the recording early.
    ended_by: Option<String>,
}

/// Joins blocks along time.
fn join<T: Copy>(blocks: &[&Array3<T>]) -> Result<Array3<T>, Failure> {
    let views: Vec<_> = blocks.iter().map(|block| block.view()).collect();
    concatenate(Axis(2), &views).map_err(|error| failure("blocks of different shape", error))
}

/// Flags `[input][time]` of all blocks.
fn flags(blocks: &[Block], inputs: usize) -> Array2<bool> {
    let times = blocks.iter().map(Block::times).sum();
    let mut flags = Array2::from_elem((inputs, times), true);
    let mut start = 0;
    for block in blocks {
        if let Some(presence) = &block.presence {
            for input in 0..inputs {
                for time in 0..block.times() {
                    flags[(input, start + time)] = presence.is_present(input, time);
                }
            }
        }
        start += block.times();
    }
    flags
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = OpenOptions {
        format: arguments.format,
        mapping: arguments.map.clone(),
        sample_rate_hz: arguments.sample_rate,
        ..OpenOptions::default()
    };
    let mut reader = open(&arguments.files, &options)?;
    let (mut blocks, mut ended_by) = (Vec::new(), None);
    loop {
        match reader.read(arguments.block) {
            Ok(Some(block)) => blocks.push(block),
            Ok(None) => break,
            // What came before is worth having.
            Err(error) => ended_by = Some(error.to_string()),
        }
    }
    let info: StreamInfo = reader.info().clone();
    let inputs = info.inputs.len();
    let write = |error| failure(arguments.output.display(), error);
    if info.complex {
        let data: Vec<&Array3<Complex<f32>>> = blocks
            .iter()
            .filter_map(|block| if let BlockData::Complex(data) = &block.data { Some(data) } else { None })
            .collect();
        ndarray_npy::write_npy(&arguments.output, &join(&data)?).map_err(write)?;
    } else {
        let data: Vec<&Array3<f32>> = blocks
            .iter()
            .filter_map(|block| if let BlockData::Real(data) = &block.data { Some(data) } else { None })
            .collect();
        ndarray_npy::write_npy(&arguments.output, &join(&data)?).map_err(write)?;
    }
    let flags = flags(&blocks, inputs);
    if let Some(path) = &arguments.presence {
        ndarray_npy::write_npy(path, &flags).map_err(|error| failure(path.display(), error))?;
    }
    let counts = reader.counts();
    let summary = Summary {
        format: info.format.name(),
        complex: info.complex,
        channels: info.channels,
        antennas: info.inputs.antennas(),
        pols: info.inputs.pols(),
        input_names: info.input_names,
        bits: info.bits,
        sample_rate_hz: info.sample_rate_hz,
        first_channel_hz: info.frequencies.map(|frequencies| frequencies.first_hz),
        channel_step_hz: info.frequencies.map(|frequencies| frequencies.step_hz),
        start_mjd_day: info.start.map(|start| start.mjd_day),
        start_seconds: info.start.map(|start| start.seconds),
        start_utc: info.start.map(|start| start.to_string()),
        telescope: info.telescope,
        source: info.source.map(|source| source.name),
        total_samples: info.total_samples,
        channelised: info.channelised,
        inverted: info.inverted,
        samples: flags.ncols(),
        clamped: blocks.iter().map(|block| block.clamped).sum(),
        absent: flags.iter().filter(|present| !**present).count(),
        frames: counts.frames,
        invalid_frames: counts.invalid,
        duplicate_frames: counts.duplicate,
        late_frames: counts.late,
        unknown_frames: counts.unknown,
        stray_frames: counts.stray,
        ended_by,
    };
    println!("{}", serde_json::to_string(&summary).map_err(|error| failure("summary", error))?);
    Ok(())
}
