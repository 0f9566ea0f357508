//! Which kernel adds rows or heaps of a format to sums, and in how many parts of the time.
//!
//! The choice for a size comes from the table in `tuning/correlate.txt`, from what was measured on this machine before
//! ([`CorrelatorKernels::tune`](super::CorrelatorKernels::tune)), or else from a rule ([`time_parts`]).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fringes_gpu::tuning::{Choice, Sizes, time_parts};
use fringes_gpu::{Device, Kernel, PtxTarget};
use fringes_types::{Inputs, SampleFormat, row_times};

use super::Work;
use super::float::{FloatKernels, Variant};
use super::mma::{Format, MmaKernel, Order};
use super::tune::tuner;
use super::wgmma::{WgmmaJob, WgmmaKernel, WgmmaSamples};
use super::work::Size;
use crate::CorrelatorError;

/// Numbers of parts that are measured.
pub(super) const PARTS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];

/// What beginning and ending a part costs, in steps.
const PART_STEPS: usize = 4;

/// Sizes whose choices are kept.
const SIZES: usize = 1 << 12;

/// A kernel with its entries that overwrite sums and that add to them.
#[derive(Debug, Clone)]
pub(super) enum Loaded {
    Mma(MmaKernel, [Kernel; 2]),
    Wgmma(WgmmaKernel, [Kernel; 2]),
    Float(Variant),
}

impl Loaded {
    /// Pairs of inputs whose products it computes for each channel and time.
    pub(super) fn computed_pairs(&self, inputs: usize) -> usize {
        match self {
            Self::Mma(kernel, _) => kernel.variant().computed_pairs(inputs),
            Self::Wgmma(kernel, _) => kernel.tile().computed_pairs(inputs),
            Self::Float(variant) => variant.computed_pairs(inputs),
        }
    }

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

/// The kernels of a format for some inputs.
#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) device: Device,
    pub(super) target: PtxTarget,
    pub(super) inputs: Inputs,
    pub(super) format: SampleFormat,
    pub(super) rows: Vec<Loaded>,
    pub(super) heaps: Vec<Loaded>,
    pub(super) float: Option<FloatKernels>,
    /// What was chosen for sizes that came.
    chosen: Mutex<HashMap<(Size, usize), Chosen>>,
}

/// A choice: which kernel, and in how many parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) kernel: usize,
    pub(super) parts: usize,
}

impl Kernels {
    /// Loads the kernels of a format.
    pub(super) fn load(
        device: &Device,
        target: PtxTarget,
        format: SampleFormat,
        inputs: Inputs,
    ) -> Result<Self, CorrelatorError> {
        let (rows, heaps, float) = match mma_format(format) {
            Some(mma) => {
                let order = if inputs.pols() == 2 { Order::DualHeaps } else { Order::SingleHeaps };
                let rows = integer_kernels(device, target, mma, Order::Rows, inputs)?;
                (rows, integer_kernels(device, target, mma, order, inputs)?, None)
            }
            None => {
                let kernels = FloatKernels::load_target(device, target)?;
                (vec![Loaded::Float(kernels.tensor())], Vec::new(), Some(kernels))
            }
        };
        let (device, chosen) = (device.clone(), Mutex::default());
        Ok(Self { device, target, inputs, format, rows, heaps, float, chosen })
    }

