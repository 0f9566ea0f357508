//! What a step gives: samples with their axes and flags, on the host and on a device.

use std::marker::PhantomData;

use fringes_backend::{DeviceArray, DeviceSamples, Staging};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_gpu::{Buffer, BufferPool, BufferView, BufferViewMut, Stream};
use fringes_types::{ChunkFormat, Inputs, SamplePresence, Samples, TypesError};
use ndarray::{Array2, ArrayViewMut2, s};

use super::progress::Step;
use super::{DownConvertedSample, DownConverter};
use crate::ChannelizerError;

/// Outputs that rows on a device are a multiple of. One whose number is a multiple of it lies at the beginning of a
/// line of memory, or of a part of one: kernels compute so many together, and write whole sectors.
const ROW_OUTPUTS: usize = 16;

/// Axes of outputs.
pub(super) struct Axes {
    pub(super) sample_rate_hz: f64,
    pub(super) centre_hz: Option<f64>,
    pub(super) presence: Option<SamplePresence>,
}

impl Axes {
    pub(super) fn new(step: &Step, plan: &DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let chunk = step.axes();
        let centre_hz = chunk.centre_hz.map(|centre_hz| {
            // What lies at 0 cycles per sample: a quarter of the rate below the middle of a real band.
            let complex = chunk.format.is_complex();
            let zero_hz = if complex { centre_hz } else { centre_hz - chunk.sample_rate_hz / 4.0 };
            zero_hz + plan.centre_cycles_per_sample * chunk.sample_rate_hz
        });
        let presence = step.flags(plan, inputs.len()).map(|flags| SamplePresence::new(1, flags)).transpose()?;
        Ok(Self { sample_rate_hz: chunk.sample_rate_hz / plan.decimation as f64, centre_hz, presence })
    }
}

/// Outputs of a step on the host, of which absent ones become 0.
pub(super) fn on_host<T: DownConvertedSample>(
    step: &Step,
    plan: &DownConverter,
    mut data: Array2<T>,
    inputs: Inputs,
) -> Result<Samples<T>, ChannelizerError> {
    for (input, mut row) in data.rows_mut().into_iter().enumerate() {
        for run in step.absent(plan, input) {
            row.slice_mut(s![run]).fill(T::zeroed());
        }
    }
    let axes = Axes::new(step, plan, inputs)?;
    let mut samples =
        Samples::new(data, inputs)?.with_sample_rate(axes.sample_rate_hz)?.with_first_sample(step.first_output);
    if let Some(centre_hz) = axes.centre_hz {
        samples = samples.with_centre_frequency(centre_hz)?;
    }
    Ok(match axes.presence {
        Some(presence) => samples.with_presence(presence)?,
        None => samples,
    })
}

/// Room for the outputs of a step on a device, as rows of samples that other operations take.
#[derive(Debug)]
pub(super) struct DeviceRows<T> {
    words: Buffer<u32>,
    inputs: Inputs,
    /// Outputs before the first one of a row.
    ahead: usize,
    /// Outputs from row to row.
    row: usize,
    outputs: PhantomData<T>,
}

impl<T: DownConvertedSample> DeviceRows<T> {
    /// Takes it of a pool, for outputs from number `first` on.
    pub(super) fn take(
        pool: &BufferPool,
        stream: &Stream,
        inputs: Inputs,
        first: u64,
        outputs: usize,
    ) -> Result<Self, ChannelizerError> {
        let too_large = || {
            let elements = format!("{} x {outputs}", inputs.len());
            ChannelizerError::from(TypesError::TooLarge { array: "down-converted samples", elements })
        };
        // Whole words, of which an output of 8 bits is a half.
        let of_word = (size_of::<u32>() / size_of::<T>()).max(1);
        let ahead = (first % ROW_OUTPUTS as u64) as usize / of_word * of_word;
        let row = outputs.checked_next_multiple_of(ROW_OUTPUTS).ok_or_else(too_large)?;
        let bytes = row.checked_mul(inputs.len() * size_of::<T>()).ok_or_else(too_large)?;
        let others = ahead * size_of::<T>() / size_of::<u32>() + DeviceSamples::PADDING_WORDS;
        let words = (bytes / size_of::<u32>()).checked_add(others).ok_or_else(too_large)?;
        Ok(Self { words: pool.take(stream, words)?, inputs, ahead, row, outputs: PhantomData })
    }

