//! The stream of samples.

use fringes_types::{Inputs, PackedSamples, SamplePresence, Samples, TypesError};
use ndarray::Array2;
use rayon::prelude::*;

use crate::config::Simulation;
use crate::digitise::{AdcSample, digitise_bits, pack};
use crate::plan::{CallKnots, Plan};
use crate::render::{Scratch, render};
use crate::{SimulatorError, Truth};

/// Samples of an input that a worker renders at a time: a multiple of 8, so that packed ones begin at whole bytes.
const UNIT: usize = 4096;

/// What was injected since the start or the last [`Simulator::take_counts`], by input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InjectedCounts {
    /// Samples that the digitiser clamped, of those that were not lost.
    pub clamped_samples: Vec<u64>,
    /// Samples that were lost.
    pub lost_samples: Vec<u64>,
    /// Lost packets, counted where their first sample is.
    pub lost_packets: Vec<u64>,
}

impl InjectedCounts {
    fn new(inputs: usize) -> Self {
        Self { clamped_samples: vec![0; inputs], lost_samples: vec![0; inputs], lost_packets: vec![0; inputs] }
    }
}

/// A stream of the samples of all inputs, of any format.
///
/// Sample `n` of an input depends on the configuration and on `n` alone: the same bits come however the stream is cut
/// into calls, after [`Simulator::seek`], and with any number of threads. Work is shared among the threads of the
/// current rayon pool. Samples carry the sample rate, their place in the stream, and a centre frequency of a quarter of
/// the sample rate: what is simulated is sampled in the first Nyquist zone, so that a delay is all that happens to a
/// wave on its way.
#[derive(Debug)]
pub struct Simulator {
    plan: Plan,
    /// Antennas that are rendered, and their inputs.
    antennas: std::ops::Range<usize>,
    inputs: Inputs,
    next: u64,
    counts: InjectedCounts,
    /// Those of the last call.
    knots: CallKnots,
}

/// A part of a row: its input, its first sample, its samples and where they go.
struct Unit<'a, T> {
    input: usize,
    first: u64,
    count: usize,
    out: &'a mut [T],
}

#[derive(Debug, Default, Clone, Copy)]
struct UnitCounts {
    clamped: u64,
    lost: u64,
    packets: u64,
}

impl Simulator {
    /// A simulator that begins at sample 0.
    ///
    /// # Errors
    /// [`SimulatorError::Types`] for antennas and polarisations that cannot be, [`SimulatorError::Length`] for lists of
    /// another length than the array, [`SimulatorError::OutOfRange`] for numbers that are out of range or not finite,
    /// [`SimulatorError::NoArray`] for a direction without positions, [`SimulatorError::Index`] for an input that does
    /// not exist, [`SimulatorError::Delay`] for a geometry that cannot be.
    pub fn new(simulation: Simulation) -> Result<Self, SimulatorError> {
        let plan = Plan::new(simulation)?;
        let (counts, inputs) = (InjectedCounts::new(plan.inputs.len()), plan.inputs);
        Ok(Self { plan, antennas: 0..inputs.antennas(), inputs, next: 0, counts, knots: CallKnots::default() })
    }

    /// Gives the samples of some of the antennas alone, with the bits that they have among all: a part of a simulation
    /// whose other parts are made elsewhere. Counts stay those of all inputs, zero for the others.
    ///
    /// # Errors
    /// [`SimulatorError::Index`] for antennas that there are not, [`SimulatorError::Types`] for none.
    pub fn of_antennas(mut self, antennas: std::ops::Range<usize>) -> Result<Self, SimulatorError> {
        let count = self.plan.inputs.antennas();
        if antennas.end > count {
            return Err(SimulatorError::Index { what: "antenna", expected: count, actual: antennas.end });
        }
        self.inputs = Inputs::new(antennas.len(), self.plan.inputs.pols())?;
        self.antennas = antennas;
        Ok(self)
    }

    /// The first input that is rendered, of all.
    fn first_input(&self) -> usize {
        self.antennas.start * self.plan.inputs.pols()
    }

    /// What is simulated.
    pub fn simulation(&self) -> &Simulation {
        &self.plan.simulation
    }

