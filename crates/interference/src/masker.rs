//! From statistics to a mask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fringes_cpu::power::PowerSum;
use fringes_types::{ChannelMask, Dimension, TypesError};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, Axis, Zip};

use crate::error::in_range;
use crate::kurtosis::{Moments, spectral_kurtosis};
use crate::pearson::calibrated;
use crate::quantisation::{self, FEWEST_SAMPLES};
use crate::{InterferenceError, PowerSums};

/// How inputs decide together on a channel and a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Combining {
    /// By the mean of their corrected estimates, weighted by their samples: finds what is weak in all of them, since
    /// the scatter of a mean of `N` is `sqrt(N)` smaller.
    #[default]
    Mean,
    /// By any one of them that is beyond its thresholds: finds what one alone hears.
    Any,
}

/// What becomes of a channel and a block with too few samples to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Undecided {
    /// It is not masked: what came counts.
    #[default]
    Keep,
    /// It is masked.
    Mask,
}

/// Makes a mask of power sums: channels and blocks whose spectral kurtosis noise does not have.
///
/// # Policy
/// 1. An input counts in a block if it has 32 samples, and the share [`Masker::with_least_samples`] of the block's
///    spectra.
/// 2. Of those, an input is *usable* in a channel if its mean power is a level at which noise can be told
///    ([`quantisation::levels`], or [`Masker::with_levels`]).
/// 3. If the inputs that count have less than the share [`Masker::with_least_inputs`] of all samples that there could
///    be, the block is undecided: [`Masker::with_undecided`].
/// 4. If they have enough, and the usable ones among them have not, the channel is masked: powers that no noise has are
///    those of interference, or of inputs that give nothing.
/// 5. Else the estimates of usable inputs, corrected for 4 and 8 bits, are combined ([`Combining`]) and compared with
///    thresholds, which a share `false_alarm_rate` of noise is beyond: half of it below, half above.
///
/// The rate is that of a channel and a block, for noise that is independent from input to input. Where inputs have much
/// of their noise in common, the mean scatters more than is assumed, and more is masked.
///
/// Source: the policy of shares and levels is that of CHIME's n2k; moments add up here to the fourth, since means of
/// few estimates are far from normal.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_interference::{Masker, power_sums};
/// use fringes_types::{Complex, Inputs, Voltages};
/// use ndarray::Array3;
///
/// // A steady carrier in channel 1, noise (of a sort) in channel 0.
/// let mut state = 1u64;
/// let mut noise = || {
///     let mut bits = || {
///         state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
///         (state >> 60) as i32
///     };
///     ((0..12).map(|_| bits()).sum::<i32>() - 90) as i8
/// };
/// let data = Array3::from_shape_fn((2, 512, 2), |(channel, _, _)| match channel {
///     0 => Complex::new(noise(), noise()),
///     _ => Complex::new(30i8, 40),
/// });
/// let voltages = Voltages::new(data, Inputs::single_pol(2)?)?;
/// let sums = power_sums(&Backend::auto(), &voltages, 256)?;
/// let found = Masker::new(1e-4)?.mask(&sums)?;
/// assert_eq!(found.mask.masked().row(1).to_vec(), [true, true]);
/// assert!(found.kurtosis[(1, 0)].abs() < 0.01);
/// # Ok::<(), fringes_interference::InterferenceError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Masker {
    false_alarm_rate: f64,
    least_samples: f64,
    least_inputs: f64,
    levels: Option<(f64, f64)>,
    combining: Combining,
    undecided: Undecided,
    /// Which inputs are asked; empty for all.
    asked: Vec<bool>,
}

/// What a [`Masker`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Interference {
    /// What is masked, `[channel][block]`.
    pub mask: ChannelMask,
    /// The mean corrected estimate of usable inputs, `[channel][block]`; not a number where there are none.
    pub kurtosis: Array2<f64>,
    /// Where there was too little to tell, `[channel][block]`.
    pub undecided: Array2<bool>,
}

impl Masker {
    /// A masker of this false-alarm rate, for each channel and block, that asks all inputs for their mean.
    ///
    /// # Errors
    /// [`InterferenceError::Range`] for a rate that is not from 1e-9 to 0.5.
    pub fn new(false_alarm_rate: f64) -> Result<Self, InterferenceError> {
        in_range("false-alarm rate", false_alarm_rate, (1e-9, 0.5))?;
        Ok(Self {
            false_alarm_rate,
            least_samples: 0.75,
            least_inputs: 0.5,
            levels: None,
            combining: Combining::default(),
            undecided: Undecided::default(),
            asked: Vec::new(),
        })
    }

    /// Sets the share of a block's spectra that an input must have to count: 0.75 unless set.
    ///
    /// # Errors
    /// [`InterferenceError::Range`] for a share that is not from 0 to 1.
    pub fn with_least_samples(mut self, share: f64) -> Result<Self, InterferenceError> {
        in_range("share of a block's spectra", share, (0.0, 1.0))?;
        self.least_samples = share;
        Ok(self)
    }