    /// Bytes of it.
    pub(super) fn bytes(inputs: Inputs, outputs: u64) -> u64 {
        let row = outputs.checked_next_multiple_of(ROW_OUTPUTS as u64).unwrap_or(u64::MAX);
        let padding = size_of::<u32>() * DeviceSamples::PADDING_WORDS + (ROW_OUTPUTS - 1) * size_of::<T>();
        row.saturating_mul((inputs.len() * size_of::<T>()) as u64).saturating_add(padding as u64)
    }

    /// Outputs from row to row.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// The outputs `[input][row]`.
    pub(super) fn values(&mut self) -> Result<BufferViewMut<'_, T>, ChannelizerError> {
        let (first, words) = (self.first_word(), self.inputs.len() * self.row * size_of::<T>() / size_of::<u32>());
        Ok(self.words.slice_mut(first..first + words)?.cast()?)
    }

    /// The words of the rows, with those that follow them.
    pub(super) fn words(&self) -> Result<BufferView<'_, u32>, ChannelizerError> {
        Ok(self.words.slice(self.first_word()..)?)
    }

    /// Word that the first output begins with.
    fn first_word(&self) -> usize {
        self.ahead * size_of::<T>() / size_of::<u32>()
    }

    /// Sets absent outputs to 0, after what the stream was given before.
    pub(super) fn zero_absent(
        &mut self,
        step: &Step,
        plan: &DownConverter,
        stream: &Stream,
    ) -> Result<(), ChannelizerError> {
        let row = self.row;
        for input in 0..self.inputs.len() {
            for run in step.absent(plan, input) {
                self.values()?.slice(input * row + run.start..input * row + run.end)?.zero(stream)?;
            }
        }
        Ok(())
    }

    /// Copies the outputs to the host, `[input][output]`, after what the stream was given before. Returns when they are
    /// there.
    pub(super) fn read(
        &mut self,
        staging: &mut Staging,
        stream: &Stream,
        mut to: ArrayViewMut2<'_, T>,
    ) -> Result<(), ChannelizerError> {
        let (row, columns) = (self.row, to.ncols());
        let values = self.values()?;
        if (columns == row || to.nrows() == 1)
            && let Some(to) = to.as_slice_mut()
        {
            return Ok(staging.read(stream, values.as_view(), to)?);
        }
        let elements = || TypesError::TooLarge { array: "outputs of a step", elements: values.len().to_string() };
        let mut read = try_zeroed_vec::<T>(values.len()).ok_or_else(elements)?;
        staging.read(stream, values.as_view(), &mut read)?;
        for (mut to, from) in to.rows_mut().into_iter().zip(read.chunks(row.max(1))) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    /// Samples with their axes, written on a stream.
    pub(super) fn finish(
        self,
        step: &Step,
        plan: &DownConverter,
        stream: &Stream,
    ) -> Result<DeviceSamples<'static>, ChannelizerError> {
        let axes = Axes::new(step, plan, self.inputs)?;
        let format = ChunkFormat::Typed { format: T::FORMAT, complex: T::COMPLEX };
        let first = self.first_word();
        let array = DeviceArray::from(self.words).without_first(first)?.written_on(stream);
        let samples = DeviceSamples::new(array, self.row * size_of::<T>(), format, step.outputs, self.inputs)?;
        let mut samples = samples.with_sample_rate(axes.sample_rate_hz)?.with_first_sample(step.first_output);
        if let Some(centre_hz) = axes.centre_hz {
            samples = samples.with_centre_frequency(centre_hz)?;
        }
        Ok(match axes.presence {
            Some(presence) => samples.with_presence(presence)?,
            None => samples,
        })
    }
}
