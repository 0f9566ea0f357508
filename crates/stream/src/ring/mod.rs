//! The last voltages, kept in host memory until something asks for them.

mod file;

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fringes_io::write::BeamObservation;
use fringes_types::{Beams, Complex, Heaps, SampleFormat};

use crate::fx::{FrameData, StreamSample};
use crate::{Stage, StreamError};
use file::RingFile;

pub use file::RingFormat;

/// Frames of the last so many spectra.
#[derive(Debug)]
pub(crate) struct Ring<V: StreamSample> {
    /// Most spectra that are kept; 0 for none.
    spectra: usize,
    frames: Mutex<VecDeque<Arc<FrameData<V>>>>,
}

impl<V: StreamSample> Ring<V> {
    pub(crate) fn new(spectra: usize) -> Self {
        Self { spectra, frames: Mutex::default() }
    }

    /// Adds frames that lie on the host, those in pinned memory as a copy, and gives the oldest, which it forgets.
    /// Those on a device are brought there before.
    pub(crate) fn push(&self, frames: &Arc<FrameData<V>>) -> Result<Vec<Arc<FrameData<V>>>, StreamError> {
        if self.spectra == 0 {
            return Ok(Vec::new());
        }
        let frames = match &**frames {
            FrameData::Host(_) => frames.clone(),
            FrameData::Pinned(_) => {
                let copied = frames.on_host().map_err(|error| StreamError::at(Stage::FEngine, error))?;
                Arc::new(FrameData::Host(copied.into_owned()))
            }
            FrameData::Device(_) => return Ok(Vec::new()),
        };
        let mut kept = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(frames);
        let mut spectra: usize = kept.iter().map(|frames| frames.times()).sum();
        let mut forgotten = Vec::new();
        while let Some(oldest) = kept.front()
            && spectra - oldest.times() >= self.spectra
        {
            spectra -= oldest.times();
            forgotten.extend(kept.pop_front());
        }
        Ok(forgotten)
    }

    /// Writes the voltages of frames that overlap a range of samples: a file an antenna and piece without a gap,
    /// `antenna-<number>-<first sample>`.
    pub(crate) fn write(
        &self,
        range: Range<u64>,
        folder: &Path,
        observation: &BeamObservation,
        format: RingFormat,
    ) -> Result<RingWritten, StreamError> {
        if !matches!(V::FORMAT, SampleFormat::Int4 | SampleFormat::Int8) {
            return Err(no_integers::<V>());
        }
        let kept: Vec<_> = self.frames.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let end = |frames: &FrameData<V>| frames.clock().sample_of(frames.times());
        let (held_first, held_end) =
            (kept.first().map_or(0, |of| of.clock().first_sample), kept.last().map_or(0, |of| end(of)));
        let Range { start: first, end: last } = range;
        if first >= last || first < held_first || last > held_end {
            return Err(StreamError::NotInRing { held_first, held_end, first, end: last });
        }
        let mut written = RingWritten::default();
        let mut files: Vec<RingFile> = Vec::new();
        let mut next = None;
        let finish = |files: &mut Vec<RingFile>| files.drain(..).try_for_each(RingFile::finish);
        for frames in &kept {
            let FrameData::Host(heaps) = &**frames else { continue };
            let stamp = heaps.clock().first_sample;
            if stamp >= last || end(frames) <= first {
                continue;
            }
            if next != Some(stamp) {
                finish(&mut files)?;
                written.pieces += 1;
                for antenna in 0..heaps.inputs().antennas() {
                    let (formats, place) = ((format, V::FORMAT), (folder, stamp));
                    let (of, spectra) = ((antenna, heaps.inputs()), heaps.spectra_per_heap());
                    files.push(RingFile::create(formats, place, observation, of, spectra)?);
                }
            }
            let voltages = as_beams(heaps)?;
            for (antenna, file) in files.iter_mut().enumerate() {
                let came = |spectrum: usize| {
                    let flags = heaps.presence();
                    flags.is_none_or(|flags| flags[(spectrum / heaps.spectra_per_heap(), antenna)])
                };
                let present: Vec<bool> = (0..heaps.times()).map(came).collect();
                file.write(&voltages, &present)?;
            }
            written.spectra += heaps.times() as u64;
            next = Some(end(frames));
        }
        finish(&mut files)?;
        Ok(written)
    }
}

/// What has been written of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingWritten {
    /// Pieces without a gap: files of each antenna.
    pub pieces: usize,
    /// Spectra of each antenna: those of all frames that overlap the range.
    pub spectra: u64,
}

/// Inputs as beams, which is what writers take. Absent heaps are zeros already.
fn as_beams<V: StreamSample>(heaps: &Heaps<V>) -> Result<Beams<Complex<i8>>, StreamError> {
    let voltages = heaps.to_voltages();
    let data = voltages.data();
    let integers = data.iter().map(|&value| value.to_int8()).collect::<Option<Vec<_>>>();
    let integers = integers.ok_or_else(no_integers::<V>)?;
    let data = ndarray::Array3::from_shape_vec(data.dim(), integers).map_err(|_| no_integers::<V>())?;
    Ok(Beams::new(data, heaps.frequencies(), heaps.clock())?)
}

fn no_integers<V: StreamSample>() -> StreamError {
    StreamError::Plan {
        what: "voltages of a file",
        expected: "4-bit or 8-bit integers".into(),
        actual: V::FORMAT.to_string(),
    }
}