    /// Sets the share of all samples of asked inputs that must be there to decide: 0.5 unless set.
    ///
    /// # Errors
    /// [`InterferenceError::Range`] for a share that is not from 0 to 1.
    pub fn with_least_inputs(mut self, share: f64) -> Result<Self, InterferenceError> {
        in_range("share of all samples", share, (0.0, 1.0))?;
        self.least_inputs = share;
        Ok(self)
    }

    /// Sets the lowest and the highest mean power `|x|^2` of a usable input, in units of the format. Those of the table
    /// hold as well.
    ///
    /// # Errors
    /// [`InterferenceError::Range`] for levels that are not ascending.
    pub fn with_levels(mut self, lowest: f64, highest: f64) -> Result<Self, InterferenceError> {
        in_range("highest level", highest, (lowest, f64::INFINITY))?;
        self.levels = Some((lowest, highest));
        Ok(self)
    }

    /// Sets how inputs decide together.
    pub fn with_combining(mut self, combining: Combining) -> Self {
        self.combining = combining;
        self
    }

    /// Sets what becomes of what cannot be told.
    pub fn with_undecided(mut self, undecided: Undecided) -> Self {
        self.undecided = undecided;
        self
    }

    /// Sets which inputs are asked, true for those that are. None is as good as all.
    pub fn with_inputs(mut self, asked: &[bool]) -> Self {
        self.asked = asked.to_vec();
        self
    }

    /// The false-alarm rate of a channel and a block.
    pub fn false_alarm_rate(&self) -> f64 {
        self.false_alarm_rate
    }

    /// Decides on every channel and block.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if other inputs are asked than the sums have.
    pub fn mask<S: PowerSum>(&self, sums: &PowerSums<S>) -> Result<Interference, InterferenceError> {
        let inputs = sums.inputs().len();
        if !self.asked.is_empty() && self.asked.len() != inputs {
            let (array, dimension, actual) = ("asked inputs", Dimension::Input, self.asked.len());
            return Err(TypesError::Dimension { array, dimension, expected: inputs, actual }.into());
        }
        let asked: Vec<usize> = (0..inputs).filter(|&input| !self.asked.contains(&true) || self.asked[input]).collect();
        let blocks: Vec<Block> = (0..sums.blocks()).map(|block| self.block(sums, block, &asked)).collect();
        let counts = blocks.iter().flat_map(|block| &block.counted).map(|&(_, count)| count);
        let noise = Noise::new(sums, counts, self.levels);
        let thresholds = Memo::new(self.tail(asked.len()));
        let shape = (sums.channels(), sums.blocks());
        let (mut masked, mut kurtosis) = (Array2::default(shape), Array2::from_elem(shape, f64::NAN));
        let undecided = Array2::from_shape_fn(shape, |(_, block)| !blocks[block].is_enough);
        let rows = masked.axis_iter_mut(Axis(0)).into_par_iter().zip(kurtosis.axis_iter_mut(Axis(0)));
        rows.enumerate().for_each(|(channel, (masked, kurtosis))| {
            let (first, second) = (sums.first(), sums.second());
            let (first, second) = (first.index_axis(Axis(0), channel), second.index_axis(Axis(0), channel));
            Zip::indexed(masked).and(kurtosis).for_each(|block, masked, kurtosis| {
                let of = |input| (first[(block, input)], second[(block, input)]);
                (*kurtosis, *masked) = self.judge(&blocks[block], &noise, &thresholds, of);
            });
        });
        Ok(Interference {
            mask: ChannelMask::new(masked, sums.spectra_per_block(), sums.clock())?,
            kurtosis,
            undecided,
        })
    }

    /// The share of noise beyond one threshold of one test.
    fn tail(&self, inputs: usize) -> f64 {
        let rate = match self.combining {
            Combining::Mean => self.false_alarm_rate,
            // Of so many independent tests, all pass with 1 - rate.
            Combining::Any => -((-self.false_alarm_rate).ln_1p() / inputs.max(1) as f64).exp_m1(),
        };
        rate / 2.0
    }

    /// Which inputs count in a block.
    fn block<S: PowerSum>(&self, sums: &PowerSums<S>, block: usize, asked: &[usize]) -> Block {
        let spectra = sums.spectra()[block] as f64;
        let counts = sums.count();
        let of = |&input: &usize| (input, counts[(block, input)]);
        let counts_here =
            |&(_, count): &(usize, u64)| count >= FEWEST_SAMPLES && count as f64 >= self.least_samples * spectra;
        let counted: Vec<_> = asked.iter().map(of).filter(counts_here).collect();
        let needed = self.least_inputs * spectra * asked.len() as f64;
        let samples: f64 = counted.iter().map(|&(_, count)| count as f64).sum();
        Block { is_enough: !counted.is_empty() && samples >= needed, counted, needed }
    }

