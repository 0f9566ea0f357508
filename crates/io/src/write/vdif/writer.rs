//! The file itself: frames as they become full.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fringes_delay_model::Epoch;
use fringes_types::{Beams, Dimension, TypesError};
use ndarray::s;
use num_complex::Complex;

use super::frame::{VdifOptions, pack, spectra_of_frame, zero};
use super::header::{BYTES, Fields};
use super::timeline::Timeline;
use crate::IoError;
use crate::write::observation::{Axes, check_beam};

/// What a VDIF file ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VdifEnd {
    /// Frames of each thread.
    pub frames: u64,
    /// Frames of each thread that are flagged invalid, as nothing of them came.
    pub invalid: u64,
    /// Spectra of a frame; 0 of a file without any.
    pub spectra_per_frame: usize,
    /// Spectra of zeros before the first one.
    pub leading: usize,
    /// Spectra of zeros behind the last one.
    pub trailing: usize,
}

/// Writes voltages to a VDIF file, chunk after chunk; see the [module](super) for what it looks like.
///
/// One frame of each polarisation is held in memory. [`VdifWriter::finish`] fills the last one up with zeros; without
/// it the spectra of an incomplete frame are not in the file.
#[derive(Debug)]
pub struct VdifWriter {
    path: PathBuf,
    sample_zero: Epoch,
    options: VdifOptions,
    beam: usize,
    pols: usize,
    open: Option<Open>,
}

/// A file that has been begun.
#[derive(Debug)]
struct Open {
    file: BufWriter<File>,
    /// Axes with the clock of what comes next.
    next: Axes,
    timeline: Timeline,
    fields: Fields,
    /// The first spectrum of the frame under way, as the time line counts.
    first: u64,
    /// Of each polarisation.
    payloads: Vec<Vec<u8>>,
    filled: usize,
    /// Whether anything of the frame under way came.
    came: bool,
    end: VdifEnd,
}

impl VdifWriter {
    /// Starts a file for a beam of `pols` polarisations: beams `beam * pols ..` of what comes. Sample 0 of the chunks'
    /// clock was taken at `sample_zero`. The first chunk makes the file, replacing one that exists, if it can be
    /// written.
    ///
    /// # Errors
    /// [`IoError::Types`] for other than 1 or 2 polarisations; [`IoError::Vdif`] for other than 4 or 8 bits.
    pub fn create(
        path: &Path,
        sample_zero: Epoch,
        options: VdifOptions,
        beam: usize,
        pols: usize,
    ) -> Result<Self, IoError> {
        if !(1..=2).contains(&pols) {
            return Err(TypesError::Pols { actual: pols }.into());
        }
        options.check()?;
        Ok(Self { path: path.into(), sample_zero, options, beam, pols, open: None })
    }

    /// Appends the beam of a chunk.
    ///
    /// # Errors
    /// [`IoError::Vdif`] if channels are no power of two, spectra are no whole number a second, do not begin with a
    /// second or cannot be cut into frames, if a part does not fit 4 bits, or for a time that a header cannot hold;
    /// [`IoError::Delay`] for an instant of sample 0 that is none; [`IoError::UnsetSampleRate`] if the beams' clock has
    /// none; [`IoError::Axis`] for a chunk with other axes than the first, or that does not begin where the one before
    /// ended; [`IoError::Types`] for a chunk without the beam or without channels, or with channels that do not ascend;
    /// [`IoError::File`] if the file cannot be written. A refused chunk leaves the file as it was.
    pub fn write(&mut self, beams: &Beams<Complex<i8>>) -> Result<(), IoError> {
        self.append(beams, None)
    }

    /// As [`VdifWriter::write`], with a flag for each spectrum: false if it never came. Frames of which nothing came
    /// are flagged invalid; in others what is absent stays as the zeros that it is.
    ///
    /// # Errors
    /// As [`VdifWriter::write`]; [`IoError::Types`] for another number of flags than of spectra.
    pub fn write_present(&mut self, beams: &Beams<Complex<i8>>, present: &[bool]) -> Result<(), IoError> {
        if present.len() != beams.times() {
            let (array, dimension) = ("presence flags", Dimension::Time);
            return Err(
                TypesError::Dimension { array, dimension, expected: beams.times(), actual: present.len() }.into()
            );
        }
        self.append(beams, Some(present))
    }

