//! Sums of powers over blocks of spectra.

use fringes_backend::Backend;
use fringes_cpu::power::{Blocks, Lanes, PowerSum};
use fringes_types::{Dimension, Frequencies, Inputs, SampleFormat, SpectrumClock, TypesError};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, Zip, concatenate, s};

use crate::{InterferenceError, PowerChunk};

/// Sums over blocks of spectra, of what was present: `S0 = sum 1`, `S1 = sum |x|^2`, `S2 = sum |x|^4`.
///
/// | sum | dimensions | of |
/// |---|---|---|
/// | [`PowerSums::count`] | `[block][input]` | all channels |
/// | [`PowerSums::first`] | `[channel][block][input]` | each channel |
/// | [`PowerSums::second`] | `[channel][block][input]` | each channel |
///
/// Blocks lie on a grid of their own: block `k` of a stream has the spectra `k n` up to `(k + 1) n`, counted from ADC
/// sample 0 in steps of the spacing. The first and the last block of a chunk may have but some of their spectra there,
/// which their counts say; [`PowerSums::followed_by`] puts such halves together.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSums<S: PowerSum> {
    /// Spectra that the sums cover, present or not, `[block]`.
    spectra: Vec<u64>,
    count: Array2<u64>,
    first: Array3<S>,
    second: Array3<S>,
    format: SampleFormat,
    inputs: Inputs,
    spectra_per_block: usize,
    frequencies: Frequencies,
    /// Stamps the first spectrum of block 0, whether or not it was there.
    clock: SpectrumClock,
}

/// Sums powers and their squares over blocks of `spectra_per_block` spectra.
///
/// Shapes: voltages `[channel][time][input]`, or heaps, or rows; sums `[channel][block][input]`. What is absent counts
/// for nothing.
///
/// # Precision
/// Integers: exact, for blocks below 2^34 spectra. Floats: a relative error below `(n + 4) 2^-53`.
///
/// # On a GPU
/// Chunks on a device are summed there, on a stream of its own after what writes them
/// ([`DeviceArray`](fringes_backend::DeviceArray)), and the call waits for the sums.
/// [`PowerKernels`](crate::PowerKernels) does it to buffers on a device in the order of a stream, and waits for
/// nothing.
///
/// # Errors
/// [`TypesError::NotPositive`] for blocks of no spectra; for a chunk on the host
/// [`DeviceError::NotOnGpu`](fringes_backend::DeviceError::NotOnGpu) with a backend that is a GPU and nothing else; for
/// one on a device [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) if it is not the
/// backend's, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) for sums above the backend's
/// limit, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_interference::power_sums;
/// use fringes_types::{Complex, Inputs, Voltages};
/// use ndarray::Array3;
///
/// let voltages = Voltages::new(Array3::from_elem((1, 100, 2), Complex::new(3i8, 4)), Inputs::single_pol(2)?)?;
/// let sums = power_sums(&Backend::auto(), &voltages, 64)?;
/// assert_eq!(sums.count().column(0).to_vec(), [64, 36]);
/// assert_eq!((sums.first()[(0, 0, 1)], sums.second()[(0, 0, 1)]), (64 * 25, 64 * 625));
/// # Ok::<(), fringes_interference::InterferenceError>(())
/// ```
pub fn power_sums<C: PowerChunk>(
    backend: &Backend,
    chunk: &C,
    spectra_per_block: usize,
) -> Result<PowerSums<<C::Sample as Lanes>::Sum>, InterferenceError> {
    if spectra_per_block == 0 {
        return Err(TypesError::NotPositive { quantity: "spectra of a block", actual: 0.0 }.into());
    }
    chunk.check(backend)?;
    let about = chunk.about();
    let _span = tracing::debug_span!("power_sums", channels = about.channels, spectra = about.times).entered();
    let clock = about.clock;
    let spacing = clock.samples_between_spectra.max(1);
    // Below the length of a block, which is a usize.
    let lead = (clock.first_sample / spacing % spectra_per_block as u64) as usize;
    let blocks = Blocks { spectra: spectra_per_block, lead };
    let shape = (about.channels, blocks.count(about.times), about.inputs.len());
    let too_large = || TypesError::TooLarge { array: "power sums", elements: format!("{shape:?}") };
    let elements = shape.0.checked_mul(shape.1).and_then(|product| product.checked_mul(shape.2));
    elements.filter(|&elements| elements <= isize::MAX as usize / 8).ok_or_else(too_large)?;
    let zeros = || Array3::from_elem(shape, <<C::Sample as Lanes>::Sum>::default());
    let mut sums = [zeros(), zeros()];
    chunk.sum(backend, blocks, &mut sums)?;
    let [first, second] = sums;
    Ok(PowerSums {
        spectra: (0..shape.1).map(|block| blocks.range(block, about.times).len() as u64).collect(),
        count: about.counts(blocks),
        first,
        second,
        format: about.format,
        inputs: about.inputs,
        spectra_per_block,
        frequencies: about.frequencies,
        clock: SpectrumClock { first_sample: clock.first_sample - lead as u64 * spacing, ..clock },
    })
}

impl<S: PowerSum> PowerSums<S> {
    /// Spectra of each block that the sums cover, present or not, `[block]`: fewer than a whole block's at the ends.
    pub fn spectra(&self) -> &[u64] {
        &self.spectra
    }

