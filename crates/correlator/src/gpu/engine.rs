//! Which kernel adds rows or heaps of a format to sums, in how many parts of the time, and its launches.
//!
//! The choice for a size comes from the table in `tuning/correlate.txt`, from what was measured on this machine before, or else from a rule
//! ([`time_parts`]); a size that comes back often enough is measured.

use std::collections::HashMap;
use std::sync::OnceLock;

use fringes_gpu::tuning::{
    Cache, Candidate, Choice, DeviceKey, EventTimer, Origin, Sizes, Table, Tuner, source_hash, time_parts,
};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, GpuError, Kernel, Stream, args};
use fringes_types::{Complex, Inputs, SampleFormat, VoltageSample};

use super::float::{FloatJob, FloatKernels, Variant};
use super::mma::{Format, MmaKernel, Order};
use super::texts::MANIFESTS;
use super::wgmma::{WgmmaJob, WgmmaKernel, WgmmaSamples};
use crate::CorrelatorError;

/// What was measured and committed.
const TABLE: &str = include_str!("../../tuning/correlate.txt");

/// Numbers of parts that are measured.
const PARTS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];

/// What beginning and ending a part costs, in steps.
const PART_STEPS: usize = 4;

/// Launches of one size before it is measured: a size that does not come back is not worth it.
const PATIENCE: u32 = 8;

/// Sizes of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// Rows `[channel][time / R][input][R]`.
    Rows {
        /// Channels.
        channels: usize,
        /// Times.
        times: usize,
    },
    /// Heaps `[batch][antenna][channel][spectrum][pol]`.
    Heaps {
        /// Channels.
        channels: usize,
        /// Batches.
        batches: usize,
        /// Spectra of a heap.
        spectra: usize,
    },
}

impl Work {
    /// Channels.
    pub(crate) fn channels(self) -> usize {
        match self {
            Self::Rows { channels, .. } | Self::Heaps { channels, .. } => channels,
        }
    }

    /// Times of all.
    pub(crate) fn times(self) -> usize {
        match self {
            Self::Rows { times, .. } => times,
            Self::Heaps { batches, spectra, .. } => batches * spectra,
        }
    }

    fn is_heaps(self) -> bool {
        matches!(self, Self::Heaps { .. })
    }
}

/// A kernel, loaded.
#[derive(Debug, Clone)]
enum Loaded {
    Mma(MmaKernel, Kernel),
    Wgmma(WgmmaKernel, Kernel),
    Float(Variant),
}

impl Loaded {
    /// Name in tables.
    fn name(&self) -> &'static str {
        match self {
            Self::Mma(kernel, _) => kernel.variant().name(),
            Self::Wgmma(kernel, _) => kernel.tile().name(),
            Self::Float(Variant::Plain) => "plain",
            Self::Float(Variant::Mma) => "tf32_mma",
            Self::Float(Variant::Wgmma) => "tf32_wgmma",
        }
    }
}

/// Kernels of a format that add to sums of some inputs.
#[derive(Debug)]
pub(crate) struct Engine {
    device: Device,
    inputs: Inputs,
    format: SampleFormat,
    rows: Vec<Loaded>,
    heaps: Vec<Loaded>,
    float: Option<FloatKernels>,
    /// What was chosen, or how often a size that nothing is known about came.
    chosen: HashMap<Work, Chosen>,
}

/// A choice: which kernel, and in how many parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chosen {
    kernel: usize,
    parts: usize,
    /// Launches still to come before it is measured, if it is to be.
    patience: Option<u32>,
}

impl Engine {
    /// Loads the kernels of a format.
    pub(crate) fn load(device: &Device, format: SampleFormat, inputs: Inputs) -> Result<Self, CorrelatorError> {
        let mut engine = Self {
            device: device.clone(),
            inputs,
            format,
            rows: Vec::new(),
            heaps: Vec::new(),
            float: None,
            chosen: HashMap::new(),
        };
        match mma_format(format) {
            Some(mma) => {
                let heaps = if inputs.pols() == 2 { Order::DualHeaps } else { Order::SingleHeaps };
                engine.rows = integer_kernels(device, mma, Order::Rows, inputs)?;
                engine.heaps = integer_kernels(device, mma, heaps, inputs)?;
            }
            None => {
                let kernels = FloatKernels::load(device)?;
                engine.rows = vec![Loaded::Float(kernels.tensor())];
                engine.float = Some(kernels);
            }
        }
        Ok(engine)
    }

