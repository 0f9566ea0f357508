//! What a corner turn gives, known before anything is copied.

use std::ops::Range;

use fringes_gpu::{BlockPitch, Blocks};
use fringes_types::{Frequencies, Heaps, Inputs, LinearArray, SpectrumClock, TypesError, VoltageSample};
use ndarray::{Array2, s};

use crate::turn::TurnError;

/// Header of all antennas and some channels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) batches: usize,
    pub(super) inputs: Inputs,
    /// Channels of the frames.
    pub(super) all_channels: usize,
    /// Those that come out.
    pub(super) channels: Range<usize>,
    pub(super) spectra: usize,
    /// Antennas of all frames.
    pub(super) antennas: Vec<Range<usize>>,
    frequencies: Frequencies,
    clock: SpectrumClock,
    presence: Option<Array2<bool>>,
}

impl Header {
    /// The header of what some frames give, if they fit one another.
    pub(super) fn of<V: VoltageSample, A>(frames: &[&Heaps<V, A>], channels: Range<usize>) -> Result<Self, TurnError> {
        let Some(first) = frames.first() else { return Err(TurnError::NoFrames) };
        let (batches, all_channels, spectra) = (first.batches(), first.channels(), first.spectra_per_heap());
        let pols = first.inputs().pols();
        let (mut antennas, mut next) = (Vec::with_capacity(frames.len()), 0usize);
        for (part, heaps) in frames.iter().enumerate() {
            for (what, expected, actual) in [
                ("batches", batches, heaps.batches()),
                ("channels", all_channels, heaps.channels()),
                ("spectra of a heap", spectra, heaps.spectra_per_heap()),
                ("polarisations", pols, heaps.inputs().pols()),
            ] {
                if expected != actual {
                    return Err(TurnError::Shape { part, what, expected, actual });
                }
            }
            if heaps.clock() != first.clock() {
                let (expected, actual) = (format!("{:?}", first.clock()), format!("{:?}", heaps.clock()));
                return Err(TurnError::Axis { part, what: "clock", expected, actual });
            }
            if heaps.frequencies() != first.frequencies() {
                let (expected, actual) = (format!("{:?}", first.frequencies()), format!("{:?}", heaps.frequencies()));
                return Err(TurnError::Axis { part, what: "frequencies", expected, actual });
            }
            let end = next + heaps.inputs().antennas();
            antennas.push(next..end);
            next = end;
        }
        if channels.is_empty() || channels.end > all_channels {
            return Err(TurnError::Channels { start: channels.start, end: channels.end, channels: all_channels });
        }
        let mut presence = None;
        for (heaps, antennas) in frames.iter().zip(&antennas) {
            if let Some(flags) = heaps.presence() {
                let all = presence.get_or_insert_with(|| Array2::from_elem((batches, next), true));
                all.slice_mut(s![.., antennas.clone()]).assign(&flags);
            }
        }
        let frequencies = first.frequencies();
        let frequencies = Frequencies { first_hz: frequencies.channel_hz(channels.start), ..frequencies };
        let (inputs, clock) = (Inputs::new(next, pols)?, first.clock());
        Ok(Self { batches, inputs, all_channels, channels, spectra, antennas, frequencies, clock, presence })
    }

    /// Elements of a heap's channels that come out: they lie one after the other.
    pub(super) fn width(&self) -> usize {
        self.channels.len() * self.spectra * self.inputs.pols()
    }

    /// Elements of a heap of the frames.
    pub(super) fn heap(&self) -> usize {
        self.all_channels * self.spectra * self.inputs.pols()
    }

    /// Elements of a heap of the frames before those that come out.
    pub(super) fn ahead(&self) -> usize {
        self.channels.start * self.spectra * self.inputs.pols()
    }

    /// Elements that come out.
    pub(super) fn elements(&self) -> Result<usize, TurnError> {
        let rows = self.batches.checked_mul(self.inputs.antennas());
        let elements = rows.and_then(|rows| rows.checked_mul(self.width()));
        let too_large =
            || TypesError::TooLarge { array: "heaps", elements: format!("{} x {}", self.batches, self.width()) };
        Ok(elements.ok_or_else(too_large)?)
    }

    /// What comes out of some frames, a batch a slice.
    pub(super) fn blocks(&self, part: usize) -> Blocks {
        Blocks { width: self.width(), rows: self.antennas[part].len(), slices: self.batches }
    }

    /// How some frames lie.
    pub(super) fn source_pitch(&self, part: usize) -> BlockPitch {
        BlockPitch { row: self.heap(), slice_rows: self.antennas[part].len() }
    }

    /// How what comes out lies.
    pub(super) fn result_pitch(&self) -> BlockPitch {
        BlockPitch { row: self.width(), slice_rows: self.inputs.antennas() }
    }

    /// Where the first row of some frames comes to.
    pub(super) fn first(&self, part: usize) -> usize {
        self.antennas[part].start * self.width()
    }

    /// The chunk of an array that has what comes out.
    pub(super) fn heaps<V: VoltageSample, A: LinearArray<V>>(self, array: A) -> Result<Heaps<V, A>, TurnError> {
        let (batches, inputs, channels, spectra) = (self.batches, self.inputs, self.channels.len(), self.spectra);
        self.on(Heaps::from_array(array, batches, inputs, channels, spectra)?)
    }

    /// Axes and flags on heaps of this shape.
    pub(super) fn on<V: VoltageSample, A>(self, heaps: Heaps<V, A>) -> Result<Heaps<V, A>, TurnError> {
        let heaps = heaps.with_frequencies(self.frequencies)?.with_clock(self.clock)?;
        Ok(match self.presence {
            None => heaps,
            Some(flags) => heaps.with_presence(flags)?,
        })
    }
}