    fn append(&mut self, beams: &Beams<Complex<i8>>, present: Option<&[bool]>) -> Result<(), IoError> {
        let (pols, bits) = (self.pols, self.options.bits);
        let first_beam = self.beam.saturating_mul(pols);
        check_beam(first_beam.saturating_add(pols - 1), beams.beams())?;
        let axes =
            Axes { channels: beams.channels(), products: pols, frequencies: beams.frequencies(), clock: beams.clock() };
        let data = beams.data();
        let data = data.slice(s![.., .., first_beam..first_beam + pols]);
        let wide = |value: &&Complex<i8>| ![value.re, value.im].iter().all(|part| (-8..=7).contains(part));
        if bits == 4
            && let Some(value) = data.iter().find(wide)
        {
            let (quantity, expected) = ("part of a voltage in 4 bits", "-8 to 7".into());
            return Err(IoError::Vdif { quantity, expected, actual: value.to_string() });
        }
        let open = match self.open.take() {
            Some(open) => {
                let checked = open.check(&axes, beams.times());
                let open = self.open.insert(open);
                checked?;
                open
            }
            None => self.open.insert(Open::new(&self.path, self.sample_zero, self.options, axes, beams.times())?),
        };
        open.next.clock.first_sample = axes.clock.sample_of(beams.times());

        let value_bytes = 2 * bits as usize / 8;
        let spectrum_bytes = axes.channels * value_bytes;
        let mut done = 0;
        while done < beams.times() {
            let count = (open.end.spectra_per_frame - open.filled).min(beams.times() - done);
            for ((channel, time, pol), &value) in data.slice(s![.., done..done + count, ..]).indexed_iter() {
                let at = (open.filled + time) * spectrum_bytes + channel * value_bytes;
                pack(value, &mut open.payloads[pol][at..at + value_bytes]);
            }
            open.came |= present.is_none_or(|present| present[done..done + count].contains(&true));
            open.filled += count;
            done += count;
            if open.filled == open.end.spectra_per_frame {
                open.put_frame(&self.path)?;
            }
        }
        Ok(())
    }

    /// Ends the file, with zeros up to the end of the last frame. Without a chunk there is no file.
    ///
    /// # Errors
    /// [`IoError::File`] if the file cannot be written.
    pub fn finish(self) -> Result<VdifEnd, IoError> {
        let Some(mut open) = self.open else { return Ok(VdifEnd::default()) };
        // Zeros before the first spectrum are no frame.
        if open.end.frames > 0 || open.filled > open.end.leading {
            open.finish(&self.path)?;
        }
        open.file.flush().map_err(|source| IoError::File { path: self.path, source })?;
        Ok(open.end)
    }
}

impl Open {
    /// Begins a file with a chunk of so many spectra.
    fn new(path: &Path, sample_zero: Epoch, options: VdifOptions, axes: Axes, times: usize) -> Result<Self, IoError> {
        axes.check()?;
        let VdifOptions { station, bits, .. } = options;
        if !axes.channels.is_power_of_two() {
            let (quantity, actual) = ("channels", axes.channels.to_string());
            return Err(IoError::Vdif { quantity, expected: "a power of two".into(), actual });
        }
        let (timeline, spectrum) = Timeline::new(sample_zero, axes.clock)?;
        let (spectra, bytes) = spectra_of_frame(options.spectra_per_frame, timeline.per_second, axes.channels, bits)?;
        let leading = (spectrum % spectra as u64) as usize;
        let fields = Fields {
            epoch: timeline.epoch,
            log2_channels: axes.channels.ilog2(),
            frame_bytes: BYTES + bytes as u32,
            bits,
            station,
            spectra_per_second: timeline.per_second,
        };
        let end = VdifEnd { spectra_per_frame: spectra, leading, ..VdifEnd::default() };
        let first = spectrum - leading as u64;
        timeline.place(first.saturating_add((leading + times) as u64), spectra)?;
        let payloads = vec![vec![zero(bits); bytes]; axes.products];
        let file = File::create(path).map_err(|source| IoError::File { path: path.into(), source })?;
        let file = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { file, next: axes, timeline, fields, first, payloads, filled: leading, came: false, end })
    }

    /// `Ok` if a chunk of so many spectra goes on with the file.
    fn check(&self, axes: &Axes, times: usize) -> Result<(), IoError> {
        self.next.check_next(axes)?;
        let end = self.first.saturating_add((self.filled + times) as u64);
        self.timeline.place(end, self.end.spectra_per_frame).map(drop)
    }

    fn finish(&mut self, path: &Path) -> Result<(), IoError> {
        if self.filled == 0 {
            return Ok(());
        }
        self.end.trailing = self.end.spectra_per_frame - self.filled;
        let zero = zero(self.fields.bits);
        for payload in &mut self.payloads {
            let from = payload.len() / self.end.spectra_per_frame * self.filled;
            payload[from..].fill(zero);
        }
        self.put_frame(path)
    }

    fn put_frame(&mut self, path: &Path) -> Result<(), IoError> {
        let spectra = self.end.spectra_per_frame;
        let (seconds, frame) = self.timeline.place(self.first, spectra)?;
        for (thread, payload) in self.payloads.iter().enumerate() {
            let header = self.fields.header(seconds, frame, thread as u32, !self.came);
            let written = self.file.write_all(&header).and_then(|()| self.file.write_all(payload));
            written.map_err(|source| IoError::File { path: path.into(), source })?;
        }
        self.end.frames += 1;
        self.end.invalid += u64::from(!self.came);
        (self.filled, self.came) = (0, false);
        self.first = self.first.saturating_add(spectra as u64);
        Ok(())
    }
}