    /// Whether heaps need no rows.
    pub(crate) fn takes_heaps(&self) -> bool {
        !self.heaps.is_empty()
    }

    /// Complex samples of a row of 128 bytes.
    pub(crate) fn row_times(&self) -> usize {
        row_times(self.format)
    }

    /// Most parts that any launch of so many channels is worth: what sums are to have.
    pub(crate) fn most_parts(&self, channels: usize) -> usize {
        let of = |kernels: &[Loaded]| {
            let parts = kernels.iter().map(|kernel| self.places(kernel) / self.tiles(kernel, channels).max(1));
            parts.max().unwrap_or(1)
        };
        let most = of(&self.rows).max(of(&self.heaps)).clamp(1, 64);
        PARTS.into_iter().rev().find(|&parts| parts <= most).unwrap_or(1)
    }

    /// Blocks that run at once.
    fn places(&self, kernel: &Loaded) -> usize {
        let resident = match kernel {
            Loaded::Mma(kernel, _) => kernel.resident(),
            Loaded::Wgmma(kernel, _) => kernel.tile().resident(),
            Loaded::Float(Variant::Wgmma) => 1,
            Loaded::Float(_) => 4,
        };
        (self.device.info().multiprocessors as usize * resident).max(1)
    }

    /// Blocks of a launch in one part.
    fn tiles(&self, kernel: &Loaded, channels: usize) -> usize {
        let tiles = match kernel {
            Loaded::Mma(kernel, _) => kernel.variant().tiles(self.inputs.len()),
            Loaded::Wgmma(kernel, _) => kernel.tile().tiles(self.inputs.len()),
            Loaded::Float(variant) => variant.tiles(self.inputs.len()),
        };
        tiles.saturating_mul(channels)
    }

    fn kernels(&self, work: Work) -> &[Loaded] {
        if work.is_heaps() { &self.heaps } else { &self.rows }
    }

    /// Adds the products of rows or heaps to sums `[part][channel][baseline]` of `most_parts` parts, of which the first ones are used.
    pub(crate) fn accumulate<V: VoltageSample>(
        &mut self,
        stream: &Stream,
        work: Work,
        samples: BufferView<'_, u8>,
        sums: BufferViewMut<'_, V::Accumulator>,
        most_parts: usize,
    ) -> Result<(), CorrelatorError> {
        if work.times() == 0 || work.channels() == 0 {
            return Ok(());
        }
        let chosen = match self.chosen.get_mut(&work) {
            Some(chosen) => {
                chosen.patience = chosen.patience.map(|left| left.saturating_sub(1));
                *chosen
            }
            None => self.known(work, most_parts),
        };
        let chosen = match chosen.patience {
            Some(0) => {
                self.measured::<V>(stream, work, samples, most_parts).unwrap_or(Chosen { patience: None, ..chosen })
            }
            _ => chosen,
        };
        self.chosen.insert(work, chosen);
        self.launch::<V>(stream, work, chosen.kernel, chosen.parts, samples, sums)
    }

    /// What is known about a size, or else the rule.
    fn known(&self, work: Work, most_parts: usize) -> Chosen {
        let candidates = self.candidates(work, most_parts);
        let choices: Vec<_> = candidates.iter().map(|&(kernel, parts)| self.choice(work, kernel, parts)).collect();
        match tuner(&self.device).known(&self.operation(work), &self.sizes(work), &choices) {
            Some((choice, _)) => {
                let place = choices.iter().position(|candidate| *candidate == choice).unwrap_or(0);
                let (kernel, parts) = candidates[place];
                Chosen { kernel, parts, patience: None }
            }
            None => {
                let kernel = self.preferred(work);
                let loaded = &self.kernels(work)[kernel];
                let jobs = self.tiles(loaded, work.channels());
                let steps = work.times().div_ceil(self.row_times());
                let parts = time_parts(jobs, self.places(loaded), steps, PART_STEPS).min(most_parts);
                Chosen { kernel, parts, patience: Some(PATIENCE) }
            }
        }
    }