    /// Antennas and polarisations that come out.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// What a correlator should find.
    pub fn truth(&self) -> Truth<'_> {
        Truth::new(&self.plan)
    }

    /// The sample that the next call begins with.
    pub fn next_sample(&self) -> u64 {
        self.next
    }

    /// Goes on at any sample, before or after the next one.
    pub fn seek(&mut self, sample: u64) {
        self.next = sample;
    }

    /// What was injected since the start or the last [`Simulator::take_counts`]. What is rendered twice counts twice.
    pub fn counts(&self) -> &InjectedCounts {
        &self.counts
    }

    /// The counts, which begin anew.
    pub fn take_counts(&mut self) -> InjectedCounts {
        std::mem::replace(&mut self.counts, InjectedCounts::new(self.plan.inputs.len()))
    }

    /// The next 8-bit samples `[input][time]`.
    ///
    /// # Errors
    /// As [`Simulator::next_samples`].
    pub fn next_i8(&mut self, times: usize) -> Result<Samples<i8>, SimulatorError> {
        self.next_samples(times)
    }

    /// The next 16-bit samples `[input][time]`.
    ///
    /// # Errors
    /// As [`Simulator::next_samples`].
    pub fn next_i16(&mut self, times: usize) -> Result<Samples<i16>, SimulatorError> {
        self.next_samples(times)
    }

    /// The next samples `[input][time]` in f32, in LSB, neither rounded nor clamped.
    ///
    /// # Errors
    /// As [`Simulator::next_samples`].
    pub fn next_f32(&mut self, times: usize) -> Result<Samples<f32>, SimulatorError> {
        self.next_samples(times)
    }

    /// The next samples `[input][time]`.
    ///
    /// # Errors
    /// [`SimulatorError::Types`] with [`TypesError::TooLarge`] for more than memory can hold,
    /// [`SimulatorError::Counter`], and [`SimulatorError::Delay`] or [`SimulatorError::OutOfRange`] where a source's
    /// place on the sky is not known or moves too fast.
    pub fn next_samples<S: AdcSample>(&mut self, times: usize) -> Result<Samples<S>, SimulatorError> {
        let data = zeros::<S>("samples", self.inputs.len(), times)?;
        self.next_samples_in(data)
    }

    /// The next packed samples of 2 to 16 bits.
    ///
    /// # Errors
    /// As [`Simulator::next_samples`], and [`TypesError::PackedBits`].
    pub fn next_packed(&mut self, bits: u32, times: usize) -> Result<PackedSamples, SimulatorError> {
        let bytes = packed_bytes(bits, times)?;
        let data = zeros::<u8>("packed samples", self.inputs.len(), bytes)?;
        self.next_packed_in(data, bits, times)
    }

    /// The next samples in an array `[input][time]` that is used again, as [`Samples::into_data`] gives it; as many as
    /// it has columns.
    ///
    /// # Errors
    /// As [`Simulator::fill`]. An array that is not in standard layout is one of [`SimulatorError::Buffer`].
    pub fn next_samples_in<S: AdcSample>(&mut self, mut data: Array2<S>) -> Result<Samples<S>, SimulatorError> {
        let first = self.next;
        let presence = self.fill(&mut rows_of(&mut data)?)?;
        let rate = self.plan.simulation.sample_rate_hz;
        let mut samples = Samples::new(data, self.inputs)?
            .with_sample_rate(rate)?
            .with_first_sample(first)
            .with_centre_frequency(rate / 4.0)?;
        if let Some(presence) = presence {
            samples = samples.with_presence(presence)?;
        }
        Ok(samples)
    }

    /// The next packed samples in rows of bytes that are used again, as [`PackedSamples::into_data`] gives them.
    ///
    /// # Errors
    /// As [`Simulator::fill_packed`]. An array that is not in standard layout is one of [`SimulatorError::Buffer`].
    pub fn next_packed_in(
        &mut self,
        mut data: Array2<u8>,
        bits: u32,
        times: usize,
    ) -> Result<PackedSamples, SimulatorError> {
        let first = self.next;
        let presence = self.fill_packed(bits, times, &mut rows_of(&mut data)?)?;
        let rate = self.plan.simulation.sample_rate_hz;
        let mut samples = PackedSamples::new(data, bits, times, self.inputs)?
            .with_sample_rate(rate)?
            .with_first_sample(first)
            .with_centre_frequency(rate / 4.0)?;
        if let Some(presence) = presence {
            samples = samples.with_presence(presence)?;
        }
        Ok(samples)
    }

    /// Writes the next samples to the caller's rows, one an input, all equally long. Returns presence flags if the
    /// simulation loses packets, `None` if it does not.
    ///
    /// # Errors
    /// [`SimulatorError::Buffer`] for rows of another number or of different lengths; else as
    /// [`Simulator::next_samples`]. Nothing is written on error.
    pub fn fill<S: AdcSample>(&mut self, rows: &mut [&mut [S]]) -> Result<Option<SamplePresence>, SimulatorError> {
        let times = rows.first().map_or(0, |row| row.len());
        self.check_rows(rows, times, "samples of a row")?;
        self.produce(rows, times, |unit| unit, |plan, knots, unit, scratch| typed(plan, knots, unit, scratch))
    }

    /// Writes the next `times` packed samples to the caller's rows of `ceil(times bits / 8)` bytes, one an input.
    /// Returns presence flags if the simulation loses packets, `None` if it does not.
    ///
    /// # Errors
    /// As [`Simulator::fill`], and [`TypesError::PackedBits`]. Nothing is written on error.
    pub fn fill_packed(
        &mut self,
        bits: u32,
        times: usize,
        rows: &mut [&mut [u8]],
    ) -> Result<Option<SamplePresence>, SimulatorError> {
        let bytes = packed_bytes(bits, times)?;
        self.check_rows(rows, bytes, "bytes of a row")?;
        let unit_bytes = |samples: usize| samples / 8 * bits as usize;
        self.produce(rows, times, unit_bytes, |plan, knots, unit, scratch| packed(plan, knots, unit, bits, scratch))
    }

    fn check_rows<T>(&self, rows: &[&mut [T]], expected: usize, what: &'static str) -> Result<(), SimulatorError> {
        let inputs = self.inputs.len();
        if rows.len() != inputs {
            return Err(SimulatorError::Buffer { what: "rows", expected: inputs, actual: rows.len() });
        }
        let lengths = rows.iter().map(|row| row.len()).find(|&actual| actual != expected);
        lengths.map_or(Ok(()), |actual| Err(SimulatorError::Buffer { what, expected, actual }))
    }

    /// Renders `times` samples of every row by units; `elements` says how many elements of a row a unit's samples are.
    fn produce<T: Send>(
        &mut self,
        rows: &mut [&mut [T]],
        times: usize,
        elements: impl Fn(usize) -> usize,
        write: impl Fn(&Plan, &CallKnots, &mut Unit<'_, T>, &mut Scratch) -> UnitCounts + Sync,
    ) -> Result<Option<SamplePresence>, SimulatorError> {
        let first = self.next;
        let after = first.checked_add(times as u64).ok_or(SimulatorError::Counter { first, times })?;
        let presence = self.presence(first, times)?;
        if times == 0 {
            return Ok(presence);
        }
        self.knots = self.plan.knots(first, after - 1, std::mem::take(&mut self.knots))?;
        let (mut units, first_input) = (Vec::new(), self.first_input());
        for (input, row) in rows.iter_mut().enumerate() {
            let input = first_input + input;
            for (index, out) in row.chunks_mut(elements(UNIT)).enumerate() {
                let done = index * UNIT;
                units.push(Unit { input, first: first + done as u64, count: (times - done).min(UNIT), out });
            }
        }
        let (plan, knots) = (&self.plan, &self.knots);
        let counts: Vec<UnitCounts> = units
            .par_iter_mut()
            .map_init(Scratch::default, |scratch, unit| write(plan, knots, unit, scratch))
            .collect();
        for (unit, counts) in units.iter().zip(counts) {
            self.counts.clamped_samples[unit.input] += counts.clamped;
            self.counts.lost_samples[unit.input] += counts.lost;
            self.counts.lost_packets[unit.input] += counts.packets;
        }
        self.next = after;
        Ok(presence)
    }

    fn presence(&self, first: u64, times: usize) -> Result<Option<SamplePresence>, SimulatorError> {
        let Some(packets) = &self.plan.packets else { return Ok(None) };
        let each = usize::try_from(packets.samples_per_flag(first)).unwrap_or(usize::MAX);
        let mut flags = Array2::from_elem((self.inputs.len(), times.div_ceil(each)), true);
        for ((input, block), flag) in flags.indexed_iter_mut() {
            *flag = !packets.is_lost(self.first_input() + input, (first + (block * each) as u64) / packets.samples);
        }
        Ok(Some(SamplePresence::new(each, flags)?))
    }
}

