//! What a step gives: samples with their axes and flags, on the host and on a device.

use fringes_backend::{DeviceArray, DeviceSamples, Staging};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_gpu::{Buffer, BufferPool, BufferViewMut, Stream};
use fringes_types::{ChunkFormat, Complex, Inputs, SampleFormat, SamplePresence, Samples, TypesError};
use ndarray::{Array2, ArrayViewMut2, s};

use super::DownConverter;
use super::progress::Step;
use crate::ChannelizerError;

/// Words of an output.
const WORDS: usize = size_of::<Complex<f32>>() / size_of::<u32>();

/// Outputs that rows on a device are a multiple of. An output whose number is a multiple of it lies at the beginning of
/// a line of memory: kernels compute so many together, and write whole sectors.
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
pub(super) fn on_host(
    step: &Step,
    plan: &DownConverter,
    mut data: Array2<Complex<f32>>,
    inputs: Inputs,
) -> Result<Samples<Complex<f32>>, ChannelizerError> {
    for (input, mut row) in data.rows_mut().into_iter().enumerate() {
        for run in step.absent(plan, input) {
            row.slice_mut(s![run]).fill(Complex::new(0.0, 0.0));
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
pub(super) struct DeviceRows {
    words: Buffer<u32>,
    inputs: Inputs,
    /// Outputs before the first one of a row.
    ahead: usize,
    /// Outputs from row to row.
    row: usize,
}

impl DeviceRows {
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
        let ahead = (first % ROW_OUTPUTS as u64) as usize;
        let row = outputs.checked_next_multiple_of(ROW_OUTPUTS).ok_or_else(too_large)?;
        let words = row.checked_mul(inputs.len() * WORDS).ok_or_else(too_large)?;
        let others = ahead * WORDS + DeviceSamples::PADDING_WORDS;
        let words = pool.take(stream, words.checked_add(others).ok_or_else(too_large)?)?;
        Ok(Self { words, inputs, ahead, row })
    }

    /// Bytes of it.
    pub(super) fn bytes(inputs: Inputs, outputs: u64) -> u64 {
        let row = outputs.checked_next_multiple_of(ROW_OUTPUTS as u64).unwrap_or(u64::MAX);
        let padding = size_of::<u32>() * (DeviceSamples::PADDING_WORDS + (ROW_OUTPUTS - 1) * WORDS);
        row.saturating_mul((inputs.len() * size_of::<Complex<f32>>()) as u64).saturating_add(padding as u64)
    }

    /// Outputs from row to row.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// The outputs `[input][row]`.
    pub(super) fn values(&mut self) -> Result<BufferViewMut<'_, Complex<f32>>, ChannelizerError> {
        let (first, words) = (self.ahead * WORDS, self.inputs.len() * self.row * WORDS);
        Ok(self.words.slice_mut(first..first + words)?.cast()?)
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
        mut to: ArrayViewMut2<'_, Complex<f32>>,
    ) -> Result<(), ChannelizerError> {
        let (row, columns) = (self.row, to.ncols());
        let values = self.values()?;
        if (columns == row || to.nrows() == 1)
            && let Some(to) = to.as_slice_mut()
        {
            return Ok(staging.read(stream, values.as_view(), to)?);
        }
        let elements = || TypesError::TooLarge { array: "outputs of a step", elements: values.len().to_string() };
        let mut read = try_zeroed_vec::<Complex<f32>>(values.len()).ok_or_else(elements)?;
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
        let format = ChunkFormat::Typed { format: SampleFormat::Float32, complex: true };
        let array = DeviceArray::from(self.words).without_first(self.ahead * WORDS)?.written_on(stream);
        let samples =
            DeviceSamples::new(array, self.row * size_of::<Complex<f32>>(), format, step.outputs, self.inputs)?;
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