    /// The fastest candidate on scratch sums; nothing if they cannot be measured. Kept for the next time.
    fn measured<V: VoltageSample>(
        &self,
        stream: &Stream,
        work: Work,
        samples: BufferView<'_, u8>,
        most_parts: usize,
    ) -> Option<Chosen> {
        let (kernel, parts, _) = self.measure::<V>(stream, work, samples, most_parts, tuner(&self.device)).ok()?;
        Some(Chosen { kernel, parts, patience: None })
    }

    /// Measures what is not known.
    fn measure<V: VoltageSample>(
        &self,
        stream: &Stream,
        work: Work,
        samples: BufferView<'_, u8>,
        most_parts: usize,
        tuner: &Tuner,
    ) -> Result<(usize, usize, Origin), CorrelatorError> {
        let candidates = self.candidates(work, most_parts);
        let most = candidates.iter().map(|&(_, parts)| parts).max().unwrap_or(1);
        let length = most * work.channels() * self.inputs.triangle_len();
        let scratch = std::cell::RefCell::new(Buffer::<V::Accumulator>::zeroed(stream, length)?);
        let of = |&(kernel, parts): &(usize, usize)| {
            let scratch = &scratch;
            Candidate::<CorrelatorError>::new(self.choice(work, kernel, parts), move || {
                self.launch::<V>(stream, work, kernel, parts, samples, scratch.borrow_mut().view_mut())
            })
        };
        let timed = candidates.iter().map(of).collect();
        let mut timer = EventTimer::new(stream);
        let (choice, origin) = tuner.choose(&self.operation(work), &self.sizes(work), timed, &mut timer)?;
        let place = candidates.iter().position(|&(kernel, parts)| self.choice(work, kernel, parts) == choice);
        let (kernel, parts) = candidates[place.unwrap_or(0)];
        Ok((kernel, parts, origin))
    }

    /// The kernel that is taken where nothing is known: of compute capability 9.0 where it has one that can read the samples.
    fn preferred(&self, work: Work) -> usize {
        let kernels = self.kernels(work);
        let inputs = self.inputs.len();
        let is_preferred = |loaded: &Loaded| match loaded {
            Loaded::Wgmma(kernel, _) => {
                self.usable(work, loaded) && *kernel == WgmmaKernel::choose(kernel.format(), kernel.order(), inputs)
            }
            Loaded::Mma(kernel, _) => *kernel == MmaKernel::choose(kernel.format(), kernel.order(), inputs),
            Loaded::Float(_) => true,
        };
        kernels.iter().position(is_preferred).unwrap_or(0)
    }

    /// Whether a kernel can read samples of these sizes.
    fn usable(&self, work: Work, loaded: &Loaded) -> bool {
        match loaded {
            Loaded::Wgmma(kernel, _) => self.job(work, 1).fits(*kernel),
            Loaded::Mma(..) | Loaded::Float(_) => true,
        }
    }

    /// What a kernel of compute capability 9.0 is asked for.
    fn job(&self, work: Work, parts: usize) -> WgmmaJob {
        let samples = match work {
            Work::Rows { times, .. } => {
                WgmmaSamples::Rows { blocks: times.div_ceil(self.row_times()), times: 0..times }
            }
            Work::Heaps { batches, spectra, .. } => WgmmaSamples::Heaps { batches, spectra, range: 0..batches },
        };
        WgmmaJob { channels: work.channels(), inputs: self.inputs.len(), samples, parts }
    }

    /// Kernels and parts that may be best.
    fn candidates(&self, work: Work, most_parts: usize) -> Vec<(usize, usize)> {
        let steps = work.times().div_ceil(self.row_times()).max(1);
        let parts = |parts: &usize| *parts <= most_parts && *parts <= steps;
        let of = |kernel| PARTS.into_iter().filter(parts).map(move |parts| (kernel, parts));
        let kernels = self.kernels(work);
        (0..kernels.len()).filter(|&kernel| self.usable(work, &kernels[kernel])).flat_map(of).collect()
    }

