//! The file itself: blocks as they become full.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fringes_types::{Beams, TypesError};
use ndarray::s;
use num_complex::Complex;

use super::header::{LONGEST_TEXT, header};
use crate::IoError;
use crate::write::observation::{Axes, BeamObservation, check_beam};

/// What a file of voltages ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuppiEnd {
    /// Blocks of the file.
    pub blocks: u64,
    /// Spectra of zeros at the end of the last block.
    pub padding: usize,
}

/// Writes the voltages of one beam to a GUPPI raw file, chunk after chunk; see the [module](super) for what it looks
/// like.
///
/// One block is held in memory. A block of the format is complete: [`GuppiWriter::finish`] fills the last one up with
/// zeros, and without it the spectra of an incomplete block are not in the file.
#[derive(Debug)]
pub struct GuppiWriter {
    path: PathBuf,
    file: BufWriter<File>,
    observation: BeamObservation,
    beam: usize,
    pols: usize,
    block_spectra: usize,
    /// Those of the first chunk, and with the clock of what comes next.
    axes: Option<[Axes; 2]>,
    /// Block under way, `[channel][time][pol][part]`.
    block: Vec<u8>,
    filled: usize,
    blocks: u64,
}

impl GuppiWriter {
    /// Starts a file, replacing one that exists, for a beam of `pols` polarisations: beams `beam * pols ..` of what
    /// comes. A block has `block_spectra` spectra.
    ///
    /// # Errors
    /// [`IoError::Types`] for other than 1 or 2 polarisations or a block of nothing; [`IoError::HeaderText`] for a name
    /// that is empty, longer than 66 characters, has a quote or is not ASCII; [`IoError::Delay`] for a direction that
    /// is none; [`IoError::File`] if the file cannot be written.
    pub fn create(
        path: &Path,
        observation: &BeamObservation,
        beam: usize,
        pols: usize,
        block_spectra: usize,
    ) -> Result<Self, IoError> {
        observation.check(LONGEST_TEXT)?;
        if !(1..=2).contains(&pols) {
            return Err(TypesError::Pols { actual: pols }.into());
        }
        if block_spectra == 0 {
            return Err(TypesError::NotPositive { quantity: "spectra of a block", actual: 0.0 }.into());
        }
        let file = File::create(path).map_err(|source| IoError::File { path: path.into(), source })?;
        Ok(Self {
            path: path.into(),
            file: BufWriter::with_capacity(1 << 18, file),
            observation: observation.clone(),
            beam,
            pols,
            block_spectra,
            axes: None,
            block: Vec::new(),
            filled: 0,
            blocks: 0,
        })
    }

    /// Appends the beam of a chunk.
    ///
    /// # Errors
    /// [`IoError::UnsetSampleRate`] if the beams' clock has none; [`IoError::Axis`] for a chunk with other axes than
    /// the first, or that does not begin where the one before ended; [`IoError::Types`] for a chunk without the beam or
    /// without channels, with channels that do not ascend, or for a block larger than memory; [`IoError::File`] if the
    /// file cannot be written. A refused chunk leaves the file as it was.
    pub fn write(&mut self, beams: &Beams<Complex<i8>>) -> Result<(), IoError> {
        let first_beam = self.beam.saturating_mul(self.pols);
        check_beam(first_beam.saturating_add(self.pols - 1), beams.beams())?;
        let axes = Axes {
            channels: beams.channels(),
            products: self.pols,
            frequencies: beams.frequencies(),
            clock: beams.clock(),
        };
        let [first, mut next] = match self.axes {
            Some([first, next]) => {
                next.check_next(&axes)?;
                [first, next]
            }
            None => {
                axes.check()?;
                let shape = [axes.channels, self.block_spectra, self.pols, 2];
                let bytes = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length));
                let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
                let too_large = || TypesError::TooLarge { array: "a block", elements: format!("{shape:?}") };
                self.block = vec![0; bytes.ok_or_else(too_large)?];
                [axes, axes]
            }
        };
        next.clock.first_sample = axes.clock.sample_of(beams.times());
        self.axes = Some([first, next]);

        let data = beams.data();
        let mut done = 0;
        while done < beams.times() {
            let count = (self.block_spectra - self.filled).min(beams.times() - done);
            let data = data.slice(s![.., done..done + count, first_beam..first_beam + self.pols]);
            let spectrum = self.pols * 2;
            for (block, data) in self.block.chunks_exact_mut(self.block_spectra * spectrum).zip(data.outer_iter()) {
                let place = block[self.filled * spectrum..].chunks_exact_mut(2);
                place.zip(data.iter()).for_each(|(place, value)| {
                    place.copy_from_slice(&[value.re as u8, value.im as u8]); // two's complement
                });
            }
            self.filled += count;
            done += count;
            if self.filled == self.block_spectra {
                self.put_block(&first)?;
            }
        }
        Ok(())
    }

    /// Ends the file, with zeros up to the end of the last block. A file without a spectrum is empty.
    ///
    /// # Errors
    /// [`IoError::File`] if the file cannot be written.
    pub fn finish(mut self) -> Result<GuppiEnd, IoError> {
        let mut padding = 0;
        if let Some([first, _]) = self.axes.filter(|_| self.filled > 0) {
            padding = self.block_spectra - self.filled;
            let spectrum = self.pols * 2;
            for block in self.block.chunks_exact_mut(self.block_spectra * spectrum) {
                block[self.filled * spectrum..].fill(0);
            }
            self.put_block(&first)?;
        }
        self.file.flush().map_err(|source| IoError::File { path: self.path.clone(), source })?;
        Ok(GuppiEnd { blocks: self.blocks, padding })
    }

    fn put_block(&mut self, first: &Axes) -> Result<(), IoError> {
        let spectrum = self.blocks * self.block_spectra as u64;
        let header = header(&self.observation, first, self.block_spectra, spectrum);
        let written = self.file.write_all(&header).and_then(|()| self.file.write_all(&self.block));
        written.map_err(|source| IoError::File { path: self.path.clone(), source })?;
        self.blocks += 1;
        self.filled = 0;
        Ok(())
    }
}