fn typed<S: AdcSample>(plan: &Plan, knots: &CallKnots, unit: &mut Unit<'_, S>, scratch: &mut Scratch) -> UnitCounts {
    let Unit { input, first, count, .. } = *unit;
    let mut counts = UnitCounts::default();
    let mut rendered = None;
    for_runs(plan, unit.input, first, count, &mut counts, |start, end, lost| {
        if lost {
            unit.out[start..end].fill(S::default());
            return 0;
        }
        let from = rendered.get_or_insert_with(|| render(plan, knots, input, first, count, scratch)).start;
        S::digitise(&scratch.voltages[from + start..from + end], &mut unit.out[start..end])
    });
    counts
}

fn packed(plan: &Plan, knots: &CallKnots, unit: &mut Unit<'_, u8>, bits: u32, scratch: &mut Scratch) -> UnitCounts {
    let Unit { input, first, count, .. } = *unit;
    let mut counts = UnitCounts::default();
    let mut rendered = None;
    let mut codes = std::mem::take(&mut scratch.codes);
    codes.resize(count, 0);
    for_runs(plan, input, first, count, &mut counts, |start, end, lost| {
        if lost {
            codes[start..end].fill(0);
            return 0;
        }
        let from = rendered.get_or_insert_with(|| render(plan, knots, input, first, count, scratch)).start;
        digitise_bits(&scratch.voltages[from + start..from + end], &mut codes[start..end], bits)
    });
    pack(&codes, bits, unit.out);
    scratch.codes = codes;
    counts
}