    fn choice(&self, work: Work, kernel: usize, parts: usize) -> Choice {
        Choice::new(self.kernels(work)[kernel].name()).with("parts", parts as u64)
    }

    /// Name in tables.
    fn operation(&self, work: Work) -> String {
        let format = match self.format {
            SampleFormat::Int4 => "i4",
            SampleFormat::Float16 => "f16",
            SampleFormat::Float32 => "f32",
            SampleFormat::Int8 | SampleFormat::Int16 => "i8",
        };
        let order = match (work.is_heaps(), self.inputs.pols()) {
            (false, _) => "",
            (true, 1) => "heaps_1_pol_",
            (true, _) => "heaps_2_pols_",
        };
        format!("correlate_{order}{format}_add")
    }

    fn sizes(&self, work: Work) -> Sizes {
        Sizes::new(&[("channels", work.channels()), ("inputs", self.inputs.len()), ("times", work.times())])
    }

    fn launch<V: VoltageSample>(
        &self,
        stream: &Stream,
        work: Work,
        kernel: usize,
        parts: usize,
        samples: BufferView<'_, u8>,
        mut sums: BufferViewMut<'_, V::Accumulator>,
    ) -> Result<(), CorrelatorError> {
        let inputs = self.inputs.len();
        let none = || GpuError::NoKernel { name: self.operation(work), declared: Vec::new() };
        let (kernel, entry) = match self.kernels(work).get(kernel).ok_or_else(none)? {
            Loaded::Mma(kernel, entry) => (kernel, entry),
            Loaded::Wgmma(kernel, entry) => {
                let job = self.job(work, parts);
                return if self.format == SampleFormat::Float16 {
                    job.launch(stream, *kernel, entry, samples, sums.reborrow().cast::<[f64; 2]>()?)
                } else {
                    job.launch(stream, *kernel, entry, samples, sums.reborrow().cast::<[i64; 2]>()?)
                };
            }
            Loaded::Float(variant) => {
                let Some(kernels) = &self.float else { return Err(none().into()) };
                let job = FloatJob { parts, ..FloatJob::new(work.channels(), work.times(), inputs) };
                let mut sums = sums.reborrow().cast::<Complex<f64>>()?;
                return kernels.accumulate(stream, *variant, &job, samples, &mut sums);
            }
        };
        let config = kernel.launch(work.channels(), inputs, parts)?;
        let number = |size: usize| {
            let times = work.times();
            let too_large = CorrelatorError::DeviceShape { channels: work.channels(), times, inputs };
            u32::try_from(size).map_err(|_| too_large)
        };
        let [channels, parts] = [number(work.channels())?, number(parts)?];
        let pairs = sums.reborrow();
        match work {
            Work::Rows { times, .. } => {
                let [inputs, blocks, times] =
                    [number(inputs)?, number(times.div_ceil(self.row_times()))?, number(times)?];
                if self.format == SampleFormat::Float16 {
                    let sums = pairs.cast::<[f64; 2]>()?;
                    entry.launch_safe(
                        stream,
                        &config,
                        args![samples, sums, channels, inputs, blocks, 0u32, times, parts],
                    )?;
                } else {
                    let sums = pairs.cast::<[i64; 2]>()?;
                    entry.launch_safe(
                        stream,
                        &config,
                        args![samples, sums, channels, inputs, blocks, 0u32, times, parts],
                    )?;
                }
            }
            Work::Heaps { batches, spectra, .. } => {
                let [antennas, pols] = [number(self.inputs.antennas())?, number(self.inputs.pols())?];
                let [batches, spectra] = [number(batches)?, number(spectra)?];
                if self.format == SampleFormat::Float16 {
                    let sums = pairs.cast::<[f64; 2]>()?;
                    let all = args![samples, sums, channels, antennas, pols, batches, spectra, 0u32, batches, parts];
                    entry.launch_safe(stream, &config, all)?;
                } else {
                    let sums = pairs.cast::<[i64; 2]>()?;
                    let all = args![samples, sums, channels, antennas, pols, batches, spectra, 0u32, batches, parts];
                    entry.launch_safe(stream, &config, all)?;
                }
            }
        }
        Ok(())
    }
}

