//! Beams: a grid of them for maps, and two polarisations that follow the pulsar, each without and with a null.

use std::path::Path;

use fringes::io::write::{BeamObservation, FilterbankWriter};
use fringes::prelude::*;
use fringes::{BeamformerStream, ByteScale, to_u8};
use ndarray::{Array3, Axis, concatenate, s};

use crate::args::CHUNK;
use crate::common::Failure;
use crate::fold::{BIN, BINS, Folded};
use crate::sky::{SIDE, Sky, above, fixed};
use crate::voltages::SIGMA;

/// Chunks from one that maps are made of to the next.
const MAPPED: usize = 16;

/// What forms and detects beams.
pub(crate) struct Receiver<'a> {
    backend: Backend,
    sky: &'a Sky,
    pulsar: BeamSteering,
    transmitter: BeamSteering,
    /// Without and with the null.
    grid: [BeamWeights; 2],
    stream: BeamformerStream<Complex<i8>, BeamWeights>,
    detect: DetectStream,
    file: Option<FilterbankWriter<u8>>,
    scale: Option<ByteScale>,
    chunks: usize,
    /// `[without or with][beam]`.
    folded: [Vec<Folded>; 2],
    of_pulsar: [Folded; 2],
}

/// What was found.
pub(crate) struct Seen {
    /// Mean power of the grid's beams in units of their noise, `[without or with the null][row][column]`.
    pub(crate) power: [Array3<f32>; 2],
    /// Pulsed power in the same units, with the null, `[1][row][column]`.
    pub(crate) pulsed: Array3<f32>,
    /// The beam that follows the pulsar.
    pub(crate) plain: Folded,
    pub(crate) nulled: Folded,
    /// Spectra of the filterbank file.
    pub(crate) written: u64,
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(backend: &Backend, sky: &'a Sky, file: Option<&Path>) -> Result<Self, Failure> {
        let pulsar = sky.steering(&[sky.pulsar])?;
        let transmitter = sky.steering(&[fixed(sky.transmitter())])?;
        let sources: Vec<_> = sky.grid.iter().map(|&beam| above(beam)).collect();
        let grid = sky.steering(&sources)?.weights_at(0)?;
        let nulled = with_nulls(&grid, &transmitter.weights_at(0)?)?;
        let stream = BeamformerStream::new(backend, both(&pulsar, &transmitter, 0)?, sky.inputs)?;
        let observation = BeamObservation {
            telescope: "Simulated".into(),
            source: "Pulsar".into(),
            direction: Some(sky.pulsar),
            sample_zero: sky.epoch(),
        };
        // The second of the detected beams has the null.
        let file = file.map(|path| FilterbankWriter::create(path, &observation, 1)).transpose()?;
        let folded = || vec![Folded::default(); sky.grid.len()];
        Ok(Self {
            backend: backend.clone(),
            sky,
            pulsar,
            transmitter,
            grid: [grid, nulled],
            stream,
            detect: DetectStream::new(Detection::new(DetectedProducts::StokesI, BIN, 1)?),
            file,
            scale: None,
            chunks: 0,
            folded: [folded(), folded()],
            of_pulsar: [Folded::default(), Folded::default()],
        })
    }

    /// The weights of the grid without the null: beams `2n` and `2n + 1` are the polarisations of beam `n`.
    pub(crate) fn grid(&self) -> &BeamWeights {
        &self.grid[0]
    }

    /// The weights at a time of both polarisations of the pulsar's beam, without and with the null.
    pub(crate) fn pulsar_weights(&self, seconds: f64) -> Result<BeamWeights, Failure> {
        both(&self.pulsar, &self.transmitter, (seconds * self.sky.setup.clock.sample_rate_hz) as u64)
    }

    /// Takes a chunk: one period.
    pub(crate) fn push(&mut self, voltages: &Voltages<Complex<i8>>) -> Result<(), Failure> {
        self.stream.replace(self.pulsar_weights(self.sky.middle_s(self.chunks))?)?;
        let sums = self.detect.push(&self.stream.push(voltages)?)?;
        for (beam, folded) in self.of_pulsar.iter_mut().enumerate() {
            let powers = sums.data().slice(s![.., .., beam, 0]).mapv(f64::from).sum_axis(Axis(0));
            powers.as_slice().unwrap_or_default().chunks_exact(BINS).for_each(|period| folded.push(period));
        }
        if let Some(file) = &mut self.file {
            let scale = match self.scale.take() {
                Some(scale) => scale,
                None => ByteScale::of(&sums, 96.0, 12.0)?,
            };
            file.write(&to_u8(&sums, &scale)?.beams)?;
            self.scale = Some(scale);
        }
        if self.chunks.is_multiple_of(MAPPED) {
            let detection = Detection::new(DetectedProducts::StokesI, BIN, self.sky.setup.channels)?;
            for (weights, folded) in self.grid.iter().zip(&mut self.folded) {
                let sums = detect(&beamform(&self.backend, voltages, weights)?, &detection)?;
                for (beam, folded) in folded.iter_mut().enumerate() {
                    let powers = sums.data().slice(s![0, .., beam, 0]).mapv(f64::from);
                    powers.as_slice().unwrap_or_default().chunks_exact(BINS).for_each(|period| folded.push(period));
                }
            }
        }
        self.chunks += 1;
        Ok(())
    }

    /// Ends the file, and gives what was found.
    pub(crate) fn finish(self) -> Result<Seen, Failure> {
        let written = self.file.map(FilterbankWriter::finish).transpose()?.unwrap_or(0);
        let setup = &self.sky.setup;
        let noise = |which: usize, beam: usize| -> f64 {
            // Of the two polarisations and all channels, each with |w|^2 of the power of an input.
            let beams = self.grid[which].data();
            let size: f64 =
                beams.slice(s![2 * beam..2 * beam + 2, .., ..]).iter().map(|w| f64::from(w.norm_sqr())).sum();
            size * 2.0 * SIGMA * SIGMA * BIN as f64
        };
        let map = |which: usize, of: &dyn Fn(usize) -> f64| {
            Array3::from_shape_fn((1, SIDE, SIDE), |(_, row, column)| {
                let beam = row * SIDE + column;
                (of(beam) / noise(which, beam)) as f32
            })
        };
        let folded = &self.folded;
        let total = |which: usize| map(which, &|beam| folded[which][beam].noise());
        let pulsed = map(1, &|beam| folded[1][beam].pulse() * folded[1][beam].noise());
        let (power, [plain, nulled]) = ([total(0), total(1)], self.of_pulsar);
        debug_assert_eq!(self.chunks * CHUNK, setup.spectra());
        Ok(Seen { power, pulsed, plain, nulled, written })
    }
}

impl Seen {
    /// The beam of the grid with the strongest pulses.
    pub(crate) fn brightest(&self) -> usize {
        let powers = self.pulsed.iter().enumerate();
        powers.max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(beam, _)| beam)
    }
}

/// Both polarisations of a beam without, then with the null.
fn both(pulsar: &BeamSteering, transmitter: &BeamSteering, sample: u64) -> Result<BeamWeights, Failure> {
    let plain = pulsar.weights_at(sample)?;
    let nulled = with_nulls(&plain, &transmitter.weights_at(sample)?)?;
    Ok(BeamWeights::new(concatenate(Axis(0), &[plain.data(), nulled.data()])?)?)
}
