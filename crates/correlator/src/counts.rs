//! How many spectra sums are made of: present ones of every baseline, and what masks took of them.

use fringes_cpu::correlator as cpu;
use fringes_interference::internals::PlacedMask;
use fringes_types::{BaselineOrder, ChannelMask, Inputs, MaskedSamples, TypesError, ValidSamples};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::CorrelatorError;
use crate::chunk::{Description, Layout};
use crate::selection::Times;

/// Counts since the last dump, of the packed lower triangle.
#[derive(Debug)]
pub(crate) struct Counting {
    inputs: Inputs,
    channels: usize,
    /// Spectra in which both inputs were present, beside those that all have; none until some input was absent.
    valid: Option<Vec<u64>>,
    all_valid: u64,
    masked: Option<Masked>,
}

/// What masks took.
#[derive(Debug)]
struct Masked {
    /// Of every baseline of a channel, where all inputs were present.
    channels: Vec<u64>,
    /// Of baselines, where some were not: `[channel][baseline]`.
    baselines: Option<Array2<u64>>,
}

/// What was counted.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) valid: ValidSamples,
    pub(crate) masked: Option<MaskedSamples>,
}

impl Counting {
    pub(crate) fn new(inputs: Inputs, channels: usize) -> Self {
        Self { inputs, channels, valid: None, all_valid: 0, masked: None }
    }

    /// Counts spectra of a chunk, and what a mask takes of them, if there is one.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] without memory for counts of every baseline, of every channel too with a mask; nothing
    /// is counted then.
    pub(crate) fn add(
        &mut self,
        about: &Description<'_>,
        times: &Times<'_>,
        mask: Option<PlacedMask<'_>>,
    ) -> Result<(), CorrelatorError> {
        let none =
            if self.valid.is_none() && has_absent(about, times) { zero_counts(self.inputs)? } else { Vec::new() };
        if let Some(mask) = mask {
            self.add_masked(about, times, mask.mask(), mask.lead())?;
        }
        if !has_absent(about, times) {
            self.all_valid += times.len() as u64;
            return Ok(());
        }
        let (valid, all) = (self.valid.get_or_insert(none), &mut self.all_valid);
        count(about, times, |of| match of {
            Count::All(spectra) => *all += spectra,
            Count::Flags(flags, spectra) => count_flags(about, flags, spectra, valid),
        });
        Ok(())
    }

    /// Counts what a mask takes of spectra, block by block.
    fn add_masked(
        &mut self,
        about: &Description<'_>,
        times: &Times<'_>,
        mask: &ChannelMask,
        lead: isize,
    ) -> Result<(), CorrelatorError> {
        let blocks = times.by_block(lead, mask.spectra_per_block());
        let blocks: Vec<_> =
            blocks.into_iter().filter(|(block, _)| mask.masked().column(*block).iter().any(|&masked| masked)).collect();
        if blocks.is_empty() {
            return Ok(());
        }
        let is_whole = |times: &Times<'_>| !has_absent(about, times);
        let needs_baselines = blocks.iter().any(|(_, times)| !is_whole(times));
        let (channels, inputs) = (self.channels, self.inputs);
        let mut baselines = match self.masked.as_mut().and_then(|masked| masked.baselines.take()) {
            None if needs_baselines => Some(zeros(channels, inputs)?),
            baselines => baselines,
        };
        let masked = self.masked.get_or_insert_with(|| Masked { channels: vec![0; channels], baselines: None });
        for (block, times) in &blocks {
            let of_block = mask.masked();
            let of_channels = of_block.column(*block);
            if is_whole(times) {
                let spectra = times.len() as u64;
                for (count, &masked) in masked.channels.iter_mut().zip(of_channels) {
                    *count += if masked { spectra } else { 0 };
                }
                continue;
            }
            let mut counts = vec![0; inputs.triangle_len()];
            count(about, times, |of| match of {
                Count::All(spectra) => counts.iter_mut().for_each(|count| *count += spectra),
                Count::Flags(flags, spectra) => count_flags(about, flags, spectra, &mut counts),
            });
            let counts = Array1::from(counts);
            if let Some(baselines) = &mut baselines {
                for (mut sum, &masked) in baselines.outer_iter_mut().zip(of_channels) {
                    if masked {
                        sum += &counts;
                    }
                }
            }
        }
        masked.baselines = baselines;
        Ok(())
    }