/// Complex samples of a row of 128 bytes.
pub(crate) fn row_times(format: SampleFormat) -> usize {
    let bytes = match format {
        SampleFormat::Int4 => 1,
        SampleFormat::Int8 => 2,
        SampleFormat::Float16 | SampleFormat::Int16 => 4,
        SampleFormat::Float32 => 8,
    };
    fringes_kernel_abi::rows::times(bytes)
}

fn mma_format(format: SampleFormat) -> Option<Format> {
    match format {
        SampleFormat::Int4 => Some(Format::I4),
        SampleFormat::Int8 => Some(Format::I8),
        SampleFormat::Float16 => Some(Format::F16),
        SampleFormat::Int16 | SampleFormat::Float32 => None,
    }
}

/// The kernels that take these inputs: all of compute capability 9.0 where the device has it, and then of the others the one that is taken for
/// what those cannot read; else all others.
fn integer_kernels(
    device: &Device,
    format: Format,
    order: Order,
    inputs: Inputs,
) -> Result<Vec<Loaded>, CorrelatorError> {
    let mut loaded = Vec::new();
    let mma = |kernel: MmaKernel| {
        let entry = device.load(kernel.ptx())?.kernel(&kernel.name(true))?;
        Ok::<_, CorrelatorError>(Loaded::Mma(kernel, entry))
    };
    if WgmmaKernel::runs_on(device) {
        for kernel in WgmmaKernel::all(format, order, inputs.len()) {
            loaded.push(Loaded::Wgmma(kernel, kernel.load(device, true)?));
        }
        loaded.push(mma(MmaKernel::choose(format, order, inputs.len()))?);
        return Ok(loaded);
    }
    for kernel in MmaKernel::all(format, order, inputs.len()) {
        loaded.push(mma(kernel)?);
    }
    Ok(loaded)
}

/// The tuner of a device.
fn tuner(device: &Device) -> &'static Tuner {
    static TUNERS: OnceLock<std::sync::Mutex<Vec<(DeviceKey, &'static Tuner)>>> = OnceLock::new();
    let key = DeviceKey::of(device.info());
    let mut tuners = TUNERS.get_or_init(Default::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, tuner)) = tuners.iter().find(|(known, _)| *known == key) {
        return tuner;
    }
    let cache = Cache::open(&key, &source_hash(&MANIFESTS));
    // As many as there are kinds of devices, for as long as the program runs.
    let tuner: &'static Tuner = Box::leak(Box::new(Tuner::new(key.clone(), Table::parse_or_skip(TABLE), cache)));
    tuners.push((key, tuner));
    tuner
}

/// A candidate that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Name of the operation in tables.
    pub operation: String,
    /// Its sizes.
    pub sizes: Sizes,
    /// The candidate.
    pub choice: Choice,
    /// Median time in milliseconds.
    pub median_ms: f64,
}

