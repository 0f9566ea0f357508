//! What a random stream is like.

use fringes::correlator::{DumpSchedule, MissingData};
use fringes::{Backend, BaselineOrder, Complex, Complex4, Correlator, CorrelatorError, Inputs, VoltageSample, f16};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Formats of voltages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Int4,
    Int8,
    Float16,
    Float32,
}

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Int4, Self::Int8, Self::Float16, Self::Float32];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int4 => "4+4 bits",
            Self::Int8 => "8 bits",
            Self::Float16 => "f16",
            Self::Float32 => "f32",
        }
    }

    /// Whether a backend correlates it.
    pub(crate) fn runs_on(self, backend: &Backend) -> bool {
        fn runs<V: VoltageSample>(backend: &Backend) -> bool {
            Inputs::single_pol(1).is_ok_and(|inputs| Correlator::<V>::new(backend, inputs, 1).is_ok())
        }
        match self {
            Self::Int4 => runs::<Complex4>(backend),
            Self::Int8 => runs::<Complex<i8>>(backend),
            Self::Float16 => runs::<Complex<f16>>(backend),
            Self::Float32 => runs::<Complex<f32>>(backend),
        }
    }
}

/// A stream, but for its voltages.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) format: Format,
    pub(crate) inputs: Inputs,
    pub(crate) channels: usize,
    pub(crate) schedules: Vec<DumpSchedule>,
    pub(crate) order: BaselineOrder,
    /// Dumps of 32 bits, if they are not of 64.
    pub(crate) in_32_bits: Option<MissingData>,
    /// Stamp of the first spectrum.
    pub(crate) start: u64,
    /// Chunks of heaps, or else of voltages.
    pub(crate) heaps: bool,
    pub(crate) chunks: usize,
    /// Most spectra of a chunk.
    pub(crate) longest_chunk: u64,
    /// Every voltage as large as it can be, so that long dumps saturate.
    pub(crate) loud: bool,
    /// Share of heaps or voltages that are absent, in chunks that have flags.
    pub(crate) absent: f64,
}

impl Plan {
    pub(crate) fn random(random: &mut Xoshiro256PlusPlus, formats: &[Format]) -> Result<Self, CorrelatorError> {
        let loud = formats.contains(&Format::Int8) && random.random_ratio(1, 10);
        let format = if loud { Format::Int8 } else { formats[random.random_range(0..formats.len())] };
        let pols = random.random_range(1..=2);
        // Some tiles of 128 inputs more than one, most far less.
        let antennas = match random.random_range(0..20) {
            _ if loud => random.random_range(1..=2),
            0 => random.random_range(60..=140) / pols,
            1..4 => random.random_range(13..=40),
            _ => random.random_range(1..=12),
        };
        let inputs = Inputs::new(antennas, pols)?;
        let channels = if loud { 1 } else { random.random_range(1..=if antennas > 40 { 2 } else { 6 }) };
        let spacing = random.random_range(1..=64);
        // A loud autocorrelation passes 2^31 after 66573 spectra.
        let spectra_per_heap = if loud { 4096 } else { random.random_range(1..=70) };
        let schedules = (0..if random.random_bool(0.5) { 1 } else { random.random_range(2..=4) })
            .map(|_| {
                let heaps = if loud { random.random_range(18..=20) } else { random.random_range(1..=9) };
                DumpSchedule::new(spacing, spectra_per_heap, heaps)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let order = match random.random_range(0..3) {
            0 if pols == 2 => BaselineOrder::AntennaPairs,
            1 => BaselineOrder::Full,
            _ => BaselineOrder::Triangle,
        };
        let integers = matches!(format, Format::Int4 | Format::Int8);
        let in_32_bits = match random.random_range(0..3) {
            0 if integers => Some(MissingData::Mark),
            1 if integers => Some(MissingData::Sum),
            _ if loud => Some(MissingData::Sum),
            _ => None,
        };
        let heaps = random.random_bool(0.6);
        let step = spacing * spectra_per_heap;
        let bits = random.random_range(1..50);
        let first = random.random_range(0..1 << bits) / step * step;
        // Heaps begin at whole multiples of their step or less than a spectrum later.
        let late = if heaps { 0 } else { random.random_range(0..spectra_per_heap) * spacing };
        Ok(Self {
            format,
            inputs,
            channels,
            schedules,
            order,
            in_32_bits,
            start: first + late + random.random_range(0..spacing),
            heaps,
            chunks: random.random_range(2..=8),
            longest_chunk: spectra_per_heap * if loud { 30 } else { random.random_range(1..=12) },
            loud,
            absent: if loud { 0.01 } else { [0.02, 0.3, 0.9, 1.0][random.random_range(0..4)] },
        })
    }

    pub(crate) fn spacing(&self) -> u64 {
        self.schedules[0].samples_between_spectra()
    }

    pub(crate) fn spectra_per_heap(&self) -> u64 {
        self.schedules[0].spectra_per_heap()
    }

    /// Spectra of the shortest dump.
    pub(crate) fn shortest_dump(&self) -> u64 {
        self.schedules.iter().map(|schedule| schedule.spectra_per_dump()).min().unwrap_or(1)
    }
}