    /// The mean estimate of a channel and a block, and whether it is masked.
    fn judge<S: PowerSum>(
        &self,
        block: &Block,
        noise: &Noise,
        thresholds: &Memo,
        of: impl Fn(usize) -> (S, S),
    ) -> (f64, bool) {
        let (mut weight, mut sum, mut beyond) = (0.0, 0.0, false);
        let mut parts = [0.0; 4];
        for &(input, count) in &block.counted {
            let (first, second) = of(input);
            let Some(Cell { bias, cumulants }) = noise.at(first.to_f64() / count as f64, count) else { continue };
            let (value, w) = (spectral_kurtosis(count, first, second) - bias, count as f64);
            if !value.is_finite() {
                continue;
            }
            weight += w;
            sum += w * value;
            if self.combining == Combining::Any {
                beyond |= thresholds.is_beyond(value, cumulants);
            } else {
                let mut power = 1.0;
                for (part, cumulant) in parts.iter_mut().zip(cumulants) {
                    power *= w;
                    *part += power * cumulant;
                }
            }
        }
        let mean = sum / weight; // not a number without a usable input
        if !block.is_enough {
            return (mean, self.undecided == Undecided::Mask);
        }
        if weight <= 0.0 || weight < block.needed {
            return (mean, true);
        }
        if self.combining == Combining::Mean {
            let mut power = 1.0;
            for part in &mut parts {
                power *= weight;
                *part /= power;
            }
            beyond = thresholds.is_beyond(mean, parts);
        }
        (mean, beyond)
    }
}

/// What is known of a block before its channels are looked at.
struct Block {
    /// Inputs that count, and their samples.
    counted: Vec<(usize, u64)>,
    /// Samples that it takes to decide.
    needed: f64,
    is_enough: bool,
}

/// The bias of an estimate, and the first four cumulants of what is left.
#[derive(Debug, Clone, Copy)]
struct Cell {
    bias: f64,
    cumulants: [f64; 4],
}

/// What noise does, for the numbers of samples that occur: cells on a grid of levels that is so fine that straight
/// lines do between them.
struct Noise {
    levels: (f64, f64),
    first: f64,
    step: f64,
    cells: HashMap<u64, Vec<Cell>>,
}

/// Cells of a number of samples.
const CELLS: usize = 1024;

impl Noise {
    fn new<S: PowerSum>(sums: &PowerSums<S>, counts: impl Iterator<Item = u64>, levels: Option<(f64, f64)>) -> Self {
        let format = sums.format();
        let table = quantisation::levels(format);
        let (lowest, highest) = levels.unwrap_or(table);
        let levels = (lowest.max(table.0), highest.min(table.1));
        let is_quantised = table.1.is_finite();
        let (first, step) =
            if is_quantised { (table.0.ln(), (table.1.ln() - table.0.ln()) / (CELLS - 1) as f64) } else { (0.0, 0.0) };
        let mut cells = HashMap::new();
        for count in counts {
            cells.entry(count).or_insert_with(|| {
                let cell = |index: usize| {
                    let level = (first + step * index as f64).exp();
                    quantisation::expected(format, level, count).map(|expected| {
                        let Moments { mean, variance, skewness, excess } = expected.moments;
                        let cumulants = [mean, variance, skewness * variance.powf(1.5), excess * variance * variance];
                        Cell { bias: expected.bias, cumulants }
                    })
                };
                let number = if is_quantised { CELLS } else { 1 };
                (0..number).map_while(cell).collect()
            });
        }
        Self { levels, first, step, cells }
    }

    fn at(&self, level: f64, count: u64) -> Option<Cell> {
        if level.is_nan() || level <= 0.0 || level < self.levels.0 || level > self.levels.1 {
            return None;
        }
        let cells = self.cells.get(&count)?;
        if self.step == 0.0 {
            return cells.first().copied();
        }
        let place = ((level.ln() - self.first) / self.step).max(0.0);
        let index = (place as usize).min(cells.len().checked_sub(2)?);
        let (share, low, high) = (place - index as f64, cells[index], cells[index + 1]);
        let between = |low: f64, high: f64| low + share * (high - low);
        let mut cumulants = low.cumulants;
        cumulants.iter_mut().zip(high.cumulants).for_each(|(low, high)| *low = between(*low, high));
        Some(Cell { bias: between(low.bias, high.bias), cumulants })
    }
}

/// Quantiles that were found once. Skewness and excess are rounded to 1/512 and 1/256, which moves the share of noise
/// beyond a threshold by less than a hundredth of it.
struct Memo {
    tail: f64,
    found: Mutex<HashMap<(i32, i32), [f64; 2]>>,
}

impl Memo {
    fn new(tail: f64) -> Self {
        Self { tail, found: Mutex::new(HashMap::new()) }
    }

    fn is_beyond(&self, value: f64, [mean, variance, third, fourth]: [f64; 4]) -> bool {
        let z = (value - mean) / variance.sqrt();
        // No threshold of a rate of up to a tenth is within a standard deviation.
        if self.tail <= 0.05 && z.abs() < 1.0 {
            return false;
        }
        let key = ((512.0 * third / variance.powf(1.5)).round(), (256.0 * fourth / (variance * variance)).round());
        let key = (key.0 as i32, key.1 as i32);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let [lower, upper] = *found
            .entry(key)
            .or_insert_with(|| calibrated(f64::from(key.0) / 512.0, f64::from(key.1) / 256.0, self.tail));
        !(lower..=upper).contains(&z)
    }
}