/// Measures every kernel and number of parts that may be best for adding voltages of a size to sums, on random samples, fastest
/// first. `batches` of heaps, or else rows of `times` times.
///
/// # Errors
/// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says. Candidates that fail are left out.
pub fn sweep<V: VoltageSample>(
    device: &Device,
    inputs: Inputs,
    channels: usize,
    times: usize,
    batches: Option<usize>,
) -> Result<Vec<Measured>, CorrelatorError> {
    let engine = Engine::load(device, V::FORMAT, inputs)?;
    let work = match batches {
        Some(batches) => Work::Heaps { channels, batches, spectra: times / batches.max(1) },
        None => Work::Rows { channels, times },
    };
    let most_parts = engine.most_parts(channels);
    let stream = device.new_stream()?;
    let bytes = match work {
        Work::Rows { .. } => channels * times.div_ceil(engine.row_times()) * inputs.len() * 128,
        Work::Heaps { .. } => channels * work.times() * inputs.len() * size_of::<V>(),
    };
    // As random as data, whose power and clocks differ from those of zeros; the same 8 MiB over and over.
    let words: Vec<u64> = (0..1 << 20).map(|word| legal(scramble(word), V::FORMAT)).collect();
    let pattern = Buffer::from_slice(&stream, &words)?;
    let pattern = pattern.view().cast::<u8>()?;
    let mut samples = Buffer::<u8>::alloc(device, bytes)?;
    for start in (0..bytes).step_by(pattern.len()) {
        let length = pattern.len().min(bytes - start);
        samples.slice_mut(start..start + length)?.copy_from(&stream, pattern.slice(..length)?)?;
    }
    let samples = samples.view();
    let mut sums = Buffer::<V::Accumulator>::zeroed(&stream, most_parts * channels * inputs.triangle_len())?;
    let mut measured = Vec::new();
    for (kernel, parts) in engine.candidates(work, most_parts) {
        let timing = fringes_gpu::time(&stream, 2, 6, |_| {
            engine.launch::<V>(&stream, work, kernel, parts, samples, sums.view_mut())
        });
        if let Ok(timing) = timing {
            let choice = engine.choice(work, kernel, parts);
            let (operation, sizes) = (engine.operation(work), engine.sizes(work));
            measured.push(Measured { operation, sizes, choice, median_ms: timing.median_ms });
        }
    }
    stream.synchronize()?;
    measured.sort_by(|a, b| a.median_ms.total_cmp(&b.median_ms));
    Ok(measured)
}

/// Names of the operations that [`sweep`] measures, for [`Table::replace`].
pub const OPERATIONS: [&str; 10] = [
    "correlate_i4_add",
    "correlate_i8_add",
    "correlate_f16_add",
    "correlate_f32_add",
    "correlate_heaps_1_pol_i4_add",
    "correlate_heaps_1_pol_i8_add",
    "correlate_heaps_1_pol_f16_add",
    "correlate_heaps_2_pols_i4_add",
    "correlate_heaps_2_pols_i8_add",
    "correlate_heaps_2_pols_f16_add",
];

/// A word of legal samples: no most negative integer, and floats below 2 in magnitude.
fn legal(word: u64, format: SampleFormat) -> u64 {
    let each = |change: fn(u8) -> u8| u64::from_le_bytes(word.to_le_bytes().map(change));
    match format {
        SampleFormat::Int4 => each(|byte| {
            let byte = if byte & 0xf0 == 0x80 { byte | 0x10 } else { byte };
            if byte & 0x0f == 0x08 { byte | 0x01 } else { byte }
        }),
        SampleFormat::Int8 | SampleFormat::Int16 => each(|byte| if byte == 0x80 { 0x81 } else { byte }),
        SampleFormat::Float16 => word & 0xbfff_bfff_bfff_bfff,
        SampleFormat::Float32 => word & 0xbfff_ffff_bfff_ffff,
    }
}

/// A permutation of 64-bit words (splitmix64).
fn scramble(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_can_be_read() {
        let table = Table::parse(TABLE).unwrap();
        for entry in table.sections().iter().flat_map(|section| &section.entries) {
            assert!(OPERATIONS.contains(&entry.kernel.as_str()), "{entry:?}");
            assert!(entry.choice.get("parts").is_some_and(|parts| PARTS.contains(&(parts as usize))), "{entry:?}");
        }
    }

    #[test]
    fn words_to_measure_with_are_legal_samples() {
        for word in (0..1000).map(scramble).chain([0x8080_8080_8080_8080, 0x8888_8888_8888_8888, u64::MAX]) {
            let bytes = legal(word, SampleFormat::Int4).to_le_bytes();
            assert!(bytes.iter().all(|&byte| fringes_types::Complex4(byte).is_sample()));
            let bytes = legal(word, SampleFormat::Int8).to_le_bytes();
            assert!(bytes.iter().all(|&byte| byte as i8 != i8::MIN));
            let float = f32::from_bits(legal(word, SampleFormat::Float32) as u32);
            assert!(float.abs() < 2.0, "{float}");
            let half = fringes_types::f16::from_bits(legal(word, SampleFormat::Float16) as u16);
            assert!(half.to_f32().abs() < 2.0, "{half}");
        }
    }
}