    /// Most parts that any launch of so many channels is worth: what sums are to have.
    pub(super) fn most_parts(&self, channels: usize) -> usize {
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

    pub(super) fn of(&self, work: &Work) -> &[Loaded] {
        if work.is_heaps() { &self.heaps } else { &self.rows }
    }

    /// What was chosen for a size before, or else what is known about it, or else the rule.
    pub(super) fn choose(&self, work: &Work, most_parts: usize) -> Chosen {
        let key = (work.size(), most_parts);
        let mut all = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SIZES {
            all.clear();
        }
        *all.entry(key).or_insert_with(|| self.known(work, most_parts))
    }

    /// Keeps a choice.
    pub(super) fn keep(&self, work: &Work, most_parts: usize, chosen: Chosen) {
        let mut all = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((work.size(), most_parts), chosen);
    }

    fn known(&self, work: &Work, most_parts: usize) -> Chosen {
        let candidates = self.candidates(work, most_parts);
        let choices: Vec<_> = candidates.iter().map(|&chosen| self.choice(work, chosen)).collect();
        match tuner(&self.device).known(&self.operation(work), &self.sizes(work), &choices) {
            Some((choice, _)) => {
                let place = choices.iter().position(|candidate| *candidate == choice).unwrap_or(0);
                candidates[place]
            }
            None => {
                let kernel = self.preferred(work);
                let loaded = &self.of(work)[kernel];
                let jobs = self.tiles(loaded, work.channels());
                let steps = work.times().div_ceil(row_times(self.format));
                Chosen { kernel, parts: time_parts(jobs, self.places(loaded), steps, PART_STEPS).min(most_parts) }
            }
        }
    }

    /// The kernel that is taken where nothing is known: of compute capability 9.0 where it has one that can read the
    /// samples.
    pub(super) fn preferred(&self, work: &Work) -> usize {
        let inputs = self.inputs.len();
        let is_preferred = |loaded: &Loaded| match loaded {
            Loaded::Wgmma(kernel, _) => {
                self.usable(work, loaded) && *kernel == WgmmaKernel::choose(kernel.format(), kernel.order(), inputs)
            }
            Loaded::Mma(kernel, _) => *kernel == MmaKernel::choose(kernel.format(), kernel.order(), inputs),
            Loaded::Float(_) => true,
        };
        self.of(work).iter().position(is_preferred).unwrap_or(0)
    }

    /// The kernel for listed batches of heaps, if there is one that reads them.
    pub(super) fn choose_listed(&self, work: &Work, most_parts: usize) -> Option<Chosen> {
        if self.of(work).is_empty() {
            return None;
        }
        let lists = |kernel: usize| {
            let loaded = self.of(work).get(kernel);
            loaded.is_some_and(|loaded| matches!(loaded, Loaded::Wgmma(..)) && self.usable(work, loaded))
        };
        let chosen = self.choose(work, most_parts);
        let preferred = Chosen { kernel: self.preferred(work), ..chosen };
        [chosen, preferred].into_iter().find(|chosen| lists(chosen.kernel))
    }

    /// Whether a kernel can read samples of these sizes.
    fn usable(&self, work: &Work, loaded: &Loaded) -> bool {
        match loaded {
            Loaded::Wgmma(kernel, _) => self.job(work, 1).fits(*kernel),
            Loaded::Mma(..) | Loaded::Float(_) => true,
        }
    }

    /// What a kernel of compute capability 9.0 is asked for.
    pub(super) fn job(&self, work: &Work, parts: usize) -> WgmmaJob {
        let samples = match work {
            Work::Rows { times, range, .. } => {
                WgmmaSamples::Rows { blocks: times.div_ceil(row_times(self.format)), times: range.clone() }
            }
            Work::Heaps { batches, spectra, range, .. } => {
                WgmmaSamples::Heaps { batches: *batches, spectra: *spectra, range: range.clone() }
            }
        };
        WgmmaJob { channels: work.channels(), inputs: self.inputs.len(), samples, parts }
    }

    /// Kernels and parts that may be best.
    pub(super) fn candidates(&self, work: &Work, most_parts: usize) -> Vec<Chosen> {
        let steps = work.times().div_ceil(row_times(self.format)).max(1);
        let parts = |parts: &usize| *parts <= most_parts && *parts <= steps;
        let of = |kernel| PARTS.into_iter().filter(parts).map(move |parts| Chosen { kernel, parts });
        let kernels = self.of(work);
        (0..kernels.len()).filter(|&kernel| self.usable(work, &kernels[kernel])).flat_map(of).collect()
    }

    pub(super) fn choice(&self, work: &Work, chosen: Chosen) -> Choice {
        Choice::new(self.of(work)[chosen.kernel].name()).with("parts", chosen.parts as u64)
    }

    /// Name in tables.
    pub(super) fn operation(&self, work: &Work) -> String {
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

    pub(super) fn sizes(&self, work: &Work) -> Sizes {
        Sizes::new(&[("channels", work.channels()), ("inputs", self.inputs.len()), ("times", work.times())])
    }
}

/// The tensor cores' format, `None` of 32-bit floats.
pub(super) fn mma_format(format: SampleFormat) -> Option<Format> {
    match format {
        SampleFormat::Int4 => Some(Format::I4),
        SampleFormat::Int8 => Some(Format::I8),
        SampleFormat::Float16 => Some(Format::F16),
        SampleFormat::Int16 | SampleFormat::Float32 => None,
    }
}

/// The kernels that take these inputs: all of compute capability 9.0 where that is the target, and then of the others
/// the one that is taken for what those cannot read; else all others.
fn integer_kernels(
    device: &Device,
    target: PtxTarget,
    format: Format,
    order: Order,
    inputs: Inputs,
) -> Result<Vec<Loaded>, CorrelatorError> {
    let mut loaded = Vec::new();
    let mma = |kernel: MmaKernel| {
        let module = device.load(kernel.ptx())?;
        let entries = [module.kernel(&kernel.name(false))?, module.kernel(&kernel.name(true))?];
        Ok::<_, CorrelatorError>(Loaded::Mma(kernel, entries))
    };
    if target == PtxTarget::Sm90a {
        for kernel in WgmmaKernel::all(format, order, inputs.len()) {
            loaded.push(Loaded::Wgmma(kernel, [kernel.load(device, false)?, kernel.load(device, true)?]));
        }
        loaded.push(mma(MmaKernel::choose(format, order, inputs.len()))?);
        return Ok(loaded);
    }
    for kernel in MmaKernel::all(format, order, inputs.len()) {
        loaded.push(mma(kernel)?);
    }
    Ok(loaded)
}