    /// Which baselines miss data.
    pub(crate) fn affected(&self, spectra: u64) -> Vec<bool> {
        match &self.valid {
            None => vec![self.all_valid < spectra; self.inputs.triangle_len()],
            Some(valid) => valid.iter().map(|&valid| valid + self.all_valid < spectra).collect(),
        }
    }

    /// Takes what was counted, and starts again from zero.
    pub(crate) fn take(&mut self) -> Counted {
        let all = ValidSamples::same(std::mem::take(&mut self.all_valid), self.inputs.triangle_len());
        let valid = match self.valid.take() {
            None => all,
            Some(valid) => ValidSamples::from(Array1::from(valid)).plus(&all),
        };
        let masked = self.masked.take();
        let masked = masked.and_then(|masked| MaskedSamples::new(Array1::from(masked.channels), masked.baselines).ok());
        Counted { valid, masked }
    }
}

/// Presence of spectra.
enum Count<'a> {
    /// So many spectra in which all inputs were present.
    All(u64),
    /// Flags `[time][input]` or `[batch][antenna]`, each of so many spectra.
    Flags(ArrayView2<'a, bool>, u64),
}

/// Gives the flags of spectra.
fn count(about: &Description<'_>, times: &Times<'_>, mut of: impl FnMut(Count<'_>)) {
    let Some(flags) = about.presence else { return of(Count::All(times.len() as u64)) };
    match (about.layout, times) {
        (Layout::Voltages | Layout::Rows, Times::Range(range)) => {
            of(Count::Flags(flags.slice(ndarray::s![range.clone(), ..]), 1));
        }
        (Layout::Voltages | Layout::Rows, Times::List(list)) => {
            of(Count::Flags(flags.select(Axis(0), list).view(), 1));
        }
        (Layout::Heaps { spectra }, times) => {
            // Batches, and how many of their spectra there are.
            for (batch, times) in times.by_block(0, spectra) {
                of(Count::Flags(flags.slice(ndarray::s![batch..=batch, ..]), times.len() as u64));
            }
        }
    }
}

/// Adds the pairs of flags that are both set to counts of the packed lower triangle.
fn count_flags(about: &Description<'_>, flags: ArrayView2<'_, bool>, spectra: u64, counts: &mut [u64]) {
    match about.layout {
        Layout::Voltages | Layout::Rows => cpu::count_valid(flags, counts),
        Layout::Heaps { .. } => cpu::count_valid_heaps(flags, about.inputs.pols(), spectra, counts),
    }
}

/// Whether an input is absent in any of some spectra.
fn has_absent(about: &Description<'_>, times: &Times<'_>) -> bool {
    let mut absent = false;
    count(about, times, |of| {
        absent |= match of {
            Count::All(_) => false,
            Count::Flags(flags, _) => flags.iter().any(|&present| !present),
        }
    });
    absent
}

/// Zeros of the packed lower triangle.
fn zero_counts(inputs: Inputs) -> Result<Vec<u64>, CorrelatorError> {
    let elements = inputs.triangle_len();
    let too_large = |()| TypesError::TooLarge { array: "valid samples", elements: elements.to_string() };
    Ok(bytemuck::try_zeroed_vec(elements).map_err(too_large)?)
}

/// Zeros `[channel][baseline]`.
fn zeros(channels: usize, inputs: Inputs) -> Result<Array2<u64>, CorrelatorError> {
    let baselines = inputs.triangle_len();
    let elements = || format!("{channels} x {baselines}");
    let too_large = || TypesError::TooLarge { array: "masked samples", elements: elements() };
    let number = channels.checked_mul(baselines).ok_or_else(too_large)?;
    let data = bytemuck::try_zeroed_vec(number).map_err(|()| too_large())?;
    Ok(Array2::from_shape_vec((channels, baselines), data).map_err(|_| too_large())?)
}

/// What masks took of the packed lower triangle, in an order.
pub(crate) fn masked_in_order(masked: MaskedSamples, order: BaselineOrder, inputs: Inputs) -> MaskedSamples {
    if order == BaselineOrder::Triangle || masked.baselines().is_none() {
        return masked;
    }
    let from = |to| order.product(inputs, to).map(|product| product.triangle().0);
    masked.reordered(order.len(inputs), from)
}
