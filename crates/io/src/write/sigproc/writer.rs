//! The file itself: header with the first chunk, then spectra as they come.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use fringes_types::DetectedBeams;
use ndarray::{Axis, s};

use super::header::{LONGEST_TEXT, header};
use crate::IoError;
use crate::write::observation::{Axes, BeamObservation, check_beam};

/// Spectra that are put in order at once.
const BLOCK: usize = 256;

mod sealed {
    pub trait Sealed {}
}

/// What a filterbank file holds: `u8` or `f32`. Sealed: the types are these.
pub trait FilterbankSample: sealed::Sealed + Copy + Default {
    /// Bits of a value.
    #[doc(hidden)]
    const BITS: i32;

    /// The value's bytes, the lowest first.
    #[doc(hidden)]
    fn put(self, bytes: &mut Vec<u8>);
}

impl sealed::Sealed for u8 {}
impl FilterbankSample for u8 {
    const BITS: i32 = 8;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self);
    }
}

impl sealed::Sealed for f32 {}
impl FilterbankSample for f32 {
    const BITS: i32 = 32;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// Writes one of the detected beams to a SIGPROC filterbank file, chunk after chunk; see the [module](super) for what
/// it looks like.
///
/// The header is written with the first chunk, whose axes it tells. Nothing of the file is kept in memory.
#[derive(Debug)]
pub struct FilterbankWriter<T> {
    path: PathBuf,
    file: BufWriter<File>,
    observation: BeamObservation,
    beam: usize,
    axes: Option<Axes>,
    spectra: u64,
    bytes: Vec<u8>,
    sample: PhantomData<fn() -> T>,
}

impl<T: FilterbankSample> FilterbankWriter<T> {
    /// Starts a file for beam number `beam` of what comes, replacing one that exists.
    ///
    /// # Errors
    /// [`IoError::HeaderText`] for a name that is empty, longer than 80 characters or not ASCII, [`IoError::Delay`] for
    /// a direction that is none, [`IoError::File`] if the file cannot be written.
    pub fn create(path: &Path, observation: &BeamObservation, beam: usize) -> Result<Self, IoError> {
        observation.check(LONGEST_TEXT)?;
        let file = File::create(path).map_err(|source| IoError::File { path: path.into(), source })?;
        Ok(Self {
            path: path.into(),
            file: BufWriter::with_capacity(1 << 18, file),
            observation: observation.clone(),
            beam,
            axes: None,
            spectra: 0,
            bytes: Vec::new(),
            sample: PhantomData,
        })
    }

    /// Appends the beam of a chunk.
    ///
    /// # Errors
    /// [`IoError::UnsetSampleRate`] if the beams' clock has none; [`IoError::Axis`] for a chunk with other axes than
    /// the first, or that does not begin where the one before ended; [`IoError::Types`] for a chunk without the beam or
    /// without channels, or with channels that do not ascend; [`IoError::File`] if the file cannot be written. A
    /// refused chunk leaves the file as it was.
    pub fn write(&mut self, beams: &DetectedBeams<T>) -> Result<(), IoError> {
        check_beam(self.beam, beams.beams())?;
        let axes = Axes {
            channels: beams.channels(),
            products: beams.products().count(),
            frequencies: beams.frequencies(),
            clock: beams.clock(),
        };
        match &self.axes {
            Some(before) => before.check_next(&axes)?,
            None => {
                axes.check()?;
                self.bytes = header(&self.observation, &axes, self.beam, beams.beams(), T::BITS);
                self.flush_bytes()?;
            }
        }
        let mut next = axes;
        next.clock.first_sample = axes.clock.sample_of(beams.times());
        self.axes = Some(next);

        // [channel][time][product], channels from the highest down.
        let data = beams.data();
        let data = data.index_axis(Axis(2), self.beam);
        let data = data.slice(s![..;-1, .., ..]);
        for first in (0..beams.times()).step_by(BLOCK) {
            let block = data.slice(s![.., first..(first + BLOCK).min(beams.times()), ..]);
            let ordered = block.permuted_axes([1, 2, 0]);
            ordered.iter().for_each(|value| value.put(&mut self.bytes));
            self.flush_bytes()?;
        }
        self.spectra += beams.times() as u64;
        Ok(())
    }

    /// Ends the file. Returns the number of spectra. A file without a chunk is empty.
    ///
    /// # Errors
    /// [`IoError::File`] if the file cannot be written.
    pub fn finish(mut self) -> Result<u64, IoError> {
        self.file.flush().map_err(|source| IoError::File { path: self.path.clone(), source })?;
        Ok(self.spectra)
    }

    fn flush_bytes(&mut self) -> Result<(), IoError> {
        let written = self.file.write_all(&self.bytes);
        self.bytes.clear();
        written.map_err(|source| IoError::File { path: self.path.clone(), source })
    }
}