    /// Present spectra, `[block][input]`.
    pub fn count(&self) -> ArrayView2<'_, u64> {
        self.count.view()
    }

    /// `sum |x|^2`, `[channel][block][input]`.
    pub fn first(&self) -> ArrayView3<'_, S> {
        self.first.view()
    }

    /// `sum |x|^4`, `[channel][block][input]`.
    pub fn second(&self) -> ArrayView3<'_, S> {
        self.second.view()
    }

    /// Format of the voltages.
    pub fn format(&self) -> SampleFormat {
        self.format
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.first.dim().0
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.count.nrows()
    }

    /// Spectra of a whole block.
    pub fn spectra_per_block(&self) -> usize {
        self.spectra_per_block
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Time axis: the stamp of block 0's first spectrum, and the spacing of spectra.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }

    /// ADC samples of so many blocks.
    fn samples(&self, blocks: usize) -> u128 {
        blocks as u128 * self.spectra_per_block as u128 * u128::from(self.clock.samples_between_spectra)
    }

    /// These sums and those of the next chunk. A block that both have a part of becomes one.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for other channels, inputs or blocks of another length,
    /// [`InterferenceError::Continuation`] for sums that begin elsewhere than in the last block or in the one after it.
    pub fn followed_by(mut self, next: Self) -> Result<Self, InterferenceError> {
        let array = "power sums that follow";
        for (dimension, expected, actual) in [
            (Dimension::Channel, self.channels(), next.channels()),
            (Dimension::Antenna, self.inputs.antennas(), next.inputs.antennas()),
            (Dimension::Pol, self.inputs.pols(), next.inputs.pols()),
            (Dimension::Time, self.spectra_per_block, next.spectra_per_block),
        ] {
            if expected != actual {
                return Err(TypesError::Dimension { array, dimension, expected, actual }.into());
            }
        }
        if next.blocks() == 0 {
            return Ok(self);
        }
        if self.blocks() == 0 {
            return Ok(next);
        }
        let last = self.blocks() - 1;
        let stamp = |blocks: usize| u128::from(self.clock.first_sample) + self.samples(blocks);
        let begins = u128::from(next.clock.first_sample);
        let same_spacing = self.clock.samples_between_spectra == next.clock.samples_between_spectra;
        let shared = usize::from(begins == stamp(last));
        if !same_spacing || (shared == 0 && begins != stamp(last + 1)) {
            let expected = u64::try_from(stamp(last + 1)).unwrap_or(u64::MAX);
            return Err(InterferenceError::Continuation { expected, actual: next.clock.first_sample });
        }
        let (shared_spectra, spectra) = next.spectra.split_at(shared);
        if let Some(more) = shared_spectra.first() {
            self.spectra[last] += more;
            let mut count = self.count.row_mut(last);
            count += &next.count.row(0);
            for (sums, more) in [(&mut self.first, &next.first), (&mut self.second, &next.second)] {
                let sums = sums.slice_mut(s![.., last, ..]);
                Zip::from(sums).and(more.slice(s![.., 0, ..])).for_each(|sum, &more| *sum = sum.plus(more));
            }
        }
        self.spectra.extend(spectra);
        let fault = |_| TypesError::TooLarge { array, elements: format!("{} + {} blocks", last + 1, next.blocks()) };
        let count = concatenate(Axis(0), &[self.count.view(), next.count.slice(s![shared.., ..])]).map_err(fault)?;
        let joined = |sums: &Array3<S>, more: &Array3<S>| {
            concatenate(Axis(1), &[sums.view(), more.slice(s![.., shared.., ..])])
                .map(|joined| joined.as_standard_layout().into_owned())
        };
        let first = joined(&self.first, &next.first).map_err(fault)?;
        let second = joined(&self.second, &next.second).map_err(fault)?;
        Ok(Self { count, first, second, ..self })
    }

    /// Sums over `factor` blocks together, on the grid of the longer blocks.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] for a factor of 0, [`TypesError::TooLarge`] if a block's spectra cannot be counted.
    pub fn coarser(&self, factor: usize) -> Result<Self, InterferenceError> {
        if factor == 0 {
            return Err(TypesError::NotPositive { quantity: "blocks that are summed", actual: 0.0 }.into());
        }
        let elements = || format!("{} x {factor}", self.spectra_per_block);
        let spectra = self.spectra_per_block.checked_mul(factor);
        let spectra_per_block = spectra.ok_or_else(|| TypesError::TooLarge { array: "block", elements: elements() })?;
        let spacing = self.clock.samples_between_spectra.max(1);
        let block = self.clock.first_sample / spacing / self.spectra_per_block as u64;
        let lead = (block % factor as u64) as usize;
        let of = Blocks { spectra: factor, lead };
        let blocks = of.count(self.blocks());
        let (channels, inputs) = (self.channels(), self.inputs.len());
        let (mut spectra, mut count) = (vec![0; blocks], Array2::zeros((blocks, inputs)));
        let zeros = || Array3::from_elem((channels, blocks, inputs), S::default());
        let (mut first, mut second) = (zeros(), zeros());
        for from in 0..self.blocks() {
            let to = (from + lead) / factor;
            spectra[to] += self.spectra[from];
            let mut count = count.row_mut(to);
            count += &self.count.row(from);
            for (sums, more) in [(&mut first, &self.first), (&mut second, &self.second)] {
                let sums = sums.slice_mut(s![.., to, ..]);
                Zip::from(sums).and(more.slice(s![.., from, ..])).for_each(|sum, &more| *sum = sum.plus(more));
            }
        }
        let before = lead as u64 * self.spectra_per_block as u64 * spacing;
        let clock = SpectrumClock { first_sample: self.clock.first_sample - before, ..self.clock };
        Ok(Self { spectra, count, first, second, spectra_per_block, clock, ..*self })
    }
}