/// Calls `write(start, end, lost)` for each run of one packet, which returns how many samples were clamped.
fn for_runs(
    plan: &Plan,
    input: usize,
    first: u64,
    count: usize,
    counts: &mut UnitCounts,
    mut write: impl FnMut(usize, usize, bool) -> u64,
) {
    let Some(packets) = &plan.packets else {
        counts.clamped += write(0, count, false);
        return;
    };
    for run in packets.runs(input, first, count) {
        counts.clamped += write(run.start, run.end, run.lost);
        if run.lost {
            counts.lost += (run.end - run.start) as u64;
            counts.packets += u64::from(run.begins);
        }
    }
}

/// Bytes of a row.
fn packed_bytes(bits: u32, times: usize) -> Result<usize, TypesError> {
    let format = fringes_types::ChunkFormat::Packed { bits };
    fringes_types::SampleRows::<Vec<u32>>::row_length(format, times)
}

fn zeros<T: Default + Clone>(array: &'static str, rows: usize, columns: usize) -> Result<Array2<T>, SimulatorError> {
    let too_large = || TypesError::TooLarge { array, elements: format!("{rows} x {columns}") };
    let elements = rows.checked_mul(columns).filter(|&elements| elements <= isize::MAX as usize / 8);
    let elements = elements.ok_or_else(too_large)?;
    let mut data = Vec::new();
    data.try_reserve_exact(elements).map_err(|_| too_large())?;
    data.resize(elements, T::default());
    Ok(Array2::from_shape_vec((rows, columns), data).map_err(|_| too_large())?)
}

fn rows_of<T>(data: &mut Array2<T>) -> Result<Vec<&mut [T]>, SimulatorError> {
    let (rows, columns) = data.dim();
    let wrong = SimulatorError::Buffer { what: "elements in standard layout", expected: rows * columns, actual: 0 };
    let all = data.as_slice_mut().ok_or(wrong)?;
    // Rows without samples have no chunks.
    Ok(if columns == 0 { (0..rows).map(|_| Default::default()).collect() } else { all.chunks_mut(columns).collect() })
}
